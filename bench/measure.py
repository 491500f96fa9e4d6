"""`make bench`: what the engine costs, measured in one run on this machine and printed as it is.

The model answers at once and for nothing here, unless a line says otherwise: these are costs beyond the model client.
Times are CPU time of this process where they say CPU, wall time otherwise. Nothing is asserted: machines differ.
"""

from __future__ import annotations

import heapq
import itertools
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from bench.crowd import Busy, crowd
from bench.measure_models import overhead
from bench.worlds.runs_measure import worlds
from services.documents.renderer import DocumentRenderer
from services.models.delayed import Delayed
from services.sandbox.bubblewrap import Bubblewrap
from services.storage.blobs import FileBlobs
from services.storage.database import Database
from services.storage.journal import Offices
from services.storage.memory import MemoryBlobs, MemoryJournal
from simulator.conversation import Message, ModelRequest, ModelResponse
from simulator.engine.environment import Environment, Settings
from simulator.engine.history import as_of
from simulator.engine.loop import Done, Engine
from simulator.errors import SandboxUnavailable
from simulator.events import Event, decode
from simulator.fold import fold
from simulator.office import Office
from simulator.ports import Model, SandboxSpec
from simulator.randomness import Stream

DAY = 86_400


def say(text: str) -> None:
    """Print one line at once."""
    print(text, flush=True)


def open_engine(events: list[Event], model: Model) -> Engine:
    """Return an engine on a freshly opened office in memory."""
    env, office, history = parts(events, model)
    return Engine(env, office, history)


def parts(events: list[Event], model: Model) -> tuple[Environment, Office, Callable[[int], Office]]:
    """Return what an engine is made of: surroundings in memory, the opened office, its history."""
    journal = MemoryJournal()
    journal.commit(1, [e.encode() for e in events], {})
    env = Environment(journal, MemoryBlobs(), model, None, DocumentRenderer(), Settings())
    return env, fold(events), lambda revision: as_of(journal, revision)


class Timed:
    """A model whose own CPU time is taken out of the account. Calls are counted."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self.calls = 0
        self.cpu = 0.0

    def complete(self, request: ModelRequest) -> ModelResponse:
        """Answer, and note what that cost this thread."""
        start = time.thread_time()
        response = self._model.complete(request)
        self.cpu += time.thread_time() - start
        self.calls += 1
        return response


class Cost(msgspec.Struct, frozen=True):
    """What a stretch of office life cost: CPU seconds beyond the model, model calls, events, wall seconds."""

    cpu: float
    calls: int
    events: int
    wall: float

    @property
    def step_ms(self) -> float:
        return 1000 * self.cpu / max(1, self.calls)


def life(people: int, days: int) -> Cost:
    """Let a crowd work for some days in memory and measure it."""
    events = crowd(people)
    model = Timed(Busy())
    engine = open_engine(events, model)
    cpu, wall = time.process_time(), time.perf_counter()
    office = engine.run(events[0].sim_time + days * DAY)
    return Cost(time.process_time() - cpu - model.cpu, model.calls, office.revision, time.perf_counter() - wall)


class Virtual(Engine):
    """The same engine at zero cost: workers answer in virtual time. Its makespan is what RULE 10 compares with."""

    def __init__(
        self,
        env: Environment,
        office: Office,
        history: Callable[[int], Office],
        latency: Callable[[ModelRequest], float],
    ) -> None:
        super().__init__(env, office, history)
        self._latency = latency
        self.clock = 0.0
        self._due: list[tuple[float, int, Done]] = []
        self._count = itertools.count()

    def _submit(self, job: Callable[[], Done]) -> None:
        done = job()
        self._in_flight += 1
        delay = self._latency(done.request) if done.request is not None else 0.0
        heapq.heappush(self._due, (self.clock + delay, next(self._count), done))

    def _receive(self, block: bool) -> Done | None:
        if not self._due or (self._due[0][0] > self.clock and not block):
            return None
        at, _, done = heapq.heappop(self._due)
        self.clock = max(self.clock, at)
        return done


def efficiency(name: str, latency: Callable[[ModelRequest], float], people: int, hours: int) -> None:
    """Compare the makespan with real waiting against that of the same rule at zero engine cost (RULE 10)."""
    events = crowd(people)
    until = events[0].sim_time + 9 * 3600 + hours * 3600
    ideal = Virtual(*parts(events, Busy()), latency)
    ideal.run(until)
    serial = Timed(Busy())
    real = open_engine(events, Delayed(serial, latency, time.sleep))
    start = time.perf_counter()
    real.run(until)
    wall = time.perf_counter() - start
    total = sum(latency(request) for request in _requests(events, until))
    say(
        f"  {name}: {serial.calls} calls, {wall:.1f} s; the same rule at zero engine cost {ideal.clock:.1f} s "
        f"-> {100 * ideal.clock / wall:.1f} % of it reached; {total / wall:.2f}-fold parallel with 6 people at once"
    )


def _requests(events: list[Event], until: int) -> list[ModelRequest]:
    """Return the requests of the same stretch, to sum up their waiting."""
    seen: list[ModelRequest] = []

    class Keep:
        def complete(self, request: ModelRequest) -> ModelResponse:
            seen.append(request)
            return Busy().complete(request)

    open_engine(events, Keep()).run(until)
    return seen


def uniform(request: ModelRequest) -> float:
    """500 ms for every call."""
    return 0.5


def heavy(request: ModelRequest) -> float:
    """A heavy tail with a mean near 500 ms: most calls quick, one in thirty ten times as slow."""
    draw = Stream(5, *request.call)
    if draw.chance(1, 30):
        return 5.0
    return 0.1 + draw.below(500) / 1000


def folding() -> None:
    """Events a second of the fold, and of decoding with folding."""
    events = crowd(12)
    env, office, history = parts(events, Busy())
    Engine(env, office, history).run(events[0].sim_time + 60 * DAY)
    stored = [data for _, data in env.journal.events()]
    start = time.process_time()
    decoded = [decode(data) for data in stored]
    middle = time.process_time()
    fold(decoded)
    end = time.process_time()
    say(
        f"  {len(stored)} events: fold {len(stored) / (end - middle):,.0f} events/s, "
        f"decoding and fold {len(stored) / (end - start):,.0f} events/s (CPU)"
    )


def commits(folder: Path) -> None:
    """Cost of a commit and of a recorded answer on SQLite with synchronous=FULL, and of a file kept in the store."""
    offices = Offices(Database(f"sqlite:///{folder / 'bench.sqlite'}"), folder)
    journal = offices.open(offices.create("bench", "p" * 64, 0, "1", 0))
    event = crowd(3)[0]
    for size in (1, 10):
        start, rounds = time.perf_counter(), 100
        for _ in range(rounds):
            first = journal.head + 1
            batch = [msgspec.structs.replace(event, revision=first + k).encode() for k in range(size)]
            journal.commit(first, batch, {})
        say(f"  commit of {size} events: {1000 * (time.perf_counter() - start) / rounds:.2f} ms")
    for size in (1, 6):
        start, rounds = time.perf_counter(), 60
        for number in range(rounds):
            calls = [(_request(size, number, k), ModelResponse(content=f"answer {number} {k}")) for k in range(size)]
            journal.record(calls)
        say(f"  record of {size} answers: {1000 * (time.perf_counter() - start) / rounds:.2f} ms")
    journal.close()
    blobs = FileBlobs(folder / "blobs")
    start = time.perf_counter()
    for number in range(100):
        blobs.put(f"file {number}".encode() * 400)
    say(f"  file kept in the store: {10 * (time.perf_counter() - start):.2f} ms")


def _request(size: int, number: int, k: int) -> ModelRequest:
    messages = (Message("system", "role card " * 200), Message("user", f"{size} {number} {k} " * 60))
    return ModelRequest("principal", (f"a.{size}.{number}.{k}", 1), "s", messages)


def sandboxes(folder: Path) -> None:
    """Cost of starting a sandbox, of a command, of reading the home back."""
    blobs = FileBlobs(folder / "sandbox-blobs")
    provider = Bubblewrap(blobs)
    try:
        provider.check()
    except SandboxUnavailable as fault:
        say(f"  not measured: {fault}")
        return
    spec = SandboxSpec("bench", (), {"company": (), "services": (), "task": ()}, 1_767_600_000)
    provider.start(spec).close()
    start = time.perf_counter()
    for _ in range(10):
        provider.start(spec).close()
    say(f"  sandbox started and ended: {100 * (time.perf_counter() - start):.0f} ms")
    box = provider.start(spec)
    start = time.perf_counter()
    for _ in range(100):
        box.run("true")
    say(f"  command in it: {10 * (time.perf_counter() - start):.1f} ms")
    start = time.perf_counter()
    for _ in range(50):
        box.export_home()
    say(f"  home read back: {20 * (time.perf_counter() - start):.1f} ms")
    box.close()
    provider.close()


def growth() -> None:
    """CPU a step over time and over people."""
    short, long, many = life(12, 30), life(12, 181), life(100, 30)
    for name, cost, days in (
        ("12 people, 30 days", short, 30),
        ("12 people, 181 days", long, 181),
        ("100 people, 30 days", many, 30),
    ):
        say(
            f"  {name}: {cost.step_ms:.2f} ms CPU a step beyond the model, {cost.calls} steps, {cost.events} events, "
            f"{days / cost.wall:.1f} simulated days/s"
        )
    say(
        f"  a step over 181 days costs {long.step_ms / short.step_ms:.2f} times one over 30 days; "
        f"with 100 people {many.step_ms / short.step_ms:.2f} times one with 12"
    )
    say(f"  events a day: {short.events / 30:.0f} over 30 days, {long.events / 181:.0f} over 181 days")


def main() -> int:
    """Print every measurement."""
    say("Engine, with a model that answers at once:")
    growth()
    say("Fold:")
    folding()
    say("Parallelism (RULE 10):")
    efficiency("500 ms uniform, 12 people", uniform, 12, 4)
    efficiency("heavy tail, 12 people", heavy, 12, 4)
    say("Model client:")
    overhead(say)
    with tempfile.TemporaryDirectory(prefix="officetown-bench-") as name:
        say("Storage:")
        commits(Path(name))
        say("Sandbox:")
        sandboxes(Path(name))
    say("Language environments:")
    worlds(say)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    say(f"Peak memory of this process: {peak:.0f} MiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
