"""Any `Model`, served over HTTP as an OpenAI-compatible endpoint: chat completions, responses, models.

with serve(model, host="127.0.0.1") as served:
    ... Endpoint(base_url=served.url, model="offline") ...
"""

from __future__ import annotations

import itertools
import socket
import threading
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Any

import msgspec
import uvicorn
from fastapi import FastAPI, Request, Response
from fastapi.concurrency import run_in_threadpool

from services.models import openai_bodies as bodies
from services.models.classify import REASONS
from simulator.conversation import ModelRequest, ModelResponse
from simulator.errors import BudgetExhausted, InfrastructureError, ModelOutage, OfficeTownError, UsageError
from simulator.ports import Model

_JSON = "application/json"
_MOST_BYTES = 64_000_000


def application(model: Model, names: Iterable[str], now: Callable[[], float]) -> FastAPI:
    """Return the web application in front of `model`. `names` are the models listed; `now` stamps answers (seconds)."""
    app = FastAPI(title="OfficeTown model", docs_url=None, redoc_url=None, openapi_url=None)
    numbers = itertools.count(1)
    listed = [{"id": name, "object": "model", "created": 0, "owned_by": "officetown"} for name in names]

    @app.get("/v1/models")
    def models() -> Response:
        return _json({"object": "list", "data": listed})

    @app.post("/v1/chat/completions")
    async def chat(request: Request) -> Response:
        number = next(numbers)
        body, asked = await _read(request, bodies.chat_request, number)
        answer = await _complete(model, asked)
        if isinstance(answer, Response):
            return answer
        if body.get("stream"):
            return _events(bodies.chat_chunks(answer, number, int(now())), done=True)
        return _json(bodies.chat_answer(answer, number, int(now())))

    @app.post("/v1/responses")
    async def responses(request: Request) -> Response:
        number = next(numbers)
        body, asked = await _read(request, bodies.responses_request, number)
        answer = await _complete(model, asked)
        if isinstance(answer, Response):
            return answer
        whole = bodies.responses_answer(answer, number, int(now()))
        return _events(bodies.responses_events(whole)) if body.get("stream") else _json(whole)

    @app.exception_handler(UsageError)
    async def wrong_call(_request: Request, error: Exception) -> Response:
        return refused(Failure(400, "invalid_request_error", "invalid_request", str(error)))

    return app


async def _read(
    request: Request, reader: Callable[[Any, Any, int], ModelRequest], number: int
) -> tuple[dict[str, Any], ModelRequest]:
    body = await read_object(request)
    return body, reader(body, request.headers, number)


async def read_object(request: Request, most_bytes: int = _MOST_BYTES) -> dict[str, Any]:
    """Read a request's body as a JSON object. Raises `UsageError` in plain words; never holds more than allowed."""
    data = bytearray()
    async for chunk in request.stream():
        data += chunk
        if len(data) > most_bytes:
            raise UsageError(f"the request has more than {most_bytes} bytes")
    try:
        body = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError("the request's body is not JSON") from error
    if not isinstance(body, dict):
        raise UsageError("the request's body is not a JSON object")
    return body


class Failure(msgspec.Struct, frozen=True):
    """What is no answer, as OpenAI's own endpoint would say it: status, type and code, and a message for people."""

    status: int
    kind: str
    code: str
    message: str


def failure_of(error: OfficeTownError) -> Failure:
    """Return how a model's error is told to a client."""
    if isinstance(error, ModelOutage):
        return Failure(503, "server_error", "model_outage", str(error))
    if isinstance(error, BudgetExhausted):
        return Failure(402, "insufficient_quota", "insufficient_quota", str(error))
    if isinstance(error, InfrastructureError):
        return Failure(500, "server_error", "model_failed", str(error))
    # A script that ran out, a tape that does not fit: asking again cannot help, so no client should.
    return Failure(501, "server_error", "model_cannot_answer", str(error))


def unanswered(answer: ModelResponse) -> Failure | None:
    """Return how an answer without content is told to a client; None for an answer that has one."""
    if answer.finish == "overflow":
        return Failure(400, "invalid_request_error", "context_length_exceeded", REASONS["overflow"])
    if answer.finish == "unavailable":
        return Failure(422, "invalid_request_error", "unavailable", answer.detail or REASONS["bad_request"])
    return None


async def _complete(model: Model, asked: ModelRequest) -> ModelResponse | Response:
    """Ask the model. What is no answer becomes the status and code that OpenAI's own endpoint would use."""
    try:
        answer = await run_in_threadpool(model.complete, asked)
    except OfficeTownError as error:
        return refused(failure_of(error))
    failure = unanswered(answer)
    return refused(failure) if failure else answer


def refused(failure: Failure, headers: Mapping[str, str] | None = None) -> Response:
    """Return the HTTP answer that tells a failure."""
    return Response(msgspec.json.encode(error_body(failure)), failure.status, headers, media_type=_JSON)


def error_body(failure: Failure) -> dict[str, Any]:
    """Return the body that tells a failure."""
    told = {"message": failure.message, "type": failure.kind, "param": None, "code": failure.code}
    return {"error": told}


def _json(value: Any, status: int = 200) -> Response:
    return Response(msgspec.json.encode(value), status, media_type=_JSON)


def _events(events: Iterable[dict[str, Any]], done: bool = False) -> Response:
    """Write server-sent events at once: the model has answered whole, there is nothing to wait for."""
    return Response(event_bytes(events, done), media_type="text/event-stream")


def event_bytes(events: Iterable[dict[str, Any]], done: bool = False) -> bytes:
    """Return server-sent events, each named by its type if it has one; `done` ends them as the chat wire does."""
    out = bytearray()
    for event in events:
        kind = event.get("type")
        out += (f"event: {kind}\n".encode() if kind else b"") + b"data: " + msgspec.json.encode(event) + b"\n\n"
    if done:
        out += b"data: [DONE]\n\n"
    return bytes(out)


class Served:
    """A running server. `url` is the base URL for clients, `/v1` included. `close` stops it and frees the port."""

    def __init__(self, url: str, server: uvicorn.Server, thread: threading.Thread, listener: socket.socket) -> None:
        self.url = url
        self._server = server
        self._thread = thread
        self._listener = listener

    def close(self) -> None:
        """Stop serving; answers under way are finished for two seconds at most."""
        self._server.should_exit = True
        self._thread.join(timeout=10)
        self._listener.close()

    def __enter__(self) -> Served:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def serve(
    model: Model,
    host: str = "127.0.0.1",
    port: int = 0,
    *,
    names: Iterable[str] = ("officetown",),
    now: Callable[[], float] = lambda: 0.0,
) -> Served:
    """Serve `model` from a thread of this process; port 0 takes a free one. Connections are accepted on return.

    Raises `UsageError` if the address cannot be used.
    """
    return listen(application(model, names, now), host, port)


def listen(app: FastAPI, host: str, port: int) -> Served:
    """Serve an application as `serve` does."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With the protocol named, asyncio turns Nagle's algorithm off: each answer would wait 40 ms for the client's ACK.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(256)
    except OSError as error:
        listener.close()
        raise UsageError(f"cannot serve at {host} port {port}: {error.strerror}; choose another --port") from error
    config = uvicorn.Config(
        app, log_config=None, access_log=False, lifespan="off", timeout_graceful_shutdown=2,
        server_header=False, date_header=False, loop="asyncio", http="h11", ws="none",
    )  # fmt: skip
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=([listener],), name="model-server", daemon=True)
    thread.start()
    bound = listener.getsockname()
    shown = f"[{bound[0]}]" if ":" in bound[0] else bound[0]
    return Served(f"http://{shown}:{bound[1]}/v1", server, thread, listener)
