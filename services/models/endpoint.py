"""Where a model is reached and what may be assumed of it. Plain values: whoever composes passes the key in."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from simulator.conversation import ModelRequest, Usage

Wire = Literal["chat", "responses"]
Effort = Literal["", "none", "minimal", "low", "medium", "high", "xhigh", "max"]
MaxTokensField = Literal["max_tokens", "max_completion_tokens"]
ToolsMode = Literal["native", "schema"]
SchemaMode = Literal["json_schema", "json_object", "prompt"]

BYTES_AROUND_A_MESSAGE = 64
"""Allowance, in tokens, for what a chat template adds to each message."""
BYTES_OF_A_COMPLAINT = 4096


class Prices(msgspec.Struct, frozen=True):
    """Money in millionths of the ledger's currency per million tokens."""

    input: int
    output: int
    cached: int | None = None
    """Price of input read from the provider's cache; None charges it as `input`."""

    def cost(self, usage: Usage) -> int:
        """Return what `usage` costs, rounded up to a whole millionth. Reasoning is part of output."""
        cached = min(usage.cached, usage.input)
        cached_price = self.input if self.cached is None else self.cached
        total = (usage.input - cached) * self.input + cached * cached_price + usage.output * self.output
        return -(-total // 1_000_000)


class Endpoint(msgspec.Struct, frozen=True):
    """One model at one OpenAI-compatible address.

    `tools="schema"` is for servers without tool calling: the tools are offered as one JSON schema. `schema_mode` is the
    first rung tried for structured answers; lower rungs are learned from refusals. `timeout_s` bounds a whole call and
    `idle_timeout_s` the silence within it. `echo_reasoning` sends earlier reasoning back where the server requires it.
    """

    base_url: str
    model: str
    api_key: str = ""
    effort: Effort = ""
    wire: Wire = "chat"
    max_tokens_field: MaxTokensField = "max_tokens"
    tools: ToolsMode = "native"
    schema_mode: SchemaMode = "json_schema"
    stream: bool = False
    echo_reasoning: bool = False
    echo_broken_arguments: bool = False
    """Send a past call's broken arguments back as they were. Many servers refuse that; else they are wrapped."""
    describe_calls: bool = False
    """Send role, call, session and schema name as `X-OfficeTown-*` headers. For our own servers only."""
    connect_timeout_s: float = 10.0
    idle_timeout_s: float = 300.0
    timeout_s: float = 600.0
    prices: Prices | None = None
    max_output: int = 0
    """Most tokens of one answer, whatever a request asks for; 0 leaves that to the request."""

    def __repr__(self) -> str:
        """Name the endpoint without its key: what is printed ends up in logs."""
        return f"Endpoint({self.model!r} at {self.base_url!r}, {self.wire})"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        """Name the endpoint to rich, which would print every field otherwise."""
        return [("model", self.model), ("base_url", self.base_url), ("wire", self.wire)]

    def cost(self, usage: Usage) -> int:
        """Return the cost in millionths; 0 where the price is unknown."""
        return self.prices.cost(usage) if self.prices else 0

    def bounded(self, request: ModelRequest) -> ModelRequest:
        """Return the request as this endpoint is asked: its answer no longer than `max_output`.

        What is on the tape stays as the office asked: a limit is the endpoint's, like its name and effort.
        """
        if not 0 < self.max_output < request.max_output:
            return request
        return msgspec.structs.replace(request, max_output=self.max_output)

    def worst_usage(self, request: ModelRequest, repairs: int = 0) -> Usage:
        """Return an upper bound of the tokens one attempt can use: a token is at least one byte.

        Each of `repairs` may send the conversation again, longer by an answer and a complaint.
        """
        request = self.bounded(request)
        size = sum(len(message.body) + BYTES_AROUND_A_MESSAGE for message in request.messages)
        offered = msgspec.json.encode([request.tools, request.schema])
        calls = repairs + 1
        longer = (repairs * calls // 2) * (request.max_output + BYTES_OF_A_COMPLAINT)
        return Usage(input=calls * (size + 4 * len(offered) + 1024) + longer, output=calls * request.max_output)

    def worst_cost(self, request: ModelRequest, repairs: int = 0) -> int:
        """Return the most that one attempt at `request` can cost, in millionths; 0 where the price is unknown."""
        return self.cost(self.worst_usage(request, repairs)) if self.prices else 0
