"""Who may ask for what: the operator's key, people's keys, hosts and origins."""

from __future__ import annotations

import socket
import stat
from pathlib import Path

import httpx
import pytest

from orchestrator.web.delivering import disposition
from orchestrator.web.errors import NOT_THERE
from orchestrator.web.guard import Hosts
from orchestrator.web.keys import Keys
from simulator.errors import StorageError, UnknownReference
from tests.web.support import OPERATOR_KEY, Site, site

O = "/offices/Juniper"  # noqa: E741 - the address that every question here begins with


@pytest.fixture
def juniper(copied: Site) -> str:
    """Juniper's id."""
    return copied.house.row("Juniper").id


def _key(one: Site, person: str) -> str:
    return str(one.tell("POST", f"{O}/people/{person}/keys", status=201)["key"])


def test_without_a_key_or_with_a_wrong_one_nothing_is_told(watched: Site) -> None:
    for key in ("", "wrong", OPERATOR_KEY[:-1], OPERATOR_KEY.upper()):
        for path in ("/offices", O, f"{O}/as/elena", "/me", "/openapi.json", "/nothing"):
            words = watched.refused(path, 401, key)
            assert "Juniper" not in words
    answer = watched.client("").get("/offices")
    assert answer.headers["www-authenticate"].startswith("Bearer")
    other = httpx.get(f"{watched.url}/api/v1/offices", headers={"authorization": f"Basic {OPERATOR_KEY}"})
    assert other.status_code == 401


def test_on_the_loopback_without_a_token_whoever_asks_is_the_operator(tmp_path: Path) -> None:
    with site(tmp_path / "home", token="") as one:
        assert one.ask("/me", "")["operator"] is True
        one.refused("/me", 401, "wrong")
        stale = httpx.get(f"{one.url}/api/v1/me", headers={"cookie": "officetown_key=of-yesterday"})
        assert stale.json()["operator"] is True


def test_a_persons_key_opens_their_own_view_and_nothing_else(copied: Site, juniper: str) -> None:
    """Issue 5: a person's token used for another person. Not there and not yours look the same."""
    key = _key(copied, "elena")
    assert copied.ask("/me", key) == {"operator": False, "office": juniper, "person": "elena"}
    assert copied.ask(f"/offices/{juniper}/as/elena", key)["id"] == "elena"
    said = {
        copied.refused(f"/offices/{office}/as/{person}{rest}", 404, key)
        for office, person in (
            (juniper, "daniel"), (juniper, "nobody"), ("Juniper", "elena"), (juniper[:6], "elena"), ("none", "elena"),
        )
        for rest in ("", "/files", "/files/x/versions/1/content", "/rooms/x/messages", "/mail/x", "/memory", "/acts/k")
    }  # fmt: skip
    said |= {
        copied.refused(f"/offices/{juniper}/as/elena/{rest}", 404, key)
        for rest in ("mail/x", "files/x", "rooms/x/messages")
    }
    assert said == {NOT_THERE}


def test_a_persons_key_opens_nothing_of_the_operators(copied: Site, juniper: str) -> None:
    key = _key(copied, "elena")
    for name in (juniper, "none"):
        for rest in (
            "",
            "/state",
            "/events",
            "/events/live",
            "/files",
            "/costs",
            "/health",
            "/why?ref=x",
            "/run",
            "/keys",
        ):
            assert "for the operator" in copied.refused(f"/offices/{name}{rest}", 403, key)
    for path in ("/offices", "/jobs", "/packages"):
        copied.refused(path, 403, key)
    for method, path in (("POST", "run"), ("PUT", "run"), ("DELETE", "run"), ("POST", "forks"), ("POST", "snapshots")):
        copied.refused(f"/offices/{juniper}/{path}", 403, key, method, json={"days": 1, "at": "1"})
    copied.refused(f"/offices/{juniper}/people/elena/keys", 403, key, "POST")
    copied.refused("/offices", 403, key, "POST", json={"package": "juniper"})


def test_a_person_sees_no_past(copied: Site, juniper: str) -> None:
    """RULE 27: what was taken back from them would come back with it."""
    key = _key(copied, "elena")
    for at in ("1", "2026-01-05", str(copied.ask(O)["head"])):
        assert "past" in copied.refused(f"/offices/{juniper}/as/elena/files?at={at}", 403, key)


def test_a_persons_answers_name_no_revision(copied: Site, juniper: str) -> None:
    """RULE 8: an office-wide counter would tell how much happened out of sight."""
    key = _key(copied, "elena")
    for rest in ("", "/files", "/rooms", "/requests", "/delegations", "/notices", "/meetings"):
        assert '"head"' not in copied.client(key).get(f"/offices/{juniper}/as/elena{rest}").text
    for line in copied.every(f"/offices/{juniper}/as/elena/delegations", key):
        shown = copied.ask(f"/offices/{juniper}/as/elena/delegations/{line['id']}", key)
        assert {r["revision"] for r in shown["rounds"]} == {0}


def test_a_key_is_taken_back_and_outlives_a_restart(copied: Site, juniper: str) -> None:
    key, other = _key(copied, "elena"), _key(copied, "daniel")
    home = copied.house.settings.home
    again = Keys(OPERATOR_KEY, home / "keys.json", lambda: 0)
    found = again.caller(key)
    assert found is not None and (found.office, found.person) == (juniper, "elena")
    stored = (home / "keys.json").read_text()
    assert key not in stored and stat.S_IMODE((home / "keys.json").stat().st_mode) == 0o600
    (mine,) = [k for k in copied.ask(f"{O}/keys") if k["person"] == "elena"]
    copied.tell("DELETE", f"{O}/keys/{mine['id']}")
    copied.refused("/me", 401, key)
    assert copied.ask("/me", other)["person"] == "daniel"
    copied.refused(f"{O}/keys/{mine['id']}", 404, method="DELETE")
    copied.refused(f"{O}/people/nobody/keys", 404, method="POST")


def test_keys_that_cannot_be_read_are_said(tmp_path: Path) -> None:
    (tmp_path / "keys.json").write_text("{")
    with pytest.raises(StorageError, match="keys"):
        Keys("", tmp_path / "keys.json", lambda: 0)
    with pytest.raises(UnknownReference):
        Keys("", tmp_path / "other.json", lambda: 0).revoke("o", "k")


def test_a_browser_gets_a_cookie_for_its_key(copied: Site) -> None:
    key = _key(copied, "elena")
    with httpx.Client(base_url=f"{copied.url}/api/v1") as browser:
        assert browser.post("/session", json={"key": "wrong"}).status_code == 403
        answer = browser.post("/session", json={"key": key})
        cookie = answer.headers["set-cookie"]
        assert "HttpOnly" in cookie and "SameSite=strict" in cookie
        assert browser.get("/me").json()["person"] == "elena"
        assert browser.get("/me", headers={"authorization": "Bearer wrong"}).status_code == 401


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "", "10.0.0.1", "127.0.0.1.evil.example", "a@b", "[::1"]
)
def test_another_host_is_refused_on_the_loopback(watched: Site, host: str) -> None:
    """DNS rebinding: a page whose name was made to point here brings its own name along."""
    answer = watched.client().get("/offices", headers={"host": host})
    assert answer.status_code in (400, 421) and "Juniper" not in answer.text


def test_two_hosts_are_refused(watched: Site) -> None:
    port = int(watched.url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port)) as raw:
        raw.sendall(
            b"GET /api/v1/offices HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nConnection: close\r\n\r\n"
        )
        assert raw.recv(100).split()[1] in (b"400", b"421")


def test_beyond_the_loopback_an_address_in_digits_will_do_and_a_strange_name_will_not() -> None:
    hosts = Hosts("0.0.0.0", ("town.example",))
    assert all(hosts.allows(h) for h in ("192.168.1.7:8321", "[2001:db8::1]:80", "localhost", "TOWN.example:1"))
    assert not any(hosts.allows(h) for h in ("evil.example", "", "town.example.evil.example", "x:y:z"))
    local = Hosts("127.0.0.1")
    assert all(local.allows(h) for h in ("127.0.0.1:1", "localhost:99", "[::1]:5", "127.0.0.2"))
    assert not any(local.allows(h) for h in ("192.168.1.7", "town.example"))


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"}, {"origin": "null"}, {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"}, {"origin": "http://127.0.0.1:1"}, {"origin": "http://[bad"}, {"origin": ""},
    ],
)  # fmt: skip
def test_a_page_of_another_site_changes_nothing(watched: Site, headers: dict[str, str]) -> None:
    answer = watched.client().put(f"{O}/run", json={"paused": True}, headers=headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "origin")


def test_pages_of_this_site_may(watched: Site) -> None:
    for headers in ({"origin": watched.url}, {"sec-fetch-site": "same-origin", "origin": watched.url}, {}):
        answer = watched.client().put(f"{O}/run", json={"paused": True}, headers=headers)
        assert answer.json()["error"]["code"] == "conflict", "it does not run: the door let the call pass"


def test_a_form_is_no_json(watched: Site) -> None:
    """A page of another site can send forms and plain text without asking; neither is taken."""
    for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
        answer = watched.client().put(f"{O}/run", content=b'{"paused":true}', headers={"content-type": kind})
        assert answer.status_code == 415
    for body in (b"{", b"[]", b'{"paused":1}', b'{"unknown":1}', b"\xff", b"[" * 100_000):
        answer = watched.client().put(f"{O}/run", content=body, headers={"content-type": "application/json"})
        assert answer.status_code == 422
    large = watched.client().put(f"{O}/run", content=b" " * 1_100_000, headers={"content-type": "application/json"})
    assert large.status_code == 415


@pytest.mark.parametrize(
    "name",
    ["a.txt", 'x"; filename="y.html', "<script>alert(1)</script>.html", "..", "a/b\\c", "\r\nSet-Cookie: a=b", "\u202exls.exe",
     "L\u00f6hne \u20ac.xlsx", "x" * 500, "", "%00", "\ud800"],
)  # fmt: skip
def test_no_file_name_gets_out_of_its_header(name: str) -> None:
    said = disposition(name)
    assert said.startswith('attachment; filename="') and said.isascii() and "\r" not in said and "\n" not in said
    assert said.count('"') == 2 and len(said) < 2_000
