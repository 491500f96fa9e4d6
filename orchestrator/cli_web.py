"""The command line of the dashboard and the API: `officetown serve` and `officetown review` (DESIGN 13)."""

from __future__ import annotations

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
