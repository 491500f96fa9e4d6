"""`officetown worlds`: language environments, imported, run, compared and made (DESIGN 12)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from bench.worlds import api
from bench.worlds import commands_trust as trust
from bench.worlds.api import RoleModel
from bench.worlds.model import FaultLevel, SimulatorMode, Trial
from bench.worlds.synthesis_measure import Effort
from orchestrator.compose import House
from orchestrator.output import Out
from simulator.conversation import Role
from simulator.errors import InfrastructureError, UsageError, WorkFailed

LEVELS: tuple[FaultLevel, ...] = ("E0", "E1", "E2", "E3")
MODES: tuple[SimulatorMode, ...] = ("stateful", "stateless", "offline", "examples")


class RunOptions(msgspec.Struct, frozen=True):
    """What `worlds run` and `worlds matrix` share. Models are names at the endpoint of their role; none means the one set up."""

    agents: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    simulators: tuple[str, ...] = ()
    judge: bool = False
    same_judge: bool = False
    votes: int = 3
    levels: str = "E0"
    attempts: int = 1
    tasks: tuple[str, ...] = ()
    concurrency: int = 4
    mode: str = ""


def import_(out: Out, place: Path, folder: Path, rendering: str) -> None:
    """Import the public repository's environments and tasks; say what was refused and what was noticed."""
    found = api.import_worlds(place, folder, rendering, progress=out.say)  # type: ignore[arg-type]
    for line in (*found.refused, *found.notes):
        out.say(f"  {line}")
    out.say(f"{found.environments} environments with {found.tasks} tasks are in {folder}.")
    out.result({"environments": found.environments, "tasks": found.tasks, "refused": list(found.refused),
                "notes": list(found.notes), "idle_scenarios": list(found.idle_scenarios)})  # fmt: skip


def run(house: House, out: Out, places: Sequence[Path], results: Path, options: RunOptions) -> list[Trial]:
    """Run agents in environments; what is there already is not run again."""
    agents, simulators = options.agents or ("model",), options.simulators
    stands_alone = options.mode in ("offline", "examples") or (not options.mode and not _set_up(house, "world"))
    trials = api.run_worlds(
        places, results, agents=agents, mode=_mode(options.mode), agent_models=_agents(house, out, agents, options.models),
        simulator_models=() if stands_alone else _models(house, out, "world", simulators),
        judge=_judge(house, out, options), same_judge=options.same_judge, votes=options.votes,
        levels=_levels(options.levels), attempts=options.attempts, tasks=options.tasks, concurrency=options.concurrency,
        progress=lambda trial: _tell(out, trial),
    )  # fmt: skip
    out.say(f"Results are in {results}. Look at them with: officetown worlds report {results} -o REPORT")
    out.result({"trials": [api.row(trial) for trial in trials]})
    _infrastructure(trials)
    return trials


def matrix(
    house: House, out: Out, places: Sequence[Path], results: Path, options: RunOptions, certificates: Path | None,
    threshold: float, folder: Path | None,
) -> None:  # fmt: skip
    """Run all agents under all simulators and say how far the simulators agree."""
    agents = options.agents or ("model",)
    found = trust.matrix_worlds(
        places, results, simulator_models=_models(house, out, "world", options.simulators), agents=agents,
        agent_models=_agents(house, out, agents, options.models), mode=_mode(options.mode) or "stateful",
        judge=_judge(house, out, options), same_judge=options.same_judge, votes=options.votes,
        levels=_levels(options.levels), attempts=options.attempts, tasks=options.tasks, concurrency=options.concurrency,
        certificates=certificates, threshold=threshold, out=folder, progress=lambda trial: _tell(out, trial),
    )  # fmt: skip
    out.say(found.text)
    out.result({"trials": [api.row(trial) for trial in found.trials]})
    _infrastructure(found.trials)


def qualify(
    house: House, out: Out, simulators: tuple[str, ...], folder: Path, mode: str, threshold: float, repeats: int
) -> None:
    """Try simulators on diagnostics with known answers and write each a certificate; exit code 1 where one fails."""
    certificates = trust.qualify_worlds(
        _models(house, out, "world", simulators), folder, issued=time.strftime("%Y-%m-%d"), mode=_mode(mode) or "stateful",
        threshold=threshold, repeats=repeats, progress=out.say,
    )  # fmt: skip
    out.result({"certificates": [msgspec.to_builtins(c) | {"qualified": c.qualified} for c in certificates]})
    failed = [c for c in certificates if not c.qualified]
    if failed:
        raise WorkFailed(
            f"{len(failed)} of {len(certificates)} simulators did not qualify; their certificates say why."
        )


def scenarios(out: Out) -> None:
    """List the catalogue's scenarios."""
    listed = trust.list_scenarios()
    out.table("", ["id", "industry", "domain", "title"], [[s.id, s.industry, s.domain, s.title] for s in listed])
    out.result({"scenarios": [msgspec.to_builtins(s) for s in listed]})


def synthesize(
    house: House, out: Out, names: tuple[str, ...], folder: Path, effort: Effort, seed: int, concurrency: int,
    same_judge: bool, certificates: Path | None,
) -> None:  # fmt: skip
    """Make candidate tasks for scenarios of the catalogue, measure, repair and filter them; say why each went."""
    made = trust.synthesize_worlds(
        names, folder, generator=_models(house, out, "generator", ())[0], agent=_models(house, out, "assistant", ())[0],
        simulator=_models(house, out, "world", ())[0], judge=_models(house, out, "judge", ())[0], same_judge=same_judge,
        effort=effort, seed=seed, concurrency=concurrency, certificates=certificates, progress=out.say,
    )  # fmt: skip
    out.result({"scenarios": [msgspec.to_builtins(one) for one in made]})
    unfinished = [one for one in made if not one.complete]
    if unfinished:
        raise InfrastructureError(
            f"{len(unfinished)} scenarios could not be finished; the same command goes on with them."
        )


def effort(topics: int, repairs: int) -> Effort:
    """Return how much a synthesis does."""
    return Effort(topics=topics, repairs=repairs)


def report(out: Out, results: Sequence[Path], folder: Path, models: Path | None, pair: tuple[str, str] | None) -> None:
    """Write tables and plots over results, or show two runs of one task side by side."""
    if pair is not None:
        if len(results) != 1:
            raise UsageError("--pair compares two runs of one folder of results: name just that.")
        out.say(trust.pair_worlds(results[0], *pair))
        out.result({"files": []})
        return
    files = api.report_worlds(results, folder, cards=models)
    for path in files:
        out.say(str(path))
    out.result({"files": [str(path) for path in files]})


def _tell(out: Out, trial: Trial) -> None:
    note = f" ({trial.note})" if trial.note else ""
    labels = f"; {', '.join(trial.labels)}" if trial.labels else ""
    out.say(
        f"{trial.task}  {trial.agent.model or trial.agent.name}  {trial.fault_level}  attempt {trial.attempt}: "
        f"{trial.outcome} in {trial.steps} calls, {trial.faults} faulted{labels}{note}"
    )


def _infrastructure(trials: Sequence[Trial]) -> None:
    """An infrastructure's fault is never an agent's failure: it ends the command with exit code 4, to be run again."""
    broken = [t for t in trials if t.outcome == "infra_error"]
    if broken:
        raise InfrastructureError(
            f"{len(broken)} of {len(trials)} runs met a fault of the infrastructure ({broken[0].note}); the same command "
            "goes on with them."
        )


def _set_up(house: House, role: Role) -> bool:
    return not house.settings.of(role).offline


def _models(house: House, out: Out, role: Role, names: tuple[str, ...]) -> tuple[RoleModel, ...]:
    return tuple(RoleModel(*house.named_model(role, name, out.say)) for name in (names or ("",)))


def _agents(house: House, out: Out, agents: tuple[str, ...], names: tuple[str, ...]) -> tuple[RoleModel, ...]:
    return _models(house, out, "assistant", names) if "model" in agents else ()


def _judge(house: House, out: Out, options: RunOptions) -> RoleModel | None:
    return _models(house, out, "judge", ())[0] if options.judge else None


def _levels(text: str) -> tuple[FaultLevel, ...]:
    named = tuple(part.strip() for part in text.split(",") if part.strip())
    wrong = [name for name in named if name not in LEVELS]
    if wrong or not named:
        raise UsageError(f"--faults {text}: write one or more of {', '.join(LEVELS)}, with commas.")
    return tuple(level for level in LEVELS if level in named)


def _mode(text: str) -> SimulatorMode | None:
    if text and text not in MODES:
        raise UsageError(f"--mode {text}: use {', '.join(MODES[:-1])} or {MODES[-1]}.")
    return next((mode for mode in MODES if mode == text), None)
