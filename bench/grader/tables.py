"""Checks of workbooks and CSVs: figures, rows, live formulas, sources."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from .reading import Document, Grid
from .values import agrees, number, words

Verdict = tuple[bool, str]
_HEADER_WITHIN = 10
_REFERENCE = re.compile(r"(?:'[^']+'|[^\W\d][\w.]*)!|\$?[A-Za-z]{1,3}\$?[1-9]\d*|[A-Za-z]{1,3}:[A-Za-z]{1,3}")


def figure(document: Document, params: Mapping[str, Any]) -> Verdict:
    """Whether the figure `label` is stated with `value` on the summary, and with no other value there."""
    label, value = str(params["label"]), str(params["value"])
    stated = [text for _, _, _, text in _statements(document, label)]
    if not stated:
        return False, f"{label} is not stated"
    wrong = [text for text in stated if not agrees(text, value)]
    if wrong:
        return False, f"{label} is {wrong[0] or 'empty'}, it must be {value}"
    return True, f"{label} is {stated[0]}"


def live(document: Document, params: Mapping[str, Any]) -> Verdict:
    """Whether the right ones among `figures` are formulas over cells, and at least half of all are right.

    A wrong figure fails its own criterion; here it only may not be one of too many.
    """
    right, pasted = 0, []
    figures: Mapping[str, str] = params["figures"]
    for label, value in figures.items():
        found = [(grid, r, c) for grid, r, c, text in _statements(document, label) if agrees(text, value)]
        right += bool(found)
        if found and not any(_over_cells(grid.formulas.get((r, c), "")) for grid, r, c in found):
            pasted.append(label)
    if 2 * right < len(figures):
        return False, f"only {right} of {len(figures)} sums and differences are right"
    if pasted:
        return False, f"pasted values, no formulas over cells: {', '.join(pasted[:5])}"
    return True, f"{right} figures are live formulas"


def sources(document: Document, params: Mapping[str, Any]) -> Verdict:
    """Whether each right one of `figures` has something in the column `Source` beside it, and at least half are right."""
    right, without = 0, []
    figures: Mapping[str, str] = params["figures"]
    for label, value in figures.items():
        for grid, r, c, text in _statements(document, label)[:1]:
            if not agrees(text, value):
                continue
            header = [words(cell) for cell in grid.rows[_header_row(grid, ("value",))]] if grid.rows else []
            at = header.index("source") if "source" in header else c + 1
            right += 1
            if at >= len(grid.rows[r]) or not grid.rows[r][at].strip():
                without.append(label)
    if 2 * right < len(figures):
        return False, f"only {right} of {len(figures)} figures are right"
    return (False, f"no source beside {', '.join(without[:5])}") if without else (True, "every figure names its source")


def _statements(document: Document, label: str) -> list[tuple[Grid, int, int, str]]:
    """Return (grid, row, column, text) of the values stated for a label: on a summary if there is one, else on any sheet."""
    found = []
    for grid in document.grids:
        at = _value_column(grid)
        for r, row in enumerate(grid.rows):
            for c, cell in enumerate(row):
                if words(cell).rstrip(":").strip() != words(label) or (at is not None and c >= at):
                    continue
                place = at if at is not None else c + 1
                found.append((at is not None, (grid, r, place, row[place] if place < len(row) else "")))
    summary = [each for on_summary, each in found if on_summary]
    return summary or [each for _, each in found if each[3].strip() and each[0].name]


def _value_column(grid: Grid) -> int | None:
    """Return the column of values if the grid is a summary: a header with `value` and one of `item`, `figure`, `label`."""
    for row in grid.rows[: _HEADER_WITHIN if grid.name else 1]:
        header = [words(cell) for cell in row]
        if "value" in header and any(name in header for name in ("item", "figure", "label")):
            return header.index("value")
    return None


def _over_cells(formula: str) -> bool:
    return formula.startswith("=") and _REFERENCE.search(formula) is not None


# -- rows -------------------------------------------------------------------------------------------------------------


def rows(document: Document, params: Mapping[str, Any]) -> Verdict:
    """Whether a sheet holds exactly these `rows`, in any order: keys, cells, nothing missing, nothing foreign.

    `sheet` names it; a renamed one is found by its header. `key` are the columns that tell rows apart. Further columns
    and closing `Total` rows may be there.
    """
    key, expected = tuple(params["key"]), [dict(row) for row in params["rows"]]
    columns = tuple(dict.fromkeys((*key, *(column for row in expected for column in row))))
    grid = _grid_of(document, str(params["sheet"]), key, columns, expected)
    if grid is None:
        return False, f"no sheet with the columns {', '.join(columns)}"
    found = _records(grid, key)
    lost = [column for column in columns if column not in found[0]] if found else list(columns)
    if lost:
        return False, f"no column {lost[0]}" if found else "the sheet has no rows"
    return _compare(key, expected, found)


def _compare(key: Sequence[str], expected: list[dict[str, str]], found: list[dict[str, str]]) -> Verdict:
    waiting: dict[tuple[str, ...], list[dict[str, str]]] = {}
    for row in found:
        waiting.setdefault(_key(row, key), []).append(row)
    differing = ""
    for wanted in expected:
        candidates = waiting.get(_key(wanted, key), [])
        if not candidates:
            return False, f"the row {' '.join(wanted[column] for column in key)} is missing"
        best = min(candidates, key=lambda row: len(_differences(wanted, row)))
        candidates.remove(best)
        for column in _differences(wanted, best):
            place = " ".join(wanted[name] for name in key)
            differing = differing or f"{place}: {column} is {best[column] or 'empty'}, it must be {wanted[column] or 'empty'}"
    surplus = [" ".join(name) for name, left in waiting.items() for _ in left]
    if surplus:
        return False, f"{len(surplus)} rows do not belong there, the first is {surplus[0]}"
    return (False, differing) if differing else (True, f"{len(expected)} rows agree")


def _differences(wanted: Mapping[str, str], row: Mapping[str, str]) -> list[str]:
    return [column for column, text in wanted.items() if not agrees(row.get(column, ""), text)]


def _key(row: Mapping[str, str], key: Sequence[str]) -> tuple[str, ...]:
    return tuple(_plain(row.get(column, "")) for column in key)


def _plain(text: str) -> str:
    """Return a key for comparing: an account may be stored as the number 1000 or as the text 1000."""
    value = number(text) if not text.startswith("0") else None
    return f"{value.normalize():f}" if value is not None else words(text)


def _grid_of(
    document: Document, sheet: str, key: Sequence[str], columns: Sequence[str], expected: Sequence[Mapping[str, str]]
) -> Grid | None:
    named = [grid for grid in document.grids if words(grid.name) == words(sheet)]
    with_header = [g for g in named if set(key) <= set(_header(g, key))]
    if with_header:
        return with_header[0]
    wanted = {_key(row, key) for row in expected}
    others = [grid for grid in document.grids if set(columns) <= set(_header(grid, key))]
    return max(
        others, key=lambda grid: len(wanted & {_key(row, key) for row in _records(grid, key)}), default=None
    )  # fmt: skip


def has_columns(grid: Grid, columns: Sequence[str]) -> bool:
    """Whether a grid has a header with these columns and at least one record below it."""
    return set(columns) <= set(_header(grid, columns)) and bool(_records(grid, columns))


def _header_row(grid: Grid, key: Sequence[str]) -> int:
    for place, row in enumerate(grid.rows[:_HEADER_WITHIN]):
        if {words(name) for name in key} <= {words(cell) for cell in row}:
            return place
    return 0


def _header(grid: Grid, key: Sequence[str]) -> list[str]:
    return [words(cell) for cell in grid.rows[_header_row(grid, key)]] if grid.rows else []


def _records(grid: Grid, key: Sequence[str]) -> list[dict[str, str]]:
    """Return the rows below the header as {column: text}; empty rows and closing `Total` rows are none."""
    header, start = _header(grid, key), _header_row(grid, key) + 1
    records = []
    for row in grid.rows[start:]:
        cells = [cell.strip() for cell in row]
        if not any(cells) or (grid.name and words(cells[0]).startswith("total")):
            continue
        padded = cells + [""] * (len(header) - len(cells))
        records.append({name: text for name, text in zip(header, padded, strict=False) if name})
    return records
