"""*Calendar*: a week of everybody's, or of one person's, as they see it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta

import msgspec

from orchestrator.web.queries import talk
from orchestrator.web.queries.talk import EntryShown
from orchestrator.web.span import span
from orchestrator.web.ui import kit, whose
from orchestrator.web.ui.asked import Ask
from orchestrator.web.ui.paths import PATHS
from orchestrator.web.ui.shell import Page, Shell
from simulator.businesstime import calendar_for

MOST_A_DAY = 30
_KINDS = {"meeting": "Meeting", "rhythm": "Rhythm", "deadline": "Deadline", "focus": "Focus time"}


class DayShown(msgspec.Struct, frozen=True):
    """One day of the week."""

    day: str
    today: bool
    open: bool
    entries: tuple[EntryShown, ...]
    more: int


class Shown(msgspec.Struct, frozen=True):
    """A week, Monday first."""

    person: str
    people: Mapping[str, str]
    names: Mapping[str, str]
    monday: str
    days: tuple[DayShown, ...]


def load(ask: Ask) -> Shown:
    """Return the week of the page's address."""
    return load_for(ask, ask.get("person"))


def load_for(ask: Ask, person: str) -> Shown:
    """Return a week as a person sees it, or everybody's for nobody."""
    eyes = whose.eyes(ask, person)
    office, seen = eyes.office, eyes.seen
    calendar = calendar_for(office.calendar)
    today = calendar.day(office.now)
    start, _ = span(office, ask.get("day"), 1)
    monday = monday_of(calendar.day(start))
    start, end = span(office, monday.isoformat(), 7)
    found = talk.entries(office, start, end) if seen is None else talk.seen_entries(office, seen, start, end)
    days = []
    for offset in range(7):
        day = (monday + timedelta(days=offset)).isoformat()
        own = [e for e in found if e.begins.local[:10] == day]
        is_open = calendar.is_business_day(day)
        if offset < 5 or own or is_open:
            days.append(DayShown(day, day == today, is_open, tuple(own[:MOST_A_DAY]), max(0, len(own) - MOST_A_DAY)))
    return Shown(eyes.person, whose.everybody(office), eyes.names, monday.isoformat(), tuple(days))


def monday_of(day: str) -> date:
    """Return the Monday of a day's week."""
    found = date.fromisoformat(day)
    return found - timedelta(days=found.weekday())


def draw(shell: Shell, shown: Shown) -> None:
    """Draw the page."""
    with kit.box("row between"):
        kit.heading("Calendar", 1)
        with kit.box("row"):
            kit.text("Whose", "label")
            options = {"": "Everybody's", **shown.people}
            kit.choice("Whose calendar", options, shown.person, lambda v: shell.turn(person=v), "calendar-person")
    body(shell, shown)


def body(shell: Shell, shown: Shown) -> None:
    """Draw a week."""
    monday = date.fromisoformat(shown.monday)
    with kit.box("row"):
        kit.button("", lambda: shell.turn(day=monday - timedelta(days=7)), "small", "chevron_left", "The week before", "week-before")
        kit.text(f"Week of {monday:%-d %B %Y}", "strong", "span", role="status")
        kit.button("", lambda: shell.turn(day=monday + timedelta(days=7)), "small", "chevron_right", "The week after", "week-after")
        kit.button("This week", lambda: shell.turn(day=""), "small", test="week-now")
    with kit.box("week", test="week"):
        for day in shown.days:
            with kit.Tag("section", f"day-column{' today' if day.today else ''}{'' if day.open else ' shut'}"):
                kit.heading(f"{date.fromisoformat(day.day):%a %-d %b}", 3)
                for entry in day.entries:
                    _entry(shown, entry)
                if day.more:
                    kit.text(f"and {day.more} more", "faint")
                if not day.entries:
                    kit.text("–" if day.open else "closed", "faint")


def _entry(shown: Shown, e: EntryShown) -> None:
    with kit.fold(f"{e.begins.local[11:16]}  {e.title}", f"event {e.kind}"):
        people = ", ".join(shown.names.get(a, a) for a in e.attendees)
        answers = ", ".join(f"{shown.names.get(who, who)} {answer}" for who, answer in e.answers.items())
        kit.facts((
            ("What", f"{_KINDS.get(e.kind, e.kind)}, {e.minutes} minutes"), ("By", shown.names.get(e.organizer, e.organizer)),
            ("With", people), ("About", e.agenda), ("Repeats", e.rule), ("Answers", answers),
        ))  # fmt: skip


PAGE = Page("calendar", PATHS["calendar"], "Calendar", "calendar_month", load, draw)
