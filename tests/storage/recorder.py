"""A recorder of the file calls under `FileBlobs`, and every disk that a power cut could leave behind.

The model is the weakest that POSIX allows: bytes are safe after the file's fsync, a name after its folder's; what is
not safe may have reached the disk or not, in any combination.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from services.storage.blobs import PosixFiles


class Call(msgspec.Struct, frozen=True):
    """One file call."""

    kind: str
    path: Path
    other: Path | None = None
    data: bytes = b""


class Recorder(PosixFiles):
    """Does each call, and keeps it; a call that `omit` chooses is neither done nor kept (a bug, on purpose)."""

    def __init__(self, omit: Callable[[Call], bool] = lambda call: False) -> None:
        self.calls: list[Call] = []
        self._omit = omit

    def _keep(self, call: Call) -> bool:
        if self._omit(call):
            return False
        self.calls.append(call)
        return True

    def mkdir(self, path: Path) -> None:
        new = not path.exists()
        super().mkdir(path)
        if new:
            self._keep(Call("mkdir", path))

    def write(self, path: Path, data: bytes) -> None:
        super().write(path, data)
        self._keep(Call("write", path, data=data))

    def fsync(self, path: Path) -> None:
        if self._keep(Call("fsync_folder" if path.is_dir() else "fsync", path)):
            super().fsync(path)

    def rename(self, old: Path, new: Path) -> None:
        super().rename(old, new)
        self._keep(Call("rename", old, new))

    def unlink(self, path: Path) -> None:
        super().unlink(path)
        self._keep(Call("unlink", path))


Disk = dict[Path, bytes]


def disks_after(calls: list[Call]) -> Iterator[Disk]:
    """Yield every set of files that may be found after a power cut right after these calls."""
    names = [call for call in calls if call.kind in ("mkdir", "rename", "write")]
    unsafe = [call for call in names if not _name_is_safe(call, calls)]
    for lost in itertools.chain.from_iterable(itertools.combinations(unsafe, n) for n in range(len(unsafe) + 1)):
        yield from _contents([call for call in names if call not in lost], calls)


def _name_is_safe(call: Call, calls: list[Call]) -> bool:
    folder = (call.other or call.path).parent
    later = calls[calls.index(call) + 1 :]
    return any(c.kind == "fsync_folder" and c.path == folder for c in later)


def _contents(names: list[Call], calls: list[Call]) -> Iterator[Disk]:
    folders = {call.path for call in calls if call.kind == "mkdir"}
    present = {call.path for call in names if call.kind == "mkdir"}
    files: dict[Path, Path] = {}
    for call in names:
        if call.kind == "write":
            files[call.path] = call.path
        elif call.kind == "rename" and call.other is not None:
            # A rename reaches the disk whole, also when the name it had before never did.
            files.pop(call.path, None)
            files[call.other] = call.path
    reachable = {
        name: written for name, written in files.items() if not any(p in folders - present for p in name.parents)
    }
    choices = [_bytes_of(written, calls) for written in reachable.values()]
    for contents in itertools.product(*choices):
        yield dict(zip(reachable, contents, strict=True))


def _bytes_of(written: Path, calls: list[Call]) -> list[bytes]:
    data = next(call.data for call in calls if call.kind == "write" and call.path == written)
    safe = any(call.kind == "fsync" and call.path == written for call in calls)
    return [data] if safe else [data, b"", data[: len(data) // 2]]
