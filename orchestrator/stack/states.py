"""What Compose says of the stack's parts, in plain words: which are not ready, and why."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

ONCE = frozenset({"provision"})
"""Parts that do their work and end."""
_RESTRICTED = ("restricted-workspace", "workspace is restricted", "air-gapped", "airgapped")
_NO_SET = (
    "NotYetInitialized",
    "no replset config has been received",
    "NotPrimaryNoSecondaryOk",
    "not master and slaveOk",
)
_STAMP = re.compile(r"^\s*\d{4}-\d\d-\d\d[T ][0-9:.,]+(Z|[+-]\d\d:?\d\d)?\s*")


class Part(msgspec.Struct, frozen=True):
    """One container of the stack. `state` and `health` are the engine's words, `code` how it ended, if it did."""

    service: str
    state: str
    health: str = ""
    code: int = 0
    ports: tuple[int, ...] = ()

    @property
    def ready(self) -> bool:
        """Whether it is as it should be."""
        if self.service in ONCE:
            return self.state == "exited" and self.code == 0
        return self.state == "running" and self.health in ("", "healthy")


def parts(text: str) -> tuple[Part, ...]:
    """Read the output of `docker compose ps --all --format json`, which is a list or an object a line."""
    found: list[Any] = []
    for piece in [text] if text.lstrip().startswith("[") else text.splitlines():
        try:
            value = msgspec.json.decode(piece)
        except msgspec.DecodeError:
            continue  # a warning among the lines
        found.extend(value if isinstance(value, list) else [value])
    return tuple(sorted((_part(v) for v in found if isinstance(v, dict) and v.get("Service")), key=lambda p: p.service))


def _part(value: Mapping[str, Any]) -> Part:
    listed = value.get("Publishers")
    ports = [p.get("PublishedPort") for p in (listed if isinstance(listed, list) else ()) if isinstance(p, dict)]
    published = {port for port in ports if isinstance(port, int) and port > 0}
    code = value.get("ExitCode", 0)
    return Part(
        str(value["Service"]), str(value.get("State", "")).lower(), str(value.get("Health", "")).lower(),
        code if isinstance(code, int) else 0, tuple(sorted(published)),
    )  # fmt: skip


def missing(found: tuple[Part, ...], wanted: tuple[str, ...]) -> tuple[str, ...]:
    """Return the services that have no container."""
    have = {part.service for part in found}
    return tuple(name for name in wanted if name not in have)


def why(part: Part, log: str) -> str:
    """Say in a sentence why a part is not ready; `log` is the end of what it printed."""
    known = _known(part, log)
    if part.state == "exited" and part.service in ONCE:
        said = f"did not do its work (exit code {part.code})"
    elif part.state == "exited":
        said = f"has stopped (exit code {part.code}{', killed for want of memory' if part.code == 137 else ''})"
    elif part.state == "restarting":
        said = "does not stay up: it ends and is started again and again"
    elif part.state == "running" and part.health == "starting":
        said = "is still starting"
    elif part.state == "running":
        said = "runs, but does not answer as it should"
    elif part.state == "created":
        said = "waits for another part"
    else:
        said = f"is {part.state or 'in a state nobody knows'}"
    last = last_line(log)
    return f"{part.service} {said}.{known}" + (f" Its last words: {last}" if last and part.state != "created" else "")


def _known(part: Part, log: str) -> str:
    """Say what is known to be behind it."""
    if part.service == "mongodb" and any(sign in log for sign in _NO_SET):
        return (
            " Its replica set is not initiated, which its health check does under the name mongodb; where the volume was "
            "made by another stack, it has another name in it: `officetown down --volumes` begins anew."
        )
    if part.service == "rocketchat" and any(sign in log for sign in _RESTRICTED):
        return (
            " The workspace is restricted and takes no messages: without a licence it has to have reported its statistics "
            "in the last 10 days. Give it access to the internet and restart it: docker compose restart rocketchat."
        )
    if part.service == "rocketchat" and "MongoServerSelectionError" in log:
        return " It does not find its database: see mongodb."
    if part.service == "mongodb" and part.code in (132, 4):
        return " This processor has no AVX, which MongoDB needs from version 5 on."
    if part.service == "engineproxy" and "cannot be reached" in log:
        return " The engine's socket is not where OFFICETOWN_ENGINE_SOCKET says, or its root is not this container's."
    if part.service == "postgres" and "password authentication failed" in log:
        return " The database was made with another password than that in .env."
    return ""


def last_line(log: str) -> str:
    """Return the last line with words in it, without its time."""
    for line in reversed(log.splitlines()):
        said = _STAMP.sub("", line).strip()
        if said:
            return said[:300]
    return ""
