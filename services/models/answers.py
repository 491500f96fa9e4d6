"""From what endpoints really send to a `ModelResponse`: ids, arguments, text and usage made regular.

Nothing is guessed about meaning: broken arguments stay as the model wrote them, so that it can be shown its fault.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from simulator.canonical import clean_text
from simulator.conversation import ModelRequest, ModelResponse, ToolCall, Usage

_THINK = re.compile(r"\A\s*<think(?:ing)?>(.*?)</think(?:ing)?>\s*", re.DOTALL)


def settle_arguments(value: Any) -> str:
    """Return a tool call's arguments as JSON text of an object where that is unambiguous, else as they came.

    Objects are written out, nothing at all is `{}`, JSON within a JSON string is unwrapped once, and the same object
    written twice in a row is taken once. Lists, truncated JSON and NaN stay: the tool layer shows them to the model.
    """
    if value is None or value == "":
        return "{}"
    if not isinstance(value, str):
        return _rewritten(value) or "{}"
    if _is_object(value):
        return clean_text(value)
    text = value.strip()
    if not text:
        return "{}"
    try:
        inner = json.loads(text)
    except (ValueError, RecursionError):
        return clean_text(_once(text) or value)
    if isinstance(inner, str) and _is_object(inner):
        return clean_text(inner)
    if isinstance(inner, dict) and not _has_constant(text):
        # Valid JSON that msgspec refuses: a lone surrogate. Its replacement must not depend on who decodes it.
        return _rewritten(inner) or clean_text(value)
    return clean_text(value)


def arguments_to_send(text: str) -> str:
    """Return a past call's arguments as a JSON object: servers that parse history fail on anything else."""
    if _is_object(text):
        return text
    return json.dumps({"malformed_arguments": text}, ensure_ascii=False)


def settle_calls(calls: Iterable[tuple[Any, Any, Any]], request: ModelRequest) -> tuple[ToolCall, ...]:
    """Make (id, name, arguments) triples regular: every call has an id, and no two share one.

    Ids made here are unique in a conversation: they carry the position of the message that holds them. A name that no
    tool has is kept: the tool layer tells the model.
    """
    out: list[ToolCall] = []
    seen: set[str] = set()
    for index, (call_id, name, arguments) in enumerate(calls):
        made = f"call_{len(request.messages)}_{index}"
        final = clean_text(call_id) if isinstance(call_id, str) and call_id else made
        while final in seen:
            final = made if final != made else made + "x"
        seen.add(final)
        shown = clean_text(name) if isinstance(name, str) else ""
        out.append(ToolCall(final, shown, settle_arguments(arguments)))
    return tuple(out)


def with_ids(response: ModelResponse, request: ModelRequest) -> ModelResponse:
    """Fill in and separate the ids of a response's tool calls, leaving names and arguments untouched."""
    if not response.tool_calls:
        return response
    ids = settle_calls(((c.id, "", "") for c in response.tool_calls), request)
    renamed = tuple(
        msgspec.structs.replace(call, id=new.id) for call, new in zip(response.tool_calls, ids, strict=True)
    )
    return response if renamed == response.tool_calls else msgspec.structs.replace(response, tool_calls=renamed)


def text_of(value: Any) -> str:
    """Return message content as text: a string, or the text parts of a list of parts; nothing else."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, list):
        parts = [part.get("text") if isinstance(part, Mapping) else part for part in value]
        return clean_text("".join(part for part in parts if isinstance(part, str)))
    return ""


def split_thinking(content: str) -> tuple[str, str]:
    """Return (reasoning, content) where a server left the model's <think> block at the head of its content."""
    found = _THINK.match(content)
    return (found.group(1).strip(), content[found.end() :]) if found else ("", content)


def count(value: Any) -> int:
    """Return a token count as a whole number of at least 0; 0 for what is no number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    return max(int(value), 0) if value == value and abs(value) < 1e15 else 0


def reports_usage(value: Any) -> bool:
    """True if a usage object of either wire counts anything."""
    return isinstance(value, Mapping) and any(count(value.get(key)) for key in _TOTALS)


def usage_of(value: Any, request: ModelRequest, answer_bytes: int) -> Usage:
    """Read either wire's usage; where it is missing, estimate on the high side: two bytes a token."""
    if not reports_usage(value):
        size = sum(len(message.body) for message in request.messages)
        return Usage(input=size // 2 + 1, output=answer_bytes // 2 + 1)
    prompt = count(value.get("prompt_tokens", value.get("input_tokens")))
    output = count(value.get("completion_tokens", value.get("output_tokens")))
    into = value.get("prompt_tokens_details") or value.get("input_tokens_details")
    out = value.get("completion_tokens_details") or value.get("output_tokens_details")
    cached = count(into.get("cached_tokens") if isinstance(into, Mapping) else value.get("prompt_cache_hit_tokens"))
    reasoning = count(out.get("reasoning_tokens")) if isinstance(out, Mapping) else 0
    return Usage(prompt, min(cached, prompt), output, min(reasoning, output))


_TOTALS = ("prompt_tokens", "completion_tokens", "input_tokens", "output_tokens")


def _is_object(text: str) -> bool:
    try:
        return isinstance(msgspec.json.decode(text.encode()), dict)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return False


def _once(text: str) -> str | None:
    """Return `X` if the text is the object `X` written twice in a row, white space aside."""
    try:
        first, end = json.JSONDecoder().raw_decode(text)
        rest = json.loads(text[end:])
    except (ValueError, RecursionError):
        return None
    return text[:end] if isinstance(first, dict) and first == rest else None


def _has_constant(text: str) -> bool:
    """True if the JSON text holds a bare NaN or Infinity."""
    found: list[str] = []
    json.loads(text, parse_constant=found.append)
    return bool(found)


def _rewritten(value: Any) -> str | None:
    """Return JSON text of `value` without lone surrogates and NULs; None if it is nested too deeply to walk."""
    try:
        return clean_text(json.dumps(_cleaned(value), ensure_ascii=False))
    except RecursionError:
        return None


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, dict):
        return {clean_text(key): _cleaned(item) for key, item in value.items()}
    return [_cleaned(item) for item in value] if isinstance(value, list) else value
