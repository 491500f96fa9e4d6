"""Mailpit's HTTP API, as far as it is used: search, read as it came, set tags. Nothing is ever deleted."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, TypeVar

import httpx
import msgspec

from simulator.errors import CarrierError

_T = TypeVar("_T")
_PAGE, _PAGES, _TAGGED = 500, 40, 100
"""Messages a page, pages a search, and messages tagged at once."""


class Address(msgspec.Struct, frozen=True, rename="pascal"):
    """An address of a summary."""

    address: str = ""


class Summary(msgspec.Struct, frozen=True):
    """A message in a list. `created` is its `Date` header where Mailpit runs with MP_USE_MESSAGE_DATES."""

    id: str = msgspec.field(name="ID")
    message_id: str = msgspec.field(name="MessageID", default="")
    sender: Address | None = msgspec.field(name="From", default=None)
    created: str = msgspec.field(name="Created", default="")
    size: float = msgspec.field(name="Size", default=0)
    tags: tuple[str, ...] | None = msgspec.field(name="Tags", default=None)


class _List(msgspec.Struct, frozen=True):
    messages: tuple[Summary, ...] = ()
    messages_count: float = float("inf")


class MailpitApi:
    """Raises CarrierError whatever goes wrong: the server is down, slow, busy, or answers something else."""

    def __init__(self, url: str, client: httpx.Client, timeout: float = 30.0) -> None:
        self._url = url.rstrip("/")
        self._client = client
        self._timeout = httpx.Timeout(timeout, connect=min(5.0, timeout))
        where = httpx.URL(self._url)
        self.server = f"Mailpit at {where.host}:{where.port or (443 if where.scheme == 'https' else 80)}"

    def search(self, query: str) -> tuple[Summary, ...]:
        """Return all messages that match, newest first. Mailpit matches parts of words: filter what comes back."""
        found: dict[str, Summary] = {}
        start = 0
        for _ in range(_PAGES):
            parameters = {"query": query, "start": str(start), "limit": str(_PAGE)}
            part = self._json(_List, "/api/v1/search", parameters)
            found.update((message.id, message) for message in part.messages)
            # A server may give fewer than were asked for: what it gave is what is counted.
            start += len(part.messages)
            if not part.messages or start >= part.messages_count:
                break
        return tuple(found.values())

    def raw(self, message: str, limit: int) -> bytes | None:
        """Return a message as it came, at most `limit` bytes of it; None if it is there no more."""
        path = f"/api/v1/message/{message}/raw"
        data = bytearray()
        try:
            with self._client.stream("GET", self._url + path, timeout=self._timeout) as response:
                if response.status_code == 404:
                    return None
                self._check(response, "GET", path)
                for piece in response.iter_bytes(65_536):
                    data += piece
                    if len(data) >= limit:
                        break
        except httpx.HTTPError as fault:
            raise self._unreachable(fault) from fault
        return bytes(data[:limit])

    def tag(self, messages: Sequence[Summary], tag: str) -> None:
        """Add a tag to messages; the tags that they have stay."""
        groups: dict[tuple[str, ...], list[str]] = {}
        for message in messages:
            groups.setdefault(tuple(sorted({*(message.tags or ()), tag})), []).append(message.id)
        for tags, names in groups.items():
            for start in range(0, len(names), _TAGGED):
                self._ask("PUT", "/api/v1/tags", json={"IDs": names[start : start + _TAGGED], "Tags": list(tags)})

    def info(self) -> dict[str, Any]:
        """Return what the server says about itself."""
        return self._json(dict[str, Any], "/api/v1/info", {})

    def close(self) -> None:
        """Let the connections go."""
        self._client.close()

    def _json(self, kind: type[_T], path: str, parameters: dict[str, str]) -> _T:
        response = self._ask("GET", path, params=parameters)
        try:
            # The standard library's reader takes lone surrogates, which a hostile subject may put into a list.
            return msgspec.convert(json.loads(response.content), kind)
        except (ValueError, RecursionError) as fault:
            raise CarrierError(f"{self.server} answered GET {path} with something that is not its API.") from fault

    def _ask(self, method: str, path: str, **more: Any) -> httpx.Response:
        try:
            response = self._client.request(method, self._url + path, timeout=self._timeout, **more)
        except httpx.HTTPError as fault:
            raise self._unreachable(fault) from fault
        self._check(response, method, path)
        return response

    def _check(self, response: httpx.Response, method: str, path: str) -> None:
        if response.status_code == 200:
            return
        wait = response.headers.get("Retry-After", "")[:40]
        said = f" and asks to wait ({wait})" if wait.isprintable() and wait else ""
        raise CarrierError(f"{self.server} answered {response.status_code} to {method} {path.split('?')[0]}{said}.")

    def _unreachable(self, fault: httpx.HTTPError) -> CarrierError:
        what = "did not answer in time" if isinstance(fault, httpx.TimeoutException) else "cannot be reached"
        return CarrierError(f"{self.server} {what} ({type(fault).__name__}): is it running?")
