"""People as the operator sees them."""

from __future__ import annotations

from orchestrator.web.api import Routes
from orchestrator.web.parts import Moment, PersonName
from orchestrator.web.queries import people
from simulator.access import Subject
from simulator.view import view

routes = Routes("people")


@routes.get("/offices/{office}/people/{person}", people.PersonShown)
def get_person(office: Moment, person: PersonName) -> people.PersonShown:
    """One person: role, rights, inbox, and what they are at."""
    return people.person(office, view(office, Subject(person)), person)
