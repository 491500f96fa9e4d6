"""Errors as the API tells them: one shape, plain words, never a trace; people are told less than the operator."""

from __future__ import annotations

import logging
from collections.abc import Mapping

import msgspec
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from orchestrator.web.caller import Caller, caller_of
from simulator.canonical import clean_text
from simulator.errors import (
    BudgetExhausted,
    InfrastructureError,
    OfficeBusy,
    OfficeTownError,
    UnknownReference,
    UsageError,
)

NOT_THERE = "There is nothing here, or it is not yours."
"""The one answer to a person about whatever they may not see: it never tells which of the two it is (DESIGN 4)."""
BROKEN = "Something went wrong here. It is in the log of the process that serves this page."
_LONGEST = 2_000
log = logging.getLogger("officetown.web")


class Problem(msgspec.Struct, frozen=True):
    """What was wrong. `code` is for programs, `message` for people; `where` names the parameter at fault, if one is."""

    code: str
    message: str
    where: str = ""


class Failure(msgspec.Struct, frozen=True):
    """The body of every answer that is no success."""

    error: Problem


class Forbidden(OfficeTownError):
    """The caller is known and may not do this at all."""


class Conflicting(OfficeTownError):
    """It cannot be done as things stand now."""


class Unsupported(OfficeTownError):
    """The body is of a kind that this call does not take, or too large."""


def answer(status: int, code: str, message: str, where: str = "", headers: Mapping[str, str] | None = None) -> Response:
    """Return an error's answer."""
    said = Failure(Problem(code, clean_text(message)[:_LONGEST], clean_text(where)))
    return Response(msgspec.json.encode(said), status, headers, media_type="application/json")


_KINDS: tuple[tuple[type[OfficeTownError], int, str], ...] = (
    (Forbidden, 403, "forbidden"),
    (Conflicting, 409, "conflict"),
    (Unsupported, 415, "unsupported"),
    (OfficeBusy, 409, "busy"),
    (UnknownReference, 404, "unknown"),
    (UsageError, 422, "invalid"),
    (BudgetExhausted, 409, "budget"),
    (InfrastructureError, 503, "unavailable"),
    (OfficeTownError, 409, "failed"),
)


def told(fault: OfficeTownError, caller: Caller | None) -> Response:
    """Return how an error is told: to a person without the machine's affairs or other offices' names."""
    status, code = next((status, code) for kind, status, code in _KINDS if isinstance(fault, kind))
    message = str(fault)
    if caller is not None and not caller.operator:
        if isinstance(fault, UnknownReference):
            message = NOT_THERE
        elif not isinstance(fault, Forbidden | Conflicting | Unsupported | UsageError):
            message = "This cannot be answered just now. The operator can see why."
    return answer(status, code, message)


def install(app: FastAPI) -> None:
    """Have every error of an application told in the one shape."""

    @app.exception_handler(OfficeTownError)
    def ours(request: Request, fault: OfficeTownError) -> Response:
        return told(fault, caller_of(request.scope))

    @app.exception_handler(RequestValidationError)
    def wrong(request: Request, fault: RequestValidationError) -> Response:
        first = fault.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        return answer(422, "invalid", f"{where}: {first['msg']}.", where)

    @app.exception_handler(HTTPException)
    def other(request: Request, fault: HTTPException) -> Response:
        code = {404: "unknown", 405: "method"}.get(fault.status_code, "invalid")
        message = {404: NOT_THERE, 405: "This address does not take that method."}.get(fault.status_code)
        return answer(fault.status_code, code, message or str(fault.detail), headers=fault.headers)

    @app.exception_handler(Exception)
    def broken(request: Request, fault: Exception) -> Response:
        log.error("%s %s failed", request.method, request.url.path, exc_info=fault)
        return answer(500, "broken", BROKEN)
