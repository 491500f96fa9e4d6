"""No leak through the API, as properties over random firms (RELIABILITY, RULES 26 to 29)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.web.book import Book
from services.storage.memory import MemoryBlobs
from simulator.access import can
from simulator.engine.history import as_of
from simulator.events import ClearanceSet, MemberRemoved, SegmentLanded, WorkSubmitted
from simulator.office import Office
from simulator.ports import Blob
from simulator.records import Body, FileRef, Submission
from simulator.view import view_reference
from tests.access.growth import EVERYONE, Op, grown, ops
from tests.access.test_no_leak import _behind_daniels_back
from tests.access.world import OAKRIDGE, RIVERBEND, World
from tests.web.support import Site, site
from tests.web.worlds import book_of, events_of, telling, told

ACTIVE = tuple(person for person in EVERYONE if person != "zed")
LISTS = ("files", "notices", "mail", "meetings", "requests", "delegations")
WHOLE = ("", "people", "matters", "clients", "rooms", "memory", "tools", "calendar?day=2026-01-05&days=30",
         "search?q=words", "search?q=subject", "search?q=result", "search?q=bank")  # fmt: skip
_numbers = itertools.count()


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A site onto which books are put."""
    with site(tmp_path_factory.mktemp("leaks") / "home") as one:
        yield one


def _blobs() -> MemoryBlobs:
    """All bytes that the random firms' files could have."""
    small = [f"{a}{b}{c}" for a in range(12) for b in range(12) for c in range(12)]
    pairs = [f"{a}{b}" for a in range(12) for b in range(12)]
    blobs = MemoryBlobs()
    others = ("words", "unshared second thoughts", "before", "after")
    for text in (*small, *pairs, *map(str, range(12)), *("x" * n for n in range(12)), *others):
        blobs.put(text.encode())
    return blobs


BLOBS = _blobs()


def _open(town: Site, book: Book) -> str:
    town.parts.shelf.hold(book)
    return book.id


def _seen(town: Site, office: str, person: str, key: str, at: str = "") -> dict[str, bytes]:
    """All that the API shows of one person's view, as bytes by address."""
    base = f"/offices/{office}/as/{person}"
    query = f"at={at}" if at else ""
    found: dict[str, bytes] = {}

    def ask(rest: str) -> bytes:
        mark = "&" if "?" in rest else "?"
        answer = town.client(key).get(f"{base}/{rest}{mark if query else ''}{query}".rstrip("/"))
        found[rest] = b"%d " % answer.status_code + answer.content
        return answer.content

    for rest in (*WHOLE, *(f"{name}?limit=500" for name in LISTS)):
        ask(rest)
    for name, kind in (("files", "files"), ("mail", "mail"), ("delegations", "delegations")):
        page = msgspec.json.decode(found[f"{kind}?limit=500"].partition(b" ")[2])
        for item in page.get("items", ()):
            shown = msgspec.json.decode(ask(f"{name}/{item['id']}"))
            for version in shown.get("versions", ()) if name == "files" else ():
                ask(f"files/{item['id']}/versions/{version['number']}/content")
    rooms = msgspec.json.decode(found["rooms"].partition(b" ")[2])
    for room in rooms if isinstance(rooms, list) else ():
        ask(f"rooms/{room['id']}/messages?limit=500")
    return found


@settings(max_examples=25)
@given(ops, st.sampled_from(ACTIVE), st.data())
def test_the_api_shows_what_the_plain_check_allows_at_every_moment(
    town: Site, numbers: list[Op], person: str, data: st.DataObject
) -> None:
    """RULE 29: a fuzz of `as_of` and `view` against `can`, version by version, room by room."""
    events = told(numbers)
    book = book_of(events, f"plain-{next(_numbers)}", BLOBS)
    office_id = _open(town, book)
    log = book.reader
    for revision in (data.draw(st.integers(19, len(events))), len(events)):
        office = as_of(log, revision)
        base = f"/offices/{office_id}/as/{person}"
        reference = view_reference(office, person)
        shelf = town.every(f"{base}/files", at=revision)
        assert [(f["path"], f["id"]) for f in shelf] == [(f.path, f.ref.file) for f in reference.files()]
        _bytes_are_allowed(town, office, person, base, revision)
        rooms = {r["id"] for r in town.ask(f"{base}/rooms", at=revision)}
        assert rooms == {r for r in office.rooms if can(person, "read_room", r, office).allowed}
        for kind, held, action in (
            ("mail", office.mails, "read_mail"), ("meetings", office.meetings, "read_meeting"),
            ("requests", office.requests, "read_request"), ("delegations", office.delegations, "read_delegation"),
        ):  # fmt: skip
            shown = {item["id"] for item in town.every(f"{base}/{kind}", at=revision)}
            assert shown == {i for i in held if can(person, action, i, office).allowed}  # type: ignore[arg-type]
        known = {p["id"] for p in town.ask(f"{base}/people", at=revision)}
        assert known == {p for p in office.people if can(person, "know", f"person:{p}", office).allowed}


def _bytes_are_allowed(town: Site, office: Office, person: str, base: str, revision: int) -> None:
    """Ask for the bytes of every version that there is: those come that may be read, and no others."""
    for file in office.files.values():
        for version in (*(v.number for v in file.versions), len(file.versions) + 1):
            answer = town.client().get(f"{base}/files/{file.id}/versions/{version}/content?at={revision}")
            allowed = can(person, "read", FileRef(file.id, version), office).allowed
            assert answer.status_code == (200 if allowed else 404)


@settings(max_examples=20)
@given(ops, ops)
def test_two_worlds_that_differ_only_out_of_sight_look_the_same_through_a_persons_key(
    town: Site, past: list[Op], secrets: list[Op]
) -> None:
    """RELIABILITY: values, existence, count, order, sizes and times of the unreadable change no byte of any answer."""
    with telling():
        plain, twin = _common(past), _common(past)
        rooms = ["*"]
        with plain.out_of_sight():
            pass
        with twin.out_of_sight():
            reserved = [FileRef(f.id, 1) for f in plain.office.files.values() if f.path.startswith("reserved")]
            _behind_daniels_back(twin, secrets, sorted(reserved), rooms)
        for world in (plain, twin):
            world.mail("elena", ["daniel"], "subject", sorted(reserved))
    answers = []
    number = next(_numbers)
    for world in (plain, twin):
        # One and the same address, so that nothing but the office can make a difference.
        office_id = _open(town, book_of(events_of(world), f"worlds-{number}", BLOBS))
        key, _ = town.parts.keys.issue(office_id, "daniel")
        answers.append(_seen(town, office_id, "daniel", key))
        every = [f.id for f in twin.office.files.values()] + [m for m in twin.office.mails] + list(twin.office.rooms)
        answers[-1] |= _probed(town, office_id, key, every)
    assert answers[0] == answers[1]


def _common(past: list[Op]) -> World:
    """A firm in which Daniel is on Riverbend alone, with what he was given for good."""
    world = grown(past)
    for person in ("daniel", "omar"):
        world.do(MemberRemoved(OAKRIDGE, person))
    world.do(ClearanceSet("daniel", "confidential"))
    for n in range(2):
        world.share(world.save("elena", "home:elena", f"reserved {n}.txt"), "person:daniel")
    world.room("riverbend", ["elena", "daniel"], RIVERBEND)
    return world


def _probed(town: Site, office: str, key: str, names: list[str]) -> dict[str, bytes]:
    """Ask by name for everything that one of the worlds has."""
    found: dict[str, bytes] = {}
    for name in names:
        for kind in ("files/{}", "files/{}/versions/1/content", "mail/{}", "rooms/{}/messages", "delegations/{}"):
            rest = kind.format(name)
            answer = town.client(key).get(f"/offices/{office}/as/daniel/{rest}")
            found[rest] = b"%d " % answer.status_code + answer.content
    return found


def test_what_was_taken_back_is_gone_from_every_answer(town: Site) -> None:
    """RULE 27: revoked, then written again: never visible any more, by no list and no address."""
    with telling():
        world = grown([])
        ref = world.save("elena", "home:elena", "shared once.txt", "before")
        grant = world.share(ref, "person:daniel")
    events = events_of(world)
    office_id = _open(town, book_of(events, "taken-back", BLOBS))
    key, _ = town.parts.keys.issue(office_id, "daniel")
    base = f"/offices/{office_id}/as/daniel"
    assert town.client(key).get(f"{base}/files/{ref.file}/versions/1/content").content == b"before"
    with telling():
        world.revoke(grant)
        world.again(ref, "after")
    _open(town, book_of(events_of(world), "taken-back", BLOBS))
    said = b"".join(_seen(town, office_id, "daniel", key).values())
    assert b"shared once" not in said and ref.file.encode() not in said
    for number in (1, 2):
        town.refused(f"{base}/files/{ref.file}/versions/{number}/content", 404, key)


def test_someone_who_has_left_sees_nothing(town: Site) -> None:
    office_id = _open(town, book_of(told([]), "left"))
    key, _ = town.parts.keys.issue(office_id, "zed")
    town.refused(f"/offices/{office_id}/as/zed", 404, key)
    for rest in ("files", "mail", "requests"):
        assert town.ask(f"/offices/{office_id}/as/zed/{rest}", key)["items"] == []
    assert town.ask(f"/offices/{office_id}/as/zed/people", key) == []


def test_the_sites_own_folder_is_all_it_keeps(town: Site, tmp_path: Path) -> None:
    """Looking writes nothing but keys."""
    home = town.house.settings.home
    assert {p.name for p in home.iterdir()} <= {"keys.json", "locks", "officetown.sqlite", "officetown.sqlite-shm",
                                                "officetown.sqlite-wal", "blobs"}  # fmt: skip


def test_what_something_rests_on_is_named_only_where_it_may_be_read(town: Site) -> None:
    """RULE 27: a result may be shared whose source is not, and a right may end before the work that rested on it."""
    with telling():
        world = grown([])
        secret = world.save("elena", "home:elena", "secret.txt")
        open_one = world.save("elena", "home:elena", "open.txt")
        made = world.save("elena", "home:elena", "made.txt", sources=(secret, open_one))
        for ref in (open_one, made):
            world.share(ref, "person:daniel")
        job = world.delegate("daniel", "reconcile", RIVERBEND)
        draft = world.save("elena", "home:elena", "draft.txt")
        grant = world.share(draft, "person:daniel")
        world.do(SegmentLanded(job, 1, 1, "submitted", Blob("0" * 64, 2), 3))
        world.do(WorkSubmitted(job, 1, Submission(world.now, (draft,), Body("Done."))))
    base = f"/offices/{_open(town, book_of(events_of(world), 'rests', BLOBS))}/as/daniel"
    key, _ = town.parts.keys.issue("rests", "daniel")
    (version,) = town.ask(f"{base}/files/{made.file}", key)["versions"]
    assert [s["file"] for s in version["sources"]] == [open_one.file]
    assert secret.file not in town.client(key).get(f"{base}/files/{made.file}").text
    assert [f["file"] for f in town.ask(f"{base}/delegations/{job}", key)["rounds"][0]["files"]] == [draft.file]
    with telling():
        world.revoke(grant)
    _open(town, book_of(events_of(world), "rests", BLOBS))
    shown = town.client(key).get(f"{base}/delegations/{job}").text
    assert draft.file not in shown, "it was taken back"
    assert open_one.file in town.client().get(f"/offices/rests/files/{made.file}").text
