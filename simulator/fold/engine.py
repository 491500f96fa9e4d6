"""Folding of the engine's own events: activations, sessions, stimuli, timers, conflicts; and of memory."""

from __future__ import annotations

import msgspec

from simulator.businesstime import calendar_for
from simulator.demand import next_demand
from simulator.events import (
    ActivationLanded,
    ActivationStarted,
    ConflictRaised,
    DemandSet,
    Event,
    InboundArrived,
    LookedInto,
    MemoryClosed,
    MemoryNoted,
    RoleReturned,
    RoleTaken,
    SessionOpened,
    StimulusArrived,
    TimerSet,
)
from simulator.fold.base import append, clear_timer, drop, put, set_timer, wake
from simulator.office import Office
from simulator.records import Running, Stimulus, Timer

RETRY_HOURS = (1, 4, 8)
"""Business hours after which an unavailable model is tried again (RULE 3)."""


def activation_started(o: Office, event: Event, p: ActivationStarted) -> None:
    r = p.running
    busy, inboxes = o.busy, o.inboxes
    taken = frozenset(r.taken)
    for person in r.people:
        busy = busy.insert(person, r.id)
    if r.kind in ("principal", "client"):
        left = tuple(s for s in inboxes.get(r.actor, ()) if s.id not in taken)
        inboxes = inboxes.insert(r.actor, left) if left else inboxes.discard(r.actor)
    key = f"n:{r.actor}"
    put(o, running=o.running.insert(r.id, r), busy=busy, inboxes=inboxes, counts=o.counts.insert(key, r.number))
    if r.kind == "segment":
        clear_timer(o, f"segment:{r.ref}")
    if r.kind == "meeting":
        clear_timer(o, f"meet:{r.ref}")


def activation_landed(o: Office, event: Event, p: ActivationLanded) -> None:
    r = o.running[p.id]
    busy, free = o.busy, o.free_since
    for person in r.people:
        busy, free = busy.discard(person), free.insert(person, event.sim_time)
    put(o, running=o.running.remove(p.id), busy=busy, free_since=free, woken=(*o.woken, *r.people))
    if p.outcome == "unavailable":
        _unavailable(o, event, r)
    elif f"u:{r.actor}" in o.counts:
        put(o, counts=o.counts.remove(f"u:{r.actor}"))


def _unavailable(o: Office, event: Event, r: Running) -> None:
    """The model failed for good: what it should have seen waits for the retry, and after the last is lost (RULE 3)."""
    owner = r.people[0] if r.people else r.actor
    if r.kind == "segment":
        tries = o.counts.get(f"u:{r.actor}", 0)
        put(o, counts=o.counts.insert(f"u:{r.actor}", tries + 1))
        if tries < len(RETRY_HOURS):
            at = calendar_for(o.calendar).add_business_hours(event.sim_time, RETRY_HOURS[tries])
            set_timer(o, Timer(f"segment:{r.ref}", at, "segment", r.ref, o.delegations[r.ref].principal, r.number))
        return
    if r.kind == "meeting":
        return
    left = []
    for s in r.stimuli:
        if s.tries < len(RETRY_HOURS):
            at = calendar_for(o.calendar).add_business_hours(event.sim_time, RETRY_HOURS[s.tries])
            left.append(msgspec.structs.replace(s, at=at, tries=s.tries + 1, wakes=True))
        elif s.source in o.people and s.source != owner:
            wake(o, s.source, Stimulus(f"{s.id}.lost.{owner}", "lost", s.ref, event.sim_time, owner, f"lost:{s.ref}",
                                       text=f"{owner} could not be reached about this"))  # fmt: skip
    # What waits for its retry is set aside until then: it neither wakes nor spoils an activation for other things.
    if left:
        put(o, inboxes=o.inboxes.insert(owner, (*left, *o.inboxes.get(owner, ()))))


def session_opened(o: Office, event: Event, p: SessionOpened) -> None:
    first = o.counts.get(f"n:{p.person}", 0) + 1
    put(o, sessions=o.sessions.insert(p.person, f"{p.day}#{first}"))


def demand_set(o: Office, event: Event, p: DemandSet) -> None:
    put(o, demands=o.demands.insert(p.demand.id, p.demand))
    set_timer(o, next_demand(o, p.demand, 0))


def stimulus_arrived(o: Office, event: Event, p: StimulusArrived) -> None:
    """A timer's stimulus. The day's and the demand's next timers follow from this one, so they need no event."""
    s = p.stimulus
    if s.kind == "day_start":
        at = calendar_for(o.calendar).next_day_start(event.sim_time)
        set_timer(o, Timer(f"day:{p.person}", at, "day", p.person, p.person))
    elif s.kind == "demand":
        demand = o.demands[s.ref]
        set_timer(o, next_demand(o, demand, o.counts.get(f"demand:{demand.id}", 0) + 1))
        put(o, counts=o.counts.insert(f"demand:{demand.id}", o.counts.get(f"demand:{demand.id}", 0) + 1))
    elif s.kind == "due":
        clear_timer(o, f"due:{s.ref}")
    wake(o, p.person, s)


def timer_set(o: Office, event: Event, p: TimerSet) -> None:
    set_timer(o, p.timer)


def inbound_arrived(o: Office, event: Event, p: InboundArrived) -> None:
    counts = o.counts.insert(f"in:{p.key}", 1).insert(f"i:{p.actor}", o.counts.get(f"i:{p.actor}", 0) + 1)
    put(o, counts=counts)


def role_taken(o: Office, event: Event, p: RoleTaken) -> None:
    put(o, held=o.held.insert(p.person, True))


def role_returned(o: Office, event: Event, p: RoleReturned) -> None:
    put(o, held=o.held.discard(p.person), woken=(*o.woken, p.person))


def conflict_raised(o: Office, event: Event, p: ConflictRaised) -> None:
    c = p.conflict
    put(o, conflicts=o.conflicts.insert(c.id, c))
    wake(o, c.person, Stimulus(c.id, "conflict", c.act, event.sim_time, "engine", f"conflict:{c.act}", text=c.reason))


def memory_noted(o: Office, event: Event, p: MemoryNoted) -> None:
    m = p.memory
    put(o, memories=o.memories.insert(m.id, m), by_holder=append(o.by_holder, m.holder, m.id))
    if m.kind == "commitment" and m.due:
        set_timer(o, Timer(f"due:{m.id}", max(m.due, event.sim_time), "due", m.id, m.holder))


def memory_closed(o: Office, event: Event, p: MemoryClosed) -> None:
    m = o.memories[p.memory]
    closed = msgspec.structs.replace(m, closed_at=event.sim_time)
    put(o, memories=o.memories.insert(m.id, closed), by_holder=drop(o.by_holder, m.holder, m.id))
    clear_timer(o, f"due:{m.id}")


def looked_into(o: Office, event: Event, p: LookedInto) -> None:
    """A branch look-up leaves a trace in the log and nothing in the state: its conclusion is in the conversation."""
