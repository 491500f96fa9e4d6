"""New offices from a browser: from a package that is here, or from a brief; forks; frozen tasks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec

from orchestrator import commands, tasks
from orchestrator.compose import House
from orchestrator.web.book import Book
from orchestrator.web.errors import Conflicting
from orchestrator.web.jobs import Heard, Job, Jobs
from orchestrator.web.offices import RunAsked, Town
from orchestrator.web.queries.offices import OfficeLine, line
from simulator.canonical import clean_name
from simulator.errors import UnknownReference, UsageError

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
_BRIEF = 4_000
_WAIT_S = 3.0
Name = Annotated[str, msgspec.Meta(max_length=200)]
Seed = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


class PackageLine(msgspec.Struct, frozen=True):
    """A package that an office can be made from. `name` is what a call says; `folder` is where it is."""

    name: str
    folder: str


class FoundAsked(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A new office: from `package`, one of those listed, or from a `brief`, which takes a while. `run` starts it at once."""

    package: Name = ""
    brief: Annotated[str, msgspec.Meta(max_length=_BRIEF)] = ""
    name: Name = ""
    seed: Seed = 0
    people: Annotated[int, msgspec.Meta(ge=2, le=1_000)] | None = None
    clients: Annotated[int, msgspec.Meta(ge=0, le=200)] | None = None
    run: RunAsked | None = None


class ForkAsked(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A fork at a moment, whole or without `reviews`, `rights` or `persistence`."""

    at: Annotated[str, msgspec.Meta(min_length=1, max_length=40)]
    without: tuple[Name, ...] = ()
    name: Name = ""


class FreezeAsked(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What to freeze: one delegation, as ID or ID.ROUND, or so many diverse rounds that pass audit and calibration."""

    delegation: Annotated[str, msgspec.Meta(max_length=300)] = ""
    select: Annotated[int, msgspec.Meta(ge=0, le=1_000)] = 0


def packages(house: House) -> tuple[PackageLine, ...]:
    """Return the packages of this installation: those that were made here, and those that came with it."""
    found: dict[str, Path] = {}
    for root in (FIXTURES, house.settings.packages):
        if root.is_dir():
            found |= {f.name: f for f in sorted(root.iterdir()) if (f / "organization.yaml").is_file()}
    return tuple(PackageLine(name, str(folder)) for name, folder in sorted(found.items()))


def found(house: House, town: Town, jobs: Jobs, asked: FoundAsked) -> Job:
    """Make an office, as a job whose result names it. Raises UsageError or UnknownReference for what cannot be made."""
    if bool(asked.package) == bool(asked.brief.strip()):
        raise UsageError("Say what to make it from: a package, or a brief.")
    if asked.name and not clean_name(asked.name):
        raise UsageError("An office's name has letters or digits.")
    folder = _folder(house, asked.package) if asked.package else None

    def work(heard: Heard) -> None:
        place = folder or commands.new(house, heard, asked.brief, None, asked.people, asked.clients, asked.seed, None)
        package = house.package(str(place))
        office = house.found(package, asked.name or package.organization.name, asked.seed)
        heard.say(f"Office {office} is here.")
        heard.result({"office": office, "package": place.name})
        if asked.run is not None:
            town.start(house.offices.find(office), asked.run)

    return jobs.start(f"make an office from {asked.package or 'a brief'}", work, _WAIT_S)


def _folder(house: House, name: str) -> Path:
    for package in packages(house):
        if package.name == name:
            return Path(package.folder)
    known = ", ".join(p.name for p in packages(house)) or "none"
    raise UnknownReference(f"There is no package {name[:80]!r} here. There are: {known}.")


def fork(house: House, book: Book, asked: ForkAsked) -> OfficeLine:
    """Fork an office at a past moment."""
    revision = book.timeline.revision_at(asked.at)
    without = list(dict.fromkeys(asked.without))
    child = commands.fork(house, Heard(), book.id, str(revision), without, clean_name(asked.name))
    return line(house.offices.find(child), running=False)


def freeze(house: House, jobs: Jobs, office_id: str, asked: FreezeAsked) -> Job:
    """Freeze delegated work into the home's `snapshots` folder, as a job whose result names the snapshots."""
    if bool(asked.delegation) == bool(asked.select):
        raise UsageError("Say what to freeze: a delegation, or how many to select.")
    folder = house.settings.home / "snapshots" / office_id
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise Conflicting(f"The folder {folder} cannot be made ({fault.strerror}).") from fault

    def work(heard: Heard) -> None:
        made = tasks.freeze(house, heard, office_id, folder, asked.delegation, asked.select)
        heard.result({"snapshots": [Path(info.folder).name for info in made], "folder": str(folder)})

    return jobs.start(f"freeze {asked.delegation or f'{asked.select} rounds'}", work, _WAIT_S)
