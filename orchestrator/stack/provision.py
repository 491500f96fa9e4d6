"""The stack's init job: the database's tables, and whether every server takes the credentials it was given.

    python -m orchestrator.stack.provision

It ends well only once all of them answer, so that the orchestrator never starts beside a server that cannot be used.
People's accounts are made by an office when it runs; here is none yet.
"""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

import httpx
import msgspec

from orchestrator.carriersettings import CalendarSettings, ChatSettings, MailSettings
from orchestrator.compose import House
from orchestrator.settings import Settings, read_settings
from orchestrator.stack.readiness import unready
from simulator.errors import InfrastructureError, OfficeTownError, UsageError

_PATIENCE_S = 120.0
_PAUSE_S = 3.0
_TIMEOUT = httpx.Timeout(15.0, connect=5.0)


class Waiting(msgspec.Struct, frozen=True):
    """How long a server is waited for: `clock` in seconds, `sleep` waits."""

    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    patience_s: float = _PATIENCE_S


def provision(
    settings: Settings, environ: Mapping[str, str], http: httpx.Client, waiting: Waiting, say: Callable[[str], None]
) -> None:
    """Do all of it, once; doing it again changes nothing. Raises OfficeTownError, saying which server refused and why.

    What another try may help is tried until `waiting` is out of patience; a refused password is not.
    """
    servers = settings.carriers
    steps: list[tuple[str, Callable[[], str]]] = [
        ("Database", lambda: _tables(settings)),
        ("Engine proxy and home", lambda: _reachable(environ)),
    ]
    if servers.chat is not None:
        steps.append(("Chat", lambda: chat(servers.chat, http)))  # type: ignore[arg-type]
    if servers.mail is not None:
        steps.append(("Mail", lambda: mail(servers.mail, http)))  # type: ignore[arg-type]
    if servers.calendar is not None:
        steps.append(("Calendar", lambda: calendar(servers.calendar, http)))  # type: ignore[arg-type]
    end = waiting.clock() + waiting.patience_s
    for what, step in steps:
        say(f"{what}: {_patiently(step, end, waiting)}")


def _patiently(step: Callable[[], str], end: float, waiting: Waiting) -> str:
    while True:
        try:
            return step()
        except InfrastructureError:
            if waiting.clock() >= end:
                raise
            waiting.sleep(_PAUSE_S)


def _tables(settings: Settings) -> str:
    house = House(settings)
    try:
        return f"{house.database}, its tables are there, {len(house.offices.list())} offices"
    finally:
        house.close()


def _reachable(environ: Mapping[str, str]) -> str:
    faults = unready(environ)
    if faults:
        raise InfrastructureError(". ".join(faults))
    return "they can be used"


def chat(server: ChatSettings, http: httpx.Client) -> str:
    """Sign in as the administrator."""
    answer = _ask(http, "POST", f"{server.url}/api/v1/login", json={"user": server.user, "password": server.password})
    if answer.status_code in (400, 401, 403):
        raise UsageError(
            f"Rocket.Chat at {server.url} does not let {server.user} in (HTTP {answer.status_code}): its database was made "
            "with another password than that in .env, or two-factor sign-in was switched on."
        )
    _well(answer, server.url)
    return f"{server.url} lets {server.user} in"


def mail(server: MailSettings, http: httpx.Client) -> str:
    """Ask whether it is ready, and greet its SMTP port."""
    _well(_ask(http, "GET", f"{server.url}/readyz"), server.url)
    try:
        with socket.create_connection((server.host, server.port), timeout=5) as asking:
            greeting = asking.recv(200)
    except OSError as error:
        raise InfrastructureError(
            f"No mail is taken at {server.host}:{server.port} ({error.strerror or error})"
        ) from error
    if not greeting.startswith(b"220"):
        raise InfrastructureError(f"No mail server answers at {server.host}:{server.port}")
    return f"{server.url} is ready, mail is taken at {server.host}:{server.port}"


def calendar(server: CalendarSettings, http: httpx.Client) -> str:
    """Ask whether it wants to know who asks, as it must."""
    root = server.url + server.path.partition("{")[0].replace("/calendars/", "/")
    answer = _ask(http, "PROPFIND", root, headers={"Depth": "0"})
    if answer.status_code in (401, 207):
        return f"{server.url} is ready"
    _well(answer, server.url)
    raise UsageError(f"The calendar server at {root} answers HTTP {answer.status_code}: its path is another one.")


def _ask(http: httpx.Client, method: str, url: str, **more: object) -> httpx.Response:
    try:
        return http.request(method, url, **more)  # type: ignore[arg-type]
    except httpx.HTTPError as error:
        raise InfrastructureError(f"{urlsplit(url).netloc} does not answer ({type(error).__name__})") from error


def _well(answer: httpx.Response, url: str) -> None:
    if answer.status_code >= 500 or answer.status_code == 429:
        raise InfrastructureError(f"{url} is not well (HTTP {answer.status_code})")
    if answer.status_code >= 400:
        raise UsageError(f"{url} refuses (HTTP {answer.status_code}).")


def main() -> int:
    """Run it with the environment's settings; return the exit code."""
    try:
        with httpx.Client(timeout=_TIMEOUT, trust_env=False) as http:
            provision(read_settings(os.environ), os.environ, http, Waiting(), lambda text: print(text, flush=True))
    except OfficeTownError as fault:
        print(f"provision: {fault}", file=sys.stderr)
        return fault.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
