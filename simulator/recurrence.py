"""Recurring calendar entries: RFC 5545 rule values in the office's wall-clock time (DESIGN 5).

A rule repeats on the wall clock: a stand-up at 09:15 stays at 09:15 when the clocks change. On days on which the office
is closed, what repeats daily or weekly is left out, because its next turn comes soon; what repeats monthly or yearly
moves to the next working day at the same time, because leaving it out would lose a month-end close. An office that is
always open moves nothing, and an entry that happens once stays where someone put it on purpose.

`COUNT` and `UNTIL` limit what the rule itself names, before anything is left out or moved.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import islice

from dateutil.rrule import rrule, rrulestr

from simulator.businesstime import BusinessCalendar, calendar_for
from simulator.errors import UsageError
from simulator.events import CalendarRules
from simulator.records import CalendarEntry

HORIZON = timedelta(days=366 * 30)
"""Rules are followed this far: one that names no day (31 February) ends there, not in the year 9999."""

_FREQUENCIES = ("DAILY", "WEEKLY", "MONTHLY", "YEARLY")
_MOVED = ("MONTHLY", "YEARLY")
_KEYS = frozenset({
    "FREQ", "INTERVAL", "COUNT", "UNTIL", "BYDAY", "BYMONTHDAY", "BYMONTH", "BYSETPOS", "BYWEEKNO", "BYYEARDAY", "WKST",
})  # fmt: skip


def next_occurrence(entry: CalendarEntry, after: int, calendar: BusinessCalendar) -> int | None:
    """Return when `entry` next begins strictly after `after`; None when it never does again or is cancelled.

    Raises:
        UsageError: the entry's rule is none.
    """
    if entry.cancelled:
        return None
    if not entry.rule:
        return entry.start if entry.start > after else None
    return _series(entry.rule, entry.start, calendar.rules).after(after)


def occurrences_between(entry: CalendarEntry, start: int, end: int, calendar: BusinessCalendar) -> list[int]:
    """Return the beginnings of `entry` in [start, end), in order."""
    found = []
    moment = next_occurrence(entry, start - 1, calendar)
    while moment is not None and moment < end:
        found.append(moment)
        moment = next_occurrence(entry, moment, calendar)
    return found


def check_rule(rule: str) -> None:
    """Raise UsageError, in words for the person who wrote it, unless `rule` is a rule value this office can follow."""
    _build(rule, datetime(2026, 1, 5, 9), calendar_for(CalendarRules()))


class _Series:
    """The occurrences of one rule, worked out as far as anyone asked: a question costs the same on day 180."""

    def __init__(self, walls: Iterator[datetime], moves: bool, calendar: BusinessCalendar) -> None:
        self._calendar = calendar
        self._walls = walls
        self._moves = moves
        self._known: list[int] = []
        self._ended = False
        # A generator cannot be advanced by two readers at once, and activations read calendars in threads.
        self._lock = threading.Lock()

    def after(self, t: int) -> int | None:
        with self._lock:
            while not self._ended and (not self._known or self._known[-1] <= t):
                self._extend()
            place = bisect_right(self._known, t)
            return self._known[place] if place < len(self._known) else None

    def _extend(self) -> None:
        wall = next(self._walls, None)
        if wall is None:
            self._ended = True
            return
        day = wall.date().isoformat()
        if not self._calendar.is_business_day(day):
            if not self._moves:
                return
            wall = datetime.combine(datetime.fromisoformat(self._calendar.business_day(day, 1)), wall.time())
        moment = self._calendar.instant(wall)
        # Two occurrences that moved to one day are one.
        if not self._known or moment > self._known[-1]:
            self._known.append(moment)


@lru_cache(maxsize=4096)
def _series(rule: str, start: int, rules: CalendarRules) -> _Series:
    calendar = calendar_for(rules)
    found, count, moves = _build(rule, calendar.local(start).replace(tzinfo=None), calendar)
    return _Series(islice(iter(found), count), moves, calendar)


def _build(rule: str, first: datetime, calendar: BusinessCalendar) -> tuple[rrule, int | None, bool]:
    """Return the rule from `first` on (naive wall clock), its own count if any, and whether closed days move it."""
    parts = _parse(rule)
    frequency = parts["FREQ"]
    until = min(_until(parts.pop("UNTIL"), rule, calendar) if "UNTIL" in parts else datetime.max, first + HORIZON)
    try:
        count = int(parts.pop("COUNT")) if "COUNT" in parts else None
        value = ";".join(f"{key}={text}" for key, text in parts.items())
        found = rrulestr(f"{value};UNTIL={until:%Y%m%dT%H%M%S}", dtstart=first)
    except (ValueError, TypeError, KeyError, IndexError) as fault:
        # The parser's own words differ between its versions, and these words are shown to people (RULE 37).
        raise _no_rule(rule, "one of its parts has a value that cannot be read") from fault
    if not isinstance(found, rrule) or (count is not None and count < 1) or int(parts.get("INTERVAL", "1")) < 1:
        raise _no_rule(rule, "COUNT and INTERVAL are whole numbers of at least 1")
    return found, count, frequency in _MOVED


def _parse(rule: str) -> dict[str, str]:
    parts: dict[str, str] = {}
    for piece in rule.strip().removeprefix("RRULE:").strip(";").upper().split(";"):
        key, equals, value = piece.partition("=")
        if not equals or not value or not value.isascii() or any(ch.isspace() or ch == ":" for ch in value):
            raise _no_rule(rule, "it is written as KEY=VALUE parts with `;` between them")
        if key not in _KEYS:
            raise _no_rule(rule, "it may use FREQ, INTERVAL, COUNT, UNTIL and the BY... parts that name days or months")
        if key in parts:
            raise _no_rule(rule, f"{key} is given twice")
        parts[key] = value
    if parts.get("FREQ") not in _FREQUENCIES:
        raise _no_rule(rule, "FREQ is one of DAILY, WEEKLY, MONTHLY, YEARLY")
    return parts


def _until(text: str, rule: str, calendar: BusinessCalendar) -> datetime:
    """Read UNTIL as naive wall-clock time. A date means the whole of that day; a `Z` means UTC."""
    try:
        if len(text) == 8:
            return datetime.strptime(text, "%Y%m%d") + timedelta(hours=23, minutes=59, seconds=59)  # noqa: DTZ007
        moment = datetime.strptime(text.removesuffix("Z"), "%Y%m%dT%H%M%S")  # noqa: DTZ007
    except ValueError:
        raise _no_rule(rule, "UNTIL is written YYYYMMDD, YYYYMMDDTHHMMSS or YYYYMMDDTHHMMSSZ") from None
    if text.endswith("Z"):
        return moment.replace(tzinfo=UTC).astimezone(calendar.zone).replace(tzinfo=None)
    return moment


def _no_rule(rule: str, why: str) -> UsageError:
    return UsageError(
        f"{rule!r} is no recurrence rule that a calendar can follow: {why}. "
        "Examples: FREQ=WEEKLY;BYDAY=FR and FREQ=MONTHLY;BYDAY=-1FR."
    )
