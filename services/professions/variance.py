"""Variance analysis: actual against budget by account, what deserves a review, and the year to date."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from services.professions import periods
from services.professions.amounts import fixed, money
from services.professions.base import (
    DOCX,
    XLSX,
    Deliverable,
    Finding,
    Inputs,
    InputSpec,
    Other,
    Others,
    Outcome,
    Profession,
    Table,
    amount_in,
    carried_amount,
    carried_cents,
    repeated,
    same_year,
    write_csv,
)
from services.professions.books import ACCOUNTS, CASH, books, budget
from services.professions.views import PriorView

WORKBOOK = "Variance.xlsx"
MEMO = "Variance memo.docx"
COLUMNS = ("account", "name", "amount")
REVIEW_FLOOR = 500_00


class VarianceAnalysis(Profession):
    """The monthly comparison of a client's actuals with its budget."""

    kind = "variance-analysis"
    domain = "finance"
    title = "Variance analysis"
    inputs = (
        InputSpec("actuals", "actuals.csv", COLUMNS, "the month's movements by account, debits positive"),
        InputSpec("budget", "budget.csv", COLUMNS, "the month's budget by account"),
    )
    deliverables = (Deliverable(WORKBOOK, XLSX), Deliverable(MEMO, DOCX))
    labels = (
        "Total actual", "Total budget", "Total variance", "Flagged accounts", "Cash per reconciliation",
        "Year to date actual",
    )  # fmt: skip
    live = ("Total actual", "Total budget", "Total variance", "Year to date actual")
    others = (Other("reconciliation", "bank-reconciliation"),)

    def materials(self, client: str, period: str, seed: int, days: int = 7) -> dict[str, str]:
        """Return the month's actuals from the client's books, and its budget."""
        at = periods.span(period, days)
        tables = {"actuals.csv": books(client, at, seed).actuals, "budget.csv": budget(client, at, seed)}
        return {
            file: write_csv(COLUMNS, [(account, ACCOUNTS[account], money(value)) for account, value in amounts.items()])
            for file, amounts in tables.items()
        }

    def compute(self, period: str, inputs: Inputs, prior: PriorView | None, others: Others) -> Outcome:
        """Return totals, flagged accounts to name in the memo, and the rows of `Accounts` and `Year to date`."""
        actual, planned = self._amounts(inputs, "actuals"), self._amounts(inputs, "budget")
        reconciliation = others.get("reconciliation")
        cash = carried_amount(reconciliation, "Closing balance")
        if reconciliation is not None:
            actual[CASH] = cash
        accounts = sorted(actual.keys() | planned.keys())
        names = {row["account"]: row["name"] for name in ("budget", "actuals") for row in self.rows(inputs, name)}
        rows = [
            _row(account, names.get(account), actual.get(account, 0), planned.get(account, 0)) for account in accounts
        ]
        flagged = [row for row in rows if row["flag"]]
        total, plan = sum(actual.values()), sum(planned.values())
        figures = {
            "Total actual": money(total),
            "Total budget": money(plan),
            "Total variance": money(total - plan),
            "Flagged accounts": str(len(flagged)),
            "Cash per reconciliation": money(cash),
            "Year to date actual": money(carried_amount(same_year(prior, period), "Year to date actual") + total),
        }
        findings = [
            Finding(row["account"], f"variance {row['variance']} on a budget of {row['budget']}", (MEMO,))
            for row in flagged
        ]
        return Outcome(
            figures, tuple(findings), (_accounts(rows), _year_to_date(actual, accounts, same_year(prior, period)))
        )

    def check(self, period: str, inputs: Inputs) -> list[str]:
        """Return what does not hold together: actuals that do not balance, accounts listed twice."""
        actuals = self.rows(inputs, "actuals")
        off = sum(amount_in(row, "amount", "actuals.csv") for row in actuals)
        return [
            *([f"the actuals of {period} add up to {money(off)}, not to zero"] if off else []),
            *repeated(actuals, "account"),
            *repeated(self.rows(inputs, "budget"), "account"),
        ]

    def _amounts(self, inputs: Inputs, name: str) -> dict[str, int]:
        amounts: dict[str, int] = {}
        for row in self.rows(inputs, name):
            amounts[row["account"]] = amounts.get(row["account"], 0) + amount_in(row, "amount", f"{name}.csv")
        return amounts


def deserves_review(variance: int, planned: int) -> bool:
    """Return whether a variance is at least a tenth of its budget and at least 500.00 (both in cents)."""
    return abs(variance) * 10 >= abs(planned) and abs(variance) >= REVIEW_FLOOR


def _row(account: str, name: str | None, actual: int, planned: int) -> dict[str, str]:
    variance = actual - planned
    row = {
        "account": account,
        "actual": money(actual),
        "budget": money(planned),
        "variance": money(variance),
        "percent": fixed(Fraction(100 * variance, planned), 1) if planned else "n/a",
        "flag": "review" if deserves_review(variance, planned) else "",
    }
    return {**row, "name": name} if name is not None else row


def _accounts(rows: list[dict[str, str]]) -> Table:
    kept = tuple(
        {key: row[key] for key in ("account", "actual", "budget", "variance", "percent", "flag")} for row in rows
    )
    totals = {"actual": "Total actual", "budget": "Total budget", "variance": "Total variance"}
    return Table(WORKBOOK, "Accounts", ("account",), kept, tuple(totals), totals, ("variance",))


def _year_to_date(actual: Mapping[str, int], accounts: list[str], prior: PriorView | None) -> Table:
    before = {}
    if prior is not None:
        table = prior.table("Year to date", ("account", "year to date"))
        before = {row["account"]: carried_cents(row["year to date"]) for row in table}
    rows = tuple(
        {
            "account": account,
            "prior": money(before.get(account, 0)),
            "actual": money(actual.get(account, 0)),
            "year to date": money(before.get(account, 0) + actual.get(account, 0)),
        }
        for account in sorted(before.keys() | set(accounts))
    )
    return Table(
        WORKBOOK, "Year to date", ("account",), rows, ("prior", "actual", "year to date"),
        {"year to date": "Year to date actual"},
    )  # fmt: skip
