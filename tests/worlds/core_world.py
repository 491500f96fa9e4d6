"""A small world for tests: rooms of a guest house, with and without declared effects, and scripted roles."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import msgspec

from bench.worlds.model import (
    Check,
    Criterion,
    Effect,
    Environment,
    Invariant,
    LookFirst,
    PatchRule,
    Reference,
    Task,
    Tool,
    World,
)
from services.models.scripted import Scripted, say
from simulator.conversation import ModelRequest, ModelResponse

STATE: dict[str, Any] = {
    "rooms": {
        "RM-101": {"beds": 2, "status": "free", "cleaned": "2025-03-01T09:00:00"},
        "RM-102": {"beds": 1, "status": "free", "cleaned": "2025-03-01T10:00:00"},
        "RM-103": {"beds": 4, "status": "closed", "cleaned": "2025-02-27T09:00:00"},
    },
    "bookings": {"BK-001": {"room": "RM-103", "guest": "Ines Farkas"}},
}
ROOM = {
    "type": "object",
    "properties": {"room": {"type": "string"}},
    "required": ["room"],
    "additionalProperties": False,
}
BOOK = {
    "type": "object",
    "properties": {"room": {"type": "string"}, "guest": {"type": "string", "minLength": 2}},
    "required": ["room", "guest"],
    "additionalProperties": False,
}
NONE = {"type": "object", "properties": {}, "additionalProperties": False}
RULES = "A guest house lets rooms. A room that is not free cannot be booked. Guests may come back at any time."


def tools(declared: bool) -> tuple[Tool, ...]:
    """The tools, with their effects or without."""
    listed = {"$each": {"in": {"$read": "/rooms"}, "take": {"$merge": [{"id": "$key"}, "$item"]}}}
    found = (
        Tool("list_rooms", "Lists all rooms.", NONE, {"rooms": [{"id": "RM-900", "beds": 1, "status": "free"}]},
             Effect(returns={"rooms": listed})),
        Tool("get_room", "Shows a room.", ROOM, {"room": "RM-900", "beds": 1, "status": "free"},
             Effect(checks=(Check({"$exists": "/rooms/{room}"}, "There is no room {room}.", "not_found"),),
                    returns={"$merge": [{"room": "$room"}, {"$read": "/rooms/{room}"}]})),
        Tool("book", "Books a free room.", BOOK, {"booking": "BK-900"},
             Effect(let={"id": {"$next_id": ["/bookings", "BK-"]}},
                    checks=(Check({"$exists": "/rooms/{room}"}, "There is no room {room}.", "not_found"),
                            Check({"$eq": [{"$read": "/rooms/{room}/status"}, "free"]}, "{room} is not free.", "taken")),
                    patch=(PatchRule("replace", "/rooms/{room}/status", "taken"),
                           PatchRule("add", "/bookings/{id}", {"room": "$room", "guest": "$guest"})),
                    returns={"booking": "$id"}),
             depends_on=("get_room",), look_first=LookFirst(("get_room",), ("room",)), verify_with=("list_rooms",),
             creates=("/bookings",)),
    )  # fmt: skip
    bare = tuple(msgspec.structs.replace(tool, effect=None) for tool in found)
    return found if declared else bare


def environment(declared: bool = True) -> Environment:
    """The guest house."""
    return Environment(
        name="guest-house", rules=RULES, tools=tools(declared), initial_state=STATE, title="Guest house",
        fields={"rooms": "Rooms by id.", "bookings": "Bookings by id."}, collections=("/rooms", "/bookings"),
        references=(Reference("/bookings/*/room", "/rooms"),),
        invariants=(Invariant("beds", "Every room has a bed.",
                              {"$every": {"in": {"$read": "/rooms"}, "must": {"$ge": ["$item.beds", 1]}}}),),
        today="2025-03-01",
    )  # fmt: skip


def task(**more: Any) -> Task:
    """Book RM-101 for Ada Lund."""
    booked = {"$some": {"in": {"$read": "/bookings"}, "where": {"$eq": ["$item.room", "RM-101"]}}}
    base: dict[str, Any] = {
        "id": "book-101", "environment": "guest-house", "instruction": "Book RM-101 for Ada Lund.",
        "criteria": (Criterion("booked", "RM-101 is booked.", "state", booked),), "today": "2025-03-01",
        "script": (
            {"tool": "get_room", "arguments": {"room": "RM-101"}},
            {"tool": "book", "arguments": {"room": "RM-101", "guest": "Ada Lund"}},
            {"tool": "list_rooms"},
        ),
        "report": "RM-101 is booked.",
    }  # fmt: skip
    return Task(**{**base, **more})


def world(declared: bool = True, **more: Any) -> World:
    """The guest house with its task."""
    return World(environment(declared), (task(**more),))


def stepping(*answers: dict[str, Any] | str) -> Scripted:
    """A simulator that gives these answers in order, however it is asked."""
    return Scripted([say(answer if isinstance(answer, str) else json.dumps(answer)) for answer in answers])


def always(answer: Callable[[ModelRequest], str]) -> Scripted:
    """A model whose every answer is made from the request."""

    def reply(request: ModelRequest) -> ModelResponse:
        return say(answer(request))

    return Scripted({"*": reply})


def seen(observation: Any, patch: list[dict[str, Any]] | None = None, rule: str | None = None) -> dict[str, Any]:
    """A simulator's answer."""
    return {"observation": observation, "state_patch": patch or [], "rule": rule}


def verdicts(met: bool, *criteria: str, reason: str = "seen") -> str:
    """A judge's answer."""
    return json.dumps({"verdicts": [{"criterion": one, "met": met, "reason": reason} for one in criteria]})
