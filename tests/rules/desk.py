"""What the tests of the rules share: small offices that wake at given times, scripted people, a sandbox on paper."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from services.models.scripted import Scripted, call, calls
from simulator.engine.environment import Observer
from simulator.errors import SandboxError
from simulator.events import Event, Payload, decode
from simulator.office import Office
from simulator.ports import BlobStore, CommandResult, Sandbox, SandboxSpec, ShellState, TreeEntry
from simulator.records import CalendarEntry
from tests.engine.worlds import ALL, MONDAY, Bench, opening, person
from tests.story.script import wakes

FINISH = call("finish")
MINUTE = 60


def clock(hours: int, minutes: int = 0, day: int = 0) -> int:
    """Return an instant of the first week: day 0 is Monday 5 January 2026; London keeps UTC in winter."""
    return MONDAY + day * 86_400 + hours * 3600 + minutes * 60


def begins(title: str) -> Callable[[Any], bool]:
    """Return whether this wake-up is that of a rhythm."""
    return wakes("calendar", f'"title":"{title}"', '"note":"begins"')


def rhythm(title: str, who: str, at: int) -> CalendarEntry:
    """Return a calendar entry that wakes a person once."""
    return CalendarEntry(title, title, who, (), at, 30, "rhythm")


def meeting(title: str, organizer: str, others: Iterable[str], at: int, minutes: int = 30) -> CalendarEntry:
    return CalendarEntry(title, title, organizer, tuple(others), at, minutes)


def staff(*names: str, **authority: Iterable[str]) -> list[Any]:
    """Return members of staff who may do everything, unless said otherwise."""
    return [person(name, authority.get(name, ALL)) for name in names]


def told(rules: Mapping[Any, Any]) -> Scripted:
    """Return a model by rules; whoever is not told anything finishes at once."""
    return Scripted({**rules, "*": FINISH})


def world(events: list[Event], rules: Mapping[Any, Any], **more: Any) -> tuple[Bench, Scripted]:
    model = told(rules)
    return Bench(events, model, **more), model


def events_of(bench: Bench) -> list[Event]:
    return [decode(data) for data in bench.log()]


def of_kind(bench: Bench, kind: type[Payload], activation: str = "") -> list[tuple[Event, Any]]:
    """Return (event, payload) of one kind, of one activation if named."""
    found = [(e, e.payload) for e in events_of(bench) if isinstance(e.payload, kind)]
    return [pair for pair in found if activation in ("", pair[0].activation)]


def heard(model: Scripted, session: str, number: int = 0) -> list[str]:
    """Return the contents of all messages of a session's n-th request."""
    return [m.content for m in [r for r in model.asked if r.session == session][number].messages]


class Paper:
    """A sandbox that holds files and runs no program: `run` waits at its gate, if it has one, and does nothing."""

    def __init__(self, spec: SandboxSpec, blobs: BlobStore, gate: threading.Event | None, desks: Desks) -> None:
        self.spec = spec
        self.files = {e.path: e for e in spec.home}
        self.closed = False
        self.state = spec.state or ShellState()
        self._blobs = blobs
        self._gate = gate
        self._desks = desks

    def run(self, command: str, timeout_s: int = 120) -> CommandResult:
        if self._gate is not None:
            assert self._gate.wait(60), "nobody opened the gate"
        if self.closed:
            raise AssertionError("the sandbox was closed while its command ran")
        if self._desks.dies:
            raise SandboxError("the sandbox died")
        return CommandResult(0, f"ran {command}", "", state=ShellState(env=(("LAST", command),)))

    def read(self, path: str, limit: int = 2_000_000) -> bytes:
        if path not in self.files:
            raise FileNotFoundError(2, "there is no such file", path)
        return self._blobs.get(self.files[path].blob.sha256)

    def write(self, path: str, data: bytes) -> None:
        self.files[path] = TreeEntry(path, self._blobs.put(data))

    def export_home(self) -> tuple[tuple[TreeEntry, ...], tuple[str, ...]]:
        return tuple(self.files[p] for p in sorted(self.files)), ()

    def close(self) -> None:
        self.closed = True


class Desks:
    """Starts sandboxes on paper and remembers them."""

    name = "paper"

    def __init__(self, gate: threading.Event | None = None) -> None:
        self.started: list[Paper] = []
        self.blobs: BlobStore | None = None
        self.dies = False
        self._gate = gate

    def check(self) -> None: ...

    def start(self, spec: SandboxSpec) -> Sandbox:
        assert self.blobs is not None
        self.started.append(Paper(spec, self.blobs, self._gate, self))
        return self.started[-1]

    def reap(self) -> int:
        return 0


def with_desks(
    events: list[Event], rules: Mapping[Any, Any], gate: threading.Event | None = None, **more: Any
) -> tuple[Bench, Scripted, Desks]:
    """Return an office whose assistants work on paper."""
    desks = Desks(gate)
    bench, model = world(events, rules, sandboxes=desks, **more)
    desks.blobs = bench.blobs
    return bench, model, desks


class Opens(Observer):
    """Opens a gate when an event of a kind is committed."""

    def __init__(self, gate: threading.Event, kind: type[Payload]) -> None:
        self._gate, self._kind = gate, kind

    def event(self, event: Event, office: Office) -> None:
        if isinstance(event.payload, self._kind):
            self._gate.set()


__all__ = [
    "FINISH", "Desks", "Opens", "Paper", "begins", "call", "calls", "clock", "events_of", "heard", "meeting", "of_kind",
    "opening", "rhythm", "staff", "told", "wakes", "with_desks", "world",
]  # fmt: skip
