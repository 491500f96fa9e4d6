"""The log as people read it: paged forwards and backwards, and as it grows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from orchestrator.progress import describe
from orchestrator.web.book import Book
from orchestrator.web.queries.common import When, actor_name, when
from simulator.errors import UnknownReference
from simulator.events import Event
from simulator.office import Office

SCANNED = 4_000
"""Events looked through for one page at most."""


class EventLine(msgspec.Struct, frozen=True):
    """One event. `text` is empty for the engine's own affairs; `payload` is the stored record, where it was asked for."""

    revision: int
    at: When
    kind: str
    actor: str
    actor_name: str
    activation: str
    text: str
    payload: dict[str, Any] | None = None


class Wanted(msgspec.Struct, frozen=True):
    """Which events: of these kinds (`message.posted`, or `message` for all of its kind), actor, activation; empty: all."""

    kinds: tuple[str, ...] = ()
    actor: str = ""
    activation: str = ""
    told: bool = False
    """Only those that have a text for people."""
    payloads: bool = False


class EventPage(msgspec.Struct, frozen=True):
    """Some events in order. `first` and `last` are the revisions looked through: go on after `last`, or before `first`."""

    events: tuple[EventLine, ...]
    first: int
    last: int
    head: int


def kind_of(event: Event) -> str:
    """Return an event's kind without its version, such as `message.posted`."""
    return str(event.payload.__struct_config__.tag).partition("/")[0]


def shown(event: Event, office: Office, wanted: Wanted) -> EventLine | None:
    """Return one event for people, or None where it is not wanted."""
    kind = kind_of(event)
    if wanted.kinds and kind not in wanted.kinds and kind.partition(".")[0] not in wanted.kinds:
        return None
    if (wanted.actor and event.actor != wanted.actor) or (wanted.activation and event.activation != wanted.activation):
        return None
    text = describe(event, office)
    if wanted.told and not text:
        return None
    payload = msgspec.to_builtins(event.payload) if wanted.payloads else None
    return EventLine(
        event.revision, when(office, event.sim_time), kind, event.actor, actor_name(office, event.actor), event.activation,
        text, payload,
    )  # fmt: skip


def after(book: Book, revision: int, limit: int, wanted: Wanted) -> EventPage:
    """Return up to `limit` events after a revision, in order."""
    head = _checked(book, revision)
    upto = min(head, revision + SCANNED)
    found: list[EventLine] = []
    last = revision
    for event, office in book.timeline.walk(revision, upto):
        last = event.revision
        line = shown(event, office, wanted)
        if line is not None:
            found.append(line)
            if len(found) >= limit:
                break
    return EventPage(tuple(found), revision + 1, last, head)


def before(book: Book, revision: int, limit: int, wanted: Wanted) -> EventPage:
    """Return the last `limit` events before a revision (0: up to now), in order."""
    head = _checked(book, max(0, revision - 1))
    end = head if revision <= 0 else revision - 1
    lowest = max(0, end - SCANNED)
    found: list[EventLine] = []
    start = end
    step = limit if not (wanted.kinds or wanted.actor or wanted.activation or wanted.told) else max(limit, 500)
    while start > lowest and len(found) < limit:
        first = max(lowest, start - step)
        found = [*_lines(book.timeline.walk(first, start), wanted), *found]
        start = first
    cut = found[-limit:]
    return EventPage(tuple(cut), cut[0].revision if len(found) > limit else start + 1, end, head)


def _lines(walked: Iterable[tuple[Event, Office]], wanted: Wanted) -> list[EventLine]:
    lines = (shown(event, office, wanted) for event, office in walked)
    return [line for line in lines if line is not None]


def _checked(book: Book, revision: int) -> int:
    head = book.timeline.head
    if not 0 <= revision <= head:
        raise UnknownReference(f"The office has revisions 1 to {head}; there is no revision {revision} yet.")
    return head
