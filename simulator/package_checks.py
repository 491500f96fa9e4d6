"""What a package must hold together in: every fault with file and line, in complete sentences (DESIGN 11).

Each rule is a generator of findings over a `Package`; `RULES` names them, so that the stages of generation can ask
for those that their part must satisfy. Lines are looked up only where something was found.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import date, datetime

import msgspec

from simulator.businesstime import BusinessCalendar
from simulator.canonical import clean_name
from simulator.errors import UsageError
from simulator.package import (
    MATERIALS,
    ORGANIZATION,
    RHYTHMS,
    Fault,
    Package,
    RhythmCard,
    default_audience,
    walls_of,
)
from simulator.package_records import check_records
from simulator.package_text import Place, is_card, parse, read_document
from simulator.recurrence import check_rule

FILE_BYTES = 20_000_000
PACKAGE_BYTES = 500_000_000
PACKAGE_FILES = 20_000
PATH_CHARS = 240
AUTHORITIES = ("delegate", "request", "accept", "quality_signoff", "client_release", "classify", "lead")
NEEDED = {
    "delegate": "delegate work to assistants",
    "accept": "accept work",
    "quality_signoff": "sign off quality",
    "client_release": "release work to a client",
}
DOMAINS = ("finance", "legal", "clinical", "quality", "software", "design", "general")
RESERVED = frozenset({"engine", "assistant", "genesis", "everyone", "company"})
PEOPLE = (3, 1000)
YEARS = (1990, 2100)
_SLUG = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_CODE = re.compile(r"\d\d-\d{4}\.\d\d")
_MAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")
_MONTH = re.compile(r"\d{4}-(0[1-9]|1[0-2])")


class Finding(msgspec.Struct, frozen=True):
    """A fault before its line is known: `place` is where it stands in the YAML file."""

    file: str
    place: Place
    text: str


Rule = Callable[[Package], Iterator[Finding]]


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


def check_files(files: Mapping[str, bytes], codes: Collection[str] | None = None) -> tuple[Package | None, list[Fault]]:
    """Parse and check a package's files. The package is None when it cannot be read as one."""
    faults = list(check_paths(files))
    package, unreadable = parse(files)
    faults.extend(unreadable)
    if package is not None:
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


# -- paths and bytes --------------------------------------------------------------------------------------------------


def bad_path(path: str) -> str:
    """Return what is wrong with a relative path, as the end of a sentence; empty when nothing is."""
    if not path:
        return "is empty"
    if path.startswith("/") or "\\" in path or re.match(r"[A-Za-z]:", path):
        return "is absolute or uses `\\`; paths are relative, with `/`"
    parts = path.split("/")
    if ".." in parts:
        return "leaves its folder with `..`"
    if "" in parts or "." in parts:
        return "has an empty part or a `.`"
    if any(ord(ch) < 32 or ch == "\x7f" or "\ud800" <= ch <= "\udfff" for ch in path):
        return "holds a control character or a byte that is no text"
    if any(part != part.strip() or part.endswith(".") for part in parts):
        return "has a part that begins or ends with a space, or ends with a dot"
    if unicodedata.normalize("NFC", path) != path:
        return "is not in Unicode form NFC, so two systems would write it differently"
    return f"is longer than {PATH_CHARS} characters" if len(path) > PATH_CHARS else ""


def _folded(path: str) -> str:
    return unicodedata.normalize("NFC", path).casefold()


def check_paths(files: Mapping[str, bytes]) -> Iterator[Fault]:
    """Yield the faults of names and sizes."""
    seen: dict[str, str] = {}
    for path in sorted(files):
        if problem := bad_path(path):
            yield Fault(path.encode("utf-8", "replace").decode(), 0, f"The path {problem}.")
        other = seen.setdefault(_folded(path), path)
        if other != path:
            yield Fault(path, 0, f"The path differs from `{other}` only in case or Unicode form.")
        if len(files[path]) > FILE_BYTES:
            yield Fault(path, 0, f"The file has {len(files[path])} bytes; {FILE_BYTES} are allowed.")
        top = path.split("/", 1)[0]
        if "/" in path and top not in ("people", "skills", "materials"):
            yield Fault(path, 0, f"A package has no folder `{top}`. Move the file to materials or remove it.")
        elif top == "people" and not is_card(path):
            yield Fault(path, 0, "The folder `people` holds role cards alone, one `<id>.yaml` each.")


# -- structure --------------------------------------------------------------------------------------------------------


def _slug(file: str, place: Place, value: str) -> Iterator[Finding]:
    if not _SLUG.fullmatch(value) or len(value) > 40:
        yield Finding(
            file, place, f"The id `{value}` is not lower-case letters, digits and single hyphens (40 at most)."
        )
    elif value in RESERVED:
        yield Finding(file, place, f"The id `{value}` is reserved.")


def _repeated(file: str, places: Iterable[tuple[Place, str]], what: str) -> Iterator[Finding]:
    seen: set[str] = set()
    for place, value in places:
        if value in seen:
            yield Finding(file, place, f"The {what} `{value}` is used twice.")
        seen.add(value)


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
    yield from _repeated(
        ORGANIZATION, ((("departments", i, "id"), d.id) for i, d in enumerate(departments)), "department id"
    )
    for i, department in enumerate(departments):
        yield from _slug(ORGANIZATION, ("departments", i, "id"), department.id)
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


def card_file(person: str) -> str:
    """The package path of a person's role card."""
    return f"people/{person}.yaml"


def _people(package: Package) -> Iterator[Finding]:
    departments = {department.id for department in package.organization.departments}
    low, high = PEOPLE
    if not low <= len(package.people) <= high:
        yield Finding("people", (), f"There are {len(package.people)} people; an office has {low} to {high}.")
    names = Counter(card.name for card in package.people)
    mails = Counter(card.email for card in package.people if card.email)
    for card in package.people:
        file = card_file(card.id)
        yield from _slug(file, ("id",), card.id)
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
    yield from _repeated(ORGANIZATION, ((("clients", i, "id"), c.id) for i, c in enumerate(clients)), "client id")
    yield from _repeated(ORGANIZATION, ((("clients", i, "name"), c.name) for i, c in enumerate(clients)), "client name")
    staff = {card.id for card in package.people}
    contacts = [
        (("clients", i, "contacts", k), contact) for i, c in enumerate(clients) for k, contact in enumerate(c.contacts)
    ]
    yield from _repeated(ORGANIZATION, (((*place, "id"), contact.id) for place, contact in contacts), "contact id")
    for i, client in enumerate(clients):
        yield from _slug(ORGANIZATION, ("clients", i, "id"), client.id)
        if client.domain not in DOMAINS:
            yield Finding(
                ORGANIZATION, ("clients", i, "domain"), f"The domain `{client.domain}` is none of the known ones."
            )
        if not client.contacts:
            yield Finding(ORGANIZATION, ("clients", i), f"The client `{client.id}` has no contact.")
        if not any(matter.client == client.id for matter in package.organization.matters):
            yield Finding(ORGANIZATION, ("clients", i), f"There is no matter for the client `{client.id}`.")
    for place, contact in contacts:
        yield from _slug(ORGANIZATION, (*place, "id"), contact.id)
        if contact.id in staff:
            yield Finding(ORGANIZATION, (*place, "id"), f"The contact id `{contact.id}` is that of a member of staff.")
        if contact.email and not _MAIL.fullmatch(contact.email):
            yield Finding(ORGANIZATION, (*place, "email"), f"The address `{contact.email}` is malformed.")


def _matters(package: Package) -> Iterator[Finding]:
    staff = {card.id: card for card in package.people}
    clients = {client.id for client in package.organization.clients}
    matters = package.organization.matters
    yield from _repeated(ORGANIZATION, ((("matters", i, "id"), m.id) for i, m in enumerate(matters)), "matter id")
    yield from _repeated(
        ORGANIZATION, ((("matters", i, "name"), _folded(m.name)) for i, m in enumerate(matters)), "matter name"
    )
    for i, matter in enumerate(matters):
        place: Place = ("matters", i)
        yield from _slug(ORGANIZATION, (*place, "id"), matter.id)
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


# -- rhythms ----------------------------------------------------------------------------------------------------------


def _entries(package: Package) -> Iterator[Finding]:
    yield from _repeated(RHYTHMS, ((("entries", i, "id"), e.id) for i, e in enumerate(package.rhythms)), "entry id")
    staff = {card.id for card in package.people}
    matters = {matter.id: matter for matter in package.organization.matters}
    for i, entry in enumerate(package.rhythms):
        place: Place = ("entries", i)
        yield from _slug(RHYTHMS, (*place, "id"), entry.id)
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


def _demands(package: Package) -> Iterator[Finding]:
    yield from _repeated(RHYTHMS, ((("demands", i, "id"), d.id) for i, d in enumerate(package.demands)), "demand id")
    contact_of = {contact.id: client.id for client in package.organization.clients for contact in client.contacts}
    client_of = {matter.id: matter.client for matter in package.organization.matters}
    for i, demand in enumerate(package.demands):
        place: Place = ("demands", i)
        yield from _slug(RHYTHMS, (*place, "id"), demand.id)
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


def _materials(package: Package) -> Iterator[Finding]:
    places = _places(package)
    spaces = {"company", *(f"home:{p}" for p in places["person"])}
    spaces |= {f"{kind}:{one}" for kind in ("department", "matter") for one in places[kind]}
    audiences = {"everyone", *(f"{kind}:{one}" for kind, ids in places.items() for one in ids)}
    listed = [(("files", i, "file"), m.file) for i, m in enumerate(package.materials)]
    yield from _repeated(MATERIALS, listed, "material")
    targets = [(("files", i, "path"), f"{m.space}/{_folded(m.path)}") for i, m in enumerate(package.materials)]
    yield from _repeated(MATERIALS, targets, "place in the office")
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


def _audiences(package: Package) -> Iterator[Finding]:
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


def _records(package: Package) -> Iterator[Finding]:
    for file, line, text in check_records(package.materials, package.files):
        yield Finding(file, (line,), text)


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
    "entries": _entries,
    "demands": _demands,
    "materials": _materials,
    "audiences": _audiences,
    "records": _records,
}
