"""Checks of memos, notes and reports: figures stated, records cited, nothing talked away, brevity."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from .reading import Document
from .tables import Verdict
from .values import agrees, number, numbers, places_of, rounded, words

_NEAR = 80
"""Characters between a label and its value, at most."""
_MOST_NAMED = 0.9
"""A document that names more than this share of all other records points to nothing."""
_ENOUGH = 5
_RESOLVED = re.compile(r"\b(resolved|cleared|settled|closed out|no longer open)\b", re.IGNORECASE)
_DENIED = re.compile(
    r"\b(not|never|cannot be|nothing|none|no|to be|until|unless|before)\b[\w\s,-]{0,40}"
    r"\b(resolved|cleared|settled|closed out)\b|\bun(resolved|cleared|settled)\b",
    re.IGNORECASE,
)


def states(document: Document, params: Mapping[str, Any]) -> Verdict:
    """Whether every one of `figures` {label: value} is stated, in whatever words, and none with another value.

    Stated: the label and, after it in the same line or row, the value. Contradicted: a line `Label: other value`.
    `labels` are all labels there are, so that a label inside a longer one is not taken for it.
    """
    labels: Sequence[str] = params["labels"]
    for label, value in params["figures"].items():
        wrong = next((said for line in document.lines if (said := _contradiction(line, label, value))), "")
        if wrong:
            return False, f"{label} is stated as {wrong}, it must be {value}"
        if not any(_says(line, label, value, labels) for line in document.lines):
            return False, f"{label} ({value}) is not stated"
    return True, f"{len(params['figures'])} figures are stated"


def _contradiction(line: str, label: str, value: str) -> str:
    """Return the other value that a line `Label: value` gives, if it gives one of the same kind."""
    bare = re.sub(r"[*_`#|]|^[-+\N{BULLET}]\s", " ", line).strip()
    found = re.match(rf"{_pattern(label)}\s*[:=]\s*(\S.*)", bare, re.IGNORECASE)
    if found is None:
        return ""
    said = found[1].strip()
    if number(value) is None:
        few = 0 < len(said.split()) <= len(value.split())
        return said if few and words(said) != words(value) else ""
    first = said.split("(")[0].strip().rstrip(".;,") if not said.startswith("(") else said
    return said if number(first) is not None and not agrees(first, value) else ""


def _says(line: str, label: str, value: str, labels: Sequence[str]) -> bool:
    longer = [other for other in labels if len(other) > len(label) and words(label) in words(other)]
    covered = [found.span() for other in longer for found in re.finditer(_pattern(other), line, re.IGNORECASE)]
    for found in re.finditer(rf"(?<![\w-]){_pattern(label)}(?![\w-])", line, re.IGNORECASE):
        if any(start <= found.start() and found.end() <= end for start, end in covered):
            continue
        if _follows(line[found.end() : found.end() + _NEAR + len(value)], value):
            return True
    return False


def _follows(text: str, value: str) -> bool:
    wanted = number(value)
    if wanted is None:
        return re.search(rf"(?<![\w-]){_pattern(value)}(?![\w-])", text, re.IGNORECASE) is not None
    places = places_of(value)
    return any(
        rounded(found, places) == rounded(wanted, places) and (places or found == found.to_integral_value())
        for found in numbers(text)
    )


def _pattern(text: str) -> str:
    return r"\s+".join(re.escape(word) for word in text.split())


def cites(document: Document, params: Mapping[str, Any]) -> Verdict:
    """Whether each of `keys` is named as a word of its own, and the document is not a list of nearly all `others`."""
    text = "\n".join(document.lines)
    missing = [key for key in params["keys"] if not _names(text, key)]
    if missing:
        return False, f"{len(missing)} of {len(params['keys'])} records are not cited, the first is {missing[0]}"
    others: Sequence[str] = params["others"]
    named = sum(_names(text, key) for key in others)
    if len(others) >= _ENOUGH and named > _MOST_NAMED * len(others):
        return False, "it lists nearly every record there is, so it points to none"
    return True, f"{len(params['keys'])} records are cited"


def _names(text: str, key: str) -> bool:
    return re.search(rf"(?<![\w-]){_pattern(key)}(?![\w]|-\w)", text, re.IGNORECASE) is not None


def not_talked_away(document: Document, params: Mapping[str, Any]) -> Verdict:
    """Whether none of `keys`, all of them open, is called resolved in its own line or by the heading above it."""
    under = False
    for line in document.lines:
        if re.match(r"#{1,6} ", line):
            under = _claims(line)
            continue
        if under or _claims(line):
            for key in params["keys"]:
                if _names(line, key):
                    return False, f"{key} is called resolved, and it is open"
    return True, "no open record is called resolved"


def _claims(line: str) -> bool:
    return bool(_RESOLVED.search(line)) and not _DENIED.search(line)


def brief(document: Document, params: Mapping[str, Any]) -> Verdict:
    """Whether the prose has at most `words` words."""
    count = sum(len(line.split()) for line in document.lines)
    return count <= params["words"], f"{count} words, at most {params['words']}"
