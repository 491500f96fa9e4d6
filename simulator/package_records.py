"""Seed records must add up: ledgers balance, invoices match statements, dates fall in their period (DESIGN 11).

A material says with `records` what its rows are. All are CSV files with a header line; amounts have two decimals and
are added in minor units.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date

import msgspec

from simulator.package import Material

AMOUNT = re.compile(r"-?\d{1,12}\.\d\d")
COLUMNS: dict[str, tuple[str, ...]] = {
    "trial-balance": ("account", "name", "debit", "credit"),
    "journal": ("date", "ref", "account", "description", "debit", "credit"),
    "bank": ("date", "ref", "description", "amount"),
    "ledger": ("date", "ref", "account", "description", "amount"),
    "invoices": ("invoice", "date", "party", "amount"),
    "statement": ("invoice", "date", "amount"),
    "timesheets": ("record_id", "date", "category", "amount", "note"),
}
_AMOUNTS = frozenset({"debit", "credit", "amount"})
Trouble = tuple[str, int, str]
"""(file, line, sentence)."""


class _Row(msgspec.Struct, frozen=True):
    line: int
    cells: dict[str, str]

    def cents(self, column: str) -> int:
        """The amount in minor units; 0 where the cell is empty or malformed (which is a fault of its own)."""
        text = self.cells.get(column, "")
        return int(text.replace(".", "")) if AMOUNT.fullmatch(text) else 0


class _Table(msgspec.Struct, frozen=True):
    file: str
    rows: tuple[_Row, ...]
    troubles: tuple[Trouble, ...]


def money(cents: int) -> str:
    """Return minor units as text with two decimals."""
    return f"{'-' if cents < 0 else ''}{abs(cents) // 100}.{abs(cents) % 100:02d}"


def check_records(materials: Iterable[Material], files: Mapping[str, bytes]) -> Iterator[Trouble]:
    """Yield what does not add up in the seed records."""
    listed = {material.source_path: material for material in materials}
    for path, material in listed.items():
        if not material.records or path not in files:
            continue
        table = _read(path, files[path], COLUMNS[material.records])
        yield from table.troubles
        if table.troubles:
            continue
        if material.period:
            yield from _in_period(table, material.period)
        if rule := _RULES.get(material.records):
            yield from rule(table)
        if material.records == "statement":
            yield from _statement(table, material, listed, files)


def _read(file: str, data: bytes, columns: tuple[str, ...]) -> _Table:
    troubles: list[Trouble] = []
    rows: list[_Row] = []
    try:
        reader = csv.reader(io.StringIO(data.decode("utf-8"), newline=""), strict=True)
        header = next(reader, [])
        missing = [column for column in columns if column not in header]
        if missing:
            troubles.append((file, 1, f"The column `{missing[0]}` is missing; the header must be {','.join(columns)}."))
            return _Table(file, (), tuple(troubles))
        for cells in reader:
            line = reader.line_num
            if len(cells) != len(header):
                troubles.append((file, line, f"The row has {len(cells)} cells; the header has {len(header)}."))
                continue
            row = _Row(line, dict(zip(header, cells, strict=True)))
            troubles.extend((file, line, text) for text in _cell_faults(row, columns))
            rows.append(row)
    except (UnicodeDecodeError, csv.Error):
        troubles.append((file, len(rows) + 1, "The file is not CSV in UTF-8."))
    return _Table(file, tuple(rows), tuple(troubles))


def _cell_faults(row: _Row, columns: tuple[str, ...]) -> Iterator[str]:
    for column in columns:
        text = row.cells[column]
        if column in _AMOUNTS and not AMOUNT.fullmatch(text):
            yield f"The {column} `{text}` is no amount with two decimals, such as 1250.00."
        elif column == "date" and not _is_day(text):
            yield f"The date `{text}` is none. Write YYYY-MM-DD."


def _is_day(text: str) -> bool:
    try:
        return len(text) == 10 and bool(date.fromisoformat(text))
    except ValueError:
        return False


def _in_period(table: _Table, period: str) -> Iterator[Trouble]:
    for row in table.rows:
        day = row.cells.get("date", period)
        if not day.startswith(period):
            yield table.file, row.line, f"The date {day} is not in the period {period}."


def _unique(table: _Table, column: str) -> Iterator[Trouble]:
    seen: set[str] = set()
    for row in table.rows:
        key = row.cells[column]
        if key in seen:
            yield table.file, row.line, f"The {column} `{key}` occurs twice."
        seen.add(key)


def _trial_balance(table: _Table) -> Iterator[Trouble]:
    yield from _unique(table, "account")
    debit, credit = (sum(row.cents(side) for row in table.rows) for side in ("debit", "credit"))
    if debit != credit:
        last = table.rows[-1].line
        yield table.file, last, f"The ledger does not balance: debits {money(debit)}, credits {money(credit)}."


def _journal(table: _Table) -> Iterator[Trouble]:
    sums: dict[str, int] = {}
    lines: dict[str, int] = {}
    for row in table.rows:
        ref = row.cells["ref"]
        sums[ref] = sums.get(ref, 0) + row.cents("debit") - row.cents("credit")
        lines[ref] = row.line
    for ref, total in sums.items():
        if total:
            yield table.file, lines[ref], f"The entry `{ref}` does not balance: debits less credits are {money(total)}."


def _invoices(table: _Table) -> Iterator[Trouble]:
    yield from _unique(table, "invoice")


def _timesheets(table: _Table) -> Iterator[Trouble]:
    yield from _unique(table, "record_id")


_RULES: dict[str, Callable[[_Table], Iterator[Trouble]]] = {
    "trial-balance": _trial_balance,
    "journal": _journal,
    "invoices": _invoices,
    "timesheets": _timesheets,
}


def _statement(
    table: _Table, material: Material, listed: Mapping[str, Material], files: Mapping[str, bytes]
) -> Iterator[Trouble]:
    """Every line of a statement is an invoice of the register it ties to, with the same amount, and none is missing."""
    register = listed.get(f"materials/{material.ties}")
    if register is None or register.records != "invoices" or register.source_path not in files:
        yield table.file, 1, f"The statement ties to `{material.ties}`, which is no invoice register of the package."
        return
    invoices = _read(register.source_path, files[register.source_path], COLUMNS["invoices"])
    amounts = {row.cells["invoice"]: row.cents("amount") for row in invoices.rows}
    stated = set()
    for row in table.rows:
        number, amount = row.cells["invoice"], row.cents("amount")
        stated.add(number)
        if number not in amounts:
            yield table.file, row.line, f"The invoice `{number}` is not in `{material.ties}`."
        elif amounts[number] != amount:
            yield (
                table.file,
                row.line,
                f"The invoice `{number}` is {money(amount)} here and {money(amounts[number])} in `{material.ties}`.",
            )
    for number in amounts:
        if number not in stated:
            yield table.file, len(table.rows) + 1, f"The invoice `{number}` of `{material.ties}` is missing here."
