"""Simulators compared: the matrix, agreement of rankings, ensembles; every figure worked out by hand."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.worlds.agreement import (
    agreement,
    agreement_of,
    agreements,
    compare,
    ensemble,
    matrix,
    share_of,
    verdict,
)
from bench.worlds.statistics import Result, Score
from simulator.errors import UsageError

MARKS: dict[str, Result] = {"+": "passed", "-": "failed", "i": "infra_error", "x": "invalid"}


def scores(table: Mapping[tuple[str, str], str], level: str = "E0") -> list[Score]:
    """`table[agent, simulator]` is a mark a task."""
    return [
        Score(agent, simulator, f"t{at:02}", level, 1, MARKS[mark])
        for (agent, simulator), marks in table.items()
        for at, mark in enumerate(marks)
    ]


def ranks(order: str) -> dict[str, Fraction]:
    """Agents from best to worst, as rates."""
    return {agent: Fraction(len(order) - at, len(order)) for at, agent in enumerate(order)}


def test_the_papers_arithmetic_24_of_28_pairs_is_85_7_percent() -> None:
    """Eight agents make 28 pairs. Four swaps of neighbours turn four pairs round: 24 / 28 = 0.857."""
    table = {"one": ranks("abcdefgh"), "two": ranks("badcfehg")}
    assert compare(table["one"], table["two"]) == (24, 0, 4)
    found = agreement_of(table, "one", "two")
    assert found.value == pytest.approx(0.857, abs=5e-4)
    assert found.note == "28 pairs"


def test_a_reversed_ranking_agrees_nowhere_and_the_same_one_everywhere() -> None:
    assert share_of(compare(ranks("abcd"), ranks("dcba"))) == 0
    assert share_of(compare(ranks("abcd"), ranks("abcd"))) == 1


def test_the_rule_for_ties() -> None:
    """a = b > c against a > b = c: ab and bc are tied under one alone (half each), ac agrees: (1 + 2/2) / 3 = 2/3."""
    first = {"a": Fraction(1, 2), "b": Fraction(2, 4), "c": Fraction(0)}
    second = {"a": Fraction(1, 2), "b": Fraction(1, 3), "c": Fraction(2, 6)}
    assert compare(first, second) == (1, 2, 0)
    assert share_of(compare(first, second)) == Fraction(2, 3)
    assert compare(first, first) == (3, 0, 0)


@given(st.lists(st.fractions(0, 1, max_denominator=5), min_size=2, max_size=7))
def test_agreement_is_symmetric(values: list[Fraction]) -> None:
    """Every pair is counted once, whichever simulator comes first."""
    first = {f"a{n}": value for n, value in enumerate(values)}
    second = {f"a{n}": value for n, value in enumerate(reversed(values))}
    assert compare(first, second) == compare(second, first)
    assert sum(compare(first, second)) == len(values) * (len(values) - 1) // 2


def test_only_agents_that_both_have_are_compared() -> None:
    assert compare(ranks("abc"), ranks("abd")) == (1, 0, 0)
    assert share_of(compare(ranks("a"), ranks("a"))) is None


def test_the_matrix_by_hand() -> None:
    """Simulator s: a 3/4, b 1/4, mean 1/2. Simulator w: a 1/4, b 2/3 with one run lost; mean 11/24."""
    found = matrix(scores({("a", "s"): "+++-", ("b", "s"): "+---", ("a", "w"): "+---", ("b", "w"): "++-i"}))
    assert (found.agents, found.simulators) == (("a", "b"), ("s", "w"))
    assert found.cells["a"]["s"].value == 0.75
    assert (found.cells["b"]["w"].runs, found.cells["b"]["w"].infra) == (3, 1)
    assert found.means == {"s": pytest.approx(1 / 2), "w": pytest.approx(11 / 24)}


def test_means_of_the_matrix_compare_the_same_agents() -> None:
    """Agent b never ran under w, so only a is in the means; the cell of b stays."""
    found = matrix(scores({("a", "s"): "++", ("b", "s"): "--", ("a", "w"): "+-"}))
    assert found.means == {"s": 1.0, "w": 0.5}
    assert "w" not in found.cells["b"] and found.cells["b"]["s"].runs == 2


def test_a_strong_agent_that_simulates_badly_turns_the_ranking_round() -> None:
    """The published case in small: under a bad simulator every agent drops, and the order no longer holds."""
    table = {
        ("a", "good"): "+++++++---", ("b", "good"): "++++++----", ("c", "good"): "+++++-----",
        ("a", "bad"): "++--------", ("b", "bad"): "+++-------", ("c", "bad"): "+---------",
    }  # fmt: skip
    found = agreement(scores(table), "good", "bad", resamples=100)
    assert (found.pairs, found.alike, found.opposed) == (3, 2, 1)
    assert found.share == pytest.approx(2 / 3)
    means = matrix(scores(table)).means
    assert means == {"good": pytest.approx(0.6), "bad": pytest.approx(0.2)}


def test_agreement_uses_tasks_scored_in_every_cell() -> None:
    """t01 was lost for b under w. Over t00, t02: s has a 2/2, b 1/2; w has a 1/2, b 0/2. One pair, alike."""
    table = {("a", "s"): "+-+", ("b", "s"): "++-", ("a", "w"): "+--", ("b", "w"): "-i-"}
    found = agreement(scores(table), "s", "w", resamples=20)
    assert (found.share, found.tasks, found.pairs) == (1.0, 2, 1)
    assert found.note == "1 tasks not scored in every cell left out"


def test_a_task_under_another_fault_level_is_another_task() -> None:
    both = scores({("a", "s"): "+", ("b", "s"): "-", ("a", "w"): "+", ("b", "w"): "-"}) + scores(
        {("a", "s"): "-", ("b", "s"): "-", ("a", "w"): "-"}, "E2"
    )
    found = agreement(both, "s", "w", resamples=10)
    assert (found.tasks, found.share) == (1, 1.0)


def test_the_interval_of_agreement_is_seeded_and_holds_the_share() -> None:
    table = {
        ("a", "s"): "++++++----", ("b", "s"): "+++++-----", ("a", "w"): "+++++++---", ("b", "w"): "++++++++--",
    }  # fmt: skip
    one, two = (agreement(scores(table), "s", "w", seed=3, resamples=200) for _ in range(2))
    assert one == two
    assert one.interval is not None and one.share is not None
    assert one.interval.low <= one.share <= one.interval.high
    assert one.interval.high > one.interval.low


def test_agreement_says_why_there_is_none() -> None:
    lonely = agreement(scores({("a", "s"): "+", ("a", "w"): "+"}), "s", "w")
    assert lonely.share is None and lonely.note == "fewer than two agents were scored by both"
    apart = agreement(scores({("a", "s"): "+i", ("b", "s"): "+i", ("a", "w"): "i+", ("b", "w"): "i+"}), "s", "w")
    assert apart.share is None and apart.note == "no task was scored in every cell"
    with pytest.raises(UsageError, match="name two"):
        agreement([], "s", "s")


def test_every_pair_of_simulators_is_compared_once() -> None:
    table = {(agent, simulator): "+-" for agent in "ab" for simulator in "xyz"}
    found = agreements(scores(table), resamples=5)
    assert [(one.first, one.second) for one in found] == [("x", "y"), ("x", "z"), ("y", "z")]
    assert all(one.share == 1.0 and one.pairs == 1 for one in found)


@pytest.mark.parametrize(
    ("marks", "needed", "said"),
    [
        ("++-", 2, "passed"), ("+--", 2, "failed"), ("+++", 3, "passed"), ("++-", 3, "failed"),
        ("++i", 2, "passed"), ("++i", 3, None), ("+-i", 2, None), ("--i", 2, "failed"), ("iii", 1, None),
    ],
)  # fmt: skip
def test_an_ensemble_passes_only_if_k_agree(marks: str, needed: int, said: Result | None) -> None:
    assert verdict([MARKS[mark] for mark in marks], needed) == said


def test_ensemble_rates_by_hand() -> None:
    """Agent a: votes ++, +-, -- over three tasks. One of two: 2/3. Two of two: 1/3."""
    table = scores({("a", "s"): "++-", ("a", "w"): "+--"})
    (either,), (both,) = ensemble(table, 1), ensemble(table, 2)
    assert (either.rate.passed, either.rate.runs) == (2, 3)
    assert (both.rate.passed, both.rate.runs, both.undecided) == (1, 3, 0)


def test_an_ensemble_does_not_guess_for_a_member_that_gave_no_score() -> None:
    """Two of two: the first task waits for w, the second failed already, the third was never run under w."""
    table = scores({("a", "s"): "+-+", ("a", "w"): "i-"})
    (found,) = ensemble(table, 2)
    assert (found.rate.passed, found.rate.runs, found.undecided) == (0, 1, 2)


def test_an_ensemble_of_named_members_leaves_others_out() -> None:
    table = scores({("a", "s"): "+", ("a", "w"): "+", ("a", "z"): "-"})
    assert ensemble(table, 2, ("s", "w"))[0].rate.value == 1.0
    assert ensemble(table, 3)[0].rate.value == 0.0
    with pytest.raises(UsageError, match="K is 1 to 3"):
        ensemble(table, 4)


# -- properties -------------------------------------------------------------------------------------------------------------

VOTES: st.SearchStrategy[list[Result]] = st.lists(st.sampled_from(list(MARKS.values())), min_size=1, max_size=7)


@given(VOTES)
def test_a_stricter_ensemble_never_passes_more(votes: list[Result]) -> None:
    """Where K agree, K - 1 agree; where fewer than K can, fewer than K + 1 can."""
    said = [verdict(votes, needed) for needed in range(1, len(votes) + 1)]
    for loose, strict in zip(said, said[1:], strict=False):
        assert not (strict == "passed" and loose != "passed")
        assert not (loose == "failed" and strict != "failed")


@given(VOTES, st.integers(1, 7), st.sampled_from(["passed", "failed"]))
def test_a_settled_verdict_is_not_overturned_by_a_late_vote(votes: list[Result], needed: int, late: Result) -> None:
    """Whatever a member that gave no score would have said, what is settled stays."""
    before = verdict(votes, min(needed, len(votes)))
    open_ = [at for at, vote in enumerate(votes) if vote not in ("passed", "failed")]
    if before is not None and open_:
        changed = [late if at == open_[0] else vote for at, vote in enumerate(votes)]
        assert verdict(changed, min(needed, len(votes))) == before


@given(st.dictionaries(st.sampled_from("abcdef"), st.fractions(0, 1, max_denominator=4), min_size=2))
def test_a_ranking_agrees_with_itself_and_with_any_stretching_of_it(rates: dict[str, Fraction]) -> None:
    """Only the order counts: halving every rate, or squaring it, changes nothing."""
    assert share_of(compare(rates, rates)) == 1
    assert share_of(compare(rates, {a: r / 2 for a, r in rates.items()})) == 1
    assert share_of(compare(rates, {a: r * r for a, r in rates.items()})) == 1


@given(st.permutations(list("abcdefgh")))
def test_agreement_without_ties_is_kendalls_tau_moved_to_0_1(order: list[str]) -> None:
    """share = (tau + 1) / 2, tau counted here by inversions of the permutation."""
    at = [order.index(one) for one in "abcdefgh"]
    inversions = sum(at[i] > at[j] for i in range(8) for j in range(i + 1, 8))
    tau = Fraction(28 - 2 * inversions, 28)
    assert share_of(compare(ranks("abcdefgh"), ranks("".join(order)))) == (tau + 1) / 2


def test_eight_agents_and_three_simulators_from_runs() -> None:
    """The paper's shape: 8 x 3, 28 pairs. Under `two`, four neighbours are swapped: 24 of 28 from the runs themselves."""
    order = "abcdefgh"
    table: dict[tuple[str, str], str] = {}
    for simulator, ranking in (("one", order), ("two", "badcfehg"), ("three", order)):
        for agent in order:
            passed = 8 - ranking.index(agent)
            table[agent, simulator] = "+" * passed + "-" * (9 - passed)
    found = {(one.first, one.second): one for one in agreements(scores(table), resamples=50)}
    assert found["one", "two"].share == pytest.approx(24 / 28)
    assert found["one", "three"].share == 1.0
    assert (found["one", "two"].pairs, found["one", "two"].opposed, found["one", "two"].tasks) == (28, 4, 9)
    assert len(matrix(scores(table)).agents) == 8
