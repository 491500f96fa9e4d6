"""How bytes are handed out: always as a download, never as a page of this site."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from fastapi import Response

from orchestrator.web.queries.files import Content
from simulator.canonical import clean_name
from simulator.ports import BlobStore

HARMLESS = frozenset(
    {
        "application/json", "application/pdf", "application/zip", "image/gif", "image/jpeg", "image/png", "text/csv",
        "text/plain", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    }
)  # fmt: skip
OCTETS = "application/octet-stream"
BYTES: dict[str, Any] = {
    media: {"schema": {"type": "string", "format": "binary"}} for media in (OCTETS, *sorted(HARMLESS))
}
"""What the OpenAPI document says of a download."""


def disposition(name: str) -> str:
    """Return the Content-Disposition of a download of this name, whatever is in the name (RFC 6266)."""
    safe = clean_name(name.replace("/", "-").replace("\\", "-")) or "file"
    plain = "".join(ch if ch.isascii() and ch.isprintable() and ch not in '"\\%;' else "_" for ch in safe)[:150]
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(safe[:150], safe='')}"


def download(blobs: BlobStore, content: Content) -> Response:
    """Return a version's bytes, verified by their hash."""
    media = content.media_type if content.media_type in HARMLESS else OCTETS
    headers = {
        "content-disposition": disposition(content.name),
        "content-security-policy": "default-src 'none'; sandbox",
        "x-content-type-options": "nosniff",
    }
    response = Response(blobs.get(content.blob.sha256), headers=headers)
    # Set by hand: for text the framework would add a character set that nobody has looked for.
    response.headers["content-type"] = media
    return response
