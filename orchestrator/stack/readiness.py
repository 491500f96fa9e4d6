"""Whether the orchestrator's container can do its work: its health check.

python -m orchestrator.stack.readiness [--web PORT]    whether database and engine can be reached, and the dashboard answers
"""

from __future__ import annotations

import argparse
import os
import socket
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import psycopg

_TIMEOUT_S = 5


def unready(environ: Mapping[str, str], web: int = 0) -> tuple[str, ...]:
    """Say what cannot be reached of what `DATABASE_URL` and `DOCKER_HOST` name, and of a dashboard at the port `web`."""
    faults = (_database(environ), _engine(environ), _home(environ), _web(web) if web else "")
    return tuple(fault for fault in faults if fault)


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


def _web(port: int) -> str:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/session", timeout=_TIMEOUT_S):
            return ""
    except urllib.error.HTTPError:
        return ""  # it answers, if only to ask for the key
    except OSError as error:
        return f"The dashboard does not answer at port {port}: {error}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Check; return the exit code: 0 where all is well, 1 where something is not."""
    parser = argparse.ArgumentParser(
        prog="python -m orchestrator.stack.readiness", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--web", type=int, default=0, help="the port at which the dashboard should answer")
    faults = unready(os.environ, parser.parse_args(arguments).web)
    for fault in faults:
        sys.stderr.write(fault + "\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
