"""Results in short: by agent and model, with what was no score counted apart, as numbers and as a small table."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from statistics import mean

import msgspec

from bench.trials import Marks, Trial

PRIORITIES = ("p0", "p1", "p2", "p3")
_NO_SCORE = ("error", "infra_error", "invalid")
_COLUMNS = ("agent", "model", "tasks", "trials", "Pass@1", "weighted", "P0", "P1", "P2", "P3", "P0 missed", "turns", "tokens", "no score")


class Line(msgspec.Struct, frozen=True):
    """One agent with one model: of its whole runs, or of what they had reached after `budget` turns.

    `tasks` and `trials` count what was scored, `no_score` the rest by outcome. Shares are from 0 to 1, each the mean over
    tasks of the mean over attempts, None where nothing was scored; `priorities` has one for each that occurs.
    `p0_missed` counts, of the `p0_trials` with a P0 criterion, those that missed one. `turns` is the mean of a trial.
    """

    agent: str
    model: str
    budget: int | None
    tasks: int
    trials: int
    passed: float | None
    weighted: float | None
    priorities: dict[str, float]
    p0_missed: int
    p0_trials: int
    turns: float | None = None
    tokens: int = 0
    no_score: dict[str, int] = {}


def lines(trials: Iterable[Trial]) -> list[Line]:
    """Return the results, by agent and model; after each line those at its turn budgets."""
    groups: dict[tuple[str, str], list[Trial]] = defaultdict(list)
    for trial in trials:
        groups[trial.agent, f"{trial.model} {trial.effort}".strip()].append(trial)
    found: list[Line] = []
    for (agent, model), group in sorted(groups.items()):
        scored = [t for t in group if t.outcome not in _NO_SCORE]
        whole = _line(agent, model, None, [(t.snapshot, t.marks) for t in scored if t.marks is not None])
        turns = [t.turns for t in group if t.turns]
        found.append(
            msgspec.structs.replace(
                whole,
                turns=mean(turns) if turns else None,
                tokens=sum(t.usage.input + t.usage.output for t in group),
                no_score=dict(sorted(Counter(t.outcome for t in group if t.outcome in _NO_SCORE).items())),
            )
        )
        for budget in sorted({int(turns) for t in group for turns in t.budgets}):
            marks = [(t.snapshot, t.budgets[str(budget)]) for t in scored if str(budget) in t.budgets]
            found.append(_line(agent, model, budget, marks))
    return found


def _line(agent: str, model: str, budget: int | None, marks: Sequence[tuple[str, Marks]]) -> Line:
    shares = {p: _share([(n, m.by_priority[p]) for n, m in marks if p in m.by_priority]) for p in PRIORITIES}
    with_p0 = [m.by_priority["p0"] for _, m in marks if "p0" in m.by_priority]
    return Line(
        agent, model, budget, len({name for name, _ in marks}), len(marks),
        _share([(name, float(m.passed)) for name, m in marks if m.passed is not None]),
        _share([(name, m.weighted) for name, m in marks]),
        {p: share for p, share in shares.items() if share is not None},
        sum(share < 1 for share in with_p0), len(with_p0),
    )  # fmt: skip


def _share(values: Sequence[tuple[str, float]]) -> float | None:
    """Return the mean over tasks of the mean over attempts."""
    by_task: dict[str, list[float]] = defaultdict(list)
    for name, value in values:
        by_task[name].append(value)
    return mean(mean(each) for each in by_task.values()) if by_task else None


def table(trials: Iterable[Trial]) -> str:
    """Return the results as a text table, one row for each agent and model; further rows for turn budgets."""
    rows = [_COLUMNS, *map(_row, lines(trials))]
    return _text(rows) + "\nScores are of checks alone where no judge was configured. Oracle and nop are the bounds.\n"


def _row(line: Line) -> tuple[str, ...]:
    at_budget = line.budget is not None
    return (
        f"  at {line.budget} turns" if at_budget else line.agent[:40], "" if at_budget else line.model,
        str(line.tasks), str(line.trials), _percent(line.passed), _percent(line.weighted),
        *(_percent(line.priorities.get(p)) for p in PRIORITIES),
        f"{line.p0_missed}/{line.p0_trials}" if line.p0_trials else "-",
        f"{line.turns:.1f}" if line.turns is not None else "-", f"{line.tokens:,}" if line.tokens else "-",
        " ".join(f"{count} {outcome}" for outcome, count in line.no_score.items()) or "-",
    )  # fmt: skip


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}"


def _text(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    text = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join(text) + "\n"
