"""Random draws from named counter streams (RULE 37).

A stream is SHA-256 over (seed, name, counter). Two streams never disturb each other, so adding a draw in one place
does not change any draw elsewhere, and a draw needs no state beyond its counter.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Stream:
    """A stream of draws, fully determined by `seed` and `name`."""

    __slots__ = ("_counter", "_prefix")

    def __init__(self, seed: int, *name: str | int) -> None:
        self._prefix = ("\x1f".join(str(part) for part in (seed, *name)) + "\x1f").encode()
        self._counter = 0

    def bits(self) -> int:
        """Return the next 64 bits as a whole number."""
        digest = hashlib.sha256(self._prefix + str(self._counter).encode()).digest()
        self._counter += 1
        return int.from_bytes(digest[:8], "big")

    def below(self, n: int) -> int:
        """Return a whole number in [0, n). The bias is below n / 2**64."""
        if n < 1:
            raise ValueError(f"below({n}): n must be at least 1")
        return self.bits() % n

    def between(self, low: int, high: int) -> int:
        """Return a whole number in [low, high], both included."""
        return low + self.below(high - low + 1)

    def chance(self, numerator: int, denominator: int) -> bool:
        """Return True with probability numerator / denominator."""
        return self.below(denominator) < numerator

    def choice(self, items: Sequence[T]) -> T:
        """Return one of `items`."""
        return items[self.below(len(items))]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """Return a new list: `items` in random order (Fisher-Yates)."""
        out = list(items)
        for i in range(len(out) - 1, 0, -1):
            j = self.below(i + 1)
            out[i], out[j] = out[j], out[i]
        return out
