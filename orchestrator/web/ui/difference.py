"""What changed between two versions: cells of a workbook, lines of a document or text. Pure, and bounded."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import SequenceMatcher
from typing import Literal

import msgspec

from orchestrator.web.ui import kit
from orchestrator.web.ui.content import said
from orchestrator.web.ui.tables import Table, cell
from services.documents.cells import Cell, Sheet, column_letters
from services.documents.reading import parse_workbook_text

MOST_CHANGES = 300
MOST_LINES = 3_000
_AROUND = 2


class CellChange(msgspec.Struct, frozen=True):
    """One cell that changed; empty texts where there was, or is, nothing. Formulas begin with `=`."""

    sheet: str
    ref: str
    before: str
    after: str


class LineChange(msgspec.Struct, frozen=True):
    """One line: `same`, `added`, `removed`, or `gap` where unchanged lines are left out."""

    kind: Literal["same", "added", "removed", "gap"]
    text: str


class Difference(msgspec.Struct, frozen=True):
    """What changed. `note` says what is not shown, or that nothing changed."""

    cells: tuple[CellChange, ...] = ()
    lines: tuple[LineChange, ...] = ()
    note: str = ""


def between(before: str, after: str, workbook: bool) -> Difference:
    """Return what changed from one rendered text to another."""
    if before == after:
        return Difference(note="The text of both versions is the same.")
    return workbooks(before, after) if workbook else texts(before, after)


def workbooks(before: str, after: str) -> Difference:
    """Return the cells that changed between two rendered workbooks, sheet by sheet, and sheets that came or went."""
    old = {sheet.name: sheet for sheet in parse_workbook_text(before)}
    new = {sheet.name: sheet for sheet in parse_workbook_text(after)}
    if not old and not new:
        return texts(before, after)
    found = [CellChange(name, "", "", "a new sheet") for name in new if name not in old]
    found += [CellChange(name, "", "a sheet that is gone", "") for name in old if name not in new]
    for name, sheet in new.items():
        found.extend(_cells(name, old[name].cells if name in old else {}, sheet))
    note = f"{len(found) - MOST_CHANGES:,} more cells changed." if len(found) > MOST_CHANGES else ""
    return Difference(tuple(found[:MOST_CHANGES]), (), note or ("" if found else "No cell changed."))


def _cells(name: str, old: Mapping[tuple[int, int], Cell], sheet: Sheet) -> list[CellChange]:
    found = []
    for row, column in sorted({*old, *sheet.cells}):
        was, now = _told(old.get((row, column))), _told(sheet.cells.get((row, column)))
        if was != now:
            found.append(CellChange(name, f"{column_letters(column)}{row}", was, now))
    return found


def _told(cell: Cell | None) -> str:
    if cell is None:
        return ""
    return said(cell) if cell.formula is None else f"={cell.formula} → {said(cell)}"


def texts(before: str, after: str) -> Difference:
    """Return the lines that changed between two texts, with a little of what is around them."""
    old, new = before.splitlines(), after.splitlines()
    if max(len(old), len(new)) > MOST_LINES:
        return Difference(note=f"More than {MOST_LINES:,} lines: download both versions to compare them.")
    found: list[LineChange] = []
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            found.extend(_same(old[i1:i2], first=i1 == 0, last=i2 == len(old)))
        else:
            found.extend(LineChange("removed", line) for line in old[i1:i2])
            found.extend(LineChange("added", line) for line in new[j1:j2])
    note = f"{len(found) - MOST_CHANGES:,} more lines." if len(found) > MOST_CHANGES else ""
    return Difference((), tuple(found[:MOST_CHANGES]), note)


def _same(lines: list[str], first: bool, last: bool) -> list[LineChange]:
    head = 0 if first else _AROUND
    tail = 0 if last else _AROUND
    if len(lines) <= head + tail + 1:
        return [LineChange("same", line) for line in lines]
    left = len(lines) - head - tail
    shown = [LineChange("same", line) for line in lines[:head]]
    shown.append(LineChange("gap", f"{left} lines unchanged"))
    return [*shown, *(LineChange("same", line) for line in lines[len(lines) - tail :])]


# -- drawn ----------------------------------------------------------------------------------------------------------------

_SIGNS = {"same": " ", "added": "+", "removed": "−", "gap": "⋯"}
_WORDS = {"added": "added", "removed": "removed"}


def draw(found: Difference, label: str) -> None:
    """Draw what changed."""
    with kit.box("stack", test="difference"):
        if found.cells:
            Table(label, ("Sheet", "Cell", "Before", "After"), [
                (c.sheet, cell(c.ref, "", "mono"), cell(c.before, "", "removed" if c.before else ""),
                 cell(c.after, "", "added" if c.after else ""))
                for c in found.cells
            ], kind="grid diff-cells")  # fmt: skip
        if found.lines:
            with kit.box("diff", tabindex="0", role="region", label=label):
                for line in found.lines:
                    with kit.box(f"diff-line {line.kind}"):
                        kit.text(_SIGNS[line.kind], "sign", label=_WORDS.get(line.kind))
                        kit.text(line.text, "said")
        if found.note:
            kit.text(found.note, "hint", "p")
