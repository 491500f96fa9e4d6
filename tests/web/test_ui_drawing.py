"""Drawings, charts, the day's strip and the slider: pure data that says the truth."""

from __future__ import annotations

import csv
import io
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from orchestrator.web.queries.common import When
from orchestrator.web.queries.offices import DayLine
from orchestrator.web.queries.talk import EntryShown
from orchestrator.web.ui import chart, dayplan, strip
from orchestrator.web.ui.chart import Chart, Series
from orchestrator.web.ui.drawing import fit, node
from simulator.businesstime import calendar_for
from simulator.events import CalendarRules

CALENDAR = calendar_for(CalendarRules())
MIDNIGHT = CALENDAR.at("2026-01-05", 0)


# -- parts ------------------------------------------------------------------------------------------------------------------


def test_a_node_is_tag_attributes_and_what_is_inside() -> None:
    assert node("g", [node("title", "t")], "k", class_="c", text_anchor="end", nothing=None) == [
        "g", {"class": "c", "text-anchor": "end"}, [["title", {}, "t"]], "k",
    ]  # fmt: skip
    assert node("line", x1=0) == ["line", {"x1": 0}, ""]


@given(st.text(max_size=80), st.floats(1, 400))
def test_a_fitted_text_is_the_text_or_a_beginning_of_it(text: str, width: float) -> None:
    found = fit(text, width)
    assert found == text or (found.endswith("…") and text.startswith(found[:-1]))
    assert len(found) <= max(1, len(text))


# -- charts -----------------------------------------------------------------------------------------------------------------


def days(count: int) -> list[str]:
    return [(date(2026, 1, 5) + timedelta(days=i)).isoformat() for i in range(count)]


@given(st.lists(st.integers(0, 10_000), min_size=1, max_size=200))
def test_a_chart_over_weeks_keeps_the_sum_of_its_days(values: list[int]) -> None:
    made = chart.by_day("k", "T", "u", days(len(values)), [Series("s", tuple(map(float, values)))])
    assert made.total == sum(values)
    assert len(made.labels) == (len(values) if len(values) <= chart.MOST_BARS else -(-len(values) // 7))


def test_a_week_of_medians_is_their_mean_and_days_without_work_do_not_count() -> None:
    values = (10.0, 0.0, 20.0, *[0.0] * 60)
    made = chart.by_day("k", "T", "minutes", days(63), [Series("s", values)], middle=True)
    assert made.series[0].values[:2] == (15.0, 0.0)


@given(st.floats(0, 1e12))
def test_the_lines_of_an_axis_are_few_even_and_reach_the_highest_bar(most: float) -> None:
    lines = chart.steps(most)
    assert lines[0] == 0
    assert lines[-1] >= most
    assert 2 <= len(lines) <= 8
    gaps = [b - a for a, b in zip(lines, lines[1:], strict=False)]
    assert max(gaps) - min(gaps) <= max(gaps) * 1e-6


@given(st.lists(st.tuples(st.integers(0, 500), st.integers(0, 500)), min_size=1, max_size=40))
def test_bars_stand_on_each_other_and_are_as_high_as_they_count(values: list[tuple[int, int]]) -> None:
    made = Chart("k", "T", "u", tuple(str(i) for i in range(len(values))),
                 (Series("a", tuple(float(a) for a, _ in values)), Series("b", tuple(float(b) for _, b in values))))  # fmt: skip
    bars, lines = chart.bars(made)
    tall = chart.HEIGHT - 34
    for i, pair in enumerate(values):
        own = [b for b in bars if b.label == i]
        assert sum(b.h for b in own) == pytest.approx(tall * sum(pair) / lines[-1])
        for below, above in zip(own, own[1:], strict=False):
            assert above.y + above.h == pytest.approx(below.y)
    assert all(b.x >= 0 and b.x + b.w <= chart.WIDTH for b in bars)


def test_a_chart_can_be_taken_away_as_a_picture_and_as_a_table() -> None:
    made = Chart("k", "Mails <b>", "how many", ("2026-01-05", "=cmd()"), (Series("+mails", (3.0, 0.5)),))
    image = Image.open(io.BytesIO(chart.png(made)))
    image.verify()
    assert image.format == "PNG"
    assert image.size[0] == 1040
    assert list(csv.reader(io.StringIO(chart.as_csv(made).decode()))) == [["", "'+mails"], ["2026-01-05", "3"], ["'=cmd()", "0.5"]]


def test_the_picture_shows_the_bars() -> None:
    made = Chart("k", "T", "u", ("a", "b"), (Series("s", (4.0, 1.0)),))
    image = Image.open(io.BytesIO(chart.png(made))).convert("RGB")
    colour = tuple(int(chart.COLOURS[0][i : i + 2], 16) for i in (1, 3, 5))
    heights = [sum(image.getpixel((int(bar.x * 2 + bar.w), y)) == colour for y in range(60, image.size[1])) for bar in chart.bars(made)[0]]
    assert heights[0] == pytest.approx(4 * heights[1], rel=0.05)


@pytest.mark.parametrize(("value", "said"), [(0, "0"), (3, "3"), (0.5, "0.5"), (9_999, "9,999"), (12_345, "12.35k"), (2.5e6, "2.5M"), (3e9, "3G")])
def test_amounts_in_short(value: float, said: str) -> None:
    assert chart.amount(value) == said


# -- the day's strip ----------------------------------------------------------------------------------------------------------


def entry(name: str, minute: int, minutes: int, kind: str = "meeting") -> EntryShown:
    at = MIDNIGHT + minute * 60
    local = f"2026-01-05T{minute // 60:02}:{minute % 60:02}+00:00"
    return EntryShown(name, f"Title {name}", When(at, local), minutes, kind, "a", ("a",), "", "", "", "", {})


@given(st.lists(st.tuples(st.integers(0, 1_439), st.integers(0, 300)), max_size=25))
def test_what_overlaps_is_in_different_lanes(times: list[tuple[int, int]]) -> None:
    found = dayplan.lanes([entry(f"e{i}", at, long) for i, (at, long) in enumerate(times)])
    assert len(found) == len(times)
    for one, lane in found:
        until = one.begins.at + max(one.minutes * 60, dayplan.SHORTEST_S)
        clashing = [o for o, other in found if other == lane and o.id != one.id and one.begins.at <= o.begins.at < until]
        assert not clashing


def test_the_strip_has_the_hours_of_the_day_the_entries_and_where_the_clock_stands() -> None:
    drawn = dayplan.draw([entry("a", 9 * 60, 30), entry("f", 9 * 60, 30, "focus")], (MIDNIGHT, MIDNIGHT + 86_400), MIDNIGHT + 10 * 3600)
    words = [n[2] for n in drawn.nodes if n[0] == "text"]
    assert words[0] == "7:00"
    assert words[-1] == "19:00"
    assert [n for n in drawn.nodes if n[0] == "g"][0][2][0][2][0][2] == "09:00 Title a"
    assert len([n for n in drawn.nodes if n[0] == "g"]) == 1, "focus times are each person's own"
    assert [n[1]["x1"] for n in drawn.nodes if n[1].get("class") == "now"] == [240.0]
    early = dayplan.draw([entry("a", 5 * 60, 30)], (MIDNIGHT, MIDNIGHT + 86_400), MIDNIGHT)
    assert [n[2] for n in early.nodes if n[0] == "text"][0] == "5:00", "what lies early is shown"


# -- the slider ---------------------------------------------------------------------------------------------------------------


def lines(count: int) -> list[DayLine]:
    return [DayLine(day, i * 10 + 1, i * 10 + 10, 10, CALENDAR.is_business_day(day)) for i, day in enumerate(days(count))]


def test_each_day_has_a_bar_as_wide_as_the_day_and_as_high_as_what_happened() -> None:
    bars = strip.bars(lines(9), CALENDAR)
    assert [b.events for b in bars] == [10] * 9
    assert bars[0].begins == MIDNIGHT
    assert all(a.ends == b.begins for a, b in zip(bars, bars[1:], strict=False))
    assert [b.open for b in bars] == [True] * 5 + [False] * 2 + [True] * 2


@given(st.integers(1, 1_500))
def test_many_days_share_bars_and_nothing_is_lost(count: int) -> None:
    bars = strip.bars(lines(count), CALENDAR)
    assert len(bars) <= strip.MOST_BARS
    assert sum(b.events for b in bars) == 10 * count
    assert (bars[0].begins, bars[-1].ends) == (MIDNIGHT, CALENDAR.at(days(count)[-1], 1440))


@given(st.integers(1, 4_000))
def test_a_slider_of_any_length_has_a_few_labels_in_order(count: int) -> None:
    end = CALENDAR.at(days(count)[-1], 720)
    found = strip.ticks(MIDNIGHT, end, CALENDAR)
    assert 1 <= len(found) <= 9
    assert [t for t, _ in found] == sorted({t for t, _ in found})
    assert all(MIDNIGHT <= t <= end for t, _ in found)


@pytest.mark.parametrize(("count", "first"), [(3, "Mon 5 Jan"), (20, "5 Jan"), (200, "Feb 2026")])
def test_labels_are_days_weeks_or_months(count: int, first: str) -> None:
    assert strip.ticks(MIDNIGHT, CALENDAR.at(days(count)[-1], 720), CALENDAR)[0][1] == first
