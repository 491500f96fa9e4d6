"""A gate that also keeps to a number of calls a minute."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from services.models.gate import Gate


class PacedGate(Gate):
    """Lets callers through as `Gate` does, and no sooner than `60 / rate` seconds after one another.

    `rate` is in calls a minute. `monotonic` and `sleep` are in seconds. Thread-safe: each caller takes the next free
    moment and waits for it outside the lock. It is waited before a budget is asked, so nothing is reserved meanwhile.
    """

    def __init__(
        self, highest: int, rate: float, monotonic: Callable[[], float], sleep: Callable[[float], None]
    ) -> None:
        super().__init__(highest)
        if not rate > 0:
            raise ValueError(f"a rate of {rate} calls a minute: it must be above 0")
        self._apart = 60.0 / rate
        self._monotonic = monotonic
        self._sleep = sleep
        self._next = monotonic()
        self._pace = threading.Lock()

    @contextmanager
    def slot(self) -> Iterator[None]:
        """Wait for a place and for its moment, and hold the place."""
        with super().slot():
            with self._pace:
                now = self._monotonic()
                moment = max(self._next, now)
                self._next = moment + self._apart
            if moment > now:
                self._sleep(moment - now)
            yield
