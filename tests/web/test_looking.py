"""What the operator sees through the API is what the office's record says, at any moment."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest

from orchestrator import costs as command
from orchestrator.output import Out
from orchestrator.progress import Counts
from simulator.access import can
from simulator.businesstime import calendar_for
from simulator.engine.history import as_of, walk
from simulator.events import MailSent, MessagePosted, decode
from simulator.office import Office
from simulator.records import FileRef
from tests.web.support import Site

O = "/offices/Juniper"  # noqa: E741 - the address that every question here begins with


@pytest.fixture
def office(watched: Site) -> Office:
    """Juniper as it is committed."""
    return watched.house.office(watched.house.row("Juniper"))


def test_the_list_and_one_office(watched: Site, office: Office) -> None:
    row = watched.house.row("Juniper")
    (line,) = watched.ask("/offices")
    assert (line["id"], line["name"], line["head"], line["running"]) == (row.id, "Juniper", row.head, False)
    shown = watched.ask(O)
    assert (shown["firm"], shown["head"], shown["currency"]) == ("Juniper", office.revision, "GBP")
    assert shown["now"]["at"] == office.now
    for name in (row.id, row.id[:6]):
        assert watched.ask(f"/offices/{name}") == shown
    assert shown["runs"][0]["models"]["principal"] == "offline"


def test_the_state_as_of_a_revision_a_date_or_a_time_is_the_fold_of_the_log_up_to_there(watched: Site) -> None:
    """DESIGN 3."""
    log = watched.house.offices.read(watched.house.row("Juniper").id)
    for revision in (1, 77, 160, 300, log.head):
        then = as_of(log, revision)
        floor = watched.ask(f"{O}/state", at=revision)
        assert (floor["revision"], floor["now"]["at"]) == (revision, then.now)
        assert {p["id"]: p["activation"] for p in floor["people"]} == {p: then.busy.get(p, "") for p in then.people}
        assert floor["counts"]["files"] == len(then.files)
        assert {r["id"] for r in floor["running"]} == set(then.running)
    last = calendar_for(as_of(log).calendar)
    end = watched.ask(f"{O}/state", at="2026-01-05")
    assert last.day(end["now"]["at"]) == "2026-01-05"
    assert decode(next(data for _, data in log.events(end["revision"]))).sim_time >= last.at("2026-01-06", 0)
    assert watched.ask(f"{O}/state") == watched.ask(f"{O}/state", at=log.head)


def test_days_cover_the_log_without_a_gap(watched: Site, office: Office) -> None:
    days = watched.ask(f"{O}/days")
    assert days[0]["first"] == 1 and days[-1]["last"] == office.revision
    assert all(b["first"] == a["last"] + 1 for a, b in zip(days, days[1:], strict=False))
    assert sum(d["events"] for d in days) == office.revision


def test_events_forwards_and_backwards_are_the_whole_log(watched: Site) -> None:
    log = watched.house.offices.read(watched.house.row("Juniper").id)
    stored = [(e.revision, e.actor) for e in (decode(data) for _, data in log.events())]
    forwards: list[Any] = []
    after = 0
    while after < log.head:
        part = watched.ask(f"{O}/events", after=after, limit=97)
        forwards += part["events"]
        after = part["last"]
    backwards: list[Any] = []
    before = 0
    while before != 1:
        part = watched.ask(f"{O}/events", before=before, limit=89)
        backwards = part["events"] + backwards
        before = part["first"]
    assert [(e["revision"], e["actor"]) for e in forwards] == stored
    assert forwards == backwards


def test_events_of_a_kind_an_actor_and_an_activation(watched: Site) -> None:
    log = watched.house.offices.read(watched.house.row("Juniper").id)
    events = [decode(data) for _, data in log.events()]
    mails = [e for e in events if isinstance(e.payload, MailSent)]
    posts = [e.revision for e in events if isinstance(e.payload, MailSent | MessagePosted)]
    for begin in ("after=0", "before=0"):
        shown = watched.ask(f"{O}/events?{begin}&kinds=mail,message.posted&limit=500")["events"]
        assert [e["revision"] for e in shown] == posts
    one = mails[0]
    shown = watched.ask(f"{O}/events", after=0, actor=one.actor, activation=one.activation, limit=500, payloads=True)
    assert all((e["actor"], e["activation"]) == (one.actor, one.activation) for e in shown["events"])
    paid = next(e for e in shown["events"] if e["revision"] == one.revision)["payload"]
    assert paid["mail"]["id"] == one.payload.mail.id  # type: ignore[union-attr]
    assert all(e["text"] for e in watched.ask(f"{O}/events", told=True)["events"])


def test_people_rooms_mail_and_calendar_are_all_there(watched: Site, office: Office) -> None:
    assert {p["id"] for p in watched.ask(f"{O}/people")} == set(office.people)
    for person in ("elena", "maya"):
        shown = watched.ask(f"{O}/people/{person}")
        assert shown["authority"] == list(office.people[person].authority)
        assert {c["id"] for c in shown["inbox"]} == {s.id for s in office.inboxes.get(person, ())}
    assert {r["id"]: r["messages"] for r in watched.ask(f"{O}/rooms")} == {
        r: len(office.by_room.get(r, ())) for r in office.rooms
    }
    for room in office.rooms:
        ids = [m["id"] for m in watched.every(f"{O}/rooms/{room}/messages", limit=2)]
        assert ids == list(reversed(office.by_room.get(room, ())))
    mails = watched.every(f"{O}/mail", limit=3)
    assert {m["id"] for m in mails} == set(office.mails)
    assert [m["at"]["at"] for m in mails] == sorted((m["at"]["at"] for m in mails), reverse=True)
    one = office.mails[mails[0]["id"]]
    texts = watched.parts.shelf.open("Juniper").texts
    assert watched.ask(f"{O}/mail/{one.id}")["text"] == texts(one.body)
    assert {m["id"] for m in watched.every(f"{O}/mail", person=one.sender)} == {
        m.id for m in office.mails.values() if one.sender in (m.sender, *m.to, *m.cc)
    }
    calendar = watched.ask(f"{O}/calendar", day="2026-01-05", days=7)
    assert calendar and all("2026-01-05" <= e["begins"]["local"][:10] <= "2026-01-11" for e in calendar)
    assert {m["id"] for m in watched.every(f"{O}/meetings")} == set(office.meetings)


def test_files_and_their_lineage(watched: Site, office: Office) -> None:
    assert {f["id"] for f in watched.every(f"{O}/files", limit=7)} == set(office.files)
    for file in office.files.values():
        shown = watched.ask(f"{O}/files/{file.id}")
        assert [(v["number"], v["sha256"], v["level"]) for v in shown["versions"]] == [
            (v.number, v.blob.sha256, v.level) for v in file.versions
        ]
        for version in shown["versions"]:
            for source in version["sources"]:
                other = watched.ask(f"{O}/files/{source['file']}")["versions"][source["version"] - 1]
                assert (file.id, version["number"]) in {(m["file"], m["version"]) for m in other["made_into"]}
    shared = {g["id"] for f in office.files for v in watched.ask(f"{O}/files/{f}")["versions"] for g in v["shares"]}
    assert shared == set(office.grants) | set(office.revoked)


def test_bytes_come_as_a_download_and_are_those_of_the_version(watched: Site, office: Office) -> None:
    for file in list(office.files.values())[:12]:
        answer = watched.client().get(f"{O}/files/{file.id}/versions/1/content")
        assert answer.content == watched.house.blobs.get(file.versions[0].blob.sha256)
        assert answer.headers["content-disposition"].startswith("attachment;")
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "html" not in answer.headers["content-type"]


def test_who_could_see_a_file_on_that_day_and_why(watched: Site, office: Office) -> None:
    file = next(f for f in office.files.values() if f.space.startswith("home:"))
    shown = watched.ask(f"{O}/who-can", path=file.id)
    entitled = {e["person"] for e in shown["who"] if e["copy"] is None}
    ref = FileRef(file.id, len(file.versions))
    assert entitled == {p for p in office.people if can(p, "read", ref, office).allowed}
    assert all(e["reason"] for e in shown["who"])


def test_delegations_with_their_whole_story(watched: Site, office: Office) -> None:
    lines = watched.every(f"{O}/delegations", limit=2)
    assert {d["id"] for d in lines} == set(office.delegations)
    done = next(d for d in office.delegations.values() if d.state == "accepted")
    shown = watched.ask(f"{O}/delegations/{done.id}")
    assert shown["line"]["decision"] == "accept"
    assert [r["files"] for r in shown["rounds"]][-1]
    way = watched.ask(f"{O}/delegations/{done.id}/trajectory")
    assert [s["ref"] for s in way["segments"]] == [done.id] * len(way["segments"])
    names = [t["name"] for t in way["tools"]]
    assert "bash" in names and "read" in names and "" not in names
    made = {path for t in way["tools"] for path in t["added"]}
    assert set(done.deliverables) & made, "the deliverables came into the home by some tool call"
    reviews = watched.every(f"{O}/reviews")
    assert len(reviews) == sum(1 for d in office.delegations.values() for r in d.rounds if r.review is not None)
    assert {r["id"] for r in watched.every(f"{O}/requests")} == set(office.requests)


def test_an_activation_its_conversation_memory_and_cost(watched: Site, office: Office) -> None:
    reader = watched.house.offices.read(watched.house.row("Juniper").id)
    lines = watched.every(f"{O}/activations", limit=50)
    assert [a["revision"] for a in lines] == sorted((a["revision"] for a in lines), reverse=True)
    for kind in ("principal", "client", "segment", "meeting"):
        some = watched.every(f"{O}/activations", kind=kind)
        for line in some[:3]:
            shown = watched.ask(f"{O}/activations/{line['id']}")
            calls = 0
            while reader.call(line["id"], calls + 1) is not None:
                calls += 1
            assert len(shown["calls"]) == calls > 0
            assert (shown["injected"] is not None) == (kind in ("principal", "client"))
            for session in shown["sessions"]:
                talk = watched.ask(f"{O}/activations/{line['id']}/conversation", session=session, limit=500)
                stored = reader.conversation(line["id"], session)
                assert stored is not None and talk["total"] == len(stored[0]) + 1 == len(talk["messages"])
                assert talk["messages"][0]["role"] == "system"
    cut = watched.ask(f"{O}/activations/{lines[0]['id']}/conversation", chars=10)["messages"][0]
    assert len(cut["content"]) == 10 and cut["cut"]
    early = watched.every(f"{O}/activations", at=200)
    assert early and all(a["revision"] <= 200 for a in early)


def test_numbers_and_costs_add_up(watched: Site, office: Office) -> None:
    row = watched.house.row("Juniper")
    counts = Counts()
    for event, state in walk(watched.house.offices.read(row.id)):
        counts.event(event, state)
    shown = watched.ask(f"{O}/numbers")
    totals = shown["totals"]
    assert (totals["messages"], totals["mails"], totals["meetings"]) == (counts.messages, counts.mails, counts.meetings)
    assert (totals["activations"], totals["delegations"]) == (counts.activations, counts.delegations)
    assert (totals["accepted"], totals["revised"]) == (counts.reviews["accept"], counts.reviews["revise"])
    assert (totals["versions"], totals["shares"]) == (counts.versions, counts.shares)
    assert sum(shown["rounds"].values()) == sum(1 for d in office.delegations.values() if d.state == "accepted")
    spent = watched.ask(f"{O}/costs")
    told = command.costs(watched.house, Out(quiet=True), row.id)
    assert spent["total"]["calls"] == told["calls"]
    for what in ("role", "person", "task", "day"):
        expected = told[f"by_{what}"]
        assert isinstance(expected, dict)
        assert {s["name"]: s["input_tokens"] for s in spent[f"by_{what}"]} == {
            name: used["input"] for name, used in expected.items()
        }
    assert sum(d["calls"] for d in shown["days"]) == told["calls"]
    table = list(csv.DictReader(io.StringIO(watched.client().get(f"{O}/numbers.csv").text)))
    assert [int(line["events"]) for line in table] == [d["events"] for d in shown["days"]]
    people = list(csv.DictReader(io.StringIO(watched.client().get(f"{O}/numbers.csv?table=people").text)))
    assert {line["person"] for line in people} == set(office.people)


def test_why_goes_back_to_what_started_it(watched: Site, office: Office) -> None:
    done = next(d for d in office.delegations.values() if d.request or d.period)
    chain = watched.ask(f"{O}/why", ref=done.id)
    assert [c["revision"] for c in chain] == sorted((c["revision"] for c in chain), reverse=True)
    assert "delegates" in chain[0]["text"]


def test_health_always_has_an_answer(watched: Site) -> None:
    shown = watched.ask(f"{O}/health")
    assert "Nobody runs this office" in shown["why"] and "Next:" in shown["why"]
    assert shown["clock"]["state"] == "still"
    assert shown["endpoints"][0]["name"] == "offline"
    assert shown["database"]["bytes"] > 0 and not shown["database"]["fault"]
    assert shown["coming"] and shown["sandbox"]["provider"]
    assert all(w["what"] for w in shown["waiting"])


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/offices/none", 404), (f"{O}/state?at=999999", 404), (f"{O}/state?at=0", 404), (f"{O}/state?at=soon", 422),
        (f"{O}/state?at=9999-12-31", 422), (f"{O}/state?at=\u00b2", 422), (f"{O}/state?at={'9' * 39}", 404),
        (f"{O}/files/none", 404), (f"{O}/files/..%2f..%2fetc", 404), (f"{O}/files/x/versions/0/content", 422),
        (f"{O}/files/x/versions/1/content", 404), (f"{O}/people/none", 404), (f"{O}/rooms/none/messages", 404),
        (f"{O}/mail/none", 404), (f"{O}/mail/%00", 404), (f"{O}/delegations/none", 404),
        (f"{O}/delegations/none/trajectory", 404), (f"{O}/activations/none", 404),
        (f"{O}/activations/none/conversation", 404), (f"{O}/events?after=999999", 404), (f"{O}/events?after=-1", 422),
        (f"{O}/events?limit=0", 422), (f"{O}/events?limit=501", 422), (f"{O}/who-can?path=none", 404),
        (f"{O}/who-can", 422), (f"{O}/why?ref=none", 404), (f"{O}/as/none", 404), (f"{O}/as/none/files", 404),
        (f"{O}/calendar?day=yesterday", 422), (f"{O}/calendar?day=9999-12-31", 422), ("/jobs/none", 404),
        (f"{O}/numbers.csv?table=secrets", 422), ("/nothing", 404), (f"{O}/events/live?after=x", 422),
        (f"/offices/{'x' * 400}", 422), (f"{O}/people/none/memory", 404),
    ],
)  # fmt: skip
def test_what_is_not_there_or_not_valid_is_said_in_one_shape(watched: Site, path: str, status: int) -> None:
    watched.refused(path, status)


def test_another_method_is_refused_in_the_same_shape(watched: Site) -> None:
    assert "method" in watched.refused(O, 405, method="PATCH")
