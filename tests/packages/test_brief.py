"""What a brief says in numbers, in digits and in words, and what is no brief."""

from __future__ import annotations

import pytest

from services.packages.brief import Wanted, check_brief, decide, numbers, occupations
from simulator.errors import UsageError


@pytest.mark.parametrize(
    ("brief", "people", "clients"),
    [
        ("A nine-person clinical trial operations group serving two biotech sponsors", 9, 2),
        ("12 people", 12, None),
        ("A team of 15 with four clients", 15, 4),
        ("a twenty-five person agency for 3 retail customers", 25, 3),
        ("A dozen people, one account", 12, 1),
        ("a hundred and twenty staff", 120, None),
        ("one hundred twenty employees", 120, None),
        ("two hundred people", 200, None),
        ("a firm of nine lawyers", 9, None),
        ("A twelve-lawyer firm", 12, None),
        ("a 40-strong engineering firm handling 1,200 parts", 40, None),
        ("a seven-department firm of twelve people, three clients", 12, 3),
        ("serving 5 sponsors, 30 staff", 30, 5),
        ("Five clients and thirty-one colleagues", 31, 5),
        ("a law firm on 5th Avenue", None, None),
        ("an office in 2026", None, None),
        ("", None, None),
    ],
)
def test_numbers_in_words_and_digits(brief: str, people: int | None, clients: int | None) -> None:
    assert numbers(brief) == Wanted(people, clients)


def test_what_is_given_wins_over_the_brief_and_the_brief_over_custom() -> None:
    assert decide("nine people, two clients", people=5, clients=1) == Wanted(5, 1)
    assert decide("nine people") == Wanted(9, 3)
    assert decide("a small law firm") == Wanted(6, 2)
    assert decide("a law firm") == Wanted(12, 3)
    assert decide("nine lawyers and six paralegals in one house") == Wanted(17, 3)


@pytest.mark.parametrize(
    ("brief", "people", "clients", "words"),
    [
        ("two people", None, None, "3 to 200 people, not 2"),
        ("an office", 201, None, "3 to 200 people, not 201"),
        ("an office", None, 0, "1 to 20 clients, not 0"),
        ("twenty-one clients", None, None, "1 to 20 clients, not 21"),
    ],
)
def test_numbers_out_of_range_are_refused(brief: str, people: int | None, clients: int | None, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        decide(brief, people, clients)


@pytest.mark.parametrize("brief", ["", "   \n", "x" * 10_001])
def test_an_empty_or_endless_brief_is_refused(brief: str) -> None:
    with pytest.raises(UsageError, match="brief"):
        check_brief(brief)


def test_occupations_are_counted() -> None:
    assert occupations("three lawyers, a paralegal and 2 data scientists") == [
        ("23-1011.00", 3), ("23-2011.00", 1), ("15-2051.00", 2),
    ]  # fmt: skip
