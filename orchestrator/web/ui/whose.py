"""Whose eyes a page looks through: everybody's, for the operator, or one person's, which is their view and nothing else."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from orchestrator.web.errors import NOT_THERE
from orchestrator.web.ui.asked import Ask
from simulator.access import Subject
from simulator.errors import UnknownReference
from simulator.office import Office
from simulator.view import View, view


class Eyes(msgspec.Struct, frozen=True):
    """Through whose view something is shown: `seen` is None for the operator's own. `names` are of those who may be named."""

    office: Office
    person: str
    seen: View | None
    names: Mapping[str, str]

    def name(self, person: str) -> str:
        """Return somebody's name."""
        return self.names.get(person, person)


def eyes(ask: Ask, person: str) -> Eyes:
    """Return a person's eyes; the operator's where `person` is empty. Raises UnknownReference.

    Whoever comes with a person's key looks through that person's eyes, whatever was asked.
    """
    office = ask.office
    who = person if ask.caller.operator else ask.caller.person
    if not who:
        return Eyes(office, "", None, {p.id: p.name for p in office.people.values()})
    if who not in office.people:
        raise UnknownReference(f"Nobody here has the id {who!r}." if ask.caller.operator else NOT_THERE)
    seen = view(office, Subject(who))
    return Eyes(office, who, seen, {c.id: c.name for c in seen.people()} | {who: office.people[who].name})


def everybody(office: Office) -> dict[str, str]:
    """Return a choice among all people, staff first, by name."""
    people = sorted((p for p in office.people.values()), key=lambda p: (p.kind != "staff", p.name, p.id))
    return {p.id: p.name if p.kind == "staff" else f"{p.name} (client)" for p in people}
