"""The door of the pages: who comes in, and what a browser may load while it is inside."""

from __future__ import annotations

from pathlib import Path

from starlette.responses import HTMLResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from orchestrator.web.caller import caller_of
from orchestrator.web.parts import Parts

PARTS = "officetown.parts"
STATIC = Path(__file__).parent / "static"
_POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self' ws: wss:; object-src 'none'; "
    "base-uri 'none'; frame-ancestors 'none'; form-action 'self'"
)
"""Nothing from elsewhere is ever loaded. What makes the page (Vue) compiles its templates, hence `unsafe-eval`."""
_NO_ANSWER = "No response returned."
_HEADERS = {
    b"content-security-policy": _POLICY.encode(),
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"no-referrer",
    b"x-frame-options": b"DENY",
}


class Door:
    """An ASGI application in front of the pages: without a key, where one is needed, there is only the sign-in."""

    def __init__(self, app: ASGIApp, parts: Parts) -> None:
        self._app = app
        self._parts = parts
        self._sign_in = (STATIC / "signin.html").read_text("utf-8")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let in, or show the sign-in."""
        scope[PARTS] = self._parts
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
        elif caller_of(scope) is not None:
            await _answered(self._app, scope, receive, send)
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008, "reason": "sign in first"})
        else:
            page = HTMLResponse(self._sign_in, 401)
            await page(scope, receive, _marked(send))


async def _answered(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    """Have a request answered; one whose sender went away meanwhile, as a closed tab does, needs no answer and is no fault."""
    gone = False

    async def listening() -> Message:
        nonlocal gone
        message = await receive()
        gone = gone or message["type"] == "http.disconnect"
        return message

    try:
        await app(scope, listening, _marked(send))
    except RuntimeError as fault:
        # What a middleware of the framework says then; there is no class for it.
        if not gone or str(fault) != _NO_ANSWER:
            raise


def _marked(send: Send) -> Send:
    async def marked(message: Message) -> None:
        if message["type"] == "http.response.start":
            had = {name.lower() for name, _ in message["headers"]}
            message["headers"] = [*message["headers"], *((n, v) for n, v in _HEADERS.items() if n not in had)]
        await send(message)

    return marked
