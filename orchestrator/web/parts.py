"""What the web side is made of, and the parameters that its routes share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, cast

import msgspec
from fastapi import Depends, Path, Query, Request

from orchestrator.compose import House
from orchestrator.web.book import Book, Shelf
from orchestrator.web.caller import Caller, caller_of
from orchestrator.web.errors import NOT_THERE, Forbidden
from orchestrator.web.jobs import Jobs
from orchestrator.web.keys import Keys
from orchestrator.web.offices import Town
from orchestrator.web.queries.costs import Ledger
from orchestrator.web.queries.reading import Rendered
from simulator.access import Subject
from simulator.errors import UnknownReference
from simulator.office import Office
from simulator.view import View, view


class Parts(msgspec.Struct, frozen=True):
    """Everything that answers are made from. `closing` says whether the server is on its way out; `wall` is in seconds."""

    house: House
    shelf: Shelf
    town: Town
    keys: Keys
    jobs: Jobs
    ledger: Ledger
    rendered: Rendered
    closing: Callable[[], bool]
    wall: Callable[[], float]


class Seat(msgspec.Struct, frozen=True):
    """One person's place in an office at a moment: all that is answered from here has passed through their view."""

    book: Book
    office: Office
    person: str
    seen: View
    own: bool
    """Whether the person themselves asks, and not the operator."""


def parts_of(request: Request) -> Parts:
    """Return the parts of the application that was called."""
    return cast(Parts, request.app.state.parts)


def caller_in(request: Request) -> Caller:
    """Return who calls; the guard has found it out."""
    caller = caller_of(request.scope)
    if caller is None:
        raise Forbidden("This needs a key.")
    return caller


PartsOf = Annotated[Parts, Depends(parts_of)]
CallerIn = Annotated[Caller, Depends(caller_in)]
Name = Annotated[str, Path(max_length=300, description="Its id.")]
OfficeName = Annotated[
    str, Path(max_length=300, description="The office: its id, its name, or the beginning of its id.")
]
PersonName = Annotated[str, Path(max_length=300, description="The person's id.")]
At = Annotated[
    str, Query(max_length=40, description="A revision, `YYYY-MM-DD` (its end) or `YYYY-MM-DD HH:MM`; now if empty.")
]
Skip = Annotated[int, Query(ge=0, le=10_000_000, description="Items to leave out at the beginning.")]
Limit = Annotated[int, Query(ge=1, le=500, description="Items to return at most.")]
Text = Annotated[str, Query(max_length=200)]


def operator(caller: CallerIn) -> Caller:
    """Let the operator pass, and nobody else."""
    if not caller.operator:
        raise Forbidden("This is for the operator: a person's key opens what is below /offices/OFFICE/as/PERSON.")
    return caller


Operator = Depends(operator)


def book_of(parts: PartsOf, office: OfficeName, caller: Annotated[Caller, Operator]) -> Book:
    """Return the office that the address names, to the operator."""
    return parts.shelf.open(office)


def moment(book: Annotated[Book, Depends(book_of)], at: At = "") -> Office:
    """Return the office of the address as of the moment that was asked for."""
    return book.at(at)


def seat(parts: PartsOf, caller: CallerIn, office: OfficeName, person: PersonName, at: At = "") -> Seat:
    """Return a person's place. To others than the operator every other office and person is not there.

    A person sees the present alone: what was taken back from them is not theirs any more (RULE 27).
    """
    if not caller.operator:
        if (caller.office, caller.person) != (office, person):
            raise UnknownReference(NOT_THERE)
        if at.strip():
            raise Forbidden("The past is for the operator to look at; leave `at` out.")
        book = parts.shelf.exactly(office)
    else:
        book = parts.shelf.open(office)
    state = book.at(at)
    return seated(book, state, person, not caller.operator)


def seated(book: Book, state: Office, person: str, own: bool) -> Seat:
    """Return a person's place in an office at a moment. Raises UnknownReference."""
    if person not in state.people:
        raise UnknownReference(f"Nobody here has the id {person!r}.")
    return Seat(book, state, person, view(state, Subject(person)), own)


BookOf = Annotated[Book, Depends(book_of)]
Moment = Annotated[Office, Depends(moment)]
SeatOf = Annotated[Seat, Depends(seat)]
