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
from services.models.openai_chat import wire_tool
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
        text = f"Today is {task.today}.\n\n{instruction(task, with_plan)}"
        sitting = _Sitting(self._tape, self._trial, text, tools, call, task.agent_turns)
        return sitting.played() if self._own is None else sitting.worked(self._own)


class _Sitting:
    """One agent at one task, in which it may make `most` calls."""

    def __init__(self, tape: Tape, trial: str, text: str, tools: tuple[ToolSpec, ...], call: Call, most: int) -> None:
        self._tape = tape
        self._trial = trial
        self._text = text
        self._tools = tools
        self._call = call
        self._most = most
        self._turns = 0
        self._fault: BaseException | None = None

    def _request(self, turn: int) -> ModelRequest:
        """Return what stands for a turn on the tape."""
        return ModelRequest("assistant", (self._trial, turn), self._trial, (Message("user", self._text),), self._tools)

    def _keep(self, turn: int, response: ModelResponse) -> None:
        """Store what it does at a turn; a turn that is stored must be the same."""
        request = self._request(turn)
        known = self._tape.find(request)
        if known is None:
            self._tape.keep(request, response)
        elif known != response:
            raise AnotherCourse(f"call {turn} of the agent is another one than before it was interrupted.")

    def worked(self, own: OwnClass) -> Ended:
        """Run the class; an exception of its own ends its work, and what it did is judged."""
        note = ""
        final = ""
        try:
            final = _words(own.made().run(self._text, [wire_tool(tool) for tool in self._tools], self._asked))
        except _Over:
            pass
        # It is somebody else's code: whatever it raises is how this agent's run ended, never a fault of the evaluation.
        except Exception as fault:  # noqa: BLE001
            note = f"the agent raised {type(fault).__name__}: {str(fault)[:200]}"
        if self._fault is not None:
            raise self._fault
        if self._turns > self._most:
            return self._used_up()
        last = ModelResponse(final, detail=note).cleaned()
        self._keep(self._turns + 1, last)
        return Ended(last.content, self._turns + 1, False, last.detail)

    def _used_up(self) -> Ended:
        return Ended("", self._most, True, "its turns were used up")

    def _asked(self, name: str, arguments: Any = None) -> str:
        """What the class calls: `arguments` is an object, or JSON text as a model wrote it. Returns what a model would see."""
        if self._fault is not None or self._turns >= self._most:
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
        self._keep(turn, asked)
        return self._call(asked.tool_calls[0].name, asked.tool_calls[0].arguments, turn)

    def played(self) -> Ended:
        """Make the calls of the tape again."""
        for turn in range(1, self._most + 2):
            known = self._tape.find(self._request(turn))
            if known is None:
                break
            if not known.tool_calls:
                return Ended(known.content, turn, False, known.detail)
            self._call(known.tool_calls[0].name, known.tool_calls[0].arguments, turn)
        if turn <= self._most:
            raise TapeMismatch("the tape ends before the agent's work does.")
        return self._used_up()


def _json(arguments: Any) -> str:
    try:
        return json.dumps({} if arguments is None else arguments, ensure_ascii=False)
    except (TypeError, ValueError):
        # Such arguments are the agent's own mistake, and told to it as any model's broken JSON is.
        return str(arguments)[:10_000]


def _words(final: Any) -> str:
    return final if isinstance(final, str) else "" if final is None else _json(final)
