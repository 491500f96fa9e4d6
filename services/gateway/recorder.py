"""From requests and answers to an ATIF trajectory: new messages become steps, results join the calls they answer."""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from services.gateway import atif
from services.gateway.threads import Branch, Placement, Threads
from services.models.asked import wishes_of
from services.models.http_server import Failure
from services.models.openai_chat import wire_tool
from simulator.conversation import Message, ModelRequest, ModelResponse, ToolCall, Usage
from simulator.errors import UsageError

OURS = "officetown"
_FAILURES_KEPT = 100


class Told(msgspec.Struct, frozen=True):
    """One call that came to nothing an agent could use: what it was told instead, and what it cost all the same."""

    call: int
    status: int
    code: str
    at: str
    usage: Usage = Usage()
    cost_micros: int = 0


class Totals(msgspec.Struct, frozen=True):
    """Sums of a session. `calls` numbers what was ever begun; `turns` counts what was answered or still may be.

    `refused` counts requests beyond the turn budget: above 0, the agent was stopped and did not end by itself.
    """

    calls: int = 0
    turns: int = 0
    usage: Usage = Usage()
    cost_micros: int = 0
    failures: int = 0
    refused: int = 0


class Ours(msgspec.Struct, frozen=True):
    """What goes under the trajectory's `extra`: enough to go on after a restart."""

    session: str
    role: str
    totals: Totals
    threads: tuple[Branch, ...]
    failures: tuple[Told, ...] = ()
    ignored: tuple[str, ...] = ()
    """Parameters that agents sent and no model was told."""


class Recorder:
    """One session's trajectory. Not thread-safe: its session holds the lock. `now` gives wall time in seconds.

    `currency` names the money of the costs; they are `cost_usd` if it is USD, and unknown if it is empty.
    """

    def __init__(
        self, session: str, role: str, agent: atif.Agent, now: Callable[[], float], currency: str = ""
    ) -> None:
        self.session = session
        self._role = role
        self._agent = agent
        self._now = now
        self._currency = currency
        self._steps: list[atif.Step] = []
        self._tools: dict[str, dict[str, Any]] = {}
        self._threads = Threads()
        self._totals = Totals()
        self._told: list[Told] = []
        self._ignored: set[str] = set()

    @property
    def totals(self) -> Totals:
        """What was used so far."""
        return self._totals

    def resume(self, trajectory: atif.Trajectory) -> None:
        """Go on from a stored trajectory. Calls under way when it was stored count as turns.

        Raises `UsageError` if it is another session's or agent's.
        """
        try:
            ours = msgspec.convert((trajectory.extra or {}).get(OURS), Ours)
        except msgspec.ValidationError as error:
            raise UsageError("it was not recorded by this gateway") from error
        named = (ours.session, ours.role, trajectory.agent.name)
        wanted = (self.session, self._role, self._agent.name)
        if named != wanted:
            raise UsageError(f"it is of session, role and agent {', '.join(named)}, not {', '.join(wanted)}")
        self._agent = msgspec.structs.replace(trajectory.agent, tool_definitions=None)
        self._steps = list(trajectory.steps)
        self._tools = {_tool_name(tool): tool for tool in trajectory.agent.tool_definitions or ()}
        self._threads = Threads(ours.threads)
        self._totals = ours.totals
        self._told = list(ours.failures)
        self._ignored = set(ours.ignored)

    def begin(self, request: ModelRequest, ignored: Sequence[str] = ()) -> Placement:
        """Record what a request says that is new, and count its turn."""
        totals = self._totals
        self._totals = msgspec.structs.replace(totals, calls=totals.calls + 1, turns=totals.turns + 1)
        self._ignored.update(ignored)
        self._tools.update((tool.name, wire_tool(tool)) for tool in request.tools)
        place = self._threads.place(request.messages)
        new = request.messages[place.known :]
        seen = [place.thread > 0 and self._threads.knows(message) for message in new]
        for message, copied in zip(new, seen, strict=True):
            step_id = self._hear(message, place.thread, copied)
            self._threads.add(place.thread, message, step_id)
        return place

    def answered(self, place: Placement, request: ModelRequest, answer: ModelResponse) -> None:
        """Record an answer as the agent's step."""
        extra: dict[str, Any] = {"call": request.call[1], "finish": answer.finish}
        if place.thread:
            extra["thread"] = place.thread
        if place.rewritten:
            extra["rewritten_messages"] = place.rewritten
        model = answer.model or None
        if self._agent.model_name is None and model:
            self._agent = msgspec.structs.replace(self._agent, model_name=model)
        step_id = self._add(
            "agent",
            answer.content,
            model_name=model if model != self._agent.model_name else None,
            reasoning_effort=wishes_of(request).effort,
            reasoning_content=answer.reasoning or None,
            tool_calls=_calls(answer.tool_calls),
            metrics=self._metrics(answer),
            llm_call_count=1,
            extra=extra,
        )
        self._threads.add(place.thread, answer.as_message(), step_id)
        self._threads.done(place.thread)
        self._count(answer)

    def failed(
        self, place: Placement, request: ModelRequest, failure: Failure, answer: ModelResponse | None, spent: bool
    ) -> None:
        """Record a call that gave the agent nothing. `spent` says whether it used up its turn."""
        self._threads.done(place.thread)
        turns = self._totals.turns if spent else self._totals.turns - 1
        self._totals = msgspec.structs.replace(self._totals, turns=turns, failures=self._totals.failures + 1)
        told = Told(request.call[1], failure.status, failure.code, self._time())
        if answer is not None:
            told = msgspec.structs.replace(told, usage=answer.usage, cost_micros=answer.cost_micros)
            self._count(answer)
        self._told = [*self._told, told][-_FAILURES_KEPT:]

    def refused(self, request: ModelRequest) -> bool:
        """Count a request beyond the turn budget; return whether there is a trajectory to note it in.

        What came of the last calls is still recorded, and nothing else of it.
        """
        self._totals = msgspec.structs.replace(self._totals, refused=self._totals.refused + 1)
        return self.heard(request)

    def heard(self, request: ModelRequest) -> bool:
        """Record what came of the last calls, as a request that is not asked would say it; return whether anything is recorded."""
        place = self._threads.find(request.messages)
        if place is not None and place.known == self._threads.length(place.thread):
            for message in itertools.takewhile(lambda m: m.role == "tool", request.messages[place.known :]):
                self._threads.add(place.thread, message, self._hear(message, place.thread, copied=False))
        return bool(self._steps)

    def trajectory(self) -> atif.Trajectory:
        """Return the trajectory so far. It is valid once a request was recorded."""
        ours = Ours(
            self.session,
            self._role,
            self._totals,
            self._threads.stored(),
            tuple(self._told),
            tuple(sorted(self._ignored)),
        )
        return atif.Trajectory(
            schema_version=atif.SCHEMA_VERSION,
            session_id=self.session,
            agent=msgspec.structs.replace(self._agent, tool_definitions=tuple(self._tools.values()) or None),
            steps=tuple(self._steps),
            final_metrics=self._final(),
            extra={OURS: msgspec.to_builtins(ours)},
        )

    def _hear(self, message: Message, thread: int, copied: bool) -> int:
        """Record a message that the agent sent; return the step that holds it."""
        more: dict[str, Any] = {"is_copied_context": True} if copied else {}
        if thread:
            more["extra"] = {"thread": thread}
        if message.role == "tool":
            return self._observe(message, thread, more)
        if message.role == "assistant":
            # Not said by this model in this session: shown to it, never to be learned from.
            more["is_copied_context"] = True
            thought = message.reasoning or None
            calls = _calls(message.tool_calls)
            return self._add("agent", message.content, reasoning_content=thought, tool_calls=calls, **more)
        return self._add(message.role, message.content, **more)

    def _observe(self, message: Message, thread: int, more: dict[str, Any]) -> int:
        call_id = message.tool_call_id
        for step_id in reversed(self._threads.steps(thread)):
            step = self._steps[step_id - 1]
            if any(call.tool_call_id == call_id for call in step.tool_calls or ()):
                own = (step.extra or {}).get("thread", 0) == thread
                result = atif.ObservationResult(call_id, message.content, extra=None if own else {"thread": thread})
                before = step.observation.results if step.observation else ()
                seen = atif.Observation((*before, result))
                self._steps[step_id - 1] = msgspec.structs.replace(step, observation=seen)
                return step_id
        # A result of a call that nobody made: it is kept where it was said.
        stray = atif.ObservationResult(None, message.content, extra={"tool_call_id": call_id})
        return self._add("system", "", observation=atif.Observation((stray,)), **more)

    def _add(self, source: Any, message: str, **fields: Any) -> int:
        step_id = len(self._steps) + 1
        self._steps.append(atif.Step(step_id, source, message, self._time(), **fields))
        return step_id

    def _count(self, answer: ModelResponse) -> None:
        a, b = self._totals.usage, answer.usage
        used = Usage(a.input + b.input, a.cached + b.cached, a.output + b.output, a.reasoning + b.reasoning)
        cost = self._totals.cost_micros + answer.cost_micros
        self._totals = msgspec.structs.replace(self._totals, usage=used, cost_micros=cost)

    def _metrics(self, answer: ModelResponse) -> atif.Metrics:
        used = answer.usage
        extra: dict[str, Any] = {"reasoning_tokens": used.reasoning} if used.reasoning else {}
        dollars, extra = self._money(answer.cost_micros, extra)
        return atif.Metrics(used.input, used.output, used.cached, dollars, extra=extra or None)

    def _final(self) -> atif.FinalMetrics:
        totals = self._totals
        extra: dict[str, Any] = {
            "turns": totals.turns,
            "reasoning_tokens": totals.usage.reasoning,
            "failures": totals.failures,
            "refused": totals.refused,
        }
        dollars, extra = self._money(totals.cost_micros, extra)
        used = totals.usage
        return atif.FinalMetrics(used.input, used.output, used.cached, dollars, len(self._steps), extra)

    def _money(self, micros: int, extra: dict[str, Any]) -> tuple[float | None, dict[str, Any]]:
        """Return dollars, where the money is dollars, and otherwise the cost with its currency under `extra`."""
        if self._currency == "USD":
            return micros / 1_000_000, extra
        return None, {**extra, "cost_micros": micros, "currency": self._currency} if self._currency else extra

    def _time(self) -> str:
        return dt.datetime.fromtimestamp(self._now(), dt.UTC).isoformat(timespec="milliseconds")


def _calls(calls: Sequence[ToolCall]) -> tuple[atif.ToolCall, ...] | None:
    return tuple(_call(call) for call in calls) or None


def _call(call: ToolCall) -> atif.ToolCall:
    """Write a call's arguments as an object; what is none is kept as the model wrote it."""
    try:
        arguments = msgspec.json.decode(call.arguments.encode("utf-8", "replace"))
    except (msgspec.DecodeError, RecursionError):
        arguments = None
    if isinstance(arguments, dict) and not too_deep(arguments):
        return atif.ToolCall(call.id, call.name, arguments)
    return atif.ToolCall(call.id, call.name, {}, {"malformed_arguments": call.arguments})


def too_deep(value: Any, most: int = 100) -> bool:
    """Whether a JSON value is nested beyond what every reader of it can be expected to follow."""
    level = [value]
    for _ in range(most):
        level = [
            inner for outer in level if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]  # fmt: skip
        if not level:
            return False
    return True


def _tool_name(definition: dict[str, Any]) -> str:
    function = definition.get("function")
    return str(function.get("name")) if isinstance(function, dict) else ""
