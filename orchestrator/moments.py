"""Moments: from what a person writes (`14`, `2026-01-05`, `2026-01-05 11:40`) to a revision of an office's log."""

from __future__ import annotations

from datetime import datetime

from simulator.businesstime import calendar_for
from simulator.engine.history import Log, as_of
from simulator.errors import UsageError
from simulator.events import decode
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
        return calendar.at(day, moment.hour * 60 + moment.minute) if minutes is None else calendar.at(day, minutes) - 1
    raise UsageError(f"{text!r} is no moment: write a revision, YYYY-MM-DD, or YYYY-MM-DD HH:MM.")


def revision_at(log: Log, text: str) -> int:
    """Return the revision of a moment: the last event at or before it."""
    if text.strip().isdigit():
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


def office_on(log: Log, text: str) -> Office:
    """Return the office as of a moment; now when `text` is empty."""
    return as_of(log, revision_at(log, text) if text.strip() else None)
