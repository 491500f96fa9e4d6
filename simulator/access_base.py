"""The words of access: who asks, about what, and the answer; who belongs to an audience (RULES 26 to 29)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

from simulator.office import Office
from simulator.records import LEVELS, File, FileRef, FileVersion, Level, Person

RULES_VERSION = 1
"""Stored with every publish, mount and freeze; raised whenever a rule here would decide differently (RULE 26)."""

NOT_YOURS = "not there, or not yours"
"""The one answer to whatever may not be known about: it never tells which of the two it is (DESIGN 4)."""

Action = Literal[
    "read", "list", "create", "deposit", "save", "accept", "quality_signoff", "share", "classify",
    "read_room", "post_room", "read_message", "read_mail", "read_entry", "read_meeting", "read_notice",
    "read_request", "read_delegation", "read_memory", "know", "request", "delegate", "answer", "review",
    "use_system",
]  # fmt: skip


class Decision(msgspec.Struct, frozen=True):
    """May it be done, and why (or why not), in words for the person who asked."""

    allowed: bool
    reason: str


class Subject(msgspec.Struct, frozen=True, order=True):
    """Who asks: a person, or the person's assistant confined to one matter.

    `matter` None is the person. A matter's id is an assistant on that matter: it has the person's rights, less every
    file with a wall other than that matter's. The empty string is an assistant on internal work: no walled file at all.
    """

    person: str
    matter: str | None = None

    @property
    def is_assistant(self) -> bool:
        return self.matter is not None


class Share(msgspec.Struct, frozen=True):
    """Giving one version to an audience."""

    ref: FileRef
    audience: str


class Reclass(msgspec.Struct, frozen=True):
    """Giving one version this level, these walls, and these clients it may go to."""

    ref: FileRef
    level: Level
    walls: tuple[str, ...] = ()
    release: tuple[str, ...] = ()


def allow(reason: str) -> Decision:
    return Decision(True, reason)


_DENIED = Decision(False, NOT_YOURS)
_RANKS: dict[str, int] = {level: place for place, level in enumerate(LEVELS)}


def deny(reason: str = "") -> Decision:
    """Refuse; without a reason, in the words that tell nothing."""
    return Decision(False, reason) if reason else _DENIED


def as_subject(subject: Subject | str) -> Subject:
    """A plain id is that person."""
    return Subject(subject) if isinstance(subject, str) else subject


def active_person(office: Office, person: str) -> Person | None:
    """Return the person if they are there and active: nobody else has any right."""
    found = office.people.get(person)
    return found if found is not None and found.active else None


def has_authority(office: Office, person: str, authority: str) -> bool:
    """Whether `person` holds `authority` now."""
    found = active_person(office, person)
    return found is not None and authority in found.authority


def version_of(office: Office, ref: FileRef) -> tuple[File, FileVersion] | None:
    """Return the file and the version that `ref` names, or None when there is none."""
    file = office.files.get(ref.file)
    if file is None or not 1 <= ref.version <= len(file.versions):
        return None
    return file, file.versions[ref.version - 1]


def author_of(office: Office, version: FileVersion) -> str:
    """Return the person who answers for a version: an assistant's principal for what the assistant wrote."""
    kind, _, delegation = version.author.partition(":")
    if kind == "assistant" and delegation in office.delegations:
        return office.delegations[delegation].principal
    return version.author


def is_member(office: Office, person: str, matter: str) -> bool:
    """Whether `person` is on the team of `matter`."""
    found = office.matters.get(matter)
    return found is not None and person in found.members


def in_audience(office: Office, person: Person, audience: str) -> bool:
    """Whether an active person belongs to an audience. A reporting line makes nobody belong (DESIGN 4)."""
    kind, _, name = audience.partition(":")
    if kind == "person":
        return person.id == name
    if kind == "matter":
        return is_member(office, person.id, name)
    if kind == "department":
        return person.kind == "staff" and name != "" and person.department == name
    if kind == "client":
        return person.kind == "client" and name != "" and person.client == name
    return audience == "everyone" and person.kind == "staff"


def audiences_of(office: Office, person: Person) -> tuple[str, ...]:
    """Return every audience an active person belongs to, in a fixed order."""
    found = [f"person:{person.id}"]
    if person.kind == "staff":
        found.append("everyone")
        if person.department:
            found.append(f"department:{person.department}")
    elif person.client:
        found.append(f"client:{person.client}")
    found.extend(sorted(f"matter:{m.id}" for m in office.matters.values() if person.id in m.members))
    return tuple(found)


def recipients(office: Office, audience: str) -> tuple[Person, ...]:
    """Return the active people an audience names now, by id."""
    kind, _, name = audience.partition(":")
    if kind == "person":
        one = active_person(office, name)
        return (one,) if one is not None else ()
    if kind == "matter":
        matter = office.matters.get(name)
        found = [active_person(office, member) for member in sorted(matter.members)] if matter is not None else []
        return tuple(p for p in found if p is not None)
    everyone = (p for p in office.people.values() if p.active and in_audience(office, p, audience))
    return tuple(sorted(everyone, key=lambda p: p.id))


def rank(level: str) -> int:
    """Order of the levels: public is 0. KeyError for a level there is not."""
    return _RANKS[level]


def inherited(office: Office, sources: Iterable[FileRef]) -> tuple[Level, tuple[str, ...]]:
    """Return the highest level and all walls of what a new version was made from (RULE 27); internal without sources.

    A source that does not exist makes the result restricted: what cannot be looked up is not assumed harmless.
    """
    level: Level = "internal"
    walls: set[str] = set()
    for ref in sources:
        found = version_of(office, ref)
        if found is None:
            level = "restricted"
            continue
        walls.update(found[1].walls)
        level = max(level, found[1].level, key=rank)
    return level, tuple(sorted(walls))
