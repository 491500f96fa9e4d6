"""What a model call costs this client in CPU, beside the bare `openai` package and bare `httpx`: part of `make bench`.

One request of some 33 KB in ten messages, sent over HTTP on the loopback to a server that answers at once. CPU time of
the asking thread alone, so the server's work and the waiting are not in it.
"""

from __future__ import annotations

import json
import socketserver
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import msgspec
import openai

from services.models.connect import Surroundings, connect, wire_of
from services.models.endpoint import Endpoint
from simulator.conversation import Message, ModelRequest, ToolSpec

ROUNDS = 300
_WARM = 30
_CHOICE = {"index": 0, "message": {"role": "assistant", "content": "word " * 100}, "finish_reason": "stop"}
_USAGE = {"prompt_tokens": 8000, "completion_tokens": 100, "total_tokens": 8100}
_ANSWER = json.dumps(
    {"id": "c", "object": "chat.completion", "created": 0, "model": "m", "choices": [_CHOICE], "usage": _USAGE}
).encode()
_WHOLE = (
    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: " + str(len(_ANSWER)).encode() + b"\r\n\r\n"
) + _ANSWER


class _Handler(socketserver.StreamRequestHandler):
    disable_nagle_algorithm = True

    def handle(self) -> None:
        """Answer every request of the connection in the same words."""
        while self.rfile.readline():
            length = 0
            while (line := self.rfile.readline().strip()) != b"":
                name, _, value = line.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
            self.rfile.read(length)
            self.wfile.write(_WHOLE)


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True


@contextmanager
def _served() -> Iterator[str]:
    with _Server(("127.0.0.1", 0), _Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
        server.shutdown()
        thread.join()


def request() -> ModelRequest:
    """Return a request as long as a person's in the middle of a day's work."""
    parameters = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
    tools = tuple(ToolSpec(f"tool_{number}", "What it does. " * 20, parameters) for number in range(20))
    words = "a line of the office's own state, as it is shown to a person " * 38
    turns = [Message("assistant" if number % 2 else "user", f"{number} {words}") for number in range(1, 10)]
    return ModelRequest("principal", ("elena.1", 1), "elena", (Message("system", words), *turns), tools)


def cpu_ms(ask: Callable[[], object], rounds: int = ROUNDS) -> float:
    """Return the CPU of this thread for one call, in milliseconds, once everything is warm."""
    for _ in range(_WARM):
        ask()
    start = time.thread_time()
    for _ in range(rounds):
        ask()
    return 1000 * (time.thread_time() - start) / rounds


def clients(rounds: int = ROUNDS) -> tuple[int, dict[str, float]]:
    """Return the size of the request's body in bytes, and what a call costs each client, in milliseconds of CPU."""
    asked = request()
    around = Surroundings(time.time, time.monotonic, time.sleep, lambda: 0.0)
    with _served() as url:
        wire = wire_of(Endpoint(url, "m", "none"), around)
        ours = connect(wire, around)
        body: dict[str, Any] = {
            "model": "m",
            "messages": [{"role": message.role, "content": message.content} for message in asked.messages],
            "tools": [{"type": "function", "function": msgspec.to_builtins(tool)} for tool in asked.tools],
        }
        package = openai.OpenAI(base_url=url, api_key="none", max_retries=0)
        bare = httpx.Client()

        def by_http() -> Any:
            return msgspec.json.decode(bare.post(f"{url}/chat/completions", json=body).content)

        costs = {
            "this client": cpu_ms(lambda: ours.complete(asked), rounds),
            "bare openai": cpu_ms(lambda: package.chat.completions.create(**body), rounds),
            "bare httpx": cpu_ms(by_http, rounds),
        }
        wire.close()
        package.close()
        bare.close()
    return len(json.dumps(body)), costs


def overhead(say: Callable[[str], None]) -> None:
    """Say what a model call costs, client by client."""
    size, costs = clients()
    told = ", ".join(f"{name} {cost:.2f} ms" for name, cost in costs.items())
    say(f"  CPU a call of {size / 1000:.0f} KB: {told}")
