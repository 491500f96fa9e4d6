"""Finding JSON in what models say, and telling them in plain words what is wrong with it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.models.answers import arguments_to_send, count, settle_arguments
from services.models.structured import extract_json, faults_of
from tests.models.stories import broken_arguments

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", max_size=3), inner, max_size=3),
    max_leaves=10,
)
containers = json_values.filter(lambda value: isinstance(value, dict | list))


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ('{"a": 1}', '{"a": 1}'),
        (" [1]\n", "[1]"),
        ('Here it is:\n```json\n{"a": 1}\n```\nBye {x}', '{"a": 1}'),
        ("```\n[1]\n```", "[1]"),
        ('The answer {is} {"a": {"b": 2}} as asked.', '{"a": {"b": 2}}'),
        ("no braces", None),
        ('{"a": ', None),
        ("[" * 5000, None),
        ("", None),
    ],
)
def test_extract_json(content: str, found: str | None) -> None:
    assert extract_json(content) == found


@given(containers, st.sampled_from(["{}", "Sure.\n```json\n{}\n```", "I think: {} -- done"]))
def test_json_is_found_between_any_words(value: Any, around: str) -> None:
    found = extract_json(around.replace("{}", json.dumps(value)))
    assert found is not None
    assert json.loads(found) == value


@pytest.mark.parametrize(
    ("value", "schema", "faults"),
    [
        ({"a": 1}, {"type": "object", "required": ["a", "b"]}, ['$ lacks "b"']),
        ({"a": 1, "z": 2}, {"properties": {"a": {}}, "additionalProperties": False}, ['$ has the unknown entry "z"']),
        ({"z": "x"}, {"additionalProperties": {"type": "integer"}}, ["$.z must be of type integer"]),
        ([1, "x"], {"items": {"type": "integer"}}, ["$[1] must be of type integer"]),
        ([], {"minItems": 1}, ["$ must have at least 1 entries"]),
        ([1, 2], {"maxItems": 1}, ["$ must have at most 1 entries"]),
        ("", {"minLength": 1}, ["$ must have at least 1 characters"]),
        ("no", {"enum": ["yes", "maybe"]}, ['$ must be one of ["yes", "maybe"]']),
        ("no", {"const": "yes"}, ['$ must be "yes"']),
        (True, {"type": "integer"}, ["$ must be of type integer"]),
        (2.0, {"type": "integer"}, []),
        (None, {"type": ["string", "null"]}, []),
        (5, {"type": ["string", "null"]}, ["$ must be of type string or null"]),
        (5, {"minimum": 6}, ["$ must be at least 6"]),
        (5, {"maximum": 4}, ["$ must be at most 4"]),
        (5, {"oneOf": [{"type": "string"}, {"type": "null"}]}, ["$ fits none of the 2 allowed forms"]),
        (
            {"a": {"b": [{}]}},
            {"properties": {"a": {"properties": {"b": {"items": {"required": ["c"]}}}}}},
            ['$.a.b[0] lacks "c"'],
        ),
    ],
)
def test_faults_are_plain_sentences(value: Any, schema: dict[str, Any], faults: list[str]) -> None:
    """RULE 37: they go into prompts, so no library's words and versions are in them."""
    assert faults_of(value, schema) == faults


@given(json_values)
def test_an_empty_schema_allows_all_and_faults_are_bounded(value: Any) -> None:
    assert faults_of(value, {}) == []
    assert len(faults_of([value] * 30, {"items": {"type": "object", "required": ["never"]}})) <= 8


@given(broken_arguments)
def test_settling_arguments_is_settled(arguments: str) -> None:
    once = settle_arguments(arguments)
    assert settle_arguments(once) == once


@given(st.dictionaries(st.text("abc", max_size=3), json_values, max_size=3))
def test_the_same_arguments_in_all_their_disguises(value: dict[str, Any]) -> None:
    plain = json.dumps(value)
    for disguise in (value, plain, json.dumps(plain), plain + plain, f"{plain}\n {plain}"):
        assert json.loads(settle_arguments(disguise)) == value


@given(st.one_of(st.text(max_size=40), broken_arguments))
def test_history_holds_objects_only(arguments: str) -> None:
    assert isinstance(json.loads(arguments_to_send(arguments)), dict)


@pytest.mark.parametrize(
    ("value", "counted"),
    [(5, 5), (5.9, 5), (-1, 0), (True, 0), ("7", 0), (None, 0), (float("nan"), 0), (float("inf"), 0)],
)
def test_token_counts_are_whole_and_not_negative(value: Any, counted: int) -> None:
    assert count(value) == counted
