"""HTML to text: for reading, never for running. One pass over the text, whatever it is.

The standard library's parser was tried: it raises on `<![<![`, and 40 KB of `<a ` keep it busy for nine seconds.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

LIMIT = 400_000
"""Characters of HTML that are read."""
_BLOCKS = frozenset(
    {
        *("address", "article", "aside", "blockquote", "br", "body", "dd", "div", "dl", "dt", "fieldset", "figure"),
        *("footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "html", "li", "main", "nav", "ol", "p"),
        *("pre", "section", "table", "tbody", "tfoot", "thead", "tr", "ul"),
    }
)
_APART = frozenset({"h1", "h2", "h3", "h4", "h5", "h6", "ol", "p", "table", "ul"})
_UNSEEN = {
    name: re.compile(f"</{name}", re.IGNORECASE)
    for name in ("iframe", "math", "script", "style", "svg", "template", "title")
}
_TAG = re.compile(r"</?([A-Za-z][A-Za-z0-9:-]{0,40})")
_HREF = re.compile(r"""\shref\s{0,9}=\s{0,9}("[^"]*"|'[^']*'|[^\s"'>]+)""", re.IGNORECASE)
_LINK = re.compile(r"(https?://|mailto:)[^\s<>\"]{1,500}", re.IGNORECASE)
_ENDLESS = re.compile(r"&#[xX]?[0-9A-Fa-f]{9,};?")


def html_text(source: str) -> str:
    """Return what a reader of some HTML would see, as plain text; the targets of links in angle brackets."""
    pieces: list[str] = []
    links: list[tuple[str, int]] = []
    for name, tag in _tokens(source[:LIMIT]):
        if not name:
            pieces.append(re.sub(r"\s+", " ", html.unescape(_ENDLESS.sub("", tag))))
        elif name in _BLOCKS:
            opens = not tag.startswith("</")
            pieces.append("\n\n" if opens and name in _APART else "\n")
            pieces.append("- " if opens and name == "li" else "")
        elif name in ("td", "th"):
            pieces.append(" ")
        elif name == "a" and tag.startswith("</"):
            _close_link(pieces, links)
        elif name == "a" and len(links) < 20:
            found = _HREF.search(tag, 0, 2_000)
            links.append((html.unescape(_ENDLESS.sub("", found[1].strip("\"'"))) if found else "", len(pieces)))
    lines = (re.sub(r"[ \t\r\f\v\u00a0]+", " ", line).strip() for line in "".join(pieces).split("\n"))
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n")
    return text if len(source) <= LIMIT else f"{text}\n[cut here]"


def _close_link(pieces: list[str], links: list[tuple[str, int]]) -> None:
    if links:
        target, since = links.pop()
        shown = "".join(pieces[since : since + 20]).strip()
        if _LINK.fullmatch(target) and target.removeprefix("mailto:") != shown:
            pieces.append(f" <{target}>")


def _tokens(source: str) -> Iterator[tuple[str, str]]:
    """Yield ("", text) and (tag's name, the tag as written). What is not shown is passed over."""
    at = 0
    while True:
        start = source.find("<", at)
        if start < 0:
            yield "", source[at:]
            return
        yield "", source[at:start]
        comment = source.startswith("<!--", start)
        match = _TAG.match(source, start)
        if match is None and source[start + 1 : start + 2] not in ("!", "?"):
            yield "", "<"
            at = start + 1
            continue
        end = source.find("-->" if comment else ">", start)
        if end < 0:  # what was opened and never closed hides the rest, as in a browser
            return
        at = end + (3 if comment else 1)
        if match is not None:
            name = match[1].lower()
            yield name, source[start:at]
            if name in _UNSEEN and not source.startswith("</", start) and not source.endswith("/>", start, at):
                closing = _UNSEEN[name].search(source, at)
                if closing is None:
                    return
                at = closing.start()
