"""The tables of a report: what is counted, by what, and how it reads as Markdown and as CSV. Every share has its n and its
interval; what was no score is counted beside it."""

from __future__ import annotations

import csv
import io
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from bench.worlds.agreement import agreements, ensemble, matrix
from bench.worlds.model import Side, Trial
from bench.worlds.statistics import LEVELS, Estimate, Rate, Score, by, pass_hat, robustness, wilson
from simulator.canonical import clean_text

ALL = "all agents"
BOUNDS = frozenset({"nop", "once", "oracle"})
"""Agents that are bounds and no models: shown in rows of their own, never pooled with others."""


class ModelCard(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is known of a model beside its name: its family, its generation in it, its scale (`8B`, `small`)."""

    family: str = ""
    generation: str = ""
    scale: str = ""


class Share(msgspec.Struct, frozen=True):
    """A number with its interval and n. `percent` says whether it is shown as one."""

    value: float | None
    low: float | None
    high: float | None
    n: int
    percent: bool = True


Cell = str | int | Share
Cards = Mapping[str, ModelCard]


class Table(msgspec.Struct, frozen=True):
    """A table: `name` is its file's, `note` what a reader must know."""

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""


# -- from trials to scores ----------------------------------------------------------------------------------------------


def label(side: Side, mode: str = "") -> str:
    """Return how a side is called in a table: its model if it has one, its harness where that is not plain, its effort."""
    harness = side.name if side.name not in ("model", "own") or not side.model else ""
    parts = (harness, side.model, side.effort, f"({mode})" if mode and mode not in ("stateful", side.name) else "")
    return " ".join(part for part in parts if part)


def scores_of(trials: Iterable[Trial], cards: Cards | None = None) -> list[Score]:
    """Return what the statistics take, in the trials' order."""
    known = cards or {}
    found = []
    for trial in trials:
        card = known.get(trial.agent.model or trial.agent.name, ModelCard())
        found.append(
            Score(
                label(trial.agent), label(trial.simulator, trial.simulator_mode), f"{trial.environment}/{trial.task}",
                trial.fault_level, trial.attempt, trial.outcome, trial.industry, card.scale, card.family,
                card.generation, trial.agent.effort,
            )
        )  # fmt: skip
    return found


def mixed(trials: Iterable[Trial]) -> int:
    """Return how many runs share agent, simulator, task, level and attempt with another, but not its settings."""
    seen: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for trial, score in ((trial, scores_of([trial])[0]) for trial in trials):
        seen[score.agent, score.simulator, score.task, score.level, str(score.attempt)].add(trial.settings)
    return sum(len(settings) - 1 for settings in seen.values())


def share_of_rate(found: Rate) -> Share:
    """Return a rate as a cell."""
    ends = found.interval
    return Share(found.value, ends.low if ends else None, ends.high if ends else None, found.runs)


def share_of_estimate(found: Estimate, percent: bool = True) -> Share:
    """Return an estimate as a cell; its n is of tasks."""
    ends = found.interval
    return Share(found.value, ends.low if ends else None, ends.high if ends else None, found.tasks, percent)


def _share(part: int, whole: int) -> Share:
    if not whole:
        return Share(None, None, None, 0)
    ends = wilson(part, whole)
    return Share(part / whole, ends.low, ends.high, whole)


# -- the tables ---------------------------------------------------------------------------------------------------------


def all_tables(trials: Sequence[Trial], cards: Cards | None = None, seed: int = 0) -> list[Table]:
    """Return every table that these trials can fill, in the order in which a reader wants them."""
    scores = scores_of(trials, cards)
    clean = [one for one in scores if one.level == "E0"]
    tables = [
        completion(scores),
        robustness_table(scores, seed),
        groups("industries", "Completion by industry (E0)", "industry", clean, lambda one: one.industry),
        groups("scales", "Completion by scale (E0)", "scale", clean, lambda one: one.scale),
        groups("generations", "Completion by generation (E0)", "generation", clean, generation, pooled=False),
        efforts(clean),
        difficulty(trials, scores),
        consistency(clean, seed),
        simulators(clean),
        agreement_table(clean, seed),
        ensembles(clean),
        failures(trials),
        detections(trials),
        runs(trials),
    ]
    return [table for table in tables if table.rows]


def generation(one: Score) -> str:
    """Return family and generation as one word, or nothing."""
    return f"{one.family} {one.generation}".strip() if one.generation else ""


_BESIDE = ("infrastructure", "invalid")


def _beside(found: Rate) -> tuple[int, int]:
    return found.infra, found.invalid


def completion(scores: Sequence[Score]) -> Table:
    """One row for each agent, simulator and fault level."""
    rows: list[tuple[Cell, ...]] = []
    for agent, simulator in sorted({(one.agent, one.simulator) for one in scores}):
        own = [one for one in scores if (one.agent, one.simulator) == (agent, simulator)]
        for level, found in by(own, lambda one: one.level).items():
            rows.append((agent, simulator, level, share_of_rate(found), found.tasks, *_beside(found)))
    return Table(
        "completion", "Completion", ("agent", "simulator", "faults", "completion", "tasks", *_BESIDE), tuple(rows),
        "n is of scored runs. Wilson's intervals, 95 %, widened where attempts at one task go together.",
    )  # fmt: skip


def robustness_table(scores: Sequence[Score], seed: int = 0) -> Table:
    """R for each agent and simulator that met all four fault levels, or why there is none."""
    rows: list[tuple[Cell, ...]] = []
    for agent, simulator in sorted({(one.agent, one.simulator) for one in scores if one.level != "E0"}):
        found = robustness([one for one in scores if (one.agent, one.simulator) == (agent, simulator)], seed)
        cells = [share_of_rate(found.rates[level]) for level in LEVELS]
        rows.append(
            (
                agent,
                simulator,
                share_of_estimate(found.r, percent=False),
                found.worst,
                *cells,
                found.left_out,
                found.r.note,
            )
        )
    return Table(
        "robustness", "Robustness: R = min(E1, E2, E3) / E0",
        ("agent", "simulator", "R", "worst under", *LEVELS, "tasks left out", "note"), tuple(rows),
        "Over the tasks scored under all four levels. Bootstrap over tasks, 95 %; n of R is of tasks.",
    )  # fmt: skip


def groups(
    name: str, title: str, column: str, scores: Sequence[Score], key: Callable[[Score], str], pooled: bool = True
) -> Table:
    """One row for each group of each agent under each simulator, and of all agents together where `pooled`."""
    rows: list[tuple[Cell, ...]] = []
    for simulator in sorted({one.simulator for one in scores if key(one)}):
        under = [one for one in scores if one.simulator == simulator]
        agents = sorted({one.agent for one in under if key(one)})
        if pooled and len(set(agents) - BOUNDS) > 1:
            agents = [ALL, *agents]
        for agent in agents:
            own = [one for one in under if agent == one.agent or (agent == ALL and one.agent not in BOUNDS)]
            for group, found in by(own, key).items():
                rows.append((agent, simulator, group, share_of_rate(found), found.tasks, *_beside(found)))
    return Table(name, title, ("agent", "simulator", column, "completion", "tasks", *_BESIDE), tuple(rows))


def efforts(scores: Sequence[Score]) -> Table:
    """The same model under different efforts."""
    return groups(
        "efforts", "Completion by effort (E0)", "effort", less_effort(scores), lambda one: one.effort, pooled=False
    )


def less_effort(scores: Iterable[Score]) -> list[Score]:
    """Return the scores that say an effort, their agents named without it."""
    return [
        msgspec.structs.replace(one, agent=one.agent.removesuffix(f" {one.effort}")) for one in scores if one.effort
    ]


def difficulty(trials: Sequence[Trial], scores: Sequence[Score]) -> Table:
    """Completion by the tasks' own difficulty level."""
    levels = {one.task: str(trial.level) for trial, one in zip(trials, scores, strict=True)}
    clean = [one for one in scores if one.level == "E0"]
    title = "Completion by difficulty (E0)"
    return groups("difficulty", title, "difficulty", clean, lambda one: levels[one.task], pooled=False)


def consistency(scores: Sequence[Score], seed: int = 0) -> Table:
    """pass^k for each agent and simulator with several attempts."""
    rows: list[tuple[Cell, ...]] = []
    for agent, simulator in sorted({(one.agent, one.simulator) for one in scores}):
        own = [one for one in scores if (one.agent, one.simulator) == (agent, simulator)]
        most = max(Counter(one.task for one in own if one.scored).values(), default=0)
        for k in range(1, most + 1) if most > 1 else ():
            found = pass_hat(own, k, seed)
            rows.append((agent, simulator, k, share_of_estimate(found), found.note))
    return Table(
        "consistency", "Consistency: pass^k (E0)", ("agent", "simulator", "k", "pass^k", "note"), tuple(rows),
        "The chance that k attempts at a task all pass. n is of tasks; bootstrap over tasks, 95 %.",
    )  # fmt: skip


def simulators(scores: Sequence[Score]) -> Table:
    """The matrix of agents and simulators, where there are several simulators."""
    found = matrix(scores)
    if len(found.simulators) < 2:
        return Table("matrix", "", (), ())
    blank = Share(None, None, None, 0)
    rows: list[tuple[Cell, ...]] = [
        (agent, *(share_of_rate(found.cells[agent][s]) if s in found.cells[agent] else blank for s in found.simulators))
        for agent in found.agents
    ]
    if found.means:
        rows.append(("mean", *(f"{100 * found.means[s]:.1f} %" for s in found.simulators)))
    return Table(
        "matrix", "Agents and simulators (E0)", ("agent", *found.simulators), tuple(rows),
        "The mean is over the agents that every simulator has scored.",
    )  # fmt: skip


def agreement_table(scores: Sequence[Score], seed: int = 0) -> Table:
    """How far each pair of simulators orders the agents alike."""
    rows: list[tuple[Cell, ...]] = []
    for one in agreements(scores, seed):
        ends = one.interval
        cell = Share(one.share, ends.low if ends else None, ends.high if ends else None, one.pairs)
        rows.append((one.first, one.second, cell, one.alike, one.half_ties, one.opposed, one.tasks, one.note))
    return Table(
        "agreement", "Pairwise ranking agreement (E0)",
        ("simulator", "other simulator", "agreement", "alike", "tied under one", "opposed", "tasks", "note"), tuple(rows),
        "n is of pairs of agents. A tie under one simulator alone counts one half. Bootstrap over tasks, 95 %.",
    )  # fmt: skip


def ensembles(scores: Sequence[Score]) -> Table:
    """Completion when K of the simulators must agree."""
    size = len({one.simulator for one in scores})
    rows: list[tuple[Cell, ...]] = []
    for needed in range(1, size + 1) if size > 1 else ():
        for one in ensemble(scores, needed):
            rows.append((one.agent, f"{needed} of {size}", share_of_rate(one.rate), one.rate.tasks, one.undecided))
    return Table(
        "ensembles", "Ensembles: passed only if K simulators agree (E0)",
        ("agent", "K", "completion", "tasks", "undecided"), tuple(rows),
        "Undecided: simulators that gave no score could still change the verdict. Those runs are in no rate.",
    )  # fmt: skip


def failures(trials: Sequence[Trial]) -> Table:
    """How each agent's failed runs failed, where the trajectory shows it by code. A run may have several labels."""
    rows: list[tuple[Cell, ...]] = []
    for agent in sorted({label(trial.agent) for trial in trials}):
        failed = [trial for trial in trials if label(trial.agent) == agent and trial.outcome == "failed"]
        counts = Counter(kind for trial in failed for kind in set(trial.labels))
        rows += [
            (agent, kind, count, _share(count, len(failed))) for kind, count in sorted(counts.items(), key=_commonest)
        ]
        unlabelled = sum(not trial.labels for trial in failed)
        if unlabelled:
            rows.append((agent, "(not shown by code)", unlabelled, _share(unlabelled, len(failed))))
    return Table(
        "failures", "Kinds of failure", ("agent", "kind", "runs", "share of failed runs"), tuple(rows),
        "A run may have several kinds, so shares may add up to more than 100 %.",
    )  # fmt: skip


def _commonest(item: tuple[str, int]) -> tuple[int, str]:
    return -item[1], item[0]


def detections(trials: Sequence[Trial]) -> Table:
    """What simulators were caught at: in how many runs, and how often."""
    rows: list[tuple[Cell, ...]] = []
    for simulator in sorted({label(trial.simulator, trial.simulator_mode) for trial in trials}):
        own = [trial for trial in trials if label(trial.simulator, trial.simulator_mode) == simulator]
        own = [trial for trial in own if trial.outcome != "infra_error"]
        kinds = sorted({kind for trial in own for kind in trial.detections})
        for kind in kinds:
            runs = sum(trial.detections.get(kind, 0) > 0 for trial in own)
            times = sum(trial.detections.get(kind, 0) for trial in own)
            rows.append((simulator, kind, _share(runs, len(own)), times, sum(trial.steps for trial in own)))
    return Table(
        "detections",
        "What simulators were caught at",
        ("simulator", "kind", "runs", "times", "steps in all"),
        tuple(rows),
    )


def run_name(trial: Trial) -> str:
    """Return a run's name in its results folder; a prefix of it is enough where it is the only one."""
    return f"{trial.settings}-{trial.attempt}"


def runs(trials: Sequence[Trial]) -> Table:
    """Every run with its outcome, and how it failed where its trajectory shows it."""
    rows: list[tuple[Cell, ...]] = []
    for one in trials:
        tokens = sum(usage.input + usage.output for usage in one.usage.values())
        rows.append((
            run_name(one), one.environment, one.task, label(one.agent), label(one.simulator, one.simulator_mode), one.fault_level,
            one.attempt, one.outcome, ", ".join(one.labels), one.steps, one.faults, tokens, one.cost_micros, one.note,
        ))  # fmt: skip
    return Table(
        "runs", "All runs",
        ("run", "environment", "task", "agent", "simulator", "faults", "attempt", "outcome", "kinds of failure", "calls",
         "calls struck", "tokens", "cost (millionths)", "note"), tuple(rows),
        "Two of them side by side: `officetown worlds report RESULTS --pair RUN RUN`.",
    )  # fmt: skip


# -- forms --------------------------------------------------------------------------------------------------------------


def markdown(table: Table) -> str:
    """Return a table as Markdown, with its title and note."""
    lines = [
        f"## {escape(table.title)}",
        "",
        _line([escape(name) for name in table.columns]),
        _line(["---"] * len(table.columns)),
    ]
    lines += [
        _line([shown(cell) if isinstance(cell, Share) else escape(str(cell)) for cell in row]) for row in table.rows
    ]
    return "\n".join([*lines, "", *([table.note, ""] if table.note else [])])


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def shown(cell: Cell) -> str:
    """Return a cell for people."""
    if not isinstance(cell, Share):
        return str(cell)
    if cell.value is None:
        return "no score (n = 0)" if not cell.n else f"none (n = {cell.n})"
    scale, places, unit = (100, 1, " %") if cell.percent else (1, 3, "")
    ends = (
        f" [{scale * cell.low:.{places}f}, {scale * cell.high:.{places}f}]"
        if cell.low is not None and cell.high is not None
        else ""
    )
    return f"{scale * cell.value:.{places}f}{unit}{ends} n = {cell.n}"


def escape(text: str) -> str:
    """Return text that stays one cell and is no markup: names come from outside."""
    flat = " ".join(clean_text(text).split()).replace("\\", "\\\\").replace("<", "&lt;")
    for mark in "|`*[":
        flat = flat.replace(mark, f"\\{mark}")
    return flat


def as_csv(table: Table) -> str:
    """Return a table as CSV: a share takes four columns, its value, low, high and n. A text that a spreadsheet would take
    for a formula gets an apostrophe before it."""
    wide = [any(isinstance(row[at], Share) for row in table.rows) for at in range(len(table.columns))]
    head: list[str] = []
    for name, spread in zip(table.columns, wide, strict=True):
        head += [name, f"{name} low", f"{name} high", f"{name} n"] if spread else [name]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([_safe(name) for name in head])
    for row in table.rows:
        cells: list[str] = []
        for cell, spread in zip(row, wide, strict=True):
            cells += _csv_cells(cell, spread)
        writer.writerow(cells)
    return out.getvalue()


def _csv_cells(cell: Cell, spread: bool) -> list[str]:
    if isinstance(cell, Share):
        return [*("" if value is None else f"{value:.6f}" for value in (cell.value, cell.low, cell.high)), str(cell.n)]
    return [_safe(str(cell)), "", "", ""] if spread else [_safe(str(cell))]


def _safe(text: str) -> str:
    flat = " ".join(clean_text(text).split())
    return f"'{flat}" if flat[:1] in ("=", "+", "-", "@") else flat
