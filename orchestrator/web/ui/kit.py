"""Elements that all pages are made of. Every text is a text node and every attribute a value: nothing here is ever markup."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any

from nicegui.element import Element

from orchestrator.web.ui.tables import Table

Handler = Callable[[], Any] | Callable[[], Awaitable[Any]]
CHOSEN = "(e) => emit(e.target.value)"


def ours(href: str) -> bool:
    """Whether an address leads to a place within this site, and nowhere else."""
    return href.startswith(("/", "#", "?")) and not href.startswith(("//", "/\\"))


class Tag(Element):
    """An element of any tag with classes, a text and attributes. Underscores in names of attributes become hyphens;
    `test` is the `data-testid`, `label` the `aria-label`."""

    def __init__(self, tag: str = "div", kind: str = "", text: str | None = None, **attributes: object) -> None:
        super().__init__(tag)
        if kind:
            self.classes(kind)
        self._text = text
        self.set(**attributes)

    def say(self, text: str) -> None:
        """Change the text."""
        if text != self._text:
            self._text = text
            self.update()

    def set(self, **attributes: object) -> Tag:
        """Set attributes; None takes one away."""
        for name, value in attributes.items():
            key = {"test": "data-testid", "label": "aria-label"}.get(name, name.strip("_").replace("_", "-"))
            if key == "value" and self.tag in ("input", "textarea"):
                # What is typed is the reader's. The framework puts a `value` back whenever it draws anything, a default never.
                key = "defaultValue"
            if key == "href" and not ours(str(value)):
                # An address is one of ours, whatever an id holds: `javascript:` is none.
                raise ValueError(f"not an address of this site: {str(value)[:40]!r}")
            if value is None:
                self.props.pop(key, None)
            elif self.props.get(key) != value:
                self.props[key] = value
        return self


def box(kind: str = "", **attributes: object) -> Tag:
    """Return a block that holds others."""
    return Tag("div", kind, None, **attributes)


def text(words: str, kind: str = "", tag: str = "span", **attributes: object) -> Tag:
    """Return a text."""
    return Tag(tag, kind, words, **attributes)


def heading(words: str, level: int = 2, kind: str = "", **attributes: object) -> Tag:
    """Return a heading."""
    return Tag(f"h{level}", kind, words, **attributes)


def link(words: str, href: str, kind: str = "", **attributes: object) -> Tag:
    """Return a link within this site."""
    return Tag("a", kind, words, href=href, **attributes)


def icon(name: str, kind: str = "") -> Tag:
    """Return a sign that only the eye needs."""
    return Tag("i", f"material-icons icon {kind}".strip(), name, aria_hidden="true")


def button(
    words: str, do: Handler, kind: str = "", sign: str = "", label: str = "", test: str = "", **attributes: object
) -> Tag:
    """Return a button. One without words needs a `label`."""
    made = Tag(
        "button", f"btn {kind}".strip(), None, type="button", label=label or None, test=test or None, **attributes
    )
    with made:
        if sign:
            icon(sign)
        if words:
            text(words)
    if label and not words:
        made.set(title=label)
    made.on("click", do, args=[])
    return made


def choice(
    label: str, options: Mapping[str, str], chosen: str, do: Callable[[str], Any], test: str = "", kind: str = ""
) -> Tag:
    """Return a choice among options, value to words; `do` gets the value."""
    made = Tag("select", f"field {kind}".strip(), None, label=label, test=test or None)
    with made:
        for value, words in options.items():
            Tag("option", "", words, value=value, selected=True if value == chosen else None)
    made.on("change", lambda e: do(str(e.args)), js_handler=CHOSEN)
    return made


def search(label: str, value: str, do: Callable[[str], Any], test: str = "") -> Tag:
    """Return a field to type into; `do` gets what is in it after Enter, and when it is left."""
    made = Tag(
        "input", "field search", None, label=label, placeholder=label, type="search", value=value, test=test or None
    )
    made.on("change", lambda e: do(str(e.args)), js_handler=CHOSEN)
    return made


def line(label: str, value: str, do: Callable[[str], Any], test: str, most: int, **attributes: object) -> Tag:
    """Return a field for one line of at most so many letters; `do` gets what is in it when it is left."""
    made = Tag("input", "field", None, type="text", label=label, value=value, test=test, maxlength=most, **attributes)
    made.on("change", lambda e: do(str(e.args)), js_handler=CHOSEN)
    return made


def area(label: str, value: str, do: Callable[[str], Any], test: str, rows: int, most: int) -> Tag:
    """Return a field for several lines and at most so many letters; `do` gets what is in it when it is left."""
    made = Tag("textarea", "field", None, label=label, rows=rows, value=value, test=test, maxlength=most)
    made.on("change", lambda e: do(str(e.args)), js_handler=CHOSEN)
    return made


def tabs(label: str, options: Mapping[str, str], chosen: str, do: Callable[[str], Any], test: str = "") -> Tag:
    """Return a row of tabs, value to words; each is a button that says whether it is the current one."""
    row = box("tabs", role="group", label=label, test=test or None)
    with row:
        for value, words in options.items():
            one = Tag("button", "tab", words, type="button", test=f"{test}-{value}" if test else None)
            one.set(aria_pressed="true" if value == chosen else "false")
            one.on("click", lambda _, value=value: do(value), args=[])
    return row


def chip(words: str, kind: str = "", **attributes: object) -> Tag:
    """Return a small mark."""
    return Tag("span", f"chip {kind}".strip(), words, **attributes)


def card(title: str = "", kind: str = "", **attributes: object) -> Tag:
    """Return a card, whose heading is inside already."""
    made = Tag("section", f"card {kind}".strip(), None, **attributes)
    if title:
        with made:
            heading(title, 2, "card-title")
    return made


def empty(words: str) -> Tag:
    """Return what is shown where there is nothing."""
    return text(words, "empty", "p")


def facts(pairs: Iterable[tuple[str, str]], kind: str = "") -> Tag:
    """Return a list of names and values."""
    made = Tag("dl", f"facts {kind}".strip())
    with made:
        for name, value in pairs:
            if value:
                Tag("dt", "", name)
                Tag("dd", "", value)
    return made


def table(
    label: str, columns: Iterable[str], rows: Iterable[Sequence[str]], test: str = "", kind: str = "", head: bool = True
) -> Table:
    """Return a table of texts, in a frame that scrolls sideways."""
    return Table(label, columns, rows, test, f"grid {kind}".strip(), head)


def fold(summary: str, kind: str = "", is_open: bool = False, **attributes: object) -> Tag:
    """Return a part that can be opened."""
    made = Tag("details", f"fold {kind}".strip(), None, open=True if is_open else None, **attributes)
    with made:
        Tag("summary", "", summary)
    return made
