"""Awkward cases that papers show at a glance, in words for a question."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping

from services.professions.base import Profession

Rows = list[dict[str, str]]


def awkward_case(kind: Profession, files: Mapping[str, str]) -> str:
    """Return a question about the first awkward case in the inputs {file name: CSV text}, or nothing."""
    look = _CASES.get(kind.kind)
    if look is None:
        return ""
    return look({name: list(csv.DictReader(io.StringIO(text.lstrip("\ufeff")))) for name, text in files.items()})


def _reconciliation(files: Mapping[str, Rows]) -> str:
    bank = {row.get("ref", ""): row.get("amount", "") for row in files.get("bank.csv", ())}
    for row in files.get("ledger.csv", ()):
        other = bank.get(row.get("ref", ""))
        if other is not None and other != row.get("amount"):
            return (
                f"{row['ref']} is {other} at the bank and {row.get('amount')} in the ledger. May the amount by which they differ be "
                "booked as bank charges?"
            )
    for row in files.get("credits.csv", ()):
        if not row.get("evidence"):
            return (
                f"The credit {row.get('ref')} of {row.get('vendor')}, {row.get('amount')}, has no evidence. May I take it as supported on "
                "the vendor's word?"
            )
    return ""


def _variance(files: Mapping[str, Rows]) -> str:
    budget = {row.get("account", ""): row.get("amount", "") for row in files.get("budget.csv", ())}
    for row in files.get("actuals.csv", ()):
        planned = budget.get(row.get("account", ""))
        if planned is None or planned in ("0.00", "0", ""):
            return (
                f"Account {row.get('account')} ({row.get('name')}) has {row.get('amount')} and no budget. Shall I assume last month's actual "
                "as its budget for the percent?"
            )
    return ""


def _contracts(files: Mapping[str, Rows]) -> str:
    for row in files.get("clauses.csv", ()):
        if (
            row.get("kind") == "payment"
            and not row.get("text", "").casefold().startswith("done")
            and row.get("due", "") < "2026"
        ):
            return f"{row.get('clause_id')} was due on {row.get('due')} and nothing says that it was paid. May I leave it out as settled?"
    return ""


def _records(files: Mapping[str, Rows]) -> str:
    for row in files.get("records.csv", ()):
        if "revers" in row.get("note", "").casefold():
            return f"{row.get('record_id')} reverses an earlier record. Shall I net the two, or keep both in?"
    return ""


def _visits(files: Mapping[str, Rows]) -> str:
    odd = next((row for row in files.get("visits.csv", ()) if row.get("status") == "missed"), None)
    return (
        f"The visit {odd.get('visit_id')} was missed without a reason on file. Does it count as a deviation?"
        if odd
        else ""
    )


_CASES: dict[str, Callable[[Mapping[str, Rows]], str]] = {
    "bank-reconciliation": _reconciliation,
    "variance-analysis": _variance,
    "contract-review": _contracts,
    "records-digest": _records,
    "trial-monitoring": _visits,
}
