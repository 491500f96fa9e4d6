"""Changing tables on purpose: other correct versions of a workbook or CSV, and versions with exactly one thing wrong."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import openpyxl
from openpyxl.cell.cell import Cell
from openpyxl.workbook import Workbook
from openpyxl.worksheet.worksheet import Worksheet

from bench.grader.formulas import Value, evaluate
from bench.grader.reading import load
from bench.grader.tree import check_archive
from bench.grader.values import agrees, cell_text, number, words

Place = tuple[str, str]
"""(sheet, reference)."""
_SUMMARY = "summary"


class NotPossible(Exception):  # noqa: N818 - a finding about the task
    """This change cannot be made to this file; says why."""


def wrong_value(value: str) -> str:
    """Return a value that is close and wrong."""
    known = number(value)
    if known is None:
        return "other"
    return str(known + 1)


# -- workbooks --------------------------------------------------------------------------------------------------------


def open_book(data: bytes) -> Workbook:
    """Open a workbook with its formulas; it came from an agent, so it is checked first."""
    check_archive(data)
    return openpyxl.load_workbook(io.BytesIO(data))


def save_book(book: Workbook) -> bytes:
    """Return a workbook's bytes; formulas have no stored results, as openpyxl writes them."""
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def results(book: Workbook) -> dict[Place, str]:
    """Return what every cell says, formulas calculated."""
    cells: dict[str, dict[str, Value]] = {}
    for sheet in book.worksheets:
        cells[sheet.title] = {cell.coordinate: _plain(cell.value) for cell in _cells(sheet)}
    fresh = evaluate(cells)
    return {(name, ref): cell_text(value) for name, values in fresh.items() for ref, value in values.items()}


def _plain(value: Any) -> Value:
    if isinstance(value, bool | str):
        return value
    return Decimal(repr(value)) if isinstance(value, int | float) else cell_text(value)


def _cells(sheet: Worksheet) -> list[Cell]:
    return [cell for row in sheet.iter_rows() for cell in row if isinstance(cell, Cell) and cell.value is not None]


def hold(book: Workbook, wanted: Mapping[Place, str], changed: Place | None = None) -> None:
    """Paste the wanted value wherever a formula now gives another one, but for the one cell that was changed on purpose."""
    now = results(book)
    for place, text in wanted.items():
        if place == changed or now.get(place, "") == text:
            continue
        book[place[0]][place[1]] = _typed(text)


def _typed(text: str) -> str | int | float:
    value = number(text)
    if value is None or cell_text(value) != text:
        return text
    return int(value) if value == value.to_integral_value() else float(value)


def other_book(data: bytes) -> bytes:
    """Return the same workbook as another person would write it: rows reversed, sheets renamed and reordered."""
    book = open_book(data)
    before = results(book)
    moved: dict[Place, Place] = {}
    for sheet in book.worksheets:
        moved |= _reverse(sheet)
    names = {s.title: s.title if words(s.title) == _SUMMARY else f"{s.title} list"[:31] for s in book.worksheets}
    for sheet in book.worksheets:
        for cell in _cells(sheet):
            if isinstance(cell.value, str) and cell.value.startswith("="):
                cell.value = _renamed(cell.value, names)
    for sheet in list(book.worksheets):
        sheet.title = names[sheet.title]
    book.move_sheet(book.worksheets[-1], -(len(book.worksheets) - 1))
    after = {(names[new[0]], new[1]): before[old] for old, new in _all_places(before, moved).items()}
    hold(book, after)
    return save_book(book)


def _all_places(before: Mapping[Place, str], moved: Mapping[Place, Place]) -> dict[Place, Place]:
    return {place: moved.get(place, place) for place in before}


def _reverse(sheet: Worksheet) -> dict[Place, Place]:
    """Reverse the records of a sheet that is no summary; return old place -> new place of its cells."""
    if words(sheet.title) == _SUMMARY or sheet.max_row < 3:
        return {}
    last = sheet.max_row
    while last > 2 and words(cell_text(sheet.cell(last, 1).value)).startswith("total"):
        last -= 1
    rows = [[sheet.cell(r, c).value for c in range(1, sheet.max_column + 1)] for r in range(2, last + 1)]
    moved = {}
    for old, row in enumerate(rows, 2):
        new = last + 2 - old
        for column, value in enumerate(row, 1):
            there = sheet.cell(new, column)
            there.value = _in_row(value, old, new) if isinstance(value, str) and value.startswith("=") else value
            moved[sheet.title, sheet.cell(old, column).coordinate] = (sheet.title, there.coordinate)
    return moved


def _in_row(formula: str, old: int, new: int) -> str:
    """Move a formula to another row: what it says of its own row goes along; ranges and other sheets stay."""
    return re.sub(rf"(?<![\w!:$'.])(\$?[A-Z]{{1,3}}){old}(?![\w:(.])", rf"\g<1>{new}", formula)


def _renamed(formula: str, names: Mapping[str, str]) -> str:
    def new(found: re.Match[str]) -> str:
        old = (found[1] or found[2]).replace("''", "'")
        return "'" + names.get(old, old).replace("'", "''") + "'!"

    return re.sub(r"(?:'((?:[^']|'')+)'|([^\W\d][\w.]*))!", new, formula)


def book_with_wrong_figure(data: bytes, label: str) -> bytes:
    """Return a workbook in which one figure of the summary is wrong and everything else says what it said."""
    book = open_book(data)
    before = results(book)
    for sheet in sorted(book.worksheets, key=lambda s: words(s.title) != _SUMMARY):
        at = _value_column(sheet)
        for cell in _cells(sheet):
            if words(cell_text(cell.value)).rstrip(":") == words(label) and (not at or cell.column < at):
                place = sheet.cell(cell.row, at or cell.column + 1).coordinate
                sheet[place] = _typed(wrong_value(before.get((sheet.title, place), "")))
                hold(book, before, (sheet.title, place))
                return save_book(book)
    raise NotPossible(f"no cell states {label}")


def _value_column(sheet: Worksheet) -> int:
    return next((c.column for c in _cells(sheet) if c.row <= 10 and words(cell_text(c.value)) == "value"), 0)


def book_with_wrong_row(data: bytes, params: Mapping[str, Any]) -> bytes:
    """Return a workbook in which one record of one sheet carries another key."""
    book = open_book(data)
    before = results(book)
    key = params["key"][0]
    known = {row[key] for row in params["rows"]}
    for sheet in sorted(book.worksheets, key=lambda s: words(s.title) != words(params["sheet"])):
        if words(sheet.title) == _SUMMARY:
            continue
        heads = {words(cell_text(c.value)): c for c in _cells(sheet) if c.row <= 10}
        if not all(words(column) in heads for column in params["key"]):
            continue
        head = heads[words(key)]
        for row in range(head.row + 1, sheet.max_row + 1):
            cell = sheet.cell(row, head.column)
            if any(agrees(cell_text(before.get((sheet.title, cell.coordinate))), value) for value in known):
                cell.value = f"{cell_text(before[sheet.title, cell.coordinate])}-X"
                hold(book, before, (sheet.title, cell.coordinate))
                return save_book(book)
    raise NotPossible(f"no sheet holds the rows of {params['sheet']}")


# -- CSV --------------------------------------------------------------------------------------------------------------


def _edit_csv(data: bytes, edit: Callable[[list[list[str]]], None], **style: Any) -> bytes:
    rows = [list(row) for row in load("csv", data).grids[0].rows]
    edit(rows)
    out = io.StringIO()
    csv.writer(out, **{"lineterminator": "\n", **style}).writerows(rows)
    return out.getvalue().encode()


def other_csv(data: bytes) -> bytes:
    """Return the same CSV as another program would write it: rows reversed, everything quoted, other line ends."""

    def edit(rows: list[list[str]]) -> None:
        rows[1:] = [row for row in reversed(rows[1:]) if any(row)]

    return _edit_csv(data, edit, lineterminator="\r\n", quoting=csv.QUOTE_ALL)


def csv_with_wrong_figure(data: bytes, label: str) -> bytes:
    """Return a CSV of figures in which one is wrong."""

    def edit(rows: list[list[str]]) -> None:
        at = [words(cell) for cell in rows[0]].index("value")
        for row in rows[1:]:
            if row and words(row[0]) == words(label):
                row[at] = wrong_value(row[at])
                return
        raise NotPossible(f"no row states {label}")

    return _edit_csv(data, edit)


def csv_with_wrong_row(data: bytes, params: Mapping[str, Any]) -> bytes:
    """Return a CSV in which one record carries another key."""

    def edit(rows: list[list[str]]) -> None:
        at = [words(cell) for cell in rows[0]].index(words(params["key"][0]))
        if len(rows) < 2:
            raise NotPossible("the CSV has no rows")
        rows[1][at] += "-X"

    return _edit_csv(data, edit)


def dumped_book(sheets: Mapping[str, Sequence[Sequence[str]]]) -> bytes:
    """Return a workbook with a sheet for each table: what somebody hands in who copies everything."""
    book = Workbook()
    for number_, (name, rows) in enumerate(sheets.items()):
        title = re.sub(r"[\[\]:*?/\\]", "-", name)[:24]
        sheet = book.create_sheet(f"{title} {number_}") if title.casefold() != _SUMMARY else book.create_sheet(title)
        for row in rows:
            sheet.append([_typed(cell) for cell in row])
    if len(book.worksheets) > 1:
        book.remove(book.worksheets[0])
    return save_book(book)


__all__ = [
    "NotPossible", "book_with_wrong_figure", "book_with_wrong_row", "csv_with_wrong_figure", "csv_with_wrong_row",
    "dumped_book", "other_book", "other_csv", "wrong_value",
]  # fmt: skip
