"""A calendar server that is down, slow, refuses, or breaks off after it did what it was asked: one copy, in the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from services.carriers.caldav import BAIKAL, CalDav
from services.carriers.caldav.client import Dav, Server
from simulator.arriving import EntryArrived
from simulator.errors import CarrierError, WorkFailed
from tests.carriers.calendar.cast import DAY, MONDAY, PEOPLE, Desk, at, entries, ics, out, password_of
from tests.carriers.standins.proxy import Fault, Proxy

OURS = "elena.1.1@juniper-1.officetown.ics"
LATER = "Wed, 21 Oct 2026 07:28:00 GMT"


@pytest.fixture
def proxy(desk: Desk) -> Iterator[Proxy]:
    with Proxy(desk.url) as made:
        yield made


def until_done(work: Callable[[], object], tries: int = 40) -> int:
    """Do as the outbox does: try again until it works; return how often it did not."""
    for failed in range(tries):
        try:
            work()
        except CarrierError as fault:
            assert str(fault).startswith("the calendar server at 127.0.0.1:")
            assert "secret of" not in str(fault), "a password is nobody's to read"
        else:
            return failed
    raise AssertionError("it never got through")


FAULTS = {
    "500": Fault("status", status=500),
    "502 with a page": Fault("status", status=502),
    "503": Fault("status", status=503, headers={"Retry-After": "5"}),
    "429 with seconds": Fault("status", status=429, headers={"Retry-After": "3"}),
    "429 with a date": Fault("status", status=429, headers={"Retry-After": LATER}),
    "429 with a past date": Fault("status", status=429, headers={"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}),
    "sent elsewhere": Fault("status", status=302, headers={"Location": "/other/"}),
    "200 with a page": Fault("status", status=200),
    "207 with rubbish": Fault("status", status=207, body="<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>"),
    "broken before": Fault("refuse"),
    "broken after": Fault("drop"),
}


@pytest.mark.parametrize("name", [n for n in FAULTS if not n.startswith("20")])
@pytest.mark.parametrize("method", ["GET", "PUT", "PROPFIND"])
def test_every_fault_ends_in_one_copy(desk: Desk, proxy: Proxy, name: str, method: str) -> None:
    carrier = desk.through(proxy.url)
    proxy.add(Fault(**{**FAULTS[name].__dict__, "methods": (method,), "times": 2}))
    assert until_done(lambda: carrier.put(out())) == 2
    assert [desk.names(user) for user in ("elena", "tom", "maya")] == [[OURS]] * 3
    assert not desk.carrier.poll("").arrivals


def test_a_limit_is_named_with_the_servers_own_words(desk: Desk, proxy: Proxy) -> None:
    proxy.fail(429, Retry_After=LATER)
    with pytest.raises(CarrierError, match=f"asks to wait.*{LATER}"):
        desk.through(proxy.url).put(out())


def test_a_server_that_takes_too_long_is_asked_again(desk: Desk, proxy: Proxy) -> None:
    carrier = desk.through(proxy.url, timeout=1)
    proxy.slow(20, methods=("PUT",))
    with pytest.raises(CarrierError, match="PUT .*Timeout"):
        carrier.put(out())
    proxy.calm()
    until_done(lambda: desk.carrier.put(out()))
    assert [desk.names(user) for user in ("elena", "tom", "maya")] == [[OURS]] * 3


def test_nobody_listening_is_said(desk: Desk) -> None:
    with Proxy(desk.url) as gone:
        url = gone.url
    with pytest.raises(CarrierError, match="cannot be reached.*ConnectError"):
        desk.through(url).put(out())
    with pytest.raises(CarrierError, match="cannot be reached"):
        desk.through(url).poll("")


def test_a_restarted_server_goes_on(desk: Desk) -> None:
    desk.carrier.put(out())
    cursor = desk.carrier.poll("").cursor
    desk.radicale.close()
    with pytest.raises(CarrierError):
        desk.carrier.put(out(11, start=at("2026-01-09")))
    carrier = desk.through(desk.radicale.start().url)
    carrier.put(out(11, start=at("2026-01-09")))
    assert "20260109T100000" in carrier.dav.get("tom", f"/tom/office-2026/{OURS}").text  # type: ignore[union-attr, operator]
    assert not carrier.poll(cursor).arrivals


@pytest.mark.parametrize("name", list(FAULTS))
def test_a_poll_that_fails_loses_nothing(desk: Desk, proxy: Proxy, name: str) -> None:
    desk.carrier.put(out())
    cursor = desk.carrier.poll("").cursor
    desk.write("elena", "a.ics", ics("F-1", "DTSTART:20260109T140000Z", "SUMMARY:Think"))
    desk.change("elena", ("20260108T100000", "20260108T090000"))
    whole = entries(desk.carrier.poll(cursor))
    carrier = desk.through(proxy.url)
    seen: dict[str, EntryArrived] = {}
    for method in ("PROPFIND", "REPORT", "REPORT"):
        proxy.add(Fault(**{**FAULTS[name].__dict__, "methods": (method,), "after": len(seen) % 2}))
        found = carrier.poll(cursor)
        cursor = found.cursor
        seen.update({a.key: a for a in entries(found)})
    proxy.calm()
    seen.update({a.key: a for a in entries(carrier.poll(cursor))})
    assert sorted(seen) == sorted(a.key for a in whole)


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.lists(st.tuples(st.sampled_from(sorted(FAULTS)), st.integers(0, 12)), max_size=6), st.integers(1, 10**6))
def test_many_events_over_a_bad_line_arrive_once_and_in_their_last_state(
    desk: Desk, faults: list[tuple[str, int]], run: int
) -> None:
    """RELIABILITY, commit and recovery 8: counts at the other side equal what left, whatever failed in between."""
    names = [f"elena.{run}.{n}" for n in range(3)]
    with Proxy(desk.url) as proxy:
        for name, after in faults:
            if not name.startswith("20"):
                proxy.add(Fault(**{**FAULTS[name].__dict__, "after": after}))
        carrier = desk.through(proxy.url)
        for sequence in range(6):
            name = names[sequence % 3]
            state = out(run * 10 + sequence, name=name, start=MONDAY + sequence * DAY, attendees=("tom",))
            until_done(lambda state=state: carrier.put(state))  # type: ignore[misc]
    for n, name in enumerate(names):
        for user in ("elena", "tom"):
            assert desk.names(user).count(f"{name}@juniper-1.officetown.ics") == 1
            found = desk.carrier._reader(desk.text(user, f"{name}@juniper-1.officetown.ics"))
            assert found.essence.start == MONDAY + (n + 3) * DAY  # type: ignore[union-attr]


def test_what_the_server_refuses_for_good_is_refused_once_all_others_have_it(desk: Desk, proxy: Proxy) -> None:
    proxy.fail(415, methods=("PUT",))
    with pytest.raises(WorkFailed, match="refuses the event for elena"):
        desk.through(proxy.url).put(out())
    assert [desk.names(user) for user in ("elena", "tom", "maya")] == [[], [OURS], [OURS]]


@pytest.mark.parametrize("status", [403, 405])
def test_a_server_whose_rights_are_set_up_wrongly_refuses_nothing_for_good(
    desk: Desk, proxy: Proxy, status: int
) -> None:
    proxy.fail(status, methods=("PUT",))
    carrier = desk.through(proxy.url)
    assert until_done(lambda: carrier.put(out())) == 1
    words = '<d:error xmlns:d="DAV:"><c:valid-calendar-data xmlns:c="urn:ietf:params:xml:ns:caldav"/></d:error>'
    proxy.add(Fault("status", status=status, body=words, methods=("PUT",)))
    with pytest.raises(WorkFailed, match="valid-calendar-data"):
        carrier.put(out(11, name="elena.1.2"))


def test_whoever_changes_a_copy_between_our_reading_and_writing_is_not_overwritten(desk: Desk) -> None:
    """Read, compare, write on condition: the change is seen, and kept to be told."""
    desk.carrier.put(out())
    cursor = desk.carrier.poll("").cursor
    carrier = desk.through(desk.url)
    real = carrier.dav.put
    raced: list[str] = []

    def racing(user: str, path: str, body: bytes, etag: str | None) -> str:
        if user == "elena" and not raced:
            raced.append(user)
            desk.change("elena", ("20260108T100000", "20260108T110000"), ("20260108T104500", "20260108T114500"))
        return real(user, path, body, etag)

    carrier.dav.put = racing  # type: ignore[method-assign, assignment]
    carrier.put(out(11, answers=(("tom", "accepted"),)))
    (late,) = entries(desk.carrier.poll(cursor))
    assert raced and (late.person, late.change, late.start) == ("elena", "moved", at("2026-01-08", "11:00"))
    assert "PARTSTAT=ACCEPTED" in desk.text("elena")


def test_a_copy_that_never_holds_still_is_left_for_later(desk: Desk) -> None:
    desk.carrier.put(out())
    desk.carrier.dav.put = lambda *_: "changed"  # type: ignore[method-assign]
    with pytest.raises(CarrierError, match="keeps changing"):
        desk.carrier.put(out(11, title="x"))


def test_a_server_without_whole_calendars_is_seeded_one_by_one(desk: Desk, proxy: Proxy) -> None:
    proxy.add(Fault("status", status=405, methods=("PUT",), times=1))
    assert desk.through(proxy.url).seed([out(10), out(11, name="elena.1.2", start=at("2026-02-02"))]) == 6
    assert len(desk.names("elena")) == len(desk.names("tom")) == 2


def test_a_seeding_that_broke_off_goes_on(desk: Desk, proxy: Proxy) -> None:
    states = [out(n + 1, name=f"elena.{n}.1", start=MONDAY + n * DAY) for n in range(8)]
    proxy.drop(2, methods=("PUT",))
    carrier = desk.through(proxy.url)
    assert until_done(lambda: carrier.seed(states)) == 2
    assert [len(desk.names(user)) for user in ("elena", "tom", "maya")] == [8, 8, 8]
    assert not desk.carrier.poll("").arrivals


# -- answers of other servers than Radicale ---------------------------------------------------------------------------


def scripted(handler: Callable[[httpx.Request], httpx.Response]) -> Dav:
    return Dav(httpx.Client(transport=httpx.MockTransport(handler)), Server("http://127.0.0.1:1/dav"), password_of)


def test_a_long_list_of_changes_is_read_to_its_end() -> None:
    """RFC 6578: a server may cut its list, and says so with 507 for the collection itself."""

    def answer(request: httpx.Request) -> httpx.Response:
        second = b"<d:sync-token>1</d:sync-token>" in request.content
        name, token = ("b.ics", "2") if second else ("a.ics", "1")
        more = (
            ""
            if second
            else "<d:response><d:href>/dav/tom/c/</d:href><d:status>HTTP/1.1 507 No</d:status></d:response>"
        )
        return httpx.Response(207, text=(
            f'<?xml version="1.0"?><d:multistatus xmlns:d="DAV:"><d:response><d:href>http://h/dav/tom/c/{name}</d:href>'
            f"<d:propstat><d:prop><d:getetag>\"1\"</d:getetag></d:prop><d:status>HTTP/1.1 200 OK</d:status></d:propstat>"
            f"</d:response>{more}<d:sync-token>{token}</d:sync-token></d:multistatus>"
        ))  # fmt: skip

    changes = scripted(answer).changes("tom", "/dav/tom/c/", "")
    assert changes.changed == ("a.ics", "b.ics") and changes.token == "2"


def test_an_answer_without_end_is_cut_off() -> None:
    def answer(_: httpx.Request) -> httpx.Response:
        return httpx.Response(207, content=(b"x" * 1_000_000 for _ in range(100)))

    with pytest.raises(CarrierError, match="more than"):
        scripted(answer).changes("tom", "/dav/tom/c/", "")


def test_a_resource_that_is_no_xml_is_asked_for_by_itself() -> None:
    """A server that passes on what XML cannot hold must not hide everybody else's events."""

    def answer(request: httpx.Request) -> httpx.Response:
        if request.method == "REPORT":
            return httpx.Response(207, text="<multistatus><broken")
        if "huge" in request.url.path:
            return httpx.Response(200, content=(b"x" * 1_000_000 for _ in range(100)))
        return httpx.Response(200, text="BEGIN:VCALENDAR", headers={"ETag": '"7"'})

    found = list(scripted(answer).fetch("tom", "/dav/tom/c/", ["a.ics", "huge.ics"]))
    assert [(f.path, f.text) for f in found] == [("/dav/tom/c/a.ics", "BEGIN:VCALENDAR"), ("/dav/tom/c/huge.ics", None)]


def test_the_paths_of_a_server_are_a_setting() -> None:
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(f"{request.method} {request.url.raw_path.decode()}")
        return httpx.Response(404 if request.method == "PROPFIND" else 201)

    http = httpx.Client(transport=httpx.MockTransport(answer))
    CalDav(http, BAIKAL, PEOPLE, password_of, lambda: MONDAY).put(out(attendees=()))
    assert asked == [
        "PROPFIND /dav.php/calendars/elena/",
        "PUT /dav.php/calendars/elena/default/elena.1.1@juniper-1.officetown.ics",
    ]
