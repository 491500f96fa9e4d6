"""Plots: bars over days, weeks or names, as a drawing for the page, as PNG, and as CSV. Pure."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from datetime import date
from math import ceil, floor, log10

import msgspec
from PIL import Image, ImageDraw, ImageFont

from orchestrator.web.ui.drawing import Node, Picture, fit, node, rect, words

WIDTH, HEIGHT = 520.0, 210.0
MOST_BARS = 62
"""Days beyond which a bar stands for a week."""
COLOURS = ("#2f8f84", "#c98a2b", "#6a5acd", "#3a78b5", "#b4544a")
_LEFT, _RIGHT, _TOP, _BOTTOM = 52.0, 8.0, 10.0, 24.0
_SCALE = 2


class Series(msgspec.Struct, frozen=True):
    """One thing counted; as many values as the chart has labels."""

    name: str
    values: tuple[float, ...]


class Chart(msgspec.Struct, frozen=True):
    """Bars by label, each series on top of the one before. `unit` says what a value is."""

    key: str
    title: str
    unit: str
    labels: tuple[str, ...]
    series: tuple[Series, ...]

    @property
    def total(self) -> float:
        """The sum of all values."""
        return sum(sum(s.values) for s in self.series)


def by_day(key: str, title: str, unit: str, days: Sequence[str], series: Iterable[Series], middle: bool = False) -> Chart:
    """Return a chart over days (ISO dates), over weeks where there are many; `middle`: a week's bar is its days' mean."""
    found = tuple(series)
    if len(days) <= MOST_BARS:
        return Chart(key, title, unit, tuple(days), found)
    weeks: dict[str, list[int]] = {}
    for i, day in enumerate(days):
        year, week, _ = date.fromisoformat(day).isocalendar()
        weeks.setdefault(date.fromisocalendar(year, week, 1).isoformat(), []).append(i)
    summed = tuple(Series(s.name, tuple(_of(s.values, some, middle) for some in weeks.values())) for s in found)
    return Chart(key, title, f"{unit}, by week", tuple(weeks), summed)


def _of(values: Sequence[float], places: Sequence[int], middle: bool) -> float:
    some = [values[i] for i in places]
    if not middle:
        return sum(some)
    there = [v for v in some if v]
    return sum(there) / len(there) if there else 0.0


def steps(most: float, count: int = 4) -> tuple[float, ...]:
    """Return round values from 0 to at least `most`, for the lines of an axis. Less than a millionth counts as nothing."""
    if most < 1e-6:
        return (0.0, 1.0)
    power = 10.0 ** floor(log10(most / count))
    step = next(m * power for m in (1, 2, 2.5, 5, 10, 20) if m * power * count >= most)
    if most >= count and step < 1:
        step = 1.0
    return tuple(n * step for n in range(ceil(most / step) + 1))


def amount(value: float) -> str:
    """Return a value in short: 1.2k, 3.4M."""
    for size, sign in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= size:
            return f"{value / (1e3 if sign == 'k' else size):.4g}{sign}"
    return f"{value:,.0f}" if value == int(value) else f"{value:.3g}"


class Bar(msgspec.Struct, frozen=True):
    """A bar in its place: x, y, width, height, and which series it is of."""

    x: float
    y: float
    w: float
    h: float
    series: int
    label: int


def bars(chart: Chart, width: float = WIDTH, height: float = HEIGHT) -> tuple[tuple[Bar, ...], tuple[float, ...]]:
    """Return the bars of a chart and the values of its lines."""
    sums = [sum(s.values[i] for s in chart.series) for i in range(len(chart.labels))]
    lines = steps(max(sums, default=0.0))
    room, tall = width - _LEFT - _RIGHT, height - _TOP - _BOTTOM
    step = room / max(1, len(chart.labels))
    found = []
    for i in range(len(chart.labels)):
        y = height - _BOTTOM
        for n, s in enumerate(chart.series):
            h = tall * s.values[i] / lines[-1]
            if h > 0:
                y -= h
                found.append(Bar(_LEFT + i * step + step * 0.12, y, min(step * 0.76, 60.0), h, n, i))
    return tuple(found), lines


def label(chart: Chart, place: int) -> str:
    """Return a label in short: a day as day and month."""
    text = chart.labels[place]
    try:
        return f"{date.fromisoformat(text):%-d %b}"
    except ValueError:
        return text


def marked(chart: Chart, most: int = 7) -> list[int]:
    """Return which labels are written."""
    every = -(-len(chart.labels) // most) if chart.labels else 1
    return list(range(0, len(chart.labels), every))


def picture(chart: Chart) -> Picture:
    """Return the drawing of a chart."""
    found, lines = bars(chart)
    tall = HEIGHT - _TOP - _BOTTOM
    nodes: list[Node] = []
    for value in lines:
        y = HEIGHT - _BOTTOM - tall * value / lines[-1]
        nodes.append(node("line", x1=_LEFT, x2=WIDTH - _RIGHT, y1=round(y, 1), y2=round(y, 1), class_="hour"))
        nodes.append(words(amount(value), _LEFT - 7, y + 3.5, "axis", "end"))
    for bar in found:
        s = chart.series[bar.series]
        title = f"{chart.labels[bar.label]}: {s.values[bar.label]:,.6g} {s.name}"
        nodes.append(rect(bar.x, bar.y, bar.w, bar.h, f"bar bar-{bar.series % len(COLOURS)}", 1.5, title))
    step = (WIDTH - _LEFT - _RIGHT) / max(1, len(chart.labels))
    few = len(chart.labels) <= 7
    for i in marked(chart):
        nodes.append(words(fit(label(chart, i), max(step, 60), 10.5), _LEFT + step * (i + 0.12) + (0 if not few else min(step * 0.38, 30)),
                           HEIGHT - 8, "axis", "middle" if few else "start"))  # fmt: skip
    return Picture(WIDTH, HEIGHT, tuple(nodes))


def png(chart: Chart) -> bytes:
    """Return a chart as a PNG image, with its title, its lines and what the colours are."""
    head, s = 58.0, _SCALE
    image = Image.new("RGB", (int(WIDTH * s), int((HEIGHT + head) * s)), "white")
    draw = ImageDraw.Draw(image)
    big, small = ImageFont.load_default(16 * s), ImageFont.load_default(11 * s)
    draw.text((12 * s, 8 * s), chart.title, fill="#1d2430", font=big)
    x = 12.0
    for n, series in enumerate(chart.series):
        draw.rectangle((x * s, 37 * s, (x + 10) * s, 47 * s), fill=COLOURS[n % len(COLOURS)])
        draw.text(((x + 15) * s, 35 * s), series.name, fill="#535b68", font=small)
        x += 30 + draw.textlength(series.name, font=small) / s
    found, lines = bars(chart)
    tall = HEIGHT - _TOP - _BOTTOM
    for value in lines:
        y = (head + HEIGHT - _BOTTOM - tall * value / lines[-1]) * s
        draw.line((_LEFT * s, y, (WIDTH - _RIGHT) * s, y), fill="#e3e2dc", width=s)
        draw.text(((_LEFT - 7) * s, y), amount(value), fill="#6c7480", font=small, anchor="rm")
    for bar in found:
        box = (bar.x * s, (bar.y + head) * s, (bar.x + bar.w) * s, (bar.y + bar.h + head) * s)
        draw.rectangle(box, fill=COLOURS[bar.series % len(COLOURS)])
    step = (WIDTH - _LEFT - _RIGHT) / max(1, len(chart.labels))
    for i in marked(chart):
        place = ((_LEFT + step * (i + 0.12)) * s, (head + HEIGHT - 18) * s)
        draw.text(place, fit(label(chart, i), max(step, 60), 10.5), fill="#6c7480", font=small)
    out = io.BytesIO()
    image.save(out, "PNG", optimize=True)
    return out.getvalue()


def as_csv(chart: Chart) -> bytes:
    """Return a chart as a table. A cell that a spreadsheet would take for a formula begins with an apostrophe."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["", *(_cell(s.name) for s in chart.series)])
    for i, name in enumerate(chart.labels):
        writer.writerow([_cell(name), *(f"{s.values[i]:.10g}" for s in chart.series)])
    return out.getvalue().encode()


def _cell(text: str) -> str:
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t") else text
