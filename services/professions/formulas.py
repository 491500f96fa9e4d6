"""Recalculates the plain formulas of office workbooks, exactly, so that stored results are checked and not believed.

Covers references within the workbook, `+ - * /`, text and numbers, and the functions below. What is beyond that gives
no answer rather than a guess.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

import msgspec

from services.documents.cells import Cell, Sheet, column_number
from services.professions.amounts import fixed, nearest, number

Value = Fraction | str | None
_TOKEN = re.compile(
    r"""\s*(?:
    (?P<ref>(?:(?:'(?P<quoted>(?:[^']|'')+)'|(?P<sheet>[A-Za-z_][\w.]*))!)?
        \$?(?P<c1>[A-Z]{1,3})\$?(?P<r1>[1-9]\d{0,6})(?::\$?(?P<c2>[A-Z]{1,3})\$?(?P<r2>[1-9]\d{0,6}))?(?![\w(]))
    |(?P<name>[A-Za-z][A-Za-z.]*)(?=\()
    |(?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d{1,2})?|\.\d+)
    |"(?P<text>(?:[^"]|"")*)"
    |(?P<sign>[-+*/(),%])
    )""",
    re.VERBOSE,
)
_CRITERION = re.compile(r"(>=|<=|<>|>|<|=)?(.*)", re.DOTALL)
_DEEPEST = 60
_LARGEST = 200_000
_LONGEST = 60  # brackets and signs of one formula; each may nest


class NoAnswer(Exception):  # noqa: N818 - not an error: the formula is beyond this module
    """The formula is not one of those that are recalculated."""


class Range(msgspec.Struct, frozen=True):
    """A block of cells; `sheet` is empty for the formula's own sheet. Rows and columns count from 1, both included."""

    sheet: str
    left: int
    top: int
    right: int
    bottom: int


class Calculator:
    """Recalculates the cells of one workbook. Answers are kept."""

    def __init__(self, sheets: Sequence[Sheet]) -> None:
        self._sheets = {sheet.name.casefold(): sheet for sheet in sheets}
        self._kept: dict[tuple[str, int, int], Value] = {}
        self._open: set[tuple[str, int, int]] = set()

    def value(self, sheet: str, row: int, column: int) -> Value:
        """Return a cell's value, recalculated where it is a formula. Raises `NoAnswer`."""
        place = (sheet.casefold(), row, column)
        if place not in self._kept:
            if place in self._open or len(self._open) > _DEEPEST:
                raise NoAnswer
            self._open.add(place)
            try:
                self._kept[place] = self._fresh(place)
            finally:
                self._open.discard(place)
        return self._kept[place]

    def text(self, sheet: Sheet, cell: Cell) -> str | None:
        """Return a formula cell's recalculated value as text (numbers with nine decimals at most), or None."""
        try:
            value = self.value(sheet.name, cell.row, cell.column)
        except NoAnswer:
            return None
        if isinstance(value, Fraction):
            return fixed(value, 9).rstrip("0").rstrip(".")
        return value or ""

    def cells(self, block: Range, home: str) -> list[Value]:
        """Return the values of a block, row by row; `home` is the sheet that the formula stands on."""
        name = (block.sheet or home).casefold()
        if name not in self._sheets:
            raise NoAnswer
        last = min(block.bottom, max(self._sheets[name].rows, block.top))
        if (last - block.top + 1) * (block.right - block.left + 1) > _LARGEST:
            raise NoAnswer
        return [
            self.value(name, row, column)
            for row in range(block.top, last + 1)
            for column in range(block.left, block.right + 1)
        ]

    def _fresh(self, place: tuple[str, int, int]) -> Value:
        sheet = self._sheets.get(place[0])
        if sheet is None:
            raise NoAnswer
        cell = sheet.cells.get(place[1:])
        if cell is None:
            return None
        if cell.formula is not None:
            return _Formula(self, cell.formula, sheet.name).result()
        if isinstance(cell.value, str | None):
            return cell.value
        return Fraction(cell.value)


def ranges(formula: str) -> Iterator[Range]:
    """Return every block of more than one row that a formula refers to."""
    for found in _TOKEN.finditer(formula):
        if found["ref"] and found["c2"]:
            block = _block(found)
            if block.bottom > block.top:
                yield block


def _block(found: re.Match[str]) -> Range:
    left, top = column_number(found["c1"]), int(found["r1"])
    right, bottom = (column_number(found["c2"]), int(found["r2"])) if found["c2"] else (left, top)
    sheet = (found["quoted"] or "").replace("''", "'") or found["sheet"] or ""
    return Range(sheet, min(left, right), min(top, bottom), max(left, right), max(top, bottom))


class _Formula:
    """One formula, read from left to right."""

    def __init__(self, calculator: Calculator, text: str, home: str) -> None:
        self._calculator, self._home = calculator, home
        self._tokens: list[re.Match[str]] = []
        at = 0
        while text[at:].strip():
            found = _TOKEN.match(text, at)
            if found is None:
                raise NoAnswer
            self._tokens.append(found)
            at = found.end()
        if sum(token["sign"] in ("(", "+", "-") for token in self._tokens) > _LONGEST:
            raise NoAnswer
        self._at = 0

    def result(self) -> Value:
        """Return the value of the whole formula."""
        value = self._sum()
        if self._at != len(self._tokens):
            raise NoAnswer
        return value

    def _sign(self, *signs: str) -> str:
        """Return and pass over the next sign if it is one of these, else an empty text."""
        if self._at < len(self._tokens) and self._tokens[self._at]["sign"] in signs:
            self._at += 1
            return str(self._tokens[self._at - 1]["sign"])
        return ""

    def _sum(self) -> Value:
        value = self._product()
        while sign := self._sign("+", "-"):
            right = _quantity(self._product())
            value = _quantity(value) + (right if sign == "+" else -right)
        return value

    def _product(self) -> Value:
        value = self._atom()
        while sign := self._sign("*", "/"):
            right = _quantity(self._atom())
            if sign == "/" and right == 0:
                raise NoAnswer
            value = _quantity(value) * right if sign == "*" else _quantity(value) / right
        return value

    def _atom(self) -> Value:
        if sign := self._sign("+", "-"):
            value = _quantity(self._atom())
            return -value if sign == "-" else value
        if self._sign("("):
            value_in = self._sum()
            self._expect(")")
            return value_in
        if self._at >= len(self._tokens):
            raise NoAnswer
        token = self._tokens[self._at]
        self._at += 1
        if token["name"]:
            return self._call(token["name"].upper())
        if token["number"]:
            return number(token["number"])
        if token["text"] is not None:
            return token["text"].replace('""', '"')
        if token["ref"] and not token["c2"]:
            return self._calculator.cells(_block(token), self._home)[0]
        raise NoAnswer

    def _call(self, name: str) -> Value:
        function = _FUNCTIONS.get(name)
        if function is None:
            raise NoAnswer
        self._expect("(")
        arguments = [self._argument()]
        while self._sign(","):
            arguments.append(self._argument())
        self._expect(")")
        return function(arguments)

    def _argument(self) -> list[Value]:
        """Return an argument as the list of its values: a block's cells, or one value."""
        token = self._tokens[self._at] if self._at < len(self._tokens) else None
        if token is not None and token["ref"] and token["c2"]:
            self._at += 1
            return self._calculator.cells(_block(token), self._home)
        return [self._sum()]

    def _expect(self, sign: str) -> None:
        if not self._sign(sign):
            raise NoAnswer


def _quantity(value: Value) -> Fraction:
    if value is None:
        return Fraction(0)
    if isinstance(value, str):
        raise NoAnswer
    return value


def _numbers(arguments: Sequence[list[Value]]) -> list[Fraction]:
    return [value for values in arguments for value in values if isinstance(value, Fraction)]


def _meets(value: Value, criterion: Value) -> bool:
    """Return whether a cell meets a criterion such as `"no"`, `5` or `">=1000"`."""
    found = _CRITERION.fullmatch(criterion if isinstance(criterion, str) else "")
    sign, wanted = (found[1] or "=", found[2]) if found else ("=", "")
    target = criterion if isinstance(criterion, Fraction) else number(wanted)
    if target is None:
        equal = isinstance(value, str) and value.casefold() == wanted.casefold()
        return equal if sign == "=" else not equal if sign == "<>" else False
    if not isinstance(value, Fraction):
        return sign == "<>"
    return {
        "=": value == target, "<>": value != target, ">": value > target, "<": value < target,
        ">=": value >= target, "<=": value <= target,
    }[sign]  # fmt: skip


def _sum_if(arguments: Sequence[list[Value]]) -> Value:
    if len(arguments) not in (2, 3) or len(arguments[1]) != 1:
        raise NoAnswer
    summed = arguments[-1] if len(arguments) == 3 else arguments[0]
    pairs = zip(arguments[0], summed, strict=False)
    return sum(
        (amount for value, amount in pairs if isinstance(amount, Fraction) and _meets(value, arguments[1][0])),
        Fraction(0),
    )


def _count_if(arguments: Sequence[list[Value]]) -> Value:
    if len(arguments) != 2 or len(arguments[1]) != 1:
        raise NoAnswer
    return Fraction(sum(_meets(value, arguments[1][0]) for value in arguments[0]))


def _round(arguments: Sequence[list[Value]]) -> Value:
    if len(arguments) != 2:
        raise NoAnswer
    places = _quantity(arguments[1][0])
    if places.denominator != 1 or not 0 <= places <= 12:
        raise NoAnswer
    scale = 10 ** int(places)
    return Fraction(nearest(_quantity(arguments[0][0]) * scale), scale)


def _average(arguments: Sequence[list[Value]]) -> Value:
    values = _numbers(arguments)
    if not values:
        raise NoAnswer
    return sum(values, Fraction(0)) / len(values)


_FUNCTIONS: dict[str, Callable[[Sequence[list[Value]]], Value]] = {
    "SUM": lambda arguments: sum(_numbers(arguments), Fraction(0)),
    "SUMIF": _sum_if,
    "COUNTIF": _count_if,
    "COUNT": lambda arguments: Fraction(len(_numbers(arguments))),
    "COUNTA": lambda arguments: Fraction(sum(value not in (None, "") for values in arguments for value in values)),
    "ROUND": _round,
    "ABS": lambda arguments: abs(_quantity(arguments[0][0])),
    "MIN": lambda arguments: min(_numbers(arguments), default=Fraction(0)),
    "MAX": lambda arguments: max(_numbers(arguments), default=Fraction(0)),
    "AVERAGE": _average,
}
