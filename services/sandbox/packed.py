"""The read-only trees below /mnt as one tar stream, for sandboxes that the host's files cannot be bound into (RULE 32).

What is laid down from it looks as bubblewrap's trees do: the same modes, the same times, owned by nobody.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping

import msgspec

from services.sandbox.trees import cut
from simulator.errors import SandboxError
from simulator.ports import BlobStore, TreeEntry

UNPACK = [
    "/usr/bin/tar", "--extract", "--file=-", "--directory=/mnt", "--preserve-permissions", "--no-same-owner",
    "--delay-directory-restore",
]  # fmt: skip
_PAGE = 4096


class Packed(msgspec.Struct, frozen=True):
    """A tar stream, and what unpacked it takes of a file system in memory: bytes and inodes."""

    data: bytes
    room: int
    inodes: int


def pack(mounts: Mapping[str, tuple[TreeEntry, ...]], now: int, blobs: BlobStore) -> Packed:
    """Pack the mounts, `/mnt` itself first. Raises SandboxError for trees that cannot be."""
    own, folders, stamp = cut(mounts, now)
    made: dict[str, int] = {"": now}
    files: dict[str, tuple[TreeEntry, int]] = {}
    for mount in mounts:
        made[mount] = now
    for folder, entries in folders.items():
        made[folder] = stamp
        for entry in entries:
            _add(files, made, f"{folder}/{entry.path}", entry, stamp)
    for entry in own:
        _add(files, made, entry.path, entry, now)
    clash = sorted(files.keys() & made.keys())
    if clash:
        raise SandboxError(f"A read-only tree has {clash[0]!r} as a file and as a folder.")
    stream = io.BytesIO()
    room = 0
    # GNU's own format: it takes names as the bytes they are, whatever the language of whoever unpacks them.
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.GNU_FORMAT, encoding="utf-8") as tar:
        for path, time in sorted(made.items()):
            member = _member(f"./{path}", 0o555, time)
            member.type = tarfile.DIRTYPE
            tar.addfile(member)
        for path, (entry, time) in sorted(files.items()):
            data = blobs.get(entry.blob.sha256)
            member = _member(f"./{path}", 0o555 if entry.mode & 0o100 else 0o444, time)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
            room += -(-len(data) // _PAGE) * _PAGE
    return Packed(stream.getvalue(), room, len(made) + len(files))


def _add(files: dict[str, tuple[TreeEntry, int]], made: dict[str, int], path: str, entry: TreeEntry, time: int) -> None:
    if path in files:
        raise SandboxError(f"A read-only tree names {entry.path!r} twice.")
    files[path] = entry, time
    folder = path.rpartition("/")[0]
    while folder not in made:
        made[folder] = time
        folder = folder.rpartition("/")[0]


def _member(path: str, mode: int, time: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(path)
    member.mode, member.mtime = mode, time
    return member
