"""A person's activation: their conversation with the model, its tools, look-ups in a branch, compaction (RULES 12,
13, 18)."""

from __future__ import annotations

from collections import deque
from typing import Any

from simulator.acts import ACTS
from simulator.acts.arguments import Arguments
from simulator.acts.context import make_body
from simulator.conversation import Message, ModelRequest, ModelResponse, ToolCall, ToolSpec
from simulator.engine.environment import Bodies, Environment
from simulator.engine.run import Run, tool_result
from simulator.office import Office
from simulator.prompts import render
from simulator.records import Body, Running
from simulator.tools.catalog import CLIENT_TOOLS, PERSON_TOOLS, READ_TOOLS, Finish, LookInto, known_tools
from simulator.tools.reading import read_tool

BRANCH_TURNS = 6
"""Model calls a look-up may take."""


class Conversation:
    """The messages of one day of one person, with the size that decides on compaction (RULE 13)."""

    def __init__(self, messages: list[Message]) -> None:
        self.messages = messages

    @property
    def chars(self) -> int:
        return sum(len(m.content) + sum(len(c.arguments) for c in m.tool_calls) for m in self.messages)


class Branch:
    """A look-up with read-only tools and its own budget; only its conclusion comes back."""

    def __init__(self, call: ToolCall, question: str, messages: list[Message]) -> None:
        self.call = call
        self.question = question
        self.messages = messages
        self.turns = 0


class PersonRun(Run):
    """An activation of a principal or a client.

    `carried` is the day's conversation so far (empty: a fresh day), `system` the role card, `prompt` the wake-up
    message.
    """

    def __init__(
        self,
        env: Environment,
        bodies: Bodies,
        running: Running,
        base: Office,
        *,
        carried: tuple[Message, ...],
        system: str,
        prompt: str,
    ) -> None:
        pace = base.pace
        client = running.kind == "client"
        minimum = pace.client_minimum if client else pace.principal_minimum
        turn = pace.client_turn if client else pace.principal_turn
        super().__init__(env, bodies, running, base, minimum, turn)
        self.actor = running.actor
        self.session = base.people[self.actor].session
        self.role = "client" if client else "principal"
        self.tools: tuple[ToolSpec, ...] = CLIENT_TOOLS if client else PERSON_TOOLS
        self.known = known_tools(self.tools)
        head = list(carried) if carried else [Message("system", system)]
        self.conversation = Conversation([*head, Message("user", prompt)])
        self._prompt = prompt
        self._system = Message("system", system)
        self._pending: deque[ToolCall] = deque()
        self._branch: Branch | None = None
        self._compacting = False
        self._overflowed = False
        self._relieved = False
        self.looked: list[tuple[str, Body]] = []

    # -- what to ask

    def next_request(self) -> ModelRequest:
        """Return the next call: of the branch, of a compaction, or of the day's conversation."""
        if self._branch is not None:
            return self._request(tuple(self._branch.messages), READ_TOOLS, f"{self.session}/look-up")
        if self._must_compact():
            self._compacting = True
            ask = Message("user", render("compaction"))
            return self._request((*self.conversation.messages, ask), (), f"{self.session}/compaction")
        return self._request(tuple(self.conversation.messages), self.tools, self.session)

    def _request(self, messages: tuple[Message, ...], tools: tuple[ToolSpec, ...], session: str) -> ModelRequest:
        return ModelRequest(self.role, self.call_id(), session, messages, tools)  # type: ignore[arg-type]

    def _must_compact(self) -> bool:
        long = self.conversation.chars > self.base.compaction_chars and len(self.conversation.messages) > 4
        return (long or self._overflowed) and not self._compacting

    # -- what was answered

    def feed(self, request: ModelRequest, response: ModelResponse) -> None:
        """Take an answer of whichever conversation asked for it."""
        if response.finish == "unavailable":
            self.outcome = "unavailable"
        elif self._branch is not None:
            self.turns += 1
            self._feed_branch(self._branch, response)
        elif self._compacting:
            self._compact(response)
        elif response.finish == "overflow":
            self._overflow()
        else:
            self.turns += 1
            self._feed_main(response)

    def _overflow(self) -> None:
        """The provider says the conversation is too long: compact once, then stop clearly (RULE 13)."""
        if self._relieved:
            self.outcome, self.summary = "cut", "the conversation is too long for the model"
        self._overflowed = self._relieved = True

    def _compact(self, response: ModelResponse) -> None:
        """The summary replaces the turns in later requests."""
        self._compacting = False
        self._overflowed = False
        summary = response.content.strip() or "(no summary)"
        self.conversation.messages = [
            self._system,
            Message("user", render("compacted", summary=summary, prompt=self._prompt)),
        ]

    def _feed_main(self, response: ModelResponse) -> None:
        self.conversation.messages.append(response.as_message())
        if not response.tool_calls:
            self.outcome = "done" if response.finish != "length" else "cut"
            self.summary = response.content[:400]
            return
        self._pending = deque(response.tool_calls)
        self._work_off()

    def _work_off(self) -> None:
        """Answer the pending tool calls in order; stop where a look-up needs the model."""
        while self._pending:
            call = self._pending.popleft()
            result = self._call(call)
            if result is None:
                return
            self.conversation.messages.append(tool_result(call, result))
        if self.outcome is None and (self.hopeless or self.turns >= self.base.turn_limit):
            self.outcome = "cut"

    def _call(self, call: ToolCall) -> dict[str, Any] | str | None:
        parsed = self.parse(call, self.known)
        if isinstance(parsed, dict):
            return parsed
        if isinstance(parsed, Finish):
            self.outcome, self.summary = "done", parsed.summary[:400]
            return {"ok": True}
        if isinstance(parsed, LookInto):
            self._open_branch(call, parsed.question)
            return None
        if call.name in ACTS:
            assert isinstance(parsed, Arguments)
            return self.try_act(self.actor, call.name, parsed)
        return read_tool(self, self.actor, call.name, parsed)

    # -- the branch

    def _open_branch(self, call: ToolCall, question: str) -> None:
        prompt = render("branch", question=question, turns=BRANCH_TURNS)
        self._branch = Branch(call, question, [self._system, Message("user", prompt)])

    def _feed_branch(self, branch: Branch, response: ModelResponse) -> None:
        branch.messages.append(response.as_message())
        branch.turns += 1
        for call in response.tool_calls:
            parsed = self.parse(call, known_tools(READ_TOOLS))
            if isinstance(parsed, Finish):
                self._close_branch(branch, parsed.summary)
                return
            result = parsed if isinstance(parsed, dict) else read_tool(self, self.actor, call.name, parsed)
            branch.messages.append(tool_result(call, result))
        if not response.tool_calls:
            self._close_branch(branch, response.content)
        elif branch.turns >= BRANCH_TURNS or self.hopeless:
            self._close_branch(branch, "the look-up ended without a conclusion")

    def _close_branch(self, branch: Branch, conclusion: str) -> None:
        from_branch = conclusion.strip()[:1_200] or "nothing was found"
        self._branch = None
        self.look_up(branch.question, from_branch)
        self.conversation.messages.append(tool_result(branch.call, {"ok": True, "conclusion": from_branch}))
        self._work_off()

    def look_up(self, question: str, conclusion: str) -> None:
        """Remember a look-up for the log."""
        self.looked.append((question[:400], make_body(conclusion, self.texts)))
        self.bodies.offer(self.texts)


def carried_over(messages: tuple[Message, ...], response: ModelResponse) -> tuple[Message, ...]:
    """Return a finished activation's conversation as the next one of the day carries it on.

    The last answer's tool calls are answered alike whatever they did, so the tape alone is enough to rebuild this.
    """
    closing = tuple(Message("tool", '{"ok":true}', tool_call_id=c.id) for c in response.tool_calls)
    return (*messages, response.as_message(), *closing)
