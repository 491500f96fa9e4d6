"""What went wrong with a call to a model endpoint: one pure function from what came back to a `Fault`.

Whether a fault is waited out, ends the run, or ends one request follows from its kind (RULE 3):

    retryable                  waited out; past the deadline the run stops with `ModelOutage`
    not retryable, ENDPOINT    nobody's request can succeed (key, model, quota): the run stops at once
    not retryable, otherwise   this one request cannot be answered: its answer is `unavailable`
    RESULTS                    not a fault of anyone's: overflow and refusal are answers
"""

from __future__ import annotations

import datetime as dt
import email.utils
import json
import math
import re
import ssl
from collections.abc import Mapping
from typing import Any, Literal

import httpx2
import msgspec
import openai

FaultKind = Literal[
    "rate_limit",  # too many requests or tokens for now
    "server",  # the provider's own failure
    "timeout",  # no complete answer in time, a slow drip included
    "connection",  # could not connect, or the connection broke before an answer began
    "cut",  # the answer broke off
    "not_json",  # HTML or other text where JSON was due
    "bad_shape",  # JSON without the parts of an answer: empty choices, wrong types
    "empty",  # an answer with neither text nor a tool call
    "error_body",  # status 200 around an error that names no kind we know
    "auth",  # the key was not accepted
    "quota",  # paid credit is used up
    "not_found",  # no such model or address
    "misconfigured",  # the address or key cannot even be sent
    "bad_request",  # the provider refuses this very request
    "unsupported",  # the provider does not know a parameter; the client may learn and try without it
    "overflow",  # the request is longer than the model's context
    "refusal",  # the provider's filter refuses this content
]

ENDPOINT: frozenset[str] = frozenset({"auth", "quota", "not_found", "misconfigured"})
RESULTS: frozenset[str] = frozenset({"overflow", "refusal"})
LONGEST_WAIT_S = 86_400.0

REASONS: Mapping[str, str] = {
    "rate_limit": "the model endpoint is limiting requests",
    "server": "the model endpoint failed on its side",
    "timeout": "the model endpoint gave no complete answer in time",
    "connection": "the model endpoint could not be reached",
    "cut": "the model's answer broke off",
    "not_json": "the model endpoint answered with something that is not JSON",
    "bad_shape": "the model endpoint's answer lacks the parts of an answer",
    "empty": "the model answered with neither text nor a tool call",
    "error_body": "the model endpoint reported an error inside an answer",
    "auth": "the model endpoint did not accept the key",
    "quota": "the credit at the model endpoint is used up",
    "not_found": "the model endpoint knows no such model or address",
    "misconfigured": "the model endpoint's address or key cannot be used",
    "bad_request": "the model endpoint refused this request as malformed",
    "unsupported": "the model endpoint does not support a parameter of this request",
    "overflow": "the conversation is longer than the model can read",
    "refusal": "the model endpoint's content filter refused this request",
}
"""Plain reasons, free of provider text: what may enter the tape and a person's view (RULE 37)."""


class Fault(msgspec.Struct, frozen=True):
    """One failed attempt.

    `billable` says that the provider may charge for it. `detail` is provider text, cut and cleaned, for the operator's
    log alone; `reason` is what everyone else is told.
    """

    kind: FaultKind
    retryable: bool
    retry_after_s: float | None = None
    billable: bool = False
    detail: str = ""

    @property
    def reason(self) -> str:
        """The plain reason, free of provider text."""
        return REASONS[self.kind]

    @property
    def stops_everyone(self) -> bool:
        """True if no request to this endpoint can succeed until a person changes something."""
        return self.kind in ENDPOINT


_BY_STATUS: Mapping[int, tuple[FaultKind, bool]] = {
    400: ("bad_request", False),
    401: ("auth", False),
    402: ("quota", False),
    403: ("auth", False),
    404: ("not_found", False),
    405: ("not_found", False),
    408: ("timeout", True),
    409: ("server", True),
    413: ("overflow", False),
    421: ("server", True),
    422: ("bad_request", False),
    425: ("server", True),
    429: ("rate_limit", True),
    501: ("not_found", False),
    505: ("misconfigured", False),
}

_OVERFLOW = re.compile(
    r"context_length_exceeded|context[ _-]?(length|window|size)|maximum context|exceed_context_size|prompt is too long|"
    r"input is too long|too many (input )?tokens in|string_above_max_length|reduce the length of the (messages|input)|"
    r"exceeds? the (available|model's|maximum) (context|input|number of tokens)|"
    r"exceeds (the )?maximum (allowed )?(input|number of tokens)|input length and .{0,12}max_tokens. exceed",
    re.IGNORECASE,
)
_REFUSAL = re.compile(
    r"content_filter|content_policy|content policy|content management policy|ResponsibleAIPolicy|moderation|flagged|"
    r"safety (system|reasons|settings)|data_inspection_failed|usage polic|invalid_prompt",
    re.IGNORECASE,
)
_QUOTA = re.compile(
    r"insufficient_quota|insufficient (balance|credit|funds)|billing_hard_limit|billing hard limit", re.IGNORECASE
)
_UNSUPPORTED = re.compile(
    r"unsupported_(parameter|value)|unsupported (parameter|value)|not supported|does not support|doesn't support|"
    r"unrecognized (request )?argument|unknown (parameter|field|name)|unknown_parameter|"
    r"extra (inputs|fields)|extra_forbidden|unexpected keyword|not permitted|is unavailable now|"
    r"no endpoints found that support|"
    r"requires --jinja|enable-auto-tool-choice|"
    r"invalid schema for|schema is invalid",
    re.IGNORECASE,
)
_MODEL_MISSING = re.compile(
    r"model_not_found|model .{0,120}(does not exist|not found|is not available)|no such model",
    re.IGNORECASE | re.DOTALL,
)


def classify(status: int, headers: Mapping[str, str], body: bytes, now: float) -> Fault | None:
    """Say what is wrong with an HTTP answer; None if it is a JSON object without an error, fit to be read.

    `now` is wall time in seconds since the epoch: a Retry-After may be a date. Header names are matched in lower case.
    """
    lowered = {name.lower(): value for name, value in headers.items()}
    decoded = decode(body)
    if status < 400:
        if not isinstance(decoded, dict):
            cut = _looks_cut(body)
            return Fault("cut" if cut else "not_json", True, _retry_after(lowered, now), True, _shown(body))
        if not decoded.get("error"):
            return None
        return _inside_success(decoded["error"], lowered, body, now)
    return _by_status(status, _error_text(decoded, body), lowered, now, _shown(body))


_UNSENDABLE = (httpx2.UnsupportedProtocol, httpx2.LocalProtocolError, httpx2.InvalidURL, UnicodeEncodeError)


def classify_exception(error: Exception) -> Fault:
    """Say what an exception of the `openai` package or its HTTP client means. Anything else is raised again.

    An answer that broke off or ran out of time may have been computed, and so be billed; a refused connection is not.
    """
    chain = _chain(error)
    shown = clip(" <- ".join(f"{type(item).__name__}: {item}" for item in chain))
    if any(isinstance(item, httpx2.ConnectTimeout | httpx2.PoolTimeout) for item in chain):
        return Fault("connection", True, detail=shown)
    if any(isinstance(item, openai.APITimeoutError | httpx2.TimeoutException) for item in chain):
        return Fault("timeout", True, billable=True, detail=shown)
    if any(isinstance(item, ssl.SSLCertVerificationError) for item in chain):
        return Fault("misconfigured", False, detail=shown)
    if any(isinstance(item, _UNSENDABLE) for item in chain):
        return Fault("misconfigured", False, detail=shown)
    if any(isinstance(item, httpx2.ConnectError | httpx2.ProxyError) for item in chain):
        return Fault("connection", True, detail=shown)
    if any(isinstance(item, httpx2.DecodingError | httpx2.TooManyRedirects) for item in chain):
        return Fault("not_json", True, billable=True, detail=shown)
    if isinstance(error, openai.APIConnectionError | httpx2.TransportError):
        return Fault("cut", True, billable=True, detail=shown)
    raise error


def decode(body: bytes) -> Any:
    """Decode JSON as real servers write it: bare NaN becomes null, a byte order mark is skipped. None if not JSON."""
    try:
        return msgspec.json.decode(body)
    except RecursionError:
        return None
    except (msgspec.DecodeError, UnicodeDecodeError):
        pass
    try:
        return json.loads(body.decode("utf-8-sig", "replace"), parse_constant=lambda _name: None)
    except (ValueError, RecursionError):
        return None


def clip(text: str, limit: int = 600) -> str:
    """Return `text` on one line, printable, at most `limit` characters."""
    line = "".join(ch if ch.isprintable() else " " for ch in text)
    return line if len(line) <= limit else line[: limit - 1] + "\N{HORIZONTAL ELLIPSIS}"


def _by_status(status: int, text: str, headers: Mapping[str, str], now: float, shown: str) -> Fault:
    """Classify by status first; by the text where one status stands for several things."""
    kind, retryable = _BY_STATUS.get(status, ("server", True) if status >= 500 else ("bad_request", False))
    wait = _retry_after(headers, now)
    if wait is None and retryable:
        wait = _said_wait(text)
    if status == 429 and _QUOTA.search(text):
        return Fault("quota", False, detail=shown)
    if status in (400, 403, 404, 413, 422, 500) and _OVERFLOW.search(text):
        return Fault("overflow", False, detail=shown)
    if status in (400, 403, 422) and _REFUSAL.search(text):
        return Fault("refusal", False, detail=shown)
    if status in (400, 422) and _MODEL_MISSING.search(text):
        return Fault("not_found", False, detail=shown)
    if (status in (400, 404, 422, 501) and _UNSUPPORTED.search(text)) or (status == 500 and "--jinja" in text):
        return Fault("unsupported", False, detail=shown)
    return Fault(kind, retryable, wait if retryable else None, False, shown)


def _inside_success(error: Any, headers: Mapping[str, str], body: bytes, now: float) -> Fault:
    """Classify an error that arrived with status 200: gateways put the real status or a code inside."""
    text = _error_text({"error": error}, body)
    code = error.get("code", error.get("status")) if isinstance(error, dict) else None
    if isinstance(code, str) and code.isdigit():
        code = int(code)
    if isinstance(code, int) and not isinstance(code, bool) and 400 <= code < 600:
        return _by_status(code, text, headers, now, _shown(body))
    guess = next((status for pattern, status in _GUESSES if pattern.search(text)), None)
    if guess is not None:
        return _by_status(guess, text, headers, now, _shown(body))
    return Fault("error_body", True, _retry_after(headers, now), True, _shown(body))


_GUESSES: tuple[tuple[re.Pattern[str], int], ...] = (
    (_OVERFLOW, 400),
    (_REFUSAL, 400),
    (_QUOTA, 429),
    (re.compile(r"rate.?limit|too many requests|overloaded|capacity", re.IGNORECASE), 429),
    (re.compile(r"invalid.{0,5}api.?key|unauthorized|authentication|permission", re.IGNORECASE), 401),
    (_MODEL_MISSING, 404),
    (re.compile(r"server_error|internal|unavailable|bad gateway|time.?out", re.IGNORECASE), 500),
)


def _retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Return seconds to wait from Retry-After(-Ms), at least 0 and at most a day; None if absent or unreadable."""
    milliseconds = _number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return _bounded(milliseconds / 1000)
    value = headers.get("retry-after", "").strip()
    if not value:
        return None
    seconds = _number(value)
    if seconds is not None:
        return _bounded(seconds)
    try:
        moment = email.utils.parsedate_to_datetime(value)
    except (ValueError, TypeError, IndexError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=dt.UTC)
    return _bounded(moment.timestamp() - now)


_SAID_WAIT = re.compile(r"try again in (\d+(?:\.\d+)?) ?(ms|s)\b|retryDelay\W+(\d+(?:\.\d+)?)s", re.IGNORECASE)


def _said_wait(text: str) -> float | None:
    """Return the wait that some providers put into their words alone."""
    found = _SAID_WAIT.search(text)
    if found is None:
        return None
    seconds = float(found.group(1) or found.group(3))
    return _bounded(seconds / 1000 if found.group(2) == "ms" else seconds)


def _bounded(seconds: float) -> float:
    return min(max(seconds, 0.0), LONGEST_WAIT_S)


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _error_text(decoded: Any, body: bytes) -> str:
    """Collect what an error body says: OpenAI's `error` object, FastAPI's `detail`, a bare string, or the raw text."""
    if isinstance(decoded, dict):
        said = [decoded[key] for key in ("error", "message", "detail", "code", "type") if decoded.get(key)]
        if said:
            return json.dumps(said, ensure_ascii=False)[:20_000]
    return body[:20_000].decode("utf-8", "replace")


def _looks_cut(body: bytes) -> bool:
    """True for text that begins like a JSON object and does not end like one."""
    stripped = body.strip()
    return stripped.startswith(b"{") and not stripped.endswith(b"}")


def _shown(body: bytes) -> str:
    return clip(body[:1200].decode("utf-8", "replace"))


def _chain(error: BaseException) -> list[BaseException]:
    """Return an exception and what it came from, nearest first."""
    out: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and len(out) < 10:
        out.append(current)
        current = current.__cause__ or current.__context__
    return out
