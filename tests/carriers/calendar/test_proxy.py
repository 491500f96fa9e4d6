"""The proxy that fails on demand does what it says, or no test that uses it means anything."""

from __future__ import annotations

import httpx
import pytest

from tests.carriers.calendar.cast import Desk, password_of
from tests.carriers.standins.proxy import Proxy

TOM = ("tom", password_of("tom"))


def test_it_passes_on_and_counts(desk: Desk) -> None:
    with Proxy(desk.url) as proxy, httpx.Client(base_url=proxy.url, auth=TOM, trust_env=False) as http:
        assert http.request("PROPFIND", "/tom/").status_code == 207
        assert http.get("/tom/office-2026/none.ics").status_code == 404
        state = http.get("/__state").json()
    assert state["passed"] == [["PROPFIND", "/tom/", 207], ["GET", "/tom/office-2026/none.ics", 404]]
    assert state["failed"] == state["faults"] == []


def test_faults_come_in_order_for_their_methods_and_so_often(desk: Desk) -> None:
    with Proxy(desk.url) as proxy, httpx.Client(base_url=proxy.url, auth=TOM, trust_env=False) as http:
        faults = [{"kind": "status", "status": 429, "headers": {"Retry-After": "1"}, "methods": ["GET"], "after": 1},
                  {"kind": "refuse", "methods": ["PUT"], "times": 2}]  # fmt: skip
        assert http.post("/__faults", json=faults).status_code == 204
        seen = [http.get("/tom/a.ics") for _ in range(3)]
        assert [r.status_code for r in seen] == [404, 429, 404] and seen[1].headers["retry-after"] == "1"
        for _ in range(2):
            with pytest.raises(httpx.TransportError):
                http.put("/tom/a.ics", content=b"x")
        assert http.put("/tom/a.ics", content=b"x").status_code == 400
        assert [kind for _, _, kind in proxy.failed] == ["status", "refuse", "refuse"]


def test_what_is_dropped_was_done(desk: Desk) -> None:
    with Proxy(desk.url) as proxy, httpx.Client(base_url=proxy.url, auth=TOM, trust_env=False) as http:
        proxy.drop(methods=("MKCALENDAR",))
        with pytest.raises(httpx.TransportError):
            http.request("MKCALENDAR", "/tom/new/")
        assert http.request("PROPFIND", "/tom/new/", headers={"Depth": "0"}).status_code == 207


def test_a_closed_proxy_is_gone_for_those_who_kept_their_connection_too(desk: Desk) -> None:
    with Proxy(desk.url) as proxy, httpx.Client(base_url=proxy.url, auth=TOM, trust_env=False) as http:
        assert http.request("PROPFIND", "/tom/").status_code == 207
        proxy.close()
        with pytest.raises(httpx.TransportError):
            http.request("PROPFIND", "/tom/")
