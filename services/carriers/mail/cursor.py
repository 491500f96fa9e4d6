"""The cursor of a mail carrier: the names of what a poll brought. It comes back once the office's record has that."""

from __future__ import annotations

import json
from collections.abc import Sequence

import msgspec


def cursor_of(names: Sequence[str]) -> str:
    """Return the cursor that names these mails; empty for none."""
    return json.dumps({"brought": list(names)}) if names else ""


def brought(cursor: str) -> frozenset[str]:
    """Return what a cursor names; what is no cursor names nothing, and all that was not put away is read anew."""
    try:
        return frozenset(msgspec.json.decode(cursor, type=dict[str, tuple[str, ...]]).get("brought", ()))
    except (msgspec.DecodeError, UnicodeEncodeError):
        return frozenset()
