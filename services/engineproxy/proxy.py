"""The proxy itself: reads a request, decides, and passes on what it wrote anew.

A connection carries one request. Where the engine takes a connection over for a container's streams, bytes are then
passed on both ways as they are, each direction ending by itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import io
import json
import os
import re
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from services.engineproxy import bodies, rules, wire
from services.engineproxy.bodies import Policy
from services.engineproxy.wire import Refused, Request

CONNECTIONS = 512
_REQUEST_S = 30.0
_CONNECT_S = 10.0
_ANSWER_S = 60.0
_LINGER_S = 2.0
_ANSWER_BYTES = 8 << 20
_STREAMS = frozenset({"application/vnd.docker.raw-stream", "application/vnd.docker.multiplexed-stream"})
_REASONS = {200: "OK", 400: "Bad Request", 403: "Forbidden", 404: "Not Found", 413: "Content Too Large", 431: "Header Too Large",
            502: "Bad Gateway", 503: "Service Unavailable"}  # fmt: skip
_FILTERS = frozenset({"label", "status", "id", "name", "exited", "ancestor"})
# What a client has to know to say whether sandboxes can be held here; the rest is the machine's own business.
_INFO = ("ServerVersion", "OSType", "Architecture", "CgroupDriver", "CgroupVersion", "CpuCfsPeriod", "CpuCfsQuota",
         "MemoryLimit", "PidsLimit", "SwapLimit", "SecurityOptions", "NCPU", "MemTotal")  # fmt: skip
_GONE = (ConnectionError, asyncio.IncompleteReadError, BrokenPipeError)

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class _Told(Exception):
    """An answer that ends the request: the engine's own to a question of the proxy, or what of it is passed on."""

    def __init__(self, status: int, body: bytes) -> None:
        super().__init__(status)
        self.status = status
        self.body = body


class Proxy:
    """Passes on to the engine's socket at `engine` what `policy` allows; `say` is told each refusal in one line."""

    def __init__(self, engine: Path, policy: Policy, say: Callable[[str], None]) -> None:
        self._engine = engine
        self._policy = policy
        self._say = say
        # A stream where nothing moves is held by nothing but its task, and the loop holds tasks weakly.
        self._open: set[asyncio.Task[Any]] = set()

    @contextlib.asynccontextmanager
    async def listening(self, path: Path) -> AsyncIterator[asyncio.Server]:
        """Listen at a socket that this user and its group may use, in the place of one left behind."""
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
        before = os.umask(0o117)
        try:
            server = await asyncio.start_unix_server(self._client, path, limit=wire.HEAD_BYTES)
        finally:
            os.umask(before)
        try:
            yield server
        finally:
            server.close()
            for task in list(self._open):
                task.cancel()
            await asyncio.gather(*self._open, return_exceptions=True)
            await server.wait_closed()

    # -- one connection -----------------------------------------------------------------------------------------------

    async def _client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            await self._answer(reader, writer)
        except _GONE:
            pass  # whoever asked has left; there is nobody to tell
        finally:
            await _close(writer)
            self._open.discard(task)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request: Request | None = None
        try:
            if len(self._open) > CONNECTIONS:
                raise Refused(f"More than {CONNECTIONS} connections at once.", 503)
            async with asyncio.timeout(_REQUEST_S):
                head = await wire.read_head(reader)
                if not head:
                    return
                request = wire.parse_head(head)
                rule, names = rules.find(request)
                body = await wire.read_body(request, reader)
            if body and not rule.body:
                raise Refused("A body is not allowed here.")
            await self._pass_on(request, rule, names, body, (reader, writer))
        except Refused as refusal:
            asked = f"{request.method} {request.path}" if request else "a request"
            self._say(f"refused {asked[:200]}: {refusal.sentence}")
            await _tell(reader, writer, refusal.status, refusal.sentence)
        except _Told as told:
            await _write(reader, writer, told.status, told.body)
        except TimeoutError:
            await _tell(reader, writer, 502, "Waited too long: for the request, or for the engine.")
        except OSError as error:
            if isinstance(error, _GONE):
                raise
            await _tell(reader, writer, 502, f"The container engine cannot be reached: {error.strerror or error}.")

    async def _pass_on(
        self, request: Request, rule: rules.Rule, names: dict[str, str], body: bytes, client: Streams
    ) -> None:
        path, query = request.path, dict(request.query)
        if rule.kind == "info":
            about = await self._ask("/info")
            raise _Told(200, json.dumps({key: about[key] for key in _INFO if key in about}).encode())
        if rule.kind == "image":
            await self._image(names["image"])
        elif rule.kind == "images":
            query["filters"] = json.dumps({"reference": [self._policy.image]})
        elif rule.kind == "list":
            query["filters"] = self._filters(query.get("filters", ""))
        elif rule.kind == "create":
            value = bodies.parse(body)
            value["Image"] = await self._image(bodies.check_create(value, self._policy))
            body = bodies.encode(value)
        elif rule.kind in ("container", "attach", "exec"):
            path = path.replace(names["name"], await self._container(names["name"]), 1)
            if rule.kind == "exec":
                value = bodies.parse(body)
                bodies.check_exec(value)
                body = bodies.encode(value)
        elif rule.kind in ("exec start", "exec inspect"):
            job = await self._ask(f"/exec/{names['job']}/json")
            await self._container(str(job.get("ContainerID", "")))
            if rule.kind == "exec start":
                value = bodies.parse(body or b"{}")
                bodies.check_exec_start(value)
                body = bodies.encode(value)
        streams = rule.kind in ("attach", "exec start")
        written = wire.request_bytes(
            request.method, request.version + path, query, body, upgrade=streams and request.upgrades
        )
        await self._exchange(written, streams, client)

    def _filters(self, given: str) -> str:
        """Return the filters of a list with the mark of ours among them: all labels named have to be there."""
        wanted = bodies.parse(given.encode()) if given else {}
        if not set(wanted) <= _FILTERS or not all(
            isinstance(v, list) and all(isinstance(each, str) for each in v) for v in wanted.values()
        ):
            raise Refused("Such a filter is not known here.")
        return json.dumps(wanted | {"label": [*wanted.get("label", []), self._policy.label]})

    async def _image(self, name: str) -> str:
        """Return the id of an image that is the assistant's. Raises Refused for another."""
        repository = self._policy.image
        if not re.fullmatch(
            rf"{re.escape(repository)}(:[\w.-]+|@sha256:[0-9a-f]{{64}})|(sha256:)?[0-9a-f]{{64}}", name, re.A
        ):
            raise Refused(f"Sandboxes are made from {repository} alone.")
        found = await self._ask(f"/images/{name}/json")
        named = [*(found.get("RepoTags") or ()), *(found.get("RepoDigests") or ())]
        if not any(str(each).startswith((f"{repository}:", f"{repository}@")) for each in named):
            raise Refused(f"Sandboxes are made from {repository} alone.")
        return str(found["Id"])

    async def _container(self, name: str) -> str:
        """Return the id of a container of ours by its name or id. Raises Refused for another's."""
        found = await self._ask(f"/containers/{name}/json")
        identity = str(found.get("Id", ""))
        if not self._policy.ours(found.get("Config", {}).get("Labels")) or not re.fullmatch(r"[0-9a-f]{64}", identity):
            raise Refused("That container is no sandbox of this office.")
        return identity

    # -- the engine ---------------------------------------------------------------------------------------------------

    async def _connect(self) -> Streams:
        async with asyncio.timeout(_CONNECT_S):
            return await asyncio.open_unix_connection(self._engine, limit=1 << 16)

    async def _ask(self, path: str) -> dict[str, Any]:
        """Ask the engine a question of the proxy's own; raise _Told with its answer if that is no good news."""
        reader, writer = await self._connect()
        try:
            async with asyncio.timeout(_ANSWER_S):
                writer.write(wire.request_bytes("GET", path, {}))
                await writer.drain()
                raw = await reader.read(_ANSWER_BYTES)
                while len(raw) < _ANSWER_BYTES and (more := await reader.read(_ANSWER_BYTES)):
                    raw += more
        finally:
            await _close(writer)
        status, body = _parse(raw)
        if status != 200:
            raise _Told(status, body)
        try:
            answer = json.loads(body)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            raise Refused("The container engine's answer cannot be read.", 502)
        return answer

    async def _exchange(self, written: bytes, streams: bool, client: Streams) -> None:
        reader, writer = await self._connect()
        try:
            writer.write(written)
            await writer.drain()
            both = False
            if streams:
                async with asyncio.timeout(_ANSWER_S):
                    head = await reader.readuntil(b"\r\n\r\n")
                client[1].write(head)
                both = _taken_over(head)
            await _copy((reader, writer), client, both)
        finally:
            await _close(writer)


async def _copy(engine: Streams, client: Streams, both: bool) -> None:
    """Pass on the engine's bytes until its end, and the client's too where a stream was taken over.

    Otherwise what the client sends after its request is dropped, and its leaving ends the request.
    """
    down = asyncio.create_task(_pump(engine[0], client[1]))
    up = asyncio.create_task(_pump(client[0], engine[1]) if both else _drop(client[0]))
    try:
        done, _ = await asyncio.wait({down, up}, return_when=asyncio.FIRST_COMPLETED)
        if up in done and down not in done and both and up.exception() is None:
            await asyncio.wait({down})
        for task in (up, down):
            if task.done():
                task.result()
    finally:
        for task in (up, down):
            task.cancel()
        await asyncio.gather(up, down, return_exceptions=True)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(1 << 16):
        writer.write(data)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()


async def _drop(reader: asyncio.StreamReader) -> None:
    while await reader.read(1 << 16):
        pass


def _taken_over(head: bytes) -> bool:
    """Whether the engine's answer to a request for a stream makes the connection one."""
    lines = head.decode("latin-1").split("\r\n")
    status = lines[0].split(" ")[1] if lines[0].count(" ") else ""
    kinds = {value.partition(";")[0].strip().lower() for name, _, value in (line.partition(":") for line in lines[1:])
             if name.strip().lower() == "content-type"}  # fmt: skip
    return status == "101" or (status == "200" and bool(kinds & _STREAMS))


class _Bytes(io.BytesIO):
    """Bytes that the standard library's reader of answers takes for a socket."""

    def makefile(self, _mode: str) -> _Bytes:
        return self


def _parse(raw: bytes) -> tuple[int, bytes]:
    """Return an answer's status and body. Raises Refused with 502 where it is none."""
    response = http.client.HTTPResponse(_Bytes(raw))  # type: ignore[arg-type]
    try:
        response.begin()
        return response.status, response.read()
    except (http.client.HTTPException, ValueError) as error:
        raise Refused("The container engine's answer cannot be read.", 502) from error


async def _tell(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, status: int, sentence: str) -> None:
    await _write(reader, writer, status, json.dumps({"message": f"engine proxy: {sentence}"}).encode())


async def _write(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, status: int, body: bytes) -> None:
    """Answer, and read on for a moment: closing on a client that still speaks would take the answer from it."""
    reason = _REASONS.get(status, "Error")
    head = f"HTTP/1.1 {status} {reason}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    writer.write(head.encode("ascii") + body)
    await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_LINGER_S):
            await _drop(reader)


async def _close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    try:
        async with asyncio.timeout(_LINGER_S):
            await writer.wait_closed()
    except OSError:  # among them TimeoutError: what the other side does not take is not kept for it
        writer.transport.abort()
