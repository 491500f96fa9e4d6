"""Requests, delegations with their trajectories, reviews, sessions and memory: for the operator."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from orchestrator.web.api import Routes
from orchestrator.web.parts import BookOf, Limit, Moment, Name, PersonName, Skip, Text
from orchestrator.web.queries import memory, sessions, work
from orchestrator.web.queries.common import Page, page
from simulator.access import Subject
from simulator.errors import UnknownReference
from simulator.view import view

routes = Routes("work")
Chars = Annotated[int, Query(ge=1, le=40_000, description="Characters of each text at most.")]


@routes.get("/offices/{office}/requests", Page[work.RequestShown])
def list_requests(
    book: BookOf, office: Moment, person: Text = "", state: Text = "", skip: Skip = 0, limit: Limit = 100
) -> Page[work.RequestShown]:
    """Requests, the newest first: all, those a person takes part in, those in a state."""
    return page(work.requests(office, person, state), skip, limit, work.request_shown(office, book.texts))


@routes.get("/offices/{office}/delegations", Page[work.DelegationLine])
def list_delegations(
    book: BookOf, office: Moment, person: Text = "", state: Text = "", skip: Skip = 0, limit: Limit = 100
) -> Page[work.DelegationLine]:
    """Delegations, the newest first: all, those a person gave, those in a state."""
    return page(work.delegations(office, person, state), skip, limit, work.delegation_line(office, book.texts))


@routes.get("/offices/{office}/delegations/{delegation}", work.DelegationShown)
def get_delegation(book: BookOf, office: Moment, delegation: Name) -> work.DelegationShown:
    """A delegation's whole story: goal, rounds, questions, submissions, reviews."""
    return work.delegation(office, delegation, book.texts)


@routes.get("/offices/{office}/delegations/{delegation}/trajectory", sessions.Trajectory)
def get_trajectory(book: BookOf, delegation: Name, chars: Chars = 4_000) -> sessions.Trajectory:
    """How a delegation was worked on: its segments, and every sandbox tool call with what it changed."""
    return sessions.trajectory(book, delegation, chars)


@routes.get("/offices/{office}/reviews", Page[work.ReviewShown])
def list_reviews(
    book: BookOf, office: Moment, person: Text = "", skip: Skip = 0, limit: Limit = 100
) -> Page[work.ReviewShown]:
    """Reviews, the newest first: all, or those by one person."""
    return page(work.reviews(office, person), skip, limit, work.review_shown(office, book.texts))


@routes.get("/offices/{office}/activations", Page[sessions.ActivationLine])
def list_activations(
    book: BookOf, office: Moment, person: Text = "", kind: Text = "", skip: Skip = 0, limit: Limit = 100
) -> Page[sessions.ActivationLine]:
    """Activations that had begun by the moment, the latest first: all, of a person, or of a kind."""
    found = sessions.activations(book, person, kind, office.revision)
    return page(found, skip, limit, lambda a: sessions.line(office, a))


@routes.get("/offices/{office}/activations/{activation}", sessions.ActivationShown)
def get_activation(book: BookOf, activation: Name) -> sessions.ActivationShown:
    """One activation: what woke it, the memory it was given, its calls and what they cost."""
    return sessions.activation(book, activation)


@routes.get("/offices/{office}/activations/{activation}/conversation", sessions.ConversationShown)
def get_conversation(
    book: BookOf, activation: Name, session: Annotated[str, Query(max_length=300)] = "", skip: Skip = 0,
    limit: Limit = 100, chars: Chars = 8_000,
) -> sessions.ConversationShown:  # fmt: skip
    """The conversation of an activation, from the tape; `session` names a branch."""
    return sessions.conversation(book, activation, session, skip, limit, chars)


@routes.get("/offices/{office}/people/{person}/memory", memory.MemoryPage)
def get_memory(book: BookOf, office: Moment, person: PersonName) -> memory.MemoryPage:
    """A person's memory, and what of it is given to the activation at hand."""
    if person not in office.people:
        raise UnknownReference(f"Nobody here has the id {person!r}.")
    return memory.memory(office, view(office, Subject(person)), book.texts)
