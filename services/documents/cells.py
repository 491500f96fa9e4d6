"""The cells of a workbook, as read from a file or from its rendered text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal

import msgspec


class Cell(msgspec.Struct, frozen=True):
    """One cell that is not empty. `formula` is without its `=`; `value` is None when a formula was never calculated.

    Dates are text, `2026-01-31` or `2026-01-31 09:00:00`. Errors are text such as `#DIV/0!`.
    """

    row: int
    column: int
    value: str | Decimal | bool | None
    formula: str | None = None

    @property
    def ref(self) -> str:
        return f"{column_letters(self.column)}{self.row}"


class Sheet(msgspec.Struct, frozen=True):
    """One sheet. `rows` and `columns` are the last ones used; `more_rows` and `more_cells` count what was left out."""

    name: str
    rows: int
    columns: int
    cells: Mapping[tuple[int, int], Cell]
    hidden: bool = False
    more_rows: int = 0
    more_cells: int = 0

    def value(self, row: int, column: int) -> str | Decimal | bool | None:
        """The value at a place, both counted from 1; None where the sheet is empty."""
        cell = self.cells.get((row, column))
        return None if cell is None else cell.value

    def lines(self) -> Iterator[tuple[int, list[Cell]]]:
        """Rows that hold something, top to bottom, with their cells from left to right."""
        by_row: dict[int, list[Cell]] = {}
        for place in sorted(self.cells):
            by_row.setdefault(place[0], []).append(self.cells[place])
        yield from by_row.items()

    def records(self, *columns: str) -> list[dict[str, str | Decimal | bool | None]]:
        """Rows under the first one that names all `columns` (any case), keyed by lower-case header; [] without one."""
        header: dict[int, str] = {}
        found: list[dict[str, str | Decimal | bool | None]] = []
        for _, cells in self.lines():
            if header:
                record: dict[str, str | Decimal | bool | None] = dict.fromkeys(header.values())
                record |= {header[cell.column]: cell.value for cell in cells if cell.column in header}
                found.append(record)
                continue
            names = {cell.column: cell.value.strip().lower() for cell in cells if isinstance(cell.value, str)}
            if names and all(name.lower() in names.values() for name in columns):
                header = names
        return found


class Workbook(msgspec.Struct, frozen=True):
    """All sheets in order, and notes in plain words on what was not read (macros, links to other files)."""

    sheets: tuple[Sheet, ...]
    notes: tuple[str, ...] = ()


def column_letters(column: int) -> str:
    """1 -> A, 27 -> AA."""
    letters = ""
    while column > 0:
        column, rest = divmod(column - 1, 26)
        letters = chr(65 + rest) + letters
    return letters


def column_number(letters: str) -> int:
    """A -> 1, AA -> 27; upper-case letters only."""
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - 64
    return number
