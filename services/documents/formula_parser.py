"""The grammar of formulas, worked out while it is read. Standard library only (`formulas.py` says why)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Protocol

from .formula_functions import FUNCTIONS
from .formula_values import Fault, Range, Value, compare, joined, number, single

_TOKEN = re.compile(
    r"""\s*(?:
    (?P<text>"(?:[^"]|"")*")
    |(?:(?:'(?P<quoted>(?:[^']|'')+)'|(?P<sheet>[^\W\d][\w.]*))!)?
     \$?(?P<col>[A-Za-z]{1,3})\$?(?P<row>[1-9][0-9]{0,6})(?::\$?(?P<col2>[A-Za-z]{1,3})\$?(?P<row2>[1-9][0-9]{0,6}))?(?![\w(.!])
    |(?:(?:'(?P<quoted2>(?:[^']|'')+)'|(?P<sheet2>[^\W\d][\w.]*))!)?
     \$?(?P<all>[A-Za-z]{1,3}):\$?(?P<all2>[A-Za-z]{1,3})(?![\w(.!$])
    |(?P<number>[0-9]+\.?[0-9]*(?:[eE][-+]?[0-9]{1,3})?|\.[0-9]+)
    |(?P<name>[A-Za-z][\w.]*)
    |(?P<op><>|<=|>=|[-+*/^&=<>(),%])
    )""",
    re.VERBOSE,
)
_REF = re.compile(r"\$?([A-Za-z]{1,3})\$?([1-9]\d{0,6})", re.ASCII)
_BINDING = {"=": 1, "<>": 1, "<": 1, ">": 1, "<=": 1, ">=": 1, "&": 2, "+": 3, "-": 3, "*": 4, "/": 4, "^": 5}
# How deep brackets may stand in brackets: a fixed number, so that an answer never depends on how deep the caller stands.
_DEEPEST = 40
_LAST_ROW = 9_999_999


@dataclass(frozen=True)
class Block:
    """Cells that a formula refers to; `sheet` is empty for the formula's own. Counted from 1, both ends included."""

    sheet: str
    left: int
    top: int
    right: int
    bottom: int


class Cells(Protocol):
    """Where a formula reads."""

    def read(self, sheet: str, block: Block) -> Range:
        """The values of a block, on `sheet` where it names none, as far as that is used. Raises `Fault`."""
        ...


def place(ref: str) -> tuple[int, int]:
    """The (row, column) of a reference such as `B7`, from 1; (0, 0) for what is none."""
    match = _REF.fullmatch(ref)
    return (int(match[2]), _column(match[1])) if match else (0, 0)


def blocks(formula: str) -> Iterator[Block]:
    """Every block that a formula (without its `=`) refers to by its corners, single cells too, in order."""
    for token in _TOKEN.finditer(formula):
        if token["col"]:
            yield _block(token)


class Parser:
    """One formula, by precedence: comparing, joining, sum, product, power; then signs, percent, atom."""

    def __init__(self, cells: Cells, text: str, sheet: str) -> None:
        self._cells, self._sheet = cells, sheet
        self._tokens = list(_tokens(text))
        self._at = 0

    def result(self) -> Value:
        """The formula's value. Raises `Fault`."""
        value = single(self._expression(1))
        if self._at < len(self._tokens):
            raise Fault("#NAME?")
        return value

    def _ahead(self) -> str:
        """The operator that comes next, or an empty text."""
        return self._tokens[self._at]["op"] or "" if self._at < len(self._tokens) else ""

    def _take(self, *operators: str) -> str:
        found = self._ahead()
        if found not in operators:
            return ""
        self._at += 1
        return found

    def _expression(self, least: int) -> Value | Range:
        """What stands here, as far as its operators bind at least so strongly."""
        left = self._operand()
        while _BINDING.get(self._ahead(), 0) >= least:
            operator = self._take(*_BINDING)
            left = _applied(operator, left, self._expression(_BINDING[operator] + 1))
        return left

    def _operand(self) -> Value | Range:
        signs = ""
        while sign := self._take("-", "+"):
            signs += sign
        value = self._atom()
        while self._take("%"):
            value = number(value) / 100
        if "-" not in signs:
            return value
        return -number(value) if signs.count("-") % 2 else number(value)

    def _atom(self) -> Value | Range:
        if self._take("("):
            value = self._expression(1)
            if not self._take(")"):
                raise Fault("#NAME?")
            return value
        if self._at >= len(self._tokens):
            raise Fault("#NAME?")
        token = self._tokens[self._at]
        self._at += 1
        if token["col"]:
            values = self._cells.read(self._sheet, _block(token))
            return values if token["col2"] else values[0][0]
        if token["all"]:
            columns = _column(token["all"]), _column(token["all2"])
            sheet = _sheet(token["quoted2"], token["sheet2"])
            return self._cells.read(self._sheet, Block(sheet, min(columns), 1, max(columns), _LAST_ROW))
        if token["number"]:
            return Decimal(token["number"])
        if token["text"]:
            return str(token["text"])[1:-1].replace('""', '"')
        name = str(token["name"] or "").upper()
        if name in ("TRUE", "FALSE"):
            return name == "TRUE"
        return self._call(name)

    def _call(self, name: str) -> Value:
        function = FUNCTIONS.get(name)
        if function is None or not self._take("("):
            raise Fault("#NAME?")
        arguments: list[Value | Range] = []
        while not self._take(")"):
            if arguments and not self._take(","):
                raise Fault("#NAME?")
            arguments.append(self._argument(name))
        try:
            return function(*arguments)
        except TypeError:  # called with too few or too many arguments
            raise Fault("#VALUE!") from None

    def _argument(self, name: str) -> Value | Range:
        """An argument; those that may hold an error without passing it on get it as a value."""
        try:
            return self._expression(1)
        except Fault as fault:
            if name not in ("IF", "IFERROR") or fault.problem.code == "#NAME?":
                raise
            depth = 0
            while self._at < len(self._tokens):
                operator = self._ahead()
                if depth == 0 and operator in (",", ")"):
                    break
                depth += {"(": 1, ")": -1}.get(operator, 0)
                self._at += 1
            return fault.problem


def _tokens(text: str) -> Iterator[re.Match[str]]:
    at, depth, text = 0, 0, text.rstrip()
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            raise Fault("#NAME?")
        depth += {"(": 1, ")": -1}.get(token["op"] or "", 0)
        if depth > _DEEPEST:
            raise Fault("#NAME?")
        at = token.end()
        yield token


def _applied(operator: str, left: Value | Range, right: Value | Range) -> Value:
    if operator == "&":
        return joined(single(left), single(right))
    if _BINDING[operator] == 1:
        return compare(single(left), operator, single(right))
    a, b = number(left), number(right)
    if operator == "+":
        return a + b
    if operator == "-":
        return a - b
    if operator == "*":
        return a * b
    if operator == "/":
        if b == 0:
            raise Fault("#DIV/0!")
        return a / b
    if abs(b) > 1_000 or (a == 0 and b <= 0):
        raise Fault("#NUM!")
    return a**b


def _block(token: re.Match[str]) -> Block:
    left, top = _column(token["col"]), int(token["row"])
    right, bottom = (_column(token["col2"]), int(token["row2"])) if token["col2"] else (left, top)
    sheet = _sheet(token["quoted"], token["sheet"])
    return Block(sheet, min(left, right), min(top, bottom), max(left, right), max(top, bottom))


def _sheet(quoted: str | None, plain: str | None) -> str:
    return (quoted or "").replace("''", "'") or plain or ""


def _column(letters: str) -> int:
    number = 0
    for letter in letters.upper():
        number = number * 26 + ord(letter) - 64
    return number
