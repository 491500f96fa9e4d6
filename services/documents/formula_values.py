"""What the cells of a spreadsheet hold, and how its operators read them: numbers, text, truths, blanks, errors.

Standard library only: the formula modules travel together into frozen tasks (`formulas.py` says how).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal


@dataclass(frozen=True)
class Problem:
    """An error value, such as `#DIV/0!`. `#NAME?` means: not known here, so no answer and no guess."""

    code: str


Value = Decimal | str | bool | Problem | None
Range = list[list[Value]]
# How far from 1 a number may be, in digits; and what a cell holds at most, in characters (as spreadsheets have it).
_DIGITS = 400
_LONGEST = 32_767
_NUMBER = re.compile(r"[+-]?(?:(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?", re.ASCII)


class Fault(Exception):
    """The formula at hand has this error."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.problem = Problem(code)


def exact(raw: Value | int | float) -> Value:
    """A cell's plain content as a value; a float is read through its 15 digits."""
    if isinstance(raw, bool) or raw is None or isinstance(raw, str | Decimal | Problem):
        return raw
    return Decimal(raw) if isinstance(raw, int) else Decimal(format(raw, ".15g"))


def single(value: Value | Range) -> Value:
    """One value, out of a range of one cell too. Raises `Fault` for other ranges, and for an error value its own."""
    if isinstance(value, list):
        if len(value) == len(value[0]) == 1:
            return single(value[0][0])
        raise Fault("#VALUE!")
    if isinstance(value, Problem):
        raise Fault(value.code)
    return value


def stated(text: str) -> Decimal | None:
    """The number that a text states (`12.5`, `1,234.56`, `-1e3`), None if it states none."""
    text = text.strip()
    return Decimal(text.replace(",", "")) if _NUMBER.fullmatch(text) else None


def number(value: Value | Range) -> Decimal:
    """The value as an operand: blanks are 0, truths 0 or 1, and text the number it states. Raises `Fault`."""
    value = single(value)
    if value is None:
        return Decimal(0)
    if isinstance(value, bool):
        return Decimal(int(value))
    found = value if isinstance(value, Decimal) else stated(str(value))
    if found is None:
        raise Fault("#VALUE!")
    if not found.is_finite() or abs(found.adjusted()) > _DIGITS:
        raise Fault("#NUM!")
    return found


def joined(left: Value, right: Value) -> str:
    """Two values as one text. Raises `Fault` when no cell could hold it: text must not double without end."""
    text = _text(left) + _text(right)
    if len(text) > _LONGEST:
        raise Fault("#VALUE!")
    return text


def _text(value: Value) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, Decimal):
        return format(value.normalize(), "f" if abs(value.adjusted()) <= _DIGITS else "E")
    return str(value)


def compare(left: Value, operator: str, right: Value) -> bool:
    """Whether `left operator right` holds: numbers before text before truths, text without regard to case."""
    if left is None:
        left = "" if isinstance(right, str) else Decimal(0)
    if right is None:
        right = "" if isinstance(left, str) else Decimal(0)
    order = (_rank(left) > _rank(right)) - (_rank(left) < _rank(right))
    return {"=": order == 0, "<>": order != 0, "<": order < 0, ">": order > 0, "<=": order <= 0, ">=": order >= 0}[
        operator
    ]


def _rank(value: Value) -> tuple[int, Decimal, str]:
    if isinstance(value, bool):
        return 2, Decimal(int(value)), ""
    if isinstance(value, Decimal):
        return 0, value, ""
    return 1, Decimal(0), str(value).casefold()


def flat(arguments: Sequence[Value | Range]) -> Iterator[Value]:
    """Every value of the arguments, ranges cell by cell. Raises `Fault` at an error value."""
    for argument in arguments:
        for value in (cell for row in argument for cell in row) if isinstance(argument, list) else (argument,):
            if isinstance(value, Problem):
                raise Fault(value.code)
            yield value


def numbers(arguments: Sequence[Value | Range]) -> list[Decimal]:
    """Numbers of ranges, where text, truths and blanks do not count, and of plain arguments. Raises `Fault`."""
    found = []
    for argument in arguments:
        if isinstance(argument, list):
            found += [value for value in flat([argument]) if isinstance(value, Decimal)]
        else:
            found.append(number(argument))
    return found
