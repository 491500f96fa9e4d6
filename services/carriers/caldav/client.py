"""CalDAV over `httpx`: the few requests that the carrier makes, their answers bounded, their faults in plain words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Literal
from urllib.parse import urlsplit

import httpx
import msgspec

from services.carriers.caldav import bodies
from services.carriers.caldav.reading import LARGEST
from simulator.errors import CarrierError, WorkFailed

_LISTING, _RESOURCE, _BATCH_BYTES = 32_000_000, 4 * LARGEST, 24_000_000
_BATCH = 50
_ROUNDS = 1_000
_FOR_GOOD = frozenset({400, 403, 405, 409, 413, 414, 415, 422})
"""What a server says to the item itself: asking again would be answered the same."""
_RIGHTS = frozenset({403, 405})
"""Said to an item when its words say why; else it is the server's settings that are wrong, and those can be put right."""

_PRECONDITIONS = ("valid-calendar-data", "valid-calendar-object-resource", "max-resource-size", "supported-calendar")

Put = Literal["done", "changed", "conflict"]
"""How a PUT ended: written; refused because the resource is not in the state it was read in; refused because there is no
such calendar, or another resource of it holds that UID."""


class Server(msgspec.Struct, frozen=True):
    """Where a CalDAV server is and how it names calendars. `template` is the path of one: Radicale
    `/{user}/{calendar}/`, Baïkal `/dav.php/calendars/{user}/{calendar}/`. With `per_year` a person has a calendar for each
    year (`office-2026`), which keeps Radicale quick; else the one called `calendar`. `bulk` says that a whole calendar may
    be written by one PUT, as Radicale allows. `timeout` is in seconds."""

    url: str
    template: str = "/{user}/{calendar}/"
    calendar: str = "office"
    per_year: bool = True
    bulk: bool = True
    timeout: float = 30.0


RADICALE = Server("http://127.0.0.1:5232")
BAIKAL = Server("http://127.0.0.1:8800", "/dav.php/calendars/{user}/{calendar}/", "default", per_year=False, bulk=False)


class Found(msgspec.Struct, frozen=True):
    """A resource: its decoded path, its entity tag and its text (None: it is larger than is read)."""

    path: str
    etag: str
    text: str | None


class Changes(msgspec.Struct, frozen=True):
    """Names of what changed in a calendar since a token, and the token of now."""

    changed: tuple[str, ...]
    removed: tuple[str, ...]
    token: str


class TokenLost(Exception):
    """The server does not know the token any more: everything is to be read anew."""


class _TooLarge(CarrierError):
    """An answer went past its bound."""


class Dav:
    """Requests as the person whose calendar it is: `password_of` gives the password of a username."""

    def __init__(self, http: httpx.Client, server: Server, password_of: Callable[[str], str]) -> None:
        self.server = server
        self._http = http
        self._password_of = password_of
        parts = urlsplit(server.url)
        self._origin = f"{parts.scheme}://{parts.netloc}"
        self._prefix = parts.path.rstrip("/")
        self.where = f"the calendar server at {parts.hostname or server.url}" + (f":{parts.port}" if parts.port else "")

    def path(self, user: str, calendar: str) -> str:
        """Return the decoded path of a person's calendar, with a slash at its end."""
        return self._prefix + self.server.template.format(user=user, calendar=calendar)

    def home(self, user: str) -> str:
        """Return the decoded path of the folder in which a person's calendars lie."""
        return self._prefix + self.server.template.partition("{calendar}")[0].format(user=user)

    # -- calendars ----------------------------------------------------------------------------------------------------

    def abilities(self, user: str) -> frozenset[str]:
        """Return what the server says it can do (the DAV header) to this person."""
        status, headers, _ = self._ask("OPTIONS", self.home(user), user, bound=_RESOURCE)
        self._check(status, "OPTIONS", user, headers)
        return frozenset(word.strip().lower() for word in headers.get("dav", "").split(","))

    def calendars(self, user: str) -> dict[str, str]:
        """Return the calendars of a person: their names by decoded path."""
        body = bodies.listing()
        status, headers, data = self._ask("PROPFIND", self.home(user), user, body, {"Depth": "1"}, bound=_LISTING)
        if status == 404:
            return {}
        self._check(status, "PROPFIND", user, headers)
        found = self._answers(data, "PROPFIND").answers
        home = self.home(user)
        return {_folder(a.path): a.name for a in found if a.calendar and _folder(a.path).startswith(home)}

    def make_calendar(self, user: str, path: str, name: str) -> bool:
        """Make a calendar; False if there is one already."""
        status, headers, _ = self._ask("MKCALENDAR", path, user, bodies.new_calendar(name), bound=_RESOURCE)
        if status == 201:
            return True
        if status in (403, 405, 409) and path in self.calendars(user):
            return False
        self._check(status, "MKCALENDAR", user, headers)
        raise CarrierError(f"{self.where} did not make the calendar {path} of {user} (status {status})")

    # -- events -------------------------------------------------------------------------------------------------------

    def get(self, user: str, path: str) -> Found | None:
        """Return a resource, or None where there is none."""
        try:
            status, headers, data = self._ask("GET", path, user, bound=_RESOURCE)
        except _TooLarge:
            return Found(path, "", None)
        if status in (404, 410):
            return None
        self._check(status, "GET", user, headers)
        return Found(path, headers.get("etag", ""), data.decode("utf-8", "replace"))

    def put(self, user: str, path: str, body: bytes, etag: str | None) -> Put:
        """Write a resource: a new one without an `etag`, or instead of the one that has this etag.

        Raises WorkFailed where the server refuses this very body.
        """
        precondition = {"If-None-Match": "*"} if etag is None else {"If-Match": etag} if etag else {}
        headers = {"Content-Type": "text/calendar; charset=utf-8", **precondition}
        status, answered, data = self._ask("PUT", path, user, body, headers, bound=_RESOURCE)
        if status in (200, 201, 204):
            return "done"
        if status == 412:
            return "changed"
        if status in (404, 409):
            return "conflict"
        said = data[:4_000].decode("utf-8", "replace")
        why = next((word for word in _PRECONDITIONS if word in said), "")
        if status in _FOR_GOOD and (why or status not in _RIGHTS):
            raise WorkFailed(f"{self.where} refuses the event for {user} (status {status}{', ' + why if why else ''})")
        self._check(status, "PUT", user, answered)
        raise CarrierError(f"{self.where} answered a PUT with status {status}")

    def delete(self, user: str, path: str) -> None:
        """Remove a resource; one that is gone already is no fault."""
        status, headers, _ = self._ask("DELETE", path, user, bound=_RESOURCE)
        if status not in (404, 410):
            self._check(status, "DELETE", user, headers)

    def put_all(self, user: str, path: str, body: bytes) -> bool:
        """Write a whole calendar by one request, instead of whatever it held; False where the server has no such thing."""
        headers = {"Content-Type": "text/calendar; charset=utf-8"}
        status, answered, _ = self._ask("PUT", path, user, body, headers, bound=_RESOURCE)
        if status in _FOR_GOOD or status in (404, 412, 501):
            return False
        self._check(status, "PUT", user, answered)
        return True

    # -- reports ------------------------------------------------------------------------------------------------------

    def changes(self, user: str, path: str, token: str) -> Changes:
        """Return what changed in a calendar since `token`; everything that is in it without one.

        Raises TokenLost where the server does not know the token.
        """
        changed: dict[str, None] = {}
        removed: dict[str, None] = {}
        for _ in range(_ROUNDS):
            body = bodies.changes_since(token)
            status, headers, data = self._ask("REPORT", path, user, body, {"Depth": "1"}, bound=_LISTING)
            if token and (status in (409, 412) or (status in (400, 403) and b"valid-sync-token" in data)):
                raise TokenLost
            self._check(status, "REPORT", user, headers)
            found = self._answers(data, "REPORT")
            more = False
            for answer in found.answers:
                name = answer.path.rpartition("/")[2]
                if answer.status == 507 and not name:
                    more = True
                elif name and _folder(answer.path.removesuffix(name)) == path:
                    (removed if answer.status == 404 else changed)[name] = None
            if not more or found.token == token:
                return Changes(tuple(sorted(changed)), tuple(sorted(removed)), found.token)
            token = found.token
        raise CarrierError(f"{self.where} does not come to an end with what changed in {path}")

    def fetch(self, user: str, path: str, names: Iterable[str]) -> Iterator[Found]:
        """Yield the resources of a calendar that have these names, if they still exist."""
        wanted = list(names)
        for first in range(0, len(wanted), _BATCH):
            yield from self._batch(user, path, wanted[first : first + _BATCH])

    def _batch(self, user: str, path: str, names: list[str]) -> Iterator[Found]:
        body = bodies.these(path + name for name in names)
        try:
            status, headers, data = self._ask("REPORT", path, user, body, {"Depth": "1"}, bound=_BATCH_BYTES)
            self._check(status, "REPORT", user, headers)
            found = [a for a in bodies.read(data).answers if a.status == 200 and a.data is not None]
        except (_TooLarge, bodies.BadXml):
            # One resource alone may be the reason: it is asked for by itself, and then without XML around it.
            for name in names:
                one = self.get(user, path + name)
                if one is not None:
                    yield one
            return
        yield from (Found(a.path, a.etag, a.data) for a in found)

    def find(self, user: str, path: str, uid: str) -> Found | None:
        """Return the resource of a calendar whose event has this UID, whatever it is called."""
        try:
            status, headers, data = self._ask(
                "REPORT", path, user, bodies.with_uid(uid), {"Depth": "1"}, bound=_BATCH_BYTES
            )
        except _TooLarge:
            return None
        if status == 404:
            return None
        self._check(status, "REPORT", user, headers)
        # The match is by substring (RFC 4791): whoever asks looks at the UID of what he is given.
        found = [
            a for a in self._answers(data, "REPORT").answers if a.status == 200 and a.data and uid in _unfolded(a.data)
        ]
        exact = [a for a in found if f"UID:{uid}" in _unfolded(a.data or "").splitlines()]
        chosen = next(iter(exact or found), None)
        return None if chosen is None else Found(chosen.path, chosen.etag, chosen.data)

    # -- the wire -----------------------------------------------------------------------------------------------------

    def _ask(
        self,
        method: str,
        path: str,
        user: str,
        body: str | bytes = b"",
        headers: Mapping[str, str] | None = None,
        *,
        bound: int,
    ) -> tuple[int, httpx.Headers, bytes]:
        sent = {"Accept-Encoding": "identity", **(headers or {})}
        if isinstance(body, str):
            body = body.encode("utf-8", "replace")
            sent.setdefault("Content-Type", "application/xml; charset=utf-8")
        try:
            with self._http.stream(
                method, self._origin + bodies.quoted(path), content=body or None, headers=sent,
                auth=httpx.BasicAuth(user, self._password_of(user)), timeout=self.server.timeout,
                follow_redirects=False,
            ) as response:  # fmt: skip
                data = bytearray()
                for chunk in response.iter_bytes():
                    data += chunk
                    if len(data) > bound:
                        raise _TooLarge(f"{self.where} answered a {method} with more than {bound} bytes")
                return response.status_code, response.headers, bytes(data)
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as fault:
            raise CarrierError(f"{self.where} cannot be reached for {method} ({type(fault).__name__})") from None

    def _answers(self, data: bytes, method: str) -> bodies.Answers:
        try:
            return bodies.read(data)
        except bodies.BadXml as fault:
            raise CarrierError(
                f"{self.where} answered a {method} with something that cannot be read: {fault}"
            ) from None

    def _check(self, status: int, method: str, user: str, headers: httpx.Headers) -> None:
        """Raise CarrierError unless a request was answered well."""
        if 200 <= status < 300:
            return
        why = f"answered a {method} for {user} with status {status}"
        if status == 401:
            why = f"does not accept the password of {user}: make the account, or give it the office's password"
        elif status == 429 or (status == 503 and "retry-after" in headers):
            why = f"asks to wait ({status}, Retry-After: {headers.get('retry-after', 'not said')[:40]})"
        elif 300 <= status < 400:
            why = f"sends a {method} elsewhere ({status}): write its final address into the settings"
        raise CarrierError(f"{self.where} {why}")


def _folder(path: str) -> str:
    return path if path.endswith("/") else f"{path}/"


def _unfolded(text: str) -> str:
    return text.replace("\r\n ", "").replace("\r\n\t", "").replace("\n ", "").replace("\n\t", "")
