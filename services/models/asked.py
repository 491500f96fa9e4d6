"""What a client of ours asks beyond what the `Model` port carries: how to choose tools, sampling, effort, plain JSON.

Such a request is still a `ModelRequest`. A model that knows nothing of wishes answers it all the same; the wires pass
them on, and step down from those that an endpoint refuses.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from simulator.conversation import ModelRequest

FIELDS = frozenset({"temperature", "top_p", "stop", "parallel_tool_calls", "response_format", "text"})
"""Body fields that carry nothing but a wish, on either wire, where no schema is asked for."""


class Wishes(msgspec.Struct, frozen=True, omit_defaults=True):
    """What was asked for, in no wire's own words; None where nothing was.

    `tool_choice` is `auto`, `none`, `required`, or the name of a tool after a colon (`:read`).
    """

    tool_choice: str | None = None
    parallel_tool_calls: bool | None = None
    json: bool = False
    effort: str | None = None
    temperature: float | None = None
    top_p: float | None = None
    stop: tuple[str, ...] | None = None


class AskedRequest(ModelRequest, frozen=True, dict=True):
    """A request with wishes. They are no part of its fingerprint, as effort and endpoint are not."""

    wishes: Wishes = Wishes()


def with_wishes(request: ModelRequest, wishes: Wishes) -> ModelRequest:
    """Return the request with its wishes; itself if there are none."""
    if wishes == Wishes():
        return request
    return AskedRequest(**{name: getattr(request, name) for name in request.__struct_fields__}, wishes=wishes)


def wishes_of(request: ModelRequest) -> Wishes:
    """Return what a request wishes for."""
    return request.wishes if isinstance(request, AskedRequest) else Wishes()


def read_wishes(body: Mapping[str, Any]) -> Wishes:
    """Read wishes from a request body of either wire. What is of the wrong kind is taken as not said."""
    reasoning, text, form = body.get("reasoning"), body.get("text"), body.get("response_format")
    form = text.get("format") if isinstance(text, dict) else form
    effort = reasoning.get("effort") if isinstance(reasoning, dict) else body.get("reasoning_effort")
    parallel, stop = body.get("parallel_tool_calls"), body.get("stop")
    listed = [stop] if isinstance(stop, str) else stop
    return Wishes(
        tool_choice=_choice(body.get("tool_choice")),
        parallel_tool_calls=parallel if isinstance(parallel, bool) else None,
        json=isinstance(form, dict) and form.get("type") == "json_object",
        effort=effort if isinstance(effort, str) and effort else None,
        temperature=_number(body.get("temperature")),
        top_p=_number(body.get("top_p")),
        stop=tuple(str(word) for word in listed) if isinstance(listed, list) and listed else None,
    )


def chat_fields(request: ModelRequest) -> dict[str, Any]:
    """Return the wishes as fields of a chat completions body."""
    wishes = wishes_of(request)
    out = _sampling(request, wishes)
    if request.tools and wishes.tool_choice:
        named = {"type": "function", "function": {"name": wishes.tool_choice[1:]}}
        out["tool_choice"] = named if wishes.tool_choice.startswith(":") else wishes.tool_choice
    if wishes.json and request.schema is None:
        out["response_format"] = {"type": "json_object"}
    if wishes.effort:
        out["reasoning_effort"] = wishes.effort
    if wishes.stop:
        out["stop"] = list(wishes.stop)
    return out


def responses_fields(request: ModelRequest) -> dict[str, Any]:
    """Return the wishes as fields of a responses body, which knows no `stop`."""
    wishes = wishes_of(request)
    out = _sampling(request, wishes)
    if request.tools and wishes.tool_choice:
        named = {"type": "function", "name": wishes.tool_choice[1:]}
        out["tool_choice"] = named if wishes.tool_choice.startswith(":") else wishes.tool_choice
    if wishes.json and request.schema is None:
        out["text"] = {"format": {"type": "json_object"}}
    if wishes.effort:
        out["reasoning"] = {"effort": wishes.effort}
    return out


def _sampling(request: ModelRequest, wishes: Wishes) -> dict[str, Any]:
    out: dict[str, Any] = {"temperature": wishes.temperature, "top_p": wishes.top_p}
    if request.tools:
        out["parallel_tool_calls"] = wishes.parallel_tool_calls
    return {name: value for name, value in out.items() if value is not None}


def _choice(value: Any) -> str | None:
    if isinstance(value, str):
        return value if value in ("auto", "none", "required") else None
    if not isinstance(value, dict):
        return None
    function = value.get("function")
    name = function.get("name") if isinstance(function, dict) else value.get("name")
    return f":{name}" if isinstance(name, str) and name else None


def _number(value: Any) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
