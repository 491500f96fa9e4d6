"""Composition of the carriers: the servers that are set up, or embedded ones (DESIGN 9)."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TypeVar

import httpx

from orchestrator.accounts import password_of, secret_of
from orchestrator.carriersettings import CalendarSettings, CarrierSettings
from orchestrator.carrying import Connector
from orchestrator.settings import Settings
from services.carriers.caldav import baikal
from services.carriers.caldav.carrier import CalDav
from services.carriers.caldav.client import Server
from services.carriers.desk import Carriers, Desk
from services.carriers.eml import EmlFolder
from services.carriers.maildir.carrier import MaildirMail
from services.carriers.mailpit.carrier import MailpitMail
from services.carriers.mailpit.smtp import SmtpServer
from services.carriers.radicale.server import RadicaleServer
from services.carriers.rocketchat.chat import RocketChat
from services.carriers.rocketchat.people import Credentials
from services.storage.writer import StoredJournal
from simulator.businesstime import BusinessCalendar, calendar_for
from simulator.carrying import CalendarCarrier, Directory, directory
from simulator.engine.history import as_of
from simulator.errors import CarrierError, UsageError
from simulator.office import Office
from simulator.ports import BlobStore

T = TypeVar("T")
KINDS = ("auto", "embedded", "none")
EMBEDDED_CALENDAR, EMBEDDED_SMTP = 5232, 1025
"""Ports of the embedded servers, on the loopback alone."""
_TIMEOUT = httpx.Timeout(30.0, connect=10.0)


def choose(kind: str, settings: Settings, blobs: BlobStore, say: Callable[[str], None]) -> Connector | None:
    """Return what connects an office to its servers: those that are set up, embedded ones, or None for no server."""
    if kind not in KINDS:
        raise UsageError(f"There are no carriers {kind!r}: use {', '.join(KINDS[:-1])} or {KINDS[-1]}.")
    if kind == "none" or (kind == "auto" and not settings.carriers.any):
        return None

    def connect(stack: ExitStack, journal: StoredJournal, desk: Callable[[], Desk]) -> Carriers:
        office = as_of(journal)
        made = _Maker(settings, blobs, directory(office, journal.office_id), office, stack, desk)
        return made.embedded(say) if kind == "embedded" else made.set_up()

    return connect


class _Maker:
    """Makes one office's carriers. What must be closed again goes onto the stack."""

    def __init__(
        self, settings: Settings, blobs: BlobStore, people: Directory, office: Office, stack: ExitStack,
        desk: Callable[[], Desk],
    ) -> None:  # fmt: skip
        self._settings = settings
        self._set = settings.carriers
        self._blobs = blobs
        self._people = people
        self._office = office
        self._stack = stack
        self._now = lambda: desk().now
        self._password = password_of(secret_of(settings.carried, self._set.secret))
        self._files = EmlFolder(settings.sent / people.office, lambda: desk().people, blobs)

    def set_up(self) -> Carriers:
        chosen: CarrierSettings = self._set
        tags: dict[str, str] = {}
        chat = mail = calendar = None
        if chosen.chat is not None:
            account = Credentials(chosen.chat.user, chosen.chat.password)
            tags["chat"] = _tag("rocketchat", chosen.chat.url)
            chat = RocketChat(chosen.chat.url, account, self._people, self._blobs, self._password, self._http(), time.time,
                              time.sleep)  # fmt: skip
        if chosen.mail is not None:
            tags["mail"] = _tag("mailpit", chosen.mail.url)
            smtp = SmtpServer(chosen.mail.host, chosen.mail.port)
            mail = MailpitMail(smtp, chosen.mail.url, self._http(), self._people, self._blobs)
        if chosen.calendar is not None:
            tags["calendar"] = _tag("caldav", chosen.calendar.url)
            calendar = self._calendar(chosen.calendar)
        return Carriers(self._files, chat, mail, calendar, tags)

    def embedded(self, say: Callable[[str], None]) -> Carriers:
        """A calendar server and a mailbox for each person, with an SMTP listener for their answers, all in this process."""
        folder = self._settings.carried
        calendars = folder / "calendars" / self._people.office
        radicale = _started(lambda port: RadicaleServer(calendars, port=port).start(), EMBEDDED_CALENDAR)
        self._stack.callback(radicale.close)
        radicale.admit(self._people, self._password)
        server = Server(radicale.url)
        calendar = self._dav(server, lambda people: radicale.admit(people, self._password))
        mail = MaildirMail(folder / "mail" / self._people.office, self._people, self._blobs)
        self._stack.callback(mail.close)
        port = _started(lambda port: mail.listen(port=port), EMBEDDED_SMTP)
        say(f"Calendars: {radicale.url}")
        say(f"Mailboxes: {folder / 'mail' / self._people.office / 'people'}, answers by SMTP to 127.0.0.1:{port}")
        say(f"Names and passwords: officetown accounts {self._people.office}")
        tags = {"mail": _tag("maildir", str(folder)), "calendar": _tag("radicale", str(folder))}
        return Carriers(self._files, None, mail, calendar, tags)

    def _calendar(self, chosen: CalendarSettings) -> CalendarCarrier:
        server = dav_server(chosen)
        if chosen.baikal:
            root = Path(chosen.baikal)
            return self._dav(server, lambda people: baikal.admit(root, people, self._password))
        return self._dav(server)

    def _dav(self, server: Server, admit: Callable[[Directory], object] | None = None) -> CalendarCarrier:
        return CalDav(self._http(), server, self._people, self._password, self._now, self._business(), admit)

    def _business(self) -> BusinessCalendar:
        return calendar_for(self._office.calendar)

    def _http(self) -> httpx.Client:
        """Never by a proxy that the environment names: these servers are the office's own."""
        return self._stack.enter_context(httpx.Client(timeout=_TIMEOUT, trust_env=False, follow_redirects=False))


def dav_server(chosen: CalendarSettings) -> Server:
    """Return a calendar server as its carrier wants it named. One calendar for all years is Baïkal's way."""
    name = "office" if chosen.per_year else "default"
    return Server(chosen.url, chosen.path, name, chosen.per_year, bulk=chosen.per_year)


def _started(start: Callable[[int], T], port: int) -> T:
    """Start an embedded server where programs expect it, or at any free port where another office has that one."""
    try:
        return start(port)
    except CarrierError:
        return start(0)


def _tag(kind: str, where: str) -> str:
    """Name a server in keys: short, and another for another server."""
    return f"{kind}-{hashlib.sha256(where.encode()).hexdigest()[:8]}"
