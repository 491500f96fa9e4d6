"""Container engines for tests: the real one, one that only pretends, and one that can be lost."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import socketserver
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from services.sandbox import engine, image
from simulator.errors import SandboxUnavailable

REAL = {name: value for name, value in os.environ.items() if name.startswith("DOCKER_")}
MUST = os.environ.get("OFFICETOWN_TEST_DOCKER") == "1"


def need_engine() -> None:
    """Skip where no engine or no image is, with the reason; fail where there must be one (OFFICETOWN_TEST_DOCKER=1)."""
    try:
        client = engine.connect(REAL)
        try:
            image.find(client, image.name())
        finally:
            client.close()
    except SandboxUnavailable as reason:
        if MUST:
            pytest.fail(f"OFFICETOWN_TEST_DOCKER=1, and yet: {reason}")
        pytest.skip(str(reason))


def wait_for(come_about: Callable[[], bool], within_s: float = 60) -> None:
    deadline = time.monotonic() + within_s
    while not come_about():
        assert time.monotonic() < deadline, f"it did not come about within {within_s} seconds"
        threading.Event().wait(0.01)


class _Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True


@contextlib.contextmanager
def pretending(folder: Path, answers: Mapping[str, tuple[int, Any]]) -> Iterator[dict[str, str]]:
    """An engine that answers by the end of the path, and 404 otherwise; yields the settings that name it."""

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            path = self.path.split("?")[0]
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            code, body = next((a for end, a in answers.items() if path.endswith(end)), (404, {"message": "no such thing"}))
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            if path.endswith("/build"):  # which the real one streams
                self.send_header("Transfer-Encoding", "chunked")
                data = b"%x\r\n%s\r\n0\r\n\r\n" % (len(data), data)
            else:
                self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_DELETE = _answer  # noqa: N815  # names that http.server looks for

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing: a test's output is its own."""

    path = folder / "engine.sock"
    with _Server(str(path), Handler) as server:
        worker = threading.Thread(target=server.serve_forever, args=(0.05,))
        worker.start()
        try:
            yield {"DOCKER_HOST": f"unix://{path}"}
        finally:
            server.shutdown()
            worker.join()


class Line:
    """A line to the real engine, which `cut` breaks as the engine's end or a lost network would."""

    def __init__(self, folder: Path) -> None:
        self.settings = {"DOCKER_HOST": f"unix://{folder / 'line.sock'}"}
        self._engine = "/" + REAL.get("DOCKER_HOST", engine.DEFAULT).removeprefix("unix://").lstrip("/")
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(folder / "line.sock"))
        self._listener.listen()
        self._cut = threading.Event()
        self._open: list[socket.socket] = []
        self._workers = [threading.Thread(target=self._accept)]
        self._workers[0].start()

    def cut(self) -> None:
        """Break every connection, and from now on each new one at once."""
        self._cut.set()
        _shut(*self._open)

    def close(self) -> None:
        """Take none any more."""
        self.cut()
        _shut(self._listener)
        for worker in list(self._workers):
            worker.join()
        for one in (self._listener, *self._open):
            one.close()

    def _accept(self) -> None:
        while True:
            try:
                here, _ = self._listener.accept()
            except OSError:
                return
            if self._cut.is_set():
                here.close()
                continue
            there = socket.socket(socket.AF_UNIX)
            there.connect(self._engine)
            self._open += [here, there]
            for one, other in ((here, there), (there, here)):
                worker = threading.Thread(target=self._carry, args=(one, other))
                self._workers.append(worker)
                worker.start()

    @staticmethod
    def _carry(one: socket.socket, other: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := one.recv(65536):
                other.sendall(data)
        with contextlib.suppress(OSError):
            other.shutdown(socket.SHUT_WR)


def _shut(*sockets: socket.socket) -> None:
    for one in sockets:
        with contextlib.suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
