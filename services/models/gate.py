"""How many calls at once an endpoint is sent: rising by one a round of successes, halved when it limits (AIMD)."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Gate:
    """Lets at most `limit` callers through at once; `limit` moves between `lowest` and `highest`.

    Only wall time depends on it, never the event log: the engine's order is its own.
    """

    def __init__(self, highest: int, lowest: int = 1, start: int | None = None) -> None:
        if not 1 <= lowest <= highest:
            raise ValueError(f"gate bounds {lowest}..{highest}: need 1 <= lowest <= highest")
        self._lowest = lowest
        self._highest = highest
        self._limit = float(min(max(start if start is not None else highest, lowest), highest))
        self._inside = 0
        self._changed = threading.Condition()

    @property
    def limit(self) -> int:
        """How many may be inside now."""
        return int(self._limit)

    @contextmanager
    def slot(self) -> Iterator[None]:
        """Wait for a place, and hold it."""
        with self._changed:
            while self._inside >= int(self._limit):
                self._changed.wait()
            self._inside += 1
        try:
            yield
        finally:
            with self._changed:
                self._inside -= 1
                self._changed.notify_all()

    def went_well(self) -> None:
        """Count a success: the limit grows by one after as many successes as it is high."""
        with self._changed:
            self._limit = min(self._limit + 1 / self._limit, float(self._highest))
            self._changed.notify_all()

    def was_limited(self) -> None:
        """Halve the limit: the endpoint asked for less."""
        with self._changed:
            self._limit = max(self._limit / 2, float(self._lowest))
