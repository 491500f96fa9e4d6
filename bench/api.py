"""What the commands `freeze`, `audit`, `eval` and `report` call: one thin function each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from bench.agents import Agent, agent_of
from bench.audit import Leak, audit, audit_alone
from bench.calibrate import Calibration, calibrate
from bench.evaluate import Settings, evaluate
from bench.freeze import SnapshotInfo, freeze
from bench.moment import Bodies
from bench.report import Line, lines, table
from bench.select import Selection, select
from bench.snapshot import MANIFEST, Manifest, find_snapshots, open_snapshot
from bench.trials import Results, Trial, read_trials
from services.documents.renderer import DocumentRenderer
from simulator.engine.history import Log
from simulator.errors import UsageError
from simulator.ports import BlobStore, Model, SandboxProvider

Say = Callable[[str], None]


def silent(text: str) -> None:
    """Say nothing."""


def freeze_one(
    log: Log,
    blobs: BlobStore,
    bodies: Bodies,
    office_id: str,
    reference: str,
    dest: Path,
    *,
    models: Mapping[str, str] | None = None,
    progress: Say = silent,
) -> SnapshotInfo:
    """Freeze `ID` or `ID.ROUND` (round 1 if none is said) into a new folder of `dest`. Raises `UsageError` kinds."""
    progress(f"freezing {reference}")
    info = freeze(log, blobs, bodies, office_id, reference, None, dest, models=models)
    progress(f"{info.id}: {info.files} files, {info.criteria} criteria, {info.required} of them required checks")
    return info


def select_and_freeze(
    log: Log,
    blobs: BlobStore,
    bodies: Bodies,
    office_id: str,
    count: int,
    dest: Path,
    *,
    models: Mapping[str, str] | None = None,
    progress: Say = silent,
) -> Selection:
    """Freeze `count` rounds chosen for diversity, audited and calibrated, and say why each other was passed over."""
    return select(log, blobs, bodies, office_id, count, dest, models=models, progress=progress)


def snapshot_folders(places: Iterable[Path]) -> list[Path]:
    """Return the snapshots at or directly below the places. Raises `UsageError` where there is none."""
    return find_snapshots(places)


def manifest_of(folder: Path) -> Manifest:
    """Return a snapshot's manifest without verifying the folder: to learn which office to audit it with."""
    if not (folder / MANIFEST).is_file():
        raise UsageError(f"{folder} is no snapshot: it has no {MANIFEST}.")
    return open_snapshot(folder, verify=False).manifest


def audit_snapshot(
    folder: Path,
    log: Log | None = None,
    blobs: BlobStore | None = None,
    bodies: Bodies | None = None,
    *,
    canaries: Iterable[str] = (),
    progress: Say = silent,
) -> list[Leak]:
    """Return the findings; tampering is one. Without its office, only what shows on the folder itself is audited."""
    progress(f"auditing {folder.name}")
    snapshot = open_snapshot(folder, verify=False)
    if log is None or blobs is None or bodies is None:
        return audit_alone(snapshot, canaries)
    return audit(snapshot, log, blobs, bodies, canaries)


def calibrate_snapshot(folder: Path, *, progress: Say = silent) -> Calibration:
    """Return what the rubric gives to right, worthless and nearly right work. Raises `Tampered`."""
    return calibrate(open_snapshot(folder), progress)


def evaluate_snapshots(
    places: Sequence[Path],
    agent: str,
    *,
    provider: SandboxProvider,
    blobs: BlobStore,
    grader_python: Path,
    results: Path,
    model: Model | None = None,
    model_name: str = "",
    effort: str = "",
    attempts: int = 1,
    turns: Sequence[int] = (),
    concurrency: int = 1,
    search: Path | None = None,
    progress: Callable[[Trial], None] = lambda _trial: None,
) -> list[Trial]:
    """Let `agent` work on every snapshot at or below `places`; resumes what `results` holds already.

    `turns` are the turn budgets judged from the one run; the largest is the limit (48 if none). `provider` takes its
    trees from `blobs`. `grader_python` is the sandbox toolchain's interpreter. `search` is where `module:Class` is
    looked for, beside the installed ones. Raises `Tampered`, `UsageError`, `SandboxUnavailable`, `BudgetExhausted`.
    """
    if attempts < 1 or any(turn < 1 for turn in turns):
        raise UsageError("--attempts and --turns are whole numbers of at least 1.")
    snapshots = [open_snapshot(folder) for folder in find_snapshots(places)]
    budgets = tuple(sorted(set(turns)))
    settings = Settings(agent, model_name, effort, attempts, max(budgets, default=48), budgets, concurrency)
    renderer = DocumentRenderer()

    def make() -> Agent:
        return agent_of(agent, model=model, renderer=renderer, turn_limit=settings.turn_limit, search=search)

    make()
    return evaluate(snapshots, make, settings, provider, blobs, grader_python, Results(results), progress)


def report_table(results: Path) -> str:
    """Return the table of a results folder. Raises `UsageError` when it is none."""
    trials = read_trials(results)
    return table(trials) if trials else f"{results} holds no trials yet.\n"


def report_lines(results: Path) -> list[Line]:
    """Return the numbers of that table. Raises `UsageError` when the folder is none of results."""
    return lines(read_trials(results))
