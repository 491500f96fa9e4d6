"""What is new in a request: conversations that continue, branch, are summed up, and run side by side."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from services.gateway import atif
from services.gateway.recorder import Recorder
from services.gateway.threads import Threads
from services.models.asked import Wishes, with_wishes
from services.models.http_server import Failure
from services.models.scripted import call, calls, say
from simulator.conversation import Message, ModelRequest, ModelResponse, ToolCall
from tests.gateway.stories import NOW
from tests.models.stories import requests

SYSTEM = Message("system", "You are at a shell.")
GO = Message("user", "Go.")


def recorder() -> Recorder:
    return Recorder("main", "assistant", atif.Agent("toy", "1"), lambda: NOW)


class Talk:
    """A recorder, told of calls as a session would tell it."""

    def __init__(self) -> None:
        self.recorder = recorder()

    def turn(self, messages: list[Message], answer: ModelResponse, **more: Any) -> Message:
        """Ask and answer; return the answer as a message."""
        request = self.request(messages, **more)
        place = self.recorder.begin(request)
        self.recorder.answered(place, request, answer)
        return answer.as_message()

    def request(self, messages: list[Message], **more: Any) -> ModelRequest:
        call_ = ("gateway/main", self.recorder.totals.calls + 1)
        return ModelRequest("assistant", call_, "main", tuple(messages), **more)

    def steps(self) -> tuple[atif.Step, ...]:
        """Return the steps of what is a valid trajectory, told and read again."""
        told = atif.encode(self.recorder.trajectory())
        again = atif.decode(told)
        assert atif.encode(again) == told
        return again.steps


def named(answer: ModelResponse, *ids: str) -> ModelResponse:
    """Give an answer's calls their ids."""
    made = tuple(ToolCall(id_, c.name, c.arguments) for id_, c in zip(ids, answer.tool_calls, strict=True))
    return msgspec.structs.replace(answer, tool_calls=made)


def result(call_id: str, text: str) -> Message:
    return Message("tool", text, tool_call_id=call_id)


def seen(steps: tuple[atif.Step, ...]) -> list[tuple[str, Any]]:
    return [(s.source, s.message) for s in steps]


def test_results_join_their_calls_in_whatever_order_they_come() -> None:
    talk = Talk()
    both = named(calls(call("run", command="a"), call("run", command="b")), "c1", "c2")
    asked = talk.turn([SYSTEM, GO], both)
    talk.turn([SYSTEM, GO, asked, result("c2", "two"), result("c1", "one"), Message("user", "Hurry.")], say("ok"))
    steps = talk.steps()
    assert seen(steps) == [
        ("system", SYSTEM.content),
        ("user", "Go."),
        ("agent", ""),
        ("user", "Hurry."),
        ("agent", "ok"),
    ]
    assert steps[2].observation == atif.Observation(
        (atif.ObservationResult("c2", "two"), atif.ObservationResult("c1", "one"))
    )


def test_a_result_of_a_call_that_nobody_made_is_kept_and_paired_with_nothing() -> None:
    talk = Talk()
    talk.turn([GO, result("ghost", "boo")], say("ok"))
    stray = talk.steps()[1]
    assert (stray.source, stray.message) == ("system", "")
    assert stray.observation == atif.Observation(
        (atif.ObservationResult(None, "boo", extra={"tool_call_id": "ghost"}),)
    )


def test_a_conversation_that_was_summed_up_is_a_thread_whose_old_words_are_marked() -> None:
    """Copied context is no lesson: training leaves it out."""
    talk = Talk()
    asked = talk.turn([SYSTEM, GO], named(call("run", command="a"), "c1"))
    talk.turn([SYSTEM, GO, asked, result("c1", "one")], say("half way"))
    kept = Message("assistant", "half way")
    talk.turn([SYSTEM, Message("user", "Summary: ran a."), kept, Message("user", "Go on.")], say("done"))
    steps = talk.steps()[4:]
    assert [(s.source, s.message, s.is_copied_context) for s in steps] == [
        ("system", SYSTEM.content, True), ("user", "Summary: ran a.", None), ("agent", "half way", True),
        ("user", "Go on.", None), ("agent", "done", None),
    ]  # fmt: skip
    assert all((s.extra or {})["thread"] == 1 for s in steps)


def test_an_old_result_that_was_trimmed_is_not_said_again() -> None:
    """Agents shorten what is long gone by; the record keeps what was first said and counts what was rewritten."""
    talk = Talk()
    asked = talk.turn([GO], named(call("run", command="a"), "c1"))
    said = talk.turn([GO, asked, result("c1", "long " * 100)], say("  read  "))
    said = Message("assistant", said.content.strip())
    talk.turn([GO, asked, result("c1", "[trimmed]"), said, Message("user", "And?")], say("done"))
    steps = talk.steps()
    assert [s.source for s in steps] == ["user", "agent", "agent", "user", "agent"]
    assert steps[1].observation == atif.Observation((atif.ObservationResult("c1", "long " * 100),))
    assert steps[-1].extra == {"call": 3, "finish": "stop", "rewritten_messages": 1}


def test_a_call_on_the_side_does_not_disturb_the_run() -> None:
    talk = Talk()
    asked = talk.turn([SYSTEM, GO], named(call("run", command="a"), "c1"))
    talk.turn([Message("system", "Name this chat."), Message("user", "Go.")], say("Going"))
    talk.turn([SYSTEM, GO, asked, result("c1", "one")], say("done"))
    steps = talk.steps()
    assert [(s.message, (s.extra or {}).get("thread", 0)) for s in steps if s.source == "agent"] == [
        ("", 0), ("Going", 1), ("done", 0),
    ]  # fmt: skip


def test_two_runs_from_one_beginning_keep_their_results_apart() -> None:
    """The same question twice at once, answered by calls with equal ids: each result stands by its own call."""
    talk = Talk()
    first, second = talk.request([GO]), talk.request([GO])
    at, bt = talk.recorder.begin(first), talk.recorder.begin(second)
    a, b = named(call("run", command="a"), "c1"), named(call("run", command="b"), "c1")
    talk.recorder.answered(at, first, a)
    talk.recorder.answered(bt, second, b)
    talk.turn([GO, b.as_message(), result("c1", "of b")], say("b done"))
    talk.turn([GO, a.as_message(), result("c1", "of a")], say("a done"))
    told = {
        s.tool_calls[0].arguments["command"]: [r.content for r in s.observation.results]
        for s in talk.steps() if s.tool_calls and s.observation
    }  # fmt: skip
    assert told == {"a": ["of a"], "b": ["of b"]}
    assert len([s for s in talk.steps() if s.source == "user"]) == 1


def test_two_results_of_one_call_in_branches_name_their_thread() -> None:
    talk = Talk()
    asked = talk.turn([GO], named(call("run", command="a"), "c1"))
    talk.turn([GO, asked, result("c1", "first try")], say("hm"))
    talk.turn([GO, asked, result("c1", "first try"), Message("user", "Other way.")], say("ok"))
    threads = [(s.message, (s.extra or {}).get("thread", 0)) for s in talk.steps()]
    assert threads == [("Go.", 0), ("", 0), ("hm", 0), ("Other way.", 1), ("ok", 1)]


def test_a_call_that_failed_leaves_its_question_and_no_answer() -> None:
    talk = Talk()
    request = talk.request([SYSTEM, GO])
    place = talk.recorder.begin(request)
    talk.recorder.failed(place, request, Failure(503, "server_error", "model_outage", "down"), None, spent=False)
    talk.turn([SYSTEM, GO], say("back"))
    assert seen(talk.steps()) == [("system", SYSTEM.content), ("user", "Go."), ("agent", "back")]
    assert (talk.recorder.totals.turns, talk.recorder.totals.calls, talk.recorder.totals.failures) == (1, 2, 1)


def test_what_came_of_the_last_calls_is_recorded_though_the_budget_is_used_up() -> None:
    """An agent brings its last result with the request that is refused; spam beyond the budget adds nothing."""
    talk = Talk()
    assert not talk.recorder.refused(talk.request([GO])), "there is nothing to note it in"
    asked = talk.turn([GO], named(call("run", command="a"), "c1"))
    beyond = [GO, asked, result("c1", "one"), Message("user", "Go on.")]
    for _ in range(3):
        assert talk.recorder.refused(talk.request(beyond))
        assert talk.recorder.refused(talk.request([Message("user", "Something else.")]))
    steps = talk.steps()
    assert [s.message for s in steps] == ["Go.", ""]
    assert steps[1].observation == atif.Observation((atif.ObservationResult("c1", "one"),))
    assert (talk.recorder.totals.turns, talk.recorder.totals.refused) == (1, 7)


def test_effort_and_another_model_are_on_the_step() -> None:
    talk = Talk()
    first, second = say("one"), msgspec.structs.replace(say("two"), model="other")
    request = with_wishes(talk.request([GO]), Wishes(effort="high"))
    talk.recorder.answered(talk.recorder.begin(request), request, first)
    talk.turn([GO, first.as_message(), Message("user", "More.")], second)
    steps = talk.steps()
    assert talk.recorder.trajectory().agent.model_name == "scripted"
    assert [(s.reasoning_effort, s.model_name) for s in steps if s.source == "agent"] == [
        ("high", None),
        (None, "other"),
    ]


@given(asked=st.lists(requests(), min_size=1, max_size=4), cut=st.integers(0, 4))
def test_whatever_is_asked_the_trajectory_is_valid_and_goes_on_after_a_restart(
    asked: list[ModelRequest], cut: int
) -> None:
    """Stored at any moment and resumed, it ends as the run that never stopped."""
    straight, broken = recorder(), recorder()
    for at, request in enumerate(asked):
        for one in (straight, broken):
            one.answered(one.begin(request), request, say(f"answer {at}"))
        if at == cut:
            stored = atif.decode(atif.encode(broken.trajectory()))
            broken = recorder()
            broken.resume(stored)
    assert atif.encode(broken.trajectory()) == atif.encode(straight.trajectory())
    said = [s.message for s in straight.trajectory().steps if s.llm_call_count == 1]
    assert said == [f"answer {at}" for at in range(len(asked))]


@given(request=requests(), more=st.lists(st.sampled_from("abc"), min_size=1, max_size=4))
def test_what_continues_is_known_as_far_as_it_was_said(request: ModelRequest, more: list[str]) -> None:
    threads, messages = Threads(), list(request.messages)
    known = 0
    for number, text in enumerate(more):
        place = threads.place(messages)
        assert (place.thread, place.known, place.rewritten) == (0, known, 0)
        answer = Message("assistant", f"{number} {text}")
        for message in (*messages[place.known :], answer):
            threads.add(place.thread, message, 1)
        threads.done(place.thread)
        known = len(messages) + 1
        messages += [answer, Message("user", text)]
