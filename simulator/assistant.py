"""The assistant's loop: a bounded task in a sandbox with `read bash edit write`, `ask_principal` and `submit` (DESIGN
6).

One class behind the `Agent` protocol. The office drives it call by call, recording each answer before its tools run; an
evaluation drives it straight through. It holds no office: only messages and a sandbox.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Protocol

import msgspec

from simulator.acts import schema_of
from simulator.canonical import clean_text
from simulator.conversation import Message, ModelResponse, ToolCall, ToolSpec
from simulator.ports import CommandResult, Renderer, Sandbox
from simulator.prompts import render
from simulator.quoting import json_line

SHOWN_CHARS = 12_000
"""Characters of one tool result that the model is shown."""
BAD_CALLS = 6
RENDERED = (".xlsx", ".docx", ".pdf", ".pptx")


class Read(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Read a file: text as it is, office documents as text. Lines are counted from 1."""

    path: str
    first_line: int = 1
    lines: int = 400


class Bash(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Run a command with bash in a fresh shell. The working folder and exported variables carry over."""

    command: str
    timeout_s: int = 120


class Edit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Replace one exact piece of text in a file; it must occur exactly once."""

    path: str
    old: str
    new: str


class Write(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Write a text file."""

    path: str
    text: str


class AskPrincipal(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Ask the principal who gave you this task. Your work stops here; it goes on in the same home with the answer."""

    question: str


class Submit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Hand in your work. Say what was done, what rests on what, and what is still open."""

    report: str


TOOLS: dict[str, type[msgspec.Struct]] = {
    "read": Read, "bash": Bash, "edit": Edit, "write": Write, "ask_principal": AskPrincipal, "submit": Submit,
}  # fmt: skip
SANDBOX_TOOLS = frozenset({"read", "bash", "edit", "write"})


def tool_specs(ask: bool = True) -> tuple[ToolSpec, ...]:
    """Return the assistant's tools; `ask` is off in an evaluation without recorded answers."""
    return tuple(
        ToolSpec(name, " ".join((kind.__doc__ or "").split()), schema_of(kind))
        for name, kind in TOOLS.items()
        if ask or name != "ask_principal"
    )


class Ended(msgspec.Struct, frozen=True):
    """How a segment ended. `text` is the question, the report, or the reason of stopping."""

    outcome: Literal["asked", "submitted", "stopped"]
    text: str


class Agent(Protocol):
    """An assistant's harness. The office and the evaluation know nothing else of it."""

    messages: list[Message]
    ended: Ended | None

    def take(self, response: ModelResponse) -> tuple[ToolCall, ...]:
        """Take the model's answer; return the sandbox calls to carry out now, in order."""
        ...

    def observe(self, call: ToolCall, result: str) -> None:
        """Take the result of one of those calls."""
        ...


def no_system(call: ToolCall) -> str:
    """Answer a call where there are no systems of record: none is ever offered."""
    raise KeyError(call.name)


class AssistantLoop:
    """The built-in harness. `turn_limit` counts model calls of one segment.

    `systems` are tools of systems of record: they need no sandbox, and `answer` gives their result at once.
    """

    def __init__(
        self,
        messages: list[Message],
        turn_limit: int,
        ask: bool = True,
        systems: tuple[ToolSpec, ...] = (),
        answer: Callable[[ToolCall], str] = no_system,
    ) -> None:
        self.messages = messages
        self.turn_limit = turn_limit
        self.tools = (*tool_specs(ask), *systems)
        self._systems = frozenset(tool.name for tool in systems)
        self._answer = answer
        self.ended: Ended | None = None
        self.turns = 0
        self._bad = 0
        self._nudged = False

    def take(self, response: ModelResponse) -> tuple[ToolCall, ...]:
        """Take the model's answer. Malformed calls are answered at once; asking and submitting end the segment."""
        self.turns += 1
        self.messages.append(response.as_message())
        if response.finish in ("overflow", "refusal") or (response.finish == "length" and not response.tool_calls):
            self.ended = Ended("stopped", {"overflow": "the conversation is too long for the model",
                                           "refusal": "the model refused the task"}.get(response.finish, "the answer was cut"))  # fmt: skip
            return ()
        if not response.tool_calls:
            return self._nudge(response.content)
        wanted: list[ToolCall] = []
        for call in response.tool_calls:
            fault = self._check(call)
            if fault:
                self._bad += 1
                self.observe(call, json_line({"ok": False, "error": fault}))
            elif call.name in SANDBOX_TOOLS:
                self._bad = 0
                wanted.append(call)
            elif self.ended is None and call.name in self._systems:
                self._bad = 0
                self.observe(call, _cut(self._answer(call)))
            elif self.ended is None:
                self._end(call)
        if self.ended is None and self._bad >= BAD_CALLS:
            self.ended = Ended("stopped", "too many malformed tool calls in a row")
        if self.ended is None and self.turns >= self.turn_limit and not wanted:
            self.ended = Ended("stopped", f"the limit of {self.turn_limit} turns was reached")
        return tuple(wanted)

    def observe(self, call: ToolCall, result: str) -> None:
        """Take a tool's result; the turn limit ends a segment after its last results are in."""
        self.messages.append(Message("tool", result, tool_call_id=call.id))

    def settle(self) -> None:
        """End the segment when its turns are used up; called when all results of a turn are in."""
        if self.ended is None and self.turns >= self.turn_limit:
            self.ended = Ended("stopped", f"the limit of {self.turn_limit} turns was reached")

    def _nudge(self, content: str) -> tuple[ToolCall, ...]:
        if self._nudged:
            self.ended = Ended("stopped", f"the assistant stopped without submitting: {content[:300]}")
        self._nudged = True
        self.messages.append(Message("user", render("nudge")))
        return ()

    def _check(self, call: ToolCall) -> str:
        if call.name not in {tool.name for tool in self.tools}:
            return f"there is no tool {call.name!r}; there are: {', '.join(t.name for t in self.tools)}"
        if call.name in self._systems:
            return ""
        try:
            parse(call)
        except (msgspec.MsgspecError, ValueError, RecursionError) as fault:
            text = str(fault).split("\n")[0] if isinstance(fault, msgspec.MsgspecError) else "not JSON"
            return f"the arguments of {call.name} are not valid: {text}"
        return ""

    def _end(self, call: ToolCall) -> None:
        arguments = parse(call)
        if isinstance(arguments, Submit):
            self.ended = Ended("submitted", arguments.report)
        else:
            assert isinstance(arguments, AskPrincipal)
            self.ended = Ended("asked", arguments.question)


def parse(call: ToolCall) -> msgspec.Struct:
    """Read a call's arguments. Raises msgspec errors where they are malformed."""
    raw: Any = msgspec.json.decode(call.arguments or "{}")
    if isinstance(raw, str):
        raw = msgspec.json.decode(raw)
    return msgspec.convert(raw, TOOLS[call.name])


# -- carrying out the sandbox tools -----------------------------------------------------------------------------------


def execute(
    call: ToolCall, sandbox: Sandbox, renderer: Renderer, limit_s: int = 120
) -> tuple[str, CommandResult | None]:
    """Carry out one sandbox tool call; return (the text the model is shown, the command's result for `bash`).

    Raises:
        SandboxError: the sandbox is dead. Everything the agent did wrong is a result.
    """
    arguments = parse(call)
    try:
        if isinstance(arguments, Bash):
            result = sandbox.run(arguments.command, max(1, min(arguments.timeout_s, limit_s)))
            return _command_text(result), result
        if isinstance(arguments, Read):
            return _read(arguments, sandbox, renderer), None
        if isinstance(arguments, Write):
            sandbox.write(arguments.path, clean_text(arguments.text).encode())
            return json_line({"ok": True, "path": arguments.path}), None
        assert isinstance(arguments, Edit)
        return _edit(arguments, sandbox), None
    except OSError as fault:
        return json_line({"ok": False, "error": fault.strerror or "the file could not be used"}), None


def _command_text(result: CommandResult) -> str:
    shown: dict[str, Any] = {
        "exit_code": result.exit_code,
        "stdout": _cut(result.stdout),
        "stderr": _cut(result.stderr),
    }
    if result.ended != "exit":
        shown["ended"] = result.ended
        shown["note"] = result.note
    return json_line(shown)


def _cut(text: str) -> str:
    cleaned = clean_text(text)
    if len(cleaned) <= SHOWN_CHARS:
        return cleaned
    half = SHOWN_CHARS // 2
    return f"{cleaned[:half]}\n[... {len(cleaned) - SHOWN_CHARS} characters not shown ...]\n{cleaned[-half:]}"


def _read(arguments: Read, sandbox: Sandbox, renderer: Renderer) -> str:
    data = sandbox.read(arguments.path)
    name = arguments.path.rsplit("/", 1)[-1]
    rendered = name.lower().endswith(RENDERED)
    text = renderer.render(data, "", name) if rendered else clean_text(data.decode("utf-8", "replace"))
    lines = text.split("\n")
    first = max(1, arguments.first_line)
    part = lines[first - 1 : first - 1 + max(1, min(arguments.lines, 2_000))]
    shown = {"ok": True, "text": _cut("\n".join(part)), "lines": len(lines)}
    return json_line(shown)


def _edit(arguments: Edit, sandbox: Sandbox) -> str:
    try:
        text = clean_text(sandbox.read(arguments.path).decode())
    except UnicodeDecodeError:
        return json_line({"ok": False, "error": "this is no UTF-8 text: change it with a program"})
    # What the model copies from `read` has clean line ends, so it is looked for in the cleaned text.
    old = clean_text(arguments.old)
    found = text.count(old) if old else 0
    if found != 1:
        return json_line({"ok": False, "error": f"the old text occurs {found} times; it must occur exactly once"})
    sandbox.write(arguments.path, text.replace(old, clean_text(arguments.new)).encode())
    return json_line({"ok": True, "path": arguments.path})
