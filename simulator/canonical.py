"""Canonical bytes, hashes, and the cleaning of text that comes from outside (RULE 20)."""

from __future__ import annotations

import hashlib
import unicodedata
from typing import Any

import msgspec

_ENCODER = msgspec.json.Encoder(order="sorted")
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def canonical(value: Any) -> bytes:
    """Return the canonical JSON of `value`: sorted keys, UTF-8, no white space.

    Floats never reach the log: money is in minor units, times are whole seconds.
    """
    return _ENCODER.encode(value)


def sha256(data: bytes) -> str:
    """Return the SHA-256 of `data` as 64 lower-case hex digits."""
    return hashlib.sha256(data).hexdigest()


def clean_text(text: str) -> str:
    """Replace NUL, other C0 controls except tab and newline, and lone surrogates; unify line ends."""
    if text.isascii() and text.isprintable():
        return text
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return "".join(
        REPLACEMENT if (ch < " " and ch not in "\t\n") or "\ud800" <= ch <= "\udfff" or ch == "\x7f" else ch
        for ch in text
    )


def clean_name(name: str) -> str:
    """Clean a file, room or person name: as `clean_text`, without line breaks, in Unicode NFC."""
    return unicodedata.normalize("NFC", clean_text(name).replace("\n", " ").replace("\t", " ")).strip()
