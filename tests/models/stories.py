"""What the tests of models share: small requests, a clock that only sleeping moves, and generated conversations."""

from __future__ import annotations

import string
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from services.models.classify import Fault
from services.models.endpoint import Endpoint
from services.models.openai_chat import ChatWire
from services.models.openai_responses import ResponsesWire
from services.models.wire import OpenAIWire
from simulator.canonical import clean_text
from simulator.conversation import Finish, Message, ModelRequest, ModelResponse, ToolCall, ToolSpec, Usage

NOW = 1_793_000_000.0
"""A wall time for Retry-After dates: 2026-10-26 07:33:20 UTC."""

READ = ToolSpec(
    "read", "Read a file.", {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
)
FINISH = ToolSpec("finish", "End the day.", {"type": "object", "properties": {}})


def ask(
    text: str = "Good morning.",
    *,
    session: str = "s-elena",
    ordinal: int = 0,
    activation: str = "elena/1",
    **more: Any,
) -> ModelRequest:
    """Return a small request of a principal."""
    messages = (Message("system", "You are Elena."), Message("user", text))
    return ModelRequest("principal", (activation, ordinal), session, **{"messages": messages, **more})


class Clock:
    """Seconds that pass only by sleeping. `slept` keeps each sleep."""

    def __init__(self) -> None:
        self.at = 0.0
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return self.at

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.at += seconds


class Wired:
    """A wire as a `Model`, for tests in which no fault may come."""

    def __init__(self, wire: OpenAIWire) -> None:
        self.wire = wire

    def complete(self, request: ModelRequest) -> ModelResponse:
        reply = self.wire.attempt(request)
        assert not isinstance(reply, Fault), reply
        return reply


def wire_for(endpoint: Endpoint, monotonic: Callable[[], float] = lambda: 0.0) -> OpenAIWire:
    """Return the wire that the endpoint names, with a fixed wall clock."""
    kind = ResponsesWire if endpoint.wire == "responses" else ChatWire
    return kind(endpoint, now=lambda: NOW, monotonic=monotonic)


# -- generated conversations -----------------------------------------------------------------------------------------

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=60).map(clean_text)
names = st.text(string.ascii_lowercase + "_", min_size=1, max_size=12)
identifiers = st.text(string.ascii_letters + string.digits + "_-", min_size=1, max_size=12)
broken_arguments = st.one_of(
    st.sampled_from(["{}", '{"path": "a.xlsx"}', '{"path": "a.x', "[1, 2]", '{"a": NaN}', "none", '{"x": "\\u00e9"}']),
    st.text(string.printable, min_size=1, max_size=30).map(clean_text).filter(lambda text: bool(text.strip())),
)
usages = st.builds(
    lambda i, c, o, r: Usage(i, min(i, c), o, min(o, r)),
    *(st.integers(1, 100_000), st.integers(0, 100_000), st.integers(1, 4000), st.integers(0, 4000)),
)
tool_calls = st.lists(
    st.builds(ToolCall, identifiers, names, broken_arguments), max_size=3, unique_by=lambda call: call.id
).map(tuple)


@st.composite
def responses(draw: st.DrawFn) -> ModelResponse:
    """Draw an answer that a model may give: text or calls, whole, cut by length or declined."""
    calls = draw(tool_calls)
    content = draw(texts.filter(lambda text: bool(text.strip())))
    finish: Finish = "tool_calls" if calls else "stop"
    dice = draw(st.integers(0, 11))
    if dice < 3:
        finish = "length"
    elif not calls and dice < 6:
        finish = "refusal"
    return ModelResponse(
        content="" if calls and dice % 2 else content,
        tool_calls=calls,
        finish=finish,
        usage=draw(usages),
        reasoning=draw(texts),
        model=draw(names),
        detail="the model declined" if finish == "refusal" else "",
    )


@st.composite
def requests(draw: st.DrawFn) -> ModelRequest:
    """Draw a request: a system message, then turns whose calls are each answered."""
    messages = [Message("system", draw(texts)), Message("user", draw(texts))]
    for _ in range(draw(st.integers(0, 3))):
        calls = draw(tool_calls)
        messages.append(Message("assistant", draw(texts), calls))
        messages += [Message("tool", draw(texts), tool_call_id=call.id) for call in calls]
        messages.append(Message("user", draw(texts)))
    spec = st.builds(ToolSpec, names, texts, st.just(READ.parameters))
    return ModelRequest(
        role=draw(st.sampled_from(["generator", "principal", "client", "assistant", "judge", "world"])),
        call=(draw(texts.filter(bool)), draw(st.integers(0, 400))),
        session=draw(texts.filter(bool)),
        messages=tuple(messages),
        tools=tuple(draw(st.lists(spec, max_size=3, unique_by=lambda tool: tool.name))),
        schema_name=draw(st.one_of(st.just(""), names)),
        max_output=draw(st.integers(1, 100_000)),
    )
