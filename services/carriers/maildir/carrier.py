"""The embedded mail carrier: what leaves lies in Maildirs, what people send comes in by SMTP on the loopback."""

from __future__ import annotations

from pathlib import Path

from services.carriers.mail import ids
from services.carriers.mail.cursor import brought, cursor_of
from services.carriers.mail.message import as_bytes, bounce_notice, build
from services.carriers.mail.parse import LIMIT, is_ours, read_letter, take
from services.carriers.maildir.boxes import Boxes, username_of
from services.carriers.maildir.listener import Listener
from services.carriers.maildir.spool import Spool
from simulator.arriving import MailArrived, Polled
from simulator.carrying import BounceOut, Directory, MailOut
from simulator.ports import BlobStore

_BATCH, _BATCH_BYTES = 50, 64 * 1024 * 1024
"""Mails and bytes a poll."""


class MaildirMail:
    """A `MailCarrier` below one folder: `people/USERNAME` are Maildirs, `in/waiting` and `in/taken` what came in.

    It takes mail in once `listen` was called. A person's own mail goes to its recipients' Maildirs when the office has
    it, and not to the sender's: their mail program has kept it.
    """

    def __init__(self, folder: Path, people: Directory, blobs: BlobStore) -> None:
        self.name = f"mail folders in {folder}"
        self.people = people
        self.boxes = Boxes(folder / "people")
        self.spool = Spool(folder / "in")
        self._blobs = blobs
        self._listener = Listener(self.spool, lambda: self.people)

    def listen(self, host: str = "127.0.0.1", port: int = 0) -> int:
        """Take mail in by SMTP from now on; return the port.

        Raises UsageError for an address beyond the loopback, CarrierError where the port is taken.
        """
        return self._listener.start(host, port)

    def provision(self, people: Directory) -> None:
        """Make everybody's Maildir."""
        self.people = people
        for account in people.accounts:
            self.boxes.make(account.username)

    def send(self, key: str, mail: MailOut, text: str, again: bool) -> None:
        """Put a mail into each recipient's Maildir and the sender's Sent folder, once each."""
        people = self.people
        name = ids.message_id_of(people.office, mail.mail.id, mail.origin)
        data = as_bytes(build(key, mail, text, people, self._blobs))
        for person in dict.fromkeys((*mail.mail.to, *mail.mail.cc)):
            self.boxes.deliver(username_of(people, person), name, mail.mail.at, data, again)
        if not mail.origin:
            self.boxes.deliver(username_of(people, mail.mail.sender), name, mail.mail.at, data, again, sent=True)

    def bounce(self, bounce: BounceOut) -> None:
        """Tell a person what did not take effect, once."""
        message = bounce_notice(bounce, self.people)
        name = ids.bare(message["Message-ID"])
        self.boxes.deliver(username_of(self.people, bounce.person), name, bounce.at, as_bytes(message), again=True)

    def poll(self, cursor: str) -> Polled:
        """Return what people sent. What `cursor` names is in the office's record, and is put away first."""
        self.spool.take(brought(cursor))
        names: list[str] = []
        arrivals: list[MailArrived] = []
        remarks: list[str] = []
        size = 0
        for name, length in self.spool.waiting()[:_BATCH]:
            size += length
            if names and size > _BATCH_BYTES:
                break
            names.append(name)
            letter = read_letter(self.spool.read(name, LIMIT + 1))
            if is_ours(letter, self.people):
                remarks.append(f"A mail that claims to be the office's own was not let in: {letter.subject[:80]!r}.")
                continue
            taken = take(letter, self.people)
            remarks.extend(taken.remarks)
            if taken.arrival is not None:
                arrivals.append(taken.arrival)
        return Polled(tuple(arrivals), cursor_of(names), tuple(remarks))

    def close(self) -> None:
        """Stop listening; what was taken in waits on the disk."""
        self._listener.stop()
