"""`POST /chat/completions`: one attempt at a request on the wire that nearly every server speaks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from services.models.answers import arguments_to_send, reports_usage, settle_calls, text_of, usage_of
from services.models.asked import chat_fields
from services.models.classify import Fault, clip, decode
from services.models.endpoint import Endpoint
from services.models.http import Raw, is_event_stream
from services.models.wire import OpenAIWire, Setup
from simulator.canonical import clean_text
from simulator.conversation import Finish, Message, ModelRequest, ModelResponse, ToolSpec


class ChatWire(OpenAIWire):
    """The chat completions wire of an endpoint."""

    path = "/chat/completions"

    def _body(self, request: ModelRequest, setup: Setup) -> dict[str, Any]:
        endpoint = self.endpoint
        body: dict[str, Any] = {
            "model": endpoint.model,
            "messages": [wire_message(message, endpoint) for message in request.messages],
            setup.max_tokens_field: request.max_output,
        }
        if request.tools:
            body["tools"] = [wire_tool(tool) for tool in request.tools]
            body["tool_choice"] = "auto"
        if request.schema is not None and setup.schema_mode == "json_schema":
            shape = {"name": request.schema_name or "answer", "schema": request.schema}
            body["response_format"] = {"type": "json_schema", "json_schema": shape}
        elif request.schema is not None and setup.schema_mode == "json_object":
            body["response_format"] = {"type": "json_object"}
        body.update(chat_fields(request))
        if endpoint.effort:
            body["reasoning_effort"] = endpoint.effort
        if endpoint.stream:
            body["stream"] = True
            body["stream_options"] = {"include_usage": True}
        for name in setup.dropped:
            body.pop(name, None)
        if "stream" not in body:
            body.pop("stream_options", None)
        return body

    def _read(self, raw: Raw, request: ModelRequest) -> ModelResponse | Fault:
        value = fold_stream(raw.body) if is_event_stream(raw) else decode(raw.body)
        if isinstance(value, Fault):
            return value
        if isinstance(value, dict) and value.get("error"):
            return self._judge(value) or Fault("error_body", True, billable=True)
        self.usage_seen = self.usage_seen or (isinstance(value, dict) and reports_usage(value.get("usage")))
        return read_completion(value, request)


def wire_message(message: Message, endpoint: Endpoint) -> dict[str, Any]:
    """Return a message as the chat wire writes it."""
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.tool_call_id, "content": message.content}
    out: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        settle = str if endpoint.echo_broken_arguments else arguments_to_send
        out["content"] = message.content or None
        out["tool_calls"] = [
            {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": settle(c.arguments)}}
            for c in message.tool_calls
        ]
    if message.reasoning and endpoint.echo_reasoning:
        out["reasoning_content"] = message.reasoning
    return out


def wire_tool(tool: ToolSpec) -> dict[str, Any]:
    """Return a tool as the chat wire offers it."""
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}


def read_completion(value: Any, request: ModelRequest) -> ModelResponse | Fault:
    """Read a chat completion. Missing parts are faults; missing finish reason and usage are made up for."""
    choices = value.get("choices") if isinstance(value, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        return Fault("bad_shape", True, billable=True, detail=clip(str(value)))
    calls = settle_calls(_calls(message), request)
    content = text_of(message.get("content"))
    reasoning = text_of(message.get("reasoning_content")) or text_of(message.get("reasoning"))
    refusal = text_of(message.get("refusal"))
    finish = finish_of(choice.get("finish_reason"), bool(calls), bool(refusal))
    if finish is None:
        return Fault("server", True, billable=True, detail="finish_reason error")
    if finish in ("stop", "tool_calls") and not content.strip() and not calls:
        return Fault("empty", True, billable=True, detail=f"finish_reason {clip(str(choice.get('finish_reason')))}")
    size = len((content + reasoning).encode()) + sum(len(call.arguments.encode()) for call in calls)
    return ModelResponse(
        content=content or refusal,
        tool_calls=calls,
        finish=finish,
        usage=usage_of(value.get("usage"), request, size),
        reasoning=reasoning,
        model=clean_text(value["model"]) if isinstance(value.get("model"), str) else "",
        detail="the model declined" if finish == "refusal" else "",
    )


def finish_of(reason: Any, calls: bool, refused: bool) -> Finish | None:
    """Translate a finish reason; None for `error`. What is unknown or missing follows from what the answer holds."""
    if reason == "error":
        return None
    if reason in ("length", "max_tokens"):
        return "length"
    if refused or reason in ("content_filter", "refusal", "safety"):
        return "refusal"
    return "tool_calls" if calls else "stop"


def _calls(message: Mapping[str, Any]) -> Iterator[tuple[Any, Any, Any]]:
    listed = message.get("tool_calls")
    old = message.get("function_call")
    if not listed and isinstance(old, dict):
        yield "", old.get("name"), old.get("arguments")
    for call in listed if isinstance(listed, list) else ():
        if isinstance(call, dict):
            function = call.get("function")
            source = function if isinstance(function, dict) else call
            yield call.get("id"), source.get("name"), source.get("arguments")


def events_of(body: bytes) -> Iterator[bytes]:
    """Yield the data of each server-sent event."""
    data: list[bytes] = []
    for line in (*body.replace(b"\r\n", b"\n").split(b"\n"), b""):
        if line.startswith(b"data:"):
            data.append(line[5:].removeprefix(b" "))
        elif not line and data:
            yield b"\n".join(data)
            data = []


def fold_stream(body: bytes) -> dict[str, Any] | Fault:
    """Fold the chunks of a streamed completion into one; a stream without an end is `cut`."""
    message: dict[str, Any] = {"content": "", "reasoning_content": "", "refusal": "", "tool_calls": []}
    whole: dict[str, Any] = {"choices": [{"message": message}]}
    choice = whole["choices"][0]
    begun = ended = False
    for data in events_of(body):
        if data.strip() == b"[DONE]":
            ended = True
            break
        chunk = decode(data)
        if not isinstance(chunk, dict):
            return Fault("cut", True, billable=True, detail=clip(data.decode("utf-8", "replace")))
        if chunk.get("error"):
            return {"error": chunk["error"]}
        whole["model"] = chunk.get("model") or whole.get("model")
        whole["usage"] = chunk.get("usage") or whole.get("usage")
        choices = chunk.get("choices")
        first = choices[0] if isinstance(choices, list) and choices else {}
        begun = begun or bool(first)
        if isinstance(first, dict):
            _fold_delta(message, first.get("delta") or {})
            choice["finish_reason"] = first.get("finish_reason") or choice.get("finish_reason")
    if not begun or not (ended or choice.get("finish_reason")):
        return Fault("cut", True, billable=True, detail="the stream ended without a finish reason")
    return whole


def _fold_delta(message: dict[str, Any], delta: Mapping[str, Any]) -> None:
    message["content"] += text_of(delta.get("content"))
    message["reasoning_content"] += text_of(delta.get("reasoning_content")) or text_of(delta.get("reasoning"))
    message["refusal"] += text_of(delta.get("refusal"))
    calls: list[dict[str, Any]] = message["tool_calls"]
    for part in delta.get("tool_calls") or ():
        index = part.get("index")
        slot = next((c for c in calls if index is not None and c["index"] == index), None)
        if slot is None and index is None and calls and part.get("id") in (None, "", calls[-1]["id"]):
            slot = calls[-1]
        if slot is None:
            slot = {"index": index, "id": "", "function": {"name": "", "arguments": ""}}
            calls.append(slot)
        function = part.get("function") or {}
        slot["id"] = slot["id"] or part.get("id") or ""
        slot["function"]["name"] = slot["function"]["name"] or function.get("name") or ""
        more = function.get("arguments")
        slot["function"]["arguments"] = _joined(slot["function"]["arguments"], more)


def _joined(so_far: Any, more: Any) -> Any:
    """Join pieces of arguments; a server that sends the object itself sends it whole."""
    if more is None:
        return so_far
    return so_far + more if isinstance(more, str) and isinstance(so_far, str) else more
