"""Read-only trees below /mnt, laid down once and bound into every sandbox that is shown the same (RULES 31, 32, 36)."""

from __future__ import annotations

import calendar
import hashlib
import os
import secrets
import threading
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from services.sandbox import prefix
from services.sandbox.session import safe_path
from simulator.errors import SandboxError
from simulator.ports import BlobStore, TreeEntry

Bound = tuple[tuple[str, str], ...]  # (path on the host, path inside), outer before inner


def cut(
    mounts: Mapping[str, tuple[TreeEntry, ...]], now: int
) -> tuple[list[TreeEntry], dict[str, list[TreeEntry]], int]:
    """Cut mounts at their top-level folders: (the files between them, by path below /mnt; the folders; their time).

    A folder's entries are relative to it. Raises SandboxError for a path that could leave its tree.
    """
    year, month = time.gmtime(now)[:2]
    own: list[TreeEntry] = []
    folders: dict[str, list[TreeEntry]] = {}
    for mount, entries in mounts.items():
        for entry in entries:
            safe_path(f"{mount}/{entry.path}")
            top, inner, rest = entry.path.partition("/")
            if inner:
                inside = TreeEntry(path=rest, blob=entry.blob, mode=entry.mode)
                folders.setdefault(f"{mount}/{top}", []).append(inside)
            else:
                own.append(TreeEntry(path=f"{mount}/{top}", blob=entry.blob, mode=entry.mode))
    return own, folders, calendar.timegm((year, month, 1, 0, 0, 0))


class _Tree:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.lock = threading.Lock()
        self.made = False
        self.size = 0
        self.users = 0


class Lease:
    """The trees one sandbox is shown, held until `release`."""

    def __init__(self, bound: Bound, trees: Trees, held: list[_Tree], own: Path) -> None:
        self.bound = bound
        self._trees = trees
        self._held = held
        self._own = own

    def release(self) -> None:
        """Let go of the trees; the sandbox that saw them is gone."""
        prefix.remove(self._own)
        self._trees.release(self._held)
        self._held = []


class Trees:
    """Lays trees down below `folder` and keeps unused ones up to `keep_bytes`.

    A mount is cut at its top-level folders: each is one tree, kept under its content and the month, since from one job
    to the next few of them change (the skill packs never do). What lies between them is a small tree of the sandbox's
    own. Names on the host are random: the list of mounts inside shows them (RULE 31). Files carry
    the first of the month as their time, what is the sandbox's own carries the very moment: neither tells what was
    cached. The caller's user owns all of it, and nobody may write.
    """

    def __init__(self, folder: Path, blobs: BlobStore, keep_bytes: int = 1 << 30) -> None:
        self._folder = folder
        self._blobs = blobs
        self._keep_bytes = keep_bytes
        self._lock = threading.Lock()
        self._trees: dict[str, _Tree] = {}  # least recently used first

    def hold(self, mounts: Mapping[str, tuple[TreeEntry, ...]], now: int) -> Lease:
        """Lay down what is not there yet and hold all of it. Raises SandboxError for trees that cannot be."""
        own, folders, stamp = cut(mounts, now)
        skeleton = self._folder / secrets.token_hex(12)
        held: list[_Tree] = []
        lease = Lease((), self, held, skeleton)
        try:
            self._lay(skeleton, own, now, (*mounts, *folders))
            for part in folders.values():
                held.append(self._hold_one(part, stamp))
        except BaseException:  # whatever it is, what was taken is given back before it goes on
            lease.release()
            raise
        inner_binds = ((str(tree.path), f"/mnt/{name}") for name, tree in zip(folders, held, strict=True))
        lease.bound = ((str(skeleton), "/mnt"), *inner_binds)
        return lease

    def release(self, held: Iterable[_Tree]) -> None:
        """Give up trees taken by `hold`, and remove the longest unused ones past the bound."""
        doomed: list[_Tree] = []
        with self._lock:
            for tree in held:
                tree.users -= 1
            unused = {key: tree for key, tree in self._trees.items() if not tree.users}
            surplus = sum(tree.size for tree in unused.values()) - self._keep_bytes
            for key, tree in unused.items():
                if surplus <= 0:
                    break
                surplus -= tree.size
                doomed.append(self._trees.pop(key))
        for tree in doomed:
            prefix.remove(tree.path)

    def _hold_one(self, entries: list[TreeEntry], stamp: int) -> _Tree:
        digest = hashlib.sha256(b"%d" % stamp)
        for entry in sorted(entries, key=lambda one: one.path):
            digest.update(f"\0{entry.path}\0{entry.blob.sha256}\0{entry.mode}".encode("utf-8", "replace"))
        key = digest.hexdigest()
        with self._lock:
            tree = self._trees.pop(key, None) or _Tree(self._folder / secrets.token_hex(12))
            self._trees[key] = tree
            tree.users += 1
        try:
            with tree.lock:
                if not tree.made:
                    prefix.remove(tree.path)
                    self._lay(tree.path, entries, stamp, ())
                    tree.size = sum(entry.blob.size for entry in entries)
                    tree.made = True
        except BaseException:  # whatever it is, what was taken is given back before it goes on
            self.release([tree])
            raise
        return tree

    def _lay(self, root: Path, entries: Iterable[TreeEntry], stamp: int, folders: Iterable[str]) -> None:
        """Write a tree: copies, never links; times set; nothing writable when done."""
        made = {root}
        root.mkdir(mode=0o755)
        for folder in folders:
            self._folders(root / folder, made)
        for entry in entries:
            path = root / entry.path
            self._folders(path.parent, made)
            try:
                handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            except (FileExistsError, IsADirectoryError):
                raise SandboxError(f"A read-only tree names {entry.path!r} twice.") from None
            with open(handle, "wb", buffering=0) as file:  # noqa: PTH123  # of a descriptor
                data = memoryview(self._blobs.get(entry.blob.sha256))
                while data:
                    data = data[file.write(data) :]
                os.fchmod(handle, 0o555 if entry.mode & 0o100 else 0o444)
                os.utime(handle, (stamp, stamp))
        for finished in sorted(made, reverse=True):
            os.utime(finished, (stamp, stamp))
            finished.chmod(0o555)

    @staticmethod
    def _folders(path: Path, made: set[Path]) -> None:
        missing = []
        while path not in made:
            missing.append(path)
            path = path.parent
        for folder in reversed(missing):
            try:
                folder.mkdir(mode=0o755)
            except FileExistsError:
                raise SandboxError(f"A read-only tree has {folder.name!r} as a file and as a folder.") from None
            made.add(folder)
