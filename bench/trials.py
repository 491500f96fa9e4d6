"""The results of an evaluation: one JSON line a trial, found again by the settings it was made under."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal

import msgspec

from services.storage.wholefiles import write_whole
from simulator.canonical import canonical, sha256
from simulator.conversation import Usage
from simulator.errors import UsageError

TRIALS = "trials.jsonl"
TRAJECTORIES = "trajectories"
"""Beside the trials: what was said and done in each, as ATIF, named by `Trial.key`."""
Outcome = Literal["passed", "failed", "error", "infra_error", "invalid"]


class Marks(msgspec.Struct, frozen=True):
    """What a grader gave: Pass@1, the weighted score, and the share met by priority."""

    passed: bool | None
    weighted: float
    by_priority: dict[str, float] = {}


class Trial(msgspec.Struct, frozen=True):
    """One attempt of one agent at one snapshot. `marks` is None unless it was scored; `budgets` are the marks it would
    have had with so many turns. `settings` is the fingerprint of all that it depends on but the attempt's number."""

    snapshot: str
    agent: str
    attempt: int
    outcome: Outcome
    settings: str
    model: str = ""
    effort: str = ""
    marks: Marks | None = None
    budgets: dict[str, Marks] = {}
    turns: int = 0
    usage: Usage = Usage()
    cost_micros: int = 0
    milliseconds: int = 0
    note: str = ""
    criteria: list[dict[str, Any]] = []
    version: str = ""
    """Hash of the snapshot that was attempted; empty in results that older versions kept."""

    @property
    def key(self) -> str:
        """What names it among all: its settings' fingerprint and the attempt's number."""
        return f"{self.settings}-{self.attempt}"

    def row(self) -> dict[str, Any]:
        """Return what `eval --json` says of it."""
        return {
            "snapshot": self.snapshot, "agent": self.agent, "attempt": self.attempt, "outcome": self.outcome,
            "passed": self.marks.passed if self.marks else None, "weighted": self.marks.weighted if self.marks else None,
        }  # fmt: skip


def fingerprint(*parts: object) -> str:
    """Return the hash of the settings a trial is made under."""
    return sha256(canonical([str(part) for part in parts]))[:32]


class Results:
    """A folder of results. A trial that is in it is not made again, unless the infrastructure had failed it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._done = {(t.settings, t.attempt): t for t in read_trials(folder) if t.outcome != "infra_error"}

    def find(self, settings: str, attempt: int) -> Trial | None:
        """Return the finished trial of these settings, or None."""
        return self._done.get((settings, attempt))

    def add(self, trial: Trial, trajectory: bytes = b"") -> None:
        """Keep a trial: its trajectory first, if it left one, then one line, on the disk before this returns."""
        if trajectory:
            place = self.folder / TRAJECTORIES / f"{trial.key}.json"
            place.parent.mkdir(exist_ok=True)
            write_whole(place, trajectory, mode=0o666)
        line = msgspec.json.encode(trial) + b"\n"
        with (self.folder / TRIALS).open("ab") as file:
            if file.tell() and not self._ends_whole():
                line = b"\n" + line
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
        self._done[trial.settings, trial.attempt] = trial

    def _ends_whole(self) -> bool:
        with (self.folder / TRIALS).open("rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read(1) == b"\n"


def read_trajectory(folder: Path, trial: Trial) -> bytes:
    """Return what was said and done in a trial, as ATIF JSON; empty where it left none."""
    try:
        return (folder / TRAJECTORIES / f"{trial.key}.json").read_bytes()
    except FileNotFoundError:
        return b""


def read_trials(folder: Path) -> list[Trial]:
    """Return the trials of a results folder, the last of each settings and attempt; a line cut by a crash is passed over.

    Raises:
        UsageError: there is no such folder.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder} is no folder of results: make some with `officetown eval`.")
    place = folder / TRIALS
    latest: dict[tuple[str, int], Trial] = {}
    for line in place.read_bytes().split(b"\n") if place.exists() else ():
        if not line.strip():
            continue
        try:
            trial = msgspec.json.decode(line, type=Trial)
        except msgspec.MsgspecError:
            continue
        latest[trial.settings, trial.attempt] = trial
    return list(latest.values())
