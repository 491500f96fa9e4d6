"""Which stimuli an activation takes, and when a person may start (RULES 9 and 11)."""

from __future__ import annotations

import msgspec

from simulator.businesstime import calendar_for
from simulator.office import Office
from simulator.records import STIMULUS_CLASS, Stimulus

TAKEN_AT_ONCE = 12


def rank(office: Office, stimulus: Stimulus, now: int) -> int:
    """Return a stimulus' class now: its own, one better for each business hour it has waited; conflicts come first."""
    if stimulus.kind == "conflict":
        return -99
    waited = calendar_for(office.calendar).business_hours_between(stimulus.at, now)
    return STIMULUS_CLASS[stimulus.kind] - int(waited)


def choose(office: Office, person: str, now: int) -> tuple[tuple[Stimulus, ...], tuple[str, ...]]:
    """Return (stimuli to show, ids of all taken): at most 12, by class and then age; one a room, thread or file."""
    inbox = [s for s in office.inboxes.get(person, ()) if s.at <= now]
    ordered = sorted(inbox, key=lambda s: (rank(office, s, now), s.at, s.id))
    shown: dict[str, Stimulus] = {}
    merged: dict[str, list[str]] = {}
    for stimulus in ordered:
        group = f"{stimulus.kind}|{stimulus.group or stimulus.id}"
        if group in shown:
            merged[group].append(stimulus.id)
        elif len(shown) < TAKEN_AT_ONCE:
            shown[group] = stimulus
            merged[group] = [stimulus.id]
    stimuli = []
    for group, stimulus in shown.items():
        more = len(merged[group]) - 1
        note = f"{stimulus.text}; " if stimulus.text else ""
        stimuli.append(msgspec.structs.replace(stimulus, text=f"{note}and {more} more like it") if more else stimulus)
    return tuple(stimuli), tuple(name for names in merged.values() for name in names)


def start_due(office: Office, person: str, now: int) -> int | None:
    """Return when, from `now` on, a person's next activation may start, or None where nothing wakes them."""
    who = office.people.get(person)
    if who is None or not who.active or person in office.busy or person in office.held:
        return None
    waking = [s.at for s in office.inboxes.get(person, ()) if s.wakes]
    if not waking:
        return None
    earliest = max(min(waking), office.free_since.get(person, 0), office.opened_at)
    return calendar_for(office.calendar).next_open(max(earliest, now))
