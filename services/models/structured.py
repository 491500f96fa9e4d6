"""Structured answers from servers that promise little: schema modes, extraction, validation, and tools as a schema."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from services.models.answers import arguments_to_send, settle_calls
from services.models.classify import decode
from simulator.conversation import Message, ModelRequest, ModelResponse, ToolCall, ToolSpec

_FENCE = re.compile(r"```(?:json|JSON)?\s*\n(.*?)```", re.DOTALL)
_MOST_FAULTS = 8
_MOST_STARTS = 50
_TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "null": (type(None),),
    "integer": (int,),
    "number": (int, float),
}


def extract_json(content: str) -> str | None:
    """Return the JSON value that an answer holds: bare, in a code fence, or between words. None if there is none."""
    fenced = [found.strip() for found in _FENCE.findall(content)]
    text: str
    for text in (content.strip(), *fenced):
        if text[:1] in ("{", "[") and decode(text.encode("utf-8", "replace")) is not None:
            return text
    decoder = json.JSONDecoder()
    starts = [at for at, ch in enumerate(content[:20_000]) if ch in "{["]
    for start in starts[:_MOST_STARTS]:
        try:
            end = int(decoder.raw_decode(content, start)[1])
        except (ValueError, RecursionError):
            continue
        return content[start:end]
    return None


def faults_of(value: Any, schema: Mapping[str, Any], path: str = "$") -> list[str]:
    """Say how `value` differs from `schema`, in plain sentences, at most eight.

    Covers what our schemas use: type, const, enum, properties, required, additionalProperties, items, sizes, ranges,
    anyOf and oneOf. Sentences hold no third-party text, so that they may enter a prompt (RULE 37).
    """
    found: list[str] = []
    _check(value, schema, path, found)
    return found[:_MOST_FAULTS]


def _check(value: Any, schema: Mapping[str, Any], path: str, found: list[str]) -> None:
    if len(found) >= _MOST_FAULTS:
        return
    branches = schema.get("oneOf") or schema.get("anyOf")
    if branches and not any(not faults_of(value, branch, path) for branch in branches):
        found.append(f"{path} fits none of the {len(branches)} allowed forms")
    if "const" in schema and value != schema["const"]:
        found.append(f"{path} must be {json.dumps(schema['const'])}")
    if "enum" in schema and value not in schema["enum"]:
        found.append(f"{path} must be one of {json.dumps(schema['enum'])}")
    kinds = schema.get("type")
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(_is(value, kind) for kind in kinds):
        found.append(f"{path} must be of type {' or '.join(kinds)}")
        return
    if isinstance(value, dict):
        _check_object(value, schema, path, found)
    elif isinstance(value, list):
        _check_size(len(value), schema, "Items", path, "entries", found)
        if isinstance(schema.get("items"), Mapping):
            for index, item in enumerate(value):
                _check(item, schema["items"], f"{path}[{index}]", found)
    elif isinstance(value, str):
        _check_size(len(value), schema, "Length", path, "characters", found)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        if value < schema.get("minimum", value):
            found.append(f"{path} must be at least {schema['minimum']}")
        if value > schema.get("maximum", value):
            found.append(f"{path} must be at most {schema['maximum']}")


def _check_object(value: dict[str, Any], schema: Mapping[str, Any], path: str, found: list[str]) -> None:
    properties = schema.get("properties") or {}
    found += [f"{path} lacks {json.dumps(name)}" for name in schema.get("required", ()) if name not in value]
    extra = schema.get("additionalProperties", True)
    for name, item in value.items():
        if name in properties:
            _check(item, properties[name], f"{path}.{name}", found)
        elif extra is False:
            found.append(f"{path} has the unknown entry {json.dumps(name)}")
        elif isinstance(extra, Mapping):
            _check(item, extra, f"{path}.{name}", found)


def _check_size(size: int, schema: Mapping[str, Any], suffix: str, path: str, unit: str, found: list[str]) -> None:
    if size < schema.get(f"min{suffix}", 0):
        found.append(f"{path} must have at least {schema[f'min{suffix}']} {unit}")
    if size > schema.get(f"max{suffix}", size):
        found.append(f"{path} must have at most {schema[f'max{suffix}']} {unit}")


def _is(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES.get(kind, (object,)))


def instruction(schema: Mapping[str, Any]) -> str:
    """Return the words that ask for an answer of `schema` where no parameter can."""
    shown = json.dumps(schema, ensure_ascii=False, sort_keys=True)
    return f"Answer with one JSON value and nothing else: no code fence, no words around it. Its JSON Schema:\n{shown}"


def complaint(faults: list[str]) -> str:
    """Return the words that show a model what was wrong with its structured answer."""
    listed = "\n".join(f"- {fault}" for fault in faults)
    return (
        f"Your answer does not have the requested form:\n{listed}\n"
        "Answer again with the whole corrected JSON and nothing else."
    )


def with_instruction(messages: tuple[Message, ...], words: str) -> tuple[Message, ...]:
    """Return the messages with `words` at the end of the leading system message, which is made if there is none."""
    if messages and messages[0].role == "system":
        return (Message("system", f"{messages[0].content}\n\n{words}"), *messages[1:])
    return (Message("system", words), *messages)


# -- tools as one schema, for servers without tool calling ---------------------------------------------------------


def tools_schema(tools: tuple[ToolSpec, ...], answer: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return one schema whose forms are: a call of one of `tools`, or `{"say": ...}` (of schema `answer`)."""
    forms = [
        _form({"tool": {"type": "string", "const": t.name}, "arguments": t.parameters}, ["tool", "arguments"])
        for t in tools
    ]
    return {"oneOf": [*forms, _form({"say": dict(answer) if answer else {"type": "string"}}, ["say"])]}


def _form(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def without_tools(request: ModelRequest) -> ModelRequest:
    """Return `request` with its tools, past calls and their results told in plain messages and one schema."""
    listed = "\n".join(
        f"- {t.name}: {t.description} Arguments: {json.dumps(t.parameters, ensure_ascii=False, sort_keys=True)}"
        for t in request.tools
    )
    words = (
        'Each of your answers is one JSON object. To use a tool: {"tool": NAME, "arguments": {...}}. '
        f'To answer without a tool: {{"say": ...}}. The tools:\n{listed}'
    )
    told: list[Message] = []
    names = {call.id: call.name for message in request.messages for call in message.tool_calls}
    for message in with_instruction(request.messages, words):
        plain = _told(message, names)
        if told and plain.role == told[-1].role != "system":
            plain = Message(plain.role, f"{told.pop().content}\n\n{plain.content}")
        told.append(plain)
    schema = tools_schema(request.tools, request.schema)
    return msgspec.structs.replace(
        request, messages=tuple(told), tools=(), schema=schema, schema_name=request.schema_name or "step"
    )


def _told(message: Message, names: Mapping[str, str]) -> Message:
    if message.role == "tool":
        return Message("user", f"Result of {names.get(message.tool_call_id, 'the tool')}:\n{message.content}")
    if message.role != "assistant":
        return message
    said = [json.dumps({"say": message.content}, ensure_ascii=False)] if message.content else []
    calls = [
        f'{{"tool": {json.dumps(c.name)}, "arguments": {arguments_to_send(c.arguments)}}}' for c in message.tool_calls
    ]
    return Message("assistant", "\n".join(said + calls))


def with_tools_again(response: ModelResponse, request: ModelRequest) -> ModelResponse:
    """Read an answer to `without_tools(request)` back: a call, or plain text. What has neither form stays as text."""
    value = decode((extract_json(response.content) or "").encode("utf-8", "replace"))
    if not isinstance(value, dict):
        return response
    if isinstance(value.get("tool"), str):
        calls: tuple[ToolCall, ...] = settle_calls([("", value["tool"], value.get("arguments"))], request)
        finish = "tool_calls" if response.finish == "stop" else response.finish
        return msgspec.structs.replace(response, content="", tool_calls=calls, finish=finish)
    if "say" in value:
        said = value["say"]
        return msgspec.structs.replace(response, content=said if isinstance(said, str) else json.dumps(said))
    return response
