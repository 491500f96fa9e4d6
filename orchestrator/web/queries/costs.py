"""What an office's calls have used: by role, person, task and day."""

from __future__ import annotations

import threading
from collections import OrderedDict

import msgspec

from orchestrator.costs import Used
from orchestrator.web.book import Book
from simulator.businesstime import calendar_for
from simulator.office import Office

_KEPT = 8


class Spent(msgspec.Struct, frozen=True):
    """One line: what a role, person, task or day has used. Money is in millionths of the office's currency."""

    name: str
    calls: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    reasoning_tokens: int
    micros: int


class CostsShown(msgspec.Struct, frozen=True):
    """What an office has used, dearest first within each list; days in order. `under_way` calls have no answer yet and
    count at their worst case."""

    currency: str
    total: Spent
    under_way: int
    by_role: tuple[Spent, ...]
    by_person: tuple[Spent, ...]
    by_task: tuple[Spent, ...]
    by_day: tuple[Spent, ...]


class Ledger:
    """The sums, kept until another call is answered or an activation begins."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, tuple[tuple[int, int], CostsShown]] = OrderedDict()
        self._lock = threading.Lock()

    def costs(self, book: Book) -> CostsShown:
        """Return what an office has used by now."""
        state = (book.timeline.head, book.reader.charged_micros())
        with self._lock:
            kept = self._kept.get(book.id)
        if kept is not None and kept[0] == state and not kept[1].under_way:
            return kept[1]
        shown = costs(book)
        with self._lock:
            self._kept[book.id] = (state, shown)
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return shown


def costs(book: Book) -> CostsShown:
    """Return what an office has used by now, summed anew."""
    tally, office = book.timeline.read_on(), book.at()
    calendar = calendar_for(office.calendar)
    sessions = {p.session: p.id for p in office.people.values() if p.session}
    total, under_way = Used(), 0
    by: dict[str, dict[str, Used]] = {"role": {}, "person": {}, "task": {}, "day": {}}
    for line in book.reader.ledger():
        a = tally.activations.get(line.activation)
        places = {"role": line.role, "person": sessions.get(line.session.partition("/")[0], line.session)}
        if a is not None:
            places["day"] = calendar.day(a.at)
            if a.kind == "segment":
                places["task"] = a.ref
                places["person"] = _principal(office, a.ref) or places["person"]
        total.add(line)
        under_way += line.state == "begun"
        for what, name in places.items():
            by[what].setdefault(name, Used()).add(line)
    return CostsShown(
        office.currency, _spent("", total), under_way, _dearest(by["role"]), _dearest(by["person"]), _dearest(by["task"]),
        tuple(_spent(name, used) for name, used in sorted(by["day"].items())),
    )  # fmt: skip


def _principal(office: Office, delegation: str) -> str:
    found = office.delegations.get(delegation)
    return found.principal if found is not None else ""


def _dearest(groups: dict[str, Used]) -> tuple[Spent, ...]:
    ordered = sorted(groups.items(), key=lambda g: (-g[1].micros, -g[1].input, g[0]))
    return tuple(_spent(name, used) for name, used in ordered)


def _spent(name: str, u: Used) -> Spent:
    return Spent(name, u.calls, u.input, u.cached, u.output, u.reasoning, u.micros)
