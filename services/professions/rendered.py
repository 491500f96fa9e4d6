"""Views of rendered deliverables: what `services.documents` makes of a file, read back as tables and figures."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from services.documents.cells import Sheet
from services.documents.reading import parse_workbook_text
from services.documents.recalculation import Calculator
from services.professions.amounts import from_cell
from services.professions.base import CSV, XLSX, Deliverable
from services.professions.views import PriorView, view_from_csv, view_from_workbook


def view_of(deliverable: Deliverable, text: str) -> PriorView:
    """Return a view of a rendered workbook or CSV; other kinds of file hold no tables and give an empty view.

    Formulas that no program has calculated yet are calculated here.
    """
    if deliverable.media_type == XLSX:
        sheets = sheets_of(text)
        calculator = Calculator(sheets)
        return view_from_workbook({sheet.name: grid(sheet, calculator) for sheet in sheets})
    return view_from_csv(text if deliverable.media_type == CSV else "")


def sheets_of(text: str) -> tuple[Sheet, ...]:
    """Return the sheets of a rendered workbook; results that nobody calculated are left out.

    XlsxWriter stores 0 beside every formula and leaves the calculating to whoever opens the file.
    """
    sheets = parse_workbook_text(text)
    stored = [cell.value for sheet in sheets for cell in sheet.cells.values() if cell.formula is not None]
    if not stored or any(value is None or value != 0 for value in stored):
        return sheets
    return tuple(
        msgspec.structs.replace(
            sheet,
            cells={
                place: cell if cell.formula is None else msgspec.structs.replace(cell, value=None)
                for place, cell in sheet.cells.items()
            },
        )
        for sheet in sheets
    )


def grid(sheet: Sheet, calculator: Calculator) -> Sequence[Sequence[str]]:
    """Return a sheet's values as rows of text, row 1 first, empty cells empty."""
    rows = [[""] * sheet.columns for _ in range(sheet.rows)]
    for (row, column), cell in sheet.cells.items():
        if row <= sheet.rows and column <= sheet.columns:
            value: object = cell.value
            if cell.value is None and cell.formula is not None:
                value = calculator.result(sheet, cell)
            rows[row - 1][column - 1] = from_cell(value)
    return rows
