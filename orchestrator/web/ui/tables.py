"""Tables of texts and links as one element, however many rows they have."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from nicegui.element import Element

Cell = str | tuple[str, str, str, str]
"""A text, or a text with its address, class and title."""


def cell(text: str, href: str = "", kind: str = "", title: str = "") -> Cell:
    """Return a cell."""
    return (text, href, kind, title)


class Table(Element, component="static/table.js"):
    """A table in a frame that scrolls sideways. `lead`: the first cell of a row is its heading."""

    def __init__(
        self, label: str, columns: Iterable[str], rows: Iterable[Sequence[Cell]], test: str = "", kind: str = "grid",
        head: bool = True, lead: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        self.props["label"] = label
        self.props["columns"] = list(columns)
        self.props["rows"] = [[c if isinstance(c, str) else list(c) for c in row] for row in rows]
        self.props["kind"] = kind
        self.props["head"] = head
        self.props["lead"] = lead
        if test:
            self.props["data-testid"] = test
