"""`officetown up` and `officetown down`."""

from __future__ import annotations

import re
from collections.abc import Callable

from orchestrator.output import Out
from orchestrator.stack import engine, secretsfile
from orchestrator.stack.ports import choose
from orchestrator.stack.programs import TOO_LONG
from orchestrator.stack.stack import Stack
from simulator.errors import InfrastructureError, UsageError

ADMIN = "office"
_HOUR_S = 3600.0
_WAIT_S = 900
_STEP = re.compile(r"^\s*(Container|Image|Network|Volume)\s+(\S+)\s+([A-Z][a-z]+)\b(.*)$")
_PULL = re.compile(r"^\s*(\S+)\s+(Pulling|Pulled)\b")
_WORDS = {"Healthy": "is ready", "Started": "is started", "Error": "has failed", "Exited": "has done its work"}


def up(stack: Stack, out: Out, wait_s: int = _WAIT_S) -> None:
    """Bring the stack up and wait until all of it is ready; end with where to look and how to sign in.

    Run again it changes nothing but what is new. Raises InfrastructureError (exit 4) that says in plain words what is not
    ready and why, UsageError where `.env` cannot be used.
    """
    able = engine.look(stack.machine.run)
    if able.fault:
        raise InfrastructureError(able.fault)
    known = environment(stack, out, able.socket)
    refuse_taken_ports(stack, known)
    out.say("Looking for the assistants' image; where there is none it is built, which takes two minutes.")
    built = stack.machine.run([stack.machine.python, "-m", "services.sandbox.image", "build"], timeout_s=_HOUR_S)
    if built.code != 0:
        raise InfrastructureError(f"The assistants' image could not be built. {built.words}")
    out.say("Starting the stack. The first time images are fetched and Rocket.Chat takes a minute or two to begin.")
    started = stack.compose(
        "--progress", "plain", "up", "--detach", "--build", "--remove-orphans", "--wait", "--wait-timeout", str(wait_s),
        timeout_s=_HOUR_S, said=_progress(stack.project, out),
    )  # fmt: skip
    if started.code != 0:
        faults = stack.unready()
        if not faults or started.code == TOO_LONG:
            faults = (*faults, f"Compose said: {started.words}")
        raise InfrastructureError("The stack is not ready.\n" + "\n".join(f"  - {fault}" for fault in faults))
    ready(stack, out, known)


def down(stack: Stack, out: Out, volumes: bool = False) -> None:
    """Stop the stack and remove its containers; with `volumes` everything that it keeps as well. Raises InfrastructureError."""
    able = engine.look(stack.machine.run)
    if able.fault:
        raise InfrastructureError(able.fault)
    # Compose reads the whole file to take it down; what it would ask for then need not be right.
    words = ["down", "--remove-orphans", *(["--volumes"] if volumes else [])]
    if not stack.environment.exists():
        raise UsageError(f"There is no {stack.environment}: no stack was brought up from here.")
    gone = stack.compose(*words, timeout_s=_HOUR_S)
    if gone.code != 0:
        raise InfrastructureError(f"The stack could not be taken down. Compose said: {gone.words}")
    if volumes:
        out.say("The stack is gone, with all that it kept: offices, chat, mail and calendars.")
    else:
        out.say("The stack is down. What it keeps is still there; `officetown up` goes on with it.")
    out.result({"down": True, "volumes": volumes})


def environment(stack: Stack, out: Out, socket: str) -> dict[str, str]:
    """Make `.env`, or complete it, and return its variables."""
    path = stack.environment
    if not path.exists() and stack.volumes():
        raise UsageError(
            f"{path} is not there, but the engine keeps volumes of an earlier stack, whose databases know the passwords "
            "that were in it. Put the file back, or begin anew: docker volume rm " + " ".join(sorted(stack.volumes()))
        )
    known, added = secretsfile.complete(
        path, stack.machine.secret, choose(stack.machine.is_free), {secretsfile.SOCKET: socket}
    )
    if added:
        out.say(f"{path} is made: it holds the stack's secrets and ports, and is for you alone. Keep it.")
    return known


def refuse_taken_ports(stack: Stack, known: dict[str, str]) -> None:
    """Raise InfrastructureError where a port is taken by anybody but this stack, and say by whom if that is known."""
    ours = {port for part in stack.parts() for port in part.ports}
    faults = taken(stack, known, ours)
    if faults:
        raise InfrastructureError("\n".join(faults))


def taken(stack: Stack, known: dict[str, str], ours: set[int]) -> list[str]:
    """Say of each port that is taken by whom, and what to do."""
    faults = []
    for name, port in secretsfile.ports_of(known, stack.environment).items():
        if port in ours or stack.machine.is_free(port):
            continue
        by = stack.machine.holder(port)
        faults.append(
            f"Port {port} is taken{f' by {by}' if by else ''}. Stop that, or write another port as {name} into "
            f"{stack.environment}."
        )
    return faults


def addresses(known: dict[str, str]) -> dict[str, str]:
    """Return where people look, by what they find there."""
    port = {name: known.get(name, str(wanted)) for name, wanted in secretsfile.PORTS.items()}
    return {
        "dashboard": f"http://localhost:{port['OFFICETOWN_WEB_PORT']}",
        "chat": f"http://localhost:{port['OFFICETOWN_CHAT_PORT']}",
        "mail": f"http://localhost:{port['OFFICETOWN_MAIL_PORT']}",
        "smtp": f"localhost:{port['OFFICETOWN_SMTP_PORT']}",
        "calendar": f"http://localhost:{port['OFFICETOWN_CALENDAR_PORT']}/dav.php/",
    }


def ready(stack: Stack, out: Out, known: dict[str, str]) -> None:
    """Say where to look and how to sign in. No secret is shown: `.env` has them."""
    where = addresses(known)
    out.say()
    out.say("The stack is ready, on this machine alone:")
    out.say(f"  Dashboard {where['dashboard']}   sign in with OFFICETOWN_TOKEN of {stack.environment.name}")
    out.say(f"  Chat      {where['chat']}   sign in as {ADMIN}, with CHAT_ADMIN_PASSWORD of {stack.environment.name}")
    out.say(f"  Mail      {where['mail']}   everybody's; programs send by SMTP at {where['smtp']}, with any password")
    out.say(
        f"  Calendars {where['calendar']}   CalDAV, for Thunderbird and the like; people sign in with their username"
    )
    out.say(f"            {where['calendar'].removesuffix('dav.php/')}admin/   as admin, with BAIKAL_ADMIN_PASSWORD")
    out.say()
    out.say("An office runs inside it, from the dashboard or by:")
    out.say("  docker compose exec orchestrator officetown run fixtures/juniper --days 5")
    out.say("Then: officetown doctor says whether all is well, officetown down stops it.")
    out.result({"up": True, "addresses": where})


def _progress(project: str, out: Out) -> Callable[[str], None]:
    """Return who turns Compose's lines into plain ones, each said once."""
    told: set[str] = set()

    def said(line: str) -> None:
        plain = plain_step(line, project)
        if plain and plain not in told:
            told.add(plain)
            out.say(f"  {plain}")

    return said


def plain_step(line: str, project: str) -> str:
    """Return one of Compose's lines of progress in plain words; nothing for one that says nothing to people."""
    if found := _STEP.match(line):
        kind, name, word = found[1], found[2], found[3]
        if kind == "Container" and word in _WORDS:
            service = re.sub(rf"^{re.escape(project)}-(.+)-[0-9]+$", r"\1", name)
            return f"{service} {_WORDS[word]}"
        return f"{name} is being fetched" if kind == "Image" and word == "Pulling" else ""
    if found := _PULL.match(line):
        return f"{found[1]}: its image is {'being fetched' if found[2] == 'Pulling' else 'here'}"
    return ""
