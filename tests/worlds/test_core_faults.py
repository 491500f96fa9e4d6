"""Faults by code: when they strike, what the agent sees, that a retry recovers, and that every agent meets the same."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.worlds.faults import Faults, check_plan, known_words, prompt_paragraph, schedule, spoil
from bench.worlds.model import EXPLICIT, IMPLICIT, SEMANTIC, Environment, Fault, FaultPlan, Stage, Step
from bench.worlds.session import Session
from bench.worlds.step import Offline
from simulator.errors import UsageError
from simulator.randomness import Stream
from tests.worlds.core_world import STATE, environment, task

ALL = [
    {"id": "RM-101", "beds": 2, "status": "free", "cleaned": "2025-03-01T09:00:00"},
    {"id": "RM-102", "beds": 1, "status": "free", "cleaned": "2025-03-01T10:00:00"},
    {"id": "RM-103", "beds": 4, "status": "closed", "cleaned": "2025-02-27T09:00:00"},
]


def but(at: int, **changed: Any) -> list[dict[str, Any]]:
    return [{**room, **changed} if number == at else room for number, room in enumerate(ALL)]


# Sixteen calls of list_rooms under seed 1, written out by hand from the draws: {level: {call: (kind, what was seen)}}.
TABLE: dict[str, dict[int, tuple[str, Any]]] = {
    "E0": {},
    "E1": {
        1: ("timeout", {"error": "TimeoutError: the request did not complete within 30 seconds"}),
        2: ("timeout", {"error": "TimeoutError: the request did not complete within 30 seconds"}),
        11: ("http_500", {"error": "HTTP 500: Internal Server Error"}),
        12: ("http_500", {"error": "HTTP 500: Internal Server Error"}),
    },
    "E2": {
        5: ("truncated", {"rooms": ALL[:1]}),
        6: ("truncated", {"rooms": ALL[:1]}),
        10: ("null", {"rooms": but(1, cleaned=None)}),
        11: ("null", {"rooms": but(1, beds=None)}),
    },
    "E3": {
        4: ("http_500", {"error": "HTTP 500: Internal Server Error"}),
        5: ("http_500", {"error": "HTTP 500: Internal Server Error"}),
        12: ("missing_entries", {"rooms": ALL[:2]}),
        13: ("missing_entries", {"rooms": ALL[1:]}),
    },
}


def session(plan: FaultPlan, of: Environment | None = None) -> Session:
    chosen = of or environment()
    return Session(chosen, task(), Offline(chosen), plan)


def calls(plan: FaultPlan, count: int = 16, tool: str = "list_rooms", arguments: str = "{}") -> list[Step]:
    made = session(plan)
    for turn in range(count):
        made.call(tool, arguments, turn)
    return made.steps


@pytest.mark.parametrize("level", ["E0", "E1", "E2", "E3"])
def test_the_calls_struck_under_seed_1_and_what_the_agent_saw(level: Any) -> None:
    expected = TABLE[level]
    for step in calls(FaultPlan(level, 1)):
        if step.number in expected:
            kind, saw = expected[step.number]
            assert step.fault is not None and (step.fault.kind, step.observation) == (kind, saw), step.number
        else:
            assert step.fault is None and step.observation == {"rooms": ALL}, step.number


def test_a_stale_cache_with_nothing_stale_in_it_gives_way_and_says_so() -> None:
    struck = [step.fault for step in calls(FaultPlan("E2", 1)) if step.fault]
    assert struck[0].kind == "truncated" and struck[0].note == "planned as stale_cache"


@given(st.sampled_from(["E1", "E2", "E3"]), st.integers(1, 5), st.integers(1, 3), st.integers(0, 10_000), st.booleans())
def test_events_are_apart_and_each_ends(level: Any, count: int, duration: int, seed: int, semantic: bool) -> None:
    plan = FaultPlan(level, seed, count, duration, horizon=count * (duration + 3), semantic=semantic)
    struck = schedule(plan, "t")
    assert len(struck) == count * duration and max(struck) < plan.horizon
    for event in range(1, count + 1):
        numbers = sorted(number for number, fault in struck.items() if fault.event == event)
        assert numbers == list(range(numbers[0], numbers[0] + duration)), "consecutive calls"
        assert numbers[-1] + 1 not in struck, "a retry recovers"
        assert len({struck[number].kind for number in numbers}) == 1
    kinds = [struck[number].kind for number in struck]
    if level == "E1":
        assert set(kinds) <= set(EXPLICIT)
    if level == "E2":
        assert set(kinds) <= set(IMPLICIT) | (set(SEMANTIC) if semantic else set())
    if level == "E3":
        loud = len({fault.event for fault in struck.values() if fault.explicit})
        assert loud in (count // 2, count // 2 + count % 2), "about half and half"


def test_two_agents_meet_the_same_faults_whatever_they_call() -> None:
    one = session(FaultPlan("E3", 7))
    two = session(FaultPlan("E3", 7))
    for turn in range(16):
        one.call("list_rooms", "{}", turn)
        two.call("get_room", '{"room": "RM-101"}', turn)
    struck = [[(step.number, step.fault.event) for step in made.steps if step.fault] for made in (one, two)]
    assert struck[0] == struck[1] and len(struck[0]) == 4


def test_calls_that_never_reach_the_environment_do_not_move_the_calendar() -> None:
    made = session(FaultPlan("E3", 1))
    for _ in range(5):
        made.call("no_such_tool", "{}")
        made.call("get_room", '{"room": 5}')
    assert all(step.fault is None for step in made.steps)
    for turn in range(16):
        made.call("list_rooms", "{}", turn)
    assert [step.number - 10 for step in made.steps if step.fault] == list(TABLE["E3"])


def test_an_explicit_fault_changes_nothing_and_a_quiet_one_hides_what_was_done() -> None:
    book = '{"room": "RM-101", "guest": "Ada Lund"}'
    loud = session(FaultPlan("E1", 1, horizon=16))
    assert json.loads(loud.call("book", book))["error"].startswith("TimeoutError")
    assert loud.state == STATE and loud.steps[0].status == "faulted" and loud.steps[0].error
    json.loads(loud.call("book", book))
    assert json.loads(loud.call("book", book)) == {"booking": "BK-002"}, "the third try goes through"
    quiet = session(FaultPlan("E2", 1, count=1, duration=1, horizon=2))
    seen = json.loads(quiet.call("book", book))
    assert quiet.state["rooms"]["RM-101"]["status"] == "taken"
    assert quiet.steps[0].before_fault == {"booking": "BK-002"} and seen != {"booking": "BK-002"}


def made_of(kind: str, observation: Any, past: Any = ()) -> tuple[Any, Fault]:
    return spoil(Fault(kind, "scheduled", 1), observation, past, "get_room", {}, STATE, Stream(1, "t"))  # type: ignore[arg-type]


def test_what_each_kind_makes_of_an_answer() -> None:
    answer = {
        "room": "RM-101",
        "beds": 2,
        "cleaned": "2025-03-01T09:00:00Z",
        "note": "a note of more than twenty-four characters",
    }
    assert made_of("truncated", answer)[0]["note"] == "a note of more than t"
    assert len(made_of("missing_entries", answer)[0]) == 3
    assert list(made_of("null", answer)[0].values()).count(None) == 1
    assert made_of("stale_cache", answer, [("get_room", {}, {"room": "RM-101", "beds": 1})])[0] == {
        "room": "RM-101",
        "beds": 1,
    }
    assert made_of("stale_snapshot", answer)[0]["cleaned"] == "2025-02-28T09:00:00Z"
    assert made_of("contradicts_schema", answer)[0]["beds"] == "~2 (est.)"
    wrong = made_of("unknown_entity", answer)[0]["room"]
    assert wrong.startswith("RM-") and wrong not in known_words(STATE)
    for kind in (*IMPLICIT, *SEMANTIC):
        seen, fault = made_of(kind, answer)
        assert seen != answer and "error" not in seen
        assert json.loads(json.dumps(seen)) == seen, "it still parses"
        assert not fault.explicit


def test_an_answer_with_nothing_in_it_cannot_be_spoiled_and_the_log_says_so() -> None:
    seen, fault = made_of("null", {})
    assert seen == {} and fault.note == "nothing in this answer could be spoiled"


def test_a_cascade_strikes_only_what_depends_on_the_tool_that_was_struck() -> None:
    always = FaultPlan("E1", 1, cascade_percent=100, horizon=16)
    first = session(always)
    assert first.call("get_room", '{"room": "RM-101"}')
    first.call("get_room", '{"room": "RM-101"}')
    first.call("book", '{"room": "RM-101", "guest": "Ada"}')
    fault = first.steps[2].fault
    assert fault is not None and (fault.cause, fault.note, fault.kind) == ("cascade", "get_room", "service_unavailable")
    other = session(always)
    for tool in ("get_room", "get_room"):
        other.call(tool, '{"room": "RM-101"}')
    other.call("list_rooms", "{}")
    assert other.steps[2].fault is None
    never = session(msgspec.structs.replace(always, cascade_percent=0))
    never.call("get_room", '{"room": "RM-101"}')
    never.call("get_room", '{"room": "RM-101"}')
    never.call("book", '{"room": "RM-101", "guest": "Ada"}')
    assert never.steps[2].fault is None


def test_a_stage_waits_for_its_stage_and_then_strikes_once() -> None:
    staged = msgspec.structs.replace(
        environment(), stages=(Stage("looked", ("get_room",), ("list_rooms",), "http_500"), Stage("booked", ("book",)))
    )
    made = session(FaultPlan("E1", 1, count=0, stages=True), staged)
    for tool, arguments in (
        ("list_rooms", "{}"), ("get_room", '{"room": "RM-101"}'), ("get_room", '{"room": "RM-101"}'), ("list_rooms", "{}"),
        ("list_rooms", "{}"), ("list_rooms", "{}"), ("book", '{"room": "RM-101", "guest": "Ada"}'), ("list_rooms", "{}"),
    ):  # fmt: skip
        made.call(tool, arguments)
    struck = [(step.number, step.fault.kind, step.fault.note) for step in made.steps if step.fault]
    assert struck == [(4, "http_500", "looked"), (5, "http_500", "looked"), (8, "service_unavailable", "booked")]


def test_stages_keep_to_the_level() -> None:
    staged = msgspec.structs.replace(environment(), stages=(Stage("looked", ("get_room",), (), "http_500"),))
    quiet = Faults(FaultPlan("E2", 1, count=0, stages=True), staged, "t")
    quiet.called("get_room")
    tool = staged.tool("book")
    assert tool is not None and quiet.strike(1, tool) is None


def test_prompt_mode_asks_the_simulator_and_injects_nothing() -> None:
    plan = FaultPlan("E2", 1, mode="prompt")
    assert schedule(plan, "t") == {}
    assert "degraded answers without any error" in prompt_paragraph(plan)
    assert prompt_paragraph(FaultPlan("E2", 1)) == "" == prompt_paragraph(FaultPlan("E0", 1, mode="prompt"))


def test_plans_that_cannot_be_carried_out_are_refused() -> None:
    with pytest.raises(UsageError, match="horizon of 9"):
        check_plan(FaultPlan("E1", 1, count=3, duration=2, horizon=8))
    with pytest.raises(UsageError, match="percent"):
        check_plan(FaultPlan("E1", 1, cascade_percent=101))
    with pytest.raises(UsageError, match="duration"):
        check_plan(FaultPlan("E1", 1, duration=0))
