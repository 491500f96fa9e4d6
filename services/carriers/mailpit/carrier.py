"""The office's mail on a Mailpit server: out by SMTP, in by its API (SERVICES, "Mailpit API").

What is new cannot be told by time: Mailpit orders by the `Date` header, which is simulated time for our mails and real
time for a person's. So everything that the office has seen carries a tag of its own, `officetown-<office>`: our mails
from the start (`X-Tags`), a person's mail once it is in the office's record. New is what has no such tag. A mail is
tagged only when the cursor that names it comes back, which says that it was taken in; nothing is ever deleted.
"""

from __future__ import annotations

import re

import httpx
import msgspec

from services.carriers.mail import ids
from services.carriers.mail.cursor import brought, cursor_of
from services.carriers.mail.message import OFFICE_ADDRESS, address_of, as_bytes, bounce_notice, build, recipients_of
from services.carriers.mail.mime import HEADERS
from services.carriers.mail.parse import LIMIT, Letter, is_ours, read_letter, take
from services.carriers.mailpit.api import MailpitApi, Summary
from services.carriers.mailpit.smtp import SmtpServer
from simulator.arriving import MailArrived, Polled
from simulator.carrying import BounceOut, Directory, MailOut
from simulator.ports import BlobStore

_BATCH, _BATCH_BYTES, _REMEMBERED = 50, 64 * 1024 * 1024, 2_000
"""Mails and bytes a poll, and the mails that a cursor names at most."""


class MailpitMail:
    """A `MailCarrier`. `client` is this carrier's own and closed with it; `people` are replaced by `provision`.

    The timeout of `smtp` holds for the API as well.
    """

    def __init__(self, smtp: SmtpServer, url: str, client: httpx.Client, people: Directory, blobs: BlobStore) -> None:
        self.api = MailpitApi(url, client, smtp.timeout)
        self.smtp = smtp
        self.name = self.api.server
        self.people = people
        self._blobs = blobs

    @property
    def tag(self) -> str:
        """The tag of what this office has seen; lower-case letters, digits and `-`, which every Mailpit takes."""
        return f"officetown-{re.sub('[^a-z0-9]+', '-', self.people.office.lower()).strip('-') or 'office'}"

    def provision(self, people: Directory) -> None:
        """Mailpit has one mailbox for everybody and takes mail for any address: there is nothing to make."""
        self.people = people

    # -- out ----------------------------------------------------------------------------------------------------------

    def send(self, key: str, mail: MailOut, text: str, again: bool) -> None:
        """Deliver a mail, once. What came in here is here; what came in elsewhere is put here too."""
        name = ids.message_id_of(self.people.office, mail.mail.id, mail.origin)
        if (again or mail.origin) and self.find(name, address_of(self.people, mail.mail.sender)):
            return
        message = build(key, mail, text, self.people, self._blobs)
        message["X-Tags"] = self.tag
        sender = address_of(self.people, mail.mail.sender)
        self.smtp.deliver(sender, recipients_of(mail, self.people), as_bytes(message))

    def bounce(self, bounce: BounceOut) -> None:
        """Tell a person what did not take effect, once."""
        message = bounce_notice(bounce, self.people)
        if self.find(ids.bare(message["Message-ID"]), OFFICE_ADDRESS):
            return
        message["X-Tags"] = self.tag
        recipients = ((bounce.person, address_of(self.people, bounce.person)),)
        self.smtp.deliver(OFFICE_ADDRESS, recipients, as_bytes(message))

    def find(self, message_id: str, sender: str) -> tuple[Summary, ...]:
        """Return the messages with this Message-ID. `sender` finds those whose own cannot be searched for."""
        odd = message_id.endswith(f"@{ids.ODD}")
        query = f"from:{sender}" if odd else f"message-id:{ids.search_token(message_id)}"
        wanted = ids.key_of(message_id)
        return tuple(found for found in self.api.search(query) if ids.key_of(found.message_id) == wanted)

    # -- in -----------------------------------------------------------------------------------------------------------

    def poll(self, cursor: str) -> Polled:
        """Return the mails that people sent. `cursor` names what the polls before brought."""
        known = brought(cursor)
        unseen = [m for m in self.api.search(f"!tag:{self.tag}") if not self._tagged(m)]
        # Other offices' mails are looked at once as well; our tag beside theirs does not disturb them.
        done = [m for m in unseen if m.id in known or _is_office_mail(m)]
        self.api.tag(done, self.tag)
        passed = {m.id for m in done}
        fresh = sorted((m for m in unseen if m.id not in passed), key=lambda m: (m.created, m.id))
        batch: list[Summary] = []
        for message in fresh[:_BATCH]:
            if batch and sum(m.size for m in batch) + message.size > _BATCH_BYTES:
                break
            batch.append(message)
        arrivals, remarks = self._take(batch)
        # What was tagged just now is named once more, so that a server that keeps no tags brings nothing twice.
        named = [*(m.id for m in done if m.id in known), *(m.id for m in batch)][-_REMEMBERED:]
        return Polled(arrivals, cursor_of(named), remarks)

    def _take(self, batch: list[Summary]) -> tuple[tuple[MailArrived, ...], tuple[str, ...]]:
        arrivals: dict[str, MailArrived] = {}
        remarks: list[str] = []
        for message in batch:
            letter = self._letter(message)
            if letter is None or is_ours(letter, self.people) or self._foreign(letter):
                continue
            taken = take(letter, self.people)
            remarks.extend(taken.remarks)
            if taken.arrival is None:
                continue
            before = arrivals.setdefault(taken.arrival.key, taken.arrival)
            if (before.subject, before.text) != (taken.arrival.subject, taken.arrival.text):
                remarks.append(f"Two mails by {taken.arrival.person} have one Message-ID: only the first was let in.")
        return tuple(arrivals.values()), tuple(remarks)

    def _letter(self, message: Summary) -> Letter | None:
        """Read a message; one that is too large by its headers alone; None if it was deleted meanwhile."""
        too_large = message.size > LIMIT
        raw = self.api.raw(message.id, HEADERS if too_large else LIMIT + 1)
        if raw is None:
            return None
        letter = read_letter(raw)
        return msgspec.structs.replace(letter, too_large=True, remarks=()) if too_large else letter

    def _tagged(self, message: Summary) -> bool:
        return any(tag.casefold() == self.tag for tag in message.tags or ())

    def _foreign(self, letter: Letter) -> bool:
        """Whether a mail on this shared server has nothing to do with this office."""
        people = (*letter.senders, *letter.to, *letter.cc, *letter.bcc)
        return not any(self.people.by_address(address) for address in people)

    def close(self) -> None:
        """Let the connections go."""
        self.api.close()


def _is_office_mail(message: Summary) -> bool:
    """Whether some office sent it: this one or another on the same server."""
    return ids.bare(message.message_id).endswith(f"@{ids.DOMAIN}")
