"""The subset of JSON schema, in OpenAPI's `nullable` dialect, that Rocket.Chat's published schemas use of us."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from tests.carriers.standins.faults import Exchange

Json = Mapping[str, Any]
REQUESTS = {
    "users.create": "isUserCreateParamsPOST",
    "users.info": "isUsersInfoParamsGetProps",
    "users.list": "isUsersListParamsGET",
    "channels.create": "isChannelsCreateProps",
    "groups.create": "isGroupsCreateProps",
    "im.create": "isDmCreateProps",
    "groups.invite": "isGroupsInviteProps",
    "groups.kick": "isGroupsKickProps",
    "channels.kick": "isChannelsKickProps",
    "groups.members": "isGroupsMembersProps",
    "chat.sendMessage": "isChatSendMessageProps",
    "chat.syncMessages": "isChatSyncMessagesProps",
    "chat.getMessage": "isChatGetMessageProps",
    "chat.react": "isChatReactProps",
    "chat.update": "isChatUpdateProps",
    "chat.delete": "isChatDeleteProps",
    "rooms.adminRooms": "isRoomsAdminRoomsProps",
}
"""The published schema of each call's request. `login` is wrong there and `channels.invite` is missing."""
ANSWERS: Mapping[str, tuple[tuple[tuple[str, ...], str], ...]] = {
    "users.create": ((("user",), "IUser"),),
    "users.list": ((("users", "*"), "IUser"),),
    "users.info": ((("user",), "IUser"),),
    "login": ((("data", "me"), "IMeApiUser"),),
    "channels.create": ((("channel",), "IRoom"),),
    "groups.create": ((("group",), "IRoom"),),
    "channels.invite": ((("channel",), "IRoom"),),
    "groups.invite": ((("group",), "IRoom"),),
    "im.create": ((("room",), "IRoom"),),
    "rooms.adminRooms": ((("rooms", "*"), "IRoomAdmin"),),
    "chat.sendMessage": ((("message",), "IMessage"),),
    "chat.getMessage": ((("message",), "IMessage"),),
    "chat.syncMessages": ((("result", "updated", "*"), "IMessage"),),
    "chat.update": ((("message",), "IMessage"),),
    "rooms.mediaConfirm": ((("message",), "IMessage"),),
}
"""Where an answer holds which of the server's objects."""


def folder() -> Path | None:
    """Return where the published schemas are: OFFICETOWN_SHARED, or `shared` beside the checkout; None if nowhere."""
    named = os.environ.get("OFFICETOWN_SHARED")
    root = Path(named) if named else Path(__file__).resolve().parents[4] / "shared"
    return root / "rocketchat" if (root / "rocketchat").is_dir() else None


@cache
def published() -> tuple[Json, Json]:
    """Return the schemas of requests and of the server's objects."""
    home = folder()
    assert home is not None
    requests = json.loads((home / "rc_request_schemas_8.8.1.json").read_text())
    core = json.loads((home / "rc_core_schemas_8.8.1.json").read_text())
    return requests, core["components"]["schemas"]


def faults_of(exchange: Exchange) -> list[str]:
    """Return where a request or its answer goes against what is published."""
    requests, core = published()
    path = exchange.request.path
    if not path.startswith("/api/v1/"):
        return []
    call = path.removeprefix("/api/v1/").split("/")[0]
    found: list[str] = []
    name = REQUESTS.get(call)
    if name is not None:
        get = exchange.request.method == "GET"
        given = dict(exchange.request.query) if get else exchange.request.json()
        found += [f"{call} request: {fault}" for fault in check(given, requests[name], core, coerce=get)]
    body = exchange.response.body
    if exchange.response.status == 400:
        found += [f"{call} 400: {fault}" for fault in check(body, requests["validateBadRequestErrorResponse"], core)]
    if exchange.response.status == 200:
        for where, schema in ANSWERS.get(call, ()):
            for value in _reach(body, where):
                found += [f"{call} answer: {fault}" for fault in check(value, core[schema], core)]
    return found


def _reach(value: Any, where: tuple[str, ...]) -> Iterator[Any]:
    if not where:
        yield value
    elif where[0] == "*":
        for entry in value:
            yield from _reach(entry, where[1:])
    elif where[0] in value:
        yield from _reach(value[where[0]], where[1:])


def check(value: Any, schema: Json, core: Json, where: str = "$", coerce: bool = False) -> list[str]:
    """Return the faults of a value; with `coerce` texts may stand for numbers and truth values, as in a query."""
    if "$ref" in schema:
        return check(value, core[schema["$ref"].rsplit("/", 1)[-1]], core, where, coerce)
    if value is None and schema.get("nullable"):
        return []
    faults: list[str] = []
    for word in ("oneOf", "anyOf"):
        if word in schema:
            tries = [check(value, each, core, where, coerce) for each in schema[word]]
            fitting = sum(not each for each in tries)
            # Of the server's own objects several forms of one thing overlap; requests are held to exactly one.
            if fitting == 0 or (word == "oneOf" and where == "$" and fitting > 1):
                faults.append(f"{where} fits {fitting} of {word}: {tries}")
    if "enum" in schema and value not in schema["enum"]:
        faults.append(f"{where} is {value!r}, none of {schema['enum'][:10]}")
    if "const" in schema and value != schema["const"]:
        faults.append(f"{where} is not {schema['const']!r}")
    kind = schema.get("type")
    if kind is not None and not _is(value, kind, coerce):
        return [*faults, f"{where} is no {kind}: {value!r}"[:200]]
    if isinstance(value, str):
        faults += _of_text(value, schema, where)
    if isinstance(value, list):
        for number, entry in enumerate(value):
            faults += check(entry, schema.get("items", {}), core, f"{where}[{number}]", coerce)
    if isinstance(value, dict):
        faults += _of_object(value, schema, core, where, coerce)
    return faults


def _of_text(value: str, schema: Json, where: str) -> list[str]:
    faults = []
    if len(value) < schema.get("minLength", 0):
        faults.append(f"{where} is too short")
    if "pattern" in schema and not re.search(schema["pattern"], value):
        faults.append(f"{where} does not match {schema['pattern']}")
    moment = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)"
    if schema.get("format") in ("date-time", "iso-date-time") and not re.fullmatch(moment, value):
        faults.append(f"{where} is no moment: {value!r}")
    return faults


def _of_object(value: Json, schema: Json, core: Json, where: str, coerce: bool) -> list[str]:
    faults = [f"{where}.{name} is missing" for name in schema.get("required", []) if name not in value]
    known, more = schema.get("properties", {}), schema.get("additionalProperties", True)
    for name, entry in value.items():
        if name in known:
            faults += check(entry, known[name], core, f"{where}.{name}", coerce)
        elif more is False:
            faults.append(f"{where}.{name} is not foreseen")
        elif isinstance(more, dict):
            faults += check(entry, more, core, f"{where}.{name}", coerce)
    return faults


def _is(value: Any, kind: str, coerce: bool) -> bool:
    if coerce and isinstance(value, str):
        if kind == "number":
            return re.fullmatch(r"-?\d+(\.\d+)?", value) is not None
        if kind == "boolean":
            return value in ("true", "false")
    if kind == "number":
        return isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(value, {"string": str, "object": dict, "array": list, "boolean": bool, "integer": int}[kind])
