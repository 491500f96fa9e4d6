"""Run the proxy: `python -m services.engineproxy`; with `--check`, ask the one that runs whether its engine answers."""

from __future__ import annotations

import argparse
import asyncio
import signal
import socket
import sys
from collections.abc import Sequence
from pathlib import Path

from services.engineproxy.bodies import Policy
from services.engineproxy.proxy import Proxy

LISTEN = Path("/run/engine/docker.sock")
ENGINE = Path("/var/run/docker.sock")


def say(text: str) -> None:
    """Say a line where the container's log takes it."""
    sys.stderr.write(text.encode("ascii", "backslashreplace").decode() + "\n")
    sys.stderr.flush()


async def serve(listen: Path, engine: Path, policy: Policy) -> None:
    """Serve until SIGTERM or SIGINT."""
    ended = asyncio.Event()
    for signum in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(signum, ended.set)
    async with Proxy(engine, policy, say).listening(listen):
        say(f"listening at {listen} for sandboxes of {policy.image}")
        await ended.wait()


def check(listen: Path) -> str:
    """Ask through the proxy whether the engine answers; return what is wrong, or nothing."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
            asking.settimeout(5)
            asking.connect(str(listen))
            asking.sendall(b"GET /_ping HTTP/1.1\r\nHost: docker\r\n\r\n")
            said = b""
            while part := asking.recv(4096):
                said += part
    except OSError as error:
        return f"nothing answers at {listen}: {error.strerror or error}"
    first, _, rest = said.partition(b"\r\n")
    return "" if first.startswith(b"HTTP/1.1 200") else rest.rpartition(b"\r\n")[2].decode("utf-8", "replace")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return its exit code."""
    parser = argparse.ArgumentParser(prog="python -m services.engineproxy", description=__doc__)
    parser.add_argument("--listen", type=Path, default=LISTEN, help="the socket to serve at")
    parser.add_argument("--engine", type=Path, default=ENGINE, help="the engine's socket")
    parser.add_argument("--image", default="officetown/assistant", help="the repository of the assistants' image")
    parser.add_argument(
        "--label", default="officetown.sandbox", help="the label that marks sandboxes: NAME or NAME=VALUE"
    )
    parser.add_argument("--check", action="store_true", help="only ask the proxy that runs")
    options = parser.parse_args(arguments)
    if options.check:
        wrong = check(options.listen)
        if wrong:
            say(wrong)
        return 1 if wrong else 0
    asyncio.run(serve(options.listen, options.engine, Policy(options.image, options.label)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
