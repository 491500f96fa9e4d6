r"""The text form of a workbook: how it is written, and how it is read back.

Grammar, line by line (everything else in a rendered workbook is an empty line):

    [note: words]                                         before the sheets: what was not read
    # Sheet: NAME (R rows x C columns)                    or `..., hidden)`; R and C are the last row and column used
    A1: VALUE | B1: VALUE | D1: VALUE                     one line a row, empty cells left out
    [... N more rows not shown]                           last of a sheet, when it was cut
    [... N more cells not shown]

A VALUE is one of
    Opening balance     text
    '12.30              text that would read as something else without the apostrophe: numbers, TRUE, =, '
    1234.56             a number, exact, without trailing zeros; very large or small ones as 1E+30
    TRUE                a truth value
    2026-01-31          a date (text and dates look alike on purpose)
    =SUM(B2:B3) -> 12.3           a formula and its stored value, itself one of the above
    =SUM(B2:B3) -> (not calculated)   a formula that no program has calculated yet
In text and formulas `\` is written `\\`, a line break `\n`, `|` `\|`, and `->` inside a formula `-\>`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal

import msgspec

from services.documents.cells import Cell, Sheet, Workbook, column_letters, column_number

NOT_CALCULATED = "(not calculated)"
_HEAD = re.compile(r"# Sheet: (?P<name>.*) \((?P<rows>\d+) rows x (?P<columns>\d+) columns(?P<hidden>, hidden)?\)\Z")
_MORE = re.compile(r"\[\.\.\. ([\d,]+) more (rows|cells) not shown\]\Z")
_NOTE = re.compile(r"\[note: (.*)\]\Z")
_CELL = re.compile(r"([A-Z]{1,3})([1-9]\d{0,6}): ")
_NUMBER = re.compile(r"-?\d+(\.\d+)?(E[+-]\d+)?\Z", re.ASCII)
_ESCAPES = {"\\": "\\\\", "\n": "\\n", "|": "\\|"}
_NEEDS_MARK = re.compile(
    r"[=']|\s|\(not calculated\)\Z|-?\d+(\.\d+)?(E[+-]\d+)?\Z|(TRUE|FALSE)\Z|.*\s\Z", re.ASCII | re.DOTALL
)
_LOSES = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\x85\u2028\u2029\ud800-\udfff]")


def workbook_text(workbook: Workbook) -> str:
    """The rendered form of a workbook."""
    lines = [f"[note: {_one_line(note)}]" for note in workbook.notes]
    for sheet in workbook.sheets:
        if lines:
            lines.append("")
        hidden = ", hidden" if sheet.hidden else ""
        lines.append(f"# Sheet: {_one_line(sheet.name)} ({sheet.rows} rows x {sheet.columns} columns{hidden})")
        lines.extend(_row_lines(sheet))
        if sheet.more_rows:
            lines.append(f"[... {sheet.more_rows:,} more rows not shown]")
        if sheet.more_cells:
            lines.append(f"[... {sheet.more_cells:,} more cells not shown]")
    return "\n".join(lines) + "\n"


def parse_workbook_text(text: str) -> tuple[Sheet, ...]:
    """The sheets of a rendered workbook. Lines that are no part of the form are passed over; never raises."""
    sheets: list[Sheet] = []
    cells: dict[tuple[int, int], Cell] = {}
    for line in text.split("\n"):
        if line.startswith("# Sheet: ") and (head := _HEAD.match(line)):
            cells = {}
            size = int(head["rows"]), int(head["columns"])
            sheets.append(Sheet(head["name"], *size, cells, head["hidden"] is not None))
        elif sheets and (more := _MORE.match(line)):
            count = int(more[1].replace(",", ""))
            sheets[-1] = msgspec.structs.replace(sheets[-1], **{f"more_{more[2]}": count})
        elif sheets:
            for cell in _cells(line):
                cells[cell.row, cell.column] = cell
    return tuple(sheets)


def notes_of(text: str) -> tuple[str, ...]:
    """The notes at the head of a rendered document: what was not read."""
    return tuple(note[1] for line in text.split("\n") if (note := _NOTE.match(line)))


def number_text(number: Decimal) -> str:
    """An exact number without trailing zeros: 12.3, 1234.56, 1E+30."""
    if not number:
        return "0"
    normal = number.normalize()
    return format(normal, "f" if -20 < normal.adjusted() < 21 else "E")


def _row_lines(sheet: Sheet) -> Iterator[str]:
    row = 0
    line: list[str] = []
    for (at, column), cell in sorted(sheet.cells.items()):
        if at != row and line:
            yield " | ".join(line)
            line.clear()
        row = at
        line.append(f"{column_letters(column)}{at}: {_cell_text(cell)}")
    if line:
        yield " | ".join(line)


def _cell_text(cell: Cell) -> str:
    if cell.formula is None:
        return _value_text(cell.value)
    formula = _escape(cell.formula).replace("->", "-\\>")
    value = NOT_CALCULATED if cell.value is None else _value_text(cell.value)
    return f"={formula} -> {value}"


def _value_text(value: str | Decimal | bool | None) -> str:
    if isinstance(value, Decimal):
        return number_text(value)
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if not value:
        return "'"
    text = _escape(value)
    return f"'{text}" if _NEEDS_MARK.match(text) else text


def _escape(text: str) -> str:
    text = text.replace("\r\n", "\n")
    if "\\" in text or "\n" in text or "|" in text:
        text = "".join(_ESCAPES.get(ch, ch) for ch in text)
    return _LOSES.sub("\N{REPLACEMENT CHARACTER}", text)


def _unescape(text: str) -> str:
    return re.sub(r"\\(.)", lambda found: "\n" if found[1] == "n" else found[1], text) if "\\" in text else text


def _one_line(text: str) -> str:
    return _LOSES.sub("\N{REPLACEMENT CHARACTER}", " ".join(text.split()))


def _cells(line: str) -> Iterator[Cell]:
    for piece in line.split(" | "):
        place = _CELL.match(piece)
        if place is None:
            return
        body = piece[place.end() :]
        row, column = int(place[2]), column_number(place[1])
        if body.startswith("="):
            formula, _, value = body[1:].partition(" -> ")
            yield Cell(row, column, None if value == NOT_CALCULATED else _value(value), _unescape(formula))
        else:
            yield Cell(row, column, _value(body))


def _value(text: str) -> str | Decimal | bool:
    if text.startswith("'"):
        return _unescape(text[1:])
    if _NUMBER.match(text):
        return Decimal(text)
    if text in ("TRUE", "FALSE"):
        return text == "TRUE"
    return _unescape(text)
