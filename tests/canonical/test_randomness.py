"""Named counter streams: each draw is a function of seed, name and place, and disturbs no other (RULE 37)."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.randomness import Stream

NAMES = st.lists(st.one_of(st.text(st.characters(codec="utf-8"), max_size=6), st.integers(-9, 9)), min_size=1, max_size=3)


def draws(seed: int, *name: str | int, count: int = 5) -> list[int]:
    stream = Stream(seed, *name)
    return [stream.bits() for _ in range(count)]


def test_the_first_draws_are_pinned_for_good() -> None:
    """Changing these changes every office that was ever grown."""
    assert draws(0, "demand", "d1", 3, count=2) == [6256645446382113073, 12776666801146836370]


@given(st.integers(-(2**40), 2**40), NAMES)
def test_the_same_stream_told_twice_is_the_same(seed: int, name: list[str | int]) -> None:
    assert draws(seed, *name) == draws(seed, *name)
    assert all(0 <= bits < 2**64 for bits in draws(seed, *name))


@given(st.integers(0, 99), NAMES, NAMES)
def test_other_names_and_seeds_are_other_streams(seed: int, one: list[str | int], other: list[str | int]) -> None:
    assert draws(seed, *one) != draws(seed + 1, *one)
    if [str(p) for p in one] != [str(p) for p in other] and not any("\x1f" in str(p) for p in (*one, *other)):
        assert draws(seed, *one) != draws(seed, *other)


def test_the_parts_of_a_name_do_not_run_together() -> None:
    assert len({tuple(draws(1, *name)) for name in (("ab", "c"), ("a", "bc"), ("abc",), ("ab", "c", ""), ("a", "b", "c"))}) == 5
    assert draws(1, "1", "2") == draws(1, 1, 2), "numbers and their digits are one name"


def test_draws_of_one_stream_do_not_depend_on_another_being_used() -> None:
    one, other = Stream(1, "a"), Stream(1, "b")
    mixed = []
    for _ in range(5):
        mixed.append(one.bits())
        other.bits()
    assert mixed == draws(1, "a")


@given(st.integers(0, 999), st.integers(1, 50))
def test_below_and_between_stay_in_their_bounds(seed: int, n: int) -> None:
    stream = Stream(seed, "x")
    assert all(0 <= stream.below(n) < n for _ in range(20))
    assert all(-n <= stream.between(-n, n) <= n for _ in range(20))
    assert stream.between(n, n) == n


@pytest.mark.parametrize("n", [0, -1])
def test_below_nothing_is_an_error(n: int) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        Stream(1, "x").below(n)
    with pytest.raises(ValueError, match="at least 1"):
        Stream(1, "x").choice([])


def test_draws_are_spread_evenly() -> None:
    stream = Stream(3, "spread")
    found = Counter(stream.below(10) for _ in range(10_000))
    assert set(found) == set(range(10)) and max(found.values()) - min(found.values()) < 250
    hits = sum(stream.chance(1, 4) for _ in range(4_000))
    assert 880 < hits < 1_120
    assert not any(stream.chance(0, 5) for _ in range(50)) and all(stream.chance(5, 5) for _ in range(50))


@given(st.integers(0, 999), st.lists(st.integers(), max_size=12))
def test_shuffling_keeps_everything_and_leaves_the_original_alone(seed: int, items: list[int]) -> None:
    before = list(items)
    shuffled = Stream(seed, "s").shuffled(items)
    assert items == before and sorted(shuffled) == sorted(items)
    assert shuffled == Stream(seed, "s").shuffled(tuple(items))


def test_every_order_of_three_comes_up() -> None:
    found = Counter(tuple(Stream(seed, "s").shuffled("abc")) for seed in range(600))
    assert len(found) == 6 and min(found.values()) > 60
