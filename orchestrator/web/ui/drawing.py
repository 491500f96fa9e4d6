"""Drawings as plain data, and the element that shows them. What is drawn is made by pure functions that tests can read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from nicegui.element import Element

Node = list[Any]
"""`[tag, attributes, children or text, key]`, as static/drawing.js reads it."""


class Picture(msgspec.Struct, frozen=True):
    """A drawing of a size, in its own units."""

    width: float
    height: float
    nodes: tuple[Node, ...]


def node(tag: str, inside: Iterable[Node] | str = "", key: str | None = None, **attributes: object) -> Node:
    """Return a node. Underscores in names of attributes become hyphens, `class_` is `class`."""
    named = {name.rstrip("_").replace("_", "-"): value for name, value in attributes.items() if value is not None}
    found: Node = [tag, named, inside if isinstance(inside, str) else list(inside)]
    return [*found, key] if key is not None else found


def words(text: str, x: float, y: float, kind: str = "", anchor: str | None = None) -> Node:
    """Return a text at a place."""
    return node("text", text, x=round(x, 1), y=round(y, 1), class_=kind or None, text_anchor=anchor)


def rect(x: float, y: float, w: float, h: float, kind: str = "", r: float = 0, title: str = "") -> Node:
    """Return a rectangle."""
    inside = [node("title", title)] if title else ""
    return node(
        "rect", inside, x=round(x, 1), y=round(y, 1), width=round(max(w, 0), 1), height=round(max(h, 0), 1), rx=r or None,
        class_=kind or None,
    )  # fmt: skip


def fit(text: str, width: float, size: float = 12.0) -> str:
    """Return a text cut to about a width, for a font of a size; a letter is taken to be 0.54 of it wide."""
    room = max(1, int(width / (size * 0.54)))
    return text if len(text) <= room else text[: max(1, room - 1)].rstrip() + "…"


class Drawing(Element, component="static/drawing.js"):
    """Shows a picture. It takes the width there is, or its own if `fixed`."""

    def __init__(self, picture: Picture, label: str, kind: str = "", fixed: bool = False, test: str = "") -> None:
        super().__init__()
        self.props["label"] = label
        self.props["kind"] = kind
        self.props["fixed"] = fixed
        if test:
            self.props["data-testid"] = test
        self.show(picture)

    def show(self, picture: Picture) -> None:
        """Show another picture; what has the same key in both moves from one place to the other."""
        self.props["view"] = [round(picture.width, 1), round(picture.height, 1)]
        self.props["nodes"] = list(picture.nodes)
