"""The home as its supervisor keeps it: only what a manifest of files can carry survives a command (RULES 32, 35, 36).

A sandbox that lives on must equal one restored from its manifest, or a run would depend on how often it was killed. So
after each command, when no other process is alive, the home is settled: links, FIFOs, sockets and names that no record
can hold are removed and named, hard links become files of their own, modes become 644 or 755, times the simulated now.
Nothing is ever followed: every name is looked up in an open folder and never through a link.
"""

# Paths are bytes here, for a hostile name need not be text, and pathlib would be half of the supervisor's start.
# ruff: noqa: PTH103, PTH116, PTH118, PTH120, PTH123, PTH208

from __future__ import annotations

import os
import stat
import unicodedata
from collections.abc import Callable

HOME = b"/home/npc/computer"
MAX_DEPTH = 32
MAX_PATH = 1024
MAX_REFUSALS = 100  # named one by one; the rest are counted
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_CLEAR = b'chmod -R u+rwx -- "$1" 2>/dev/null; rm -rf -- "$1"'
_KINDS = {stat.S_IFLNK: b"a link", stat.S_IFIFO: b"a FIFO", stat.S_IFSOCK: b"a socket"}

Key = tuple[int, int, int, int]
Refusal = tuple[bytes, bytes]


def name_fault(path: bytes) -> bytes:
    """Say why no record can hold a file of this relative path, or nothing. Unicode form is judged separately."""
    if len(path) > MAX_PATH:
        return b"its path is longer than %d bytes" % MAX_PATH
    if path.count(b"/") >= MAX_DEPTH:
        return b"more than %d folders deep" % MAX_DEPTH
    if any(part in (b"", b".", b"..") for part in path.split(b"/")):
        return b"its path has an empty, `.` or `..` part"
    try:
        text = path.decode()
    except UnicodeDecodeError:
        return b"its name is not UTF-8"
    if any(unicodedata.category(character) in ("Cc", "Zl", "Zp") for character in text):
        return b"its name holds a control character"
    return b""


def normal(name: bytes) -> bytes:
    """The name in Unicode NFC."""
    return name if name.isascii() else unicodedata.normalize("NFC", name.decode()).encode()


def destroy(folder: int, name: bytes) -> None:
    """Remove one name of an open folder with all below it, however deep and however its modes are set."""
    try:
        os.unlink(name, dir_fd=folder)
        return
    except OSError:
        pass
    pid = os.fork()
    if not pid:
        try:
            os.fchdir(folder)
            command = [b"bash", b"-c", _CLEAR, b"bash", name]
            os.execve(b"/bin/bash", command, {b"PATH": b"/usr/bin:/bin"})  # noqa: S606  # the name is an argument
        finally:
            os._exit(127)
    os.waitpid(pid, 0)
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return
    raise RuntimeError("a file could not be removed")


def empty(place: bytes) -> bool:
    """Remove everything in a folder; return whether there was anything."""
    folder = os.open(place, _FOLDER)
    try:
        names = [os.fsencode(name) for name in os.listdir(folder)]
        for name in names:
            destroy(folder, name)
    finally:
        os.close(folder)
    return bool(names)


class HomeTree:
    """Keeps the home settled and remembers what of it the host has already seen."""

    def __init__(self, now: int, file_size: int, home_bytes: int, home_files: int, home: bytes = HOME) -> None:
        self._home = home
        self._home_files = home_files
        self._now_ns = now * 1_000_000_000
        self._file_size = file_size
        self._home_bytes = home_bytes
        self._known: dict[bytes, Key] = {}
        self._files: dict[bytes, tuple[Key, int]] = {}
        self._folders: list[bytes] = []
        self._new: list[Refusal] = []
        self._refused: list[Refusal] = []
        self._bytes = 0
        self._count = 0
        self._unnamed = 0

    def put(self, path: bytes, mode: int, data: bytes) -> None:
        """Lay down a file that the host has already in its store."""
        full = self._home + b"/" + path
        os.makedirs(os.path.dirname(full), 0o755, exist_ok=True)
        handle = os.open(full, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            left = memoryview(data)
            while left:
                left = left[os.write(handle, left) :]
            os.fchmod(handle, mode)
            os.utime(handle, ns=(self._now_ns, self._now_ns))
            self._known[path] = _key(os.fstat(handle))
        finally:
            os.close(handle)

    def folder(self, path: bytes) -> None:
        """Make a folder that was empty."""
        os.makedirs(self._home + b"/" + path, 0o755, exist_ok=True)

    def settle(self) -> tuple[list[Refusal], list[bytes]]:
        """Make the home what a manifest can carry; return what was removed and why, and the folders that are empty."""
        before = {*self._files, *self._folders}
        self._new, self._unnamed = [], 0
        root = os.open(self._home, _FOLDER)
        try:
            while True:
                self._files, self._folders, self._bytes, self._count = {}, [], 0, 0
                self._settle_folder(root, b"")
                surplus = self._surplus(before)
                if not surplus:
                    break
                for path, reason in surplus:
                    self._drop(path)
                    self._refuse(path, reason)
        finally:
            os.close(root)
        if self._unnamed:
            self._new.append((b"%d more" % self._unnamed, b"for such reasons"))
        self._refused += self._new
        return self._new, self._folders

    def export(self, send: Callable[..., None]) -> list[Refusal]:
        """Send every file, with its bytes if the host has not seen them; return what was refused since then."""
        self.settle()
        for path in sorted(self._files):
            key, mode = self._files[path]
            if self._known.get(path) == key:
                send(b"same", path, b"%d" % mode)
                continue
            handle = os.open(self._home + b"/" + path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            with open(handle, "rb", buffering=0) as file:
                send(b"file", path, b"%d" % mode, file.read(self._file_size + 1) or b"")
            self._known[path] = key
        refused, self._refused = self._refused, []
        return refused

    def _settle_folder(self, folder: int, prefix: bytes) -> None:
        os.fchmod(folder, 0o755)
        self._count += 1
        before = len(self._files) + len(self._folders)
        for name in sorted(os.fsencode(name) for name in os.listdir(folder)):
            found = os.stat(name, dir_fd=folder, follow_symlinks=False)
            name, reason = self._settle_name(folder, name, prefix)
            path = prefix + name
            if not reason and stat.S_ISDIR(found.st_mode):
                os.chmod(name, 0o755, dir_fd=folder)  # noqa: S103  # as a manifest restores it
                inner = os.open(name, _FOLDER, dir_fd=folder)
                try:
                    self._settle_folder(inner, path + b"/")
                finally:
                    os.close(inner)
                continue
            reason = reason or self._file_fault(found)
            if reason:
                destroy(folder, name)
                self._refuse(path, reason)
            else:
                self._count += 1
                self._settle_file(folder, name, path, found)
        if prefix and len(self._files) + len(self._folders) == before:
            self._folders.append(prefix[:-1])
        os.utime(folder, ns=(self._now_ns, self._now_ns))

    def _surplus(self, before: set[bytes]) -> list[Refusal]:
        """What must go for the home to keep its bounds: what is new before what was there, the last in order first."""
        count, size, surplus = self._count, self._bytes, list[Refusal]()
        if count <= self._home_files and size <= self._home_bytes:
            return surplus
        for path in sorted((*self._files, *self._folders), key=lambda one: (one not in before, one), reverse=True):
            own = self._files[path][0][1] if path in self._files else 0
            if count > self._home_files:
                surplus.append((path, b"the home would hold more than %d files" % self._home_files))
            elif size > self._home_bytes and own:
                surplus.append((path, b"the home would hold more than %d bytes" % self._home_bytes))
            elif size <= self._home_bytes:
                break
            else:
                continue
            count, size = count - 1, size - own
        return surplus

    def _drop(self, path: bytes) -> None:
        folder, _, name = path.rpartition(b"/")
        handle = os.open(self._home + b"/" + folder, _FOLDER)
        try:
            destroy(handle, name)
        finally:
            os.close(handle)

    def _refuse(self, path: bytes, reason: bytes) -> None:
        if len(self._new) < MAX_REFUSALS:
            self._new.append((path, reason))
        else:
            self._unnamed += 1

    def _settle_name(self, folder: int, name: bytes, prefix: bytes) -> tuple[bytes, bytes]:
        """Return the name under which the file is kept, and why it cannot be."""
        reason = name_fault(prefix + name)
        if reason or normal(name) == name:
            return name, reason
        try:
            os.stat(normal(name), dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            os.rename(name, normal(name), src_dir_fd=folder, dst_dir_fd=folder)
            return normal(name), b""
        return name, b"another file has the same name in another Unicode form"

    def _file_fault(self, found: os.stat_result) -> bytes:
        if not stat.S_ISREG(found.st_mode):
            return _KINDS.get(stat.S_IFMT(found.st_mode), b"a device")
        if found.st_size > self._file_size:
            return b"larger than %d bytes" % self._file_size
        return b""

    def _settle_file(self, folder: int, name: bytes, path: bytes, found: os.stat_result) -> None:
        mode = 0o755 if found.st_mode & 0o100 else 0o644
        self._bytes += found.st_size
        if found.st_nlink > 1 and not self._separate(folder, name):
            self._refuse(path, b"a hard link, and no room to make it a file of its own")
            return
        if found.st_nlink > 1 or stat.S_IMODE(found.st_mode) != mode:
            os.chmod(name, mode, dir_fd=folder)
        if found.st_nlink > 1 or found.st_mtime_ns != self._now_ns:
            # A coarse clock may give a change the time stamps of the version before it; a new time cannot hide.
            self._known.pop(path, None)
            os.utime(name, ns=(self._now_ns, self._now_ns), dir_fd=folder)
            found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        self._files[path] = _key(found), mode

    def _separate(self, folder: int, name: bytes) -> bool:
        """Give a name that shares its file with others a file of its own; remove it and say False if none fits."""
        mode = stat.S_IMODE(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
        os.chmod(name, 0o600, dir_fd=folder)
        handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
        with open(handle, "rb", buffering=0) as file:
            data = file.read(self._file_size) or b""
            os.fchmod(handle, mode)  # the other names are still to be judged by it
        os.unlink(name, dir_fd=folder)
        handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=folder)
        with open(handle, "wb", buffering=0) as file:
            try:
                left = memoryview(data)
                while left:
                    left = left[file.write(left) or 0 :]
            except OSError:
                os.unlink(name, dir_fd=folder)
                return False
        return True


def _key(found: os.stat_result) -> Key:
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
