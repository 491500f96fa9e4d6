"""A report over finished trials: `report.md`, a CSV for each table, and each plot as SVG and PNG."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import msgspec
import yaml

from bench.worlds.model import Trial
from bench.worlds.plots import Drawing, Point, Series, bars, curves, grid, png, svg
from bench.worlds.report_tables import (
    BOUNDS,
    Cards,
    Cell,
    ModelCard,
    Share,
    Table,
    all_tables,
    as_csv,
    generation,
    less_effort,
    markdown,
    mixed,
    scores_of,
    share_of_rate,
)
from bench.worlds.statistics import LEVELS, Rate, Score, by
from simulator.errors import UsageError

REPORT, TABLES, PLOTS = "report.md", "tables", "plots"
_SHOWN_SERIES = 8
_MOST_BARS = 40
_MOST_ROWS = 120
"""A longer table is a CSV alone."""
_INTERVALS = "Lines through the marks are 95 % intervals."


class Report(msgspec.Struct, frozen=True):
    """What a report is before it is written: tables, and plots by their file's name."""

    tables: tuple[Table, ...]
    plots: dict[str, Drawing]
    head: str


def read_cards(place: Path) -> dict[str, ModelCard]:
    """Read what is known of models, from YAML: `name: {family, generation, scale}`.

    Raises:
        UsageError: the file is not there or does not have that form.
    """
    try:
        read = yaml.load(place.read_text("utf-8"), Loader=yaml.BaseLoader)  # noqa: S506 - it makes texts and nothing else
        return msgspec.convert(read or {}, dict[str, ModelCard])
    except OSError as fault:
        raise UsageError(f"{place} cannot be read: {fault.strerror}.") from fault
    except (yaml.YAMLError, msgspec.ValidationError, UnicodeDecodeError) as fault:
        raise UsageError(
            f"{place} is no list of models: each is `name: {{family, generation, scale}}`. {fault}"
        ) from fault


def report(trials: Sequence[Trial], cards: Cards | None = None, seed: int = 0) -> Report:
    """Return the report over `trials`.

    Raises:
        UsageError: there is none.
    """
    if not trials:
        raise UsageError("There are no trials to report on: make some with `officetown worlds run`.")
    scores = scores_of(trials, cards)
    tables = tuple(all_tables(trials, cards, seed))
    return Report(tables, _plots(scores) | _of_tables(tables), _head(trials))


def write_report(folder: Path, found: Report) -> list[Path]:
    """Write a report; return its files. The same trials give the same bytes."""
    parts = [
        found.head,
        *(markdown(table) if len(table.rows) <= _MOST_ROWS else _elsewhere(table) for table in found.tables),
    ]
    if found.plots:
        parts.append(
            "## Plots\n\n"
            + "\n".join(f"![{drawing.title}]({PLOTS}/{name}.svg)\n" for name, drawing in found.plots.items())
        )
    files: dict[str, bytes] = {REPORT: "\n".join(parts).encode()}
    files |= {f"{TABLES}/{table.name}.csv": as_csv(table).encode() for table in found.tables}
    for name, drawing in found.plots.items():
        files |= {f"{PLOTS}/{name}.svg": svg(drawing), f"{PLOTS}/{name}.png": png(drawing)}
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return [folder / name for name in files]


def _elsewhere(table: Table) -> str:
    return f"## {table.title}\n\n{len(table.rows)} rows: see `{TABLES}/{table.name}.csv`.\n"


def _head(trials: Sequence[Trial]) -> str:
    outcomes = Counter(trial.outcome for trial in trials)
    told = ", ".join(f"{count} {name}" for name, count in sorted(outcomes.items()))
    lines = [
        "# Language environments: results", "",
        f"{len(trials)} runs of {len({(t.environment, t.task) for t in trials})} tasks: {told}. "
        "Runs that the infrastructure failed and runs that were invalid are in no rate; they are counted beside it. "
        "A share is followed by its 95 % interval and its n.", "",
    ]  # fmt: skip
    modes = sorted({trial.simulator_mode for trial in trials})
    if modes != ["stateful"]:
        lines += [
            f"Modes of the simulator: {', '.join(modes)}. `offline` runs declared effects by code; it is no model.",
            "",
        ]
    if many := mixed(trials):
        lines += [f"**{many} runs differ from another only in settings that no table shows** (the verifier, votes, the fault "
                  "plan, a changed environment). They are pooled here; report on each result folder alone to tell them apart.", ""]  # fmt: skip
    return "\n".join(lines)


# -- plots --------------------------------------------------------------------------------------------------------------


def _plots(scores: Sequence[Score]) -> dict[str, Drawing]:
    """Rates under different simulators are never pooled: an agent is then drawn once for each."""
    simulators = sorted({one.simulator for one in scores})
    many = len(simulators) > 1
    named = [_under(one) for one in scores] if many else list(scores)
    clean = [one for one in named if one.level == "E0"]
    found: dict[str, Drawing] = {}
    for simulator in simulators:
        own = [one for one in scores if (one.level, one.simulator) == ("E0", simulator) and one.agent not in BOUNDS]
        if industries := by(own, lambda one: one.industry):
            name = f"industries-{simulators.index(simulator) + 1}" if many else "industries"
            under = f" under {simulator}" if many else ""
            points = [_point(industry, rate) for industry, rate in industries.items()]
            found[name] = bars(f"Completion by industry, all agents{under}, E0", points, _INTERVALS)
    if agents := by(clean, lambda one: one.agent):
        found["agents"] = bars(
            "Completion by agent, E0", [_point(name, rate) for name, rate in agents.items()], _INTERVALS
        )
    met = {one.agent for one in named if one.level != "E0"}
    if struck := [one for one in named if one.agent in met]:
        found["faults"] = _curves("Completion under faults", struck, LEVELS, "agent", "level")
    if many:
        found["matrix"] = _matrix([one for one in scores if one.level == "E0"], simulators)
    efforts = less_effort(one for one in scores if one.level == "E0")
    return found | _models(clean, [_under(one) for one in efforts] if many else efforts)


def _of_tables(tables: Sequence[Table]) -> dict[str, Drawing]:
    """The plots of R and of the kinds of failure, from their tables."""
    found: dict[str, Drawing] = {}
    rows = {table.name: table.rows for table in tables}
    if known := rows.get("robustness"):
        points = [_cell(f"{row[0]} under {row[1]}", row[2]) for row in known]
        note = "Bootstrap over tasks, 95 %; n is of tasks."
        found["robustness"] = bars("Robustness: R = min(E1, E2, E3) / E0", points, note, ratio=True)
    if failed := rows.get("failures"):
        points = [_cell(f"{row[0]}: {str(row[1]).replace('_', ' ')}", row[3]) for row in failed[:_MOST_BARS]]
        left = len(failed) - len(points)
        found["failures"] = bars(
            "Kinds of failure, of failed runs", points, f"{left} more in the table." if left else _INTERVALS
        )
    return found


def _cell(label: str, cell: Cell) -> Point:
    assert isinstance(cell, Share)
    return Point(label, cell.value, cell.low, cell.high, cell.n)


def _under(one: Score) -> Score:
    """Name the simulator with whatever a plot may take its names from."""
    under = f" under {one.simulator}"
    return msgspec.structs.replace(
        one, agent=one.agent + under, family=one.family and one.family + under, scale=one.scale and one.scale + under
    )


def _matrix(clean: Sequence[Score], simulators: Sequence[str]) -> Drawing:
    rows = [
        Series(agent, tuple(_point(name, rate) for name, rate in by(own, lambda one: one.simulator).items()))
        for agent, own in _split(clean, "agent").items()
    ]
    return grid("Agents (rows) under simulators (columns), E0", rows, simulators)


def _models(clean: Sequence[Score], efforts: Sequence[Score]) -> dict[str, Drawing]:
    """The plots that need something known of the models."""
    found: dict[str, Drawing] = {}
    if efforts:
        found["efforts"] = _curves("Completion by effort, E0", efforts, _ordered_efforts(efforts), "agent", "effort")
    if known := [one for one in clean if generation(one) and one.family]:
        generations = sorted({one.generation for one in known}, key=_natural)
        found["generations"] = _curves("Completion by generation, E0", known, generations, "family", "generation")
    if scales := by(clean, lambda one: one.scale):
        ordered = sorted(scales, key=_natural)
        found["scales"] = bars("Completion by scale, E0", [_point(name, scales[name]) for name in ordered], _INTERVALS)
    return found


def _curves(title: str, scores: Sequence[Score], labels: Sequence[str], name: str, axis: str) -> Drawing:
    """One line for each value of the field `name`, at most eight, along the field `axis`."""
    groups = _split(scores, name)
    shown = list(groups)[:_SHOWN_SERIES]
    series = [
        Series(
            one, tuple(_point(label, rate) for label, rate in by(groups[one], lambda s: str(getattr(s, axis))).items())
        )
        for one in shown
    ]
    left = len(groups) - len(shown)
    return curves(title, labels, series, f"{_INTERVALS} {left} more in the table." if left else _INTERVALS)


def _split(scores: Sequence[Score], name: str) -> dict[str, list[Score]]:
    groups: dict[str, list[Score]] = {key: [] for key in sorted({str(getattr(one, name)) for one in scores})}
    for one in scores:
        groups[str(getattr(one, name))].append(one)
    return groups


def _ordered_efforts(scores: Sequence[Score]) -> list[str]:
    known = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
    found = {one.effort for one in scores}
    return [one for one in known if one in found] + sorted(found - set(known))


def _natural(text: str) -> tuple[float, str]:
    """Numbers by size, so that 8B comes before 70B; `4o` after `4`."""
    digits = "".join(ch if ch.isdigit() or ch == "." else " " for ch in text).split()
    try:
        size = float(digits[0]) if digits else float("inf")
    except ValueError:
        size = float("inf")
    return size * (1000 if text.lower().split(" ")[0].endswith("t") else 1), text


def _point(label: str, rate: Rate) -> Point:
    return _cell(label, share_of_rate(rate))
