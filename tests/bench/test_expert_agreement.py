"""Agreement between experts, against values worked out by hand and published ones."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bench.expert_agreement import agreement, cohen, fleiss
from bench.expert_reviews import ExpertReview, Remark, Said, Verdict

PSYCHIATRISTS = [
    (0, 0, 0, 0, 14), (0, 2, 6, 4, 2), (0, 0, 3, 5, 6), (0, 3, 9, 2, 0), (2, 2, 8, 1, 1),
    (7, 7, 0, 0, 0), (3, 2, 6, 3, 0), (2, 5, 3, 2, 2), (6, 5, 2, 1, 0), (0, 2, 2, 3, 7),
]  # fmt: skip
"""Ten subjects, fourteen raters, five categories: the worked example that textbooks give for Fleiss' kappa, 0.210."""


def said(expert: str, version: str, verdict: Verdict, at: int = 1, **opinions: str) -> ExpertReview:
    remarks = tuple(Remark(key, opinion) for key, opinion in opinions.items())  # type: ignore[arg-type]
    return ExpertReview(f"task {version}", version, expert, at, Said(verdict, "why", None, remarks))


def test_cohens_kappa_by_hand() -> None:
    """20 both yes, 15 both no, 5 and 10 apart: observed 0.7, by chance 0.5, so 0.4."""
    pairs = [("y", "y")] * 20 + [("y", "n")] * 5 + [("n", "y")] * 10 + [("n", "n")] * 15
    measure = cohen(pairs)
    assert (measure.items, measure.agreed, measure.share, measure.kappa) == (50, 35, 0.7, 0.4)


def test_fleiss_kappa_of_the_textbooks() -> None:
    ratings = {
        f"subject {n}": {f"rater {i}": c for i, c in enumerate(c for c, times in enumerate(row) for _ in range(times))}
        for n, row in enumerate(PSYCHIATRISTS)
    }
    measure = fleiss(ratings)
    assert measure.items == 10 and measure.pairs == 10 * 91
    assert measure.kappa is not None and round(measure.kappa, 3) == 0.210


def test_where_chance_alone_would_agree_there_is_no_kappa() -> None:
    measure = cohen([("y", "y")] * 4)
    assert (measure.share, measure.kappa) == (1.0, None) and "chance" in measure.note
    assert fleiss({}).share is None and cohen([]).kappa is None


def test_what_one_alone_judged_is_in_no_number() -> None:
    found = fleiss({"a": {"x": 1}, "b": {"x": 1, "y": 2}, "c": {"x": 2, "y": 2}})
    assert (found.items, found.pairs, found.agreed, found.share) == (2, 2, 1, 0.5)


def test_only_standing_verdicts_count_and_each_version_is_an_item_of_its_own() -> None:
    reviews = [
        said("Ada", "v1", "reject", 1), said("ADA", "v1", "accept", 2), said("Bo", "v1", "accept", 3),
        said("Ada", "v2", "accept", 4), said("Bo", "v2", "reject", 5), said("Cy", "v2", "", 6),
    ]  # fmt: skip
    found = agreement(reviews)
    assert found.experts == ("ADA", "Bo", "Cy") or found.experts == ("Ada", "Bo", "Cy")
    assert (found.verdicts.items, found.verdicts.pairs, found.verdicts.agreed) == (2, 2, 1)
    (pair,) = found.pairs
    assert {pair.first.casefold(), pair.second.casefold()} == {"ada", "bo"} and pair.measure.items == 2


def test_opinions_on_criteria_are_measured_apart() -> None:
    found = agreement([
        said("Ada", "v1", "accept", one="keep", two="drop"), said("Bo", "v1", "accept", one="keep", two="change", three="keep"),
    ])  # fmt: skip
    assert (found.criteria.items, found.criteria.agreed, found.criteria.share) == (2, 1, 0.5)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), min_size=1, max_size=30))
def test_kappa_is_at_most_one_and_blind_to_order_and_to_who_is_first(pairs: list[tuple[str, str]]) -> None:
    measure = cohen(pairs)
    assert measure == cohen(list(reversed(pairs))) == cohen([(b, a) for a, b in pairs])
    assert measure.kappa is None or -1 <= measure.kappa <= 1
    if measure.kappa is not None:
        assert (measure.kappa == 1) == (measure.agreed == measure.items)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), min_size=1, max_size=30))
def test_fleiss_of_two_raters_sees_the_same_agreement_as_cohen(pairs: list[tuple[str, str]]) -> None:
    of_all = fleiss({str(n): {"x": a, "y": b} for n, (a, b) in enumerate(pairs)})
    of_two = cohen(pairs)
    assert (of_all.items, of_all.agreed, of_all.share) == (of_two.items, of_two.agreed, of_two.share)
    if of_all.kappa is not None and of_two.kappa is not None:
        # Cohen takes each rater's own habits for chance, Fleiss those of both together, which are never less alike.
        assert of_all.kappa <= of_two.kappa + 1e-3
