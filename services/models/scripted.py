"""A model that says what a test wrote down: answers and faults, in order, for whom they are meant.

    Scripted([say("Good morning."), call("finish")])                        one conversation after another
    Scripted({"s-elena": [...], ("s-daniel", "deposits"): [...], "*": call("finish")})

Keys are a session, or a pair of a session and what its request must satisfy (a predicate, or words of its last user
message); the session `*` stands for each that is asked. Rules are tried in order; a list is used up once *a session*,
then later rules apply; a bare answer is given every time. So what a session hears depends on its own order of asking
alone, never on threads.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from services.models.answers import with_ids
from services.models.classify import Fault, FaultKind
from simulator.conversation import ModelRequest, ModelResponse, ToolCall
from simulator.errors import ModelOutage, WorkFailed

Predicate = Callable[[ModelRequest], bool]
Reply = ModelResponse | Fault
Answer = Reply | Callable[[ModelRequest], Reply]
Key = str | tuple[str, str | Predicate]
Said = Answer | Sequence[Answer]
Script = Sequence[Answer] | Mapping[Any, Any]
"""A list of answers, or a mapping of `Key` to `Said` (looser here: mappings are invariant in their keys)."""
EVERY_SESSION = "*"


class ScriptExhausted(WorkFailed):
    """A scripted model was asked for more than was written down."""


def say(text: str, reasoning: str = "") -> ModelResponse:
    """Return an answer of plain text."""
    return ModelResponse(content=text, reasoning=reasoning, model="scripted")


def call(tool: str, /, **arguments: Any) -> ModelResponse:
    """Return an answer that calls one tool. Its id is filled in when it is given."""
    return raw_call(tool, msgspec.json.encode(arguments).decode())


def raw_call(tool: str, arguments: str) -> ModelResponse:
    """Return an answer that calls one tool with arguments as the model wrote them, broken or not."""
    return ModelResponse(tool_calls=(ToolCall("", tool, arguments),), finish="tool_calls", model="scripted")


def calls(*answers: ModelResponse, text: str = "") -> ModelResponse:
    """Return one answer that makes the tool calls of all `answers`, in order."""
    together = tuple(one for answer in answers for one in answer.tool_calls)
    return ModelResponse(text, together, finish="tool_calls", model="scripted")


def fault(kind: FaultKind, retryable: bool = True, retry_after_s: float | None = None) -> Fault:
    """Return a failed attempt, as `Retrying` would see it."""
    return Fault(kind, retryable, retry_after_s, detail="scripted")


class Scripted:
    """A `Model` and an `Attempt` from a script. `asked` keeps every request, for the test to look at."""

    def __init__(self, answers: Script) -> None:
        rules: Mapping[Key, Said] = answers if isinstance(answers, Mapping) else {EVERY_SESSION: answers}
        self._in_one_line = not isinstance(answers, Mapping)
        self._rules = [(_session(key), _predicate(key), answer) for key, answer in rules.items()]
        self._used: Counter[tuple[int, str]] = Counter()
        self._asked: list[ModelRequest] = []
        self._lock = threading.Lock()

    @property
    def asked(self) -> tuple[ModelRequest, ...]:
        """Return the requests so far, in the order in which they came."""
        with self._lock:
            return tuple(self._asked)

    def attempt(self, request: ModelRequest) -> Reply:
        """Return the next answer or fault meant for this request. Raises `ScriptExhausted` if there is none."""
        with self._lock:
            self._asked.append(request)
            answer = self._next(request)
        reply = answer if isinstance(answer, ModelResponse | Fault) else answer(request)
        return reply if isinstance(reply, Fault) else with_ids(reply, request)

    def complete(self, request: ModelRequest) -> ModelResponse:
        """Return the next answer. A fault is final here: `unavailable` if it is this request's, else `ModelOutage`."""
        reply = self.attempt(request)
        if isinstance(reply, ModelResponse):
            return reply
        if reply.retryable or reply.stops_everyone:
            raise ModelOutage(f"{reply.reason} ({reply.detail or reply.kind})")
        return ModelResponse(finish="unavailable", detail=reply.reason)

    def unused(self) -> int:
        """Return how many answers of lists nobody has heard yet; a `*` list counts what no session has reached."""
        with self._lock:
            left = 0
            for index, (_, _, answer) in enumerate(self._rules):
                if isinstance(answer, Sequence):
                    heard = [count for (rule, _), count in self._used.items() if rule == index]
                    left += len(answer) - max(heard, default=0)
            return left

    def _next(self, request: ModelRequest) -> Answer:
        for index, (session, fits, answer) in enumerate(self._rules):
            if session not in (EVERY_SESSION, request.session) or not fits(request):
                continue
            if not isinstance(answer, Sequence):
                return answer
            slot = (index, "" if self._in_one_line else request.session)
            if self._used[slot] < len(answer):
                self._used[slot] += 1
                return answer[self._used[slot] - 1]
        raise ScriptExhausted(_exhausted(request))


def _session(key: Key) -> str:
    return key if isinstance(key, str) else key[0]


def _predicate(key: Key) -> Predicate:
    if isinstance(key, str):
        return lambda _request: True
    wanted = key[1]
    if not isinstance(wanted, str):
        return wanted
    words = wanted
    return lambda request: words in last_user(request)


def last_user(request: ModelRequest) -> str:
    """Return the content of the last user message, or nothing."""
    return next((m.content for m in reversed(request.messages) if m.role == "user"), "")


def _exhausted(request: ModelRequest) -> str:
    said = last_user(request)
    shown = said if len(said) <= 1000 else f"{said[:1000]} ... ({len(said)} characters)"
    last = request.messages[-1] if request.messages else None
    result = f"\nThe last message is the result of a tool: {last.content[:500]}" if last and last.role == "tool" else ""
    return (
        f"the script holds no further answer for session {request.session!r} ({request.role}, call {request.call[0]!r} "
        f"number {request.call[1]}); add one to the test. The last user message was:\n{shown}{result}"
    )
