"""File bytes by their SHA-256 in a folder: nothing is overwritten, what is handed out was verified.

A put is: temporary file on the same file system, write, fsync, rename to the hash, fsync the folder. Only then may a
transaction name the hash. Files belong to the owner alone (0600): what runs in a sandbox has another uid (RULE 30).
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Protocol

from services.storage.faults import LostAnswer, committed, fault_point
from simulator.canonical import sha256 as digest_of
from simulator.errors import CorruptStore, StorageError, UsageError
from simulator.ports import Blob

_HASH = re.compile(r"[0-9a-f]{64}")
_REMEMBERED = 200_000


class FileOps(Protocol):
    """The handful of file calls that durability rests on; a test's recorder stands in for them."""

    def mkdir(self, path: Path) -> None: ...
    def write(self, path: Path, data: bytes) -> None: ...
    def fsync(self, path: Path) -> None: ...
    def rename(self, old: Path, new: Path) -> None: ...
    def unlink(self, path: Path) -> None: ...


class PosixFiles:
    """`FileOps` on the real file system."""

    def mkdir(self, path: Path) -> None:
        """Make one folder for the owner alone; one that exists is left as it is."""
        path.mkdir(mode=0o700, exist_ok=True)

    def write(self, path: Path, data: bytes) -> None:
        """Create `path` (it must not exist) with mode 0600 and these bytes."""
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb", buffering=0) as file:
            view = memoryview(data)
            while view:
                view = view[file.write(view) or 0 :]

    def fsync(self, path: Path) -> None:
        """Force a file's bytes, or a folder's entries, to the disk."""
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def rename(self, old: Path, new: Path) -> None:
        """Give `old` the name `new`, atomically."""
        old.replace(new)

    def unlink(self, path: Path) -> None:
        """Remove a file if it is there."""
        path.unlink(missing_ok=True)


class FileBlobs:
    """A `BlobStore` in a folder, fanned out over 256 subfolders. Safe for threads and for several processes."""

    def __init__(self, root: Path, files: FileOps | None = None) -> None:
        self._root = root
        self._files: FileOps = files or PosixFiles()
        self._durable: set[str] = set()
        self._folders: set[Path] = set()
        self._counter = 0
        self._lock = threading.Lock()

    def put(self, data: bytes) -> Blob:
        """Store `data` durably and return its reference. Raises StorageError; nothing partial stays then."""
        blob = Blob(digest_of(data), len(data))
        path = self._path(blob.sha256)
        try:
            if blob.sha256 in self._durable and _touch(path):
                return blob
            if not self._adopt(path, blob):
                self._write(path, data)
        except (OSError, LostAnswer) as error:
            raise StorageError(
                f"{self._root}: could not store a file of {blob.size} bytes ({_plain(error)}). "
                "Free some space or check the disk."
            ) from error
        with self._lock:
            if len(self._durable) >= _REMEMBERED:
                self._durable.clear()
            self._durable.add(blob.sha256)
        return blob

    def get(self, sha256: str) -> bytes:
        """Return the verified bytes (RULE 25). Raises CorruptStore: missing, or not what the hash says."""
        path = self._path(sha256)
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            raise CorruptStore(
                f"{self._root}: the file {sha256} is missing. Restore the store from a backup."
            ) from None
        except OSError as error:
            raise StorageError(f"{path}: could not be read ({_plain(error)}). Check the disk.") from error
        if digest_of(data) != sha256:
            raise CorruptStore(f"{path}: the bytes do not match their hash. Restore the file from a backup.")
        return data

    def has(self, sha256: str) -> bool:
        """Return whether a file is filed under this hash."""
        return self._path(sha256).is_file()

    def hashes(self) -> Iterator[str]:
        """Yield every hash in the store, in order."""
        for folder in sorted(self._root.glob("[0-9a-f][0-9a-f]")):
            yield from sorted(
                folder.name + path.name for path in folder.iterdir() if _HASH.fullmatch(folder.name + path.name)
            )

    def gc(self, referenced: Collection[str], older_than: float) -> tuple[int, int]:
        """Remove what is not in `referenced` and was last put before `older_than` (seconds since the epoch).

        Call it only under all leases (RULE 25). Returns (files, bytes) removed; abandoned temporary files count too.
        """
        keep = referenced if isinstance(referenced, set | frozenset) else frozenset(referenced)
        count = size = 0
        try:
            candidates = [self._path(name) for name in self.hashes() if name not in keep]
            for path in [*candidates, *(self._root / "tmp").glob("*")]:
                status = path.stat()
                if status.st_mtime < older_than:
                    fault_point("blobs.gc")
                    with self._lock:
                        self._durable.discard(path.parent.name + path.name)
                    self._files.unlink(path)
                    count, size = count + 1, size + status.st_size
        except OSError as error:
            raise StorageError(f"{self._root}: could not be cleaned up ({_plain(error)}). Check the disk.") from error
        return count, size

    def _path(self, sha256: str) -> Path:
        if not _HASH.fullmatch(sha256):
            raise UsageError(f"{sha256!r} is not the SHA-256 of a stored file: 64 lower-case hex digits are needed.")
        return self._root / sha256[:2] / sha256[2:]

    def _adopt(self, path: Path, blob: Blob) -> bool:
        """Take over a file that is already there, and make its name durable."""
        if not _touch(path) or path.stat().st_size != blob.size:
            return False
        # Whoever wrote it may not have reached the fsync of its folder yet.
        self._files.fsync(path.parent)
        self._files.fsync(self._root)
        return True

    def _write(self, path: Path, data: bytes) -> None:
        temporary = self._temporary(path.name)
        self._folder(path.parent)
        try:
            fault_point("blobs.write")
            self._files.write(temporary, data)
            fault_point("blobs.fsync")
            self._files.fsync(temporary)
            fault_point("blobs.rename")
            self._files.rename(temporary, path)
            committed()
        # Whatever stops the write, an interruption too, leaves no temporary file; it is raised on.
        except BaseException:
            self._files.unlink(temporary)
            raise
        fault_point("blobs.fsync_folder")
        self._files.fsync(path.parent)

    def _folder(self, path: Path) -> None:
        """Make a folder whose own name is durable."""
        if path in self._folders:
            return
        above = [folder for folder in reversed(self._root.parents) if not folder.exists()]
        for folder in (*above, self._root, path):
            self._files.mkdir(folder)
            self._files.fsync(folder.parent)
        self._folders.add(path)

    def _temporary(self, name: str) -> Path:
        folder = self._root / "tmp"
        self._folder(folder)
        with self._lock:
            self._counter += 1
            return folder / f"{name[:16]}.{os.getpid()}.{threading.get_native_id()}.{self._counter}"


def _touch(path: Path) -> bool:
    """Make a file young, so that no collection takes it from whoever is about to name it; False if it is not there."""
    try:
        os.utime(path)
    except FileNotFoundError:
        return False
    return True


def _plain(error: BaseException) -> str:
    return (error.strerror or type(error).__name__) if isinstance(error, OSError) else str(error)
