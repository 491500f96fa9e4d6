"""How a candidate is measured: runs with its plan say whether it can be done, runs without say how hard it is.

The reading of the paper's words that stands here: a level is *solvable* if most runs that are shown the plan pass. Its
*self-consistent success rate* is the share of repeated runs without the plan that pass. A level that always or never passes
tells agents apart in nothing and goes. Of the levels left, the one with the lowest rate is kept; of equals, the higher.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from bench.worlds.model import Trial, World
from bench.worlds.report_tables import scores_of
from bench.worlds.runs import AgentUnderTest, Panel, Simulating, jobs_of, read_trajectory, run_jobs
from bench.worlds.statistics import Rate, rate
from bench.worlds.synthesis_record import WORDS, Measured, Reason
from simulator.quoting import one_line

_SHOWN_STEPS, _SHOWN = 24, 400


class Sides(msgspec.Struct, frozen=True):
    """Who solves, simulates and judges."""

    agent: AgentUnderTest
    simulator: Simulating
    panel: Panel


class Effort(msgspec.Struct, frozen=True):
    """How much is done: sub-topics of the sixteen, levels a candidate, runs with and without its plan, repairs."""

    topics: int = 16
    levels: int = 3
    with_plan: int = 2
    without: int = 4
    repairs: int = 2


def measure(
    world: World, sides: Sides, effort: Effort, out: Path, concurrency: int = 1,
    progress: Callable[[Trial], None] = lambda _trial: None,
) -> tuple[list[Measured], dict[int, list[Trial]]]:  # fmt: skip
    """Run a candidate's levels into the results folder `out`; return what was measured and the trials, by level.

    Levels that fail with their plan are not run without it.

    Raises:
        BudgetExhausted, OfficeBusy: as `run_jobs`; what was run is kept and not run again.
    """

    def runs(ids: Sequence[str], attempts: int, with_plan: bool) -> list[Trial]:
        jobs = jobs_of(
            [world], [sides.agent], [sides.simulator], sides.panel, attempts=attempts, with_plan=with_plan, tasks=ids
        )
        return run_jobs(jobs, out, concurrency=concurrency, progress=progress) if ids else []

    shown = runs([task.id for task in world.tasks], effort.with_plan, True)
    solvable = [task.id for task in world.tasks if verdict(_rate(shown, task.id), None) == "kept"]
    unshown = runs(solvable, effort.without, False)
    found, trials = [], {}
    for task in world.tasks:
        with_plan = _rate(shown, task.id)
        without = _rate(unshown, task.id) if task.id in solvable else None
        found.append(Measured(task.level, verdict(with_plan, without), with_plan, without, consistency(without)))
        trials[task.level] = [one for one in (*shown, *unshown) if one.task == task.id]
    return found, trials


def _rate(trials: Sequence[Trial], task: str) -> Rate:
    return rate(scores_of(one for one in trials if one.task == task))


def verdict(with_plan: Rate, without: Rate | None) -> Reason:
    """Return why a level stays or goes. Without `without`, what the runs with the plan alone say (`kept`: go on).

    One run lost to the infrastructure leaves a level undecided: what is decided must not change when that run is made.
    """
    for found in (with_plan, without):
        if found is not None and found.infra:
            return "infrastructure"
        if found is not None and not found.runs:
            return "cannot_be_played"
    if 2 * with_plan.passed <= with_plan.runs:
        return "unsolvable_with_plan"
    if without is None:
        return "kept"
    if without.passed == 0:
        return "always_fails"
    return "always_passes" if without.passed == without.runs else "kept"


def consistency(found: Rate | None) -> float | None:
    """Return the share of runs that ended as most did, None where there is none."""
    if found is None or not found.runs:
        return None
    return max(found.passed, found.runs - found.passed) / found.runs


def choose(measured: Sequence[Measured]) -> Measured | None:
    """Return the level to keep; None where none is left, or where one is undecided yet."""
    if any(one.reason == "infrastructure" for one in measured):
        return None
    left = [one for one in measured if one.reason == "kept" and one.without is not None]
    return min(left, key=lambda one: (one.without.value if one.without else 1.0, -one.level), default=None)


def reason_of(measured: Sequence[Measured]) -> Reason:
    """Return the reason of a candidate whose every level goes: the one that is nearest to being of use."""
    order: tuple[Reason, ...] = (
        "infrastructure",
        "always_passes",
        "always_fails",
        "unsolvable_with_plan",
        "cannot_be_played",
    )
    reasons = {one.reason for one in measured}
    return next((reason for reason in order if reason in reasons), "invalid")


def sentences(measured: Sequence[Measured]) -> list[str]:
    """Return what was measured, for the generator."""
    return [
        f"Level {one.level}: {one.with_plan.passed} of {one.with_plan.runs} runs with the plan passed"
        + (f", {one.without.passed} of {one.without.runs} without it" if one.without else "")
        + f": {WORDS[one.reason]}."
        for one in measured
    ]


def digests(out: Path, trials: dict[int, list[Trial]]) -> list[dict[str, Any]]:
    """Return for each level one run that shows the trouble: a failed one, else a passed one, cut to what can be read."""
    found = []
    for level, runs in sorted(trials.items()):
        run = min(runs, key=lambda one: ("failed", "invalid", "passed", "infra_error").index(one.outcome), default=None)
        if run is None or run.outcome == "infra_error":
            continue
        kept = read_trajectory(out, run)
        steps = [
            {"tool": step.tool, "arguments": step.arguments, "status": step.status, "saw": _cut(step.observation)}
            for step in kept.steps[:_SHOWN_STEPS]
        ]
        found.append({
            "level": level, "shown_the_plan": kept.settings.with_plan, "outcome": run.outcome, "note": run.note,
            "steps": steps, "more_steps": max(0, len(kept.steps) - _SHOWN_STEPS), "last_words": one_line(run.final)[:_SHOWN],
            "criteria": [
                {"id": one.criterion, "met": one.met, "overruled": one.overruled, "reasons": [v.reason[:_SHOWN] for v in one.votes]}
                for one in run.verdicts
            ],
        })  # fmt: skip
    return found


def _cut(value: Any) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]} ..."
