"""Records digest: what a period's records add up to, by category, with the year to date."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from services.professions import periods
from services.professions.amounts import cents, money
from services.professions.base import (
    MARKDOWN,
    XLSX,
    Deliverable,
    Finding,
    Inputs,
    InputSpec,
    Others,
    Outcome,
    Profession,
    Table,
    amount_in,
    carried_amount,
    carried_cents,
    outside,
    repeated,
    same_year,
    write_csv,
)
from services.professions.periods import Span
from services.professions.sectors import sector_of
from services.professions.views import PriorView
from simulator.randomness import Stream

WORKBOOK = "Digest.xlsx"
NOTE = "Digest note.md"
COLUMNS = ("record_id", "date", "category", "amount", "note")
FLAG_AT = 1000_00


class RecordsDigest(Profession):
    """The recurring digest of a client's records."""

    kind = "records-digest"
    domain = "general"
    title = "Records digest"
    inputs = (InputSpec("records", "records.csv", COLUMNS, "the period's records"),)
    deliverables = (Deliverable(WORKBOOK, XLSX), Deliverable(NOTE, MARKDOWN))
    labels = (
        "Records", "Total", "Largest category", "Largest category total", "Year to date total", "Flagged records",
    )  # fmt: skip

    live = ("Total", "Largest category total", "Year to date total")

    def materials(self, client: str, period: str, seed: int, days: int = 7) -> dict[str, str]:
        """Return the period's records: new ones, and reversals of some of the period before."""
        at = periods.span(period, days)
        rows = [*_reversals(client, at, seed), *_new(client, at, seed)]
        tie = _tie(rows, at, Stream(seed, "tie", client, at.name))
        return {"records.csv": write_csv(COLUMNS, sorted([*rows, *tie], key=lambda row: (row[1], row[0])))}

    def compute(self, period: str, inputs: Inputs, prior: PriorView | None, others: Others) -> Outcome:
        """Return totals, flagged records to cite in the note, and the rows of each sheet."""
        rows = self.rows(inputs, "records")
        amounts = [amount_in(row, "amount", "records.csv") for row in rows]
        totals: dict[str, int] = {}
        counts: dict[str, int] = {}
        for row, amount in zip(rows, amounts, strict=True):
            totals[row["category"]] = totals.get(row["category"], 0) + amount
            counts[row["category"]] = counts.get(row["category"], 0) + 1
        largest = min(totals, key=lambda name: (-totals[name], name), default="")
        flagged = [row for row, amount in zip(rows, amounts, strict=True) if abs(amount) >= FLAG_AT]
        before = same_year(prior, period)
        figures = {
            "Records": str(len(rows)),
            "Total": money(sum(amounts)),
            "Largest category": largest,
            "Largest category total": money(totals.get(largest, 0)),
            "Year to date total": money(carried_amount(before, "Year to date total") + sum(amounts)),
            "Flagged records": str(len(flagged)),
        }
        findings = [Finding(row["record_id"], f"{row['amount']} in {row['category']}", (NOTE,)) for row in flagged]
        return Outcome(figures, tuple(findings), _tables(rows, totals, counts, before))

    def check(self, period: str, inputs: Inputs) -> list[str]:
        """Return what does not hold together: dates outside the period, ids twice, records without a category."""
        rows = self.rows(inputs, "records")
        return [
            *outside(period, rows, "date", "record_id"),
            *repeated(rows, "record_id"),
            *(f"{row['record_id']}: no category" for row in rows if not row["category"]),
        ]


def _tables(
    rows: Sequence[Mapping[str, str]], totals: Mapping[str, int], counts: Mapping[str, int], before: PriorView | None
) -> tuple[Table, ...]:
    earlier = before.table("Year to date", ("category", "year to date")) if before is not None else []
    base = {row["category"]: carried_cents(row["year to date"]) for row in earlier}
    records = tuple({key: row[key] for key in COLUMNS[:-1]} for row in rows)
    categories = tuple(
        {"category": name, "n": str(counts[name]), "total": money(totals[name])} for name in sorted(totals)
    )
    to_date = tuple(
        {
            "category": name,
            "prior": money(base.get(name, 0)),
            "period": money(totals.get(name, 0)),
            "year to date": money(base.get(name, 0) + totals.get(name, 0)),
        }
        for name in sorted(base.keys() | totals.keys())
    )
    sums = ("prior", "period", "year to date")
    return (
        Table(WORKBOOK, "Records", ("record_id",), records, ("amount",), {"amount": "Total"}),
        Table(WORKBOOK, "Categories", ("category",), categories, ("total",), {"total": "Total"}),
        Table(WORKBOOK, "Year to date", ("category",), to_date, sums, {"year to date": "Year to date total"}),
    )


def _new(client: str, at: Span, seed: int) -> list[tuple[str, ...]]:
    draw, sector = Stream(seed, "records", client, at.name), sector_of(client, seed)
    categories = draw.shuffled(sector.categories)[: draw.between(4, len(sector.categories))]
    rows: list[tuple[str, ...]] = []
    for number in range(1, draw.between(12, 42) + 1):
        category = draw.choice(categories)
        amount = draw.choice((draw.between(900, 42_000), draw.between(20_000, 99_999), draw.between(80_000, 260_000)))
        if draw.chance(1, 16):
            amount = FLAG_AT
        sign = -1 if category.endswith(("Refunds", "credits")) or draw.chance(1, 14) else 1
        note = f"{draw.choice(sector.vendors)}, {draw.choice(sector.goods)}"
        day = draw.between(1, at.days)
        rows.append((f"R-{at.code}-{number:03d}", at.date(day), category, money(sign * amount), note))
    return rows


def _reversals(client: str, at: Span, seed: int) -> list[tuple[str, ...]]:
    """Return corrections of the period before: up to three of its records taken back."""
    draw, last = Stream(seed, "reversals", client, at.name), _new(client, at.back(1), seed)
    return [
        (
            f"R-{at.code}-9{place:02d}",
            at.date(draw.between(1, 5)),
            row[2],
            money(-cents(row[3])),
            f"reversal of {row[0]}",
        )
        for place, row in enumerate(draw.shuffled(last)[: draw.between(0, 3)])
    ]


def _tie(rows: Sequence[tuple[str, ...]], at: Span, draw: Stream) -> list[tuple[str, ...]]:
    """Return, one time in five, a record that makes the two largest categories equal."""
    totals: dict[str, int] = {}
    for row in rows:
        totals[row[2]] = totals.get(row[2], 0) + cents(row[3])
    first, second = sorted(totals, key=lambda name: (-totals[name], name))[:2]
    gap = totals[first] - totals[second]
    if gap == 0 or not draw.chance(1, 5):
        return []
    return [(f"R-{at.code}-999", at.date(at.days), second, money(gap), "year-end accrual released")]
