"""A span of days, from what an address says."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Annotated

from fastapi import Query

from simulator.businesstime import calendar_for
from simulator.errors import UsageError
from simulator.office import Office

Days = Annotated[int, Query(ge=1, le=62, description="How many days.")]
_YEARS = range(1971, 2200)


def span(office: Office, day: str, days: int) -> tuple[int, int]:
    """Return [start, end) in seconds of `days` days from `day` on (an ISO date; the office's own day if empty).

    Raises UsageError.
    """
    calendar = calendar_for(office.calendar)
    try:
        first = date.fromisoformat(day or calendar.day(office.now))
    except ValueError:
        raise UsageError(f"{day!r} is no day: write YYYY-MM-DD.") from None
    if first.year not in _YEARS:
        raise UsageError(f"{day!r} lies outside the years that an office could have.")
    return calendar.at(first.isoformat(), 0), calendar.at((first + timedelta(days=days)).isoformat(), 0)
