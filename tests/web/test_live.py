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
    assert ready.wait(60)
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


def test_a_person_hears_only_of_what_changes_for_them(copied: Site) -> None:
    """RULE 28: the times at which others act would tell how much happens out of sight."""
    office = copied.house.row("Juniper").id
    copied.tell("POST", f"{O}/run", {"days": 4, "paused": True})
    keys = {p: copied.tell("POST", f"{O}/people/{p}/keys", status=201)["key"] for p in ("elena", "dev")}

    def follow(person: str, last: str = "") -> Any:
        headers = {"last-event-id": last} if last else {}
        return copied.client(keys[person]).stream("GET", f"/offices/{office}/as/{person}/live", headers=headers)

    with follow("dev") as dev, follow("elena") as elena:
        hears, also = Heard(dev), Heard(elena)
        ((mark, before),) = hears.take(1, "changed")
        also.take(1, "changed")
        private = {"tool": "save", "arguments": {"path": "Notes/private.md", "text": "mine"}, "key": "a"}
        copied.tell("POST", f"/offices/{office}/as/elena/acts", private, keys["elena"], 202)
        ((_, seen),) = also.take(1, "changed")
        told = {"tool": "post_message", "arguments": {"to": "room-general", "text": "all"}, "key": "b"}
        copied.tell("POST", f"/offices/{office}/as/elena/acts", told, keys["elena"], 202)
        ((after, now),) = hears.take(1, "changed")
    assert before["sees"] == now["sees"], "of the private note he was told nothing: his first news is the message"
    assert mark != after and seen["sees"]["files"] > 0
    with follow("dev", after) as dev:
        copied.tell("POST", f"/offices/{office}/as/elena/acts", {**private, "key": "c"}, keys["elena"], 202)
        told["key"] = "d"
        copied.tell("POST", f"/offices/{office}/as/elena/acts", told, keys["elena"], 202)
        assert Heard(dev).take(1, "changed")[0][0] not in (mark, after), "resumed: what was known is not told again"


def test_a_key_that_is_taken_back_ends_what_it_follows(copied: Site) -> None:
    office = copied.house.row("Juniper").id
    copied.tell("POST", f"{O}/run", {"days": 4, "paused": True})
    given = copied.tell("POST", f"{O}/people/dev/keys", status=201)
    with copied.client(given["key"]).stream("GET", f"/offices/{office}/as/dev/live") as answer:
        heard = Heard(answer)
        heard.take(1, "changed")
        copied.tell("DELETE", f"{O}/keys/{given['id']}")
        told = {"tool": "post_message", "arguments": {"to": "room-general", "text": "all"}}
        copied.tell("POST", f"{O}/as/elena/acts", told, status=202)
        with pytest.raises(AssertionError, match="ended"):
            heard.take(1, "changed")
