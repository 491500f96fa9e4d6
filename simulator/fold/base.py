"""What the fold's handlers share: writing to a fresh copy of the office, indexes, inboxes, timers."""

from __future__ import annotations

from typing import Any

import msgspec
from rpds import HashTrieMap

from simulator.businesstime import calendar_for
from simulator.events import Event
from simulator.office import Office
from simulator.records import Notice, Stimulus, Timer

NOTICES_KEPT = 200
WAKES_A_DAY = 8
"""Two people wake each other at most this often a day over one thread (RULE 11)."""


def put(office: Office, **fields: Any) -> None:
    """Set fields of an office that `apply` has just copied and nobody else holds yet."""
    for name, value in fields.items():
        msgspec.structs.force_setattr(office, name, value)


def append(index: HashTrieMap[str, tuple[str, ...]], key: str, value: str) -> HashTrieMap[str, tuple[str, ...]]:
    """Return the index with `value` added under `key`, once."""
    held = index.get(key, ())
    return index if value in held else index.insert(key, (*held, value))


def drop(index: HashTrieMap[str, tuple[str, ...]], key: str, value: str) -> HashTrieMap[str, tuple[str, ...]]:
    """Return the index without `value` under `key`."""
    held = tuple(item for item in index.get(key, ()) if item != value)
    return index.insert(key, held) if held else index.discard(key)


def set_timer(office: Office, timer: Timer) -> None:
    """Set or move a timer; `at` 0 clears it."""
    if timer.at == 0:
        if timer.key in office.timers:
            put(office, timers=office.timers.remove(timer.key))
        return
    put(office, timers=office.timers.insert(timer.key, timer), news=(*office.news, timer))


def clear_timer(office: Office, key: str) -> None:
    """Clear a timer, if it is set."""
    if key in office.timers:
        put(office, timers=office.timers.remove(key))


def wake(office: Office, person: str, stimulus: Stimulus) -> None:
    """Put a stimulus into a person's inbox. Unknown and inactive people have none."""
    who = office.people.get(person)
    if who is None or not who.active:
        return
    held = office.inboxes.get(person, ())
    put(office, inboxes=office.inboxes.insert(person, (*held, stimulus)), woken=(*office.woken, person))


def may_wake(office: Office, first: str, second: str, thread: str) -> bool:
    """Count one wake between two people over one thread today; False once the day's share is used up (RULE 11)."""
    day = calendar_for(office.calendar).day(office.now)
    low, high = sorted((first, second))
    key = f"w:{day}:{low}:{high}:{thread}"
    used = office.counts.get(key, 0)
    if used >= WAKES_A_DAY:
        return False
    put(office, counts=office.counts.insert(key, used + 1))
    return True


def notify(office: Office, event: Event, to: str, text: str, ref: str) -> None:
    """Give a person a notice. Its id is that of the event's cause (RULE 8)."""
    if to not in office.people:
        return
    held = office.notices.get(to, ())
    notice = Notice(f"{ref}.notice.{len(held)}", to, event.sim_time, text, ref)
    put(office, notices=office.notices.insert(to, (*held[-(NOTICES_KEPT - 1) :], notice)))
