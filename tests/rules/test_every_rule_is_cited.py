"""Every rule of the house is cited by a test that holds it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

RULES = range(1, 38)
CITED = re.compile(r"\bRULES? ((?:\d+|,| |and|to)+)")
TESTS = Path(__file__).parent.parent


def cited(text: str) -> set[int]:
    """Return the numbers that a text cites: `RULE 5`, `RULES 1, 5 and 6`, `RULES 26 to 28`."""
    found: set[int] = set()
    for phrase in CITED.findall(text):
        for first, last in re.findall(r"(\d+)(?: to (\d+))?", phrase):
            found.update(range(int(first), int(last or first) + 1))
    return found


def test_citations_are_read_as_people_write_them() -> None:
    assert cited("RULE 5.") == {5}
    assert cited("RULES 1, 5 and 6; and RULES 26 to 28") == {1, 5, 6, 26, 27, 28}


@pytest.fixture(scope="module")
def where() -> dict[int, set[str]]:
    """Rule -> the files with a test whose docstring cites it. What a module says of itself holds nothing."""
    places: dict[int, set[str]] = {}
    for path in sorted(TESTS.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))) if path != Path(__file__) else ():
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                for number in cited(ast.get_docstring(node) or ""):
                    places.setdefault(number, set()).add(path.name)
    return places


def test_nothing_is_cited_that_is_no_rule(where: dict[int, set[str]]) -> None:
    assert set(where) <= set(RULES)


@pytest.mark.parametrize("rule", RULES)
def test_the_rule_is_cited(rule: int, where: dict[int, set[str]]) -> None:
    assert where.get(rule), f"no test cites RULE {rule}"
