"""What the command line's modules share."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Annotated

import typer

from orchestrator.compose import House
from orchestrator.settings import read_settings

Json = Annotated[bool, typer.Option("--json", help="End with one JSON object on the last line of stdout.")]


def house_of(context: typer.Context) -> House:
    """Return the house that the command works in; it is let go when the command ends."""
    make: Callable[[], House] | None = context.obj
    house = House(read_settings(os.environ)) if make is None else make()
    context.call_on_close(house.close)
    return house
