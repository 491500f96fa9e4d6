"""A process that runs a small experiment and may kill itself before a given model call: for tests of resuming."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

from bench.worlds.model import Criterion, FaultPlan, Side
from bench.worlds.runs import AgentUnderTest, Panel, Simulating, jobs_of, run_jobs
from services.models.scripted import call, say
from simulator.conversation import ModelRequest, ModelResponse
from tests.worlds.core_world import STATE, seen, verdicts, world

ROOMS = [{"id": key, "beds": room["beds"], "status": room["status"]} for key, room in STATE["rooms"].items()]


class Counting:
    """A model that answers by role and position, writes down each call it makes, and dies before call `last`."""

    def __init__(self, log: Path, last: int) -> None:
        self._log, self._last, self._made = log, last, 0

    def complete(self, request: ModelRequest) -> ModelResponse:
        self._made += 1
        if self._made == self._last:
            os.kill(os.getpid(), signal.SIGKILL)
        with self._log.open("ab") as log:
            log.write(json.dumps([request.call[0].split(":")[1], request.call]).encode() + b"\n")
            log.flush()
            os.fsync(log.fileno())
        return self._answer(request)

    def _answer(self, request: ModelRequest) -> ModelResponse:
        if request.role == "assistant":
            turn = request.call[1]
            return call("list_rooms") if turn <= 3 else say("There are three rooms.")
        if request.role == "world":
            return say(json.dumps(seen({"rooms": ROOMS})))
        return say(verdicts(True, "told"))


def main(folder: Path, last: int) -> None:
    """Run two trials of a model agent under faults, judged by a panel of three; print their outcomes."""
    model = Counting(folder / "calls.log", last)
    one = world(True, criteria=(Criterion("told", "It told the number of rooms.", evidence=("list_rooms",)),))
    jobs = jobs_of(
        [one], [AgentUnderTest(Side("model", "a"), model)], [Simulating(Side("model", "b"), "stateful", model)],
        Panel(Side("model", "c"), model, 3), levels=("E0", "E1"), plan=FaultPlan(horizon=6),
    )  # fmt: skip
    trials = run_jobs(jobs, folder / "results", monotonic=lambda: 0.0)
    print(json.dumps([[trial.fault_level, trial.outcome, trial.steps, trial.state_hash] for trial in trials]))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
