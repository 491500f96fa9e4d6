"""A proxy in front of any HTTP server, which fails on demand: by a status, by a broken connection, by taking long.

In a test: `with Proxy(server_url) as proxy: proxy.fail(500, times=2)`. By itself:
`python -m tests.carriers.standins.proxy --port N --target URL`; `POST /__faults` takes a list of faults as JSON, `GET
/__state` says what passed.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import socket
import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal, Self
from urllib.parse import urlsplit

Kind = Literal["status", "refuse", "drop", "slow"]
"""`status`: answered by the proxy, never passed on. `refuse`: the connection is broken before anything is passed on. `drop`:
passed on, done by the server, and the connection is broken before the answer. `slow`: passed on after `seconds`."""
_HOP = {
    "connection",
    "keep-alive",
    "transfer-encoding",
    "content-length",
    "proxy-connection",
    "te",
    "trailer",
    "upgrade",
}


@dataclass
class Fault:
    """One way to fail, for the next `times` requests of these `methods` (all, if none are named), `after` so many."""

    kind: Kind = "status"
    times: int = 1
    status: int = 500
    headers: dict[str, str] = field(default_factory=dict)
    body: str = "<html><body><h1>Something went wrong</h1></body></html>"
    methods: tuple[str, ...] = ()
    seconds: float = 30.0
    after: int = 0


class Proxy:
    """Passes requests on to `target`, but for the faults it was told."""

    def __init__(self, target: str, host: str = "127.0.0.1", port: int = 0) -> None:
        parts = urlsplit(target)
        self._target = (parts.hostname or "127.0.0.1", parts.port or 80)
        self._guard = threading.Lock()
        self._faults: list[Fault] = []
        self.passed: list[tuple[str, str, int]] = []
        """What the server answered: method, path, status."""
        self.failed: list[tuple[str, str, str]] = []
        """What did not get through: method, path, which fault."""
        self._released = threading.Event()
        self._server = _Server((host, port), _Handler)
        self._server.proxy = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), name="proxy", daemon=True)

    @property
    def url(self) -> str:
        """The address to ask instead of the server's."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def start(self) -> Self:
        """Begin to answer."""
        self._thread.start()
        return self

    def close(self) -> None:
        """Let go of whoever waits, and end."""
        self._released.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        self._server.hang_up()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- faults -------------------------------------------------------------------------------------------------------

    def add(self, fault: Fault) -> None:
        """Fail so, after what was asked for before."""
        with self._guard:
            self._faults.append(fault)

    def fail(self, status: int, times: int = 1, methods: Sequence[str] = (), **headers: str) -> None:
        """Answer with a status; `Retry_After="3"` makes a header."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.add(Fault("status", times, status, named, methods=tuple(methods)))

    def refuse(self, times: int = 1, methods: Sequence[str] = ()) -> None:
        """Break connections before anything is passed on."""
        self.add(Fault("refuse", times, methods=tuple(methods)))

    def drop(self, times: int = 1, methods: Sequence[str] = ()) -> None:
        """Break connections after the server did what was asked."""
        self.add(Fault("drop", times, methods=tuple(methods)))

    def slow(self, seconds: float, times: int = 1, methods: Sequence[str] = ()) -> None:
        """Keep requests back so long."""
        self.add(Fault("slow", times, methods=tuple(methods), seconds=seconds))

    def calm(self) -> None:
        """Forget all faults, and let go of whoever waits."""
        with self._guard:
            self._faults.clear()
        self._released.set()

    def take(self, method: str) -> Fault | None:
        """Return the fault that this request meets, and count it."""
        with self._guard:
            for fault in self._faults:
                if fault.methods and method not in fault.methods:
                    continue
                if fault.after > 0:
                    fault.after -= 1
                    return None
                fault.times -= 1
                if fault.times <= 0:
                    self._faults.remove(fault)
                return fault
        return None

    def wait(self, seconds: float) -> None:
        """Wait so long, or until the proxy is calmed."""
        self._released.wait(seconds)

    def note(self, method: str, path: str, outcome: int | str) -> None:
        """Remember what came of a request."""
        with self._guard:
            if isinstance(outcome, int):
                self.passed.append((method, path, outcome))
            else:
                self.failed.append((method, path, outcome))

    def state(self) -> dict[str, Any]:
        """Return what passed, what failed, and which faults are still to come."""
        with self._guard:
            return {
                "passed": list(self.passed),
                "failed": list(self.failed),
                "faults": [asdict(f) for f in self._faults],
            }

    def forward(
        self, method: str, path: str, headers: dict[str, str], body: bytes
    ) -> tuple[int, list[tuple[str, str]], bytes]:
        """Ask the server behind."""
        connection = http.client.HTTPConnection(*self._target, timeout=60)
        try:
            connection.request(method, path, body or None, headers)
            answer = connection.getresponse()
            return answer.status, [(k, v) for k, v in answer.getheaders() if k.lower() not in _HOP], answer.read()
        finally:
            connection.close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    proxy: Proxy

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        self._open: set[socket.socket] = set()
        super().__init__(address, handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def hang_up(self) -> None:
        """Break the connections that clients keep for their next request."""
        for request in list(self._open):
            with contextlib.suppress(OSError):
                request.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is part of the game."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else each answer waits for the other side to confirm its first half
    wbufsize = -1
    server: _Server

    def __getattr__(self, name: str) -> Callable[[], None]:
        if name.startswith("do_"):
            return self._answer
        raise AttributeError(name)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def _answer(self) -> None:
        proxy, method = self.server.proxy, self.command
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path == "/__state":
            self._reply(200, [("Content-Type", "application/json")], json.dumps(proxy.state()).encode())
            return
        if self.path == "/__faults":
            for fault in json.loads(body):
                proxy.add(Fault(**{**fault, "methods": tuple(fault.get("methods", ()))}))
            self._reply(204, [], b"")
            return
        fault = proxy.take(method)
        if fault is not None and fault.kind != "drop":
            proxy.note(method, self.path, fault.kind)
        if fault is not None and fault.kind == "status":
            self._reply(fault.status, [("Content-Type", "text/html"), *fault.headers.items()], fault.body.encode())
            return
        if fault is not None and fault.kind == "refuse":
            self._break()
            return
        if fault is not None and fault.kind == "slow":
            proxy.wait(fault.seconds)
        headers = {k: v for k, v in self.headers.items() if k.lower() not in _HOP}
        try:
            status, answered, data = proxy.forward(method, self.path, headers, body)
        except OSError:
            self._break()
            return
        if fault is not None and fault.kind == "drop":
            proxy.note(method, self.path, "drop")
            self._break()
            return
        proxy.note(method, self.path, status)
        self._reply(status, answered, data)

    def _reply(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        self.send_response_only(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(b"" if self.command == "HEAD" else body)
        self.wfile.flush()

    def _break(self) -> None:
        self.close_connection = True
        self.connection.close()


def main() -> None:
    """Run until told to end."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--target", required=True)
    arguments = parser.parse_args()
    with Proxy(arguments.target, arguments.host, arguments.port) as proxy:
        print(proxy.url, flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
