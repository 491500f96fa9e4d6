"""Health: how everything an office needs is doing, who waits for what, and when the next thing happens.

"Why is nothing happening" always has an answer here: `Health.why`.
"""

from __future__ import annotations

import time
from typing import Any

import msgspec
from sqlalchemy import func, select

from orchestrator.compose import House
from orchestrator.web.book import Book
from orchestrator.web.offices import Clock, Run, Town
from orchestrator.web.queries.common import When, actor_name, when
from orchestrator.web.queries.state import Coming, coming
from services.storage.tables import model_calls, outbox
from simulator.businesstime import calendar_for
from simulator.engine.inbox import start_due
from simulator.errors import OfficeTownError
from simulator.office import Office

_SHOWN = 20
_WAITING = 200


class EndpointHealth(msgspec.Struct, frozen=True):
    """A model endpoint and the roles it answers for, without its key; the offline professional has no address."""

    name: str
    url: str
    roles: tuple[str, ...]
    priced: bool


class CallWaiting(msgspec.Struct, frozen=True):
    """A call that was begun and has no answer: of which activation, and what it costs at worst."""

    activation: str
    ordinal: int
    role: str
    worst_case_micros: int


class Remark(msgspec.Struct, frozen=True):
    """Something said while it ran, verbatim; `at` is wall time in seconds."""

    at: float
    text: str


class SandboxHealth(msgspec.Struct, frozen=True):
    """The sandbox provider: empty `fault` where it works. `at_work` are assistants whose segment runs now."""

    provider: str
    fault: str
    at_work: int


class CarrierHealth(msgspec.Struct, frozen=True):
    """A server that shows the office."""

    what: str
    server: str
    fault: str


class LaneHealth(msgspec.Struct, frozen=True):
    """What waits to be delivered in one lane; `next_attempt` is wall time in seconds."""

    lane: str
    waiting: int
    attempts: int
    next_attempt: int
    last_error: str


class DatabaseHealth(msgspec.Struct, frozen=True):
    """Where the record is, how large it is (0 where that is not known), and how long it took to ask it."""

    address: str
    bytes: int
    milliseconds: float
    fault: str


class Waiting(msgspec.Struct, frozen=True):
    """Someone who waits: for what, of whom, since when, and until when at the latest (0: as long as it takes)."""

    who: str
    name: str
    what: str
    of: str
    ref: str
    since: When
    until: When


class Health(msgspec.Struct, frozen=True):
    """How an office is doing. `why` says in plain words what is happening, or why nothing is."""

    why: str
    clock: Clock
    endpoints: tuple[EndpointHealth, ...]
    calls: tuple[CallWaiting, ...]
    remarks: tuple[Remark, ...]
    sandbox: SandboxHealth
    carriers: tuple[CarrierHealth, ...]
    not_let_in: tuple[str, ...]
    database: DatabaseHealth
    outbox: tuple[LaneHealth, ...]
    waiting: tuple[Waiting, ...]
    coming: tuple[Coming, ...]
    last_error: str


def health(house: House, town: Town, book: Book) -> Health:
    """Return how an office is doing now."""
    office, run = book.at(), town.run(book.id)
    clock = town.clock(book.id, look=True)
    begun = _begun(book)
    lanes = _lanes(book)
    remarks = tuple(Remark(at, text) for at, text in list(run.model_says)[-_SHOWN:]) if run is not None else ()
    running = run.running if run is not None else None
    standing = running.desk.standing() if running is not None else ()
    carriers = tuple(CarrierHealth(s.what, s.server, s.fault) for s in standing)
    turned_away = tuple(list(running.desk.remarks)[-_SHOWN:]) if running is not None else ()
    last = clock.error or next((lane.last_error for lane in lanes if lane.last_error), "") or next(
        (c.fault for c in carriers if c.fault), remarks[-1].text if remarks else ""
    )  # fmt: skip
    return Health(
        why(office, clock, run, begun), clock, _endpoints(house), begun, remarks, _sandbox(town, office), carriers, turned_away,
        _database(house, book), lanes, waiting(office)[:_WAITING], coming(office), last,
    )  # fmt: skip


# -- why ------------------------------------------------------------------------------------------------------------------


def why(office: Office, clock: Clock, run: Run | None, begun: tuple[CallWaiting, ...]) -> str:
    """Say what is happening, or why nothing is."""
    soon = coming(office, 1)
    following = f" Next: {_said(office, soon[0])}." if soon else " Nothing is due: nobody has anything to do."
    match clock.state:
        case "still":
            return f"Nobody runs this office: it stands at {_described(office)}. Start it to go on.{following}"
        case "elsewhere":
            return f"Another process runs it ({clock.holder}); here it is read only.{following}"
        case "ended":
            return f"Its {clock.days} days are over. Start it with more days to go on.{following}"
        case "stopped":
            return f"It was stopped at a commit, at {_described(office)}. Start it to go on.{following}"
        case "failed":
            return f"It stopped because of an error: {clock.error}"
        case "starting":
            return "It is being opened: models are asked once, what was left undelivered is delivered."
        case "stopping":
            return f"It stops as soon as the answers in flight are stored: {_in_flight(office, begun)}."
        case "paused":
            return f"It is paused at {_described(office)}. Go on, or step.{following}"
    return _running(office, clock, run, begun, following)


def _running(office: Office, clock: Clock, run: Run | None, begun: tuple[CallWaiting, ...], following: str) -> str:
    steered = run.clock if run is not None else None
    due = steered.due if steered is not None else None
    if due is not None:
        at = calendar_for(office.calendar).describe(due[0])
        return f"It waits for the clock, at {clock.speed} simulated seconds a second: next is {at}.{following}"
    if run is not None and run.model_says and time.time() - run.model_says[-1][0] < 60:
        return f"A model does not answer, and it is waited for: {run.model_says[-1][1]}"
    at_work = [r for r in office.running.values()]
    if at_work:
        return f"At work: {_in_flight(office, begun)}. The clock goes on when they have answered."
    if office.held:
        played = ", ".join(office.people[p].name for p in sorted(office.held))
        return f"It goes on; {played} {'is' if len(office.held) == 1 else 'are'} played by people.{following}"
    return f"It goes on.{following}"


def _in_flight(office: Office, begun: tuple[CallWaiting, ...]) -> str:
    names = sorted({actor_name(office, r.actor) for r in office.running.values()})
    people = ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "") if names else "nobody"
    return f"{people}; {len(begun)} model calls without an answer yet" if begun else people


def _described(office: Office) -> str:
    return calendar_for(office.calendar).describe(office.now)


def _said(office: Office, c: Coming) -> str:
    who = office.people.get(c.who)
    return f"{calendar_for(office.calendar).describe(c.at.at)}, {c.what}{f' ({who.name})' if who is not None else ''}"


# -- who waits for what -----------------------------------------------------------------------------------------------


def waiting(office: Office) -> tuple[Waiting, ...]:
    """Return who waits for what, the longest first."""
    found: list[Waiting] = []

    def add(who: str, what: str, of: str, ref: str, since: int, until: int = 0) -> None:
        name = actor_name(office, who)
        found.append(Waiting(who, name, what, of, ref, when(office, since), when(office, until)))

    for r in office.running.values():
        add(r.actor, "a model's answer", "", r.id, r.at)
    for d in office.delegations.values():
        if d.state == "asking":
            for q in (q for q in d.questions if q.answer is None):
                timer = office.timers.get(f"answer:{q.id}")
                add(f"assistant:{d.id}", "an answer to its question", d.principal, q.id, q.at, timer.at if timer else 0)
        elif d.state == "submitted":
            submission = d.rounds[-1].submission
            add(f"assistant:{d.id}", "a review", d.principal, d.id, submission.at if submission else d.at)
        elif d.state == "working":
            timer = office.timers.get(f"segment:{d.id}")
            if timer is not None and timer.at:
                add(f"assistant:{d.id}", "its next segment, and a free worker", "", d.id, d.at, timer.at)
        elif d.state == "stopped":
            add(d.principal, "a decision: the assistant stopped without handing in", d.principal, d.id, d.at)
    for request in office.requests.values():
        if request.state in ("open", "accepted"):
            what = "an answer to a request" if request.state == "open" else "a request to be fulfilled"
            add(request.asker, what, request.owner, request.id, request.at, request.due)
    for person, inbox in office.inboxes.items():
        if not inbox:
            continue
        since = min(s.at for s in inbox)
        if person in office.held:
            add(person, f"whoever plays them, with {len(inbox)} things in the inbox", person, "", since)
        elif person not in office.busy:
            starts = start_due(office, person, office.now)
            what = "their next free open minute" if starts else "something that wakes them"
            add(person, f"{what}, with {len(inbox)} things in the inbox", "", "", since, starts or 0)
    return tuple(sorted(found, key=lambda w: (w.since.at, w.who, w.ref)))


# -- the parts ------------------------------------------------------------------------------------------------------------


def _endpoints(house: House) -> tuple[EndpointHealth, ...]:
    named = [
        EndpointHealth(line.settings.name, line.settings.url, tuple(line.roles), line.settings.prices is not None)
        for line in house.lines()
    ]
    taken = {role for endpoint in named for role in endpoint.roles}
    rest = tuple(role for role in house.model_names() if role not in taken)
    return (*named, EndpointHealth("offline", "", rest, False)) if rest else tuple(named)


def _sandbox(town: Town, office: Office) -> SandboxHealth:
    return SandboxHealth(*town.sandbox(), sum(1 for r in office.running.values() if r.kind == "segment"))


def _database(house: House, book: Book) -> DatabaseHealth:
    began = time.monotonic()
    path = house.database.path
    try:
        size = path.stat().st_size if path is not None else 0
        fault = "" if book.timeline.head else "The log is empty."
    except (OfficeTownError, OSError) as error:
        size, fault = 0, str(error)
    return DatabaseHealth(str(house.database), size, round((time.monotonic() - began) * 1000, 2), fault)


def _begun(book: Book) -> tuple[CallWaiting, ...]:
    table = model_calls.c
    query = (
        select(table.activation, table.ordinal, table.role, table.worst_case_micros)
        .where(table.office == book.id, table.state == "begun").order_by(table.activation, table.ordinal).limit(_WAITING)
    )  # fmt: skip
    return tuple(CallWaiting(*row) for row in _rows(book, query))


def _lanes(book: Book) -> tuple[LaneHealth, ...]:
    """Return what waits in the outbox, read without the office's lease: the head of each lane tells how it stands."""
    table = outbox.c
    still = (table.office == book.id, table.state.in_(("waiting", "claimed")))
    first = (
        select(table.lane, func.min(table.sequence).label("first"), func.count().label("waiting"))
        .where(*still).group_by(table.lane).subquery()
    )  # fmt: skip
    query = (
        select(table.lane, first.c.waiting, table.attempts, table.next_attempt, table.last_error)
        .join(first, (table.lane == first.c.lane) & (table.sequence == first.c.first))
        .where(table.office == book.id).order_by(table.sequence).limit(_WAITING)
    )  # fmt: skip
    return tuple(LaneHealth(*row) for row in _rows(book, query))


def _rows(book: Book, query: Any) -> list[tuple[Any, ...]]:
    with book.reader.database.reading() as connection:
        return [tuple(row) for row in connection.execute(query).all()]
