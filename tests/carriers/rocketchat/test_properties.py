"""Whatever order faults come in, one copy of each thing arrives, in order; whatever the server says, reading it fails never."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from services.carriers.rocketchat.cursor import Cursor, read_cursor
from services.carriers.rocketchat.wire import TEXT_LIMIT, before, moment, read_deleted, read_message, read_messages
from simulator.errors import CarrierError
from tests.carriers.rocketchat.schemas import faults_of, folder
from tests.carriers.rocketchat.world import World, room
from tests.carriers.standins.faults import Fault
from tests.carriers.standins.rocketchat import RocketChatStandIn

CALLS = (
    "login",
    "chat.sendMessage",
    "chat.getMessage",
    "rooms.media/",
    "rooms.mediaConfirm",
    "adminRooms",
    "syncMessages",
)
FAULTS = st.builds(
    Fault,
    kind=st.sampled_from(["drop", "drop_after", "status"]),
    match=st.sampled_from(CALLS),
    status=st.sampled_from([429, 500, 502, 503]),
    headers=st.sampled_from(
        [{}, {"Retry-After": "2"}, {"Retry-After": "900"}, {"Retry-After": "Fri, 15 Jan 2027 09:00:00 GMT"}]
    ),
    body=st.sampled_from(["", "<html>Bad Gateway</html>", '{"success": false, "error": "no"}']),
    skip=st.integers(0, 4),
)
ITEMS = st.lists(
    st.tuples(st.sampled_from(["elena", "maya"]), st.integers(0, 2), st.booleans(), st.booleans()),
    min_size=1,
    max_size=4,
)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(exclude_categories=()), max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
FIELDS = ["_id", "msg", "u", "username", "ts", "_updatedAt", "editedAt", "editedBy", "tmid", "t", "customFields", "files",
          "file", "reactions", "usernames", "name", "size", "event", "office", "$date"]  # fmt: skip
MESSAGES = st.dictionaries(
    st.sampled_from(FIELDS), JSON | st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=4), max_size=10
)


@settings(max_examples=40)
@given(ITEMS, st.lists(FAULTS, max_size=5), st.sampled_from(["undefined", "missing", "key"]), st.booleans())
def test_after_all_tries_there_is_one_copy_of_each_in_order(
    items: list[tuple[str, int, bool, bool]], faults: list[Fault], duplicates: Any, restarts: bool
) -> None:
    """RELIABILITY 8: nothing lost, nothing doubled, order kept within a lane."""
    server = RocketChatStandIn()
    server.duplicates = duplicates
    with server:
        world = World(server)
        try:
            _carry(world, items, faults, restarts)
        finally:
            world.close()
    if folder() is not None:
        assert [fault for exchange in server.exchanges for fault in faults_of(exchange)] == []


def _carry(world: World, items: list[tuple[str, int, bool, bool]], faults: list[Fault], restarts: bool) -> None:
    world.set_up(room(), room("Second"))
    world.server.faults.plan(*(Fault(f.kind, 1, f.match, f.status, f.headers, f.body, 0.0, f.skip) for f in faults))
    expected: list[tuple[str, str | None]] = []
    for number, (sender, count, threaded, long) in enumerate(items):
        event = f"{sender}.{number}"
        files = tuple(world.file(f"f{n}.txt", f"{event} {n}".encode()) for n in range(count))
        text = f"{event} " + "words " * 1000 if long else event
        thread = f"{items[0][0]}.0" if threaded and number else ""
        attempts = 0
        while attempts <= len(faults) + 1:
            try:
                world.posts(event, text, attempts > 0, sender=sender, thread=thread, files=files)
                break
            except CarrierError:
                attempts += 1
                if restarts:
                    world.anew()
        assert attempts <= len(faults)
        expected += [(event, None)] * (2 if long else 1) + [(event, f"f{n}.txt") for n in range(count)]
    assert [(m["customFields"]["event"], m.get("file", {}).get("name")) for m in world.said()] == expected
    world.server.faults.clear()
    assert world.chat.poll("").arrivals == ()


@given(MESSAGES)
def test_a_message_of_any_shape_is_read_or_is_none(raw: dict[str, Any]) -> None:
    found = read_message(json.loads(json.dumps(raw)))
    if found is None:
        return
    assert found.id
    for text in (found.text, found.author, found.kind, found.root, *(f.name for f in found.files)):
        text.encode()
        assert "\0" not in text
    assert len(found.text) <= TEXT_LIMIT
    for at in (found.at, found.updated, found.edited):
        assert at == "" or (moment(at) == at and before(at, 5) <= at)


@given(JSON)
def test_an_answer_of_any_shape_is_read(raw: Any) -> None:
    for answer in ({"result": raw}, {"result": {"updated": raw, "deleted": raw}}, {}):
        messages, garbage = read_messages(answer, "updated")
        assert len(messages) >= 0 <= garbage
        for name, at in read_deleted(answer):
            (name + at).encode()


@given(st.text(max_size=200))
def test_a_cursor_of_any_shape_is_one_or_none(text: str) -> None:
    found = read_cursor(text)
    assert found is None or read_cursor(found.text()) == found


@given(st.lists(st.tuples(st.text(max_size=12), st.text(max_size=6)), max_size=50))
def test_what_was_said_is_said_once_and_survives_a_restart(pairs: list[tuple[str, str]]) -> None:
    cursor = Cursor()
    said: set[str] = set()
    for key, author in pairs:
        assert cursor.once(key) == (key not in said)
        said.add(key)
        cursor.remember(key, author, "")
        again = read_cursor(cursor.text())
        assert again == cursor
        cursor = again
