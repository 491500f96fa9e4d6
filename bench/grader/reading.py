"""What a deliverable says: grids of cells for workbooks and CSVs, lines for prose. Formulas are calculated here."""

from __future__ import annotations

import csv
import io
import logging
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import docx
import openpyxl
import pypdf
from openpyxl.utils import get_column_letter

from .formulas import Problem, Value, evaluate
from .tree import Unusable, check_archive
from .values import cell_text

MOST_ROWS, MOST_COLUMNS, MOST_CELLS, MOST_PAGES, MOST_LINES = 20_000, 200, 300_000, 60, 50_000


@dataclass(frozen=True)
class Grid:
    """A sheet or CSV as text. `formulas` holds the formula of each place (row, column from 0) that has one."""

    name: str
    rows: Sequence[Sequence[str]]
    formulas: Mapping[tuple[int, int], str] = field(default_factory=dict)


@dataclass(frozen=True)
class Document:
    """A deliverable as read. Tables have `grids`; prose has `lines`."""

    form: str
    grids: tuple[Grid, ...] = ()
    lines: tuple[str, ...] = ()
    pages: int = 0


def load(form: str, data: bytes) -> Document:
    """Read a deliverable of a form (`xlsx csv docx pdf md text`). Raises `Unusable` when it cannot be opened as that."""
    if not data.strip():
        raise Unusable("the file is empty")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _READERS[form](data)
    except Unusable:
        raise
    # Parsers of other people's formats raise whatever a crafted file drives them to: it does not open, no more.
    except (Exception, RecursionError):  # noqa: BLE001
        raise Unusable(f"it does not open as a {form} file") from None


# -- tables -----------------------------------------------------------------------------------------------------------


def _workbook(data: bytes) -> Document:
    check_archive(data)
    raw = {name: rows for name, rows in _sheets(data, data_only=False)}
    if not raw:
        raise Unusable("the workbook has no sheet of cells")
    cells = {
        name: {f"{get_column_letter(c + 1)}{r + 1}": value for r, c, value in _filled(rows)} for name, rows in raw.items()
    }
    fresh = evaluate(cells)
    stored = _stored(data) if _unknown(fresh) else {}
    return Document("xlsx", tuple(_grid(name, rows, fresh[name], stored.get(name, ())) for name, rows in raw.items()))


def _sheets(data: bytes, *, data_only: bool) -> Iterator[tuple[str, list[list[Any]]]]:
    """Yield (name, rows of cell values), bounded; read-only mode never builds merged or padded cells without end."""
    book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=data_only, keep_links=False)
    left = MOST_CELLS
    for sheet in book.worksheets:
        rows: list[list[Any]] = []
        for row in sheet.iter_rows(max_row=MOST_ROWS, max_col=MOST_COLUMNS, values_only=True):
            values = list(row)
            while values and values[-1] is None:
                values.pop()
            left -= len(values)
            if left < 0:
                raise Unusable(f"the workbook has more than {MOST_CELLS:,} cells")
            rows.append(values)
        while rows and not rows[-1]:
            rows.pop()
        yield sheet.title, rows
    book.close()


def _filled(rows: Sequence[Sequence[Any]]) -> Iterator[tuple[int, int, Value]]:
    for r, row in enumerate(rows):
        for c, value in enumerate(row):
            if value is not None:
                yield r, c, _plain(value)


def _plain(value: Any) -> Value:
    """Return a cell as the calculator takes it; numbers exact, dates as text."""
    if isinstance(value, bool | str):
        return value
    if isinstance(value, int | float):
        return Decimal(repr(value)) if value == value and abs(value) != float("inf") else None
    text = getattr(value, "text", None)  # an array formula is an object with its text
    return f"={str(text).removeprefix('=')}" if isinstance(text, str) else cell_text(value)


def _unknown(fresh: Mapping[str, Mapping[str, Value]]) -> bool:
    return any(isinstance(value, Problem) for cells in fresh.values() for value in cells.values())


def _stored(data: bytes) -> dict[str, list[list[Any]]]:
    """Return the results that the writing program stored: used only where a formula is not known here."""
    return dict(_sheets(data, data_only=True))


def _grid(name: str, rows: Sequence[Sequence[Any]], fresh: Mapping[str, Value], stored: Sequence[Sequence[Any]]) -> Grid:
    texts: list[list[str]] = []
    formulas = {}
    for r, row in enumerate(rows):
        line = []
        for c, raw in enumerate(row):
            value: object = fresh.get(f"{get_column_letter(c + 1)}{r + 1}")
            plain = _plain(raw) if raw is not None else None
            if isinstance(plain, str) and plain.startswith("=") and len(plain) > 1:
                formulas[r, c] = plain
            if isinstance(value, Problem):
                kept = stored[r][c] if r < len(stored) and c < len(stored[r]) else None
                value = value.code if kept is None or value.code != "#NAME?" else kept
            line.append(cell_text(value))
        texts.append(line)
    return Grid(name, texts, formulas)


def _csv(data: bytes) -> Document:
    if data.startswith((b"PK\x03\x04", b"%PDF-")) or b"\0" in data[:4096]:
        raise Unusable("it is no CSV text")
    text = _decoded(data).replace("\r\n", "\n").replace("\r", "\n")
    first = text.split("\n", 1)[0]
    divider = max(",;\t", key=first.count)
    rows: list[list[str]] = []
    for row in csv.reader(io.StringIO(text, newline=""), delimiter=divider):
        if len(rows) > MOST_ROWS:
            raise Unusable(f"the CSV has more than {MOST_ROWS:,} rows")
        rows.append([cell.strip() for cell in row[:MOST_COLUMNS]])
    return Document("csv", (Grid("", rows),))


def _decoded(data: bytes) -> str:
    for mark, encoding in ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):
        if data.startswith(mark):
            return data.decode(encoding, "replace")
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


# -- prose ------------------------------------------------------------------------------------------------------------


def _text(data: bytes) -> Document:
    if data.startswith((b"PK\x03\x04", b"%PDF-")) or b"\0" in data[:4096].replace(b"\xff\xfe", b""):
        raise Unusable("it is no text")
    lines = _decoded(data).replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return Document("md", lines=tuple(line.strip() for line in lines[:MOST_LINES]))


def _word(data: bytes) -> Document:
    check_archive(data)
    lines: list[str] = []
    document = docx.Document(io.BytesIO(data))
    heading = {s.style_id for s in document.styles if (s.name or "").startswith(("Heading", "Title"))}
    for block in document.iter_inner_content():
        if hasattr(block, "rows"):
            for row in block.rows:
                lines.append(" | ".join(cell.text.strip().replace("\n", " ") for cell in row.cells))
        else:
            text = block.text.strip()
            lines.append(f"# {text}" if text and block._p.style in heading else text)
        if len(lines) > MOST_LINES:
            break
    return Document("docx", lines=tuple(part.strip() for line in lines for part in line.split("\n")))


def _pdf(data: bytes) -> Document:
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    reader = pypdf.PdfReader(io.BytesIO(data))
    count = len(reader.pages)
    if not count:
        raise Unusable("the PDF has no page")
    lines = []
    for number in range(min(count, MOST_PAGES)):
        lines += [line.strip() for line in reader.pages[number].extract_text().split("\n")]
    return Document("pdf", lines=tuple(lines[:MOST_LINES]), pages=count)


_READERS = {"xlsx": _workbook, "csv": _csv, "docx": _word, "pdf": _pdf, "md": _text, "text": _text}
FORMS = tuple(_READERS)
