"""What the commands `worlds import`, `worlds run` and `worlds report` call: one thin function each."""

from __future__ import annotations

import importlib.resources
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from bench.own import load_class
from bench.worlds.agents import agent_of
from bench.worlds.folder import read_worlds, write_world
from bench.worlds.importing import import_repository
from bench.worlds.model import FaultLevel, FaultPlan, Rendering, Side, SimulatorMode, Trial, World
from bench.worlds.own import METHOD, OwnAgent
from bench.worlds.report import read_cards, report, write_report
from bench.worlds.runs import AgentUnderTest, Panel, Simulating, jobs_of, read_trials, run_jobs
from simulator.errors import UsageError
from simulator.ports import Model

Say = Callable[[str], None]


class RoleModel(msgspec.Struct, frozen=True):
    """A role's model with what names it: model, effort, and the endpoint's name or host (never a key)."""

    model: Model
    name: str
    effort: str = ""
    endpoint: str = ""

    def side(self, role: str) -> Side:
        """Return how results name it."""
        return Side(role, self.name, self.effort, self.endpoint)


class ImportSummary(msgspec.Struct, frozen=True):
    """What an import made. `refused` and `notes` are sentences, with file and line where they have one."""

    environments: int
    tasks: int
    refused: tuple[str, ...]
    notes: tuple[str, ...]
    idle_scenarios: tuple[str, ...]


def silent(text: str) -> None:
    """Say nothing."""


def built_in() -> Path:
    """Return the folder of the environments that come with the project."""
    return Path(str(importlib.resources.files("fixtures").joinpath("worlds")))


def import_worlds(place: Path, out: Path, rendering: Rendering = "clean", *, progress: Say = silent) -> ImportSummary:
    """Import a checkout of the public repository into one folder an environment, below `out`.

    Raises:
        UsageError: the files are not there, or `rendering` is neither `clean` nor `verbatim`.
        PackageError: no environment could be used.
    """
    if rendering not in ("clean", "verbatim"):
        raise UsageError(f"--rendering is clean or verbatim, not {rendering!r}.")
    found = import_repository(place, rendering)
    for world in found.worlds:
        write_world(out / world.environment.name, world)
        progress(f"{world.environment.name}: {world.environment.title or 'no task'}, {len(world.tasks)} tasks")
    notes = tuple(f"{world.environment.name}: {note}" for world in found.worlds for note in world.environment.notes)
    return ImportSummary(
        len(found.worlds), sum(len(world.tasks) for world in found.worlds),
        tuple(str(fault) for fault in found.refused), notes, found.idle_scenarios,
    )  # fmt: skip


def load_worlds(places: Sequence[Path]) -> list[World]:
    """Return the worlds at or below the places; the built-in ones where none is named. Raises `PackageError`."""
    return read_worlds(places or [built_in()])


def run_worlds(
    places: Sequence[Path],
    results: Path,
    *,
    agents: Sequence[str] = ("model",),
    mode: SimulatorMode | None = None,
    agent_models: Sequence[RoleModel] = (),
    simulator_models: Sequence[RoleModel] = (),
    judge: RoleModel | None = None,
    same_judge: bool = False,
    votes: int = 3,
    levels: Sequence[FaultLevel] = ("E0",),
    plan: FaultPlan | None = None,
    attempts: int = 1,
    tasks: Sequence[str] = (),
    with_plan: bool = False,
    concurrency: int = 1,
    search: Path | None = None,
    progress: Callable[[Trial], None] = lambda _trial: None,
) -> list[Trial]:
    """Run agents x tasks x fault levels x attempts x simulators; what `results` holds already is not made again.

    `agents` are `model`, `oracle`, `once`, `nop`, or `module:Class` of one's own, looked for in `search` (the working
    folder if None); `model` stands for each of `agent_models`. Without a `mode` it is
    `stateful` where simulator models are given, and `offline` where none is. No role's model is ever used for another.

    Raises:
        UsageError: a role lacks its model, a judge would judge what it simulated, a level or task does not exist.
        BudgetExhausted: the budget is used up; run again to go on.
        OfficeBusy: another process is at work in `results`.
    """
    worlds = load_worlds(places)
    chosen: SimulatorMode = mode or ("stateful" if simulator_models else "offline")
    if wrong := sorted(set(levels) - {"E0", "E1", "E2", "E3"}):
        raise UsageError(f"there is no fault level {wrong[0]!r}: E0, E1, E2, E3.")
    if chosen in ("stateful", "stateless") and not simulator_models:
        raise UsageError(f"the mode {chosen} needs a model for the role world.")
    panel = Panel(votes=votes) if judge is None else Panel(judge.side("model"), judge.model, votes, same_judge)
    jobs = jobs_of(
        worlds, _agents(agents, agent_models, search), _simulators(chosen, simulator_models), panel,
        levels=levels, attempts=attempts, plan=plan, with_plan=with_plan, tasks=tasks,
    )  # fmt: skip
    return run_jobs(jobs, results, concurrency=concurrency, progress=progress)


def _agents(names: Sequence[str], models: Sequence[RoleModel], search: Path | None) -> list[AgentUnderTest]:
    made: list[AgentUnderTest] = []
    for name in names:
        if name == "model":
            if not models:
                raise UsageError("the agent `model` needs a model for the role assistant.")
            made += [AgentUnderTest(one.side("model"), one.model) for one in models]
        elif ":" in name:
            own = load_class(name, search or Path.cwd(), METHOD)
            made.append(AgentUnderTest(Side(OwnAgent.name, name, version=own.version), own=own))
        else:
            agent_of(name, None, "")
            made.append(AgentUnderTest(Side(name)))
    return made


def _simulators(mode: SimulatorMode, models: Sequence[RoleModel]) -> list[Simulating]:
    if mode in ("offline", "examples"):
        return [Simulating(Side(mode), mode)]
    return [Simulating(one.side("model"), mode, one.model) for one in models]


def row(trial: Trial) -> Mapping[str, object]:
    """Return what `worlds run --json` says of a trial."""
    return {
        "task": trial.task, "environment": trial.environment, "agent": trial.agent.model or trial.agent.name,
        "simulator": trial.simulator.model or trial.simulator.name, "mode": trial.simulator_mode,
        "level": trial.fault_level, "attempt": trial.attempt, "outcome": trial.outcome, "passed": trial.passed,
        "steps": trial.steps, "faults": trial.faults, "labels": list(trial.labels), "note": trial.note,
    }  # fmt: skip


def report_worlds(results: Sequence[Path], out: Path, *, cards: Path | None = None, seed: int = 0) -> list[Path]:
    """Write the report over the trials of one or more folders of results; return the files.

    Raises `UsageError` where a folder is none, holds no trials, or `cards` cannot be read.
    """
    trials = [trial for folder in results for trial in read_trials(folder)]
    if not trials:
        raise UsageError("there is no trial to report: run `officetown worlds run` first.")
    return write_report(out, report(trials, read_cards(cards) if cards else None, seed))
