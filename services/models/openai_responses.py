"""`POST /responses`: one attempt at a request on OpenAI's newer wire, stateless (`store: false`)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from services.models.answers import arguments_to_send, count, reports_usage, settle_calls, text_of, usage_of
from services.models.asked import responses_fields
from services.models.classify import Fault, clip, decode
from services.models.endpoint import Endpoint
from services.models.http import Raw, is_event_stream
from services.models.openai_chat import events_of
from services.models.wire import OpenAIWire, Setup
from simulator.canonical import clean_text
from simulator.conversation import Finish, Message, ModelRequest, ModelResponse, ToolSpec


class ResponsesWire(OpenAIWire):
    """The responses wire of an endpoint.

    With `echo_reasoning`, the provider's encrypted reasoning items travel in `Message.reasoning` as a JSON list and are
    sent back before the turn they belong to.
    """

    path = "/responses"

    def _body(self, request: ModelRequest, setup: Setup) -> dict[str, Any]:
        endpoint = self.endpoint
        body: dict[str, Any] = {
            "model": endpoint.model,
            "input": [item for message in request.messages for item in wire_items(message, endpoint)],
            "max_output_tokens": request.max_output,
            "store": False,
        }
        if request.tools:
            body["tools"] = [wire_tool(tool) for tool in request.tools]
            body["tool_choice"] = "auto"
        if request.schema is not None and setup.schema_mode == "json_schema":
            name = request.schema_name or "answer"
            body["text"] = {"format": {"type": "json_schema", "name": name, "schema": request.schema, "strict": False}}
        elif request.schema is not None and setup.schema_mode == "json_object":
            body["text"] = {"format": {"type": "json_object"}}
        body.update(responses_fields(request))
        if endpoint.effort:
            body["reasoning"] = {"effort": endpoint.effort}
        if endpoint.echo_reasoning:
            body["include"] = ["reasoning.encrypted_content"]
        if endpoint.stream:
            body["stream"] = True
        for name in setup.dropped:
            body.pop(name, None)
        return body

    def _read(self, raw: Raw, request: ModelRequest) -> ModelResponse | Fault:
        value = fold_stream(raw.body) if is_event_stream(raw) else decode(raw.body)
        if isinstance(value, Fault):
            return value
        if isinstance(value, dict) and value.get("error"):
            return self._judge({"error": value["error"]}) or Fault("error_body", True, billable=True)
        self.usage_seen = self.usage_seen or (isinstance(value, dict) and reports_usage(value.get("usage")))
        return read_response(value, request, self.endpoint.echo_reasoning)


def wire_items(message: Message, endpoint: Endpoint) -> Iterator[dict[str, Any]]:
    """Yield a message as the input items of the responses wire."""
    if message.role == "tool":
        yield {"type": "function_call_output", "call_id": message.tool_call_id, "output": message.content}
        return
    if message.reasoning and endpoint.echo_reasoning:
        yield from _reasoning_items(message.reasoning)
    if message.content or not message.tool_calls:
        yield {"role": message.role, "content": message.content}
    settle = str if endpoint.echo_broken_arguments else arguments_to_send
    for call in message.tool_calls:
        yield {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": settle(call.arguments)}


def _reasoning_items(reasoning: str) -> list[dict[str, Any]]:
    value = decode(reasoning.encode("utf-8", "replace"))
    items = value if isinstance(value, list) else []
    return [item for item in items if isinstance(item, dict) and item.get("type") == "reasoning"]


def wire_tool(tool: ToolSpec) -> dict[str, Any]:
    """Return a tool as the responses wire offers it."""
    described = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", **described, "strict": False}


def read_response(value: Any, request: ModelRequest, keep_items: bool = False) -> ModelResponse | Fault:
    """Read a response object. `keep_items` keeps reasoning items whole, so that they can be echoed."""
    output = value.get("output") if isinstance(value, dict) else None
    if not isinstance(output, list):
        return Fault("bad_shape", True, billable=True, detail=clip(str(value)))
    items = [item for item in output if isinstance(item, dict)]
    calls = settle_calls(
        [
            (i.get("call_id") or i.get("id"), i.get("name"), i.get("arguments"))
            for i in items
            if _is(i, "function_call")
        ],
        request,
    )
    parts = [part for item in items if _is(item, "message") for part in _parts(item)]
    content = "".join(text_of(part.get("text")) for part in parts if part.get("type") != "refusal")
    refusal = "".join(text_of(part.get("refusal")) for part in parts if part.get("type") == "refusal")
    thoughts = [item for item in items if _is(item, "reasoning")]
    reasoning = _kept(thoughts) if keep_items else "\n".join(filter(None, map(_summary, thoughts)))
    finish = _finish(value, bool(calls), bool(refusal))
    if finish is None:
        return Fault("server", True, billable=True, detail=clip(f"status {value.get('status')}"))
    if finish in ("stop", "tool_calls") and not content.strip() and not calls:
        return Fault("empty" if output else "bad_shape", True, billable=True, detail="no message, no call")
    used = value.get("usage")
    if finish == "stop" and isinstance(used, dict) and count(used.get("output_tokens")) == request.max_output:
        finish = "length"  # llama.cpp calls an answer that was cut at its limit `completed`
    size = len((content + reasoning).encode()) + sum(len(call.arguments.encode()) for call in calls)
    return ModelResponse(
        content=content or refusal,
        tool_calls=calls,
        finish=finish,
        usage=usage_of(used, request, size),
        reasoning=reasoning,
        model=clean_text(value["model"]) if isinstance(value.get("model"), str) else "",
        detail="the model declined" if finish == "refusal" else "",
    )


def _finish(value: Mapping[str, Any], calls: bool, refused: bool) -> Finish | None:
    status = value.get("status")
    if status in ("failed", "cancelled", "in_progress", "queued"):
        return None
    details = value.get("incomplete_details")
    reason = details.get("reason") if isinstance(details, dict) else None
    if reason == "content_filter" or refused:
        return "refusal"
    if status == "incomplete":
        return "length"
    return "tool_calls" if calls else "stop"


def _is(item: Mapping[str, Any], kind: str) -> bool:
    return item.get("type") == kind


def _parts(item: Mapping[str, Any]) -> list[dict[str, Any]]:
    content = item.get("content")
    if isinstance(content, str):
        return [{"type": "output_text", "text": content}]
    return [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []


def _summary(item: Mapping[str, Any]) -> str:
    for name in ("summary", "content"):
        found = text_of(item.get(name))
        if found:
            return found
    return ""


def _kept(thoughts: list[dict[str, Any]]) -> str:
    return clean_text(json.dumps(thoughts, ensure_ascii=False, sort_keys=True)) if thoughts else ""


def fold_stream(body: bytes) -> dict[str, Any] | Fault:
    """Return the response object that a stream of events ends with; a stream without an end is `cut`."""
    for data in events_of(body):
        if data.strip() == b"[DONE]":
            continue
        event = decode(data)
        if not isinstance(event, dict):
            return Fault("cut", True, billable=True, detail=clip(data.decode("utf-8", "replace")))
        if event.get("type") == "error":
            inner = event.get("error")
            return {"error": inner if inner else {"code": event.get("code"), "message": event.get("message")}}
        whole = event.get("response")
        if event.get("type") in ("response.completed", "response.incomplete", "response.failed") and whole:
            return whole if isinstance(whole, dict) else Fault("bad_shape", True, billable=True)
    return Fault("cut", True, billable=True, detail="the stream ended before the response was completed")
