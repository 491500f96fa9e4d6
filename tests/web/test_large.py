"""Large and hostile material: many messages in a room, a heavy workbook, names and texts full of markup."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator

import msgspec
import pytest

from orchestrator.web.queries.files import Content
from orchestrator.web.queries.reading import MOST_BYTES, Rendered, difference
from services.documents.renderer import DocumentRenderer
from services.storage.memory import MemoryBlobs
from simulator.events import FileSaved
from simulator.ports import Blob
from tests.access.growth import grown
from tests.access.world import RIVERBEND
from tests.web.support import OPERATOR_KEY, Site, site
from tests.web.worlds import book_of, events_of, telling

HOSTILE = (
    "<script>alert(1)</script>.html", 'x"; filename="y.exe', "..", "a%2f..%2fb", "\u202egnp.exe", "<img src=x onerror=a>",
    "=cmd|' /C calc'!A0.csv", "`$(reboot)`", "CON", " ", "\u0007bell", "L\u00f6hne.txt", "{{7*7}}", "' OR 1=1 --",
)  # fmt: skip
_numbers = itertools.count()


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A site onto which books are put."""
    with site(tmp_path_factory.mktemp("large") / "home") as one:
        yield one


def test_ten_thousand_messages_in_a_room_are_paged(town: Site) -> None:
    with telling():
        world = grown([])
        world.step = 1
        room = world.room("riverbend", ["elena", "daniel"], RIVERBEND)
        for n in range(10_000):
            world.post(room, "elena", f"message {n}")
    town.parts.shelf.hold(book_of(events_of(world), "many"))
    key, _ = town.parts.keys.issue("many", "daniel")
    town.ask("/offices/many/as/daniel", key)
    for base, token in (("/offices/many", OPERATOR_KEY), ("/offices/many/as/daniel", key)):
        began = time.monotonic()
        first = town.ask(f"{base}/rooms/{room}/messages", token, limit=50)
        last = town.ask(f"{base}/rooms/{room}/messages", token, skip=9_980, limit=50)
        assert time.monotonic() - began < 5
        assert (first["items"][0]["text"], len(first["items"]), first["more"]) == ("message 9999", 50, True)
        assert (last["items"][-1]["text"], len(last["items"]), last["more"]) == ("message 0", 20, False)


def test_hostile_names_and_texts_come_back_as_data(town: Site) -> None:
    blobs = MemoryBlobs()
    with telling():
        world = grown([])
        room = world.room("<b>room</b>", ["elena", "daniel"])
        for name in HOSTILE:
            blobs.put(name.encode())
            ref = world.save("elena", "home:elena", name, name)
            world.share(ref, "person:daniel")
            world.post(room, "elena", name, [ref])
            world.mail("elena", ["daniel"], name, [ref])
    town.parts.shelf.hold(book_of(events_of(world), "hostile", blobs))
    key, _ = town.parts.keys.issue("hostile", "daniel")
    for base, token in (("/offices/hostile", OPERATOR_KEY), ("/offices/hostile/as/daniel", key)):
        listed = town.every(f"{base}/files", token)
        assert len(listed) == len(HOSTILE)
        for line in listed:
            answer = town.client(token).get(f"{base}/files/{line['id']}/versions/1/content")
            assert answer.status_code == 200 and answer.headers["content-disposition"].startswith("attachment")
            assert "html" not in answer.headers["content-type"]
            town.ask(f"{base}/files/{line['id']}/versions/1/text", token)
        said = [m["text"] for m in town.every(f"{base}/rooms/{room}/messages", token)]
        assert said == list(reversed(HOSTILE)), "texts are told as they are, as JSON, never as a page"
        assert {m["subject"] for m in town.every(f"{base}/mail", token)} == set(HOSTILE)
    for word in HOSTILE:
        assert town.client(key).get("/offices/hostile/as/daniel/search", params={"q": word}).status_code == 200
        assert town.client().get("/offices/hostile/who-can", params={"path": word}).status_code in (200, 404, 422)


def test_every_answer_is_json_or_a_download(watched: Site) -> None:
    """Nothing that an office says can be taken for a page of this site."""
    for path in ("/offices", "/offices/Juniper/state", "/offices/none", "/nothing"):
        answer = watched.client().get(path)
        assert answer.headers["content-type"] == "application/json"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"


def test_versions_as_text_and_how_they_differ(town: Site) -> None:
    blobs = MemoryBlobs()
    old, new = "one\ntwo\nthree\n" + "same\n" * 20, "one\n2\nthree\n" + "same\n" * 20 + "<b>end</b>\n"
    for text in (old, new):
        blobs.put(text.encode())
    with telling():
        world = grown([])
        ref = world.save("elena", "home:elena", "notes.txt", old)
        world.share(ref, "person:daniel")
        world.again(ref, new)
    name = f"versions-{next(_numbers)}"
    town.parts.shelf.hold(book_of(events_of(world), name, blobs))
    shown = town.ask(f"/offices/{name}/files/{ref.file}/versions/2/text", chars=3, skip=4)
    assert (shown["skip"], len(shown["text"]), shown["more"]) == (4, 3, True)
    found = town.ask(f"/offices/{name}/files/{ref.file}/versions/2/difference", before=1)
    kinds = {(line["kind"], line["text"]) for line in found["lines"]}
    assert {("removed", "two"), ("added", "2"), ("added", "<b>end</b>")} <= kinds
    assert (found["added"], found["removed"], found["cut"]) == (2, 1, False)
    key, _ = town.parts.keys.issue(name, "daniel")
    base = f"/offices/{name}/as/daniel/files/{ref.file}/versions"
    assert "two" in town.ask(f"{base}/1/text", key)["text"]
    town.refused(f"{base}/2/text", 404, key)
    town.refused(f"{base}/1/difference?before=2", 404, key)
    town.refused(f"{base}/2/difference?before=1", 404, key)


def test_what_is_too_large_is_said_and_differences_are_bounded() -> None:
    content = Content(Blob("0" * 64, MOST_BYTES + 1), "text/plain", "huge.txt")
    assert "too many" in Rendered().text(MemoryBlobs(), DocumentRenderer(), content)
    long = "".join(f"{n}\n" for n in range(20_000))
    found = difference(content, (1, long), (2, long.replace("7\n", "seven\n")))
    assert found.cut and len(found.lines) < 20_000


@pytest.mark.slow
def test_a_workbook_of_forty_megabytes_is_handed_out_and_looked_at(town: Site) -> None:
    blobs = MemoryBlobs()
    data = b"PK\x03\x04" + bytes(40_000_000)
    blob = blobs.put(data)
    with telling():
        world = grown([])
        ref = world.save("elena", "home:elena", "large.xlsx", "stands in")
    events = events_of(world)
    saved = events[-1].payload
    assert isinstance(saved, FileSaved)
    large = FileSaved(saved.file, saved.space, saved.path, saved.owner, saved.matter,
                      msgspec.structs.replace(saved.version, blob=blob))  # fmt: skip
    events[-1] = msgspec.structs.replace(events[-1], payload=large)
    town.parts.shelf.hold(book_of(events, "heavy", blobs))
    answer = town.client().get(f"/offices/heavy/files/{ref.file}/versions/1/content")
    assert answer.content == data
    assert town.ask(f"/offices/heavy/files/{ref.file}/versions/1/text")["text"]
