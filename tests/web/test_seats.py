"""What a person is shown through the API is what their view holds, no more and no less, in every list and by every name."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from orchestrator.web.queries import memory as recalled
from orchestrator.web.queries.watchers import mark
from simulator.access import Subject
from simulator.businesstime import calendar_for
from simulator.memory import recall
from simulator.office import Office
from simulator.records import FileRef
from simulator.view import View, view, view_reference
from tests.access.growth import grown
from tests.access.world import RIVERBEND, juniper
from tests.web.support import Site
from tests.web.test_steering import O

PEOPLE = ("elena", "daniel", "aisha", "quinn", "margaret", "maya", "gareth")


@pytest.fixture(scope="module")
def office(watched: Site) -> Office:
    """Juniper as it is committed."""
    return watched.house.office(watched.house.row("Juniper"))


@pytest.fixture(params=PEOPLE)
def seen(request: pytest.FixtureRequest, office: Office) -> View:
    """The plain reference view of one person."""
    return view_reference(office, Subject(request.param))


def _as_json(value: object) -> Any:
    return msgspec.json.decode(msgspec.json.encode(value))


def _base(seen: View) -> str:
    return f"{O}/as/{seen.subject.person}"


def test_oneself(watched: Site, seen: View, office: Office) -> None:
    shown = watched.ask(_base(seen))
    assert shown["sees"] == seen.counts()
    assert seen.person is not None and shown["authority"] == list(seen.person.authority)
    assert shown["matters"] == [m.id for m in seen.matters() if seen.subject.person in m.members]
    assert watched.ask(f"{O}/people/{seen.subject.person}")["sees"] == seen.counts()


def test_files(watched: Site, seen: View) -> None:
    base = _base(seen)
    shelf = watched.every(f"{base}/files", limit=9)
    assert [(f["path"], f["id"], f["latest"], f["reason"]) for f in shelf] == [
        (f.path, f.ref.file, f.ref.version, f.reason) for f in seen.files()
    ]
    some = seen.files()[:8]
    for f in some:
        shown = watched.ask(f"{base}/files/{f.ref.file}")
        assert [v["number"] for v in shown["versions"]] == [v.ref.version for v in seen.versions(f.ref.file)]
        for version in shown["versions"]:
            ref = FileRef(f.ref.file, version["number"])
            assert [(s["file"], s["version"]) for s in version["sources"]] == [
                (s.file, s.version) for s in seen.sources(ref)
            ]
            assert [s["path"] for s in version["sources"]] == [seen.path_of(s) for s in seen.sources(ref)]
            assert {c["id"] for c in version["confirmations"]} == {a.id for a in seen.confirmations(ref)}
            assert (version["made_into"], version["shares"]) == ([], [])
    word = some[0].path.rsplit("/", 1)[-1][:4] if some else "x"
    assert {f["id"] for f in watched.every(f"{base}/files", text=word)} == {
        f.ref.file for f in seen.files() if word.casefold() in f.path.casefold()
    }


def test_talk(watched: Site, seen: View) -> None:
    base, texts = _base(seen), watched.parts.shelf.open("Juniper").texts
    rooms = watched.ask(f"{base}/rooms")
    assert [(r["id"], r["messages"]) for r in rooms] == [(r.id, len(seen.messages(r.id))) for r in seen.rooms()]
    for room in rooms:
        messages = watched.every(f"{base}/rooms/{room['id']}/messages", limit=3)
        assert [(m["id"], m["text"]) for m in messages] == [
            (m.id, texts(m.body)) for m in reversed(seen.messages(room["id"]))
        ]
    mails = watched.every(f"{base}/mail", limit=2)
    assert [m["id"] for m in mails] == [m.id for m in reversed(seen.mails())]
    for line in mails[:3]:
        mail = seen.mail(line["id"])
        assert mail is not None
        shown = watched.ask(f"{base}/mail/{mail.id}")
        assert (shown["mail"], shown["text"]) == (line, texts(mail.body))
        assert [a["path"] for a in line["attachments"]] == [seen.path_of(a) for a in mail.attachments]
        thread = watched.every(f"{base}/mail", thread=mail.thread)
        assert [m["id"] for m in thread] == [m.id for m in reversed(seen.thread(mail.thread))]
    assert [n["id"] for n in watched.every(f"{base}/notices", limit=2)] == [n.id for n in reversed(seen.notices())]


def test_calendar_and_meetings(watched: Site, seen: View, office: Office) -> None:
    base, calendar = _base(seen), calendar_for(office.calendar)
    start, end = calendar.at("2026-01-05", 0), calendar.at("2026-02-04", 0)
    shown = watched.ask(f"{base}/calendar", day="2026-01-05", days=30)
    assert [(e["begins"]["at"], e["id"]) for e in shown] == [(t, e.id) for t, e in seen.entries(start, end)]
    meetings = watched.every(f"{base}/meetings", limit=1)
    assert [m["id"] for m in meetings] == [m.id for m in reversed(seen.meetings())]
    minutes = {m.id: m.minutes for m in seen.meetings()}
    assert all((m["minutes"] is None) == (minutes[m["id"]] is None) for m in meetings)


def test_work(watched: Site, seen: View) -> None:
    base = _base(seen)
    requests = watched.every(f"{base}/requests", limit=2)
    assert [r["id"] for r in requests] == [r.id for r in reversed(seen.requests())]
    for state in ("open", "fulfilled", "none"):
        assert {r["id"] for r in watched.every(f"{base}/requests", state=state)} == {
            r.id for r in seen.requests((state,))
        }
    lines = watched.every(f"{base}/delegations", limit=2)
    assert [d["id"] for d in lines] == [d.id for d in reversed(seen.delegations())]
    for line in lines:
        delegation = seen.delegation(line["id"])
        assert delegation is not None
        shown = watched.ask(f"{base}/delegations/{line['id']}")
        assert shown["line"] == line
        assert [(f["file"], f["version"]) for f in shown["inputs"]] == [(r.file, r.version) for r in delegation.inputs]
        for r, told in zip(delegation.rounds, shown["rounds"], strict=True):
            handed = r.submission.files if r.submission else ()
            assert [(f["file"], f["version"]) for f in told["files"]] == [
                (x.file, x.version) for x in seen.readable(handed)
            ]


def test_memory_and_search(watched: Site, seen: View, office: Office) -> None:
    base, person = _base(seen), seen.subject.person
    shown = watched.ask(f"{base}/memory")
    assert [m["id"] for m in shown["records"]] == [m.id for m in seen.memories()]
    running = office.running.get(office.busy.get(person, ""))
    given = recall(office, person, running.stimuli if running else office.inboxes.get(person, ()))
    for kind in recalled.Injected.__struct_fields__:
        assert [m["id"] for m in shown["injected"][kind]] == [m.id for m in getattr(given, kind)]
    assert watched.ask(f"{O}/people/{person}/memory") == shown
    texts = watched.parts.shelf.open("Juniper").texts
    for word in ("reconciliation", "riverbend", "the", "2025-12"):
        assert watched.ask(f"{base}/search", q=word) == _as_json(seen.search(word, texts))


def test_whom_and_what_one_knows_of(watched: Site, seen: View) -> None:
    base = _base(seen)
    assert watched.ask(f"{base}/people") == _as_json(seen.people())
    assert [m["id"] for m in watched.ask(f"{base}/matters")] == [m.id for m in seen.matters()]
    assert [c["id"] for c in watched.ask(f"{base}/clients")] == [c.id for c in seen.clients()]


def test_the_operator_sees_a_persons_past_as_it_was(watched: Site) -> None:
    for revision in (150, 250, 350):
        then = watched.parts.shelf.open("Juniper").at(str(revision))
        for person in ("elena", "maya"):
            shown = watched.every(f"{O}/as/{person}/files", at=revision)
            assert [f["path"] for f in shown] == [f.path for f in view_reference(then, Subject(person)).files()]


# -- the mark of a view -----------------------------------------------------------------------------------------------


def _mark(world: Any, person: str) -> str:
    return mark(view(world.office, Subject(person))).mark


def test_the_mark_changes_with_what_one_sees_and_with_nothing_else() -> None:
    """RULE 28."""
    world = juniper()
    room = world.room("riverbend", ["elena", "daniel"], RIVERBEND)
    ref = world.save("elena", "home:elena", "a.txt")

    def differs(act: Any) -> bool:
        before = _mark(world, "daniel")
        act()
        return _mark(world, "daniel") != before

    for visible in (
        lambda: world.post(room, "elena", "words"), lambda: world.share(ref, "person:daniel"),
        lambda: world.mail("elena", ["daniel"], "subject"), lambda: world.meet("elena", ["daniel"], "meeting"),
        lambda: world.request("elena", "daniel", "outcome"), lambda: world.note("daniel", "question", "why"),
        lambda: world.delegate("daniel", "goal", RIVERBEND), lambda: world.revoke(next(iter(world.office.grants))),
    ):  # fmt: skip
        assert differs(visible)
    for hidden in (
        lambda: world.save("elena", "home:elena", "b.txt"), lambda: world.mail("elena", ["quinn"], "subject"),
        lambda: world.note("elena", "question", "why"), lambda: world.request("elena", "nora", "outcome"),
        lambda: world.post(world.room("others", ["elena", "quinn"]), "elena", "words"),
        lambda: world.delegate("elena", "goal", RIVERBEND), lambda: world.again(ref, "second"),
    ):  # fmt: skip
        assert not differs(hidden)


def test_the_mark_is_the_same_for_the_same_view() -> None:
    first, second = grown([(n, n, n, n) for n in range(11)]), grown([(n, n, n, n) for n in range(11)])
    for person in ("elena", "daniel", "maya", "zed", "nobody"):
        assert _mark(first, person) == _mark(second, person)
