"""Moments: from what a person writes (`14`, `2026-01-05`, `2026-01-05 11:40`) to a revision of an office's log."""

from __future__ import annotations

from datetime import datetime

from simulator.businesstime import calendar_for
from simulator.engine.history import Log, as_of
from simulator.errors import UsageError
from simulator.events import ActivationLanded, ActivationStarted, Event, decode
from simulator.office import Office


def instant(office: Office, text: str) -> int:
    """Return the instant a person means: a bare date is its end."""
    calendar = calendar_for(office.calendar)
    for pattern, minutes in (("%Y-%m-%d %H:%M", None), ("%Y-%m-%d", 1440)):
        try:
            moment = datetime.strptime(text.strip().replace("T", " "), pattern)
        except ValueError:
            continue
        day = moment.date().isoformat()
        try:
            if minutes is None:
                return calendar.at(day, moment.hour * 60 + moment.minute)
            return calendar.at(day, minutes) - 1
        except OverflowError:
            break
    raise UsageError(f"{text!r} is no moment: write a revision, YYYY-MM-DD, or YYYY-MM-DD HH:MM.")


def revision_at(log: Log, text: str) -> int:
    """Return the revision of a moment: the last event at or before it."""
    if text.strip().isdigit() and text.isascii() and len(text) < 20:
        revision = int(text)
        if not 1 <= revision <= log.head:
            raise UsageError(f"The office has revisions 1 to {log.head}.")
        return revision
    first = as_of(log, min(1, log.head))
    until, found = instant(first, text), 0
    for revision, data in log.events():
        if decode(data).sim_time > until:
            break
        found = revision
    if not found:
        raise UsageError(f"The office had not opened at {text}.")
    return found


def whole_revision(log: Log, revision: int) -> int:
    """Return the first revision from `revision` on at which nothing is half done.

    The opening is one thing, and so is a landing: its acts, its `ActivationLanded`, and the end of what it withdrew.
    An office that began between two of them would do the first ones again.
    """
    running: set[str] = set()
    landing = ""
    for number, data in log.events():
        event = decode(data)
        if number > revision and not (landing or event.activation == "genesis" or _withdrawn(event)):
            return number - 1
        if isinstance(event.payload, ActivationStarted):
            running.add(event.payload.running.id)
        elif isinstance(event.payload, ActivationLanded):
            running.discard(event.payload.id)
            landing = ""
        elif event.activation in running:
            landing = event.activation
    return log.head


def _withdrawn(event: Event) -> bool:
    return isinstance(event.payload, ActivationLanded) and event.payload.outcome == "withdrawn"


def office_on(log: Log, text: str) -> Office:
    """Return the office as of a moment; now when `text` is empty."""
    return as_of(log, revision_at(log, text) if text.strip() else None)
