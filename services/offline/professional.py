"""The offline professional: a `Model` that follows the skill packs, so that nothing here needs a key or a network.

It receives what a model receives, messages and tools, and looks at nothing else: not at the call's key, not at any
office. It keeps no state; what it does is a function of the conversation. It is named `offline` in every answer.
"""

from __future__ import annotations

from services.offline import assistant, client, lookup, meeting, principal
from services.offline.generator import OfflineGenerator
from services.offline.heard import Heard
from services.offline.script import Call, Script, advance
from services.offline.summary import summary
from simulator.canonical import canonical, sha256
from simulator.conversation import ModelRequest, ModelResponse, ToolCall, Usage

NAME = "offline"
_SCRIPTS = {
    "principal": principal.activation,
    "client": client.activation,
    "assistant": assistant.work,
    "branch": lookup.look,
}


class OfflineProfessional:
    """Plays every role of an office deterministically. Fulfils `simulator.ports.Model`; safe from several threads."""

    def __init__(self) -> None:
        self._generator = OfflineGenerator()

    def complete(self, request: ModelRequest) -> ModelResponse:
        """Answer a request. What it cannot play (a judge, a world) is a `refusal`."""
        if request.schema is not None or not any(m.role == "system" for m in request.messages):
            return self._generator.complete(request)
        me = Heard(request)
        if me.part == "compaction":
            return _spoken(request, summary(me))
        if me.part == "meeting":
            return _calling(request, meeting.turn(me))
        if not me.tools:
            detail = "The offline professional plays people and assistants; it does not judge and simulates no world."
            return ModelResponse(finish="refusal", model=NAME, detail=detail)
        return _calling(request, _next(me, _SCRIPTS[me.part](me)))


def _next(me: Heard, script: Script) -> list[Call]:
    """Return the calls to make now; a script that has ended leaves only the end of the activation."""
    wanted = advance(script, me.told())
    end = (
        [Call("finish", {"summary": ""})]
        if "finish" in me.tools
        else [Call("submit", {"report": "Nothing is left to do."})]
    )
    if wanted is None:
        return end
    return [*wanted.calls, *end] if wanted.last else list(wanted.calls)


def _calling(request: ModelRequest, calls: list[Call]) -> ModelResponse:
    stem = sha256(request.messages[-1].content.encode())[:10]
    made = tuple(
        ToolCall(f"call_{len(request.messages)}_{number}_{stem}", each.name, canonical(each.arguments).decode())
        for number, each in enumerate(calls)
    )
    size = sum(len(each.arguments) for each in made)
    return ModelResponse(tool_calls=made, finish="tool_calls", usage=_usage(request, size), model=NAME)


def _spoken(request: ModelRequest, text: str) -> ModelResponse:
    return ModelResponse(content=text, usage=_usage(request, len(text)), model=NAME)


def _usage(request: ModelRequest, output: int) -> Usage:
    """Return rough counts: four characters a token."""
    said = sum(len(m.content) + sum(len(c.arguments) for c in m.tool_calls) for m in request.messages)
    return Usage(input=said // 4, output=max(1, output // 4))
