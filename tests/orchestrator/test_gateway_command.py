"""`gateway`: a role's model behind an address, for as long as nobody presses Ctrl-C."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path

import httpx2
import pytest

from orchestrator.gatewaying import role_of
from services.models.http_server import serve
from simulator.errors import UsageError
from tests.orchestrator.support import Desk, start
from tests.orchestrator.test_endpoints import KEY, Able, Raw, error


def environ(url: str) -> dict[str, str]:
    """Variables of the assistant's model alone."""
    return {
        "OFFICETOWN_ASSISTANT_MODEL_URL": url, "OFFICETOWN_ASSISTANT_MODEL": "m", "OFFICETOWN_ASSISTANT_MODEL_KEY": KEY,
    }  # fmt: skip


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_counts_records_and_ends_cleanly(tmp_path: Path, number: signal.Signals) -> None:
    able = Able()
    with serve(able) as server:
        process = start(
            tmp_path / "home", "gateway", "--role", "assistant", "--turns", "1", "-o", str(tmp_path / "out"), "--name",
            "robot", "--json", environ=environ(server.url),
        )  # fmt: skip
        try:
            assert process.stderr is not None
            line = next(text for text in process.stderr if text.startswith("Serving at"))
            url = line.split()[2].rstrip(";")
            body = {"model": "any", "messages": [{"role": "user", "content": "Say ready."}]}
            first, second = (httpx2.post(f"{url}/chat/completions", json=body, timeout=20) for _ in range(2))
            assert first.json()["choices"][0]["message"]["content"] == "ready"
            assert (second.status_code, second.json()["error"]["code"]) == (402, "turn_budget_exhausted")
            process.send_signal(number)
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
            process.wait()
    assert process.returncode == 0, err
    assert "Session main: 1 turns" in err and "Traceback" not in err
    result = json.loads(out.splitlines()[-1])
    assert result["url"] == url
    assert result["sessions"] == {"main": {"turns": 1, "input": 10, "cached": 0, "output": 2}}
    written = (tmp_path / "out" / "trajectory.json").read_text()
    assert result["trajectory"] == str(tmp_path / "out" / "trajectory.json")
    assert json.loads(written)["agent"]["name"] == "robot"
    assert KEY not in written + out + err and server.url not in written
    assert sum(able.asked.values()) == 2, "one beforehand, one for the agent"


def test_what_cannot_be_served_is_refused(desk: Desk, tmp_path: Path) -> None:
    assert "There is no role 'teacher': use generator," in desk("gateway", "--role", "teacher").err
    (tmp_path / "file").write_text("")
    assert "is no folder" in desk("gateway", "--role", "assistant", "-o", tmp_path / "file").err
    said = desk("gateway", "--role", "assistant", "--host", "203.0.113.1", "-o", tmp_path / "out")
    assert said.code == 2 and "cannot serve at 203.0.113.1" in said.err
    assert desk("gateway").code == 2, "whose model is to be said"


def test_a_wrong_key_is_told_before_anything_is_served(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Raw(401, error("no")) as server:
        desk = Desk(tmp_path, capsys, environ(server.url))
        said = desk("gateway", "--role", "assistant", "-o", tmp_path / "out")
    assert said.code == 2 and re.search(r"did not accept the key", said.err)
    assert not (tmp_path / "out").exists()


def test_roles_are_known_by_their_names() -> None:
    assert role_of("judge") == "judge"
    with pytest.raises(UsageError, match="world"):
        role_of("Judge")
