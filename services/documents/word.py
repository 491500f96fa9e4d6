"""Word documents as text: paragraphs, and tables as `| a | b |`.

Read from the XML itself, as workbooks are: in constant depth and memory, which python-docx's trees cannot promise.
"""

from __future__ import annotations

from collections.abc import Iterator

from services.documents.archive import Archive
from services.documents.limits import Limits
from services.documents.workbook import parse

_MAIN = "word/document.xml"


def word_text(archive: Archive, limits: Limits) -> str:
    """The body in order, then footnotes, comments, headers and footers under a heading of their own."""
    notes = []
    if any(name.lower().endswith("vbaproject.bin") for name in archive.names):
        notes.append("[note: the file holds macros; they were not read]")
    lines = _lines(archive, _MAIN, limits)
    for start in ("footnotes", "comments", "header", "footer"):
        found: list[str] = []
        for name in sorted(archive.names):
            if name.startswith(f"word/{start}") and name.endswith(".xml") and "/" not in name[5:]:
                found += [line for line in _lines(archive, name, limits) if line not in found]
        lines += ["", f"[{start.capitalize()}]", *found] if any(found) else []
    return "\n".join([*notes, *lines]) + "\n"


def _lines(archive: Archive, part: str, limits: Limits) -> list[str]:
    reader = _Reader()
    parse(archive.read(part), part, reader.start, reader.end)
    lines = list(reader.lines())
    if len(lines) > limits.paragraphs:
        more = len(lines) - limits.paragraphs
        return [*lines[: limits.paragraphs], f"[... {more:,} more paragraphs not shown]"]
    return lines


class _Reader:
    """Collects paragraphs, and rows of tables; a table in a cell is read into that cell. Deleted text is left out."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._runs: list[str] = []
        self._style = ""
        self._cell: list[str] = []
        self._row: list[str] = []
        self._depth = 0
        self._deleted = 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if tag == "p":
            self._style = ""
        elif tag == "tbl":
            self._depth += 1
        elif tag == "pStyle":
            self._style = next((value for key, value in attributes.items() if key.endswith("val")), "")
        elif tag == "tab":
            self._runs.append("\t")
        elif tag in ("br", "cr"):
            self._runs.append("\n")
        elif tag == "tc" and self._depth == 1:
            self._cell.clear()
        elif tag in ("del", "moveFrom"):
            self._deleted += 1

    def end(self, tag: str, text: str) -> None:
        if tag == "t":
            if not self._deleted:
                self._runs.append(text)
        elif tag == "p":
            self._paragraph("".join(self._runs))
            self._runs.clear()
        elif tag == "tc" and self._depth == 1:
            self._row.append(" ".join(self._cell).replace("\n", " ").replace("|", "\\|"))
        elif tag == "tr" and self._depth == 1:
            self._lines.append(f"| {' | '.join(self._row)} |")
            self._row.clear()
        elif tag == "tbl":
            self._depth -= 1
        elif tag in ("del", "moveFrom"):
            self._deleted -= 1

    def _paragraph(self, text: str) -> None:
        text = text.strip()
        if self._depth:
            self._cell += [text] if text else []
            return
        level = self._style.removeprefix("Heading").strip()
        if self._style.startswith("Heading") and level.isascii() and level.isdigit() and len(level) == 1 and text:
            text = f"{'#' * max(1, int(level))} {text}"
        elif self._style == "Title" and text:
            text = f"# {text}"
        elif self._style.startswith("List") and text:
            text = f"- {text}"
        self._lines.append(text)

    def lines(self) -> Iterator[str]:
        """Paragraphs and rows; of several empty lines in a row only one."""
        last = ""
        for line in self._lines:
            if line or last:
                yield line
            last = line
