"""What happens, as it happens: server-sent events that can be resumed where they broke off."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import httpx
import msgspec
import pytest

from orchestrator.web import live
from tests.web.support import OPERATOR_KEY, Site
from tests.web.test_steering import O, until


class Heard:
    """One stream of events, read by hand."""

    def __init__(self, answer: httpx.Response) -> None:
        self._lines = answer.iter_lines()

    def __iter__(self) -> Iterator[tuple[str, str, Any]]:
        """Yield (kind, id, data) of each event."""
        kind, number, data = "", "", ""
        for line in self._lines:
            if not line:
                if data:
                    yield kind, number, msgspec.json.decode(data)
                kind, number, data = "", "", ""
            elif line.startswith("id: "):
                number = line[4:]
            elif line.startswith("event: "):
                kind = line[7:]
            elif line.startswith("data: "):
                data += line[6:]

    def take(self, count: int, kind: str = "event") -> list[tuple[str, Any]]:
        """Return the next events of a kind, as (id, data)."""
        found: list[tuple[str, Any]] = []
        for what, number, data in self:
            if what == kind:
                found.append((number, data))
                if len(found) == count:
                    return found
        raise AssertionError("the stream ended")


def _follow(one: Site, query: str = "", **headers: str) -> Any:
    said = {name.replace("_", "-"): value for name, value in headers.items()}
    return one.client().stream("GET", f"{O}/events/live{query}", headers=said)


def test_a_stream_is_the_log_and_is_resumed_where_it_broke_off(watched: Site) -> None:
    head = watched.ask(O)["head"]
    with _follow(watched, f"?after={head - 40}") as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        first = Heard(answer).take(15)
    assert [int(number) for number, _ in first] == list(range(head - 39, head - 24))
    with _follow(watched, f"?after={head - 40}", last_event_id=first[-1][0]) as answer:
        rest = Heard(answer).take(25)
    assert [int(number) for number, _ in rest] == list(range(head - 24, head + 1))
    stored = watched.ask(f"{O}/events", after=head - 40, limit=40)["events"]
    assert [data for _, data in (*first, *rest)] == stored


def test_a_stream_of_some_kinds_passes_over_the_others_and_its_ids_go_on(watched: Site) -> None:
    wanted = watched.ask(f"{O}/events?after=0&kinds=mail&limit=500")["events"]
    with _follow(watched, "?after=0&kinds=mail") as answer:
        heard = Heard(answer).take(len(wanted))
    assert [data for _, data in heard] == wanted


def test_it_begins_with_how_the_office_stands(watched: Site) -> None:
    with _follow(watched) as answer:
        ((_, clock),) = Heard(answer).take(1, "clock")
    assert clock["state"] == "still"


@pytest.mark.parametrize("said", ["x", "-1", "\u0662", "9" * 30, ""])
def test_a_last_id_that_is_none_is_passed_over(watched: Site, said: str) -> None:
    head = watched.ask(O)["head"]
    raw = [(b"last-event-id", said.encode()), (b"authorization", f"Bearer {OPERATOR_KEY}".encode())]
    with httpx.stream("GET", f"{watched.url}/api/v1{O}/events/live?after={head - 1}", headers=raw) as answer:
        assert answer.status_code == 200
        assert Heard(answer).take(1)[0][0] == str(head)


def test_whoever_is_far_behind_loads_the_state_anew(watched: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A laptop that was closed for a month: the page catches up."""
    monkeypatch.setattr(live, "FAR", 100)
    with _follow(watched, last_event_id="3") as answer:
        ((number, reset),) = Heard(answer).take(1, "reset")
    assert number == str(reset["revision"]) == str(watched.ask(O)["head"])


def test_a_running_office_is_followed_and_its_clock_too(copied: Site) -> None:
    head = copied.ask(O)["head"]
    kinds: list[str] = []
    revisions: list[int] = []
    clocks: list[dict[str, Any]] = []
    ready = threading.Event()

    def follow() -> None:
        with _follow(copied) as answer:
            for kind, number, data in Heard(answer):
                kinds.append(kind)
                if kind == "clock":
                    clocks.append(data)
                    ready.set()
                    if data["state"] == "ended":
                        return
                elif number:
                    revisions.append(int(number))

    thread = threading.Thread(target=follow)
    thread.start()
    assert ready.wait(20)
    copied.tell("POST", f"{O}/run", {"days": 3, "speed": "max"})
    thread.join(90)
    assert not thread.is_alive()
    assert revisions[0] == head + 1 and revisions == sorted(set(revisions))
    assert clocks[0]["state"] == "still" and clocks[-1]["state"] == "ended"
    versions = [clock["version"] for clock in clocks]
    assert versions == sorted(set(versions))


def test_streams_are_counted_bounded_and_let_go(watched: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "MOST_STREAMS", 0)
    watched.refused(f"{O}/events/live", 409)
    monkeypatch.setattr(live, "MOST_STREAMS", 3)
    until(lambda: watched.client().get(f"{O}/events").status_code == 200)
    for _ in range(8):
        with _follow(watched) as answer:
            Heard(answer).take(1, "clock")

    def let_go() -> bool:
        with watched.client().stream("GET", f"{O}/events/live") as answer:
            return answer.status_code == 200

    until(let_go)


def test_an_office_that_is_removed_ends_its_streams(copied: Site) -> None:
    with _follow(copied) as answer:
        heard = Heard(answer)
        heard.take(1, "clock")
        copied.house.offices.remove(copied.house.row("Juniper").id)
        assert heard.take(1, "end")
    copied.refused(f"{O}/state", 404)
    assert copied.ask("/offices") == []
