"""Contract review: which obligations of a client's contracts are overdue, due, or still to come."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from services.professions import periods
from services.professions.amounts import cents, money
from services.professions.base import (
    DOCX,
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
    carried_cents,
    write_csv,
)
from services.professions.periods import Span
from services.professions.sectors import PEOPLE, sector_of
from services.professions.views import PriorView
from simulator.randomness import Stream

REGISTER = "Obligations register.xlsx"
MEMO = "Advice memo.docx"
COLUMNS = ("clause_id", "contract", "counterparty", "kind", "due", "amount", "text")
KEPT = COLUMNS[:-1]
OBLIGATIONS = ("payment", "notice", "renewal", "delivery", "audit")
CONTRACTS = (
    "Supply agreement",
    "Framework agreement",
    "Lease",
    "Service agreement",
    "Licence",
    "Distribution agreement",
)
TEXTS = {
    "payment": "pays the instalment within {n} days of the invoice",
    "notice": "gives written notice of its intention {n} weeks ahead",
    "renewal": "confirms or declines renewal for {n} further months",
    "delivery": "delivers lot {n} free of defects to the agreed place",
    "audit": "admits the auditor and hands over {n} years of records",
    "definition": "'Working day' means a day on which banks are open in {n} named cities",
    "boilerplate": "changes need writing and the signature of {n} directors",
}
DONE = {
    "payment": "Done: paid, receipt on file",
    "notice": "Done: notice served by courier",
    "renewal": "Done: renewal signed",
    "delivery": "done - delivery note signed by {person}",
    "audit": "DONE: audit closed by {person}",
}
LOOK_BACK = 3


class _Duty(msgspec.Struct, frozen=True):
    """An obligation as it was first sent, and in which later period it is done or amended (0: never)."""

    row: tuple[str, ...]
    done_after: int
    amended_after: int
    person: str


class ContractReview(Profession):
    """The recurring review of a client's contractual obligations."""

    kind = "contract-review"
    domain = "legal"
    title = "Contract review"
    inputs = (InputSpec("clauses", "clauses.csv", COLUMNS, "clauses newly sent, amended or reported done"),)
    deliverables = (Deliverable(REGISTER, XLSX), Deliverable(MEMO, DOCX))
    labels = (
        "Obligations", "Overdue", "Due this period", "Amount due this period", "Amount overdue", "Carried obligations",
    )  # fmt: skip

    live = ("Amount due this period", "Amount overdue")

    def materials(self, client: str, period: str, seed: int, days: int = 7) -> dict[str, str]:
        """Return the clauses of the period: new ones, and earlier ones that were amended or done since."""
        at = periods.span(period, days)
        draw = Stream(seed, self.kind, client, at.name, "list")
        rows = []
        for back in range(LOOK_BACK, 0, -1):
            for duty in _duties(client, at.back(back), seed):
                if duty.amended_after == back:
                    rows.append(_amended(duty.row, at, draw))
                if duty.done_after == back:
                    rows.append((*duty.row[:-1], DONE[duty.row[3]].format(person=duty.person)))
        new = [duty.row for duty in _duties(client, at, seed)]
        if draw.chance(1, 4):
            new.append(_amended(draw.choice(new), at, draw))
        return {"clauses.csv": write_csv(COLUMNS, [*rows, *new, *_other_clauses(client, at, seed)])}

    def compute(self, period: str, inputs: Inputs, prior: PriorView | None, others: Others) -> Outcome:
        """Return the register: counts and amounts by status, clauses to cite in the memo, rows of both sheets."""
        sent = {row["clause_id"]: row for row in self.rows(inputs, "clauses")}
        for row in sent.values():
            amount_in({**row, "amount": row["amount"] or "0"}, "amount", "clauses.csv")
        carried = {
            row["clause_id"]: row
            for row in (prior.table("Obligations", KEPT) if prior is not None else [])
            if row["clause_id"] not in sent
        }
        new = {
            clause: row
            for clause, row in sent.items()
            if row["kind"] in OBLIGATIONS and not row["text"].casefold().startswith("done")
        }
        rows = [_register_row(row, period) for row in (*carried.values(), *new.values())]
        due = [row for row in rows if row["status"] == "due"]
        overdue = [row for row in rows if row["status"] == "overdue"]
        figures = {
            "Obligations": str(len(rows)),
            "Overdue": str(len(overdue)),
            "Due this period": str(len(due)),
            "Amount due this period": money(sum(cents(row["amount"]) for row in due)),
            "Amount overdue": money(sum(cents(row["amount"]) for row in overdue)),
            "Carried obligations": str(len(carried)),
        }
        findings = [Finding(row["clause_id"], f"{row['status']} {row['due']}", (MEMO,)) for row in (*overdue, *due)]
        again = [
            {key: row[key] for key in ("clause_id", "due", "amount", "status")}
            for row in rows
            if row["clause_id"] in carried
        ]
        return Outcome(figures, tuple(findings), _tables(rows, again))

    def check(self, period: str, inputs: Inputs) -> list[str]:
        """Return what does not hold together: unknown kinds, obligations without a date, negative amounts."""
        faults = []
        for row in self.rows(inputs, "clauses"):
            if row["kind"] not in TEXTS:
                faults.append(f"{row['clause_id']}: kind {row['kind']!r} is unknown")
            if row["kind"] in OBLIGATIONS and len(row["due"]) != 10:
                faults.append(f"{row['clause_id']}: an obligation without a due date")
            if row["amount"] and amount_in(row, "amount", "clauses.csv") < 0:
                faults.append(f"{row['clause_id']}: a negative amount")
        return faults


def _register_row(row: Mapping[str, str], period: str) -> dict[str, str]:
    first, last = periods.bounds(period)
    status = "overdue" if row["due"] < first else "due" if row["due"] <= last else "later"
    return {**{key: row[key] for key in KEPT}, "amount": money(carried_cents(row["amount"])), "status": status}


def _tables(rows: Sequence[Mapping[str, str]], again: Sequence[Mapping[str, str]]) -> tuple[Table, ...]:
    key, amount = ("clause_id",), ("amount",)
    return (
        Table(REGISTER, "Obligations", key, tuple(rows), amount),
        Table(REGISTER, "Carried", key, tuple(again), amount),
    )


def _contracts(client: str, seed: int) -> list[tuple[str, str]]:
    draw, sector = Stream(seed, "contracts", client), sector_of(client, seed)
    parties = draw.shuffled(sector.vendors)
    return [(f"{draw.choice(CONTRACTS)} {draw.between(2019, 2024)}", party) for party in parties[: draw.between(4, 6)]]


def _duties(client: str, at: Span, seed: int) -> list[_Duty]:
    """Return the obligations first sent in a span."""
    draw, contracts = Stream(seed, "duties", client, at.name), _contracts(client, seed)
    duties = []
    for number in range(draw.between(5, 11)):
        contract, party = draw.choice(contracts)
        kind = draw.choice((*OBLIGATIONS, "payment", "payment"))
        amount = draw.between(20_000, 3_600_000) if kind in ("payment", "delivery") else draw.choice((0, 0, 25_000))
        row = (
            f"CL-{at.code}-{number + 1:02d}", contract, party, kind, at.date(_due_day(at, draw)), money(amount),
            f"{party if kind == 'delivery' else client} {TEXTS[kind].format(n=draw.between(2, 12))}",
        )  # fmt: skip
        done = draw.choice((1, 1, 1, 2, 2, 3, 0))
        duties.append(_Duty(row, done, 1 if done != 1 and draw.chance(1, 4) else 0, draw.choice(PEOPLE)))
    return duties


def _due_day(at: Span, draw: Stream) -> int:
    """Return the day, counted from the span's first, on which a new obligation is due: late, now or to come."""
    roll = draw.below(12)
    if roll < 2:
        return draw.between(-18, 0)
    if roll == 2:
        return draw.choice((1, at.days))
    return draw.between(1, at.days) if roll < 7 else at.days + draw.between(1, 3 * at.days)


def _amended(row: tuple[str, ...], at: Span, draw: Stream) -> tuple[str, ...]:
    """Return the clause as amended: a later date, another amount."""
    amount = cents(row[5]) * draw.between(80, 125) // 100
    return (*row[:4], at.date(draw.between(2, 2 * at.days)), money(amount), f"{row[6]}, as amended")


def _other_clauses(client: str, at: Span, seed: int) -> list[tuple[str, ...]]:
    draw, contracts = Stream(seed, "clauses", client, at.name), _contracts(client, seed)
    rows: list[tuple[str, ...]] = []
    for number in range(draw.between(2, 6)):
        contract, party = draw.choice(contracts)
        kind = draw.choice(("definition", "boilerplate"))
        text = TEXTS[kind].format(n=draw.between(2, 4))
        rows.append((f"CL-{at.code}-{number + 41:02d}", contract, party, kind, at.date(1), "0.00", text))
    return rows
