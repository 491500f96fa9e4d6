"""One call of Rocket.Chat's REST interface: what it answers, and what went wrong in plain words.

A 429 is waited out within a bound; everything else that another try may cure is a `CarrierError`. What the server
refuses in so many words (4xx) is a `Refused`, which says what it was, for the caller to judge.
"""

from __future__ import annotations

import email.utils
import json
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

import httpx
import msgspec

from simulator.canonical import clean_text
from simulator.errors import CarrierError

API = "/api/v1/"
_TIMEOUT = httpx.Timeout(60.0, connect=10.0)
_SHOWN = 200
_ATTEMPTS = 8
RESTRICTED = (
    "the workspace is restricted and takes no messages: without a licence the server must have reported its statistics "
    "in the last 10 days. Give it outbound internet access, leave RC_DISABLE_STATISTICS_REPORTING unset, and restart it"
)


class Login(msgspec.Struct, frozen=True):
    """Who asks: a user's id on the server and a token of theirs."""

    user_id: str
    token: str


class Refused(CarrierError):
    """The server refused a call: `status`, `reason` (its words) and `kind` (its error type, often empty)."""

    def __init__(self, where: str, status: int, reason: str, kind: str = "") -> None:
        super().__init__(f"{where} refused: {reason or 'no reason given'} (HTTP {status})")
        self.status = status
        self.reason = reason
        self.kind = kind

    def says(self, *words: str) -> bool:
        """Whether one of these stands in what the server said."""
        return any(word in self.reason or word in self.kind for word in words)


class TooLarge(CarrierError):
    """An answer is larger than was asked for."""


class Rest:
    """Calls a server. `clock` gives seconds since the epoch, `sleep` waits, at most `patience` seconds a call."""

    def __init__(
        self,
        url: str,
        http: httpx.Client,
        clock: Callable[[], float],
        sleep: Callable[[float], None],
        patience: float = 60.0,
    ) -> None:
        self._base = url.rstrip("/")
        self._http = http
        self._clock = clock
        self._sleep = sleep
        self._patience = patience
        self.name = f"Rocket.Chat at {httpx.URL(self._base).netloc.decode('ascii', 'replace')}"

    def get(self, path: str, who: Login, params: Mapping[str, str | int], limit: int = 32_000_000) -> dict[str, Any]:
        """Return the answer to a GET of `/api/v1/<path>`; `TooLarge` if it is larger than `limit` bytes."""
        texts = {name: str(value) for name, value in params.items()}
        return self._answer("GET", API + path, who, limit, params=texts)

    def post(self, path: str, who: Login | None, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer to a POST of JSON."""
        return self._answer("POST", API + path, who, json=dict(body))

    def upload(self, path: str, who: Login, name: str, data: bytes, media_type: str) -> dict[str, Any]:
        """Return the answer to a POST of one file as multipart field `file`."""
        files = {"file": (name, data, media_type or "application/octet-stream")}
        return self._answer("POST", API + path, who, files=files)

    def info(self) -> dict[str, Any]:
        """Return `/api/info`, which needs no login."""
        return self._answer("GET", "/api/info", None)

    def download(self, path: str, who: Login, limit: int) -> bytes:
        """Return a file's bytes; `TooLarge` past `limit`, and nothing more of it is read."""
        status, _, data = self._send("GET", path, who, limit, {})
        if status != httpx.codes.OK:
            raise Refused(f"{self.name}: file", status, _said(_loads(data))[0] or "the file cannot be had")
        return data

    def _answer(
        self, method: str, path: str, who: Login | None, limit: int = 32_000_000, **more: Any
    ) -> dict[str, Any]:
        where = f"{self.name}: {path.removeprefix(API).split('/')[0]}"
        status, headers, data = self._send(method, path, who, limit, more)
        found = _loads(data)
        reason, kind = _said(found)
        if "restricted-workspace" in reason or "restricted-workspace" in kind:
            raise CarrierError(f"{self.name}: {RESTRICTED}")
        if httpx.codes.is_redirect(status):
            raise CarrierError(f"{where} redirects elsewhere: the address in the settings is not the server's own")
        if status >= httpx.codes.BAD_REQUEST:
            if not isinstance(found, dict) and status not in (401, 403, 404, 413):
                media_type = clean_text(headers.get("content-type", ""))[:60]
                raise CarrierError(f"{where} answered HTTP {status} with no JSON ({media_type}): {_page(data)}")
            raise Refused(where, status, reason, kind)
        if not isinstance(found, dict):
            raise CarrierError(f"{where} answered something that is no JSON object: is this a Rocket.Chat server?")
        if found.get("success") is False:
            raise Refused(where, status, reason, kind)
        return found

    def _send(
        self, method: str, path: str, who: Login | None, limit: int, more: Mapping[str, Any]
    ) -> tuple[int, httpx.Headers, bytes]:
        """Send until it is no 429; return status, headers and body. Raises CarrierError for all that may pass."""
        where = f"{self.name}: {path.removeprefix(API).split('/')[0] or path}"
        waited = 0.0
        for _ in range(_ATTEMPTS):
            status, headers, data = self._once(method, path, who, limit, more, where)
            if status >= httpx.codes.INTERNAL_SERVER_ERROR:
                raise CarrierError(f"{where} answered HTTP {status}: {_page(data)}")
            if status != httpx.codes.TOO_MANY_REQUESTS:
                return status, headers, data
            wait = wait_of(headers, data, self._clock())
            if waited + wait > self._patience:
                raise CarrierError(f"{where} asks to slow down and to come back in {wait:.0f} s (HTTP 429)")
            self._sleep(wait)
            waited += wait
        raise CarrierError(f"{where} keeps asking to slow down (HTTP 429)")

    def _once(
        self, method: str, path: str, who: Login | None, limit: int, more: Mapping[str, Any], where: str
    ) -> tuple[int, httpx.Headers, bytes]:
        headers = {"X-User-Id": who.user_id, "X-Auth-Token": who.token} if who else {}
        try:
            with self._http.stream(
                method, self._base + path, headers=headers, timeout=_TIMEOUT, follow_redirects=False, **more
            ) as response:
                data = bytearray()
                for piece in response.iter_bytes():
                    data += piece
                    if len(data) > limit:
                        raise TooLarge(f"{where} answered more than {limit:,} bytes")
                return response.status_code, response.headers, bytes(data)
        except httpx.TimeoutException as error:
            raise CarrierError(f"{where} did not answer in time ({type(error).__name__})") from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise CarrierError(f"{self.name} cannot be reached ({type(error).__name__})") from error


def wait_of(headers: Mapping[str, str], data: bytes, now: float) -> float:
    """Return how many seconds a 429 asks to wait, at least 1: by Retry-After (seconds or a date), the words of the
    answer, or X-RateLimit-Reset (seconds or milliseconds since the epoch, or a date). A moment in the past means now."""
    waits = [
        _moment(headers.get("retry-after", ""), now),
        _spoken(data),  # before the reset's moment, which is by the server's clock
        _moment(headers.get("x-ratelimit-reset", ""), now),
    ]
    return max(1.0, next((wait for wait in waits if wait is not None), 1.0))


def _moment(text: str, now: float) -> float | None:
    text = text.strip()
    if re.fullmatch(r"\d{1,15}(\.\d{1,6})?", text):
        number = float(text)
        if number > 1e11:
            return number / 1000 - now
        return number - now if number > 1e8 else number
    try:
        return email.utils.parsedate_to_datetime(text).timestamp() - now
    except (ValueError, TypeError, IndexError):
        pass
    try:
        return datetime.fromisoformat(text).timestamp() - now
    except ValueError:
        return None


def _spoken(data: bytes) -> float | None:
    found = re.search(rb"wait (\d{1,6}) second", data[:10_000])
    return float(found[1]) if found else None


def _loads(data: bytes) -> Any:
    """Return the JSON of an answer, lone surrogates and all; None if it is none."""
    try:
        return json.loads(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None


def _said(found: Any) -> tuple[str, str]:
    """Return the server's reason and error type from its several shapes of error."""
    if not isinstance(found, dict):
        return "", ""
    reason = next((found[k] for k in ("error", "message") if isinstance(found.get(k), str) and found[k]), "")
    message = found.get("message")
    if reason and isinstance(message, str) and message not in reason:
        reason = f"{reason}: {message}"
    kind = found.get("errorType")
    return clean_text(reason)[:_SHOWN], clean_text(kind)[:_SHOWN] if isinstance(kind, str) else ""


def _page(data: bytes) -> str:
    """Return the words of an error page on one line."""
    text = re.sub(r"<[^>]{0,500}>", " ", data[:4_000].decode("utf-8", "replace"))
    return " ".join(clean_text(text).split())[:120] or "an empty answer"
