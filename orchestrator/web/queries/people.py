"""People: as the operator sees them all, and as one of them sees the others."""

from __future__ import annotations

import msgspec

from orchestrator.web.queries.common import When, when
from orchestrator.web.queries.state import Concern, Desk, concern, desk
from simulator.errors import UnknownReference
from simulator.office import Office
from simulator.view import View
from simulator.view_types import Colleague


class PersonShown(msgspec.Struct, frozen=True):
    """A person: role, rights, and what they are at. `session` is theirs for life, `session_day` the day it was opened for."""

    id: str
    name: str
    title: str
    kind: str
    code: str
    department: str
    client: str
    manager: str
    email: str
    authority: tuple[str, ...]
    clearance: str
    skills: tuple[str, ...]
    style: str
    active: bool
    matters: tuple[str, ...]
    session: str
    session_day: str
    desk: Desk
    inbox: tuple[Concern, ...]
    sees: dict[str, int]


class Me(msgspec.Struct, frozen=True):
    """Who one is, and how much one sees. The time is the office's clock."""

    id: str
    name: str
    title: str
    kind: str
    department: str
    client: str
    email: str
    authority: tuple[str, ...]
    clearance: str
    played: bool
    matters: tuple[str, ...]
    sees: dict[str, int]


class Ref(msgspec.Struct, frozen=True):
    """A matter or a client by name."""

    id: str
    name: str


class Notice(msgspec.Struct, frozen=True):
    """A line in someone's notices."""

    id: str
    at: When
    text: str
    ref: str


def people(office: Office) -> tuple[Desk, ...]:
    """Return everybody with what they are at, staff and clients' contacts, by id."""
    return tuple(desk(office, p) for p in sorted(office.people.values(), key=lambda p: p.id))


def person(office: Office, seen: View, person_id: str) -> PersonShown:
    """Return one person; `seen` is their own view. Raises UnknownReference."""
    p = office.people.get(person_id)
    if p is None:
        raise UnknownReference(f"Nobody here has the id {person_id!r}.")
    return PersonShown(
        p.id, p.name, p.title, p.kind, p.code, p.department, p.client, p.manager, p.email, p.authority, p.clearance,
        p.skills, p.style, p.active, _matters(seen), p.session, office.sessions.get(p.id, "").partition("#")[0],
        desk(office, p), tuple(concern(office, s) for s in office.inboxes.get(p.id, ())), seen.counts(),
    )  # fmt: skip


def me(office: Office, seen: View) -> Me:
    """Return who the subject of a view is. Raises UnknownReference where they are not there any more."""
    p = seen.person
    if p is None:
        raise UnknownReference("There is nobody of that id here now.")
    return Me(
        p.id, p.name, p.title, p.kind, p.department, p.client, p.email, p.authority, p.clearance, p.id in office.held,
        _matters(seen), seen.counts(),
    )  # fmt: skip


def _matters(seen: View) -> tuple[str, ...]:
    return tuple(m.id for m in seen.matters() if seen.subject.person in m.members)


def directory(seen: View) -> tuple[Colleague, ...]:
    """Return those whom the subject may know about."""
    return seen.people()


def matters(seen: View) -> tuple[Ref, ...]:
    """Return the matters the subject may know of."""
    return tuple(Ref(m.id, m.name) for m in seen.matters())


def clients(seen: View) -> tuple[Ref, ...]:
    """Return the clients the subject may know of."""
    return tuple(Ref(c.id, c.name) for c in seen.clients())


def notices(office: Office, seen: View) -> list[Notice]:
    """Return the subject's notices, the newest first."""
    return [Notice(n.id, when(office, n.at), n.text, n.ref) for n in reversed(seen.notices())]
