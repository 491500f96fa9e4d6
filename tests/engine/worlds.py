"""Small offices for the engine's tests, opened from hand-made events, and the pieces an engine needs around them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from services.documents.renderer import DocumentRenderer
from services.storage.memory import MemoryBlobs, MemoryJournal
from simulator.engine.environment import Environment, Observer, Settings
from simulator.engine.history import as_of
from simulator.engine.loop import Engine
from simulator.events import (
    CalendarRules,
    ClientAdded,
    DemandSet,
    DepartmentAdded,
    EntryScheduled,
    Event,
    MatterOpened,
    OfficeOpened,
    Pace,
    Payload,
    PersonAdded,
    RoomOpened,
)
from simulator.fold import fold
from simulator.office import Office
from simulator.ports import Journal, Model, SandboxProvider
from simulator.records import CalendarEntry, Client, Demand, Department, Matter, Person, Room

MONDAY = 1_767_571_200
"""2026-01-05T00:00:00Z, a Monday; Europe/London keeps UTC in winter."""
OPENING = MONDAY + 9 * 3600
HOUR = 3600
ALL = ("delegate", "request", "accept", "quality_signoff", "client_release", "classify", "lead")


def person(name: str, authority: Iterable[str] = ("delegate", "request", "accept"), **more: object) -> Person:
    """Return a member of staff with sensible rights."""
    base = Person(name, name.title(), "accountant", authority=tuple(authority), clearance="confidential",
                  department="work", email=f"{name}@firm.invalid", session=f"session-{name}")  # fmt: skip
    return msgspec.structs.replace(base, **more)


def opening(
    people: Iterable[Person],
    *,
    entries: Iterable[CalendarEntry] = (),
    demands: Iterable[Demand] = (),
    rules: CalendarRules | None = None,
    pace: Pace | None = None,
    seed: int = 0,
    matter: bool = True,
    turn_limit: int = 24,
    compaction: int = 240_000,
) -> list[Event]:
    """Return the opening events of a firm with one client, River, whose contact is Maya, and one matter, `river`."""
    staff = list(people)
    payloads: list[Payload] = [
        OfficeOpened("Firm", "p" * 64, seed, "1", rules or CalendarRules(), pace=pace or Pace(), turn_limit=turn_limit,
                     compaction_chars=compaction),
        DepartmentAdded(Department("work", "Work")),
        *(PersonAdded(p) for p in staff),
    ]  # fmt: skip
    if matter:
        payloads += [
            ClientAdded(Client("river", "River Ltd", "retail", "finance")),
            PersonAdded(
                Person(
                    "maya",
                    "Maya",
                    "finance lead",
                    "client",
                    client="river",
                    email="maya@river.invalid",
                    session="session-maya",
                )
            ),
            MatterOpened(Matter("river", "River", "river", staff[0].id, tuple(p.id for p in staff))),
        ]
    everyone = tuple(p.id for p in staff)
    payloads += [RoomOpened(Room("all", "general", "channel", everyone))]
    payloads += [DemandSet(d) for d in demands]
    payloads += [EntryScheduled(e) for e in entries]
    return [Event(n, MONDAY, "engine", "genesis", p) for n, p in enumerate(payloads, 1)]  # type: ignore[arg-type]


class Bench:
    """An office in memory with its engine's surroundings; `run` goes on from the journal, as a new process would."""

    def __init__(
        self,
        events: list[Event],
        model: Model,
        *,
        concurrency: int = 6,
        workers: int = 4,
        sandboxes: SandboxProvider | None = None,
        observers: tuple[Observer, ...] = (),
        journal: Journal | None = None,
        commit_items: int = 48,
    ) -> None:
        self.journal = journal or MemoryJournal()
        self.blobs = MemoryBlobs()
        settings = Settings(concurrency=concurrency, workers=workers, commit_items=commit_items)
        self.env = Environment(
            self.journal, self.blobs, model, sandboxes, DocumentRenderer(), settings, observers=observers
        )
        if self.journal.head == 0:
            self.journal.commit(1, [e.encode() for e in events], {})

    def engine(self, kind: Callable[..., Engine] = Engine) -> Engine:
        """Return an engine as a fresh process would make it: from the journal alone."""
        return kind(self.env, as_of(self.journal), lambda revision: as_of(self.journal, revision))

    def run(self, until: int, kind: Callable[..., Engine] = Engine) -> Office:
        """Run up to `until` and return the office."""
        return self.engine(kind).run(until)

    def log(self) -> list[bytes]:
        """Return the stored events."""
        return [data for _, data in self.journal.events()]


def office_of(events: list[Event]) -> Office:
    """Fold opening events."""
    return fold(events)
