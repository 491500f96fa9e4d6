"""The command line of language environments: `officetown worlds ...` (DESIGN 12)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from orchestrator import worlds
from orchestrator.cli_parts import Json, house_of
from orchestrator.output import Out
from orchestrator.worlds import RunOptions

app = typer.Typer(
    no_args_is_help=True, help="Language environments: import, run, compare, qualify, synthesize, report."
)

Places = Annotated[
    list[Path] | None,
    typer.Argument(metavar="[DIR...]", help="Folders of environments; the built-in ones without any."),
]
Results = Annotated[Path, typer.Option("-o", "--output", help="Folder of results; what is there is not run again.")]
Agents = Annotated[
    list[str] | None, typer.Option("--agent", help="model, oracle, once, nop or module:Class; may be given again. model without it.")
]
Models = Annotated[
    list[str] | None, typer.Option("--model", help="A model at the assistant's endpoint; may be given again.")
]
Simulators = Annotated[
    list[str] | None, typer.Option("--simulator", help="A model at the world's endpoint; may be given again.")
]
Judge = Annotated[bool, typer.Option("--judge", help="Let the judge's model vote on what code cannot decide.")]
SameJudge = Annotated[bool, typer.Option("--same-judge", help="Allow a judge that is the simulator's own model.")]
Votes = Annotated[int, typer.Option(min=1, help="Votes of the judge, an odd number.")]
Faults = Annotated[str, typer.Option("--faults", help="Fault levels, such as E0,E1,E2,E3.")]
Attempts = Annotated[int, typer.Option(min=1, help="Attempts at each task.")]
Tasks = Annotated[list[str] | None, typer.Option("--task", help="Only this task; may be given again.")]
Concurrency = Annotated[int, typer.Option(min=1, max=1000, help="Runs at once.")]
Mode = Annotated[
    str,
    typer.Option(help="stateful, stateless, offline or examples; what the settings allow without it."),
]
Certificates = Annotated[
    Path | None, typer.Option(help="Folder of certificates: a simulator must have qualified there first.")
]
Threshold = Annotated[float, typer.Option(min=0.0, max=1.0, help="What a simulator must reach on each kind of probe.")]


@app.command("import")
def import_(
    place: Annotated[Path, typer.Argument(metavar="PATH", help="A checkout of the public repository.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder in which the environments are made.")],
    rendering: Annotated[
        str, typer.Option(help="clean, or verbatim: the prompts byte for byte as published.")
    ] = "clean",
    json: Json = False,
) -> None:
    """Import the public OccuBench environments and tasks as folders like ours."""
    worlds.import_(Out(json), place, output, rendering)


@app.command()
def run(
    context: typer.Context, output: Results, places: Places = None, agent: Agents = None, model: Models = None,
    simulator: Simulators = None, judge: Judge = False, same_judge: SameJudge = False, votes: Votes = 3,
    faults: Faults = "E0", attempts: Attempts = 1, task: Tasks = None, concurrency: Concurrency = 4, mode: Mode = "",
    json: Json = False,
) -> None:  # fmt: skip
    """Run agents x tasks x fault levels x attempts x simulators, resumable."""
    options = _options(agent, model, simulator, judge, same_judge, votes, faults, attempts, task, concurrency, mode)
    worlds.run(house_of(context), Out(json), places or [], output, options)


@app.command()
def matrix(
    context: typer.Context, output: Results, places: Places = None, agent: Agents = None, model: Models = None,
    simulator: Simulators = None, judge: Judge = False, same_judge: SameJudge = False, votes: Votes = 3,
    faults: Faults = "E0", attempts: Attempts = 1, task: Tasks = None, concurrency: Concurrency = 4, mode: Mode = "",
    certificates: Certificates = None, threshold: Threshold = 0.9,
    report: Annotated[Path | None, typer.Option(help="Folder of a whole report.")] = None, json: Json = False,
) -> None:  # fmt: skip
    """Run all agents under all simulators, and say how far the simulators agree on who is better."""
    options = _options(agent, model, simulator, judge, same_judge, votes, faults, attempts, task, concurrency, mode)
    worlds.matrix(house_of(context), Out(json), places or [], output, options, certificates, threshold, report)


@app.command()
def qualify(
    context: typer.Context,
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder of the certificates.")],
    simulator: Simulators = None,
    mode: Mode = "",
    threshold: Threshold = 0.9,
    repeats: Annotated[int, typer.Option(min=1, help="How often each probe is asked.")] = 1,
    json: Json = False,
) -> None:
    """Try simulators on diagnostics with known answers; each gets a certificate, and exit code 1 where one fails."""
    worlds.qualify(house_of(context), Out(json), tuple(simulator or ()), output, mode, threshold, repeats)


@app.command()
def synthesize(
    context: typer.Context,
    scenario: Annotated[list[str] | None, typer.Argument(metavar="[SCENARIO...]", help="Ids of the catalogue.")] = None,
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder of what is made.")] = Path("synthesized"),
    listed: Annotated[bool, typer.Option("--list", help="List the catalogue's scenarios and make nothing.")] = False,
    topics: Annotated[int, typer.Option(min=1, max=16, help="Sub-topics used of the sixteen.")] = 16,
    repairs: Annotated[int, typer.Option(min=0, help="Repairs of a candidate at most.")] = 2,
    seed: Annotated[int, typer.Option(help="Seed of everything drawn.")] = 0,
    concurrency: Concurrency = 4,
    same_judge: SameJudge = False,
    certificates: Certificates = None,
    json: Json = False,
) -> None:
    """Make tasks for scenarios of the catalogue: generated, run with and without their plan, repaired, filtered."""
    if listed:
        worlds.scenarios(Out(json))
        return
    worlds.synthesize(house_of(context), Out(json), tuple(scenario or ()), output, worlds.effort(topics, repairs), seed,
                      concurrency, same_judge, certificates)  # fmt: skip


@app.command()
def report(
    results: Annotated[list[Path], typer.Argument(metavar="RESULTS...")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder of the report.")] = Path("report"),
    models: Annotated[
        Path | None, typer.Option(help="A file that says of each model its family, generation, scale and date.")
    ] = None,
    pair: Annotated[
        tuple[str, str] | None, typer.Option(metavar="RUN RUN", help="Show two runs of one task side by side.")
    ] = None,
    json: Json = False,
) -> None:
    """Write tables and plots over results."""
    worlds.report(Out(json), results, output, models, pair)


def _options(
    agent: list[str] | None, model: list[str] | None, simulator: list[str] | None, judge: bool, same_judge: bool,
    votes: int, faults: str, attempts: int, task: list[str] | None, concurrency: int, mode: str,
) -> RunOptions:  # fmt: skip
    return RunOptions(
        tuple(agent or ()), tuple(model or ()), tuple(simulator or ()), judge, same_judge, votes, faults, attempts,
        tuple(task or ()), concurrency, mode,
    )  # fmt: skip
