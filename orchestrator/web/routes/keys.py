"""Keys: people's, issued by the operator, and the cookie that a browser is given for one."""

from __future__ import annotations

from typing import Annotated

import msgspec
from fastapi import Depends, Request, Response

from orchestrator.web.api import JSON, Routes, taking
from orchestrator.web.errors import Forbidden
from orchestrator.web.guard import COOKIE
from orchestrator.web.parts import BookOf, CallerIn, Name, PartsOf, PersonName
from simulator.errors import UnknownReference

routes = Routes("keys")


class KeyAsked(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A key that a browser hands in for a cookie."""

    key: Annotated[str, msgspec.Meta(max_length=300)]


class Who(msgspec.Struct, frozen=True):
    """Who calls: the operator, or one person of one office."""

    operator: bool
    office: str
    person: str


class KeyGiven(msgspec.Struct, frozen=True):
    """A key for a person, told once. `id` is for taking it back."""

    id: str
    office: str
    person: str
    key: str


class KeyLine(msgspec.Struct, frozen=True):
    """A key that was issued; `issued_at` is in seconds since the epoch."""

    id: str
    person: str
    issued_at: int


@routes.get("/me", Who)
def get_who(caller: CallerIn) -> Who:
    """Who calls."""
    return Who(caller.operator, caller.office, caller.person)


@routes.posting("/session", Who, KeyAsked)
def open_session(request: Request, parts: PartsOf, body: Annotated[KeyAsked, Depends(taking(KeyAsked))]) -> Response:
    """Hand a key in for a cookie, so that pages and live events can use it."""
    caller = parts.keys.caller(body.key or None)
    if caller is None:
        raise Forbidden("That key is nobody's.")
    who = Who(caller.operator, caller.office, caller.person)
    response = Response(msgspec.json.encode(who), media_type=JSON)
    response.set_cookie(
        COOKIE, body.key, httponly=True, samesite="strict", secure=request.url.scheme == "https", path="/"
    )
    return response


@routes.get("/offices/{office}/keys", tuple[KeyLine, ...])
def list_keys(parts: PartsOf, book: BookOf) -> tuple[KeyLine, ...]:
    """The keys issued to people of this office, without the keys themselves."""
    return tuple(KeyLine(k.id, k.person, k.issued_at) for k in parts.keys.issued(book.id))


@routes.post("/offices/{office}/people/{person}/keys", KeyGiven, status=201)
def issue_key(parts: PartsOf, book: BookOf, person: PersonName) -> KeyGiven:
    """Issue a key to a person: it opens what that person sees and does, and nothing else."""
    if person not in book.at().people:
        raise UnknownReference(f"Nobody here has the id {person!r}.")
    key, issued = parts.keys.issue(book.id, person)
    return KeyGiven(issued.id, book.id, person, key)


@routes.delete("/offices/{office}/keys/{key}", tuple[KeyLine, ...])
def revoke_key(parts: PartsOf, book: BookOf, key: Name) -> tuple[KeyLine, ...]:
    """Take a key back; return those that are left."""
    parts.keys.revoke(book.id, key)
    return list_keys(parts, book)
