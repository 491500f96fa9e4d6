"""What a package's rhythms, demands and seed documents must hold together in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime

from simulator.errors import UsageError
from simulator.package import MATERIALS, RHYTHMS, Package, RhythmCard, default_audience, walls_of
from simulator.package_findings import YEARS, Finding, bad_path, folded, repeated, slug
from simulator.package_records import check_records
from simulator.package_text import Place
from simulator.recurrence import check_rule

_MONTH = re.compile(r"\d{4}-(0[1-9]|1[0-2])")


# -- rhythms ----------------------------------------------------------------------------------------------------------


def entries(package: Package) -> Iterator[Finding]:
    yield from repeated(RHYTHMS, ((("entries", i, "id"), e.id) for i, e in enumerate(package.rhythms)), "entry id")
    staff = {card.id for card in package.people}
    matters = {matter.id: matter for matter in package.organization.matters}
    for i, entry in enumerate(package.rhythms):
        place: Place = ("entries", i)
        yield from slug(RHYTHMS, (*place, "id"), entry.id)
        yield from _times(package, entry, place)
        for key, person in [("organizer", entry.organizer), *(("attendees", who) for who in entry.attendees)]:
            inner: Place = (*place, key)
            if person not in staff:
                yield Finding(RHYTHMS, inner, f"`{person}` is nobody of the staff.")
            elif entry.matter in matters and person not in matters[entry.matter].members:
                yield Finding(RHYTHMS, inner, f"`{person}` is not a member of the matter `{entry.matter}`.")
        if entry.matter and entry.matter not in matters:
            yield Finding(RHYTHMS, (*place, "matter"), f"The matter `{entry.matter}` does not exist.")
        if entry.work:
            yield from _covered(package, entry.work, entry.matter, (*place, "work"))


def _times(package: Package, entry: RhythmCard, place: Place) -> Iterator[Finding]:
    try:
        first = datetime.strptime(entry.first, "%Y-%m-%d %H:%M")  # noqa: DTZ007 -- local time, as people write it
    except ValueError:
        yield Finding(RHYTHMS, (*place, "first"), f"`{entry.first}` is no time. Write YYYY-MM-DD HH:MM.")
    else:
        if first.date() < package.organization.start:
            yield Finding(RHYTHMS, (*place, "first"), f"`{entry.first}` is before the office opens.")
        elif first.year > YEARS[1]:
            yield Finding(RHYTHMS, (*place, "first"), f"`{entry.first}` lies beyond the year {YEARS[1]}.")
    if not 1 <= entry.minutes <= 600:
        yield Finding(RHYTHMS, (*place, "minutes"), f"{entry.minutes} minutes is no length of an entry (1 to 600).")
    if entry.rule:
        try:
            check_rule(entry.rule)
        except UsageError as fault:
            yield Finding(RHYTHMS, (*place, "rule"), str(fault))


def _covered(package: Package, kind: str, matter: str, place: Place) -> Iterator[Finding]:
    if kind not in {pack.name for pack in package.skills}:
        yield Finding(RHYTHMS, place, f"The kind of work `{kind}` is unknown: no skill pack has that name.")
        return
    members = {m for found in package.organization.matters if found.id == matter for m in found.members}
    if not any(kind in card.skills for card in package.people if card.id in members):
        yield Finding(RHYTHMS, place, f"No member of the matter `{matter}` has the skill `{kind}`.")


def demands(package: Package) -> Iterator[Finding]:
    yield from repeated(RHYTHMS, ((("demands", i, "id"), d.id) for i, d in enumerate(package.demands)), "demand id")
    contact_of = {contact.id: client.id for client in package.organization.clients for contact in client.contacts}
    client_of = {matter.id: matter.client for matter in package.organization.matters}
    for i, demand in enumerate(package.demands):
        place: Place = ("demands", i)
        yield from slug(RHYTHMS, (*place, "id"), demand.id)
        if demand.contact not in contact_of:
            yield Finding(RHYTHMS, (*place, "contact"), f"The contact `{demand.contact}` does not exist.")
        if demand.matter not in client_of:
            yield Finding(RHYTHMS, (*place, "matter"), f"The matter `{demand.matter}` does not exist.")
        elif contact_of.get(demand.contact, client_of[demand.matter]) != client_of[demand.matter]:
            yield Finding(
                RHYTHMS, (*place, "matter"), f"The matter `{demand.matter}` is not one of the contact's client."
            )
        else:
            yield from _covered(package, demand.kind, demand.matter, (*place, "kind"))
        last = {"monthly": 20, "fortnightly": 10, "weekly": 5}[demand.cadence]
        if not 1 <= demand.day <= last:
            yield Finding(
                RHYTHMS, (*place, "day"), f"Day {demand.day} is no business day of a {demand.cadence} period."
            )
        if not 0 <= demand.jitter_days <= last:
            yield Finding(
                RHYTHMS, (*place, "jitter_days"), f"A delay of up to {demand.jitter_days} days is out of range."
            )


# -- materials --------------------------------------------------------------------------------------------------------


def _places(package: Package) -> dict[str, set[str]]:
    organization = package.organization
    return {
        "person": {card.id for card in package.people},
        "department": {department.id for department in organization.departments},
        "matter": {matter.id for matter in organization.matters},
        "client": {client.id for client in organization.clients},
    }


def materials(package: Package) -> Iterator[Finding]:
    places = _places(package)
    spaces = {"company", *(f"home:{p}" for p in places["person"])}
    spaces |= {f"{kind}:{one}" for kind in ("department", "matter") for one in places[kind]}
    audiences = {"everyone", *(f"{kind}:{one}" for kind, ids in places.items() for one in ids)}
    listed = [(("files", i, "file"), m.file) for i, m in enumerate(package.materials)]
    yield from repeated(MATERIALS, listed, "material")
    targets = [(("files", i, "path"), f"{m.space}/{folded(m.path)}") for i, m in enumerate(package.materials)]
    yield from repeated(MATERIALS, targets, "place in the office")
    for i, material in enumerate(package.materials):
        place: Place = ("files", i)
        for key, path in (("file", material.file), ("path", material.path)):
            if problem := bad_path(path):
                yield Finding(MATERIALS, (*place, key), f"The path `{path}` {problem}.")
        if material.source_path not in package.files:
            yield Finding(MATERIALS, (*place, "file"), f"The file `{material.source_path}` does not exist.")
        if material.space not in spaces:
            yield Finding(MATERIALS, (*place, "space"), f"The space `{material.space}` does not exist.")
        if material.owner not in places["person"]:
            yield Finding(MATERIALS, (*place, "owner"), f"The owner `{material.owner}` is nobody of the staff.")
        if material.matter and material.matter not in places["matter"]:
            yield Finding(MATERIALS, (*place, "matter"), f"The matter `{material.matter}` does not exist.")
        if material.period and not _MONTH.fullmatch(material.period):
            yield Finding(MATERIALS, (*place, "period"), f"The period `{material.period}` is no month. Write YYYY-MM.")
        for k, audience in enumerate(material.audience or ()):
            if audience not in audiences:
                yield Finding(MATERIALS, (*place, "audience", k), f"The audience `{audience}` does not exist.")
        for k, wall in enumerate(material.walls or ()):
            if wall not in places["matter"]:
                yield Finding(MATERIALS, (*place, "walls", k), f"The wall `{wall}` is no matter.")
    known = {m.source_path for m in package.materials} | {MATERIALS}
    for path in sorted(package.files):
        if path.startswith("materials/") and path not in known:
            yield Finding(
                path, (), "The file is not listed in materials.yaml, so nobody would have it. List or remove it."
            )


def audiences(package: Package) -> Iterator[Finding]:
    """A seed document behind a wall is given to nobody outside it; its owner can hold it."""
    members = {matter.id: set(matter.members) for matter in package.organization.matters}
    for i, material in enumerate(package.materials):
        audiences = default_audience(material.space) if material.audience is None else material.audience
        for wall in walls_of(material, package.organization):
            if wall not in members:
                continue
            place: Place = ("files", i)
            if material.owner not in members[wall]:
                yield Finding(
                    MATERIALS, (*place, "owner"), f"The owner `{material.owner}` is outside the wall of `{wall}`."
                )
            for audience in audiences:
                kind, _, one = audience.partition(":")
                inside = one == wall if kind == "matter" else kind == "person" and one in members[wall]
                if not inside:
                    yield Finding(
                        MATERIALS, (*place, "audience"), f"`{audience}` is not all inside the wall of `{wall}`."
                    )


def records(package: Package) -> Iterator[Finding]:
    for file, line, text in check_records(package.materials, package.files):
        yield Finding(file, (line,), text)
