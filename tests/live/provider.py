"""A provider on the loopback: the offline professional behind an account that bills every call, and faults in front.

`Provider` is the model and the account; `Faults` draws what goes wrong; `provide` serves both over real HTTP.
"""

from __future__ import annotations

import hashlib
import json
import random
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import msgspec
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from services.models.endpoint import Prices
from services.models.http_server import Served, application, listen
from services.offline import OfflineProfessional
from simulator.conversation import ModelRequest, ModelResponse, Usage
from simulator.ports import Model

PRICES = Prices(input=10_000_000, output=1_000_000)
"""Money in millionths per million tokens. Input is dear, as what a call's worst case knows exactly is its input."""
PRICED = {"OFFICETOWN_MODEL_PRICE_INPUT": "10", "OFFICETOWN_MODEL_PRICE_OUTPUT": "1"}

Call = tuple[str, int]


class Provider:
    """Answers as the offline professional does, a token being a byte, and keeps the account of it.

    `billed` is money by call, every answer computed being billed, whatever becomes of it on the way. `lost` says which
    requests are refused for good. Requests for a call in `stored` are kept in `repeated`. `on_billed` hears each bill.
    """

    def __init__(
        self,
        *,
        inner: Model | None = None,
        lost: Callable[[ModelRequest], bool] = lambda _request: False,
        on_billed: Callable[[Call], None] = lambda _call: None,
    ) -> None:
        self._inner = inner or OfflineProfessional()
        self._lost = lost
        self._on_billed = on_billed
        self._changed = threading.Condition()
        self._flying = 0
        self.asked = 0
        self.most_at_once = 0
        self.refused: list[Call] = []
        self.begin_account()

    def begin_account(self) -> None:
        """Forget what was billed and stored: the next office begins."""
        self.billed: Counter[Call] = Counter()
        self.answers = 0
        self.stored: frozenset[Call] = frozenset()
        self.repeated: list[Call] = []

    @property
    def money(self) -> int:
        """All that was billed, in millionths."""
        return self.billed.total()

    def complete(self, request: ModelRequest) -> ModelResponse:
        """Answer and bill, or refuse for good."""
        with self._changed:
            self._flying += 1
            self.asked += 1
            self._changed.notify_all()
            self.most_at_once = max(self.most_at_once, self._flying)
            if request.call in self.stored:
                self.repeated.append(request.call)
        try:
            if self._lost(request):
                self.refused.append(request.call)
                return ModelResponse(finish="unavailable")
            answer = self._inner.complete(request)
            usage = Usage(
                input=sum(len(message.body) for message in request.messages) + len(msgspec.json.encode(request.tools)),
                output=len(answer.content.encode()) + sum(len(call.arguments.encode()) for call in answer.tool_calls),
            )
            with self._changed:
                self.billed[request.call] += PRICES.cost(usage)
                self.answers += 1
            self._on_billed(request.call)
            return msgspec.structs.replace(answer, usage=usage)
        finally:
            with self._changed:
                self._flying -= 1
                self._changed.notify_all()

    def await_request(self, after: int, alive: Callable[[], bool]) -> None:
        """Wait for a request beyond the first `after`, while the client is alive."""
        with self._changed:
            while self.asked <= after and alive():
                self._changed.wait(0.02)

    def idle(self) -> None:
        """Wait until nothing is being computed: for a client that was killed, some still is."""
        with self._changed:
            assert self._changed.wait_for(lambda: self._flying == 0, 60)


def _error(message: str, **more: Any) -> bytes:
    return json.dumps({"error": {"message": message, "type": "server_error", "param": None, **more}}).encode()


_JSON = (b"content-type", b"application/json")
_HTML = (b"content-type", b"text/html")
INSTEAD: dict[str, tuple[int, tuple[tuple[bytes, bytes], ...], bytes]] = {
    "429, retry at once": (429, (_JSON, (b"retry-after", b"0")), _error("Rate limit reached for requests")),
    "500": (500, (_JSON,), _error("The server had an error")),
    "502, HTML": (502, (_HTML,), b"<html><h1>502 Bad Gateway</h1></html>"),
    "503, empty": (503, (), b""),
    "200, an error inside": (200, (_JSON,), _error("Upstream failed", code=502)),
    "200, HTML": (200, (_HTML,), b"<html>Please log in</html>"),
}
"""What comes instead of an answer: nothing was computed."""
SPOILED = ("connection dropped in the answer", "no choices in the answer")
"""What becomes of an answer on its way: it was computed and billed."""
KINDS = (*INSTEAD, *SPOILED)


class Faults:
    """Draws a fault for so many of a thousand requests, by the request's own bytes: threads change nothing.

    The first `at_first` tries of a request meet one always. `played` counts the faults by kind. While `down` says so,
    every request meets a 503.
    """

    def __init__(
        self,
        seed: int,
        of_thousand: int,
        kinds: tuple[str, ...] = KINDS,
        down: Callable[[], bool] = lambda: False,
        at_first: int = 0,
    ) -> None:
        self._seed = seed
        self._at_first = at_first
        self._of_thousand = of_thousand
        self._kinds = kinds
        self._down = down
        self._tries: Counter[str] = Counter()
        self._lock = threading.Lock()
        self.played: Counter[str] = Counter()
        self.requests = 0

    def next(self, body: bytes) -> str:
        """Return the kind of fault that a request meets; empty if it is answered."""
        digest = hashlib.sha256(body).hexdigest()
        with self._lock:
            self._tries[digest] += 1
            self.requests += 1
            draw = random.Random(f"{self._seed} {digest} {self._tries[digest]}")
            struck = self._tries[digest] <= self._at_first or draw.randrange(1000) < self._of_thousand
            kind = draw.choice(self._kinds) if struck else ""
            kind = "503, empty" if self._down() else kind
            if kind:
                self.played[kind] += 1
        return kind


class Faulty:
    """The layer in front of the served model."""

    def __init__(self, app: ASGIApp, faults: Faults) -> None:
        self._app = app
        self._faults = faults

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or play its fault."""
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        body = await _whole(receive)
        kind = self._faults.next(body)
        if kind in INSTEAD:
            await _write(send, *INSTEAD[kind])
            return
        sent: list[Message] = []

        async def again() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        async def keep(message: Message) -> None:
            sent.append(message)

        await self._app(scope, again, keep)
        start, answer = sent[0], b"".join(message.get("body", b"") for message in sent[1:])
        if kind == "no choices in the answer" and start["status"] == 200:
            answer = msgspec.json.encode(msgspec.json.decode(answer) | {"choices": [], "output": []})
        if kind == "connection dropped in the answer":
            # A response left without its end: the server has to break the connection off.
            await send({"type": "http.response.start", "status": start["status"], "headers": [_JSON]})
            await send({"type": "http.response.body", "body": answer[: len(answer) // 2], "more_body": True})
            return
        await _write(send, start["status"], (_JSON,), answer)


async def _whole(receive: Receive) -> bytes:
    body = bytearray()
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            return bytes(body)


async def _write(send: Send, status: int, headers: tuple[tuple[bytes, bytes], ...], body: bytes) -> None:
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [*headers, length]})
    await send({"type": "http.response.body", "body": body})


def provide(provider: Provider, faults: Faults) -> Served:
    """Serve the provider, with its faults, from a thread of this process."""
    app = application(provider, ("professional",), lambda: 0.0)
    app.add_middleware(Faulty, faults=faults)
    return listen(app, "127.0.0.1", 0)
