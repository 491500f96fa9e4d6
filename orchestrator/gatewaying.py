"""`gateway`: the configured model of a role behind an OpenAI-compatible address, for agents that are not ours."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import msgspec

from orchestrator.compose import House
from orchestrator.configfile import ROLES
from orchestrator.output import Out
from services.gateway import server
from simulator.conversation import Role
from simulator.errors import UsageError

TRAJECTORY = "trajectory.json"


class GatewayOptions(msgspec.Struct, frozen=True):
    """The options of `gateway`. `turns` None is any number of calls; `folder` None a new one in the home."""

    role: str = "assistant"
    host: str = "127.0.0.1"
    port: int = 0
    turns: int | None = None
    folder: Path | None = None
    name: str = "agent"
    check: bool = True


def gateway(house: House, out: Out, options: GatewayOptions) -> dict[str, object]:
    """Serve a role's model until Ctrl-C or SIGTERM; return what `--json` prints: what each session used."""
    role = role_of(options.role)
    folder = options.folder or house.settings.home / "gateway" / time.strftime("%Y%m%d-%H%M%S")
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is no folder: name one with -o; the trajectory is written into it.")
    stopped = threading.Event()
    with house.stop.heeding():
        if options.check:
            house.check((role,), say=out.say)
        model = house.connect(say=out.say, roles=(role,)).model
        folder.mkdir(parents=True, exist_ok=True)
        behind = server.Options(model_name=house.model_name(role))
        gate = server.gateway(
            model, role, folder / TRAJECTORY, options.turns, options.name, options.host, options.port, options=behind
        )
        house.stop.tell(stopped.set)
        server.run(gate, out.say, stopped)
    used = {name: gate.session(name).totals for name in gate.sessions()}
    result: dict[str, object] = {
        "url": gate.url,
        "trajectory": str(gate.path),
        "sessions": {
            name: {"turns": t.turns, "input": t.usage.input, "cached": t.usage.cached, "output": t.usage.output}
            for name, t in used.items()
        },
    }
    out.result(result)
    return result


def role_of(name: str) -> Role:
    """Return the role of that name. Raises UsageError where there is none."""
    for role in ROLES:
        if role == name:
            return role
    raise UsageError(f"There is no role {name!r}: use {', '.join(ROLES[:-1])} or {ROLES[-1]}.")
