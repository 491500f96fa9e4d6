"""What an office's calls have used: by role, person, task and day, as of a moment, and how long models took to answer."""

from __future__ import annotations

import statistics
import threading
from collections import OrderedDict
from collections.abc import Iterable

import msgspec

from orchestrator.costs import Used
from orchestrator.web.book import Book
from services.storage.tape import LedgerLine
from simulator.businesstime import calendar_for
from simulator.office import Office

_KEPT = 8


class Spent(msgspec.Struct, frozen=True):
    """One line: what a role, person, task or day has used. Money is in millionths of the office's currency.

    `latency_ms` is the wall time in which half of the calls were answered, `latency_ms_95` that of 95 in a hundred; 0
    where no call was waited for, as with the offline professional.
    """

    name: str
    calls: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    reasoning_tokens: int
    micros: int
    latency_ms: int = 0
    latency_ms_95: int = 0


class CostsShown(msgspec.Struct, frozen=True):
    """What an office has used, dearest first within each list; days in order. `under_way` calls have no answer yet and
    count at their worst case. A call counts from the moment on at which its activation began."""

    currency: str
    total: Spent
    under_way: int
    by_role: tuple[Spent, ...]
    by_person: tuple[Spent, ...]
    by_task: tuple[Spent, ...]
    by_day: tuple[Spent, ...]


class Ledger:
    """The calls of each office, and their sums by now, kept until another call is answered or an activation begins."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, tuple[tuple[int, int], tuple[LedgerLine, ...], CostsShown]] = OrderedDict()
        self._lock = threading.Lock()

    def costs(self, book: Book, office: Office | None = None) -> CostsShown:
        """Return what an office has used by a moment, or by now."""
        state = (book.timeline.head, book.reader.charged_micros())
        with self._lock:
            kept = self._kept.get(book.id)
        if kept is None or kept[0] != state or kept[2].under_way:
            lines = tuple(book.reader.ledger())
            kept = (state, lines, costs(book, book.at(), lines))
            with self._lock:
                self._kept[book.id] = kept
                while len(self._kept) > _KEPT:
                    self._kept.popitem(last=False)
        return kept[2] if office is None or office.revision >= state[0] else costs(book, office, kept[1])


class _Sum(Used):
    """A sum of calls, and how long each took, in milliseconds."""

    waits: list[int] = []

    def add(self, line: LedgerLine) -> None:
        """Add one call."""
        Used.add(self, line)
        if line.latency_ms:
            self.waits.append(line.latency_ms)


def costs(book: Book, office: Office, lines: Iterable[LedgerLine]) -> CostsShown:
    """Return what an office's calls have used by a moment."""
    activations = book.timeline.read_on().activations
    calendar = calendar_for(office.calendar)
    sessions = {p.session: p.id for p in office.people.values() if p.session}
    total, under_way = _Sum(), 0
    by: dict[str, dict[str, _Sum]] = {"role": {}, "person": {}, "task": {}, "day": {}}
    for line in lines:
        a = activations.get(line.activation)
        places = {"role": line.role, "person": sessions.get(line.session.partition("/")[0], line.session)}
        if a is not None:
            if a.began > office.revision:
                continue
            places["day"] = calendar.day(a.at)
            if a.kind == "segment":
                places["task"] = a.ref
                places["person"] = _principal(office, a.ref) or places["person"]
        total.add(line)
        under_way += line.state == "begun"
        for what, name in places.items():
            by[what].setdefault(name, _Sum()).add(line)
    return CostsShown(
        office.currency, _spent("", total), under_way, _dearest(by["role"]), _dearest(by["person"]), _dearest(by["task"]),
        tuple(_spent(name, used) for name, used in sorted(by["day"].items())),
    )  # fmt: skip


def _principal(office: Office, delegation: str) -> str:
    found = office.delegations.get(delegation)
    return found.principal if found is not None else ""


def _dearest(groups: dict[str, _Sum]) -> tuple[Spent, ...]:
    ordered = sorted(groups.items(), key=lambda g: (-g[1].micros, -g[1].input, g[0]))
    return tuple(_spent(name, used) for name, used in ordered)


def _spent(name: str, u: _Sum) -> Spent:
    waits = sorted(u.waits)
    half, most = (round(statistics.median(waits)), waits[(95 * len(waits) - 1) // 100]) if waits else (0, 0)
    return Spent(name, u.calls, u.input, u.cached, u.output, u.reasoning, u.micros, half, most)
