"""One HTTP call through the `openai` package, bounded in time and size, answered as plain bytes.

The package brings keys, proxies, pooling and headers; its retries and its response models are not used: retries are
ours alone (one loop, one deadline), and real servers send bodies that no model of them describes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

import httpx2
import msgspec
import openai

from services.models.classify import Fault, classify, classify_exception
from services.models.endpoint import Endpoint

BODY_LIMIT = 64_000_000


class Raw(msgspec.Struct, frozen=True):
    """An HTTP answer: status, headers with lower-case names, whole body."""

    status: int
    headers: dict[str, str]
    body: bytes


class BoundedClient(httpx2.Client):
    """An HTTP client whose whole answer must arrive by a deadline, however steadily it drips.

    The HTTP library bounds only the silence between two reads. `monotonic` returns seconds.
    """

    def __init__(self, total_s: float, monotonic: Callable[[], float], **options: Any) -> None:
        super().__init__(**options)
        self._total_s = total_s
        self._monotonic = monotonic

    def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """Send, read the whole body under the deadline, and return it as a closed response."""
        options["stream"] = True
        start = self._monotonic()
        response = super().send(request, **options)
        chunks: list[bytes] = []
        size = 0
        try:
            for chunk in response.iter_bytes():
                chunks.append(chunk)
                size += len(chunk)
                if self._monotonic() - start > self._total_s:
                    raise httpx2.ReadTimeout(f"no complete answer within {self._total_s} s", request=request)
                if size > BODY_LIMIT:
                    raise httpx2.DecodingError(f"an answer of more than {BODY_LIMIT} bytes", request=request)
        finally:
            response.close()
        headers = [(k, v) for k, v in response.headers.multi_items() if k.lower() not in _CONSUMED]
        return httpx2.Response(response.status_code, headers=headers, content=b"".join(chunks), request=request)


_CONSUMED = frozenset({"content-encoding", "content-length", "transfer-encoding"})


class Http:
    """Posts JSON to one endpoint. Thread-safe; keeps its connections. `now` is wall time, `monotonic` a stopwatch."""

    def __init__(self, endpoint: Endpoint, *, now: Callable[[], float], monotonic: Callable[[], float]) -> None:
        timeout = httpx2.Timeout(
            connect=endpoint.connect_timeout_s,
            read=min(endpoint.idle_timeout_s, endpoint.timeout_s),
            write=endpoint.idle_timeout_s,
            pool=endpoint.timeout_s,
        )
        limits = httpx2.Limits(max_connections=256, max_keepalive_connections=64)
        self._http = BoundedClient(endpoint.timeout_s, monotonic, timeout=timeout, limits=limits, follow_redirects=True)
        self._now = now
        self._client = openai.OpenAI(
            base_url=endpoint.base_url,
            api_key=endpoint.api_key or "none",
            max_retries=0,
            timeout=timeout,
            http_client=self._http,
        )
        # The package reads these from the environment: they belong to whatever account is set there, not to this one.
        self._client.organization = None
        self._client.project = None
        self._client.admin_api_key = None

    def post(self, path: str, body: Mapping[str, Any], headers: Mapping[str, str]) -> Raw | Fault:
        """Post `body` and return the answer, or the fault that it is (an event stream is returned unjudged)."""
        try:
            response = self._client.post(path, cast_to=httpx2.Response, body=body, options={"headers": dict(headers)})
        except openai.APIStatusError as error:
            response = error.response
        except (openai.OpenAIError, httpx2.HTTPError, httpx2.InvalidURL, UnicodeEncodeError) as error:
            return classify_exception(error)
        raw = Raw(response.status_code, dict(response.headers), response.content)
        if raw.status < 400 and is_event_stream(raw):
            return raw
        return classify(raw.status, raw.headers, raw.body, self._now()) or raw

    def judge(self, raw: Raw) -> Fault | None:
        """Classify an answer that this client did not judge by itself."""
        return classify(raw.status, raw.headers, raw.body, self._now())

    def close(self) -> None:
        """Close all connections."""
        self._client.close()


def is_event_stream(raw: Raw) -> bool:
    """True if the body is a stream of server-sent events, whatever its declared type."""
    return "event-stream" in raw.headers.get("content-type", "") or raw.body.lstrip()[:5] == b"data:"


def call_headers(endpoint: Endpoint, role: str, call: tuple[str, int], session: str, schema: str) -> dict[str, str]:
    """Return the `X-OfficeTown-*` headers of a call, percent-encoded; none unless the endpoint asks for them."""
    if not endpoint.describe_calls:
        return {}
    values = {"Role": role, "Activation": call[0], "Ordinal": str(call[1]), "Session": session, "Schema-Name": schema}
    return {f"X-OfficeTown-{name}": quote(value, safe="") for name, value in values.items() if value}
