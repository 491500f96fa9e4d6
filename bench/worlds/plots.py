"""Small plots as SVG and PNG. A chart is laid out once, as a drawing of lines, boxes, discs and words; both forms are made
from it, so they show the same. The same numbers give the same bytes: no clock, no random ids, no fonts of the machine."""

from __future__ import annotations

import io
import unicodedata
from collections.abc import Sequence
from typing import Literal
from xml.sax.saxutils import escape

import msgspec
from PIL import Image, ImageDraw, ImageFont

from simulator.canonical import clean_text

INK, GREY, PALE, PAPER = "#1b1b1b", "#6b6b6b", "#e3e3e3", "#ffffff"
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6d31", "#555555")
"""After Okabe and Ito: told apart by the colour-blind."""
PNG_SCALE = 2
_MARKS = ("0 %", "25 %", "50 %", "75 %", "100 %")
_MOST_WORDS = 46
Anchor = Literal["start", "middle", "end"]


class Line(msgspec.Struct, frozen=True, tag=True):
    x1: float
    y1: float
    x2: float
    y2: float
    colour: str = INK
    width: float = 1.0


class Box(msgspec.Struct, frozen=True, tag=True):
    x: float
    y: float
    width: float
    height: float
    fill: str


class Disc(msgspec.Struct, frozen=True, tag=True):
    x: float
    y: float
    radius: float
    fill: str


class Words(msgspec.Struct, frozen=True, tag=True):
    """Text; `y` is its base line."""

    x: float
    y: float
    text: str
    size: int = 12
    anchor: Anchor = "start"
    colour: str = INK


Shape = Line | Box | Disc | Words


class Drawing(msgspec.Struct, frozen=True):
    """A chart laid out, in pixels. `title` is its accessible name."""

    width: int
    height: int
    title: str
    shapes: tuple[Shape, ...]


class Point(msgspec.Struct, frozen=True):
    """A share to be drawn: None is no score. `n` is shown beside it."""

    label: str
    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0


class Series(msgspec.Struct, frozen=True):
    """Points of one name in order along the axis; a label may be missing."""

    name: str
    points: tuple[Point, ...]


# -- charts -----------------------------------------------------------------------------------------------------------


def bars(title: str, points: Sequence[Point], note: str = "", ratio: bool = False) -> Drawing:
    """Return a chart of horizontal bars of shares with their intervals, and n beside each.

    With `ratio` the values are plain numbers and not percentages; one above 1 is drawn to the edge and written out.
    """
    left, right, row, top = 300, 130, 26, 56
    width, span = 900, 900 - left - right
    bottom = top + row * max(1, len(points))
    shapes: list[Shape] = [Words(16, 28, _short(title, 90), 16)]
    for at, mark in enumerate(("0", "0.25", "0.5", "0.75", "1") if ratio else _MARKS):
        x = left + span * at / 4
        shapes += [Line(x, top - 6, x, bottom, PALE), Words(x, bottom + 16, mark, 11, "middle", GREY)]
    for at, point in enumerate(points):
        middle = top + row * at + row / 2
        shapes.append(Words(left - 10, middle + 4, _short(point.label), 12, "end"))
        if point.value is None:
            shapes.append(Words(left + 6, middle + 4, "no score", 11, colour=GREY))
            continue
        shapes.append(Box(left, middle - 7, span * _within(point.value), 14, COLOURS[0]))
        shapes += _whisker_along(point, left, span, middle)
        shapes.append(
            Words(
                width - right + 10,
                middle + 4,
                f"{f'{point.value:.3f}' if ratio else percent(point.value)}  n = {point.n}",
                11,
                colour=GREY,
            )
        )
    return _drawn(width, bottom + 26, title, shapes, note)


def _whisker_along(point: Point, left: float, span: float, middle: float) -> list[Shape]:
    if point.low is None or point.high is None:
        return []
    low, high = left + span * _within(point.low), left + span * _within(point.high)
    ends: list[Shape] = [Line(x, middle - 4, x, middle + 4) for x in (low, high)]
    return [Line(low, middle, high, middle), *ends]


def curves(title: str, labels: Sequence[str], series: Sequence[Series], note: str = "") -> Drawing:
    """Return a chart of shares over `labels`, one line a series, with intervals; the legend is at the right. Where a
    label has no score the line is broken."""
    left, top, tall = 70, 56, 300
    width, span = 900, 520
    shapes: list[Shape] = [Words(16, 28, _short(title, 90), 16)]
    for at, mark in enumerate(_MARKS):
        y = top + tall * (4 - at) / 4
        shapes += [Line(left, y, left + span, y, PALE), Words(left - 8, y + 4, mark, 11, "end", GREY)]
    step = span / max(1, len(labels))
    for at, label in enumerate(labels):
        x = left + step * (at + 0.5)
        shapes.append(Words(x, top + tall + 18, _short(label, max(4, int(step / 6.5))), 11, "middle", GREY))
    for order, one in enumerate(series):
        colour = COLOURS[order % len(COLOURS)]
        nudge = (order - (len(series) - 1) / 2) * min(9.0, step / (len(series) + 1))
        shapes += _curve(one, labels, colour, left + nudge, step, top, tall)
        y = top + 8 + 20 * order
        shapes += [Box(left + span + 24, y - 9, 12, 12, colour), Words(left + span + 42, y + 1, _short(one.name), 12)]
    return _drawn(width, max(top + tall + 30, top + 20 * len(series) + 16), title, shapes, note)


def _curve(
    one: Series, labels: Sequence[str], colour: str, left: float, step: float, top: float, tall: float
) -> list[Shape]:
    shapes: list[Shape] = []
    points = {point.label: point for point in one.points}
    before: tuple[float, float] | None = None
    for at, label in enumerate(labels):
        point = points.get(label)
        if point is None or point.value is None:
            before = None
            continue
        x, y = left + step * (at + 0.5), top + tall * (1 - _within(point.value))
        if point.low is not None and point.high is not None:
            shapes.append(
                Line(x, top + tall * (1 - _within(point.low)), x, top + tall * (1 - _within(point.high)), colour)
            )
        if before:
            shapes.append(Line(*before, x, y, colour, 2.0))
        shapes.append(Disc(x, y, 4, colour))
        before = (x, y)
    return shapes


def grid(title: str, rows: Sequence[Series], columns: Sequence[str], note: str = "") -> Drawing:
    """Return a table of shares as shaded cells, each with its n; a cell that was never run is left empty."""
    left, top, tall = 300, 76, 34
    wide = max(70.0, min(130.0, 580 / max(1, len(columns))))
    shapes: list[Shape] = [Words(16, 28, _short(title, 90), 16)]
    for at, column in enumerate(columns):
        shapes.append(Words(left + wide * (at + 0.5), top - 10, _short(column, int(wide / 6.5)), 11, "middle", GREY))
    for down, row in enumerate(rows):
        y = top + tall * down
        shapes.append(Words(left - 10, y + tall / 2 + 4, _short(row.name), 12, "end"))
        cells = {point.label: point for point in row.points}
        for at, column in enumerate(columns):
            shapes += _cell(cells.get(column), left + wide * at, y, wide, tall)
    return _drawn(max(900, int(left + wide * len(columns) + 20)), top + tall * len(rows) + 10, title, shapes, note)


def _cell(point: Point | None, x: float, y: float, wide: float, tall: float) -> list[Shape]:
    if point is None:
        return [Box(x, y, wide - 2, tall - 2, "#f6f6f6")]
    if point.value is None:
        return [
            Box(x, y, wide - 2, tall - 2, PALE),
            Words(x + wide / 2, y + tall / 2 + 4, "no score", 10, "middle", GREY),
        ]
    ink = PAPER if point.value > 0.7 else INK
    return [
        Box(x, y, wide - 2, tall - 2, _shade(point.value)),
        Words(x + wide / 2, y + tall / 2, percent(point.value), 12, "middle", ink),
        Words(x + wide / 2, y + tall / 2 + 12, f"n = {point.n}", 9, "middle", ink),
    ]


def percent(value: float) -> str:
    """Return a share as a percentage with one decimal."""
    return f"{100 * value:.1f} %"


def _shade(value: float) -> str:
    """From near white to the first colour."""
    ends = ((0xEE, 0x00), (0xF4, 0x5C), (0xFA, 0x9C))
    return "#" + "".join(f"{round(a + (b - a) * _within(value)):02x}" for a, b in ends)


def _within(value: float) -> float:
    return min(1.0, max(0.0, value))


def _short(text: str, most: int = _MOST_WORDS) -> str:
    clean = " ".join(clean_text(text).split())
    return clean if len(clean) <= most else clean[: most - 3].rstrip() + "..."


def _drawn(width: int, height: int, title: str, shapes: Sequence[Shape], note: str) -> Drawing:
    if not note:
        return Drawing(width, height, title, tuple(shapes))
    return Drawing(width, height + 22, title, (*shapes, Words(16, height + 12, _short(note, 150), 11, colour=GREY)))


# -- forms ------------------------------------------------------------------------------------------------------------


def svg(drawing: Drawing) -> bytes:
    """Return a drawing as SVG. Text is escaped; nothing in it is a script or a link."""
    title = escape(_short(drawing.title, 200))
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{drawing.width}" height="{drawing.height}" '
        f'viewBox="0 0 {drawing.width} {drawing.height}" font-family="Helvetica, Arial, sans-serif" role="img">',
        f"<title>{title}</title>",
        f'<rect width="{drawing.width}" height="{drawing.height}" fill="{PAPER}"/>',
        *(_svg_shape(shape) for shape in drawing.shapes),
        "</svg>",
    ]
    return ("\n".join(lines) + "\n").encode()


def _svg_shape(shape: Shape) -> str:
    match shape:
        case Line(x1, y1, x2, y2, colour, width):
            ends = f'x1="{_num(x1)}" y1="{_num(y1)}" x2="{_num(x2)}" y2="{_num(y2)}"'
            return f'<line {ends} stroke="{colour}" stroke-width="{_num(width)}"/>'
        case Box(x, y, width, height, fill):
            return f'<rect x="{_num(x)}" y="{_num(y)}" width="{_num(width)}" height="{_num(height)}" fill="{fill}"/>'
        case Disc(x, y, radius, fill):
            return f'<circle cx="{_num(x)}" cy="{_num(y)}" r="{_num(radius)}" fill="{fill}"/>'
        case Words(x, y, text, size, anchor, colour):
            place = f'x="{_num(x)}" y="{_num(y)}" font-size="{size}" text-anchor="{anchor}" fill="{colour}"'
            return f"<text {place}>{escape(text)}</text>"


def _num(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def png(drawing: Drawing) -> bytes:
    """Return a drawing as PNG at twice its size, with the font that Pillow carries."""
    image = Image.new("RGB", (drawing.width * PNG_SCALE, drawing.height * PNG_SCALE), PAPER)
    pen = ImageDraw.Draw(image)
    fonts: dict[int, ImageFont.FreeTypeFont | ImageFont.ImageFont] = {}
    for shape in drawing.shapes:
        _png_shape(pen, shape, fonts)
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def _png_shape(
    pen: ImageDraw.ImageDraw, shape: Shape, fonts: dict[int, ImageFont.FreeTypeFont | ImageFont.ImageFont]
) -> None:
    k = PNG_SCALE
    match shape:
        case Line(x1, y1, x2, y2, colour, width):
            pen.line((x1 * k, y1 * k, x2 * k, y2 * k), fill=colour, width=max(1, round(width * k)))
        case Box(x, y, width, height, fill):
            pen.rectangle((x * k, y * k, (x + width) * k, (y + height) * k), fill=fill)
        case Disc(x, y, radius, fill):
            pen.ellipse(((x - radius) * k, (y - radius) * k, (x + radius) * k, (y + radius) * k), fill=fill)
        case Words(x, y, text, size, anchor, colour):
            if size not in fonts:
                fonts[size] = ImageFont.load_default(size * k)
            side = {"start": "l", "middle": "m", "end": "r"}[anchor]
            pen.text((x * k, y * k), _drawable(text), fill=colour, font=fonts[size], anchor=f"{side}s")


def _drawable(text: str) -> str:
    """Letters without their accents: the font that Pillow carries has no others. The SVG keeps them."""
    return unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode() or "?"
