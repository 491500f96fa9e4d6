"""Folding of structure: the office itself, its people, clients, matters, skills, demands."""

from __future__ import annotations

import msgspec

from simulator.businesstime import calendar_for
from simulator.errors import UsageError
from simulator.events import (
    ClearanceSet,
    ClientAdded,
    DepartmentAdded,
    Event,
    MatterOpened,
    MemberAdded,
    MemberRemoved,
    OfficeForked,
    OfficeOpened,
    PersonAdded,
    SkillShelved,
    SystemAdded,
)
from simulator.fold.base import put, set_timer
from simulator.office import Office, Skill
from simulator.records import Matter, Timer


def opened(o: Office, event: Event, p: OfficeOpened) -> None:
    for name, minutes in msgspec.structs.asdict(p.pace).items():
        if minutes < 1:
            raise UsageError(f"The pace `{name}` is {minutes}: minutes are whole numbers of at least 1. Mend the package.")
    put(
        o, opened_at=event.sim_time, name=p.name, package=p.package, seed=p.seed, brief=p.brief, domain=p.domain,
        currency=p.currency, calendar=p.calendar, pace=p.pace, memory_limits=p.memory,
        compaction_chars=p.compaction_chars, turn_limit=p.turn_limit,
    )  # fmt: skip


def forked(o: Office, event: Event, p: OfficeForked) -> None:
    put(o, forked_from=(p.parent, p.revision), switches=p.switches, access_epoch=o.access_epoch + 1)
    if p.change is not None and p.blob is not None:
        file = o.files[p.change.file]
        versions = tuple(
            msgspec.structs.replace(v, blob=p.blob) if v.number == p.change.version else v for v in file.versions
        )
        put(o, files=o.files.insert(file.id, msgspec.structs.replace(file, versions=versions)))


def department_added(o: Office, event: Event, p: DepartmentAdded) -> None:
    put(o, departments=o.departments.insert(p.department.id, p.department))


def person_added(o: Office, event: Event, p: PersonAdded) -> None:
    person = p.person
    put(o, people=o.people.insert(person.id, person), access_epoch=o.access_epoch + 1)
    put(o, free_since=o.free_since.insert(person.id, event.sim_time))
    if person.kind == "staff":
        first = calendar_for(o.calendar).next_open(event.sim_time)
        set_timer(o, Timer(f"day:{person.id}", first, "day", person.id, person.id))


def client_added(o: Office, event: Event, p: ClientAdded) -> None:
    put(o, clients=o.clients.insert(p.client.id, p.client))


def matter_opened(o: Office, event: Event, p: MatterOpened) -> None:
    put(o, matters=o.matters.insert(p.matter.id, p.matter), access_epoch=o.access_epoch + 1)


def _members(o: Office, matter: Matter, members: tuple[str, ...]) -> None:
    changed = msgspec.structs.replace(matter, members=members)
    put(o, matters=o.matters.insert(matter.id, changed), access_epoch=o.access_epoch + 1)


def member_added(o: Office, event: Event, p: MemberAdded) -> None:
    matter = o.matters[p.matter]
    if p.person not in matter.members:
        _members(o, matter, (*matter.members, p.person))


def member_removed(o: Office, event: Event, p: MemberRemoved) -> None:
    matter = o.matters[p.matter]
    _members(o, matter, tuple(m for m in matter.members if m != p.person))


def clearance_set(o: Office, event: Event, p: ClearanceSet) -> None:
    person = msgspec.structs.replace(o.people[p.person], clearance=p.clearance)
    put(o, people=o.people.insert(person.id, person), access_epoch=o.access_epoch + 1)


def skill_shelved(o: Office, event: Event, p: SkillShelved) -> None:
    put(o, skills=o.skills.insert(p.name, Skill(p.name, p.description, p.files)))


def system_added(o: Office, event: Event, p: SystemAdded) -> None:
    put(o, systems=o.systems.insert(p.system.id, p.system), access_epoch=o.access_epoch + 1)
