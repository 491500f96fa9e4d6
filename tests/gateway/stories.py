"""What the tests of the gateway share: a gateway over a scripted model, real clients, and an agent that works."""

from __future__ import annotations

import importlib.util
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import openai

from services.gateway import atif
from services.gateway.server import Gateway, gateway
from simulator.conversation import ModelRequest, ModelResponse
from simulator.ports import Model

HARBOR = importlib.util.find_spec("harbor") is not None
"""Harbor needs a later Python than ours may be; where it is there, its own models judge every trajectory."""
NOW = 1_793_000_000.0
RUN_TOOL: Any = {
    "type": "function",
    "function": {
        "name": "run",
        "description": "Run a command.",
        "parameters": {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]},
    },
}
RUN_TOOL_FLAT: Any = {"type": "function", "strict": False, **RUN_TOOL["function"]}


@contextmanager
def gate_over(model: Model, out: Path, turns: int | None = None, **more: Any) -> Iterator[Gateway]:
    """A running gateway whose trajectory is judged as it ends."""
    with gateway(model, "assistant", out, turns, now=lambda: NOW, **more) as gate:
        yield gate
        if gate.trajectory().steps:
            judge(out)


@contextmanager
def client_of(url: str, key: str = "none", retries: int = 0) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=url, api_key=key, max_retries=retries, timeout=30) as client:
        yield client


def judge(path: Path) -> atif.Trajectory:
    """Read a trajectory as strictly as we can: by our own records, and by Harbor's where they are there."""
    data = path.read_bytes()
    if HARBOR:
        harbor = importlib.import_module("harbor.models.trajectories")
        harbor.Trajectory.model_validate_json(data)
    return atif.decode(data)


def user(text: str) -> Any:
    return {"role": "user", "content": text}


def chat(client: openai.OpenAI, *messages: Any, **more: Any) -> Any:
    return client.chat.completions.create(model="any", messages=list(messages), **more)


def work(client: openai.OpenAI, task: str, most: int = 50) -> list[Any]:
    """Be a small agent on the chat wire: run what the model calls until it calls nothing; return the conversation."""
    messages: list[Any] = [{"role": "system", "content": "You are at a shell."}, user(task)]
    for _ in range(most):
        said = chat(client, *messages, tools=[RUN_TOOL]).choices[0].message
        messages.append(said.model_dump(exclude_none=True))
        if not said.tool_calls:
            break
        messages += [_ran(call) for call in said.tool_calls]
    return messages


def _ran(call: Any) -> dict[str, str]:
    try:
        result = f"ran {json.loads(call.function.arguments)['command']}"
    except (ValueError, KeyError, TypeError):
        result = "these arguments are no JSON object with a command"
    return {"role": "tool", "tool_call_id": call.id, "content": result}


class Held:
    """A model that answers only once it is let go. `asked` counts who is waiting or was."""

    def __init__(self, inner: Model) -> None:
        self._inner = inner
        self.free = threading.Event()
        self.asked = threading.Semaphore(0)

    def complete(self, request: ModelRequest) -> ModelResponse:
        self.asked.release()
        assert self.free.wait(60), "nobody let the model go"
        return self._inner.complete(request)


class Raising:
    """A model that raises what it is loaded with, one after another, and then answers."""

    def __init__(self, *errors: Exception, then: ModelResponse) -> None:
        self.errors = list(errors)
        self._then = then

    def complete(self, request: ModelRequest) -> ModelResponse:
        if self.errors:
            raise self.errors.pop(0)
        return self._then
