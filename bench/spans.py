"""Spans: what can be recognised of a text in another one (cells, sentences, distinctive figures)."""

from __future__ import annotations

import re
from collections.abc import Iterable

LEAST_CHARACTERS = 16
LEAST_WORDS = 3
LEAST_DIGITS = 5
_BREAK = re.compile(r"[\n\t]| \| |(?<=[.!?;])\s|(?<=[a-z]):\s")
_CELL = re.compile(r"^[A-Z]{1,3}\d{1,7}: ")
_FIGURE = re.compile(r"(?<![\w.,-])-?\d[\d,]*(?:\.\d+)?(?![\w-]|[.,]\d)")
_ROUND = re.compile(r"\d0*")
_DATE = re.compile(r"\d{4}-\d\d(-\d\d)?([T ].*)?")


def spans(text: str) -> set[str]:
    """Return the cells and sentences of a text long enough to tell where they come from, and its distinctive figures.

    A figure is distinctive with at least five digits, and not round. White space and case do not count.
    """
    found = set()
    for piece in _BREAK.split(text):
        plain = _plain(_CELL.sub("", piece))
        if len(plain) >= LEAST_CHARACTERS and len(plain.split()) >= LEAST_WORDS and not _DATE.fullmatch(plain):
            found.add(plain)
    found.update(figures(text))
    return found


def figures(text: str) -> set[str]:
    """Return the distinctive figures of a text, without separators, signs and closing zeros."""
    found = set()
    for each in _FIGURE.findall(text):
        bare = each.replace(",", "").lstrip("-")
        if "." in bare:
            bare = bare.rstrip("0").rstrip(".")
        digits = bare.replace(".", "").lstrip("0")
        if len(digits) >= LEAST_DIGITS and not _ROUND.fullmatch(digits):
            found.add(bare)
    return found


def all_spans(texts: Iterable[str]) -> set[str]:
    """Return the spans of many texts."""
    found: set[str] = set()
    for text in texts:
        found |= spans(text)
    return found


def _plain(text: str) -> str:
    return " ".join(text.strip(" \t-*#>|'`").split()).casefold()
