"""A run that is stopped by a fault leaves nothing behind: no sandbox, no thread (RULE 35)."""

from __future__ import annotations

import threading
from collections.abc import Iterable

import pytest

from services.models.scripted import call, calls
from services.storage.memory import MemoryJournal
from simulator.conversation import ModelRequest, ModelResponse
from simulator.engine.segment import SegmentRun
from simulator.errors import StorageError
from simulator.ports import CommandResult, SandboxSpec, TapeTool, TreeEntry
from tests.engine.worlds import ALL, HOUR, OPENING, Bench, opening, person


class Box:
    """A sandbox that counts among the open ones until it is closed."""

    def __init__(self, open_: set[str], label: str) -> None:
        self._open, self._label = open_, label
        open_.add(label)

    def run(self, command: str, timeout_s: int = 120) -> CommandResult:
        """Do nothing, well."""
        return CommandResult(0, "", "")

    def read(self, path: str, limit: int = 2_000_000) -> bytes:
        """There is nothing."""
        raise FileNotFoundError(path)

    def write(self, path: str, data: bytes) -> None:
        """Forget it."""

    def export_home(self) -> tuple[tuple[TreeEntry, ...], tuple[str, ...]]:
        """An empty home."""
        return (), ()

    def close(self) -> None:
        """Be gone."""
        self._open.discard(self._label)


class Boxes:
    """Starts sandboxes; each start waits until the engine has begun to clear up."""

    name = "slow"

    def __init__(self) -> None:
        self.open: set[str] = set()
        self.starting = threading.Event()
        self.clearing = threading.Event()

    def check(self) -> None:
        """They work."""

    def start(self, spec: SandboxSpec) -> Box:
        """Take as long as it takes the others to fail."""
        self.starting.set()
        assert self.clearing.wait(60)
        return Box(self.open, spec.label)

    def reap(self) -> int:
        """There is nothing to reap."""
        return 0


class TwoJobs:
    """Ada delegates two jobs. The first assistant uses its sandbox; the second answers once that is being started."""

    def __init__(self, boxes: Boxes) -> None:
        self._boxes = boxes
        self._lock = threading.Lock()
        self._first = ""

    def complete(self, request: ModelRequest) -> ModelResponse:
        """Answer by role."""
        if request.role != "assistant":
            if request.call == ("ada.1", 1):
                jobs = [call("delegate", goal=f"count {n}", deliverables=[f"Documents/{n}.md"]) for n in ("a", "b")]
                return calls(*jobs, call("finish"))
            return call("finish")
        with self._lock:
            self._first = self._first or request.call[0]
        if request.call[0] != self._first:
            assert self._boxes.starting.wait(60)
        return call("bash", command="ls")


class Full(MemoryJournal):
    """A journal whose disk is full once the first sandbox is being started."""

    boxes: Boxes

    def record(self, calls: Iterable[tuple[ModelRequest, ModelResponse]], tools: Iterable[TapeTool] = ()) -> None:
        """Keep answers until there is no room."""
        if self.boxes.starting.is_set():
            raise StorageError("No space is left.")
        super().record(calls, tools)


def test_a_sandbox_that_starts_while_the_run_fails_is_closed_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fault is met by the engine while a worker is still starting a sandbox for a segment it already let go."""
    boxes = Boxes()
    journal = Full()
    journal.boxes = boxes
    close = SegmentRun.close

    def closing(run: SegmentRun) -> None:
        close(run)
        boxes.clearing.set()

    monkeypatch.setattr(SegmentRun, "close", closing)
    bench = Bench(opening([person("ada", ALL)], matter=False), TwoJobs(boxes), sandboxes=boxes, journal=journal)
    before = threading.active_count()
    with pytest.raises(StorageError, match="No space"):
        bench.run(OPENING + 30 * HOUR)
    assert boxes.clearing.is_set()
    assert boxes.open == set()
    assert threading.active_count() == before
