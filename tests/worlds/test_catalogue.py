"""The catalogue of scenarios: how many, all different, each with a brief that synthesis can work from."""

from __future__ import annotations

import re
from collections import Counter
from itertools import combinations

import pytest

from bench.worlds.catalogue import Scenario, find, load_catalogue, parse_catalogue
from simulator.errors import UnknownReference, UsageError

SCENARIOS = load_catalogue()


def test_100_scenarios_in_10_industries_and_65_domains() -> None:
    assert len(SCENARIOS) == 100
    assert len({one.industry for one in SCENARIOS.values()}) == 10
    assert len({one.domain for one in SCENARIOS.values()}) == 65


def test_every_industry_has_its_share() -> None:
    assert set(Counter(one.industry for one in SCENARIOS.values()).values()) == {10}
    assert set(Counter(one.domain for one in SCENARIOS.values()).values()) <= {1, 2}


def test_titles_and_briefs_are_unique() -> None:
    assert len({one.title for one in SCENARIOS.values()}) == 100
    assert len({one.brief for one in SCENARIOS.values()}) == 100


@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=SCENARIOS)
def test_a_brief_can_be_worked_from(scenario: Scenario) -> None:
    """An id that makes a file name, a title without a full stop, a brief of 25 to 70 words that names the agent."""
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", scenario.id)
    assert scenario.title[0].isupper() and not scenario.title.endswith(".")
    assert 25 <= len(scenario.brief.split()) <= 70
    assert "The agent" in scenario.brief or "agent" in scenario.brief.lower()
    assert scenario.brief.endswith(".") and "\n" not in scenario.brief


def test_no_two_briefs_are_one_in_other_clothes() -> None:
    """Words of five letters and more: no pair shares more than a third of the smaller one's."""
    words = {name: set(re.findall(r"[a-z]{5,}", one.brief.lower())) - {"agent"} for name, one in SCENARIOS.items()}
    near = [
        (a, b) for a, b in combinations(words, 2) if len(words[a] & words[b]) > min(len(words[a]), len(words[b])) / 3
    ]
    assert near == []


def test_an_unknown_scenario_is_answered_with_near_ones() -> None:
    assert find(SCENARIOS, "bed-allocation").industry == "Health and care"
    with pytest.raises(UnknownReference, match="bed-allocation"):
        find(SCENARIOS, "bed-alocation")
    with pytest.raises(UnknownReference, match="--list"):
        find(SCENARIOS, "zzz")


def test_a_catalogue_with_one_id_twice_is_refused() -> None:
    text = """
industries:
  - id: one
    title: One
    domains:
      - id: first
        title: First
        scenarios: [{id: same, title: A, brief: x}, {id: same, title: B, brief: y}]
"""
    with pytest.raises(UsageError, match="the same id twice: same"):
        parse_catalogue(text)


@pytest.mark.parametrize("text", ["industries: [{id: 1}]", "[", "industries: []\nmore: 1", ""])
def test_what_is_no_catalogue_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        parse_catalogue(text)
