"""Files that are whole or not there: written aside, forced to the disk, renamed (RELIABILITY, "Commit and recovery")."""

from __future__ import annotations

import os
from pathlib import Path


def write_whole(path: Path, data: bytes, aside: Path | None = None, at: int | None = None, mode: int = 0o600) -> None:
    """Put bytes at `path`, for the owner alone unless `mode` says otherwise; `aside` is a name on the same disk, by default
    one beside it. `at` becomes the file's time.

    Raises OSError; at `path` there is nothing partial then, and what stood there before stands there still.
    """
    aside = aside or path.with_name(f".{path.name}.{os.getpid()}.part")
    descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if at is not None:
            os.utime(aside, (at, at))
        aside.replace(path)
    except OSError:
        aside.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def private_folder(path: Path) -> None:
    """Make a folder, and those above it that are missing, for the owner alone; what is there stays as it is."""
    if not path.is_dir():
        private_folder(path.parent)
        path.mkdir(mode=0o700, exist_ok=True)


def sync_folder(folder: Path) -> None:
    """Force a folder's entries to the disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
