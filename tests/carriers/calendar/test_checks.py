"""What the doctor says of a calendar server."""

from __future__ import annotations

import msgspec

from services.carriers.caldav.checks import live_check, ready_check
from services.carriers.caldav.client import Server
from simulator.carrying import Account
from tests.carriers.calendar.cast import MONDAY, PEOPLE, Desk, ics, out, password_of
from tests.carriers.standins.proxy import Proxy


def test_a_server_that_is_ready_is_said_to_be(desk: Desk) -> None:
    found = list(ready_check(desk.http, Server(desk.url), PEOPLE, password_of))
    assert [ok for _, ok, _ in found] == [True, True]
    assert "all 3" in found[-1][2]


def test_what_is_missing_is_named(desk: Desk) -> None:
    zed = Account("zed", "Zed", "zed", "zed@juniper.example")
    more = msgspec.structs.replace(PEOPLE, accounts=(*PEOPLE.accounts, zed))
    assert [f for f in ready_check(desk.http, Server(desk.url), more, password_of) if not f[1]][0][2].count("zed") == 1
    desk.radicale.admit(more, password_of)
    (fault,) = [f for f in ready_check(desk.http, Server(desk.url), more, password_of) if not f[1]]
    assert "1 of 4 have none yet, the first is zed" in fault[2]


def test_nobody_there_and_something_else_there_are_told_apart(desk: Desk) -> None:
    with Proxy(desk.url) as proxy:
        url = proxy.url
        proxy.fail(200, methods=("OPTIONS",))
        (other,) = ready_check(desk.http, Server(url), PEOPLE, password_of)
        assert not other[1] and "no CalDAV server" in other[2]
    (gone,) = ready_check(desk.http, Server(url), PEOPLE, password_of)
    assert not gone[1] and "cannot be reached" in gone[2]


def test_the_live_check_leaves_nothing_behind(desk: Desk) -> None:
    desk.carrier.put(out())
    desk.write("elena", "mine.ics", ics("mine@home", "DTSTART:20260110T100000Z"))
    before = {user: desk.names(user) for user in ("elena", "tom", "maya")}
    found = list(live_check(desk.http, Server(desk.url), PEOPLE, password_of, lambda: MONDAY))
    assert [name for name, ok, _ in found if ok] == [
        "calendar: make",
        "calendar: write",
        "calendar: read back",
        "calendar: poll",
    ]
    assert {user: desk.names(user) for user in ("elena", "tom", "maya")} == before


def test_the_live_check_says_what_failed(desk: Desk) -> None:
    with Proxy(desk.url) as proxy:
        proxy.fail(500, times=9, methods=("PUT",))
        found = list(live_check(desk.http, Server(proxy.url), PEOPLE, password_of, lambda: MONDAY))
    assert found[-1][1] is False and "500" in found[-1][2]


def test_an_office_of_clients_alone_needs_no_calendar(desk: Desk) -> None:
    nobody = msgspec.structs.replace(PEOPLE, accounts=PEOPLE.accounts[:1])
    for found in (ready_check(desk.http, Server("http://127.0.0.1:1"), nobody, password_of),
                  live_check(desk.http, Server("http://127.0.0.1:1"), nobody, password_of, lambda: MONDAY)):  # fmt: skip
        assert [ok for _, ok, _ in found] == [True]
