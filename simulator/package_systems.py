"""Systems of record in a package: `systems/<id>/` with an environment, and `access.yaml`, which says who may use it.

What an environment is belongs to `bench.worlds`: its reader is passed in. Everything here is pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import msgspec

from simulator.package import Fault, Package, SystemPack
from simulator.package_findings import Finding, slug
from simulator.package_text import convert, read_document
from simulator.records import Level

SYSTEMS = "systems"
ACCESS = "access.yaml"
ENVIRONMENT = "environment.yaml"
FILES = frozenset({ACCESS, ENVIRONMENT, "tasks.yaml"})
"""What a system's folder may hold. Tasks are checked with their environment and never reach an office."""
MOST_SYSTEMS = 12


class SystemSource(msgspec.Struct, frozen=True):
    """What is read from an environment: its title, and its definition and first state as JSON with sorted keys."""

    title: str
    definition: bytes
    state: bytes


SystemReader = Callable[[str, Mapping[str, bytes]], tuple[SystemSource | None, list[Fault]]]
"""(system's id, the package's files) -> what its environment holds, and every fault of it."""


class AccessCard(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """access.yaml: who may use the system, and how confidential what it tells is."""

    audience: tuple[str, ...]
    level: Level = "internal"


def read_systems(files: Mapping[str, bytes], reader: SystemReader | None) -> tuple[tuple[SystemPack, ...], list[Fault]]:
    """Return a package's systems of record, by id, and what is wrong with their files."""
    packs: list[SystemPack] = []
    faults: list[Fault] = []
    names = sorted({path.split("/")[1] for path in files if path.startswith(f"{SYSTEMS}/") and path.count("/") > 1})
    for path in sorted(files):
        parts = path.split("/")
        if parts[0] == SYSTEMS and len(parts) > 1 and (len(parts) != 3 or parts[2] not in FILES):
            known = ", ".join(sorted(FILES))
            faults.append(Fault(path, 0, f"A system's folder holds {known} and nothing else. Remove the file."))
    for name in names:
        pack, found = _system(name, files, reader)
        faults += found
        packs += [pack] if pack is not None else []
    return tuple(packs), faults


def _system(name: str, files: Mapping[str, bytes], reader: SystemReader | None) -> tuple[SystemPack | None, list[Fault]]:
    access, environment = f"{SYSTEMS}/{name}/{ACCESS}", f"{SYSTEMS}/{name}/{ENVIRONMENT}"
    missing = [path for path in (access, environment) if path not in files]
    if missing:
        return None, [Fault(path, 0, f"The file is missing: the system `{name}` needs it.") for path in missing]
    if reader is None:
        return None, [Fault(environment, 0, "Nothing was given that reads environments here: use `officetown check`.")]
    document = read_document(access, files[access])
    card = convert(document, document.data, AccessCard, ())
    source, faults = reader(name, files)
    if card is None or source is None:
        return None, [*document.faults, *faults]
    pack = SystemPack(name, source.title, card.audience, card.level, source.definition, source.state)
    return pack, [*document.faults, *faults]


def systems(package: Package) -> Iterator[Finding]:
    """Yield what is wrong with systems within their package: ids and audiences."""
    organization = package.organization
    clients = {matter.id for matter in organization.matters if matter.client}
    known = {"everyone", *(f"person:{card.id}" for card in package.people)}
    known |= {f"department:{one.id}" for one in organization.departments} | {f"matter:{one.id}" for one in organization.matters}
    if len(package.systems) > MOST_SYSTEMS:
        first = f"{SYSTEMS}/{package.systems[MOST_SYSTEMS].id}/{ACCESS}"
        yield Finding(first, (), f"There are {len(package.systems)} systems; {MOST_SYSTEMS} is the most.")
    for pack in package.systems:
        file = f"{SYSTEMS}/{pack.id}/{ACCESS}"
        yield from slug(file, (), pack.id)
        if not pack.audience:
            yield Finding(file, ("audience",), "Nobody may use the system: name an audience, or remove it.")
        for k, audience in enumerate(pack.audience):
            if audience not in known:
                text = f"The audience `{audience}` does not exist: everyone, or a person, department or matter of the firm."
                yield Finding(file, ("audience", k), text)
            elif audience.removeprefix("matter:") in clients and len(pack.audience) > 1:
                text = f"`{audience}` is a client's matter, which is a wall: the system can be for nobody else besides."
                yield Finding(file, ("audience", k), text)
