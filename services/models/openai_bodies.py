"""The server's half of the wires: OpenAI request bodies to `ModelRequest`, `ModelResponse` to OpenAI answers.

What our own client adds in `X-OfficeTown-*` headers comes back whole; from any other client a request is complete
without it: messages and tools say what is to be done.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

import msgspec

from services.models.answers import count, text_of
from simulator.conversation import Message, ModelRequest, ModelResponse, Role, ToolCall, ToolSpec, Usage
from simulator.errors import UsageError

_ROLES = frozenset({"generator", "principal", "client", "assistant", "judge", "world"})
_SPEAKERS = {"developer": "system", "system": "system", "user": "user", "assistant": "assistant", "tool": "tool"}


def chat_request(body: Any, headers: Mapping[str, str], number: int) -> ModelRequest:
    """Read a chat completions request. `number` makes its call unique where no header names it.

    Raises `UsageError` saying which part is missing or of the wrong kind.
    """
    listed = body.get("messages") if isinstance(body, dict) else None
    if not isinstance(listed, list) or not listed:
        raise UsageError("the request has no list of messages")
    shape = _mapping(_mapping(body.get("response_format")).get("json_schema"))
    return _request(
        body, headers, number,
        messages=tuple(_chat_message(item, at) for at, item in enumerate(listed)),
        tools=tuple(_tool(_mapping(item).get("function"), at) for at, item in enumerate(_listed(body.get("tools")))),
        shape=shape,
        max_output=body.get("max_completion_tokens") or body.get("max_tokens"),
    )  # fmt: skip


def responses_request(body: Any, headers: Mapping[str, str], number: int) -> ModelRequest:
    """Read a responses request; items of kinds that say nothing to a model here are passed over."""
    given = body.get("input") if isinstance(body, dict) else None
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    if not isinstance(items, list) or not items:
        raise UsageError("the request has no input")
    messages = list(_input_messages(items))
    if isinstance(body.get("instructions"), str):
        messages.insert(0, Message("system", body["instructions"]))
    return _request(
        body, headers, number,
        messages=tuple(messages),
        tools=tuple(_tool(i, at) for at, i in enumerate(_listed(body.get("tools"))) if _type(i) == "function"),
        shape=_mapping(_mapping(body.get("text")).get("format")),
        max_output=body.get("max_output_tokens"),
    )  # fmt: skip


def _request(
    body: Mapping[str, Any], headers: Mapping[str, str], number: int, *,
    messages: tuple[Message, ...], tools: tuple[ToolSpec, ...], shape: Mapping[str, Any], max_output: Any,
) -> ModelRequest:  # fmt: skip
    said = {name: unquote(headers.get(f"x-officetown-{name}", "")) for name in _HEADERS}
    role = said["role"] if said["role"] in _ROLES else "assistant"
    schema = shape.get("schema")
    user = body.get("user")
    ordinal = said["ordinal"]
    return ModelRequest(
        role=msgspec.convert(role, Role),
        call=(said["activation"] or f"http-{number}", int(ordinal) if ordinal.isdecimal() else 0),
        session=said["session"] or (user if isinstance(user, str) else "") or "http",
        messages=messages,
        tools=tools,
        schema=schema if isinstance(schema, dict) else None,
        schema_name=said["schema-name"] or (str(shape.get("name") or "") if isinstance(schema, dict) else ""),
        max_output=count(max_output) or 4096,
    )


_HEADERS = ("role", "activation", "ordinal", "session", "schema-name")


def _chat_message(item: Any, at: int) -> Message:
    role = _SPEAKERS.get(str(_mapping(item).get("role")))
    if role is None:
        raise UsageError(f"message {at + 1} has no role of system, user, assistant or tool")
    content = text_of(item.get("content"))
    if role == "tool":
        return Message("tool", content, tool_call_id=str(item.get("tool_call_id") or ""))
    if role != "assistant":
        return Message("system" if role == "system" else "user", content)
    listed = [_mapping(call) for call in _listed(item.get("tool_calls"))]
    calls = tuple(_call(call.get("id"), _mapping(call.get("function"))) for call in listed)
    reasoning = text_of(item.get("reasoning_content") or item.get("reasoning"))
    return Message("assistant", content, calls, reasoning=reasoning)


def _call(call_id: Any, function: Mapping[str, Any]) -> ToolCall:
    arguments = function.get("arguments")
    text = arguments if isinstance(arguments, str) else json.dumps(arguments or {}, ensure_ascii=False)
    return ToolCall(str(call_id or ""), str(function.get("name") or ""), text)


def _input_messages(items: list[Any]) -> Iterator[Message]:
    """Yield input items as messages: a turn's reasoning, text and calls belong to one assistant message."""
    said: str | None = None
    thought = ""
    calls: list[ToolCall] = []
    for at, item in enumerate(items):
        kind = _mapping(item).get("type") or "message"
        speaker = _SPEAKERS.get(str(_mapping(item).get("role")))
        if kind == "function_call":
            calls.append(_call(item.get("call_id"), item))
            continue
        if said is not None or calls:
            yield Message("assistant", said or "", tuple(calls), reasoning=thought)
            said, thought, calls = None, "", []
        if kind == "reasoning":
            thought = text_of(item.get("summary"))
        elif kind == "message" and speaker == "assistant":
            said = text_of(item.get("content"))
        elif kind == "message" and speaker is not None:
            yield Message("system" if speaker == "system" else "user", text_of(item.get("content")))
        elif kind == "function_call_output":
            yield Message("tool", text_of(item.get("output")), tool_call_id=str(item.get("call_id") or ""))
        elif kind == "message":
            raise UsageError(f"input item {at + 1} has no role of system, user or assistant")
    if said is not None or calls:
        yield Message("assistant", said or "", tuple(calls), reasoning=thought)


def _tool(function: Any, at: int) -> ToolSpec:
    spec = _mapping(function)
    name, parameters = spec.get("name"), spec.get("parameters") or {"type": "object", "properties": {}}
    if not isinstance(name, str) or not isinstance(parameters, dict):
        raise UsageError(f"tool {at + 1} is no function with a name and parameters")
    return ToolSpec(name, str(spec.get("description") or ""), parameters)


def _type(value: Any) -> Any:
    return _mapping(value).get("type")


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


# -- answers -------------------------------------------------------------------------------------------------------

_FINISH = {"stop": "stop", "tool_calls": "tool_calls", "length": "length", "refusal": "content_filter"}


def chat_answer(response: ModelResponse, number: int, created: int) -> dict[str, Any]:
    """Write a chat completion. `created` is wall time in seconds."""
    message: dict[str, Any] = {"role": "assistant", "content": response.content or None}
    if response.tool_calls:
        message["tool_calls"] = [
            {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.arguments}}
            for c in response.tool_calls
        ]
    if response.reasoning:
        message["reasoning_content"] = response.reasoning
    choice = {"index": 0, "message": message, "finish_reason": _FINISH[response.finish], "logprobs": None}
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": created,
        "model": response.model or "officetown",
        "choices": [choice],
        "usage": _chat_usage(response.usage),
    }


def chat_chunks(response: ModelResponse, number: int, created: int, piece: int = 200) -> Iterator[dict[str, Any]]:
    """Write a chat completion as chunks: text in pieces, each call's name and then its arguments, end, usage."""
    whole = chat_answer(response, number, created)
    head = {"id": whole["id"], "object": "chat.completion.chunk", "created": created, "model": whole["model"]}

    def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        return {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    yield chunk({"role": "assistant", "content": ""})
    for name, text in (("reasoning_content", response.reasoning), ("content", response.content)):
        for start in range(0, len(text), piece):
            yield chunk({name: text[start : start + piece]})
    for index, call in enumerate(response.tool_calls):
        opening = {"index": index, "id": call.id, "type": "function", "function": {"name": call.name, "arguments": ""}}
        yield chunk({"tool_calls": [opening]})
        for start in range(0, len(call.arguments), piece):
            more = {"index": index, "function": {"arguments": call.arguments[start : start + piece]}}
            yield chunk({"tool_calls": [more]})
    yield chunk({}, _FINISH[response.finish])
    yield {**head, "choices": [], "usage": whole["usage"]}


def responses_answer(response: ModelResponse, number: int, created: int) -> dict[str, Any]:
    """Write a response object. `created` is wall time in seconds."""
    output: list[dict[str, Any]] = []
    if response.reasoning:
        summary = [{"type": "summary_text", "text": response.reasoning}]
        output.append({"type": "reasoning", "id": f"rs_{number}", "summary": summary})
    if response.content or not response.tool_calls:
        refused = response.finish == "refusal"
        part: dict[str, Any] = {"type": "output_text", "text": response.content, "annotations": []}
        if refused:
            part = {"type": "refusal", "refusal": response.content}
        item = {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed", "content": [part]}
        output.append(item)
    for at, c in enumerate(response.tool_calls):
        item = {"type": "function_call", "id": f"fc_{number}_{at}", "call_id": c.id, "name": c.name}
        output.append({**item, "arguments": c.arguments, "status": "completed"})
    reason = {"length": "max_output_tokens", "refusal": "content_filter"}.get(response.finish)
    return {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": created,
        "model": response.model or "officetown",
        "status": "incomplete" if reason else "completed",
        "incomplete_details": {"reason": reason} if reason else None,
        "error": None,
        "output": output,
        "usage": _responses_usage(response.usage),
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }


def responses_events(whole: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Write a response as the events that clients build on: created, each item, each text, completed."""
    started = {**whole, "status": "in_progress", "output": [], "usage": None, "incomplete_details": None}
    number = 0

    def event(kind: str, **parts: Any) -> dict[str, Any]:
        nonlocal number
        number += 1
        return {"type": kind, "sequence_number": number - 1, **parts}

    yield event("response.created", response=started)
    yield event("response.in_progress", response=started)
    for index, item in enumerate(whole["output"]):
        yield event("response.output_item.added", output_index=index, item=_opening(item))
        place = {"output_index": index, "item_id": item["id"]}
        if item["type"] == "message":
            part = item["content"][0]
            kind, field = ("refusal", "refusal") if part["type"] == "refusal" else ("output_text", "text")
            at: dict[str, Any] = {"content_index": 0, **place}
            more: dict[str, Any] = {"logprobs": []} if field == "text" else {}
            yield event("response.content_part.added", part={**part, field: ""}, **at)
            yield event(f"response.{kind}.delta", delta=part[field], **more, **at)
            yield event(f"response.{kind}.done", **{field: part[field]}, **more, **at)
            yield event("response.content_part.done", part=part, **at)
        if item["type"] == "function_call":
            text = item["arguments"]
            yield event("response.function_call_arguments.delta", delta=text, **place)
            yield event("response.function_call_arguments.done", arguments=text, name=item["name"], **place)
        if item["type"] == "reasoning":
            part = item["summary"][0]
            at = {"summary_index": 0, **place}
            yield event("response.reasoning_summary_part.added", part={**part, "text": ""}, **at)
            yield event("response.reasoning_summary_text.delta", delta=part["text"], **at)
            yield event("response.reasoning_summary_text.done", text=part["text"], **at)
            yield event("response.reasoning_summary_part.done", part=part, **at)
        yield event("response.output_item.done", output_index=index, item=item)
    ended = "response.incomplete" if whole["status"] == "incomplete" else "response.completed"
    yield event(ended, response=whole)


def _opening(item: dict[str, Any]) -> dict[str, Any]:
    """Return an item as it begins: clients append to it what the following events bring."""
    if item["type"] == "reasoning":
        return {**item, "summary": []}
    empty: dict[str, Any] = {"content": []} if item["type"] == "message" else {"arguments": ""}
    return {**item, **empty, "status": "in_progress"}


def _chat_usage(used: Usage) -> dict[str, Any]:
    return {
        "prompt_tokens": used.input,
        "completion_tokens": used.output,
        "total_tokens": used.input + used.output,
        "prompt_tokens_details": {"cached_tokens": used.cached},
        "completion_tokens_details": {"reasoning_tokens": used.reasoning},
    }


def _responses_usage(used: Usage) -> dict[str, Any]:
    return {
        "input_tokens": used.input,
        "output_tokens": used.output,
        "total_tokens": used.input + used.output,
        "input_tokens_details": {"cached_tokens": used.cached},
        "output_tokens_details": {"reasoning_tokens": used.reasoning},
    }
