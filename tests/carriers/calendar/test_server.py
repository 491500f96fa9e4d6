"""Radicale inside this process: started, asked, closed, as often as wanted."""

from __future__ import annotations

import socket
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import msgspec
import pytest

from services.carriers.caldav import CalDav, Server
from services.carriers.radicale import RadicaleServer
from simulator.carrying import Account
from simulator.errors import CarrierError, UsageError
from tests.carriers.calendar.cast import MONDAY, PEOPLE, Desk, out, password_of


def running(folder: Path) -> RadicaleServer:
    server = RadicaleServer(folder / "calendars", durable=False)
    server.admit(PEOPLE, password_of)
    return server


def status(url: str, user: str = "", password: str = "") -> int:
    with httpx.Client(trust_env=False) as http:
        return http.request(
            "PROPFIND", url, auth=(user, password) if user else None, headers={"Depth": "0"}
        ).status_code


def test_it_answers_those_it_admits_and_nobody_else(tmp_path: Path) -> None:
    with running(tmp_path) as server:
        assert status(f"{server.url}/tom/", "tom", password_of("tom")) == 207
        assert status(f"{server.url}/tom/") == 401
        assert status(f"{server.url}/tom/", "tom", "secret of maya") == 401
        assert status(f"{server.url}/tom/", "maya", password_of("maya")) == 403
        assert status(f"{server.url}/cora/", "cora", password_of("cora")) == 401, "clients have no calendar here"
        assert httpx.get(f"{server.url}/.web", trust_env=False, follow_redirects=True).text == "Radicale works!"


def test_passwords_lie_where_their_owner_alone_reads_them(tmp_path: Path) -> None:
    with running(tmp_path) as server:
        assert stat.S_IMODE((server.folder / "users").stat().st_mode) == 0o600
        assert stat.S_IMODE(server.folder.stat().st_mode) == 0o700


def test_whoever_joins_is_admitted_while_it_runs(tmp_path: Path) -> None:
    """The carrier's `provision` admits first, so a new colleague needs nothing by hand."""
    zed = Account("zed", "Zed", "zed", "zed@juniper.example")
    more = msgspec.structs.replace(PEOPLE, accounts=(*PEOPLE.accounts, zed))
    with running(tmp_path) as server, httpx.Client(trust_env=False) as http:
        assert status(f"{server.url}/zed/", "zed", password_of("zed")) == 401
        carrier = CalDav(http, Server(server.url), PEOPLE, password_of, lambda: MONDAY,
                         admit=lambda people: server.admit(people, password_of))  # fmt: skip
        carrier.provision(more)
        carrier.put(out(attendees=("zed",)))
        assert list(carrier.dav.calendars("zed")) == ["/zed/office-2026/"]


@pytest.mark.parametrize(
    ("username", "password"), [("a:b", "x"), ("../x", "x"), ("", "x"), ("ok", ""), ("ok", "a\nevil:x")]
)
def test_a_name_or_password_that_would_break_the_list_is_refused(tmp_path: Path, username: str, password: str) -> None:
    people = msgspec.structs.replace(PEOPLE, accounts=(Account("p", "P", username, "p@x.example"),))
    with pytest.raises(UsageError, match="cannot have an account"):
        RadicaleServer(tmp_path).admit(people, lambda _: password)


def test_what_was_written_is_there_after_a_restart(tmp_path: Path) -> None:
    with Desk(tmp_path) as desk:
        desk.carrier.put(out())
        before = desk.text("tom")
        desk.radicale.close()
        desk.radicale.start()
        desk.url = desk.radicale.url
        desk.carrier = desk.through(desk.url)
        assert desk.text("tom") == before


def test_starting_and_closing_twice_does_no_harm(tmp_path: Path) -> None:
    server = running(tmp_path)
    server.close()
    assert server.start() is server.start()
    server.close()
    server.close()
    with pytest.raises(UsageError, match="not running"):
        _ = server.url


def test_closing_leaves_no_thread_and_hangs_on_nobody(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    server = running(tmp_path).start()
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as silent:
        silent.sendall(b"PUT /tom/x HTTP/1.0\r\nContent-Length: 100\r\n\r\nhalf")
        assert status(f"{server.url}/tom/", "tom", password_of("tom")) == 207
        server.close()
    assert not {t for t in set(threading.enumerate()) - before if t.is_alive()}
    with pytest.raises(OSError, match="refused"):
        socket.create_connection((host, int(port)), timeout=2)


def test_a_port_that_is_taken_is_said(tmp_path: Path) -> None:
    with running(tmp_path) as server:
        port = int(server.url.rpartition(":")[2])
        with pytest.raises(CarrierError, match=f"cannot listen on 127.0.0.1:{port}"):
            RadicaleServer(tmp_path / "other", port=port).start()


def test_many_people_ask_at_once(tmp_path: Path) -> None:
    with running(tmp_path) as server, ThreadPoolExecutor(24) as pool:
        users = ["elena", "tom", "maya"] * 12
        found = list(pool.map(lambda user: status(f"{server.url}/{user}/", user, password_of(user)), users))
    assert found == [207] * 36


def test_two_servers_side_by_side_do_not_know_each_other(tmp_path: Path) -> None:
    with Desk(tmp_path / "a") as one, Desk(tmp_path / "b") as other:
        one.carrier.put(out())
        assert one.names("tom") and not other.names("tom")
