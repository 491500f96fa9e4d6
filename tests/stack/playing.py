"""A machine that is played: programs answer what a test says, and what was asked of them is kept."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from orchestrator.stack.programs import MISSING, Ran
from orchestrator.stack.stack import Machine, Stack, here

ROOT = Path(__file__).resolve().parents[2]
SERVICES = ("baikal", "engineproxy", "mailpit", "mongodb", "orchestrator", "postgres", "provision", "rocketchat")


def container(service: str, state: str = "running", health: str = "healthy", code: int = 0, port: int = 0) -> str:
    """A line of `docker compose ps --format json`."""
    published = [{"URL": "127.0.0.1", "TargetPort": 1, "PublishedPort": port, "Protocol": "tcp"}] if port else []
    return json.dumps(
        {
            "Service": service,
            "State": state,
            "Health": health,
            "ExitCode": code,
            "Publishers": published,
            "Name": f"x-{service}-1",
        }
    )


def all_ready() -> list[str]:
    """The lines of a stack that is up."""
    return [container(s) if s != "provision" else container(s, "exited", "") for s in SERVICES]


class Played:
    """Answers by the first words that fit; the last said first, so that a test may change its mind."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []
        self._answers: list[tuple[str, Ran | Callable[[list[str]], Ran]]] = []
        version = {
            "Client": {"Version": "28.2.2"},
            "Server": {"Version": "28.2.2", "ApiVersion": "1.50", "Os": "linux"},
        }
        self.on("docker version", json.dumps(version))
        self.on("docker compose version", "2.39.1\n")
        self.on("docker context inspect", "unix:///var/run/docker.sock\n")
        self.on("docker volume ls", "")
        self.on("config --services", "\n".join(SERVICES))
        self.on("ps --all", "")
        self.on("logs", "")
        self.on(" up ", "")
        self.on(" down", "")
        self.on("services.sandbox.image build", "officetown/assistant:1: sha256:1")

    def on(self, words: str, out: str | Callable[[list[str]], Ran] = "", code: int = 0, err: str = "") -> None:
        """Have a program whose command line contains `words` answer so."""
        self._answers.insert(0, (words, out if callable(out) else Ran(code, out, err)))

    def absent(self) -> None:
        """There is no docker on this machine."""
        self.on("docker", code=MISSING, err="docker: there is no such program")

    def __call__(
        self, command: Sequence[str], *, timeout_s: float = 60.0, said: Callable[[str], None] | None = None
    ) -> Ran:
        words = [str(word) for word in command]
        self.asked.append(words)
        line = " ".join(words) + " "
        for found, answer in self._answers:
            if found in line:
                ran = answer(words) if callable(answer) else answer
                for text in ran.out.splitlines() if said else ():
                    said(text)  # type: ignore[misc]
                return ran
        raise AssertionError(f"nobody said what {line} answers")

    def commands(self, words: str) -> list[list[str]]:
        """What was asked that contains `words`."""
        return [asked for asked in self.asked if words in " ".join(asked) + " "]


def checkout(folder: Path) -> Path:
    """As much of a checkout as the stack looks for."""
    for name in (
        "docker-compose.yml",
        "services/images/orchestrator/Dockerfile",
        "services/images/baikal/35-officetown.sh",
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x")
    return folder


def stack_on(
    folder: Path, run: Played, taken: tuple[int, ...] = (), holder: Callable[[int], str] = lambda port: ""
) -> Stack:
    """A stack in `folder` on a played machine where some ports are taken."""
    counter = iter(range(1000))
    machine = Machine(run, lambda port: port not in taken, holder, lambda: f"secret{next(counter)}", "python")
    return here({}, machine, checkout(folder))
