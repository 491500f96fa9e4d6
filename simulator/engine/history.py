"""Reading an office back from its journal: as of now, or as of any revision (DESIGN 3)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from simulator.engine.record import restore
from simulator.errors import UnknownReference
from simulator.events import Event, decode
from simulator.fold import FOLD_VERSION, apply
from simulator.office import Office


class Log(Protocol):
    """The part of a journal that history needs; a read-only reader fulfils it too."""

    @property
    def head(self) -> int: ...
    def events(self, after: int = 0, upto: int | None = None) -> Iterator[tuple[int, bytes]]: ...
    def load_checkpoint(self, fold_version: str, upto: int | None = None) -> tuple[int, bytes] | None: ...


def as_of(log: Log, revision: int | None = None, *, checkpoints: bool = True) -> Office:
    """Return the office as of `revision` (the head when None)."""
    upto = log.head if revision is None else revision
    if upto > log.head or upto < 0:
        raise UnknownReference(f"The office has no revision {upto}: its log ends at {log.head}.")
    stored = log.load_checkpoint(FOLD_VERSION, upto) if checkpoints else None
    office = restore(stored[1]) if stored is not None else Office()
    for _, data in log.events(office.revision, upto):
        office = apply(office, decode(data))
    return office


def at_time(log: Log, instant: int) -> Office:
    """Return the office as of the last event at or before a simulated instant."""
    office = Office()
    for _, data in log.events():
        event = decode(data)
        if event.sim_time > instant:
            break
        office = apply(office, event)
    return office


def walk(log: Log) -> Iterator[tuple[Event, Office]]:
    """Yield every event with the office after it."""
    office = Office()
    for _, data in log.events():
        event = decode(data)
        office = apply(office, event)
        yield event, office


def offices_at(log: Log, revisions: set[int]) -> dict[int, Office]:
    """Return the offices as of several revisions in one pass."""
    wanted, found = set(revisions), {}
    if not wanted:
        return {}
    stored = log.load_checkpoint(FOLD_VERSION, min(wanted))
    office = restore(stored[1]) if stored is not None else Office()
    if office.revision in wanted:
        found[office.revision] = office
    for _, data in log.events(office.revision, max(wanted)):
        office = apply(office, decode(data))
        if office.revision in wanted:
            found[office.revision] = office
    return found
