"""Which messages of a request are new: an agent sends its whole conversation each time, and sometimes another one.

A session may hold several conversations: an agent names its chat with a call on the side, sums up what became too
long, or asks twice. Each is a thread: what was sent and answered in it, in order. A request continues the thread it
shares most with; where it leaves that thread's line, a new thread branches off.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from simulator.canonical import canonical, sha256
from simulator.conversation import Message

_HEX = 16


class Entry(msgspec.Struct, frozen=True, array_like=True):
    """One message of a thread. `key` finds it again, `exact` tells whether it was rewritten, `step_id` holds it.

    Agents trim old results and strip texts: so a call and its result are found by their ids alone.
    """

    key: str
    exact: str
    step_id: int


class Branch(msgspec.Struct, frozen=True):
    """A thread as it is stored: the first `kept` entries of its parent, then its own."""

    parent: int
    kept: int
    entries: tuple[Entry, ...]


class Placement(msgspec.Struct, frozen=True):
    """Where a request belongs: its thread, how many of its messages are known there, how many of these rewritten."""

    thread: int
    known: int
    rewritten: int


def entry_of(message: Message, step_id: int) -> Entry:
    """Return the entry under which a message is known."""
    if message.role == "tool":
        said: tuple[object, ...] = ("tool", message.tool_call_id)
    elif message.tool_calls:
        said = ("calls", [(call.id, call.name) for call in message.tool_calls])
    else:
        said = (message.role, message.content.strip())
    whole = (message.role, message.content.strip(), message.tool_call_id, message.tool_calls)
    return Entry(sha256(canonical(said))[:_HEX], sha256(canonical(whole))[:_HEX], step_id)


class Threads:
    """The threads of one session. Not thread-safe: its session holds the lock."""

    def __init__(self, stored: Sequence[Branch] = ()) -> None:
        self._lines: list[list[Entry]] = []
        self._roots: list[tuple[int, int]] = []
        self._waiting: set[int] = set()
        for branch in stored:
            self._start(branch.parent, branch.kept)
            self._lines[-1].extend(branch.entries)

    def stored(self) -> tuple[Branch, ...]:
        """Return what to store: every thread's own entries."""
        pairs = zip(self._roots, self._lines, strict=True)
        return tuple(Branch(parent, kept, tuple(line[kept:])) for (parent, kept), line in pairs)

    def place(self, messages: Sequence[Message]) -> Placement:
        """Find or branch off the thread that `messages` continue, and mark it as waiting for its answer."""
        found = self.find(messages)
        if found is None:
            self._start(-1, 0)
            found = Placement(len(self._lines) - 1, 0, 0)
        elif found.known < len(self._lines[found.thread]) or found.thread in self._waiting:
            self._start(found.thread, found.known)
            found = msgspec.structs.replace(found, thread=len(self._lines) - 1)
        self._waiting.add(found.thread)
        return found

    def find(self, messages: Sequence[Message]) -> Placement | None:
        """Return the thread that shares most with `messages`, and how much; None if none shares a conversation."""
        given = [entry_of(message, 0) for message in messages]
        best, known, exact = -1, 0, 0
        for number, line in enumerate(self._lines):
            alike = _alike(given, line)
            same = sum(a.exact == b.exact for a, b in zip(given[:alike], line, strict=False))
            # Ids repeat between conversations, so what is the same word for word tells more than what has the same ids.
            if alike and (same, alike) >= (exact, known):
                best, known, exact = number, alike, same
        # Sharing no more than instructions makes no conversation.
        if best < 0 or all(message.role == "system" for message in messages[:known]):
            return None
        return Placement(best, known, known - exact)

    def length(self, thread: int) -> int:
        """Return how many messages a thread has."""
        return len(self._lines[thread])

    def add(self, thread: int, message: Message, step_id: int) -> None:
        """Append a message to a thread."""
        self._lines[thread].append(entry_of(message, step_id))

    def done(self, thread: int) -> None:
        """Note that a thread waits for no answer any more."""
        self._waiting.discard(thread)

    def steps(self, thread: int) -> tuple[int, ...]:
        """Return the steps that hold a thread's messages, in order."""
        return tuple(entry.step_id for entry in self._lines[thread])

    def knows(self, message: Message) -> bool:
        """Whether any thread holds this very message."""
        exact = entry_of(message, 0).exact
        return any(entry.exact == exact for line in self._lines for entry in line)

    def _start(self, parent: int, kept: int) -> None:
        self._roots.append((parent, kept))
        self._lines.append(self._lines[parent][:kept] if parent >= 0 else [])


def _alike(given: Sequence[Entry], line: Sequence[Entry]) -> int:
    """Return how many entries at the head of both lines have the same keys."""
    for at, (a, b) in enumerate(zip(given, line, strict=False)):
        if a.key != b.key:
            return at
    return min(len(given), len(line))
