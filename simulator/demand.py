"""The seeded demand process: when a client's contact next brings work (DESIGN 6).

A demand's n-th arrival is a function of (seed, demand, n) alone: the business day of its period, plus a drawn delay,
at a
drawn minute of the working day. `variety` is a number for the client's own draws, so no two months are alike.
"""

from __future__ import annotations

from datetime import date, timedelta

from simulator.businesstime import calendar_for
from simulator.office import Office
from simulator.randomness import Stream
from simulator.records import Demand, Timer


def period_of(demand: Demand, opened: date, number: int) -> tuple[date, str]:
    """Return (first day of the n-th period, name of the period that the work is about).

    Monthly work is about the month before the one in which it arrives, `YYYY-MM`; weekly and fortnightly work about the
    7 or 14 days before the Monday it arrives after, named by the Monday that opens them: `YYYY-MM-DD`.
    """
    if demand.cadence == "monthly":
        month = opened.year * 12 + opened.month - 1 + number
        first = date(month // 12, month % 12 + 1, 1)
        about = first - timedelta(days=1)
        return first, f"{about.year:04d}-{about.month:02d}"
    step = 7 if demand.cadence == "weekly" else 14
    monday = opened - timedelta(days=opened.weekday()) + timedelta(days=step * number)
    return monday, (monday - timedelta(days=step)).isoformat()


def next_demand(office: Office, demand: Demand, number: int) -> Timer:
    """Return the timer of the demand's n-th arrival (n from 0)."""
    calendar = calendar_for(office.calendar)
    opened = date.fromisoformat(calendar.day(office.opened_at))
    first, _ = period_of(demand, opened, number)
    draw = Stream(office.seed, "demand", demand.id, number)
    day = calendar.business_day(first.isoformat(), max(1, demand.day + draw.between(0, demand.jitter_days)))
    rules = office.calendar
    minute = rules.opens + 4 + draw.below(max(1, (rules.closes - rules.opens) // 2))
    at = max(calendar.at(day, minute), office.now + 60)
    return Timer(f"demand:{demand.id}", at, "demand", demand.id, demand.contact, number)


def variety(office: Office, demand: Demand, number: int) -> int:
    """Return the number that the client's own draws for this arrival start from."""
    return Stream(office.seed, "variety", demand.id, number).below(1_000_000)
