"""`doctor`: what works on this machine and what does not, the model endpoints tried with tiny calls (DESIGN 13)."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from orchestrator.compose import House
from orchestrator.configfile import ROLES
from orchestrator.connecting import Line, obstacle
from orchestrator.output import Out
from orchestrator.serverchecks import NOBODY, findings
from orchestrator.stack import report as stack_report
from services.models.connect import Abilities
from services.storage.collect import collect
from simulator.carrying import directory
from simulator.errors import InfrastructureError, OfficeTownError, UsageError


def doctor(house: House, out: Out, gc: bool, live: bool = False) -> None:
    """Say in plain words what works here; raise InfrastructureError (exit 4) where something does not."""
    faults: list[str] = []
    models: list[dict[str, object]] = []

    def look(what: str, question: Callable[[], str]) -> None:
        try:
            out.say(f"{what}: {question()}")
        except OfficeTownError as fault:
            faults.append(f"{what}: {fault}")
            out.say(f"{what}: {fault}")

    def sandbox() -> str:
        provider = house.sandboxes()
        return f"{provider.name} works; left over from a crash and removed: {provider.reap()}"

    def collected() -> str:
        count, size = collect(house.offices, house.blobs, time.time())
        return f"{count} files that nothing refers to are removed, {size // 1024} KiB"

    out.say(f"State: {house.settings.home}")
    out.say(f"Settings: {house.settings.source or 'no officetown.toml'}, and the environment")
    look("Database", lambda: f"{house.database}, {len(house.offices.list())} offices")
    for line in house.lines():
        look("Model", lambda line=line: _tried(house, line, models))  # type: ignore[misc]
    offline = [role for role in ROLES if house.settings.of(role).offline]
    if offline:
        out.say(f"Model: the offline professional, which is no language model ({', '.join(offline)})")
    look("Sandbox", sandbox)
    faults.extend(_servers(house, out, live))
    faults.extend(_stack(out))
    if gc:
        look("Store", collected)
    out.result({"faults": faults, "models": models})
    if faults:
        raise InfrastructureError("Something does not work here yet; see above.")


def _servers(house: House, out: Out, live: bool) -> list[str]:
    """Say how the servers do that show the offices; `live` passes something through each. Return the faults."""
    if not house.settings.carriers.any:
        if live:
            raise UsageError("--live tries the servers that show an office, and none is set up (docs/carriers.md).")
        return []
    rows = house.offices.list()
    people = directory(house.office(rows[-1]), rows[-1].id) if rows else NOBODY
    faults: list[str] = []
    for line, well, detail in findings(house.settings.carriers, people, house.blobs, house.password(), live):
        out.say(f"{'ok  ' if well else 'FAIL'} {line}: {detail}")
        if not well:
            faults.append(f"{line}: {detail}")
    return faults


def _stack(out: Out) -> list[str]:
    """Say how the Compose stack of this checkout does; one that was never brought up is no fault."""
    found = stack_report.findings(os.environ)
    for finding in found:
        out.say(f"Stack: {finding.text}")
    return [f"Stack: {finding.text}" for finding in found if finding.fault]


def _tried(house: House, line: Line, models: list[dict[str, object]]) -> str:
    """Say what an endpoint can do, and note it. Raises InfrastructureError for what stands in the way."""
    chosen = line.settings
    noted: dict[str, object] = {"roles": list(line.roles), "model": chosen.name, "url": chosen.url, "answers": False}
    models.append(noted)
    able = house.abilities(line)
    if able.fault is not None:
        raise InfrastructureError(obstacle(line, able.fault))
    fields = [f for f in Abilities.__struct_fields__ if f != "fault"]
    noted |= {field: getattr(able, field) for field in fields if field != "model"}
    if not able.answers:
        raise InfrastructureError(f"{line.label} gave no answer that could be used.")
    named = f"; it calls itself {able.model}" if able.model not in ("", chosen.name) else ""
    price = "known" if chosen.prices is not None else "unknown, so money is not counted and --budget is refused"
    return (
        f"{line.label} answers{named}; tools: {able.tools}; structured: {able.structured}; "
        f"reasoning: {_yes(able.reasoning)}; usage: {_yes(able.usage)}; price: {price}"
    )


def _yes(value: bool) -> str:
    return "yes" if value else "no"
