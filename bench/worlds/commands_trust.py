"""What the commands `worlds matrix`, `qualify`, `synthesize` and `report --pair` call: one thin function each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import msgspec

from bench.worlds.api import RoleModel, Say, run_worlds, silent
from bench.worlds.catalogue import Scenario, find, load_catalogue, parse_catalogue
from bench.worlds.journal import Tape, Taped
from bench.worlds.model import Environment, FaultLevel, FaultPlan, SimulatorMode, Trial
from bench.worlds.qualify import (
    HARNESS,
    THRESHOLD,
    Certificate,
    load_diagnostics,
    probes_hash,
    qualify,
    require_qualified,
    write_certificate,
)
from bench.worlds.report import report, write_report
from bench.worlds.report_pairs import Run, side_by_side
from bench.worlds.report_tables import (
    Table,
    agreement_table,
    completion,
    ensembles,
    markdown,
    run_name,
    scores_of,
    simulators,
)
from bench.worlds.runs import AgentUnderTest, Panel, Simulating, read_trajectory, read_trials
from bench.worlds.step import Simulator, simulator_of
from bench.worlds.synthesis import synthesize
from bench.worlds.synthesis_measure import Effort, Sides
from bench.worlds.synthesis_record import Synthesis
from simulator.canonical import canonical, sha256
from simulator.errors import UsageError
from simulator.ports import Model


class MatrixFound(msgspec.Struct, frozen=True):
    """What a matrix came to: its trials, its tables, and the tables as text."""

    trials: tuple[Trial, ...]
    tables: tuple[Table, ...]
    text: str


def matrix_worlds(
    places: Sequence[Path],
    results: Path,
    *,
    simulator_models: Sequence[RoleModel],
    agents: Sequence[str] = ("model",),
    agent_models: Sequence[RoleModel] = (),
    mode: SimulatorMode = "stateful",
    judge: RoleModel | None = None,
    same_judge: bool = False,
    votes: int = 3,
    levels: Sequence[FaultLevel] = ("E0",),
    plan: FaultPlan | None = None,
    attempts: int = 1,
    tasks: Sequence[str] = (),
    concurrency: int = 1,
    certificates: Path | None = None,
    threshold: float = THRESHOLD,
    diagnostics: Path | None = None,
    out: Path | None = None,
    seed: int = 0,
    progress: Callable[[Trial], None] = lambda _trial: None,
) -> MatrixFound:
    """Run all agents under all simulators and say how far the simulators agree; write a whole report to `out` if given.

    With `certificates`, each simulator must have qualified there first. What `results` holds already is not run again.

    Raises:
        UsageError: fewer than two simulators, one that has not qualified, and as `run_worlds`.
        BudgetExhausted, OfficeBusy: as `run_worlds`.
    """
    if len({one.side("model") for one in simulator_models}) < 2:
        raise UsageError("A matrix needs two simulators at least: name two models, or two efforts of one.")
    if certificates is not None:
        asked = load_diagnostics(diagnostics)
        for one in simulator_models:
            require_qualified(certificates, one.side("model"), mode, asked, threshold)
    trials = run_worlds(
        places, results, agents=agents, mode=mode, agent_models=agent_models, simulator_models=simulator_models, judge=judge,
        same_judge=same_judge, votes=votes, levels=levels, plan=plan, attempts=attempts, tasks=tasks,
        concurrency=concurrency, progress=progress,
    )  # fmt: skip
    if out is not None:
        write_report(out, report(trials, None, seed))
    return matrix_of(trials, seed)


def matrix_of(trials: Sequence[Trial], seed: int = 0) -> MatrixFound:
    """Return the matrix of trials that were made already."""
    scores = scores_of(trials)
    clean = [one for one in scores if one.level == "E0"]
    made = (completion(scores), simulators(clean), agreement_table(clean, seed), ensembles(clean))
    tables = tuple(table for table in made if table.rows)
    return MatrixFound(tuple(trials), tables, "\n".join(markdown(table) for table in tables))


def qualify_worlds(
    simulator_models: Sequence[RoleModel],
    out: Path,
    *,
    issued: str,
    mode: SimulatorMode = "stateful",
    threshold: float = THRESHOLD,
    repeats: int = 1,
    diagnostics: Path | None = None,
    progress: Say = silent,
) -> list[Certificate]:
    """Put the diagnostic probes to each simulator and write its certificate into `out`, as JSON and Markdown.

    `issued` is today, an ISO date: answers are on a tape under `out/tapes`, and the same qualification of the same day goes
    on there; that of another day asks anew.

    Raises:
        UsageError: no simulator, or a mode without a model.
        ModelOutage, BudgetExhausted: the certificate in hand is not made; the same call goes on.
    """
    if not simulator_models or mode not in ("stateful", "stateless"):
        raise UsageError(
            "Name a model for the role world, in the mode stateful or stateless: code needs no certificate."
        )
    asked = load_diagnostics(diagnostics)
    found = []
    for one in simulator_models:
        side = one.side("model")
        name = "qualify-" + sha256(canonical((HARNESS, side, mode, probes_hash(asked), repeats, issued)))[:32]
        tape = Tape(out / "tapes" / f"{name}.jsonl", name)
        taped = Taped(one.model, tape)
        try:
            made = qualify(
                partial(_simulator, mode, taped),
                side,
                mode,
                issued,
                asked,
                threshold,
                repeats,
                partial(_named, progress, one.name),
            )
        finally:
            tape.close()
        write_certificate(out, made)
        progress(f"{one.name}: {'qualified' if made.qualified else 'not qualified'}")
        found.append(made)
    return found


def _simulator(mode: SimulatorMode, model: Model, environment: Environment, run: str) -> Simulator:
    return simulator_of(mode, environment, model, run, FaultPlan())


def _named(progress: Say, who: str, text: str) -> None:
    progress(f"{who}: {text}")


def list_scenarios(catalogue: Path | None = None) -> list[Scenario]:
    """Return the scenarios of the shipped catalogue, or of a file of that form. Raises `UsageError`."""
    if catalogue is None:
        return list(load_catalogue().values())
    try:
        return list(parse_catalogue(catalogue.read_text("utf-8")).values())
    except (OSError, UnicodeDecodeError) as fault:
        raise UsageError(f"{catalogue} cannot be read as a catalogue of scenarios.") from fault


def synthesize_worlds(
    scenarios: Sequence[str],
    out: Path,
    *,
    generator: RoleModel,
    agent: RoleModel,
    simulator: RoleModel,
    judge: RoleModel,
    same_judge: bool = False,
    votes: int = 3,
    mode: SimulatorMode = "stateful",
    effort: Effort | None = None,
    seed: int = 0,
    concurrency: int = 1,
    catalogue: Path | None = None,
    certificates: Path | None = None,
    threshold: float = THRESHOLD,
    progress: Say = silent,
) -> list[Synthesis]:
    """Make candidate tasks for scenarios of the catalogue, by id; each gets a folder of its own below `out`.

    With `certificates`, the simulator must have qualified there first.

    Raises:
        UnknownReference: there is no such scenario.
        UsageError: none is named, the simulator has not qualified, the effort makes no sense.
        WorkFailed: no sub-topics could be made for one; those before it are kept.
        ModelOutage, BudgetExhausted: the same call goes on.
    """
    known = {one.id: one for one in list_scenarios(catalogue)}
    chosen = [find(known, name) for name in scenarios]
    if not chosen:
        raise UsageError("Name at least one scenario: `officetown worlds synthesize --list` shows all.")
    if mode not in ("stateful", "stateless"):
        raise UsageError("Candidates are played by a model: the mode is stateful or stateless.")
    if certificates is not None:
        require_qualified(certificates, simulator.side("model"), mode, load_diagnostics(), threshold)
    sides = Sides(
        AgentUnderTest(agent.side("model"), agent.model),
        Simulating(simulator.side("model"), mode, simulator.model),
        Panel(judge.side("model"), judge.model, votes, same_judge),
    )
    made = []
    for one in chosen:
        progress(f"{one.id}: {one.title}")
        say = partial(_within, progress, one.id)
        made.append(
            synthesize(one, generator.model, generator.side("model"), sides, out, effort, seed, concurrency, say)
        )
    return made


def _within(progress: Say, scenario: str, who: str, text: str) -> None:
    progress(f"{scenario}/{who}: {text}")


def pair_worlds(results: Path, first: str, second: str) -> str:
    """Return two runs of one task side by side, as Markdown. Runs are named by a unique prefix, as `runs.csv` lists them.

    Raises:
        UsageError: a name is of no run or of several, or the runs are of two tasks.
    """
    trials = read_trials(results)
    runs = [_run(results, trials, name) for name in (first, second)]
    return side_by_side(runs[0], runs[1])


def _run(results: Path, trials: Sequence[Trial], name: str) -> Run:
    fitting = [one for one in trials if run_name(one) == name] or [
        one for one in trials if run_name(one).startswith(name)
    ]
    if len(fitting) != 1:
        some = ", ".join(run_name(one) for one in (fitting or trials)[:4])
        what = "several runs are" if fitting else "no run is"
        raise UsageError(f"{what} called {name!r} in {results}; there are {some or 'none'}.")
    kept = read_trajectory(results, fitting[0])
    return Run(kept.trial, kept.steps)
