"""Evaluation: agents x snapshots x attempts, each in a fresh sandbox, judged by the snapshot's own `tests/test.sh`."""

from __future__ import annotations

import json
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec

from bench.agents import Agent, Ran, Task
from bench.freeze import lay_out
from bench.grader.run import INVALID
from bench.snapshot import Snapshot
from bench.trials import Marks, Outcome, Results, Trial, fingerprint
from simulator.errors import ModelOutage, SandboxError, SandboxUnavailable
from simulator.ports import BlobStore, Sandbox, SandboxProvider, SandboxSpec, TreeEntry

HARNESS = "1"
"""Raised when the same agent could score otherwise for a reason of ours."""
GRADER_SECONDS = 300
_GRADER_LIMITS = "ulimit -v 4194304; ulimit -f 204800; ulimit -c 0; "
Tree = tuple[TreeEntry, ...]


class Settings(msgspec.Struct, frozen=True):
    """What is evaluated. `budgets` are turn counts at which the work is judged too, from the same run."""

    agent: str
    model: str = ""
    effort: str = ""
    attempts: int = 1
    turn_limit: int = 48
    budgets: tuple[int, ...] = ()
    concurrency: int = 1


class Graded(msgspec.Struct, frozen=True):
    """What the grader said of a tree."""

    outcome: Outcome
    marks: Marks | None
    criteria: list[dict[str, Any]]
    note: str = ""


def evaluate(
    snapshots: Sequence[Snapshot],
    agent: Callable[[], Agent],
    settings: Settings,
    provider: SandboxProvider,
    blobs: BlobStore,
    grader_python: Path,
    results: Results,
    progress: Callable[[Trial], None] = lambda _trial: None,
) -> list[Trial]:
    """Make every trial that `results` does not hold yet; return them all, in order of snapshot and attempt.

    `blobs` is the store that `provider` reads trees from. `grader_python` is the interpreter the tests run under: the
    sandbox toolchain's own, never this process's.

    Raises:
        SandboxUnavailable: no sandbox works on this machine.
        BudgetExhausted: the model's budget is used up; trials made so far are kept.
    """
    provider.check()
    wanted = [(snapshot, attempt) for snapshot in snapshots for attempt in range(1, settings.attempts + 1)]

    def one(item: tuple[Snapshot, int]) -> Trial:
        snapshot, attempt = item
        key = fingerprint(
            HARNESS, snapshot.manifest.hash, settings.agent, settings.model, settings.effort, settings.turn_limit,
            settings.budgets,
        )  # fmt: skip
        known = results.find(key, attempt)
        trajectory = b""
        if known is None:
            made = _Trial(snapshot, agent(), settings, key, attempt, provider, blobs, grader_python)
            trial, trajectory = made.run(), made.trajectory
        else:
            trial = known
        with keeping:
            if known is None:
                results.add(trial, trajectory)
            progress(trial)
        return trial

    keeping = threading.Lock()
    if settings.concurrency <= 1:
        return [one(item) for item in wanted]
    with ThreadPoolExecutor(settings.concurrency, thread_name_prefix="trial") as pool:
        return list(pool.map(one, wanted))


class _Trial:
    def __init__(
        self, snapshot: Snapshot, agent: Agent, settings: Settings, key: str, attempt: int, provider: SandboxProvider,
        blobs: BlobStore, python: Path,
    ) -> None:  # fmt: skip
        self.snapshot, self.agent, self.settings, self.key, self.attempt = snapshot, agent, settings, key, attempt
        self.provider, self.blobs, self.python = provider, blobs, python
        self.kept: dict[int, Tree] = {}
        self.trajectory = b""

    def run(self) -> Trial:
        started = time.monotonic()
        try:
            ran, tree = self._work()
        except SandboxUnavailable:
            raise
        except (SandboxError, ModelOutage) as fault:
            return self._trial("infra_error", Ran(note=str(fault)[:400]), None, {}, started)
        self.trajectory = ran.trajectory
        graded = grade_tree(self.snapshot, self._files(tree), self.python)
        budgets = {}
        for turns in self.settings.budgets:
            at = self.kept.get(turns)
            at_budget = graded if at is None or ran.turns <= turns else grade_tree(self.snapshot, self._files(at), self.python)
            if at_budget.marks is not None:
                budgets[str(turns)] = at_budget.marks
        return self._trial(graded.outcome, ran, graded, budgets, started)

    def _work(self) -> tuple[Ran, Tree]:
        """Let the agent work; return how it went and the tree it left. The sandbox is gone before anything is judged."""
        sandbox = self.provider.start(self._spec())
        try:
            task = Task(self.snapshot, self.snapshot.read("instruction.md").decode(), self._name())
            ran = self.agent.run(task, sandbox, lambda turns: self._keep(turns, sandbox))
            return ran, sandbox.export_home()[0]
        finally:
            sandbox.close()

    def _keep(self, turns: int, sandbox: Sandbox) -> None:
        if turns in self.settings.budgets:
            self.kept[turns] = sandbox.export_home()[0]

    def _name(self) -> str:
        return f"eval:{self.key}:{self.attempt}"

    def _spec(self) -> SandboxSpec:
        def tree(name: str) -> Tree:
            files = self.snapshot.tree(name)
            return tuple(TreeEntry(path, self.blobs.put(data), mode) for path, (data, mode) in sorted(files.items()))

        mounts = {name: tree(name) for name in ("company", "services", "task")}
        return SandboxSpec(f"eval {self.snapshot.id}", tree("home"), mounts, self.snapshot.manifest.at)

    def _files(self, tree: Tree) -> dict[str, tuple[bytes, int]]:
        return {e.path: (self.blobs.get(e.blob.sha256), e.mode) for e in tree if not e.path.startswith(".cache/")}

    def _trial(
        self, outcome: Outcome, ran: Ran, graded: Graded | None, budgets: dict[str, Marks], started: float
    ) -> Trial:
        notes = [note for note in (ran.note, graded.note if graded else "") if note]
        return Trial(
            self.snapshot.id, self.settings.agent, self.attempt, outcome, self.key, self.settings.model,
            self.settings.effort, graded.marks if graded else None, budgets, ran.turns, ran.usage, ran.cost_micros,
            round(1000 * (time.monotonic() - started)), "; ".join(notes), graded.criteria if graded else [],
            self.snapshot.manifest.hash,
        )  # fmt: skip


def grade_tree(snapshot: Snapshot, tree: Mapping[str, tuple[bytes, int]], python: Path) -> Graded:
    """Judge an exported tree by the snapshot's own `tests/test.sh`, under another interpreter and an empty environment."""
    with tempfile.TemporaryDirectory(prefix="officetown-grade-") as folder:
        home, logs = Path(folder) / "home", Path(folder) / "logs"
        home.mkdir()
        lay_out(home, tree)
        script = (snapshot.folder / "tests" / "test.sh").resolve()
        environment = {
            "PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "GRADER_HOME": str(home), "GRADER_LOGS": str(logs),
            "GRADER_PYTHON": str(python.absolute()), "GRADER_SECONDS": str(GRADER_SECONDS),
        }  # fmt: skip
        call = ["bash", "-c", f'{_GRADER_LIMITS}exec bash "$1"', "bash", str(script)]
        try:
            done = subprocess.run(call, env=environment, capture_output=True, text=True, errors="replace", cwd="/",
                                  stdin=subprocess.DEVNULL, timeout=GRADER_SECONDS + 30, check=False)  # fmt: skip
        except subprocess.TimeoutExpired:
            return Graded("error", None, [], "the grader did not end")
        return _read_graded(done.returncode, done.stderr, logs)


def _read_graded(code: int, said: str, logs: Path) -> Graded:
    last = said.strip().split("\n")[-1][:300]
    if code == INVALID:
        return Graded("invalid", None, [], last)
    try:
        reward = json.loads((logs / "reward.json").read_text("utf-8")) if code == 0 else {}
        details = json.loads((logs / "rubric.json").read_text("utf-8")) if code == 0 else {}
    except (OSError, ValueError):
        return Graded("error", None, [], "the grader wrote no result")
    if code != 0:
        return Graded("error", None, [], f"the grader ended with {code}: {last}")
    passed = bool(reward["reward"]) if "reward" in reward else None
    marks = Marks(passed, float(reward["weighted"]), {k: float(v) for k, v in reward.items() if k in ("p0", "p1", "p2", "p3")})
    if passed is None:
        return Graded("invalid", marks, details["criteria"], "no Pass@1: a required criterion is unjudged")
    return Graded("passed" if passed else "failed", marks, details["criteria"])
