"""The language of effects, and patches: small, without surprises, bounded, nothing executed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.worlds.effects import EffectFault, Evaluator, perform, refusal
from bench.worlds.model import Check, Effect, PatchRule
from bench.worlds.pointers import MISSING, PatchFault, apply, diff, find, matches, parse, same
from bench.worlds.schemas import argument_faults, schema_fault
from tests.worlds.core_world import STATE, tools

NAMES = {"room": "RM-101", "n": 3, "gone": None, "list": [1, 2, 3], "who": {"name": "Ada"}}


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("$room", "RM-101"),
        ("$who.name", "Ada"),
        ("$list.1", 2),
        ("$nobody", None),
        ("$$room", "$room"),
        ("$today", "2025-03-01"),
        ({"a": ["$n", "x"]}, {"a": [3, "x"]}),
        ({"$read": "/rooms/{room}/beds"}, 2),
        ({"$read": "/rooms/{gone}/beds"}, None),
        ({"$exists": "/rooms/{room}"}, True),
        ({"$exists": "/rooms/none"}, False),
        ({"$eq": [1, True]}, False),
        ({"$eq": [{"a": [1]}, {"a": [1.0]}]}, True),
        ({"$ne": ["$n", 4]}, True),
        ({"$lt": ["$gone", 4]}, False),
        ({"$ge": ["$gone", 4]}, False),
        ({"$lt": ["a", "b"]}, True),
        ({"$lt": ["a", 1]}, False),
        ({"$le": [3, "$n"]}, True),
        ({"$gt": [0.3, {"$add": [0.1, 0.2]}]}, False),
        ({"$in": ["$n", "$list"]}, True),
        ({"$in": [True, [1]]}, False),
        ({"$in": ["RM-101", {"$read": "/rooms"}]}, True),
        ({"$in": ["M-1", "$room"]}, True),
        ({"$all": [True, {"$eq": [1, 1]}]}, True),
        ({"$any": [False, "$n"]}, False),
        ({"$not": "$gone"}, True),
        ({"$if": [{"$gt": ["$n", 2]}, "big", "small"]}, "big"),
        ({"$add": [1, 2, 3]}, 6),
        ({"$add": [0.1, 0.2]}, 0.3),
        ({"$sub": ["$n", 1]}, 2),
        ({"$mul": [1.1, 3]}, 3.3),
        ({"$div": [1, 0]}, None),
        ({"$div": [7450, 6000]}, 7450 / 6000),
        ({"$round": [{"$div": [7450, 6000]}, 2]}, 1.24),
        ({"$round": [2.5, 0]}, 3),
        ({"$add": ["$gone", 1]}, None),
        ({"$sum": []}, 0),
        ({"$sum": {"$each": {"in": {"$read": "/rooms"}, "take": "$item.beds"}}}, 7),
        ({"$min": "$list"}, 1),
        ({"$max": ["a", "b"]}, "b"),
        ({"$max": ["a", 1]}, None),
        ({"$count": {"$read": "/rooms"}}, 3),
        ({"$count": 5}, 0),
        ({"$keys": {"$read": "/bookings"}}, ["BK-001"]),
        ({"$each": {"in": "$list", "where": {"$gt": ["$item", 1]}, "limit": 1}}, [2]),
        ({"$each": {"in": {"$read": "/rooms"}, "sort": "$item.beds", "take": "$key"}}, ["RM-102", "RM-101", "RM-103"]),
        ({"$every": {"in": [], "must": False}}, True),
        ({"$every": {"in": "$list", "must": {"$gt": ["$item", 1]}}}, False),
        ({"$some": {"in": "$list", "where": {"$eq": ["$item", 3]}}}, True),
        ({"$next_id": ["/bookings", "BK-"]}, "BK-002"),
        ({"$next_id": ["/nothing", "X-"]}, "X-001"),
        ({"$pick": [{"$read": "/rooms/RM-101"}, ["beds", "none"]]}, {"beds": 2, "none": None}),
        ({"$merge": [{"a": 1}, {"a": 2, "b": 3}]}, {"a": 2, "b": 3}),
        ({"$get": [{"x": 1}, "x"]}, 1),
        ({"$get": [{"x": 1}, "$gone"]}, None),
        ({"$text": "{room} for {who.name}, {gone}"}, "RM-101 for Ada, none"),
        ({"$lower": "$room"}, "rm-101"),
        ({"$days_between": ["2025-02-20", "$today"]}, 9),
        ({"$days_between": ["soon", "$today"]}, None),
        ({"$add_days": ["2025-02-27", 2]}, "2025-03-01"),
    ],
)  # fmt: skip
def test_operations(expression: Any, value: Any) -> None:
    assert same(Evaluator(STATE, "2025-03-01").value(expression, NAMES), value)


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        ({"$eval": "1"}, "no operation"),
        ({"$eq": [1, 2], "x": 1}, "stands alone"),
        ({"$eq": [1]}, "list of 2"),
        ({"$if": [True]}, "list of 3"),
        ({"$all": True}, "list of conditions"),
        ({"$each": [1]}, "object with `in`"),
        ({"$every": {"in": [], "take": 1}}, "no `take`"),
        ({"$read": 5}, "must be text"),
    ],
)
def test_what_is_not_well_formed_is_refused(expression: Any, told: str) -> None:
    with pytest.raises(EffectFault, match=told):
        Evaluator(STATE, "2025-03-01").value(expression, {})


def test_work_is_bounded() -> None:
    many = list(range(1000))
    loops: Any = {"$each": {"in": many, "take": {"$each": {"in": many, "take": {"$add": ["$item", 1]}}}}}
    with pytest.raises(EffectFault, match="more work than is allowed"):
        Evaluator({}, "2025-03-01").value(loops, {})


def test_an_effect_checks_changes_and_returns_from_the_new_state() -> None:
    book = tools(True)[2].effect
    assert book is not None
    done = perform(book, STATE, {"room": "RM-101", "guest": "Ada"}, "2025-03-01")
    assert done.observation == {"booking": "BK-002"} and done.refused == 0
    assert done.state["rooms"]["RM-101"]["status"] == "taken"
    assert done.state["bookings"]["BK-002"] == {"room": "RM-101", "guest": "Ada"}
    assert STATE["rooms"]["RM-101"]["status"] == "free", "the state before is another value"
    assert apply(STATE, done.patch) == done.state


def test_a_refusal_changes_nothing_and_says_which_check_failed() -> None:
    book = tools(True)[2].effect
    assert book is not None
    done = perform(book, STATE, {"room": "RM-103", "guest": "Ada"}, "2025-03-01")
    assert done.observation == {"error": "RM-103 is not free.", "code": "taken"}
    assert (done.refused, done.state, done.patch) == (2, STATE, ())
    assert refusal(book, STATE, {"room": "RM-900", "guest": "Ada"}, "2025-03-01")[0] == 1


def test_an_argument_with_a_slash_stays_one_key() -> None:
    effect = Effect(checks=(Check({"$exists": "/rooms/{room}"}, "no {room}"),), returns={})
    assert perform(effect, STATE, {"room": "RM-101/beds"}, "2025-03-01").refused == 1


def test_a_declaration_that_does_not_work_is_the_environments_fault() -> None:
    effect = Effect(patch=(PatchRule("replace", "/rooms/{room}/x/y", 1),))
    with pytest.raises(EffectFault, match="cannot be made"):
        perform(effect, STATE, {"room": "RM-101"}, "2025-03-01")
    with pytest.raises(EffectFault, match="is null"):
        perform(effect, STATE, {}, "2025-03-01")


# -- pointers and patches ----------------------------------------------------------------------------------------------

VALUE = {"a": {"b": [1, 2, 3]}, "c/d": {"~": 1}}


@pytest.mark.parametrize(
    ("patch", "result"),
    [
        ([{"op": "add", "path": "/a/b/-", "value": 4}], {"a": {"b": [1, 2, 3, 4]}, "c/d": {"~": 1}}),
        ([{"op": "add", "path": "/a/b/0", "value": 0}], {"a": {"b": [0, 1, 2, 3]}, "c/d": {"~": 1}}),
        ([{"op": "remove", "path": "/a/b/1"}], {"a": {"b": [1, 3]}, "c/d": {"~": 1}}),
        ([{"op": "replace", "path": "/c~1d/~0", "value": 2}], {"a": {"b": [1, 2, 3]}, "c/d": {"~": 2}}),
        ([{"op": "move", "from": "/a/b", "path": "/e"}], {"a": {}, "c/d": {"~": 1}, "e": [1, 2, 3]}),
        ([{"op": "copy", "from": "/a/b/0", "path": "/e"}], {**VALUE, "e": 1}),
        ([{"op": "test", "path": "/a/b/0", "value": 1}], VALUE),
        ([{"op": "replace", "path": "", "value": 5}], 5),
    ],
)
def test_patches(patch: list[dict[str, Any]], result: Any) -> None:
    before = repr(VALUE)
    assert apply(VALUE, patch) == result
    assert repr(VALUE) == before


@pytest.mark.parametrize(
    ("operation", "told"),
    [
        ("add", "no object"),
        ({"op": "put", "path": "/a"}, "must be one of"),
        ({"op": "add", "path": "/a"}, "needs a `value`"),
        ({"op": "add", "path": "a", "value": 1}, "no JSON Pointer"),
        ({"op": "add", "path": 3, "value": 1}, "must be a JSON Pointer"),
        ({"op": "add", "path": "/x/y", "value": 1}, "is missing"),
        ({"op": "replace", "path": "/x", "value": 1}, "nothing at /x"),
        ({"op": "remove", "path": "/a/b/3"}, "nothing at"),
        ({"op": "add", "path": "/a/b/9", "value": 1}, "position '9' in a list of 3"),
        ({"op": "add", "path": "/a/b/01", "value": 1}, "position '01'"),
        ({"op": "add", "path": "/a/b/0/x", "value": 1}, "neither object nor list"),
        ({"op": "test", "path": "/a/b/0", "value": True}, "not the one tested for"),
        ({"op": "move", "path": "/a/b/x", "from": "/a"}, "into itself"),
        ({"op": "copy", "path": "/e"}, "needs `from`"),
    ],
)
def test_patches_that_cannot_be_applied_say_why(operation: Any, told: str) -> None:
    with pytest.raises(PatchFault, match=told):
        apply(VALUE, [{"op": "test", "path": "/a/b/0", "value": 1}, operation])


SCALARS = st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(["", "a", "~", "/", "0"])
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab~/0"), inner, max_size=3)
)


@given(JSON, JSON)
def test_a_difference_makes_the_one_of_the_other(before: Any, after: Any) -> None:
    assert same(apply(before, diff(before, after)), after)
    assert (diff(before, after) == []) == same(before, after)


def test_patterns_name_what_is_there() -> None:
    found = list(matches(STATE, parse("/bookings/*/room")))
    assert found == [(("bookings", "BK-001", "room"), "RM-103")]
    assert find(STATE, parse("/rooms/none")) is MISSING
    assert list(matches({"a": [1, 2]}, parse("/a/*"))) == [(("a", "0"), 1), (("a", "1"), 2)]


# -- schemas -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        ([], "is an object"),
        ({"type": "string"}, "type object"),
        ({"type": "object", "required": "a"}, "what stands at /required"),
        ({"type": "object", "properties": {"a": {"$ref": "http://x/y"}}}, "outside itself"),
        ({"type": "object"}, None),
    ],
)
def test_a_schema_that_is_none_is_named(schema: Any, told: str | None) -> None:
    fault = schema_fault(schema)
    assert fault is None if told is None else fault is not None and told in fault


def test_arguments_that_do_not_fit_are_told_in_our_own_words() -> None:
    schema = {
        "type": "object",
        "properties": {"n": {"type": "integer", "maximum": 5}, "s": {"enum": ["a", "b"]}, "t": {"type": "string"}},
        "required": ["n", "t"],
        "additionalProperties": False,
    }
    assert argument_faults({"n": 1, "t": ""}, schema) == ()
    told = argument_faults({"n": 9, "s": "c", "x": 1}, schema)
    assert told == (
        "the arguments: x not known.",
        "the arguments: t missing.",
        "n: must be at most 5.",
        's: must be one of ["a", "b"].',
    )
