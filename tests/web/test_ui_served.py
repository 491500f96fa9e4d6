"""The pages over HTTP: who may open them, what they say of what is not there, and that no text of an office is markup."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from orchestrator.compose import House
from orchestrator.settings import read_settings
from orchestrator.web.app import application, parts_for
from orchestrator.web.caller import OPERATOR, known
from orchestrator.web.parts import Parts
from orchestrator.web.serve import listen
from orchestrator.web.ui.door import Door
from orchestrator.web.ui.dress import dress
from tests.browser import hostile

KEY = "operator-key-of-the-pages"
PAGES = ("floor", "people", "work", "files", "mail", "chat", "meetings", "calendar", "numbers", "health", "person/elena")


@contextmanager
def pages(home: Path, token: str = "") -> Iterator[tuple[httpx.Client, Parts]]:
    """Serve a home with its dashboard for as long as the block runs."""
    house = House(read_settings({"OFFICETOWN_HOME": str(home)}))
    parts = parts_for(house, token)
    app = application(parts)
    dress(app, parts)
    served = listen(app, "127.0.0.1", 0).start()
    try:
        with httpx.Client(base_url=served.url, timeout=60) as client:
            yield client, parts
    finally:
        served.close()
        house.close()


@pytest.fixture(scope="module")
def opened(worked_home: Path) -> Iterator[tuple[httpx.Client, Parts]]:
    """Juniper's pages, without a key."""
    with pages(worked_home) as both:
        yield both


@pytest.mark.parametrize("page", PAGES)
def test_every_page_opens_with_its_content_in_the_first_answer(opened: tuple[httpx.Client, Parts], page: str) -> None:
    answer = opened[0].get(f"/office/Juniper/{page}")
    assert answer.status_code == 200
    assert "page-" + page.partition("/")[0] in answer.text
    assert "Juniper" in answer.text
    assert "This cannot be shown" not in answer.text


def test_the_beginning_leads_to_the_offices_and_an_office_to_its_floor(opened: tuple[httpx.Client, Parts]) -> None:
    client, _ = opened
    assert client.get("/").headers["location"] == "/offices"
    assert client.get("/office/Juniper?at=40").headers["location"] == "/office/Juniper/floor?at=40"
    assert "Juniper" in client.get("/offices").text


@pytest.mark.parametrize("at", ["99999999", "yesterday", "1999-01-01", "-1", "2026-02-30"])
def test_a_moment_that_there_is_not_is_told_in_plain_words(opened: tuple[httpx.Client, Parts], at: str) -> None:
    answer = opened[0].get("/office/Juniper/floor", params={"at": at})
    assert answer.status_code == 200
    assert "This cannot be shown" in answer.text
    assert "Go to the present" in answer.text


@pytest.mark.parametrize("path", ["/office/none/floor", "/nowhere", "/office/Juniper/nothing"])
def test_what_is_not_there_is_said_to_be_so(opened: tuple[httpx.Client, Parts], path: str) -> None:
    answer = opened[0].get(path)
    assert answer.status_code == 404
    assert "Nothing here" in answer.text
    assert 'href="/offices"' in answer.text


@pytest.mark.parametrize("path", ["person/nobody", "work/none", "file/none", "session/none", "chat?room=none", "mail?mail=none"])
def test_an_unknown_id_is_told_on_the_page(opened: tuple[httpx.Client, Parts], path: str) -> None:
    answer = opened[0].get(f"/office/Juniper/{path}")
    assert answer.status_code == 200
    assert "This cannot be shown" in answer.text or "no such room" in answer.text


def test_pages_load_nothing_from_elsewhere_and_cannot_be_framed(opened: tuple[httpx.Client, Parts]) -> None:
    """It works offline, and the browser is told to keep it so."""
    answer = opened[0].get("/office/Juniper/floor")
    assert re.findall(r"""(?:src|href|url\()=?["']?(https?:)?//[^"')\s]+""", answer.text) == []
    policy = answer.headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "http" not in policy


def test_without_a_key_there_is_only_the_sign_in(worked_home: Path) -> None:
    with pages(worked_home, KEY) as (client, _):
        for path in ("/offices", "/office/Juniper/floor", "/_nicegui_ws/socket.io/?EIO=4&transport=polling", "/anything"):
            answer = client.get(path)
            assert answer.status_code == 401
            assert "Sign in" in answer.text
            assert "Juniper" not in answer.text
        assert client.post("/api/v1/session", json={"key": "wrong"}).status_code == 403
        assert client.get("/offices").status_code == 401
        assert client.post("/api/v1/session", json={"key": KEY}).status_code == 200
        assert "Juniper" in client.get("/offices").text


def test_a_persons_key_opens_their_own_page_at_the_present_and_no_other(worked_home: Path) -> None:
    """A person's token used for another person."""
    with pages(worked_home, KEY) as (client, parts):
        office = parts.house.row("Juniper").id
        key, issued = parts.keys.issue(office, "maya")
        assert client.post("/api/v1/session", json={"key": key}).status_code == 200
        own = client.get(f"/office/{office}/person/maya")
        assert own.status_code == 200
        assert "Maya" in own.text
        assert "time-slider" not in own.text
        for path in ("person/elena", "floor", "mail", "people", "person/maya?at=40", "numbers"):
            refused = client.get(f"/office/{office}/{path}")
            assert (refused.status_code, "Nothing here" in refused.text) == (404, True), path
        assert client.get("/offices").status_code == 404
        assert client.get("/office/Juniper/person/maya").status_code == 404, "by the office's id alone"
        parts.keys.revoke(office, issued.id)
        assert client.get(f"/office/{office}/person/maya").status_code == 401


def test_every_text_of_a_hostile_office_is_a_text(tmp_path: Path) -> None:
    """A script in a file name does not run: the page's HTML has none of it but as data of its elements."""
    house = House(read_settings({"OFFICETOWN_HOME": str(tmp_path)}))
    office = hostile.seed(house)
    house.close()
    with pages(tmp_path) as (client, _):
        for page in ("floor", "people", "files", "person/eve", "person/eve?tab=files", "mail", "chat", "work", "numbers"):
            answer = client.get(f"/office/{office}/{page}")
            assert answer.status_code == 200, page
            assert "<img src=x" not in answer.text, page
            assert "<script>window.pwned" not in answer.text, page
            assert "<svg onload" not in answer.text, page
        assert "<b>" not in re.search(r"<title>(.*?)</title>", client.get(f"/office/{office}/floor").text, re.S)[1]  # type: ignore[index]


def test_pages_that_nobody_looks_at_any_more_are_let_go(worked_home: Path) -> None:
    """Memory does not grow: a page that was asked for and never opened has no thread or timer of its own."""
    with pages(worked_home) as (client, _):
        client.get("/office/Juniper/floor")
        before = threading.active_count()
        for _ in range(12):
            assert client.get("/office/Juniper/health").status_code == 200
        assert threading.active_count() <= before + 8


# -- a closed tab -------------------------------------------------------------------------------------------------------------


class Through(BaseHTTPMiddleware):
    """As the pages' framework has it in front of everything."""

    async def dispatch(self, request: Request, call_next: RequestResponseEndpoint) -> Response:
        return await call_next(request)


async def _silent(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers nothing: whoever asked has gone, or it is a fault."""
    await receive()


@pytest.mark.parametrize(("message", "fault"), [("http.disconnect", False), ("http.request", True)])
def test_whoever_goes_away_before_the_answer_is_no_fault_of_the_server(
    opened: tuple[httpx.Client, Parts], message: str, fault: bool
) -> None:
    scope: Scope = {"type": "http", "method": "GET", "path": "/favicon.ico", "query_string": b"", "headers": []}
    known(scope, OPERATOR)
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": message, "body": b"", "more_body": False}

    async def send(part: Message) -> None:
        sent.append(part)

    door = Door(Through(_silent), opened[1])
    if fault:
        with pytest.raises(RuntimeError, match="No response returned"):
            asyncio.run(door(scope, receive, send))
    else:
        asyncio.run(door(scope, receive, send))
    assert sent == []
