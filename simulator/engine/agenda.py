"""The engine's queue: what happens next, in the order of RULES 5 and 6.

A key is a tuple (instant, phase, actor, number, reference), compared element by element. At one instant all landings
come
first, then stimuli, then starts. Meetings start before people do: their actor sorts first.
"""

from __future__ import annotations

import heapq
from enum import IntEnum
from typing import NamedTuple

MEETING_ACTOR = "!"
"""Prefix of a meeting's actor: sorts before every id of a person."""


class Phase(IntEnum):
    """The order within one instant."""

    LANDING = 0
    STIMULUS = 1
    START = 2


class Key(NamedTuple):
    """The whole typed key of an item."""

    at: int
    phase: Phase
    actor: str
    number: int
    ref: str = ""


class Item(NamedTuple):
    """A queued item. `what` says what the engine does with it: `landing`, `timer`, `person`, `meeting`, `segment`."""

    key: Key
    what: str


class Agenda:
    """A heap of items. Items are checked when they are popped, never removed: what no longer holds is dropped then."""

    def __init__(self) -> None:
        self._heap: list[Item] = []
        self._queued: set[Item] = set()

    def push(self, item: Item) -> None:
        """Queue an item once."""
        if item not in self._queued:
            self._queued.add(item)
            heapq.heappush(self._heap, item)

    def peek(self) -> Item | None:
        """Return the first item, or None."""
        return self._heap[0] if self._heap else None

    def pop(self) -> Item:
        """Remove and return the first item."""
        item = heapq.heappop(self._heap)
        self._queued.discard(item)
        return item

    def __len__(self) -> int:
        return len(self._heap)
