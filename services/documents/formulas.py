"""Recalculate a workbook's formulas: standard library only, so that a grader can carry a copy.

    evaluate({"Summary": {"A1": "Total", "B1": "=SUM(Data!A1:A9)"}, "Data": {"A1": Decimal("12.30")}})

Takes cells by sheet and reference; text that begins with `=` is a formula. Gives every cell's value: `Decimal`, `str`,
`bool`, `None`, or `Problem` with a spreadsheet's error code (`#DIV/0!`, `#REF!`, `#VALUE!`, `#NUM!`, `#CYCLE!`, and
`#NAME?` for a function or syntax that is not known here). Numbers are decimal: 0.1 + 0.2 is 0.3. Never raises on any
formula; the work of a hostile workbook is bounded.

Knows + - * / ^ % &, comparisons, references and ranges across sheets, and the functions in `formula_functions.py`.

A frozen task carries the modules in `CARRIED` beside its grader (bench/layout.py), so they import each other relatively
and nothing else but the standard library.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from decimal import Decimal, DecimalException, localcontext

from .formula_parser import Block, Parser, place
from .formula_values import Fault, Problem, Range, Value, exact, number

__all__ = ["CARRIED", "Book", "Formula", "Problem", "Value", "evaluate"]

CARRIED = ("formulas.py", "formula_functions.py", "formula_parser.py", "formula_values.py")
# Cells that all ranges together may read before the rest is `#NUM!`.
_MOST_READ = 5_000_000


@dataclass(frozen=True)
class Formula:
    """A cell to be worked out; `text` is without its `=`."""

    text: str


Raw = Value | int | float | Formula
_Where = tuple[str, int, int]


def evaluate(sheets: Mapping[str, Mapping[str, Value | int | float]]) -> dict[str, dict[str, Value]]:
    """The value of every cell given, by sheet and reference as they were given."""
    book = Book({name: {place(ref): _raw(value) for ref, value in cells.items()} for name, cells in sheets.items()})
    return {name: {ref: book.value(name, *place(ref)) for ref in cells} for name, cells in sheets.items()}


def _raw(value: Value | int | float) -> Raw:
    return Formula(value[1:]) if isinstance(value, str) and value.startswith("=") and len(value) > 1 else value


class _Pending(Exception):
    """The formula at hand rests on formulas that were not worked out yet."""

    def __init__(self, cells: list[_Where]) -> None:
        super().__init__(cells)
        self.cells = cells


class Book:
    """Cells by sheet and (row, column), counted from 1, with what has been worked out so far.

    Of a sheet in `cut` only a part is given: what is missing of it is `#NAME?` (unknown) and not blank.

    Chains of formulas can be thousands of cells long (a running balance), so they are followed with our own stack: a
    formula that meets an unknown one is put aside until that is known.
    """

    def __init__(self, sheets: Mapping[str, Mapping[tuple[int, int], Raw]], cut: Collection[str] = ()) -> None:
        self._cells = {name.casefold(): cells for name, cells in sheets.items()}
        self._cut = {name.casefold() for name in cut}
        self._size = {
            name: (max((row for row, _ in cells), default=0), max((column for _, column in cells), default=0))
            for name, cells in self._cells.items()
        }
        self._known: dict[_Where, Value] = {}
        self._left = _MOST_READ

    def value(self, sheet: str, row: int, column: int) -> Value:
        """The value at a place, working out what it rests on; None where there is nothing."""
        asked = (sheet.casefold(), row, column)
        waiting, started = [asked], set[_Where]()
        while waiting:
            where = waiting[-1]
            formula = self._cell(where)
            if not isinstance(formula, Formula) or where in self._known:
                waiting.pop()
                continue
            try:
                self._known[where] = self._worked_out(formula, where[0])
            except _Pending as pending:
                started.add(where)
                if started.isdisjoint(pending.cells):
                    waiting += pending.cells
                else:
                    self._known[where] = Problem("#CYCLE!")
        cell = self._cell(asked)
        return self._known[asked] if isinstance(cell, Formula) else exact(cell)

    def read(self, sheet: str, block: Block) -> Range:
        """The values of a block, as far as its sheet is used. Raises `_Pending` for all of it at once, and `Fault`."""
        name = (block.sheet or sheet).casefold()
        if name not in self._cells:
            raise Fault("#REF!")
        # One row and column more of a sheet that was cut: a block that goes past what is given has unknown cells.
        more = int(name in self._cut)
        bottom = min(block.bottom, max(block.top, self._size[name][0] + more))
        right = min(block.right, max(block.left, self._size[name][1] + more))
        self._left -= (bottom - block.top + 1) * (right - block.left + 1)
        if self._left < 0:
            raise Fault("#NUM!")
        values: Range = []
        pending: list[_Where] = []
        for row in range(block.top, bottom + 1):
            values.append([])
            for column in range(block.left, right + 1):
                where = name, row, column
                cell = self._cell(where)
                if not isinstance(cell, Formula):
                    values[-1].append(exact(cell))
                elif where in self._known:
                    values[-1].append(self._known[where])
                else:
                    pending.append(where)
        if pending:
            raise _Pending(pending)
        return values

    def _cell(self, where: _Where) -> Raw:
        return self._cells.get(where[0], {}).get(where[1:], Problem("#NAME?") if where[0] in self._cut else None)

    def _worked_out(self, formula: Formula, sheet: str) -> Value:
        try:
            with localcontext() as context:
                context.prec = 28
                value = Parser(self, formula.text, sheet).result()
                return number(value) if value is None or isinstance(value, Decimal) else value
        except Fault as fault:
            return fault.problem
        except DecimalException:
            return Problem("#NUM!")
