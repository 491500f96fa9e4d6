"""Acting as a person: open to them and to the operator."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends

from orchestrator.web import acting
from orchestrator.web.api import Routes, taking
from orchestrator.web.parts import Name, PartsOf, SeatOf
from orchestrator.web.routes.seats import AS

routes = Routes("as a person")
MOST_BYTES = 40_000_000
ActBody = Annotated[acting.ActAsked, Depends(taking(acting.ActAsked, MOST_BYTES))]
RoleBody = Annotated[acting.RoleAsked, Depends(taking(acting.RoleAsked))]


@routes.get(f"{AS}/tools", tuple[acting.ToolShown, ...])
def list_tools(seat: SeatOf) -> tuple[acting.ToolShown, ...]:
    """What the person can do, with the schema of each act's arguments."""
    return acting.tools(seat)


@routes.post(f"{AS}/acts", acting.ActTaken, acting.ActAsked, 202)
def do_act(parts: PartsOf, seat: SeatOf, body: ActBody) -> acting.ActTaken:
    """Act as the person, with their rights: refused at once with the reason, or let into the office between two commits."""
    return acting.act(seat, parts.town, parts.house.blobs, body)


@routes.get(f"{AS}/acts/{{key}}", acting.ActTaken)
def get_act(seat: SeatOf, key: Name) -> acting.ActTaken:
    """What became of an act, by its key."""
    return acting.outcome(seat, key)


@routes.put(f"{AS}/role", acting.ActTaken, acting.RoleAsked)
def set_role(parts: PartsOf, seat: SeatOf, body: RoleBody) -> acting.ActTaken:
    """Play the person's role oneself from now on, or give it back to the model."""
    return acting.role(seat, parts.town, body)
