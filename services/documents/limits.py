"""How much of a hostile or merely large document is read and shown."""

from __future__ import annotations

import msgspec


class Limits(msgspec.Struct, frozen=True):
    """Bounds of rendering. Sizes are in bytes, `text` in characters; what is cut is always said in the text."""

    file: int = 30_000_000
    unpacked: int = 120_000_000
    member: int = 60_000_000
    members: int = 3_000
    rows: int = 2_000
    columns: int = 256
    cells: int = 200_000
    pages: int = 100
    paragraphs: int = 20_000
    text: int = 1_000_000


class Unreadable(Exception):
    """Bytes that are not what they claim to be, or more than may be read. The message is shown to the reader."""
