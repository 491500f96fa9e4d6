"""What is counted while a log is read once: things a day, who was at work on what, what came of delegated work."""

from __future__ import annotations

from array import array
from bisect import bisect_right

import msgspec

from simulator import events as e
from simulator.businesstime import BusinessCalendar, calendar_for
from simulator.events import Event
from simulator.office import Office


class Day(msgspec.Struct):
    """One calendar day of an office: its last revision, and how much of everything happened on it."""

    day: str
    first: int
    last: int
    events: int = 0
    files: int = 0
    versions: int = 0
    messages: int = 0
    mails: int = 0
    meetings: int = 0
    requests: int = 0
    delegations: int = 0
    submissions: int = 0
    accepted: int = 0
    revised: int = 0
    supplemented: int = 0
    questions: int = 0
    shares: int = 0
    conflicts: int = 0
    activations: int = 0
    turns: int = 0


class Activation(msgspec.Struct):
    """One activation. `began` is the revision of its start, `ended` of its landing (0 while it runs); times in seconds."""

    id: str
    kind: str
    actor: str
    ref: str
    at: int
    began: int
    base: int
    ended: int = 0
    landed_at: int = 0
    turns: int = 0
    outcome: str = ""


class Accepted(msgspec.Struct, frozen=True):
    """Delegated work that was accepted at a revision: by whom, when it was given and accepted, in how many rounds."""

    delegation: str
    principal: str
    work: str
    given_at: int
    accepted_at: int
    open_seconds: int
    rounds: int
    revision: int


class Tally:
    """Folded from every event with the office after it, in order."""

    def __init__(self) -> None:
        self.days: list[Day] = []
        self.times = array("q")
        """Simulated instant of each revision, the first at index 0."""
        self.activations: dict[str, Activation] = {}
        self.by_actor: dict[str, list[str]] = {}
        """Actor (a person, `meeting:...`, `assistant:<delegation>`) -> ids of its activations, in order."""
        self.by_person: dict[str, list[str]] = {}
        """Person -> ids of the activations that occupied them, meetings included."""
        self.accepted: list[Accepted] = []
        self._given: dict[str, int] = {}
        self._calendar: BusinessCalendar | None = None
        self._until = 0

    def add(self, event: Event, office: Office) -> None:
        """Count one event."""
        self.times.append(event.sim_time)
        day = self._day(event, office)
        day.last = event.revision
        count(day, event)
        self._work(event, office)

    def revision_at(self, instant: int) -> int:
        """Return the last revision at or before an instant; 0 where there is none."""
        return bisect_right(self.times, instant)

    def _day(self, event: Event, office: Office) -> Day:
        if not self.days or event.sim_time >= self._until:
            calendar = self._calendar = calendar_for(office.calendar)
            name = calendar.day(event.sim_time)
            self._until = calendar.at(name, 1440)
            if not self.days or self.days[-1].day != name:
                self.days.append(Day(name, event.revision, event.revision))
        return self.days[-1]

    def _work(self, event: Event, office: Office) -> None:
        p = event.payload
        if isinstance(p, e.ActivationStarted):
            r = p.running
            self.activations[r.id] = Activation(r.id, r.kind, r.actor, r.ref, r.at, event.revision, r.revision)
            self.by_actor.setdefault(r.actor, []).append(r.id)
            for person in r.people:
                self.by_person.setdefault(person, []).append(r.id)
        elif isinstance(p, e.ActivationLanded) and p.id in self.activations:
            a = self.activations[p.id]
            a.ended, a.landed_at, a.turns, a.outcome = event.revision, event.sim_time, p.turns, p.outcome
        elif isinstance(p, e.DelegationOpened):
            self._given[p.delegation.id] = event.sim_time
        elif isinstance(p, e.WorkReviewed) and p.review.decision == "accept":
            d = office.delegations[p.delegation]
            given = self._given.get(d.id, d.at)
            assert self._calendar is not None
            spent = self._calendar.business_seconds_between(given, event.sim_time)
            self.accepted.append(Accepted(d.id, d.principal, d.work, given, event.sim_time, spent, len(d.rounds), event.revision))


def count(day: Day, event: Event) -> None:
    """Count one event as of a day."""
    p = event.payload
    day.events += 1
    if isinstance(p, e.FileSaved):
        day.versions += 1
        day.files += p.version.number == 1
    elif isinstance(p, e.WorkReviewed):
        name = {"accept": "accepted", "revise": "revised", "supplement": "supplemented"}[p.review.decision]
        setattr(day, name, getattr(day, name) + 1)
    elif isinstance(p, e.MeetingEnded):
        day.meetings += p.meeting.state == "held"
    elif isinstance(p, e.FileShared):
        day.shares += event.activation != "genesis"
    elif isinstance(p, e.ActivationLanded):
        day.turns += p.turns
    else:
        name = _COUNTED.get(type(p), "")
        if name:
            setattr(day, name, getattr(day, name) + 1)


_COUNTED: dict[type[e.Payload], str] = {
    e.MessagePosted: "messages",
    e.MailSent: "mails",
    e.RequestMade: "requests",
    e.DelegationOpened: "delegations",
    e.WorkSubmitted: "submissions",
    e.QuestionAsked: "questions",
    e.ConflictRaised: "conflicts",
    e.ActivationStarted: "activations",
}
