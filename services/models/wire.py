"""What both wires share: one attempt at a request, what the endpoint was found not to support, and repair.

An attempt never sleeps and never retries a fault; it only steps down from a parameter that the endpoint refuses, and
remembers that, and shows the model once or twice that a structured answer lacks the requested form.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from typing import Any, Protocol

import msgspec

from services.models.answers import split_thinking
from services.models.asked import FIELDS
from services.models.classify import Fault, decode
from services.models.endpoint import Endpoint, MaxTokensField, SchemaMode, ToolsMode
from services.models.http import Http, Raw, call_headers
from services.models.structured import (
    complaint,
    extract_json,
    faults_of,
    instruction,
    with_instruction,
    with_tools_again,
    without_tools,
)
from simulator.conversation import Message, ModelRequest, ModelResponse, Usage

REPAIRS = 2
_STEPS = 8


class Attempt(Protocol):
    """One try at a request, without waiting: an answer, or what went wrong."""

    def attempt(self, request: ModelRequest) -> ModelResponse | Fault: ...


class Setup(msgspec.Struct, frozen=True):
    """What an endpoint is believed to support. `dropped` names optional parameters it refused."""

    schema_mode: SchemaMode
    max_tokens_field: MaxTokensField
    tools: ToolsMode
    max_tokens_swapped: bool = False
    dropped: frozenset[str] = frozenset()


class OpenAIWire(ABC):
    """One attempt at a time over one endpoint. Thread-safe: what was learned is one frozen value, replaced whole."""

    path: str

    def __init__(self, endpoint: Endpoint, *, now: Callable[[], float], monotonic: Callable[[], float]) -> None:
        self.endpoint = endpoint
        self._http = Http(endpoint, now=now, monotonic=monotonic)
        self.usage_seen = False
        """Whether the endpoint has reported usage by itself."""
        self._setup = Setup(endpoint.schema_mode, endpoint.max_tokens_field, endpoint.tools)

    @property
    def setup(self) -> Setup:
        """What this endpoint is believed to support by now."""
        return self._setup

    def worst_cost(self, request: ModelRequest) -> int:
        """Return the most that one attempt at `request` can cost, in millionths, repairs included."""
        setup = self._setup
        structured = request.schema is not None or (bool(request.tools) and setup.tools == "schema")
        return self.endpoint.worst_cost(request, REPAIRS if structured else 0)

    def attempt(self, request: ModelRequest) -> ModelResponse | Fault:
        """Ask once. A step down after a refused parameter is part of the same attempt and costs nothing."""
        request = self.endpoint.bounded(request)
        setup = self._setup
        first: Fault | None = None
        for _ in range(_STEPS):
            result = self._ask(request, setup)
            if not isinstance(result, Fault):
                self._setup = setup
                return result
            first = first or result
            relaxed = relax(setup, result, request, self._body(request, setup))
            if relaxed is None:
                return result if result.retryable else first
            setup = relaxed
        return first or Fault("unsupported", False)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def _ask(self, request: ModelRequest, setup: Setup) -> ModelResponse | Fault:
        plain = bool(request.tools) and setup.tools == "schema"
        asked = without_tools(request) if plain else request
        result = self._once(asked, setup)
        if isinstance(result, Fault) or asked.schema is None or result.tool_calls or result.finish != "stop":
            return result
        # While tools are being unlearned the worst case was reckoned without repairs: none are made.
        rounds = 0 if plain and self._setup.tools == "native" else REPAIRS
        settled = self._repaired(asked, setup, result, rounds)
        return with_tools_again(settled, request) if plain else settled

    def _repaired(self, request: ModelRequest, setup: Setup, answer: ModelResponse, rounds: int) -> ModelResponse:
        """Return the answer as bare JSON, asked for again while it lacks the form. A paid answer is never lost."""
        assert request.schema is not None
        usage, cost = answer.usage, answer.cost_micros
        best = answer
        for round_ in range(rounds + 1):
            found = extract_json(best.content)
            value = decode(found.encode("utf-8", "replace")) if found is not None else None
            faults = ["there is no JSON value in it"] if found is None else faults_of(value, request.schema)
            if not faults:
                assert found is not None
                best = msgspec.structs.replace(best, content=found)
            if not faults or round_ == rounds:
                break
            again = (*request.messages, Message("assistant", best.content), Message("user", complaint(faults)))
            longer = msgspec.structs.replace(request, messages=again)
            result = self._once(longer, setup)
            if isinstance(result, Fault):
                if result.billable:
                    usage = added(usage, self.endpoint.worst_usage(longer))
                    cost += self.endpoint.worst_cost(longer)
                break
            usage, cost = added(usage, result.usage), cost + result.cost_micros
            if result.tool_calls or result.finish != "stop":
                break
            best = result
        return msgspec.structs.replace(best, usage=usage, cost_micros=cost)

    def _once(self, request: ModelRequest, setup: Setup) -> ModelResponse | Fault:
        """Make one HTTP call. Overflow and the provider's filter are answers, not faults (RULE 3)."""
        if request.schema is not None and setup.schema_mode != "json_schema":
            words = instruction(request.schema)
            request = msgspec.structs.replace(request, messages=with_instruction(request.messages, words))
        headers = call_headers(self.endpoint, request.role, request.call, request.session, request.schema_name)
        raw = self._http.post(self.path, self._body(request, setup), headers)
        result = raw if isinstance(raw, Fault) else self._read(raw, request)
        if isinstance(result, ModelResponse):
            thought, content = split_thinking(result.content)
            if thought and not result.reasoning:
                result = msgspec.structs.replace(result, content=content, reasoning=thought)
            # Local servers name the file they loaded: its folder is nobody's business.
            model = result.model.rsplit("/", 1)[-1] if result.model.startswith("/") else result.model
            model = model or self.endpoint.model
            return msgspec.structs.replace(result, model=model, cost_micros=self.endpoint.cost(result.usage))
        if result.kind == "overflow":
            return ModelResponse(finish="overflow", model=self.endpoint.model, detail=result.reason)
        if result.kind == "refusal":
            return ModelResponse(finish="refusal", model=self.endpoint.model, detail=result.reason)
        return result

    def _judge(self, value: Any) -> Fault | None:
        """Classify an error object that arrived inside an event stream."""
        return self._http.judge(Raw(200, {}, msgspec.json.encode(value)))

    @abstractmethod
    def _body(self, request: ModelRequest, setup: Setup) -> dict[str, Any]:
        """Return the wire's request body."""

    @abstractmethod
    def _read(self, raw: Raw, request: ModelRequest) -> ModelResponse | Fault:
        """Read an answer that `classify` found fit to be read, or an event stream."""


def added(a: Usage, b: Usage) -> Usage:
    """Return the sum of two usages."""
    return Usage(a.input + b.input, a.cached + b.cached, a.output + b.output, a.reasoning + b.reasoning)


_LOWER: dict[SchemaMode, SchemaMode] = {"json_schema": "json_object", "json_object": "prompt"}
_SCHEMA_WORDS = re.compile(r"response_format|json_schema|json_object|text\.format|schema|grammar|guided", re.IGNORECASE)
_TOOL_WORDS = re.compile(r"tool|function.?call|jinja", re.IGNORECASE)
_OPTIONAL: dict[str, str] = {
    "stream_options": r"\bstream_options\b",
    "stream": r"\bstream(ing)?\b",
    "tool_choice": r"\btool_choice\b",
    "reasoning_effort": r"\breasoning(_effort)?\b|\bthink(ing)?\b|\beffort\b",
    "reasoning": r"\breasoning\b|\bthink(ing)?\b|\beffort\b",
    "include": r"\binclude\b|\bencrypted_content\b",
    "store": r"\bstore\b",
}


def relax(setup: Setup, fault: Fault, request: ModelRequest, sent: Collection[str]) -> Setup | None:
    """Return the setup without the parameter that the endpoint refused; None if the refusal names none that was sent.

    `sent` holds the names of the request body's fields.
    """
    if fault.kind not in ("unsupported", "bad_request"):
        return None
    said = fault.detail
    for name, words in _OPTIONAL.items():
        if name in sent and re.search(words, said):
            return msgspec.structs.replace(setup, dropped=setup.dropped | {name})
    if setup.max_tokens_field in sent and re.search(r"\bmax_(completion_)?tokens\b", said):
        # Tried once: an endpoint that knows neither name, or dislikes the value, is not asked in circles.
        if setup.max_tokens_swapped:
            return None
        other: MaxTokensField = "max_tokens" if setup.max_tokens_field != "max_tokens" else "max_completion_tokens"
        return msgspec.structs.replace(setup, max_tokens_field=other, max_tokens_swapped=True)
    structured = request.schema is not None or (request.tools and setup.tools == "schema")
    for name in sorted(FIELDS.intersection(sent)):
        if not structured and re.search(rf"\b{name}\b", said):
            return msgspec.structs.replace(setup, dropped=setup.dropped | {name})
    if structured and _SCHEMA_WORDS.search(said) and setup.schema_mode in _LOWER:
        return msgspec.structs.replace(setup, schema_mode=_LOWER[setup.schema_mode])
    if request.tools and setup.tools == "native" and _TOOL_WORDS.search(said):
        return msgspec.structs.replace(setup, tools="schema")
    return None
