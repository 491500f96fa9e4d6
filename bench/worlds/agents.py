"""Who is under test in a language environment: a model, the solving script, or nobody."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Protocol

import msgspec

from bench.worlds.detect import is_refusal
from bench.worlds.effects import Evaluator
from bench.worlds.model import Task
from simulator.conversation import Message, ModelRequest, ToolSpec
from simulator.errors import ModelOutage, UsageError
from simulator.ports import Model

MAX_OUTPUT = 8_192
TRIES = 4
Call = Callable[[str, str, int], str]
"""(tool, raw arguments, turn) -> what the agent sees."""
_SYSTEM = (
    "You are a professional who gets a task done with the tools you are given. Today is {today}. Look before you act, "
    "check what you did, and try again when a service fails. Report only what the tools told you. When the task is done, "
    "or cannot be done, answer without a tool call: say what you did and what you found."
)


class Ended(msgspec.Struct, frozen=True):
    """How an agent's work ended: its last words, the turns it took, whether a limit ended it."""

    final: str = ""
    turns: int = 0
    limited: bool = False
    note: str = ""


class WorldAgent(Protocol):
    """Works on a task by calling tools. Raises `ModelOutage` where its provider fails: never the agent's failure."""

    name: str

    def run(self, task: Task, tools: tuple[ToolSpec, ...], call: Call, with_plan: bool = False) -> Ended: ...


class Nop:
    """Does nothing: the lower bound, published beside results."""

    name = "nop"

    def run(self, task: Task, tools: tuple[ToolSpec, ...], call: Call, with_plan: bool = False) -> Ended:
        return Ended()


class Oracle:
    """Plays the task's solving script and reports as it says. Tries again when a call fails, `tries` times in all.

    With one try it is `once`: whoever gives up at the first error.
    """

    def __init__(self, tries: int = TRIES) -> None:
        self.name = "oracle" if tries > 1 else "once"
        self._tries = tries

    def run(self, task: Task, tools: tuple[ToolSpec, ...], call: Call, with_plan: bool = False) -> Ended:
        """Make the calls in order. Raises `UsageError` where the task has no script."""
        if not task.script:
            raise UsageError(f"the task {task.id} has no script for the agent {self.name}.")
        seen: list[Any] = []
        turn = 0
        for item in task.script:
            names = {"seen": seen, "last": seen[-1] if seen else None}
            arguments = Evaluator({}, task.today).value(item.get("arguments") or {}, names)
            answer: Any = None
            for _ in range(self._tries):
                turn += 1
                answer = json.loads(call(str(item["tool"]), json.dumps(arguments), turn))
                if not is_refusal(answer):
                    break
            else:
                if self._tries == 1:
                    return Ended("I could not complete the task: a service failed.", turn)
            seen.append(answer)
        return Ended(task.report or "Done.", turn)


class ModelAgent:
    """A model with the tools, until it answers without a call or its turns are used up. `name` begins its calls' names."""

    name = "model"

    def __init__(self, model: Model, trial: str) -> None:
        self._model = model
        self._trial = f"{trial}:agent"

    def run(self, task: Task, tools: tuple[ToolSpec, ...], call: Call, with_plan: bool = False) -> Ended:
        """Converse. Raises `ModelOutage` and `BudgetExhausted`."""
        messages = [Message("system", _SYSTEM.format(today=task.today)), Message("user", instruction(task, with_plan))]
        for turn in range(1, task.agent_turns + 1):
            request = ModelRequest(
                "assistant", (self._trial, turn), self._trial, tuple(messages), tools, max_output=MAX_OUTPUT
            )
            response = self._model.complete(request)
            if response.finish == "unavailable":
                raise ModelOutage(f"the agent's model did not answer: {response.detail or 'no reason given'}")
            if response.finish in ("overflow", "refusal"):
                return Ended(
                    response.content, turn, response.finish == "overflow", f"its model ended with {response.finish}"
                )
            if not response.tool_calls:
                note = "its last answer was cut" if response.finish == "length" else ""
                return Ended(response.content, turn, False, note)
            messages.append(response.as_message())
            for asked in response.tool_calls:
                seen = call(asked.name, asked.arguments, turn)
                messages.append(Message("tool", seen, tool_call_id=asked.id))
        return Ended("", task.agent_turns, True, "its turns were used up")


def instruction(task: Task, with_plan: bool) -> str:
    """Return what an agent is told to do."""
    return f"{task.instruction}\n\nA way that works:\n{task.plan}" if with_plan and task.plan else task.instruction


def agent_of(name: str, model: Model | None, trial: str) -> WorldAgent:
    """Return the agent of a name: `model`, `oracle`, `once`, `nop`. Raises `UsageError`."""
    if name == "nop":
        return Nop()
    if name in ("oracle", "once"):
        return Oracle(TRIES if name == "oracle" else 1)
    if name != "model":
        raise UsageError(f"there is no agent {name!r} for worlds; there are model, oracle, once, nop and module:Class.")
    if model is None:
        raise UsageError("the agent `model` needs a model for the role assistant.")
    return ModelAgent(model, trial)
