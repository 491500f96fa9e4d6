"""Whether this machine's container engine and its Compose can bring the stack up, in plain words if not."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from orchestrator.stack.programs import MISSING, TOO_LONG, Ran, Runner

OLDEST_API, OLDEST_COMPOSE = (1, 41), (2, 24)
DEFAULT_SOCKET = "/var/run/docker.sock"
VERSION = ("docker", "version", "--format", "{{json .}}")
COMPOSE = ("docker", "compose", "version", "--short")
ENDPOINT = ("docker", "context", "inspect", "--format", "{{.Endpoints.docker.Host}}")


class Able(msgspec.Struct, frozen=True):
    """What is there. `fault` says in plain words what is missing and what to do; it is empty where nothing is."""

    fault: str = ""
    engine: str = ""
    compose: str = ""
    socket: str = DEFAULT_SOCKET


def look(run: Runner) -> Able:
    """Ask the engine and Compose who they are."""
    engine, fault = judge_engine(run(VERSION))
    if fault:
        return Able(fault)
    compose, fault = judge_compose(run(COMPOSE))
    if fault:
        return Able(fault, engine)
    socket, fault = judge_endpoint(run(ENDPOINT))
    return Able(fault, engine, compose, socket)


def judge_engine(said: Ran) -> tuple[str, str]:
    """Return the engine's version, or nothing and what is wrong with it."""
    if said.code == MISSING:
        return "", "There is no `docker` command here. Install Docker Engine 20.10 or later with its Compose plugin."
    if said.code == TOO_LONG:
        return "", "The container engine does not answer. Restart it (usually: systemctl restart docker)."
    words = said.err + said.out
    if "permission denied" in words.lower():
        return "", (
            "This user may not use the container engine. Add the user to its group (usually: usermod -aG docker USER, "
            "then log in again), or use an engine without root."
        )
    server = _object(said.out).get("Server")
    if not isinstance(server, dict) or not server.get("ApiVersion"):
        return "", f"No container engine runs here. Start it (usually: systemctl start docker). It said: {said.words}"
    version, api = str(server.get("Version", "")), str(server["ApiVersion"])
    if _numbers(api) < OLDEST_API:
        return "", (
            f"The container engine is too old: version {version} speaks {api} of its interface, and "
            f"{'.'.join(map(str, OLDEST_API))} (version 20.10) is needed."
        )
    if str(server.get("Os", "linux")) != "linux":
        return "", f"The container engine runs {server['Os']} containers, and the stack needs Linux ones. Switch it."
    return version, ""


def judge_compose(said: Ran) -> tuple[str, str]:
    """Return Compose's version, or nothing and what is wrong with it."""
    version = said.out.strip().removeprefix("v")
    wanted = ".".join(map(str, OLDEST_COMPOSE))
    if said.code != 0 or not re.match(r"\d+\.\d+", version):
        return "", (
            f"The `docker` command has no Compose plugin. Install it (docker-compose-plugin, or docker-compose {wanted} or "
            "later from Debian 13; on Debian 12 .ci/compose.sh does that)."
        )
    if _numbers(version) < OLDEST_COMPOSE:
        return "", f"Docker Compose {version} is too old: {wanted} or later is needed."
    return version, ""


def judge_endpoint(said: Ran) -> tuple[str, str]:
    """Return the path of the engine's socket, or the default and why the engine cannot be lent to the office."""
    where = said.out.strip()
    if said.code != 0 or not where:
        return DEFAULT_SOCKET, ""
    if not where.startswith("unix://"):
        return DEFAULT_SOCKET, (
            f"The container engine is at {where}: the stack lends the office a socket of this machine, so it has to run "
            "where the engine runs. Unset DOCKER_HOST, or choose a local context."
        )
    path = where.removeprefix("unix://")
    # Where the engine lives in a virtual machine, its own socket is what is mounted, whatever the client uses.
    return (DEFAULT_SOCKET if "/.docker/" in path else path), ""


def _object(text: str) -> dict[str, Any]:
    try:
        value = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return {}
    return value if isinstance(value, dict) else {}


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2])
