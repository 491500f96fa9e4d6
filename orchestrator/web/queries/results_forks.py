"""Two offices that share a past, held against each other: what happened on each side since they parted, what became otherwise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from orchestrator.web.book import Book
from orchestrator.web.queries.common import When, when
from orchestrator.web.tally import Day, Tally
from services.storage.journal import OfficeRow
from simulator.errors import UsageError
from simulator.office import Office
from simulator.records import Delegation

MOST_ROWS = 200
_COUNTED = tuple(name for name in Day.__struct_fields__ if name not in ("day", "first", "last"))


class Side(msgspec.Struct, frozen=True):
    """One of the two: what it is, where it stands, what was switched off in it, what was counted in it since they parted."""

    id: str
    name: str
    head: int
    now: When
    off: tuple[str, ...]
    counts: dict[str, int]


class WorkRow(msgspec.Struct, frozen=True):
    """A piece of delegated work on both sides, as `accepted after 2 rounds`; empty where a side has not given it."""

    id: str
    work: str
    period: str
    first: str
    second: str


class FileRow(msgspec.Struct, frozen=True):
    """A file on both sides: its number of versions there, 0 where a side has none."""

    path: str
    first: int
    second: int
    same: bool


class Forks(msgspec.Struct, frozen=True):
    """Two offices compared. `common` is the last revision that both share, `parted` its moment. `works` and `files` are those
    that differ; the numbers beside them say how many there are and how many are the same on both sides."""

    first: Side
    second: Side
    common: int
    parted: When
    works: tuple[WorkRow, ...]
    works_same: int
    works_other: int
    files: tuple[FileRow, ...]
    files_same: int
    files_other: int


def common_past(rows: Mapping[str, OfficeRow], first: str, second: str) -> int:
    """Return the last revision that two offices share. Raises UsageError where they share none."""
    one, other = _line(rows, first), _line(rows, second)
    shared = [min(one[name], other[name]) for name in one if name in other]
    if not shared:
        raise UsageError("These two offices share no past: only forks of one office can be compared.")
    return max(shared)


def _line(rows: Mapping[str, OfficeRow], office: str) -> dict[str, int]:
    """Return up to which revision an office's past is that of itself and of each office that it came from."""
    found: dict[str, int] = {}
    row: OfficeRow | None = rows[office]
    upto = row.head if row is not None else 0
    while row is not None and row.id not in found:
        found[row.id] = upto
        if row.parent is None:
            break
        upto = min(upto, row.parent_revision or 0)
        row = rows.get(row.parent)
    return found


def relatives(rows: Sequence[OfficeRow], office: str) -> list[OfficeRow]:
    """Return the other offices that share a past with this one, the oldest first."""
    by_id = {row.id: row for row in rows}
    if office not in by_id:
        return []
    mine = set(_line(by_id, office))
    return [row for row in rows if row.id != office and mine & set(_line(by_id, row.id))]


def forks(first: Book, second: Book, rows: Sequence[OfficeRow]) -> Forks:
    """Compare two offices as they are now. Raises UsageError where they share no past."""
    common = common_past({row.id: row for row in rows}, first.id, second.id)
    past = first.timeline.office(common)
    a, b = first.at(), second.at()
    works = [row for name in sorted({*a.delegations, *b.delegations}) if (row := _work(a, b, name)) is not None]
    here, there = _contents(a), _contents(b)
    files = [FileRow(p, len(x := here.get(p, ())), len(y := there.get(p, ())), x == y) for p in sorted({*here, *there})]
    other_works = [w for w in works if w.first != w.second]
    other_files = [f for f in files if not f.same]
    return Forks(
        _side(first, a, common), _side(second, b, common), common, when(past, past.now), tuple(other_works[:MOST_ROWS]),
        len(works) - len(other_works), len(other_works), tuple(other_files[:MOST_ROWS]), len(files) - len(other_files),
        len(other_files),
    )  # fmt: skip


def _side(book: Book, office: Office, common: int) -> Side:
    tally = Tally()
    for event, after in book.timeline.walk(common, office.revision):
        tally.add(event, after)
    counts = {name: sum(getattr(day, name) for day in tally.days) for name in _COUNTED}
    off = tuple(name for name, on in msgspec.structs.asdict(office.switches).items() if not on)
    return Side(book.id, book.row.name, office.revision, when(office, office.now), off, counts)


def _work(first: Office, second: Office, name: str) -> WorkRow | None:
    a, b = first.delegations.get(name), second.delegations.get(name)
    either = a or b
    return WorkRow(name, either.work, either.period, _how(a), _how(b)) if either is not None else None


def _how(d: Delegation | None) -> str:
    if d is None:
        return ""
    number = len(d.rounds)
    return f"{d.state} {'after' if d.state == 'accepted' else 'in'} {number} round{'' if number == 1 else 's'}"


def _contents(office: Office) -> dict[str, tuple[str, ...]]:
    """Return {space/path: the hashes of its versions}."""
    return {f"{f.space}/{f.path}": tuple(v.blob.sha256 for v in f.versions) for f in office.files.values()}
