"""Read an .xlsx file in one pass: values and formulas together.

openpyxl would load the file twice (once for formulas, once for values), build an object a cell, and needs about ten
times as long; a review opens every deliverable, so this reads the XML itself with constant memory and fixed bounds. The
knowledge of date formats and of moving shared formulas stays openpyxl's.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from decimal import Decimal
from xml.parsers import expat

from openpyxl.formula.tokenizer import TokenizerError
from openpyxl.formula.translate import Translator, TranslatorError
from openpyxl.styles.numbers import BUILTIN_FORMATS, is_date_format
from openpyxl.utils.datetime import CALENDAR_MAC_1904, CALENDAR_WINDOWS_1900, from_excel

from services.documents.archive import Archive
from services.documents.cells import Cell, Sheet, Workbook, column_number
from services.documents.limits import Limits, Unreadable

_REF = re.compile(r"([A-Z]{1,3})([1-9][0-9]{0,6})\Z")
_Attributes = dict[str, str]


def parse(data: bytes, part: str, start: Callable[[str, _Attributes], None], end: Callable[[str, str], None]) -> None:
    """Walk an XML part: `start(local name, attributes)`, `end(local name, text since the last start)`.

    Refuses document types, and with them every entity. Raises `Unreadable`.
    """
    parser = expat.ParserCreate()
    parser.buffer_text = True
    pieces: list[str] = []

    def begin(name: str, attributes: _Attributes) -> None:
        pieces.clear()
        start(name.rpartition(":")[2], attributes)

    def finish(name: str) -> None:
        end(name.rpartition(":")[2], "".join(pieces))
        pieces.clear()

    def refuse(*_: object) -> None:
        raise Unreadable(f"the part {part} declares a document type")

    parser.StartElementHandler = begin
    parser.EndElementHandler = finish
    parser.CharacterDataHandler = pieces.append
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(data, True)
    except (expat.ExpatError, ValueError, LookupError):
        raise Unreadable(f"the part {part} is not well-formed") from None


def relations(archive: Archive, part: str) -> dict[str, str]:
    """The inner targets of a part by relationship id."""
    folder, name = posixpath.split(part)
    where = f"{folder}/_rels/{name}.rels"
    found: dict[str, str] = {}
    if where not in archive:
        return found

    def start(tag: str, attributes: _Attributes) -> None:
        if tag == "Relationship" and attributes.get("TargetMode") != "External" and "Target" in attributes:
            target = attributes["Target"]
            path = target.lstrip("/") if target.startswith("/") else posixpath.normpath(posixpath.join(folder, target))
            found[attributes.get("Id", "")] = path

    parse(archive.read(where), where, start, lambda tag, text: None)
    return found


def read_workbook(archive: Archive, limits: Limits) -> Workbook:
    """All sheets of an opened archive. Raises `Unreadable` when the workbook itself cannot be read."""
    part = "xl/workbook.xml"
    listed: list[tuple[str, str, bool]] = []
    epoch = [CALENDAR_WINDOWS_1900]

    def start(tag: str, attributes: _Attributes) -> None:
        if tag == "sheet":
            target = next((value for key, value in attributes.items() if key.endswith(":id")), "")
            listed.append((attributes.get("name", ""), target, attributes.get("state", "visible") != "visible"))
        elif tag == "workbookPr" and attributes.get("date1904") in ("1", "true"):
            epoch[0] = CALENDAR_MAC_1904

    parse(archive.read(part), part, start, lambda tag, text: None)
    targets = relations(archive, part)
    notes = _notes(archive)
    strings = _shared_strings(archive)
    dates = _date_styles(archive)
    sheets, left = [], limits.cells
    for name, target, hidden in listed:
        where = targets.get(target, "")
        if not where.startswith("xl/worksheets/"):
            notes.append(f"the sheet {name!r} is not a table of cells and is not shown")
            continue
        try:
            reader = _SheetReader(strings, dates, epoch[0], limits, left)
            parse(archive.read(where), where, reader.start, reader.end)
        except Unreadable as fault:
            notes.append(f"the sheet {name!r} cannot be read: {fault}")
            continue
        left -= len(reader.cells)
        sheets.append(reader.sheet(name, hidden))
    return Workbook(tuple(sheets), tuple(notes))


def _notes(archive: Archive) -> list[str]:
    links = sum(name.startswith("xl/externalLinks/") and name.endswith(".xml") for name in archive.names)
    notes = []
    if any(name.lower().endswith("vbaproject.bin") for name in archive.names):
        notes.append("the file holds macros; they were not read")
    if links:
        notes.append(f"the file refers to {links} other workbook{'s' if links > 1 else ''}; they were not read")
    if "xl/connections.xml" in archive:
        notes.append("the file has connections to outside data; they were not read")
    return notes


def _shared_strings(archive: Archive) -> list[str]:
    part = "xl/sharedStrings.xml"
    strings: list[str] = []
    if part not in archive:
        return strings
    pieces: list[str] = []
    phonetic = [0]

    def start(tag: str, attributes: _Attributes) -> None:
        if tag == "si":
            pieces.clear()
        elif tag == "rPh":
            phonetic[0] += 1

    def end(tag: str, text: str) -> None:
        if tag == "t" and not phonetic[0]:
            pieces.append(text)
        elif tag == "rPh":
            phonetic[0] -= 1
        elif tag == "si":
            strings.append("".join(pieces))

    parse(archive.read(part), part, start, end)
    return strings


def _date_styles(archive: Archive) -> frozenset[int]:
    """Indexes of the cell styles that show a number as a date or time."""
    part = "xl/styles.xml"
    if part not in archive:
        return frozenset()
    formats = {number: code for number, code in BUILTIN_FORMATS.items() if is_date_format(code)}
    formats |= dict.fromkeys((*range(27, 37), *range(50, 59)), "yyyy-mm-dd")
    styles: list[int] = []
    inside = [False]

    def start(tag: str, attributes: _Attributes) -> None:
        if tag == "numFmt":
            number, code = _int(attributes.get("numFmtId", "")), attributes.get("formatCode", "")
            formats.pop(number, None)
            if is_date_format(code[:200]):
                formats[number] = code
        elif tag == "cellXfs":
            inside[0] = True
        elif tag == "xf" and inside[0]:
            styles.append(_int(attributes.get("numFmtId", "")))

    def end(tag: str, text: str) -> None:
        if tag == "cellXfs":
            inside[0] = False

    parse(archive.read(part), part, start, end)
    return frozenset(index for index, number in enumerate(styles) if number in formats)


class _SheetReader:
    """Collects one sheet's cells within the limits; the rest is counted."""

    def __init__(self, strings: list[str], dates: frozenset[int], epoch: object, limits: Limits, cells: int) -> None:
        self.cells: dict[tuple[int, int], Cell] = {}
        self._strings, self._dates, self._epoch, self._limits, self._most = strings, dates, epoch, limits, cells
        self._row = self._column = self._shown = self._last_row = self._last_column = 0
        self._more_rows = self._more_cells = 0
        self._row_used = False
        self._attributes: _Attributes = {}
        self._formula_attributes: _Attributes = {}
        self._formula: str | None = None
        self._value: str | None = None
        self._inline: list[str] = []
        self._shared: dict[str, tuple[str, str]] = {}

    def start(self, tag: str, attributes: _Attributes) -> None:
        if tag == "c":
            self._attributes, self._formula, self._value = attributes, None, None
            self._inline.clear()
            match = _REF.match(attributes.get("r", ""))
            if match:
                self._row, self._column = int(match[2]), column_number(match[1])
            else:
                self._column += 1
        elif tag == "f":
            self._formula_attributes = attributes
        elif tag == "row":
            self._row = min(_int(attributes.get("r", "")) or self._row + 1, 9_999_999)
            self._column, self._row_used = 0, False

    def end(self, tag: str, text: str) -> None:
        if tag == "v":
            self._value = text
        elif tag == "c":
            self._finish()
        elif tag == "f":
            self._formula = self._expand(text)
        elif tag == "t":
            self._inline.append(text)

    def sheet(self, name: str, hidden: bool) -> Sheet:
        return Sheet(name, self._last_row, self._last_column, self.cells, hidden, self._more_rows, self._more_cells)

    def _finish(self) -> None:
        if self._value is None and self._formula is None and not self._inline:
            return
        value = self._typed()
        if self._formula is None and (value is None or value == ""):
            return
        self._last_row, self._last_column = max(self._last_row, self._row), max(self._last_column, self._column)
        if not self._row_used:
            self._row_used = True
            if self._shown < self._limits.rows:
                self._shown += 1
            else:
                self._more_rows += 1
        if self._more_rows:
            return
        if self._column > self._limits.columns or len(self.cells) >= self._most:
            self._more_cells += 1
            return
        self.cells[self._row, self._column] = Cell(self._row, self._column, value, self._formula)

    def _typed(self) -> str | Decimal | bool | None:
        kind, raw = self._attributes.get("t", "n"), self._value
        if kind == "inlineStr":
            return "".join(self._inline)
        if raw is None or (not raw and kind != "str"):  # openpyxl writes an empty value beside a formula
            return None
        if kind == "s":
            index = _int(raw)
            return self._strings[index] if raw.strip().isdigit() and index < len(self._strings) else "#REF!"
        if kind == "b":
            return raw.strip() in ("1", "true")
        if kind != "n":
            return raw
        number = exact_number(raw.strip())
        if isinstance(number, Decimal) and _int(self._attributes.get("s", "")) in self._dates:
            return self._date(number)
        return number

    def _date(self, number: Decimal) -> str | Decimal:
        try:
            moment = from_excel(float(number), self._epoch)
        except (ValueError, OverflowError):
            return number
        return str(moment).removesuffix(" 00:00:00")

    def _expand(self, text: str) -> str | None:
        """The formula of this cell; one shared with its neighbours is moved here from where it stands."""
        shared = self._formula_attributes.get("si") if self._formula_attributes.get("t") == "shared" else None
        here = self._attributes.get("r", "")
        if shared is None:
            return text or None
        if text:
            self._shared[shared] = (text, here)
            return text
        source, origin = self._shared.get(shared, ("", ""))
        try:
            return str(Translator(f"={source}", origin=origin).translate_formula(here))[1:] if source and here else None
        except (TokenizerError, TranslatorError, ValueError, IndexError):
            return source


def exact_number(text: str) -> Decimal | str:
    """A stored number without the noise of binary fractions (15 digits, as spreadsheets show); other text as it is."""
    if text.isascii() and text.isdigit() and len(text) < 15:
        return Decimal(text)
    try:
        number = float(text)
    except ValueError:
        return text
    if number != number or number in (float("inf"), float("-inf")):
        return text
    return Decimal(format(number, ".15g")) + 0


def _int(text: str) -> int:
    text = text.strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
