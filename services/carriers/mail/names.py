"""Names of files that came with a mail, made safe to show and to keep."""

from __future__ import annotations

import re

from simulator.canonical import clean_name

_TURNED = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Signs that turn the direction of writing: `fdp.exe` can look like `exe.pdf` with them."""
_EDGES = re.compile(r"\A[\s.]+|[\s.]+\Z")
_ENDINGS = {
    "application/pdf": ".pdf", "image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "text/plain": ".txt",
    "text/html": ".html", "text/csv": ".csv", "text/calendar": ".ics", "message/rfc822": ".eml",
    "application/zip": ".zip", "application/json": ".json",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": ".xlsx",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
}  # fmt: skip
_STEM, _ENDING = 120, 20


def file_name(given: str, media_type: str = "", number: int = 1) -> str:
    """Return a file name's last part, cleaned and at most 140 bytes long, its ending kept.

    A file without a usable name is `attachment-<number>` with the ending of its media type.
    """
    last = _trim(header_text(_TURNED.sub("", given)).replace("\\", "/").rsplit("/", 1)[-1])
    stem, dot, ending = last.rpartition(".")
    if dot and stem and len(ending.encode()) <= _ENDING:
        stem = _trim(_cut(stem, _STEM))
        return f"{stem}.{ending}" if stem else ending
    return _trim(_cut(last, _STEM + _ENDING)) or f"attachment-{number}{_ENDINGS.get(media_type, '.bin')}"


def header_text(text: str) -> str:
    """Return a text as a header may carry it: one line, without controls, in Unicode NFC."""
    # More than CR and LF end a line for some reader: whatever could is a space here, or a header could be made of it.
    return clean_name(re.sub("[\x00-\x1f\x7f-\x9f\u2028\u2029]", " ", text))


def _cut(text: str, size: int) -> str:
    return text.encode("utf-8", "replace")[:size].decode("utf-8", "ignore")


def _trim(text: str) -> str:
    return _EDGES.sub("", text)
