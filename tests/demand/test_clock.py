"""The adaptive clock: paces what a person watches; never more than 120 simulated seconds a real one while open."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.businesstime import calendar_for
from simulator.clock import SPEED, AdaptiveClock
from simulator.events import CalendarRules
from tests.engine.worlds import HOUR, MONDAY

OPEN = MONDAY + 9 * HOUR
CLOSE = MONDAY + 17 * HOUR + HOUR // 2
LONDON = calendar_for(CalendarRules())
ALWAYS = calendar_for(CalendarRules(always_open=True))


class Wall:
    """A wall clock that moves only when somebody sleeps, works, or waits out an outage."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> bool:
        assert seconds > 0
        self.slept.append(seconds)
        self.now += seconds
        return True


def nothing() -> None:
    """What there is to commit."""


def clock(now: int = OPEN, speed: int = SPEED, always: bool = False) -> tuple[AdaptiveClock, Wall]:
    wall = Wall()
    return AdaptiveClock(ALWAYS if always else LONDON, now, wall, wall.sleep, speed), wall


def took(at: int, working: int = 0, now: int = OPEN, speed: int = SPEED) -> float:
    """Real seconds from `now` until `at` may be processed."""
    adaptive, wall = clock(now, speed)
    begun = wall.now
    adaptive.before(at, working, nothing)
    return wall.now - begun


def test_an_hour_of_the_office_takes_half_a_minute() -> None:
    assert took(OPEN + HOUR) == pytest.approx(HOUR / 120)


def test_a_slower_speed_is_slower_and_a_faster_one_than_120_is_not_to_be_had() -> None:
    assert took(OPEN + HOUR, speed=60) == pytest.approx(60)
    assert took(OPEN + HOUR, speed=9_999) == pytest.approx(30)
    assert took(OPEN + 60, speed=0) == took(OPEN + 60, speed=-5) == pytest.approx(60)


def test_time_slows_with_the_number_of_those_who_work() -> None:
    times = [took(OPEN + HOUR, working) for working in range(7)]
    assert times == sorted(times) and times[4] == pytest.approx(2 * times[0]) and len(set(times)) == 7


def test_closed_hours_pass_in_no_time() -> None:
    assert took(CLOSE + 5 * HOUR, now=CLOSE) == 0
    assert took(OPEN + 24 * HOUR, now=CLOSE) == 0
    assert took(OPEN, now=MONDAY) == 0
    friday_evening, monday_morning = CLOSE + 4 * 24 * HOUR, OPEN + 7 * 24 * HOUR
    assert took(monday_morning, now=friday_evening) == 0


def test_over_a_night_the_open_hours_of_both_days_alone_are_waited_for() -> None:
    """From Monday 10:00 to Tuesday 10:00 the office is open for eight and a half hours."""
    assert took(OPEN + 25 * HOUR, now=OPEN + HOUR) == pytest.approx(8.5 * HOUR / 120)


def test_what_lands_after_closing_waits_for_the_rest_of_the_day_first() -> None:
    """Overtime at 18:00 does not jump over the half hour before closing."""
    assert took(CLOSE + HOUR // 2, now=CLOSE - HOUR // 2) == pytest.approx(0.5 * HOUR / 120)


def test_an_office_that_never_closes_is_paced_through_the_night() -> None:
    adaptive, wall = clock(MONDAY, always=True)
    adaptive.before(MONDAY + 24 * HOUR, 0, nothing)
    assert sum(wall.slept) == pytest.approx(24 * HOUR / 120)


def test_what_the_work_itself_took_is_not_waited_for_again() -> None:
    adaptive, wall = clock()
    wall.now += 20
    adaptive.before(OPEN + HOUR, 0, nothing)
    assert wall.slept == [pytest.approx(10)]


def test_after_an_outage_nothing_is_made_up_for() -> None:
    """While nothing is processed, simulated time stands still; afterwards it goes on at the same pace, not faster."""
    adaptive, wall = clock()
    adaptive.before(OPEN + 60, 0, nothing)
    wall.now += 3_600
    adaptive.before(OPEN + 120, 0, nothing)
    begun = wall.now
    adaptive.before(OPEN + 120 + HOUR, 0, nothing)
    assert wall.now - begun == pytest.approx(30)


def test_several_things_at_one_instant_wait_once() -> None:
    adaptive, wall = clock()
    for _ in range(5):
        adaptive.before(OPEN + 600, 1, nothing)
    assert len(wall.slept) == 1


MOMENTS = st.lists(st.integers(1, 20_000), min_size=1, max_size=30)


@given(MOMENTS, st.integers(0, 6), st.integers(1, 200))
def test_never_more_than_120_open_seconds_a_real_second(steps: list[int], working: int, speed: int) -> None:
    adaptive, wall = clock(speed=speed)
    at, begun = OPEN, wall.now
    for step in steps:
        at += step
        adaptive.before(at, working, nothing)
    open_seconds = LONDON.business_seconds_between(OPEN, at)
    passed = wall.now - begun
    assert open_seconds <= min(speed, SPEED) * passed + 1e-3
    assert passed == pytest.approx(open_seconds * (1 + working / 4) / min(speed, SPEED))


@given(MOMENTS, st.lists(st.floats(0, 500), min_size=30, max_size=30))
def test_however_slow_the_work_the_clock_never_runs_ahead_of_its_pace(steps: list[int], busy: list[float]) -> None:
    adaptive, wall = clock()
    at = OPEN
    for step, seconds in zip(steps, busy, strict=False):
        before, since = at, wall.now
        wall.now += seconds
        at += step
        adaptive.before(at, 0, nothing)
        assert LONDON.business_seconds_between(before, at) <= SPEED * (wall.now - since) + 1e-3


def test_what_comes_in_cuts_a_wait_short_and_the_rest_is_waited_for_afterwards() -> None:
    """RULE 4: whoever writes to the office is heard at once, not after the next thing that would have happened anyway."""
    wall, commits, cut = Wall(), [0], [True]

    def sleep(seconds: float) -> bool:
        wall.now += seconds / 2 if cut[0] else seconds
        return not cut[0]

    def commit() -> None:
        commits[0] += 1

    adaptive = AdaptiveClock(LONDON, OPEN, wall, sleep)
    assert not adaptive.before(OPEN + HOUR, 0, commit)
    assert (wall.now, commits[0]) == (1_015.0, 1), "what had happened so far was committed before the wait"
    cut[0] = False
    assert adaptive.before(OPEN + HOUR, 0, commit)
    assert wall.now == pytest.approx(1_030)
    assert adaptive.before(OPEN + HOUR, 0, commit) and commits[0] == 2, "nothing to wait for, nothing to commit"
