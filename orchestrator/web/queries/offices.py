"""The offices there are, and one of them at a glance."""

from __future__ import annotations

from typing import Any

import msgspec

from orchestrator.provenance import provenance
from orchestrator.web.book import Book, Shelf
from orchestrator.web.queries.common import When, when
from services.storage.journal import OfficeRow
from simulator.businesstime import calendar_for


class OfficeLine(msgspec.Struct, frozen=True):
    """An office in the list. `created` is in seconds since the epoch; `head` its last revision."""

    id: str
    name: str
    head: int
    created: int
    seed: int
    parent: str
    parent_revision: int
    running: bool


class Hours(msgspec.Struct, frozen=True):
    """When the office works: minutes of the local day, weekdays (0 is Monday), holidays as ISO dates."""

    zone: str
    opens: int
    closes: int
    weekdays: tuple[int, ...]
    holidays: tuple[str, ...]
    always_open: bool


class OfficeShown(msgspec.Struct, frozen=True):
    """One office: what it is, when it began, how far it has come, what it was run with."""

    id: str
    name: str
    firm: str
    brief: str
    domain: str
    currency: str
    head: int
    opened: When
    now: When
    seed: int
    package: str
    parent: str
    parent_revision: int
    switches: dict[str, bool]
    hours: Hours
    runs: tuple[dict[str, Any], ...]


class DayLine(msgspec.Struct, frozen=True):
    """One day for the slider: its revisions and how much happened."""

    day: str
    first: int
    last: int
    events: int
    open: bool


def offices(shelf: Shelf, running: frozenset[str] = frozenset()) -> tuple[OfficeLine, ...]:
    """Return all offices, the oldest first; `running` are the ids of those that this process runs."""
    return tuple(line(row, row.id in running) for row in shelf.rows())


def line(row: OfficeRow, running: bool) -> OfficeLine:
    """Return an office as the list shows it."""
    parent, at = row.parent or "", row.parent_revision or 0
    return OfficeLine(row.id, row.name, row.head, row.created, row.seed, parent, at, running)


def office(book: Book) -> OfficeShown:
    """Return one office as of now."""
    o, row = book.at(), book.row
    c = o.calendar
    hours = Hours(c.zone, c.opens, c.closes, c.weekdays, c.holidays, c.always_open)
    return OfficeShown(
        row.id, row.name, o.name, o.brief, o.domain, o.currency, o.revision, when(o, o.opened_at), when(o, o.now), row.seed,
        row.package_sha256, row.parent or "", row.parent_revision or 0, msgspec.structs.asdict(o.switches), hours,
        tuple(provenance(book.reader)),
    )  # fmt: skip


def days(book: Book) -> tuple[DayLine, ...]:
    """Return every day on which something happened, with its density: what a slider over months is drawn from."""
    tally = book.timeline.read_on()
    calendar = calendar_for(book.at().calendar)
    return tuple(DayLine(d.day, d.first, d.last, d.events, calendar.is_business_day(d.day)) for d in list(tally.days))
