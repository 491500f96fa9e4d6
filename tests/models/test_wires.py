"""What is sent, and how little is assumed: parameters stepped down from, structured answers, servers without tools."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import pytest

from services.models.classify import Fault
from services.models.endpoint import Endpoint, Prices
from services.models.wire import OpenAIWire, Setup, relax
from simulator.conversation import Message, ModelRequest, ModelResponse, ToolCall, Usage
from tests.models import cases
from tests.models.cases import Case
from tests.models.faultserver import FaultServer
from tests.models.stories import FINISH, READ, ask, wire_for

SCHEMA = {
    "type": "object",
    "properties": {"ok": {"type": "boolean"}},
    "required": ["ok"],
    "additionalProperties": False,
}
WIRES = pytest.mark.parametrize("wire", ["chat", "responses"])


def said(content: str) -> Case:
    """Answer with text, on either wire."""
    return Case("text", cases.chat({"content": content}), "", responses=cases.resp(cases.text(content)))


def refused(message: str, status: int = 400) -> Case:
    """Refuse the request."""
    return Case("refused", cases.error(message), "", status=status)


@contextmanager
def playing(
    play: Callable[[dict[str, Any]], Case], **settings: Any
) -> Iterator[tuple[OpenAIWire, list[dict[str, Any]]]]:
    """Serve `play(body)` and yield a wire to it, and the bodies it was sent."""
    bodies: list[dict[str, Any]] = []

    def answer(_wire: str, body: dict[str, Any]) -> Case:
        bodies.append(body)
        return play(body)

    with FaultServer(answer) as server:
        model = wire_for(msgspec.convert({"base_url": server.url, "model": "m", **settings}, Endpoint))
        yield model, bodies
        model.close()


def answered(reply: ModelResponse | Fault) -> ModelResponse:
    assert isinstance(reply, ModelResponse), reply
    return reply


HISTORY = (
    Message("system", "You are Daniel."),
    Message("user", "Look."),
    Message("assistant", "", (ToolCall("c1", "read", '{"path": "a"}'), ToolCall("c2", "read", '{"pa')), reasoning="hm"),
    Message("tool", "850.00", tool_call_id="c1"),
    Message("tool", "your arguments are no JSON", tool_call_id="c2"),
)


def test_the_chat_body_is_plain() -> None:
    with playing(lambda _body: said("hi"), effort="high") as (model, bodies):
        model.attempt(ask(messages=HISTORY, tools=(READ,), max_output=77))
    wrapped = json.dumps({"malformed_arguments": '{"pa'})
    assert bodies == [
        {
            "model": "m",
            "max_tokens": 77,
            "reasoning_effort": "high",
            "tool_choice": "auto",
            "tools": [{"type": "function", "function": json.loads(msgspec.json.encode(READ))}],
            "messages": [
                {"role": "system", "content": "You are Daniel."},
                {"role": "user", "content": "Look."},
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [cases.chat_call('{"path": "a"}'), cases.chat_call(wrapped, call_id="c2")],
                },
                {"role": "tool", "tool_call_id": "c1", "content": "850.00"},
                {"role": "tool", "tool_call_id": "c2", "content": "your arguments are no JSON"},
            ],
        }
    ]


def test_the_responses_body_is_plain() -> None:
    with playing(lambda _body: said("hi"), wire="responses", effort="low") as (model, bodies):
        model.attempt(ask(messages=HISTORY, tools=(READ,), max_output=77))
    (body,) = bodies
    assert [item.get("type", item.get("role")) for item in body["input"]] == [
        "system", "user", "function_call", "function_call", "function_call_output", "function_call_output",
    ]  # fmt: skip
    assert (body["max_output_tokens"], body["store"], body["reasoning"]) == (77, False, {"effort": "low"})
    assert "include" not in body


def test_nothing_unreliable_is_sent() -> None:
    """FORMATS: never rely on seed, n, parallel_tool_calls or logprobs."""
    for wire in ("chat", "responses"):
        with playing(lambda _body: said('{"ok": true}'), wire=wire) as (model, bodies):
            model.attempt(ask(tools=(READ,), schema=SCHEMA))
        assert not {"seed", "n", "parallel_tool_calls", "logprobs", "temperature"} & set(bodies[0])


def test_reasoning_is_echoed_where_the_endpoint_asks() -> None:
    with playing(lambda _body: said("hi"), echo_reasoning=True) as (model, bodies):
        model.attempt(ask(messages=HISTORY))
    assert bodies[0]["messages"][2]["reasoning_content"] == "hm"


def test_reasoning_items_of_the_responses_wire_come_back_whole() -> None:
    item = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"}
    play = Case("", b"", "", responses=cases.resp(item, cases.called("{}")))
    with playing(lambda _body: play, wire="responses", echo_reasoning=True) as (model, bodies):
        first = answered(model.attempt(ask()))
        later = (*ask().messages, first.as_message(), Message("tool", "x", tool_call_id="c1"))
        model.attempt(ask(messages=later))
    assert bodies[0]["include"] == ["reasoning.encrypted_content"]
    assert item in bodies[1]["input"]


def test_the_environment_of_the_openai_package_reaches_no_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys and accounts are passed in: a local server must not be told those of somebody's shell."""
    for name in ("API_KEY", "ADMIN_KEY", "ORG_ID", "PROJECT_ID", "BASE_URL", "WEBHOOK_SECRET"):
        monkeypatch.setenv(f"OPENAI_{name}", "http://canary.invalid")
    with FaultServer(lambda _wire, _body: said("hi")) as server:
        for key in ("", "sk-ours"):
            model = wire_for(Endpoint(server.url, "m", key))
            answered(model.attempt(ask()))
            model.close()
        assert "canary" not in repr(server.seen)
        assert [headers["authorization"] for _, headers, _ in server.seen] == ["Bearer none", "Bearer sk-ours"]


def test_an_endpoint_prints_without_its_key() -> None:
    endpoint = Endpoint("http://127.0.0.1/v1", "m", "sk-canary")
    assert "canary" not in f"{endpoint} {endpoint!r} {[endpoint]} {endpoint.__rich_repr__()}"


def test_usage_and_money() -> None:
    usage = {
        "prompt_tokens": 1000,
        "completion_tokens": 100,
        "prompt_tokens_details": {"cached_tokens": 800},
        "completion_tokens_details": {"reasoning_tokens": 60},
    }
    play = Case("", cases.chat({"content": "hi"}, usage=usage, model="m-2026"), "")
    prices = {"input": 2_000_000, "output": 8_000_000, "cached": 200_000}
    with playing(lambda _body: play, prices=prices) as (model, _):
        reply = answered(model.attempt(ask()))
    assert reply.usage == Usage(1000, 800, 100, 60)
    assert (reply.model, reply.cost_micros) == ("m-2026", 400 + 160 + 800)


# -- stepping down ---------------------------------------------------------------------------------------------------


def test_max_tokens_is_renamed_once_and_remembered() -> None:
    def play(body: dict[str, Any]) -> Case:
        words = (
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
        )
        return refused(words) if "max_tokens" in body else said("hi")

    with playing(play) as (model, bodies):
        for _ in range(3):
            assert answered(model.attempt(ask())).content == "hi"
    assert ["max_tokens" in body for body in bodies] == [True, False, False, False]


def test_a_refused_value_is_not_asked_in_circles() -> None:
    with playing(lambda _body: refused("max_tokens or max_completion_tokens is too large")) as (model, bodies):
        reply = model.attempt(ask())
    assert isinstance(reply, Fault)
    assert (reply.kind, len(bodies)) == ("bad_request", 2)
    assert model.setup == Setup("json_schema", "max_tokens", "native")


@WIRES
def test_json_schema_steps_down_to_json_object_and_then_to_words(wire: str) -> None:
    def play(body: dict[str, Any]) -> Case:
        shape = body.get("response_format") or body.get("text", {}).get("format") or {}
        if shape.get("type") in ("json_schema", "json_object"):
            return refused(f"response_format type {shape['type']} is unavailable now")
        assert "JSON Schema" in json.dumps(body)
        return said('Sure!\n```json\n{"ok": true}\n```')

    with playing(play, wire=wire) as (model, bodies):
        for _ in range(2):
            assert answered(model.attempt(ask(schema=SCHEMA))).content == '{"ok": true}'
        assert (model.setup.schema_mode, len(bodies)) == ("prompt", 4)


def test_optional_parameters_are_dropped_one_by_one() -> None:
    def play(body: dict[str, Any]) -> Case:
        if "stream_options" in body:
            return refused("extra_forbidden: stream_options", 422)
        if "reasoning_effort" in body:
            return refused("this model does not support thinking")
        return Case("", cases.events(cases.delta("stop", content="hi")), "", headers=cases.SSE)

    with playing(play, stream=True, effort="high") as (model, bodies):
        assert answered(model.attempt(ask())).content == "hi"
        model.attempt(ask())
    assert [("stream_options" in b, "reasoning_effort" in b) for b in bodies] == [
        (True, True), (False, True), (False, False), (False, False),
    ]  # fmt: skip


def test_what_was_not_sent_is_not_dropped() -> None:
    setup = Setup("json_schema", "max_tokens", "native")
    fault = Fault("bad_request", False, detail="the store is closed; think again about tools and schema")
    assert relax(setup, fault, ask(), ("model", "messages")) is None
    assert relax(setup, Fault("server", True, detail="stream"), ask(), ("stream",)) is None


def test_a_setup_that_did_not_help_is_not_remembered() -> None:
    with playing(lambda _body: refused("tools: something odd about this tool")) as (model, _):
        reply = model.attempt(ask(tools=(READ,)))
        assert isinstance(reply, Fault)
        assert model.setup.tools == "native"


# -- structured answers ----------------------------------------------------------------------------------------------


@WIRES
def test_a_wrong_form_is_shown_to_the_model_and_repaired(wire: str) -> None:
    answers = iter(["no JSON here", '{"ok": "yes", "more": 1}', '{"ok": true}'])
    with playing(lambda _body: said(next(answers)), wire=wire, prices={"input": 10**6, "output": 10**6}) as (
        model,
        bodies,
    ):
        reply = answered(model.attempt(ask(schema=SCHEMA)))
    assert reply.content == '{"ok": true}'
    assert (reply.usage, reply.cost_micros) == (Usage(60, 0, 15), 75)
    shown = [(body.get("messages") or body["input"])[-1]["content"] for body in bodies]
    assert "there is no JSON value in it" in shown[1]
    assert "- $.ok must be of type boolean" in shown[2]
    assert '- $ has the unknown entry "more"' in shown[2]


def test_repair_is_bounded_and_the_caller_gets_the_last_words() -> None:
    with playing(lambda _body: said("never")) as (model, bodies):
        assert answered(model.attempt(ask(schema=SCHEMA))).content == "never"
    assert len(bodies) == 3


def test_a_paid_answer_is_not_lost_to_a_fault_during_repair() -> None:
    plays = iter([said("words"), cases.BROKEN[0]])
    prices = {"input": 10**6, "output": 10**6}
    with playing(lambda _body: next(plays), prices=prices) as (model, _):
        reply = answered(model.attempt(ask(schema=SCHEMA)))
        assert reply.content == "words"
        assert 4000 < reply.cost_micros <= model.worst_cost(ask(schema=SCHEMA))


def test_a_refusal_or_truncation_is_not_repaired() -> None:
    play = Case("", cases.chat({"content": '{"ok'}, "length"), "")
    with playing(lambda _body: play) as (model, bodies):
        assert answered(model.attempt(ask(schema=SCHEMA))).finish == "length"
    assert len(bodies) == 1


@WIRES
def test_an_endpoints_limit_is_what_every_call_asks_for(wire: str) -> None:
    """Repairs included; a request that asks for less gets less; what was asked for stays as the office asked it."""
    answers = iter(["no JSON here", '{"ok": true}', '{"ok": true}'])
    prices = {"input": 10**6, "output": 10**6}
    with playing(lambda _body: said(next(answers)), wire=wire, max_output=300, prices=prices) as (model, bodies):
        request = ask(schema=SCHEMA)
        fingerprint = request.fingerprint
        answered(model.attempt(request))
        answered(model.attempt(ask(schema=SCHEMA, max_output=100)))
        assert model.worst_cost(ask(max_output=300)) == model.worst_cost(ask(max_output=4096)) > 300
    limit = {"chat": "max_tokens", "responses": "max_output_tokens"}[wire]
    assert [body[limit] for body in bodies] == [300, 300, 100]
    assert request.max_output == 4096 and request.fingerprint == fingerprint


def test_a_completed_answer_of_just_the_endpoints_limit_was_cut_there() -> None:
    """llama.cpp calls it `completed`; the limit that counts is the one that was sent."""
    cut = cases.resp(cases.text("cut of"), usage={"input_tokens": 10, "output_tokens": 300})
    with playing(lambda _body: Case("", b"", "", responses=cut), wire="responses", max_output=300) as (model, _):
        assert answered(model.attempt(ask())).finish == "length"


# -- servers without tools -------------------------------------------------------------------------------------------


@WIRES
def test_tools_as_one_schema(wire: str) -> None:
    """A server that refuses tools is told of them in words and one schema, and its answer is read back as a call."""

    def play(body: dict[str, Any]) -> Case:
        if "tools" in body:
            return refused('"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set')
        return said('{"tool": "read", "arguments": {"path": "b"}}')

    with playing(play, wire=wire) as (model, bodies):
        reply = answered(model.attempt(ask(messages=HISTORY, tools=(READ, FINISH))))
        assert reply.tool_calls == (ToolCall("call_5_0", "read", '{"path": "b"}'),)
        assert (reply.finish, reply.content) == ("tool_calls", "")
        assert model.setup.tools == "schema"
    told = bodies[1].get("messages") or bodies[1]["input"]
    assert [message["role"] for message in told] == ["system", "user", "assistant", "user"]
    assert "- read: Read a file." in told[0]["content"]
    assert '{"tool": "read", "arguments": {"path": "a"}}' in told[2]["content"]
    assert told[3]["content"] == "Result of read:\n850.00\n\nResult of read:\nyour arguments are no JSON"
    shape = bodies[1]["response_format"]["json_schema"] if wire == "chat" else bodies[1]["text"]["format"]
    forms = shape["schema"]["oneOf"]
    assert [form["required"] for form in forms] == [["tool", "arguments"], ["tool", "arguments"], ["say"]]
    assert forms[0]["properties"]["arguments"] == READ.parameters


@pytest.mark.parametrize(
    ("content", "reply"),
    [
        ('{"say": "It ties."}', ModelResponse("It ties.")),
        ('{"say": {"ok": true}}', ModelResponse('{"ok": true}')),
        (
            '{"tool": "finish", "arguments": {}}',
            ModelResponse("", (ToolCall("call_2_0", "finish", "{}"),), "tool_calls"),
        ),
        ("I would rather chat.", ModelResponse("I would rather chat.")),
    ],
)
def test_what_a_server_without_tools_says(content: str, reply: ModelResponse) -> None:
    schema = SCHEMA if "ok" in content else None
    with playing(lambda _body: said(content), tools="schema") as (model, _):
        got = answered(model.attempt(ask(tools=(READ, FINISH), schema=schema)))
    assert (got.content, got.tool_calls, got.finish) == (reply.content, reply.tool_calls, reply.finish)


def test_worst_cost_covers_what_a_server_without_tools_really_cost() -> None:
    """Two repairs on the longest answers: the reservation was enough."""
    request: ModelRequest = ask(tools=(READ,), max_output=50)
    sizes: list[int] = []

    def play(body: dict[str, Any]) -> Case:
        sizes.append(len(json.dumps(body, ensure_ascii=False).encode()))
        usage = {"prompt_tokens": sizes[-1], "completion_tokens": 50}
        return Case("", cases.chat({"content": "x" * 50}, usage=usage), "")

    prices = Prices(1_000_000, 1_000_000)
    with playing(play, tools="schema", prices=msgspec.to_builtins(prices)) as (model, bodies):
        worst = model.worst_cost(request)
        reply = answered(model.attempt(request))
    assert len(bodies) == 3
    assert reply.cost_micros == sum(sizes) + 150 <= worst
