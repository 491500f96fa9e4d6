"""The gateway's HTTP side: chat completions, responses and models, for one session or several.

    with gateway(model, "assistant", Path("run.json"), turns=30) as gate:
        ... an agent with the base URL gate.url ...
    gate.turns, gate.trajectory()

A session is named by the path (`/s/NAME/v1/...`) or by the API key (`session:NAME`); without a name it is `main`.
"""

from __future__ import annotations

import asyncio
import re
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Any

import anyio
import anyio.to_thread
import msgspec
from fastapi import FastAPI, Request, Response
from fastapi.responses import StreamingResponse
from starlette.requests import ClientDisconnect

from services.gateway import atif
from services.gateway.asking import Asking, read
from services.gateway.recorder import Recorder, Totals
from services.gateway.sessions import Session, TrajectoryFile
from services.models import openai_bodies as bodies
from services.models.endpoint import Wire
from services.models.http_server import Failure, Served, error_body, event_bytes, listen, read_object, refused
from services.models.ledger import Ledger
from simulator.conversation import ModelResponse, Role
from simulator.errors import OfficeTownError, UsageError
from simulator.ports import Model

MAIN = "main"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_KEY = "session:"
_MOST_SESSIONS = 1000
_STOP = {"x-should-retry": "false"}
"""What the openai packages take for "do not ask again"; without it they retry a 429 and a 503 by themselves."""


class Options(msgspec.Struct, frozen=True):
    """How a gateway behaves.

    `over` is the status of a call beyond the turn budget: 402 makes agents stop; some harnesses want 429. `max_output`
    is the limit of an answer where the agent names none, in tokens. With `open_sessions` an agent may name sessions
    that were not opened before, each with a turn budget of its own: only for agents that are trusted with that. A
    stream that waited `quiet_s` seconds begins with comments, so that clients do not give up; `at_once` bounds how many
    calls are with the model at one time.
    """

    over: int = 402
    max_output: int = 16_384
    open_sessions: bool = False
    quiet_s: float = 15.0
    at_once: int = 64
    agent_version: str = "unknown"
    model_name: str = ""
    currency: str = ""


class Gateway:
    """A running gateway. `url` is the base URL of its main session, `/v1` included. Thread-safe."""

    def __init__(
        self, model: Model, role: Role, out: Path, turns: int | None, agent_name: str, options: Options,
        ledger: Ledger, now: Callable[[], float],
    ) -> None:  # fmt: skip
        self._model = model
        self._role: Role = role
        self._out = out
        self._turns = turns
        self._agent = atif.Agent(agent_name, options.agent_version, options.model_name or None)
        self.options = options
        self.ledger = ledger
        self._now = now
        self._sessions: dict[str, Session] = {}
        self._lock = threading.Lock()
        self._served: Served | None = None
        self._calls = 0
        self.open(MAIN)

    @property
    def url(self) -> str:
        """Base URL of the main session."""
        assert self._served is not None
        return self._served.url

    @property
    def turns(self) -> int:
        """Turns used in the main session: model calls answered, and those under way."""
        return self.session(MAIN).totals.turns

    @property
    def totals(self) -> Totals:
        """What the main session used."""
        return self.session(MAIN).totals

    @property
    def path(self) -> Path:
        """The main session's trajectory file; it is there once a request came."""
        return self.session(MAIN).path

    def trajectory(self, name: str = MAIN) -> atif.Trajectory:
        """Return a session's trajectory so far. It is valid once a request came."""
        return self.session(name).trajectory()

    def open(self, name: str, turns: int | None = None) -> str:
        """Open a session, with a turn budget of its own if one is given; return its base URL.

        Its file lies beside the main one: `run.json`, `run.NAME.json`. Raises `UsageError` for an unfit name.
        """
        if not _NAME.fullmatch(name):
            raise UsageError(
                f"a session's name is up to 64 letters, digits, dots, hyphens and underscores, not {name!r}"
            )
        with self._lock:
            if name not in self._sessions:
                if len(self._sessions) >= _MOST_SESSIONS:
                    raise UsageError(f"there are {_MOST_SESSIONS} sessions already; start another gateway")
                self._sessions[name] = self._new(name, turns if turns is not None else self._turns)
        return "" if self._served is None else self.url.removesuffix("/v1") + f"/s/{name}/v1"

    def session(self, name: str) -> Session:
        """Return a session. Raises `UsageError` if it is not open and agents may not open any."""
        with self._lock:
            session = self._sessions.get(name)
        if session is None and self.options.open_sessions:
            self.open(name)
            with self._lock:
                session = self._sessions[name]
        if session is None:
            raise UsageError(f"there is no session {name[:64]!r} here")
        return session

    def sessions(self) -> tuple[str, ...]:
        """Return the names of the open sessions."""
        with self._lock:
            return tuple(sorted(self._sessions))

    def close(self) -> None:
        """Stop serving and let the files go; answers under way are waited for, for a few seconds."""
        if self._served is not None:
            self._served.close()
        for name in self.sessions():
            self._sessions[name].close()

    def read(self, wire: Wire, body: dict[str, Any], session: Session) -> Asking:
        """Read a request of a session."""
        return read(wire, body, self._role, session.name, self.options.max_output)

    def models(self) -> dict[str, Any]:
        """Return the list of models: the one behind this gateway."""
        name = self._agent.model_name or "officetown"
        return {"object": "list", "data": [{"id": name, "object": "model", "created": 0, "owned_by": "officetown"}]}

    def next_call(self) -> tuple[int, int]:
        """Return a number for an answer's id, and wall time in whole seconds."""
        with self._lock:
            self._calls += 1
            return self._calls, int(self._now())

    def serve(self, host: str, port: int) -> None:
        """Begin to serve."""
        self._served = listen(application(self), host, port)

    def _new(self, name: str, turns: int | None) -> Session:
        path = self._out if name == MAIN else self._out.with_name(f"{self._out.stem}.{name}{self._out.suffix}")
        recorder = Recorder(name, self._role, self._agent, self._now, self.options.currency)
        file = TrajectoryFile(path)
        try:
            return Session(self._model, recorder, file, self.ledger, turns, self.options.over)
        except OfficeTownError:
            file.close()
            raise

    def __enter__(self) -> Gateway:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def gateway(
    model: Model,
    role: Role,
    out: Path,
    turns: int | None = None,
    agent_name: str = "agent",
    host: str = "127.0.0.1",
    port: int = 0,
    *,
    options: Options | None = None,
    ledger: Ledger | None = None,
    now: Callable[[], float] = time.time,
) -> Gateway:
    """Serve `model` to a foreign agent from a thread of this process; connections are accepted on return.

    `out` is the trajectory file of the main session; one that is there from before is gone on with, its turns counted.
    `turns` is the most model calls of a session, or None; port 0 takes a free one. Each call is noted in `ledger`, so
    `model` needs none of its own; a money budget belongs into `model` (`connect(..., budget=...)`).

    Raises `UsageError` for an address or a file that cannot be used, `OfficeBusy` if another gateway writes the file.
    """
    if turns is not None and turns < 0:
        raise UsageError(f"a turn budget of {turns}: it must be at least 0")
    if not agent_name.isprintable() or not agent_name.strip():
        raise UsageError("the agent's name must be printable")
    if out.is_dir() or not out.name:
        raise UsageError(f"{out} is a folder; name a file for the trajectory, such as {out / 'trajectory.json'}")
    made = Gateway(model, role, out, turns, agent_name, options or Options(), ledger or Ledger(), now)
    try:
        made.serve(host, port)
    except UsageError:
        made.close()
        raise
    return made


def run(gate: Gateway, say: Callable[[str], None], stopped: threading.Event) -> None:
    """Say where the gateway is, wait until `stopped` is set, close it, and say what each session used.

    This is the command `officetown gateway`; signals and settings are its caller's.
    """
    say(f"Serving at {gate.url}; the trajectory is {gate.path}")
    try:
        stopped.wait()
    finally:
        gate.close()
        for name in gate.sessions():
            used = gate.session(name).totals
            say(
                f"Session {name}: {used.turns} turns, {used.usage.input} tokens in ({used.usage.cached} cached), "
                f"{used.usage.output} out"
            )


def application(gate: Gateway) -> FastAPI:
    """Return the web application of a gateway."""
    app = FastAPI(title="OfficeTown gateway", docs_url=None, redoc_url=None, openapi_url=None)
    limiter = anyio.CapacityLimiter(gate.options.at_once)
    running: set[asyncio.Task[ModelResponse | Failure]] = set()

    async def answer(wire: Wire, request: Request, name: str | None) -> Response:
        session = await anyio.to_thread.run_sync(gate.session, name or _session_of(request))
        asking = gate.read(wire, await read_object(request), session)
        # A task of its own: an agent that hangs up does not end the call, whose answer is paid for and recorded.
        task = asyncio.ensure_future(
            anyio.to_thread.run_sync(session.ask, asking.request, asking.ignored, limiter=limiter)
        )
        running.add(task)
        task.add_done_callback(running.discard)
        if asking.stream:
            await asyncio.wait({task}, timeout=gate.options.quiet_s)
            if not task.done():
                return StreamingResponse(_late(gate, wire, asking, task), media_type="text/event-stream")
        result = await asyncio.shield(task)
        if isinstance(result, Failure):
            return refused(result, _STOP if result.status in (gate.options.over, 402, 501) else None)
        if asking.stream:
            return Response(_told(gate, wire, asking, result), media_type="text/event-stream")
        return Response(msgspec.json.encode(_whole(gate, wire, result)), media_type="application/json")

    @app.get("/v1/models")
    @app.get("/s/{name}/v1/models")
    def models(name: str = "") -> Response:
        if name:
            gate.session(name)
        return Response(msgspec.json.encode(gate.models()), media_type="application/json")

    @app.post("/v1/chat/completions")
    @app.post("/s/{name}/v1/chat/completions")
    async def chat(request: Request, name: str = "") -> Response:
        return await answer("chat", request, name)

    @app.post("/v1/responses")
    @app.post("/s/{name}/v1/responses")
    async def responses(request: Request, name: str = "") -> Response:
        return await answer("responses", request, name)

    @app.exception_handler(UsageError)
    async def wrong_call(_request: Request, error: Exception) -> Response:
        return refused(Failure(400, "invalid_request_error", "invalid_request", str(error)))

    @app.exception_handler(OfficeTownError)
    async def cannot(_request: Request, error: Exception) -> Response:
        return refused(Failure(500, "server_error", "gateway_failed", str(error)))

    @app.exception_handler(ClientDisconnect)
    async def gone(_request: Request, _error: Exception) -> Response:
        return Response(status_code=499)

    return app


def _session_of(request: Request) -> str:
    """Return the session that the API key names, or the main one."""
    key = request.headers.get("authorization", "").partition(" ")[2].strip()
    return key.removeprefix(_KEY) if key.startswith(_KEY) else MAIN


def _whole(gate: Gateway, wire: Wire, result: ModelResponse) -> dict[str, Any]:
    number, created = gate.next_call()
    write = bodies.responses_answer if wire == "responses" else bodies.chat_answer
    return write(result, number, created)


def _told(gate: Gateway, wire: Wire, asking: Asking, result: ModelResponse) -> bytes:
    """Return an answer as server-sent events."""
    if wire == "responses":
        return event_bytes(bodies.responses_events(_whole(gate, wire, result)))
    number, created = gate.next_call()
    chunks: Iterable[dict[str, Any]] = bodies.chat_chunks(result, number, created)
    if not asking.usage_in_stream:
        # Unasked, the chunk without choices breaks clients that look at the first choice of each.
        chunks = [chunk for chunk in chunks if chunk["choices"]]
    return event_bytes(chunks, done=True)


async def _late(
    gate: Gateway, wire: Wire, asking: Asking, task: asyncio.Task[ModelResponse | Failure]
) -> AsyncIterator[bytes]:
    """Yield comments until the answer is there, then the answer; a failure comes as an event, the status being sent."""
    while not task.done():
        yield b": waiting for the model\n\n"
        await asyncio.wait({task}, timeout=gate.options.quiet_s)
    result = task.result()
    if isinstance(result, ModelResponse):
        yield _told(gate, wire, asking, result)
        return
    error = error_body(result)
    if wire == "chat":
        yield event_bytes([error])
        return
    number, created = gate.next_call()
    failed = {
        **bodies.responses_answer(ModelResponse(), number, created),
        "status": "failed", "output": [], "usage": None, "error": {"code": result.code, "message": result.message},
    }  # fmt: skip
    ended = {"type": "response.failed", "sequence_number": 0, "response": failed}
    told = {"type": "error", "sequence_number": 1, "code": result.code, "message": result.message, "param": None}
    yield event_bytes([ended, {**told, **error}])
