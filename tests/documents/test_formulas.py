"""Recalculation: what a spreadsheet would show, in exact decimals."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.documents import formulas
from services.documents.formulas import Problem, Value, evaluate

DATA: dict[str, Value | int | float] = {
    "A1": 1, "A2": 0.1, "A3": Decimal("5.25"), "A4": "text", "B1": "no", "B2": "yes", "B3": "No", "B4": 7, "C1": True,
}  # fmt: skip


def value(formula: str, **cells: Value) -> Value:
    return evaluate({"S": {"Z9": formula, **cells}, "My data": DATA, "D": DATA})["S"]["Z9"]


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("=1+2*3", "7"),
        ("=(1+2)*3", "9"),
        ("=-2^2", "4"),
        ("=10-2-3", "5"),
        ("=2/4", "0.5"),
        ("=50%", "0.5"),
        ("=0.1+0.2", "0.3"),
        ("=SUM(D!A1:A4)", "6.35"),
        ("=SUM('My data'!A1:A2, 1, D!$A$3)", "7.35"),
        ("=SUM(D!A:A)", "6.35"),
        ("=D!A3-D!A2", "5.15"),
        ("=D!Q77+1", "1"),
        ("=ROUND(100*2/3,1)", "66.7"),
        ("=ROUND(-0.5,0)", "-1"),
        ("=ROUND(1250,-2)", "1300"),
        ("=ABS(-3)", "3"),
        ("=MIN(D!A1:A3)", "0.1"),
        ("=MAX(D!A1:A3,9)", "9"),
        ("=AVERAGE(2,4)", "3"),
        ("=PRODUCT(2,D!A3)", "10.5"),
        ("=COUNT(D!A1:C4)", "4"),
        ("=COUNTA(D!A1:C4)", "9"),
        ('=COUNTIF(D!B1:B4,"no")', "2"),
        ('=COUNTIF(D!B1:B4,"n*")', "2"),
        ('=COUNTIF(D!A1:A4,">=1")', "2"),
        ('=SUMIF(D!B1:B3,"no",D!A1:A3)', "6.25"),
        ('=SUMIF(D!A1:A3,"<>1")', "5.35"),
        ("=IF(1=0,1/0,4)", "4"),
        ("=IFERROR(1/0,7)", "7"),
        ("=IF(AND(1<2,NOT(2<1)),1,2)", "1"),
        ("=IF(OR(1>2,2<=1),1,2)", "2"),
    ],
)
def test_numbers(formula: str, expected: str) -> None:
    assert value(formula) == Decimal(expected)


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ('="a"&"b""c"', 'ab"c'),
        ('="n "&1.50', "n 1.5"),
        ("=TRUE", True),
        ('="B">"a"', True),
        ("=1/0", Problem("#DIV/0!")),
        ("=Absent!A1", Problem("#REF!")),
        ("=D!A4+1", Problem("#VALUE!")),
        ("=VLOOKUP(1,D!A1:B2,2)", Problem("#NAME?")),
        ("=1+", Problem("#NAME?")),
        ("=(1", Problem("#NAME?")),
        ("=SUM(1", Problem("#NAME?")),
        ("=1 2", Problem("#NAME?")),
        ("=ROUND()", Problem("#VALUE!")),
        ("=10^999999", Problem("#NUM!")),
        ('="1e999999999"+0', Problem("#VALUE!")),
        ("=Z9", Problem("#CYCLE!")),
        ("=SUM(Y1:Z9)", Problem("#CYCLE!")),
        ("=[1]Sheet!A1", Problem("#NAME?")),
    ],
)
def test_words_truths_and_problems(formula: str, expected: Value) -> None:
    assert value(formula) == expected


def test_problems_pass_on_and_cycles_name_all_their_cells() -> None:
    sheet = {"A1": "=B1", "B1": "=A1+1", "C1": "=A1*2", "D1": "=1/0", "E1": "=SUM(D1:D1)", "F1": "=2+2"}
    found = evaluate({"S": sheet})["S"]
    assert [found[ref] for ref in ("A1", "B1", "C1")] == [Problem("#CYCLE!")] * 3
    assert [found["E1"], found["F1"]] == [Problem("#DIV/0!"), Decimal(4)]


def test_a_long_chain_read_from_its_far_end() -> None:
    """A running balance of thousands of rows, asked for by the first sheet, is no cycle."""
    rows = 4_000
    chain: dict[str, Value | int] = {"B1": "=A1"}
    chain |= {f"A{row}": row for row in range(1, rows + 1)}
    chain |= {f"B{row}": f"=B{row - 1}+A{row}" for row in range(2, rows + 1)}
    assert evaluate({"Summary": {"A1": f"=L!B{rows}"}, "L": chain})["Summary"]["A1"] == rows * (rows + 1) // 2


def test_the_work_of_a_hostile_workbook_is_bounded() -> None:
    sheet: dict[str, Value] = {"A1048576": Decimal(1), "XFD1": Decimal(1), "A1": "=SUM(A2:XFD1048576)"}
    assert evaluate({"S": sheet})["S"]["A1"] == Problem("#NUM!")
    assert value("=" + "(" * 5_000 + "1" + ")" * 5_000) == Problem("#NAME?")
    assert value('=COUNTIF(D!B1:B3,"' + "*a" * 50 + '")') == 0


CENTS = st.integers(-(10**9), 10**9).map(lambda cents: Decimal(cents) / 100)


@given(st.lists(CENTS, max_size=30), st.lists(CENTS, max_size=30))
def test_sums_are_those_of_the_cells(left: list[Decimal], right: list[Decimal]) -> None:
    sheets: dict[str, dict[str, Value]] = {
        "A": {f"B{row}": amount for row, amount in enumerate(left, 2)},
        "It's": {f"C{row}": amount for row, amount in enumerate(right, 2)},
        "S": {"A1": "=SUM(A!B2:B40)", "A2": "=SUM('It''s'!C2:C40)", "A3": "=A1-A2", "A4": "=A1*2-(A2+A3)/4"},
    }
    found = evaluate(sheets)["S"]
    a, b = sum(left, Decimal(0)), sum(right, Decimal(0))
    assert [found["A1"], found["A2"], found["A3"]] == [a, b, a - b]
    assert found["A4"] == a * 2 - (b + a - b) / 4


@given(st.lists(st.tuples(st.sampled_from("xyz"), CENTS), min_size=1, max_size=30))
def test_conditional_sums_and_counts(rows: list[tuple[str, Decimal]]) -> None:
    data: dict[str, Value] = {}
    for number, (word, amount) in enumerate(rows, 1):
        data |= {f"A{number}": word, f"B{number}": amount}
    data |= {"D1": f'=SUMIF(A1:A{len(rows)},"x",B1:B{len(rows)})', "D2": f'=COUNTIF(A1:A{len(rows)},"x")'}
    found = evaluate({"S": data})["S"]
    chosen = [amount for word, amount in rows if word == "x"]
    assert (found["D1"], found["D2"]) == (sum(chosen, Decimal(0)), len(chosen))


@given(st.text(max_size=40), st.text("=(+-*/A1:SUM,\"'!$%^&<>. 9e)", max_size=40))
def test_no_formula_raises(tail: str, soup: str) -> None:
    evaluate({"S": {"A1": "=" + tail, "A2": "=" + soup, "A3": "=A1+A2"}})


def test_the_module_stands_alone() -> None:
    """A grader carries a copy: standard library only."""
    source = Path(formulas.__file__).read_text(encoding="utf-8")
    lines = [line.split()[1].split(".")[0] for line in source.splitlines() if line.startswith(("import ", "from "))]
    assert set(lines) <= {"__future__", "re", "collections", "dataclasses", "decimal"}
