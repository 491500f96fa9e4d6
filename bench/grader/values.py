"""What a cell or a word of prose states: exact numbers, whatever way they are written."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation

NUMBER = re.compile(
    r"(?P<open>\()?(?:(?P<sign>[-+\N{MINUS SIGN}])\s?)?(?P<money>[$€£¥]\s?)?(?P<sign2>-)?"
    r"(?P<digits>\d{1,3}(?:[,\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}']\d{3})+|\d+)"
    r"(?P<fraction>\.\d+)?(?P<exponent>[eE][+-]?\d{1,2})?(?P<close>\))?"
)
_PART_OF_A_WORD = re.compile(r"[\w-]")


def number(text: str) -> Decimal | None:
    """Return the number that a cell states (`1,234.56`, `-7`, `(12.50)`, `12.5 %`, `$3`), or None if it states none."""
    bare = text.strip().removesuffix("%").strip()
    for code in ("USD", "EUR", "GBP"):
        bare = bare.removeprefix(code).removesuffix(code).strip()
    found = NUMBER.fullmatch(bare)
    return _decimal(found) if found is not None else None


def _decimal(found: re.Match[str]) -> Decimal | None:
    digits = re.sub(r"\D", "", found["digits"]) + (found["fraction"] or "") + (found["exponent"] or "")
    try:
        value = Decimal(digits)
    except InvalidOperation:
        return None
    bracketed = found["open"] is not None and found["close"] is not None
    negative = bracketed or "-" in (found["sign"] or "", found["sign2"] or "") or found["sign"] == "\N{MINUS SIGN}"
    return -value if negative else value


def numbers(text: str) -> Iterator[Decimal]:
    """Yield the numbers that stand in a line as words of their own, not as parts of an id or a date."""
    for found in NUMBER.finditer(text):
        before, after = text[: found.start()][-1:], text[found.end() :][:2]
        glued = bool(_PART_OF_A_WORD.match(before)) and found["open"] is None
        if glued or (after[:1].isalnum() and not found["close"]) or re.match(r"[-/.:]\d", after):
            continue
        value = _decimal(found)
        if value is not None:
            yield value


def places_of(expected: str) -> int:
    """Return how many decimals a figure is stated with."""
    _, point, decimals = expected.partition(".")
    return len(decimals) if point else 0


def rounded(value: Decimal, places: int) -> Decimal:
    """Return `value` with so many decimals, halves away from zero; a number beyond all sense stays as it is."""
    try:
        return value.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)
    except InvalidOperation:
        return value


def agrees(found: str, expected: str) -> bool:
    """Return whether a cell states what is expected: as numbers, to the expected decimals, else as words."""
    wanted = number(expected)
    if wanted is None:
        return words(found) == words(expected)
    value = number(found)
    if value is None:
        return False
    if places_of(expected) == 0 and value != value.to_integral_value():
        return False
    return rounded(value, places_of(expected)) == rounded(wanted, places_of(expected))


def words(text: str) -> str:
    """Return a text for comparing: case, spaces and a closing full stop do not count."""
    return " ".join(text.split()).casefold().rstrip(".")


def cell_text(value: object) -> str:
    """Return the plain text of a cell: nothing is empty, numbers without trailing zeros, dates as YYYY-MM-DD."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        if value != value or value in (float("inf"), float("-inf")):
            return str(value)
        value = Decimal(repr(value))
    if isinstance(value, Decimal):
        return f"{_nine(value):f}"
    isoformat = getattr(value, "isoformat", None)
    return str(isoformat())[:10] if isoformat is not None else str(value).strip()


def _nine(value: Decimal) -> Decimal:
    """Cut to nine decimals, for stored results went through binary fractions; and drop trailing zeros."""
    cut = rounded(value, 9) if abs(value) < Decimal("1e15") else value
    return cut.normalize() + Decimal(0) if abs(cut) < Decimal("1e15") else cut
