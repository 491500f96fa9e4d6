"""Maildirs: a folder a person, a file a mail, readable by any program that knows the format."""

from __future__ import annotations

import re
from pathlib import Path

from services.storage.wholefiles import private_folder, write_whole
from simulator.canonical import sha256
from simulator.carrying import Directory
from simulator.errors import CarrierError

SENT = ".Sent"
_SAFE = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_LAST = 253_402_300_799
"""The end of the year 9999: later file times are refused by some disks."""


class Boxes:
    """The Maildirs below one folder. Raises CarrierError where the disk refuses."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def make(self, username: str) -> Path:
        """Make a person's Maildir and its Sent folder, or what is missing of them; return its path."""
        box = self.folder / (
            username if _SAFE.fullmatch(username) else sha256(username.encode("utf-8", "replace"))[:20]
        )
        try:
            for place in (box, box / SENT):
                for name in ("tmp", "new", "cur"):
                    private_folder(place / name)
            (box / SENT / "maildirfolder").touch(mode=0o600, exist_ok=True)
        except OSError as fault:
            raise self._refused(box, fault) from fault
        return box

    def deliver(self, username: str, message_id: str, at: int, data: bytes, again: bool, sent: bool = False) -> None:
        """Put a mail into somebody's Maildir, once; `sent` puts it, as read, into the folder of what they sent.

        `again` looks for it everywhere, because the person's mail program may have moved or flagged it meanwhile.
        """
        box = self.make(username)
        when = max(0, min(at, _LAST))
        name = f"{when}.{sha256(message_id.encode())[:24]}.officetown"
        place = box / SENT / "cur" / f"{name}:2,S" if sent else box / "new" / name
        try:
            if place.exists() or (again and self._kept(box, name, sent)):
                return
            write_whole(place, data, place.parent.parent / "tmp" / name, when)
        except OSError as fault:
            raise self._refused(box, fault) from fault

    def _kept(self, box: Path, name: str, sent: bool) -> bool:
        found = (path for path in box.rglob(f"{name}*") if path.parent.name in ("new", "cur"))
        return any((SENT in path.parts) == sent for path in found)

    def _refused(self, box: Path, fault: OSError) -> CarrierError:
        return CarrierError(f"The mail folder {box} cannot be written ({fault.strerror}).")


def username_of(people: Directory, person: str) -> str:
    """Return the folder's name of a person; their id for one who has no account any more."""
    account = people.of(person)
    return account.username if account is not None else person
