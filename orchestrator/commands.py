"""The commands that make, run and move offices."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from orchestrator.compose import House, end_of
from orchestrator.log_hash import log_hash
from orchestrator.moments import revision_at
from orchestrator.output import Out
from orchestrator.progress import Counts, Progress
from services.models.ledger import Budget
from services.packages.folder import check_folder, write_package
from services.packages.folder import seal as seal_package
from services.packages.generate import generate
from services.storage import archive
from services.storage.collect import collect
from services.storage.reader import JournalReader
from simulator.businesstime import calendar_for
from simulator.clock import AdaptiveClock
from simulator.engine.environment import Pacer, Settings, Unpaced
from simulator.engine.history import walk
from simulator.engine.loop import Engine
from simulator.errors import OfficeTownError, PackageError, SandboxUnavailable, UsageError
from simulator.events import ActivationLanded, ActivationStarted, Event, OfficeForked, Switches, decode
from simulator.fold import apply
from simulator.office import Office


class RunOptions(msgspec.Struct, frozen=True):
    """The options of `run`."""

    name: str = ""
    days: int = 5
    seed: int = 0
    speed: str = "max"
    follow: bool = False
    budget: float | None = None
    concurrency: int = 6
    workers: int = 4
    sandbox: str = "auto"


# -- packages ---------------------------------------------------------------------------------------------------------


def new(
    house: House, out: Out, brief: str, output: Path | None, people: int | None, clients: int | None, seed: int,
    materials: Path | None,
) -> Path:  # fmt: skip
    """Make a package from a brief and write it into a folder that is new or empty."""
    model, _ = house.model()
    package = generate(brief, model, people, clients, seed, materials, lambda stage, text: out.say(f"{stage}: {text}"))
    folder = output or house.settings.packages / f"{_slug(package.organization.name)}-{seed}"
    if folder.exists() and any(folder.iterdir()):
        raise UsageError(f"{folder} is not empty: name another folder with -o.")
    write_package(package, folder)
    out.say(f"\n{package.organization.name}: {folder}")
    out.say(f"Next: officetown run {folder} --days 10 --follow")
    out.result({"package": str(folder)})
    return folder


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40] or "office"


def check(out: Out, package: Path, seal: bool) -> None:
    """Check a package; with `seal`, rewrite its manifest once it passes."""
    if seal:
        sealed = seal_package(package)
        out.say(f"{package}: sealed, {len(sealed.files)} files.")
        out.result({"faults": [], "sealed": True})
        return
    _, faults = check_folder(package)
    for fault in faults:
        out.say(str(fault))
    out.result({"faults": [str(f) for f in faults]})
    if faults:
        raise PackageError(f"{package}: {len(faults)} faults. Mend them, then `officetown check {package} --seal`.")
    out.say(f"{package}: no faults.")


# -- running ----------------------------------------------------------------------------------------------------------


def run(house: House, out: Out, reference: str, options: RunOptions) -> dict[str, object]:
    """Run a new office from a package, or go on with one, up to the end of day number `days`."""
    budget = Budget(round(options.budget * 1_000_000)) if options.budget is not None else None
    model, worst_case = house.model(budget)
    sandboxes = house.sandboxes(options.sandbox)
    if house.is_package(reference):
        package = house.package(reference)
        office_id = house.found(package, options.name or package.organization.name, options.seed)
        out.say(f"Office {office_id} ({package.organization.name}) opens.")
    else:
        office_id = house.row(reference).id
    row = house.row(office_id)
    counts = Counts()
    for event, office in walk(house.offices.read(row.id)):
        counts.event(event, office)
    until = end_of(house.office(row), options.days)
    progress = Progress(out, until, options.follow, counts, time.monotonic)
    settings = Settings(concurrency=options.concurrency, workers=options.workers)
    started = time.monotonic()
    with house.running(row, model, sandboxes, settings, (progress,), _pacer(options.speed), worst_case) as engine:
        restore = _stop_on_signals(engine, out)
        try:
            office = engine.run(until)
        except OfficeTownError:
            out.say(f"Stopped at a commit. Go on with: officetown run {row.id} --days {options.days}")
            raise
        finally:
            restore()
        stopped = engine.stopped_early
    result = _result(house, office_id, office, counts, options.days, until)
    if stopped:
        out.say(f"\nStopped at a commit, {calendar_for(office.calendar).describe(office.now)}. Nothing is lost.")
        out.say(f"Go on with: officetown run {office_id} --days {options.days}")
    else:
        _summary(out, office, counts, time.monotonic() - started, options.days)
    out.result(result)
    return result


def _result(house: House, office_id: str, office: Office, counts: Counts, days: int, until: int) -> dict[str, object]:
    reader = house.offices.read(office_id)
    charged = reader.charged_micros()
    calendar = calendar_for(office.calendar)
    return {
        "office": office_id, "revision": office.revision, "sim_time": f"{calendar.local(office.now):%Y-%m-%dT%H:%M:%S%z}",
        "days": days, "counts": counts.as_json(office), "cost": {"micros": charged, "currency": office.currency},
        "hash": log_hash(reader),
    }  # fmt: skip


def _summary(out: Out, office: Office, counts: Counts, seconds: float, days: int) -> None:
    r = counts.reviews
    out.say(f"\n{office.name} after {days} days, in {seconds:.0f} s:")
    out.say(
        f"  {counts.activations} activations, {counts.messages} messages, {counts.mails} mails, {counts.meetings} meetings,\n"
        f"  {counts.delegations} delegations, {counts.questions} questions by assistants, reviews: {r['accept']} accepted, "
        f"{r['revise']} sent back, {r['supplement']} supplemented,\n"
        f"  {len(office.files)} files in {counts.versions} versions, {counts.conflicts} conflicts handled."
    )


def _pacer(speed: str) -> Callable[[Office], Pacer]:
    if speed == "max":
        return lambda office: Unpaced()
    if not speed.isdigit() or not 1 <= int(speed) <= 120:
        raise UsageError(f"--speed {speed}: write max, or 1 to 120 simulated seconds a real second.")
    return lambda office: AdaptiveClock(
        calendar_for(office.calendar), office.now, time.monotonic, time.sleep, int(speed)
    )


def _stop_on_signals(engine: Engine, out: Out) -> Callable[[], None]:
    """Stop at the next commit on Ctrl-C and SIGTERM; a second Ctrl-C leaves at once (nothing committed is lost)."""
    before = {}

    def stop(number: int, frame: object) -> None:
        out.say("Stopping at the next commit ...")
        engine.stop()
        signal.signal(signal.SIGINT, signal.default_int_handler)

    for number in (signal.SIGINT, signal.SIGTERM):
        before[number] = signal.signal(number, stop)

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    return restore


# -- forking, packing, replaying ---------------------------------------------------------------------------------------


def fork(house: House, out: Out, reference: str, at: str, without: list[str], name: str) -> str:
    """Fork an office at a past moment; its first own event says from where and what was switched off."""
    unknown = [w for w in without if w not in ("reviews", "rights", "persistence")]
    if unknown:
        raise UsageError(f"--without {unknown[0]}: write reviews, rights or persistence.")
    row = house.row(reference)
    reader = house.offices.read(row.id)
    revision = revision_at(reader, at)
    switches = Switches("reviews" not in without, "rights" not in without, "persistence" not in without)
    label = name or f"{row.name} fork {revision}" + (f" without {' '.join(without)}" if without else "")
    child = house.offices.fork(row.id, revision, label, int(time.time()), keep_tape=_before(reader, revision))
    journal = house.offices.open(child)
    try:
        office = Office()
        for _, data in journal.events():
            office = apply(office, decode(data))
        event = Event(office.revision + 1, office.now, "engine", "fork", OfficeForked(row.id, revision, switches))
        journal.commit(event.revision, [event.encode()], {})
    finally:
        journal.close()
    out.say(f"Office {child} ({label}) forks from {row.name} at {calendar_for(office.calendar).describe(office.now)}.")
    out.say(f"Next: officetown run {child} --days N")
    out.result({"office": child, "revision": event.revision})
    return child


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


# -- doctor -----------------------------------------------------------------------------------------------------------


def doctor(house: House, out: Out, gc: bool) -> None:
    """Say in plain words what works here."""
    faults = []
    out.say(f"State: {house.settings.home}")
    out.say(f"Database: {house.database}, {len(house.offices.list())} offices")
    model = house.settings.model
    out.say("Model: the offline professional (set OFFICETOWN_MODEL_URL for a real one)" if model.offline
            else f"Model: {model.name} at {model.url}")  # fmt: skip
    try:
        provider = house.sandboxes()
        out.say(f"Sandbox: {provider.name} works; {provider.reap()} left over from a crash removed")
    except SandboxUnavailable as fault:
        faults.append(str(fault))
        out.say(f"Sandbox: {fault}")
    if gc:
        count, size = collect(house.offices, house.blobs, time.time())
        out.say(f"Removed {count} files that nothing refers to, {size // 1024} KiB.")
    out.result({"faults": faults})
    if faults:
        raise SandboxUnavailable("This machine cannot run assistants yet; see above.")
