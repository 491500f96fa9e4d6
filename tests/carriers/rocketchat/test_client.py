"""One call: what is waited out, what is an outage, what is a refusal. None of it shows a secret."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import httpx
import pytest

from services.carriers.rocketchat.client import Login, Refused, Rest, TooLarge, wait_of
from simulator.errors import CarrierError
from tests.carriers.rocketchat.world import Clock

NOW = 1_800_000_000.0
WHO = Login("user", "a-secret-token")
Answer = Callable[[httpx.Request], httpx.Response]


class Line:
    """A server on paper: answers in order, the last one for ever."""

    def __init__(self, *answers: httpx.Response | Exception) -> None:
        self.answers = list(answers)
        self.clock = Clock()
        self.asked: list[httpx.Request] = []
        self.http = httpx.Client(transport=httpx.MockTransport(self._answer))
        self.rest = Rest("http://chat.example:3000/", self.http, self.clock, self.clock.sleep)

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        found = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(found, Exception):
            raise found
        return found


@pytest.fixture
def line() -> Iterator[Callable[..., Line]]:
    made: list[Line] = []

    def make(*answers: httpx.Response | Exception) -> Line:
        made.append(Line(*answers))
        return made[-1]

    yield make
    for each in made:
        each.http.close()


def too_many(headers: dict[str, str] | None = None, body: str = "") -> httpx.Response:
    return httpx.Response(429, headers=headers or {}, text=body or '{"success": false, "error": "slow down"}')


FINE = httpx.Response(200, json={"success": True, "x": 1})


@pytest.mark.parametrize(
    ("headers", "body", "expected"),
    [
        ({"retry-after": "5"}, b"", 5.0),
        ({"retry-after": "Fri, 15 Jan 2027 08:00:30 GMT"}, b"", 30.0),
        ({"retry-after": "Fri, 15 Jan 2027 07:00:00 GMT"}, b"", 1.0),
        ({"x-ratelimit-reset": "1800000012000"}, b"", 12.0),
        ({"x-ratelimit-reset": "1800000012"}, b"", 12.0),
        ({"x-ratelimit-reset": "1700000000000"}, b"", 1.0),
        ({"x-ratelimit-reset": "2027-01-15T08:00:09.500Z"}, b"", 9.5),
        ({"x-ratelimit-reset": "soon", "retry-after": "later"}, b"", 1.0),
        ({}, b"You must wait 17 seconds before trying this endpoint again.", 17.0),
        ({"x-ratelimit-reset": "1800000900000"}, b"You must wait 17 seconds before", 17.0),
        ({}, b"<html>", 1.0),
        ({"retry-after": "-5"}, b"", 1.0),
        ({"retry-after": "9" * 400}, b"", 1.0),
    ],
)
def test_how_long_a_429_asks_to_wait(headers: dict[str, str], body: bytes, expected: float) -> None:
    assert wait_of(headers, body, NOW) == expected


def test_a_429_is_waited_out(line: Callable[..., Line]) -> None:
    server = line(too_many({"Retry-After": "3"}), too_many({"Retry-After": "4"}), FINE)
    assert server.rest.get("x", WHO, {})["x"] == 1
    assert server.clock.slept == [3.0, 4.0]


@pytest.mark.parametrize("wait", ["61", "Fri, 15 Jan 2027 09:00:00 GMT"])
def test_a_long_wait_is_left_to_the_outbox(line: Callable[..., Line], wait: str) -> None:
    server = line(too_many({"Retry-After": wait}))
    with pytest.raises(CarrierError, match="asks to slow down and to come back in"):
        server.rest.get("x", WHO, {})
    assert server.clock.slept == []


def test_a_server_that_never_stops_asking_is_left_to_the_outbox(line: Callable[..., Line]) -> None:
    server = line(too_many())
    with pytest.raises(CarrierError, match="keeps asking to slow down"):
        server.rest.get("x", WHO, {})
    assert len(server.asked) <= 10


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (httpx.Response(500, json={"success": False, "error": "Internal server error"}), "HTTP 500"),
        (httpx.Response(502, text="<html><h1>502 Bad\nGateway</h1></html>"), "HTTP 502: 502 Bad Gateway"),
        (httpx.Response(503, content=b""), "an empty answer"),
        (httpx.Response(400, text="<p>nginx</p>"), "with no JSON"),
        (httpx.Response(200, text="<p>It works!</p>"), "is this a Rocket.Chat server"),
        (httpx.Response(200, json=[1]), "is this a Rocket.Chat server"),
        (httpx.Response(301, headers={"Location": "https://elsewhere.example"}), "redirects elsewhere"),
        (httpx.ConnectError("a-secret-token"), "cannot be reached (ConnectError)"),
        (httpx.ReadTimeout("a-secret-token"), "did not answer in time (ReadTimeout)"),
        (httpx.RemoteProtocolError("gone"), "cannot be reached (RemoteProtocolError)"),
        (httpx.Response(400, json={"success": False, "error": "restricted-workspace"}), "outbound internet"),
        (
            httpx.Response(400, json={"success": False, "error": "x", "errorType": "restricted-workspace"}),
            "outbound internet",
        ),
    ],
)
def test_what_may_pass_is_an_outage_in_plain_words(
    line: Callable[..., Line], answer: httpx.Response | Exception, words: str
) -> None:
    server = line(answer)
    with pytest.raises(CarrierError) as caught:
        server.rest.post("chat.sendMessage", WHO, {"message": {}})
    assert not isinstance(caught.value, Refused)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "Rocket.Chat at chat.example:3000" in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("answer", "status", "reason", "kind"),
    [
        (httpx.Response(400, json={"success": False, "error": "no", "errorType": "error-no"}), 400, "no", "error-no"),
        (httpx.Response(200, json={"success": False, "error": "no"}), 200, "no", ""),
        (
            httpx.Response(401, json={"status": "error", "error": "Unauthorized", "message": "Log in"}),
            401, "Unauthorized: Log in", "",
        ),
        (httpx.Response(401, json={"status": "error", "error": 401, "message": "Log in"}), 401, "Log in", ""),
        (httpx.Response(403, text="forbidden"), 403, "", ""),
        (httpx.Response(413, text="<h1>too large</h1>"), 413, "", ""),
        (httpx.Response(400, json={"error": ["a"], "errorType": 7}), 400, "", ""),
    ],
)  # fmt: skip
def test_what_is_refused_says_what_it_was(
    line: Callable[..., Line], answer: httpx.Response, status: int, reason: str, kind: str
) -> None:
    with pytest.raises(Refused) as caught:
        line(answer).rest.get("x", WHO, {})
    assert (caught.value.status, caught.value.reason, caught.value.kind) == (status, reason, kind)


def test_more_than_was_asked_for_is_not_read(line: Callable[..., Line]) -> None:
    server = line(httpx.Response(200, content=b"x" * 2_000))
    with pytest.raises(TooLarge):
        server.rest.download("/file-upload/1/a", WHO, 1_999)
    assert server.rest.download("/file-upload/1/a", WHO, 2_000) == b"x" * 2_000


def test_a_token_goes_with_a_call_and_never_along_a_redirect(line: Callable[..., Line]) -> None:
    server = line(httpx.Response(302, headers={"Location": "https://elsewhere.example/steal"}))
    with pytest.raises(Refused):
        server.rest.download("/file-upload/1/a", WHO, 10)
    (asked,) = server.asked
    assert asked.headers["X-Auth-Token"] == "a-secret-token"
    assert asked.url.host == "chat.example"
