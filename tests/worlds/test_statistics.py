"""Numbers over runs, checked against figures worked out by hand."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.worlds.statistics import (
    LEVELS,
    Interval,
    Result,
    Score,
    by,
    effective_runs,
    pass_hat,
    passes,
    percentiles,
    rate,
    resampled,
    robustness,
    tally,
    wilson,
)
from simulator.errors import UsageError


def run(task: str, result: Result = "passed", level: str = "E0", attempt: int = 1, industry: str = "") -> Score:
    """A score with no more said than a test needs."""
    return Score("a", "s", task, level, attempt, result, industry)


def runs(marks: str, level: str = "E0", industry: str = "") -> list[Score]:
    """One run a task: `+` passed, `-` failed, `i` infrastructure, `x` invalid."""
    said: dict[str, Result] = {"+": "passed", "-": "failed", "i": "infra_error", "x": "invalid"}
    return [run(f"t{at:02}", said[mark], level, industry=industry) for at, mark in enumerate(marks)]


def test_wilson_8_of_10() -> None:
    """Centre (0.8 + z^2/20) / (1 + z^2/10) = 0.716730, half-width 0.226577; the textbook interval 0.490 to 0.943."""
    found = wilson(8, 10)
    assert found.low == pytest.approx(0.49016, abs=1e-5)
    assert found.high == pytest.approx(0.94332, abs=1e-5)


def test_wilson_at_its_ends() -> None:
    """None of n: the upper end is z^2 / (n + z^2), by algebra; the lower is exactly 0. All of n: the mirror image."""
    square = 1.959963984540054**2
    none, every = wilson(0, 10), wilson(10, 10)
    assert (none.low, every.high) == (0.0, 1.0)
    assert none.high == pytest.approx(square / (10 + square))
    assert every.low == pytest.approx(10 / (10 + square))


@pytest.mark.parametrize(("passed", "n"), [(1, 0), (-1, 3), (4, 3)])
def test_wilson_refuses_what_is_no_share(passed: float, n: float) -> None:
    with pytest.raises(UsageError, match="0 <= passed <= runs"):
        wilson(passed, n)


@given(st.integers(1, 400), st.integers(0, 400))
def test_wilson_holds_its_share_and_narrows_with_n(n: int, k: int) -> None:
    passed = min(k, n)
    found, more = wilson(passed, n), wilson(passed * 4, n * 4)
    assert 0 <= found.low <= passed / n <= found.high <= 1
    assert more.high - more.low < found.high - found.low


def test_infrastructure_and_invalid_runs_are_beside_the_rate_and_not_in_it() -> None:
    found = rate(runs("++-iixx"))
    assert (found.passed, found.runs, found.tasks) == (2, 3, 3)
    assert (found.infra, found.invalid) == (2, 2)
    assert found.value == pytest.approx(2 / 3)
    assert found.interval == wilson(2, 3)


def test_nothing_scored_is_no_rate_at_all() -> None:
    found = rate(runs("ix"))
    assert found.value is None and found.interval is None
    assert (found.runs, found.infra, found.invalid) == (0, 1, 1)


def test_attempts_that_always_agree_are_worth_one_run_a_task() -> None:
    """Tasks 2/2 and 0/2: share 1/2 of 4; variance with the task as unit 2 * (1 + 1) / 16 = 1/4; of independent runs
    1/16; design effect 4; 4 / 4 = 1, but never below the two tasks."""
    assert effective_runs([(2, 2), (0, 2)]) == 2


def test_attempts_that_differ_within_tasks_are_worth_all_their_runs() -> None:
    """Each task 1 of 2: nothing varies between tasks, so all four runs count."""
    assert effective_runs([(1, 2), (1, 2)]) == 4


def test_a_mixed_case_by_hand() -> None:
    """Tasks 2/2, 1/2, 1/2, 0/2: share 1/2 of 8; between (1 + 0 + 0 + 1) * 4/3 / 64 = 1/24; independent 1/32; design
    effect 4/3; 8 / (4/3) = 6."""
    assert effective_runs([(2, 2), (1, 2), (1, 2), (0, 2)]) == pytest.approx(6)


def test_where_all_pass_the_tasks_are_counted() -> None:
    assert effective_runs([(3, 3), (3, 3)]) == 2
    assert rate([run("t", attempt=n) for n in range(3)]).interval == wilson(1, 1)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(1, 4)).map(lambda t: (min(t), t[1])), min_size=1, max_size=12))
def test_effective_runs_lie_between_tasks_and_runs(tasks: list[tuple[int, int]]) -> None:
    assert len(tasks) <= effective_runs(tasks) <= sum(n for _, n in tasks)


def test_groups_have_rates_of_their_own_and_the_nameless_are_left_out() -> None:
    scores = [*runs("+-", industry="Farms"), *runs("++", industry="Banks"), *runs("-")]
    found = by(scores, lambda one: one.industry)
    assert list(found) == ["Banks", "Farms"]
    assert (found["Banks"].value, found["Farms"].value) == (1.0, 0.5)


def test_pass_hat_by_hand() -> None:
    """Three attempts each, passes 3, 2, 0. pass^1 = (1 + 2/3 + 0) / 3 = 5/9; pass^2 = (1 + 1/3 + 0) / 3 = 4/9;
    pass^3 = 1/3."""
    marks = {"one": "+++", "two": "++-", "three": "---"}
    scores = [
        run(task, "passed" if mark == "+" else "failed", attempt=at)
        for task, row in marks.items()
        for at, mark in enumerate(row)
    ]
    assert passes(scores) == {"one": (3, 3), "three": (0, 3), "two": (2, 3)}
    values = [pass_hat(scores, k, resamples=50).value for k in (1, 2, 3)]
    assert values == [pytest.approx(5 / 9), pytest.approx(4 / 9), pytest.approx(1 / 3)]


def test_pass_hat_leaves_out_tasks_with_too_few_runs_and_says_so() -> None:
    scores = [run("a"), run("a", attempt=2), run("b"), run("b", "infra_error", attempt=2)]
    found = pass_hat(scores, 2, resamples=20)
    assert (found.value, found.tasks) == (1.0, 1)
    assert found.note == "1 tasks with fewer than 2 scored runs left out"
    assert pass_hat(scores, 3).value is None
    with pytest.raises(UsageError, match="at least 1"):
        pass_hat(scores, 0)


def test_robustness_by_hand() -> None:
    """Ten tasks: E0 8, E1 7, E2 5, E3 6 pass. R = min(0.7, 0.5, 0.6) / 0.8 = 0.625, at E2."""
    scores = [
        *runs("++++++++--", "E0"), *runs("+++++++---", "E1"), *runs("+++++-----", "E2"), *runs("++++++----", "E3"),
    ]  # fmt: skip
    found = robustness(scores, resamples=200)
    assert found.r.value == pytest.approx(0.625)
    assert (found.worst, found.r.tasks, found.left_out, found.r.note) == ("E2", 10, 0, "")
    assert [found.rates[level].passed for level in LEVELS] == [8, 7, 5, 6]
    assert found.r.interval is not None
    assert found.r.interval.low < 0.625 < found.r.interval.high


def test_robustness_of_an_agent_whose_faults_change_nothing_is_one_with_no_width() -> None:
    scores = [one for level in LEVELS for one in runs("++++-", level)]
    found = robustness(scores, resamples=100)
    assert found.r.value == 1.0
    assert found.r.interval == Interval(1.0, 1.0)
    assert "tells nothing" in found.r.note


def test_robustness_compares_the_same_tasks() -> None:
    """Task t02 was lost to the infrastructure under E2: it leaves all four rates. Over t00 and t01: E2 1/2, E0 2/2."""
    scores = [*runs("++-", "E0"), *runs("+++", "E1"), *runs("+-i", "E2"), *runs("+++", "E3")]
    found = robustness(scores, resamples=50)
    assert found.r.value == 0.5
    assert (found.left_out, found.r.tasks) == (1, 2)
    assert (found.rates["E0"].runs, found.rates["E2"].infra) == (2, 1)


@pytest.mark.parametrize(
    ("scores", "why"),
    [
        (runs("+-"), "no scored runs under E1, E2, E3"),
        ([one for level in LEVELS for one in runs("--", level)], "nothing passed under E0"),
        ([run(level, level=level) for level in LEVELS], "no task was scored under all four levels"),
    ],
)
def test_robustness_says_why_it_cannot_be_given(scores: list[Score], why: str) -> None:
    found = robustness(scores, resamples=10)
    assert found.r.value is None and found.r.interval is None
    assert found.r.note == why


def test_resamples_with_no_base_are_left_out_and_counted() -> None:
    """Two tasks, one passing E0: a quarter of the resamples draw the failing one twice."""
    scores = [one for level in LEVELS for one in runs("+-", level)]
    found = robustness(scores, resamples=400)
    lost = int(found.r.note.split()[0])
    assert "of 400 resamples had nothing passed under E0" in found.r.note
    assert 60 < lost < 140


def test_the_bootstrap_is_seeded_and_streams_do_not_disturb_each_other() -> None:
    """RULE 37: the same seed and name give the same draws; another name gives others."""
    items = list(range(20))
    first = list(resampled(items, 1, "R", 5))
    assert first == list(resampled(items, 1, "R", 5))
    assert first != list(resampled(items, 2, "R", 5)) and first != list(resampled(items, 1, "other", 5))
    assert all(len(sample) == 20 and set(sample) <= set(items) for sample in first)


def test_the_bootstrap_of_a_mean_is_as_wide_as_theory_says() -> None:
    """Of 100 tasks half pass: the standard error is 0.05, so the interval is about 0.5 +- 0.098."""
    scores = runs("+-" * 50)
    found = pass_hat(scores, 1, resamples=1000).interval
    assert found is not None
    assert found.high - found.low == pytest.approx(2 * 1.96 * sqrt(0.25 / 100), abs=0.03)


def test_percentiles_take_the_middle() -> None:
    draws = [float(n) for n in range(1000)]
    assert percentiles(draws) == Interval(25.0, 974.0)
    assert percentiles([3.0]) == Interval(3.0, 3.0)
    assert percentiles([]) is None


def test_what_happened_is_tallied() -> None:
    assert tally(runs("++-ix")) == {"passed": 2, "failed": 1, "infra_error": 1, "invalid": 1}


def test_shares_are_exact() -> None:
    """No float sneaks into a comparison: a third is a third."""
    scores = [run("t", "passed" if n < 1 else "failed", attempt=n) for n in range(3)]
    (found,) = passes(scores).values()
    assert Fraction(*found) == Fraction(1, 3)


# -- properties -------------------------------------------------------------------------------------------------------------

RESULTS = st.sampled_from(["passed", "failed", "infra_error", "invalid"])
SCORES = st.lists(
    st.builds(
        Score,
        st.just("a"),
        st.just("s"),
        st.sampled_from(["t1", "t2", "t3"]),
        st.sampled_from(LEVELS),
        st.integers(1, 3),
        RESULTS,
    ),
    max_size=40,
)


@given(SCORES)
def test_every_run_is_in_exactly_one_column(scores: list[Score]) -> None:
    found = rate(scores)
    assert found.runs + found.infra + found.invalid == len(scores)
    assert (found.value is None) == (found.interval is None) == (found.runs == 0)
    if found.interval is not None and found.value is not None:
        assert found.interval.low <= found.value + 1e-12 and found.value <= found.interval.high + 1e-12


@given(SCORES, st.randoms(use_true_random=False))
def test_the_order_of_runs_changes_nothing(scores: list[Score], chance: Any) -> None:
    """Whichever finished first: concurrency never shows in a number."""
    other = list(scores)
    chance.shuffle(other)
    assert rate(other) == rate(scores)
    assert robustness(other, resamples=20) == robustness(scores, resamples=20)
    assert pass_hat(other, 2, resamples=20) == pass_hat(scores, 2, resamples=20)


@given(SCORES)
def test_what_was_no_score_changes_no_rate(scores: list[Score]) -> None:
    more = [*scores, run("t1", "infra_error"), run("t9", "invalid")]
    assert (rate(more).value, rate(more).interval) == (rate(scores).value, rate(scores).interval)
    one, two = robustness(more, resamples=20), robustness(scores, resamples=20)
    assert one.r == two.r


@given(SCORES)
def test_pass_hat_never_rises_with_k_over_the_same_tasks(scores: list[Score]) -> None:
    enough = [one for one in scores if passes(scores).get(one.task, (0, 0))[1] >= 3]
    values = [pass_hat(enough, k, resamples=5).value for k in (1, 2, 3)]
    known = [value for value in values if value is not None]
    assert known == sorted(known, reverse=True)


@given(SCORES)
def test_groups_add_up(scores: list[Score]) -> None:
    found = by(scores, lambda one: one.level)
    assert sum(one.runs for one in found.values()) == rate(scores).runs
    assert sum(one.passed for one in found.values()) == rate(scores).passed
