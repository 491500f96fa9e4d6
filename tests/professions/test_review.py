"""The reviewer's eye: workbooks and memos damaged in independent ways, and sound ones that only look different.

The works are real outputs of the skill packs' scripts. Editing with openpyxl drops stored results, so the reviewer must
recalculate; damage to a stored result is done in the file's XML.
"""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections.abc import Callable

import docx
import openpyxl
import pytest
import xlsxwriter
from openpyxl.workbook import Workbook
from openpyxl.worksheet.worksheet import Worksheet

from services.professions.faults import Fault
from services.professions.registry import PROFESSIONS
from simulator.randomness import Stream
from tests.professions.conftest import MONTHS
from tests.professions.office import Work, faults_of

Finished = dict[tuple[str, str, str], Work]
Files = dict[str, bytes]
BOOK, LIST, MEMO = "Reconciliation.xlsx", "Open items.md", "Variance memo.docx"


def edited(data: bytes, edit: Callable[[Workbook], None]) -> bytes:
    book = openpyxl.load_workbook(io.BytesIO(data))
    edit(book)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def figure_cell(book: Workbook, label: str, column: str = "B") -> str:
    sheet = book["Summary"]
    return next(f"{column}{row}" for row in range(2, sheet.max_row + 1) if sheet[f"A{row}"].value == label)


# -- the damages: each returns the files as handed in, and what the reviewer must say where ---------------------------


def wrong_figure(files: Files) -> tuple[str, str]:
    def edit(book: Workbook) -> None:
        cell = figure_cell(book, "Closing balance")
        book["Summary"][cell] = f"{book['Summary'][cell].value}+100"

    files[BOOK] = edited(files[BOOK], edit)
    return BOOK, r"Closing balance is [-\d.]+, recomputed it is"


def stored_total_that_does_not_tie(files: Files) -> tuple[str, str]:
    """The formula is right and rightly labelled; the number that everybody sees is not what it gives."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(files[BOOK])) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name.endswith("sheet1.xml"):
                data, count = re.subn(
                    rb"(<f>[^<]*Ledger only[^<]*</f>\s*<v>)([^<]*)(</v>)", rb"\g<1>850\3", data, count=1
                )
                assert count == 1
            new.writestr(name, data)
    files[BOOK] = out.getvalue()
    return BOOK, r"the stored value 850 is not what ="


def closing_row_that_does_not_tie(files: Files) -> tuple[str, str]:
    def edit(book: Workbook) -> None:
        book["Bank only"].append(["Total", None, None, 1234.56])

    files[BOOK] = edited(files[BOOK], edit)
    return BOOK, r"the total 1234\.56 does not tie to its rows"


def pasted_value(files: Files) -> tuple[str, str]:
    stored = openpyxl.load_workbook(io.BytesIO(files[BOOK]), data_only=True)["Summary"]

    def edit(book: Workbook) -> None:
        cell = figure_cell(book, "Bank total")
        book["Summary"][cell] = stored[cell].value

    files[BOOK] = edited(files[BOOK], edit)
    return BOOK, r"Bank total is a pasted value"


def short_range(files: Files) -> tuple[str, str]:
    def edit(book: Workbook) -> None:
        cell, last = figure_cell(book, "Matched total"), book["Matched"].max_row
        book["Summary"][cell] = f"=SUM('Matched'!D2:D{int(last or 0) - 3})"

    files[BOOK] = edited(files[BOOK], edit)
    return BOOK, r"range leaves out rows? [\d, ]+.* of Matched"


def lost_row(files: Files) -> tuple[str, str]:
    files[BOOK] = edited(files[BOOK], lambda book: book["Matched"].delete_rows(book["Matched"].max_row - 2))
    return BOOK, r"1 row is missing from Matched: \w+-\d+-\d+"


def doubled_row(files: Files) -> tuple[str, str]:
    def edit(book: Workbook) -> None:
        sheet = book["Ledger only"]
        sheet.append([cell.value for cell in sheet[2]])

    files[BOOK] = edited(files[BOOK], edit)
    return BOOK, r"listed more often than in the input, on Ledger only"


def no_source(files: Files) -> tuple[str, str]:
    def edit(book: Workbook) -> None:
        book["Summary"][figure_cell(book, "Ledger only total", "C")] = None

    files[BOOK] = edited(files[BOOK], edit)
    return BOOK, r"Ledger only total has no Source"


def finding_not_cited(files: Files) -> tuple[str, str]:
    lines = files[LIST].decode().splitlines(keepends=True)
    at = next(place for place, line in enumerate(lines) if line.startswith("- CHQ"))
    del lines[at]
    files[LIST] = "".join(lines).encode()
    return LIST, r"not cited: CHQ-"


def note_that_disagrees(files: Files) -> tuple[str, str]:
    files[LIST] = re.sub(rb"Ledger total: .*", b"Ledger total: 6,653.99", files[LIST])
    return LIST, r"Ledger total is stated as 6,653\.99; recomputed it is"


def note_without_a_figure(files: Files) -> tuple[str, str]:
    files[LIST] = re.sub(rb"Matched total: .*\n", b"", files[LIST])
    return LIST, r"Matched total is not stated"


def missing_file(files: Files) -> tuple[str, str]:
    del files[LIST]
    return LIST, r"the deliverable is missing"


def empty_file(files: Files) -> tuple[str, str]:
    files[BOOK] = b""
    return BOOK, r"cannot be used"


def torn_file(files: Files) -> tuple[str, str]:
    files[BOOK] = files[BOOK][:900]
    return BOOK, r"cannot be used"


def flipped_sign(files: Files) -> tuple[str, str]:
    def edit(book: Workbook) -> None:
        book["Ledger only"]["D2"] = -book["Ledger only"]["D2"].value

    files[BOOK] = edited(files[BOOK], edit)
    return BOOK, r"amount is .* it must be .* \(the sign is flipped\)"


def swapped_digits(files: Files) -> tuple[str, str]:
    def edit(book: Workbook) -> None:
        cell = book["Matched"]["D2"]
        digits = f"{abs(cell.value):.2f}"
        at = next(place for place in range(len(digits) - 1) if digits[place] != digits[place + 1] != ".")
        turned = digits[:at] + digits[at + 1] + digits[at] + digits[at + 2 :]
        cell.value = float(turned) * (1 if cell.value > 0 else -1)

    files[BOOK] = edited(files[BOOK], edit)
    return BOOK, r"amount is .* it must be "


def talked_away(files: Files) -> tuple[str, str]:
    key = re.search(rb"- (CHQ-\S+):", files[LIST])
    assert key is not None
    files[LIST] += b"\n" + key[1] + b": resolved after a call with the client.\n"
    return LIST, r"is called resolved, but no evidence supports it"


def cleared_without_its_row(files: Files) -> tuple[str, str]:
    def edit(book: Workbook) -> None:
        sheet = book["Carried"]
        row = next(row for row in range(2, sheet.max_row + 1) if sheet[f"D{row}"].value == "no")
        sheet[f"D{row}"] = "yes"

    files[BOOK] = edited(files[BOOK], edit)
    return BOOK, r"cleared is yes, it must be no"


def heading_of_another_month(files: Files) -> tuple[str, str]:
    files[LIST] = files[LIST].replace(b"# Open items 2025-12", b"# Open items 2025-10", 1)
    return LIST, r"2025-10"


DAMAGES = [
    wrong_figure, stored_total_that_does_not_tie, closing_row_that_does_not_tie, pasted_value, short_range, lost_row,
    doubled_row, no_source, finding_not_cited, note_that_disagrees, note_without_a_figure, missing_file, empty_file,
    torn_file, flipped_sign, swapped_digits, talked_away, cleared_without_its_row, heading_of_another_month,
]  # fmt: skip
SUPPLEMENTS = {no_source, finding_not_cited, note_without_a_figure, missing_file, empty_file, torn_file}


@pytest.fixture
def december(finished: Finished) -> Work:
    return finished["Riverbend Outdoor", "bank-reconciliation", MONTHS[1]]


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_a_damage_is_found_where_it_is_and_said_in_useful_words(
    damage: Callable[[Files], tuple[str, str]], december: Work
) -> None:
    files = dict(december.files)
    file, words = damage(files)
    assert files != december.files
    found = [fault for fault in faults_of(december, files) if fault.file == file and re.search(words, fault.text)]
    assert found, f"not found among {[str(fault) for fault in faults_of(december, files)]}"
    assert {fault.fix for fault in found} == {"supplement" if damage in SUPPLEMENTS else "revise"}
    if damage not in (missing_file, empty_file, torn_file, finding_not_cited, note_without_a_figure):
        assert any(fault.where for fault in found), "a colleague must be told where"


def test_last_months_files_handed_in_again_are_found(finished: Finished) -> None:
    made = finished["Riverbend Outdoor", "bank-reconciliation", MONTHS[2]]
    assert made.prior is not None
    found = faults_of(made, made.prior.files)
    assert any("the document must say that it is for 2026-01" in fault.text for fault in found)
    assert sum("recomputed it is" in fault.text for fault in found) > 5


def test_the_memo_must_agree_with_the_workbook(finished: Finished) -> None:
    made = finished["Riverbend Outdoor", "variance-analysis", MONTHS[1]]
    memo = docx.Document(io.BytesIO(made.files[MEMO]))
    line = next(each for each in memo.paragraphs if each.text.startswith("Total variance:"))
    line.text = "Total variance: 12.00"
    out = io.BytesIO()
    memo.save(out)
    found = faults_of(made, {**made.files, MEMO: out.getvalue()})
    assert [(fault.severity, fault.file) for fault in found] == [("high", MEMO)]
    assert "Total variance is stated as 12.00" in found[0].text


def test_a_figure_of_a_csv_is_checked_and_its_source_required(finished: Finished) -> None:
    made = finished["Riverbend Outdoor", "management-pack", MONTHS[1]]
    name = made.profession.main.name
    text = made.files[name].decode()
    wrong = re.sub(r"Total variance,[-\d.]+,", "Total variance,1.00,", text)
    assert [fault.text for fault in faults_of(made, {**made.files, name: wrong.encode()})] == [
        f"Total variance: value is 1.00, it must be {made.stated['Total variance']}"
    ]
    bare = re.sub(r"(Headline,\w+),.*", r"\1,", text)
    assert [fault.text for fault in faults_of(made, {**made.files, name: bare.encode()})] == [
        "the column source is empty in row 8"
    ]


FREE_WORDS = {"source", "description", "treatment", "name", "note", "reason", "flagged"}


def changed(value: object) -> str | float:
    """The same cell with another content: one more, or another word."""
    if isinstance(value, str):
        return f"{value}+1" if value.startswith("=") else f"{value}x"
    return value + 1 if isinstance(value, int | float) else f"{value} changed"


def one_cell_changed(data: bytes, draw: Stream) -> tuple[str, bytes]:
    """A workbook or CSV with one drawn cell changed, and where that is. Columns of free words are left alone."""
    if not data.startswith(b"PK"):
        rows = list(csv.reader(io.StringIO(data.decode())))
        row, column = (
            draw.between(1, len(rows) - 1),
            draw.choice([c for c, h in enumerate(rows[0]) if h not in FREE_WORDS]),
        )
        rows[row][column] = str(changed(rows[row][column]))
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerows(rows)
        return f"row {row + 1}, {rows[0][column]}", out.getvalue().encode()
    book = openpyxl.load_workbook(io.BytesIO(data))
    cells = [
        cell
        for sheet in book.worksheets
        for row in sheet.iter_rows(min_row=2)
        for cell in row
        if cell.value is not None and str(sheet.cell(1, int(cell.column or 1)).value).lower() not in FREE_WORDS
    ]
    cell = draw.choice(cells)
    cell.value = changed(cell.value)
    out_bytes = io.BytesIO()
    book.save(out_bytes)
    return f"{cell.parent.title}!{cell.coordinate}", out_bytes.getvalue()


@pytest.mark.parametrize("kind", PROFESSIONS)
def test_any_one_cell_that_changes_is_noticed(kind: str, finished: Finished) -> None:
    made = finished["Riverbend Outdoor", kind, MONTHS[2]]
    name, draw = made.profession.main.name, Stream(1, "one cell", kind)
    for _ in range(12):
        where, data = one_cell_changed(made.files[name], draw)
        assert faults_of(made, {**made.files, name: data}), f"a change of {where} went unnoticed"


# -- sound work that looks different ----------------------------------------------------------------------------------


def reordered(sheet: Worksheet) -> None:
    """Turn a sheet's rows upside down, formulas moving with their rows."""
    rows = [[cell.value for cell in row] for row in sheet.iter_rows(min_row=2)]
    for place, (old, row) in enumerate(zip(range(len(rows) + 1, 1, -1), reversed(rows), strict=True), 2):
        for column, value in enumerate(row, 1):
            if isinstance(value, str) and value.startswith("="):
                value = re.sub(rf"\b([A-Z]){old}\b", rf"\g<1>{place}", value)
            sheet.cell(place, column).value = value


def rename(book: Workbook, old: str, new: str) -> None:
    book[old].title = new
    for sheet in book.worksheets:
        for row in sheet.iter_rows():
            for cell in row:
                if isinstance(cell.value, str) and cell.value.startswith("="):
                    cell.value = cell.value.replace(f"'{old}'!", f"'{new}'!")


SOUND: list[tuple[str, Callable[[Workbook], None]]] = [
    ("bank-reconciliation", lambda book: reordered(book["Matched"])),
    ("bank-reconciliation", lambda book: rename(book, "Bank only", "On statement only")),
    ("bank-reconciliation", lambda book: rename(book, "Matched", "Agreed items")),
    ("bank-reconciliation", lambda book: book.move_sheet("Carried", -3)),
    ("variance-analysis", lambda book: reordered(book["Accounts"])),
    ("variance-analysis", lambda book: rename(book, "Accounts", "By account")),
    ("contract-review", lambda book: reordered(book["Obligations"])),
    ("contract-review", lambda book: rename(book, "Obligations", "Register")),
    ("inspection-control", lambda book: reordered(book["Measurements"])),
    ("bill-of-materials", lambda book: reordered(book["Parts"])),
    ("records-digest", lambda book: reordered(book["Records"])),
    ("records-digest", lambda book: rename(book, "Categories", "By category")),
]


@pytest.mark.parametrize(("kind", "edit"), SOUND)
def test_sound_work_that_looks_different_raises_no_alarm(
    kind: str, edit: Callable[[Workbook], None], finished: Finished
) -> None:
    """A second correct deliverable: rows reordered, sheets renamed, and no stored results at all."""
    made = finished["Oakridge Devices", kind, MONTHS[2]]
    files = dict(made.files)
    name = made.profession.main.name
    files[name] = edited(files[name], edit)
    assert [str(fault) for fault in faults_of(made, files)] == []


def test_a_workbook_written_by_another_library_with_closing_rows_raises_no_alarm(finished: Finished) -> None:
    made = finished["Oakridge Devices", "records-digest", MONTHS[1]]
    name = made.profession.main.name
    source = openpyxl.load_workbook(io.BytesIO(made.files[name]))
    out = io.BytesIO()
    with xlsxwriter.Workbook(out, {"in_memory": True}) as book:
        for sheet in source.worksheets:
            page = book.add_worksheet(sheet.title)
            for row in sheet.iter_rows():
                for cell in row:
                    page.write(int(cell.row or 1) - 1, int(cell.column or 1) - 1, cell.value)
            if sheet.title == "Records":
                last = sheet.max_row
                page.write_row(last, 0, ["Total", None, None, f"=SUM(D2:D{last})"])
    assert [str(fault) for fault in faults_of(made, {**made.files, name: out.getvalue()})] == []


def test_other_words_in_a_note_raise_no_alarm(december: Work) -> None:
    note = december.files[LIST].decode()
    note = note.replace("# Open items 2025-12", "# What is still open in December 2025")
    note = re.sub(r", on the statement of [^\n]*", ": nobody has booked it yet", note)
    note += "\nNone of these items is resolved; no item was settled without evidence.\n"
    assert [str(fault) for fault in faults_of(december, {**december.files, LIST: note.encode()})] == []


def test_worst_faults_come_first_and_none_twice(december: Work) -> None:
    files: Files = {}
    found = faults_of(december, files)
    assert [fault.file for fault in found] == [BOOK, LIST]
    files = dict(december.files)
    no_source(files)
    lost_row(files)
    found = faults_of(december, files)
    assert found[0].severity == "high" and found[-1].severity == "medium"
    assert len(set(found)) == len(found)


def test_a_fault_reads_as_a_sentence_with_its_place() -> None:
    assert str(Fault("high", "A.xlsx", "Summary!B4", "it is 1")) == "A.xlsx, Summary!B4: it is 1"
    assert str(Fault("high", "A.xlsx", "", "it is missing")) == "A.xlsx: it is missing"
