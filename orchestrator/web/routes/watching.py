"""Costs, numbers, health, why: for the operator."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from fastapi import Query, Response

from orchestrator.tracing import trace
from orchestrator.web.api import Routes
from orchestrator.web.delivering import disposition
from orchestrator.web.parts import BookOf, Moment, PartsOf
from orchestrator.web.queries import costs, health, numbers

routes = Routes("watching")
CSV: dict[str, Any] = {"text/csv": {"schema": {"type": "string"}}}


class Cause(msgspec.Struct, frozen=True):
    """One event of a chain of causes, the latest first."""

    revision: int
    when: str
    text: str


@routes.get("/offices/{office}/costs", costs.CostsShown)
def get_costs(parts: PartsOf, book: BookOf, office: Moment) -> costs.CostsShown:
    """What the office's model calls have used, by role, person, task and day, and how long models took to answer."""
    return parts.ledger.costs(book, office)


@routes.get("/offices/{office}/numbers", numbers.Numbers)
def get_numbers(parts: PartsOf, book: BookOf, office: Moment) -> numbers.Numbers:
    """Counts over time, review round trips, rework, time to accept, cost and latency by person and day."""
    return numbers.numbers(book, office, parts.ledger.costs(book, office))


@routes.raw("/offices/{office}/numbers.csv", CSV)
def get_numbers_csv(
    parts: PartsOf, book: BookOf, office: Moment, table: Literal["days", "people"] = "days"
) -> Response:  # fmt: skip
    """The numbers as a table to download: by day, or by person."""
    found = numbers.numbers(book, office, parts.ledger.costs(book, office))
    data = numbers.as_csv(found.days if table == "days" else found.people)
    name = f"{book.row.name} {table}.csv"
    return Response(data, media_type="text/csv", headers={"content-disposition": disposition(name)})


@routes.get("/offices/{office}/health", health.Health)
def get_health(parts: PartsOf, book: BookOf) -> health.Health:
    """How everything the office needs is doing, who waits for what, and why nothing is happening if nothing is."""
    return health.health(parts.house, parts.town, book)


@routes.get("/offices/{office}/why", tuple[Cause, ...])
def get_why(
    book: BookOf,
    ref: Annotated[str, Query(min_length=1, max_length=600, description="An id, a revision, or PATH@VERSION.")],
) -> tuple[Cause, ...]:
    """How something came to be: the chain of events back to what started it."""
    return tuple(Cause(step.revision, step.when, step.text) for step in trace(book.reader, ref))
