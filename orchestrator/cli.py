"""The command line: `officetown` (DESIGN 13). Each command is a thin layer over a function that a test can call."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from orchestrator import (
    cli_web,
    cli_worlds,
    commands,
    costs,
    demo,
    estimating,
    gatewaying,
    looking,
    replaying,
    running,
    tasks,
)
from orchestrator import doctor as diagnosis
from orchestrator.cli_parts import Json, house_of
from orchestrator.compose import House
from orchestrator.output import Out
from orchestrator.stack import bringing
from orchestrator.stack.stack import from_environment
from simulator.errors import OfficeTownError

app = typer.Typer(
    no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None,
    help="Simulated organizations that produce real professional work, and from it scored tasks for agents.",
)  # fmt: skip

OfficeName = Annotated[str, typer.Argument(metavar="OFFICE", help="Its id, the beginning of its id, or its name.")]
NoCheck = Annotated[bool, typer.Option("--no-check", help="Do not ask the model endpoints one tiny question first.")]
app.add_typer(cli_worlds.app, name="worlds")
cli_web.add(app)
Moment = Annotated[str, typer.Option("--on", help="A revision, YYYY-MM-DD, or YYYY-MM-DD HH:MM; now without it.")]


@app.command("demo")
def demo_(
    context: typer.Context,
    days: Annotated[int, typer.Option(min=5, max=400, help="Simulated days.")] = 12,
    seed: Annotated[int, typer.Option(help="Seed of everything drawn.")] = 1,
    json: Json = False,
) -> None:
    """The whole story on embedded parts, small: an office works, tasks are frozen and scored."""
    house = house_of(context)
    house.unconnected()
    demo.demo(house, Out(json), days, seed)
    if house.stop.signal:
        raise typer.Exit(house.stop.exit_code)


@app.command()
def new(
    context: typer.Context,
    brief: Annotated[
        str, typer.Argument(help="One sentence: what kind of organization, how many people, which clients.")
    ],
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Folder of the package to make.")] = None,
    people: Annotated[int | None, typer.Option(help="Number of people, over the brief's.")] = None,
    clients: Annotated[int | None, typer.Option(help="Number of clients, over the brief's.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of everything drawn.")] = 0,
    materials: Annotated[Path | None, typer.Option(help="Folder of your own seed documents.")] = None,
    no_check: NoCheck = False,
    json: Json = False,
) -> None:
    """Make an organization package from a brief."""
    commands.new(house_of(context), Out(json), brief, output, people, clients, seed, materials, not no_check)


@app.command()
def check(
    package: Annotated[Path, typer.Argument(metavar="PACKAGE")],
    seal: Annotated[bool, typer.Option("--seal", help="Accept hand edits: check, then rewrite the manifest.")] = False,
    json: Json = False,
) -> None:
    """Check a package and explain every fault with file and line."""
    commands.check(Out(json), package, seal)


@app.command()
def run(
    context: typer.Context,
    reference: Annotated[str, typer.Argument(metavar="PACKAGE|OFFICE")],
    name: Annotated[str, typer.Option(help="Name of the new office; the organization's without it.")] = "",
    days: Annotated[
        int, typer.Option(min=1, max=36_525, help="Calendar days from the office's first day, in total.")
    ] = 5,
    seed: Annotated[int | None, typer.Option(help="Seed of the new office; 0 without it.")] = None,
    speed: Annotated[str, typer.Option(help="max, or simulated seconds a real second, at most 120.")] = "",
    follow: Annotated[bool, typer.Option("--follow", help="Show the office's day as readable lines.")] = False,
    budget: Annotated[str, typer.Option(help="Money the models may cost in total, in the office's currency.")] = "",
    concurrency: Annotated[int, typer.Option(min=1, max=1000, help="People at work at once.")] = 6,
    workers: Annotated[int, typer.Option(min=1, max=1000, help="Assistants at work at once.")] = 4,
    sandbox: Annotated[str, typer.Option(help="auto, bubblewrap or docker.")] = "auto",
    assistant: Annotated[str, typer.Option(help="builtin.")] = "builtin",
    carriers: Annotated[
        str, typer.Option(help="Servers that show it: auto (those that are set up), embedded, or none.")
    ] = "auto",
    play: Annotated[list[str] | None, typer.Option(help="A person whose role you play; may be given again.")] = None,
    no_check: NoCheck = False,
    json: Json = False,
) -> None:
    """Run a new office from a package, or go on with one.

    Ctrl-C and SIGTERM stop at a commit and say how to go on; the exit code is then 130 or 143.
    """
    options = running.RunOptions(
        name,
        days,
        seed,
        speed,
        follow,
        budget,
        concurrency,
        workers,
        sandbox,
        assistant,
        not no_check,
        carriers,
        tuple(play or ()),
    )
    house = house_of(context)
    running.run(house, Out(json), reference, options)
    if house.stop.signal:
        raise typer.Exit(house.stop.exit_code)


@app.command()
def offices(
    context: typer.Context,
    action: Annotated[str, typer.Argument(help="list, or rm.")] = "list",
    office: Annotated[str, typer.Argument(help="The office to remove.")] = "",
    json: Json = False,
) -> None:
    """List the offices, or remove one: `offices rm OFFICE`."""
    looking.offices(house_of(context), Out(json), action, office)


@app.command()
def accounts(context: typer.Context, office: OfficeName, json: Json = False) -> None:
    """List people's names, addresses and passwords at the servers that show the office."""
    looking.accounts(house_of(context), Out(json), office)


@app.command()
def show(context: typer.Context, office: OfficeName, json: Json = False) -> None:
    """Show an office: its people, what is under way, what it has made."""
    looking.show(house_of(context), Out(json), office)


@app.command()
def log(
    context: typer.Context,
    office: OfficeName,
    hash_only: Annotated[bool, typer.Option("--hash", help="Print the SHA-256 of the canonical event log.")] = False,
    raw: Annotated[bool, typer.Option("--raw", help="Print the stored events, one JSON object a line.")] = False,
    json: Json = False,
) -> None:
    """Show an office's log as readable lines."""
    looking.log(house_of(context), Out(json), office, hash_only, raw)


@app.command()
def why(
    context: typer.Context,
    office: OfficeName,
    ref: Annotated[str, typer.Argument(metavar="REF", help="An id, a revision, or a file as PATH or PATH@VERSION.")],
    json: Json = False,
) -> None:
    """Say how something came to be: the chain of events back to what started it."""
    looking.why(house_of(context), Out(json), office, ref)


@app.command("who-can")
def who_can(
    context: typer.Context,
    office: OfficeName,
    path: Annotated[
        str,
        typer.Argument(metavar="PATH", help="A file: id or path within its space, `@VERSION` for an exact version."),
    ],
    on: Moment = "",
    json: Json = False,
) -> None:
    """Say who could see a file on that day, and why."""
    looking.who_can(house_of(context), Out(json), office, path, on)


@app.command()
def files(
    context: typer.Context,
    office: OfficeName,
    person: Annotated[str, typer.Option("--as", help="The person as whom to look.")],
    on: Moment = "",
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Copy the files into this folder.")] = None,
    json: Json = False,
) -> None:
    """List the files a person can see, as they see them."""
    looking.files(house_of(context), Out(json), office, person, on, output)


@app.command()
def fork(
    context: typer.Context,
    office: OfficeName,
    at: Annotated[str, typer.Option(help="A revision, YYYY-MM-DD, or YYYY-MM-DD HH:MM.")],
    without: Annotated[list[str] | None, typer.Option(help="reviews, rights or persistence; may be repeated.")] = None,
    change: Annotated[
        str, typer.Option(help="PATH=FILE: from the fork on, the office's file PATH has the bytes of FILE.")
    ] = "",
    name: Annotated[str, typer.Option(help="Name of the fork.")] = "",
    json: Json = False,
) -> None:
    """Fork an office at a past moment, whole, or without one of its parts."""
    commands.fork(house_of(context), Out(json), office, at, without or [], name, change)


@app.command()
def pack(
    context: typer.Context,
    office: OfficeName,
    output: Annotated[Path, typer.Option("-o", "--output", help="The file to write.")],
    json: Json = False,
) -> None:
    """Pack an office into one file."""
    commands.pack(house_of(context), Out(json), office, output)


@app.command()
def unpack(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE")],
    name: Annotated[str, typer.Option(help="Name of the office; the packed one's without it.")] = "",
    json: Json = False,
) -> None:
    """Unpack an office from a file."""
    commands.unpack(house_of(context), Out(json), file, name)


@app.command()
def replay(context: typer.Context, office: OfficeName, json: Json = False) -> None:
    """Run an office again from its record, with no model call, and compare the hash."""
    replaying.replay(house_of(context), Out(json), office)


@app.command()
def freeze(
    context: typer.Context,
    office: OfficeName,
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder in which the snapshots are made.")],
    delegation: Annotated[str, typer.Option(help="One delegation, as ID or ID.ROUND.")] = "",
    select: Annotated[
        int, typer.Option(min=0, help="Choose so many diverse rounds that pass audit and calibration.")
    ] = 0,
    json: Json = False,
) -> None:
    """Freeze delegated work into scored tasks."""
    tasks.freeze(house_of(context), Out(json), office, output, delegation, select)


@app.command()
def audit(
    context: typer.Context,
    snapshots: Annotated[list[Path], typer.Argument(metavar="SNAPSHOT...")],
    json: Json = False,
) -> None:
    """Look for leaks and tampering in snapshots, or folders of them."""
    tasks.audit(house_of(context), Out(json), snapshots)


@app.command("eval")
def eval_(
    context: typer.Context,
    snapshots: Annotated[Path, typer.Argument(metavar="SNAPSHOTS", help="A snapshot, or a folder of them.")],
    agent: Annotated[str, typer.Option(help="oracle, nop, builtin, cmd:COMMAND or module:CLASS.")],
    model: Annotated[str, typer.Option(help="Model of the builtin agent; the configured one without it.")] = "",
    turns: Annotated[str, typer.Option(help="Turn budgets judged from one run, such as 8,16,24; 48 without it.")] = "",
    attempts: Annotated[int, typer.Option(min=1, help="Attempts at each snapshot.")] = 1,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Folder of results; what is there is not run again.")
    ] = None,
    no_check: NoCheck = False,
    json: Json = False,
) -> None:
    """Let an agent work on snapshots and score what it leaves."""
    tasks.evaluate(house_of(context), Out(json), snapshots, agent, model, turns, attempts, output, not no_check)


@app.command()
def report(results: Annotated[Path, typer.Argument(metavar="RESULTS")], json: Json = False) -> None:
    """Show the results in a folder as a table."""
    tasks.report(Out(json), results)


@app.command("costs")
def costs_(context: typer.Context, office: OfficeName, json: Json = False) -> None:
    """Show what an office's model calls have used, by role, person, task and day."""
    costs.costs(house_of(context), Out(json), office)


@app.command()
def estimate(
    context: typer.Context,
    package: Annotated[str, typer.Argument(metavar="PACKAGE")],
    days: Annotated[int, typer.Option(min=1, max=36_525, help="Calendar days from the office's first day.")],
    json: Json = False,
) -> None:
    """Say what so many days of a package would take in calls, tokens and money, and what that rests on."""
    estimating.estimate(house_of(context), Out(json), package, days)


@app.command()
def gateway(
    context: typer.Context,
    role: Annotated[str, typer.Option(help="Whose configured model answers, such as assistant.")],
    port: Annotated[int, typer.Option(min=0, max=65_535, help="The port to serve at; 0 takes a free one.")] = 0,
    host: Annotated[str, typer.Option(help="The address to serve at.")] = "127.0.0.1",
    turns: Annotated[
        int | None, typer.Option(min=0, help="Most model calls of a session; any number without it.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Folder of the trajectory; one in the home without it.")
    ] = None,
    name: Annotated[str, typer.Option(help="The agent's name, as the trajectory tells it.")] = "agent",
    no_check: NoCheck = False,
    json: Json = False,
) -> None:
    """Serve a configured model to a foreign agent: turns counted, a trajectory recorded. Ctrl-C ends it."""
    options = gatewaying.GatewayOptions(role, host, port, turns, output, name, not no_check)
    gatewaying.gateway(house_of(context), Out(json), options)


@app.command()
def doctor(
    context: typer.Context,
    gc: Annotated[bool, typer.Option("--gc", help="Remove file bytes that nothing refers to any more.")] = False,
    live: Annotated[
        bool,
        typer.Option("--live", help="Post, upload, mail and schedule at the servers that are set up, and read back."),
    ] = False,
    json: Json = False,
) -> None:
    """Say what works here and what does not, and what to do; each model endpoint is asked three tiny questions."""
    diagnosis.doctor(house_of(context), Out(json), gc, live)


@app.command()
def up(json: Json = False) -> None:
    """Bring up the stack: Rocket.Chat, Mailpit, Baïkal, PostgreSQL and the office's own container (needs Docker)."""
    bringing.up(from_environment(), Out(json))


@app.command()
def down(
    volumes: Annotated[bool, typer.Option("--volumes", help="Also remove what the servers keep: it is gone.")] = False,
    json: Json = False,
) -> None:
    """Take the stack down; what its servers keep stays unless --volumes says otherwise."""
    bringing.down(from_environment(), Out(json), volumes)


def execute(arguments: Sequence[str] | None = None, make: Callable[[], House] | None = None) -> int:
    """Run one command and return its exit code: errors raised on purpose become one clear message.

    `make` builds the house that the command works in; the environment's without it.
    """
    try:
        app(list(sys.argv[1:] if arguments is None else arguments), "officetown", obj=make)
    except OfficeTownError as fault:
        sys.stderr.write(f"officetown: {fault}\n")
        return fault.exit_code
    except SystemExit as end:
        # Typer ends so whatever it does: 0, 2 for a wrong call, 130 for Ctrl-C, 1 for a reader of stdout that has left.
        return end.code if isinstance(end.code, int) else 0
    return 0


def main() -> None:
    """Entry point of the program `officetown`."""
    sys.exit(execute())


if __name__ == "__main__":
    main()
