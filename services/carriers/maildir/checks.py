"""Whether the embedded mail carrier is ready, and whether mail really passes through it: for `officetown doctor`."""

from __future__ import annotations

import mailbox
import smtplib
from collections.abc import Iterator

from services.carriers.mail.message import as_bytes, notice
from services.carriers.mail.parse import read_letter
from services.carriers.maildir.boxes import username_of
from services.carriers.maildir.carrier import MaildirMail
from simulator.errors import CarrierError

Check = tuple[str, bool, str]
"""What was tried, whether it went well, and what was seen or what to do, in plain words."""


def ready_check(carrier: MaildirMail, port: int = 0) -> Iterator[Check]:
    """Look: the folders can be written, and SMTP answers at `port` on the loopback (0: it is not asked for)."""
    try:
        carrier.provision(carrier.people)
        waiting = len(carrier.spool.waiting())
        yield (
            "mail: folders",
            True,
            f"{carrier.boxes.folder}, {len(carrier.people.accounts)} people, {waiting} mails to take in",
        )
    except CarrierError as fault:
        yield "mail: folders", False, str(fault)
    if port:
        try:
            with smtplib.SMTP("127.0.0.1", port, "officetown.invalid", 5) as session:
                session.noop()
            yield "mail: SMTP", True, f"127.0.0.1:{port} answers"
        except (smtplib.SMTPException, OSError) as fault:
            yield "mail: SMTP", False, f"127.0.0.1:{port} does not answer ({fault}): is the office running?"


def live_check(carrier: MaildirMail, now: int, token: str) -> Iterator[Check]:
    """Deliver a notice to the first person and read it back as a mail program would. It stays there."""
    if not carrier.people.accounts:
        yield "mail: deliver", False, "the office has nobody to write to"
        return
    person = carrier.people.accounts[0].person
    text = f"OfficeTown tried whether mail arrives ({token}). Nothing needs to be done."
    message = notice(("doctor", token), now, person, "Does mail arrive?", text, carrier.people)
    username = username_of(carrier.people, person)
    try:
        carrier.boxes.deliver(username, message["Message-ID"], now, as_bytes(message), again=True)
        box = mailbox.Maildir(carrier.boxes.make(username), create=False)
        found = [m for m in box if m["Message-ID"] == message["Message-ID"]]
    except (CarrierError, OSError) as fault:
        yield "mail: deliver", False, str(fault)
        return
    yield "mail: deliver", len(found) == 1, f"{len(found)} of 1 copies in {person}'s Maildir"
    yield "mail: read back", [read_letter(m.as_bytes()).text for m in found] == [text], "the text came back as it was"
