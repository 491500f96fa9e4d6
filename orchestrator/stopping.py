"""Stopping: Ctrl-C and SIGTERM end a run at its next commit; a second one ends the process at once.

Nothing is lost either way: what was committed stays, and what was in flight is asked for again by the next run.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from simulator.engine.environment import Parked

_SLICE = 0.2
_FIRST = b"\nStopping at the next commit, once the answers in flight are stored. Again to leave at once.\n"
_SECOND = b"\nLeft at once. What was committed is safe.\n"


class Stop:
    """Whether this process was asked to stop, and by which signal (0: it was not)."""

    def __init__(self, wall: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep) -> None:
        self.signal = 0
        self._told: Callable[[], None] = lambda: None
        self._wall = wall
        self._sleep = sleep

    @property
    def exit_code(self) -> int:
        """128 + the signal, as shells have it."""
        return 128 + self.signal

    def sleep(self, seconds: float, woken: Callable[[], bool] = lambda: False) -> bool:
        """Sleep in short slices, so that a request to stop is heard, or that something woke us; return False then."""
        end = self._wall() + seconds
        while not self.signal and not woken() and (left := end - self._wall()) > 0:
            self._sleep(min(_SLICE, left))
        return not self.signal and not woken()

    def sleep_or_park(self, seconds: float) -> None:
        """As `sleep`, for a model call that waits out an outage: a request to stop leaves the call unanswered."""
        self.sleep(seconds)
        if self.signal:
            raise Parked

    def tell(self, stop: Callable[[], None]) -> None:
        """Have `stop` called when the signal comes; at once where it has come already."""
        self._told = stop
        if self.signal:
            stop()

    @contextmanager
    def heeding(self) -> Iterator[None]:
        """Heed the first Ctrl-C or SIGTERM inside the block; leave the process on the second."""

        def heard(number: int, _frame: FrameType | None) -> None:
            # Written without buffers: the handler may have interrupted somebody in the middle of a line.
            if self.signal:
                _tell(_SECOND)
                os._exit(128 + number)
            self.signal = number
            self._told()
            _tell(_FIRST)

        if threading.current_thread() is not threading.main_thread():
            # Python hands signals to the main thread alone: a run in another one is stopped by who started it.
            yield
            return
        before = {number: signal.signal(number, heard) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _tell(words: bytes) -> None:
    with suppress(OSError):
        os.write(2, words)
