"""A server on the loopback that misbehaves to order: whole answers, drips, cuts, silence, bytes that are no HTTP."""

from __future__ import annotations

import json
import socketserver
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any

from tests.models.cases import Case

Play = Callable[[str, dict[str, Any]], Case]
"""Says what to do with a request, given its wire (`chat` or `responses`) and body."""


class FaultServer:
    """Plays `play` for each request. `seen` keeps (path, headers, body) of each."""

    def __init__(self, play: Play) -> None:
        self.play = play
        self.seen: list[tuple[str, dict[str, str], dict[str, Any]]] = []
        self.hung = threading.Event()
        server = self

        class Handler(socketserver.StreamRequestHandler):
            disable_nagle_algorithm = True

            def handle(self) -> None:
                while server.answer(self):
                    pass

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True
            allow_reuse_address = True
            request_queue_size = 64

            def handle_error(self, request: Any, client_address: Any) -> None:
                """A client that gave up on a drip is part of the play."""

        self._server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def answer(self, handler: socketserver.StreamRequestHandler) -> bool:
        """Read one request and play its case; return whether the connection lives on."""
        line = handler.rfile.readline().decode("latin-1").split()
        if not line:
            return False
        headers: dict[str, str] = {}
        while (raw := handler.rfile.readline().strip()) != b"":
            name, _, value = raw.decode("latin-1").partition(":")
            headers[name.lower()] = value.strip()
        body = json.loads(handler.rfile.read(int(headers.get("content-length", "0"))) or b"{}")
        self.seen.append((line[1], headers, body))
        wire = "responses" if line[1].endswith("/responses") else "chat"
        case = self.play(wire, body)
        return self._write(handler, case, case.body(wire))

    def _write(self, handler: socketserver.StreamRequestHandler, case: Case, body: bytes) -> bool:
        head = f"HTTP/1.1 {case.status} Played\r\n" + "".join(f"{k}: {v}\r\n" for k, v in case.headers)
        out = handler.wfile
        if case.how in ("whole", "again"):
            out.write(head.encode() + f"content-length: {len(body)}\r\n\r\n".encode() + body)
            return True
        if case.how == "raw":
            out.write(body)
        elif case.how == "half_headers":
            out.write(head.encode()[:-8])
        elif case.how == "half_body":
            out.write(head.encode() + f"content-length: {len(body)}\r\n\r\n".encode() + body[: len(body) // 2])
        elif case.how == "half_chunk":
            out.write(head.encode() + b"transfer-encoding: chunked\r\n\r\n" + f"{len(body):x}\r\n".encode() + body[:9])
        elif case.how == "drip":
            out.write(head.encode() + b"content-length: 1000000000\r\n\r\n")
            while not self.hung.is_set():
                out.write(body)
        elif case.how == "hang":
            self.hung.wait(30)
        return False

    def __enter__(self) -> FaultServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.hung.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
