"""Seed records that add up: opening trial balances, journals, invoice registers with their statements, timesheets.

Everything follows from the stream of draws that is passed in. Money is in minor units until it is written.
"""

from __future__ import annotations

import csv
import io
from calendar import monthrange
from collections.abc import Iterable, Sequence

from simulator.package_records import COLUMNS, money
from simulator.randomness import Stream

ASSETS = (("1000", "Cash", 40), ("1100", "Trade debtors", 60), ("1200", "Stock and work in progress", 35),
          ("1300", "Prepayments", 6), ("1500", "Equipment", 80), ("1600", "Leasehold improvements", 30))  # fmt: skip
LIABILITIES = (("2000", "Trade creditors", 45), ("2100", "Accruals", 12), ("2200", "Sales tax payable", 9),
               ("2300", "Bank loan", 50), ("3000", "Share capital", 10))  # fmt: skip
RESULT = ("3100", "Retained earnings")
ACTIVITIES = ("Client work", "Review", "Meetings", "Training", "Administration")


def trial_balance(draw: Stream, size: int) -> str:
    """Return a balanced opening trial balance for a firm of about `size` people."""
    scale = 900 * max(3, size)
    sides: list[tuple[str, str, int, int]] = []
    for code, name, weight in ASSETS:
        sides.append((code, name, _amount(draw, scale * weight), 0))
    for code, name, weight in LIABILITIES:
        sides.append((code, name, 0, _amount(draw, scale * weight)))
    rest = sum(debit - credit for _, _, debit, credit in sides)
    sides.append((*RESULT, max(0, -rest), max(0, rest)))
    return write("trial-balance", ((code, name, money(dr), money(cr)) for code, name, dr, cr in sides))


def journal(draw: Stream, period: str, entries: int, prefix: str) -> str:
    """Return a month's journal whose every entry balances."""
    rows = []
    accounts = [(code, name) for code, name, _ in (*ASSETS, *LIABILITIES)]
    for n, day in enumerate(_days(draw, period, entries), 1):
        amount = _amount(draw, 120_000)
        (to, to_name), (of, of_name) = draw.shuffled(accounts)[:2]
        ref = f"{prefix}-{period[2:4]}{period[5:]}-{n:03d}"
        text = f"{to_name} against {of_name.lower()}"
        rows.append((day, ref, to, text, money(amount), money(0)))
        rows.append((day, ref, of, text, money(0), money(amount)))
    return write("journal", rows)


def invoices(draw: Stream, period: str, parties: Sequence[str], count: int, prefix: str) -> str:
    """Return a month's invoice register."""
    rows = []
    for n, day in enumerate(_days(draw, period, count), 1):
        number = f"{prefix}-{period[2:4]}{period[5:]}-{n:03d}"
        rows.append((number, day, draw.choice(parties), money(_amount(draw, 90_000))))
    return write("invoices", rows)


def statement(register: str) -> str:
    """Return the statement that repeats an invoice register."""
    rows = list(csv.DictReader(io.StringIO(register, newline="")))
    return write("statement", ((row["invoice"], row["date"], row["amount"]) for row in rows))


def timesheets(draw: Stream, period: str, people: Sequence[str], count: int) -> str:
    """Return a month's time records: hours as amounts with two decimals, in quarters of an hour."""
    rows = []
    for n, day in enumerate(_days(draw, period, count), 1):
        hours = money(25 * draw.between(2, 30))
        rows.append((f"T-{period[2:4]}{period[5:]}-{n:03d}", day, draw.choice(ACTIVITIES), hours, draw.choice(people)))
    return write("timesheets", rows)


def write(records: str, rows: Iterable[Sequence[str]]) -> str:
    """Return the CSV text of records of a kind that `simulator.package_records` knows."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS[records])
    writer.writerows(rows)
    return out.getvalue()


def _amount(draw: Stream, about: int) -> int:
    """An amount in minor units between half and one and a half of `about`."""
    return draw.between(about // 2, about + about // 2)


def _days(draw: Stream, period: str, count: int) -> list[str]:
    last = monthrange(int(period[:4]), int(period[5:]))[1]
    return sorted(f"{period}-{draw.between(1, last):02d}" for _ in range(count))
