"""`serve` as a process: where it is, its key, and how it ends."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from orchestrator.compose import House
from orchestrator.output import Out
from orchestrator.settings import read_settings
from orchestrator.web.serve import listen, serve
from simulator.errors import UsageError
from tests.orchestrator.support import ROOT, child_environ
from tests.web.test_steering import until

PROGRAM = """
import sys
from orchestrator.compose import House
from orchestrator.output import Out
from orchestrator.settings import read_settings
from orchestrator.web.serve import serve
import os
house = House(read_settings(os.environ))
serve(house, Out(), sys.argv[1], 0, sys.argv[2])
house.close()
"""


class Server:
    """A process that serves, with what it has said."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.said: list[str] = []

    def line(self, words: str) -> str:
        """Return the next line that holds some words."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.said.append(line)
            if words in line:
                return line
        raise AssertionError(f"it never said {words!r}: {self.said}")

    @property
    def url(self) -> str:
        return self.line("OfficeTown is at ").split()[3].rstrip(";")


@contextmanager
def serving(home: Path, host: str = "127.0.0.1", token: str = "") -> Iterator[Server]:
    """Serve a home in a child process."""
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, host, token], cwd=ROOT, env=child_environ(home), stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
    ) as process:  # fmt: skip
        try:
            yield Server(process)
        finally:
            if process.poll() is None:
                process.kill()


def test_ctrl_c_stops_every_office_at_a_commit(worked_home: Path, tmp_path: Path) -> None:
    """Issue 5: a graceful stop; a later run goes on from there."""
    shutil.copytree(worked_home, tmp_path / "home")
    with serving(tmp_path / "home") as server, httpx.Client(base_url=f"{server.url}/api/v1") as api:
        begun = api.post("/offices/Juniper/run", json={"days": 90, "speed": "max"}, timeout=60)
        assert begun.status_code == 200, begun.text
        head = api.get("/offices/Juniper").json()["head"]
        until(lambda: api.get("/offices/Juniper", timeout=60).json()["head"] > head + 50, 60)
        with api.stream("GET", "/offices/Juniper/events/live") as live:
            next(live.iter_lines())
            server.process.send_signal(signal.SIGINT)
            out, _ = server.process.communicate(timeout=60)
        assert server.process.returncode == 0, out
        assert "Traceback" not in out
    house = House(read_settings({"OFFICETOWN_HOME": str(tmp_path / "home")}))
    row = house.row("Juniper")
    with closing(house.offices.open(row.id)) as journal:
        assert journal.head == house.office(row).revision > head
    house.close()


def test_beyond_the_loopback_a_key_is_made_and_printed_and_needed(tmp_path: Path) -> None:
    with serving(tmp_path / "home", "0.0.0.0") as server:
        port = server.url.rpartition(":")[2]
        key = server.line("Its key").split()[-1]
        local = f"http://127.0.0.1:{port}/api/v1/me"
        assert httpx.get(local).status_code == 401
        assert httpx.get(local, headers={"authorization": f"Bearer {key}"}).json()["operator"] is True
        assert httpx.get(local, headers={"host": "evil.example"}).status_code == 421
        server.process.send_signal(signal.SIGTERM)
        server.process.communicate(timeout=60)
        assert server.process.returncode == 0


def test_a_token_of_ones_own_is_needed_everywhere_and_not_printed(tmp_path: Path) -> None:
    with serving(tmp_path / "home", "127.0.0.1", "a-token-of-ones-own") as server:
        url = server.url
        assert httpx.get(f"{url}/api/v1/me").status_code == 401
        assert httpx.get(f"{url}/api/v1/me", headers={"authorization": "Bearer a-token-of-ones-own"}).status_code == 200
        server.process.send_signal(signal.SIGINT)
        out, _ = server.process.communicate(timeout=60)
        assert "a-token-of-ones-own" not in out + "".join(server.said)


@pytest.mark.parametrize(
    "token", ["short", "with a space in it all", "f\u00fcnfundzwanzig-zeichen-lang", "new\nline-new-line-new"]
)
def test_a_token_that_cannot_be_one_is_refused(tmp_path: Path, token: str) -> None:
    house = House(read_settings({"OFFICETOWN_HOME": str(tmp_path / "home")}))
    with closing(house), pytest.raises(UsageError, match="--token"):
        serve(house, Out(quiet=True), token=token)


def test_an_address_that_is_taken_is_refused(tmp_path: Path) -> None:
    house = House(read_settings({"OFFICETOWN_HOME": str(tmp_path / "home")}))
    first = listen(FastAPI(), "127.0.0.1", 0).start()
    port = int(first.url.rpartition(":")[2])
    with closing(house), closing(first), pytest.raises(UsageError, match="--port"):
        serve(house, Out(quiet=True), port=port)
    with closing(House(read_settings({"OFFICETOWN_HOME": str(tmp_path / "home")}))) as other, pytest.raises(UsageError):
        serve(other, Out(quiet=True), "203.0.113.1")
