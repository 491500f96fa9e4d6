"""The small parts: amounts, periods, views, the registry."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from services.professions import amounts, periods
from services.professions.registry import DOMAINS, PROFESSIONS, for_domain, plan, profession
from services.professions.rendered import view_of
from services.professions.review import review
from services.professions.review_prose import cites
from services.professions.views import view_from_csv, view_from_workbook
from simulator.errors import UnknownReference, UsageError

# -- amounts ----------------------------------------------------------------------------------------------------------


@given(st.integers(-(10**13), 10**13))
def test_money_is_read_back_exactly(cents: int) -> None:
    text = amounts.money(cents)
    assert amounts.cents(text) == cents
    assert amounts.cents(amounts.grouped(text)) == cents
    assert amounts.cents(amounts.from_cell(cents / 100)) == cents, "as a workbook stores it"
    assert text != "-0.00"


@pytest.mark.parametrize(
    ("value", "places", "text"),
    [("0.005", 2, "0.01"), ("-0.005", 2, "-0.01"), ("2.5", 0, "3"), ("-0.004", 2, "0.00"), ("1e3", 1, "1000.0")],
)
def test_halves_go_away_from_zero_and_zero_has_no_sign(value: str, places: int, text: str) -> None:
    number = amounts.number(value)
    assert number is not None
    assert amounts.fixed(number, places) == text


@pytest.mark.parametrize("text", ["", "-", ".", "1,23", "1e", "e5", "NaN", "Infinity", "0x1", "1 2", "n/a", "1e999"])
def test_what_is_no_number_is_none(text: str) -> None:
    assert amounts.number(text) is None


def test_percent_of_nothing_is_zero() -> None:
    assert (amounts.percent(1, 3), amounts.percent(5, 0), amounts.percent(1, 2000)) == ("33.3", "0.0", "0.1")


def test_cells_agree_as_numbers_or_as_words() -> None:
    assert amounts.same("1,234.50", "1234.5")
    assert amounts.same("Watch", "watch ")
    assert not amounts.same("", "0.00")
    assert amounts.same("12.34", "12.3", places=1)
    assert amounts.from_cell(0.1 + 0.2) == "0.3"
    assert amounts.from_cell(True) == "yes"


# -- periods ----------------------------------------------------------------------------------------------------------


def test_periods_follow_one_another() -> None:
    assert periods.span("2026-01").back(1).name == "2025-12"
    assert periods.span("2026-01-05").back(1).name == "2025-12-29"
    assert periods.span("2026-01-05", 14).back(-1).name == "2026-01-19"
    assert periods.bounds("2026-02") == ("2026-02-01", "2026-02-28")
    assert periods.bounds("2026-01-05") == ("2026-01-05", "2026-01-18")
    assert (periods.words("2026-01"), periods.words("2026-01-05")) == ("January 2026", "the days from 2026-01-05")


@pytest.mark.parametrize("period", ["2026", "2026-13", "2026-00", "2026-01-06", "2026-02-30", "January 2026", ""])
def test_what_is_no_period_is_refused(period: str) -> None:
    with pytest.raises(UsageError, match="neither a month"):
        periods.span(period)


@given(st.integers(0, 300), st.integers(1, 30), st.sampled_from([0, 7, 14]))
def test_going_back_and_forth_ends_where_it_began(start: int, back: int, days: int) -> None:
    first = periods.span("2020-01" if days == 0 else "2020-01-06", days or 7).back(-start)
    assert first.back(back).back(-back) == first
    assert first.back(back).number == first.number - back
    assert first.date(first.days + 1) == first.back(-1).date(1)


# -- views ------------------------------------------------------------------------------------------------------------


def test_a_view_finds_figures_and_tables() -> None:
    view = view_from_workbook(
        {
            "summary": [["Item", "Value", "Source"], ["Total cost", 12.5, "x"]],
            "Renamed": [["Ref", "Amount"], ["A", 1], [None, None], ["Total", 1]],
            "Other": [["key"], ["B"]],
        }
    )
    assert (view.figure("Total Cost"), view.figure("Absent")) == ("12.5", None)
    assert view.table("Bank only", ("ref", "amount")) == [{"ref": "A", "amount": "1"}]
    assert view.table("Bank only", ("ref",), besides=("Renamed",)) == []
    assert view.table("Other", ("ref",)) == [], "a sheet without the columns has no records"
    csv = view_from_csv("\ufefffigure,value\nTotal variance,3.00\n")
    assert csv.figure("Total variance") == "3.00"
    assert csv.table("anything") == [{"figure": "Total variance", "value": "3.00"}]


@given(
    st.dictionaries(st.text(max_size=8), st.lists(st.lists(st.text(max_size=6), max_size=4), max_size=4), max_size=4)
)
def test_a_view_of_anything_answers(sheets: dict[str, list[list[object]]]) -> None:
    view = view_from_workbook(sheets)
    assert view.figure("Total") is None or isinstance(view.figure("Total"), str)
    assert isinstance(view.table("Parts", ("part_id",)), list)


# -- review -----------------------------------------------------------------------------------------------------------


@example("\r0", "management-pack")
@given(st.text(max_size=300), st.sampled_from(list(PROFESSIONS)))
def test_no_text_breaks_the_reviewer(text: str, kind: str) -> None:
    """Deliverables are what an agent wrote: whatever they hold, the review ends in words."""
    work = PROFESSIONS[kind]
    inputs = work.by_name(work.materials("Riverbend Outdoor", "2026-01", 1))
    for body in (text, f"# Sheet: Summary (3 rows x 3 columns)\nA1: Item | B1: Value | C1: Source\nA2: {text}"):
        files = {each.name: body for each in work.deliverables}
        found = review(work, "2026-01", inputs, view_of(work.main, body), {}, files)
        assert found and all(fault.text and fault.file for fault in found)


def test_an_id_is_cited_as_a_word_of_its_own() -> None:
    assert cites("see CHQ-2601-001.", "CHQ-2601-001")
    assert cites("(B, A)", "A")
    assert not cites("see CHQ-2601-0012", "CHQ-2601-001")
    assert not cites("BER-1-V3", "BER-1")


# -- the registry -----------------------------------------------------------------------------------------------------


def test_every_domain_has_its_programme_and_what_it_builds_on_comes_first() -> None:
    assert set(DOMAINS) == {"finance", "legal", "clinical", "quality", "software", "design", "general"}
    for domain in DOMAINS:
        seen: set[str] = set()
        for line in plan(domain):
            assert set(line.depends) <= seen
            assert line.cadence in ("monthly", "fortnightly", "weekly")
            assert profession(line.kind).domain == domain
            seen.add(line.kind)
    assert [line.kind for line in plan("finance")] == ["bank-reconciliation", "variance-analysis", "management-pack"]
    assert for_domain("astrology") == for_domain("general")


def test_a_kind_that_is_not_known_is_named_with_those_that_are() -> None:
    with pytest.raises(UnknownReference, match="no work kind 'alchemy': the kinds are bank-reconciliation"):
        profession("alchemy")


def test_professions_describe_themselves_completely() -> None:
    for kind, work in PROFESSIONS.items():
        assert work.kind == kind
        assert work.title and work.labels and work.main.name == work.deliverables[0].name
        assert set(work.live) <= set(work.labels)
        inputs = work.by_name(work.materials("Riverbend Outdoor", "2026-01", 1))
        assert tuple(work.figures("2026-01", inputs)) == work.labels
        files = {each.name for each in work.deliverables}
        assert {name for finding in work.findings("2026-01", inputs) for name in finding.must_cite_in} <= files
        assert {table.file for table in work.tables("2026-01", inputs)} <= files
        assert {other.kind for other in work.others} <= set(PROFESSIONS)
