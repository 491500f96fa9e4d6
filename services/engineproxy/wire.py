"""HTTP as the proxy reads it: strictly, one request a connection, and never passed on as it came.

What is passed on is written anew from what was understood, so that the engine cannot understand something else. Whatever
could be read in two ways (both kinds of length, bare line feeds, escapes in a path) is refused.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode

HEAD_BYTES = 16_384
BODY_BYTES = 262_144
_HEADERS = 64
_METHODS = frozenset({"GET", "HEAD", "POST", "DELETE"})
_LINE = re.compile(rb"([A-Z]{1,10}) (/[\x21-\x7e]*) HTTP/1\.1")
_NAME = re.compile(rb"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_VALUE = re.compile(rb"[\x20-\x7e\t]*")
_PATH = re.compile(r"(/[A-Za-z0-9._:@-]+)+")
_VERSION = re.compile(r"/v1\.[0-9]{1,2}(?=/)")
_SIZE = re.compile(rb"[0-9A-Fa-f]{1,6}")
_ONCE = frozenset({"content-length", "transfer-encoding", "host", "connection", "upgrade", "content-type", "expect"})


class Refused(Exception):
    """The request is not allowed, or not understood: `status` is told with the sentence."""

    def __init__(self, sentence: str, status: int = 403) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.status = status


@dataclass(frozen=True)
class Request:
    """A request as it was understood. `version` is the path's prefix, such as `/v1.41`, or empty; `path` has none."""

    method: str
    version: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]

    @property
    def upgrades(self) -> bool:
        """Whether the client asks for a raw stream, as Docker's clients do."""
        options = {option.strip().lower() for option in self.headers.get("connection", "").split(",")}
        return "upgrade" in options and self.headers.get("upgrade", "").lower() == "tcp"


def parse_head(head: bytes) -> Request:
    """Read a request's head, which ends with its empty line. Raises Refused with status 400 for what is not plain."""
    first, *lines = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    found = _LINE.fullmatch(first)
    if found is None or found[1].decode() not in _METHODS:
        raise Refused("This is no plain HTTP/1.1 request.", 400)
    if len(lines) > _HEADERS:
        raise Refused(f"More than {_HEADERS} headers.", 400)
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(b":")
        if not colon or not _NAME.fullmatch(name) or not _VALUE.fullmatch(value):
            raise Refused("A header is malformed.", 400)
        key = name.decode().lower()
        if key in headers and key in _ONCE:
            raise Refused(f"The header {key} is there twice.", 400)
        headers[key] = value.decode().strip()
    if "content-length" in headers and "transfer-encoding" in headers:
        raise Refused("A body has one length: Content-Length or Transfer-Encoding, not both.", 400)
    if "expect" in headers:
        raise Refused("Expect is not understood here.", 400)
    version, path, query = _target(found[2].decode())
    return Request(found[1].decode(), version, path, query, headers)


def _target(target: str) -> tuple[str, str, dict[str, str]]:
    """Return a target's version prefix, path and query."""
    path, _, raw = target.partition("?")
    if not _PATH.fullmatch(path) or any(part in (".", "..") for part in path.split("/")):
        raise Refused("The path is not written plainly: no escapes, no empty or dotted parts.")
    found = _VERSION.match(path)
    version = found[0] if found else ""
    if ";" in raw or "#" in raw:
        raise Refused("The query is not written plainly.")
    try:
        pairs = (
            parse_qsl(raw, keep_blank_values=True, strict_parsing=True, max_num_fields=20, errors="strict")
            if raw
            else []
        )
    except ValueError as error:
        raise Refused("The query is malformed.", 400) from error
    query = dict(pairs)
    if len(query) != len(pairs):
        raise Refused("A parameter of the query is there twice.")
    return version, path[len(version) :], query


async def read_head(reader: asyncio.StreamReader) -> bytes:
    """Read up to and with the empty line; empty where the client left without a word.

    Raises Refused where it is too long, ends early, or has a line that does not end with CR LF.
    """
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as error:
        if not error.partial:
            return b""
        raise Refused("The request ends in the middle.", 400) from error
    except asyncio.LimitOverrunError as error:
        raise Refused(f"The request's head is over {HEAD_BYTES} bytes.", 431) from error
    if len(head) > HEAD_BYTES:
        raise Refused(f"The request's head is over {HEAD_BYTES} bytes.", 431)
    if head.count(b"\n") != head.count(b"\r\n") or head.count(b"\r") != head.count(b"\r\n"):
        raise Refused("A line does not end with CR LF.", 400)
    return head


async def read_body(request: Request, reader: asyncio.StreamReader) -> bytes:
    """Read a request's body, of its length or in chunks, at most `BODY_BYTES` in all. Raises Refused."""
    encoding = request.headers.get("transfer-encoding")
    try:
        if encoding is not None:
            if encoding.lower() != "chunked":
                raise Refused("Of transfer encodings only chunked is understood.", 400)
            return await _chunks(reader)
        length = request.headers.get("content-length", "0")
        if not re.fullmatch(r"[0-9]{1,9}", length):
            raise Refused("Content-Length is no number.", 400)
        if int(length) > BODY_BYTES:
            raise Refused(f"The body is over {BODY_BYTES} bytes.", 413)
        return await reader.readexactly(int(length))
    except asyncio.IncompleteReadError as error:
        raise Refused("The body ends in the middle.", 400) from error


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    body = bytearray()
    while True:
        try:
            line = await reader.readuntil(b"\r\n")
        except asyncio.LimitOverrunError as error:
            raise Refused("A chunk is malformed.", 400) from error
        if not _SIZE.fullmatch(line[:-2]):
            raise Refused("A chunk is malformed.", 400)
        size = int(line[:-2], 16)
        if len(body) + size > BODY_BYTES:
            raise Refused(f"The body is over {BODY_BYTES} bytes.", 413)
        data = await reader.readexactly(size + 2)
        # After the last chunk trailers could follow: they are as little understood as a chunk of another length.
        if data[size:] != b"\r\n":
            raise Refused("A chunk is malformed.", 400)
        if size == 0:
            return bytes(body)
        body += data[:size]


def request_bytes(method: str, path: str, query: dict[str, str], body: bytes = b"", *, upgrade: bool = False) -> bytes:
    """Write a request for the engine: one on its connection, its body of a stated length, nothing of the client's head."""
    target = f"{path}?{urlencode(query)}" if query else path
    lines = [f"{method} {target} HTTP/1.1", "Host: docker"]
    lines += ["Connection: Upgrade", "Upgrade: tcp"] if upgrade else ["Connection: close"]
    if body:
        lines.append("Content-Type: application/json")
    if body or method == "POST":
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode("ascii") + body
