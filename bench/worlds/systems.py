"""Environments as an office's systems of record: read from a package, run by code alone.

`Desks` fulfils the simulator's port; `read_system` is what a package's reader is given. An environment serves an office
only if every tool declares its effect: no model decides what a bank holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from bench.worlds import desk
from bench.worlds.arguments import unsupported
from bench.worlds.folder import ENVIRONMENT, TASKS, read_documents, read_typed
from bench.worlds.model import Effect, Environment
from simulator.conversation import ToolSpec
from simulator.package import Fault
from simulator.package_systems import SYSTEMS, SystemSource
from simulator.package_text import Document, Place
from simulator.systems import BETWEEN, SystemAnswer

NAME_CHARS = 64
"""Longest name of a tool that endpoints take."""
_NAME = re.compile(r"[A-Za-z0-9_-]+")


class Desks:
    """Runs systems of record by their declared effects. Pure: equal arguments give equal answers."""

    def tools(self, definition: bytes) -> tuple[ToolSpec, ...]:
        """Return a system's tools, under their own names."""
        return tuple(ToolSpec(t["name"], t["description"], t["parameters"]) for t in desk.decode(definition)["tools"])

    def call(self, definition: bytes, state: bytes, tool: str, arguments: str, day: str) -> SystemAnswer:
        """Answer a call on `day`."""
        return SystemAnswer(*desk.answer(definition, state, tool, arguments, day))


def read_system(name: str, files: Mapping[str, bytes]) -> tuple[SystemSource | None, list[Fault]]:
    """Read the environment in `systems/<name>` of a package's files: what of it the office keeps, and every fault."""
    folder = f"{SYSTEMS}/{name}"
    document = read_typed(f"{folder}/{ENVIRONMENT}", files[f"{folder}/{ENVIRONMENT}"])
    tasks = Document(f"{folder}/{TASKS}", {}, {(): 1}, [])
    if tasks.file in files:
        tasks = read_typed(tasks.file, files[tasks.file])
    loaded = read_documents(name, document, tasks)
    if loaded.world is None:
        return None, loaded.faults
    environment = loaded.world.environment
    faults = [*loaded.faults, *(Fault(document.file, document.line(p), text) for p, text in _unfit(name, environment))]
    if faults:
        return None, faults
    return source_of(environment), []


def source_of(environment: Environment) -> SystemSource:
    """Return what an office keeps of an environment: its definition without any state, and the state it begins with."""
    tools = [
        {"name": t.name, "description": t.description, "parameters": t.parameters, "effect": _effect(t.effect or Effect())}
        for t in environment.tools
    ]  # fmt: skip
    definition = {
        "title": environment.title, "rules": environment.rules, "fields": environment.fields, "tools": tools,
        "invariants": [{"id": i.id, "text": i.text, "must": i.must} for i in environment.invariants],
    }  # fmt: skip
    return SystemSource(environment.title, desk.encode(definition), desk.encode(environment.initial_state))


def _effect(effect: Effect) -> dict[str, Any]:
    return {
        "let": [[name, value] for name, value in effect.let.items()],
        "checks": [{"must": c.must, "error": c.error, "code": c.code} for c in effect.checks],
        "patch": [{"op": p.op, "path": p.path, "value": p.value, "when": p.when} for p in effect.patch],
        "returns": effect.returns,
    }


def _unfit(name: str, environment: Environment) -> Iterator[tuple[Place, str]]:
    """Yield why an environment that holds together cannot be a system of record."""
    if not environment.title.strip():
        yield ("title",), "A system of record needs a `title`: people call it by that."
    for at, tool in enumerate(environment.tools):
        place: Place = ("tools", at)
        if tool.effect is None:
            yield place, f"The tool `{tool.name}` declares no `effect`; in an office code alone answers (docs/worlds.md)."
        full = f"{name}{BETWEEN}{tool.name}"
        if len(full) > NAME_CHARS or not _NAME.fullmatch(full):
            yield (*place, "name"), f"`{full}` is no name for a tool: letters, digits, _ and -, {NAME_CHARS} at most."
        if found := unsupported(tool.parameters):
            yield (*place, "parameters", *found[0]), f"The parameters use {found[1]}, which a system of record cannot check."
    if len(desk.encode(environment.initial_state)) > desk.STATE_BYTES:
        yield ("initial_state",), f"The state has more than {desk.STATE_BYTES} bytes."
