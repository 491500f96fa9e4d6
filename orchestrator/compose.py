"""Composition: the only place where ports meet their implementations (DESIGN 2)."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from orchestrator.maildrop import Maildrop
from orchestrator.settings import Settings
from services.documents.renderer import DocumentRenderer
from services.models.connect import Surroundings, connect, wire_of
from services.models.endpoint import Endpoint
from services.models.ledger import Budget
from services.offline import OfflineProfessional
from services.packages.folder import read_package
from services.sandbox.bubblewrap import Bubblewrap
from services.storage.blobs import FileBlobs
from services.storage.database import Database
from services.storage.journal import OfficeRow, Offices
from services.storage.outbox import Outbox
from services.storage.writer import StoredJournal
from simulator.businesstime import calendar_for
from simulator.conversation import ModelRequest
from simulator.engine.environment import Environment, Observer, Pacer, Unpaced, free_of_charge
from simulator.engine.environment import Settings as EngineSettings
from simulator.engine.history import as_of
from simulator.engine.loop import Engine
from simulator.errors import UsageError
from simulator.events import ENGINE_VERSION, Event
from simulator.fold import fold
from simulator.office import Office
from simulator.package import Package, genesis
from simulator.ports import Model, SandboxProvider


def surroundings() -> Surroundings:
    """Return the real clock, sleep and draws for retry jitter: none of it can reach the event log."""
    return Surroundings(time.time, time.monotonic, time.sleep, random.SystemRandom().random)


class House:
    """Everything the commands need, built from settings on first use."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        settings.home.mkdir(parents=True, exist_ok=True, mode=0o700)
        settings.locks.mkdir(exist_ok=True, mode=0o700)
        self.database = Database(settings.database_url)
        self.offices = Offices(self.database, settings.locks)
        self.blobs = FileBlobs(settings.blobs)
        self.renderer = DocumentRenderer()

    def model(self, budget: Budget | None = None) -> tuple[Model, Callable[[ModelRequest], int]]:
        """Return the model that the settings name, with the worst case a call may cost."""
        chosen = self.settings.model
        if chosen.offline:
            return OfflineProfessional(), free_of_charge
        endpoint = Endpoint(
            chosen.url, chosen.name, chosen.key, wire=chosen.wire, effort=chosen.effort, tools=chosen.tools
        )
        around = surroundings()
        wire = wire_of(endpoint, around)
        return connect(wire, around, budget=budget), lambda request: wire.worst_cost(request) or 0

    def sandboxes(self, kind: str = "auto") -> SandboxProvider:
        """Return a sandbox provider that works here.

        Raises:
            SandboxUnavailable: none does; the message says what to do.
        """
        if kind not in ("auto", "bubblewrap"):
            raise UsageError(f"There is no sandbox {kind!r} here: use auto or bubblewrap.")
        provider = Bubblewrap(self.blobs)
        provider.check()
        return provider

    # -- offices
    # --------------------------------------------------------------------------------------------------------

    def is_package(self, reference: str) -> bool:
        """Whether a reference is a package's folder rather than an office."""
        return (Path(reference) / "organization.yaml").is_file()

    def found(self, package: Package, name: str, seed: int) -> str:
        """Make an office from a package and commit its opening events; return its id."""
        office_id = self.offices.create(name, package.digest, seed, ENGINE_VERSION, int(time.time()))
        journal = self.offices.open(office_id)
        try:
            open_office(journal, package, seed, self.blobs)
        finally:
            journal.close()
        return office_id

    def package(self, path: str) -> Package:
        """Read a package's folder; every fault is told with file and line."""
        return read_package(Path(path))

    def row(self, reference: str) -> OfficeRow:
        """Find an office by id, unique prefix or name."""
        return self.offices.find(reference)

    def office(self, row: OfficeRow, revision: int | None = None) -> Office:
        """Return an office's state, without a lease."""
        return as_of(self.offices.read(row.id), revision)

    @contextmanager
    def running(
        self,
        row: OfficeRow,
        model: Model,
        sandboxes: SandboxProvider | None,
        settings: EngineSettings,
        observers: tuple[Observer, ...] = (),
        pacer: Callable[[Office], Pacer] = lambda office: Unpaced(),
        worst_case: Callable[[ModelRequest], int] = free_of_charge,
    ) -> Iterator[Engine]:
        """Take an office over and lend its engine; what it sent outside is delivered before and after."""
        journal = self.offices.open(row.id)
        try:
            outbox = Outbox(journal, Maildrop(self.settings.sent / row.id, journal), lambda: int(time.time()))
            outbox.pump()
            office = as_of(journal)
            env = Environment(
                journal, self.blobs, model, sandboxes, self.renderer, settings, pacer(office), observers, worst_case
            )
            try:
                yield Engine(env, office, lambda revision: as_of(journal, revision))
            finally:
                outbox.pump(100_000)
        finally:
            journal.close()

    def close(self) -> None:
        """Let the database go."""
        self.database.close()


def open_office(journal: StoredJournal, package: Package, seed: int, blobs: FileBlobs) -> Office:
    """Commit a package's opening events to an empty journal."""
    at = package.opens_at
    events = [
        Event(number, at, actor, "genesis", payload)  # type: ignore[arg-type]
        for number, (actor, payload) in enumerate(genesis(package, seed, blobs), 1)
    ]
    office = fold(events)
    journal.commit(1, [event.encode() for event in events], {})
    return office


def end_of(office: Office, days: int) -> int:
    """Return the instant at which day number `days` (counted from the office's first day) ends."""
    calendar = calendar_for(office.calendar)
    first = calendar.local(office.opened_at).date()
    last = first.fromordinal(first.toordinal() + days)
    return calendar.at(last.isoformat(), 0) - 1
