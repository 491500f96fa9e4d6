"""Offices, their floor at any moment, and their log: for the operator."""

from __future__ import annotations

from typing import Annotated

from fastapi import Header, Query, Request, Response
from fastapi.responses import StreamingResponse

from orchestrator.web.api import Routes
from orchestrator.web.live import stream
from orchestrator.web.parts import BookOf, Limit, Moment, Operator, PartsOf
from orchestrator.web.queries import events, offices, people, state
from orchestrator.web.queries.state import Desk, Floor

routes = Routes("offices")
Kinds = Annotated[
    str,
    Query(max_length=400, description="Kinds of events with commas, such as `message,work.reviewed`; all if empty."),
]
Id = Annotated[str, Query(max_length=300)]
Revision = Annotated[int, Query(ge=0, le=2**53, description="A revision.")]


@routes.get("/offices", tuple[offices.OfficeLine, ...])
def list_offices(parts: PartsOf, caller: Annotated[object, Operator]) -> tuple[offices.OfficeLine, ...]:
    """All offices, the oldest first."""
    return offices.offices(parts.shelf, parts.town.running())


@routes.get("/offices/{office}", offices.OfficeShown)
def get_office(book: BookOf) -> offices.OfficeShown:
    """One office: what it is and how far it has come."""
    return offices.office(book)


@routes.get("/offices/{office}/days", tuple[offices.DayLine, ...])
def list_days(book: BookOf) -> tuple[offices.DayLine, ...]:
    """The office's days with their revisions and density: what a slider is drawn from."""
    return offices.days(book)


@routes.get("/offices/{office}/state", Floor)
def get_state(office: Moment) -> Floor:
    """The floor at a moment: who does what, what is under way, what comes next."""
    return state.floor(office)


@routes.get("/offices/{office}/people", tuple[Desk, ...])
def list_people(office: Moment) -> tuple[Desk, ...]:
    """Everybody, staff and clients' contacts, with what they are at."""
    return people.people(office)


def _wanted(kinds: str, actor: str, activation: str, told: bool, payloads: bool) -> events.Wanted:
    chosen = tuple(part.strip() for part in kinds.split(",") if part.strip())
    return events.Wanted(chosen, actor, activation, told, payloads)


@routes.get("/offices/{office}/events", events.EventPage)
def list_events(
    book: BookOf, after: Revision | None = None, before: Revision = 0, limit: Limit = 100, kinds: Kinds = "",
    actor: Id = "", activation: Id = "", told: bool = False, payloads: bool = False,
) -> events.EventPage:  # fmt: skip
    """Events after a revision, or the last ones before one (0: up to now); at most 4,000 are looked through."""
    wanted = _wanted(kinds, actor, activation, told, payloads)
    return events.before(book, before, limit, wanted) if after is None else events.after(book, after, limit, wanted)


@routes.raw("/offices/{office}/events/live", {"text/event-stream": {"schema": {"type": "string"}}})
def follow_events(
    request: Request, parts: PartsOf, book: BookOf, after: Revision | None = None, kinds: Kinds = "", actor: Id = "",
    told: bool = False, last_event_id: Annotated[str, Header(max_length=40)] = "",
) -> Response:  # fmt: skip
    """Events as they are committed, as server-sent events whose ids are revisions.

    Begins after `Last-Event-ID`, else after `after`, else now. A `reset` says that too much has happened since: load the
    state anew. A `clock` is sent whenever somebody steers the office.
    """
    request.app.state.streams.room()
    head = book.timeline.head
    seen = last_event_id.strip()
    start = int(seen) if seen.isascii() and seen.isdigit() and len(seen) < 16 else head if after is None else after
    wanted = _wanted(kinds, actor, "", told, False)
    body = stream(request, parts, book, min(start, head), wanted)
    return StreamingResponse(body, media_type="text/event-stream", headers={"x-accel-buffering": "no"})
