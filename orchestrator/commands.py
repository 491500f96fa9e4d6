"""The commands that make, fork and move offices. `run` is in `running`, what only looks in `looking`."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path

from bench.worlds.systems import read_system
from orchestrator.compose import House
from orchestrator.connecting import GENERATOR
from orchestrator.moments import revision_at, whole_revision
from orchestrator.naming import find_file
from orchestrator.output import Out
from orchestrator.provenance import until
from services.packages.folder import check_folder, write_package
from services.packages.folder import seal as seal_package
from services.packages.generate import generate
from services.storage import archive
from services.storage.reader import JournalReader
from simulator.businesstime import calendar_for
from simulator.engine.history import as_of
from simulator.errors import PackageError, UsageError
from simulator.events import ActivationLanded, ActivationStarted, Event, OfficeForked, Switches, decode
from simulator.office import Office
from simulator.ports import Blob
from simulator.records import FileRef

ABLATIONS = ("reviews", "rights", "persistence")
_CHANGE_BYTES = 64_000_000

# -- packages ---------------------------------------------------------------------------------------------------------


def new(
    house: House, out: Out, brief: str, output: Path | None, people: int | None, clients: int | None, seed: int,
    materials: Path | None, check: bool = True,
) -> Path:  # fmt: skip
    """Make a package from a brief and write it into a folder that is new or empty.

    With `check`, the generator's endpoint is asked one tiny question first.
    """
    folder = output
    if folder is not None and folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is not an empty folder: name another with -o.")
    if check:
        house.check(GENERATOR, say=out.say)
    model = house.connect(say=out.say, roles=GENERATOR).model
    package = generate(brief, model, people, clients, seed, materials, lambda stage, text: out.say(f"{stage}: {text}"))
    folder = folder or _free(house.settings.packages, f"{_slug(package.organization.name)}-{seed}")
    write_package(package, folder)
    out.say(f"\n{package.organization.name}: {folder}")
    out.say(f"Next: officetown run {folder} --days 10 --follow")
    out.result({"package": str(folder)})
    return folder


def _free(folder: Path, name: str) -> Path:
    """Return a place of that name that nothing is in yet."""
    number, place = 1, folder / name
    while place.exists():
        number += 1
        place = folder / f"{name}-{number}"
    return place


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40] or "office"


def check(out: Out, package: Path, seal: bool) -> None:
    """Check a package; with `seal`, rewrite its manifest once it passes.

    Raises PackageError (exit 2) where it has faults, after each was told with file and line.
    """
    if seal:
        sealed = seal_package(package, systems=read_system)
        out.say(f"{package}: sealed, {len(sealed.files)} files.")
        out.result({"faults": []})
        return
    _, faults = check_folder(package, systems=read_system)
    for fault in faults:
        out.say(str(fault))
    out.result({"faults": [str(f) for f in faults]})
    if faults:
        count = "1 fault" if len(faults) == 1 else f"{len(faults)} faults"
        raise PackageError(
            f"{package}: {count}. Mend what is listed; `officetown check {package} --seal` accepts edits made on purpose."
        )
    out.say(f"{package}: no faults.")


# -- forking, packing, replaying ---------------------------------------------------------------------------------------


def fork(
    house: House, out: Out, reference: str, at: str, without: list[str], name: str, change: str = ""
) -> str:  # fmt: skip
    """Fork an office at a past moment; its first own event says from where, what was switched off, what was altered."""
    unknown = [w for w in without if w not in ABLATIONS]
    if unknown:
        raise UsageError(f"--without {unknown[0]}: write {', '.join(ABLATIONS[:-1])} or {ABLATIONS[-1]}.")
    row = house.row(reference)
    reader = house.offices.read(row.id)
    asked = revision_at(reader, at)
    revision = whole_revision(reader, asked)
    if revision != asked:
        out.say(f"Event {asked} is one of several that belong together: the fork begins after the last, {revision}.")
    office = as_of(reader, revision)
    altered = _altered(house, office, change) if change else (None, None)
    switches = Switches(**{ablation: ablation not in without for ablation in ABLATIONS})
    label = name or f"{row.name} fork {revision}" + (f" without {' '.join(without)}" if without else "")
    child = house.offices.fork(
        row.id, revision, label, int(time.time()), None, _before(reader, revision), until(row.status, revision)
    )
    event = Event(revision + 1, office.now, "engine", "fork", OfficeForked(row.id, revision, switches, *altered))
    journal = house.offices.open(child)
    try:
        journal.commit(event.revision, [event.encode()], {})
    finally:
        journal.close()
    out.say(f"Office {child} ({label}) forks from {row.name} at {calendar_for(office.calendar).describe(office.now)}.")
    out.say(f"Next: officetown run {child} --days N")
    out.result({"office": child, "revision": event.revision})
    return child


def _altered(house: House, office: Office, change: str) -> tuple[FileRef, Blob]:
    """Return the version that `PATH=FILE` names and its new bytes, which are in the store afterwards."""
    path, equals, source = change.rpartition("=")
    if not equals or not path or not source:
        raise UsageError(f"--change {change}: write PATH=FILE, a file of the office and the file with its new bytes.")
    ref = find_file(office, path)
    try:
        if Path(source).stat().st_size > _CHANGE_BYTES:
            raise UsageError(f"--change: {source} has more than {_CHANGE_BYTES} bytes.")
        data = Path(source).read_bytes()
    except OSError as error:
        raise UsageError(f"--change: {source} cannot be read ({error.strerror}).") from error
    return ref, house.blobs.put(data)


def _before(reader: JournalReader, revision: int) -> Callable[[str], bool]:
    """Return which activations' answers come along: those that had landed. What was running is asked anew."""
    started: set[str] = set()
    landed: set[str] = set()
    for _, data in reader.events(upto=revision):
        payload = decode(data).payload
        if isinstance(payload, ActivationStarted):
            started.add(payload.running.id)
        elif isinstance(payload, ActivationLanded):
            landed.add(payload.id)
    return (started & landed).__contains__


def pack(house: House, out: Out, reference: str, output: Path) -> None:
    """Pack an office into one file."""
    row = house.row(reference)
    archive.pack(house.offices, row.id, house.blobs, output)
    out.say(f"{row.name} is packed in {output} ({output.stat().st_size // 1024} KiB).")
    out.result({"office": row.id, "file": str(output)})


def unpack(house: House, out: Out, file: Path, name: str) -> None:
    """Unpack an office; a tampered or hostile file is refused."""
    office_id = archive.unpack(file, house.offices, house.blobs, name=name or None)
    row = house.row(office_id)
    out.say(f"Office {office_id} ({row.name}) is here: {row.head} events.")
    out.result({"office": office_id})
