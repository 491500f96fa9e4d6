"""Whose sandboxes are whose, so that what a killed process left is removed and nothing else ever is.

A container tells who started it: the token of a process and the name of the place where that process keeps its token.
The token is a file which its process holds locked for as long as it lives; the kernel lets go of the lock however the
process ends. So no clock, no process id and no host name is asked, and it works alike where the orchestrators live in
containers themselves, as long as those that share sandboxes share the folder. What comes from another place - another
OFFICETOWN_HOME, another machine on the same engine - cannot be judged from here and is left alone.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import secrets
from pathlib import Path

from simulator.errors import SandboxUnavailable

_TOKEN = re.compile(r"[0-9a-f]{32}")
_NAME = "place"


class Owner:
    """This process among all that keep their tokens in `folder`, until `release`."""

    def __init__(self, folder: Path) -> None:
        """Raises SandboxUnavailable where the folder cannot be made or is somebody else's."""
        self._folder = folder
        self._held = -1
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            found = folder.lstat()
            if found.st_uid != os.geteuid() or folder.is_symlink():
                raise SandboxUnavailable(f"{folder} belongs to somebody else; name another folder for the sandboxes.")
            self.place = self._name_place()
            self.token = self._take()
        except OSError as fault:
            raise SandboxUnavailable(
                f"The docker sandbox cannot keep track of its containers in {folder}: {fault.strerror}. Name a folder "
                "that this user may write to."
            ) from fault

    def is_gone(self, token: str) -> bool:
        """Whether the process that took this token in this place has ended. This very process has not."""
        if token == self.token or not _TOKEN.fullmatch(token):
            return False
        handle = self._lock(self._folder / token)
        if handle is None:
            return not (self._folder / token).exists()
        os.close(handle)
        return True

    def forget(self, token: str) -> None:
        """Remove the token of a process that is gone, and of which nothing is left."""
        if self.is_gone(token):
            (self._folder / token).unlink(missing_ok=True)

    def tokens(self) -> list[str]:
        """The tokens in this place, but for this process's own."""
        names = {path.name for path in self._folder.iterdir() if _TOKEN.fullmatch(path.name)}
        return sorted(names - {self.token})

    def release(self) -> None:
        """Give the token up; every sandbox under it is gone. Safe to call twice."""
        if self._held >= 0:
            (self._folder / self.token).unlink(missing_ok=True)
            os.close(self._held)
            self._held = -1

    def _take(self) -> str:
        """Make a token that nobody ever sees unlocked."""
        token = secrets.token_hex(16)
        unready = self._folder / f".{token}"
        self._held = os.open(unready, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        fcntl.flock(self._held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        unready.rename(self._folder / token)
        return token

    def _name_place(self) -> str:
        """The place's own name, which whoever comes first gives it, once and whole.

        The number of its file on the disk is part of it: a copy of the folder is another place.
        """
        path = self._folder / _NAME
        if not path.exists():
            unready = self._folder / f".{secrets.token_hex(8)}"
            unready.write_text(secrets.token_hex(16))
            with contextlib.suppress(FileExistsError):
                os.link(unready, path)
            unready.unlink()
        return f"{path.read_text()}-{path.stat().st_ino}"

    @staticmethod
    def _lock(path: Path) -> int | None:
        try:
            handle = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except FileNotFoundError:
            return None
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            return None
        return handle
