"""Starting other programs: the one place where the stack's commands touch the machine, so that tests can play it."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import msgspec

MISSING, TOO_LONG = 127, 124


class Ran(msgspec.Struct, frozen=True):
    """How a program ended. `code` is 127 where there is no such program and 124 where it took too long."""

    code: int
    out: str = ""
    err: str = ""

    @property
    def words(self) -> str:
        """What it said last, in one line: of its errors, else of what it printed."""
        lines = [line.strip() for line in (self.err.strip() or self.out.strip()).splitlines() if line.strip()]
        return lines[-1][:400] if lines else ""


class Runner(Protocol):
    """Runs a program to its end. With `said`, each line it prints is told at once, errors among them, and kept in `out`."""

    def __call__(
        self, command: Sequence[str], *, timeout_s: float = 60.0, said: Callable[[str], None] | None = None
    ) -> Ran: ...


class Programs:
    """The real runner: programs of this machine, in `folder`, with `environ` and nothing else as their environment."""

    def __init__(self, folder: Path, environ: Mapping[str, str]) -> None:
        self._folder = folder
        self._environ = dict(environ)

    def __call__(
        self, command: Sequence[str], *, timeout_s: float = 60.0, said: Callable[[str], None] | None = None
    ) -> Ran:
        """See `Runner`."""
        try:
            if said is not None:
                return self._told(command, timeout_s, said)
            done = subprocess.run(
                command, cwd=self._folder, env=self._environ, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                errors="replace", timeout=timeout_s, check=False,
            )  # fmt: skip
        except FileNotFoundError:
            return Ran(MISSING, err=f"{command[0]}: there is no such program")
        except PermissionError:
            return Ran(MISSING, err=f"{command[0]}: it may not be run")
        except subprocess.TimeoutExpired:
            return Ran(TOO_LONG, err=f"{command[0]} gave no answer within {timeout_s:.0f} seconds")
        return Ran(done.returncode, done.stdout, done.stderr)

    def _told(self, command: Sequence[str], timeout_s: float, said: Callable[[str], None]) -> Ran:
        heard: list[str] = []
        late = threading.Event()
        with subprocess.Popen(
            command, cwd=self._folder, env=self._environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, errors="replace",
        ) as process:  # fmt: skip

            def end() -> None:
                late.set()
                process.kill()

            timer = threading.Timer(timeout_s, end)
            timer.start()
            try:
                assert process.stdout is not None
                for line in process.stdout:
                    heard.append(line)
                    said(line.rstrip())
            finally:
                timer.cancel()
        if late.is_set():
            heard.append(f"{command[0]} was not done within {timeout_s:.0f} seconds")
        return Ran(TOO_LONG if late.is_set() else process.returncode, "".join(heard))
