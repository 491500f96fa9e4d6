"""How routes are written: handlers return frozen structs, which become JSON and, as schemas, the OpenAPI document."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import msgspec
from fastapi import APIRouter, Request, Response

from orchestrator.web.errors import Failure, Unsupported
from simulator.errors import UsageError

F = TypeVar("F", bound=Callable[..., Any])
JSON = "application/json"
MOST_BYTES = 1_000_000
_TEMPLATE = "#/components/schemas/{name}"
_REFUSALS = {
    401: "No key, or one that is nobody's",
    403: "Not for this caller",
    404: "Nothing of that name, or not yours",
    409: "Not as things stand now",
    415: "The body is no JSON, or too large",
    422: "A parameter is not valid",
    503: "The database, a model or a server cannot be reached",
}


class Routes:
    """A router with the schemas of what its routes take and give."""

    def __init__(self, tag: str) -> None:
        self.router = APIRouter(prefix="/api/v1", tags=[tag])
        self.schemas: dict[str, Any] = {}

    def get(self, path: str, gives: Any) -> Callable[[F], F]:
        """Register a handler that looks."""
        return self._route("GET", path, gives, None, 200)

    def post(self, path: str, gives: Any, takes: Any = None, status: int = 200) -> Callable[[F], F]:
        """Register a handler that changes something; its parameter `body` gets the decoded body."""
        return self._route("POST", path, gives, takes, status)

    def put(self, path: str, gives: Any, takes: Any = None) -> Callable[[F], F]:
        """Register a handler that sets something."""
        return self._route("PUT", path, gives, takes, 200)

    def delete(self, path: str, gives: Any) -> Callable[[F], F]:
        """Register a handler that takes something away."""
        return self._route("DELETE", path, gives, None, 200)

    def raw(self, path: str, media: dict[str, Any], also: dict[int, str] | None = None) -> Callable[[F], F]:
        """Register a handler that returns a response of its own, of these media types."""

        def register(function: F) -> F:
            more: dict[int | str, dict[str, Any]] = {s: {"description": text} for s, text in (also or {}).items()}
            self._add("GET", path, function, {"description": "As asked", "content": media}, 200, None, more)
            return function

        return register

    def posting(self, path: str, gives: Any, takes: Any) -> Callable[[F], F]:
        """Register a handler that changes something and returns a response of its own."""

        def register(function: F) -> F:
            content = {JSON: {"schema": self.schema(gives)}}
            self._add("POST", path, function, {"description": "As asked", "content": content}, 200, takes, {})
            return function

        return register

    def schema(self, kind: Any) -> dict[str, Any]:
        """Return the reference to a type's schema, which is part of the document from now on."""
        (found,), components = msgspec.json.schema_components([kind], ref_template=_TEMPLATE)
        self.schemas.update(components)
        return found

    def _route(self, method: str, path: str, gives: Any, takes: Any, status: int) -> Callable[[F], F]:
        def register(function: F) -> F:
            content = {JSON: {"schema": self.schema(gives)}}
            handler = _encoded(function, status)
            self._add(method, path, handler, {"description": "As asked", "content": content}, status, takes, {})
            return function

        return register

    def _add(
        self, method: str, path: str, handler: Callable[..., Any], good: dict[str, Any], status: int, takes: Any,
        more: dict[int | str, dict[str, Any]],
    ) -> None:  # fmt: skip
        failure = {JSON: {"schema": self.schema(Failure)}}
        responses: dict[int | str, dict[str, Any]] = {
            code: {"description": text, "content": failure} for code, text in _REFUSALS.items()
        }
        extra = None
        if takes is not None:
            extra = {"requestBody": {"required": True, "content": {JSON: {"schema": self.schema(takes)}}}}
        words = inspect.getdoc(handler) or handler.__name__
        self.router.add_api_route(
            path, handler, methods=[method], status_code=status, response_class=Response, response_model=None,
            responses={**responses, **more, status: good}, openapi_extra=extra, operation_id=handler.__name__,
            summary=words.split("\n")[0].rstrip("."), description=words,
        )  # fmt: skip


def _encoded(function: Callable[..., Any], status: int) -> Callable[..., Response]:
    """Return a handler that answers with what `function` returns, as JSON."""

    @wraps(function)
    def handler(*args: Any, **kwargs: Any) -> Response:
        return Response(msgspec.json.encode(function(*args, **kwargs)), status, media_type=JSON)

    return handler


def taking(kind: Any, most_bytes: int = MOST_BYTES) -> Callable[[Request], Any]:
    """Return a dependency that reads a JSON body as `kind`. Raises Unsupported or UsageError in plain words."""
    decoder = msgspec.json.Decoder(kind)

    async def body(request: Request) -> Any:
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != JSON:
            raise Unsupported("Send the body as JSON, with `Content-Type: application/json`.")
        data = bytearray()
        async for chunk in request.stream():
            data += chunk
            if len(data) > most_bytes:
                raise Unsupported(f"The body has more than {most_bytes} bytes.")
        try:
            return decoder.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
            raise UsageError(f"The body is not valid: {fault}.") from None

    return body
