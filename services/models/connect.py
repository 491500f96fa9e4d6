"""From an endpoint to a `Model`: the wire, the retry loop, the gate and the money, put together in one place."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from services.models.classify import Fault
from services.models.endpoint import Endpoint
from services.models.gate import Gate
from services.models.ledger import Budget, Ledger
from services.models.openai_chat import ChatWire
from services.models.openai_responses import ResponsesWire
from services.models.retry import Retrying, RetryPolicy
from services.models.wire import OpenAIWire
from simulator.conversation import Message, ModelRequest, ModelResponse, ToolSpec


class Surroundings(msgspec.Struct, frozen=True):
    """What the outside gives: wall clock and stopwatch in seconds, sleep, and draws from [0, 1)."""

    now: Callable[[], float]
    monotonic: Callable[[], float]
    sleep: Callable[[float], None]
    uniform: Callable[[], float]


def wire_of(endpoint: Endpoint, around: Surroundings) -> OpenAIWire:
    """Return the wire that the endpoint names."""
    kind = ResponsesWire if endpoint.wire == "responses" else ChatWire
    return kind(endpoint, now=around.now, monotonic=around.monotonic)


def connect(
    wire: OpenAIWire,
    around: Surroundings,
    *,
    policy: RetryPolicy | None = None,
    budget: Budget | None = None,
    ledger: Ledger | None = None,
    gate: Gate | None = None,
    on_fault: Callable[[ModelRequest, Fault, int], None] = lambda _request, _fault, _attempt: None,
) -> Retrying:
    """Return a `Model` over `wire`. One wire may serve several roles; one budget and ledger all of them."""
    return Retrying(
        wire, monotonic=around.monotonic, sleep=around.sleep, uniform=around.uniform, policy=policy,
        worst_cost=wire.worst_cost, budget=budget, ledger=ledger, gate=gate, on_fault=on_fault,
    )  # fmt: skip


class Abilities(msgspec.Struct, frozen=True):
    """What an endpoint was seen to do. `fault` is what stands in the way; all else is then unknown and False.

    `tools` is `native`, `schema` (told in words and one schema) or `none`; `structured` the mode that worked or `none`.
    """

    answers: bool = False
    tools: str = "none"
    structured: str = "none"
    reasoning: bool = False
    usage: bool = False
    model: str = ""
    fault: Fault | None = None


_ECHO = ToolSpec(
    "echo",
    "Say a word back. Use this tool now.",
    {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"], "additionalProperties": False},
)
_SHAPE = {
    "type": "object",
    "properties": {"ready": {"type": "boolean"}},
    "required": ["ready"],
    "additionalProperties": False,
}


def probe(wire: OpenAIWire) -> Abilities:
    """Try an endpoint with three tiny calls and say what it can do.

    The first asks for a word, the second offers a tool, the third asks for JSON. They cost a few hundred tokens. A
    retryable fault is tried once more, at once: a kept connection may have been closed just now.
    """
    plain = _twice(wire, _tiny("plain", "Answer with the word ready."))
    if isinstance(plain, Fault):
        return Abilities(fault=plain)
    called = _twice(wire, _tiny("tool", "Call the tool echo with the word ready.", tools=(_ECHO,)))
    shaped = _twice(wire, _tiny("json", "Are you ready? Answer true.", schema=_SHAPE, schema_name="ready"))
    used_tool = isinstance(called, ModelResponse) and any(call.name == "echo" for call in called.tool_calls)
    fits = isinstance(shaped, ModelResponse) and shaped.finish == "stop" and _is_shape(shaped.content)
    return Abilities(
        answers=plain.finish in ("stop", "length"),
        tools=wire.setup.tools if used_tool else "none",
        structured=wire.setup.schema_mode if fits else "none",
        reasoning=bool(plain.reasoning) or plain.usage.reasoning > 0,
        usage=wire.usage_seen,
        model=plain.model,
    )


def _twice(wire: OpenAIWire, request: ModelRequest) -> ModelResponse | Fault:
    first = wire.attempt(request)
    return wire.attempt(request) if isinstance(first, Fault) and first.retryable else first


def _is_shape(content: str) -> bool:
    try:
        value = msgspec.json.decode(content)
    except msgspec.DecodeError:
        return False
    return isinstance(value, dict) and isinstance(value.get("ready"), bool)


def _tiny(
    name: str,
    words: str,
    tools: tuple[ToolSpec, ...] = (),
    schema: dict[str, object] | None = None,
    schema_name: str = "",
) -> ModelRequest:
    messages = (Message("system", "You are being tried out. Be brief."), Message("user", words))
    return ModelRequest(
        "principal", (f"probe-{name}", 0), "probe", messages, tools, schema, schema_name, max_output=512
    )
