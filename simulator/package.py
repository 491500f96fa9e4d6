"""A package: the folder an office is made from, read into memory, and the opening events it gives (DESIGN 11).

Everything here is pure. `services.packages` reads and writes folders; `simulator.package_text` turns file bytes into a
`Package` and back; `simulator.package_checks` says what does not hold together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date, datetime
from functools import cached_property
from typing import Any, Literal

import msgspec

from simulator.businesstime import calendar_for
from simulator.canonical import canonical, sha256
from simulator.events import (
    ENGINE_VERSION,
    CalendarRules,
    ClientAdded,
    DemandSet,
    DepartmentAdded,
    EntryScheduled,
    FileSaved,
    FileShared,
    MatterOpened,
    MemoryLimits,
    OfficeOpened,
    Pace,
    Payload,
    PersonAdded,
    RoomOpened,
    SkillShelved,
    SystemAdded,
)
from simulator.ports import BlobStore
from simulator.records import (
    CalendarEntry,
    Client,
    Demand,
    Department,
    FileVersion,
    Grant,
    Level,
    Matter,
    Person,
    Room,
    SystemOfRecord,
)

FORMAT = 1
ORGANIZATION = "organization.yaml"
RHYTHMS = "rhythms.yaml"
MATERIALS = "materials/materials.yaml"
PROVENANCE = "provenance.json"
MANIFEST = "manifest.json"
GENESIS = "genesis"
"""The activation that the opening events name as their cause."""

Provenance = Literal["retrieved", "adapted", "synthetic"]
Records = Literal["", "trial-balance", "journal", "bank", "ledger", "invoices", "statement", "timesheets"]

MEDIA_TYPES = {
    ".csv": "text/csv",
    ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ".json": "application/json",
    ".md": "text/markdown",
    ".pdf": "application/pdf",
    ".png": "image/png",
    ".pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    ".txt": "text/plain",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ".yaml": "application/yaml",
}


class Fault(msgspec.Struct, frozen=True, order=True):
    """Something that does not hold together: a complete sentence, where it stands, and what to do. `line` 0: the
    whole file."""

    file: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text}" if self.line else f"{self.file}: {self.text}"


class Contact(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A client's person, as written under its client."""

    id: str
    name: str
    title: str = ""
    email: str = ""
    style: str = ""


class ClientCard(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A client, as written in organization.yaml."""

    id: str
    name: str
    sector: str = ""
    domain: str = "general"
    contacts: tuple[Contact, ...] = ()


class MatterCard(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A matter, as written in organization.yaml."""

    id: str
    name: str
    client: str = ""
    lead: str = ""
    members: tuple[str, ...] = ()


class DepartmentCard(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    id: str
    name: str
    purpose: str = ""


class RoleCard(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One member of staff: `people/<id>.yaml`. `code` is an O*NET-SOC code; `manager` is empty for the head alone."""

    id: str
    name: str
    title: str
    code: str
    department: str
    manager: str = ""
    authority: tuple[str, ...] = ()
    clearance: Level = "internal"
    skills: tuple[str, ...] = ()
    style: str = ""
    email: str = ""


class RhythmCard(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A recurring calendar entry. `first` is local time, `YYYY-MM-DD HH:MM`; `rule` an RFC 5545 RRULE value or
    empty."""

    id: str
    title: str
    organizer: str
    attendees: tuple[str, ...]
    first: str
    minutes: int
    kind: Literal["meeting", "rhythm", "deadline", "focus"] = "meeting"
    agenda: str = ""
    rule: str = ""
    matter: str = ""
    work: str = ""


class DemandCard(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A client's recurring need, as `simulator.records.Demand`."""

    id: str
    contact: str
    matter: str
    kind: str
    cadence: Literal["monthly", "fortnightly", "weekly"] = "monthly"
    day: int = 2
    jitter_days: int = 2


class Material(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What materials.yaml says of one seed document.

    `file` is its name below `materials/`; `space` and `path` where the office keeps it; `audience` who is given it (by
    default those of the space); `records` and `period` (`YYYY-MM`) name what its rows must add up to; `ties` the
    invoices that a statement repeats.
    """

    file: str
    space: str
    path: str
    owner: str
    provenance: Provenance
    matter: str = ""
    level: Level = "internal"
    audience: tuple[str, ...] | None = None
    walls: tuple[str, ...] | None = None
    records: Records = ""
    period: str = ""
    ties: str = ""
    source: str = ""

    @property
    def source_path(self) -> str:
        """The file's path in the package."""
        return f"materials/{self.file}"


class SkillPack(msgspec.Struct, frozen=True):
    """A skill pack: `paths` are the package paths of its files, in order."""

    name: str
    description: str
    paths: tuple[str, ...]


class SystemPack(msgspec.Struct, frozen=True):
    """A system of record, read: who may use it, and its definition and first state as JSON."""

    id: str
    title: str
    audience: tuple[str, ...]
    level: Level
    definition: bytes
    state: bytes


class Organization(msgspec.Struct, frozen=True):
    """organization.yaml, read."""

    name: str
    start: date
    calendar: CalendarRules
    departments: tuple[DepartmentCard, ...]
    clients: tuple[ClientCard, ...]
    matters: tuple[MatterCard, ...]
    brief: str = ""
    domain: str = "general"
    placement: str = ""
    currency: str = "USD"
    pace: Pace = Pace()
    memory: MemoryLimits = MemoryLimits()
    compaction_chars: int = 240_000
    turn_limit: int = 24


class Package(msgspec.Struct, frozen=True, dict=True):
    """A package in memory: its parsed parts, and all its files but the manifest as bytes by path."""

    organization: Organization
    people: tuple[RoleCard, ...]
    skills: tuple[SkillPack, ...]
    materials: tuple[Material, ...]
    rhythms: tuple[RhythmCard, ...]
    demands: tuple[DemandCard, ...]
    files: Mapping[str, bytes]
    systems: tuple[SystemPack, ...] = ()

    @cached_property
    def manifest(self) -> dict[str, str]:
        """SHA-256 of every file but the manifest, by path, in order."""
        return {path: sha256(self.files[path]) for path in sorted(self.files)}

    @cached_property
    def digest(self) -> str:
        """The package's identity (RULE 1): SHA-256 over its manifest."""
        return sha256(canonical({"format": FORMAT, "files": self.manifest}))

    @property
    def opens_at(self) -> int:
        """The office's first instant: local midnight of its start date, in seconds since the epoch."""
        return calendar_for(self.organization.calendar).at(self.organization.start.isoformat(), 0)


def media_type(path: str) -> str:
    """Return the media type that a file's name promises."""
    dot = path.rfind(".")
    return MEDIA_TYPES.get(path[dot:].lower() if dot > 0 else "", "application/octet-stream")


def default_audience(space: str) -> tuple[str, ...]:
    """Who is given a seed document when materials.yaml does not say: those whose space it is; nobody for a home."""
    return {"company": ("everyone",), "matter": (space,), "department": (space,)}.get(space.partition(":")[0], ())


def walls_of(material: Material, organization: Organization) -> tuple[str, ...]:
    """The walls of a seed document: as written, else its matter when that has a client."""
    if material.walls is not None:
        return material.walls
    client_matters = {matter.id for matter in organization.matters if matter.client}
    return (material.matter,) if material.matter in client_matters else ()


def seed_file_id(space: str, path: str) -> str:
    """The id of a seed document. It follows from its own place alone, so it tells nothing of others (RULE 8)."""
    return f"{GENESIS}.{sha256(f'{space}/{path}'.encode())[:12]}"


# -- the opening events -----------------------------------------------------------------------------------------------

Opening = tuple[str, Payload]
"""(actor, payload)."""


def genesis(package: Package, seed: int, blobs: BlobStore, start: int | None = None) -> list[Opening]:
    """Return the office's opening events in their fixed order, having put every file's bytes into `blobs`.

    `start` is the instant they carry, in seconds since the epoch; by default `package.opens_at`. The package must have
    passed `simulator.package_checks.check`.
    """
    at = package.opens_at if start is None else start
    payloads = [
        _opened(package, seed),
        *_structure(package),
        *_skills(package, blobs),
        *_rooms(package),
        *_files(package, blobs, at),
        *_rhythms(package),
        *_systems(package, blobs),
    ]
    return [("engine", payload) for payload in payloads]


def _opened(package: Package, seed: int) -> OfficeOpened:
    organization = package.organization
    return OfficeOpened(
        name=organization.name,
        package=package.digest,
        seed=seed,
        engine=ENGINE_VERSION,
        calendar=organization.calendar,
        brief=organization.brief,
        domain=organization.domain,
        pace=organization.pace,
        memory=organization.memory,
        compaction_chars=organization.compaction_chars,
        turn_limit=organization.turn_limit,
        currency=organization.currency,
    )


def _structure(package: Package) -> Iterator[Payload]:
    organization = package.organization
    for department in organization.departments:
        yield DepartmentAdded(Department(department.id, department.name, department.purpose))
    for card in package.people:
        fields: dict[str, Any] = msgspec.structs.asdict(card)
        yield PersonAdded(Person(**fields, kind="staff", session=f"session-{card.id}"))
    for client in organization.clients:
        yield ClientAdded(Client(client.id, client.name, client.sector, client.domain))
        for contact in client.contacts:
            yield PersonAdded(
                Person(
                    id=contact.id,
                    name=contact.name,
                    title=contact.title,
                    kind="client",
                    clearance="public",
                    style=contact.style,
                    email=contact.email,
                    client=client.id,
                    session=f"session-{contact.id}",
                )
            )
    for matter in organization.matters:
        yield MatterOpened(Matter(matter.id, matter.name, matter.client, matter.lead, matter.members))


def _skills(package: Package, blobs: BlobStore) -> Iterator[Payload]:
    for pack in package.skills:
        prefix = len(f"skills/{pack.name}/")
        # The mode follows from the bytes, so that it is the same on every machine that holds the same package.
        files = tuple(
            (path[prefix:], blobs.put(data), 0o755 if data.startswith(b"#!") else 0o644)
            for path, data in ((path, package.files[path]) for path in pack.paths)
        )
        yield SkillShelved(pack.name, pack.description, files)


def _rooms(package: Package) -> Iterator[Payload]:
    staff = tuple(card.id for card in package.people)
    yield RoomOpened(Room("room-general", "general", "channel", staff))
    for department in package.organization.departments:
        members = tuple(card.id for card in package.people if card.department == department.id)
        if len(members) >= 2:
            yield RoomOpened(Room(f"room-department-{department.id}", department.name, "channel", members))
    for matter in package.organization.matters:
        yield RoomOpened(Room(f"room-matter-{matter.id}", matter.name, "matter", matter.members, matter.id))


def _files(package: Package, blobs: BlobStore, at: int) -> Iterator[Payload]:
    for material in package.materials:
        file = seed_file_id(material.space, material.path)
        version = FileVersion(
            number=1,
            blob=blobs.put(package.files[material.source_path]),
            media_type=media_type(material.path),
            author=material.owner,
            activation=GENESIS,
            at=at,
            level=material.level,
            walls=walls_of(material, package.organization),
        )
        yield FileSaved(file, material.space, material.path, material.owner, material.matter, version)
        audiences = default_audience(material.space) if material.audience is None else material.audience
        for audience in audiences:
            grant = f"{GENESIS}.{sha256(f'{file}/{audience}'.encode())[:12]}"
            yield FileShared(Grant(grant, file, 1, audience, material.owner, at, "material of the package"))


def _rhythms(package: Package) -> Iterator[Payload]:
    calendar = calendar_for(package.organization.calendar)
    for demand in package.demands:
        yield DemandSet(Demand(**msgspec.structs.asdict(demand)))
    for card in package.rhythms:
        fields: dict[str, Any] = msgspec.structs.asdict(card)
        first = datetime.fromisoformat(fields.pop("first"))
        fields["id"] = f"entry-{card.id}"
        yield EntryScheduled(CalendarEntry(**fields, start=calendar.instant(first)))


def _systems(package: Package, blobs: BlobStore) -> Iterator[Payload]:
    for pack in package.systems:
        definition, state = blobs.put(pack.definition), blobs.put(pack.state)
        yield SystemAdded(SystemOfRecord(pack.id, pack.title, pack.audience, definition, state, pack.level))
