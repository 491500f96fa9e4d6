"""The tests' own Compose stack, under a name of its own: up, down, commands inside it, and what its stand-ins hold.

    with ci_stack(folder) as stack:
        stack.officetown("run", "fixtures/juniper", "--days", "10")
        stack.state("rocketchat")

Everything in it is built here: see docker-compose.ci.yml. It needs an engine, Compose, and the base image.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from orchestrator.stack import secretsfile
from orchestrator.stack.programs import Programs, Ran
from orchestrator.stack.stack import Machine, Stack

ROOT = Path(__file__).resolve().parents[2]
FILES = (ROOT / "docker-compose.yml", ROOT / "docker-compose.ci.yml")
CHAT_PASSWORD = "office-password"
"""The stand-in's administrator is `office`, with this password."""
PORTS = {
    "orchestrator": "OFFICETOWN_WEB_PORT",
    "rocketchat": "OFFICETOWN_CHAT_PORT",
    "mailpit": "OFFICETOWN_MAIL_PORT",
    "smtp": "OFFICETOWN_SMTP_PORT",
    "baikal": "OFFICETOWN_CALENDAR_PORT",
}
_UP_S, _RUN_S = 1200.0, 1800.0


def free_port(_wanted: int) -> int:
    """Any free port of the loopback: several stacks may be up at once."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class CiStack:
    """One stack of the tests'. `variables` are those of its file of secrets, `people` the secret of people's passwords."""

    def __init__(self, folder: Path, more: dict[str, str] | None = None) -> None:
        path = folder / "stack.env"
        fixed = {"CHAT_ADMIN_PASSWORD": CHAT_PASSWORD, "OFFICETOWN_ENV_FILE": str(path), **(more or {})}
        path.write_text("".join(f"{name}={value}\n" for name, value in fixed.items()))
        self.variables, _ = secretsfile.complete(path, lambda: secrets.token_hex(16), free_port, {})
        environ = dict(os.environ)
        machine = Machine(Programs(ROOT, environ))
        self.stack = Stack(ROOT, machine, FILES, path, f"officetown-ci-{secrets.token_hex(4)}")

    @property
    def people(self) -> str:
        """What people's passwords are made from."""
        return self.variables["OFFICETOWN_PEOPLE_SECRET"]

    def up(self) -> None:
        """Build what is not built, start all of it and wait until it is ready."""
        done = self.stack.compose("up", "--detach", "--build", "--wait", "--wait-timeout", "300", timeout_s=_UP_S)
        assert done.code == 0, "\n".join([done.err[-4000:], *self.stack.unready()])

    def down(self) -> None:
        """Remove all of it, and what it kept."""
        self.stack.compose(
            "--profile", "real", "down", "--volumes", "--remove-orphans", "--timeout", "5", timeout_s=_UP_S
        )

    def exec(self, *words: str, service: str = "orchestrator", timeout_s: float = _RUN_S) -> Ran:
        """Run a program inside a part and return how it ended."""
        return self.stack.compose("exec", "--no-TTY", service, *words, timeout_s=timeout_s)

    def officetown(self, *words: str, code: int = 0, timeout_s: float = _RUN_S) -> Ran:
        """Run `officetown` inside the orchestrator's container, and require its exit code."""
        done = self.exec("officetown", *words, timeout_s=timeout_s)
        assert done.code == code, (
            f"officetown {' '.join(words)} ended with {done.code}:\n{done.out[-3000:]}\n{done.err[-3000:]}"
        )
        return done

    def json(self, *words: str, timeout_s: float = _RUN_S) -> dict[str, Any]:
        """Run `officetown ... --json` and return the object it ends with."""
        value = json.loads(self.officetown(*words, "--json", timeout_s=timeout_s).out.strip().splitlines()[-1])
        assert isinstance(value, dict)
        return value

    def url(self, service: str) -> str:
        """Return where a part is published, on the loopback."""
        return f"http://127.0.0.1:{self.variables[PORTS[service]]}"

    def state(self, service: str) -> Any:
        """Return what a stand-in (`rocketchat` or `mailpit`) holds."""
        with urllib.request.urlopen(f"{self.url(service)}/__state", timeout=30) as answer:
            return json.load(answer)

    def faults(self, service: str, body: object) -> None:
        """Have a stand-in fail as `body` says: see tests/carriers/standins/faults.py."""
        asked = urllib.request.Request(
            f"{self.url(service)}/__faults",
            json.dumps(body).encode(),
            {"Content-Type": "application/json"},
            method="POST",
        )
        urllib.request.urlopen(asked, timeout=30).close()

    def stop(self, *services: str) -> None:
        """Stop parts, as an outage does. A stand-in forgets what it held; see `pause`."""
        assert self.stack.compose("stop", "--timeout", "5", *services, timeout_s=120).code == 0

    def start(self, *services: str) -> None:
        """Start stopped parts and wait until they are ready."""
        assert (
            self.stack.compose(
                "up", "--detach", "--wait", "--no-deps", "--no-recreate", *services, timeout_s=_UP_S
            ).code
            == 0
        )

    def pause(self, *services: str) -> None:
        """Freeze parts: connections are neither refused nor answered, and nothing is forgotten."""
        assert self.stack.compose("pause", *services).code == 0

    def unpause(self, *services: str) -> None:
        """Let frozen parts go on."""
        assert self.stack.compose("unpause", *services).code == 0

    def kill(self, service: str = "orchestrator", signal: str = "SIGKILL") -> None:
        """Kill a part with all that runs in it."""
        assert self.stack.compose("kill", "--signal", signal, service).code == 0

    def container(self, service: str) -> str:
        """Return the id of a part's container."""
        return self.stack.compose("ps", "--all", "--quiet", service).out.strip()


@contextmanager
def ci_stack(folder: Path, more: dict[str, str] | None = None) -> Iterator[CiStack]:
    """Lend a stack that is up, and remove it afterwards. `more` are variables for its file of secrets."""
    stack = CiStack(folder, more)
    try:
        stack.up()
        yield stack
    finally:
        stack.down()
