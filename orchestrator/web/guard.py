"""The door of the web side: which host is meant, where a call comes from, whose key it brings.

A page of another site, or a name that was made to point at this machine (DNS rebinding), gets nothing and changes nothing.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from http.cookies import CookieError, SimpleCookie
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from orchestrator.web.caller import known
from orchestrator.web.errors import answer
from orchestrator.web.keys import Keys

COOKIE = "officetown_key"
OPEN_PATHS = ("/api/v1/session",)
"""What may be asked without a key: to hand one in."""
_SAFE = ("GET", "HEAD", "OPTIONS")
_HEADERS = {
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"no-referrer",
    b"cache-control": b"no-store",
    b"cross-origin-resource-policy": b"same-origin",
}


def is_loopback(host: str) -> bool:
    """Whether an address or name is this machine and nobody else's way to it."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Hosts:
    """The names under which this server may be called. An address in digits cannot have been rebound by any DNS."""

    def __init__(self, bound: str, more: Iterable[str] = ()) -> None:
        self._loopback = is_loopback(bound)
        self._names = {"localhost", bound.lower(), *(name.lower() for name in more)}

    def allows(self, header: str) -> bool:
        """Whether a Host header names this server."""
        try:
            host = (urlsplit(f"//{header}").hostname or "").lower()
        except ValueError:
            return False
        if host in self._names:
            return True
        try:
            address = ipaddress.ip_address(host)
        except ValueError:
            return False
        return address.is_loopback if self._loopback else True


class Guard:
    """An ASGI application in front of another. Only paths below `/api/` need a key; pages ask for it themselves."""

    def __init__(self, app: ASGIApp, keys: Keys, hosts: Hosts) -> None:
        self._app = app
        self._keys = keys
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse, or pass on with the caller noted."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        refused = self._refused(scope, headers)
        if refused is not None:
            if scope["type"] == "websocket":
                await receive()
                await send({"type": "websocket.close", "code": 1008, "reason": refused[2][:120]})
            else:
                await answer(*refused, headers=_challenge(refused[0]))(scope, receive, _marked(send))
            return
        await self._app(scope, receive, _marked(send) if scope.get("path", "").startswith("/api/") else send)

    def _refused(self, scope: Scope, headers: Headers) -> tuple[int, str, str] | None:
        """Return status, code and words of a refusal; None where the call may go on."""
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self._hosts.allows(hosts[0]):
            return 421, "host", "This server is not called that. Use the address that it printed when it started."
        if (scope["type"] == "websocket" or scope["method"] not in _SAFE) and not _same_site(headers, hosts[0]):
            return 403, "origin", "A page of another site asked for this; it is refused."
        caller = self._keys.caller(key_of(headers))
        if caller is None and "authorization" not in headers:
            # A cookie of an earlier time opens nothing, and closes nothing that is open to everybody here.
            caller = self._keys.caller(None)
        if caller is not None:
            known(scope, caller)
        elif scope.get("path", "").startswith("/api/") and scope["path"] not in OPEN_PATHS:
            return 401, "key", "This needs a key: send it as `Authorization: Bearer KEY`."
        return None


def key_of(headers: Headers) -> str | None:
    """Return the key that a call brings: in its Authorization header, else in the cookie that a browser was given."""
    given = headers.get("authorization")
    if given is not None:
        scheme, _, key = given.partition(" ")
        return key.strip() if scheme.lower() == "bearer" and key.strip() else "\x00 of another scheme"
    try:
        morsel = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return None
    return morsel.value if morsel is not None else None


def _same_site(headers: Headers, host: str) -> bool:
    """Whether a call that changes something comes from this server's own pages, or from no browser at all."""
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return False
    origin = headers.get("origin")
    if origin is None:
        return True
    try:
        return urlsplit(origin).netloc.lower() == host.lower() and bool(host)
    except ValueError:
        return False


def _challenge(status: int) -> dict[str, str]:
    return {"www-authenticate": 'Bearer realm="OfficeTown"'} if status == 401 else {}


def _marked(send: Send) -> Send:
    """Return a `send` that adds the headers every answer of the API has."""

    async def marked(message: Message) -> None:
        if message["type"] == "http.response.start":
            had = {name.lower() for name, _ in message["headers"]}
            message["headers"] = [*message["headers"], *((n, v) for n, v in _HEADERS.items() if n not in had)]
        await send(message)

    return marked
