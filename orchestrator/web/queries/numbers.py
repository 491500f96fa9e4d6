"""Numbers over time: how much was made and said, how often work went back, how long it took, what it cost."""

from __future__ import annotations

import csv
import io
import statistics

import msgspec

from orchestrator.web.book import Book
from orchestrator.web.queries.costs import CostsShown
from orchestrator.web.tally import Accepted, Day, Tally, count
from simulator.events import decode
from simulator.office import Office


class DayNumbers(msgspec.Struct, frozen=True):
    """One day, up to the moment asked for. `cost_micros`, tokens and `latency_ms` (the median; 0 where no call was waited
    for) are of the calls of activations that began on it."""

    day: str
    events: int
    files: int
    versions: int
    messages: int
    mails: int
    meetings: int
    requests: int
    delegations: int
    submissions: int
    accepted: int
    revised: int
    supplemented: int
    questions: int
    shares: int
    conflicts: int
    activations: int
    turns: int
    calls: int
    input_tokens: int
    output_tokens: int
    cost_micros: int
    latency_ms: int = 0


class PersonNumbers(msgspec.Struct, frozen=True):
    """One person, up to the moment asked for. Hours are business hours from delegating to accepting, the median."""

    person: str
    name: str
    title: str
    department: str
    activations: int
    delegations: int
    accepted: int
    sent_back: int
    hours_to_accept: float
    calls: int
    tokens: int
    cost_micros: int
    latency_ms: int = 0


class Numbers(msgspec.Struct, frozen=True):
    """Everything counted. `rounds` says how much accepted work took 1, 2, ... rounds; `rework` is the share of reviews
    that sent work back."""

    currency: str
    days: tuple[DayNumbers, ...]
    people: tuple[PersonNumbers, ...]
    rounds: dict[str, int]
    rework: float
    hours_to_accept_median: float
    hours_to_accept_mean: float
    latency_ms_median: int
    latency_ms_95: int
    totals: dict[str, int]


_COUNTED = tuple(name for name in Day.__struct_fields__ if name not in ("day", "first", "last"))


def numbers(book: Book, office: Office, spent: CostsShown) -> Numbers:
    """Return an office's numbers by a moment; `spent` are its costs by then."""
    tally = book.timeline.read_on()
    by_day = {line.name: line for line in spent.by_day}
    days = []
    for d in _days(book, tally, office.revision):
        c = by_day.get(d.day)
        counted = {name: getattr(d, name) for name in _COUNTED}
        paid = (c.calls, c.input_tokens, c.output_tokens, c.micros) if c is not None else (0, 0, 0, 0)
        days.append(DayNumbers(d.day, **counted, **dict(zip(_PAID, paid, strict=True)), latency_ms=c.latency_ms if c else 0))
    totals = {name: sum(getattr(d, name) for d in days) for name in (*_COUNTED, *_PAID)}
    accepted = _accepted(tally, office)
    rounds: dict[str, int] = {}
    for done in accepted:
        rounds[str(done.rounds)] = rounds.get(str(done.rounds), 0) + 1
    reviews = totals["accepted"] + totals["revised"] + totals["supplemented"]
    hours = [done.open_seconds / 3600 for done in accepted]
    return Numbers(
        office.currency, tuple(days), _people(tally, office, spent), dict(sorted(rounds.items())),
        round((reviews - totals["accepted"]) / reviews, 4) if reviews else 0.0,
        round(statistics.median(hours), 2) if hours else 0.0, round(statistics.fmean(hours), 2) if hours else 0.0,
        spent.total.latency_ms, spent.total.latency_ms_95, totals,
    )  # fmt: skip


_PAID = ("calls", "input_tokens", "output_tokens", "cost_micros")


def _days(book: Book, tally: Tally, revision: int) -> list[Day]:
    """Return the days by a revision; the last one is counted anew where the revision lies within it."""
    days = [d for d in list(tally.days) if d.first <= revision]
    if days and days[-1].last > revision:
        whole = days.pop()
        days.append(Day(whole.day, whole.first, revision))
        for _, data in book.reader.events(whole.first - 1, revision):
            count(days[-1], decode(data))
    return days


def _accepted(tally: Tally, office: Office) -> list[Accepted]:
    return [done for done in list(tally.accepted) if done.revision <= office.revision]


def _at_work(tally: Tally, person: str, revision: int) -> int:
    """Return how many activations had begun by a revision that occupied a person."""
    return sum(tally.activations[i].began <= revision for i in tally.by_person.get(person, ()))


def _people(tally: Tally, office: Office, spent: CostsShown) -> tuple[PersonNumbers, ...]:
    paid = {line.name: line for line in spent.by_person}
    given: dict[str, int] = {}
    back: dict[str, int] = {}
    for d in office.delegations.values():
        given[d.principal] = given.get(d.principal, 0) + 1
        again = sum(1 for r in d.rounds if r.review is not None and r.review.decision != "accept")
        back[d.principal] = back.get(d.principal, 0) + again
    hours: dict[str, list[float]] = {}
    for done in _accepted(tally, office):
        hours.setdefault(done.principal, []).append(done.open_seconds / 3600)
    lines = []
    for p in sorted(office.people.values(), key=lambda p: (p.kind, p.id)):
        own, cost = hours.get(p.id, []), paid.get(p.id)
        lines.append(
            PersonNumbers(
                p.id, p.name, p.title, p.department or p.client, _at_work(tally, p.id, office.revision), given.get(p.id, 0), len(own),
                back.get(p.id, 0), round(statistics.median(own), 2) if own else 0.0, cost.calls if cost else 0,
                cost.input_tokens + cost.output_tokens if cost else 0, cost.micros if cost else 0,
                cost.latency_ms if cost else 0,
            )
        )  # fmt: skip
    return tuple(lines)


def as_csv(table: tuple[DayNumbers, ...] | tuple[PersonNumbers, ...]) -> bytes:
    """Return a table as CSV. A cell that a spreadsheet would take for a formula begins with an apostrophe."""
    out = io.StringIO()
    writer = csv.writer(out)
    kind = type(table[0]) if table else DayNumbers
    writer.writerow(kind.__struct_fields__)
    for row in table:
        writer.writerow([_cell(getattr(row, name)) for name in row.__struct_fields__])
    return out.getvalue().encode()


def _cell(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t") else value
