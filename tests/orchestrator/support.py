"""What the command line's tests share: commands run in this process or in a child, and what they said."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from orchestrator.cli import execute
from orchestrator.compose import House
from orchestrator.settings import read_settings

ROOT = Path(__file__).parents[2]
CLI = ("orchestrator.cli",)
JUNIPER = str(ROOT / "fixtures" / "juniper")


class Said(NamedTuple):
    """A command's exit code and words."""

    code: int
    out: str
    err: str

    @property
    def result(self) -> dict[str, Any]:
        """The JSON object on the last line of stdout."""
        value = json.loads(self.out.splitlines()[-1])
        assert isinstance(value, dict)
        return value


class Desk:
    """Runs commands in this process, in one home."""

    def __init__(
        self, home: Path, capture: pytest.CaptureFixture[str], environ: Mapping[str, str] | None = None
    ) -> None:
        self.home = home
        self.environ = {"OFFICETOWN_HOME": str(home), **(environ or {})}
        self.capture = capture

    def house(self, **parts: Any) -> House:
        """A house in this home; `parts` are the model and sandboxes to use."""
        return House(read_settings(self.environ), **parts)

    def __call__(self, *arguments: str | Path, make: Callable[[], House] | None = None) -> Said:
        """Run one command."""
        self.capture.readouterr()
        code = execute([str(a) for a in arguments], make or self.house)
        return Said(code, *self.capture.readouterr())

    def json(self, *arguments: str | Path, make: Callable[[], House] | None = None) -> dict[str, Any]:
        """Run one command that must succeed, with --json; return its object."""
        said = self(*arguments, "--json", make=make)
        assert said.code == 0, said.err
        return said.result


def child_environ(home: Path, **more: str) -> dict[str, str]:
    """The environment of a child: this one's, its home, and nothing of a model's settings."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("OFFICETOWN_MODEL") and k != "DATABASE_URL"}
    return {**kept, "OFFICETOWN_HOME": str(home), "PYTHONUNBUFFERED": "1", **more}


def start(
    home: Path, *arguments: str, environ: Mapping[str, str] | None = None, program: Sequence[str] = CLI
) -> subprocess.Popen[str]:
    """Start a command in a child process."""
    return subprocess.Popen(
        [sys.executable, "-m", *program, *arguments], cwd=ROOT, env=child_environ(home, **(environ or {})),
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip


def child(home: Path, *arguments: str, environ: Mapping[str, str] | None = None, program: Sequence[str] = CLI) -> Said:
    """Run a command in a child process to its end."""
    process = start(home, *arguments, environ=environ, program=program)
    out, err = process.communicate(timeout=100)
    return Said(process.returncode, out, err)
