"""One's own agent in a language environment: a class that calls tools as it likes, with its calls on the trial's tape.

What it does next is an answer like a model's, and stored like one. So a trial that was killed is taken up where it stood if
the class does again what it did, and a finished one can be made again from its tape without the class.
"""

from __future__ import annotations

import json
from typing import Any

from bench.own import OwnClass
from bench.worlds.agents import Call, Ended, instruction
from bench.worlds.journal import Tape
from bench.worlds.model import Task
from simulator.canonical import clean_text
from simulator.conversation import Message, ModelRequest, ModelResponse, ToolCall, ToolSpec
from simulator.errors import TapeMismatch

METHOD = "run(instruction, tools, call)"


class AnotherCourse(TapeMismatch):
    """An agent of one's own did something else than the tape says that it did: its trial has to begin anew."""


class _Over(BaseException):  # noqa: N818
    """Ends the agent's work from within its call. No `Exception`: an agent that catches all of those must not go on."""


class OwnAgent:
    """Runs the class, or plays its calls from the tape where there is none. `name` begins its calls' names."""

    name = "own"

    def __init__(self, own: OwnClass | None, tape: Tape, trial: str) -> None:
        self._own = own
        self._tape = tape
        self._trial = f"{trial}:agent"

    def run(self, task: Task, tools: tuple[ToolSpec, ...], call: Call, with_plan: bool = False) -> Ended:
        """Work on the task. Raises `AnotherCourse`, and what a call raises."""
        sitting = _Sitting(self, task, tools, call, f"Today is {task.today}.\n\n{instruction(task, with_plan)}")
        return sitting.played() if self._own is None else sitting.worked(self._own)

    def kept(self, request: ModelRequest) -> ModelResponse | None:
        """Return what it did at that turn, if the tape says so."""
        return self._tape.find(request)

    def keep(self, request: ModelRequest, response: ModelResponse) -> None:
        """Store what it does at a turn; a turn that is stored must be the same."""
        known = self._tape.find(request)
        if known is None:
            self._tape.keep(request, response)
        elif known != response:
            raise AnotherCourse(f"call {request.call[1]} of the agent is another one than before it was interrupted.")

    def request(self, turn: int, text: str, tools: tuple[ToolSpec, ...]) -> ModelRequest:
        """Return what stands for a turn on the tape."""
        return ModelRequest("assistant", (self._trial, turn), self._trial, (Message("user", text),), tools)


class _Sitting:
    """One agent at one task."""

    def __init__(self, agent: OwnAgent, task: Task, tools: tuple[ToolSpec, ...], call: Call, text: str) -> None:
        self._agent = agent
        self._task = task
        self._tools = tools
        self._call = call
        self._text = text
        self._turns = 0
        self._fault: BaseException | None = None

    def worked(self, own: OwnClass) -> Ended:
        """Run the class; an exception of its own ends its work, and what it did is judged."""
        note = ""
        final = ""
        try:
            final = _words(own.made().run(self._text, [_offered(tool) for tool in self._tools], self._asked))
        except _Over:
            pass
        # It is somebody else's code: whatever it raises is how this agent's run ended, never a fault of the evaluation.
        except Exception as fault:  # noqa: BLE001
            note = f"the agent raised {type(fault).__name__}: {str(fault)[:200]}"
        if self._fault is not None:
            raise self._fault
        if self._turns > self._task.agent_turns:
            return Ended("", self._task.agent_turns, True, "its turns were used up")
        return self._ended(self._turns + 1, ModelResponse(final, detail=note))

    def _ended(self, turn: int, last: ModelResponse) -> Ended:
        self._agent.keep(self._agent.request(turn, self._text, self._tools), last)
        return Ended(last.content, turn, False, last.detail)

    def _asked(self, name: str, arguments: Any = None) -> str:
        """What the class calls: `arguments` is an object, or JSON text as a model wrote it. Returns what a model would see."""
        if self._fault is not None or self._turns >= self._task.agent_turns:
            self._turns += 1
            raise _Over
        self._turns += 1
        try:
            return self._answered(self._turns, str(name), arguments)
        # Whatever ended the call ends the trial: it is kept here, so that the agent's own handlers cannot swallow it.
        except BaseException as fault:  # noqa: BLE001
            self._fault = fault
            raise _Over from None

    def _answered(self, turn: int, name: str, arguments: Any) -> str:
        raw = arguments if isinstance(arguments, str) else _json(arguments)
        asked = ModelResponse(tool_calls=(ToolCall(f"own-{turn}", name, raw),), finish="tool_calls").cleaned()
        self._agent.keep(self._agent.request(turn, self._text, self._tools), asked)
        return self._call(asked.tool_calls[0].name, asked.tool_calls[0].arguments, turn)

    def played(self) -> Ended:
        """Make the calls of the tape again."""
        for turn in range(1, self._task.agent_turns + 1):
            known = self._agent.kept(self._agent.request(turn, self._text, self._tools))
            if known is None:
                raise TapeMismatch("the tape ends before the agent's work does.")
            if not known.tool_calls:
                return Ended(known.content, turn, False, known.detail)
            self._call(known.tool_calls[0].name, known.tool_calls[0].arguments, turn)
        last = self._agent.kept(self._agent.request(self._task.agent_turns + 1, self._text, self._tools))
        if last is not None:
            return Ended(last.content, self._task.agent_turns + 1, False, last.detail)
        return Ended("", self._task.agent_turns, True, "its turns were used up")


def _json(arguments: Any) -> str:
    try:
        return json.dumps({} if arguments is None else arguments, ensure_ascii=False)
    except (TypeError, ValueError):
        # Such arguments are the agent's own mistake, and told to it as any model's broken JSON is.
        return str(arguments)[:10_000]


def _words(final: Any) -> str:
    return clean_text(final if isinstance(final, str) else "" if final is None else _json(final))


def _offered(tool: ToolSpec) -> dict[str, Any]:
    """Return a tool as an OpenAI-compatible endpoint takes it."""
    return {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
    }
