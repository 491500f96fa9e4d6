"""`doctor`: whether the servers that show an office are ready, and with `--live` whether things really pass through them."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable, Iterator

import httpx
import msgspec

from orchestrator.carriers import dav_server
from orchestrator.carriersettings import CarrierSettings
from services.carriers.caldav import checks as calendar
from services.carriers.mailpit import checks as mail
from services.carriers.mailpit.carrier import MailpitMail
from services.carriers.mailpit.smtp import SmtpServer
from services.carriers.rocketchat.people import Credentials
from services.carriers.rocketchat.probe import Finding as ChatFinding
from services.carriers.rocketchat.probe import Probe
from simulator.carrying import Account, Directory
from simulator.ports import BlobStore

Finding = tuple[str, bool, str]
"""What was tried, whether it went well, and what was seen or what to do, in plain words."""
NOBODY = Directory(
    "doctor", "OfficeTown", "UTC", (Account("doctor", "The doctor", "doctor", "doctor@officetown.invalid"),)
)
"""Whose calendar and mailbox are tried where there is no office yet."""


def findings(
    settings: CarrierSettings, people: Directory, blobs: BlobStore, password_of: Callable[[str], str], live: bool
) -> Iterator[Finding]:
    """Yield what is ready and what is not, server by server; `live` posts, uploads, mails, schedules and reads back."""
    with httpx.Client(timeout=httpx.Timeout(30.0, connect=10.0), trust_env=False) as http:
        token = secrets.token_hex(6)
        if settings.chat is not None:
            account = Credentials(settings.chat.user, settings.chat.password)
            probe = Probe(settings.chat.url, account, http, time.time, time.sleep, token)
            yield from _both(_told(probe.ready_check()), lambda: _told(probe.live_check()), live)
        if settings.mail is not None:
            smtp = SmtpServer(settings.mail.host, settings.mail.port)
            carrier = MailpitMail(smtp, settings.mail.url, http, people, blobs)
            yield from _both(mail.ready_check(carrier), lambda: mail.live_check(carrier, int(time.time()), token), live)
        if settings.calendar is not None:
            server = dav_server(settings.calendar)
            # Where there is no office yet, nobody has to have a calendar: trying one makes it.
            present = msgspec.structs.replace(people, accounts=()) if people is NOBODY else people
            yield from _both(
                calendar.ready_check(http, server, present, password_of),
                lambda: calendar.live_check(http, server, people, password_of, lambda: int(time.time())),
                live,
            )


def _told(found: Iterable[ChatFinding]) -> Iterator[Finding]:
    return ((f.line, f.ok, f.detail) for f in found)


def _both(ready: Iterable[Finding], tried: Callable[[], Iterable[Finding]], live: bool) -> Iterator[Finding]:
    """Yield what stands in the way; try it really only where nothing does."""
    fit = True
    for finding in ready:
        fit = fit and finding[1]
        yield finding
    if live and fit:
        yield from tried()
