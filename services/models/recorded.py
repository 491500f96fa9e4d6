"""Replay: answers come from the tape alone, and nothing is ever called (RULE 2)."""

from __future__ import annotations

import difflib
from collections.abc import Callable

from simulator.conversation import Message, ModelRequest, ModelResponse
from simulator.errors import TapeMismatch
from simulator.ports import Journal

_MOST_LINES = 40


class Recorded:
    """A `Model` over a journal's tape.

    `stored_request(activation, ordinal)` may return the request that was recorded, so that a mismatch can show what
    differs; without it only the fingerprints are shown.
    """

    def __init__(
        self, journal: Journal, stored_request: Callable[[str, int], ModelRequest | None] | None = None
    ) -> None:
        self._journal = journal
        self._stored_request = stored_request

    def complete(self, request: ModelRequest) -> ModelResponse:
        """Return the recorded answer. Raises `TapeMismatch` if there is none, or it answers another request."""
        activation, ordinal = request.call
        taped = self._journal.call(activation, ordinal)
        if taped is None:
            raise TapeMismatch(
                f"the tape holds no answer for call {ordinal} of activation {activation}: the recording ends before "
                "it, or this run took another course; replay with the engine version and package of the recording"
            )
        if taped.fingerprint == request.fingerprint:
            return taped.response
        stored = self._stored_request(activation, ordinal) if self._stored_request else None
        shown = difference(stored, request) if stored else _without_request(taped.fingerprint, request)
        raise TapeMismatch(
            f"call {ordinal} of activation {activation} is not the one that was recorded:\n{shown}\n"
            "Replay with the engine version, package and seed of the recording."
        )


def difference(stored: ModelRequest, asked: ModelRequest) -> str:
    """Say how two requests differ: parameters by name, messages as a short line diff."""
    lines: list[str] = []
    for name in ("role", "session", "schema_name", "max_output"):
        before, after = getattr(stored, name), getattr(asked, name)
        if before != after:
            lines.append(f"{name}: recorded {before!r}, asked {after!r}")
    tools = [[tool.name for tool in request.tools] for request in (stored, asked)]
    if tools[0] != tools[1]:
        lines.append(f"tools: recorded {', '.join(tools[0]) or 'none'}; asked {', '.join(tools[1]) or 'none'}")
    if len(stored.messages) != len(asked.messages):
        lines.append(f"messages: recorded {len(stored.messages)}, asked {len(asked.messages)}")
    for index, (before, after) in enumerate(zip(stored.messages, asked.messages, strict=False)):
        if before.digest != after.digest:
            lines.append(f"message {index + 1} ({after.role}) is the first that differs:")
            lines += _line_diff(before, after)
            break
    return "\n".join(lines)


def _line_diff(before: Message, after: Message) -> list[str]:
    diff = list(difflib.unified_diff(_lines(before), _lines(after), "recorded", "asked", n=1, lineterm=""))
    cut = [line if len(line) <= 300 else f"{line[:300]} ..." for line in diff[:_MOST_LINES]]
    return cut + ([f"... {len(diff) - _MOST_LINES} more lines"] if len(diff) > _MOST_LINES else [])


def _lines(message: Message) -> list[str]:
    head = [f"[role {message.role}]"] + ([f"[answers {message.tool_call_id}]"] if message.tool_call_id else [])
    tail = [f"[calls {c.name} as {c.id} with {c.arguments}]" for c in message.tool_calls]
    thought = [f"[reasoning] {line}" for line in message.reasoning.splitlines()]
    return head + message.content.splitlines() + tail + thought


def _without_request(fingerprint: str, request: ModelRequest) -> str:
    last = request.messages[-1] if request.messages else Message("user")
    return (
        f"recorded fingerprint {fingerprint[:16]}, asked {request.fingerprint[:16]} ({request.role}, session "
        f"{request.session}, {len(request.messages)} messages); the last message asked ({last.role}):\n"
        f"{last.content[:500]}"
    )
