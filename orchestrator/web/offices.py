"""The offices that this process runs: each in a thread of its own, steered from any browser, stopped at a commit."""

from __future__ import annotations

import copy
import logging
import signal
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import closing

import msgspec

from orchestrator.carrying import Running
from orchestrator.compose import House, end_of
from orchestrator.connecting import Connected
from orchestrator.settings import micros
from orchestrator.stopping import Stop
from orchestrator.web.errors import Conflicting
from orchestrator.web.steering import SteeredClock, speed_of
from services.models.ledger import Budget
from services.storage.journal import OfficeRow
from services.storage.leases import holder
from simulator.clock import SPEED
from simulator.engine.environment import Pacer, Settings
from simulator.engine.inbound import Doorstep
from simulator.errors import OfficeTownError, UsageError
from simulator.office import Office
from simulator.ports import SandboxProvider

MOST_RUNNING = 8
_SAID = 50
_OPENING_S = 60.0
_TRIED_S = 60.0
log = logging.getLogger("officetown.web")


class RunAsked(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How an office is to run. `days` are calendar days from its first day, in total; `speed` 1 to 120 or `max`."""

    days: int
    speed: str = str(SPEED)
    paused: bool = False
    budget: str = ""
    concurrency: int = 6
    workers: int = 4
    carriers: str = "none"
    play: tuple[str, ...] = ()
    check: bool = True


class Clock(msgspec.Struct, frozen=True):
    """How an office stands with its clock. `version` rises with every command and change of state.

    `state`: `still` (nobody runs it), `elsewhere` (another process does: read only here), `starting`, `running`, `paused`,
    `stopping`, `ended` (its days are over), `stopped`, `failed` (`error` says why, verbatim).
    """

    state: str
    version: int = 0
    speed: str = ""
    steps: int = 0
    days: int = 0
    error: str = ""
    holder: str = ""


class Steer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A command to a clock: what is left out stays. `steps` are instants to go on by; then it stands."""

    paused: bool | None = None
    speed: str | None = None
    steps: int = 0


class Run:
    """One run of one office, in its thread."""

    def __init__(
        self, house: House, row: OfficeRow, asked: RunAsked, sandboxes: SandboxProvider, done: Callable[[], None]
    ):
        self.row = row
        self.asked = asked
        self.state = "starting"
        self.error = ""
        self.version = 1
        self.clock: SteeredClock | None = None
        self.running: Running | None = None
        self.model_says: deque[tuple[float, str]] = deque(maxlen=_SAID)
        """What was said of model calls that do not get through, with the wall time, the latest last."""
        # A stop of its own: whoever stops this office must not wait out the outage of its models, and no other office stops.
        self._house = copy.copy(house)
        self._house.stop = Stop()
        self._sandboxes = sandboxes
        self._done = done
        self._speed = speed_of(asked.speed)
        self._lock = threading.Lock()
        self._stop = False
        self.opened = threading.Event()
        """Set once the office is held, or could not be."""
        self.thread = threading.Thread(target=self._work, name=f"office-{row.id}", daemon=True)

    @property
    def alive(self) -> bool:
        return self.state in ("starting", "running", "stopping")

    def shown(self) -> Clock:
        """Return how it stands."""
        clock = self.clock
        paused = clock.paused if clock else self.asked.paused
        state = "paused" if self.state == "running" and paused else self.state
        speed = clock.speed if clock else self._speed
        steps = clock.steps if clock else 0
        return Clock(state, self.version, str(speed) if speed else "max", steps, self.asked.days, self.error)

    def steer(self, command: Steer) -> None:
        """Follow a command. Raises Conflicting where it has no clock to steer any more, UsageError for a wrong one."""
        speed = None if command.speed is None else speed_of(command.speed)
        if not 0 <= command.steps <= 1_000:
            raise UsageError("Steps are 0 to 1000 at a time.")
        clock = self.clock
        if clock is None or self.state != "running":
            raise Conflicting(f"The office is {self.state}: there is no clock to steer.")
        if speed == 0 and self.running is not None and self.running.engine.office.held:
            raise Conflicting("People play roles here and could not keep up: the speed is 1 to 120 (RULE 4).")
        clock.steer(command.paused, speed, command.steps)

    def stop(self) -> None:
        """Ask it to stop at the next commit."""
        with self._lock:
            self._stop = True
            if self.state in ("starting", "running"):
                self._become("stopping")
            running, clock = self.running, self.clock
        self._house.stop.signal = signal.SIGTERM
        if running is not None:
            running.engine.stop()
            running.engine.poke()
        if clock is not None:
            clock.end()

    def wake(self) -> None:
        """Have what lies on the doorstep let in now."""
        if self.clock is not None:
            self.clock.nudge()
        if self.running is not None:
            self.running.engine.poke()

    # -- the thread -----------------------------------------------------------------------------------------------------

    def _become(self, state: str, error: str = "") -> None:
        self.state, self.error = state, error
        self._bump()

    def _bump(self) -> None:
        self.version += 1

    def _pacer(self, office: Office, door: Doorstep) -> Pacer:
        self.clock = SteeredClock(office, door, time.monotonic, self._speed, self.asked.paused, self._bump)
        return self.clock

    def _work(self) -> None:
        try:
            self._run()
        except OfficeTownError as fault:
            self._become("failed", str(fault))
        except Exception as fault:  # noqa: BLE001 - a thread's error would vanish; the page is to show it
            log.error("office %s failed", self.row.id, exc_info=fault)
            self._become("failed", f"{type(fault).__name__}: {fault}")
        finally:
            self.running = None
            self.opened.set()
            self._done()

    def _run(self) -> None:
        asked, house = self.asked, self._house
        limit = micros(asked.budget, "budget") if asked.budget else None
        connected = self._connected(limit)
        # A page is a way to play a role too, so no server is needed; who plays already goes on.
        held = tuple(sorted(house.office(self.row).held))
        shown = msgspec.structs.replace(house.shown(asked.carriers, (), self._say), play=asked.play or held)
        settings = Settings(concurrency=asked.concurrency, workers=asked.workers)
        with house.running(self.row, connected, self._sandboxes, settings, (), self._pacer, shown) as running:
            # A browser may post at any time, so the doorstep is looked at although no carrier stands before it.
            clock = self.clock
            assert clock is not None
            running.engine.env.inbound = clock.door
            with self._lock:
                self.running = running
                stop = self._stop
                if not stop:
                    self._become("running")
            self.opened.set()
            if not stop:
                running.engine.run(end_of(running.engine.office, asked.days))
            early = self._stop or running.engine.stopped_early
        self._become("stopped" if early else "ended")

    def _connected(self, limit: int | None) -> Connected:
        house = self._house
        if limit is not None:
            house.require_price()
        charged = house.offices.read(self.row.id).charged_micros()
        if self.asked.check and house.asks():
            with closing(house.offices.open(self.row.id)) as journal:
                house.check(left=None if limit is None else limit - charged, say=self._say, journal=journal)
        return house.connect(None if limit is None else Budget(limit, charged), self._say)

    def _say(self, text: str) -> None:
        self.model_says.append((time.time(), text))


class Town:
    """The runs of this process, by office. Thread-safe."""

    def __init__(self, house: House, most: int = MOST_RUNNING) -> None:
        self._house = house
        self._most = most
        self._lock = threading.Lock()
        self._runs: dict[str, Run] = {}
        self._closed = False
        self._tried: tuple[float, str, str] | None = None

    def running(self) -> frozenset[str]:
        """Return the ids of the offices that run here now."""
        return frozenset(name for name, run in list(self._runs.items()) if run.alive)

    def sandbox(self) -> tuple[str, str]:
        """Return the sandbox provider's name, and in plain words why none works; tried at most once a minute."""
        tried = self._tried
        if tried is None or time.monotonic() - tried[0] > _TRIED_S:
            try:
                name, fault = self._house.sandboxes().name, ""
            except OfficeTownError as error:
                name, fault = "", str(error)
            tried = self._tried = (time.monotonic(), name, fault)
        return tried[1], tried[2]

    def run(self, office_id: str) -> Run | None:
        """Return an office's run, under way or the last one."""
        return self._runs.get(office_id)

    def clock(self, office_id: str, look: bool = False) -> Clock:
        """Return how an office stands; `look` also finds out whether another process has it."""
        run = self._runs.get(office_id)
        if run is not None and run.alive:
            return run.shown()
        held = holder(self._house.database, self._house.settings.locks, office_id) if look else ""
        if held:
            return Clock("elsewhere", run.version if run else 0, holder=held)
        return run.shown() if run is not None else Clock("still")

    def start(self, row: OfficeRow, asked: RunAsked) -> Clock:
        """Run an office here; return once it is held, or could not be.

        Raises OfficeBusy where another process has it, Conflicting where it runs here already, and what a run raises.
        """
        _checked(asked)
        if speed_of(asked.speed) == 0 and self._house.office(row).held:
            raise Conflicting("People play roles here and could not keep up: the speed is 1 to 120 (RULE 4).")
        sandboxes = self._house.sandboxes()
        with self._lock:
            if self._closed:
                raise Conflicting("The server is on its way out.")
            before = self._runs.get(row.id)
            if before is not None and before.alive:
                raise Conflicting("It runs here already: steer its clock, or stop it first.")
            if len(self.running()) >= self._most:
                raise Conflicting(f"{self._most} offices run here already. Stop one first.")
            run = Run(self._house, row, asked, sandboxes, lambda: None)
            if before is not None:
                run.version += before.version
            self._runs[row.id] = run
            run.thread.start()
        run.opened.wait(_OPENING_S)
        if run.state == "failed":
            raise Conflicting(run.error)
        return run.shown()

    def steer(self, office_id: str, command: Steer) -> Clock:
        """Steer an office's clock; the last command wins. Raises Conflicting where it does not run here."""
        run = self._alive(office_id)
        run.steer(command)
        return run.shown()

    def stop(self, office_id: str, wait_s: float = 0.0) -> Clock:
        """Ask an office to stop at its next commit, and wait for it a while."""
        run = self._alive(office_id)
        run.stop()
        run.thread.join(wait_s)
        return run.shown()

    def _alive(self, office_id: str) -> Run:
        run = self._runs.get(office_id)
        if run is None or not run.alive:
            held = self.clock(office_id, look=True).holder
            raise Conflicting(
                f"Another process runs this office ({held}): here it can only be looked at." if held
                else "This office does not run here. Start it first."
            )  # fmt: skip
        return run

    def close(self, wait_s: float = 120.0) -> tuple[str, ...]:
        """Stop every run at a commit and wait for them; return the ids of those that have not ended by then."""
        with self._lock:
            self._closed = True
            runs = list(self._runs.values())
        for run in runs:
            if run.alive:
                run.stop()
        end = time.monotonic() + wait_s
        for run in runs:
            run.thread.join(max(0.0, end - time.monotonic()))
        return tuple(run.row.id for run in runs if run.thread.is_alive())


def _checked(asked: RunAsked) -> None:
    """Refuse what no run could follow."""
    speed = speed_of(asked.speed)
    if not 1 <= asked.days <= 36_525:
        raise UsageError("days: 1 to 36525 calendar days from the office's first day.")
    if not (1 <= asked.concurrency <= 1_000 and 1 <= asked.workers <= 1_000):
        raise UsageError("concurrency and workers: 1 to 1000.")
    if asked.play and not speed:
        raise UsageError("People cannot keep up with speed max: with `play` the speed is 1 to 120 (RULE 4).")
    if asked.budget:
        micros(asked.budget, "budget")
