"""Numbers over time: how much was made and said, how often work went back, how long it took, what it cost."""

from __future__ import annotations

import csv
import io
import statistics

import msgspec

from orchestrator.web.book import Book
from orchestrator.web.queries.costs import CostsShown
from orchestrator.web.tally import Day
from simulator.office import Office


class DayNumbers(msgspec.Struct, frozen=True):
    """One day. `cost_micros` and tokens are of the calls of activations that began on it."""

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


class PersonNumbers(msgspec.Struct, frozen=True):
    """One person over the whole time. Hours are business hours from delegating to accepting, the median."""

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
    totals: dict[str, int]


_COUNTED = tuple(name for name in Day.__struct_fields__ if name not in ("day", "first", "last"))


def numbers(book: Book, spent: CostsShown) -> Numbers:
    """Return an office's numbers by now."""
    tally, office = book.timeline.read_on(), book.at()
    by_day = {line.name: line for line in spent.by_day}
    days = []
    for d in list(tally.days):
        c = by_day.get(d.day)
        counted = {name: getattr(d, name) for name in _COUNTED}
        paid = (c.calls, c.input_tokens, c.output_tokens, c.micros) if c is not None else (0, 0, 0, 0)
        days.append(DayNumbers(d.day, **counted, **dict(zip(_PAID, paid, strict=True))))
    totals = {name: sum(getattr(d, name) for d in days) for name in (*_COUNTED, *_PAID)}
    accepted = list(tally.accepted)
    rounds: dict[str, int] = {}
    for done in accepted:
        rounds[str(done.rounds)] = rounds.get(str(done.rounds), 0) + 1
    reviews = totals["accepted"] + totals["revised"] + totals["supplemented"]
    hours = [done.open_seconds / 3600 for done in accepted]
    return Numbers(
        office.currency, tuple(days), _people(book, office, spent), dict(sorted(rounds.items())),
        round((reviews - totals["accepted"]) / reviews, 4) if reviews else 0.0,
        round(statistics.median(hours), 2) if hours else 0.0, round(statistics.fmean(hours), 2) if hours else 0.0, totals,
    )  # fmt: skip


_PAID = ("calls", "input_tokens", "output_tokens", "cost_micros")


def _people(book: Book, office: Office, spent: CostsShown) -> tuple[PersonNumbers, ...]:
    tally = book.timeline.read_on()
    paid = {line.name: line for line in spent.by_person}
    given: dict[str, int] = {}
    back: dict[str, int] = {}
    for d in office.delegations.values():
        given[d.principal] = given.get(d.principal, 0) + 1
        again = sum(1 for r in d.rounds if r.review is not None and r.review.decision != "accept")
        back[d.principal] = back.get(d.principal, 0) + again
    hours: dict[str, list[float]] = {}
    for done in list(tally.accepted):
        hours.setdefault(done.principal, []).append(done.open_seconds / 3600)
    lines = []
    for p in sorted(office.people.values(), key=lambda p: (p.kind, p.id)):
        own, cost = hours.get(p.id, []), paid.get(p.id)
        lines.append(
            PersonNumbers(
                p.id, p.name, p.title, p.department or p.client, len(tally.by_person.get(p.id, ())), given.get(p.id, 0), len(own),
                back.get(p.id, 0), round(statistics.median(own), 2) if own else 0.0, cost.calls if cost else 0,
                cost.input_tokens + cost.output_tokens if cost else 0, cost.micros if cost else 0,
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
