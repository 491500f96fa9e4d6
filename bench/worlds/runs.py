"""Runs: agents x tasks x fault levels x attempts x simulators, each trial on its own tape, each result under its settings.

A trial that was killed is run again and answered from its tape up to where it stood. A trial whose provider failed is
no result: it is made again the next time.
"""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from bench.own import OwnClass
from bench.worlds.agents import Ended, WorldAgent, agent_of
from bench.worlds.faults import check_plan
from bench.worlds.journal import Tape, Taped, write_json
from bench.worlds.labels import labels_of
from bench.worlds.model import (
    Environment,
    FaultLevel,
    FaultPlan,
    Outcome,
    Settings,
    Side,
    SimulatorMode,
    Step,
    Task,
    Trial,
    World,
)
from bench.worlds.own import AnotherCourse, OwnAgent
from bench.worlds.session import Session
from bench.worlds.step import HISTORY, SimulatorFailed, simulator_of
from bench.worlds.verifier import Judged, Verifier, check_panel, criteria_of
from simulator.canonical import canonical, sha256
from simulator.errors import ModelOutage, OfficeBusy, UsageError
from simulator.ports import Model

HARNESS = "1"
"""Raised when the same agent could score otherwise for a reason of ours."""
TRIALS, TAPES, TRAJECTORIES = "world-trials.jsonl", "tapes", "trajectories"


class AgentUnderTest(msgspec.Struct, frozen=True):
    """Who is tested. `side.name` is `model`, `oracle`, `once`, `nop` or, for a class of one's own, `own`."""

    side: Side
    model: Model | None = None
    own: OwnClass | None = None


class Simulating(msgspec.Struct, frozen=True):
    """Who plays the environments, and how."""

    side: Side
    mode: SimulatorMode = "stateful"
    model: Model | None = None


class Panel(msgspec.Struct, frozen=True):
    """Who judges, with how many votes. No model: only criteria that code decides can be judged."""

    side: Side = Side("code")
    model: Model | None = None
    votes: int = 3
    same_model: bool = False
    """Whether the simulator's own model may judge."""


class Trajectory(msgspec.Struct, frozen=True, omit_defaults=True):
    """A finished trial with everything that happened in it."""

    settings: Settings
    trial: Trial
    steps: tuple[Step, ...]
    final_state: dict[str, Any]
    today: str = ""


class Job(msgspec.Struct, frozen=True):
    """One trial to make."""

    environment: Environment
    task: Task
    agent: AgentUnderTest
    simulator: Simulating
    panel: Panel
    plan: FaultPlan
    attempt: int
    with_plan: bool = False

    @property
    def settings(self) -> Settings:
        """All that its result depends on but the attempt's number."""
        return Settings(
            HARNESS, self.environment.hash, self.task.hash, self.agent.side, self.simulator.side, self.simulator.mode,
            self.panel.side, self.panel.votes, self.plan, self.task.agent_turns,
            {"history": HISTORY}, self.with_plan,
        )  # fmt: skip


def jobs_of(
    worlds: Sequence[World], agents: Sequence[AgentUnderTest], simulators: Sequence[Simulating], panel: Panel,
    *, levels: Sequence[FaultLevel] = ("E0",), attempts: int = 1, plan: FaultPlan | None = None, with_plan: bool = False,
    tasks: Sequence[str] = (),
) -> list[Job]:  # fmt: skip
    """Return the trials of a whole experiment, in a fixed order. `tasks` are the ids wanted (all if empty).

    Raises `UsageError` for what cannot be run: an even panel, a simulator judging itself, an unknown task.
    """
    check_panel(panel.votes)
    if attempts < 1:
        raise UsageError("the number of attempts must be at least 1.")
    known = {task.id for world in worlds for task in world.tasks}
    if unknown := sorted(set(tasks) - known):
        raise UsageError(f"there is no task {unknown[0]!r} here.")
    for simulator in simulators:
        _check_judge(simulator, panel)
    base = plan or FaultPlan()
    plans = [msgspec.structs.replace(base, level=level) for level in levels]
    for one in plans:
        check_plan(one)
    return [
        Job(world.environment, task, agent, simulator, panel, fitted(one, task), attempt, with_plan)
        for simulator in simulators
        for agent in agents
        for one in plans
        for world in worlds
        for task in world.tasks
        if not tasks or task.id in tasks
        for attempt in range(1, attempts + 1)
    ]


def fitted(plan: FaultPlan, task: Task) -> FaultPlan:
    """Return the plan for a task: where its solving script is shorter than the horizon, faults are spaced over that.

    It depends on the task alone, so every agent still meets the same faults.
    """
    if not task.script or len(task.script) >= plan.horizon:
        return plan
    return msgspec.structs.replace(plan, horizon=max(len(task.script), plan.count * (plan.duration + 1)))


def _check_judge(simulator: Simulating, panel: Panel) -> None:
    same = panel.side.model and (panel.side.model, panel.side.endpoint) == (
        simulator.side.model,
        simulator.side.endpoint,
    )
    if same and not panel.same_model:
        raise UsageError(
            f"{panel.side.model} would judge the runs it simulates: set another model for the role judge, or ask for "
            "the same one explicitly."
        )


class WorldResults:
    """A folder of results, held by one process at a time while open: trials, tapes, trajectories."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._done = {(t.settings, t.attempt): t for t in read_trials(folder) if t.outcome != "infra_error"}
        self._lock = threading.Lock()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the folder. Raises `OfficeBusy` where another process does."""
        with (self.folder / ".lock").open("ab") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise OfficeBusy(
                    f"another process is at work in {self.folder}; wait for it, or name another folder."
                ) from None
            yield

    def find(self, settings: str, attempt: int) -> Trial | None:
        """Return the finished trial of these settings, or None."""
        return self._done.get((settings, attempt))

    def tape(self, settings: str, attempt: int) -> Tape:
        """Open the tape of a trial."""
        name = _name(settings, attempt)
        return Tape(self.folder / TAPES / f"{name}.jsonl", name)

    def forget(self, settings: str, attempt: int) -> None:
        """Take the tape of a trial away."""
        (self.folder / TAPES / f"{_name(settings, attempt)}.jsonl").unlink(missing_ok=True)

    def add(self, trajectory: Trajectory) -> None:
        """Keep a trial: first its trajectory, then its line, both on the disk before this returns."""
        trial = trajectory.trial
        write_json(self.folder / TRAJECTORIES / f"{_name(trial.settings, trial.attempt)}.json", trajectory)
        with self._lock, (self.folder / TRIALS).open("ab+") as file:
            if file.tell():
                file.seek(-1, os.SEEK_END)
                if file.read(1) != b"\n":
                    file.write(b"\n")
            file.write(msgspec.json.encode(trial) + b"\n")
            file.flush()
            os.fsync(file.fileno())
            if trial.outcome != "infra_error":
                self._done[trial.settings, trial.attempt] = trial


def _name(settings: str, attempt: int) -> str:
    return f"{settings}-{attempt}"


def read_trials(folder: Path) -> list[Trial]:
    """Return the trials of a folder, the last of each settings and attempt; a line cut by a crash is passed over.

    Raises `UsageError` where there is no such folder.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder} is no folder of results: make some with `officetown worlds run`.")
    place = folder / TRIALS
    latest: dict[tuple[str, int], Trial] = {}
    for line in place.read_bytes().split(b"\n") if place.exists() else ():
        try:
            trial = msgspec.json.decode(line, type=Trial) if line.strip() else None
        except msgspec.MsgspecError:
            continue
        if trial is not None:
            latest[trial.settings, trial.attempt] = trial
    return list(latest.values())


def read_trajectory(folder: Path, trial: Trial) -> Trajectory:
    """Return the trajectory of a trial. Raises `UsageError` where it is not there."""
    file = folder / TRAJECTORIES / f"{_name(trial.settings, trial.attempt)}.json"
    if not file.is_file():
        raise UsageError(f"{file} is missing: the folder of results is not whole.")
    return msgspec.json.decode(file.read_bytes(), type=Trajectory)


def run_jobs(
    jobs: Sequence[Job],
    out: Path,
    *,
    concurrency: int = 1,
    progress: Callable[[Trial], None] = lambda _trial: None,
    monotonic: Callable[[], float] = time.monotonic,
) -> list[Trial]:
    """Make every trial that `out` does not hold yet; return all of them in the order of `jobs`.

    Raises:
        BudgetExhausted: the budget is used up; trials made so far, and the tapes of those begun, are kept.
        OfficeBusy: another process is at work in `out`.
        UsageError: a job cannot be run at all.
    """
    results = WorldResults(out)
    with results.held():

        def one(job: Job) -> Trial:
            settings = job.settings
            trial = results.find(settings.fingerprint, job.attempt)
            if trial is None:
                trajectory = run_job(job, results, monotonic)
                trial = trajectory.trial
                results.add(trajectory)
            progress(trial)
            return trial

        if concurrency <= 1:
            return [one(job) for job in jobs]
        with ThreadPoolExecutor(concurrency, thread_name_prefix="world") as pool:
            return list(pool.map(one, jobs))


def run_job(job: Job, results: WorldResults, monotonic: Callable[[], float] = time.monotonic) -> Trajectory:
    """Make one trial on its tape. Raises `BudgetExhausted` and `UsageError`; a provider's failure is an outcome."""
    key = (job.settings.fingerprint, job.attempt)
    try:
        with results.tape(*key) as tape:
            return _Run(job, tape, monotonic).run()
    except AnotherCourse:
        # An agent of one's own need not do twice the same. What it had done before it was interrupted is of no use then.
        results.forget(*key)
        with results.tape(*key) as tape:
            return _Run(job, tape, monotonic).run()


def replay_job(job: Job, results: WorldResults) -> Trajectory:
    """Make a trial again from its tape alone; no model is asked. The same but for the time it took.

    Raises `TapeMismatch` where the tape ends before the trial does, or the trial takes another course.
    """
    if not (results.folder / TAPES / f"{_name(job.settings.fingerprint, job.attempt)}.jsonl").is_file():
        raise UsageError(f"{results.folder} holds no tape of this trial: it was never run here under these settings.")
    with results.tape(job.settings.fingerprint, job.attempt) as tape:
        return _Run(job, tape, lambda: 0.0, replay=True).run()


class _Run:
    def __init__(self, job: Job, tape: Tape, monotonic: Callable[[], float], replay: bool = False) -> None:
        self._job, self._monotonic, self._replay, self._tape = job, monotonic, replay, tape
        self._key = job.settings.fingerprint
        self._sides = {"agent": job.agent.side, "simulator": job.simulator.side, "verifier": job.panel.side}
        given = {"agent": job.agent.model, "simulator": job.simulator.model, "verifier": job.panel.model}
        self._models = {role: Taped(None if replay else model, tape) for role, model in given.items()}
        # Names of calls hold no settings: they are told apart by the tape they are on.
        name = f"world:{sha256(canonical([self._key, job.attempt]))[:16]}"
        self._name = name

    def _model(self, role: str, given: Model | None) -> Model | None:
        """Return the role's model on its tape; in a replay also where none is given but its side says it had one."""
        there = given is not None or (self._replay and self._sides[role].name == "model")
        return self._models[role] if there else None

    def run(self) -> Trajectory:
        job = self._job
        started = self._monotonic()
        world = self._model("simulator", job.simulator.model)
        simulator = simulator_of(job.simulator.mode, job.environment, world, self._name, job.plan)
        session = Session(job.environment, job.task, simulator, job.plan)
        agent = self._agent()
        ended = Ended()
        try:
            ended = agent.run(job.task, session.tools(), session.call, job.with_plan)
            judged = self._judge(session, ended)
        except ModelOutage as fault:
            judged = Judged("infra_error", (), (), str(fault)[:400])
        except SimulatorFailed as fault:
            judged = Judged("invalid", (), (), str(fault)[:400])
        trial = self._trial(session, ended, judged, started)
        return Trajectory(job.settings, trial, tuple(session.steps), session.state, session.today)

    def _agent(self) -> WorldAgent:
        side, own = self._job.agent.side, self._job.agent.own
        if side.name != OwnAgent.name:
            return agent_of(side.name, self._model("agent", self._job.agent.model), self._name)
        if own is None and not self._replay:
            raise UsageError(f"the class of the agent {side.model} is missing.")
        return OwnAgent(None if self._replay else own, self._tape, self._name)

    def _judge(self, session: Session, ended: Ended) -> Judged:
        job = self._job
        if job.simulator.mode == "examples":
            return Judged("invalid", (), (), "example outputs are never scored")
        if not criteria_of(job.task):
            return Judged("invalid", (), (), "the task has no criteria: nothing could be judged")
        untracked = job.simulator.mode == "stateless" and not job.environment.executable
        if untracked and any(criterion.kind == "state" for criterion in criteria_of(job.task)):
            return Judged(
                "invalid", (), (), "the mode stateless records no state here, and a criterion is about the state"
            )
        state = {} if untracked else session.state
        verifier = Verifier(self._model("verifier", job.panel.model), job.panel.votes, self._name)
        return verifier.judge(job.environment, job.task, session.steps, ended.final, state)

    def _trial(self, session: Session, ended: Ended, judged: Judged, started: float) -> Trial:
        job, task, steps = self._job, self._job.task, session.steps
        outcome: Outcome = judged.outcome
        labels = labels_of(job.environment, task, steps, judged.claims, ended.limited) if outcome == "failed" else ()
        detections: dict[str, int] = {}
        for step in steps:
            for detection in step.detections:
                detections[detection.kind] = detections.get(detection.kind, 0) + 1
        return Trial(
            task=task.id, environment=job.environment.name, agent=job.agent.side, simulator=job.simulator.side,
            verifier=job.panel.side, fault_level=job.plan.level, attempt=job.attempt, outcome=outcome,
            settings=self._key, simulator_mode=job.simulator.mode, scenario=task.scenario,
            industry=task.industry or job.environment.industry, domain=task.domain or job.environment.domain,
            level=task.level, verdicts=judged.verdicts, claims=judged.claims, labels=labels,
            detections=dict(sorted(detections.items())), steps=len(steps), turns=ended.turns,
            faults=sum(step.fault is not None for step in steps),
            usage={role: model.usage for role, model in self._models.items() if model.usage.output or model.usage.input},
            cost_micros=sum(model.cost_micros for model in self._models.values()),
            milliseconds=round(1000 * (self._monotonic() - started)), final=ended.final[:20_000],
            note="; ".join(note for note in (ended.note, judged.note) if note),
            state_hash=sha256(canonical(session.state)),
        )  # fmt: skip
