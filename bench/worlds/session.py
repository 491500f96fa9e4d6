"""A world at work: it takes an agent's calls, one after another, and keeps all that came of them."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from bench.worlds.detect import is_empty, is_refusal
from bench.worlds.faults import Faults, Observed, spoil
from bench.worlds.model import CallStatus, Environment, Fault, FaultPlan, Step, Task, Tool
from bench.worlds.schemas import argument_faults
from bench.worlds.step import Past, Reply, Simulator
from simulator.canonical import canonical, sha256
from simulator.conversation import ToolSpec
from simulator.quoting import json_line
from simulator.randomness import Stream

_RAW = 2_000


class Session:
    """One run of one environment. Not thread-safe: an agent makes one call at a time.

    `call` is all an agent can do. Arguments that do not fit their schema, and tools that do not exist, never reach the
    simulator, and do not count for the faults' calendar.
    """

    def __init__(self, environment: Environment, task: Task, simulator: Simulator, plan: FaultPlan) -> None:
        self.environment = environment
        self.task = task
        self.today = task.today or environment.today
        self.state: dict[str, Any] = environment.initial_state
        self.steps: list[Step] = []
        self._simulator = simulator
        self._plan = plan
        self._faults = Faults(plan, environment, task.id)
        self._past: list[Past] = []
        self._seen: list[Observed] = []
        self._valid = 0

    def tools(self) -> tuple[ToolSpec, ...]:
        """Return what the agent is offered."""
        return tuple(ToolSpec(tool.name, tool.description, tool.parameters) for tool in self.environment.tools)

    def call(self, name: str, raw: str, turn: int = 0) -> str:
        """Answer a call: return the text that the agent sees. Raises what the simulator raises."""
        tool = self.environment.tool(name)
        if tool is None:
            names = ", ".join(tool.name for tool in self.environment.tools)
            told = {"error": f"There is no tool {name[:80]!r}. The tools are: {names}."}
            return self._refuse(name[:80], "unknown_tool", told, raw, turn)
        arguments = _decoded(raw)
        faults = (
            ("the arguments: must be a JSON object.",)
            if arguments is None
            else argument_faults(arguments, tool.parameters)
        )
        if arguments is None or faults:
            told = {"error": f"The arguments of {tool.name} do not fit: {' '.join(faults)}"}
            return self._refuse(name, "bad_arguments", told, raw, turn, arguments, faults)
        return self._answer(tool, arguments, turn)

    def _refuse(
        self, name: str, status: CallStatus, told: dict[str, Any], raw: str, turn: int,
        arguments: dict[str, Any] | None = None, faults: tuple[str, ...] = (),
    ) -> str:  # fmt: skip
        self.steps.append(
            Step(len(self.steps) + 1, turn, name, arguments, status, told, self._hash(), faults, error=True,
                 raw="" if arguments is not None else raw[:_RAW])
        )  # fmt: skip
        return json_line(told)

    def _answer(self, tool: Tool, arguments: dict[str, Any], turn: int) -> str:
        self._valid += 1
        fault = self._faults.strike(self._valid, tool)
        reply = Reply(None, self.state)
        if fault is None or not fault.explicit:
            reply = self._simulator.answer(tool, arguments, self.state, tuple(self._past), self.today)
            self.state = reply.state
            self._past.append(Past(tool.name, arguments, reply.observation))
            self._faults.called(tool.name)
        seen, fault = self._spoiled(fault, reply, tool, arguments)
        self.steps.append(
            Step(
                len(self.steps) + 1, turn, tool.name, arguments,
                "faulted" if fault is not None and fault.explicit else "answered",
                seen, self._hash(), (), fault, reply.observation if fault is not None else None, reply.patch,
                reply.detections, reply.retried, is_refusal(seen), is_empty(seen),
            )
        )  # fmt: skip
        return json_line(seen)

    def _spoiled(
        self, fault: Fault | None, reply: Reply, tool: Tool, arguments: dict[str, Any]
    ) -> tuple[Any, Fault | None]:
        seen = reply.observation
        if fault is not None:
            stream = Stream(self._plan.seed, "world-spoil", self.task.id, self._plan.level, self._valid)
            seen, fault = spoil(fault, seen, self._seen, tool.name, arguments, self.state, stream)
        if fault is None or not fault.explicit:
            self._seen.append((tool.name, arguments, reply.observation))
        return seen, fault

    def _hash(self) -> str:
        return sha256(canonical(self.state))


def _decoded(raw: str) -> dict[str, Any] | None:
    """Return the arguments as an object; an empty text is no arguments. NaN and Infinity are no JSON."""
    if not raw.strip():
        return {}
    try:
        value = msgspec.json.decode(raw.encode("utf-8", "replace"))
        json.dumps(value, allow_nan=False)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
