"""What is said to a model and what it answers: the types of the `Model` port.

A request is its parameters plus a list of messages. Each message is hashed once; a request's fingerprint is the hash of
its parameters and of its messages' hashes (RULES 2 and 22).
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Literal

import msgspec

from simulator.canonical import canonical, clean_text, sha256

Role = Literal["generator", "principal", "client", "assistant", "judge", "world"]
Finish = Literal["stop", "tool_calls", "length", "refusal", "overflow", "unavailable"]


class ToolCall(msgspec.Struct, frozen=True):
    """One call a model asks for. `arguments` is the raw JSON text as the model wrote it: it may be broken."""

    id: str
    name: str
    arguments: str


class Message(msgspec.Struct, frozen=True, dict=True, omit_defaults=True):
    """One message of a conversation.

    `tool_call_id` belongs to role `tool`; `tool_calls` and `reasoning` to role `assistant`.
    """

    role: Literal["system", "user", "assistant", "tool"]
    content: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""
    reasoning: str = ""

    @cached_property
    def body(self) -> bytes:
        """Canonical bytes of the message: what is stored once an office."""
        return canonical(self)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of `body`."""
        return sha256(self.body)


class ToolSpec(msgspec.Struct, frozen=True):
    """A tool offered to a model. `parameters` is a JSON Schema of type object."""

    name: str
    description: str
    parameters: dict[str, Any]


class Usage(msgspec.Struct, frozen=True, omit_defaults=True):
    """Tokens of one call, as the provider counts them."""

    input: int = 0
    cached: int = 0
    output: int = 0
    reasoning: int = 0


class ModelRequest(msgspec.Struct, frozen=True, dict=True):
    """One call to a model.

    `call` is (activation id, ordinal): the key under which its answer is on the tape (RULE 2). `session` is the
    person's session for life. `schema` asks for a JSON answer of that shape; `schema_name` names it.
    """

    role: Role
    call: tuple[str, int]
    session: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    schema: dict[str, Any] | None = None
    schema_name: str = ""
    max_output: int = 4096

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the parameters and the messages' hashes. Endpoint, model name and effort are not in it."""
        parameters = (self.role, self.session, [t.name for t in self.tools], self.schema_name, self.max_output)
        return sha256(canonical((parameters, [m.digest for m in self.messages])))


class ModelResponse(msgspec.Struct, frozen=True, omit_defaults=True):
    """A model's answer. Refusal, truncation, overflow and the terminal fault are results, not exceptions (RULE 3)."""

    content: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    finish: Finish = "stop"
    usage: Usage = Usage()
    reasoning: str = ""
    model: str = ""
    cost_micros: int = 0
    """Money in millionths of the ledger's currency; 0 where the price is unknown."""
    detail: str = ""
    """For finish `unavailable` or `refusal`: a plain reason, free of provider exception text."""
    latency_ms: int = 0
    """Wall time of the attempt that answered; 0 where nobody waited. It is kept beside the record, never in it."""

    def on_record(self) -> ModelResponse:
        """Return the answer as it is stored: without what depends on how fast a network was."""
        return msgspec.structs.replace(self, latency_ms=0) if self.latency_ms else self

    def cleaned(self) -> ModelResponse:
        """Return the answer with NUL, control characters and lone surrogates replaced: done at the port (RULE 20)."""
        calls = tuple(ToolCall(clean_text(c.id), clean_text(c.name), clean_text(c.arguments)) for c in self.tool_calls)
        return msgspec.structs.replace(
            self, content=clean_text(self.content), reasoning=clean_text(self.reasoning), tool_calls=calls,
            model=clean_text(self.model), detail=clean_text(self.detail),
        )  # fmt: skip

    def as_message(self) -> Message:
        """Return the answer as the conversation's next message."""
        return Message("assistant", self.content, self.tool_calls, reasoning=self.reasoning)
