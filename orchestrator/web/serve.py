"""`serve`: the API (and the pages on top of it) over HTTP, until Ctrl-C; every office that runs stops at a commit."""

from __future__ import annotations

import gc
import ipaddress
import secrets
import socket
import threading
from collections.abc import Callable, Iterable

import uvicorn
from fastapi import FastAPI

from orchestrator.compose import House
from orchestrator.output import Out
from orchestrator.web.app import application, parts_for
from orchestrator.web.guard import is_loopback
from orchestrator.web.parts import Parts
from simulator.errors import InfrastructureError, UsageError

SHORTEST = 16
_BACKLOG = 256


def settle() -> None:
    """Take what is in memory now out of the garbage collector's rounds: an office's past stays, and is made of values.

    A round over the states of half a year stops every page for a tenth of a second and more.
    """
    gc.collect()
    gc.freeze()


class Served:
    """A running server. `url` is where it is, without a slash at the end."""

    def __init__(self, url: str, server: uvicorn.Server, listener: socket.socket) -> None:
        self.url = url
        self._server = server
        self._listener = listener
        self._thread = threading.Thread(target=server.run, args=([listener],), name="web", daemon=True)

    def start(self) -> Served:
        """Serve, in a thread of its own."""
        self._thread.start()
        return self

    def close(self) -> None:
        """Stop serving; answers under way are finished for two seconds at most."""
        self._server.should_exit = True
        self._thread.join(timeout=10)
        self._listener.close()


def listen(app: FastAPI, host: str, port: int) -> Served:
    """Return a server of `app`, bound and not yet started; port 0 takes a free one. Raises UsageError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With the protocol named, asyncio turns Nagle's algorithm off: each answer would wait 40 ms for the client's ACK.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise UsageError(f"cannot serve at {host} port {port}: {error.strerror}; choose another --port") from error
    config = uvicorn.Config(
        app, log_config=None, access_log=False, timeout_graceful_shutdown=2, server_header=False, loop="asyncio",
    )  # fmt: skip
    bound = listener.getsockname()
    shown = f"[{bound[0]}]" if ":" in bound[0] else bound[0]
    return Served(f"http://{shown}:{bound[1]}", uvicorn.Server(config), listener)


def serve(
    house: House, out: Out, host: str = "127.0.0.1", port: int = 8321, token: str = "",
    dress: Callable[[FastAPI, Parts], None] = lambda app, parts: None, names: Iterable[str] = (),
) -> dict[str, object]:  # fmt: skip
    """Serve until Ctrl-C or SIGTERM, then stop every running office at a commit; return what `--json` prints.

    Beyond the loopback a key is needed: `token`, or one that is made and printed. On the loopback one is needed where
    `token` or a name is given. `dress` puts pages onto the application; `names` are further host names under which it
    may be called, as behind a proxy. Raises UsageError for an unfit token or address, and InfrastructureError where an
    office had not stopped within two minutes.
    """
    local = is_loopback(host)
    if token and (len(token) < SHORTEST or not token.isascii() or not token.isprintable() or " " in token):
        raise UsageError(f"--token: at least {SHORTEST} letters, digits and signs, without spaces.")
    names = tuple(names)
    # A further name is a proxy's or a network's: whoever comes by it is not on this machine.
    key = token or ("" if local and not names else secrets.token_urlsafe(24))
    stopped = threading.Event()
    parts = parts_for(house, key, stopped.is_set, settle)
    app = application(parts, host, names if local else (socket.gethostname(), *names))
    dress(app, parts)
    with house.stop.heeding():
        served = listen(app, host, port).start()
        house.stop.tell(stopped.set)
        out.say(
            f"OfficeTown is at {_address(served.url)}; its API is documented at {_address(served.url)}/api/v1/openapi.json"
        )
        if key and not token:
            out.say(f"Its key, made for this time: {key}")
        out.say("Ctrl-C stops it, and every office that runs here at a commit.")
        stopped.wait()
        left = parts.town.close()
        served.close()
    out.result({"url": served.url, "stopped": not left})
    if left:
        raise InfrastructureError(
            f"These offices had not stopped within two minutes: {', '.join(left)}. What they committed is safe."
        )
    return {"url": served.url}


def _address(url: str) -> str:
    """Return an address that can be opened: `0.0.0.0` is none."""
    host = url.partition("//")[2].rpartition(":")[0].strip("[]")
    if ipaddress.ip_address(host).is_unspecified:
        return url.replace(f"[{host}]" if ":" in host else host, socket.gethostname())
    return url
