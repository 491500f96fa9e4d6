"""The grader's checks: kind to other right ways of saying it, hard on what is wrong, and on what says everything."""

from __future__ import annotations

import io
from decimal import Decimal
from typing import Any

import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.grader import prose, tables
from bench.grader.reading import Document, load
from bench.grader.values import agrees, number, numbers


def book(**sheets: list[list[Any]]) -> Document:
    """A workbook as openpyxl writes it: formulas without stored results."""
    made = openpyxl.Workbook()
    made.remove(made.worksheets[0])
    for name, rows in sheets.items():
        sheet = made.create_sheet(name.replace("_", " "))
        for row in rows:
            sheet.append(row)
    out = io.BytesIO()
    made.save(out)
    return load("xlsx", out.getvalue())


def memo(*lines: str) -> Document:
    return load("md", "\n".join(lines).encode())


SUMMARY: list[list[Any]] = [["Item", "Value", "Source"], ["Bank total", "=SUM(Rows!B2:B3)", "bank.csv"], ["Open items", 2, "A, B"]]
ROWS: list[list[Any]] = [["ref", "amount"], ["A", 10.5], ["B", -3]]


# -- numbers ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["1234.5", "1,234.50", "$1,234.50", "USD 1,234.50", "1234.50 EUR", "1 234.50".replace(" ", "\N{NO-BREAK SPACE}")]
)
def test_a_number_may_be_written_in_many_ways(text: str) -> None:
    assert number(text) == Decimal("1234.5")
    assert agrees(text, "1234.50")


@pytest.mark.parametrize("text", ["-7.00", "(7.00)", "\N{MINUS SIGN}7", "-$7", "- 7"])
def test_a_negative_number_too(text: str) -> None:
    assert number(text) == -7
    assert not agrees(text, "7.00")


@pytest.mark.parametrize("text", ["ACH-2601-035", "2026-01", "2026-01-05", "12a", "", "1.2.3", "1,23"])
def test_ids_dates_and_words_are_no_numbers(text: str) -> None:
    assert number(text) is None


def test_figures_agree_to_the_places_they_are_stated_with() -> None:
    assert agrees("66.666666", "66.7")
    assert agrees("12.345", "12.35"), "halves go away from zero"
    assert not agrees("12.34", "12.35")
    assert not agrees("7.4", "7"), "a count is whole"
    assert agrees("97 %", "97.0")
    assert agrees("Sensor  Head", "sensor head")


def test_the_numbers_of_a_line_leave_ids_and_dates_out() -> None:
    line = "On 2026-01-05, ACH-2601-035 of -1,250.00 (7) left 3 items, see 10.5."
    assert list(numbers(line)) == [Decimal("-1250.00"), Decimal(-7), Decimal(3), Decimal("10.5")]


@given(st.decimals(min_value=-(10**9), max_value=10**9, places=2))
def test_what_is_written_with_separators_reads_back(value: Decimal) -> None:
    assert number(f"{value:,.2f}") == value
    assert agrees(f"{value:,.2f}", f"{value:.2f}")


# -- workbooks ----------------------------------------------------------------------------------------------------------


def test_a_formula_nobody_calculated_states_its_figure() -> None:
    found = book(Summary=SUMMARY, Rows=ROWS)
    assert tables.figure(found, {"label": "Bank total", "value": "7.50"}) == (True, "Bank total is 7.5")
    assert not tables.figure(found, {"label": "Bank total", "value": "7.51"})[0]
    assert not tables.figure(found, {"label": "Ledger total", "value": "7.50"})[0]


def test_a_label_among_the_sources_states_nothing() -> None:
    """Found on a real office: `Total actual` stood in the column Source of another figure."""
    rows: list[list[Any]] = [["Item", "Value", "Source"], ["Total", 5, "in.csv"], ["Year to date", 5, "Total"]]
    assert tables.figure(book(Summary=rows), {"label": "Total", "value": "5.00"})[0]


def test_a_renamed_summary_is_found_and_a_second_value_contradicts() -> None:
    found = book(Overview=SUMMARY, Rows=ROWS)
    assert tables.figure(found, {"label": "open items", "value": "2"})[0]
    twice = book(Summary=[*SUMMARY, ["Open items", 3, "x"]], Rows=ROWS)
    assert not tables.figure(twice, {"label": "Open items", "value": "2"})[0], "to state both is to state neither"


def test_figures_of_a_csv_belong_in_a_table_of_figures() -> None:
    pack = load("csv", b"figure,value,source\nCash,12.50,x\nHeadline,watch,y\n")
    assert tables.figure(pack, {"label": "Cash", "value": "12.50"})[0]
    assert tables.figure(pack, {"label": "Headline", "value": "Watch"})[0]
    heap = load("csv", b"topic,note\nSales,good\nfigure,value\nCash,12.50\n")
    assert not tables.figure(heap, {"label": "Cash", "value": "12.50"})[0]


PARAMS = {"sheet": "Rows", "key": ["ref"], "rows": [{"ref": "A", "amount": "10.50"}, {"ref": "B", "amount": "-3.00"}]}


@pytest.mark.parametrize(
    "sheets",
    [
        {"Rows": ROWS},
        {"Rows": [ROWS[0], ROWS[2], ROWS[1]]},
        {"Anything": ROWS, "Summary": SUMMARY},
        {"Rows": [["note", "amount", "ref"], ["x", 10.5, "a"], ["", "-3.00", "B"]]},
        {"Rows": [["The rows of January"], [], *ROWS]},
        {"Rows": [*ROWS, ["Total", "=SUM(B2:B3)"]]},
        {"Rows": [ROWS[0], ["A", "=2*5.25"], ["B", "=-SUM(1,2)"]]},
    ],
    ids=["as is", "reordered", "renamed", "columns moved", "a title above", "a closing row", "formulas"],
)
def test_rows_may_be_laid_out_otherwise(sheets: dict[str, Any]) -> None:
    assert tables.rows(book(**sheets), PARAMS)[0]


@pytest.mark.parametrize(
    ("rows", "word"),
    [
        (ROWS[:2], "row B is missing"),
        ([*ROWS, ["C", 1]], "do not belong"),
        ([*ROWS, ["B", -3]], "do not belong"),
        ([ROWS[0], ["A", 10.51], ROWS[2]], "amount is 10.51"),
        ([ROWS[0], ["A", 10.5], ["X", -3]], "row B is missing"),
        ([["ref"], ["A"], ["B"]], "no column amount"),
        ([["name"], ["A"]], "no sheet with the columns"),
    ],
    ids=["missing", "foreign", "doubled", "wrong cell", "wrong key", "column gone", "key gone"],
)
def test_rows_that_are_wrong_say_where(rows: list[list[Any]], word: str) -> None:
    held, why = tables.rows(book(Rows=rows), PARAMS)
    assert not held
    assert word in why


def test_accounts_may_be_numbers_or_text() -> None:
    params = {"sheet": "Rows", "key": ["account"], "rows": [{"account": "1000"}]}
    assert tables.rows(book(Rows=[["account"], [1000]]), params)[0]
    assert tables.rows(book(Rows=[["account"], ["1000"]]), params)[0]


def test_live_means_over_cells_and_right() -> None:
    figures = {"figures": {"Bank total": "7.50"}}
    assert tables.live(book(Summary=SUMMARY, Rows=ROWS), figures)[0]
    for pasted in (7.5, "=7.5", "=7.5+0"):
        rows = [SUMMARY[0], ["Bank total", pasted, "x"]]
        assert not tables.live(book(Summary=rows, Rows=ROWS), figures)[0], pasted
    wrong = [SUMMARY[0], ["Bank total", "=Rows!B2", "x"]]
    assert not tables.live(book(Summary=wrong, Rows=ROWS), figures)[0], "formulas that are wrong earn nothing"


def test_sources_stand_beside_figures() -> None:
    figures = {"figures": {"Bank total": "7.50", "Open items": "2"}}
    assert tables.sources(book(Summary=SUMMARY, Rows=ROWS), figures)[0]
    bare = [SUMMARY[0], [*SUMMARY[1][:2], ""], SUMMARY[2]]
    assert not tables.sources(book(Summary=bare, Rows=ROWS), figures)[0]
    assert not tables.sources(book(Summary=[["Item", "Value", "Source"], ["x", 1, "y"]]), figures)[0]
    wrong = [SUMMARY[0], ["Bank total", 1, "x"], ["Open items", 9, "y"]]
    assert not tables.sources(book(Summary=wrong, Rows=ROWS), figures)[0], "sources of wrong figures earn nothing"


# -- prose --------------------------------------------------------------------------------------------------------------

LABELS = ["Total", "Largest total", "Decision"]


def states(document: Document, **figures: str) -> bool:
    named = {label.replace("_", " "): value for label, value in figures.items()}
    return prose.states(document, {"figures": named, "labels": LABELS})[0]


@pytest.mark.parametrize(
    "line",
    [
        "Total: 1,234.50",
        "- **Total**: 1234.5",
        "| Total | 1,234.50 |",
        "The total for the month comes to USD 1,234.50.",
        "TOTAL = $1,234.50",
        "For January the total, as the ledger has it, is 1234.50 all told",
    ],
)
def test_a_figure_may_be_stated_in_other_words(line: str) -> None:
    assert states(memo("# Memo", "", line), Total="1234.50")


@pytest.mark.parametrize(
    "line",
    [
        "Total: 1,234.51",
        "1,234.50 is a number",
        "Largest total: 1,234.50",
        "Subtotal: 1,234.50",
        "The total rests on record X-1234.50-Y",
        "Totals are below. " + "x " * 60 + "1,234.50",
    ],
)
def test_a_figure_is_not_stated_by_accident(line: str) -> None:
    assert not states(memo(line), Total="1234.50")


def test_a_second_value_contradicts_the_first() -> None:
    assert states(memo("Total: 5.00", "Largest total: 6.00"), Total="5.00")
    assert not states(memo("Total: 5.00", "Total: 6.00"), Total="5.00")
    assert not states(memo("Decision: hold", "Decision: ship"), Decision="hold")
    assert states(memo("Decision: hold", "## Decision", "Decision: hold until the two defects are closed"), Decision="hold")


def cites(document: Document, keys: list[str], others: list[str]) -> bool:
    return prose.cites(document, {"keys": keys, "others": others})[0]


def test_records_are_cited_as_words_of_their_own() -> None:
    assert cites(memo("see A-1, and (A-2)."), ["A-1", "A-2"], [])
    assert not cites(memo("see A-10 and XA-1"), ["A-1"], [])
    assert not cites(memo("see A-1-B"), ["A-1"], [])


def test_a_list_of_everything_points_to_nothing() -> None:
    others = [f"B-{n}" for n in range(10)]
    assert cites(memo("A-1 is open.", *others[:5]), ["A-1"], others)
    assert not cites(memo("A-1", *others), ["A-1"], others)


@pytest.mark.parametrize(
    ("lines", "held"),
    [
        (["- A-1: 5.00, open"], True),
        (["- A-1 was resolved"], False),
        (["- A-1 is not resolved"], True),
        (["- A-1 cannot be cleared before the bank answers"], True),
        (["## Cleared this period", "- A-1: 5.00"], False),
        (["## Cleared this period", "- B-2: 5.00", "## Open", "- A-1: 5.00"], True),
        (["Nothing is settled: A-1 waits for evidence."], True),
    ],
)
def test_open_records_may_not_be_talked_away(lines: list[str], held: bool) -> None:
    assert prose.not_talked_away(memo(*lines), {"keys": ["A-1"]})[0] is held


def test_brief_counts_words() -> None:
    assert prose.brief(memo("one two", "three"), {"words": 3})[0]
    assert not prose.brief(memo("one two", "three four"), {"words": 3})[0]
