"""Reading files out of a tree that an agent left: no link is followed, nothing but plain files of a bounded size."""

from __future__ import annotations

import hashlib
import io
import os
import stat
import zipfile
from pathlib import Path

MOST_BYTES = 20_000_000
_MOST_UNPACKED = 120_000_000
_MOST_MEMBERS = 3_000


class Unusable(Exception):  # noqa: N818 - a finding about the agent's file, not a fault of the grader
    """A file is not there or cannot be used; says why in plain words."""


def read(root: Path, path: str) -> bytes:
    """Return the bytes of a plain file below `root`. Raises `Unusable`.

    Every folder on the way is opened without following links, so a link out of the tree is never read.
    """
    parts = path.split("/")
    if not path or any(part in ("", ".", "..") or "\0" in part for part in parts):
        raise Unusable(f"{path!r} is no path below the home")
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for part in parts[:-1]:
            below = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
            os.close(folder)
            folder = below
        handle = os.open(parts[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    except OSError as problem:
        raise Unusable(f"{path} is missing" if isinstance(problem, FileNotFoundError) else f"{path} is no plain file") from None
    finally:
        os.close(folder)
    try:
        about = os.fstat(handle)
        if not stat.S_ISREG(about.st_mode):
            raise Unusable(f"{path} is no plain file")
        if about.st_size > MOST_BYTES:
            raise Unusable(f"{path} has {about.st_size:,} bytes; at most {MOST_BYTES:,} are read")
        with os.fdopen(os.dup(handle), "rb") as file:
            return file.read(MOST_BYTES + 1)
    finally:
        os.close(handle)


def digest(data: bytes) -> str:
    """Return the SHA-256 of bytes as hex."""
    return hashlib.sha256(data).hexdigest()


def check_archive(data: bytes) -> None:
    """Refuse what a zip-based office file must not be: a bomb, a listing without end, a part that declares entities.

    Sizes are those that unpacking really gives, never those that the archive claims. Raises `Unusable`.
    """
    left = _MOST_UNPACKED
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = archive.infolist()
            if len(members) > _MOST_MEMBERS:
                raise Unusable(f"the archive has {len(members):,} members")
            for member in members:
                left = _unpacked(archive, member, left)
    except Unusable:
        raise
    # zipfile and zlib raise a dozen kinds of error on crafted archives; each means that the file cannot be used.
    except Exception:  # noqa: BLE001
        raise Unusable("the archive is damaged") from None


def _unpacked(archive: zipfile.ZipFile, member: zipfile.ZipInfo, left: int) -> int:
    """Unpack a member in pieces and throw them away; return the bytes that may still be unpacked."""
    tail = b""
    with archive.open(member) as part:
        while piece := part.read(1 << 16):
            left -= len(piece)
            if left < 0:
                raise Unusable(f"unpacked, the archive has more than {_MOST_UNPACKED:,} bytes")
            if member.filename.lower().endswith((".xml", ".rels")) and b"<!DOCTYPE" in tail + piece:
                raise Unusable("a part of the file declares a document type")
            tail = piece[-16:]
    return left
