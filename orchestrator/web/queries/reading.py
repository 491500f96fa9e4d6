"""Files as text: what a version says, and how two versions differ. Bounded, and never more than text."""

from __future__ import annotations

import difflib
import threading
from collections import OrderedDict

import msgspec

from orchestrator.web.queries.files import Content
from simulator.ports import BlobStore, Renderer

MOST_BYTES = 64_000_000
MOST_LINES = 4_000
_KEPT = 32


class TextShown(msgspec.Struct, frozen=True):
    """A version as text: cells, paragraphs, pages. `total` characters there are; `more` says whether some follow."""

    name: str
    media_type: str
    text: str
    skip: int
    total: int
    more: bool


class DiffLine(msgspec.Struct, frozen=True):
    """A line of a difference: `same`, `added`, `removed`, or `skipped` (some equal lines that are left out)."""

    kind: str
    text: str


class Difference(msgspec.Struct, frozen=True):
    """How one version's text differs from another's. `cut` says that there is more than is shown."""

    name: str
    before: int
    after: int
    lines: tuple[DiffLine, ...]
    added: int
    removed: int
    cut: bool


class Rendered:
    """Renders files, and keeps the latest texts: two people who look at one workbook cost one rendering."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, str, str], str] = OrderedDict()
        self._lock = threading.Lock()

    def text(self, blobs: BlobStore, renderer: Renderer, content: Content) -> str:
        """Return a version's text. Whoever asks has passed the check for this version: the hash is only a shelf mark."""
        key = (content.blob.sha256, content.media_type, content.name)
        with self._lock:
            found = self._kept.get(key)
        if found is None:
            if content.blob.size > MOST_BYTES:
                found = f"The file has {content.blob.size} bytes, too many to be shown as text. Download it."
            else:
                found = renderer.render(blobs.get(content.blob.sha256), content.media_type, content.name)
            with self._lock:
                self._kept[key] = found
                while len(self._kept) > _KEPT:
                    self._kept.popitem(last=False)
        return found


def text(content: Content, whole: str, skip: int, chars: int) -> TextShown:
    """Return a part of a version's text."""
    part = whole[skip : skip + chars]
    return TextShown(content.name, content.media_type, part, skip, len(whole), skip + chars < len(whole))


def difference(content: Content, first: tuple[int, str], second: tuple[int, str], context: int = 3) -> Difference:
    """Return how the second text differs from the first; each is (version, text)."""
    old, new = (t.splitlines()[:MOST_LINES] for _, t in (first, second))
    lines: list[DiffLine] = []
    added = removed = 0
    for group in difflib.SequenceMatcher(None, old, new, autojunk=len(old) + len(new) > 1_000).get_grouped_opcodes(
        context
    ):
        lines.append(DiffLine("skipped", f"line {group[0][3] + 1}"))
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                lines.extend(DiffLine("same", line) for line in old[i1:i2])
                continue
            lines.extend(DiffLine("removed", line) for line in old[i1:i2])
            lines.extend(DiffLine("added", line) for line in new[j1:j2])
            removed += i2 - i1
            added += j2 - j1
    cut = any(t.count("\n") > MOST_LINES for _, t in (first, second))
    return Difference(content.name, first[0], second[0], tuple(lines), added, removed, cut)
