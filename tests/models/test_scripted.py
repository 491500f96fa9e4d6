"""The test's own model: what it says depends on who asks and how often, never on threads."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.models.delayed import Delayed, heavy_tail
from services.models.scripted import Scripted, ScriptExhausted, call, calls, fault, raw_call, say
from simulator.conversation import Message, ModelResponse, ToolCall
from simulator.errors import ModelOutage, WorkFailed
from tests.models.stories import Clock, ask


def test_answers_come_in_order_and_requests_are_kept() -> None:
    model = Scripted([say("one"), say("two")])
    assert [model.complete(ask(text)).content for text in ("a", "b")] == ["one", "two"]
    assert [request.messages[-1].content for request in model.asked] == ["a", "b"]
    assert model.unused() == 0


def test_running_out_names_the_last_user_message() -> None:
    model = Scripted({"s-elena": [say("one")]})
    model.complete(ask())
    with pytest.raises(ScriptExhausted, match="reconcile December") as caught:
        model.complete(ask("please reconcile December"))
    assert "s-elena" in str(caught.value)
    assert isinstance(caught.value, WorkFailed)


def test_running_out_after_a_tool_shows_its_result() -> None:
    messages = (Message("user", "go"), Message("tool", "no such file", tool_call_id="c"))
    with pytest.raises(ScriptExhausted, match="no such file"):
        Scripted([]).complete(ask(messages=messages))


def test_rules_by_session_words_and_predicate() -> None:
    model = Scripted(
        {
            ("s-daniel", "deposits"): [say("they do not tie")],
            ("*", lambda request: request.role == "judge"): say("met"),
            "s-daniel": [say("first"), say("second")],
            "*": call("finish"),
        }
    )
    daniel = [model.complete(ask(t, session="s-daniel")).content for t in ("hello", "the deposits?", "and now?")]
    assert daniel == ["first", "they do not tie", "second"]
    assert model.complete(ask("again the deposits?", session="s-daniel")).tool_calls[0].name == "finish"
    assert model.complete(ask(session="s-quinn")).tool_calls[0].name == "finish"


def test_helpers_build_calls_whose_ids_are_unique_in_a_conversation() -> None:
    model = Scripted([calls(call("read", path="é"), raw_call("read", "{bro"), text="Both."), call("read", path="b")])
    first = model.complete(ask())
    assert first == ModelResponse(
        "Both.",
        (ToolCall("call_2_0", "read", '{"path":"é"}'), ToolCall("call_2_1", "read", "{bro")),
        finish="tool_calls",
        model="scripted",
    )
    later = (*ask().messages, first.as_message(), Message("tool", "x", tool_call_id="call_2_0"))
    assert model.complete(ask(messages=later)).tool_calls[0].id == "call_4_0"


def test_a_tool_may_have_an_argument_named_tool() -> None:
    assert call("grant", tool="read").tool_calls[0].arguments == '{"tool":"read"}'


def test_callables_see_the_request() -> None:
    model = Scripted({"*": lambda request: say(request.messages[-1].content.upper())})
    assert model.complete(ask("quiet")).content == "QUIET"


def test_rule_3_faults_are_final_without_the_retry_loop() -> None:
    model = Scripted([fault("bad_request", retryable=False), fault("server"), fault("auth", retryable=False)])
    lost = model.complete(ask())
    assert (lost.finish, lost.detail) == ("unavailable", "the model endpoint refused this request as malformed")
    for _ in range(2):
        with pytest.raises(ModelOutage):
            model.complete(ask())


def test_unused_counts_what_nobody_heard() -> None:
    model = Scripted({"s-elena": [say("one"), say("two")], "*": say("always")})
    model.complete(ask())
    assert model.unused() == 1


@given(order=st.permutations([session for session in ("a", "b", "c") for _ in range(4)]))
def test_what_a_session_hears_depends_on_its_own_order_alone(order: list[str]) -> None:
    script = {"a": [say(f"a{n}") for n in range(4)], "*": [say(f"other{n}") for n in range(4)]}
    model = Scripted(script)
    heard: dict[str, list[str]] = {"a": [], "b": [], "c": []}
    for session in order:
        heard[session].append(model.complete(ask(session=session)).content)
    assert heard["a"] == ["a0", "a1", "a2", "a3"]
    assert heard["b"] == heard["c"] == ["other0", "other1", "other2", "other3"]


def test_threads_do_not_show() -> None:
    model = Scripted({"*": [say(str(n)) for n in range(50)]})
    start = threading.Barrier(4)

    def talk(session: str) -> list[str]:
        start.wait()
        return [model.complete(ask(session=session)).content for _ in range(50)]

    with ThreadPoolExecutor(4) as pool:
        heard = list(pool.map(talk, "abcd"))
    assert heard == [[str(n) for n in range(50)]] * 4


def test_delayed_waits_as_its_latency_says_and_then_answers() -> None:
    clock = Clock()
    latency = heavy_tail(seed=7, median_s=2.0)
    model = Delayed(Scripted({"*": say("late")}), latency, clock.sleep)
    assert model.complete(ask()).content == "late"
    assert clock.slept == [latency(ask())]


def test_heavy_tail_is_of_the_call_and_has_its_median() -> None:
    latency = heavy_tail(seed=7, median_s=2.0, cap_s=60.0)
    draws = sorted(latency(ask(ordinal=n)) for n in range(999))
    assert latency(ask(ordinal=3)) == latency(ask("other words", ordinal=3))
    assert 1.7 < draws[499] < 2.3
    assert draws[-1] > 20 and draws[-1] <= 60.0
    assert draws[0] >= 2.0 / 2 ** (1 / 1.5) - 1e-9
