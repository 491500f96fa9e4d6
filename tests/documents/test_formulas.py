"""Recalculation: what a spreadsheet would show, in exact decimals."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.documents import formulas
from services.documents.formulas import Book, Formula, Problem, Value, evaluate

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


def test_the_modules_stand_alone() -> None:
    """A grader carries a copy: the standard library, and each other."""
    carried = {Path(name).stem for name in formulas.CARRIED}
    for name in formulas.CARRIED:
        source = Path(formulas.__file__).with_name(name).read_text(encoding="utf-8")
        imported = [line.split()[1] for line in source.splitlines() if line.startswith(("import ", "from "))]
        ours = {each[1:] for each in imported if each.startswith(".")}
        others = {each.split(".")[0] for each in imported if not each.startswith(".")}
        assert ours <= carried
        assert others <= {"__future__", "re", "collections", "dataclasses", "decimal", "typing"}


def test_a_copy_elsewhere_works_without_this_project(tmp_path: Path) -> None:
    package = tmp_path / "grader"
    package.mkdir()
    (package / "__init__.py").touch()
    for name in formulas.CARRIED:
        shutil.copy(Path(formulas.__file__).with_name(name), package / name)
    program = "from grader.formulas import evaluate; print(evaluate({'S': {'A1': '=SUM(1,2)*2'}})['S']['A1'])"
    done = subprocess.run(
        [sys.executable, "-S", "-c", program], check=True, capture_output=True, text=True, cwd=tmp_path, env={}
    )
    assert done.stdout == "6\n"


def test_what_is_not_known_is_never_caught() -> None:
    """IFERROR stands for errors of the workbook; a function unknown here may well have a result."""
    assert value("=IFERROR(A1,7)", A1="=VLOOKUP(1,D!A1:B2,2)") == Problem("#NAME?")
    assert value("=IFERROR(A1,7)", A1="=B1", B1="=A1") == Problem("#CYCLE!")
    assert value("=IFERROR(A1,7)", A1="=1/0") == Decimal(7)
    book = Book({"S": {(1, 1): Formula("SUM(B1:B9)"), (1, 2): Decimal(1)}, "T": {(1, 1): Formula("S!C1")}}, cut=["S"])
    assert book.value("S", 1, 1) == Problem("#NAME?"), "B2 may hold something"
    assert book.value("T", 1, 1) == Problem("#NAME?")
    assert book.value("S", 1, 2) == Decimal(1)
    assert book.value("Absent", 1, 1) is None


def test_text_cannot_grow_without_end() -> None:
    """A1&A1, A2&A2, ... would double past all memory in forty cells."""
    doubling: dict[str, Value] = {f"A{row}": f"=A{row - 1}&A{row - 1}" for row in range(2, 60)}
    doubling["A1"] = "ab"
    found = evaluate({"S": doubling})["S"]
    assert found["A59"] == Problem("#VALUE!")
    assert max(len(each) for each in found.values() if isinstance(each, str)) <= 32_767


def test_no_pattern_goes_back_over_long_text_again_and_again() -> None:
    """Backtracking would take the cube of the text's length."""
    hostile = "*".join("a" * 20) + "*b"
    assert value(f'=COUNTIF(A1:A2,"{hostile}")', A1="a" * 30_000, A2="a" * 30_000 + "b") == 1
    assert value('=COUNTIF(A1:A2,"' + "a" * 256 + '")', A1="a", A2="b") == Problem("#VALUE!")


def test_text_that_begins_like_a_formula_stays_text() -> None:
    book = Book({"S": {(1, 1): "=1+1", (1, 2): Formula("A1&1")}})
    assert (book.value("s", 1, 1), book.value("S", 1, 2)) == ("=1+1", "=1+11")


@pytest.mark.parametrize(
    ("text", "number"),
    [("12.5", "12.5"), (" 7 ", "7"), ("1,234.50", "1234.50"), ("-1e3", "-1000"), (".5", "0.5"), ("5.", "5")],
)
def test_text_that_states_a_number_counts_as_one(text: str, number: str) -> None:
    assert value(f'="{text}"+0') == Decimal(number)
    assert value(f'=COUNTIF(A1:A2,"{text}")', A1=Decimal(number), A2="x") == 1


@pytest.mark.parametrize("text", ["1_000", "12,34", "NaN", "Infinity", "", "1e", "\u0663", "1e9999", "--1", "."])
def test_text_that_states_none_does_not(text: str) -> None:
    assert value(f'="{text}"+0') == Problem("#VALUE!")


@given(st.text("ab*?", max_size=12), st.text("abAB", max_size=12))
def test_wildcards_match_as_the_plainest_matcher_does(pattern: str, text: str) -> None:
    def matches(p: str, t: str) -> bool:
        if not p:
            return not t
        if p[0] == "*":
            return any(matches(p[1:], t[at:]) for at in range(len(t) + 1))
        return bool(t) and p[0] in ("?", t[0].lower()) and matches(p[1:], t[1:])

    assert value(f'=COUNTIF(A1:A1,"{pattern}")', A1=text) == int(matches(pattern, text))


_OPERATORS = {"+": 3, "-": 3, "*": 4}


def _texts(depth: int) -> st.SearchStrategy[str]:
    if not depth:
        return st.integers(0, 99).map(str)
    inner = _texts(depth - 1)
    return st.one_of(
        inner,
        st.builds("({})".format, inner),
        st.builds("-{}".format, inner.filter(lambda text: text[0] != "-")),
        st.builds("{}{}{}".format, inner, st.sampled_from(sorted(_OPERATORS)), inner),
    )


@given(_texts(4))
def test_sums_and_products_are_read_as_python_reads_them(text: str) -> None:
    """With + - * and brackets, precedence and grouping are those of ordinary arithmetic."""
    assert value("=" + text) == Decimal(_python(ast.parse(text, mode="eval").body))


def _python(node: ast.expr) -> int:
    if isinstance(node, ast.BinOp):
        left, right = _python(node.left), _python(node.right)
        return {ast.Add: left + right, ast.Sub: left - right, ast.Mult: left * right}[type(node.op)]
    if isinstance(node, ast.UnaryOp):
        return -_python(node.operand)
    assert isinstance(node, ast.Constant) and isinstance(node.value, int)
    return node.value
