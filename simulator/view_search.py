"""Search within a view: plain words, every one of which must occur."""

from __future__ import annotations

from collections.abc import Iterable

from simulator.view_types import Hit

SNIPPET = 160
"""Characters of text shown around the first word found."""


def find(texts: Iterable[tuple[str, str, int, str, str]], query: str, limit: int) -> tuple[Hit, ...]:
    """Return the newest `limit` hits among `texts` of (kind, ref, at, title, text); none for a query without words."""
    words = query.casefold().split()
    if not words:
        return ()
    found = []
    for kind, ref, at, title, text in texts:
        folded = f"{title}\n{text}".casefold()
        if all(word in folded for word in words):
            found.append(Hit(kind, ref, at, title, _snippet(text, words)))
    found.sort(key=lambda hit: (-hit.at, hit.kind, hit.ref))
    return tuple(found[:limit])


def _snippet(text: str, words: list[str]) -> str:
    flat = " ".join(text.split())
    # Folding may change a text's length, so a place in the folded text is only roughly one in the text.
    places = [place for place in (flat.casefold().find(word) for word in words) if place >= 0]
    start = max(0, min(places, default=0) - SNIPPET // 4)
    return flat[start : start + SNIPPET]
