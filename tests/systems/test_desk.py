"""A system of record at its desk: it decides as the environment's own simulator does, and nothing wrong with a call ends it."""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import bench.worlds
from bench.worlds import desk
from bench.worlds.api import built_in
from bench.worlds.arguments import KEYWORDS, argument_faults, unsupported
from bench.worlds.carried import CARRIED
from bench.worlds.folder import read_worlds
from bench.worlds.model import Check, Effect, Environment, FaultPlan, Invariant, PatchRule, Tool
from bench.worlds.schemas import argument_faults as in_full
from bench.worlds.session import Session
from bench.worlds.step import Offline
from bench.worlds.systems import Desks, source_of
from tests.systems.bank import PORTAL

WORLDS = [world for world in read_worlds([built_in()]) if world.environment.executable]
TODAY = "2025-09-18"


def ask(tool: str, state: bytes = PORTAL.state, day: str = TODAY, **arguments: Any) -> desk.Answer:
    return desk.answer(PORTAL.definition, state, tool, json.dumps(arguments), day)


def system(effect: Effect, state: dict[str, Any], *invariants: Invariant, **parameters: Any) -> tuple[bytes, bytes]:
    """Return (definition, state) of a system with the one tool `do`."""
    schema = {"type": "object", "properties": parameters}
    tool = Tool("do", "Do it.", schema, effect=effect)
    source = source_of(Environment("x", "r", (tool,), state, title="X", invariants=invariants))
    return source.definition, source.state


def test_a_call_is_answered_and_the_state_moves() -> None:
    answer = ask("prepare_payment", account="AC-10", invoice="IN-301")
    assert json.loads(answer.observation) == {"payment": "PM-002", "status": "prepared"} and answer.ok
    after = json.loads(answer.state)
    assert after["payments"]["PM-002"]["day"] == TODAY and after["invoices"]["IN-301"]["payment"] == "PM-002"
    again = ask("prepare_payment", answer.state, account="AC-10", invoice="IN-301")
    assert not again.ok and again.state == answer.state and json.loads(again.observation)["code"] == "paid"


def test_it_decides_as_the_simulator_of_environments_does() -> None:
    """Every script of every built-in environment, call by call: the same observations and the same state."""
    compared = 0
    for world in WORLDS:
        source = source_of(world.environment)
        for task in world.tasks:
            session = Session(world.environment, task, Offline(world.environment), FaultPlan())
            session.state = json.loads(source.state)
            state = source.state
            for step in task.script:
                raw = json.dumps(step.get("arguments", {}))
                expected = session.call(step["tool"], raw)
                answer = desk.answer(source.definition, state, step["tool"], raw, session.today)
                state = answer.state
                if session.steps[-1].status == "answered":
                    assert json.loads(answer.observation) == json.loads(expected)
                    compared += 1
                else:
                    assert not answer.ok
                assert json.loads(state) == session.state
    assert compared > 30


def test_names_are_defined_in_the_order_in_which_they_were_written() -> None:
    """A definition has sorted keys; `let` is a list, because its order matters."""
    effect = Effect(let={"b": 1, "a": {"$add": ["$b", 1]}}, returns="$a")
    assert desk.answer(*system(effect, {}), "do", "{}", TODAY).observation == "2"


HOSTILE = ("", "{", "[]", "null", '"x"', "NaN", '{"account": NaN}', '{"account": 1e999}', "[" * 5000, '{"account": "\\ud800"}',
           '{"account": ' + "9" * 5000 + "}", '{"account": {}}', '{"account": "AC-10", "more": 1}', "\x00")  # fmt: skip


@pytest.mark.parametrize("raw", HOSTILE, ids=range(len(HOSTILE)))
def test_arguments_that_are_none_are_told_so_and_change_nothing(raw: str) -> None:
    answer = desk.answer(PORTAL.definition, PORTAL.state, "get_account", raw, TODAY)
    assert not answer.ok and answer.state == PORTAL.state and "error" in json.loads(answer.observation)


def test_an_unknown_tool_is_told_which_there_are() -> None:
    assert "get_account, list_invoices" in ask("rob").observation


@pytest.mark.parametrize(("value", "returns"), [
    (10**400, {"$round": ["$n", 4]}), (1e300, {"$mul": ["$n", "$n", 1e300]}), (1e300, {"$round": ["$n", 30]}),
    ("²", {"$next_id": ["/things", "T-"]}), ([[]], {"$get": [{"$read": "/things"}, "$n"]}),
])  # fmt: skip
def test_a_declaration_that_meets_values_it_was_not_made_for_refuses_and_stays_up(value: Any, returns: Any) -> None:
    """An engine that ended here would end at the same call for ever."""
    answer = desk.answer(*system(Effect(returns=returns), {"things": {"T-²": 1}}, n={}), "do", json.dumps({"n": value}), TODAY)
    assert isinstance(json.loads(answer.observation), dict | int | float | str | None)


def test_an_invariant_holds_after_every_call() -> None:
    effect = Effect(patch=(PatchRule("replace", "/left", {"$sub": [{"$read": "/left"}, "$n"]}),), returns="ok")
    definition, state = system(effect, {"left": 5}, Invariant("enough", "There is never less than nothing.",
                                                              {"$ge": [{"$read": "/left"}, 0]}), n={"type": "integer"})  # fmt: skip
    good = desk.answer(definition, state, "do", '{"n": 5}', TODAY)
    bad = desk.answer(definition, good.state, "do", '{"n": 1}', TODAY)
    assert good.ok and json.loads(good.state) == {"left": 0}
    assert not bad.ok and bad.state == good.state
    assert json.loads(bad.observation) == {"error": "There is never less than nothing.", "code": "enough"}


def test_a_state_does_not_grow_without_bound() -> None:
    effect = Effect(patch=(PatchRule("add", "/log/-", "$text"),), checks=(Check(True, "never"),), returns="ok")
    definition, state = system(effect, {"log": []}, text={"type": "string"})
    for _ in range(12):
        state = desk.answer(definition, state, "do", json.dumps({"text": "x" * 90_000}), TODAY).state
    assert len(state) <= desk.STATE_BYTES
    assert "full" in desk.answer(definition, state, "do", json.dumps({"text": "x" * 150_000}), TODAY).observation


def test_a_definition_holds_no_state_and_tools_come_from_it() -> None:
    assert b"AC-10" not in PORTAL.definition and b"1250000" not in PORTAL.definition
    assert [t.name for t in Desks().tools(PORTAL.definition)][:2] == ["get_account", "list_invoices"]


# -- arguments against their schema -------------------------------------------------------------------------------------

SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from([0.5, 1.0, 2.0]), st.sampled_from(["", "a", "ab", "2025-01-02"]))
VALUES = st.recursive(
    SCALARS, lambda v: st.one_of(st.lists(v, max_size=3), st.dictionaries(st.sampled_from("abc"), v, max_size=3)), max_leaves=6
)
TYPES = st.sampled_from(["object", "array", "string", "boolean", "null", "number", "integer"])


def schemas() -> st.SearchStrategy[dict[str, Any]]:
    small = st.integers(0, 3)
    leaf = st.fixed_dictionaries({}, optional={
        "type": st.one_of(TYPES, st.lists(TYPES, min_size=1, max_size=2, unique=True)), "enum": st.lists(SCALARS, min_size=1, max_size=3),
        "const": SCALARS, "minimum": small, "maximum": small, "exclusiveMinimum": small, "exclusiveMaximum": small,
        "minLength": small, "maxLength": small, "minItems": small, "maxItems": small, "pattern": st.sampled_from(["^a", "b$", r"^\d{4}-"]),
        "required": st.lists(st.sampled_from("abc"), max_size=2, unique=True),
    })  # fmt: skip
    return st.recursive(leaf, lambda s: st.builds(lambda a, b: {**a, **b}, leaf, st.fixed_dictionaries({}, optional={
        "items": s, "properties": st.dictionaries(st.sampled_from("abc"), s, max_size=2),
        "additionalProperties": st.one_of(st.booleans(), s),
    })), max_leaves=4)  # fmt: skip


@given(VALUES, schemas())
def test_arguments_fit_here_when_they_fit_in_full(value: Any, schema: dict[str, Any]) -> None:
    assert unsupported(schema) is None
    assert bool(argument_faults(value, schema)) == bool(in_full(value, schema))


def test_what_is_not_checked_here_is_found_wherever_it_stands() -> None:
    assert unsupported({"type": "object", "description": "d", "properties": {"a": {"items": {"$ref": "#/x"}}}}) == (
        ("properties", "a", "items", "$ref"), "`$ref`",
    )  # fmt: skip
    assert unsupported({"properties": {"a": True}}) is not None and unsupported({"items": [{}]}) is not None
    assert unsupported({"additionalProperties": {"oneOf": []}}) is not None
    assert len(KEYWORDS) == 16


# -- what a frozen task carries -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CARRIED)
def test_what_is_carried_needs_the_standard_library_alone(name: str) -> None:
    tree = ast.parse(Path(bench.worlds.__file__).with_name(name).read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            node.body = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            assert {alias.name.partition(".")[0] for alias in node.names} <= sys.stdlib_module_names
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            assert str(node.module).partition(".")[0] in sys.stdlib_module_names
        elif isinstance(node, ast.ImportFrom):
            assert f"{node.module}.py" in CARRIED
