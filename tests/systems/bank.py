"""A bank portal as a system of record, and a small firm whose assistants use it. Assistants work on paper."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from bench.worlds.api import built_in
from bench.worlds.folder import read_world
from bench.worlds.systems import Desks as Systems
from bench.worlds.systems import source_of
from services.models.scripted import Scripted
from simulator.canonical import sha256
from simulator.conversation import ModelRequest
from simulator.events import ConflictRaised, Event, Pace, SystemAdded, SystemCalled
from simulator.ports import Blob
from simulator.records import Level, SystemOfRecord
from tests.engine.worlds import Bench
from tests.rules.desk import FINISH, Desks, begins, call, calls, clock, of_kind, opening, rhythm, staff, with_desks

PORTAL = source_of(read_world(built_in() / "bank-portal").environment)
PACE = Pace(principal_minimum=10, principal_turn=5, segment_minimum=40, segment_turn=6)
HAND_IN = call("submit", report="Done.")


def give(who: str, matter: str = "river") -> Any:
    """Return a person's answer that delegates something and finishes."""
    goal = call("delegate", goal=f"For {who}: pay what is due", deliverables=[f"Documents/{who}.md"], matter=matter)
    return calls(goal, FINISH)


def blob(data: bytes) -> Blob:
    return Blob(sha256(data), len(data))


def portal(audience: Sequence[str] = ("everyone",), level: Level = "internal", name: str = "bank") -> SystemAdded:
    """Return the opening event of a bank portal."""
    return SystemAdded(SystemOfRecord(name, PORTAL.title, tuple(audience), blob(PORTAL.definition), blob(PORTAL.state), level))


def prepare(invoice: str = "IN-301", account: str = "AC-10", system: str = "bank") -> Any:
    return call(f"{system}__prepare_payment", account=account, invoice=invoice)


def balance(account: str = "AC-10") -> Any:
    return call("bank__get_account", account=account)


def assistant_of(who: str) -> Any:
    """Return the key of a person's assistants in a script."""
    return ("*", lambda request: request.role == "assistant" and f"For {who}:" in request.messages[1].content)


def firm(*systems: SystemAdded, people: Sequence[str] = ("ada", "ben"), matter: bool = True) -> list[Event]:
    """Return a firm's opening in which each person is woken at 10:00, and these systems of record."""
    entries = [rhythm(f"give-{who}", who, clock(10)) for who in people]
    events = opening(staff(*people), entries=entries, pace=PACE, matter=matter)
    more = [Event(len(events) + n, events[0].sim_time, "engine", "genesis", each) for n, each in enumerate(systems, 1)]
    return [*events, *more]


def office(
    events: list[Event], jobs: dict[str, Sequence[Any]], rules: dict[Any, Any] | None = None, matter: str = "river", **more: Any
) -> tuple[Bench, Scripted, Desks]:
    """Return an office in which these people delegate at 10:00, and their assistants take these steps."""
    told: dict[Any, Any] = {(f"session-{who}", begins(f"give-{who}")): [give(who, matter)] for who in jobs}
    told |= {assistant_of(who): list(steps) for who, steps in jobs.items()}
    bench, model, paper = with_desks(events, {**(rules or {}), **told}, **more)
    stock(bench)
    return bench, model, paper


def stock(bench: Bench) -> None:
    """Put the portal's bytes into the store and give the engine what runs it."""
    for data in (PORTAL.definition, PORTAL.state):
        bench.blobs.put(data)
    bench.env.systems = Systems()


def called(bench: Bench) -> list[tuple[str, str, str]]:
    """Return (delegation's principal, tool, outcome) of all calls in the log."""
    return [(p.delegation.partition(".")[0], p.tool, p.outcome) for _, p in of_kind(bench, SystemCalled)]


def conflicts(bench: Bench) -> list[str]:
    return [f"{p.conflict.person}: {p.conflict.reason}" for _, p in of_kind(bench, ConflictRaised)]


def state_of(bench: Bench, system: str = "bank") -> dict[str, Any]:
    """Return what the system holds at the office's head."""
    found: dict[str, Any] = json.loads(bench.blobs.get(bench.engine().office.systems[system].state.sha256))
    return found


def offered(model: Scripted, who: str) -> list[list[str]]:
    """Return the tools that a person's assistants were offered, by request."""
    return [[t.name for t in r.tools] for r in model.asked if r.role == "assistant" and f"For {who}:" in r.messages[1].content]


def told_of(request: ModelRequest) -> list[str]:
    """Return the results of tools in a conversation."""
    return [m.content for m in request.messages if m.role == "tool"]
