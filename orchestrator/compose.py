"""Composition: the only place where ports meet their implementations (DESIGN 2)."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from orchestrator.maildrop import Maildrop
from orchestrator.metering import Failures, Metered
from orchestrator.settings import PRICES, Settings
from orchestrator.stopping import Stop
from services.documents.renderer import DocumentRenderer
from services.models.classify import Fault
from services.models.connect import Surroundings, connect, wire_of
from services.models.ledger import Budget
from services.models.wire import OpenAIWire
from services.offline import OfflineProfessional
from services.packages.folder import read_package
from services.sandbox.bubblewrap import Bubblewrap
from services.storage.blobs import FileBlobs
from services.storage.database import Database
from services.storage.journal import OfficeRow, Offices
from services.storage.outbox import Outbox
from services.storage.statements import INSERT_EVENTS
from services.storage.writer import StoredJournal
from simulator.businesstime import calendar_for
from simulator.conversation import ModelRequest
from simulator.engine.environment import Environment, Observer, Pacer, Unpaced, free_of_charge
from simulator.engine.environment import Settings as EngineSettings
from simulator.engine.history import as_of
from simulator.engine.loop import Engine
from simulator.errors import OfficeTownError, StorageError, UnknownReference, UsageError
from simulator.events import ENGINE_VERSION, Event
from simulator.office import Office
from simulator.package import Package, genesis
from simulator.ports import BlobStore, Model, SandboxProvider

SANDBOXES = ("auto", "bubblewrap")
_PUMPED_AT_THE_END = 100_000


class Connected:
    """A model with its price: `worst_case` of a call, and what its `failures` may have cost, in millionths."""

    def __init__(
        self,
        model: Model,
        worst_case: Callable[[ModelRequest], int] = free_of_charge,
        failures: Failures | None = None,
    ) -> None:
        self.model = model
        self.worst_case = worst_case
        self.failures = failures

    def metered(self, journal: StoredJournal) -> Model:
        """Return the model as an office's run asks it: what got no answer is charged for what it was, no more."""
        return self.model if self.failures is None else Metered(self.model, journal, self.failures)


class House:
    """Everything the commands need, built from settings on first use.

    `model` and `sandboxes` stand in for those that the settings name: tests pass theirs.
    """

    def __init__(
        self, settings: Settings, *, model: Model | None = None, sandboxes: SandboxProvider | None = None
    ) -> None:
        self.settings = settings
        self.stop = Stop()
        for folder in (settings.home, settings.locks):
            try:
                folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            except OSError as error:
                raise StorageError(
                    f"The folder {folder} cannot be made ({error.strerror}). Name another as OFFICETOWN_HOME."
                ) from error
        self.database = Database(settings.database_url)
        self.offices = Offices(self.database, settings.locks)
        self.blobs = FileBlobs(settings.blobs)
        self.renderer = DocumentRenderer()
        self._model = model
        self._sandboxes = sandboxes
        self._made = ExitStack()

    def connect(self, budget: Budget | None = None, say: Callable[[str], None] = lambda text: None) -> Connected:
        """Return the model that the settings name. `say` is told of faults that are being waited out."""
        if self._model is not None:
            return Connected(self._model)
        if self.settings.model.offline:
            return Connected(OfflineProfessional())
        wire = self.wire()
        failures = Failures(wire.worst_cost)

        def on_fault(request: ModelRequest, fault: Fault, attempt: int) -> None:
            failures.on_fault(request, fault, attempt)
            say(f"The model does not answer ({fault.reason}), attempt {attempt} for {request.call[0]}.")

        return Connected(connect(wire, self._around(), budget=budget, on_fault=on_fault), wire.worst_cost, failures)

    def offline(self) -> Model:
        """Return the offline professional, or what stands in for the model in a test."""
        return self._model if self._model is not None else OfflineProfessional()

    def model_name(self) -> str:
        """Return the name of the model that the settings name; `offline` is what it says."""
        return "offline" if self.settings.model.offline else self.settings.model.name

    def model_names(self) -> dict[str, str]:
        """Return the model of each role, as a snapshot's manifest keeps it."""
        return {role: self.model_name() for role in ("principal", "client", "assistant")}

    def require_price(self) -> None:
        """Raise UsageError where a budget in money could promise nothing: the endpoint's price is not known."""
        chosen = self.settings.model
        if self._model is None and not chosen.offline and chosen.prices is None:
            raise UsageError(
                f"A budget needs the price of the model {chosen.name}: set {' and '.join(PRICES.values())} (money per "
                "million tokens), or run without --budget."
            )

    def wire(self) -> OpenAIWire:
        """Return the wire to the endpoint that the settings name."""
        wire = wire_of(self.settings.model.endpoint(), self._around())
        self._made.callback(wire.close)
        return wire

    def _around(self) -> Surroundings:
        """The real clock, sleep and draws for retry jitter: none of it can reach the event log."""
        return Surroundings(time.time, time.monotonic, self.stop.sleep_or_park, random.SystemRandom().random)

    def sandboxes(self, kind: str = "auto") -> SandboxProvider:
        """Return a sandbox provider that works here.

        Raises:
            SandboxUnavailable: none does; the message says what to do.
        """
        if kind not in SANDBOXES:
            raise UsageError(f"There is no sandbox {kind!r} here: use {' or '.join(SANDBOXES)}.")
        if self._sandboxes is None:
            provider = Bubblewrap(self.blobs)
            self._made.callback(provider.close)
            self._sandboxes = provider
        self._sandboxes.check()
        return self._sandboxes

    # -- offices ------------------------------------------------------------------------------------------------------

    def is_package(self, reference: str) -> bool:
        """Whether a reference is a package's folder rather than an office."""
        return (Path(reference) / "organization.yaml").is_file()

    def found(self, package: Package, name: str, seed: int) -> str:
        """Make an office from a package, whole or not at all; return its id. Its first day lies before it."""
        events = opening_events(package, seed, self.blobs)
        with self.database.writing() as connection:
            office_id = self.offices.insert(
                connection, name, package.digest, seed, ENGINE_VERSION, int(time.time()), head=len(events)
            )
            rows = [{"office": office_id, "revision": e.revision, "data": e.encode()} for e in events]
            connection.execute(INSERT_EVENTS, rows)
        return office_id

    def package(self, path: str) -> Package:
        """Read a package's folder; every fault is told with file and line."""
        return read_package(Path(path))

    def row(self, reference: str) -> OfficeRow:
        """Find an office by id, unique prefix or name."""
        try:
            return self.offices.find(reference)
        except UnknownReference as fault:
            if not Path(reference).is_dir():
                raise
            raise UnknownReference(
                f"{fault} The folder {reference} is no package: it has no organization.yaml."
            ) from None

    def office(self, row: OfficeRow, revision: int | None = None) -> Office:
        """Return an office's state, without a lease."""
        return as_of(self.offices.read(row.id), revision)

    @contextmanager
    def running(
        self,
        row: OfficeRow,
        model: Connected,
        sandboxes: SandboxProvider | None,
        settings: EngineSettings,
        observers: tuple[Observer, ...] = (),
        pacer: Callable[[Office], Pacer] = lambda office: Unpaced(),
    ) -> Iterator[Engine]:
        """Take an office over and lend its engine; what it sent outside is delivered before and after."""
        journal = self.offices.open(row.id)
        try:
            outbox = Outbox(journal, Maildrop(self.settings.sent / row.id, journal), lambda: int(time.time()))
            outbox.pump()
            office = as_of(journal)
            if row.parent is not None and office.forked_from is None:
                raise StorageError(
                    f"Office {row.id} is a fork whose making was interrupted. Remove it with "
                    f"`officetown offices rm {row.id}` and fork again."
                )
            env = Environment(
                journal, self.blobs, model.metered(journal), sandboxes, self.renderer, settings, pacer(office),
                observers, model.worst_case,
            )  # fmt: skip
            try:
                yield Engine(env, office, lambda revision: as_of(journal, revision))
            except OfficeTownError:
                with suppress(StorageError):
                    outbox.pump(_PUMPED_AT_THE_END)
                raise
            outbox.pump(_PUMPED_AT_THE_END)
        finally:
            journal.close()

    def close(self) -> None:
        """Let go of connections, of the sandboxes' folder and of the database."""
        self._made.close()
        self.database.close()


def opening_events(package: Package, seed: int, blobs: BlobStore) -> list[Event]:
    """Return a package's opening events; the bytes they name are in `blobs` afterwards."""
    return [
        Event(number, package.opens_at, actor, "genesis", payload)  # type: ignore[arg-type]
        for number, (actor, payload) in enumerate(genesis(package, seed, blobs), 1)
    ]


def end_of(office: Office, days: int) -> int:
    """Return the instant at which day number `days` (counted from the office's first day) ends."""
    calendar = calendar_for(office.calendar)
    first = calendar.local(office.opened_at).date()
    last = first.fromordinal(first.toordinal() + days)
    return calendar.at(last.isoformat(), 0) - 1
