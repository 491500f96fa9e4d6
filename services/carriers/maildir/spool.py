"""What people handed in: on the disk before they are told so, and there until the office's record has it."""

from __future__ import annotations

import re
import threading
from collections.abc import Collection
from pathlib import Path

from services.storage.wholefiles import private_folder, sync_folder, write_whole
from simulator.canonical import sha256
from simulator.errors import CarrierError

_NAME = re.compile(r"(\d{10})-[0-9a-f]{16}\.eml")


class Spool:
    """Mails in the order in which they came, in a folder. What was taken in is moved to `taken` and never removed.

    A name holds a number and a hash of its mail, so that a name that is used anew can only be the same mail.
    """

    def __init__(self, folder: Path) -> None:
        self._waiting = folder / "waiting"
        self._taken = folder / "taken"
        self._aside = folder / "tmp"
        self._lock = threading.Lock()
        self._last: int | None = None

    def add(self, data: bytes) -> str:
        """Keep a mail; return its name. Raises OSError, with nothing kept, where the disk refuses."""
        with self._lock:
            self._make()
            number = self._number() + 1
            name = f"{number:010d}-{sha256(data)[:16]}.eml"
            write_whole(self._waiting / name, data, self._aside / name)
            self._last = number
        return name

    def waiting(self) -> tuple[tuple[str, int], ...]:
        """Return (name, size) of what was not taken in yet, oldest first."""
        try:
            self._make()
            found = [(p.name, p.stat().st_size) for p in self._waiting.iterdir() if _NAME.fullmatch(p.name)]
        except OSError as fault:
            raise self._refused(fault) from fault
        return tuple(sorted(found))

    def read(self, name: str, limit: int) -> bytes:
        """Return a mail, at most `limit` bytes of it."""
        try:
            with (self._waiting / name).open("rb") as file:
                return file.read(limit)
        except OSError as fault:
            raise self._refused(fault) from fault

    def take(self, names: Collection[str]) -> None:
        """Move mails to what was taken in; those that are there already stay there."""
        try:
            moved = [name for name, _ in self.waiting() if name in names]
            for name in moved:
                (self._waiting / name).replace(self._taken / name)
            if moved:
                sync_folder(self._taken)
                sync_folder(self._waiting)
        except OSError as fault:
            raise self._refused(fault) from fault

    def _make(self) -> None:
        for folder in (self._waiting, self._taken, self._aside):
            private_folder(folder)

    def _number(self) -> int:
        """Return the number of the last mail that came, over restarts too."""
        if self._last is None:
            names = [p.name for folder in (self._waiting, self._taken) for p in folder.iterdir()]
            self._last = max((int(m[1]) for m in map(_NAME.fullmatch, names) if m), default=0)
        return self._last

    def _refused(self, fault: OSError) -> CarrierError:
        return CarrierError(f"The folder of mails that came in, {self._waiting}, cannot be used ({fault.strerror}).")
