"""Choosing which rounds to freeze: deterministic and greedy for diversity, with a reason for each that was passed over."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from bench.audit import audit
from bench.calibrate import calibrate
from bench.freeze import SnapshotInfo, freeze
from bench.moment import Bodies, NoOracle, accepted_round, depth_of
from bench.snapshot import open_snapshot
from bench.span_index import SpanIndex
from simulator.engine.history import Log, as_of, offices_at
from simulator.errors import UsageError
from simulator.office import Office
from simulator.ports import BlobStore


class Candidate(msgspec.Struct, frozen=True):
    """A round that could be frozen, and what makes it different from others."""

    delegation: str
    round: int
    revision: int
    role: str
    work: str
    depth: int

    @property
    def name(self) -> str:
        return f"{self.delegation}.{self.round}"

    @property
    def features(self) -> tuple[tuple[str, str], ...]:
        """What is counted: role, kind of work, which round, how deep it stands on other work."""
        return (
            ("kind", self.work), ("kind", self.work), ("role", self.role), ("round", str(min(self.round, 3))),
            ("depth", str(min(self.depth, 5))),
        )  # fmt: skip


class Passed(msgspec.Struct, frozen=True):
    """A round that was passed over, and why."""

    name: str
    why: str


class Selection(msgspec.Struct, frozen=True):
    """What was frozen, in the order of choice, and what was not."""

    snapshots: tuple[SnapshotInfo, ...]
    passed_over: tuple[Passed, ...]


def candidates(head: Office) -> tuple[list[Candidate], list[Passed]]:
    """Return every round of an accepted delegation up to the accepted one, and why no other is a candidate."""
    found, passed = [], []
    for delegation in sorted(head.delegations.values(), key=lambda d: (d.at, d.id)):
        try:
            last = accepted_round(delegation).number
        except NoOracle:
            passed.append(Passed(delegation.id, f"never accepted (it is {delegation.state}): there is no solution"))
            continue
        role, depth = head.people[delegation.principal].title, depth_of(head, delegation.id)
        for each in delegation.rounds:
            if each.number <= last:
                found.append(Candidate(delegation.id, each.number, each.revision, role, delegation.work, depth))
    return found, passed


def select(
    log: Log,
    blobs: BlobStore,
    bodies: Bodies,
    office_id: str,
    count: int,
    dest: Path,
    *,
    models: Mapping[str, str] | None = None,
    progress: Callable[[str], None] = lambda _text: None,
) -> Selection:
    """Freeze up to `count` rounds that differ as much as can be, each audited and calibrated, into folders of `dest`.

    Equal offices give equal selections. A round that cannot be frozen, leaks, or does not calibrate leaves nothing behind.
    """
    if count < 1:
        raise UsageError(f"--select {count}: ask for at least one.")
    head = as_of(log)
    waiting, passed = candidates(head)
    offices = offices_at(log, {c.revision for c in waiting})
    index = SpanIndex(log, blobs, bodies) if waiting else None
    chosen: list[SnapshotInfo] = []
    seen: Counter[tuple[str, str]] = Counter()
    while waiting and len(chosen) < count:
        candidate = min(waiting, key=lambda c: (-_novelty(c, seen), c.revision, c.name))
        waiting.remove(candidate)
        progress(f"{len(chosen)} of {count}; trying {candidate.name}, {candidate.work}")
        office = offices[candidate.revision]
        try:
            info = freeze(log, blobs, bodies, office_id, candidate.delegation, candidate.round, dest, models=models,
                          head=head, office=office)  # fmt: skip
        except UsageError as reason:
            passed.append(Passed(candidate.name, str(reason)))
            continue
        snapshot = open_snapshot(Path(info.folder))
        faults = [str(leak) for leak in audit(snapshot, log, blobs, bodies, head=head, office=office, index=index)]
        faults = [f"audit: {fault}" for fault in faults] or [f"calibration: {f}" for f in calibrate(snapshot).faults]
        if faults:
            shutil.rmtree(info.folder)
            more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
            passed.append(Passed(candidate.name, f"{faults[0]}{more}"))
            continue
        chosen.append(info)
        seen.update(candidate.features)
        progress(f"{len(chosen)} of {count}; {info.id}: {info.work}, round {info.round}, depth {info.depth}")
    passed += [Passed(c.name, f"{count} were enough; it adds less that is new: {_like(c)}") for c in waiting]
    return Selection(tuple(chosen), tuple(sorted(passed, key=lambda p: p.name)))


def _novelty(candidate: Candidate, seen: Mapping[tuple[str, str], int]) -> float:
    return sum(1 / (1 + seen.get(feature, 0)) for feature in candidate.features)


def _like(c: Candidate) -> str:
    return f"{c.work or 'no kind'} by a {c.role}, round {c.round}, depth {c.depth}"
