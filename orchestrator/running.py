"""`run`: a new office from a package, or going on with one, up to the end of a day."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing

import msgspec

from orchestrator.carrying import Shown, tell
from orchestrator.compose import House, end_of
from orchestrator.connecting import Connected
from orchestrator.log_hash import log_hash
from orchestrator.output import Out
from orchestrator.progress import Counts, Progress
from orchestrator.settings import micros
from orchestrator.stopping import Stop
from orchestrator.telemetry import tracing
from services.models.ledger import Budget
from services.storage.journal import OfficeRow
from simulator.businesstime import calendar_for
from simulator.clock import SPEED, AdaptiveClock
from simulator.engine.environment import Pacer, Settings, Unpaced
from simulator.engine.history import walk
from simulator.engine.inbound import Doorstep
from simulator.errors import BudgetExhausted, InfrastructureError, OfficeBusy, OfficeTownError, UsageError
from simulator.office import Office
from simulator.package import Package
from simulator.ports import SandboxProvider

ASSISTANTS = ("builtin",)


class RunOptions(msgspec.Struct, frozen=True):
    """The options of `run`. `seed` None is 0 for a new office and its own for one that goes on. `speed` empty is `max`, or
    120 where people play roles in `play`. `carriers` are the servers that show it: `auto` those that are set up,
    `embedded` a calendar and mail server of its own, `none`.

    With `check`, each model endpoint is asked one tiny question before anything starts.
    """

    name: str = ""
    days: int = 5
    seed: int | None = None
    speed: str = ""
    follow: bool = False
    budget: str = ""
    concurrency: int = 6
    workers: int = 4
    sandbox: str = "auto"
    assistant: str = "builtin"
    check: bool = True
    carriers: str = "auto"
    play: tuple[str, ...] = ()


def run(house: House, out: Out, reference: str, options: RunOptions) -> dict[str, object]:
    """Run a new office from a package, or go on with one, up to the end of day number `days`.

    Returns what `--json` prints. Where the work stops early, this is printed too, before the error is raised; whether
    a signal stopped it is told by `house.stop`.
    """
    with house.stop.heeding():
        return _run(house, out, reference, options)


def _run(house: House, out: Out, reference: str, options: RunOptions) -> dict[str, object]:
    pacer = _pacer(options.speed or (str(SPEED) if options.play else "max"), house.stop)
    shown = house.shown(options.carriers, options.play, out.say)
    if options.play and options.speed == "max":
        raise UsageError("People cannot keep up with --speed max: with --play the speed is 1 to 120 (RULE 4).")
    if options.assistant not in ASSISTANTS:
        raise UsageError(f"There is no assistant {options.assistant!r} here: use {' or '.join(ASSISTANTS)}.")
    limit = micros(options.budget, "--budget") if options.budget else None
    if limit is not None:
        house.require_price()
    sandboxes = house.sandboxes(options.sandbox)
    sandboxes.reap()  # what a killed run left behind goes before anything is started
    prepared = _prepared(house, reference, options)
    row = _row(house, prepared, options)
    if options.check and house.asks():
        _check(house, out, prepared, row, limit)
    out.say(f"Office {row.id} ({row.name}) {'opens' if isinstance(prepared, Package) else 'goes on'}.")
    reader = house.offices.read(row.id)
    connected = house.connect(None if limit is None else Budget(limit, reader.charged_micros()), out.say)
    counts = Counts()
    for event, office in walk(reader):
        counts.event(event, office)
    until = end_of(house.office(row), options.days)
    started = time.monotonic()
    fault: OfficeTownError | None = None
    try:
        office = _work(house, out, row, connected, sandboxes, options, counts, until, pacer, shown)
    except OfficeBusy:
        raise
    except OfficeTownError as error:
        fault, office = error, _committed(house, row, error)
        out.say(f"\nStopped at a commit, {_when(office)}. Nothing is lost.")
        if isinstance(error, BudgetExhausted | InfrastructureError):
            out.say(f"Go on with: {_again(row, options, error)}")
    else:
        if house.stop.signal:
            out.say(f"\nStopped at a commit, {_when(office)}. Nothing is lost.")
            out.say(f"Go on with: {_again(row, options, None)}")
        else:
            _summary(out, row, office, counts, time.monotonic() - started, options.days)
    result = _result(house, row, office, counts, options.days)
    out.result(result)
    if fault is not None:
        raise fault
    return result


def _prepared(house: House, reference: str, options: RunOptions) -> Package | OfficeRow:
    """Read the package, or find the office; refuse what does not fit, before anything is made or asked."""
    if house.is_package(reference):
        return house.package(reference)
    row = house.row(reference)
    if options.seed is not None and options.seed != row.seed:
        raise UsageError(
            f"Office {row.id} has the seed {row.seed} for life. For another one run its package again: "
            f"officetown run PACKAGE --seed {options.seed}"
        )
    if options.name and options.name != row.name:
        raise UsageError(f"Office {row.id} is called {row.name} already; --name is for a new office.")
    return row


def _check(house: House, out: Out, prepared: Package | OfficeRow, row: OfficeRow, limit: int | None) -> None:
    """Ask each endpoint one tiny question, on the office's books. An office made for nothing is taken away again."""
    try:
        with closing(house.offices.open(row.id)) as journal:
            left = None if limit is None else limit - journal.charged_micros()
            house.check(left=left, say=out.say, journal=journal)
    except OfficeTownError:
        if isinstance(prepared, Package):
            house.offices.remove(row.id)
        raise


def _row(house: House, prepared: Package | OfficeRow, options: RunOptions) -> OfficeRow:
    """Make the office, or go on with it."""
    if isinstance(prepared, Package):
        name = options.name or prepared.organization.name
        return house.row(house.found(prepared, name, options.seed or 0))
    return prepared


def _work(
    house: House, out: Out, row: OfficeRow, connected: Connected, sandboxes: SandboxProvider, options: RunOptions,
    counts: Counts, until: int, pacer: Callable[[Office, Doorstep], Pacer], shown: Shown,
) -> Office:  # fmt: skip
    settings = Settings(concurrency=options.concurrency, workers=options.workers)
    progress = Progress(out, until, options.follow, counts, time.monotonic)
    with tracing(house.settings.telemetry, row.id) as traced:
        watched, observers = connected.watched(traced.model), (progress, *traced.observers)
        with house.running(row, watched, sandboxes, settings, observers, pacer, shown) as running:
            house.stop.tell(running.engine.stop)
            office = running.engine.run(until)
        tell(out, running)
        return office


def _committed(house: House, row: OfficeRow, error: OfficeTownError) -> Office:
    """Return the office as it is committed; where it cannot even be read, the first error is the one to tell."""
    try:
        return house.office(row)
    except OfficeTownError:
        raise error from None


def _when(office: Office) -> str:
    return calendar_for(office.calendar).describe(office.now)


def _again(row: OfficeRow, options: RunOptions, error: OfficeTownError | None) -> str:
    """Return the command that goes on."""
    words = ["officetown", "run", row.id, "--days", str(options.days)]
    if isinstance(error, BudgetExhausted):
        words += ["--budget", "MORE"]
    elif options.budget:
        words += ["--budget", options.budget]
    if not options.check:
        words.append("--no-check")
    if options.follow:
        words.append("--follow")
    if options.carriers != "auto":
        words += ["--carriers", options.carriers]
    for person in options.play:
        words += ["--play", person]
    return " ".join(words)


def _result(house: House, row: OfficeRow, office: Office, counts: Counts, days: int) -> dict[str, object]:
    reader = house.offices.read(row.id)
    return {
        "office": row.id,
        "revision": office.revision,
        "sim_time": calendar_for(office.calendar).local(office.now).isoformat(timespec="seconds"),
        "days": days,
        "counts": counts.as_json(office),
        "cost": {"micros": reader.charged_micros(), "currency": office.currency},
        "hash": log_hash(reader),
    }


def _summary(out: Out, row: OfficeRow, office: Office, counts: Counts, seconds: float, days: int) -> None:
    r = counts.reviews
    out.say(f"\n{office.name} ({row.id}) after {days} days, in {seconds:.0f} s:")
    out.say(
        f"  {counts.activations} activations, {counts.messages} messages, {counts.mails} mails, {counts.meetings} meetings,\n"
        f"  {counts.delegations} delegations, {counts.questions} questions by assistants, reviews: {r['accept']} accepted, "
        f"{r['revise']} sent back, {r['supplement']} supplemented,\n"
        f"  {len(office.files)} files in {counts.versions} versions, {counts.conflicts} conflicts handled."
    )
    out.say(f"Look at it with: officetown show {row.id}")


def _pacer(speed: str, stop: Stop) -> Callable[[Office, Doorstep], Pacer]:
    if speed == "max":
        return lambda office, door: Unpaced()
    if not (speed.isascii() and speed.isdigit() and 1 <= int(speed) <= SPEED):
        raise UsageError(f"--speed {speed}: write max, or 1 to {SPEED} simulated seconds a real second.")
    return lambda office, door: AdaptiveClock(
        calendar_for(office.calendar),
        office.now,
        time.monotonic,
        lambda s: stop.sleep(s, lambda: door.waiting),
        int(speed),
    )
