"""A small table of results: by agent and model, with what was no score counted apart."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import mean

from bench.trials import Marks, Trial

_NO_SCORE = ("error", "infra_error", "invalid")
_COLUMNS = ("agent", "model", "tasks", "trials", "Pass@1", "weighted", "P0", "P1", "P2", "P3", "P0 missed", "turns", "tokens", "no score")


def table(trials: Iterable[Trial]) -> str:
    """Return the results as a text table, one row for each agent and model; further rows for turn budgets."""
    groups: dict[tuple[str, str], list[Trial]] = defaultdict(list)
    for trial in trials:
        groups[trial.agent, f"{trial.model} {trial.effort}".strip()].append(trial)
    rows: list[tuple[str, ...]] = [_COLUMNS]
    for (agent, model), group in sorted(groups.items()):
        rows.append(_row(agent, model, group, [(t.snapshot, t.marks) for t in group if t.marks is not None and _scored(t)]))
        for turns in sorted({int(turns) for t in group for turns in t.budgets}):
            marks = [(t.snapshot, t.budgets[str(turns)]) for t in group if _scored(t) and str(turns) in t.budgets]
            rows.append(_row(f"  at {turns} turns", "", [], marks))
    return _lines(rows) + "\nScores are of checks alone where no judge was configured. Oracle and nop are the bounds.\n"


def _scored(trial: Trial) -> bool:
    return trial.outcome not in _NO_SCORE


def _row(agent: str, model: str, group: Sequence[Trial], marks: Sequence[tuple[str, Marks]]) -> tuple[str, ...]:
    apart: dict[str, int] = defaultdict(int)
    for trial in group:
        if not _scored(trial):
            apart[trial.outcome] += 1
    with_p0 = [m.by_priority["p0"] for _, m in marks if "p0" in m.by_priority]
    missed = f"{sum(share < 1 for share in with_p0)}/{len(with_p0)}" if with_p0 else "-"
    turns = [t.turns for t in group if t.turns]
    tokens = sum(t.usage.input + t.usage.output for t in group)
    return (
        agent[:40], model, str(len({name for name, _ in marks})), str(len(marks)),
        _percent([(name, float(m.passed)) for name, m in marks if m.passed is not None]),
        _percent([(name, m.weighted) for name, m in marks]),
        *(_percent([(n, m.by_priority[p]) for n, m in marks if p in m.by_priority]) for p in ("p0", "p1", "p2", "p3")),
        missed, f"{mean(turns):.1f}" if turns else "-", f"{tokens:,}" if tokens else "-",
        " ".join(f"{count} {outcome}" for outcome, count in sorted(apart.items())) or "-",
    )  # fmt: skip


def _percent(values: Sequence[tuple[str, float]]) -> str:
    """Return the mean over tasks of the mean over attempts."""
    by_task: dict[str, list[float]] = defaultdict(list)
    for name, value in values:
        by_task[name].append(value)
    return f"{100 * mean(mean(each) for each in by_task.values()):.1f}" if by_task else "-"


def _lines(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    text = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join(text) + "\n"
