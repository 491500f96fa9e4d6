"""Long work that a browser starts: making an office, freezing tasks. It goes on in a thread and is asked after."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from orchestrator.output import Out
from orchestrator.web.errors import Conflicting
from simulator.canonical import clean_text
from simulator.errors import OfficeTownError, UnknownReference

AT_ONCE = 2
_KEPT = 50
_LINES = 400
log = logging.getLogger("officetown.web")


class Job(msgspec.Struct, frozen=True):
    """A piece of long work. `state` is `working`, `done` or `failed`; `lines` is what it says, the latest last."""

    id: str
    what: str
    state: str
    lines: tuple[str, ...]
    result: dict[str, Any]
    error: str
    started: float


class Heard(Out):
    """Where a command of a job speaks: its words are kept."""

    def __init__(self) -> None:
        super().__init__(quiet=True)
        self.lines: deque[str] = deque(maxlen=_LINES)
        self.given: dict[str, Any] = {}

    def say(self, text: str = "") -> None:
        """Keep a line."""
        if text.strip():
            self.lines.append(clean_text(text.strip()))

    def result(self, value: Mapping[str, Any]) -> None:
        """Keep the result."""
        self.given = dict(value)


class _Working:
    def __init__(self, name: str, what: str, started: float) -> None:
        self.name, self.what, self.started = name, what, started
        self.heard = Heard()
        self.state, self.error = "working", ""
        self.ended = threading.Event()

    def shown(self) -> Job:
        return Job(
            self.name, self.what, self.state, tuple(self.heard.lines), self.heard.given, self.error, self.started
        )  # fmt: skip


class Jobs:
    """The jobs of this process, the latest ones. Thread-safe."""

    def __init__(self, now: Callable[[], float], at_once: int = AT_ONCE) -> None:
        self._now = now
        self._at_once = at_once
        self._lock = threading.Lock()
        self._jobs: OrderedDict[str, _Working] = OrderedDict()
        self._number = 0

    def start(self, what: str, work: Callable[[Heard], object], wait_s: float = 0.0) -> Job:
        """Start a job and wait for it a little. Raises Conflicting where too many are under way."""
        with self._lock:
            if sum(1 for j in self._jobs.values() if j.state == "working") >= self._at_once:
                raise Conflicting(f"{self._at_once} jobs are under way already. Wait for one of them.")
            self._number += 1
            job = _Working(f"job-{self._number}", what, self._now())
            self._jobs[job.name] = job
            while len(self._jobs) > _KEPT:
                self._jobs.popitem(last=False)
        threading.Thread(target=self._work, args=(job, work), name=job.name, daemon=True).start()
        job.ended.wait(wait_s)
        return job.shown()

    def _work(self, job: _Working, work: Callable[[Heard], object]) -> None:
        try:
            work(job.heard)
            job.state = "done"
        except OfficeTownError as fault:
            job.state, job.error = "failed", str(fault)
        except Exception as fault:  # noqa: BLE001 - a thread's error would vanish; the page is to show it
            log.error("%s failed", job.what, exc_info=fault)
            job.state, job.error = "failed", f"{type(fault).__name__}: {fault}"
        finally:
            job.ended.set()

    def list(self) -> tuple[Job, ...]:
        """Return the jobs, the latest first."""
        with self._lock:
            return tuple(job.shown() for job in reversed(self._jobs.values()))

    def get(self, name: str) -> Job:
        """Return a job. Raises UnknownReference."""
        job = self._jobs.get(name)
        if job is None:
            raise UnknownReference(f"There is no job {name[:40]!r}.")
        return job.shown()
