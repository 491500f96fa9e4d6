"""Working time in the office's own zone, over both changes of the clocks (DESIGN 5, RULES 9 and 37)."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.businesstime import HOUR, BusinessCalendar, calendar_for, load_zone
from simulator.errors import UsageError
from simulator.events import CalendarRules

LONDON = BusinessCalendar(CalendarRules(holidays=("2026-01-01", "2026-04-03", "2026-04-06")))
NEW_YORK = BusinessCalendar(CalendarRules(zone="America/New_York", opens=480, closes=1020))
SYDNEY = BusinessCalendar(CalendarRules(zone="Australia/Sydney", weekdays=(0, 1, 2, 3, 5)))
LORD_HOWE = BusinessCalendar(CalendarRules(zone="Australia/Lord_Howe", opens=60, closes=240, weekdays=(5, 6)))
ALWAYS = BusinessCalendar(CalendarRules(always_open=True))
CALENDARS = (LONDON, NEW_YORK, SYDNEY, LORD_HOWE, ALWAYS)


def utc(year: int, month: int, day: int, hour: int = 0, minute: int = 0) -> int:
    return int(datetime(year, month, day, hour, minute, tzinfo=UTC).timestamp())


instants = st.integers(utc(2025, 12, 1), utc(2026, 12, 31))
calendars = st.sampled_from(CALENDARS)


def test_a_monday_in_january_as_people_write_it() -> None:
    assert LONDON.describe(utc(2026, 1, 5, 9, 4)) == "Monday 5 January 2026, 09:04"
    assert LONDON.describe_day(utc(2026, 7, 5, 23, 30)) == "Monday 6 July 2026"
    assert LONDON.day(utc(2026, 7, 5, 23, 30)) == "2026-07-06"


def test_open_from_the_first_minute_until_not_including_the_last() -> None:
    opens, closes = LONDON.at("2026-01-05", 540), LONDON.at("2026-01-05", 1050)
    assert not LONDON.is_open(opens - 1)
    assert LONDON.is_open(opens)
    assert LONDON.is_open(closes - 1)
    assert not LONDON.is_open(closes)
    assert LONDON.next_open(opens) == opens
    assert LONDON.next_open(closes) == LONDON.at("2026-01-06", 540)


def test_weekends_and_holidays_are_passed_over() -> None:
    thursday_night = LONDON.at("2026-04-02", 1200)
    assert LONDON.next_open(thursday_night) == LONDON.at("2026-04-07", 540)
    assert LONDON.next_day_start(thursday_night) == LONDON.at("2026-04-07", 540)


def test_a_day_start_is_strictly_later() -> None:
    opens = LONDON.at("2026-01-05", 540)
    assert LONDON.next_day_start(opens - 1) == opens
    assert LONDON.next_day_start(opens) == LONDON.at("2026-01-06", 540)


@pytest.mark.parametrize(
    ("calendar", "before", "after"),
    [
        (LONDON, "2026-03-27", "2026-03-30"),
        (NEW_YORK, "2026-03-06", "2026-03-09"),
        (SYDNEY, "2026-10-03", "2026-10-05"),
    ],
)
def test_spring_forward_keeps_the_wall_clock(calendar: BusinessCalendar, before: str, after: str) -> None:
    first, second = calendar.at(before, calendar.rules.opens), calendar.at(after, calendar.rules.opens)
    days = (datetime.fromisoformat(after) - datetime.fromisoformat(before)).days
    assert second - first == days * 86_400 - HOUR
    assert calendar.next_day_start(first) == second
    assert calendar.local(second).hour * 60 + calendar.local(second).minute == calendar.rules.opens


@pytest.mark.parametrize(
    ("calendar", "before", "after"),
    [
        (LONDON, "2026-10-23", "2026-10-26"),
        (NEW_YORK, "2026-10-30", "2026-11-02"),
        (SYDNEY, "2026-04-04", "2026-04-06"),
    ],
)
def test_fall_back_keeps_the_wall_clock(calendar: BusinessCalendar, before: str, after: str) -> None:
    first, second = calendar.at(before, calendar.rules.opens), calendar.at(after, calendar.rules.opens)
    days = (datetime.fromisoformat(after) - datetime.fromisoformat(before)).days
    assert second - first == days * 86_400 + HOUR
    assert calendar.next_day_start(first) == second


def test_a_skipped_time_moves_forward_and_of_a_doubled_one_the_first_is_meant() -> None:
    assert LONDON.at("2026-03-29", 90) == utc(2026, 3, 29, 1, 30)
    assert LONDON.describe(LONDON.at("2026-03-29", 90)).endswith("02:30")
    assert LONDON.at("2026-10-25", 90) == utc(2026, 10, 25, 0, 30)


def test_working_hours_through_the_night_of_a_change_are_elapsed_time() -> None:
    # Lord Howe moves by half an hour at 02:00; this office works from 01:00 to 04:00 on the weekend.
    assert LORD_HOWE.business_seconds_between(LORD_HOWE.at("2026-10-04", 0), LORD_HOWE.at("2026-10-04", 600)) == 9_000
    assert LORD_HOWE.business_seconds_between(LORD_HOWE.at("2026-04-05", 0), LORD_HOWE.at("2026-04-05", 600)) == 12_600


def test_sixteen_business_hours_run_over_the_weekend() -> None:
    """RULE 14: a question is waited for in business hours."""
    friday = LONDON.at("2026-01-09", 960)
    assert LONDON.add_business_hours(friday, 1) == LONDON.at("2026-01-09", 1020)
    assert LONDON.add_business_hours(friday, 16) == LONDON.at("2026-01-13", 900)
    assert LONDON.business_hours_between(friday, LONDON.at("2026-01-13", 900)) == 16
    assert LONDON.business_hours_between(friday, LONDON.at("2026-01-13", 899)) == 15
    assert LONDON.business_hours_between(friday, friday - 1) == 0


def test_an_office_that_never_closes_still_begins_its_days() -> None:
    sunday = ALWAYS.at("2026-01-04", 180)
    assert ALWAYS.is_open(sunday)
    assert ALWAYS.next_open(sunday) == sunday
    assert ALWAYS.next_day_start(sunday) == ALWAYS.at("2026-01-04", 540)
    assert ALWAYS.next_day_start(ALWAYS.at("2026-01-04", 540)) == ALWAYS.at("2026-01-05", 540)
    assert ALWAYS.add_business_hours(sunday, 30) == sunday + 30 * HOUR
    assert ALWAYS.business_day("2026-01", 4) == "2026-01-04"


def test_the_second_business_day_of_a_period() -> None:
    assert LONDON.business_day("2026-01", 1) == "2026-01-02"
    assert LONDON.business_day("2026-01", 2) == "2026-01-05"
    assert LONDON.business_day("2026-04-03", 1) == "2026-04-07"
    with pytest.raises(UsageError, match="from 1"):
        LONDON.business_day("2026-01", 0)


@given(calendars, instants)
def test_what_is_worked_out_once_equals_the_plain_zone(calendar: BusinessCalendar, t: int) -> None:
    wall = datetime.fromtimestamp(t, ZoneInfo(calendar.rules.zone))
    assert calendar.day(t) == wall.date().isoformat()
    assert calendar.local(t).utcoffset() == wall.utcoffset()
    minute = wall.hour * 60 + wall.minute
    expected = calendar.rules.always_open or (
        calendar.is_business_day(calendar.day(t)) and calendar.rules.opens <= minute < calendar.rules.closes
    )
    assert calendar.is_open(t) == expected


@given(calendars, instants)
def test_next_open_is_the_first_open_instant(calendar: BusinessCalendar, t: int) -> None:
    found = calendar.next_open(t)
    assert found >= t
    assert calendar.is_open(found)
    assert calendar.business_seconds_between(t, found) == 0
    start = calendar.next_day_start(t)
    assert start > t
    assert calendar.is_open(start)
    assert calendar.local(start).hour * 60 + calendar.local(start).minute == calendar.rules.opens


@given(calendars, instants, st.integers(0, 60))
def test_adding_business_hours_is_measured_back(calendar: BusinessCalendar, t: int, hours: int) -> None:
    end = calendar.add_business_hours(t, hours)
    assert calendar.business_seconds_between(t, end) == hours * HOUR
    assert calendar.business_hours_between(t, end) == hours
    if hours:
        assert calendar.business_seconds_between(t, end - 1) == hours * HOUR - 1


@given(calendars, st.lists(instants, min_size=3, max_size=3).map(sorted))
def test_working_time_adds_up(calendar: BusinessCalendar, three: list[int]) -> None:
    a, b, c = three
    whole = calendar.business_seconds_between(a, c)
    assert whole == calendar.business_seconds_between(a, b) + calendar.business_seconds_between(b, c)


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        (CalendarRules(zone="Mars/Olympus"), "no time zone"),
        (CalendarRules(zone="../../etc/passwd"), "no time zone"),
        (CalendarRules(zone=""), "no time zone"),
        (CalendarRules(zone="Europe"), "no time zone"),
        (CalendarRules(opens=1050, closes=540), "impossible"),
        (CalendarRules(opens=540, closes=1500), "impossible"),
        (CalendarRules(weekdays=()), "weekdays"),
        (CalendarRules(weekdays=(0, 7)), "weekdays"),
        (CalendarRules(holidays=("25 December",)), "no date"),
    ],
)
def test_rules_that_cannot_be_followed_say_so(rules: CalendarRules, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        BusinessCalendar(rules)


def test_a_calendar_of_holidays_alone_is_a_fault_and_not_an_endless_search() -> None:
    start = datetime(2026, 1, 1)
    every_day = tuple((start + timedelta(days=n)).date().isoformat() for n in range(900))
    with pytest.raises(UsageError, match="too many holidays"):
        BusinessCalendar(CalendarRules(holidays=every_day)).next_open(utc(2026, 1, 2))


def test_equal_rules_share_one_calendar() -> None:
    assert calendar_for(CalendarRules()) is calendar_for(CalendarRules())


def test_zones_come_from_the_package_and_leave_the_search_path_alone() -> None:
    """RULE 37: the machine's own database never has a say, and importing this changes nothing for others."""
    code = (
        "import zoneinfo, os\n"
        "before = zoneinfo.TZPATH\n"
        "from simulator.businesstime import load_zone\n"
        "load_zone('Europe/London')\n"
        "assert zoneinfo.TZPATH == before\n"
        "zoneinfo.reset_tzpath(['/nonexistent'])\n"
        "load_zone('America/New_York')\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
    assert load_zone("Europe/London").key == "Europe/London"
