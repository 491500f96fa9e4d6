"""Workbooks as text, and back: nothing a reviewer needs is lost, nothing is ambiguous."""

from __future__ import annotations

import datetime
import io
import re
import time
import zipfile
from decimal import Decimal
from typing import Any

import openpyxl
import pytest
import xlsxwriter
from hypothesis import given, settings
from hypothesis import strategies as st

from services.documents.cells import Cell, Sheet, Workbook, column_letters, column_number
from services.documents.limits import Limits
from services.documents.reading import notes_of, number_text, parse_workbook_text, workbook_text
from services.documents.renderer import DocumentRenderer


def render(data: bytes, limits: Limits | None = None, name: str = "book.xlsx") -> str:
    return DocumentRenderer(limits).render(data, "", name)


def written(fill: Any) -> bytes:
    """A workbook written by XlsxWriter, whose formulas carry values."""
    out = io.BytesIO()
    book = xlsxwriter.Workbook(out, {"in_memory": True})
    fill(book)
    book.close()
    return out.getvalue()


def saved(fill: Any) -> bytes:
    """A workbook written by openpyxl, whose formulas carry none."""
    out = io.BytesIO()
    book = openpyxl.Workbook()
    fill(book)
    book.save(out)
    return out.getvalue()


def edited(data: bytes, change: Any) -> bytes:
    """The same archive after `change(name, bytes) -> bytes | None`."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(out, "w") as copy:
        for name in source.namelist():
            content = change(name, source.read(name))
            if content is not None:
                copy.writestr(name, content)
    return out.getvalue()


def test_a_workbook_reads_as_cells_with_formulas_and_values() -> None:
    def fill(book: Any) -> None:
        page = book.add_worksheet("Summary")
        page.write_row(0, 0, ["Item", "Value", "Source"])
        page.write_row(1, 0, ["Total", None, "a | b"])
        page.write_formula(1, 1, "=SUM(Data!A1:A2)", None, 12.3)
        page.write_row(3, 0, [True, -0.5, "01"])
        book.add_worksheet("Data").write_column(0, 0, [12.1, 0.2])

    assert render(written(fill)) == (
        "# Sheet: Summary (4 rows x 3 columns)\n"
        "A1: Item | B1: Value | C1: Source\n"
        "A2: Total | B2: =SUM(Data!A1:A2) -> 12.3 | C2: a \\| b\n"
        "A4: TRUE | B4: -0.5 | C4: '01\n"
        "\n"
        "# Sheet: Data (2 rows x 1 columns)\n"
        "A1: 12.1\n"
        "A2: 0.2\n"
    )


def test_a_formula_that_was_never_calculated_says_so() -> None:
    data = saved(lambda book: book.active.append([1, 2, "=A1+B1"]))
    assert "C1: =A1+B1 -> (not calculated)" in render(data)
    cell = parse_workbook_text(render(data))[0].cells[1, 3]
    assert (cell.formula, cell.value) == ("A1+B1", None)


def test_numbers_are_exact_and_dates_are_dates() -> None:
    def fill(book: Any) -> None:
        page = book.active
        page.append([0.1 + 0.2, 1e15, 1234567.89, 1e300, 1.5e-7, -0.0, 12.30])
        page.append([datetime.date(2026, 1, 31), datetime.datetime(2026, 1, 31, 9, 30), datetime.time(9, 5)])

    text = render(saved(fill))
    assert "A1: 0.3 | B1: 1000000000000000 | C1: 1234567.89 | D1: 1E+300 | E1: 0.00000015 | F1: 0 | G1: 12.3" in text
    assert "A2: 2026-01-31 | B2: 2026-01-31 09:30:00 | C2: 09:05:00" in text


def test_shared_formulas_are_moved_to_their_cells() -> None:
    data = saved(lambda book: [book.active.append([n, n + 1, f"=A{n}+B{n}"]) for n in (1, 2, 3)])

    def share(name: str, content: bytes) -> bytes:
        if not name.endswith("sheet1.xml"):
            return content
        text = content.decode().replace("<f>A1+B1</f>", '<f t="shared" ref="C1:C3" si="0">A1+B1</f>')
        return re.sub(r"<f>A[23]\+B[23]</f>", '<f t="shared" si="0"/>', text).encode()

    text = render(edited(data, share))
    assert [parse_workbook_text(text)[0].cells[row, 3].formula for row in (1, 2, 3)] == ["A1+B1", "A2+B2", "A3+B3"]


def test_hidden_sheets_macros_and_links_are_mentioned() -> None:
    def fill(book: Any) -> None:
        book.add_worksheet("Shown").write(0, 0, 1)
        hidden = book.add_worksheet("Kept back")
        hidden.write(0, 0, 2)
        hidden.hide()

    out = io.BytesIO(written(fill))
    with zipfile.ZipFile(out, "a") as archive:
        archive.writestr("xl/vbaProject.bin", b"macro")
        archive.writestr("xl/externalLinks/externalLink1.xml", b"<x/>")
    text = render(out.getvalue())
    assert [("macros" in note, "1 other workbook;" in note) for note in notes_of(text)] == [
        (True, False),
        (False, True),
    ]
    assert "# Sheet: Kept back (1 rows x 1 columns, hidden)" in text
    assert [sheet.hidden for sheet in parse_workbook_text(text)] == [False, True]


def test_what_is_cut_is_said_and_counted() -> None:
    data = saved(lambda book: [book.active.append([n, *range(1, 10)]) for n in range(1, 51)])
    text = render(data, Limits(rows=20, columns=4))
    assert "# Sheet: Sheet (50 rows x 10 columns)" in text
    assert text.endswith("[... 30 more rows not shown]\n[... 120 more cells not shown]\n")
    sheet = parse_workbook_text(text)[0]
    assert (len(sheet.cells), sheet.more_rows, sheet.more_cells) == (80, 30, 120)
    short = render(data, Limits(text=60))
    assert len(short) < 120
    assert "more characters not shown]" in short


def test_records_are_read_under_their_header() -> None:
    data = saved(
        lambda book: [book.active.append(row) for row in (["Report"], [], ["Ref", "Amount"], ["A", 1.5], [None, 2])]
    )
    sheet = parse_workbook_text(render(data))[0]
    assert sheet.records("ref", "amount") == [
        {"ref": "A", "amount": Decimal("1.5")},
        {"ref": None, "amount": Decimal(2)},
    ]
    assert sheet.records("absent") == []
    assert sheet.value(4, 1) == "A"


WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Zl", "Zp", "Cs"]), min_size=1, max_size=20)
TRICKY = st.sampled_from(
    ["'", "=1", " x", "x ", "12.30", "-5", "TRUE", "a|b", "a | b", "a -> b", "\\n", "\\", "a\nb", "(not calculated)",
     "[note: x]", "# Sheet: x (1 rows x 1 columns)", "B2: y", "#N/A", "1E+5", "٣",
     "x | B9: 7", "\n# Sheet: y (1 rows x 1 columns)"]
)  # fmt: skip
NUMBERS = st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**14), max_value=10**14, places=4)
VALUES = st.one_of(WORDS, TRICKY, NUMBERS, st.booleans())
CELLS = st.dictionaries(
    st.tuples(st.integers(1, 30), st.integers(1, 60)),
    st.tuples(st.one_of(VALUES, st.none()), st.one_of(st.none(), WORDS, TRICKY)),
    min_size=1,
    max_size=12,
)


@given(CELLS)
def test_text_form_and_its_reading_are_inverse(drawn: dict[tuple[int, int], tuple[Any, str | None]]) -> None:
    cells = {
        place: Cell(*place, value, formula) for place, (value, formula) in drawn.items() if value is not None or formula
    }
    sheet = Sheet("Any name (2)", 30, 60, cells)
    assert parse_workbook_text(workbook_text(Workbook((sheet, sheet)))) == (sheet, sheet)


@given(st.text(max_size=200))
def test_any_text_can_be_read(text: str) -> None:
    parse_workbook_text("# Sheet: S (1 rows x 1 columns)\n" + text)


@settings(max_examples=40)
@given(st.lists(st.lists(st.one_of(WORDS, st.floats(-1e9, 1e9), st.integers(-(10**9), 10**9)), max_size=5), max_size=6))
def test_values_are_those_openpyxl_reads(rows: list[list[Any]]) -> None:
    def fill(book: Any) -> None:
        for r, row in enumerate(rows):
            for c, value in enumerate(row):
                write = book.active.cell(r + 1, c + 1)
                write.value = value
                if isinstance(value, str):
                    write.data_type = "s"

    data = saved(fill)
    page = openpyxl.load_workbook(io.BytesIO(data)).active
    assert page is not None
    sheet = parse_workbook_text(render(data))[0]
    for row in page.iter_rows():
        for cell in row:
            read = sheet.cells.get((cell.row or 0, cell.column or 0))
            if isinstance(cell.value, int | float):
                assert read is not None
                assert read.value == Decimal(format(cell.value, ".15g"))
            elif cell.value is not None:
                assert read is not None
                assert read.value == str(cell.value)


def test_column_letters_and_numbers_are_inverse() -> None:
    assert [column_letters(n) for n in (1, 26, 27, 702, 703, 16384)] == ["A", "Z", "AA", "ZZ", "AAA", "XFD"]
    assert all(column_number(column_letters(n)) == n for n in range(1, 2000))


@pytest.mark.parametrize(
    ("number", "text"), [("0", "0"), ("-0.00", "0"), ("100", "100"), ("12.30", "12.3"), ("1E+30", "1E+30")]
)
def test_numbers_have_one_form(number: str, text: str) -> None:
    assert number_text(Decimal(number)) == text


def test_a_typical_workbook_takes_a_few_milliseconds_and_is_kept() -> None:
    data = saved(
        lambda book: [book.active.append([n, "2026-01-05", f"R{n}", n / 7, f"=A{n}*2"]) for n in range(1, 400)]
    )
    best = min(_timed(DocumentRenderer(), data) for _ in range(5))
    assert best < 0.2  # 2,000 cells; about 0.01 s on an idle core, the bound leaves room for a loaded one
    renderer = DocumentRenderer()
    assert renderer.render(data, "", "a.xlsx") is renderer.render(bytes(data), "", "b.xlsx")


def _timed(renderer: DocumentRenderer, data: bytes) -> float:
    began = time.process_time()
    renderer.render(data, "", "a.xlsx")
    return time.process_time() - began
