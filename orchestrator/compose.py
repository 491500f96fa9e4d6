"""Composition: the only place where ports meet their implementations (DESIGN 2)."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from bench.worlds.systems import Desks, read_system
from orchestrator.accounts import password_of, secret_of
from orchestrator.carriers import choose
from orchestrator.carrying import Connector, Running, Shown, carried_over, roles_played
from orchestrator.configfile import ROLES
from orchestrator.connecting import OFFICE, Connected, Line, Tried, check, connect, lines, require_price
from orchestrator.provenance import note_run
from orchestrator.settings import ModelSettings, Settings
from orchestrator.stopping import Stop
from services.carriers.desk import Carriers, Desk
from services.carriers.eml import EmlFolder
from services.carriers.housekeeping import keeping, once
from services.documents.renderer import DocumentRenderer
from services.models.connect import Abilities, Surroundings, probe, wire_of
from services.models.ledger import Budget
from services.offline import OfflineProfessional
from services.packages.folder import read_package
from services.sandbox.bubblewrap import Bubblewrap
from services.sandbox.docker import Docker
from services.storage.blobs import FileBlobs
from services.storage.database import Database
from services.storage.journal import OfficeRow, Offices
from services.storage.outbox import Outbox
from services.storage.statements import INSERT_EVENTS
from services.storage.writer import StoredJournal
from simulator.businesstime import calendar_for
from simulator.carrying import Projection
from simulator.conversation import Role
from simulator.engine.environment import Environment, Observer, Pacer, Unpaced
from simulator.engine.environment import Settings as EngineSettings
from simulator.engine.history import as_of
from simulator.engine.inbound import Doorstep
from simulator.engine.loop import Engine
from simulator.errors import OfficeTownError, SandboxUnavailable, StorageError, UnknownReference, UsageError
from simulator.events import ENGINE_VERSION, Event
from simulator.office import Office
from simulator.package import Package, genesis
from simulator.ports import BlobStore, Model, SandboxProvider

SANDBOXES = ("auto", "bubblewrap", "docker")
_PUMPED_AT_THE_END = 100_000


class House:
    """Everything the commands need, built from settings on first use.

    `model`, `sandboxes` and `carriers` stand in for those that the settings name: tests pass theirs.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        model: Model | None = None,
        sandboxes: SandboxProvider | None = None,
        carriers: Connector | None = None,
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
        self._carriers = carriers
        self._made = ExitStack()

    def connect(
        self,
        budget: Budget | None = None,
        say: Callable[[str], None] = lambda text: None,
        roles: tuple[Role, ...] = OFFICE,
    ) -> Connected:
        """Return the models that the settings name for some roles. `say` is told of faults that are being waited out."""
        if self._model is not None:
            return Connected(self._model)
        return connect(self._models(roles), self._around(), self._made, budget, say)

    def check(
        self,
        roles: tuple[Role, ...] = OFFICE,
        left: int | None = None,
        say: Callable[[str], None] = lambda text: None,
        journal: StoredJournal | None = None,
    ) -> tuple[Tried, ...]:
        """Ask the endpoints of some roles one tiny question each; see `connecting.check`."""
        return () if self._model is not None else check(self.lines(roles), self._around(), left, say, journal)

    def asks(self) -> bool:
        """Whether an office's run would ask any endpoint at all."""
        return self._model is None and bool(self.lines(OFFICE))

    def lines(self, roles: tuple[Role, ...] = ROLES) -> list[Line]:
        """Return the distinct endpoints that are set up for some roles."""
        return lines(self._models(roles))

    def abilities(self, line: Line) -> Abilities:
        """Try an endpoint with three tiny calls. Raises UsageError where its key is not there."""
        wire = wire_of(line.settings.endpoint(), self._around())
        try:
            return probe(wire)
        finally:
            wire.close()

    def offline(self) -> Model:
        """Return the offline professional, or what stands in for the model in a test."""
        return self._model if self._model is not None else OfflineProfessional()

    def unconnected(self) -> None:
        """Have the offline professional play everybody from here on, whatever is set up."""
        self._model = self.offline()

    def model_name(self, role: Role = "assistant") -> str:
        """Return the name of a role's model; `offline` is the offline professional's."""
        chosen = self.settings.of(role)
        return "offline" if chosen.offline or self._model is not None else chosen.name

    def named_model(
        self, role: Role, name: str = "", say: Callable[[str], None] = lambda text: None
    ) -> tuple[Model, str, str, str]:
        """Return a role's model with its name, effort and endpoint's host; `name` asks that endpoint for another model.

        Raises UsageError where no endpoint is set up for the role: nothing else may answer in its place.
        """
        chosen = self.settings.of(role)
        if self._model is not None:
            return self._model, name or "double", "", ""
        if chosen.offline:
            raise UsageError(
                f"No model is set up for the role {role}: name its endpoint by OFFICETOWN_{role.upper()}_MODEL_URL and "
                f"OFFICETOWN_{role.upper()}_MODEL, or for all roles at once (docs/configuration.md)."
            )
        if name and name != chosen.name:
            chosen = msgspec.structs.replace(chosen, name=name, prices=None)
        connected = connect({role: chosen}, self._around(), self._made, None, say)
        return connected.model, chosen.name, chosen.effort, urlsplit(chosen.url).hostname or ""

    def model_names(self) -> dict[str, str]:
        """Return the model of each role that an office asks, as its record and a snapshot's manifest keep it."""
        return {role: self.model_name(role) for role in ("principal", "client", "assistant")}

    def require_price(self) -> None:
        """Raise UsageError where a budget in money could promise nothing: the price of a role's model is not known."""
        if self._model is None:
            require_price(self._models(OFFICE))

    def _models(self, roles: tuple[Role, ...]) -> dict[Role, ModelSettings]:
        return {role: self.settings.of(role) for role in roles}

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
            self._sandboxes = self._working(kind)
        self._sandboxes.check()
        return self._sandboxes

    def _working(self, kind: str) -> SandboxProvider:
        """Return the provider of that kind; for `auto` the first that works here, as both do the same work."""
        faults: list[str] = []
        for name in ("bubblewrap", "docker") if kind == "auto" else (kind,):
            made: Bubblewrap | Docker
            if name == "docker":
                made = Docker(self.blobs, self.settings.engine, self.settings.home / "owners", self.settings.image)
            else:
                made = Bubblewrap(self.blobs)
            try:
                made.check()
            except SandboxUnavailable as fault:
                made.close()
                if kind != "auto":
                    raise
                faults.append(f"{name}: {fault}")
                continue
            self._made.callback(made.close)
            return made
        raise SandboxUnavailable("No kind of sandbox works here.\n" + "\n".join(faults))

    def password(self) -> Callable[[str], str]:
        """Return what tells the password of a username at the servers that show the offices."""
        return password_of(secret_of(self.settings.carried, self.settings.carriers.secret))

    def shown(self, kind: str, play: tuple[str, ...], say: Callable[[str], None]) -> Shown:
        """Return how an office is to be shown: by the servers that are set up (`auto`), by embedded ones, or by `none`.

        Raises UsageError where there is no such kind, or nobody could play a role for want of a server.
        """
        connector = self._carriers or choose(kind, self.settings, self.blobs, say)
        if play and connector is None:
            raise UsageError(
                "Nobody can play a role where no server shows the office: name one (docs/carriers.md), or use "
                "--carriers embedded."
            )
        return Shown(connector, play, self.settings.carriers.poll_s)

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
        return read_package(Path(path), systems=read_system)

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
        pacer: Callable[[Office, Doorstep], Pacer] = lambda office, door: Unpaced(),
        shown: Shown | None = None,
    ) -> Iterator[Running]:
        """Take an office over and lend its engine; what it sent outside is delivered before, meanwhile and after.

        `shown` says which servers show it, and which roles people play.
        """
        shown = shown or Shown()
        with ExitStack() as stack:
            journal = self.offices.open(row.id)
            stack.callback(journal.close)
            note_run(journal, self.model_names())
            carriers = (shown.connect or self._files_only)(stack, journal, lambda: desk)
            projection = Projection(carriers.targets())
            office = carried_over(journal, projection)
            if row.parent is not None and office.forked_from is None:
                raise StorageError(
                    f"Office {row.id} is a fork whose making was interrupted. Remove it with "
                    f"`officetown offices rm {row.id}` and fork again."
                )
            door = Doorstep()
            desk = Desk(journal, office, carriers, projection, door, self.blobs)
            stack.callback(desk.close)
            outbox = Outbox(journal, desk.deliver, lambda: int(time.time()))
            roles_played(office, shown.play, door)
            once(outbox, desk)
            env = Environment(
                journal, self.blobs, model.metered(journal), sandboxes, self.renderer, settings, pacer(office, door),
                (*observers, desk), model.worst_case, door if door.waiting or carriers.named() else None, projection,
                Desks(),
            )  # fmt: skip
            engine = Engine(env, office, lambda revision: as_of(journal, revision))
            desk.wake = engine.poke
            try:
                with keeping(outbox, desk, shown.poll_s) if carriers.named() else nullcontext():
                    yield Running(engine, desk, outbox)
            except OfficeTownError:
                with suppress(StorageError):
                    outbox.pump(_PUMPED_AT_THE_END)
                raise
            outbox.pump(_PUMPED_AT_THE_END)

    def _files_only(self, stack: ExitStack, journal: StoredJournal, desk: Callable[[], Desk]) -> Carriers:
        """Without any server, what leaves the firm becomes files."""
        return Carriers(EmlFolder(self.settings.sent / journal.office_id, lambda: desk().people, self.blobs))

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
