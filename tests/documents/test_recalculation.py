"""The results of a read workbook's formulas: sure ones, or none."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.documents.cells import Cell, Sheet
from services.documents.formula_parser import Block
from services.documents.recalculation import Calculator, tall_blocks


def sheet(name: str, *rows: list[object], more_rows: int = 0) -> Sheet:
    cells = {}
    for row, values in enumerate(rows, 1):
        for column, value in enumerate(values, 1):
            if isinstance(value, str) and value.startswith("="):
                cells[row, column] = Cell(row, column, None, value[1:])
            elif value is not None:
                typed = value if isinstance(value, str | bool) else Decimal(str(value))
                cells[row, column] = Cell(row, column, typed)
    return Sheet(name, len(rows) + more_rows, max(map(len, rows)), cells, more_rows=more_rows)


def result(formula: str) -> str | bool | None:
    data = sheet("It's data", ["ref", "amount"], ["a", 1.1], ["b", 2.2], ["A", -3], ["c", None])
    home = sheet("Home", [f"={formula}", 7, "=B1*2", "=A9/0", True, "1,200"])
    return Calculator([home, data]).result(home, home.cells[1, 1])


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        ("SUM('It''s data'!B2:B5)", "0.3"),
        ("SUM('It''s data'!$B$2:$B$3)-1.3", "2"),
        ("SUMIF('It''s data'!A2:A5,\"a\",'It''s data'!B2:B5)", "-1.9"),
        ("COUNTIF('It''s data'!B2:B5,\">=1\")", "2"),
        ("COUNTIF('It''s data'!A2:A5,\"<>a\")", "2"),
        ("COUNTA('It''s data'!A2:A99)", "4"),
        ("ROUND(100*B1/3,1)", "233.3"),
        ("ROUND(-2.5,0)", "-3"),
        ("1/3", "0.333333333"),
        ("-2/3", "-0.666666667"),
        ("1E-15-2E-15", "0"),
        ("100*1", "100"),
        ("1E+30", "1" + "0" * 30),
        ("-(B1+C1)*2", "-42"),
        ("(5248.48)+(-38.43)", "5210.05"),
        ("AVERAGE(B1,C1)", "10.5"),
        ("MAX(B1,C1)-MIN(B1,C1)+ABS(-1)+COUNT(B1,C1)", "10"),
        ("SUM(B1:E1)+0*E1", None),
        ("SUM(B1:C1)+E1", "22"),
        ("F1/2", "600"),
        ("IF(B1>6,\"above\",\"below\")", "above"),
        ("B1>6", True),
        ('"text"', "text"),
        ('""', ""),
        ("A7", "0"),
        ("1" + "+1" * 500, "501"),
    ],
)  # fmt: skip
def test_formulas_are_recalculated_exactly(formula: str, text: str | bool | None) -> None:
    assert result(formula) == text


@pytest.mark.parametrize(
    "formula",
    [
        "VLOOKUP(A1,B1:C3,2)", "A1", "D1", "SUM(", "1/0", "B1 B1", "'No sheet'!A1", "SUM('No sheet'!A1:A2)", "(" * 500,
        "(" * 41 + "1" + ")" * 41, '"a"*2', "ROUND(1,B1*99)", "COUNTIF(B1:C1)", "", "A1:B2", "AVERAGE(\"a\")", "10^400*10^400",
    ],
)  # fmt: skip
def test_what_is_beyond_recalculation_gives_no_answer(formula: str) -> None:
    """Unknown functions, circles, errors, nesting without end: no guess, no exception."""
    assert result(formula) is None


def test_deep_brackets_have_one_answer_wherever_one_asks() -> None:
    """A limit by the interpreter's stack would let the caller's depth decide."""

    def asked_from(depth: int) -> str | bool | None:
        return asked_from(depth - 1) if depth else result("ABS(" * 40 + "1" + ")" * 40)

    assert {asked_from(0), asked_from(200)} == {"1"}


def test_a_sheet_that_is_shown_in_part_answers_only_for_what_is_shown() -> None:
    """A sum over rows that were left out would call the stored sum wrong."""
    data = sheet("Data", [1], [2], [3], more_rows=997)
    home = sheet("Home", ["=SUM(Data!A1:A3)", "=SUM(Data!A1:A1000)", "=SUM(Data!A:A)", "=Data!A500", "=COUNT(Data!B1:B2)"])
    calculator = Calculator([home, data])
    assert [calculator.result(home, home.cells[1, column]) for column in range(1, 6)] == ["6", None, None, None, None]


@given(st.text("SUM()ABC123:,+-*/'!\"$ ^%&<>=", max_size=40))
def test_no_formula_breaks_the_calculator(formula: str) -> None:
    assert result(formula) is None or isinstance(result(formula), str | bool)
    assert all(block.bottom > block.top for block in tall_blocks(formula))


@given(st.decimals(-(10**12), 10**12, places=4), st.decimals(-(10**12), 10**12, places=4))
def test_sums_of_amounts_lose_nothing(left: Decimal, right: Decimal) -> None:
    home = sheet("Home", ["=B1+C1", left, right])
    found = Calculator([home]).result(home, home.cells[1, 1])
    assert isinstance(found, str) and Decimal(found) == left + right
    assert found == "0" or not found.startswith("-0") or "." in found


def test_tall_blocks_name_their_sheet() -> None:
    assert list(tall_blocks("SUM('Bank only'!$D$2:D9)+A1+SUM(B3:B2)+ Parts!F1:F4&\"A1:A9\"&SUM(A1:C1)")) == [
        Block("Bank only", 4, 2, 4, 9),
        Block("", 2, 2, 2, 3),
        Block("Parts", 6, 1, 6, 4),
    ]


def test_a_huge_range_is_no_burden() -> None:
    data = sheet("S", [1, "=SUM(A1:A1048576)", "=SUM(A1:XFD1048576)", "=SUM(Z:AA)"])
    calculator = Calculator([data])
    assert calculator.result(data, data.cells[1, 2]) == "1"
    assert calculator.result(data, data.cells[1, 3]) is None, "it holds itself"
    assert calculator.result(data, data.cells[1, 4]) == "0"
