"""Rights in files: reading, listing, creating, saving, accepting, classifying (DESIGN 4, RULES 26 to 28).

The order in which a reader is judged: the file exists; the owner reads; every wall admits; the class admits; a grant of
exactly this version names an audience the reader belongs to. Nothing else lets anyone in. Every refusal to read has the
same words.
"""

from __future__ import annotations

from simulator.access_base import (
    NOT_YOURS,
    Decision,
    Reclass,
    Subject,
    allow,
    author_of,
    deny,
    in_audience,
    is_member,
    rank,
    version_of,
)
from simulator.office import Office
from simulator.records import FileRef, FileVersion, Person

ASSISTANTS_DO_NOT = "an assistant does not do this: its principal does"


def walls_admit(office: Office, person: Person, version: FileVersion) -> bool:
    """Whether every wall of a version lets a person through: its team, or contacts of the matter's own client."""
    for wall in version.walls:
        matter = office.matters.get(wall)
        if matter is None:
            return False
        if person.id in matter.members:
            continue
        if person.kind != "client" or not person.client or matter.client != person.client:
            return False
    return True


def class_admits(office: Office, person: Person, version: FileVersion) -> bool:
    """Whether a version's class lets a person through: clearance for staff, release for people outside."""
    if person.kind == "staff":
        return rank(person.clearance) >= rank(version.level)
    if version.level == "public" or person.client in version.release:
        return True
    author = office.people.get(version.author)
    return bool(person.client) and author is not None and author.kind == "client" and author.client == person.client


def confinement_admits(subject: Subject, version: FileVersion) -> bool:
    """Whether an assistant's confinement to one matter lets a version through (always, for the person)."""
    return subject.matter is None or all(wall == subject.matter for wall in version.walls)


def read(office: Office, person: Person, subject: Subject, ref: FileRef) -> Decision:
    """May one version be read."""
    found = version_of(office, ref)
    if found is None:
        return deny()
    file, version = found
    if not confinement_admits(subject, version):
        return deny()
    if file.owner == person.id:
        return allow("its owner")
    if not office.switches.rights and person.kind == "staff":
        return allow("rights are switched off")
    if not walls_admit(office, person, version):
        return deny()
    if not class_admits(office, person, version):
        return deny()
    for grant_id in office.by_file.get(ref.file, ()):
        grant = office.grants[grant_id]
        if grant.version == ref.version and in_audience(office, person, grant.audience):
            return allow(f"granted to {grant.audience} by {grant.by}")
    return deny()


def list_space(office: Office, person: Person, subject: Subject, space: str) -> Decision:
    """May a space be listed. Listing shows what of it may be read, never more."""
    kind, _, name = space.partition(":")
    if kind == "home" and name == person.id:
        return allow("one's own home")
    if person.kind != "staff":
        return deny()
    if space == "company":
        return allow("staff")
    if kind == "department" and name and name == person.department:
        return allow("one's own department")
    if kind == "matter" and is_member(office, person.id, name) and subject.matter in (None, name):
        return allow("on the team")
    return deny()


def create(office: Office, person: Person, subject: Subject, space: str) -> Decision:
    """May a file be made in a space: only where one may list (RULE 28), and by an assistant only in its home."""
    if subject.is_assistant and space != f"home:{person.id}":
        return deny(ASSISTANTS_DO_NOT)
    return list_space(office, person, subject, space)


def deposit(office: Office, person: Person, subject: Subject, space: str) -> Decision:
    """May a client's contact hand material into a matter's space: into their own client's, without seeing the space."""
    kind, _, name = space.partition(":")
    matter = office.matters.get(name) if kind == "matter" else None
    if subject.is_assistant or person.kind != "client" or matter is None:
        return deny()
    if not person.client or matter.client != person.client:
        return deny()
    return allow("a contact of the matter's client")


def save(office: Office, person: Person, subject: Subject, file_id: str) -> Decision:
    """May a new version of a file be saved: by its owner alone. Whoever may not read it is told nothing of it."""
    file = office.files.get(file_id)
    if file is None:
        return deny()
    if file.owner == person.id and confinement_admits(subject, file.versions[-1]):
        if subject.is_assistant and file.space != f"home:{person.id}":
            return deny(ASSISTANTS_DO_NOT)
        return allow("its owner")
    if any(read(office, person, subject, FileRef(file.id, v.number)).allowed for v in file.versions):
        return deny("only its owner saves a new version of this file")
    return deny()


def accept(office: Office, person: Person, subject: Subject, ref: FileRef) -> Decision:
    """May exactly this version be accepted: its owner, or a reviewer who may read it, with the authority."""
    return _confirm(office, person, subject, ref, "accept")


def quality_signoff(office: Office, person: Person, subject: Subject, ref: FileRef) -> Decision:
    """May exactly this version be signed off: with the authority, and by someone other than its author."""
    decision = _confirm(office, person, subject, ref, "quality_signoff")
    found = version_of(office, ref)
    if decision.allowed and found is not None and author_of(office, found[1]) == person.id:
        return deny("quality sign-off is given by someone other than the author")
    return decision


def _confirm(office: Office, person: Person, subject: Subject, ref: FileRef, authority: str) -> Decision:
    if not read(office, person, subject, ref).allowed:
        return deny()
    if subject.is_assistant:
        return deny(ASSISTANTS_DO_NOT)
    if authority not in person.authority:
        return deny(f"this needs the authority {authority}")
    return allow(f"holds the authority {authority} and may read this version")


def classify(office: Office, person: Person, subject: Subject, target: Reclass) -> Decision:
    """May a version be given this class. Its owner raises; lowering and releasing need the authority `classify`.

    Raising is a level as high or higher, walls added, release taken away. Nobody names a matter or a client they do not
    work for, and nobody gives what they may not read.
    """
    found = version_of(office, target.ref)
    if found is None or not read(office, person, subject, target.ref).allowed:
        return deny()
    if subject.is_assistant:
        return deny(ASSISTANTS_DO_NOT)
    file, version = found
    for wall in target.walls:
        if wall not in version.walls and not is_member(office, person.id, wall):
            return deny(f"{wall}: {NOT_YOURS}")
    for client in target.release:
        if client not in version.release and not works_for(office, person.id, client):
            return deny(f"{client}: {NOT_YOURS}")
    raising = (
        rank(target.level) >= rank(version.level)
        and set(target.walls) >= set(version.walls)
        and set(target.release) <= set(version.release)
    )
    if "classify" in person.authority:
        return allow("holds the authority classify and may read this version")
    if not raising:
        return deny("lowering a class, taking down a wall and releasing to a client need the authority classify")
    if file.owner != person.id:
        return deny("only its owner, or someone with the authority classify, raises the class of this file")
    return allow("its owner raises the class")


def works_for(office: Office, person: str, client: str) -> bool:
    """Whether a person is on the team of any matter of a client."""
    return client != "" and any(m.client == client and person in m.members for m in office.matters.values())
