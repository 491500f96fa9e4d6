"""One Compose stack: its files, its name, and how Compose is asked about it."""

from __future__ import annotations

import os
import re
import secrets
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from orchestrator.stack import ports, states
from orchestrator.stack.programs import Programs, Ran, Runner
from orchestrator.stack.states import Part
from simulator.errors import UsageError

COMPOSE_FILE, ENV_FILE = "docker-compose.yml", ".env"
PROJECT = "officetown"
_CHECKOUT = Path(__file__).resolve().parents[2]
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")
_NEEDED = (COMPOSE_FILE, "services/images/orchestrator/Dockerfile", "services/images/baikal/35-officetown.sh")


class Machine(msgspec.Struct, frozen=True):
    """What the stack's commands use of this machine; tests play it. `python` is this interpreter."""

    run: Runner
    is_free: Callable[[int], bool] = ports.is_free
    holder: Callable[[int], str] = ports.holder
    secret: Callable[[], str] = lambda: secrets.token_hex(24)
    python: str = sys.executable


class Stack(msgspec.Struct, frozen=True):
    """A stack below `folder`, a checkout. `files` are its Compose files, `environment` the file with its secrets."""

    folder: Path
    machine: Machine
    files: tuple[Path, ...]
    environment: Path
    project: str = PROJECT

    def compose(self, *words: str, timeout_s: float = 60.0, said: Callable[[str], None] | None = None) -> Ran:
        """Run `docker compose` for this stack."""
        files = [word for file in self.files for word in ("-f", str(file))]
        return self.machine.run(
            ["docker", "compose", "--project-name", self.project, "--project-directory", str(self.folder),
             "--env-file", str(self.environment), *files, *words],
            timeout_s=timeout_s, said=said,
        )  # fmt: skip

    def services(self) -> tuple[str, ...]:
        """Return the names of its parts; none where Compose cannot read the files."""
        said = self.compose("config", "--services")
        return tuple(sorted(said.out.split())) if said.code == 0 else ()

    def parts(self) -> tuple[Part, ...]:
        """Return its containers, ended ones among them."""
        return states.parts(self.compose("ps", "--all", "--format", "json").out)

    def log(self, service: str, lines: int = 40) -> str:
        """Return the end of what a part has printed."""
        said = self.compose("logs", "--no-color", "--no-log-prefix", "--tail", str(lines), service)
        return _CONTROL.sub("", said.out) if said.code == 0 else ""

    def unready(self) -> tuple[str, ...]:
        """Say of each part that is not ready why it is not; nothing where all are."""
        found = self.parts()
        told = [states.why(part, self.log(part.service)) for part in found if not part.ready]
        absent = states.missing(found, self.services())
        return (*told, *(f"{name} has not been made." for name in absent if found))

    def volumes(self) -> tuple[str, ...]:
        """Return the names of the volumes that the engine keeps for this stack."""
        said = self.machine.run(
            ["docker", "volume", "ls", "--quiet", "--filter", f"label=com.docker.compose.project={self.project}"]
        )
        return tuple(said.out.split()) if said.code == 0 else ()


def here(environ: Mapping[str, str], machine: Machine | None = None, folder: Path = _CHECKOUT) -> Stack:
    """Return this checkout's stack. Raises UsageError where OfficeTown does not run from a checkout."""
    absent = [name for name in _NEEDED if not (folder / name).is_file()]
    if absent:
        raise UsageError(
            f"The stack is brought up from a checkout of OfficeTown, and {folder / absent[0]} is not there: an installed "
            "package has no Compose file and nothing to build images from. Clone the repository, and run "
            "`make install` and `.venv/bin/officetown up` in it."
        )
    return Stack(folder, machine or Machine(Programs(folder, environ)), (folder / COMPOSE_FILE,), folder / ENV_FILE)


def from_environment() -> Stack:
    """Return this checkout's stack as the command line uses it."""
    return here(os.environ)
