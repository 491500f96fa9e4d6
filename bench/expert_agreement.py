"""Agreement between experts: plain percentages with their n, Cohen's kappa of two, Fleiss' kappa of all.

Only what was said is counted: a verdict or an opinion that an expert left open is none. Fleiss' kappa is taken in its usual
generalization to items with different numbers of raters, each weighing the same: with equal numbers it is Fleiss' own.
Sources: Cohen 1960, A coefficient of agreement for nominal scales; Fleiss 1971, Measuring nominal scale agreement among
many raters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import combinations

import msgspec

from bench.expert_reviews import ExpertReview, standing

Ratings = Mapping[str, Mapping[str, Hashable]]
"""What each rater said of each item: {item: {rater: category}}."""


class Measure(msgspec.Struct, frozen=True):
    """Agreement over `items` that at least two raters judged. `agreed` of `pairs` pairs of judgements are equal, `share` is that
    as 0 to 1, None where there are none. `kappa` is None where it is not defined; `note` then says why."""

    items: int
    pairs: int
    agreed: int
    share: float | None
    kappa: float | None
    note: str = ""


class PairMeasure(msgspec.Struct, frozen=True):
    """Agreement of two experts over what both judged."""

    first: str
    second: str
    measure: Measure


class Agreement(msgspec.Struct, frozen=True):
    """How far experts agree. `verdicts` is on accepting tasks, `criteria` on keeping, changing or dropping criteria, both as
    Fleiss' kappa; `pairs` is on verdicts, as Cohen's."""

    experts: tuple[str, ...]
    verdicts: Measure
    criteria: Measure
    pairs: tuple[PairMeasure, ...]


def agreement(reviews: Iterable[ExpertReview]) -> Agreement:
    """Return the agreement of the reviews that stand."""
    latest = standing(reviews)
    names = {r.expert.casefold(): r.expert for r in latest}
    verdicts: dict[str, dict[str, Hashable]] = {}
    criteria: dict[str, dict[str, Hashable]] = {}
    for review in latest:
        rater = review.expert.casefold()
        if review.said.verdict:
            verdicts.setdefault(review.version, {})[rater] = review.said.verdict
        for remark in review.said.remarks:
            if remark.opinion:
                criteria.setdefault(f"{review.version} {remark.criterion}", {})[rater] = remark.opinion
    raters = sorted({rater for said in verdicts.values() for rater in said})
    pairs = [(a, b, cohen([(s[a], s[b]) for s in verdicts.values() if a in s and b in s])) for a, b in combinations(raters, 2)]
    return Agreement(
        tuple(names[key] for key in sorted(names)), fleiss(verdicts), fleiss(criteria),
        tuple(PairMeasure(names[a], names[b], measure) for a, b, measure in pairs if measure.items),
    )  # fmt: skip


def cohen(pairs: Sequence[tuple[Hashable, Hashable]]) -> Measure:
    """Return the agreement of two raters on the items that both judged."""
    n = len(pairs)
    if not n:
        return Measure(0, 0, 0, None, None, "nothing was judged by both")
    agreed = sum(a == b for a, b in pairs)
    first, second = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    chance = sum(first[c] * second[c] for c in first) / n**2
    return _measure(n, n, agreed, agreed / n, chance)


def fleiss(ratings: Ratings) -> Measure:
    """Return the agreement of any number of raters on the items that two or more of them judged."""
    items = [Counter(said.values()) for said in ratings.values() if len(said) > 1]
    if not items:
        return Measure(0, 0, 0, None, None, "nothing was judged by two")
    pairs = sum(_pairs(sum(c.values())) for c in items)
    agreed = sum(_pairs(n) for c in items for n in c.values())
    observed = sum(sum(_pairs(n) for n in c.values()) / _pairs(sum(c.values())) for c in items) / len(items)
    total = sum((c for c in items), Counter[Hashable]())
    ratings_given = sum(total.values())
    chance = sum((n / ratings_given) ** 2 for n in total.values())
    return _measure(len(items), pairs, agreed, observed, chance)


def _pairs(n: int) -> int:
    return n * (n - 1) // 2


def _measure(items: int, pairs: int, agreed: int, observed: float, chance: float) -> Measure:
    share = round(agreed / pairs, 4)
    if chance >= 1:
        return Measure(items, pairs, agreed, share, None, "only one answer was ever given, so chance alone would agree")
    return Measure(items, pairs, agreed, share, round((observed - chance) / (1 - chance), 4))
