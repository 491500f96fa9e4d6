"""A MIME message taken apart, in one bounded pass over bytes that anyone may have written.

The standard library's parser is not used for bodies: its time grows with lines times nesting, so that 25 MB of short
lines in nested parts keep it busy for hours, and it recurses once a nesting. Here lines are found by the byte searches
of C, and depth, parts and header sizes are bounded; what lies beyond a bound is said.
"""

from __future__ import annotations

import quopri
import re
from collections.abc import Callable
from email.message import Message

import msgspec

from services.carriers.mail.charsets import decode_base64, decode_text, decode_words
from services.carriers.mail.hypertext import html_text
from services.carriers.mail.names import file_name
from simulator.arriving import ArrivedFile
from simulator.canonical import clean_name

DEPTH, PARTS, FILES, HEADERS, PARAMETERS = 20, 500, 100, 128 * 1024, 2_000
"""Bounds: nesting; parts; files; bytes of one header block; characters of a header with parameters."""

_END_OF_HEADERS = re.compile(rb"(\A|\r?\n)\r?\n")
_FIELD = re.compile(r"([!-9;-~]{1,80})[ \t]*:[ \t]*(.*)", re.DOTALL)


class Headers(msgspec.Struct, frozen=True):
    """A header block's fields in order: (lower-case name, unfolded value, not decoded)."""

    fields: tuple[tuple[str, str], ...] = ()

    def all(self, name: str) -> tuple[str, ...]:
        """Return the values of every field of that name."""
        return tuple(value for field, value in self.fields if field == name)

    def first(self, name: str) -> str:
        """Return the value of the first field of that name; empty if there is none."""
        return next((value for field, value in self.fields if field == name), "")


class Content(msgspec.Struct):
    """What a message holds: its text as one would read it, its files, and what could not be read, in plain words."""

    text: str = ""
    files: list[ArrivedFile] = msgspec.field(default_factory=list)
    remarks: list[str] = msgspec.field(default_factory=list)
    parts: int = 0


def split_message(raw: memoryview) -> tuple[Headers, memoryview]:
    """Return a message's headers and its body; nothing is copied."""
    match = _END_OF_HEADERS.search(raw)
    block, body = (raw[: match.start(1)], raw[match.end() :]) if match else (raw, raw[:0])
    return _headers(bytes(block[:HEADERS])), body


def read_content(headers: Headers, body: memoryview) -> Content:
    """Return what a message's body holds. Never raises."""
    content = Content()
    pieces = _read(headers, body, 0, content)
    content.text = "\n".join(text for _, text in pieces)
    return content


def _headers(block: bytes) -> Headers:
    fields: list[tuple[str, str]] = []
    for line in re.split(rb"\r?\n(?![ \t])", block)[:2_000]:
        match = _FIELD.match(decode_text(line, "utf-8"))
        if match:
            fields.append((match[1].lower(), re.sub(r"\r?\n", "", match[2]).strip()))
    return Headers(tuple(fields))


def _read(headers: Headers, body: memoryview, depth: int, content: Content) -> list[tuple[bool, str]]:
    """Return a part's pieces of text as (was HTML, text); its files are added to `content`."""
    content.parts += 1
    kind = _Kind(headers)
    if kind.main != "multipart" or not kind.boundary:
        return _leaf(kind, body, content)
    if depth >= DEPTH:
        content.remarks.append(f"parts nested more than {DEPTH} deep were left out")
        return []
    pieces: list[tuple[bool, str]] = []
    children = _split(body, kind.boundary, PARTS - content.parts + 1)
    if not children:
        return _leaf(kind, body, content)
    for child in children:
        if content.parts >= PARTS:
            content.remarks.append(f"more than {PARTS} parts: the rest was left out")
            break
        pieces.extend(_read(*split_message(child), depth + 1, content))
    if kind.sub == "alternative":
        plain = [piece for piece in pieces if not piece[0] and piece[1].strip()]
        return plain or pieces[-1:]
    return pieces


def _split(body: memoryview, boundary: str, most: int) -> list[memoryview]:
    """Return what lies between the boundaries, little more than `most` parts; the last one need not be closed."""
    mark = b"--" + re.escape(boundary.encode("utf-8", "surrogateescape"))
    # The literal comes first and the look-behind after it, so that the search runs at memory speed.
    starts_a_line = rb"(?:(?<=\n" + mark + rb")|(?<=\A" + mark + rb"))"
    parts: list[memoryview] = []
    start = -1
    for match in re.finditer(mark + starts_a_line + rb"(--)?[ \t]{0,200}(?:\r?\n|\r?\Z)", body):
        if start >= 0:
            end = match.start() - 1
            parts.append(body[start : end - (body[end - 1] == 13)] if end > start else body[:0])
        start = match.end()
        if match[1] or len(parts) > most:
            return parts
    return [*parts, body[start:]] if start >= 0 else parts


class _Kind:
    """What a part's headers say about it: claims, each within a bound."""

    def __init__(self, headers: Headers) -> None:
        message: Message[str, str] = Message()
        message["Content-Type"] = headers.first("content-type")[:PARAMETERS] or "text/plain"
        message["Content-Disposition"] = headers.first("content-disposition")[:PARAMETERS]
        self.encoding = headers.first("content-transfer-encoding").strip().lower()
        self.main, _, self.sub = message.get_content_type().partition("/")
        self.attached = headers.first("content-disposition").strip().lower().startswith("attachment")
        self.boundary = _claimed(message.get_boundary).rstrip()[:200]
        self.charset = _claimed(message.get_content_charset)
        self.name = decode_words(_claimed(message.get_filename))

    @property
    def media_type(self) -> str:
        return f"{self.main}/{self.sub}"


def _claimed(read: Callable[[], str | None]) -> str:
    try:
        return read() or ""
    # On hostile parameters (RFC 2231) the standard library raises TypeError, ValueError, LookupError and others: none of
    # them may keep a mail out, and a part without that parameter is still a part.
    except Exception:  # noqa: BLE001 - see above: anything may be raised
        return ""


def _leaf(kind: _Kind, view: memoryview, content: Content) -> list[tuple[bool, str]]:
    body = bytes(view)
    if kind.main == "message" and kind.sub != "external-body":
        # A message inside is a file, as it is: what it says was said by others, and to others.
        inner = decode_words(split_message(view[:HEADERS])[0].first("subject")[:PARAMETERS])
        _keep(content, kind.name or f"{clean_name(inner).replace('/', '-')[:80] or 'message'}.eml", kind, body)
        return []
    data, sound = _decoded(kind.encoding, body)
    if kind.main in ("text", "multipart") and not kind.attached and not kind.name and kind.sub != "calendar":
        text = decode_text(data, kind.charset)
        if not sound:
            content.remarks.append("the text's encoding is broken: what could be read is kept")
        return [(True, html_text(text))] if kind.sub == "html" else [(False, text)]
    if not sound:
        content.remarks.append(f"the encoding of {clean_name(kind.name)[:80]!r} is broken: what could be read is kept")
    _keep(content, kind.name, kind, data)
    return []


def _keep(content: Content, name: str, kind: _Kind, data: bytes) -> None:
    number = len(content.files) + 1
    if number <= FILES:
        content.files.append(ArrivedFile(file_name(name, kind.media_type, number), data))
        return
    remark = f"more than {FILES} files: the rest was left out"
    if remark not in content.remarks:
        content.remarks.append(remark)


def _decoded(encoding: str, body: bytes) -> tuple[bytes, bool]:
    if encoding == "base64":
        return decode_base64(body)
    if encoding == "quoted-printable":
        return quopri.decodestring(body), True
    return body, True
