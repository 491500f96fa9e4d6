"""An office in a home of its own, and the three servers that show it; each can be stopped, started, and made to fail."""

from __future__ import annotations

import contextlib
import socket
from pathlib import Path
from types import TracebackType
from typing import Self

from sqlalchemy import func, select, update

from orchestrator.compose import House, opening_events
from orchestrator.output import Out
from orchestrator.running import RunOptions, run
from orchestrator.settings import Settings, read_settings
from services.carriers.radicale.server import RadicaleServer
from services.storage.tables import outbox
from simulator.carrying import Directory, directory
from simulator.engine.history import walk
from simulator.fold import fold
from simulator.office import Office
from tests.carriers.holdings import calendars_agree, chat_agrees, mail_agrees
from tests.carriers.standins.mailpit import Mailpit
from tests.carriers.standins.proxy import Proxy
from tests.carriers.standins.rocketchat import RocketChatStandIn
from tests.orchestrator.support import JUNIPER

PASSWORD = "office-password"


def _free_port() -> int:
    """A port that stays the server's over a restart."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Town:
    """Juniper and its servers. `run` is one process's worth of parts."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.chat = RocketChatStandIn(password=PASSWORD)
        self.mail = Mailpit()
        self.radicale = RadicaleServer(folder / "radicale", port=_free_port(), durable=False)
        self.said: list[str] = []
        self.office = ""
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Self:
        self.chat.start()
        self.mail.start()
        self.radicale.start()
        self.calendar = Proxy(self.radicale.url).start()
        self._stack.callback(self.radicale.close)
        self._stack.callback(self.calendar.close)
        self._stack.callback(self.mail.stop)
        self._stack.callback(self.chat.stop)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def settings(self) -> Settings:
        """Return the settings that name the servers."""
        return read_settings({
            "OFFICETOWN_HOME": str(self.home), "OFFICETOWN_POLL_SECONDS": "0.2", "OFFICETOWN_PEOPLE_SECRET": "a secret",
            "OFFICETOWN_CHAT_URL": self.chat.url, "OFFICETOWN_CHAT_USER": "office", "OFFICETOWN_CHAT_PASSWORD": PASSWORD,
            "OFFICETOWN_MAIL_SMTP": f"127.0.0.1:{self.mail.smtp_port}", "OFFICETOWN_MAIL_URL": self.mail.url,
            "OFFICETOWN_CALENDAR_URL": self.calendar.url,
        })  # fmt: skip

    def run(self, days: int, carriers: str = "auto") -> str:
        """Run up to the end of a day; return the log's hash. Whatever waits for another attempt has waited long enough."""
        house = House(self.settings())
        out = Out(quiet=True)
        out.say = self.said.append  # type: ignore[method-assign, assignment]
        with house.database.writing() as connection:
            connection.execute(update(outbox).values(next_attempt=0))
        try:
            self._admit(house)
            seed = None if self.office else 1
            result = run(house, out, self.office or JUNIPER, RunOptions(days=days, seed=seed, carriers=carriers))
        finally:
            house.close()
        self.office = str(result["office"])
        return str(result["hash"])

    def _admit(self, house: House) -> None:
        """A calendar server's accounts are its own affair: here they are those of Juniper's package."""
        office = fold(opening_events(house.package(JUNIPER), 1, house.blobs))
        self.radicale.admit(directory(office, "any"), house.password())

    def record(self) -> Office:
        """Return the office as its record has it."""
        house = House(self.settings())
        try:
            return house.office(house.row(self.office))
        finally:
            house.close()

    def people(self) -> Directory:
        """Return the office's accounts."""
        return directory(self.record(), self.office)

    def events(self, kind: type) -> list:  # type: ignore[type-arg]
        """Return the payloads of one kind in the log."""
        house = House(self.settings())
        try:
            return [e.payload for e, _ in walk(house.offices.read(self.office)) if isinstance(e.payload, kind)]
        finally:
            house.close()

    def waiting(self) -> int:
        """Return how much waits in the outbox."""
        house = House(self.settings())
        try:
            with house.database.reading() as connection:
                query = select(func.count()).select_from(outbox).where(outbox.c.state.in_(("waiting", "claimed")))
                return int(connection.execute(query).scalar_one())
        finally:
            house.close()

    def password(self, username: str) -> str:
        """Return a person's password."""
        house = House(self.settings())
        try:
            return house.password()(username)
        finally:
            house.close()

    def agrees(self, foreign_mails: int = 0) -> None:
        """Check that the servers hold exactly what the office's record says."""
        office = self.record()
        chat_agrees(self.chat.state(), office, self.office)
        mail_agrees(self.mail.state(), office, self.office, foreign_mails)
        calendars_agree(self.radicale.url, office, self.office, self.password)
