"""`.env`: the stack's secrets and ports, made once, for its owner alone. What is in it already is never changed."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from services.storage.wholefiles import write_whole
from simulator.errors import StorageError, UsageError

SECRETS = (
    "POSTGRES_PASSWORD",
    "CHAT_ADMIN_PASSWORD",
    "BAIKAL_ADMIN_PASSWORD",
    "BAIKAL_ENCRYPTION_KEY",
    "OFFICETOWN_PEOPLE_SECRET",
    "OFFICETOWN_TOKEN",
)
PORTS = {
    "OFFICETOWN_WEB_PORT": 8321,
    "OFFICETOWN_CHAT_PORT": 3000,
    "OFFICETOWN_MAIL_PORT": 8025,
    "OFFICETOWN_SMTP_PORT": 1025,
    "OFFICETOWN_CALENDAR_PORT": 8080,
}
SOCKET = "OFFICETOWN_ENGINE_SOCKET"
_LINE = re.compile(r"\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*?)\s*")
_PLAIN = re.compile(r"[A-Za-z0-9_./:@+=,-]*")
_HEAD = (
    "# Made by `officetown up`: the stack's secrets and ports. Keep it: the databases know these passwords. Models are\n"
    "# set up here too, as docs/configuration.md says, such as OFFICETOWN_MODEL_URL=...\n"
)


def read(path: Path) -> dict[str, str]:
    """Return the file's variables; nothing where it is not there. Raises UsageError for a line that is none."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read ({error}).") from error
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _LINE.fullmatch(line)
        if match is None:
            raise UsageError(f"{path}, line {number}: write NAME=VALUE.")
        value = match[2]
        if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
            value = value[1:-1]
        found[match[1]] = value
    return found


def complete(
    path: Path, secret: Callable[[], str], free_port: Callable[[int], int], more: Mapping[str, str]
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Add to the file what is not in it yet; return all its variables and the names of those that were added.

    `secret` makes a password; `free_port` returns a port as near to the wanted one as it finds. Raises StorageError where
    the file cannot be written, UsageError where it cannot be read or has a port that is none.
    """
    known = read(path)
    added = {name: secret() for name in SECRETS if not known.get(name)}
    for name, wanted in PORTS.items():
        if not known.get(name):
            added[name] = str(free_port(wanted))
    added |= {name: value for name, value in more.items() if not known.get(name)}
    for name, value in added.items():
        assert _PLAIN.fullmatch(value), f"{name} would need quotes"
    known |= added
    ports_of(known, path)
    if added:
        _append(path, "".join(f"{name}={value}\n" for name, value in added.items()))
    return known, tuple(added)


def ports_of(known: Mapping[str, str], path: Path) -> dict[str, int]:
    """Return the ports by the names of their variables. Raises UsageError for one that is none, or there twice."""
    ports: dict[str, int] = {}
    for name, wanted in PORTS.items():
        said = known.get(name, str(wanted))
        if not (said.isascii() and said.isdigit() and 1 <= int(said) <= 65_535):
            raise UsageError(f"{path}: {name} is {said!r}; write a port between 1 and 65535.")
        if int(said) in ports.values():
            raise UsageError(f"{path}: {name} is {said}, and another port is the same; each needs its own.")
        ports[name] = int(said)
    return ports


def _append(path: Path, text: str) -> None:
    """Write whole or not at all, for the owner alone."""
    try:
        before = path.read_text(encoding="utf-8") if path.exists() else _HEAD
        if before and not before.endswith("\n"):
            before += "\n"
        write_whole(path, (before + text).encode())
    except OSError as error:
        raise StorageError(f"{path} cannot be written ({error.strerror}).") from error
