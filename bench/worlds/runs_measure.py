"""What a step of a world costs beyond its model, and how well trials run side by side: part of `make bench`."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench.worlds.api import load_worlds
from bench.worlds.journal import Tape, Taped
from bench.worlds.model import Environment, FaultPlan, Side, Task, World
from bench.worlds.runs import AgentUnderTest, Panel, Simulating, jobs_of, run_jobs
from bench.worlds.session import Session
from bench.worlds.step import Offline, Stateful
from services.models.delayed import Delayed
from services.models.scripted import Scripted, call, say
from simulator.conversation import ModelRequest, ModelResponse

STEPS = 200
TRIALS, WORKERS, LATENCY_S = 32, 8, 0.1
NAME = "ticket-desk"
_READS = (
    ("list_tickets", "{}"), ("list_engineers", "{}"), ("get_service", '{"service": "search"}'),
    ("get_service", '{"service": "checkout"}'),
)  # fmt: skip


def _world() -> World:
    return next(world for world in load_worlds([]) if world.environment.name == NAME)


def _answers(environment: Environment, task: Task, steps: int) -> list[ModelResponse]:
    """Return what a perfect simulator says of these calls: what the declared effects make of them."""
    right = Session(environment, task, Offline(environment), FaultPlan())
    said = []
    for number in range(steps):
        right.call(*_READS[number % len(_READS)])
        last = right.steps[-1]
        said.append(say(json.dumps({"observation": last.observation, "state_patch": list(last.patch), "rule": None})))
    return said


def step_ms(steps: int = STEPS) -> tuple[float, float]:
    """Return the CPU of a stateful step beyond the model in ms: over the first and over the last fifth of a run.

    Request, tape, validation, detections, patch and hash are in it; the model answers at once.
    """
    world = _world()
    environment, task = world.environment, world.tasks[0]
    spent: list[float] = []
    with tempfile.TemporaryDirectory(prefix="officetown-bench-") as folder, Tape(Path(folder) / "t.jsonl", "t") as tape:
        model = Taped(Scripted(_answers(environment, task, steps)), tape)
        session = Session(environment, task, Stateful(model, environment, "t", FaultPlan()), FaultPlan())
        for number in range(steps):
            start = time.thread_time()
            session.call(*_READS[number % len(_READS)])
            spent.append(time.thread_time() - start)
    part = max(1, steps // 5)
    return 1000 * sum(spent[:part]) / part, 1000 * sum(spent[-part:]) / part


def parallel_share(trials: int = TRIALS, workers: int = WORKERS, latency_s: float = LATENCY_S) -> float:
    """Return the ideal makespan over the measured one for equal trials of five model calls at fixed latency."""
    world = _world()

    def answer(request: ModelRequest) -> ModelResponse:
        return say("Done.") if request.call[1] == 5 else call("list_tickets")

    model = Delayed(Scripted({"*": answer}), lambda _request: latency_s, time.sleep)
    jobs = jobs_of(
        [world], [AgentUnderTest(Side("model", "m"), model)], [Simulating(Side("offline"), "offline")], Panel(),
        attempts=trials, tasks=(world.tasks[0].id,),
    )  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="officetown-bench-") as folder:
        start = time.monotonic()
        run_jobs(jobs, Path(folder), concurrency=workers)
        took = time.monotonic() - start
    return 5 * latency_s * -(-trials // workers) / took


def worlds(say: Callable[[str], None]) -> None:
    """Say both measurements."""
    early, late = step_ms()
    say(f"  a stateful step: {early:.2f} ms CPU beyond the model at the beginning, {late:.2f} after {STEPS} steps")
    share = parallel_share()
    say(
        f"  {TRIALS} tasks with {WORKERS} workers at {1000 * LATENCY_S:.0f} ms a call: {100 * share:.0f} % of the ideal"
    )
