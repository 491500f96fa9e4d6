"""The command line of the dashboard and the API: `officetown serve` and `officetown review` (DESIGN 13)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli_parts import Json, house_of
from orchestrator.output import Out

Host = Annotated[str, typer.Option(help="The address to serve at; beyond this machine a key is needed.")]
Port = Annotated[int, typer.Option(min=0, max=65_535, help="The port to serve at; 0 takes a free one.")]
Token = Annotated[str, typer.Option(envvar="OFFICETOWN_TOKEN", help="The key to ask for; one is made where it is needed.")]


def add(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    app.command("serve")(serve)
    app.command("review")(review)


def serve(
    context: typer.Context, host: Host = "127.0.0.1", port: Port = 8321, token: Token = "", json: Json = False
) -> None:
    """Serve the dashboard and the API; Ctrl-C stops them, and every office that runs there at a commit."""
    # The pages' libraries take a second to load, which no other command should pay.
    from orchestrator.web.serve import serve as serve_
    from orchestrator.web.ui.dress import dress

    house = house_of(context)
    serve_(house, Out(json), host, port, token, dress)
    if house.stop.signal:
        raise typer.Exit(0)


def review(
    context: typer.Context,
    snapshots: Annotated[list[Path], typer.Argument(metavar="SNAPSHOTS...", help="Snapshots, or folders of them.")],
    export: Annotated[
        Path | None, typer.Option(help="Write the reviews into this .json or .csv file instead of serving.")
    ] = None,
    host: Host = "127.0.0.1",
    port: Port = 8321,
    token: Token = "",
    json: Json = False,
) -> None:
    """Let experts comment on tasks and criteria in the browser, or write out what they said."""
    # The pages' libraries take a second to load, which no other command should pay.
    from orchestrator.web.ui import reviewing

    house = house_of(context)
    if export is not None:
        reviewing.export(house, Out(json), snapshots, export)
        return
    reviewing.review(house, Out(json), snapshots, host, port, token)
    if house.stop.signal:
        raise typer.Exit(0)
