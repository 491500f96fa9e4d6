"""A segment of an assistant's job: the loop, its sandbox, and its tape (RULES 14, 15, 16, 35)."""

from __future__ import annotations

import msgspec

from simulator.assistant import AssistantLoop, execute
from simulator.canonical import canonical, sha256
from simulator.conversation import Message, ModelRequest, ModelResponse, ToolCall
from simulator.engine.environment import Bodies, Environment
from simulator.engine.run import Run
from simulator.errors import SandboxUnavailable, TapeMismatch
from simulator.office import Office
from simulator.ports import Blob, Sandbox, SandboxSpec, ShellState, TapeTool, TreeEntry
from simulator.records import Delegation, FileRef, Running
from simulator.systems import Desk

SEGMENT_TURNS = 40
CHANGED_LIMIT = 200
"""Changed files that a submission brings into the principal's home."""


class Mounts(msgspec.Struct, frozen=True):
    """The trees of a round, stored: what the sandbox is given, and which file versions were in them.

    `heads` are the versions of the principal's own files as the round opened, by path key: drafts are checked against
    them.
    """

    home: tuple[TreeEntry, ...]
    company: tuple[TreeEntry, ...]
    services: tuple[TreeEntry, ...]
    task: tuple[TreeEntry, ...]
    refs: tuple[FileRef, ...]
    heads: dict[str, int]


class SegmentRun(Run):
    """A segment under way. Its tool calls run in a worker thread; each result is on the tape before it is shown."""

    def __init__(
        self,
        env: Environment,
        bodies: Bodies,
        running: Running,
        base: Office,
        *,
        delegation: Delegation,
        mounts: Mounts,
        start_home: tuple[TreeEntry, ...],
        home: tuple[TreeEntry, ...],
        messages: list[Message],
        state: ShellState,
    ) -> None:
        minimum = base.pace.segment_minimum if running.number == 1 else 1
        super().__init__(env, bodies, running, base, minimum, base.pace.segment_turn)
        self.delegation = delegation
        self.mounts = mounts
        self.start_home = start_home
        self.home = home
        self.state = state
        self.desk = Desk(env.systems, env.blobs, base, delegation, running.at)
        self.loop = AssistantLoop(messages, SEGMENT_TURNS, systems=self.desk.tools, answer=self.desk.answer)
        self.refused: tuple[str, ...] = ()
        self.tools_done = 0
        self.session = f"assistant:{delegation.id}"
        self._sandbox: Sandbox | None = None

    def next_request(self) -> ModelRequest:
        """Return the assistant's next call."""
        return ModelRequest("assistant", self.call_id(), self.session, tuple(self.loop.messages), self.loop.tools)

    def take(self, response: ModelResponse) -> tuple[ToolCall, ...]:
        """Take an answer; return the sandbox calls that a worker is to carry out."""
        if response.finish == "unavailable":
            self.outcome = "unavailable"
            return ()
        self.turns += 1
        calls = self.loop.take(response)
        if not calls:
            self.settle()
        return calls

    def settle(self) -> None:
        """Called when all results of a turn are in."""
        self.loop.settle()
        if self.loop.ended is not None:
            self.outcome = "done"

    def feed(self, request: ModelRequest, response: ModelResponse) -> None:
        raise NotImplementedError("a segment's answers are taken by `take`: its tools run outside the engine's thread")

    # -- tools

    def from_tape(self, calls: tuple[ToolCall, ...]) -> tuple[ToolCall, ...]:
        """Take results that are on the tape; return the calls that are still to be carried out (RULE 35)."""
        for position, call in enumerate(calls):
            stored = self.env.journal.tool(self.running.id, self.tools_done + 1)
            if stored is None:
                return calls[position:]
            if stored.fingerprint != fingerprint(call):
                raise TapeMismatch(
                    f"{self.running.id}: tool call {self.tools_done + 1} on the tape was another one ({stored.fingerprint[:12]}), "
                    f"now it is {call.name} ({fingerprint(call)[:12]}). The office was recorded by another version: replay it there."
                )
            self.accept(call, stored)
        return ()

    def accept(self, call: ToolCall, result: TapeTool) -> None:
        """Take one recorded result."""
        self.tools_done += 1
        self.home, self.state = result.home, result.state
        if result.note:
            self.refused = tuple(dict.fromkeys((*self.refused, *result.note.split("\n"))))
        self.loop.observe(call, result.result)

    def carry_out(self, calls: tuple[ToolCall, ...], first: int) -> list[TapeTool]:
        """Carry out tool calls in the sandbox; runs in a worker thread, touches nothing of the office."""
        results = []
        home, state = self.home, self.state
        for number, call in enumerate(calls, first):
            sandbox = self._open(home, state)
            text, command = execute(call, sandbox, self.env.renderer, self.env.settings.command_timeout_s)
            refused: tuple[str, ...] = ()
            if call.name != "read":
                home, refused = sandbox.export_home()
            if command is not None:
                state = command.state
            note = "\n".join(refused[:20])
            results.append(TapeTool(self.running.id, number, fingerprint(call), text, home, state, note))
        return results

    def _open(self, home: tuple[TreeEntry, ...], state: ShellState) -> Sandbox:
        if self._sandbox is None:
            if self.env.sandboxes is None:
                raise SandboxUnavailable("Assistants need a sandbox and none is set up: run `officetown doctor`.")
            trees = {"company": self.mounts.company, "services": self.mounts.services, "task": self.mounts.task}
            spec = SandboxSpec(self.running.id, home, trees, self.running.at, state)
            self._sandbox = self.env.sandboxes.start(spec)
        return self._sandbox

    def close(self) -> None:
        """End the sandbox; a parked job holds no process (RULE 35)."""
        if self._sandbox is not None:
            self._sandbox.close()
            self._sandbox = None

    # -- what it leaves

    def manifest(self) -> Blob:
        """Store the home's manifest and return its blob."""
        return self.env.blobs.put(encode_tree(self.home))

    def changed(self) -> list[TreeEntry]:
        """Return the files that the assistant made or changed, in order of path."""
        before = {entry.path: entry.blob.sha256 for entry in self.start_home}
        new = [e for e in self.home if before.get(e.path) != e.blob.sha256 and not _hidden(e.path)]
        return sorted(new, key=lambda e: e.path)[:CHANGED_LIMIT]


def _hidden(path: str) -> bool:
    return any(part.startswith(".") or part == "__pycache__" for part in path.split("/"))


def fingerprint(call: ToolCall) -> str:
    """Return the hash under which a tool call's result is on the tape."""
    return sha256(canonical((call.name, call.arguments)))


def encode_tree(tree: tuple[TreeEntry, ...]) -> bytes:
    """Return a manifest's canonical bytes."""
    return canonical(sorted(tree, key=lambda e: e.path))


def decode_tree(data: bytes) -> tuple[TreeEntry, ...]:
    """Read a manifest back."""
    return msgspec.json.decode(data, type=tuple[TreeEntry, ...])
