"""Invented names and ids: no two alike, always fit to be one, and the same for the same draws."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from services.offline.names import FIRST, LAST, PLACES, names, slug, style, unique
from simulator.randomness import Stream

SEEDS = st.integers(0, 2**32)


@given(SEEDS, st.integers(0, 400))
def test_nobody_has_anothers_name(seed: int, count: int) -> None:
    found = names(Stream(seed, "names"), count)
    assert len(found) == count == len(set(found))
    assert all(first in FIRST and last in LAST for first, last in found)
    assert names(Stream(seed, "names"), count) == found
    firsts = [first for first, _ in found]
    assert len(set(firsts)) == min(count, len(FIRST)), "first names repeat only when there are no others"


@given(SEEDS, st.integers(0, 100), st.integers(0, 100))
def test_a_larger_firm_has_the_people_of_a_smaller_one_first(seed: int, fewer: int, more: int) -> None:
    """One more person renames nobody."""
    large = names(Stream(seed, "n"), fewer + more)
    if fewer + more <= len(FIRST):
        assert large[:fewer] == names(Stream(seed, "n"), fewer)


@given(st.text(max_size=60))
def test_a_slug_is_an_id_and_its_own_slug(text: str) -> None:
    found = slug(text)
    assert re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", found) and len(found) <= 35
    assert slug(found) == found
    assert slug(text.upper()) == slug(text.upper().lower())


@given(st.lists(st.sampled_from(["ann", "ann-2", "bo", "ann-2-2"]), max_size=12))
def test_unique_ids_are_unique_and_the_first_keeps_its_own(wanted: list[str]) -> None:
    taken: set[str] = set()
    found = [unique(each, taken) for each in wanted]
    assert len(set(found)) == len(found) == len(taken)
    assert all(got == each or got.startswith(f"{each}-") for each, got in zip(wanted, found, strict=True))
    assert not wanted or found[0] == wanted[0]


@given(SEEDS)
def test_a_style_is_two_sentences(seed: int) -> None:
    said = style(Stream(seed, "style"))
    assert said.count(". ") == 1 and said.endswith(".")
    assert said == style(Stream(seed, "style"))


def test_the_lists_hold_no_name_twice_and_every_place_is_an_id_of_its_own() -> None:
    for listed in (FIRST, LAST, PLACES):
        assert len(set(listed)) == len(listed)
        assert len({slug(name) for name in listed}) == len(listed)
