"""Changing tables on purpose: what calibration rests on. Another right version says the same; a wrong one differs once."""

from __future__ import annotations

import csv
import io
from decimal import Decimal
from typing import Any

import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import tables
from bench.grader.reading import load
from bench.grader.values import agrees, cell_text, number, numbers, places_of, rounded, words

CENTS = st.integers(-(10**7), 10**7).map(lambda cents: cents / 100)
NAMES = st.text("ABCDXYZ", min_size=1, max_size=4)
Record = tuple[str, float]
RECORDS = st.lists(st.tuples(NAMES, CENTS), min_size=1, max_size=7, unique_by=lambda record: record[0])


def workbook(records: list[Record], sheet: str = "Bank rows", total: bool = False) -> bytes:
    """A summary of two live figures over a sheet of records, each with a formula of its own row."""
    book = openpyxl.Workbook()
    summary = book.worksheets[0]
    summary.title = "Summary"
    last = len(records) + 1
    for row in (
        ["Item", "Value", "Source"], ["Total", f"=SUM('{sheet}'!B2:B{last})", "bank.csv"],
        ["Largest", f"=MAX('{sheet}'!C2:C{last})", "bank.csv"], ["Period", "2026-01", ""],
    ):  # fmt: skip
        summary.append(row)
    rows = book.create_sheet(sheet)
    rows.append(["ref", "amount", "double"])
    for at, (ref, amount) in enumerate(records, 2):
        rows.append([ref, amount, f"=B{at}*2"])
    if total:
        rows.append(["Total", f"=SUM(B2:B{last})", ""])
    return tables.save_book(book)


def said(data: bytes) -> dict[tuple[str, str], str]:
    return tables.results(tables.open_book(data))


def differing(before: bytes, after: bytes) -> set[tuple[str, str]]:
    old, new = said(before), said(after)
    return {place for place in old.keys() | new.keys() if old.get(place) != new.get(place)}


# -- workbooks ------------------------------------------------------------------------------------------------------------


@given(RECORDS, st.sampled_from(["Bank rows", "It's", "Rows", "Größe"]), st.booleans())
def test_another_workbook_has_the_same_figures_over_the_same_records(records: list[Record], sheet: str, total: bool) -> None:
    data = workbook(records, sheet.replace("'", "’"), total)
    other = tables.open_book(tables.other_book(data))
    results = tables.results(other)
    figures = {results["Summary", f"A{row}"]: results["Summary", f"B{row}"] for row in (2, 3, 4)}
    assert figures == {
        "Total": cell_text(sum((Decimal(str(amount)) for _, amount in records), Decimal(0))),
        "Largest": cell_text(max(Decimal(str(amount)) * 2 for _, amount in records)), "Period": "2026-01",
    }  # fmt: skip
    (name,) = [each for each in other.sheetnames if each != "Summary"]
    assert name.endswith(" list") and other.sheetnames[0] == name, "renamed, and in another order"
    rows = [[cell.value for cell in row] for row in other[name].iter_rows(min_row=2, max_row=len(records) + 1)]
    assert [(ref, amount) for ref, amount, _ in rows] == list(reversed(records))
    assert all(formula == f"=B{at}*2" for at, (_, _, formula) in enumerate(rows, 2)), "live, each over its own row"
    assert str(other["Summary"]["B2"].value).startswith("=SUM(")
    if total:
        assert results[name, f"A{len(records) + 2}"] == "Total", "a closing row closes"


@given(RECORDS, st.sampled_from(["Total", "total:", "Largest", "Period"]))
def test_a_wrong_figure_is_the_only_thing_that_is_wrong(records: list[Record], label: str) -> None:
    data = workbook(records)
    (place,) = differing(data, tables.book_with_wrong_figure(data, label.rstrip(":")))
    assert place == ("Summary", {"total": "B2", "largest": "B3", "period": "B4"}[label.rstrip(":").casefold()])


@given(RECORDS)
def test_a_wrong_figure_that_others_rest_on_leaves_them_as_they_were(records: list[Record]) -> None:
    book = tables.open_book(workbook(records))
    book["Summary"].append(["Difference", "=B2-B3", ""])
    data = tables.save_book(book)
    assert differing(data, tables.book_with_wrong_figure(data, "Total")) == {("Summary", "B2")}


@given(RECORDS, st.sampled_from(["Bank rows", "Another name"]))
def test_a_wrong_row_is_one_key_that_nobody_knows(records: list[Record], asked: str) -> None:
    data = workbook(records)
    params = {"sheet": asked, "key": ["ref"], "rows": [{"ref": ref} for ref, _ in records]}
    wrong = tables.book_with_wrong_row(data, params)
    (place,) = differing(data, wrong)
    assert place == ("Bank rows", "A2")
    assert said(wrong)[place] == f"{records[0][0]}-X"


def test_what_cannot_be_made_wrong_says_why() -> None:
    data = workbook([("A", 1.0)])
    with pytest.raises(tables.NotPossible, match="no cell states Profit"):
        tables.book_with_wrong_figure(data, "Profit")
    with pytest.raises(tables.NotPossible, match="no sheet holds the rows of Bank rows"):
        tables.book_with_wrong_row(data, {"sheet": "Bank rows", "key": ["ref"], "rows": [{"ref": "B"}]})
    with pytest.raises(tables.NotPossible, match="no sheet holds"):
        tables.book_with_wrong_row(data, {"sheet": "Bank rows", "key": ["invoice"], "rows": [{"invoice": "A"}]})
    with pytest.raises(tables.NotPossible, match="no row states Profit"):
        tables.csv_with_wrong_figure(b"item,value\nTotal,3\n", "Profit")
    with pytest.raises(tables.NotPossible, match="no rows"):
        tables.csv_with_wrong_row(b"ref,amount\n", {"key": ["ref"]})


@given(st.dictionaries(st.text("ab[]:*?/\\ '", min_size=1, max_size=40), st.lists(st.lists(st.text("a1.-", max_size=5), max_size=3),
                                                                                 max_size=3), min_size=1, max_size=4))  # fmt: skip
def test_any_tables_can_be_dumped_into_one_workbook(sheets: dict[str, list[list[str]]]) -> None:
    book = tables.open_book(tables.dumped_book(sheets))
    assert len(book.worksheets) == len(sheets)
    for made, rows in zip(book.worksheets, sheets.values(), strict=True):
        stated = [[cell_text(cell) for cell in row] for row in made.iter_rows(values_only=True)]
        for row, wanted in zip(stated, rows, strict=False):
            assert [a for a, b in zip(row, wanted, strict=False) if not agrees(a, b)] == []


# -- CSV --------------------------------------------------------------------------------------------------------------------


def text(rows: list[list[str]]) -> bytes:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue().encode()


CELL = st.text("ab1 ,;\"'é", max_size=5).map(str.strip)
ROWS = st.lists(st.tuples(NAMES, CELL, CELL).map(list), min_size=1, max_size=6, unique_by=lambda row: row[0])


@given(ROWS)
def test_another_csv_holds_the_same_rows(rows: list[list[str]]) -> None:
    data = text([["ref", "amount, net", "note"], *rows])
    mine, other = load("csv", data).grids[0].rows, load("csv", tables.other_csv(data)).grids[0].rows
    assert other[0] == mine[0]
    assert [*other[1:]] == list(reversed([row for row in mine[1:] if any(row)]))


@given(ROWS, st.integers(-99, 99))
def test_a_wrong_csv_differs_in_one_cell(rows: list[list[str]], figure: int) -> None:
    data = text([["item", "value"], ["Total", str(figure)], *[[row[0].lower(), row[1]] for row in rows]])
    for wrong in (tables.csv_with_wrong_figure(data, "total"), tables.csv_with_wrong_row(data, {"key": ["item"]})):
        before, after = load("csv", data).grids[0].rows, load("csv", wrong).grids[0].rows
        pairs = [(a, b) for old, new in zip(before, after, strict=True) for a, b in zip(old, new, strict=True) if a != b]
        assert pairs in ([(str(figure), str(figure + 1))], [("Total", "Total-X")])


# -- what a cell states -------------------------------------------------------------------------------------------------------


@given(st.text(max_size=12))
def test_a_wrong_value_never_agrees_with_the_right_one(value: str) -> None:
    if words(value) != "other":
        assert not agrees(tables.wrong_value(value), value)


@given(st.decimals(-(10**9), 10**9, places=6), st.integers(0, 4))
def test_a_figure_agrees_with_itself_rounded_and_with_nothing_a_step_away(value: Decimal, places: int) -> None:
    expected = str(rounded(value, places))
    assert places_of(expected) == places
    found = str(value) if places or value == value.to_integral_value() else expected
    assert agrees(found, expected)
    step = Decimal(1).scaleb(-places)
    assert not agrees(str(rounded(value, places) + step), expected)
    assert not agrees(str(rounded(value, places) - step), expected)


@given(st.one_of(st.none(), st.booleans(), st.floats(allow_nan=False), st.integers(-(10**12), 10**12), st.text(max_size=8)))
def test_a_cells_text_is_its_own_text(value: Any) -> None:
    assert cell_text(cell_text(value)) == cell_text(value)
    stated = number(cell_text(value))
    if isinstance(value, int) and not isinstance(value, bool):
        assert stated == value


@given(st.lists(st.decimals(-(10**6), 10**6, places=2), max_size=5))
def test_the_numbers_of_a_sentence_are_those_that_stand_in_it(values: list[Decimal]) -> None:
    line = "On 2026-01-05, CHQ-2601-001: " + " and ".join(f"{value:,.2f}" for value in values) + " are open."
    assert list(numbers(line)) == values
