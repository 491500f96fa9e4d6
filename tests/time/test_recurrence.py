"""Recurring entries follow the wall clock and the business calendar (DESIGN 5)."""

from __future__ import annotations

import threading
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.businesstime import BusinessCalendar
from simulator.errors import UsageError
from simulator.events import CalendarRules
from simulator.records import CalendarEntry
from simulator.recurrence import check_rule, next_occurrence, occurrences_between

LONDON = BusinessCalendar(CalendarRules(holidays=("2026-04-03", "2026-04-06", "2026-05-25")))
ALWAYS = BusinessCalendar(CalendarRules(always_open=True))


def entry(rule: str, day: str = "2026-01-05", minute: int = 555, *, cancelled: bool = False) -> CalendarEntry:
    start = LONDON.at(day, minute)
    return CalendarEntry("elena.1.1", "Stand-up", "elena", ("elena",), start, 15, rule=rule, cancelled=cancelled)


def days(
    rule: str, calendar: BusinessCalendar = LONDON, *, start: str = "2026-01-05", end: str = "2026-07-01"
) -> list[str]:
    found = occurrences_between(entry(rule, start), calendar.at("2026-01-01", 0), calendar.at(end, 0), calendar)
    return [calendar.day(t) for t in found]


def test_an_entry_without_a_rule_happens_once() -> None:
    once = entry("")
    assert next_occurrence(once, once.start - 1, LONDON) == once.start
    assert next_occurrence(once, once.start, LONDON) is None


def test_a_cancelled_entry_never_happens() -> None:
    gone = entry("FREQ=DAILY", cancelled=True)
    assert next_occurrence(gone, 0, LONDON) is None


def test_a_stand_up_stays_at_its_wall_clock_time_over_both_changes() -> None:
    standup = entry("FREQ=DAILY")
    found = occurrences_between(standup, standup.start, LONDON.at("2026-12-01", 0), LONDON)
    assert {LONDON.local(t).strftime("%H:%M") for t in found} == {"09:15"}
    assert {b - a for a, b in zip(found, found[1:], strict=False)} >= {86_400, 3 * 86_400 - 3_600, 3 * 86_400 + 3_600}


def test_what_repeats_daily_or_weekly_is_left_out_on_closed_days() -> None:
    assert "2026-04-03" not in days("FREQ=DAILY")
    assert "2026-01-10" not in days("FREQ=DAILY")
    mondays = days("FREQ=WEEKLY;BYDAY=MO")
    assert "2026-03-30" in mondays
    assert "2026-04-06" not in mondays
    assert "2026-04-07" not in mondays


def test_what_repeats_monthly_moves_to_the_next_working_day() -> None:
    assert days("FREQ=MONTHLY;BYMONTHDAY=3", end="2026-06-01") == [
        "2026-02-03", "2026-03-03", "2026-04-07", "2026-05-04",
    ]  # fmt: skip
    assert days("FREQ=MONTHLY;BYDAY=-1MO", end="2026-06-01")[-1] == "2026-05-26"


def test_two_occurrences_that_move_to_one_day_are_one() -> None:
    assert days("FREQ=MONTHLY;BYMONTHDAY=3,4,5,6,7", start="2026-04-01", end="2026-04-30") == ["2026-04-07"]


def test_an_office_that_never_closes_moves_nothing() -> None:
    assert days("FREQ=MONTHLY;BYMONTHDAY=3", ALWAYS, end="2026-05-01")[-1] == "2026-04-03"
    assert "2026-01-10" in days("FREQ=DAILY", ALWAYS)


def test_count_and_until_limit_what_the_rule_names() -> None:
    assert days("FREQ=DAILY;COUNT=7") == ["2026-01-05", "2026-01-06", "2026-01-07", "2026-01-08", "2026-01-09"]
    assert days("FREQ=WEEKLY;UNTIL=20260119") == ["2026-01-05", "2026-01-12", "2026-01-19"]
    assert days("FREQ=WEEKLY;UNTIL=20260119T091500Z") == ["2026-01-05", "2026-01-12", "2026-01-19"]
    assert days("FREQ=WEEKLY;UNTIL=20260119T091459Z") == ["2026-01-05", "2026-01-12"]


def test_a_rule_that_names_no_day_ends() -> None:
    assert next_occurrence(entry("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=31"), 0, LONDON) is None


@pytest.mark.parametrize(
    "rule",
    [
        "daily", "FREQ=HOURLY", "FREQ=SECONDLY", "FREQ=DAILY;BYHOUR=9,17", "FREQ=DAILY;COUNT=0",
        "FREQ=DAILY;INTERVAL=0",
        "FREQ=DAILY;COUNT=ten", "FREQ=DAILY;FREQ=WEEKLY", "FREQ=WEEKLY;BYDAY=XX", "FREQ=DAILY;UNTIL=tomorrow",
        "FREQ=DAILY;DTSTART=20260101", "FREQ=DAILY\nDTSTART:20260101", "FREQ=DAILY\nEXDATE:20260101", "RRULE:", ";",
        "FREQ=MONTHLY;BYMONTHDAY=99x", "FREQ=DAILY;EVIL=1",
    ],
)  # fmt: skip
def test_what_is_no_rule_is_refused_in_plain_words(rule: str) -> None:
    """RULE 37: people are never shown a parser's own words."""
    with pytest.raises(UsageError, match="no recurrence rule") as caught:
        check_rule(rule)
    assert "dateutil" not in str(caught.value)
    assert "invalid" not in str(caught.value)
    with pytest.raises(UsageError):
        next_occurrence(entry(rule), 0, LONDON)


@given(st.text(alphabet="FREQ=DAILYWKMONTH;BYSUCP0123456789-,:\n", max_size=40))
def test_any_text_is_a_rule_or_a_plain_refusal(text: str) -> None:
    try:
        check_rule(f"FREQ=DAILY;{text}")
    except UsageError as fault:
        assert "no recurrence rule" in str(fault)


@given(
    st.sampled_from(
        ["FREQ=DAILY", "FREQ=WEEKLY;BYDAY=MO,FR", "FREQ=MONTHLY;BYMONTHDAY=1,15", "FREQ=MONTHLY;BYDAY=-1FR"]
    ),
    st.integers(0, 300 * 24 * 60),
)
def test_the_next_occurrence_is_the_first_later_one_and_open(rule: str, minutes: int) -> None:
    item = entry(rule)
    after = item.start + minutes * 60
    found = next_occurrence(item, after, LONDON)
    assert found is not None
    assert found > after
    assert LONDON.is_open(found)
    listed = occurrences_between(item, item.start, found + 1, LONDON)
    assert listed[-1] == found
    assert all(t <= after for t in listed[:-1])


def test_readers_in_threads_agree() -> None:
    item = entry("FREQ=DAILY;INTERVAL=1;WKST=SU")
    seen: list[list[int]] = []

    def read() -> None:
        seen.append(occurrences_between(item, item.start, LONDON.at("2027-12-01", 0), LONDON))

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 4
    assert all(row == seen[0] for row in seen)
    assert LONDON.local(seen[0][-1]) > datetime(2027, 11, 1, tzinfo=LONDON.zone)
