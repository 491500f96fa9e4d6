"""How fast an office opens and a slider moves, and whether watching it takes memory (issue 5)."""

from __future__ import annotations

import os
import resource
import statistics
import sys
import time
from collections.abc import Sequence
from contextlib import closing

import msgspec

from orchestrator.compose import House
from orchestrator.settings import read_settings
from orchestrator.web.book import Book, Shelf
from orchestrator.web.queries import state

_PAGE_KIB = resource.getpagesize() // 1024


class Measured(msgspec.Struct, frozen=True):
    """Seconds of wall time, and memory in MiB. `grew_mib` is what `steps` further slider steps have added."""

    office: str
    events: int
    days: int
    first_answer_s: float
    read_once_s: float
    step_median_s: float
    step_worst_s: float
    steps: int
    snapshots: int
    memory_mib: float
    grew_mib: float


def measure(house: House, reference: str, steps: int = 400) -> Measured:
    """Open an office as a page does, move the slider over its whole past, and go on doing so."""
    began = time.monotonic()
    book = Shelf(house).open(reference)
    state.floor(book.at())
    first = time.monotonic() - began
    began = time.monotonic()
    tally = book.timeline.read_on()
    read = time.monotonic() - began
    head = book.timeline.head
    taken = [_step(book, 1 + n * 7_919 % head) for n in range(steps)]
    before = _memory()
    for n in range(steps):
        _step(book, 1 + n * 104_729 % head)
    return Measured(
        book.id, head, len(tally.days), round(first, 3), round(read, 3), round(statistics.median(taken), 4),
        round(max(taken), 4), steps, book.timeline.snapshots, round(before, 1), round(_memory() - before, 1),
    )  # fmt: skip


def _step(book: Book, revision: int) -> float:
    began = time.monotonic()
    msgspec.json.encode(state.floor(book.at(str(revision))))
    return time.monotonic() - began


def _memory() -> float:
    """Return the memory of this process in MiB: what is resident now, or at most so far where that cannot be read."""
    try:
        with open("/proc/self/statm") as table:  # noqa: PTH123 - a file of the kernel
            return int(table.read().split()[1]) * _PAGE_KIB / 1024
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main(arguments: Sequence[str] = ()) -> int:
    """Measure the offices named (all of this home without any) and print one JSON object a line."""
    with closing(House(read_settings(os.environ))) as house:
        for name in arguments or [row.id for row in house.offices.list()]:
            sys.stdout.write(msgspec.json.encode(measure(house, name)).decode() + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
