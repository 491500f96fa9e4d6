"""A model behind HTTP is the same model: our client and our server lose nothing between them, on either wire."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import msgspec
import openai
import pytest
from hypothesis import given, settings

from services.models.answers import settle_arguments
from services.models.endpoint import Endpoint
from services.models.http_server import Served, serve
from services.models.scripted import Scripted, call, calls, raw_call, say
from simulator.conversation import Message, ModelRequest, ModelResponse, ToolCall
from simulator.errors import BudgetExhausted, ModelOutage, StorageError, TapeMismatch, UsageError
from tests.models.stories import FINISH, READ, Wired, ask, requests, responses, wire_for

WAYS = [("chat", False), ("chat", True), ("responses", False), ("responses", True)]


class Echo:
    """A model that gives the answer it is loaded with and keeps what it was asked."""

    def __init__(self) -> None:
        self.answer: ModelResponse | Exception = say("nothing yet")
        self.asked: list[ModelRequest] = []

    def complete(self, request: ModelRequest) -> ModelResponse:
        self.asked.append(request)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


ECHO = Echo()


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serve(ECHO, names=("offline",)) as server:
        yield server


@pytest.fixture(scope="module")
def models(served: Served) -> Iterator[dict[tuple[str, bool], Wired]]:
    wired = {way: Wired(wire_for(_endpoint(served, *way))) for way in WAYS}
    yield wired
    for model in wired.values():
        model.wire.close()


def _endpoint(served: Served, wire: str, stream: bool, **more: Any) -> Endpoint:
    settings_ = {"describe_calls": True, "echo_broken_arguments": True, **more}
    return msgspec.convert(
        {"base_url": served.url, "model": "offline", "wire": wire, "stream": stream, **settings_}, Endpoint
    )


def _settled(response: ModelResponse) -> ModelResponse:
    tool_calls = tuple(ToolCall(c.id, c.name, settle_arguments(c.arguments)) for c in response.tool_calls)
    return msgspec.structs.replace(response, tool_calls=tool_calls)


@pytest.mark.parametrize("way", WAYS, ids=str)
@settings(max_examples=60, deadline=None)
@given(answer=responses())
def test_an_answer_comes_back_as_it_was_given(
    models: dict[tuple[str, bool], Wired], way: tuple[str, bool], answer: ModelResponse
) -> None:
    """Text, calls with arguments broken or not, reasoning, usage, finish and model name survive the wire."""
    ECHO.answer = answer
    assert models[way].complete(ask()) == _settled(answer)


@pytest.mark.parametrize("way", WAYS[::2], ids=str)
@settings(max_examples=60, deadline=None)
@given(request_=requests())
def test_a_request_arrives_as_it_was_asked(
    models: dict[tuple[str, bool], Wired], way: tuple[str, bool], request_: ModelRequest
) -> None:
    """RULE 2: the fingerprint is the same on the far side, so a model behind HTTP can be recorded and replayed."""
    ECHO.answer = say("yes")
    ECHO.asked.clear()
    models[way].complete(request_)
    (arrived,) = ECHO.asked
    assert arrived.call == request_.call
    assert arrived.tools == request_.tools
    if way[0] == "chat":
        assert arrived == request_
        assert arrived.fingerprint == request_.fingerprint
    else:
        assert [m.content for m in arrived.messages if m.role == "user"] == [
            m.content for m in request_.messages if m.role == "user"
        ]


def test_the_schema_arrives_with_its_name(models: dict[tuple[str, bool], Wired]) -> None:
    schema = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
    for way in WAYS:
        ECHO.answer = say('{"ok": true}')
        ECHO.asked.clear()
        answer = models[way].complete(ask(schema=schema, schema_name="verdict"))
        assert answer.content == '{"ok": true}'
        assert (ECHO.asked[0].schema, ECHO.asked[0].schema_name) == (schema, "verdict")


def test_nothing_of_ours_is_sent_unless_the_endpoint_asks(served: Served) -> None:
    ECHO.answer = say("yes")
    ECHO.asked.clear()
    wired = Wired(wire_for(_endpoint(served, "chat", False, describe_calls=False)))
    wired.complete(ask("hello", session="s-daniel"))
    wired.wire.close()
    (arrived,) = ECHO.asked
    assert (arrived.role, arrived.session) == ("assistant", "http")
    assert arrived.messages[-1] == Message("user", "hello")


def test_a_plain_openai_client_is_served(served: Served) -> None:
    """The package's own typed calls understand us, streamed or not, on both wires."""
    ECHO.answer = call("read", path="a.xlsx")
    with openai.OpenAI(base_url=served.url, api_key="none", max_retries=0) as client:
        assert [model.id for model in client.models.list().data] == ["offline"]
        turn: Any = {"role": "user", "content": "go"}
        completion = client.chat.completions.create(model="offline", messages=[turn], user="s-quinn")
        made = completion.choices[0].message.tool_calls
        assert made is not None and made[0].type == "function"
        assert made[0].function.arguments == '{"path":"a.xlsx"}'
        assert ECHO.asked[-1].session == "s-quinn"
        ECHO.answer = say("Done. " * 100)
        pieces = client.chat.completions.create(model="offline", messages=[turn], stream=True)
        assert "".join(p.choices[0].delta.content or "" for p in pieces if p.choices) == "Done. " * 100
        assert client.responses.create(model="offline", input="go").output_text == "Done. " * 100
        with client.responses.stream(model="offline", input="go") as stream:
            assert stream.get_final_response().output_text == "Done. " * 100


def test_overflow_and_unavailable_are_answers_on_the_far_side_too(models: dict[tuple[str, bool], Wired]) -> None:
    for way in WAYS:
        ECHO.answer = ModelResponse(finish="overflow")
        assert models[way].complete(ask()).finish == "overflow"


def test_our_errors_have_their_openai_status(served: Served) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "go"}]}
    cases: list[tuple[ModelResponse | Exception, int, str]] = [
        (ModelOutage("gone"), 503, "model_outage"),
        (StorageError("disk full"), 500, "model_failed"),
        (TapeMismatch("another run"), 501, "model_cannot_answer"),
        (BudgetExhausted("spent"), 402, "insufficient_quota"),
        (ModelResponse(finish="unavailable", detail="no"), 422, "unavailable"),
        (ModelResponse(finish="overflow"), 400, "context_length_exceeded"),
    ]
    for answer, status, code in cases:
        ECHO.answer = answer
        got = httpx.post(f"{served.url}/chat/completions", json=body)
        assert (got.status_code, got.json()["error"]["code"]) == (status, code)


@pytest.mark.parametrize(
    ("path", "body", "words"),
    [
        ("chat/completions", b"<html>", "not JSON"),
        ("chat/completions", b"[]", "not a JSON object"),
        ("chat/completions", b"{}", "no list of messages"),
        ("chat/completions", b'{"messages": [{"role": "ghost"}]}', "message 1 has no role"),
        ("chat/completions", b'{"messages": [{"role": "user"}], "tools": [{}]}', "tool 1 is no function"),
        ("responses", b"{}", "no input"),
        ("responses", b'{"input": [{"role": "ghost"}]}', "input item 1 has no role"),
    ],
)
def test_a_bad_call_is_told_what_is_wrong(served: Served, path: str, body: bytes, words: str) -> None:
    got = httpx.post(f"{served.url}/{path}", content=body)
    assert got.status_code == 400
    assert words in got.json()["error"]["message"]


def test_a_port_in_use_is_a_clear_error(served: Served) -> None:
    port = int(served.url.split(":")[2].split("/")[0])
    with pytest.raises(UsageError, match=f"port {port}"):
        serve(ECHO, port=port)


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_a_conversation_with_a_scripted_model(way: tuple[str, bool]) -> None:
    """Two turns with a tool between, a broken call among them: in process and over HTTP the same."""
    script = [calls(call("read", path="a"), raw_call("read", '{"path": '), text="I look."), say("It ties.")]

    def talk(model: Any) -> list[ModelResponse]:
        first = ask(tools=(READ, FINISH))
        one = model.complete(first)
        results = tuple(Message("tool", f"result {c.id}", tool_call_id=c.id) for c in one.tool_calls)
        messages = (*first.messages, one.as_message(), *results)
        two = model.complete(ask(ordinal=1, tools=(READ, FINISH), messages=messages))
        return [msgspec.structs.replace(answer, usage=ModelResponse().usage) for answer in (one, two)]

    with serve(Scripted(script)) as server:
        wired = Wired(wire_for(_endpoint(server, *way)))
        assert talk(wired) == talk(Scripted(script))
        wired.wire.close()
