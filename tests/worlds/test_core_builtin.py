"""The built-in worlds hold together under any calls, refuse what their rules forbid, and a right simulator is never blamed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.worlds.api import load_worlds
from bench.worlds.checks import dangling_references, holds
from bench.worlds.detect import Answer, entity_ids, findings
from bench.worlds.effects import perform
from bench.worlds.model import Environment, FaultPlan, Tool, World
from bench.worlds.pointers import apply, diff, leaves
from bench.worlds.session import Session
from bench.worlds.step import Offline
from simulator.canonical import canonical
from simulator.randomness import Stream

WORLDS = {world.environment.name: world for world in load_worlds([])}
NAMES = sorted(WORLDS)
Calls = Sequence[tuple[str, dict[str, Any]]]


def session(world: World) -> Session:
    return Session(world.environment, world.tasks[0], Offline(world.environment), FaultPlan())


def after(name: str, calls: Calls) -> Session:
    made = session(WORLDS[name])
    for tool, arguments in calls:
        made.call(tool, json.dumps(arguments))
    return made


def random_call(environment: Environment, stream: Stream) -> tuple[Tool, dict[str, Any]]:
    """A call whose arguments fit their schema; texts are mostly ids and words of the state."""
    tool = stream.choice(environment.tools)
    ids = sorted(entity_ids(environment.initial_state, environment.collections))
    words = [
        *ids,
        *sorted({str(v) for _, v in leaves(environment.initial_state) if isinstance(v, str)}),
        "nothing such",
    ]
    arguments: dict[str, Any] = {}
    for name, schema in tool.parameters.get("properties", {}).items():
        if "enum" in schema:
            arguments[name] = stream.choice(schema["enum"])
        elif schema["type"] == "integer":
            arguments[name] = stream.between(schema.get("minimum", 0), schema.get("maximum", 9))
        elif schema["type"] == "number":
            arguments[name] = stream.between(0, 300) / 100
        elif "pattern" in schema:
            arguments[name] = "2025-09-19"
        else:
            arguments[name] = stream.choice(words) + " and more words" * (schema.get("minLength", 0) > 2)
    return tool, arguments


def random_steps(
    environment: Environment, seed: int, count: int
) -> Iterator[tuple[Tool, dict[str, Any], dict[str, Any], Any]]:
    """Yield (tool, arguments, state before, what was done) along a random run."""
    stream, state = Stream(seed, "fuzz", environment.name), environment.initial_state
    for _ in range(count):
        tool, arguments = random_call(environment, stream)
        assert tool.effect is not None
        done = perform(tool.effect, state, arguments, environment.today)
        yield tool, arguments, state, done
        state = done.state


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=15)
@given(seed=st.integers(0, 10**6))
def test_no_calls_whatever_break_a_world(name: str, seed: int) -> None:
    environment = WORLDS[name].environment
    start = len(canonical(environment.initial_state))
    for tool, _, before, done in random_steps(environment, seed, 20):
        assert isinstance(done.observation, dict)
        assert apply(before, done.patch) == done.state
        if done.refused:
            assert done.state == before and done.observation["error"] and done.observation["code"]
        for invariant in environment.invariants:
            assert holds(invariant.must, done.state, environment.today), (tool.name, invariant.id)
        for reference in environment.references:
            assert dangling_references(done.state, reference.path, reference.to) == []
        assert "none" not in str(done.observation.get("error", "")), "a refusal names what it refuses"
        assert len(canonical(done.state)) < 4 * start + 20_000


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=15)
@given(seed=st.integers(0, 10**6))
def test_a_simulator_that_does_as_declared_is_never_blamed(name: str, seed: int) -> None:
    environment = WORLDS[name].environment
    for tool, arguments, before, done in random_steps(environment, seed, 15):
        answer = Answer(tool, arguments, before, done.observation, done.state, None)
        assert findings(environment, answer, environment.today) == [], (tool.name, arguments)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=15)
@given(seed=st.integers(0, 10**6))
def test_a_simulator_that_forgets_what_was_done_or_refuses_what_is_allowed_is_caught(name: str, seed: int) -> None:
    environment = WORLDS[name].environment
    for tool, arguments, before, done in random_steps(environment, seed, 15):
        if done.refused:
            wrong = Answer(tool, arguments, before, {"ok": True}, before, None)
            assert "ignored_rule" in {one.kind for one in findings(environment, wrong, environment.today)}
            continue
        wrong = Answer(tool, arguments, before, {"error": "That is not possible."}, before, None)
        assert "invented_rule" in {one.kind for one in findings(environment, wrong, environment.today)}
        if diff(before, done.state):
            forgot = Answer(tool, arguments, before, done.observation, before, None)
            kinds = {one.kind for one in findings(environment, forgot, environment.today)}
            # A change that put a thing there by a new id shows as that thing being nowhere.
            assert kinds & {"forgotten_change", "fabricated_entity"}, (tool.name, arguments)


REFUSALS: list[tuple[str, Calls, str]] = [
    ("picking-robot", [("move_robot", {"robot": "R-02", "place": "table"})], "battery"),
    ("picking-robot", [("charge_robot", {"robot": "R-02"})], "place"),
    ("picking-robot", [("pick_item", {"robot": "R-01"})], "place"),
    ("picking-robot", [("put_down", {"robot": "R-01"})], "place"),
    ("picking-robot", [("pick_item", {"robot": "R-02"}), ("pick_item", {"robot": "R-02"})], "load"),
    ("picking-robot", [("ship_order", {"order": "O-701"})], "incomplete"),
    ("picking-robot", [("move_robot", {"robot": "R-01", "place": "roof"})], "not_found"),
    ("fish-farm", [("feed", {"tank": "T-2"})], "ammonia"),
    ("fish-farm", [("feed", {"tank": "T-1"}), ("feed", {"tank": "T-1"})], "fed"),
    ("fish-farm", [("write_log", {"tank": "T-9", "text": "Fed."})], "not_found"),
    ("rent-roll", [("list_units", {"page": 4})], "not_found"),
    ("rent-roll", [("send_notice", {"loan": "LN-1", "text": "The coverage is low."})], "no_test"),
    ("rent-roll", [("record_test", {"loan": "LN-1", "coverage": 1.0, "result": "failed"})] * 2, "recorded"),
    ("bank-portal", [("prepare_payment", {"account": "AC-10", "invoice": "IN-303"})], "payee"),
    ("bank-portal", [("prepare_payment", {"account": "AC-10", "invoice": "IN-304"})], "paid"),
    ("bank-portal", [("prepare_payment", {"account": "AC-20", "invoice": "IN-301"})], "balance"),
    ("bank-portal", [("prepare_payment", {"account": "AC-10", "invoice": "IN-301"}),
                     ("release_payment", {"payment": "PM-002"})], "four_eyes"),
    ("bank-portal", [("release_payment", {"payment": "PM-001"}), ("cancel_payment", {"payment": "PM-001"})], "status"),
    ("ticket-desk", [("repair_service", {"service": "search", "how": "rollback"})], "logs"),
    ("ticket-desk", [("assign_ticket", {"ticket": "TK-801", "engineer": "EN-3"})], "on_call"),
    ("ticket-desk", [("assign_ticket", {"ticket": "TK-801", "engineer": "EN-2"})], "load"),
    ("ticket-desk", [("resolve_ticket", {"ticket": "TK-801", "cause": "other"})], "status"),
    ("ticket-desk", [("assign_ticket", {"ticket": "TK-801", "engineer": "EN-1"}),
                     ("resolve_ticket", {"ticket": "TK-801", "cause": "other"})], "health"),
    ("permit-office", [("decide", {"application": "BP-53", "decision": "refused", "reason": "Too little."})], "documents"),
    ("permit-office", [("decide", {"application": "BP-54", "decision": "approved", "reason": "All fine."})], "neighbours"),
    ("permit-office", [("decide", {"application": "BP-52", "decision": "approved", "reason": "All fine."})], "height"),
    ("permit-office", [("send_letter", {"application": "BP-53", "kind": "missing", "text": "Please send more."})] * 2, "sent"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "calls", "code"), REFUSALS)
def test_what_the_rules_forbid_is_refused(name: str, calls: Calls, code: str) -> None:
    last = after(name, calls).steps[-1]
    assert last.status == "answered" and last.error and last.observation["code"] == code, last.observation


def test_a_limit_for_the_day_holds_to_the_cent() -> None:
    both: Calls = [("prepare_payment", {"account": "AC-10", "invoice": invoice}) for invoice in ("IN-301", "IN-302")]
    made = after("bank-portal", [*both, ("get_account", {"account": "AC-10"})])
    assert [step.error for step in made.steps] == [False, False, False]
    assert made.steps[-1].observation["used_today"] == made.steps[-1].observation["day_limit"] == 600_000


def test_a_service_stays_down_while_what_it_needs_is_down() -> None:
    calls: Calls = [
        ("read_logs", {"service": "checkout"}),
        ("repair_service", {"service": "checkout", "how": "restart"}),
    ]
    assert after("ticket-desk", calls).steps[-1].observation["health"] == "down"


def test_the_pages_of_the_rent_roll_are_all_of_it() -> None:
    made = after("rent-roll", [("list_units", {"page": page}) for page in (1, 2, 3)])
    units = [unit["id"] for step in made.steps for unit in step.observation["units"]]
    assert units == sorted(WORLDS["rent-roll"].environment.initial_state["units"])


@pytest.mark.parametrize("name", NAMES)
def test_each_refusal_is_a_rule_that_the_simulator_is_told(name: str) -> None:
    """Every world's checks are in its rules: a model that plays it is not held to what it never heard of."""
    environment = WORLDS[name].environment
    for tool in environment.tools:
        assert tool.effect is not None
        for check in tool.effect.checks:
            assert check.code and check.error.endswith("."), (tool.name, check.error)
    assert len(environment.rules) > 200


@pytest.mark.parametrize("name", NAMES)
def test_near_misses_of_each_script_fail(name: str) -> None:
    """Leaving out any act that changes something the task asks for never passes by itself: the last act is left out."""
    world = WORLDS[name]
    for task in world.tasks:
        acts = [
            at for at, call in enumerate(task.script) if (tool := world.environment.tool(call["tool"])) and tool.acts
        ]
        made = session(world)
        for at, call in enumerate(task.script):
            if at != acts[-1]:
                made.call(call["tool"], json.dumps(call.get("arguments") or {}))
        state = [one for one in task.criteria if one.kind == "state"]
        met = [holds(one.must, made.state, world.environment.today) for one in state]
        assert not all(met), (task.id, task.script[acts[-1]])
