"""The command line: `officetown` (DESIGN 13). Each command is a thin layer over a function that a test can call."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from orchestrator import commands, looking, replaying, tasks
from orchestrator.compose import House
from orchestrator.output import Out
from orchestrator.settings import read_settings
from simulator.errors import OfficeTownError

app = typer.Typer(
    no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None,
    help="Simulated organizations that produce real professional work, and from it scored tasks for agents.",
)  # fmt: skip

Json = Annotated[bool, typer.Option("--json", help="End with one JSON object on the last line.")]
Seed = Annotated[int, typer.Option("--seed", help="Seed of everything drawn.")]


def _house() -> House:
    return House(read_settings(os.environ))


@app.command()
def demo(days: Annotated[int, typer.Option(help="Simulated days.")] = 12, seed: Seed = 1, json: Json = False) -> None:
    """The whole story on embedded parts, small: build an office, run it, freeze tasks, score them."""
    tasks.demo(_house(), Out(json), days, seed)


@app.command()
def new(
    brief: Annotated[
        str, typer.Argument(help="One sentence: what kind of organization, how many people, which clients.")
    ],
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Folder of the package to make.")] = None,
    people: Annotated[int | None, typer.Option(help="Number of people, over the brief's.")] = None,
    clients: Annotated[int | None, typer.Option(help="Number of clients, over the brief's.")] = None,
    seed: Seed = 0,
    materials: Annotated[Path | None, typer.Option(help="Folder of your own seed documents.")] = None,
    json: Json = False,
) -> None:
    """Make an organization package from a brief."""
    commands.new(_house(), Out(json), brief, output, people, clients, seed, materials)


@app.command()
def check(
    package: Path,
    seal: Annotated[bool, typer.Option("--seal", help="Accept hand edits: check, then rewrite the manifest.")] = False,
    json: Json = False,
) -> None:
    """Check a package and explain every fault with file and line."""
    commands.check(Out(json), package, seal)


@app.command()
def run(
    reference: Annotated[str, typer.Argument(metavar="PACKAGE|OFFICE")],
    name: Annotated[str, typer.Option(help="Name of the new office.")] = "",
    days: Annotated[int, typer.Option(min=1, help="Calendar days from the office's first day, in total.")] = 5,
    seed: Seed = 0,
    speed: Annotated[str, typer.Option(help="max, or simulated seconds a real second, at most 120.")] = "max",
    follow: Annotated[bool, typer.Option("--follow", help="Show the office's day as readable lines.")] = False,
    budget: Annotated[float | None, typer.Option(help="Money the models may cost, in the office's currency.")] = None,
    concurrency: Annotated[int, typer.Option(min=1, help="People at work at once.")] = 6,
    workers: Annotated[int, typer.Option(min=1, help="Assistants at work at once.")] = 4,
    sandbox: Annotated[str, typer.Option(help="auto or bubblewrap.")] = "auto",
    json: Json = False,
) -> None:
    """Run a new office from a package, or go on with one."""
    options = commands.RunOptions(name, days, seed, speed, follow, budget, concurrency, workers, sandbox)
    commands.run(_house(), Out(json), reference, options)


@app.command()
def offices(
    action: Annotated[str, typer.Argument(help="list, or rm")] = "list",
    office: Annotated[str, typer.Argument()] = "",
    json: Json = False,
) -> None:
    """List the offices, or remove one: `offices rm OFFICE`."""
    looking.offices(_house(), Out(json), action, office)


@app.command()
def show(office: str, json: Json = False) -> None:
    """Show an office: its people, what is under way, what it has made."""
    looking.show(_house(), Out(json), office)


@app.command()
def log(
    office: str,
    hash_only: Annotated[bool, typer.Option("--hash", help="Print the SHA-256 of the canonical event log.")] = False,
    raw: Annotated[bool, typer.Option("--raw", help="Print the stored events, one JSON object a line.")] = False,
    json: Json = False,
) -> None:
    """Show an office's log as readable lines."""
    looking.log(_house(), Out(json), office, hash_only, raw)


@app.command()
def why(office: str, ref: str, json: Json = False) -> None:
    """Say how something came to be: the chain of events back to what started it."""
    looking.why(_house(), Out(json), office, ref)


@app.command("who-can")
def who_can(
    office: str,
    path: Annotated[
        str, typer.Argument(help="A file: id or path within its space, `@<version>` for an exact version.")
    ],
    on: Annotated[str, typer.Option(help="Date, or date and time, in the office's zone.")] = "",
    json: Json = False,
) -> None:
    """Say who could see a file on that day, and why."""
    looking.who_can(_house(), Out(json), office, path, on)


@app.command()
def files(
    office: str,
    person: Annotated[str, typer.Option("--as", help="As whom to look.")],
    on: Annotated[str, typer.Option(help="Date, or date and time.")] = "",
    output: Annotated[Path | None, typer.Option("-o", help="Copy the files into this folder.")] = None,
    json: Json = False,
) -> None:
    """List the files a person can see, as they see them."""
    looking.files(_house(), Out(json), office, person, on, output)


@app.command()
def fork(
    office: str,
    at: Annotated[str, typer.Option(help="Revision, or date, or date and time.")],
    without: Annotated[list[str] | None, typer.Option(help="reviews, rights or persistence; may be repeated.")] = None,
    name: Annotated[str, typer.Option()] = "",
    json: Json = False,
) -> None:
    """Fork an office at a past moment, with or without its ablations."""
    commands.fork(_house(), Out(json), office, at, without or [], name)


@app.command()
def pack(office: str, output: Annotated[Path, typer.Option("-o")], json: Json = False) -> None:
    """Pack an office into one file."""
    commands.pack(_house(), Out(json), office, output)


@app.command()
def unpack(file: Path, name: Annotated[str, typer.Option()] = "", json: Json = False) -> None:
    """Unpack an office from a file."""
    commands.unpack(_house(), Out(json), file, name)


@app.command()
def replay(office: str, json: Json = False) -> None:
    """Run an office again from its record, with no model call, and compare the hash."""
    replaying.replay(_house(), Out(json), office)


@app.command()
def freeze(
    office: str,
    output: Annotated[Path, typer.Option("-o", help="Folder of the snapshots.")],
    delegation: Annotated[str, typer.Option(help="ID, or ID.ROUND.")] = "",
    select: Annotated[int, typer.Option(help="Choose this many diverse delegations.")] = 0,
    json: Json = False,
) -> None:
    """Freeze delegations into scored tasks."""
    tasks.freeze(_house(), Out(json), office, output, delegation, select)


@app.command()
def audit(snapshots: list[Path], json: Json = False) -> None:
    """Look for leaks and tampering in snapshots."""
    tasks.audit(_house(), Out(json), snapshots)


@app.command("eval")
def evaluate(
    snapshots: Path,
    agent: Annotated[str, typer.Option(help="oracle, nop, builtin, cmd:... or module:Class")] = "oracle",
    model: Annotated[str, typer.Option(help="Model of the builtin agent; offline without one.")] = "offline",
    turns: Annotated[str, typer.Option(help="Turn budgets, such as 8,16,24.")] = "48",
    attempts: Annotated[int, typer.Option(min=1)] = 1,
    output: Annotated[
        Path | None, typer.Option("-o", help="Folder of the results; trials there are not run again.")
    ] = None,
    json: Json = False,
) -> None:
    """Run an agent on snapshots and score what it leaves."""
    tasks.evaluate(_house(), Out(json), snapshots, agent, model, turns, attempts, output)


@app.command()
def report(results: Path, json: Json = False) -> None:
    """Show results as a table."""
    tasks.report(Out(json), results)


@app.command()
def doctor(
    gc: Annotated[bool, typer.Option("--gc", help="Remove file bytes that nothing refers to any more.")] = False,
    json: Json = False,
) -> None:
    """Say what works here and what does not, and what to do."""
    commands.doctor(_house(), Out(json), gc)


def main() -> None:
    """Entry point: errors raised on purpose become one clear message and their exit code."""
    try:
        app()
    except OfficeTownError as fault:
        sys.stderr.write(f"officetown: {fault}\n")
        sys.exit(fault.exit_code)
    except KeyboardInterrupt:
        sys.stderr.write("officetown: stopped.\n")
        sys.exit(130)


if __name__ == "__main__":
    main()
