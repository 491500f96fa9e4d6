"""What providers really send, as a table: one row a body, with the outcome on each wire (RELIABILITY, model providers).

Bodies follow what OpenAI, Azure, OpenRouter, vLLM, llama.cpp, Ollama and gateways in front of them answer. The same
rows are judged by `classify` alone, played by the fault server on both wires, and listed in services/models/FAULTS.md.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

USAGE = {"prompt_tokens": 20, "completion_tokens": 5, "input_tokens": 20, "output_tokens": 5}


class Case(msgspec.Struct, frozen=True):
    """A row. `outcome` is a kind of fault, or `answer: FINISH`; `how` is a delivery that the fault server knows."""

    name: str
    chat: bytes
    outcome: str
    retryable: bool = False
    status: int = 200
    headers: tuple[tuple[str, str], ...] = (("content-type", "application/json"),)
    responses: bytes = b""
    """The body on the responses wire; empty if it is the same."""
    wait: float | None = None
    billable: bool = False
    how: str = "whole"
    answer: dict[str, Any] = {}
    """Fields of the answer that matter to the row."""

    def body(self, wire: str) -> bytes:
        """Return the body on `wire`."""
        return self.responses if wire == "responses" and self.responses else self.chat


def error(message: str, code: Any = None, kind: str = "invalid_request_error") -> bytes:
    """Return an error body in OpenAI's form."""
    return json.dumps({"error": {"message": message, "type": kind, "param": None, "code": code}}).encode()


def chat(message: dict[str, Any], finish: Any = "stop", **more: Any) -> bytes:
    """Return a chat completion with one choice."""
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    return json.dumps({"id": "c", "model": "m", "choices": [choice], "usage": USAGE, **more}).encode()


def resp(*output: dict[str, Any], status: str = "completed", **more: Any) -> bytes:
    """Return a response object."""
    whole = {"id": "r", "model": "m", "status": status, "error": None, "output": list(output), "usage": USAGE}
    return json.dumps({**whole, **more}).encode()


def text(content: str) -> dict[str, Any]:
    """Return a response's message item."""
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": content}]}


def called(arguments: Any, name: str = "read", call_id: Any = "c1") -> dict[str, Any]:
    """Return a response's function call item."""
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments}


def chat_call(arguments: Any, name: str = "read", call_id: Any = "c1") -> dict[str, Any]:
    """Return a chat message's tool call."""
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def call_case(name: str, arguments: Any, settled: str, tool: str = "read", **more: Any) -> Case:
    """Return a row in which the model calls one tool with `arguments`, which arrive as `settled`."""
    return Case(
        name,
        chat({"content": None, "tool_calls": [chat_call(arguments, tool)]}, "tool_calls"),
        "answer: tool_calls",
        responses=resp(called(arguments, tool)),
        answer={"calls": [["c1", tool, settled]]},
        **more,
    )


def header(name: str, value: str) -> tuple[tuple[str, str], ...]:
    """Return JSON's content type and one more header."""
    return (("content-type", "application/json"), (name, value))


_DEEP = '{"n": ' + "[" * 3000 + "]" * 3000 + "}"
HTML = (("content-type", "text/html"),)
SSE = (("content-type", "text/event-stream"),)
LIMITED = error("Rate limit reached for requests", "rate_limit_exceeded", "requests")


LIMITED_ONCE = Case("429", LIMITED, "rate_limit", True, 429, header("Retry-After", "7"), wait=7.0)

STATUS: tuple[Case, ...] = (
    Case("429, Retry-After in seconds", LIMITED, "rate_limit", True, 429, header("Retry-After", "7"), wait=7.0),
    Case("429, Retry-After a fraction", LIMITED, "rate_limit", True, 429, header("retry-after", "0.25"), wait=0.25),
    Case("429, Retry-After-Ms", LIMITED, "rate_limit", True, 429, header("retry-after-ms", "1500"), wait=1.5),
    Case(
        "429, Retry-After a date",
        LIMITED,
        "rate_limit",
        True,
        429,
        header("Retry-After", "Mon, 26 Oct 2026 07:34:20 GMT"),
        wait=60.0,
    ),
    Case(
        "429, Retry-After a past date",
        LIMITED,
        "rate_limit",
        True,
        429,
        header("Retry-After", "Mon, 26 Oct 2020 00:54:20 GMT"),
        wait=0.0,
    ),
    Case("429, Retry-After negative", LIMITED, "rate_limit", True, 429, header("Retry-After", "-5"), wait=0.0),
    Case("429, Retry-After absurd", LIMITED, "rate_limit", True, 429, header("Retry-After", "9e9"), wait=86400.0),
    Case("429, Retry-After no number", LIMITED, "rate_limit", True, 429, header("Retry-After", "soon")),
    Case("429, Retry-After not a number", LIMITED, "rate_limit", True, 429, header("Retry-After", "nan")),
    Case(
        "429, the wait in the text, billing mentioned",
        error("Limit 3, Used 3. Please try again in 20.5s. Add a payment method at https://example.com/billing"),
        "rate_limit",
        True,
        429,
        wait=20.5,
    ),
    Case(
        "429, the wait in details, as a list",
        b'[{"error": {"code": 429, "message": "You exceeded your current quota", "details": [{"retryDelay": "28s"}]}}]',
        "rate_limit",
        True,
        429,
        wait=28.0,
    ),
    Case("429, empty body", b"", "rate_limit", True, 429),
    Case(
        "429, paid credit used up",
        error("You exceeded your current quota, please check your plan", "insufficient_quota", "insufficient_quota"),
        "quota",
        False,
        429,
        header("Retry-After", "7"),
    ),
    Case("402, no credit", error("Insufficient credits", 402), "quota", False, 402),
    Case("401, wrong key", error("Incorrect API key provided", "invalid_api_key"), "auth", False, 401),
    Case("403, no permission", error("You have insufficient permissions"), "auth", False, 403),
    Case("403, flagged by moderation", error("Input was flagged by moderation", 403), "answer: refusal", False, 403),
    Case("404, no such model", error("The model `m` does not exist", "model_not_found"), "not_found", False, 404),
    Case("404, wrong address", b'{"detail":"Not Found"}', "not_found", False, 404),
    Case("400, no such model", b'{"object":"error","message":"model m not found","code":400}', "not_found", False, 400),
    Case("400, malformed", error("messages: roles must alternate"), "bad_request", False, 400),
    Case("422, malformed", b'{"detail":[{"loc":["body"],"msg":"field required"}]}', "bad_request", False, 422),
    Case(
        "400, unsupported parameter",
        error("frobnicate is not supported", "unsupported_value"),
        "unsupported",
        False,
        400,
    ),
    Case(
        "400, context overflow, by code",
        error("This model's maximum context length is 128000 tokens.", "context_length_exceeded"),
        "answer: overflow",
        False,
        400,
    ),
    Case(
        "400, context overflow, llama.cpp",
        error("the request exceeds the available context size. try increasing it", 400, "exceed_context_size_error"),
        "answer: overflow",
        False,
        400,
    ),
    Case(
        "400, context overflow, vLLM",
        b'{"object":"error","message":"This model\'s maximum context length is 4096 tokens. However, you requested '
        b'5000 tokens. Please reduce the length of the messages","code":400}',
        "answer: overflow",
        False,
        400,
    ),
    Case("413, too large", b"<html>413 Request Entity Too Large</html>", "answer: overflow", False, 413, HTML),
    Case(
        "400, content filter",
        error("The response was filtered due to the prompt triggering content management policy", "content_filter"),
        "answer: refusal",
        False,
        400,
    ),
    Case("408", b"", "timeout", True, 408),
    Case("409", error("conflict"), "server", True, 409),
    Case("500", error("The server had an error", None, "server_error"), "server", True, 500),
    Case("500, not JSON", b"Internal Server Error", "server", True, 500, HTML),
    Case("502, HTML", b"<html><h1>502 Bad Gateway</h1></html>", "server", True, 502, HTML),
    Case("503, Retry-After", error("overloaded"), "server", True, 503, header("Retry-After", "3"), wait=3.0),
    Case("504", b"upstream request timeout", "server", True, 504, HTML),
    Case("529, overloaded", error("Overloaded", None, "overloaded_error"), "server", True, 529),
    Case("500, tools without a template", error("tools param requires --jinja flag", 500), "unsupported", False, 500),
    Case("404, no route with tools", error("No endpoints found that support tool use", 404), "unsupported", False, 404),
    Case("501", error("not implemented"), "not_found", False, 501),
)

INSIDE_200: tuple[Case, ...] = (
    Case(
        "200, error with status 429",
        error("slow down", 429),
        "rate_limit",
        True,
        headers=header("Retry-After", "2"),
        wait=2.0,
    ),
    Case("200, error with status 502", error("Provider returned error", 502), "server", True),
    Case("200, error with status as text", error("upstream", "503"), "server", True),
    Case("200, error that names a rate limit", error("Rate limit exceeded"), "rate_limit", True),
    Case("200, error that names the key", error("Invalid API key"), "auth", False),
    Case("200, error that names overflow", error("prompt is too long: 9 tokens"), "answer: overflow", False),
    Case("200, error as plain text", b'{"error": "something odd"}', "error_body", True, billable=True),
    Case("200, HTML", b"<html>Please log in to the Wi-Fi</html>", "not_json", True, headers=HTML, billable=True),
    Case("200, empty body", b"", "not_json", True, billable=True),
    Case("200, JSON nested without end", b"[" * 100_000, "not_json", True, billable=True),
    Case("200, a bare list", b"[]", "not_json", True, billable=True),
    Case("200, JSON cut in the middle", b'{"choices": [{"mess', "cut", True, billable=True),
)

SHAPES: tuple[Case, ...] = (
    Case("empty choices", b'{"choices": []}', "bad_shape", True, responses=b'{"output": []}', billable=True),
    Case("no choices at all", b'{"object": "chat.completion"}', "bad_shape", True, billable=True),
    Case("choices of the wrong type", b'{"choices": 3}', "bad_shape", True, responses=b'{"output": 3}', billable=True),
    Case(
        "choice without a message",
        b'{"choices": [null]}',
        "bad_shape",
        True,
        responses=b'{"status": "completed"}',
        billable=True,
    ),
    Case(
        "null content and no tool call", chat({"content": None}), "empty", True, responses=resp(text("")), billable=True
    ),
    Case("blank content", chat({"content": " \n"}), "empty", True, responses=resp(text(" \n")), billable=True),
    Case(
        "reasoning and nothing else",
        chat({"content": None, "reasoning_content": "hm"}),
        "empty",
        True,
        responses=resp({"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]}),
        billable=True,
    ),
    Case(
        "finish reason `error`",
        chat({"content": "half"}, "error"),
        "server",
        True,
        responses=resp(text("half"), status="failed"),
        billable=True,
    ),
    Case(
        "truncated by length",
        chat({"content": "half"}, "length"),
        "answer: length",
        responses=resp(text("half"), status="incomplete", incomplete_details={"reason": "max_output_tokens"}),
        answer={"content": "half"},
    ),
    Case(
        "all output spent on reasoning",
        chat({"content": None, "reasoning": "hm"}, "length"),
        "answer: length",
        responses=resp(
            {"type": "reasoning", "summary": [{"text": "hm"}]},
            status="incomplete",
            incomplete_details={"reason": "max_output_tokens"},
        ),
        answer={"reasoning": "hm"},
    ),
    Case(
        "refusal",
        chat({"content": None, "refusal": "I can't."}),
        "answer: refusal",
        responses=resp({"type": "message", "content": [{"type": "refusal", "refusal": "I can't."}]}),
        answer={"content": "I can't.", "detail": "the model declined"},
    ),
    Case(
        "filtered by the provider",
        chat({"content": ""}, "content_filter"),
        "answer: refusal",
        responses=resp(text(""), status="incomplete", incomplete_details={"reason": "content_filter"}),
    ),
    Case(
        "finish reason missing",
        chat({"content": "hi"}, None),
        "answer: stop",
        responses=resp(text("hi"), status=""),
        answer={"content": "hi"},
    ),
    Case(
        "finish reason unknown",
        chat({"content": "hi"}, "eos"),
        "answer: stop",
        responses=resp(text("hi"), status="done"),
        answer={"content": "hi"},
    ),
    Case(
        "usage missing",
        chat({"content": "hi"}, usage=None),
        "answer: stop",
        responses=resp(text("hi"), usage=None),
        answer={"content": "hi", "estimated": True},
    ),
    Case(
        "usage of nonsense",
        chat({"content": "hi"}, usage={"prompt_tokens": "many", "completion_tokens": -4}),
        "answer: stop",
        responses=resp(text("hi"), usage=[1]),
        answer={"content": "hi", "estimated": True},
    ),
    Case(
        "content as a list of parts",
        chat({"content": [{"type": "text", "text": "h"}, {"type": "text", "text": "i"}]}),
        "answer: stop",
        responses=resp(text("h"), text("i")),
        answer={"content": "hi"},
    ),
    Case(
        "thinking left in the content",
        chat({"content": "<think>hm</think>\n\nhi"}),
        "answer: stop",
        responses=resp(text("<think>hm</think>\n\nhi")),
        answer={"content": "hi", "reasoning": "hm"},
    ),
    Case(
        "NaN beside the answer",
        b'{"choices": [{"message": {"content": "hi"}, "logprobs": NaN}]}',
        "answer: stop",
        responses=resp(text("hi"))[:-1] + b', "score": NaN}',
        answer={"content": "hi"},
    ),
    Case(
        "lone surrogate and NUL in text",
        chat({"content": "a\ud800b\x00"}),
        "answer: stop",
        responses=resp(text("a\ud800b\x00")),
        answer={"content": "a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}"},
    ),
    Case(
        "invalid UTF-8",
        b'{"choices": [{"message": {"content": "h\xff"}}]}',
        "answer: stop",
        responses=b'{"output": [{"type": "message", "content": [{"type": "output_text", "text": "h\xff"}]}]}',
        answer={"content": "h\N{REPLACEMENT CHARACTER}"},
    ),
    Case(
        "a function call of the old form",
        chat({"content": None, "function_call": {"name": "read", "arguments": "{}"}}, "function_call"),
        "answer: tool_calls",
        responses=resp(called("{}", call_id=None)),
        answer={"calls": [["call_2_0", "read", "{}"]]},
    ),
    Case(
        "duplicate and missing tool ids",
        chat(
            {"content": None, "tool_calls": [chat_call("{}"), chat_call("{}"), chat_call("{}", call_id=None)]}, "stop"
        ),
        "answer: tool_calls",
        responses=resp(called("{}"), called("{}"), called("{}", call_id="")),
        answer={"calls": [["c1", "read", "{}"], ["call_2_1", "read", "{}"], ["call_2_2", "read", "{}"]]},
    ),
    call_case("unknown tool", "{}", "{}", tool="fly"),
    call_case("arguments as an object", {"path": "é"}, '{"path": "é"}'),
    call_case("arguments as a list", [1], "[1]"),
    call_case("arguments as a list in text", "[1]", "[1]"),
    call_case("arguments as plain text", "a.xlsx", "a.xlsx"),
    call_case("arguments as JSON in a JSON string", json.dumps('{"path": "a"}'), '{"path": "a"}'),
    call_case("arguments written twice", '{"path": "a"}{"path": "a"}', '{"path": "a"}'),
    call_case("arguments truncated", '{"path": "a', '{"path": "a'),
    call_case("arguments with NaN", '{"n": NaN}', '{"n": NaN}'),
    call_case("arguments with a lone surrogate", '{"n": "\\ud800"}', '{"n": "\N{REPLACEMENT CHARACTER}"}'),
    call_case("arguments nested without end", '{"n": ' + "[" * 5000, '{"n": ' + "[" * 5000),
    call_case("arguments nested very deeply", _DEEP, _DEEP),
    call_case("arguments empty", "", "{}"),
    call_case("arguments null", None, "{}"),
)


def events(*chunks: Any, done: bool = True) -> bytes:
    """Return server-sent events."""
    tail = b"data: [DONE]\n\n" if done else b""
    return b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks) + tail


def delta(finish: Any = None, **parts: Any) -> dict[str, Any]:
    """Return a chunk of a streamed completion."""
    return {"model": "m", "choices": [{"index": 0, "delta": parts, "finish_reason": finish}]}


def call_delta(index: Any, arguments: str, **more: Any) -> dict[str, Any]:
    """Return a chunk with a piece of a tool call."""
    return delta(
        tool_calls=[{"index": index, "function": {"arguments": arguments, "name": more.pop("name", None)}, **more}]
    )


def completed(body: bytes) -> bytes:
    """Return the events of a response that ends as `body`."""
    whole = json.loads(body)
    return events({"type": "response.created", "response": {}}, {"type": "response.completed", "response": whole})


ODD_SSE = b": keep-alive\r\n\r\nevent: x\r\ndata: " + json.dumps(delta("stop", content="hi")).encode() + b"\r\n\r\n"
BEGUN = events({"type": "response.created", "response": {}}, done=False)

STREAMS: tuple[Case, ...] = (
    Case(
        "stream of text",
        events(delta(content="h"), delta(content="i"), delta("stop"), {"choices": [], "usage": USAGE}),
        "answer: stop",
        headers=SSE,
        responses=completed(resp(text("hi"))),
        answer={"content": "hi"},
    ),
    Case(
        "stream with comments and CRLF, no end mark",
        ODD_SSE,
        "answer: stop",
        headers=SSE,
        responses=completed(resp(text("hi"))).replace(b"\n", b"\r\n"),
        answer={"content": "hi"},
    ),
    Case(
        "stream of two tool calls in pieces",
        events(
            call_delta(0, "", id="a", name="read"),
            call_delta(0, '{"p'),
            call_delta(1, "{}", id="b", name="finish"),
            call_delta(0, '": 1}'),
            delta("tool_calls"),
        ),
        "answer: tool_calls",
        headers=SSE,
        responses=completed(resp(called('{"p": 1}', call_id="a"), called("{}", "finish", "b"))),
        answer={"calls": [["a", "read", '{"p": 1}'], ["b", "finish", "{}"]]},
    ),
    Case(
        "stream of tool calls without an index",
        events(
            call_delta(None, '{"p"', id="a", name="read"),
            call_delta(None, ": 1}"),
            call_delta(None, "{}", id="b", name="finish"),
            delta("tool_calls"),
        ),
        "answer: tool_calls",
        headers=SSE,
        responses=completed(resp(called('{"p": 1}', call_id="a"), called("{}", "finish", "b"))),
        answer={"calls": [["a", "read", '{"p": 1}'], ["b", "finish", "{}"]]},
    ),
    Case(
        "stream cut between tokens",
        events(delta(content="ha"), done=False),
        "cut",
        True,
        headers=SSE,
        responses=BEGUN,
        billable=True,
    ),
    Case(
        "stream cut mid-token",
        events(delta(content="ha"), done=False) + b'data: {"choi',
        "cut",
        True,
        headers=SSE,
        responses=BEGUN + b'data: {"type": "resp',
        billable=True,
    ),
    Case("stream that never began", b"data: [DONE]\n\n", "cut", True, headers=SSE, billable=True),
    Case(
        "stream with an error inside",
        events(delta(content="ha"), {"error": {"message": "overloaded", "code": 503}}),
        "server",
        True,
        headers=SSE,
        responses=BEGUN + events({"type": "error", "code": "server_error", "message": "x"}),
    ),
)

BROKEN: tuple[Case, ...] = (
    Case("connection closed before an answer", b"", "cut", True, how="close", billable=True),
    Case("connection closed in the headers", b"", "cut", True, how="half_headers", billable=True),
    Case("connection closed within the body", chat({"content": "hi"}), "cut", True, how="half_body", billable=True),
    Case("connection closed within a chunk", chat({"content": "hi"}), "cut", True, how="half_chunk", billable=True),
    Case("not HTTP at all", b"SSH-2.0-OpenSSH_9.2\r\n", "cut", True, how="raw", billable=True),
    Case(
        "claims gzip and is not",
        chat({"content": "hi"}),
        "not_json",
        True,
        headers=header("content-encoding", "gzip"),
        billable=True,
    ),
    Case("hangs", b"", "timeout", True, how="hang", billable=True),
    Case("slow drip", chat({"content": "hi " * 50}), "timeout", True, how="drip", billable=True),
    Case("slow drip of an error", error("x" * 200), "timeout", True, status=500, how="drip", billable=True),
    Case(
        "redirects for ever",
        b"",
        "not_json",
        True,
        status=307,
        headers=(("location", "/loop"),),
        how="again",
        billable=True,
    ),
)

ALL: tuple[Case, ...] = STATUS + INSIDE_200 + SHAPES + STREAMS + BROKEN
