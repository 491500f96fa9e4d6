"""Periods as text, `YYYY-MM` or the Monday `YYYY-MM-DD`, and as running numbers, so that one follows another."""

from __future__ import annotations

import calendar
import re
from datetime import date as Date  # noqa: N812 - `date` is the method's name below
from datetime import timedelta

import msgspec

from simulator.errors import UsageError

HORIZON = 14  # days of a Monday period where its length matters
_FIRST_MONDAY = Date(2001, 1, 1).toordinal()


class Rhythm(msgspec.Struct, frozen=True):
    """How periods follow one another: `step` is 0 for months, else the days of a period that opens on a Monday."""

    step: int = 0

    def index(self, period: str) -> int:
        """Return the running number of a period. Raises `UsageError` when it is none of this rhythm."""
        day = first_day(period)
        if self.step == 0:
            return day.year * 12 + day.month - 1
        return (day.toordinal() - _FIRST_MONDAY) // self.step

    def name(self, number: int, like: str) -> str:
        """Return the period with a running number; `like` is a neighbour (fortnights start on either Monday)."""
        if self.step == 0:
            return f"{number // 12:04d}-{number % 12 + 1:02d}"
        return (first_day(like) + timedelta((number - self.index(like)) * self.step)).isoformat()


class Span(msgspec.Struct, frozen=True):
    """A period in its rhythm: its running `number`, its `start`, and how many `days` it has."""

    rhythm: Rhythm
    number: int
    start: Date
    days: int

    @property
    def name(self) -> str:
        """Return the period's text."""
        return self.start.isoformat()[: 10 if self.rhythm.step else 7]

    @property
    def code(self) -> str:
        """Return the period as record numbers carry it: `2601`, or `260105` for the one opened on 5 January."""
        return self.start.strftime("%y%m%d" if self.rhythm.step else "%y%m")

    def back(self, periods: int) -> Span:
        """Return the span that many periods earlier (later when negative)."""
        return span(self.rhythm.name(self.number - periods, self.name), self.rhythm.step or 7)

    def date(self, day: int) -> str:
        """Return the `day`-th day of the span, 1 the first, as `YYYY-MM-DD`; it may lie outside."""
        return (self.start + timedelta(day - 1)).isoformat()

    def day(self, nth: int) -> int:
        """Return the day of this span that the `nth` of 31 falls on."""
        return 1 + (min(nth, 31) - 1) * self.days // 31

    def holds(self, date: str) -> bool:
        """Return whether an ISO date lies in the span."""
        return self.date(1) <= date <= self.date(self.days)


def first_day(period: str) -> Date:
    """Return the first day of a period. Raises `UsageError` unless it is a month or a Monday."""
    try:
        if re.fullmatch(r"\d{4}-\d\d", period):
            return Date.fromisoformat(f"{period}-01")
        if re.fullmatch(r"\d{4}-\d\d-\d\d", period) and Date.fromisoformat(period).weekday() == 0:
            return Date.fromisoformat(period)
    except ValueError:
        pass
    raise UsageError(f"period {period!r} is neither a month YYYY-MM, like 2026-01, nor a Monday YYYY-MM-DD")


def span(period: str, days: int = 7) -> Span:
    """Return a period as a span; `days` is the length of a Monday period and of no effect on a month."""
    start = first_day(period)
    if len(period) == 7:
        months = Rhythm()
        return Span(months, months.index(period), start, calendar.monthrange(start.year, start.month)[1])
    return Span(Rhythm(days), Rhythm(days).index(period), start, days)


def bounds(period: str) -> tuple[str, str]:
    """Return the first and the last day that count as `this period` where its length matters, as ISO dates."""
    at = span(period, HORIZON)
    return at.date(1), at.date(at.days)


def words(period: str) -> str:
    """Return a period as `January 2026` or `the days from 2026-01-05`."""
    day = first_day(period)
    return f"{calendar.month_name[day.month]} {day.year}" if len(period) == 7 else f"the days from {period}"
