"""Text by others inside a prompt or a task page: it stays data and opens no section of its own.

Three forms, from the most exact to the most readable: a JSON line, a quoted block, one line. In none of them can a text
begin a line of the page, and none of them hides a character: what has no width or turns the direction of writing is
written out.
"""

from __future__ import annotations

import json
import re
from typing import Any

from simulator.canonical import REPLACEMENT, canonical, clean_text

_BREAKS = re.compile("[\x85\u2028\u2029]")
_WRAPPED = re.compile(r"[ \t]*\n\s*|\t")
_HIDDEN = re.compile(
    "[\x7f-\x84\x86-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\U000e0001-\U000e007f]"
)
"""Format and control characters, but for the two joiners that scripts and emoji need."""
_ESCAPED = re.compile(f"{_BREAKS.pattern}|{_HIDDEN.pattern}")


def json_line(value: Any) -> str:
    """Return canonical JSON on one line, with every hidden character escaped: the same value, nothing unseen."""
    return escaped(canonical(value).decode())


def escaped(text: str) -> str:
    """Return JSON text with every hidden character inside its strings escaped: the same value."""
    return text if text.isascii() else _ESCAPED.sub(lambda found: json.dumps(found[0])[1:-1], text)


def one_line(text: str) -> str:
    """Return a text on one line: a break with the blanks around it becomes one blank, hidden characters are marked.

    Other blanks stay as they are: a path may hold two in a row.
    """
    return _WRAPPED.sub(" ", _visible(text)).strip()


def quoted(text: str) -> str:
    """Return a text as a Markdown quote, each of its lines behind `> `, hidden characters marked."""
    return "\n".join(f"> {line}".rstrip() for line in _visible(text).strip().split("\n"))


def unquoted(text: str) -> str:
    """Return what `quoted` was given, but for its outer blanks and the hidden characters."""
    return "\n".join(line.removeprefix(">").removeprefix(" ") for line in text.split("\n"))


def _visible(text: str) -> str:
    cleaned = clean_text(text)
    return cleaned if cleaned.isascii() else _HIDDEN.sub(REPLACEMENT, _BREAKS.sub("\n", cleaned))
