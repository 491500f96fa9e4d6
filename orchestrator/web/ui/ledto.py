"""What delegated work led to: to whom its results went, what was made from them, and what was answered with them. Pure."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from orchestrator.web.queries.common import When, actor_name, names_of, when
from simulator.office import Office
from simulator.records import Delegation, FileRef


class Led(msgspec.Struct, frozen=True):
    """One thing that came of it. `kind` is `share`, `mail`, `message`, `request`, `delegation` or `file`; `ref` its id."""

    kind: str
    ref: str
    at: When
    text: str
    version: int = 0


def results(d: Delegation) -> frozenset[FileRef]:
    """Return the file versions that a delegation's submissions and reviews brought."""
    found: set[FileRef] = set()
    for r in d.rounds:
        found.update(r.submission.files if r.submission is not None else ())
        found.update(r.review.files if r.review is not None else ())
    return frozenset(found)


def led_to(office: Office, d: Delegation) -> tuple[Led, ...]:
    """Return what a delegation led to, in order."""
    made = results(d)
    if not made:
        return ()
    found = [*_shares(office, made), *_talk(office, made), *_work(office, made, d.id), *_files(office, made, d.id)]
    return tuple(sorted(found, key=lambda led: (led.at.at, led.kind, led.ref)))


def _shares(office: Office, made: frozenset[FileRef]) -> Iterable[Led]:
    name = names_of(office)
    for file in sorted({ref.file for ref in made}):
        for grant_id in office.by_file.get(file, ()):
            g = office.grants[grant_id]
            ref = FileRef(g.file, g.version)
            if ref in made:
                path = name(ref).path.rsplit("/", 1)[-1]
                said = f"{actor_name(office, g.by)} shares {path} with {audience(office, g.audience)}"
                yield Led("share", g.file, when(office, g.at), said, g.version)


def audience(office: Office, given: str) -> str:
    """Return an audience in words."""
    kind, _, ref = given.partition(":")
    if kind == "person":
        return actor_name(office, ref)
    if kind == "department" and ref in office.departments:
        return office.departments[ref].name
    if kind == "matter" and ref in office.matters:
        return f"the team of {office.matters[ref].name}"
    if kind == "client" and ref in office.clients:
        return office.clients[ref].name
    return "everybody" if given == "everyone" else given


def _talk(office: Office, made: frozenset[FileRef]) -> Iterable[Led]:
    for m in office.mails.values():
        if not made.isdisjoint(m.attachments):
            to = ", ".join(actor_name(office, p) for p in m.to[:3])
            said = f"{actor_name(office, m.sender)} mails {to}: {m.subject}"
            yield Led("mail", m.id, when(office, m.at), said)
    for c in office.messages.values():
        if not made.isdisjoint(c.cites):
            room = office.rooms[c.room].name if c.room in office.rooms else c.room
            said = f"{actor_name(office, c.sender)} tells {room}"
            yield Led("message", c.room, when(office, c.at), said)


def _work(office: Office, made: frozenset[FileRef], own: str) -> Iterable[Led]:
    for r in office.requests.values():
        if not made.isdisjoint(r.results):
            said = f"{actor_name(office, r.owner)} answers the request of {actor_name(office, r.asker)}"
            yield Led("request", r.id, when(office, r.at), said)
    for other in office.delegations.values():
        if other.id != own and not made.isdisjoint(other.inputs):
            said = f"{actor_name(office, other.principal)} gives it to an assistant: {other.work or 'work'} {other.period}".rstrip()
            yield Led("delegation", other.id, when(office, other.at), said)


def _files(office: Office, made: frozenset[FileRef], own: str) -> Iterable[Led]:
    for file in office.files.values():
        for v in file.versions:
            if v.delegation != own and FileRef(file.id, v.number) not in made and not made.isdisjoint(v.sources):
                said = f"{actor_name(office, v.author)} makes {file.path.rsplit('/', 1)[-1]} from it"
                yield Led("file", file.id, when(office, v.at), said, v.number)
                break
