"""Unprivileged users for sandboxes that root starts: one each, out of a range that no account uses (RULE 30)."""

from __future__ import annotations

import pwd
import socket
from collections.abc import Callable

from simulator.errors import SandboxUnavailable

FIRST, COUNT = 61_000, 1_000
GROUP = FIRST  # of every sandbox: it may enter the runtime folder, which others may not


class Slot:
    """One user id, held until `release` or the end of this process."""

    def __init__(self, uid: int, held: socket.socket) -> None:
        self.uid = uid
        self._held = held

    def release(self) -> None:
        """Give the id back; its sandbox must be gone."""
        self._held.close()


def take(first: int = FIRST, count: int = COUNT, exists: Callable[[int], bool] | None = None) -> Slot:
    """Hold the first id that no account has and no other process on this machine holds.

    The hold is the name of an abstract Unix socket: the kernel gives it to one process only and takes it back however
    that process ends, so there is nothing to clean up. Raises SandboxUnavailable when all are taken.
    """
    exists = exists or _has_account
    for uid in range(first, first + count):
        held = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            held.bind(f"\0officetown-sandbox-uid-{uid}")
        except OSError:
            held.close()
            continue
        if exists(uid):
            held.close()
            continue
        return Slot(uid, held)
    raise SandboxUnavailable(
        f"No free user id for a sandbox: {first} to {first + count - 1} are all in use. Stop other runs on this machine"
        " or give the sandboxes fewer workers."
    )


def _has_account(uid: int) -> bool:
    try:
        pwd.getpwuid(uid)
    except KeyError:
        return False
    return True
