"""Business time: when an office works, in its own zone, over both changes of the clocks (DESIGN 5).

Instants are whole seconds since 1970-01-01T00:00:00Z. Zones come from the pinned `tzdata` package alone (RULE 37): the
file is read from the package itself, so neither the machine's database nor a process-wide search path has a say.

The engine asks in its hot loop. A local day's opening and closing instants are computed once, and the zone's offset
once for each UTC day on which it does not change.
"""

from __future__ import annotations

import importlib.resources
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from simulator.errors import UsageError
from simulator.events import CalendarRules

DAY_SECONDS = 86_400
HOUR = 3_600
HORIZON_DAYS = 800
"""How far ahead an opening is looked for: two years of nothing but holidays is a fault of the calendar."""

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip

_EPOCH = date(1970, 1, 1).toordinal()
_VARIES = 1 << 30
"""Marks a UTC day on which the zone's offset changes."""


@lru_cache(maxsize=64)
def load_zone(name: str) -> ZoneInfo:
    """Return the zone `name` (`Europe/London`) from the pinned `tzdata` package.

    Raises:
        UsageError: no such zone.
    """
    parts = name.split("/")
    if all(part.replace("_", "").replace("-", "").replace("+", "").isalnum() for part in parts):
        source = importlib.resources.files("tzdata").joinpath("zoneinfo", *parts)
        if source.is_file():
            with source.open("rb") as stream:
                try:
                    return ZoneInfo.from_file(stream, key=name)
                except ValueError:
                    pass
    raise UsageError(
        f"{name!r} is no time zone of the tz database. Write the calendar's zone as Area/City, as in Europe/London."
    )


@lru_cache(maxsize=64)
def calendar_for(rules: CalendarRules) -> BusinessCalendar:
    """Return the calendar of `rules`; equal rules share one, with what it has already worked out."""
    return BusinessCalendar(rules)


class BusinessCalendar:
    """Working time under `rules`.

    A working day is open from its first minute up to, not including, its last: at closing time the office is closed. An
    office that is `always_open` has no closing time and no holidays; its days still start at `rules.opens`, local time.

    Raises:
        UsageError: the rules name an unknown zone, impossible hours, no weekday, or a holiday that is no date.
    """

    def __init__(self, rules: CalendarRules) -> None:
        _check(rules)
        self.rules = rules
        self.zone = load_zone(rules.zone)
        self._holidays = frozenset(rules.holidays)
        self._offsets: dict[int, int] = {}
        self._days: dict[int, tuple[int, int]] = {}

    # -- days and wall clock -----------------------------------------------------------------------------------------

    def local(self, t: int) -> datetime:
        """Return instant `t` on the office's wall clock (aware, in the office's zone)."""
        return datetime.fromtimestamp(t, self.zone)

    def day(self, t: int) -> str:
        """Return the ISO date of `t` in the office's zone."""
        return date.fromordinal(self._ordinal(t)).isoformat()

    def at(self, day: str, minute: int) -> int:
        """Return the instant at which the wall clock of `day` (ISO date) shows `minute` minutes after midnight.

        `minute` may lie outside the day. A time that the clocks skip is moved forward by what they skip; of a time that
        they show twice the first is meant.
        """
        return self.instant(datetime.combine(_date(day), datetime.min.time()) + timedelta(minutes=minute))

    def instant(self, wall: datetime) -> int:
        """Return the instant of a naive wall-clock time; skipped and doubled times as in `at`."""
        return int(wall.replace(tzinfo=self.zone, fold=0).timestamp())

    def is_business_day(self, day: str) -> bool:
        """Whether the office works on `day` (ISO date)."""
        if self.rules.always_open:
            return True
        return day not in self._holidays and _date(day).weekday() in self.rules.weekdays

    def business_day(self, period: str, n: int) -> str:
        """Return the ISO date of the n-th business day (1 is the first) on or after the start of `period`.

        `period` is a month (`2026-01`) or any ISO date, for periods that start elsewhere. `n` may run past the period.
        """
        if n < 1:
            raise UsageError(f"Business days are counted from 1, not {n}.")
        ordinal = _date(period if len(period) > 7 else f"{period}-01").toordinal() - 1
        for _ in range(n):
            ordinal = self._next_business_ordinal(ordinal + 1)
        return date.fromordinal(ordinal).isoformat()

    def describe(self, t: int) -> str:
        """Return `t` as people write it: `Monday 5 January 2026, 09:04`."""
        wall = self.local(t)
        return f"{self.describe_day(t)}, {wall.hour:02d}:{wall.minute:02d}"

    def describe_day(self, t: int) -> str:
        """Return the local day of `t` as people write it: `Monday 5 January 2026`."""
        day = date.fromordinal(self._ordinal(t))
        return f"{WEEKDAYS[day.weekday()]} {day.day} {MONTHS[day.month - 1]} {day.year}"

    # -- open and closed ---------------------------------------------------------------------------------------------

    def is_open(self, t: int) -> bool:
        """Whether the office works at `t`."""
        if self.rules.always_open:
            return True
        opens, closes = self._hours(self._ordinal(t))
        return opens <= t < closes

    def next_open(self, t: int) -> int:
        """Return the first instant at or after `t` at which the office works: `t` itself when it is open."""
        if self.rules.always_open:
            return t
        ordinal = self._ordinal(t)
        opens, closes = self._hours(ordinal)
        if opens < closes and t < closes:
            return max(t, opens)
        return self._hours(self._next_business_ordinal(ordinal + 1))[0]

    def next_day_start(self, t: int) -> int:
        """Return the next opening strictly after `t`. An office that never closes starts each day at `rules.opens`."""
        ordinal = self._ordinal(t)
        opens, closes = self._hours(ordinal)
        if t < opens < closes:
            return opens
        return self._hours(self._next_business_ordinal(ordinal + 1))[0]

    def add_business_hours(self, t: int, hours: int) -> int:
        """Return the earliest instant by which `hours` hours of working time have passed since `t`.

        That may be a closing time, at which nothing can start: ask `next_open` of it where something is to start.
        """
        if hours < 0:
            raise UsageError(f"Business hours are added forward only, not {hours}.")
        left = hours * HOUR
        if self.rules.always_open:
            return t + left
        start = self.next_open(t)
        ordinal = self._ordinal(start)
        while True:
            closes = self._hours(ordinal)[1]
            if left <= closes - start:
                return start + left
            left -= closes - start
            ordinal = self._next_business_ordinal(ordinal + 1)
            start = self._hours(ordinal)[0]

    def business_seconds_between(self, start: int, end: int) -> int:
        """Return the seconds of working time in [start, end); 0 when `end` is not after `start`."""
        if end <= start:
            return 0
        if self.rules.always_open:
            return end - start
        total = 0
        for ordinal in range(self._ordinal(start), self._ordinal(end) + 1):
            opens, closes = self._hours(ordinal)
            total += max(0, min(end, closes) - max(start, opens))
        return total

    def business_hours_between(self, start: int, end: int) -> int:
        """Return the whole hours of working time in [start, end)."""
        return self.business_seconds_between(start, end) // HOUR

    # -- what is worked out once -------------------------------------------------------------------------------------

    def _ordinal(self, t: int) -> int:
        utc_day = t // DAY_SECONDS
        offset = self._offsets.get(utc_day)
        if offset is None:
            offset = self._offsets[utc_day] = self._offset_of(utc_day)
        if offset == _VARIES:
            return self.local(t).toordinal()
        return _EPOCH + (t + offset) // DAY_SECONDS

    def _offset_of(self, utc_day: int) -> int:
        """The zone's offset in seconds on a UTC day. Equal ends are taken for constant: no zone changes twice a day."""
        ends = (self._offset_at(utc_day * DAY_SECONDS), self._offset_at(utc_day * DAY_SECONDS + DAY_SECONDS - 1))
        return ends[0] if ends[0] == ends[1] else _VARIES

    def _offset_at(self, t: int) -> int:
        offset = datetime.fromtimestamp(t, UTC).astimezone(self.zone).utcoffset()
        return int(offset.total_seconds()) if offset is not None else 0

    def _hours(self, ordinal: int) -> tuple[int, int]:
        """Opening and closing instants of a local day; equal on a closed day."""
        hours = self._days.get(ordinal)
        if hours is None:
            hours = self._days[ordinal] = self._compute_hours(date.fromordinal(ordinal).isoformat())
        return hours

    def _compute_hours(self, day: str) -> tuple[int, int]:
        opens = self.at(day, self.rules.opens)
        if self.rules.always_open:
            return opens, opens + DAY_SECONDS
        return (opens, self.at(day, self.rules.closes)) if self.is_business_day(day) else (opens, opens)

    def _next_business_ordinal(self, ordinal: int) -> int:
        for candidate in range(ordinal, ordinal + HORIZON_DAYS):
            opens, closes = self._hours(candidate)
            if opens < closes:
                return candidate
        day = date.fromordinal(ordinal).isoformat()
        raise UsageError(
            f"The calendar has no working day within {HORIZON_DAYS} days of {day}: too many holidays are listed."
        )


def _date(day: str) -> date:
    try:
        return date.fromisoformat(day)
    except ValueError:
        raise UsageError(f"{day!r} is no date. Write dates as YYYY-MM-DD, months as YYYY-MM.") from None


def _check(rules: CalendarRules) -> None:
    for holiday in rules.holidays:
        _date(holiday)
    # Hours before 1440 keep a day's closing on that day, which the lookups above rely on.
    if not 0 <= rules.opens < rules.closes <= 1440:
        raise UsageError(
            f"Office hours from minute {rules.opens} to minute {rules.closes} are impossible: they lie within one day, "
            "0 <= opens < closes <= 1440. An office that works through the night is `always_open`."
        )
    if not rules.always_open and not (rules.weekdays and set(rules.weekdays) <= set(range(7))):
        raise UsageError(f"The weekdays {list(rules.weekdays)} are not some of 0 (Monday) to 6 (Sunday).")
