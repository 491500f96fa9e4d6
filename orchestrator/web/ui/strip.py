"""The slider over an office's months, with the density of what happened: everything on the page follows it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date, timedelta
from typing import Any

import msgspec
from nicegui.element import Element

from orchestrator.web.queries.offices import DayLine
from simulator.businesstime import BusinessCalendar

MOST_BARS = 366
_TICKS = 8


class Bar(msgspec.Struct, frozen=True):
    """A bar of the slider: from, to (seconds), events, whether the office was open."""

    begins: int
    ends: int
    events: int
    open: bool


def bars(days: Iterable[DayLine], calendar: BusinessCalendar, most: int = MOST_BARS) -> tuple[Bar, ...]:
    """Return a bar for each day on which something happened; several days to a bar where there are more than `most`."""
    found = [Bar(calendar.at(d.day, 0), calendar.at(d.day, 1440), d.events, d.open) for d in days]
    together = -(-len(found) // most)
    if together <= 1:
        return tuple(found)
    groups = [found[i : i + together] for i in range(0, len(found), together)]
    return tuple(Bar(g[0].begins, g[-1].ends, sum(b.events for b in g), any(b.open for b in g)) for g in groups)


def ticks(start: int, end: int, calendar: BusinessCalendar, most: int = _TICKS) -> tuple[tuple[int, str], ...]:
    """Return where the slider is labelled, and how: days of a short time, weeks, months or years of a longer one."""
    first, last = date.fromisoformat(calendar.day(start)), date.fromisoformat(calendar.day(max(start, end)))
    span = (last - first).days + 1
    if span <= most:
        marks = [(first + timedelta(days=i), "%a %-d %b") for i in range(span)]
    elif span <= 7 * most:
        monday = first + timedelta(days=-first.weekday() % 7)
        marks = [(monday + timedelta(days=7 * i), "%-d %b") for i in range((last - monday).days // 7 + 1)]
    else:
        months = [m for m in _months(first, last) if m >= first]
        step = -(-len(months) // most)
        marks = [(m, "%b %Y" if m.month == 1 or i == 0 else "%b") for i, m in enumerate(months) if i % step == 0]
    return tuple((calendar.at(d.isoformat(), 0), d.strftime(form)) for d, form in marks)


def _months(first: date, last: date) -> list[date]:
    found = [first.replace(day=1)]
    while found[-1] < last.replace(day=1):
        found.append((found[-1] + timedelta(days=32)).replace(day=1))
    return found


class Moment(Element, component="static/moment.js"):
    """The slider. `pick` gets the instant that was chosen, and whether it is the end: the present."""

    def __init__(self, start: int, end: int, at: int, zone: str, pick: Callable[[int, bool], Any]) -> None:
        super().__init__()
        self.props.update({"start": start, "end": max(end, start + 1), "at": at, "zone": zone, "days": [], "ticks": []})

        def picked(event: Any) -> Any:
            return pick(int(event.args["t"]), bool(event.args["end"]))

        self.on("pick", picked)

    def show(self, at: int, end: int) -> None:
        """Move to an instant; `end` is the present."""
        if self.props["at"] != at:
            self.props["at"] = at
        if self.props["end"] != max(end, self.props["start"] + 1):
            self.props["end"] = max(end, self.props["start"] + 1)

    def fill(self, found: Iterable[Bar], marks: Iterable[tuple[int, str]]) -> None:
        """Show how much happened each day, and the labels below."""
        self.props["days"] = [[b.begins, b.ends, b.events, b.open] for b in found]
        self.props["ticks"] = [list(mark) for mark in marks]
