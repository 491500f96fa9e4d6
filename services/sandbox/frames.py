"""How host and supervisor speak: frames of byte fields, each with its length first, over one private stream socket.

A frame is `u32 length of the rest`, then for each field `u32 length, bytes` (big-endian). Nothing in a field can be
mistaken for a border, so no output of a command can break the conversation (RULE 33). This file is also the head of the
program that runs inside (`supervisor.py`), so it imports nothing.
"""

from __future__ import annotations


class BadFrame(Exception):
    """The other side sent something that is no frame, or one larger than was agreed."""


def encode(*fields: bytes) -> bytes:
    """Return the frame that holds the fields."""
    body = b"".join(len(field).to_bytes(4, "big") + field for field in fields)
    return len(body).to_bytes(4, "big") + body


def decode(body: bytes) -> list[bytes]:
    """Return the fields of a frame's body. Raises BadFrame."""
    fields: list[bytes] = []
    at = 0
    while at < len(body):
        end = at + 4 + int.from_bytes(body[at : at + 4], "big")
        if at + 4 > len(body) or end > len(body):
            raise BadFrame("a field is longer than its frame")
        fields.append(body[at + 4 : end])
        at = end
    return fields
