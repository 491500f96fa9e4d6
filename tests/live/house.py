"""A house over a real endpoint whose retry waits pass at once, and which names its calls; and the small firm in it."""

from __future__ import annotations

import os
import random
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import msgspec

from orchestrator.cli import execute
from orchestrator.compose import House
from orchestrator.settings import ModelSettings, read_settings
from services.models.connect import Surroundings
from services.models.endpoint import Endpoint
from tests.live.provider import PRICED

BRIEF = "A four-person bookkeeping firm in Leeds with one client, an instrument maker"


class Clock:
    """A stopwatch in seconds that runs, and that a wait sets forward. Thread-safe; `waited` is the sum of waits."""

    def __init__(self) -> None:
        self.waited = 0.0
        self._lock = threading.Lock()

    def monotonic(self) -> float:
        """Return the seconds passed and waited."""
        return time.monotonic() + self.waited

    def sleep(self, seconds: float) -> None:
        """Let the seconds have passed."""
        with self._lock:
            self.waited += seconds


class Described(ModelSettings, frozen=True):
    """Settings whose endpoint tells the server which call a request is for."""

    def endpoint(self) -> Endpoint:
        """Return the endpoint, with calls described."""
        return msgspec.structs.replace(super().endpoint(), describe_calls=True)


class Live(House):
    """A house whose client is real but for its waits, which pass on `clock`, and describes its calls."""

    def __init__(self, environ: Mapping[str, str], clock: Clock) -> None:
        settings = read_settings(environ)
        described = msgspec.convert(settings.model, Described, from_attributes=True)
        super().__init__(msgspec.structs.replace(settings, model=described))
        self._clock = clock

    def _around(self) -> Surroundings:
        return Surroundings(time.time, self._clock.monotonic, self._clock.sleep, random.Random(1).random)


def environ_for(home: Path, url: str, **more: str) -> dict[str, str]:
    """Return the variables of a home whose model is at `url`, priced."""
    return {
        "OFFICETOWN_HOME": str(home), "OFFICETOWN_MODEL_URL": url, "OFFICETOWN_MODEL": "professional", **PRICED, **more,
    }  # fmt: skip


def four_people(folder: Path, seed: int = 0) -> str:
    """Generate a firm of four people with one client, offline; return its package's path."""
    home = {"OFFICETOWN_HOME": str(folder / "generator")}
    arguments = ["new", BRIEF, "--people", "4", "--clients", "1", "--seed", str(seed), "-o", str(folder / "four")]
    with Path(os.devnull).open("w") as void, redirect_stdout(void):
        assert execute(arguments, lambda: House(read_settings(home))) == 0
    return str(folder / "four")


def work(environ: dict[str, str], arguments: list[str]) -> None:
    """Carry out one command in a child process of its own, without words, and leave with its exit code."""
    with Path(os.devnull).open("w") as void, redirect_stdout(void), redirect_stderr(void):
        code = execute(arguments, lambda: Live(environ, Clock()))
    sys.exit(code)
