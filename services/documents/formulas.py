"""Recalculate a workbook's formulas: standard library only, one file, so that a grader can carry a copy.

    evaluate({"Summary": {"A1": "Total", "B1": "=SUM(Data!A1:A9)"}, "Data": {"A1": Decimal("12.30")}})

Takes cells by sheet and reference; text that begins with `=` is a formula. Gives every cell's value: `Decimal`, `str`,
`bool`, `None`, or `Problem` with a spreadsheet's error code (`#DIV/0!`, `#REF!`, `#VALUE!`, `#NUM!`, `#CYCLE!`, and
`#NAME?` for a function or syntax that is not known here). Numbers are decimal: 0.1 + 0.2 is 0.3. Never raises on any
formula; the work of a hostile workbook is bounded.

Knows + - * / ^ % &, comparisons, references and ranges across sheets, and the functions in `_FUNCTIONS`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal, DecimalException, localcontext

__all__ = ["Problem", "Value", "evaluate"]


@dataclass(frozen=True)
class Problem:
    """An error value, such as `#DIV/0!`."""

    code: str


Value = Decimal | str | bool | Problem | None
Range = list[list[Value]]
# Cells that all ranges together may read before the rest is `#NUM!`; and how far from 1 a number may be, in digits.
_MOST_READ = 5_000_000
_DIGITS = 400
_TOKEN = re.compile(
    r"""\s*(?:
    (?P<text>"(?:[^"]|"")*")
    |(?:(?:'(?P<quoted>(?:[^']|'')+)'|(?P<sheet>[^\W\d][\w.]*))!)?
     \$?(?P<col>[A-Za-z]{1,3})\$?(?P<row>[1-9]\d{0,6})(?::\$?(?P<col2>[A-Za-z]{1,3})\$?(?P<row2>[1-9]\d{0,6}))?(?![\w(.!])
    |(?:(?:'(?P<quoted2>(?:[^']|'')+)'|(?P<sheet2>[^\W\d][\w.]*))!)?
     \$?(?P<all>[A-Za-z]{1,3}):\$?(?P<all2>[A-Za-z]{1,3})(?![\w(.!$])
    |(?P<number>\d+\.?\d*(?:[eE][-+]?\d{1,3})?|\.\d+)
    |(?P<name>[A-Za-z][\w.]*)
    |(?P<op><>|<=|>=|[-+*/^&=<>(),%])
    )""",
    re.VERBOSE,
)
_REF = re.compile(r"\$?([A-Za-z]{1,3})\$?([1-9]\d{0,6})\Z")


def evaluate(sheets: Mapping[str, Mapping[str, Value | int | float]]) -> dict[str, dict[str, Value]]:
    """The value of every cell given, by sheet and reference as they were given."""
    book = _Book(sheets)
    return {name: {ref: book.value(name, *_place(ref)) for ref in cells} for name, cells in sheets.items()}


_Where = tuple[str, int, int]


class _Fault(Exception):
    """The formula at hand has this error."""

    def __init__(self, code: str) -> None:
        self.problem = Problem(code)


class _Pending(Exception):
    """The formula at hand rests on formulas that were not worked out yet."""

    def __init__(self, cells: list[_Where]) -> None:
        self.cells = cells


def _place(ref: str) -> tuple[int, int]:
    match = _REF.match(ref)
    if match is None:
        return 0, 0
    return int(match[2]), _column(match[1])


def _column(letters: str) -> int:
    number = 0
    for letter in letters.upper():
        number = number * 26 + ord(letter) - 64
    return number


class _Book:
    """The cells by place, with what has been worked out so far.

    Chains of formulas can be thousands of cells long (a running balance), so they are followed with our own stack: a
    formula that meets an unknown one is put aside until that is known.
    """

    def __init__(self, sheets: Mapping[str, Mapping[str, Value | int | float]]) -> None:
        self._cells = {
            name.lower(): {_place(ref): value for ref, value in cells.items()} for name, cells in sheets.items()
        }
        self._size = {
            name: (max((row for row, _ in cells), default=0), max((column for _, column in cells), default=0))
            for name, cells in self._cells.items()
        }
        self._known: dict[_Where, Value] = {}
        self._left = _MOST_READ

    def value(self, sheet: str, row: int, column: int) -> Value:
        """The value at a place, working out what it rests on."""
        waiting, started = [(sheet.lower(), row, column)], set()
        while waiting:
            where = waiting[-1]
            formula = self._raw(where)
            if not _is_formula(formula) or where in self._known:
                waiting.pop()
                continue
            try:
                self._known[where] = self._formula(str(formula)[1:], where[0])
            except _Pending as pending:
                started.add(where)
                if started.isdisjoint(pending.cells):
                    waiting += pending.cells
                else:
                    self._known[where] = Problem("#CYCLE!")
        return self._peek((sheet.lower(), row, column))

    def _raw(self, where: _Where) -> Value | int | float:
        return self._cells.get(where[0], {}).get(where[1:])

    def _peek(self, where: _Where) -> Value:
        raw = self._raw(where)
        if not _is_formula(raw):
            return _exact(raw)
        if where not in self._known:
            raise _Pending([where])
        return self._known[where]

    def _formula(self, text: str, sheet: str) -> Value:
        try:
            with localcontext() as context:
                context.prec = 28
                value = _Parser(self, text, sheet).result()
        except _Fault as fault:
            return fault.problem
        except DecimalException:
            return Problem("#NUM!")
        except RecursionError:
            return Problem("#NAME?")
        return Decimal(0) if value is None else value

    def range(self, sheet: str, corner: tuple[int, int], end: tuple[int, int]) -> Range:
        """The values of a range, as far as the sheet is used. Raises `_Pending` for all of it at once."""
        name = sheet.lower()
        if name not in self._cells:
            raise _Fault("#REF!")
        top, left = min(corner[0], end[0]), min(corner[1], end[1])
        bottom = min(max(corner[0], end[0]), max(top, self._size[name][0]))
        right = min(max(corner[1], end[1]), max(left, self._size[name][1]))
        self._left -= (bottom - top + 1) * (right - left + 1)
        if self._left < 0:
            raise _Fault("#NUM!")
        values: Range = []
        pending: list[_Where] = []
        for row in range(top, bottom + 1):
            values.append([])
            for column in range(left, right + 1):
                try:
                    values[-1].append(self._peek((name, row, column)))
                except _Pending as found:
                    pending += found.cells
        if pending:
            raise _Pending(pending)
        return values


def _is_formula(raw: Value | int | float) -> bool:
    return isinstance(raw, str) and raw.startswith("=") and len(raw) > 1


def _exact(raw: Value | int | float) -> Value:
    if isinstance(raw, bool) or raw is None or isinstance(raw, str | Decimal | Problem):
        return raw
    return Decimal(raw) if isinstance(raw, int) else Decimal(format(raw, ".15g"))


class _Parser:
    """One formula, by descent: comparison, joining, sum, product, power, percent, atom."""

    def __init__(self, book: _Book, text: str, sheet: str) -> None:
        self._book, self._sheet = book, sheet
        self._tokens = list(_tokens(text))
        self._at = 0

    def result(self) -> Value:
        value = _single(self._comparison())
        if self._at < len(self._tokens):
            raise _Fault("#NAME?")
        return value

    def _take(self, *operators: str) -> str:
        if self._at < len(self._tokens) and self._tokens[self._at]["op"] in operators:
            self._at += 1
            return str(self._tokens[self._at - 1]["op"])
        return ""

    def _comparison(self) -> Value | Range:
        left = self._joined()
        while operator := self._take("=", "<>", "<", ">", "<=", ">="):
            left = _compare(_single(left), operator, _single(self._joined()))
        return left

    def _joined(self) -> Value | Range:
        left = self._sum()
        while self._take("&"):
            left = _text(_single(left)) + _text(_single(self._sum()))
        return left

    def _sum(self) -> Value | Range:
        left = self._product()
        while operator := self._take("+", "-"):
            right = _number(self._product())
            left = _number(left) + right if operator == "+" else _number(left) - right
        return left

    def _product(self) -> Value | Range:
        left = self._power()
        while operator := self._take("*", "/"):
            right = _number(self._power())
            if operator == "/" and right == 0:
                raise _Fault("#DIV/0!")
            left = _number(left) * right if operator == "*" else _number(left) / right
        return left

    def _power(self) -> Value | Range:
        left = self._signed()
        while self._take("^"):
            base, exponent = _number(left), _number(self._signed())
            if abs(exponent) > 1_000 or (base == 0 and exponent <= 0):
                raise _Fault("#NUM!")
            left = base**exponent
        return left

    def _signed(self) -> Value | Range:
        if operator := self._take("-", "+"):
            value = self._signed()
            return -_number(value) if operator == "-" else value
        value = self._atom()
        while self._take("%"):
            value = _number(value) / 100
        return value

    def _atom(self) -> Value | Range:
        if self._take("("):
            value = self._comparison()
            if not self._take(")"):
                raise _Fault("#NAME?")
            return value
        if self._at >= len(self._tokens):
            raise _Fault("#NAME?")
        token = self._tokens[self._at]
        self._at += 1
        if token["col"]:
            return self._reference(token)
        if token["all"]:
            sheet = str(token["quoted2"] or token["sheet2"] or self._sheet).replace("''", "'")
            return self._book.range(sheet, (1, _column(token["all"])), (9_999_999, _column(token["all2"])))
        if token["number"]:
            return Decimal(token["number"])
        if token["text"]:
            return str(token["text"])[1:-1].replace('""', '"')
        name = str(token["name"] or "").upper()
        if name in ("TRUE", "FALSE"):
            return name == "TRUE"
        return self._call(name)

    def _reference(self, token: re.Match[str]) -> Value | Range:
        sheet = str(token["quoted"] or token["sheet"] or self._sheet).replace("''", "'")
        corner = int(token["row"]), _column(token["col"])
        if token["col2"]:
            return self._book.range(sheet, corner, (int(token["row2"]), _column(token["col2"])))
        return self._book.range(sheet, corner, corner)[0][0]

    def _call(self, name: str) -> Value:
        function = _FUNCTIONS.get(name)
        if function is None or not self._take("("):
            raise _Fault("#NAME?")
        arguments: list[Value | Range] = []
        while not self._take(")"):
            if arguments and not self._take(","):
                raise _Fault("#NAME?")
            arguments.append(self._argument(name))
        try:
            return function(*arguments)
        except TypeError:  # called with too few or too many arguments
            raise _Fault("#VALUE!") from None

    def _argument(self, name: str) -> Value | Range:
        """An argument; those that may hold an error without passing it on get it as a value."""
        try:
            return self._comparison()
        except _Fault as fault:
            if name not in ("IF", "IFERROR") or fault.problem.code == "#NAME?":
                raise
            depth = 0
            while self._at < len(self._tokens):
                operator = self._tokens[self._at]["op"]
                if depth == 0 and operator in (",", ")"):
                    break
                depth += {"(": 1, ")": -1}.get(operator or "", 0)
                self._at += 1
            return fault.problem


def _tokens(text: str) -> Iterator[re.Match[str]]:
    at, text = 0, text.rstrip()
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            raise _Fault("#NAME?")
        at = token.end()
        yield token


def _single(value: Value | Range) -> Value:
    if isinstance(value, list):
        if len(value) == len(value[0]) == 1:
            return _single(value[0][0])
        raise _Fault("#VALUE!")
    if isinstance(value, Problem):
        raise _Fault(value.code)
    return value


def _number(value: Value | Range) -> Decimal:
    value = _single(value)
    if value is None:
        return Decimal(0)
    if isinstance(value, bool):
        return Decimal(int(value))
    if isinstance(value, Decimal):
        if not value.is_finite() or abs(value.adjusted()) > _DIGITS:
            raise _Fault("#NUM!")
        return value
    try:
        number = Decimal(str(value).strip())
    except DecimalException:
        raise _Fault("#VALUE!") from None
    if not number.is_finite() or abs(number.adjusted()) > _DIGITS:
        raise _Fault("#VALUE!")
    return number


def _text(value: Value) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, Decimal):
        return format(value.normalize(), "f" if abs(value.adjusted()) <= _DIGITS else "E")
    return str(value)


def _compare(left: Value, operator: str, right: Value) -> bool:
    if left is None:
        left = "" if isinstance(right, str) else Decimal(0)
    if right is None:
        right = "" if isinstance(left, str) else Decimal(0)
    order = (_rank(left) > _rank(right)) - (_rank(left) < _rank(right))
    return {"=": order == 0, "<>": order != 0, "<": order < 0, ">": order > 0, "<=": order <= 0, ">=": order >= 0}[
        operator
    ]


def _rank(value: Value) -> tuple[int, Decimal, str]:
    """Numbers before text before truth values, as spreadsheets order them."""
    if isinstance(value, bool):
        return 2, Decimal(int(value)), ""
    if isinstance(value, Decimal):
        return 0, value, ""
    return 1, Decimal(0), str(value).lower()


def _flat(arguments: Sequence[Value | Range]) -> Iterator[Value]:
    for argument in arguments:
        for value in (cell for row in argument for cell in row) if isinstance(argument, list) else (argument,):
            if isinstance(value, Problem):
                raise _Fault(value.code)
            yield value


def _numbers(arguments: Sequence[Value | Range]) -> list[Decimal]:
    """Numbers of ranges, where text and blanks do not count, and of plain arguments."""
    found = []
    for argument in arguments:
        if isinstance(argument, list):
            found += [value for value in _flat([argument]) if isinstance(value, Decimal)]
        else:
            found.append(_number(argument))
    return found


def _criterion(condition: Value) -> Callable[[Value], bool]:
    """The test that SUMIF and COUNTIF make: `"yes"`, `">=500"`, a number; `*` and `?` stand for any text."""
    operator, wanted = "=", condition
    if isinstance(condition, str):
        match = re.match(r"(<>|<=|>=|=|<|>)?(.*)\Z", condition, re.DOTALL)
        operator, wanted = (match[1] or "=", match[2]) if match else ("=", condition)
        try:
            number = Decimal(str(wanted).strip())
            wanted = number if number.is_finite() else wanted
        except DecimalException:
            pass
    if isinstance(wanted, str) and wanted.count("*") < 4:
        pattern = re.compile(re.escape(wanted).replace(r"\*", ".*").replace(r"\?", "."), re.IGNORECASE | re.DOTALL)
        equal = _matcher(pattern)
    else:
        equal = _equal_to(wanted)
    if operator in ("=", "<>"):
        return lambda value: equal(value) == (operator == "=")
    return lambda value: type(value) is type(wanted) and _compare(value, operator, wanted)


def _matcher(pattern: re.Pattern[str]) -> Callable[[Value], bool]:
    return lambda value: isinstance(value, str) and pattern.fullmatch(value) is not None


def _equal_to(wanted: Value) -> Callable[[Value], bool]:
    return lambda value: type(value) is type(wanted) and _compare(value, "=", wanted)


def _sum_if(cells: Value | Range, condition: Value | Range, sums: Value | Range = None) -> Decimal:
    test = _criterion(_single(condition))
    added = cells if sums is None else sums
    if not isinstance(cells, list) or not isinstance(added, list):
        cells, added = [[_single(cells)]], [[_single(added)]]
    total = Decimal(0)
    for tested, row in zip(cells, added, strict=False):
        for value, amount in zip(tested, row, strict=False):
            if test(value):
                total += sum(_numbers([[[amount]]]), Decimal(0))
    return total


def _count_if(cells: Value | Range, condition: Value | Range) -> Decimal:
    test = _criterion(_single(condition))
    return Decimal(sum(test(value) for value in _flat([cells])))


def _round(number: Value | Range, digits: Value | Range = Decimal(0)) -> Decimal:
    places = int(_number(digits))
    if abs(places) > 20:
        raise _Fault("#NUM!")
    return _number(number).quantize(Decimal(1).scaleb(-places), rounding=ROUND_HALF_UP) + 0


def _average(*arguments: Value | Range) -> Decimal:
    numbers = _numbers(arguments)
    if not numbers:
        raise _Fault("#DIV/0!")
    return sum(numbers, Decimal(0)) / len(numbers)


def _product(*arguments: Value | Range) -> Decimal:
    total = Decimal(1)
    for number in _numbers(arguments):
        total *= number
    return total


def _if(condition: Value | Range, then: Value | Range = True, other: Value | Range = False) -> Value:
    return _single(then) if _number(condition) else _single(other)


def _if_error(value: Value | Range, other: Value | Range) -> Value:
    try:
        return _single(value)
    except _Fault:
        return _single(other)


_FUNCTIONS: dict[str, Callable[..., Value]] = {
    "SUM": lambda *a: sum(_numbers(a), Decimal(0)),
    "PRODUCT": _product,
    "MIN": lambda *a: min(_numbers(a), default=Decimal(0)),
    "MAX": lambda *a: max(_numbers(a), default=Decimal(0)),
    "AVERAGE": _average,
    "COUNT": lambda *a: Decimal(sum(isinstance(value, Decimal) for value in _flat(a))),
    "COUNTA": lambda *a: Decimal(sum(value is not None for value in _flat(a))),
    "COUNTIF": _count_if,
    "SUMIF": _sum_if,
    "ROUND": _round,
    "ABS": lambda a: abs(_number(a)),
    "IF": _if,
    "IFERROR": _if_error,
    "AND": lambda *a: all(_number(value) for value in _flat(a)),
    "OR": lambda *a: any(_number(value) for value in _flat(a)),
    "NOT": lambda a: not _number(a),
}
