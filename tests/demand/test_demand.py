"""The seeded demand process: when a client's contact next brings work, and about which period."""

from __future__ import annotations

import itertools
from datetime import date, timedelta
from typing import Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.businesstime import calendar_for
from simulator.demand import next_demand, period_of, variety
from simulator.events import CalendarRules, DemandSet, Event, StimulusArrived
from simulator.fold import apply, fold
from simulator.office import Office
from simulator.records import Demand, Stimulus
from tests.engine.worlds import MONDAY, opening, person

Cadence = Literal["monthly", "fortnightly", "weekly"]
CADENCES: tuple[Cadence, ...] = ("monthly", "fortnightly", "weekly")
RULES = (
    CalendarRules(),
    CalendarRules(zone="America/New_York", opens=480, closes=1020, holidays=("2026-01-19", "2026-12-25", "2027-01-01")),
    CalendarRules(zone="Asia/Dubai", weekdays=(6, 0, 1, 2, 3)),
    CalendarRules(zone="Asia/Tokyo", always_open=True),
)


def demand(cadence: Cadence = "monthly", name: str = "d1", **more: int) -> Demand:
    return Demand(name, "maya", "river", "month-close", cadence, **more)


def office(seed: int = 0, rules: CalendarRules | None = None, *demands: Demand) -> Office:
    return fold(opening([person("ada")], rules=rules, seed=seed, demands=demands))


# -- periods -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cadence", "opened", "number", "first", "about"),
    [("monthly", "2026-01-05", 0, "2026-01-01", "2025-12"), ("monthly", "2026-01-05", 1, "2026-02-01", "2026-01"),
     ("monthly", "2026-11-30", 1, "2026-12-01", "2026-11"), ("monthly", "2026-11-30", 2, "2027-01-01", "2026-12"),
     ("monthly", "2026-12-31", 0, "2026-12-01", "2026-11"), ("monthly", "2026-12-31", 13, "2028-01-01", "2027-12"),
     ("monthly", "2028-02-29", 1, "2028-03-01", "2028-02"),
     ("weekly", "2026-01-05", 0, "2026-01-05", "2025-12-29"), ("weekly", "2026-01-11", 0, "2026-01-05", "2025-12-29"),
     ("weekly", "2026-12-31", 1, "2027-01-04", "2026-12-28"), ("weekly", "2027-01-01", 0, "2026-12-28", "2026-12-21"),
     ("fortnightly", "2026-01-07", 0, "2026-01-05", "2025-12-22"), ("fortnightly", "2026-01-07", 1, "2026-01-19", "2026-01-05"),
     ("fortnightly", "2026-12-25", 1, "2027-01-04", "2026-12-21")],
)  # fmt: skip
def test_a_period_over_the_ends_of_months_and_years(
    cadence: Cadence, opened: str, number: int, first: str, about: str
) -> None:
    assert period_of(demand(cadence), date.fromisoformat(opened), number) == (date.fromisoformat(first), about)


@given(st.sampled_from(CADENCES), st.dates(date(2000, 1, 1), date(2090, 1, 1)), st.integers(0, 60))
def test_each_period_follows_the_one_before_without_gap_and_its_work_is_about_what_is_over(
    cadence: Cadence, opened: date, number: int
) -> None:
    first, about = period_of(demand(cadence), opened, number)
    following, then = period_of(demand(cadence), opened, number + 1)
    if cadence == "monthly":
        assert then == f"{first:%Y-%m}" and first.day == 1
    else:
        assert then == first.isoformat() and first.weekday() == 0
        assert following - first == timedelta(days=7 if cadence == "weekly" else 14)
    assert about < first.isoformat() < following.isoformat()


@given(st.sampled_from(CADENCES), st.dates(date(2000, 1, 1), date(2090, 1, 1)))
def test_the_first_period_is_the_one_in_which_the_office_opens(cadence: Cadence, opened: date) -> None:
    first, _ = period_of(demand(cadence), opened, 0)
    following, _ = period_of(demand(cadence), opened, 1)
    assert first <= opened < following


# -- arrivals ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rules", RULES, ids=lambda r: r.zone)
@pytest.mark.parametrize("cadence", CADENCES)
@pytest.mark.parametrize("seed", [0, 7])
def test_arrivals_rise_and_fall_in_the_working_part_of_a_business_day(
    rules: CalendarRules, cadence: Cadence, seed: int
) -> None:
    """A year and more of arrivals, over both changes of the clocks; the opening day's own may be past, and comes at once."""
    state, calendar = office(seed, rules), calendar_for(rules)
    found = [next_demand(state, demand(cadence, day=2, jitter_days=2), n).at for n in range(30)]
    assert all(a < b for a, b in itertools.pairwise(found))
    for at in found:
        if at == state.now + 60:
            continue
        local = calendar.local(at)
        assert calendar.is_business_day(calendar.day(at)) and calendar.is_open(at)
        middle = rules.opens + 4 + (rules.closes - rules.opens) // 2
        assert rules.opens + 4 <= local.hour * 60 + local.minute < middle


@given(st.integers(0, 2**32), st.integers(1, 9), st.integers(0, 6), st.integers(1, 20))
def test_an_arrival_is_the_business_day_it_says_plus_at_most_its_jitter(
    seed: int, day: int, jitter: int, number: int
) -> None:
    state = office(seed)
    calendar = calendar_for(state.calendar)
    wanted = demand("monthly", day=day, jitter_days=jitter)
    first, _ = period_of(wanted, date(2026, 1, 5), number)
    on = calendar.day(next_demand(state, wanted, number).at)
    days = [calendar.business_day(f"{first:%Y-%m}", d) for d in range(day, day + jitter + 1)]
    assert on in days


def test_jitter_is_used_and_without_it_there_is_none() -> None:
    state = office()
    calendar = calendar_for(state.calendar)
    late = {calendar.day(next_demand(state, demand(day=2, jitter_days=3), n).at)[8:] for n in range(1, 25)}
    assert len(late) > 4
    exact = [calendar.day(next_demand(state, demand(day=1, jitter_days=0), n).at) for n in range(1, 4)]
    assert exact == ["2026-02-02", "2026-03-02", "2026-04-01"]


def test_a_day_before_the_first_means_the_first() -> None:
    state = office()
    calendar = calendar_for(state.calendar)
    assert calendar.day(next_demand(state, demand(day=-3, jitter_days=0), 1).at) == "2026-02-02"


def test_the_same_seed_brings_the_same_work_and_another_seed_other_times() -> None:
    def arrivals(seed: int) -> list[int]:
        return [next_demand(office(seed), demand(c), n).at for c in CADENCES for n in range(1, 9)]

    assert arrivals(3) == arrivals(3) != arrivals(4)


def test_one_more_demand_moves_no_other_ones_arrivals() -> None:
    """RULE 37: each draws from a stream of its own."""
    alone = office(5, None, demand("weekly"))
    among = office(5, None, demand("monthly", "a"), demand("weekly"), demand("weekly", "z"))
    one, other = alone, among
    for _ in range(6):
        assert one.timers["demand:d1"] == other.timers["demand:d1"]
        one, other = (arrive(o, "d1") for o in (one, other))
    assert among.timers["demand:d1"].at != among.timers["demand:z"].at


def arrive(state: Office, name: str) -> Office:
    """Let a demand's timer ring, as the engine does."""
    timer = state.timers[f"demand:{name}"]
    stimulus = Stimulus(f"{timer.key}:{timer.number}", "demand", name, timer.at, "engine", timer.key)
    return apply(state, Event(state.revision + 1, timer.at, "engine", timer.key, StimulusArrived(timer.owner, stimulus)))


def test_each_arrival_wakes_the_contact_and_sets_the_next_timer() -> None:
    state = office(1, None, demand("weekly"))
    for number in range(5):
        timer = state.timers["demand:d1"]
        assert (timer.kind, timer.ref, timer.owner, timer.number) == ("demand", "d1", "maya", number)
        state = arrive(state, "d1")
        assert state.inboxes["maya"][-1].ref == "d1" and state.counts["demand:d1"] == number + 1
        assert state.timers["demand:d1"].at > timer.at


def test_what_is_past_when_the_office_opens_arrives_at_once() -> None:
    """An office that opens on the last day of a month is asked for the month before, not left alone until the next."""
    late = MONDAY + 25 * 86_400
    log = [msgspec.structs.replace(e, sim_time=late) for e in opening([person("ada")])]
    state = fold(log)
    assert next_demand(state, demand(day=2, jitter_days=0), 0).at == late + 60
    assert next_demand(state, demand(day=2, jitter_days=0), 1).at > late + 60


def test_a_demand_may_be_set_while_the_office_works() -> None:
    state = office()
    later = Event(state.revision + 1, MONDAY + 90 * 86_400, "engine", "x", DemandSet(demand("monthly")))
    state = apply(state, later)
    assert state.timers["demand:d1"].at == later.sim_time + 60


# -- variety -------------------------------------------------------------------------------------------------------------


def test_no_two_months_are_alike_and_each_is_the_same_told_again() -> None:
    state = office(1)
    drawn = [variety(state, demand(), n) for n in range(50)]
    assert len(set(drawn)) == 50 and all(0 <= v < 1_000_000 for v in drawn)
    assert drawn == [variety(office(1), demand(), n) for n in range(50)]
    assert drawn[0] != variety(office(2), demand(), 0) and drawn[0] != variety(state, demand(name="other"), 0)
