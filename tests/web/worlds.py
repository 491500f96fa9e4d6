"""Random firms as logs and as books: what the access tests grow, with the events that made it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, cast
from unittest.mock import patch

from orchestrator.web.book import Book
from services.documents.renderer import DocumentRenderer
from services.storage.journal import OfficeRow
from services.storage.memory import MemoryBlobs, MemoryJournal, MemoryOffice
from services.storage.reader import JournalReader
from simulator.events import Event, Payload
from simulator.fold import apply
from simulator.office import Office
from tests.access.growth import Op, grown
from tests.access.world import World


def _do(self: World, payload: Payload, actor: str = "engine") -> Office:
    """As `World.do`, and keep the event."""
    event = Event(self.office.revision + 1, self.now, actor, "genesis", payload)  # type: ignore[arg-type]
    self.office = apply(self.office, event)
    self.now += self.step
    events_of(self).append(event)
    return self.office


def events_of(world: World) -> list[Event]:
    """Return the events that a world was told while `telling`."""
    found: list[Event] = world.__dict__.setdefault("told", [])
    return found


@contextmanager
def telling() -> Iterator[None]:
    """Have every world remember its events inside the block."""
    with patch.object(World, "do", _do):
        yield


def told(numbers: list[Op]) -> list[Event]:
    """Return the events of a firm grown from numbers."""
    with telling():
        return events_of(grown(numbers))


def journal_of(events: Iterable[Event], office_id: str = "memory") -> MemoryJournal:
    """Return a journal in memory that holds these events."""
    journal = MemoryJournal(MemoryOffice(office_id))
    journal.commit(1, [event.encode() for event in events], {})
    return journal


class _Reader:
    """A journal in memory, as far as a reader of the database goes beyond it."""

    def __init__(self, journal: MemoryJournal) -> None:
        self._journal = journal

    def __getattr__(self, name: str) -> Any:
        return getattr(self._journal, name)


def book_of(events: Iterable[Event], office_id: str, blobs: MemoryBlobs | None = None) -> Book:
    """Return a book over these events, whose files' bytes are in `blobs`."""
    row = OfficeRow(office_id, office_id, 0, "0" * 64, "1", 7, None, None, 1, 0)
    reader = cast(JournalReader, _Reader(journal_of(events, office_id)))
    return Book(row, reader, blobs or MemoryBlobs(), DocumentRenderer())
