"""Named fault points on the paths that must survive anything.

`fault_point("name")` does nothing until a test arms that name. `committed()` stands right after each commit point (a
COMMIT, a rename): there, a fault armed as AFTER_COMMIT comes out as a lost answer.
"""

from __future__ import annotations

import errno
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum

HARD_EXIT_CODE = 86


class Fault(Enum):
    """What an armed fault point does."""

    RAISE = "raise"
    AFTER_COMMIT = "raise after commit"
    HARD_EXIT = "hard exit"
    NO_SPACE = "no space"
    IO_ERROR = "I/O error"


class InjectedFault(Exception):
    """An error that no code expects."""


class LostAnswer(Exception):
    """The commit happened; its answer did not arrive."""


class _Armed:
    """What is armed at present; one for the process, empty outside tests."""

    __slots__ = ("faults", "hits", "lose_answer")

    def __init__(self) -> None:
        self.faults: dict[str, tuple[Fault, int]] = {}
        self.lose_answer = False
        self.hits: Counter[str] | None = None


_STATE = _Armed()


def fault_point(name: str) -> None:
    """Fail here in the armed way, if `name` is armed; otherwise do nothing."""
    if _STATE.hits is not None:
        _STATE.hits[name] += 1
    if not _STATE.faults or name not in _STATE.faults:
        return
    fault, skip = _STATE.faults.pop(name)
    if skip:
        _STATE.faults[name] = (fault, skip - 1)
    else:
        _fail(name, fault)


def _fail(name: str, fault: Fault) -> None:
    match fault:
        case Fault.RAISE:
            raise InjectedFault(name)
        case Fault.AFTER_COMMIT:
            _STATE.lose_answer = True
        case Fault.HARD_EXIT:
            os._exit(HARD_EXIT_CODE)
        case Fault.NO_SPACE:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), name)
        case Fault.IO_ERROR:
            raise OSError(errno.EIO, os.strerror(errno.EIO), name)


def committed() -> None:
    """Lose the answer of the commit just made, if a fault asked for that."""
    if _STATE.lose_answer:
        _STATE.lose_answer = False
        raise LostAnswer("the commit was made, its answer was lost")


@contextmanager
def armed(name: str, fault: Fault, skip: int = 0) -> Iterator[None]:
    """Arm one point for the length of a block: it fails once, after having been passed `skip` times."""
    _STATE.faults[name] = (fault, skip)
    try:
        yield
    finally:
        _STATE.faults.pop(name, None)
        _STATE.lose_answer = False


@contextmanager
def counting() -> Iterator[Counter[str]]:
    """Count how often each point is passed within a block."""
    hits: Counter[str] = Counter()
    _STATE.hits = hits
    try:
        yield hits
    finally:
        _STATE.hits = None
