"""The `Renderer` port: file bytes to the text that a person reads (simulator/ports.py)."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict

from services.documents import mail, pages, slides, word
from services.documents.archive import Archive
from services.documents.limits import Limits, Unreadable
from services.documents.reading import workbook_text
from services.documents.workbook import read_workbook
from simulator.canonical import clean_name, clean_text

_KEPT_CHARACTERS = 24_000_000
_OFFICE = {"xl/workbook.xml": "workbook", "word/document.xml": "word", "ppt/presentation.xml": "slides"}
_KINDS_BY_TYPE = {"message/rfc822": "mail", "application/pdf": "pdf"}


class DocumentRenderer:
    """Renders workbooks, documents, slides, pages, mail and plain text.

    What a file is, its bytes say first, its media type and name second. Pure and thread-safe; answers are kept by the
    hash of the bytes, up to about 24 million characters. Never raises on any bytes: what cannot be read is said in the
    text, in square brackets. See `services/documents/reading.py` for the form of workbooks.
    """

    def __init__(self, limits: Limits | None = None) -> None:
        self._limits = limits or Limits()
        self._kept: OrderedDict[tuple[str, str], str] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def render(self, data: bytes, media_type: str, name: str) -> str:
        """The text of a file; `media_type` and `name` help only where the bytes do not tell."""
        kind = _kind(data, media_type, name)
        key = hashlib.sha256(data).hexdigest(), kind
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        text = self._bounded(self._render(data, kind))
        with self._lock:
            if key not in self._kept:
                self._kept[key] = text
                self._size += len(text)
            while self._size > _KEPT_CHARACTERS and len(self._kept) > 1:
                self._size -= len(self._kept.popitem(last=False)[1])
        return text

    def _render(self, data: bytes, kind: str) -> str:
        if len(data) > self._limits.file:
            return f"[this file has {len(data):,} bytes, more than the {self._limits.file:,} that are read]\n"
        try:
            return self._read(data, kind)
        except Unreadable as fault:
            return f"[this file cannot be read as a {kind} file: {clean_name(str(fault))}]\n"
        # Parsers of other people's formats raise whatever a crafted file drives them to; the port promises text.
        except (Exception, RecursionError):  # noqa: BLE001
            return f"[this file cannot be read as a {kind} file: it is damaged]\n"

    def _read(self, data: bytes, kind: str) -> str:
        if not data:
            return "[empty file]\n"
        if kind == "text":
            return plain_text(data) or "[empty file]\n"
        if kind == "mail":
            return mail.mail_text(data, self._limits)
        if kind == "pdf":
            return pages.pdf_text(data, self._limits)
        if kind in ("workbook", "word", "slides", "zip"):
            archive = Archive(data, self._limits)
            if kind == "workbook":
                return workbook_text(read_workbook(archive, self._limits))
            if kind == "word":
                return word.word_text(archive, self._limits)
            if kind == "slides":
                return slides.slides_text(archive, self._limits)
            return _listing(archive)
        return f"[{kind}, {len(data):,} bytes: not shown as text]\n"

    def _bounded(self, text: str) -> str:
        text = clean_text(text)
        more = len(text) - self._limits.text
        if more <= 0:
            return text
        return f"{text[: self._limits.text]}\n[... {more:,} more characters not shown]\n"


def plain_text(data: bytes) -> str:
    """Text as it is: UTF-8 with or without a mark, UTF-16 with one, else Latin-1."""
    for mark, encoding in ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):
        if data.startswith(mark):
            return data.decode(encoding, "replace")
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _kind(data: bytes, media_type: str, name: str) -> str:
    if data.startswith(b"%PDF-"):
        return "pdf"
    if data.startswith(b"PK\x03\x04"):
        return _zip_kind(data)
    if data.startswith(b"\xd0\xcf\x11\xe0"):
        return "old binary Office file"
    if data.startswith((b"\x89PNG", b"\xff\xd8\xff", b"GIF8")):
        return "picture"
    by_type = _KINDS_BY_TYPE.get(media_type.partition(";")[0].strip().lower())
    if by_type == "mail" or name.lower().endswith(".eml"):
        return "mail"
    if by_type == "pdf" or name.lower().endswith((".xlsx", ".docx", ".pptx", ".pdf")):
        return _claimed(name) if data else "text"
    if b"\x00" in data[:8_192] and not data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "binary file"
    return "text"


def _claimed(name: str) -> str:
    """What the name claims, where the bytes are nothing known: reading it as that fails with clear words."""
    ending = name.lower().rpartition(".")[2]
    return {"xlsx": "workbook", "docx": "word", "pptx": "slides"}.get(ending, "pdf")


def _zip_kind(data: bytes) -> str:
    """An Office file names its main part in the directory at its end, which is stored as plain bytes."""
    tail = data[-400_000:]
    return next((kind for part, kind in _OFFICE.items() if part.encode() in tail), "zip")


def _listing(archive: Archive) -> str:
    names = [clean_name(name) for name in archive.names]
    more = [f"[... {len(names) - 200:,} more names not shown]"] if len(names) > 200 else []
    return "\n".join([f"[zip archive with {len(names):,} files, not opened]", *names[:200], *more]) + "\n"
