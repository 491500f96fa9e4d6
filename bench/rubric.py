"""Rubrics: criteria with weights, and the scores that follow from what is met (DESIGN 11)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Literal

import msgspec

from bench.grader.run import FORMAT, InvalidRubric, validate
from bench.grader.scoring import Result, Score, score, weight
from simulator.errors import UsageError

Priority = Literal["P0", "P1", "P2", "P3"]
LEAST_REQUIRED_CHECKS = 3


class Check(msgspec.Struct, frozen=True):
    """A named, declarative function of the grader, with its parameters; `bench.grader.run.CHECKS` are the names."""

    name: str
    params: dict[str, Any]


class Criterion(msgspec.Struct, frozen=True):
    """One thing asked for. `evidence` names the visible sources that entail it; `group` the requirement it is a part of."""

    id: str
    text: str
    priority: Priority
    required: bool
    evidence: tuple[str, ...]
    group: str = ""
    guard: bool = False
    kind: Literal["check", "judge"] = "check"
    check: Check | None = None


class Asked(msgspec.Struct, frozen=True):
    """A deliverable: where, as what form, and for a table the headers of which one must be found in it.

    `most` bounds its size generously (sheets, rows or words): what holds everything there is was not made, but heaped up.
    """

    path: str
    form: str
    tables: tuple[tuple[str, ...], ...] = ()
    most: int = 0


class Rubric(msgspec.Struct, frozen=True):
    """What a task is judged by.

    `groups` are the sizes of groups as authored: deleting a criterion leaves them as they are. `already` are the criteria
    that the work of earlier rounds met as this round began. `seen` are hashes of the files that lay there to be read.
    """

    task: str
    criteria: tuple[Criterion, ...]
    deliverables: tuple[Asked, ...] = ()
    groups: dict[str, int] = {}
    already: tuple[str, ...] = ()
    seen: tuple[str, ...] = ()
    canary: str = ""
    format: str = FORMAT

    def as_json(self) -> dict[str, Any]:
        """Return the plain values of `rubric.json`."""
        plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(self))
        return plain

    def without(self, deleted: Iterable[str]) -> Rubric:
        """Return the rubric with some criteria deleted; their weight is not given to others."""
        gone = set(deleted)
        return msgspec.structs.replace(self, criteria=tuple(c for c in self.criteria if c.id not in gone))

    def required_checks(self) -> tuple[Criterion, ...]:
        """Return the required criteria that a program decides."""
        return tuple(c for c in self.criteria if c.required and c.kind == "check")

    def weight(self, criterion: Criterion) -> float:
        """Return alpha / |group|."""
        return weight({"priority": criterion.priority, "group": criterion.group}, self.groups)

    def score(self, met: Mapping[str, bool | None]) -> Score:
        """Return Pass@1 and the weighted score when these criteria are met; None is unjudged."""
        return score(self.as_json(), [Result(c.id, met[c.id], met[c.id], "") for c in self.criteria])


def rubric_of(
    task: str, criteria: Iterable[Criterion], deliverables: Iterable[Asked], seen: Iterable[str] = (), canary: str = ""
) -> Rubric:
    """Make a rubric, with groups as large as they are now.

    Raises:
        UsageError: it asks for less than three things that a program can decide, or does not hold together.
    """
    listed = tuple(criteria)
    groups = Counter(c.group for c in listed if c.group)
    rubric = Rubric(
        task, listed, tuple(deliverables), dict(sorted(groups.items())), seen=tuple(sorted(set(seen))), canary=canary
    )
    if len(rubric.required_checks()) < LEAST_REQUIRED_CHECKS:
        raise UsageError(f"{task}: fewer than {LEAST_REQUIRED_CHECKS} required criteria can be checked: no task is made of it.")
    bare = [c.id for c in listed if c.required and not c.evidence]
    if bare:
        raise UsageError(f"{task}: the required criterion {bare[0]} names no visible source that entails it.")
    try:
        validate(rubric.as_json())
    except InvalidRubric as reason:
        raise UsageError(f"{task}: {reason}.") from None
    return rubric


def read_rubric(data: bytes) -> Rubric:
    """Read `rubric.json`. Raises `UsageError` when it is none."""
    try:
        return msgspec.json.decode(data, type=Rubric)
    except msgspec.MsgspecError as fault:
        raise UsageError(f"tests/rubric.json is no rubric: {fault}") from None
