"""Results of evaluations: agents x tasks, one trial with its criteria and trajectory, two trials side by side. Pure but for
what reads the folders."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import msgspec

from bench.rubric import Criterion, Rubric
from bench.snapshot import open_snapshot
from bench.trials import TRIALS, Trial, read_trajectory, read_trials
from orchestrator.compose import House
from orchestrator.web.queries.experts import shelved
from services.gateway import atif
from simulator.canonical import sha256
from simulator.errors import UnknownReference, UsageError

RESULTS = "results"
"""Where `eval` keeps trials unless told otherwise, below the home."""
SCORED = ("passed", "failed")
MOST_TEXT = 20_000
MOST_STEPS = 400


class Task(msgspec.Struct, frozen=True):
    """What is known of a task from its snapshot's manifest; only the id where the snapshot is not at hand."""

    id: str
    role: str = ""
    work: str = ""
    firm: str = ""
    period: str = ""
    version: str = ""


class Folder(msgspec.Struct, frozen=True):
    """A folder of results. `id` stands for it in addresses."""

    id: str
    name: str
    path: Path
    trials: int


class Wanted(msgspec.Struct, frozen=True):
    """Which trials to show; an empty word leaves all in. `missed` asks for those that missed a P0 criterion."""

    outcome: str = ""
    role: str = ""
    work: str = ""
    agent: str = ""
    missed: bool = False


class Cell(msgspec.Struct, frozen=True):
    """The attempts of one agent at one task. `passed` of `scored` passed; `weighted` is the mean of those scored."""

    agent: str
    task: str
    trials: tuple[str, ...]
    outcomes: dict[str, int]
    passed: int
    scored: int
    weighted: float | None
    missed: int


class Column(msgspec.Struct, frozen=True):
    """An agent over the tasks shown. `share` is Pass@1, the mean over tasks of the mean over attempts; None without a score."""

    agent: str
    tasks: int
    trials: int
    share: float | None
    weighted: float | None
    no_score: int


class Grid(msgspec.Struct, frozen=True):
    """Agents x tasks. `choices` are the values each filter could take, over all trials of the folder."""

    agents: tuple[Column, ...]
    tasks: tuple[Task, ...]
    cells: dict[str, Cell]
    shown: int
    total: int
    choices: dict[str, tuple[str, ...]]


class Judged(msgspec.Struct, frozen=True):
    """A criterion in a trial: what was asked, what was found, and on what it rests. `met` is None while nobody has judged it."""

    id: str
    text: str
    priority: str
    required: bool
    kind: str
    met: bool | None
    holds: bool | None
    why: str
    evidence: tuple[str, ...]
    votes: tuple[str, ...]


class Step(msgspec.Struct, frozen=True):
    """A step of a trajectory as people read it."""

    number: int
    source: str
    text: str
    thinking: str
    calls: tuple[str, ...]
    answers: tuple[str, ...]


class TrialShown(msgspec.Struct, frozen=True):
    """One trial, with its task's criteria and its trajectory, which is empty where it left none."""

    trial: Trial
    task: Task
    criteria: tuple[Judged, ...]
    steps: tuple[Step, ...]
    steps_total: int
    said: str = ""


class Row(msgspec.Struct, frozen=True):
    """One criterion in two trials; a side is None where the trial did not have it or nobody judged it."""

    id: str
    text: str
    priority: str
    first: bool | None
    second: bool | None
    first_why: str
    second_why: str

    @property
    def differs(self) -> bool:
        return self.first is not self.second


class Compared(msgspec.Struct, frozen=True):
    """Two trials side by side. `parts` is the step before which their trajectories say and do the same, 0 where either has none."""

    first: TrialShown
    second: TrialShown
    rows: tuple[Row, ...]
    parts: int


# -- finding --------------------------------------------------------------------------------------------------------------


def folders(house: House, places: Sequence[Path] = ()) -> list[Folder]:
    """Return the folders of results: the home's own, those below it, and those named."""
    home = house.settings.home / RESULTS
    some = [home, *(sorted(home.iterdir()) if home.is_dir() else ()), *places]
    found = []
    for path in dict.fromkeys(some):
        if (path / TRIALS).is_file():
            found.append(Folder(sha256(str(path).encode())[:12], path.name, path, len(read_trials(path))))
    return found


def folder_of(house: House, name: str, places: Sequence[Path] = ()) -> Folder:
    """Return the folder that an address names, the first without a name. Raises UsageError where there is none."""
    known = folders(house, places)
    found = next((f for f in known if name in (f.id, "")), None)
    if found is None:
        raise UsageError(
            "There are no such results here." if known else
            "There are no results here yet. Make some with: officetown eval SNAPSHOTS --agent oracle"
        )  # fmt: skip
    return found


def tasks_of(places: Sequence[Path]) -> dict[str, Task]:
    """Return the tasks whose snapshots are at hand, by id."""
    found = {}
    for each in shelved(places)[0]:
        m = each.manifest
        found[m.id] = Task(m.id, m.title, m.work, m.firm, m.period, m.hash)
    return found


def another(trial: Trial, task: Task) -> bool:
    """Whether the task at hand is another version of what was attempted."""
    return bool(trial.version and task.version and trial.version != task.version)


def rubric_at(places: Sequence[Path], trial: Trial) -> Rubric | None:
    """Return the rubric a trial was judged by where its snapshot is at hand, in that version, and whole."""
    for each in shelved(places)[0]:
        if each.manifest.id == trial.snapshot and trial.version in ("", each.manifest.hash):
            try:
                return open_snapshot(each.folder).rubric()
            except UsageError:
                return None
    return None


# -- the grid -------------------------------------------------------------------------------------------------------------


def agent_of(trial: Trial) -> str:
    """Return how an agent is called in the grid: with its model and effort where it has one."""
    return " · ".join(part for part in (trial.agent, trial.model, trial.effort) if part)


def missed_p0(trial: Trial) -> bool:
    """Whether the trial was scored and did not meet every P0 criterion."""
    if trial.outcome not in SCORED or trial.marks is None:
        return False
    return trial.marks.by_priority.get("p0", 1.0) < 1.0


def chosen(trials: Iterable[Trial], tasks: Mapping[str, Task], wanted: Wanted) -> list[Trial]:
    """Return the trials that pass the filters."""
    return [
        t for t in trials
        if wanted.outcome in ("", t.outcome) and wanted.agent in ("", agent_of(t))
        and wanted.role in ("", _task(tasks, t).role) and wanted.work in ("", _task(tasks, t).work)
        and (not wanted.missed or missed_p0(t))
    ]  # fmt: skip


def _task(tasks: Mapping[str, Task], trial: Trial) -> Task:
    return tasks.get(trial.snapshot, Task(trial.snapshot))


def grid(trials: Sequence[Trial], tasks: Mapping[str, Task], wanted: Wanted) -> Grid:
    """Return agents x tasks of the trials that pass the filters."""
    some = chosen(trials, tasks, wanted)
    cells: dict[str, Cell] = {}
    grouped: dict[tuple[str, str], list[Trial]] = {}
    for trial in some:
        grouped.setdefault((agent_of(trial), trial.snapshot), []).append(trial)
    for (agent, task), group in grouped.items():
        cells[f"{agent}\n{task}"] = _cell(agent, task, sorted(group, key=lambda t: (t.attempt, t.settings)))
    agents = tuple(
        _column(agent, [t for t in some if agent_of(t) == agent]) for agent in sorted({agent_of(t) for t in some})
    )
    shown = sorted({t.snapshot for t in some})
    choices = {
        "outcome": tuple(sorted({t.outcome for t in trials})), "agent": tuple(sorted({agent_of(t) for t in trials})),
        "role": tuple(sorted({_task(tasks, t).role for t in trials} - {""})),
        "work": tuple(sorted({_task(tasks, t).work for t in trials} - {""})),
    }  # fmt: skip
    return Grid(agents, tuple(tasks.get(name, Task(name)) for name in shown), cells, len(some), len(trials), choices)


def _cell(agent: str, task: str, group: Sequence[Trial]) -> Cell:
    scored = [t for t in group if t.outcome in SCORED and t.marks is not None]
    outcomes: dict[str, int] = {}
    for trial in group:
        outcomes[trial.outcome] = outcomes.get(trial.outcome, 0) + 1
    weighted = mean(t.marks.weighted for t in scored if t.marks is not None) if scored else None
    return Cell(
        agent, task, tuple(t.key for t in group), outcomes, outcomes.get("passed", 0), len(scored), weighted,
        sum(missed_p0(t) for t in group),
    )  # fmt: skip


def _column(agent: str, own: Sequence[Trial]) -> Column:
    scored = [t for t in own if t.outcome in SCORED and t.marks is not None]
    by_task: dict[str, list[Trial]] = {}
    for trial in scored:
        by_task.setdefault(trial.snapshot, []).append(trial)
    share = mean(mean(float(t.outcome == "passed") for t in each) for each in by_task.values()) if by_task else None
    weighted = mean(mean(t.marks.weighted for t in each if t.marks) for each in by_task.values()) if by_task else None
    return Column(agent, len(by_task), len(own), share, weighted, len(own) - len(scored))


# -- one trial ------------------------------------------------------------------------------------------------------------


def trial_of(trials: Iterable[Trial], key: str) -> Trial:
    """Return the trial of a key. Raises UnknownReference."""
    found = next((t for t in trials if t.key == key), None)
    if found is None:
        raise UnknownReference("There is no such trial among these results.")
    return found


def judged(trial: Trial, rubric: Rubric | None) -> tuple[Judged, ...]:
    """Return a trial's criteria, as the grader told them, with the sources that the rubric names for each.

    A rubric that another version of the task has is not mixed in: only criteria with the same words get its sources.
    """
    asked: dict[str, Criterion] = {c.id: c for c in rubric.criteria} if rubric is not None else {}
    return tuple(_judged(row, asked) for row in trial.criteria)


def _judged(row: Mapping[str, Any], asked: Mapping[str, Criterion]) -> Judged:
    name = str(row.get("id", ""))
    same = asked.get(name)
    if same is not None and same.text != row.get("text"):
        same = None
    votes = row.get("votes")
    return Judged(
        name, str(row.get("text", "")), str(row.get("priority", "")), bool(row.get("required")), str(row.get("kind", "")),
        _truth(row.get("met")), _truth(row.get("holds")), str(row.get("why", "")), same.evidence if same else (),
        tuple(_vote(v) for v in votes) if isinstance(votes, list) else (),
    )  # fmt: skip


def _truth(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def _vote(vote: object) -> str:
    """Return a judge's vote in words, from `{judge, met, why}`."""
    if not isinstance(vote, dict):
        return str(vote)[:400]
    word = {True: "met", False: "not met"}.get(vote.get("met"), "undecided")  # type: ignore[arg-type]
    return f"{vote.get('judge', 'a judge')}: {word}" + (f" ({str(vote['why'])[:400]})" if vote.get("why") else "")


def shown(folder: Path, trial: Trial, task: Task, rubric: Rubric | None) -> TrialShown:
    """Return one trial as its page shows it."""
    steps, said = steps_of(read_trajectory(folder, trial))
    return TrialShown(trial, task, judged(trial, rubric), tuple(steps[:MOST_STEPS]), len(steps), said)


def steps_of(data: bytes) -> tuple[list[Step], str]:
    """Return the steps of an ATIF trajectory, and what is wrong with it where it cannot be read."""
    if not data:
        return [], "This agent's own turns were not seen from here: it left no trajectory."
    try:
        trajectory = atif.decode(data)
    except UsageError as fault:
        return [], f"Its trajectory cannot be read: {fault}"
    return [_step(step) for step in trajectory.steps], ""


def _step(step: atif.Step) -> Step:
    calls = tuple(
        f"{c.function_name}\n{_plain(json.dumps(c.arguments, ensure_ascii=False))}"[:MOST_TEXT] for c in step.tool_calls or ()
    )
    results = step.observation.results if step.observation is not None else ()
    answers = tuple(_words(r.content)[:MOST_TEXT] for r in results)
    return Step(
        step.step_id, step.source, _words(step.message)[:MOST_TEXT], (step.reasoning_content or "")[:MOST_TEXT], calls, answers
    )  # fmt: skip


def _words(content: object) -> str:
    if isinstance(content, str):
        return _plain(content)
    return "\n".join(part.text or f"[{part.type}]" for part in content or ())  # type: ignore[attr-defined]


def _plain(text: str) -> str:
    """Return a tool's answer as people read it: the values of a JSON object, a text of several lines below its name."""
    if not text.startswith("{"):
        return text
    try:
        values = json.loads(text)
    except ValueError:
        return text
    if not isinstance(values, dict):
        return text
    lines = []
    for name, value in values.items():
        said = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        lines.append(f"{name}:\n{said.rstrip()}" if "\n" in said else f"{name}: {said}")
    return "\n".join(lines)


# -- two trials -----------------------------------------------------------------------------------------------------------


def compare(first: TrialShown, second: TrialShown) -> Compared:
    """Hold two trials of one task, or of two, against each other: criterion by criterion, then step by step."""
    left, right = {j.id: j for j in first.criteria}, {j.id: j for j in second.criteria}
    rows = []
    for name in [*left, *(n for n in right if n not in left)]:
        a, b = left.get(name), right.get(name)
        either = a or b
        assert either is not None
        rows.append(
            Row(name, either.text, either.priority, a.met if a else None, b.met if b else None, a.why if a else "", b.why if b else "")
        )  # fmt: skip
    return Compared(first, second, tuple(rows), _parting(first.steps, second.steps))


def _parting(first: Sequence[Step], second: Sequence[Step]) -> int:
    if not first or not second:
        return 0
    for place, (a, b) in enumerate(zip(first, second, strict=False)):
        if msgspec.structs.replace(a, number=0) != msgspec.structs.replace(b, number=0):
            return place + 1
    return min(len(first), len(second)) + 1
