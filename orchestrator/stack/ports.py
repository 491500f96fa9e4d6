"""Ports of this machine: which are free, and who holds one that is not, as far as that can be seen."""

from __future__ import annotations

import errno
import re
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from simulator.errors import InfrastructureError

_NEARBY = 50


def is_free(port: int) -> bool:
    """Whether somebody could serve at that port of the loopback now; a port that this user may not have is not free."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # Without it a port that was just let go of would count as taken, as it does not for the engine.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
            probe.listen(1)
        except OSError as error:
            if error.errno in (errno.EADDRINUSE, errno.EACCES):
                return False
            raise
    return True


def choose(free: Callable[[int], bool]) -> Callable[[int], int]:
    """Return a chooser of ports: the wanted one, else the next that is free and was not chosen before."""
    chosen: set[int] = set()

    def near(wanted: int) -> int:
        for port in range(wanted, wanted + _NEARBY):
            if port not in chosen and free(port):
                chosen.add(port)
                return port
        raise InfrastructureError(f"No port from {wanted} to {wanted + _NEARBY - 1} is free on this machine.")

    return near


def holder(port: int, proc: Path = Path("/proc")) -> str:
    """Return who serves at a port of this machine, such as `python3 (process 812)`; empty where that cannot be seen.

    Only root and the owner of a process can see what it holds.
    """
    wanted = _inodes(port, proc)
    if not wanted:
        return ""
    for folder in sorted(proc.glob("[0-9]*"), key=lambda f: int(f.name)):
        links = _links(folder / "fd")
        if links & wanted:
            try:
                name = (folder / "comm").read_text(errors="replace").strip()
            except OSError:
                name = "a program"
            return f"{name} (process {folder.name})"
    return ""


def _links(folder: Path) -> set[str]:
    """Return what a process's descriptors lead to; nothing of another user's, or of one that has just ended."""
    found: set[str] = set()
    with suppress(OSError):
        for link in folder.iterdir():
            with suppress(OSError):  # closed meanwhile
                found.add(str(link.readlink()))
    return found


def _inodes(port: int, proc: Path) -> set[str]:
    """Return the sockets that listen at a port, as links to them are written."""
    found: set[str] = set()
    for table in ("tcp", "tcp6"):
        try:
            lines = (proc / "net" / table).read_text().splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            fields = line.split()
            if len(fields) > 9 and fields[3] == "0A" and re.fullmatch(rf"[0-9A-F]+:{port:04X}", fields[1]):
                found.add(f"socket:[{fields[9]}]")
    return found
