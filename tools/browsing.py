"""A real browser on a real server: Debian's chromium, and the dashboard in a process of its own.

    python -m tools.browsing HOME        serve a home on a free port of the loopback until SIGTERM
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import Browser, Playwright

from orchestrator import tasks
from orchestrator.commands import fork
from orchestrator.compose import House
from orchestrator.output import Out
from orchestrator.running import RunOptions, run
from orchestrator.settings import read_settings
from orchestrator.web.serve import serve
from orchestrator.web.ui.dress import dress

CHROMIUM = Path("/usr/bin/chromium")
ROOT = Path(__file__).parents[1]
JUNIPER = ROOT / "fixtures" / "juniper"
DONE, LIVE, FORK, FORKED_ON = "Juniper", "Juniper at work", "Juniper without reviews", "2026-01-07"
"""The offices that `grow` makes."""
_SAID = "OfficeTown is at "
_FLAGS = (
    "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--disable-extensions", "--no-first-run", "--no-default-browser-check", "--force-color-profile=srgb",
    # Whatever a page names beyond this machine is not found, so that nothing waits for it either.
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1 , EXCLUDE localhost",
)  # fmt: skip


class Serving(NamedTuple):
    """A server in a process of its own."""

    url: str
    pid: int


class NotServed(RuntimeError):
    """The server ended before it said where it is."""


def launch(playwright: Playwright) -> Browser:
    """Start chromium, headless. Its own sandbox cannot be had as root."""
    as_root = ("--no-sandbox",) if os.geteuid() == 0 else ()
    return playwright.chromium.launch(
        executable_path=str(CHROMIUM), args=[*_FLAGS, *as_root], chromium_sandbox=not as_root, headless=True
    )


def grow(home: Path, days: int) -> None:
    """Fill an empty home: Juniper after some days, a second Juniper after one, a fork without reviews, two tasks, their results."""
    house = House(read_settings({"OFFICETOWN_HOME": str(home)}))
    quiet = Out(quiet=True)
    try:
        run(house, quiet, str(JUNIPER), RunOptions(days=days, seed=1, name=DONE))
        run(house, quiet, str(JUNIPER), RunOptions(days=1, seed=2, name=LIVE))
        child = fork(house, quiet, DONE, FORKED_ON, ["reviews"], FORK)
        run(house, quiet, child, RunOptions(days=4))
        snapshots = home / "snapshots" / house.row(DONE).id
        snapshots.mkdir(parents=True)
        tasks.freeze(house, quiet, DONE, snapshots, "", 2)
        for agent in ("oracle", "nop", "builtin"):
            tasks.evaluate(house, quiet, snapshots, agent, "offline", "", 1, None)
    finally:
        house.close()


@contextmanager
def serving(home: Path) -> Iterator[Serving]:
    """Serve a home in a process of its own for as long as the block runs."""
    environ = {k: v for k, v in os.environ.items() if not k.startswith("OFFICETOWN_MODEL") and k != "DATABASE_URL"}
    process = subprocess.Popen(
        [sys.executable, "-m", "tools.browsing", str(home)], cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        env={**environ, "OFFICETOWN_HOME": str(home), "PYTHONUNBUFFERED": "1"}, text=True, start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        line = next((text for text in process.stdout if text.startswith(_SAID)), "")
        if not line:
            raise NotServed(f"The server ended with {process.wait()} before it said where it is; its words are above.")
        yield Serving(line.removeprefix(_SAID).partition(";")[0].strip(), process.pid)
    finally:
        process.terminate()
        try:
            process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()


def main(home: str) -> None:
    """Serve a home until SIGTERM."""
    house = House(read_settings({"OFFICETOWN_HOME": home}))
    try:
        serve(house, Out(), "127.0.0.1", 0, dress=dress)
    finally:
        house.close()


if __name__ == "__main__":
    main(sys.argv[1])
