"""A calendar server inside this process, on the loopback, so that Thunderbird can watch a laptop run (DESIGN 9).

Radicale answers; we only start it, give it the office's people, and close it. It keeps its calendars in a folder and needs
nothing else. A person sees and changes his own calendars alone.
"""

from __future__ import annotations

import contextlib
import logging
import re
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from socketserver import TCPServer, ThreadingMixIn
from types import TracebackType
from typing import Any, Self
from wsgiref.simple_server import WSGIServer

from radicale import config
from radicale.app import Application
from radicale.server import RequestHandler

from services.storage.wholefiles import write_whole
from simulator.carrying import Directory, staff_of
from simulator.errors import CarrierError, UsageError

_TIMEOUT = 30
_OWN = "[own]\nuser: .+\ncollection: {user}(/.*)?\npermissions: RrWw\n"
_ROOT = "[root]\nuser: .+\ncollection:\npermissions: R\n"
_USERNAME = re.compile(r"[a-z0-9._-]{1,64}")


class RadicaleServer:
    """A Radicale on `host`:`port` (port 0: any free one), its data below `folder`.

    `durable` False leaves out the fsync after each change, for tests. `start` and `close` may be called twice; `with` does
    both.
    """

    def __init__(self, folder: Path, *, host: str = "127.0.0.1", port: int = 0, durable: bool = True) -> None:
        self.folder = folder
        self._address = (host, port)
        self._durable = durable
        self._server: _Server | None = None
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        """Return the address of the running server."""
        if self._server is None:
            raise UsageError("The calendar server is not running: start it first.")
        host, port = self._server.server_address[:2]
        name = f"[{host!s}]" if ":" in str(host) else str(host)
        return f"http://{name}:{port}"

    def admit(self, people: Directory, password_of: Callable[[str], str]) -> None:
        """Let the staff of an office in, under their usernames, and nobody else. It may run meanwhile."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        lines = []
        for account in staff_of(people):
            password = password_of(account.username)
            if not _USERNAME.fullmatch(account.username) or not password or not password.isprintable():
                raise UsageError(
                    f"{account.username!r} cannot have an account: its name or password has other characters."
                )
            lines.append(f"{account.username}:{password}\n")
        write_whole(self.folder / "users", "".join(lines).encode())

    def start(self) -> Self:
        """Start answering.

        Raises:
            CarrierError: the address is taken, or the folder cannot be used.
        """
        if self._server is not None:
            return self
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not (self.folder / "users").exists():
            write_whole(self.folder / "users", b"")
        write_whole(self.folder / "rights", (_ROOT + _OWN).encode())
        logging.getLogger("radicale").setLevel(logging.CRITICAL)
        try:
            server = _Server(self._address)
        except OSError as fault:
            host, port = self._address
            raise CarrierError(
                f"The calendar server cannot listen on {host}:{port}: {fault.strerror}. Choose another port."
            ) from None
        try:
            server.set_app(Application(self._settings()))
        except (RuntimeError, ValueError, OSError) as fault:
            server.server_close()
            raise CarrierError(f"The calendar server cannot use {self.folder.name}: {fault}") from fault
        self._server = server
        self._thread = threading.Thread(target=server.serve_forever, args=(0.05,), name="radicale", daemon=True)
        self._thread.start()
        return self

    def close(self) -> None:
        """Stop: no new request is taken, those being answered are finished."""
        server, self._server = self._server, None
        if server is None or self._thread is None:
            return
        server.shutdown()
        self._thread.join()
        server.hang_up()
        server.server_close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _settings(self) -> config.Configuration:
        settings = config.load()
        settings.update(
            {
                "auth": {
                    "type": "htpasswd", "htpasswd_filename": str(self.folder / "users"), "htpasswd_encryption": "plain",
                    "htpasswd_cache": "True", "delay": "0",
                },
                "rights": {"type": "from_file", "file": str(self.folder / "rights")},
                "storage": {
                    "filesystem_folder": str(self.folder / "collections"),
                    "_filesystem_fsync": str(self._durable),
                },
                "server": {"max_connections": "100", "delay_on_error": "0"},
                "web": {"type": "none"},
                "logging": {"level": "critical"},
            },
            "OfficeTown",
            privileged=True,
        )  # fmt: skip
        return settings


class _Handler(RequestHandler):
    timeout = _TIMEOUT

    def log_error(self, format_: str, *args: Any) -> None:
        """Say nothing: who asked badly is told in the answer."""


class _Server(ThreadingMixIn, WSGIServer):
    """One thread a request; requests under way are waited for at the end."""

    daemon_threads = False
    block_on_close = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int]) -> None:
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        self._open: set[socket.socket] = set()
        self._guard = threading.Lock()
        super().__init__(address, _Handler)

    def server_bind(self) -> None:
        """Bind without asking a name server what this machine is called."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])
        self.setup_environ()

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._guard:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._guard:
            self._open.discard(request)
        super().shutdown_request(request)

    def hang_up(self) -> None:
        """End connections on which nobody says anything: what was asked already is still answered."""
        with self._guard:
            for request in self._open:
                with contextlib.suppress(OSError):
                    request.shutdown(socket.SHUT_RD)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A connection that breaks is its client's affair."""
