"""Watching a run: counts as it goes, and with `--follow` the office's day as readable lines."""

from __future__ import annotations

from collections.abc import Callable

from orchestrator.output import Out
from simulator import events as e
from simulator.businesstime import calendar_for
from simulator.events import Event
from simulator.office import Office


class Counts:
    """Counts what `run --json` reports. Folded from events, so a resumed run counts from the office's first day."""

    def __init__(self) -> None:
        self.messages = self.mails = self.meetings = self.activations = self.delegations = self.conflicts = 0
        self.questions = self.shares = self.versions = 0
        self.reviews = {"accept": 0, "revise": 0, "supplement": 0}

    def event(self, event: Event, office: Office) -> None:
        """Count one event."""
        p = event.payload
        if isinstance(p, e.MessagePosted):
            self.messages += 1
        elif isinstance(p, e.MailSent):
            self.mails += 1
        elif isinstance(p, e.MeetingEnded):
            self.meetings += p.meeting.state == "held"
        elif isinstance(p, e.ActivationStarted):
            self.activations += 1
        elif isinstance(p, e.DelegationOpened):
            self.delegations += 1
        elif isinstance(p, e.WorkReviewed):
            self.reviews[p.review.decision] += 1
        elif isinstance(p, e.ConflictRaised):
            self.conflicts += 1
        elif isinstance(p, e.QuestionAsked):
            self.questions += 1
        elif isinstance(p, e.FileShared):
            self.shares += event.activation != "genesis"
        elif isinstance(p, e.FileSaved):
            self.versions += 1

    def as_json(self, office: Office) -> dict[str, object]:
        """Return the counts of DESIGN 13."""
        staff = sum(1 for p in office.people.values() if p.kind == "staff")
        return {
            "people": staff, "messages": self.messages, "mails": self.mails, "meetings": self.meetings,
            "activations": self.activations, "delegations": self.delegations, "reviews": dict(self.reviews),
            "files": len(office.files), "conflicts": self.conflicts,
        }  # fmt: skip


class Progress:
    """One line a simulated week (or one an event with `follow`), so that long work is seen to go on."""

    def __init__(self, out: Out, until: int, follow: bool, counts: Counts, wall: Callable[[], float]) -> None:
        self.out = out
        self.until = until
        self.follow = follow
        self.counts = counts
        self.wall = wall
        self._told = 0.0
        self._day = ""

    def event(self, event: Event, office: Office) -> None:
        """Tell what is worth telling of one event."""
        self.counts.event(event, office)
        calendar = calendar_for(office.calendar)
        if self.follow:
            line = describe(event, office)
            if line:
                day = calendar.day(event.sim_time)
                if day != self._day:
                    self._day = day
                    self.out.say(f"\n{calendar.describe(event.sim_time).rsplit(',', 1)[0]}")
                self.out.say(f"  {calendar.local(event.sim_time):%H:%M}  {line}")
        elif self.wall() - self._told >= 3.0:
            self._told = self.wall()
            c = self.counts
            share = 100 * (event.sim_time - office.opened_at) // max(1, self.until - office.opened_at)
            self.out.say(
                f"{share:3d} %  {calendar.describe(event.sim_time)}: {c.activations} activations, {c.messages} messages, "
                f"{c.mails} mails, {c.meetings} meetings, {c.delegations} delegations, {len(office.files)} files"
            )


def _name(office: Office, actor: str) -> str:
    if actor in office.people:
        return office.people[actor].name
    if actor.startswith("assistant:"):
        work = office.delegations.get(actor.partition(":")[2])
        return f"{office.people[work.principal].name}'s assistant" if work else "an assistant"
    return "the office"


def _audience(office: Office, audience: str) -> str:
    kind, _, name = audience.partition(":")
    if kind == "person":
        return _name(office, name)
    if kind == "matter" and name in office.matters:
        return f"the team of {office.matters[name].name}"
    if kind == "department" and name in office.departments:
        return office.departments[name].name
    return name or kind


def _job(office: Office, delegation: str) -> str:
    """Return what a delegation is about, in a few words."""
    work = office.delegations.get(delegation)
    if work is None:
        return delegation
    return f"{work.work or 'a task'} {work.period} ({delegation})".replace("  ", " ")


def _wanted(office: Office, request: str) -> str:
    found = office.requests.get(request)
    return f"{found.work or 'an outcome'} {found.period}".rstrip() if found else request


def _file(office: Office, file: str, version: int) -> str:
    found = office.files.get(file)
    return f"{found.path.rsplit('/', 1)[-1]} version {version}" if found else "a file"


def describe(event: Event, office: Office) -> str:
    """Return one event as a line for people, or nothing where it is the engine's own affair."""
    if event.activation == "genesis":
        return ""
    who, p = _name(office, event.actor), event.payload
    line = _talk(who, p, office) or _work(who, p, office)
    if line:
        return line
    if isinstance(p, e.FileSaved):
        return f"{who} saves {_file(office, p.file, p.version.number)}"
    if isinstance(p, e.FileAccepted):
        does = "accepts" if p.acceptance.capacity == "accept" else "signs off"
        return f"{who} {does} {_file(office, p.acceptance.file, p.acceptance.version)}"
    if isinstance(p, e.FileShared):
        shared = _file(office, p.grant.file, p.grant.version)
        return (
            ""
            if p.grant.audience == f"person:{event.actor}"
            else f"{who} shares {shared} with {_audience(office, p.grant.audience)}"
        )
    if isinstance(p, e.FileClassified):
        return f"{who} classifies {_file(office, p.file, p.version)} as {p.level}" + (
            f", released to {', '.join(p.release)}" if p.release else ""
        )
    if isinstance(p, e.ConflictRaised):
        return f"{office.people[p.conflict.person].name} meets a conflict: {p.conflict.reason}"
    return ""


def _talk(who: str, p: e.Payload, office: Office) -> str:
    if isinstance(p, e.MessagePosted):
        return f"{who} writes in {office.rooms[p.message.room].name}" + (" and asks" if p.message.asks else "")
    if isinstance(p, e.MailSent):
        count = len(p.mail.attachments)
        attached = f" with {count} attachment{'s' if count > 1 else ''}" if count else ""
        return f"{who} mails {', '.join(_name(office, t) for t in p.mail.to)}: {p.mail.subject}{attached}"
    if isinstance(p, e.EntryScheduled):
        return f"{who} schedules {p.entry.title}"
    if isinstance(p, e.MeetingEnded):
        return f"meeting {p.meeting.title}: {p.meeting.state}" + (
            f", {p.meeting.turns} turns" if p.meeting.turns else ""
        )
    return ""


def _work(who: str, p: e.Payload, office: Office) -> str:
    if isinstance(p, e.RequestMade):
        return f"{who} asks {_name(office, p.request.owner)} for {p.request.work or 'an outcome'} {p.request.period}".rstrip()
    if isinstance(p, e.RequestAnswered):
        return f"{who}: request for {_wanted(office, p.request)} {p.state}"
    if isinstance(p, e.DelegationOpened):
        return f"{who} delegates {_job(office, p.delegation.id)}"
    if isinstance(p, e.QuestionAsked):
        return f"{who} asks a question about {_job(office, p.delegation)}"
    if isinstance(p, e.QuestionAnswered):
        return f"{_name(office, p.by)} answers about {_job(office, p.delegation)}"
    if isinstance(p, e.SystemCalled):
        came = {"done": "", "refused": ": refused", "conflict": ": without effect, a conflict"}[p.outcome]
        return f"{who} calls {p.tool} of {office.systems[p.system].title}{came}"
    if isinstance(p, e.WorkSubmitted):
        count = len(p.submission.files)
        return (
            f"{who} submits {count} file{'s' if count != 1 else ''} for {_job(office, p.delegation)}, round {p.round}"
        )
    if isinstance(p, e.WorkReviewed):
        return f"{who} reviews {_job(office, p.delegation)}, round {p.round}: {p.review.decision}"
    if isinstance(p, e.DelegationWithdrawn):
        return f"{who} withdraws {_job(office, p.delegation)}: {p.reason}"
    return ""
