"""A small HTTP server on the loopback that answers faults on demand: the ground on which stand-ins are built.

A stand-in says what it answers (`answer`) and what it holds (`state`); this module gives it a socket, `GET /__state`,
`POST /__faults`, and faults: a status, a connection that drops before or after the request took effect, a slow answer.
"""

from __future__ import annotations

import argparse
import email.parser
import email.policy
import json
import socket
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal
from urllib.parse import parse_qsl, unquote, urlsplit

Kind = Literal["status", "drop", "drop_after", "slow"]


@dataclass(frozen=True)
class Request:
    """What arrived: `path` without its query, unquoted; header names in lower case."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """Return the body as JSON; an empty body is an empty object."""
        return json.loads(self.body) if self.body else {}


@dataclass(frozen=True)
class Response:
    """What is answered: `body` is bytes, or anything that JSON can say."""

    status: int = 200
    body: Any = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)

    def data(self) -> bytes:
        """Return the bytes to send."""
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()

    def media_type(self) -> str:
        """Return what those bytes are."""
        return "application/octet-stream" if isinstance(self.body, bytes) else "application/json"


@dataclass
class Fault:
    """What goes wrong: the next `count` requests whose path contains `match`, after `skip` of them went well.

    `status` answers `status`, `headers` and `body` and does nothing; `drop` closes the connection and does nothing;
    `drop_after` does what was asked and closes the connection; `slow` waits `seconds` first.
    """

    kind: Kind
    count: int = 1
    match: str = ""
    status: int = 500
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str = "<html>internal server error</html>"
    seconds: float = 0.0
    skip: int = 0


class Faults:
    """The faults that are still to come, in the order in which they were asked for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._plan: list[Fault] = []

    def plan(self, *faults: Fault) -> None:
        """Ask for faults."""
        with self._lock:
            self._plan.extend(faults)

    def clear(self) -> None:
        """Forget all faults that have not happened."""
        with self._lock:
            self._plan.clear()

    def take(self, path: str) -> Fault | None:
        """Return the fault for this request, and count it."""
        with self._lock:
            for fault in self._plan:
                if fault.match not in path:
                    continue
                if fault.skip > 0:
                    fault.skip -= 1
                    continue
                fault.count -= 1
                if fault.count <= 0:
                    self._plan.remove(fault)
                return fault
        return None

    @property
    def waiting(self) -> int:
        """How many plans are not used up."""
        with self._lock:
            return len(self._plan)


@dataclass(frozen=True)
class Exchange:
    """A request and what it was answered."""

    request: Request
    response: Response


class HttpStandIn:
    """A stand-in server: override `answer` and `state`. `with standin:` serves on a free port of the loopback."""

    name = "stand-in"

    def __init__(self) -> None:
        self.faults = Faults()
        self.exchanges: list[Exchange] = []
        self.lock = threading.RLock()
        self._server: ThreadingHTTPServer | None = None
        self._thread: threading.Thread | None = None
        self._port = 0

    def answer(self, request: Request) -> Response:
        """Return the answer to a request. Called under `lock`."""
        raise NotImplementedError

    def state(self) -> Any:
        """Return what this server holds, as JSON says it."""
        raise NotImplementedError

    @property
    def url(self) -> str:
        """The address to reach it at; stays the same over `stop` and `start`."""
        return f"http://127.0.0.1:{self._port}"

    def start(self, host: str = "127.0.0.1", port: int | None = None) -> None:
        """Serve in a thread; what it holds was kept over a stop."""
        self._server = _Server((host, self._port if port is None else port), _handler(self))
        self._port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop listening: connections are refused from now on."""
        if self._server is not None and self._thread is not None:
            self._server.shutdown()
            self._server.server_close()
            self._thread.join()
            self._server = self._thread = None

    def __enter__(self) -> HttpStandIn:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def asked(self, path: str) -> list[Exchange]:
        """Return the exchanges whose path contains that."""
        return [e for e in self.exchanges if path in e.request.path]

    def exchange(self, request: Request) -> tuple[Response, bool]:
        """Return the answer to a request, faults included, and whether the connection drops instead of giving it."""
        if request.path == "/__state":
            with self.lock:
                return Response(body=self.state()), False
        if request.path == "/__faults":
            self.faults.plan(*(Fault(**entry) for entry in request.json()))
            return Response(body={"planned": self.faults.waiting}), False
        fault = self.faults.take(request.path)
        if fault is not None and fault.kind == "slow":
            time.sleep(fault.seconds)
        elif fault is not None and fault.kind == "status":
            return Response(fault.status, fault.body.encode(), fault.headers), False
        elif fault is not None and fault.kind == "drop":
            return Response(), True
        with self.lock:
            response = self.answer(request)
            self.exchanges.append(Exchange(request, response))
        return response, fault is not None and fault.kind == "drop_after"


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        self._open: set[socket.socket] = set()
        self._guard = threading.Lock()
        super().__init__(address, handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._guard:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._guard:
            self._open.discard(request)
        super().shutdown_request(request)

    def server_close(self) -> None:
        """Close connections that are kept alive too: a server that stopped answers nobody."""
        super().server_close()
        with self._guard:
            for connection in self._open:
                with _quiet():
                    connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no news."""


class _quiet:  # noqa: N801 - reads as a word at its place
    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        return kind is not None and issubclass(kind, OSError)


def _handler(standin: HttpStandIn) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def _serve(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            split = urlsplit(self.path)
            headers = {name.lower(): value for name, value in self.headers.items()}
            query = dict(parse_qsl(split.query, keep_blank_values=True))
            request = Request(self.command, unquote(split.path), query, headers, self.rfile.read(length))
            response, drops = standin.exchange(request)
            if drops:
                self.close_connection = True
                with _quiet():
                    self.connection.shutdown(socket.SHUT_RDWR)
                return
            data = response.data()
            self.send_response(response.status)
            named = {name.lower() for name in response.headers}
            for name, value in response.headers.items():
                self.send_header(name, value)
            if "content-type" not in named:
                self.send_header("Content-Type", response.media_type())
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)

        do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = _serve  # noqa: N815 - the names http.server asks for

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing: tests read exchanges."""

    return Handler


def uploaded(request: Request, field: str) -> tuple[str, str, bytes]:
    """Return name, media type and bytes of a file in a multipart body; KeyError if there is none of that field."""
    head = f"Content-Type: {request.headers['content-type']}\r\n\r\n".encode()
    parsed = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(head + request.body)
    for part in parsed.iter_parts():
        if part.get_param("name", header="content-disposition") == field:
            data = part.get_payload(decode=True)
            return part.get_filename() or "file", part.get_content_type(), data if isinstance(data, bytes) else b""
    raise KeyError(field)


def serve(standin: HttpStandIn, arguments: Sequence[str] | None = None, default_port: int = 8000) -> None:
    """Serve a stand-in until the process is ended: `--host`, `--port`."""
    parser = argparse.ArgumentParser(description=f"A stand-in for {standin.name}; holds everything in memory.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=default_port)
    options = parser.parse_args(arguments)
    standin.start(options.host, options.port)
    print(f"{standin.name} stand-in at {options.host}:{options.port}", flush=True)
    threading.Event().wait()
