"""A deliverable as parsed content: what an earlier result says, whether read from bytes or from rendered text."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from services.professions.amounts import from_cell


class PriorView(Protocol):
    """A previous deliverable of the same kind, or an accepted result of another kind."""

    def figure(self, label: str) -> str | None:
        """Return the stated value of a figure as text, or None where it is not stated."""
        ...

    def table(self, sheet: str, columns: Sequence[str] = (), besides: Sequence[str] = ()) -> list[dict[str, str]]:
        """Return the records of a sheet as {header: text}; empty where there is none.

        Each record has the `columns`; they also find a renamed sheet, which is none of `besides`. A CSV has one table,
        under any name.
        """
        ...


class View:
    """A `PriorView` over parsed cells. Header words compare without regard to case."""

    def __init__(self, figures: Mapping[str, str], tables: Mapping[str, Sequence[Sequence[str]]], single: bool) -> None:
        self._figures = {key.casefold(): value for key, value in figures.items()}
        self._tables = tables
        self._single = single

    def figure(self, label: str) -> str | None:
        """Return the stated value of a figure, or None."""
        return self._figures.get(label.casefold())

    def table(self, sheet: str, columns: Sequence[str] = (), besides: Sequence[str] = ()) -> list[dict[str, str]]:
        """Return the records of a sheet by its name, else of the only other sheet with this header.

        Every record has the `columns` asked for; a sheet that lacks one has no records.
        """
        named = [rows for title, rows in self._tables.items() if self._single or title.casefold() == sheet.casefold()]
        if not named and columns:
            wanted = {column.casefold() for column in columns}
            not_it = {title.casefold() for title in besides}
            others = [rows for title, rows in self._tables.items() if title.casefold() not in not_it]
            named = [rows for rows in others if wanted <= set(header_of(rows))]
        if len(named) != 1 or not {column.casefold() for column in columns} <= set(header_of(named[0])):
            return []
        return as_records(named[0], closing=self._single)


def header_of(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the header words of a sheet in lower case; a sheet without rows has none."""
    return [cell.strip().casefold() for cell in rows[0]] if rows else []


def as_records(rows: Sequence[Sequence[str]], closing: bool = False) -> list[dict[str, str]]:
    """Return the rows below the header as {header: text}, without empty rows.

    Rows that start with `Total` close a sheet and are left out unless `closing`.
    """
    header = header_of(rows)
    records = []
    for row in rows[1:]:
        cells = [cell.strip() for cell in row]
        if any(cells) and (closing or not cells[0].casefold().startswith("total")):
            padded = cells + [""] * (len(header) - len(cells))
            records.append({key: value for key, value in zip(header, padded, strict=False) if key})
    return records


def view_from_csv(text: str) -> View:
    """Return a view of a CSV deliverable; a `figure,value` table also answers `figure`."""
    rows = csv_rows(text)
    return View(_figures(rows, "figure"), {"": rows}, single=True)


def csv_rows(text: str) -> list[list[str]]:
    """Return the rows of a CSV text that somebody wrote; what no CSV reader takes ends it."""
    rows = []
    try:
        for row in csv.reader(io.StringIO(text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n"))):
            rows.append(row)
    except csv.Error:
        return rows
    return rows


def view_from_workbook(sheets: Mapping[str, Iterable[Sequence[object]]]) -> View:
    """Return a view of a workbook given as {sheet name: rows of cell values, header first}.

    Values are what openpyxl gives with `data_only=True`, or texts.
    """
    texts = {title: [[from_cell(cell) for cell in row] for row in rows] for title, rows in sheets.items()}
    summary = next((rows for title, rows in texts.items() if title.casefold() == "summary"), [])
    return View(_figures(summary, "item"), texts, single=False)


def _figures(rows: Sequence[Sequence[str]], label: str) -> dict[str, str]:
    header = header_of(rows)
    if label not in header or "value" not in header:
        return {}
    at, value = header.index(label), header.index("value")
    return {row[at].strip(): row[value].strip() for row in rows[1:] if len(row) > max(at, value)}
