"""From what holds to a score: guards, what lay there before, weights, Pass@1 (DESIGN 11)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

ALPHA = {"P0": 25, "P1": 13, "P2": 7, "P3": 3}


@dataclass(frozen=True)
class Result:
    """One criterion. `holds` is what was found, `met` what counts; both None while nobody has judged it."""

    id: str
    holds: bool | None
    met: bool | None
    why: str


@dataclass(frozen=True)
class Score:
    """`passed` is Pass@1: None with an unjudged required criterion. `by_priority` leaves out what a task has not."""

    passed: bool | None
    weighted: float
    by_priority: Mapping[str, float]
    checks_only: bool


def weight(criterion: Mapping[str, Any], groups: Mapping[str, int]) -> float:
    """Return alpha / |group|: a group has its size as authored, deleted parts included; no group is one of its own."""
    return ALPHA[criterion["priority"]] / (groups[criterion["group"]] if criterion.get("group") else 1)


def settle(
    rubric: Mapping[str, Any], found: Mapping[str, tuple[bool | None, str]], lacking: Mapping[str, str]
) -> list[Result]:
    """Return the results that count. `found` are (holds, why) by criterion, `lacking` the deliverables that do not open.

    A guard counts only if every deliverable is there, opens, and meets at least half of what was asked of it: else doing
    nothing, or handing in anything at all, would earn it. In a task that goes on with earlier work, what already held as the round
    began counts only once something that did not hold holds now.
    """
    criteria: Sequence[Mapping[str, Any]] = rubric["criteria"]
    already = set(rubric.get("already", ()))
    idle = _idle(rubric, found)
    moved = any(found[c["id"]][0] and not c["guard"] and c["id"] not in already for c in criteria)
    results = []
    for criterion in criteria:
        holds, why = found[criterion["id"]]
        met = holds
        if holds and already and not moved:
            met, why = False, f"{why}; but nothing of what was still to be done is done"
        elif holds and criterion["guard"] and lacking:
            path, reason = next(iter(lacking.items()))
            met, why = False, f"{why}; but a guard counts only if every deliverable opens: {path}: {reason}"
        elif holds and criterion["guard"] and idle:
            met, why = False, f"{why}; but {idle[0]} meets less than half of what was asked of it"
        results.append(Result(criterion["id"], holds, met, why))
    return results


def _idle(rubric: Mapping[str, Any], found: Mapping[str, tuple[bool | None, str]]) -> list[str]:
    """Return the deliverables that meet less than half of what was asked of them, guards left aside."""
    asked: dict[str, list[bool]] = {}
    for criterion in rubric["criteria"]:
        path = (criterion.get("check") or {}).get("params", {}).get("path", "")
        if path and criterion["kind"] == "check" and not criterion["guard"]:
            asked.setdefault(path, []).append(bool(found[criterion["id"]][0]))
    return [path for path, holds in asked.items() if 2 * sum(holds) < len(holds)]


def score(rubric: Mapping[str, Any], results: Sequence[Result]) -> Score:
    """Return Pass@1 and the weighted score. Unjudged criteria enter no score."""
    groups: Mapping[str, int] = rubric.get("groups", {})
    met = {result.id: result.met for result in results}
    kept = [c for c in rubric["criteria"] if met[c["id"]] is not None]
    unjudged = [c for c in rubric["criteria"] if met[c["id"]] is None]
    required = [met[c["id"]] for c in rubric["criteria"] if c["required"]]
    passed = None if None in required else bool(required) and all(required)
    by_priority = {
        priority: _share([c for c in kept if c["priority"] == priority], met, groups)
        for priority in ALPHA
        if any(c["priority"] == priority for c in kept)
    }
    return Score(passed, _share(kept, met, groups), by_priority, bool(unjudged))


def _share(criteria: Sequence[Mapping[str, Any]], met: Mapping[str, bool | None], groups: Mapping[str, int]) -> float:
    """Return weight met / weight kept, exactly 1.0 when all is met, to six decimals otherwise."""
    if criteria and all(met[c["id"]] for c in criteria):
        return 1.0
    whole = sum(weight(c, groups) for c in criteria)
    return round(sum(weight(c, groups) for c in criteria if met[c["id"]]) / whole, 6) if whole else 0.0
