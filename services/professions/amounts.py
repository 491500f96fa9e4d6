"""Exact amounts: whole cents, fractions, and their text. Halves round away from zero; no float takes part."""

from __future__ import annotations

import re
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction

_NUMBER = re.compile(r"[+-]?(\d{1,3}(,\d{3})+|\d+)?(\.\d*)?([eE][+-]?\d{1,2})?")


def number(text: str) -> Fraction | None:
    """Return the exact number that `text` states (`1,234.56`, `-7`, `12.5`, `1e3`), or None if it states none."""
    text = text.strip()
    if not _NUMBER.fullmatch(text) or not any(ch.isdigit() for ch in text.split("e")[0].split("E")[0]):
        return None
    return Fraction(Decimal(text.replace(",", "")))


def cents(text: str) -> int:
    """Return an amount of money in whole cents. Raises ValueError when `text` is no number."""
    value = number(text)
    if value is None:
        raise ValueError(f"{text!r} is no amount of money")
    return nearest(value * 100)


def nearest(value: Fraction) -> int:
    """Return the whole number nearest to `value`; halves go away from zero."""
    whole = (2 * abs(value.numerator) + value.denominator) // (2 * value.denominator)
    return -whole if value < 0 else whole


def fixed(value: Fraction, places: int) -> str:
    """Return `value` with exactly `places` decimals, never `-0`."""
    scaled = nearest(value * 10**places)
    digits = str(abs(scaled)).rjust(places + 1, "0")
    text = f"{digits[:-places]}.{digits[-places:]}" if places else digits
    return f"-{text}" if scaled < 0 else text


def money(amount: int) -> str:
    """Return whole cents as `1234.56`."""
    return fixed(Fraction(amount, 100), 2)


def grouped(text: str) -> str:
    """Return canonical money `1234.56` as people write it, `1,234.56`; other text unchanged."""
    if not re.fullmatch(r"-?\d+\.\d\d", text):
        return text
    return f"{Decimal(text):,.2f}"


def percent(part: int, whole: int, places: int = 1) -> str:
    """Return `part` in percent of `whole` without a sign; a percent of nothing is zero."""
    return fixed(Fraction(100 * part, whole) if whole else Fraction(0), places)


def plain(text: str) -> str:
    """Return the shortest text of a number (`12.50` and `12.5` agree), or the text itself stripped."""
    value = number(text)
    if value is None:
        return text.strip()
    decimal = Decimal(text.strip().replace(",", "")).normalize() + Decimal(0)
    return f"{decimal:f}"


def same(left: str, right: str, places: int | None = None) -> bool:
    """Return whether two cells state the same: as numbers (rounded to `places` if given), else as words."""
    a, b = number(left), number(right)
    if a is None or b is None:
        return a is b and left.strip().casefold() == right.strip().casefold()
    if places is None:
        return a == b
    return nearest(a * 10**places) == nearest(b * 10**places)


def from_cell(value: object) -> str:
    """Return the canonical text of a workbook cell: nothing is empty, numbers are plain, dates are ISO.

    A float is read through its shortest repr and cut to nine decimals, so that 0.1 + 0.2 reads 0.3.
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        exact = Decimal(repr(value)).quantize(Decimal("1e-9"), ROUND_HALF_UP) if abs(value) < 1e15 else Decimal(value)
        return plain(f"{exact:f}")
    isoformat = getattr(value, "isoformat", None)
    if isoformat is not None:
        return str(isoformat())[:10]
    return str(value).strip()
