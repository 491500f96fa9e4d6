"""An endpoint that dies: the office's clock stands still, the run stops, and going on ends as if nothing had happened."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from services.models.http_server import serve
from services.offline import OfflineProfessional
from simulator.conversation import ModelRequest, ModelResponse
from simulator.errors import ModelOutage
from tests.orchestrator.support import JUNIPER, Desk


class Dying:
    """The offline professional, which from some call on is down, and comes back when it is told to."""

    def __init__(self) -> None:
        self.dies_after = 10**9
        self.answered = 0
        self._model, self._lock = OfflineProfessional(), threading.Lock()

    def complete(self, request: ModelRequest) -> ModelResponse:
        """Answer while it lives."""
        with self._lock:
            if self.answered >= self.dies_after:
                raise ModelOutage("down")
            self.answered += 1
        return self._model.complete(request)


def configure(home: Path, url: str) -> None:
    """Set a model whose outages are waited out for a moment only."""
    home.mkdir(exist_ok=True)
    (home / "officetown.toml").write_text(
        f'[default]\nurl = "{url}"\nmodel = "officetown"\ntimeouts = {{ connect = 2, outage = 0.3 }}\n'
    )


def test_a_dead_server_stops_the_clock_and_the_run_and_another_address_goes_on_to_the_same_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """RULE 3: an outage stops the clock, not the people."""
    model, home = Dying(), tmp_path / "home"
    desk = Desk(home, capsys)
    with serve(model) as server:
        configure(home, server.url)
        whole = desk.json("run", JUNIPER, "--days", "1", "--seed", "1", "--name", "Whole", "--no-check")
        calls = model.answered
        model.answered, model.dies_after = 0, calls // 2
        stopped = desk("run", JUNIPER, "--days", "1", "--seed", "1", "--name", "Part", "--no-check", "--json")
        assert stopped.code == 4
        assert "Nothing is lost" in stopped.err and "with a deadline of" in stopped.err
        part = stopped.result
        assert part["sim_time"] < whole["sim_time"] and part["revision"] < whole["revision"]
        raw = desk("log", "Part", "--raw").out
        assert "unavailable" not in raw, "nobody is told that a model is down"
        again = desk("run", "Part", "--days", "1", "--no-check", "--json")
        assert (again.code, again.result["sim_time"], again.result["hash"]) == (4, part["sim_time"], part["hash"])
    dead = desk("run", "Part", "--days", "1")
    assert dead.code == 4 and "could not be reached" in dead.err
    assert desk.json("log", "Part", "--hash")["hash"] == part["hash"]
    model.dies_after = 10**9
    with serve(model) as moved:
        configure(home, moved.url)
        went_on = desk.json("run", "Part", "--days", "1", "--no-check")
    assert went_on["hash"] == whole["hash"]
    assert model.answered == calls, "no call was made twice whose answer was stored"
