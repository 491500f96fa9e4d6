"""Ctrl-C and SIGTERM stop a run at a commit and say how to go on; SIGKILL loses nothing that was committed."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.stopping import Stop
from simulator.engine.environment import Parked
from tests.orchestrator.support import JUNIPER, ROOT, Desk, child, child_environ, start


def told(process: subprocess.Popen[str], pattern: str, within: float = 60.0) -> re.Match[str]:
    """Read a child's stdout up to a line that fits."""
    assert process.stdout is not None
    end = time.monotonic() + within
    while time.monotonic() < end:
        line = process.stdout.readline()
        if found := re.search(pattern, line):
            return found
        if not line and process.poll() is not None:
            break
    raise AssertionError(f"the child never said {pattern}")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The hash of two days of Juniper that nobody disturbed."""
    home = tmp_path_factory.mktemp("undisturbed")
    said = child(home, "run", JUNIPER, "--days", "2", "--seed", "5", "--json")
    assert said.code == 0, said.err
    return str(said.result["hash"])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_at_a_commit_and_going_on_ends_as_if_nothing_had_happened(
    tmp_path: Path, undisturbed: str, number: signal.Signals
) -> None:
    process = start(tmp_path, "run", JUNIPER, "--days", "2", "--seed", "5", "--follow")
    office = told(process, r"^Office ([0-9a-f]{12}) ")[1]
    told(process, r"^  \d\d:\d\d  .* delegates ")
    # As a terminal does it: the sandboxes are in reach too, and their commands must not die of it.
    os.killpg(process.pid, number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert "Stopping at the next commit" in err
    assert "Nothing is lost" in out
    command = re.search(r"^Go on with: officetown (run .*)$", out, re.M)
    assert command is not None and command[1] == f"run {office} --days 2 --follow"
    half = child(tmp_path, "replay", office, "--json")
    assert half.code == 0, half.err
    assert half.result["hash"] == child(tmp_path, "log", office, "--hash").out.strip()
    went_on = child(tmp_path, *command[1].split(), "--json")
    assert went_on.code == 0, went_on.err
    assert went_on.result["hash"] == undisturbed


def test_a_paced_run_hears_ctrl_c_while_it_waits(tmp_path: Path) -> None:
    """At one simulated second a real second the next event is hours away: the wait ends all the same."""
    process = start(tmp_path, "run", JUNIPER, "--days", "2", "--speed", "1")
    office = told(process, r"^Office ([0-9a-f]{12}) ")[1]
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert f"officetown run {office} --days 2" in out


INTERRUPTED = """
import os, pathlib, signal, sys, threading
from services.sandbox.bubblewrap import Bubblewrap
from services.storage.blobs import FileBlobs
from simulator.ports import SandboxSpec

heard = threading.Event()
signal.signal(signal.SIGINT, lambda *_: heard.set())
provider = Bubblewrap(FileBlobs(pathlib.Path(sys.argv[1])))
sandbox = provider.start(SandboxSpec("x", (), {"company": (), "services": (), "task": ()}, 1_767_571_200))
threading.Timer(0.3, lambda: os.killpg(os.getpgrp(), signal.SIGINT)).start()
result = sandbox.run("sleep 1; echo done")
print(heard.is_set(), result.exit_code, result.stdout.strip())
sandbox.close()
provider.close()
"""


@pytest.mark.sandbox
def test_ctrl_c_in_a_terminal_does_not_reach_the_sandboxes(tmp_path: Path) -> None:
    """A terminal signals the whole group; a command at work is finished and its result stored."""
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, str(tmp_path)], cwd=ROOT, env=child_environ(tmp_path), capture_output=True,
        text=True, timeout=60, start_new_session=True, check=False,
    )  # fmt: skip
    assert done.stdout.split() == ["True", "0", "done"], done.stderr


# -- SIGKILL ----------------------------------------------------------------------------------------------------------


class Killed:
    """So many days of Juniper in children that are killed at random moments, most while at work, and resumed.

    `most` is how long, in seconds, a child is let work at most.
    """

    def __init__(self, desk: Desk, notes: Path, seed: int, days: int, most: float) -> None:
        self.desk = desk
        self.notes = notes
        self.draw = random.Random(seed)
        self.days = str(days)
        self.most = most
        self.program = ("tests.orchestrator.asking", str(notes))
        self.asked_again: list[str] = []
        self.office = ""
        self.hit = 0

    def run(self, rounds: int) -> str:
        """Kill so many times, let the last run end, and return its hash."""
        first = start(self.desk.home, "run", JUNIPER, "--days", self.days, "--seed", "5", program=self.program)
        self.office = told(first, r"^Office ([0-9a-f]{12}) ")[1]
        self._kill(first, self.draw.uniform(0.0, self.most))
        for number in range(1, rounds):
            self._resumed(lambda number=number: self._disturb(starting=number % 4 == 0))  # type: ignore[misc]
        self._resumed(lambda: self._end(self._again()))
        return str(self.desk.json("log", self.office, "--hash")["hash"])

    def _disturb(self, starting: bool) -> None:
        """Kill a child while it works, or now and then while it is still starting."""
        process = self._again()
        if starting:
            self._kill(process, self.draw.uniform(0.3, 1.5))
        else:
            told(process, " goes on\\.$")
            self._kill(process, self.draw.uniform(0.0, self.most))

    def _again(self) -> subprocess.Popen[str]:
        return start(self.desk.home, "run", self.office, "--days", self.days, program=self.program)

    def _kill(self, process: subprocess.Popen[str], after: float) -> None:
        try:
            process.wait(after)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
        self.hit += process.returncode == -signal.SIGKILL

    def _end(self, process: subprocess.Popen[str]) -> None:
        _, err = process.communicate(timeout=100)
        assert process.returncode == 0, err

    def _resumed(self, go_on: Callable[[], None]) -> None:
        """Note what `go_on` asks for although its answer is stored."""
        stored, noted = self._stored(), self._asked()
        go_on()
        self.asked_again += sorted(stored & set(self._asked()[len(noted) :]))

    def _asked(self) -> list[str]:
        return self.notes.read_text().splitlines() if self.notes.exists() else []

    def _stored(self) -> set[str]:
        house = self.desk.house()
        lines = house.offices.read(self.office).ledger()
        stored = {f"{line.activation} {line.ordinal}" for line in lines if line.state == "answered"}
        house.close()
        return stored


@pytest.mark.parametrize(
    ("rounds", "days", "most"),
    [(4, 2, 0.25), pytest.param(20, 20, 0.8, marks=[pytest.mark.slow, pytest.mark.timeout(600)])],
)
def test_a_run_killed_at_random_moments_and_resumed_ends_as_if_nothing_had_happened(
    desk: Desk, tmp_path: Path, rounds: int, days: int, most: float
) -> None:
    """RULE 2: the same log, and no answer that was stored is asked for again."""
    seed = random.SystemRandom().randrange(10**6)
    print(f"seed {seed}")
    killed = Killed(desk, tmp_path / "notes", seed, days, most)
    ended = killed.run(rounds)
    whole = child(tmp_path / "whole", "run", JUNIPER, "--days", str(days), "--seed", "5", "--json")
    assert whole.code == 0, whole.err
    assert ended == whole.result["hash"]
    assert killed.hit >= rounds * 3 // 4, "most kills must come while there is work to disturb"
    assert killed.asked_again == []
    assert desk.json("replay", killed.office)["hash"] == ended


def test_a_request_to_stop_that_came_before_the_work_is_told_to_it() -> None:
    stop, told_of = Stop(), []
    stop.signal = signal.SIGINT
    stop.tell(lambda: told_of.append("stop"))
    assert told_of == ["stop"]


# -- the flag ---------------------------------------------------------------------------------------------------------


def test_a_wait_for_an_endpoint_ends_with_the_request_to_stop() -> None:
    slept: list[float] = []
    stop = Stop(wall=lambda: sum(slept), sleep=slept.append)
    stop.sleep_or_park(1.0)
    assert sum(slept) == pytest.approx(1.0)

    def interrupted(seconds: float) -> None:
        slept.append(seconds)
        stop.signal = signal.SIGTERM

    stop = Stop(wall=lambda: sum(slept), sleep=interrupted)
    with pytest.raises(Parked):
        stop.sleep_or_park(1000.0)
    assert stop.exit_code == 143
    assert sum(slept) < 2


def test_a_run_in_another_thread_leaves_the_signals_alone() -> None:
    before = signal.getsignal(signal.SIGINT)
    seen = []

    def elsewhere() -> None:
        with Stop().heeding():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert seen == [before]


def test_the_second_signal_leaves_at_once(tmp_path: Path) -> None:
    """Even a model that never answers cannot hold the process."""
    code = (
        "import os, signal, threading\n"
        "from orchestrator.stopping import Stop\n"
        "stop = Stop()\n"
        "stop.tell(lambda: print('heard', flush=True))\n"
        "with stop.heeding():\n"
        "    print('ready', flush=True)\n"
        "    while True: threading.Event().wait(1)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, env=child_environ(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    told(process, "ready")
    process.send_signal(signal.SIGINT)
    told(process, "heard")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Left at once" in err
