"""From an agent's request body to what the model is asked, and what is not passed on.

Nothing is altered on the way. What cannot be carried (images, more than one choice, a conversation kept on the
server) is refused in plain words; parameters that only tune are left out, and named on the record.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from services.gateway.recorder import too_deep
from services.models import openai_bodies as bodies
from services.models.answers import count
from services.models.asked import read_wishes, with_wishes
from services.models.endpoint import Wire
from simulator.conversation import ModelRequest, Role
from simulator.errors import UsageError

_CARRIED: Mapping[Wire, frozenset[str]] = {
    "chat": frozenset({
        "model", "messages", "tools", "tool_choice", "response_format", "max_tokens", "max_completion_tokens", "stream",
        "stream_options", "n", "temperature", "top_p", "stop", "parallel_tool_calls", "reasoning_effort",
    }),
    "responses": frozenset({
        "model", "input", "instructions", "tools", "tool_choice", "text", "max_output_tokens", "stream", "temperature",
        "top_p", "parallel_tool_calls", "reasoning", "store", "include",
    }),
}  # fmt: skip
_MOST_OUTPUT = 1_000_000
_NAMES_KEPT = 50


class Asking(msgspec.Struct, frozen=True):
    """What one body asks: the request, whether as a stream and with usage, and which parameters were left out."""

    request: ModelRequest
    stream: bool
    usage_in_stream: bool
    ignored: tuple[str, ...]


def read(wire: Wire, body: dict[str, Any], role: Role, session: str, max_output: int) -> Asking:
    """Read a body of `wire`. `max_output` holds where the body names no limit, in tokens.

    Raises `UsageError` for what cannot be understood or not be carried.
    """
    _refuse_what_is_not_carried(wire, body)
    # No headers: what our own client may say of itself in them, a foreign agent may not.
    reader = bodies.responses_request if wire == "responses" else bodies.chat_request
    request = reader(body, {}, 0)
    limits = ("max_output_tokens",) if wire == "responses" else ("max_completion_tokens", "max_tokens")
    given = next((count(body[name]) for name in limits if count(body.get(name))), max_output)
    request = msgspec.structs.replace(request, role=role, session=session, max_output=min(given, _MOST_OUTPUT))
    options = body.get("stream_options")
    return Asking(
        with_wishes(request, read_wishes(body)),
        stream=body.get("stream") is True,
        usage_in_stream=isinstance(options, dict) and options.get("include_usage") is True,
        ignored=tuple(_ignored(wire, body)),
    )


def _refuse_what_is_not_carried(wire: Wire, body: dict[str, Any]) -> None:
    if isinstance(body.get("n"), int | float) and body["n"] > 1:
        raise UsageError("n is more than 1, and this gateway gives one answer a call; ask again for each")
    for name in ("previous_response_id", "conversation", "prompt", "background"):
        if wire == "responses" and body.get(name):
            raise UsageError(f"{name} needs a server that keeps conversations; send the whole input with each request")
    if too_deep([body.get("tools"), body.get("response_format"), body.get("text")]):
        raise UsageError("the tools or the response format are nested too deeply")
    listed = body.get("input" if wire == "responses" else "messages")
    for at, item in enumerate(listed if isinstance(listed, list) else ()):
        if not isinstance(item, dict):
            raise UsageError(f"message {at + 1} is not an object")
        if item.get("type") == "item_reference":
            raise UsageError(f"item {at + 1} refers to another, and this gateway keeps none; send the item itself")
        for name in ("content", "output"):
            for part in item[name] if isinstance(item.get(name), list) else ():
                _refuse_media(part, at)


def _refuse_media(part: Any, at: int) -> None:
    if isinstance(part, str) or (isinstance(part, dict) and isinstance(part.get("text", part.get("refusal")), str)):
        return
    kind = part.get("type") if isinstance(part, dict) else None
    raise UsageError(f"message {at + 1} holds a part of type {str(kind)[:40]!r}; this gateway carries text alone")


def _ignored(wire: Wire, body: dict[str, Any]) -> Iterator[str]:
    """Yield the names of parameters that were said and are not passed on."""
    unknown = sorted(name for name, value in body.items() if value is not None and name not in _CARRIED[wire])
    yield from (name[:60] for name in unknown[:_NAMES_KEPT])
    tools = body.get("tools")
    for tool in tools if wire == "responses" and isinstance(tools, list) else ():
        if isinstance(tool, dict) and tool.get("type") != "function":
            yield f"tools:{str(tool.get('type'))[:40]}"
