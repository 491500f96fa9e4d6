"""The switch that keeps tests off the network: any attempt to leave the loopback is an error, wherever it is made.

An audit hook sees every connection that this process's Python code tries, asynchronous ones too, and nothing has to be
patched. It sees neither child processes nor C libraries with sockets of their own.
"""

from __future__ import annotations

import ipaddress
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

_NAMES = frozenset({"", "localhost", "localhost.localdomain", "ip6-localhost"})


class RealNetworkCall(RuntimeError):
    """A test tried to reach something beyond this machine."""


def is_local(host: object) -> bool:
    """Whether a host as given to a socket stays on this machine. Names other than localhost do not: they need a DNS."""
    if host is None:
        return True
    text = host.decode("ascii", "replace") if isinstance(host, bytes) else str(host)
    if text.lower() in _NAMES:
        return True
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


@dataclass
class NetworkGuard:
    """Refuses and remembers attempts to leave the loopback, so that code which swallows the error is found out too."""

    attempts: list[str] = field(default_factory=list)

    def audit(self, event: str, arguments: tuple[object, ...]) -> None:
        """Judge one audit event of the interpreter; raise RealNetworkCall if it would leave this machine."""
        if event in {"socket.connect", "socket.sendto", "socket.sendmsg"}:
            address = arguments[1]
            # Addresses of other families (Unix sockets, netlink) are no pairs of host and port.
            if isinstance(address, tuple) and address and isinstance(address[0], str | bytes):
                self._judge(event, address[0])
        elif event in {"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"} and not _is_literal(
            arguments[0]
        ):
            # A literal address asks nobody; where it leads is judged when it is connected to.
            self._judge(event, arguments[0])

    def _judge(self, event: str, host: object) -> None:
        if not is_local(host):
            self.attempts.append(f"{event} {host!r}")
            raise RealNetworkCall(
                f"A test tried to reach {host!r} ({event}). Tests never leave this machine: "
                "give the code a scripted or recorded double, or a server on the loopback."
            )

    @contextmanager
    def expected(self) -> Iterator[list[str]]:
        """For tests of the guard itself: attempts made inside are handed over and forgotten."""
        before = len(self.attempts)
        seen: list[str] = []
        try:
            yield seen
        finally:
            seen.extend(self.attempts[before:])
            del self.attempts[before:]


def _is_literal(host: object) -> bool:
    try:
        ipaddress.ip_address(str(host).partition("%")[0])
    except ValueError:
        return False
    return True


def install() -> NetworkGuard:
    """Put a guard over this process. It stays until the process ends: the interpreter takes no audit hook back."""
    guard = NetworkGuard()
    sys.addaudithook(guard.audit)
    return guard
