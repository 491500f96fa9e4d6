"""What a package must hold together in: every fault with file and line, in complete sentences (DESIGN 11).

Each rule is a generator of findings over a `Package`; `RULES` names them, so that the stages of generation can ask
for those that their part must satisfy. Lines are looked up only where something was found.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import date

import msgspec

from simulator import package_work_checks
from simulator.businesstime import BusinessCalendar
from simulator.canonical import clean_name
from simulator.errors import UsageError
from simulator.package import (
    ORGANIZATION,
    RHYTHMS,
    Fault,
    Package,
)
from simulator.package_findings import YEARS, Finding, Rule, bad_path, card_file, check_paths, folded, repeated, slug
from simulator.package_systems import SystemReader, read_systems, systems
from simulator.package_text import Place, parse, read_document

AUTHORITIES = ("delegate", "request", "accept", "quality_signoff", "client_release", "classify", "lead")
NEEDED = {
    "delegate": "delegate work to assistants",
    "accept": "accept work",
    "quality_signoff": "sign off quality",
    "client_release": "release work to a client",
}
DOMAINS = ("finance", "legal", "clinical", "quality", "software", "design", "general")
PEOPLE = (3, 1000)
_CODE = re.compile(r"\d\d-\d{4}\.\d\d")
_MAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")


def check(package: Package, codes: Collection[str] | None = None, rules: Iterable[str] | None = None) -> list[Fault]:
    """Return every fault of a parsed package, in order of file and line.

    `codes` are the O*NET-SOC codes that exist (None: only their form is checked). `rules` limits the check to some of
    `RULES` (None: all).
    """
    from_rules = [finding for name in (RULES if rules is None else rules) for finding in RULES[name](package)]
    if codes is not None and (rules is None or "people" in rules):
        from_rules.extend(_unknown_codes(package, codes))
    located = _located(from_rules, package.files)
    return sorted(set(located))


def check_files(
    files: Mapping[str, bytes], codes: Collection[str] | None = None, reader: SystemReader | None = None
) -> tuple[Package | None, list[Fault]]:
    """Parse and check a package's files. The package is None when it cannot be read as one.

    `reader` reads the environments of its systems of record; without it a package that has some is at fault.
    """
    faults = list(check_paths(files))
    package, unreadable = parse(files)
    faults.extend(unreadable)
    if package is not None:
        packs, unfit = read_systems(files, reader)
        faults.extend(unfit)
        package = msgspec.structs.replace(package, systems=packs) if packs else package
        faults.extend(check(package, codes))
    return package, sorted(set(faults))


def _located(findings: Iterable[Finding], files: Mapping[str, bytes]) -> Iterator[Fault]:
    lines: dict[str, Callable[[Place], int]] = {}
    for finding in findings:
        if not finding.file.endswith(".yaml"):
            # Rows of a table are places by their line alone; other files are whole.
            place = finding.place
            yield Fault(finding.file, place[0] if place and isinstance(place[0], int) else 0, finding.text)
            continue
        if finding.file not in lines:
            lines[finding.file] = read_document(finding.file, files.get(finding.file, b"")).line
        yield Fault(finding.file, lines[finding.file](finding.place), finding.text)


# -- structure --------------------------------------------------------------------------------------------------------


def _organization(package: Package) -> Iterator[Finding]:
    organization = package.organization
    if organization.domain not in DOMAINS:
        yield Finding(ORGANIZATION, ("domain",), f"The domain `{organization.domain}` is none of {', '.join(DOMAINS)}.")
    for key, low, high in (("compaction_chars", 10_000, 10_000_000), ("turn_limit", 4, 1000)):
        if not low <= getattr(organization, key) <= high:
            yield Finding(ORGANIZATION, (key,), f"`{key}` is {getattr(organization, key)}; it may be {low} to {high}.")
    if not YEARS[0] <= organization.start.year <= YEARS[1]:
        yield Finding(ORGANIZATION, ("start",), f"The start lies outside the years {YEARS[0]} to {YEARS[1]}.")
    for group in (organization.pace, organization.memory):
        name = "pace" if group is organization.pace else "memory"
        for field, value in msgspec.structs.asdict(group).items():
            if not 1 <= value <= 10_000:
                yield Finding(ORGANIZATION, (name, field), f"`{field}` is {value}; it may be 1 to 10000.")
    if not re.fullmatch(r"[A-Z]{3}", organization.currency):
        yield Finding(ORGANIZATION, ("currency",), f"`{organization.currency}` is no currency code such as GBP.")


def _calendar(package: Package) -> Iterator[Finding]:
    rules = package.organization.calendar
    good = []
    for i, holiday in enumerate(rules.holidays):
        if _iso_day(holiday):
            good.append(holiday)
        else:
            yield Finding(
                ORGANIZATION, ("calendar", "holidays", i), f"The holiday `{holiday}` is no date. Write YYYY-MM-DD."
            )
    try:
        BusinessCalendar(msgspec.structs.replace(rules, holidays=tuple(good)))
    except UsageError as fault:
        place = "zone" if "time zone" in str(fault) else "opens" if "hours" in str(fault) else "weekdays"
        yield Finding(ORGANIZATION, ("calendar", place), str(fault))


def _iso_day(text: str) -> bool:
    try:
        return len(text) == 10 and bool(date.fromisoformat(text))
    except ValueError:
        return False


def _departments(package: Package) -> Iterator[Finding]:
    departments = package.organization.departments
    staffed = {card.department for card in package.people}
    if not departments:
        yield Finding(ORGANIZATION, ("departments",), "There is no department. List at least one.")
    yield from repeated(
        ORGANIZATION, ((("departments", i, "id"), d.id) for i, d in enumerate(departments)), "department id"
    )
    for i, department in enumerate(departments):
        yield from slug(ORGANIZATION, ("departments", i, "id"), department.id)
        if department.id not in staffed:
            yield Finding(ORGANIZATION, ("departments", i), f"Nobody works in the department `{department.id}`.")


def _names(package: Package) -> Iterator[Finding]:
    """Names are one line of clean text in NFC, as everything that comes into the office is (RULE 20)."""
    organization = package.organization
    found: list[tuple[str, Place, str]] = [(ORGANIZATION, ("name",), organization.name)]
    for key in ("departments", "clients", "matters"):
        found += [(ORGANIZATION, (key, i, "name"), one.name) for i, one in enumerate(getattr(organization, key))]
    for i, client in enumerate(organization.clients):
        place: Place = ("clients", i, "contacts")
        found += [(ORGANIZATION, (*place, k, "name"), contact.name) for k, contact in enumerate(client.contacts)]
    for card in package.people:
        found += [(card_file(card.id), ("name",), card.name), (card_file(card.id), ("title",), card.title)]
    found += [(RHYTHMS, ("entries", i, "title"), entry.title) for i, entry in enumerate(package.rhythms)]
    for file, where, name in found:
        if not name.strip():
            yield Finding(file, where, "The name is empty.")
        elif clean_name(name) != name or len(name) > 120:
            yield Finding(
                file, where, f"The name {name[:120]!r} is not one line of clean text (NFC, 120 characters at most)."
            )


# -- people -----------------------------------------------------------------------------------------------------------


def _people(package: Package) -> Iterator[Finding]:
    departments = {department.id for department in package.organization.departments}
    low, high = PEOPLE
    if not low <= len(package.people) <= high:
        yield Finding("people", (), f"There are {len(package.people)} people; an office has {low} to {high}.")
    names = Counter(card.name for card in package.people)
    mails = Counter(card.email for card in package.people if card.email)
    for card in package.people:
        file = card_file(card.id)
        yield from slug(file, ("id",), card.id)
        if names[card.name] > 1:
            yield Finding(file, ("name",), f"The name `{card.name}` is borne by more than one person.")
        if card.department not in departments:
            yield Finding(file, ("department",), f"The department `{card.department}` does not exist.")
        for i, authority in enumerate(card.authority):
            if authority not in AUTHORITIES:
                yield Finding(
                    file, ("authority", i), f"`{authority}` is no authority. There are {', '.join(AUTHORITIES)}."
                )
        if card.email and (not _MAIL.fullmatch(card.email) or mails[card.email] > 1):
            yield Finding(file, ("email",), f"The address `{card.email}` is malformed or used twice.")
        if not _CODE.fullmatch(card.code):
            yield Finding(file, ("code",), f"`{card.code}` is no O*NET-SOC code such as 13-2011.00.")


def _unknown_codes(package: Package, codes: Collection[str]) -> Iterator[Finding]:
    for card in package.people:
        if _CODE.fullmatch(card.code) and card.code not in codes:
            yield Finding(
                card_file(card.id), ("code",), f"The O*NET-SOC code `{card.code}` is not in the occupation index."
            )


def _skills(package: Package) -> Iterator[Finding]:
    shelf = {pack.name for pack in package.skills}
    for card in package.people:
        for i, skill in enumerate(card.skills):
            if skill not in shelf:
                yield Finding(
                    card_file(card.id), ("skills", i), f"The skill `{skill}` has no pack in the folder `skills`."
                )
    for pack in package.skills:
        if not pack.description.strip():
            yield Finding(f"skills/{pack.name}/SKILL.md", (1,), "The pack's `description` is missing.")


def _lines(package: Package) -> Iterator[Finding]:
    """The reporting lines form one tree."""
    managers = {card.id: card.manager for card in package.people}
    heads = [card.id for card in package.people if not card.manager]
    for card in package.people:
        if card.manager and card.manager not in managers:
            yield Finding(card_file(card.id), ("manager",), f"The manager `{card.manager}` does not exist.")
            continue
        chain = [card.id]
        while (above := managers.get(chain[-1], "")) and above not in chain:
            chain.append(above)
        if above == card.id:
            path = " -> ".join((*chain, card.id))
            yield Finding(card_file(card.id), ("manager",), f"The reporting lines form a cycle: {path}.")
    for head in heads[1:]:
        yield Finding(
            card_file(head),
            ("manager",),
            f"`{head}` has no manager, as `{heads[0]}` has none: one person heads the office.",
        )
    if package.people and not heads:
        yield Finding("people", (), "Nobody heads the office: one person has no manager.")


def _authority(package: Package) -> Iterator[Finding]:
    for authority, meaning in NEEDED.items():
        if not any(authority in card.authority for card in package.people):
            yield Finding("people", (), f"Nobody may {meaning}: give someone the authority `{authority}`.")


# -- clients and matters ----------------------------------------------------------------------------------------------


def _clients(package: Package) -> Iterator[Finding]:
    clients = package.organization.clients
    yield from repeated(ORGANIZATION, ((("clients", i, "id"), c.id) for i, c in enumerate(clients)), "client id")
    yield from repeated(ORGANIZATION, ((("clients", i, "name"), c.name) for i, c in enumerate(clients)), "client name")
    staff = {card.id for card in package.people}
    contacts = [
        (("clients", i, "contacts", k), contact) for i, c in enumerate(clients) for k, contact in enumerate(c.contacts)
    ]
    yield from repeated(ORGANIZATION, (((*place, "id"), contact.id) for place, contact in contacts), "contact id")
    for i, client in enumerate(clients):
        yield from slug(ORGANIZATION, ("clients", i, "id"), client.id)
        if client.domain not in DOMAINS:
            yield Finding(
                ORGANIZATION, ("clients", i, "domain"), f"The domain `{client.domain}` is none of the known ones."
            )
        if not client.contacts:
            yield Finding(ORGANIZATION, ("clients", i), f"The client `{client.id}` has no contact.")
        if not any(matter.client == client.id for matter in package.organization.matters):
            yield Finding(ORGANIZATION, ("clients", i), f"There is no matter for the client `{client.id}`.")
    for place, contact in contacts:
        yield from slug(ORGANIZATION, (*place, "id"), contact.id)
        if contact.id in staff:
            yield Finding(ORGANIZATION, (*place, "id"), f"The contact id `{contact.id}` is that of a member of staff.")
        if contact.email and not _MAIL.fullmatch(contact.email):
            yield Finding(ORGANIZATION, (*place, "email"), f"The address `{contact.email}` is malformed.")


def _matters(package: Package) -> Iterator[Finding]:
    staff = {card.id: card for card in package.people}
    clients = {client.id for client in package.organization.clients}
    matters = package.organization.matters
    yield from repeated(ORGANIZATION, ((("matters", i, "id"), m.id) for i, m in enumerate(matters)), "matter id")
    yield from repeated(
        ORGANIZATION, ((("matters", i, "name"), folded(m.name)) for i, m in enumerate(matters)), "matter name"
    )
    for i, matter in enumerate(matters):
        place: Place = ("matters", i)
        yield from slug(ORGANIZATION, (*place, "id"), matter.id)
        if "/" in matter.name or bad_path(matter.name):
            yield Finding(ORGANIZATION, (*place, "name"), f"The name `{matter.name}` cannot be the name of a folder.")
        if matter.client and matter.client not in clients:
            yield Finding(ORGANIZATION, (*place, "client"), f"The client `{matter.client}` does not exist.")
        for k, member in enumerate(matter.members):
            if member not in staff:
                yield Finding(ORGANIZATION, (*place, "members", k), f"The member `{member}` is nobody of the staff.")
        if matter.lead not in matter.members:
            yield Finding(ORGANIZATION, (*place, "lead"), f"The lead `{matter.lead}` is not a member of the matter.")
        elif matter.lead in staff and "lead" not in staff[matter.lead].authority:
            yield Finding(ORGANIZATION, (*place, "lead"), f"The lead `{matter.lead}` has not the authority `lead`.")


RULES: dict[str, Rule] = {
    "organization": _organization,
    "names": _names,
    "calendar": _calendar,
    "departments": _departments,
    "people": _people,
    "skills": _skills,
    "lines": _lines,
    "authority": _authority,
    "clients": _clients,
    "matters": _matters,
    "entries": package_work_checks.entries,
    "demands": package_work_checks.demands,
    "materials": package_work_checks.materials,
    "audiences": package_work_checks.audiences,
    "records": package_work_checks.records,
    "systems": systems,
}
