"""Office files are zip archives from strangers: read them within bounds, whatever their directory claims."""

from __future__ import annotations

import io
import zipfile
import zlib

from services.documents.limits import Limits, Unreadable

_CHUNK = 65_536
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError, ValueError)


class Archive:
    """A zip archive in memory whose members are unpacked at most once each and never past the limits.

    Raises `Unreadable`. Both the declared and the actual sizes count: a member is read in chunks, because zipfile
    inflates a whole compressed block at a time when asked for everything.
    """

    def __init__(self, data: bytes, limits: Limits) -> None:
        self._limits = limits
        self._left = limits.unpacked
        self._read: dict[str, bytes] = {}
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
            members = self._zip.infolist()
        except _DAMAGED:
            raise Unreadable("damaged zip archive") from None
        if len(members) > limits.members:
            raise Unreadable(f"zip archive with {len(members):,} members, more than {limits.members:,}")
        if sum(member.file_size for member in members) > limits.unpacked:
            raise Unreadable(f"zip archive that unpacks to more than {limits.unpacked:,} bytes")
        self.names: tuple[str, ...] = tuple(dict.fromkeys(member.filename for member in members if not member.is_dir()))
        self._known = frozenset(self.names)

    def __contains__(self, name: str) -> bool:
        return name in self._known

    def read(self, name: str) -> bytes:
        """The bytes of a member. Raises `Unreadable` when it is absent, damaged, encrypted or too large."""
        if name in self._read:
            return self._read[name]
        if name not in self._known:
            raise Unreadable(f"the part {name} is missing")
        allowed = min(self._limits.member, self._left)
        pieces: list[bytes] = []
        size = 0
        try:
            with self._zip.open(name) as member:
                while piece := member.read(_CHUNK):
                    size += len(piece)
                    if size > allowed:
                        raise Unreadable(f"the part {name} unpacks to more than {allowed:,} bytes")
                    pieces.append(piece)
        except _DAMAGED:
            raise Unreadable(f"the part {name} is damaged or encrypted") from None
        self._left -= size
        self._read[name] = b"".join(pieces)
        return self._read[name]
