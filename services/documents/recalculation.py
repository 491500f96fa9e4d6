"""Recalculates the formulas of a workbook that was read, so that stored results are checked and not believed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal

from services.documents.cells import Cell, Sheet
from services.documents.formula_parser import Block, blocks
from services.documents.formulas import Book, Formula, Problem

# Wide enough for every number that a formula can give, which `quantize` would refuse to cut otherwise.
_WIDE = Context(prec=450)
_BILLIONTH = Decimal("1e-9")


class Calculator:
    """The results of one workbook's formulas, worked out when they are asked for, and kept."""

    def __init__(self, sheets: Sequence[Sheet]) -> None:
        cut = [sheet.name for sheet in sheets if sheet.more_rows or sheet.more_cells]
        self._book = Book({sheet.name: {at: _raw(cell) for at, cell in sheet.cells.items()} for sheet in sheets}, cut)

    def result(self, sheet: Sheet, cell: Cell) -> str | bool | None:
        """A formula cell's result, numbers as text with nine decimals at most; None where there is no sure one.

        That is a formula beyond the evaluator, one that rests on cells that are not shown, and one that gives an error.
        """
        if not cell.formula:
            return None
        value = self._book.value(sheet.name, cell.row, cell.column)
        if value is None or isinstance(value, Problem):
            return None
        if not isinstance(value, Decimal):
            return value
        rounded = value.quantize(_BILLIONTH, ROUND_HALF_UP, _WIDE)
        return f"{rounded:f}".rstrip("0").rstrip(".") if rounded else "0"


def tall_blocks(formula: str) -> Iterator[Block]:
    """Every block of more than one row that a formula refers to."""
    return (block for block in blocks(formula) if block.bottom > block.top)


def _raw(cell: Cell) -> str | Decimal | bool | None | Formula:
    return cell.value if cell.formula is None else Formula(cell.formula)
