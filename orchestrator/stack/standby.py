"""What the orchestrator's container does: it stands by for `docker compose exec orchestrator officetown ...`.

python -m orchestrator.stack.standby            wait for SIGTERM
python -m orchestrator.stack.standby --check    whether the database and the engine can be reached; the health check
"""

from __future__ import annotations

import os
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import psycopg

_TIMEOUT_S = 5


def unready(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Say what cannot be reached of what `DATABASE_URL` and `DOCKER_HOST` name; nothing where all can."""
    return tuple(fault for fault in (_database(environ), _engine(environ), _home(environ)) if fault)


def _database(environ: Mapping[str, str]) -> str:
    url = environ.get("DATABASE_URL", "")
    if not url.startswith("postgresql"):
        return ""
    place = urlsplit(url).hostname
    try:
        with psycopg.connect(
            url.replace("postgresql+psycopg://", "postgresql://", 1), connect_timeout=_TIMEOUT_S
        ) as asked:
            asked.execute("SELECT 1")
    except psycopg.Error as error:
        # The driver's words may name the user, never the password.
        return f"The database at {place} does not answer: {str(error).splitlines()[0] if str(error) else 'no reason given'}"
    return ""


def _engine(environ: Mapping[str, str]) -> str:
    address = environ.get("DOCKER_HOST", "")
    if not address.startswith("unix://"):
        return ""
    path = address.removeprefix("unix://")
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
            asking.settimeout(_TIMEOUT_S)
            asking.connect(path)
            asking.sendall(b"GET /_ping HTTP/1.1\r\nHost: docker\r\nConnection: close\r\n\r\n")
            said = asking.recv(64)
    except OSError as error:
        return f"The engine proxy at {path} does not answer: {error.strerror or error}"
    return "" if said.startswith(b"HTTP/1.1 200") else f"The engine proxy at {path} has no engine: see its log"


def _home(environ: Mapping[str, str]) -> str:
    home = environ.get("OFFICETOWN_HOME", "")
    return "" if not home or os.access(Path(home), os.W_OK) else f"The folder {home} cannot be written"


def main(arguments: Sequence[str] | None = None) -> int:
    """Wait, or check; return the exit code."""
    if "--check" in (sys.argv[1:] if arguments is None else arguments):
        faults = unready(os.environ)
        for fault in faults:
            sys.stderr.write(fault + "\n")
        return 1 if faults else 0
    asked = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, asked)
    sys.stderr.write("Standing by: docker compose exec orchestrator officetown --help\n")
    signal.sigwait(asked)
    return 0


if __name__ == "__main__":
    sys.exit(main())
