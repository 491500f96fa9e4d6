"""What is in a file, as far as a page shows it: a bounded part of its tables or its text, never its bytes as a page."""

from __future__ import annotations

import csv
import io

import msgspec

from orchestrator.web.book import Book
from orchestrator.web.ui import kit
from orchestrator.web.ui.tables import Table, cell
from services.documents import cells as document_cells
from services.documents.cells import Cell, column_letters
from services.documents.reading import notes_of, number_text, parse_workbook_text
from simulator.ports import Blob

MOST_BYTES = 6_000_000
"""Larger files are for downloading: reading them would take the page's time and memory."""
MOST_ROWS, MOST_COLUMNS, MOST_CHARS, MOST_SHEETS = 120, 26, 60_000, 12
_WORKBOOK = ("spreadsheet", "excel")


class Grid(msgspec.Struct, frozen=True):
    """A part of a sheet: column letters, and rows that begin with their number. `formulas` are places that hold one."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    formulas: frozenset[tuple[int, int]]
    more: str = ""


class Inside(msgspec.Struct, frozen=True):
    """What is shown of a file: `grids` of a workbook or table, or `text`. `note` says what is left out, and why."""

    grids: tuple[Grid, ...] = ()
    text: str = ""
    note: str = ""
    notes: tuple[str, ...] = ()


def whole(book: Book, blob: Blob, media_type: str, name: str) -> str:
    """Return a file's text as people at the office read it; empty where it is too large to be read here."""
    if blob.size > MOST_BYTES:
        return ""
    return book.renderer.render(book.blobs.get(blob.sha256), media_type, name)


def inside(book: Book, blob: Blob, media_type: str, name: str) -> Inside:
    """Return what a page shows of a file version."""
    if blob.size > MOST_BYTES:
        return Inside(note=f"This file has {size(blob.size)}: too much to show here. Download it to open it.")
    text = whole(book, blob, media_type, name)
    if is_workbook(media_type, name):
        sheets = parse_workbook_text(text)
        shown = tuple(grid(sheet) for sheet in sheets[:MOST_SHEETS])
        left = f"{len(sheets) - MOST_SHEETS} more sheets are not shown." if len(sheets) > MOST_SHEETS else ""
        return Inside(shown, "" if shown else text[:MOST_CHARS], left, notes_of(text))
    if media_type == "text/csv" or name.lower().endswith(".csv"):
        return Inside((from_csv(text),))
    left = f"The first {MOST_CHARS:,} of {len(text):,} characters." if len(text) > MOST_CHARS else ""
    return Inside(text=text[:MOST_CHARS], note=left)


def is_workbook(media_type: str, name: str) -> bool:
    """Whether a file is a workbook, by its type or name."""
    return any(word in media_type for word in _WORKBOOK) or name.lower().endswith((".xlsx", ".xlsm"))


def grid(sheet: document_cells.Sheet) -> Grid:
    """Return the part of a sheet that is shown."""
    columns = min(sheet.columns, MOST_COLUMNS)
    rows: list[tuple[str, ...]] = []
    formulas: set[tuple[int, int]] = set()
    for number, found in sheet.lines():
        if len(rows) >= MOST_ROWS:
            break
        line = [""] * columns
        for one in found:
            if one.column <= columns:
                line[one.column - 1] = said(one)
                if one.formula is not None:
                    formulas.add((len(rows), one.column))
        rows.append((str(number), *line))
    left = []
    if sheet.rows > MOST_ROWS or sheet.more_rows:
        left.append(f"{max(sheet.rows, MOST_ROWS) - MOST_ROWS + sheet.more_rows:,} more rows")
    if sheet.columns > columns:
        left.append(f"{sheet.columns - columns:,} more columns")
    letters = tuple(column_letters(i + 1) for i in range(columns))
    return Grid(sheet.name, letters, tuple(rows), frozenset(formulas), " and ".join(left))


def said(one: Cell) -> str:
    """Return a cell's value as people read it."""
    value = one.value
    if value is None:
        return "(not calculated)"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    return value if isinstance(value, str) else number_text(value)


def from_csv(text: str) -> Grid:
    """Return a table of comma-separated values as a grid."""
    rows: list[tuple[str, ...]] = []
    more = ""
    try:
        for number, line in enumerate(csv.reader(io.StringIO(text)), 1):
            if number > MOST_ROWS:
                more = "more rows"
                break
            rows.append((str(number), *line[:MOST_COLUMNS]))
    except csv.Error as fault:
        more = f"what follows, which is no table ({fault})"
    width = max((len(row) for row in rows), default=1) - 1
    even = tuple((*row, *[""] * (width + 1 - len(row))) for row in rows)
    return Grid("", tuple(column_letters(i + 1) for i in range(width)), even, frozenset(), more)


def size(count: int) -> str:
    """Return a number of bytes in words."""
    for unit, step in (("MB", 1_000_000), ("kB", 1_000)):
        if count >= step:
            return f"{count / step:.1f} {unit}"
    return f"{count} bytes"


# -- drawn ----------------------------------------------------------------------------------------------------------------


def draw(shown: Inside, label: str) -> None:
    """Draw what is in a file."""
    with kit.box("stack", test="file-content"):
        for note in (shown.note, *shown.notes):
            if note:
                kit.text(note, "hint", "p")
        for number, one in enumerate(shown.grids):
            if one.name:
                with kit.fold(one.name, "sheet", number == 0):
                    _grid(one, f"{label}: {one.name}")
            else:
                _grid(one, label)
        if shown.text:
            kit.Tag("pre", "pre", shown.text, tabindex="0", label=label)


def _grid(one: Grid, label: str) -> None:
    rows = []
    for number, row in enumerate(one.rows):
        cells = [cell(text, "", _kind(text, (number, place) in one.formulas)) for place, text in enumerate(row[1:], 1)]
        rows.append([row[0], *cells])
    Table(label, ("", *one.columns), rows, kind="sheet-table", lead=True)
    if one.more:
        kit.text(f"Not shown: {one.more}.", "hint", "p")


def _kind(text: str, formula: bool) -> str:
    number = text.replace(".", "", 1).replace("-", "", 1).isdecimal()
    return " ".join(kind for kind, on in (("n", number), ("formula", formula)) if on)
