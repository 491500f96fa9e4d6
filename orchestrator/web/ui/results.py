"""Results: agents x tasks; one trial's trajectory beside its criteria; two trials, or two forks of an office, side by side."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import Any

import msgspec
from nicegui import ui

from bench.trials import Trial, read_trials
from orchestrator.web.queries import experts, results, results_forks
from orchestrator.web.ui import kit
from orchestrator.web.ui.asked import Ask
from orchestrator.web.ui.experts_form import rests_on
from orchestrator.web.ui.shell import Page, Shell

FILTERS = {"outcome": "Outcome", "role": "Role", "work": "Kind of work", "agent": "Agent"}
_MARKS = {True: ("met", "good"), False: ("not met", "bad"), None: ("not judged", "")}
_OUTCOMES = {"passed": "good", "failed": "bad", "error": "warn", "infra_error": "warn", "invalid": "warn"}


class Shown(msgspec.Struct, frozen=True):
    """The grid's page: the folder chosen, the others, the grid, and the trials it is of by key."""

    folder: results.Folder
    folders: tuple[results.Folder, ...]
    grid: results.Grid
    trials: Mapping[str, Trial]


# -- the grid -------------------------------------------------------------------------------------------------------------


def load_grid(ask: Ask) -> Shown:
    """Read a folder of results, through the filters of the address."""
    house = ask.parts.house
    folder = results.folder_of(house, ask.get("folder"))
    trials = read_trials(folder.path)
    wanted = results.Wanted(
        ask.get("outcome"), ask.get("role"), ask.get("work"), ask.get("agent"), ask.get("missed") == "p0"
    )  # fmt: skip
    tasks = results.tasks_of(experts.default_places(house))
    grid = results.grid(trials, tasks, wanted)
    return Shown(folder, tuple(results.folders(house)), grid, {t.key: t for t in trials})


def draw_grid(shell: Shell, data: Shown) -> None:
    """Draw the filters and the grid."""
    kit.heading("Results", 1)
    with kit.card():
        with kit.box("row", role="group", label="Filters"):
            if len(data.folders) > 1:
                names = {f.id: f"{f.name} ({f.trials})" for f in data.folders}
                kit.choice("Folder of results", names, data.folder.id, lambda v: shell.turn(folder=v), "results-folder")
            for name, words in FILTERS.items():
                options = {"": f"{words}: any", **{v: v for v in data.grid.choices[name]}}
                kit.choice(words, options, shell.query.get(name, ""), _turner(shell, name), f"filter-{name}")
            missed = {"": "P0: any", "p0": "Missed a P0"}
            kit.choice(
                "P0 criteria", missed, shell.query.get("missed", ""), lambda v: shell.turn(missed=v), "filter-missed"
            )
            kit.link("Compare two forks", FORKS.path, "btn small")
        kit.text(
            f"{data.grid.shown} of {data.grid.total} trials in {data.folder.name}",
            "hint",
            "p",
            role="status",
            test="results-shown",
        )
    with kit.card("Agents and tasks"):
        if not data.grid.tasks:
            kit.empty("No trial passes these filters.")
            return
        _grid(data)
        kit.text(
            "Pass@1 is the mean over tasks of the mean over attempts. What gave no score (an error, the infrastructure, an invalid task) "
            "is in no number. Scores are of checks alone where no judge was configured; oracle and nop are the bounds.", "hint", "p",
        )  # fmt: skip


def _turner(shell: Shell, name: str) -> Callable[[str], Coroutine[Any, Any, None]]:
    return lambda value: shell.turn(**{name: value})


def _grid(data: Shown) -> None:
    with (
        kit.box("scroll", role="region", tabindex="0", label="Agents and tasks", test="results-grid"),
        kit.Tag("table", "grid"),
    ):
        with kit.Tag("thead"), kit.Tag("tr"):
            kit.Tag("th", "", "Task", scope="col")
            for column in data.grid.agents:
                kit.Tag("th", "", column.agent, scope="col")
        with kit.Tag("tbody"):
            with kit.Tag("tr"):
                kit.Tag("th", "", "All tasks", scope="row")
                for column in data.grid.agents:
                    with kit.Tag("td", "num"):
                        kit.text(f"Pass@1 {_percent(column.share)}", "strong", "div")
                        kit.text(
                            f"weighted {_percent(column.weighted)} · {column.tasks} tasks, {column.trials} trials",
                            "faint",
                            "div",
                        )
                        if column.no_score:
                            kit.text(f"{column.no_score} without a score", "faint", "div")
            for task in data.grid.tasks:
                with kit.Tag("tr"):
                    with kit.Tag("th", "", None, scope="row"):
                        kit.text(f"{task.work.replace('-', ' ').capitalize()} {task.period}".strip() or task.id, "", "div")
                        kit.text(task.role or task.id, "faint", "div")
                    for column in data.grid.agents:
                        with kit.Tag("td"):
                            _cell(data, data.grid.cells.get(f"{column.agent}\n{task.id}"))


def _cell(data: Shown, cell: results.Cell | None) -> None:
    if cell is None:
        kit.text("-", "faint")
        return
    with kit.box("row"):
        for key in cell.trials:
            trial = data.trials[key]
            words = f"{trial.outcome} {trial.marks.weighted:.2f}" if trial.marks is not None else trial.outcome
            made = kit.link(words, TRIAL.address(folder=data.folder.id, trial=key), f"chip {_OUTCOMES[trial.outcome]}")
            made.set(label=f"{words}: {cell.agent} at {cell.task}, attempt {trial.attempt}")
    if cell.missed:
        kit.text(f"missed a P0 in {cell.missed}", "faint", "div")


def _percent(value: float | None) -> str:
    return f"{100 * value:.1f} %" if value is not None else "-"


# -- one trial ------------------------------------------------------------------------------------------------------------


class OneShown(msgspec.Struct, frozen=True):
    """A trial's page: the trial, its folder, and the other trials of its task."""

    folder: results.Folder
    shown: results.TrialShown
    others: tuple[Trial, ...]


def load_trial(ask: Ask) -> OneShown:
    """Read one trial."""
    folder = results.folder_of(ask.parts.house, ask.get("folder"))
    trials = read_trials(folder.path)
    trial = results.trial_of(trials, ask.get("trial"))
    others = tuple(t for t in trials if t.snapshot == trial.snapshot and t.key != trial.key)
    return OneShown(folder, _opened(ask, folder, trial), others)


def _opened(ask: Ask, folder: results.Folder, trial: Trial) -> results.TrialShown:
    places = experts.default_places(ask.parts.house)
    task = results.tasks_of(places).get(trial.snapshot, results.Task(trial.snapshot))
    return results.shown(folder.path, trial, task, results.rubric_at(places, trial))


def draw_trial(shell: Shell, data: OneShown) -> None:
    """Draw a trial: its criteria, its trajectory beside them."""
    trial = data.shown.trial
    kit.heading(_title(data.shown), 1)
    with kit.card():
        _numbers(data.shown)
        with kit.box("row"):
            kit.link("All results", GRID.address(folder=data.folder.id), "btn small")
            if data.shown.task.version:
                kit.link("The task", f"/experts/{data.shown.task.version}", "btn small")
            if data.others:
                options = {
                    "": "Compare with…",
                    **{t.key: f"{results.agent_of(t)}, attempt {t.attempt}: {t.outcome}" for t in data.others},
                }
                kit.choice(
                    "Compare with another trial of this task", options, "", lambda v: _go(data, v), "compare-with"
                )
    with kit.box("halves"):
        with kit.card("Criteria", test="criteria"):
            if not data.shown.criteria:
                kit.empty(trial.note or "It was not judged.")
            for each in data.shown.criteria:
                _judged(each)
        with kit.card("Trajectory", test="trajectory"):
            _trajectory(data.shown)


def _go(data: OneShown, other: str) -> None:
    if other:
        from_here = COMPARE.address(folder=data.folder.id, first=data.shown.trial.key, second=other)
        ui.navigate.to(from_here)


def _title(shown: results.TrialShown) -> str:
    task = f"{shown.task.work.replace('-', ' ')} {shown.task.period}".strip() or shown.task.id
    return f"{results.agent_of(shown.trial)}: {task}, attempt {shown.trial.attempt}"


def _numbers(shown: results.TrialShown) -> None:
    trial = shown.trial
    marks = trial.marks
    with kit.box("row"):
        kit.chip(trial.outcome, _OUTCOMES[trial.outcome], test="outcome")
        if results.another(trial, shown.task):
            kit.chip("made on another version of the task", "warn", test="another-version")
        if marks is not None:
            kit.text(f"weighted {marks.weighted:.3f}", "strong num")
            for priority, share in marks.by_priority.items():
                kit.text(f"{priority.upper()} {_percent(share)}", "faint num")
    used = trial.usage
    kit.facts([
        ("Task", trial.snapshot), ("Role", shown.task.role), ("Turns", str(trial.turns or "")),
        ("Tokens", f"{used.input + used.output:,}" if used.input + used.output else ""),
        ("Cost", f"{trial.cost_micros / 1e6:.4f}" if trial.cost_micros else ""), ("Took", f"{trial.milliseconds / 1000:.1f} s"),
        ("Ended", trial.note),
        ("With fewer turns", ", ".join(f"{n}: {m.weighted:.2f}" for n, m in sorted(trial.budgets.items(), key=lambda b: int(b[0])))),
    ])  # fmt: skip


def _judged(each: results.Judged) -> None:
    with kit.box("stack", test=f"judged-{each.id}"):
        with kit.box("row"):
            words, kind = _MARKS[each.met]
            kit.chip(words, kind)
            kit.chip(each.priority)
            if not each.required:
                kit.chip("not required")
        kit.text(each.text, "said", "p")
        kit.text(each.why, "faint said", "p")
        rests_on(each.evidence)
        for vote in each.votes:
            kit.text(vote, "faint said", "p")


def _trajectory(shown: results.TrialShown) -> None:
    if shown.said:
        kit.empty(shown.said)
    for step in shown.steps:
        _step(step)
    if shown.steps_total > len(shown.steps):
        kit.text(f"The first {len(shown.steps)} of {shown.steps_total} steps are shown.", "hint", "p")


def _step(step: results.Step) -> None:
    brief = step.source == "system" or (step.source == "user" and step.number <= 2)
    words = step.calls[0].partition("\n")[0] if step.calls else step.text.strip().partition("\n")[0][:80]
    with kit.fold(f"{step.number}. {step.source}: {words}", is_open=not brief and step.source == "agent"):
        if step.thinking:
            kit.text(step.thinking, "said faint", "p")
        if step.text:
            kit.text(step.text, "said", "p")
        for call in step.calls:
            kit.text(call, "pre", "pre", tabindex="0", role="region", label=f"Call of step {step.number}")
        for answer in step.answers:
            kit.text(answer, "pre", "pre", tabindex="0", role="region", label=f"Answer to step {step.number}")


# -- two trials -----------------------------------------------------------------------------------------------------------


def load_compared(ask: Ask) -> tuple[results.Folder, results.Compared]:
    """Read two trials."""
    folder = results.folder_of(ask.parts.house, ask.get("folder"))
    trials = read_trials(folder.path)
    first, second = (_opened(ask, folder, results.trial_of(trials, ask.get(name))) for name in ("first", "second"))
    return folder, results.compare(first, second)


def draw_compared(shell: Shell, data: tuple[results.Folder, results.Compared]) -> None:
    """Draw two trials side by side."""
    folder, both = data
    kit.heading("Two trials", 1)
    with kit.box("halves"):
        for shown in (both.first, both.second):
            with kit.card(_title(shown)):
                _numbers(shown)
                kit.link("This trial", TRIAL.address(folder=folder.id, trial=shown.trial.key), "btn small")
    with kit.card("Criteria, those first in which they differ", test="compared"):
        rows = sorted(both.rows, key=lambda r: not r.differs)
        columns = ("Criterion", "", "First", "Second", "Why")
        cells = [(row.text, row.priority, _MARKS[row.first][0], _MARKS[row.second][0], _why(row)) for row in rows]
        kit.table("Criteria of both", columns, cells, "compared-rows")
    with kit.card("Trajectories"):
        if both.parts:
            kit.text(f"They say and do the same until step {both.parts}.", "hint", "p")
        with kit.box("halves"):
            for shown in (both.first, both.second):
                with kit.box("stack"):
                    _trajectory(shown)


def _why(row: results.Row) -> str:
    if not row.differs or row.first_why == row.second_why:
        return row.first_why
    return f"First: {row.first_why}. Second: {row.second_why}"


# -- two forks ------------------------------------------------------------------------------------------------------------


class ForksShown(msgspec.Struct, frozen=True):
    """The forks' page: all offices by id, the relatives of the first, and the comparison once two are chosen."""

    offices: Mapping[str, str]
    relatives: Mapping[str, str]
    found: results_forks.Forks | None


def load_forks(ask: Ask) -> ForksShown:
    """Read two offices that share a past."""
    rows = ask.parts.shelf.rows()
    first, second = ask.get("first"), ask.get("second")
    related = {row.id: row.name for row in results_forks.relatives(rows, first)}
    found = None
    if first and second in related:
        found = results_forks.forks(ask.parts.shelf.open(first), ask.parts.shelf.open(second), rows)
    names = {row.id: row.name for row in rows if results_forks.relatives(rows, row.id)}
    return ForksShown(names, related, found)


def draw_forks(shell: Shell, data: ForksShown) -> None:
    """Draw what became otherwise in two forks."""
    kit.heading("Two forks of an office", 1)
    with kit.card():
        if not data.offices:
            kit.empty("No office has been forked yet. Fork one at a past moment: officetown fork OFFICE --at DATE")
            return
        with kit.box("row"):
            kit.choice(
                "First office", {"": "First…", **data.offices}, shell.query.get("first", ""),
                lambda v: shell.turn(first=v, second=""), "fork-first",
            )  # fmt: skip
            kit.choice(
                "Second office", {"": "Second…", **data.relatives}, shell.query.get("second", ""), lambda v: shell.turn(second=v),
                "fork-second",
            )  # fmt: skip
    if data.found is None:
        return
    f = data.found
    with kit.card("Since they parted", test="forks"):
        kit.text(f"They share everything up to revision {f.common:,}, {f.parted.local.replace('T', ' ')}.", "hint", "p")
        rows = [("now", f.first.now.local, f.second.now.local), ("switched off", _off(f.first), _off(f.second))]
        rows += [(name, f"{n:,}", f"{f.second.counts[name]:,}") for name, n in f.first.counts.items()]
        kit.table("What happened since", ("", f.first.name, f.second.name), rows, "fork-counts", "num")
    with kit.card("Delegated work that went otherwise"):
        kit.text(f"{f.works_other} differ, {f.works_same} are as on the other side.", "hint", "p")
        works = [(w.id, f"{w.work} {w.period}", w.first or "not given", w.second or "not given") for w in f.works]
        kit.table("Delegated work", ("Delegation", "Work", f.first.name, f.second.name), works, "fork-works")
    with kit.card("Files that differ"):
        kit.text(f"{f.files_other} differ, {f.files_same} are the same on both sides.", "hint", "p")
        files = [(x.path, f"{x.first} versions", f"{x.second} versions") for x in f.files]
        kit.table("Files", ("Path", f.first.name, f.second.name), files, "fork-files")


def _off(side: results_forks.Side) -> str:
    return ", ".join(side.off) or "nothing"


GRID = Page("results", "/results", "Results", "grading", load_grid, draw_grid, every=0)
TRIAL = Page(
    "trial", "/results/trial", "A trial", "grading", load_trial, draw_trial, menu=False, every=0, under="results"
)
COMPARE = Page(
    "compare",
    "/results/compare",
    "Two trials",
    "grading",
    load_compared,
    draw_compared,
    menu=False,
    every=0,
    under="results",
)
FORKS = Page(
    "forks", "/results/forks", "Two forks", "grading", load_forks, draw_forks, menu=False, every=0, under="results"
)
PAGES = (GRID, TRIAL, COMPARE, FORKS)
