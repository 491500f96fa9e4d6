"""Where no mail server is set up, what leaves the firm is laid down as `.eml` files, once each, for a person to open."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from services.carriers.mail.message import as_bytes, build
from services.storage.wholefiles import private_folder, write_whole
from simulator.arriving import Polled
from simulator.carrying import BounceOut, Directory, MailOut
from simulator.errors import CarrierError
from simulator.ports import BlobStore


class EmlFolder:
    """A `MailCarrier` that only writes: `<mail id>.eml` in one folder. `people` gives the office's accounts as they are."""

    name = "files"

    def __init__(self, folder: Path, people: Callable[[], Directory], blobs: BlobStore) -> None:
        self._folder = folder
        self._people = people
        self._blobs = blobs

    def provision(self, people: Directory) -> None:
        """There are no accounts."""

    def send(self, key: str, mail: MailOut, text: str, again: bool) -> None:
        """Lay a mail down with its attachments; one that lies there stays as it is.

        Raises CarrierError where the disk refuses.
        """
        path = self._folder / f"{re.sub(r'[^A-Za-z0-9._-]', '_', mail.mail.id)[:200]}.eml"
        try:
            if path.exists():
                return
            data = as_bytes(build(key, mail, text, self._people(), self._blobs))
            private_folder(self._folder)
            write_whole(path, data, path.with_suffix(".part"))
        except OSError as fault:
            raise CarrierError(f"A mail cannot be written to {self._folder} ({fault.strerror}).") from fault

    def bounce(self, bounce: BounceOut) -> None:
        """Nobody writes here, so nobody is told."""

    def poll(self, cursor: str) -> Polled:
        """Nobody writes here."""
        return Polled(cursor=cursor)

    def close(self) -> None:
        """Nothing is open."""
