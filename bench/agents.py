"""The agents of an evaluation: `oracle`, `nop`, `builtin`, `cmd:...`, `module:Class`. Each works in a sandbox until it is done."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

import msgspec

from bench.own import load_class
from bench.snapshot import Snapshot
from bench.worlds.carried import COMMAND, NOTE
from services.gateway import atif
from services.gateway.recorder import Recorder
from simulator.assistant import AssistantLoop, execute
from simulator.conversation import Message, ModelRequest, Usage
from simulator.errors import ModelOutage, OfficeTownError, UsageError
from simulator.events import ENGINE_VERSION
from simulator.ports import Model, Renderer, Sandbox
from simulator.prompts import render

HOME = "/home/npc/computer"
INSTRUCTION = f"{HOME}/.cache/instruction.md"
COMMAND_SECONDS = 3_600
Checkpoint = Callable[[int], None]
"""Called after a turn with the number of turns taken: the home as it then is may be kept for a turn budget."""


class Task(msgspec.Struct, frozen=True):
    """What an agent is given: `instruction` is `instruction.md`. `trial` names the attempt."""

    snapshot: Snapshot
    instruction: str
    trial: str


class Ran(msgspec.Struct, frozen=True):
    """How a run went: turns (model calls), tokens and money, how it ended in words.

    `trajectory` is what was said and done, as ATIF JSON; empty where the agent's own turns are not seen from here.
    """

    turns: int = 0
    usage: Usage = Usage()
    cost_micros: int = 0
    note: str = ""
    trajectory: bytes = b""


class Agent(Protocol):
    """Works on a task in a sandbox. `SandboxError` and `ModelOutage` end the trial as an infrastructure error."""

    name: str

    def run(self, task: Task, sandbox: Sandbox, checkpoint: Checkpoint) -> Ran: ...


class Oracle:
    """Puts the accepted version in place: the upper bound of every rubric."""

    name = "oracle"

    def run(self, task: Task, sandbox: Sandbox, checkpoint: Checkpoint) -> Ran:
        for path, (data, _) in task.snapshot.tree("solution").items():
            sandbox.write(f"{HOME}/{path}", data)
        return Ran(note="the accepted version was put in place")


class Nop:
    """Does nothing: the lower bound, published beside results."""

    name = "nop"

    def run(self, task: Task, sandbox: Sandbox, checkpoint: Checkpoint) -> Ran:
        return Ran(note="nothing was done")


class Builtin:
    """The office's own assistant loop, with a model. Questions to the principal are off: nobody answers here."""

    name = "builtin"

    def __init__(
        self, model: Model, renderer: Renderer, turn_limit: int = 48, now: Callable[[], float] = time.time
    ) -> None:  # fmt: skip
        self._model = model
        self._renderer = renderer
        self._turn_limit = turn_limit
        self._now = now

    def run(self, task: Task, sandbox: Sandbox, checkpoint: Checkpoint) -> Ran:
        """Drive the loop until the work is handed in or the turns are used up."""
        m = task.snapshot.manifest
        system = render("assistant_system", principal=m.principal_name, title=m.title, firm=m.firm, now=m.now)
        visible = task.snapshot.visible()
        text = visible["/mnt/task/TASK.md"].decode() + (f"\n{NOTE}" if COMMAND in visible else "")
        loop = AssistantLoop([Message("system", system), Message("user", render("assistant_task", task=text))],
                             self._turn_limit, ask=False)  # fmt: skip
        usage, cost = Usage(), 0
        recorder = Recorder(task.trial, "assistant", atif.Agent(f"officetown-{self.name}", ENGINE_VERSION), self._now)
        while loop.ended is None:
            request = ModelRequest("assistant", (task.trial, loop.turns + 1), task.trial, tuple(loop.messages), loop.tools)
            place = recorder.begin(request)
            response = self._model.complete(request)
            if response.finish == "unavailable":
                raise ModelOutage(f"the model did not answer: {response.detail or 'no reason given'}")
            recorder.answered(place, request, response)
            usage, cost = _sum(usage, response.usage), cost + response.cost_micros
            for call in loop.take(response):
                result, _ = execute(call, sandbox, self._renderer)
                loop.observe(call, result)
            loop.settle()
            checkpoint(loop.turns)
        recorder.heard(ModelRequest("assistant", (task.trial, loop.turns + 1), task.trial, tuple(loop.messages), loop.tools))
        return Ran(
            loop.turns, usage, cost, f"{loop.ended.outcome}: {loop.ended.text[:400]}", atif.encode(recorder.trajectory())
        )  # fmt: skip


def _sum(a: Usage, b: Usage) -> Usage:
    return Usage(a.input + b.input, a.cached + b.cached, a.output + b.output, a.reasoning + b.reasoning)


class Command:
    """A command that runs inside the sandbox, in the home; `OFFICETOWN_TASK` is the path of the instruction."""

    def __init__(self, command: str, seconds: int = COMMAND_SECONDS) -> None:
        if not command.strip():
            raise UsageError("--agent cmd: needs a command after the colon.")
        self.name = f"cmd:{command}"
        self._command = command
        self._seconds = seconds

    def run(self, task: Task, sandbox: Sandbox, checkpoint: Checkpoint) -> Ran:
        """Run the command once; how it ended is noted, and what it left is judged."""
        sandbox.write(INSTRUCTION, task.instruction.encode())
        line = f"cd {HOME} && export OFFICETOWN_TASK={shlex.quote(INSTRUCTION)} && {self._command}"
        result = sandbox.run(line, self._seconds)
        last = (result.stderr or result.stdout).strip().split("\n")[-1][:200]
        return Ran(note=f"{result.ended} {result.exit_code} {last}".strip())


class Module:
    """A class of one's own with `run(instruction, sandbox)`; it runs outside and acts through the sandbox alone."""

    def __init__(self, spec: str, search: Path) -> None:
        self.name = spec
        self._own = load_class(spec, search, "run(instruction, sandbox)")

    def run(self, task: Task, sandbox: Sandbox, checkpoint: Checkpoint) -> Ran:
        """Run it; an exception of its own ends its work, and what it left is judged."""
        try:
            self._own.made().run(task.instruction, sandbox)
        except OfficeTownError:
            raise
        # It is somebody else's code: whatever it raises is how this agent's run ended, never a fault of the evaluation.
        except Exception as fault:  # noqa: BLE001
            return Ran(note=f"the agent raised {type(fault).__name__}: {str(fault)[:200]}")
        return Ran(note="returned")


def agent_of(
    spec: str,
    *,
    model: Model | None = None,
    renderer: Renderer | None = None,
    turn_limit: int = 48,
    search: Path | None = None,
    others: Mapping[str, Callable[[], Agent]] | None = None,
) -> Agent:
    """Return the agent a word names: `oracle nop builtin cmd:COMMAND module:Class`. Raises `UsageError`."""
    if spec in (others or {}):
        return (others or {})[spec]()
    if spec == "oracle":
        return Oracle()
    if spec == "nop":
        return Nop()
    if spec == "builtin":
        if model is None or renderer is None:
            raise UsageError("--agent builtin needs a model: name one with --model.")
        return Builtin(model, renderer, turn_limit)
    if spec.startswith("cmd:"):
        return Command(spec.removeprefix("cmd:"))
    if ":" in spec:
        return Module(spec, search or Path.cwd())
    raise UsageError(f"--agent {spec}: write oracle, nop, builtin, cmd:COMMAND or module:Class.")
