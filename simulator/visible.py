"""What of the files a subject may read: candidates from the grant index, each passed through `can` (RULE 29).

What was found is kept for the subject and used again as long as all it rests on is the same object. An office is a
value, so an unchanged map or file *is* the same object; an epoch alone would not do, since two forks of one office can
reach the same epoch by different ways. When only some files are new, only those are judged again.
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

KEPT = 1536
"""Results remembered at most, about six a subject: enough for everyone in an office of two hundred."""


class Sight(msgspec.Struct, frozen=True, gc=False):
    """One readable version, and why it is."""

    version: int
    reason: str


class Seen(msgspec.Struct, frozen=True):
    """One file and those of its versions that are readable, in order. `grants` is the index row it was judged with."""

    file: File
    sights: tuple[Sight, ...]
    grants: tuple[str, ...] = ()


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
    # Judged with: who is who, who is on which team, which rules are switched on; then what was given to the subject.
    basis = (office.people, office.matters, office.switches)
    rests_on = (*basis, *rows, office.files)
    kept = memo.recall("files", subject)
    if kept is not None and same(kept[0], rests_on):
        known: _Judged = kept[1]
        return known.found
    if kept is not None and same(kept[0][:-1], rests_on[:-1]):
        judged = _judge_again(office, subject, audiences, kept[1])
    else:
        candidates = set(rows[0])
        candidates.update(office.grants[grant].file for row in rows[1:] for grant in row)
        usable = kept is not None and same(kept[0][: len(basis)], basis)
        earlier: dict[str, Seen] = kept[1].candidates if kept is not None and usable else {}
        judged = _collect({i: _judge(office, subject, audiences, i, earlier.get(i)) for i in sorted(candidates)})
    memo.keep("files", subject, rests_on, judged)
    return judged.found


class _Judged(msgspec.Struct, frozen=True):
    """Every candidate, and those of them of which something is readable."""

    candidates: dict[str, Seen]
    found: Visible


def _collect(candidates: dict[str, Seen]) -> _Judged:
    return _Judged(candidates, {file_id: seen for file_id, seen in candidates.items() if seen.sights})


def _judge_again(office: Office, subject: Subject, audiences: tuple[str, ...], before: _Judged) -> _Judged:
    """Judge again the candidates whose file changed: a new version, or another class of one."""
    files = office.files
    changed = [file_id for file_id, seen in before.candidates.items() if files[file_id] is not seen.file]
    if not changed:
        return before
    return _collect(before.candidates | {i: _judge(office, subject, audiences, i) for i in changed})


def _judge(
    office: Office, subject: Subject, audiences: tuple[str, ...], file_id: str, before: Seen | None = None
) -> Seen:
    """Judge one candidate; an earlier judgement stands if it was of this very file and these very grants."""
    file, row = office.files[file_id], office.by_file.get(file_id, ())
    if before is not None and before.file is file and before.grants is row:
        return before
    if file.owner == subject.person:
        numbers = [version.number for version in file.versions]
    else:
        granted = (office.grants[grant] for grant in row)
        numbers = sorted({grant.version for grant in granted if grant.audience in audiences})
    return Seen(file, _sights(office, subject, file_id, numbers), row)


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
            found[file_id] = Seen(file, sights)
    return found
