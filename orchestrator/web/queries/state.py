"""The floor at a moment: who is doing what, what is under way, what comes next."""

from __future__ import annotations

import msgspec

from orchestrator.web.queries.common import FileName, When, actor_name, names_of, when
from simulator.businesstime import calendar_for
from simulator.engine.inbox import start_due
from simulator.office import Office
from simulator.records import Person, Running, Stimulus

_NEXT = 12
OPEN_WORK = ("working", "asking", "submitted", "stopped")


class Concern(msgspec.Struct, frozen=True):
    """Something that concerns a person: what kind, about what, from whom, since when."""

    id: str
    kind: str
    ref: str
    source: str
    since: When
    text: str
    wakes: bool


class AtWork(msgspec.Struct, frozen=True):
    """An activation under way: of whom, since when, woken by what."""

    id: str
    kind: str
    actor: str
    people: tuple[str, ...]
    ref: str
    since: When
    about: tuple[Concern, ...]


class Desk(msgspec.Struct, frozen=True):
    """A person on the floor. `doing` is `working`, `meeting`, `due` (may start at `starts`), `idle`, `played` (by a person
    outside) or `gone`; `waiting` counts what waits in their inbox."""

    id: str
    name: str
    title: str
    kind: str
    department: str
    client: str
    doing: str
    activation: str
    about: str
    waiting: int
    starts: When


class UnderWay(msgspec.Struct, frozen=True):
    """A delegation that is not finished."""

    id: str
    principal: str
    work: str
    period: str
    state: str
    round: int
    since: When
    due: When
    inputs: tuple[FileName, ...]


class Coming(msgspec.Struct, frozen=True):
    """Something the clock will bring."""

    at: When
    what: str
    who: str
    ref: str


class Floor(msgspec.Struct, frozen=True):
    """An office at a revision."""

    revision: int
    now: When
    described: str
    open: bool
    departments: tuple[tuple[str, str], ...]
    people: tuple[Desk, ...]
    running: tuple[AtWork, ...]
    delegations: tuple[UnderWay, ...]
    coming: tuple[Coming, ...]
    counts: dict[str, int]


def floor(office: Office) -> Floor:
    """Return the floor of an office as it is in `office`."""
    calendar = calendar_for(office.calendar)
    people = sorted(office.people.values(), key=lambda p: (p.kind, p.department, p.client, p.id))
    underway = sorted((d for d in office.delegations.values() if d.state in OPEN_WORK), key=lambda d: (d.at, d.id))
    name = names_of(office)
    return Floor(
        revision=office.revision,
        now=when(office, office.now),
        described=calendar.describe(office.now),
        open=calendar.is_open(office.now),
        departments=tuple((d.id, d.name) for d in sorted(office.departments.values(), key=lambda d: d.id)),
        people=tuple(desk(office, p) for p in people),
        running=tuple(at_work(office, r) for r in sorted(office.running.values(), key=lambda r: (r.at, r.id))),
        delegations=tuple(
            UnderWay(
                d.id,
                d.principal,
                d.work,
                d.period,
                d.state,
                len(d.rounds),
                when(office, d.at),
                when(office, d.due),
                tuple(name(ref) for ref in d.inputs),
            )
            for d in underway
        ),  # fmt: skip
        coming=coming(office),
        counts=counts(office),
    )


def counts(office: Office) -> dict[str, int]:
    """Return how much of everything there is."""
    return {
        "people": sum(1 for p in office.people.values() if p.kind == "staff"),
        "contacts": sum(1 for p in office.people.values() if p.kind == "client"),
        "clients": len(office.clients), "matters": len(office.matters), "files": len(office.files),
        "rooms": len(office.rooms), "messages": len(office.messages), "mails": len(office.mails),
        "meetings": len(office.meetings), "requests": len(office.requests), "delegations": len(office.delegations),
        "running": len(office.running), "conflicts": len(office.conflicts),
    }  # fmt: skip


def desk(office: Office, person: Person) -> Desk:
    """Return a person as they are on the floor."""
    inbox = office.inboxes.get(person.id, ())
    running = office.running.get(office.busy.get(person.id, ""))
    starts, about = 0, ""
    if not person.active:
        doing = "gone"
    elif running is not None:
        doing = "meeting" if running.kind == "meeting" else "working"
        about = _about(office, running)
    elif person.id in office.held:
        doing = "played"
    else:
        starts = start_due(office, person.id, office.now) or 0
        doing = "due" if starts else "idle"
        about = _told(office, inbox[0]) if inbox and starts else ""
    return Desk(
        person.id, person.name, person.title, person.kind, person.department, person.client, doing,
        running.id if running else "", about, len(inbox), when(office, starts),
    )  # fmt: skip


def _about(office: Office, running: Running) -> str:
    if running.kind == "meeting":
        entry = office.entries.get(running.ref)
        return entry.title if entry is not None else "a meeting"
    return _told(office, running.stimuli[0]) if running.stimuli else ""


_WORDS = {
    "conflict": "a conflict", "question": "a question by an assistant", "submission": "work handed in", "mail": "a mail",
    "request": "a request", "calendar": "a calendar event", "message": "a message", "share": "a file shared",
    "due": "something due", "day_start": "the start of the day", "lost": "something lost", "demand": "work to bring",
    "answer": "an answer", "notice": "a notice",
}  # fmt: skip


def _told(office: Office, stimulus: Stimulus) -> str:
    source = f" from {actor_name(office, stimulus.source)}" if stimulus.source in office.people else ""
    return f"{_WORDS[stimulus.kind]}{source}"


def concern(office: Office, s: Stimulus) -> Concern:
    """Return a stimulus for people."""
    return Concern(s.id, s.kind, s.ref, s.source, when(office, s.at), s.text or _told(office, s), s.wakes)


def at_work(office: Office, r: Running) -> AtWork:
    """Return an activation under way."""
    about = tuple(concern(office, s) for s in r.stimuli)
    return AtWork(r.id, r.kind, r.actor, r.people, r.ref, when(office, r.at), about)


def coming(office: Office, most: int = _NEXT) -> tuple[Coming, ...]:
    """Return what the clock brings next, soonest first: timers, and people who will start."""
    found = [
        (t.at, _KINDS.get(t.kind, t.kind), t.owner, t.ref) for t in office.timers.values() if t.at
    ]  # fmt: skip
    for person in office.people:
        starts = start_due(office, person, office.now)
        if starts is not None:
            found.append((starts, "starts to work", person, ""))
    return tuple(Coming(when(office, at), what, who, ref) for at, what, who, ref in sorted(found)[:most])


_KINDS = {
    "occurrence": "a calendar event begins", "day": "the day starts", "due": "something falls due",
    "demand": "a client needs work", "answer": "an unanswered question is answered by the office",
    "meeting": "a meeting is tried", "segment": "an assistant goes on",
}  # fmt: skip
