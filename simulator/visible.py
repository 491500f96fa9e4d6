"""What of the files a subject may read: candidates from the grant index, each passed through `can` (RULE 29).

What was found is kept for the subject and used again as long as all it rests on is the same object. An office is a
value, so an unchanged map or file *is* the same object; an epoch alone would not do, since two forks of one office can
reach the same epoch by different ways. When only some files or grants are new, only those are judged again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from simulator.access import Subject, can
from simulator.access_base import active_person, audiences_of
from simulator.office import Office
from simulator.records import File, FileRef

KEPT = 2048
"""Subjects remembered at most: principals, clients and assistants of a large office."""


class Sight(msgspec.Struct, frozen=True, gc=False):
    """One readable version, and why it is."""

    version: int
    reason: str


class Seen(msgspec.Struct, frozen=True):
    """One file of which something is readable. `grants` is the index row it was judged with."""

    file: File
    grants: tuple[str, ...]
    sights: tuple[Sight, ...]


Visible = dict[str, Seen]
"""File id -> what is seen of it, in order of id; files of which nothing is readable are absent."""


class Memo:
    """Results kept for a subject with the objects they rest on; the oldest is dropped when there are too many."""

    def __init__(self, limit: int = KEPT) -> None:
        self._limit = limit
        self._kept: dict[tuple[str, Subject], tuple[tuple[Any, ...], Any]] = {}
        self._lock = threading.Lock()

    def recall(self, kind: str, subject: Subject) -> tuple[tuple[Any, ...], Any] | None:
        return self._kept.get((kind, subject))

    def keep(self, kind: str, subject: Subject, rests_on: tuple[Any, ...], value: Any) -> None:
        with self._lock:
            self._kept.pop((kind, subject), None)
            self._kept[kind, subject] = (rests_on, value)
            while len(self._kept) > self._limit:
                del self._kept[next(iter(self._kept))]

    def get(self, kind: str, subject: Subject, rests_on: tuple[Any, ...], compute: Callable[[], Any]) -> Any:
        """Return what is kept if it rests on these very objects, else compute and keep it."""
        kept = self.recall(kind, subject)
        if kept is not None and same(kept[0], rests_on):
            return kept[1]
        value = compute()
        self.keep(kind, subject, rests_on, value)
        return value


def same(first: tuple[Any, ...], second: tuple[Any, ...]) -> bool:
    """Whether two rows hold the very same objects."""
    return len(first) == len(second) and all(a is b for a, b in zip(first, second, strict=True))


def visible(office: Office, subject: Subject, memo: Memo) -> Visible:
    """Return what the subject may read, from the index."""
    person = active_person(office, subject.person)
    if person is None:
        return {}
    if not office.switches.rights and person.kind == "staff":
        return visible_reference(office, subject)
    audiences = memo.get(
        "audiences", subject, (person, office.matters), lambda: audiences_of(office, person)
    )  # fmt: skip
    rows = (office.owned.get(person.id, ()), *(office.by_audience.get(a, ()) for a in audiences))
    # Judged with: who is who, who is on which team, and which rules are switched on.
    basis = (office.people, office.matters, office.switches)
    rests_on = (*basis, office.files, office.by_file, *rows)
    kept = memo.recall("files", subject)
    if kept is not None and same(kept[0], rests_on):
        known: Visible = kept[1]
        return known
    earlier: Visible = kept[1] if kept is not None and same(kept[0][: len(basis)], basis) else {}
    grants = office.grants
    candidates = set(rows[0])
    candidates.update(grants[grant].file for row in rows[1:] for grant in row)
    found = _judge(office, subject, sorted(candidates), set(audiences), earlier)
    memo.keep("files", subject, rests_on, found)
    return found


def _judge(
    office: Office, subject: Subject, candidates: Iterable[str], audiences: set[str], earlier: Visible
) -> Visible:
    found: Visible = {}
    files, by_file, grants = office.files, office.by_file, office.grants
    for file_id in candidates:
        file, row = files[file_id], by_file.get(file_id, ())
        before = earlier.get(file_id)
        if before is not None and before.file is file and before.grants is row:
            found[file_id] = before
            continue
        if file.owner == subject.person:
            numbers = [version.number for version in file.versions]
        else:
            numbers = sorted({g.version for g in (grants[i] for i in row) if g.audience in audiences})
        sights = _sights(office, subject, file_id, numbers)
        if sights:
            found[file_id] = Seen(file, row, sights)
    return found


def _sights(office: Office, subject: Subject, file_id: str, numbers: Iterable[int]) -> tuple[Sight, ...]:
    sights = []
    for number in numbers:
        decision = can(subject, "read", FileRef(file_id, number), office)
        if decision.allowed:
            sights.append(Sight(number, decision.reason))
    return tuple(sights)


def visible_reference(office: Office, subject: Subject) -> Visible:
    """Return the same by the plain loop over every version of every file, without index or memory (RULE 29)."""
    found: Visible = {}
    for file_id in sorted(office.files):
        file = office.files[file_id]
        sights = _sights(office, subject, file_id, [version.number for version in file.versions])
        if sights:
            found[file_id] = Seen(file, office.by_file.get(file_id, ()), sights)
    return found
