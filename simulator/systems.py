"""Systems of record: what an assistant does in them, buffered until its segment lands (RULES 6 and 18).

A system is pure: definition, state and call decide the answer. So nothing of it is on the tape; a resumed or replayed
segment computes the same again. `docs/decisions/0010-systems-of-record.md` says why it is so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

import msgspec

from simulator.access import Subject, can, inherited
from simulator.access_base import rank
from simulator.access_records import system_walls
from simulator.businesstime import calendar_for
from simulator.canonical import clean_text
from simulator.conversation import ToolCall, ToolSpec
from simulator.office import Office
from simulator.ports import BlobStore
from simulator.quoting import escaped
from simulator.records import Delegation, FileRef, Level
from simulator.view import view

BETWEEN = "__"
"""Stands between a system's id and the name of its tool; no id has an underscore."""
ARGUMENT_CHARS = 20_000


class SystemAnswer(msgspec.Struct, frozen=True):
    """What a call gave: the observation as JSON on one line, the state after it, whether it was carried out."""

    observation: str
    state: bytes
    ok: bool


class SystemPort(Protocol):
    """Runs systems of record: a pure function of what it is given. Whatever is wrong with a call is its observation."""

    def tools(self, definition: bytes) -> tuple[ToolSpec, ...]:
        """Return a system's tools, under their own names."""
        ...

    def call(self, definition: bytes, state: bytes, tool: str, arguments: str, day: str) -> SystemAnswer:
        """Answer a call on `day` (ISO date); `arguments` is JSON as the model wrote it."""
        ...


class SystemCall(msgspec.Struct, frozen=True):
    """A call as it was answered: decided again when the segment lands."""

    system: str
    tool: str
    arguments: str
    observation: str


class LandedCall(msgspec.Struct, frozen=True):
    """A call at commit: what came of it, and the system's state after it. `why` is given where a conflict begins."""

    call: SystemCall
    outcome: Literal["done", "refused", "conflict"]
    state: bytes
    why: str = ""


class Desk:
    """The systems that one segment may use, as of its start, with its own calls.

    `calls` are those made so far, in order. All calls are of the day on which the segment began.
    """

    def __init__(self, port: SystemPort | None, blobs: BlobStore, base: Office, delegation: Delegation, at: int) -> None:
        self.calls: list[SystemCall] = []
        self.day = calendar_for(base.calendar).day(at)
        self._port = port
        self._blobs = blobs
        self._delegation = delegation
        seen = view(base, Subject(delegation.principal, delegation.matter)).systems() if port is not None else ()
        self._states = {system.id: system.state.sha256 for system in seen}
        self._now: dict[str, bytes] = {}
        self._definitions = {system.id: blobs.get(system.definition.sha256) for system in seen}
        self.tools = tuple(
            ToolSpec(f"{system.id}{BETWEEN}{tool.name}", f"{system.title}: {tool.description}", tool.parameters)
            for system in seen
            for tool in (port.tools(self._definitions[system.id]) if port is not None else ())
        )

    def answer(self, call: ToolCall) -> str:
        """Answer a call of one of `tools` at once, and remember it."""
        assert self._port is not None
        system, _, tool = call.name.partition(BETWEEN)
        arguments = clean_text(call.arguments)
        if len(arguments) > ARGUMENT_CHARS:
            return f'{{"error":"The arguments have more than {ARGUMENT_CHARS} characters: nothing was done."}}'
        state = self._now.get(system)
        if state is None:
            state = self._blobs.get(self._states[system])
        answer = self._port.call(self._definitions[system], state, tool, arguments, self.day)
        self._now[system] = answer.state
        self.calls.append(SystemCall(system, tool, arguments, answer.observation))
        return escaped(answer.observation)

    def land(self, office: Office) -> list[LandedCall]:
        """Decide all calls again, on the office as it is now.

        Where an answer is another now, or the system may not be used any more, neither that call nor any later one of
        this segment to the same system has an effect: what came after rested on it.
        """
        assert self._port is not None or not self.calls
        landed: list[LandedCall] = []
        states: dict[str, bytes] = {}
        broken: set[str] = set()
        for call in self.calls:
            system = office.systems[call.system]
            state = states[system.id] if system.id in states else self._blobs.get(system.state.sha256)
            why = "" if system.id in broken else self._refusal(office, system.id)
            if system.id not in broken and not why:
                assert self._port is not None
                answer = self._port.call(self._definitions[system.id], state, call.tool, call.arguments, self.day)
                if answer.observation == call.observation:
                    states[system.id] = answer.state
                    landed.append(LandedCall(call, "done" if answer.ok else "refused", answer.state))
                    continue
                why = f"it has changed meanwhile, and {call.tool} would be answered otherwise now"
            broken.add(system.id)
            landed.append(LandedCall(call, "conflict", state, why))
        return landed

    def _refusal(self, office: Office, system: str) -> str:
        subject = Subject(self._delegation.principal, self._delegation.matter)
        return "" if can(subject, "use_system", system, office).allowed else "it may not be used any more"


def inherited_from(office: Office, refs: Sequence[FileRef], systems: Sequence[str]) -> tuple[Level, tuple[str, ...]]:
    """Return the highest level and all walls of files and systems that a new version was made from (RULE 27)."""
    level, walls = inherited(office, refs)
    for system in systems:
        level = max(level, office.systems[system].level, key=rank)
        walls = tuple(sorted({*walls, *system_walls(office, system)}))
    return level, walls
