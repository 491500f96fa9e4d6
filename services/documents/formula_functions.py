"""The functions that formulas may call. Standard library only (`formulas.py` says why)."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal

from .formula_values import Fault, Range, Value, compare, flat, number, numbers, single, stated

_CRITERION = re.compile(r"(<>|<=|>=|=|<|>)?(.*)", re.DOTALL)
_LONGEST_CRITERION = 255
# What IFERROR must pass on: not an error of the workbook, but something that is not known here.
_UNKNOWN = ("#NAME?", "#CYCLE!")


def _criterion(condition: Value) -> Callable[[Value], bool]:
    """The test that SUMIF and COUNTIF make: `"yes"`, `">=500"`, a number; `*` and `?` stand for any text."""
    operator, wanted = "=", condition
    if isinstance(condition, str):
        if len(condition) > _LONGEST_CRITERION:
            raise Fault("#VALUE!")
        match = _CRITERION.fullmatch(condition)
        operator, text = (match[1] or "=", match[2]) if match else ("=", condition)
        found = stated(text)
        wanted = text if found is None else found
    if operator in ("=", "<>"):
        equal = _like(wanted) if isinstance(wanted, str) else _equal_to(wanted)
        return lambda value: equal(value) == (operator == "=")
    return lambda value: type(value) is type(wanted) and compare(value, operator, wanted)


def _like(wanted: str) -> Callable[[Value], bool]:
    """Text with wildcards. What stands between two stars is found once, leftmost: no going back over long cells."""
    pieces = [re.escape(piece).replace(r"\?", ".") for piece in wanted.split("*")]
    middle = "".join(f"(?>.*?{piece})" for piece in pieces[1:-1])
    source = pieces[0] if len(pieces) == 1 else f"{pieces[0]}{middle}.*{pieces[-1]}"
    pattern = re.compile(source, re.IGNORECASE | re.DOTALL)
    return lambda value: isinstance(value, str) and pattern.fullmatch(value) is not None


def _equal_to(wanted: Value) -> Callable[[Value], bool]:
    return lambda value: type(value) is type(wanted) and compare(value, "=", wanted)


def _sum_if(cells: Value | Range, condition: Value | Range, sums: Value | Range = None) -> Decimal:
    test = _criterion(single(condition))
    added = cells if sums is None else sums
    if not isinstance(cells, list) or not isinstance(added, list):
        cells, added = [[single(cells)]], [[single(added)]]
    total = Decimal(0)
    for tested, row in zip(cells, added, strict=False):
        for value, amount in zip(tested, row, strict=False):
            if test(value):
                total += sum(numbers([[[amount]]]), Decimal(0))
    return total


def _count_if(cells: Value | Range, condition: Value | Range) -> Decimal:
    test = _criterion(single(condition))
    return Decimal(sum(test(value) for value in flat([cells])))


def _round(rounded: Value | Range, digits: Value | Range = Decimal(0)) -> Decimal:
    places = int(number(digits))
    if abs(places) > 20:
        raise Fault("#NUM!")
    return number(rounded).quantize(Decimal(1).scaleb(-places), rounding=ROUND_HALF_UP) + 0


def _average(*arguments: Value | Range) -> Decimal:
    found = numbers(arguments)
    if not found:
        raise Fault("#DIV/0!")
    return sum(found, Decimal(0)) / len(found)


def _product(*arguments: Value | Range) -> Decimal:
    total = Decimal(1)
    for factor in numbers(arguments):
        total *= factor
    return total


def _if(condition: Value | Range, then: Value | Range = True, other: Value | Range = False) -> Value:
    return single(then) if number(condition) else single(other)


def _if_error(value: Value | Range, other: Value | Range) -> Value:
    try:
        return single(value)
    except Fault as fault:
        if fault.problem.code in _UNKNOWN:
            raise
        return single(other)


FUNCTIONS: dict[str, Callable[..., Value]] = {
    "SUM": lambda *a: sum(numbers(a), Decimal(0)),
    "PRODUCT": _product,
    "MIN": lambda *a: min(numbers(a), default=Decimal(0)),
    "MAX": lambda *a: max(numbers(a), default=Decimal(0)),
    "AVERAGE": _average,
    "COUNT": lambda *a: Decimal(sum(isinstance(value, Decimal) for value in flat(a))),
    "COUNTA": lambda *a: Decimal(sum(value is not None for value in flat(a))),
    "COUNTIF": _count_if,
    "SUMIF": _sum_if,
    "ROUND": _round,
    "ABS": lambda a: abs(number(a)),
    "IF": _if,
    "IFERROR": _if_error,
    "AND": lambda *a: all(number(value) for value in flat(a)),
    "OR": lambda *a: any(number(value) for value in flat(a)),
    "NOT": lambda a: not number(a),
}
