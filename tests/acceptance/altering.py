"""Altering one figure of a workbook in its bytes: formula and stored result alike, so that whoever reads it is misled."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Mapping
from decimal import Decimal

import openpyxl


def cell_of(data: bytes, sheet: str, label: str, column: str = "B") -> str:
    """Return the address of the cell beside a label in column A."""
    page = openpyxl.load_workbook(io.BytesIO(data))[sheet]
    return next(f"{column}{cell.row}" for cell in page["A"] if cell.value == label)


def raised(data: bytes, cells: Mapping[tuple[str, str], int], results: Mapping[tuple[str, str], int]) -> bytes:
    """Return the workbook with some cells, (sheet, address), raised by whole amounts; nothing else changes.

    `cells` are raised in formula and stored result, or where there is no formula in value; of `results`, which follow
    from them by their own formula, the stored result alone.
    """
    names = openpyxl.load_workbook(io.BytesIO(data)).sheetnames
    parts = {f"xl/worksheets/sheet{number}.xml": name for number, name in enumerate(names, 1)}
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        for info in old.infolist():
            text = old.read(info.filename)
            sheet = parts.get(info.filename)
            for (where, address), amount in {**cells, **results}.items():
                if where == sheet:
                    text = _raised(text, address, amount, (where, address) in cells)
            new.writestr(info, text)
    return out.getvalue()


def _raised(xml: bytes, address: str, amount: int, formula: bool) -> bytes:
    pattern = rb'(<c r="' + address.encode() + rb'"[^>]*>)(?:<f>([^<]*)</f>)?<v>([^<]*)</v>'

    def other(found: re.Match[bytes]) -> bytes:
        text = b""
        if found[2] is not None:
            text = b"<f>" + found[2] + (f"+{amount}".encode() if formula else b"") + b"</f>"
        return found[1] + text + f"<v>{Decimal(found[3].decode()) + amount}</v>".encode()

    changed, count = re.subn(pattern, other, xml)
    assert count == 1, f"{address} is not one cell"
    return changed
