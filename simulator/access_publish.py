"""Publishing: every reason why a version may not go to an audience now (DESIGN 4, RULES 18 and 27).

Asked when the act is called and again at the moment of commit. All reasons are said at once, in this order: who may
share; acceptance; quality sign-off; client release; classification; walls; held copies.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from simulator import access_files as files
from simulator.access_base import (
    NOT_YOURS,
    Decision,
    Share,
    Subject,
    active_person,
    allow,
    author_of,
    deny,
    has_authority,
    in_audience,
    recipients,
    version_of,
)
from simulator.office import Office
from simulator.records import File, FileRef, FileVersion, Person

NO_AUDIENCE = f"the audience is {NOT_YOURS}"


def share(office: Office, person: Person, subject: Subject, target: Share) -> Decision:
    """May a version be given to an audience."""
    if subject.is_assistant:
        return deny(files.ASSISTANTS_DO_NOT)
    refusals = publish_refusals(office, person.id, target.ref, target.audience)
    return deny("; ".join(refusals)) if refusals else allow("accepted, and its recipients may receive it")


def publish_refusals(office: Office, actor: str, ref: FileRef, audience: str) -> tuple[str, ...]:
    """Return every reason why `actor` may not give this version to `audience` now; empty when they may.

    `audience` is as in records. To whom nothing may be told of the version, only that is said.
    """
    person = active_person(office, actor)
    found = version_of(office, ref)
    if person is None or found is None or not files.read(office, person, Subject(actor), ref).allowed:
        return (NOT_YOURS,)
    file, version = found
    people = recipients(office, audience)
    if not people or not _may_name(office, person, audience):
        return (NO_AUDIENCE,)
    reasons = [
        *_standing(office, person, file),
        *_confirmations(office, person, file, version, people),
        *_class_refusals(office, version, people),
        *_wall_refusals(office, version, people),
        *_held_copy_refusals(office, person, ref, people),
    ]
    return tuple(reasons)


def telling_refusals(office: Office, people: Iterable[str], sources: Iterable[FileRef]) -> tuple[str, ...]:
    """Return why what rests on `sources` may not be told to these people: they must pass its walls (RULE 27).

    For messages, mails, minutes and requests that cite files. Telling is not giving: clearance and grants play no part.
    """
    if not office.switches.rights:
        return ()
    listeners = tuple(p for p in (active_person(office, one) for one in sorted(set(people))) if p is not None)
    reasons: dict[str, None] = {}
    for ref in sources:
        found = version_of(office, ref)
        if found is None:
            reasons[NOT_YOURS] = None
        else:
            reasons.update(dict.fromkeys(_wall_refusals(office, found[1], listeners)))
    return tuple(reasons)


def _may_name(office: Office, actor: Person, audience: str) -> bool:
    """Whether the actor may know of an audience: other teams and their clients are nobody else's business."""
    kind, _, name = audience.partition(":")
    if kind == "matter":
        matter = office.matters.get(name)
        return matter is not None and (actor.id in matter.members or (not matter.client and actor.kind == "staff"))
    client = name if kind == "client" else ""
    if kind == "person":
        client = office.people[name].client
    return not client or client == actor.client or files.works_for(office, actor.id, client)


def _standing(office: Office, actor: Person, file: File) -> Iterator[str]:
    if actor.kind == "client":
        yield "people outside hand in material by mail and share nothing themselves"
    elif file.owner != actor.id and "client_release" not in actor.authority and office.switches.rights:
        yield "only its owner, or someone with the authority client_release, shares this file"


def _confirmations(
    office: Office, actor: Person, file: File, version: FileVersion, people: tuple[Person, ...]
) -> Iterator[str]:
    outside = any(p.kind == "client" for p in people)
    reviews = office.switches.reviews
    if reviews and not confirmed(office, file, version, "accept"):
        yield "this version has not been accepted"
    if outside and reviews and not confirmed(office, file, version, "quality_signoff"):
        yield "quality sign-off is required for client release"
    if outside and "client_release" not in actor.authority:
        yield "releasing to a client needs the authority client_release"


def confirmed(office: Office, file: File, version: FileVersion, capacity: str) -> bool:
    """Whether exactly this version is accepted or signed off now, by someone who holds that authority now."""
    for acceptance_id in office.accepted.get(file.id, ()):
        acceptance = office.acceptances[acceptance_id]
        if acceptance.capacity != capacity or acceptance.version != version.number:
            continue
        if capacity == "quality_signoff" and acceptance.by == author_of(office, version):
            continue
        if has_authority(office, acceptance.by, capacity):
            return True
    return False


def _guarded(office: Office, people: tuple[Person, ...]) -> tuple[Person, ...]:
    """The recipients whom classes and walls still guard against: with rights off, people outside alone."""
    return people if office.switches.rights else tuple(p for p in people if p.kind == "client")


def _class_refusals(office: Office, version: FileVersion, people: tuple[Person, ...]) -> Iterator[str]:
    barred = [p for p in _guarded(office, people) if not files.class_admits(office, p, version)]
    inside = [p.name for p in barred if p.kind == "staff"]
    outside = [p.name for p in barred if p.kind == "client"]
    if inside:
        yield f"the classification forbids {_listed(inside)}: this version is {version.level}"
    if outside:
        yield f"the classification forbids {_listed(outside)}: this version is {version.level} and not released to them"


def _wall_refusals(office: Office, version: FileVersion, people: tuple[Person, ...]) -> Iterator[str]:
    barred = [p.name for p in _guarded(office, people) if not files.walls_admit(office, p, version)]
    if barred:
        names = [office.matters[w].name for w in version.walls if w in office.matters]
        yield f"the wall around {_listed(names)} forbids {_listed(barred)}"


def _held_copy_refusals(office: Office, actor: Person, ref: FileRef, people: tuple[Person, ...]) -> Iterator[str]:
    for source in held_sources(office, actor, ref):
        barred = [p.name for p in people if not files.read(office, p, Subject(p.id), source).allowed]
        if barred:
            # The source's name is not said: the actor may no longer read it.
            yield f"this is a held copy of something withdrawn from you, and {_listed(barred)} may not read its source"
            return


def held_sources(office: Office, holder: Person, ref: FileRef) -> tuple[FileRef, ...]:
    """Return what `ref` descends from that its holder once could and now cannot read (RULE 27), in order.

    Once could: a grant to them was revoked, or they made the version that names it as its source.
    """
    lost: set[FileRef] = set()
    seen = {ref}
    pending = [ref]
    while pending:
        found = version_of(office, pending.pop())
        if found is None:
            continue
        for source in found[1].sources:
            if source not in seen:
                seen.add(source)
                pending.append(source)
            if files.read(office, holder, Subject(holder.id), source).allowed:
                continue
            if author_of(office, found[1]) == holder.id or _was_revoked(office, holder, source):
                lost.add(source)
    return tuple(sorted(lost))


def _was_revoked(office: Office, holder: Person, ref: FileRef) -> bool:
    return any(
        grant.file == ref.file and grant.version == ref.version and in_audience(office, holder, grant.audience)
        for grant in office.revoked.values()
    )


def _listed(names: Iterable[str]) -> str:
    """Join names in order, without repeats: `A`, `A and B`, `A, B and C`."""
    unique = list(dict.fromkeys(names))
    return " and ".join(part for part in (", ".join(unique[:-1]), *unique[-1:]) if part)
