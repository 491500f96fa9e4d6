"""PDF pages as text."""

from __future__ import annotations

import io
import logging

from pypdf import PdfReader
from pypdf.errors import PyPdfError

from services.documents.limits import Limits, Unreadable

# pypdf tells of every oddity of a file through its logger; here the text says what could not be read.
_QUIET = logging.NullHandler()


def pdf_text(data: bytes, limits: Limits) -> str:
    """`# Page 1` and the text found on it. A page that cannot be read says so; so does one without any text."""
    logging.getLogger("pypdf").addHandler(_QUIET)
    try:
        reader = PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise Unreadable("it is encrypted")
        count = len(reader.pages)
    except PyPdfError:
        raise Unreadable("it is damaged") from None
    lines: list[str] = []
    for number in range(min(count, limits.pages)):
        try:
            text = reader.pages[number].extract_text().strip()
        # A crafted page drives the parser to almost any exception; the others are still worth reading.
        except Exception:  # noqa: BLE001
            text = "[this page cannot be read]"
        lines += ([""] if lines else []) + [f"# Page {number + 1}", text or "[no text on this page]"]
    if count > limits.pages:
        lines.append(f"[... {count - limits.pages:,} more pages not shown]")
    return "\n".join(lines) + "\n"
