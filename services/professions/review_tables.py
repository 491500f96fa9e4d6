"""The reviewer's eye on workbooks and CSVs: figures, rows, totals, formulas, sources."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from services.documents.cells import Cell, Sheet, column_letters
from services.documents.recalculation import Calculator, tall_blocks
from services.professions.amounts import number, same
from services.professions.base import CSV, Deliverable, Table
from services.professions.faults import Case, Fault, listed
from services.professions.rendered import grid, sheets_of
from services.professions.views import csv_rows, header_of

_EVIDENCE = ("source", "reason")
_MOST_CELLS = 8


class Grid(msgspec.Struct, frozen=True):
    """A sheet or CSV as text: `rows[0]` is the header. `formulas` holds the places (row, column from 1) of formulas."""

    name: str
    rows: Sequence[Sequence[str]]
    formulas: frozenset[tuple[int, int]] = frozenset()
    cut: bool = False

    @property
    def header(self) -> list[str]:
        """Return the header words in lower case."""
        return header_of(self.rows)

    def records(self, closing: bool = False) -> list[tuple[int, dict[str, str]]]:
        """Return (row number, record) of every row that holds a record; a sheet's `Total` rows only if `closing`."""
        header = self.header
        return [
            (place, {key: cell.strip() for key, cell in zip(header, [*row, *[""] * len(header)], strict=False)})
            for place, row in enumerate(self.rows[1:], 2)
            if any(cell.strip() for cell in row) and (closing or not self.name or not _is_total(row))
        ]

    def at(self, row: int, column: str) -> str:
        """Return where a cell is, as a person would say it."""
        letters = column_letters(self.header.index(column) + 1)
        return f"{self.name}!{letters}{row}" if self.name else f"line {row}, {column}"


def faults(case: Case, deliverable: Deliverable, text: str) -> list[Fault]:
    """Return what is wrong with a rendered workbook or CSV."""
    file, found = deliverable.name, list[Fault]()
    tables = [table for table in case.outcome.tables if table.file == file]
    if deliverable.media_type == CSV:
        grids = [Grid("", csv_rows(text))]
    else:
        sheets = sheets_of(text)
        calculator = Calculator(sheets)
        grids = [_grid(sheet, calculator) for sheet in sheets]
        found += _summary_faults(case, file, grids)
        for sheet in sheets:
            found += _formula_faults(sheet, calculator, {each.name.casefold(): each for each in grids}, file)
    for table in tables:
        grid_of = _find(table, grids, [other.sheet.casefold() for other in tables])
        if grid_of is not None:
            found += _table_faults(table, case.outcome.figures, grid_of, file)
        elif table.rows:
            found.append(Fault("high", file, table.sheet, _no_sheet(table), "supplement"))
    return found


def _grid(sheet: Sheet, calculator: Calculator) -> Grid:
    formulas = frozenset(place for place, cell in sheet.cells.items() if cell.formula is not None)
    return Grid(sheet.name, grid(sheet, calculator), formulas, sheet.more_rows > 0 or sheet.more_cells > 0)


def _find(table: Table, grids: Sequence[Grid], names: Sequence[str]) -> Grid | None:
    """Return the grid that holds a table: by name, else the renamed one that shares most of its rows."""
    for each in grids:
        if each.name.casefold() == table.sheet.casefold() or (not table.sheet and len(grids) == 1):
            return each
    wanted = set(table.key)
    renamed = [
        each
        for each in grids
        if each.name.casefold() not in (*names, "summary") and wanted <= set(each.header) and _fits(table, each)
    ]
    return max(renamed, key=lambda each: _shared(table, each), default=None)


def _fits(table: Table, each: Grid) -> bool:
    return set(table.columns) <= set(each.header) if table.rows else not each.records()


def _shared(table: Table, each: Grid) -> int:
    expected = Counter(table.keys())
    return sum((expected & Counter(_key(table, record) for _, record in each.records())).values())


def _no_sheet(table: Table) -> str:
    name = f"the sheet {table.sheet!r}" if table.sheet else "the table"
    return f"{name} with the columns {', '.join(table.columns)} and {len(table.rows)} rows is missing"


def _key(table: Table, record: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(record.get(column, "") for column in table.key)


# -- the summary ------------------------------------------------------------------------------------------------------


def _summary_faults(case: Case, file: str, grids: Sequence[Grid]) -> Iterator[Fault]:
    summary = next((each for each in grids if each.name.casefold() == "summary"), None)
    if summary is None or not {"item", "value", "source"} <= set(summary.header):
        text = "a first sheet `Summary` with the header Item, Value, Source is missing"
        yield Fault("high", file, "Summary", text, "supplement")
        return
    stated = {record["item"].casefold(): (place, record) for place, record in summary.records(closing=True)}
    place, record = stated.get("period", (1, {}))
    if record.get("value", case.period) != case.period:
        text = f"the period is {record['value']}, the work is for {case.period}"
        yield Fault("high", file, summary.at(place, "value"), text)
    value_column = summary.header.index("value") + 1
    for label, expected in case.outcome.figures.items():
        if label.casefold() not in stated:
            yield Fault("high", file, "Summary", f"the figure {label} is missing; it is {expected}", "supplement")
            continue
        place, record = stated[label.casefold()]
        where, value = summary.at(place, "value"), record.get("value", "")
        if not same(value, expected, _places(expected)):
            text = f"{label} is {value or 'empty'}, recomputed it is {expected}{case.slip(label, value)}"
            yield Fault("high", file, where, text)
        if label in case.profession.live and (place, value_column) not in summary.formulas and number(expected) != 0:
            yield Fault("medium", file, where, f"{label} is a pasted value; it must be a live formula over its rows")
        if not record.get("source"):
            text = f"{label} has no Source; name the file or the records it rests on"
            yield Fault("medium", file, summary.at(place, "source"), text, "supplement")


def _places(expected: str) -> int | None:
    """Return how many decimals a figure is stated with: workbooks keep more of a rate than people write."""
    whole, point, decimals = expected.partition(".")
    return len(decimals) if point and number(expected) is not None else None


# -- formulas ---------------------------------------------------------------------------------------------------------


def _formula_faults(sheet: Sheet, calculator: Calculator, grids: Mapping[str, Grid], file: str) -> Iterator[Fault]:
    """Yield formulas whose stored result is not what they give, and formulas that pass over rows of a table."""
    missed: dict[str, list[str]] = {}
    for cell in sheet.cells.values():
        if cell.formula is None:
            continue
        where = f"{sheet.name}!{cell.ref}"
        for passed in _rows_missed(cell, sheet, grids):
            missed.setdefault(passed, []).append(where)
        fresh = calculator.result(sheet, cell)
        if cell.value is not None and fresh is not None and not _agrees(str(cell.value), str(fresh)):
            text = f"the stored value {cell.value} is not what ={cell.formula} gives, {fresh}"
            yield Fault("high", file, where, text)
    for passed, places in missed.items():
        yield Fault("high", file, listed(places, 3), f"the formula's range {passed}")


def _agrees(stored: str, fresh: str) -> bool:
    """Return whether two results are equal to a millionth: stored ones went through binary fractions."""
    return same(stored, fresh, 6)


def _rows_missed(cell: Cell, sheet: Sheet, grids: Mapping[str, Grid]) -> Iterator[str]:
    for block in tall_blocks(cell.formula or ""):
        table = grids.get((block.sheet or sheet.name).casefold())
        if table is None or table.cut or table.name.casefold() == "summary":
            continue
        column = block.left - 1
        rows = [
            place
            for place, row in enumerate(table.rows[1:], 2)
            if any(text.strip() for text in row) and not _is_total(row)
        ]
        inside = [place for place in rows if block.top <= place <= block.bottom]
        left_out = [place for place in rows if place not in inside and place != cell.row]
        filled = [place for place in left_out if column < len(table.rows[place - 1]) and table.rows[place - 1][column]]
        if inside and filled:
            name = "row" if len(filled) == 1 else "rows"
            yield f"leaves out {name} {listed([str(place) for place in filled])} of {table.name}"


# -- rows -------------------------------------------------------------------------------------------------------------


def _table_faults(table: Table, figures: Mapping[str, str], each: Grid, file: str) -> Iterator[Fault]:
    lost = [column for column in table.columns if column not in each.header] if table.rows else []
    if any(column in table.key for column in lost):
        yield Fault(
            "high", file, each.name, f"the column {listed(lost)} is missing, so no row can be told", "supplement"
        )
        return
    if lost:
        yield Fault("medium", file, each.name, f"the column {listed(lost)} is missing", "supplement")
    records = each.records()
    if not each.cut:
        yield from _row_faults(table, records, each, file)
    yield from _cell_faults(table, records, each, file)
    yield from _evidence_faults(records, each, file)
    yield from _total_faults(table, figures, each, file)


def _row_faults(
    table: Table, records: Sequence[tuple[int, Mapping[str, str]]], each: Grid, file: str
) -> Iterator[Fault]:
    expected, found = Counter(table.keys()), Counter(_key(table, record) for _, record in records)
    sheet = each.name or "the table"
    missing = [" ".join(key) for key in (expected - found).elements()]
    if missing:
        rows = "row is" if len(missing) == 1 else "rows are"
        yield Fault("high", file, each.name, f"{len(missing)} {rows} missing from {sheet}: {listed(missing)}")
    surplus = found - expected
    twice = [" ".join(key) for key in surplus if key in expected]
    foreign = [" ".join(key) for key in surplus if key not in expected]
    if twice:
        yield Fault("high", file, each.name, f"listed more often than in the input, on {sheet}: {listed(twice)}")
    if foreign:
        yield Fault("high", file, each.name, f"does not belong on {sheet}: {listed(foreign)}")


def _cell_faults(
    table: Table, records: Sequence[tuple[int, Mapping[str, str]]], each: Grid, file: str
) -> Iterator[Fault]:
    """Yield cells that differ from what the row must hold, and pasted values where formulas belong."""
    waiting: dict[tuple[str, ...], list[Mapping[str, str]]] = {}
    for row in table.rows:
        waiting.setdefault(tuple(row[column] for column in table.key), []).append(row)
    shown, pasted = 0, []
    for place, record in records:
        candidates = waiting.get(_key(table, record))
        if not candidates:
            continue
        wanted = min(candidates, key=lambda row: len(_differences(row, record)))
        candidates.remove(wanted)
        for column in _differences(wanted, record):
            shown += 1
            if shown <= _MOST_CELLS:
                text = f"{' '.join(_key(table, record))}: {column} is {record[column] or 'empty'}, it must be "
                text += (wanted[column] or "empty") + _slip(record[column], wanted[column])
                yield Fault("high" if column in table.money else "medium", file, each.at(place, column), text)
        pasted += [
            each.at(place, column)
            for column in table.live
            if each.name and column in each.header and (place, each.header.index(column) + 1) not in each.formulas
        ]
    if shown > _MOST_CELLS:
        yield Fault("high", file, each.name, f"{shown - _MOST_CELLS} more cells differ from the inputs")
    if pasted:
        yield Fault("medium", file, listed(pasted, 3), "a pasted value where a live formula belongs")


def _differences(wanted: Mapping[str, str], record: Mapping[str, str]) -> list[str]:
    return [
        column for column, text in wanted.items() if column in record and not same(record[column], text, _places(text))
    ]


def _slip(found: str, wanted: str) -> str:
    """Return what kind of slip explains a wrong amount, if one does."""
    a, b = number(found), number(wanted)
    if a is None or b is None:
        return ""
    if a == -b:
        return " (the sign is flipped)"
    digits = [sorted(text.replace(".", "").replace("-", "").strip("0")) for text in (found, wanted)]
    return " (digits are swapped)" if digits[0] == digits[1] else ""


def _evidence_faults(records: Sequence[tuple[int, Mapping[str, str]]], each: Grid, file: str) -> Iterator[Fault]:
    for column in _EVIDENCE:
        empty = [f"row {place}" for place, record in records if column in record and not record[column]]
        if empty:
            yield Fault("medium", file, each.name, f"the column {column} is empty in {listed(empty)}", "supplement")


def _total_faults(table: Table, figures: Mapping[str, str], each: Grid, file: str) -> Iterator[Fault]:
    """Yield cells of closing rows that do not tie to the rows above."""
    for place, row in enumerate(each.rows[1:], 2):
        if not (_is_total(row) and row):
            continue
        for column, label in table.totals.items():
            text = row[each.header.index(column)] if column in each.header else ""
            if text and not same(text, figures[label], 2):
                yield Fault(
                    "high", file, each.at(place, column), f"the total {text} does not tie to its rows, {figures[label]}"
                )


def _is_total(row: Sequence[str]) -> bool:
    return bool(row) and row[0].strip().casefold().startswith("total")
