"""Bank reconciliation: which rows of bank and cash ledger agree, which are open, and what explains the difference."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec

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
    period_of,
    repeated,
    write_csv,
)
from services.professions.books import CASH, books
from services.professions.views import PriorView

WORKBOOK = "Reconciliation.xlsx"
LIST = "Open items.md"
ONLY_COLUMNS = ("date", "ref", "amount")


class Line(msgspec.Struct, frozen=True):
    """A row of bank or ledger; `amount` in cents."""

    date: str
    ref: str
    description: str
    amount: int


class CarriedItem(msgspec.Struct, frozen=True):
    """An item that earlier periods left open; `first` is the period it was first open in."""

    ref: str
    amount: int
    first: str


class Match(msgspec.Struct, frozen=True):
    """How the rows of one period fall apart. `cleared` holds (carried item, cents counted: bank side as it is)."""

    equal: tuple[tuple[Line, Line], ...]
    unequal: tuple[tuple[Line, Line], ...]
    bank_only: tuple[Line, ...]
    ledger_only: tuple[Line, ...]
    cleared: tuple[tuple[CarriedItem, int], ...]
    still_open: tuple[CarriedItem, ...]


def match(bank: Sequence[Line], ledger: Sequence[Line], carried: Sequence[CarriedItem]) -> Match:
    """Pair bank and ledger one to one in row order, in the order that the decision page gives."""
    equal, bank_left, ledger_left = _pair(bank, ledger, lambda line: (line.ref, line.amount))
    waiting, cleared = list(carried), []
    rest: list[list[Line]] = []
    for sign, lines in ((1, bank_left), (-1, ledger_left)):
        kept = []
        for line in lines:
            item = next((item for item in waiting if (item.ref, item.amount) == (line.ref, line.amount)), None)
            if item is None:
                kept.append(line)
            else:
                waiting.remove(item)
                cleared.append((item, sign * line.amount))
        rest.append(kept)
    unequal, bank_only, ledger_only = _pair(rest[0], rest[1], lambda line: line.ref)
    return Match(tuple(equal), tuple(unequal), tuple(bank_only), tuple(ledger_only), tuple(cleared), tuple(waiting))


def _pair(
    bank: Sequence[Line], ledger: Sequence[Line], key: Callable[[Line], object]
) -> tuple[list[tuple[Line, Line]], list[Line], list[Line]]:
    waiting: dict[object, list[Line]] = {}
    for line in ledger:
        waiting.setdefault(key(line), []).append(line)
    pairs, alone = [], []
    for line in bank:
        partners = waiting.get(key(line))
        if partners:
            pairs.append((line, partners.pop(0)))
        else:
            alone.append(line)
    left = {id(line) for partners in waiting.values() for line in partners}
    return pairs, alone, [line for line in ledger if id(line) in left]


def carried_items(prior: PriorView | None, now: str) -> list[CarriedItem]:
    """Return what the prior reconciliation left open: its unmatched rows and its carried rows that did not clear."""
    if prior is None:
        return []
    both, period = ("Bank only", "Ledger only"), period_of(prior, now)
    items = [
        CarriedItem(row["ref"], carried_cents(row["amount"]), period)
        for sheet in both
        for row in prior.table(sheet, ONLY_COLUMNS, besides=both)
    ]
    return items + [
        CarriedItem(row["ref"], carried_cents(row["amount"]), row["first period"])
        for row in prior.table("Carried", ("ref", "amount", "first period", "cleared"))
        if row["cleared"].casefold() != "yes"
    ]


class BankReconciliation(Profession):
    """The monthly reconciliation of a client's bank account with its cash ledger."""

    kind = "bank-reconciliation"
    domain = "finance"
    title = "Bank reconciliation"
    inputs = (
        InputSpec("bank", "bank.csv", ("date", "ref", "description", "amount"), "the bank's activity of the month"),
        InputSpec(
            "ledger", "ledger.csv", ("date", "ref", "account", "description", "amount"), "the cash ledger of the month"
        ),
        InputSpec("credits", "credits.csv", ("ref", "vendor", "amount", "evidence"), "vendor credits", optional=True),
    )
    deliverables = (Deliverable(WORKBOOK, XLSX), Deliverable(LIST, MARKDOWN))
    labels = (
        "Opening balance", "Bank total", "Ledger total", "Matched total", "Bank only total", "Ledger only total",
        "Carried open total", "Unexplained difference", "Closing balance", "Open items",
    )  # fmt: skip

    live = labels[1:9]

    def materials(self, client: str, period: str, seed: int, days: int = 7) -> dict[str, str]:
        """Return bank, ledger and, where there are any, credits of the month from the client's books."""
        month = books(client, periods.span(period, days), seed)
        files = {
            "bank.csv": write_csv(
                self.inputs[0].columns,
                [(line.date, line.ref, line.description, money(line.amount)) for line in month.bank],
            ),
            "ledger.csv": write_csv(
                self.inputs[1].columns,
                [(line.date, line.ref, CASH, line.description, money(line.amount)) for line in month.ledger],
            ),
        }
        if month.credits is not None:
            files["credits.csv"] = write_csv(
                self.inputs[2].columns,
                [(item.ref, item.vendor, money(item.amount), item.evidence) for item in month.credits],
            )
        return files

    def compute(self, period: str, inputs: Inputs, prior: PriorView | None, others: Others) -> Outcome:
        """Return the reconciliation: figures, open items to cite, the rows of each sheet."""
        bank, ledger = self._lines(inputs, "bank"), self._lines(inputs, "ledger")
        credit_rows = self.rows(inputs, "credits")
        found = match(bank, ledger, carried_items(prior, period))
        findings = _open_items(found, credit_rows)
        bank_total = sum(line.amount for line in bank)
        ledger_total = sum(line.amount for line in ledger)
        bank_only = sum(line.amount for line in found.bank_only)
        ledger_only = sum(line.amount for line in found.ledger_only)
        opening = carried_amount(prior, "Closing balance")
        cleared = sum(counted for _, counted in found.cleared)
        figures = {
            "Opening balance": money(opening),
            "Bank total": money(bank_total),
            "Ledger total": money(ledger_total),
            "Matched total": money(sum(line.amount for line, _ in found.equal)),
            "Bank only total": money(bank_only),
            "Ledger only total": money(ledger_only),
            "Carried open total": money(sum(item.amount for item in found.still_open)),
            "Unexplained difference": money(bank_total - ledger_total - (bank_only - ledger_only) - cleared),
            "Closing balance": money(opening + bank_total),
            "Open items": str(len(findings)),
        }
        return Outcome(figures, tuple(findings), tuple(_tables(found, credit_rows, "credits" in inputs)))

    def check(self, period: str, inputs: Inputs) -> list[str]:
        """Return what does not hold together: dates outside the period, other accounts, empty amounts."""
        bank, ledger = self.rows(inputs, "bank"), self.rows(inputs, "ledger")
        return [
            *outside(period, bank, "date", "ref"),
            *outside(period, ledger, "date", "ref"),
            *(
                f"{row['ref']}: ledger account {row['account']} is not {CASH}"
                for row in ledger
                if row["account"] != CASH
            ),
            *(f"{row['ref'] or 'a row'}: amount 0 or no ref" for row in bank + ledger if not _sound(row)),
            *repeated(self.rows(inputs, "credits"), "ref"),
        ]

    def _lines(self, inputs: Inputs, name: str) -> list[Line]:
        file = f"{name}.csv"
        return [
            Line(row["date"], row["ref"], row["description"], amount_in(row, "amount", file))
            for row in self.rows(inputs, name)
        ]


def _sound(row: Mapping[str, str]) -> bool:
    return bool(row["ref"]) and cents(row["amount"]) != 0


def _open_items(found: Match, credit_rows: Sequence[Mapping[str, str]]) -> list[Finding]:
    """Return one finding per open item; each must be cited in the list of open items."""
    items = [
        *((line.ref, f"on the bank statement only, {money(line.amount)}") for line in found.bank_only),
        *((line.ref, f"in the ledger only, {money(line.amount)}") for line in found.ledger_only),
        *((item.ref, f"open since {item.first}, {money(item.amount)}") for item in found.still_open),
        *(
            (bank.ref, f"bank {money(bank.amount)} and ledger {money(ledger.amount)} differ")
            for bank, ledger in found.unequal
        ),
        *((row["ref"], f"credit of {row['amount']} without evidence") for row in credit_rows if not row["evidence"]),
    ]
    return [Finding(ref, why, (LIST,)) for ref, why in items]


def _tables(found: Match, credit_rows: Sequence[Mapping[str, str]], with_credits: bool) -> list[Table]:
    matched = [_matched(bank, ledger, equal=True) for bank, ledger in found.equal]
    matched += [_matched(bank, ledger, equal=False) for bank, ledger in found.unequal]
    carried = [_carried(item, "yes") for item, _ in found.cleared] + [_carried(item, "no") for item in found.still_open]
    amount = ("amount",)
    tables = [
        Table(WORKBOOK, "Matched", ("ref",), tuple(matched), (*amount, "bank amount", "ledger amount"),
              {"amount": "Matched total"}),
        Table(WORKBOOK, "Bank only", ("ref",), tuple(map(_only, found.bank_only)), amount,
              {"amount": "Bank only total"}),
        Table(WORKBOOK, "Ledger only", ("ref",), tuple(map(_only, found.ledger_only)), amount,
              {"amount": "Ledger only total"}),
        Table(WORKBOOK, "Carried", ("ref",), tuple(carried), amount),
    ]  # fmt: skip
    if with_credits:
        rows = [
            {**row, "amount": money(cents(row["amount"])), "supported": "yes" if row["evidence"] else "no"}
            for row in credit_rows
        ]
        tables.append(Table(WORKBOOK, "Credits", ("ref",), tuple(rows), amount))
    return tables


def _matched(bank: Line, ledger: Line, *, equal: bool) -> dict[str, str]:
    row = {"ref": bank.ref, "bank date": bank.date, "ledger date": ledger.date}
    if equal:
        return {**row, "amount": money(bank.amount)}
    return {**row, "amount": "", "bank amount": money(bank.amount), "ledger amount": money(ledger.amount)}


def _only(line: Line) -> dict[str, str]:
    return {"date": line.date, "ref": line.ref, "amount": money(line.amount)}


def _carried(item: CarriedItem, cleared: str) -> dict[str, str]:
    return {"ref": item.ref, "amount": money(item.amount), "first period": item.first, "cleared": cleared}
