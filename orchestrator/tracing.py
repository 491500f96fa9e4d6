"""`why`: from a thing (a file, message, mail, request, delegation, meeting) back along its causes (DESIGN 3).

Each event names the activation that caused it; an activation names the stimuli that woke it; a stimulus names the
record
it came from; and a record the event that made it. The chain follows these until nothing earlier is named.
"""

from __future__ import annotations

import msgspec

from orchestrator.naming import find_file
from orchestrator.progress import describe
from simulator import events as e
from simulator.businesstime import calendar_for
from simulator.engine.history import Log, walk
from simulator.errors import UnknownReference
from simulator.events import Event
from simulator.office import Office
from simulator.records import Running

LONGEST = 60


class Step(msgspec.Struct, frozen=True):
    """One event of the chain, the latest first."""

    revision: int
    when: str
    text: str


class _Index:
    """Which event made each record, and what woke each activation."""

    def __init__(self) -> None:
        self.made: dict[str, Step] = {}
        self.cause: dict[str, str] = {}
        self.running: dict[str, Running] = {}
        self.links: dict[str, list[str]] = {}

    def add(self, event: Event, office: Office) -> None:
        p = event.payload
        if isinstance(p, e.ActivationStarted):
            self.running[p.running.id] = p.running
            return
        for name, links in _records(p):
            text = describe(event, office) or _plain(p, office)
            calendar = calendar_for(office.calendar)
            when = f"{calendar.local(event.sim_time):%Y-%m-%d %H:%M}"
            self.made[name] = Step(event.revision, when, text)
            self.cause[name] = event.activation
            self.links[name] = links


def _records(p: e.Payload) -> list[tuple[str, list[str]]]:
    """Return (id, further causes) of the records that a payload makes."""
    if isinstance(p, e.FileSaved):
        sources = [f"{s.file}@{s.version}" for s in p.version.sources]
        return [(f"{p.file}@{p.version.number}", [*([p.version.delegation] if p.version.delegation else []), *sources])]
    if isinstance(p, e.FileShared):
        return [(p.grant.id, [f"{p.grant.file}@{p.grant.version}"])]
    if isinstance(p, e.MessagePosted):
        return [(p.message.id, [p.message.thread] if p.message.thread else [])]
    if isinstance(p, e.MailSent):
        attached = [f"{a.file}@{a.version}" for a in p.mail.attachments]
        return [(p.mail.id, [*attached, *([p.mail.thread] if p.mail.thread != p.mail.id else [])])]
    if isinstance(p, e.RequestMade):
        return [(p.request.id, [f"{m.file}@{m.version}" for m in p.request.materials])]
    if isinstance(p, e.DelegationOpened):
        return [(p.delegation.id, [p.delegation.request] if p.delegation.request else [])]
    if isinstance(p, e.MeetingEnded):
        return [(p.meeting.id, [p.meeting.entry])]
    if isinstance(p, e.EntryScheduled):
        return [(p.entry.id, [])]
    if isinstance(p, e.MemoryNoted):
        return [(p.memory.id, [p.memory.about] if p.memory.about else [])]
    if isinstance(p, e.FileAccepted):
        return [(p.acceptance.id, [f"{p.acceptance.file}@{p.acceptance.version}"])]
    return []


def _plain(p: e.Payload, office: Office) -> str:
    if isinstance(p, e.MemoryNoted):
        return f"{office.people[p.memory.holder].name} notes a {p.memory.kind}"
    if isinstance(p, e.FileSaved):
        return f"{p.path} is there from the start"
    return type(p).__name__


def trace(log: Log, ref: str) -> list[Step]:
    """Return the chain from `ref` back to its beginnings, the latest step first.

    Raises:
        UnknownReference: nothing in the log has that id or path.
    """
    index, office = _Index(), Office()
    for event, state in walk(log):
        index.add(event, state)
        office = state
    start = _resolve(index, office, ref)
    if start is None:
        raise UnknownReference(
            f"Nothing in this office is called {ref!r}: give an id, the revision of an event that made something, or a "
            "file as PATH or PATH@VERSION."
        )
    steps: dict[str, Step] = {}
    waiting = [start]
    while waiting and len(steps) < LONGEST:
        name = waiting.pop(0)
        if name in steps or name not in index.made:
            continue
        steps[name] = index.made[name]
        waiting.extend(index.links[name])
        running = index.running.get(index.cause[name])
        if running is not None:
            waiting.extend(s.ref for s in running.stimuli)
            waiting.extend(s.id for s in running.stimuli)
            if running.ref:
                waiting.append(running.ref)
    return sorted(steps.values(), key=lambda s: -s.revision)


def _resolve(index: _Index, office: Office, ref: str) -> str | None:
    if ref in index.made:
        return ref
    if ref.isascii() and ref.isdigit():
        return next((name for name, step in index.made.items() if step.revision == int(ref)), None)
    try:
        found = find_file(office, ref)
    except UnknownReference:
        return None
    return f"{found.file}@{found.version}"
