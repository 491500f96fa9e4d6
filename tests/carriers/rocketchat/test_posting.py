"""What the office says arrives once: in its thread, with its files, with simulated time, whatever goes wrong on the way."""

from __future__ import annotations

import hashlib
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.carriers.rocketchat.posting import CUSTOM_FIELDS, foreign_id, message_id, split, stamp
from simulator.carrying import BounceOut
from simulator.errors import CarrierError
from tests.carriers.rocketchat.world import AT, World, directory, room
from tests.carriers.standins.faults import Fault

CALLS = ["chat.sendMessage", "rooms.media/", "rooms.mediaConfirm"]


def test_a_message_stands_there_as_its_sender_with_simulated_time(world: World) -> None:
    world.set_up()
    world.posts("elena.1.1", "Good morning")
    (said,) = world.said()
    assert said["u"]["username"] == "elena"
    assert said["msg"] == "Good morning"
    assert said["customFields"] == {"office": "juniper", "event": "elena.1.1", "sim_ts": "2026-01-05T08:00:00+00:00"}
    assert said["_id"] == hashlib.sha256(b"juniper\nelena.1.1\n").hexdigest()[:24]


@pytest.mark.parametrize("duplicates", ["undefined", "missing", "key"])
@pytest.mark.parametrize("again", [True, False])
def test_posting_twice_leaves_one_however_the_server_says_so(
    world: World, duplicates: Literal["undefined", "missing", "key"], again: bool
) -> None:
    world.server.duplicates = duplicates
    world.set_up()
    files = (world.file("a.txt", b"one"), world.file("b.txt", b"two"))
    for attempt in range(3):
        world.anew()
        world.posts("elena.1.1", again=again and attempt > 0, files=files)
    assert [m["msg"] for m in world.said()] == ["text of elena.1.1", "", ""]
    assert [m["file"]["name"] for m in world.said()[1:]] == ["a.txt", "b.txt"]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("kind", ["drop", "drop_after", "status"])
@pytest.mark.parametrize("skip", [0, 1])
def test_whatever_fails_on_the_way_one_copy_arrives(world: World, call: str, kind: Any, skip: int) -> None:
    """RELIABILITY 8: 502 with a page, dropped before and after the server accepted."""
    world.set_up()
    files = (world.file("a.txt", b"one"), world.file("b.txt", b"two"))
    world.server.faults.plan(
        Fault(kind, 1, call, 502, {"Content-Type": "text/html"}, "<h1>Bad Gateway</h1>", skip=skip)
    )
    attempt = 0
    while attempt < 4:
        try:
            world.posts("elena.1.1", again=attempt > 0, files=files)
            break
        except CarrierError:
            attempt += 1
            world.anew()
    assert attempt == (0 if call == "chat.sendMessage" and skip else 1)
    assert [(m["msg"], m.get("file", {}).get("name")) for m in world.said()] == [
        ("text of elena.1.1", None), ("", "a.txt"), ("", "b.txt"),
    ]  # fmt: skip


def test_a_server_that_is_down_and_comes_back(world: World) -> None:
    world.set_up()
    world.server.stop()
    for _ in range(3):
        with pytest.raises(CarrierError, match=r"Rocket.Chat at 127.0.0.1:\d+ cannot be reached"):
            world.posts("elena.1.1")
    world.server.start()
    world.posts("elena.1.1", again=True)
    assert len(world.said()) == 1


def test_files_come_with_their_bytes_and_withheld_ones_are_named(world: World) -> None:
    world.set_up()
    data = bytes(range(256)) * 50
    world.posts(
        "elena.1.1", "See this", files=(world.file("Ledger Q1 ü.xlsx", data),), withheld=("Fees.xlsx", "Pay.docx")
    )
    text, upload = world.said()
    assert (
        text["msg"]
        == "See this\n\n(Named here and not attached, for not everyone in this room may read it: Fees.xlsx, Pay.docx)"
    )
    assert upload["file"]["name"] == "Ledger Q1 ü.xlsx"
    assert world.server.files[upload["file"]["_id"]] == data
    assert upload["customFields"]["event"] == "elena.1.1"
    assert upload["customFields"]["part"] == "file 1"
    assert upload["u"]["username"] == "elena"


def test_a_file_that_the_server_does_not_take_is_said_and_blocks_nothing(world: World) -> None:
    world.set_up()
    world.server.settings["FileUpload_MaxFileSize"] = 100
    files = (
        world.file("big.txt", b"x" * 101), world.file("logo.svg", b"<svg/>", "image/svg+xml"), world.file("c.txt", b"c"),
    )  # fmt: skip
    for again in (False, True):
        world.posts("elena.1.1", again=again, files=files)
    said = world.said()
    assert [m.get("file", {}).get("name") for m in said] == [None, None, None, "c.txt"]
    assert "does not take the file big.txt: File exceeds allowed size" in said[1]["msg"]
    assert "does not take the file logo.svg: File type is not accepted" in said[2]["msg"]


def test_answers_stand_in_the_thread_of_what_they_answer(world: World) -> None:
    world.set_up()
    world.posts("elena.1.1")
    world.posts("maya.1.1", sender="maya", thread="elena.1.1", files=(world.file("a.txt", b"a"),))
    root = world.said()[0]["_id"]
    assert [m.get("tmid") for m in world.said()] == [None, root, root]


def test_answers_to_a_person_stand_in_the_thread_that_the_person_began(world: World) -> None:
    world.set_up()
    rid = world.rid("front-desk")
    first = world.hand("priya").says(rid, "anybody?")
    second = world.hand("priya").says(rid, "hello?", first)
    world.posts("elena.1.1", thread="in.1", thread_origin=f"chat:{first}")
    world.posts("elena.1.2", thread="in.2", thread_origin=f"chat:{second}@2026-11-02T08:00:00.000Z")
    assert [m.get("tmid") for m in world.said()] == [None, first, first, first], (
        "the server knows no thread in a thread"
    )


def test_an_answer_to_what_was_deleted_there_stands_by_itself(world: World) -> None:
    world.set_up()
    world.posts("elena.1.1")
    world.hand("office").deletes(world.rid("front-desk"), world.said()[0]["_id"])
    world.anew()
    world.posts("maya.1.1", sender="maya", thread="elena.1.1")
    assert [m.get("tmid") for m in world.said()] == [None]


def test_a_long_text_comes_in_parts_in_order_once(world: World) -> None:
    world.set_up()
    text = " ".join(f"word{n}" for n in range(1500))
    world.server.faults.plan(Fault("drop_after", match="chat.sendMessage", skip=1))
    with pytest.raises(CarrierError):
        world.posts("elena.1.1", text)
    world.posts("elena.1.1", text, again=True)
    parts = [m["msg"] for m in world.said()]
    assert len(parts) == 3
    assert "".join(parts) == text
    assert {m["customFields"]["event"] for m in world.said()} == {"elena.1.1"}


@given(st.text(st.sampled_from("ab \n\U0001f600é"), max_size=120), st.integers(2, 40))
def test_parts_make_up_the_text_and_none_is_too_long(text: str, limit: int) -> None:
    parts = list(split(text, limit))
    assert "".join(parts) == text
    assert all(len(part.encode("utf-16-le")) // 2 <= limit for part in parts)
    assert all(parts) or parts == [""]


@given(st.tuples(st.text(max_size=9), st.text(max_size=9)), st.tuples(st.text(max_size=9), st.text(max_size=9)))
def test_ids_are_safe_and_each_message_has_its_own(first: tuple[str, str], second: tuple[str, str]) -> None:
    one, other = (message_id(*(f"{x.encode('utf-8', 'replace')!r}" for x in pair)) for pair in (first, second))
    assert len(one) == 24 and set(one) <= set("0123456789abcdef")
    assert (one == other) == (first == second)


def test_what_a_person_wrote_is_not_written_again_but_ticked(world: World) -> None:
    world.set_up()
    name = world.hand("priya").says(world.rid("front-desk"), "please look")
    for _ in range(2):
        world.posts("priya.in.1", sender="priya", origin=f"chat:{name}")
    (said,) = world.said()
    assert said["reactions"] == {":white_check_mark:": {"usernames": ["office"]}}


@pytest.mark.parametrize("origin", ["chat:{}!:tada:!maya", "chat:gone", "mail:<x@y>"])
def test_where_a_tick_has_no_place_there_is_none_and_nothing_fails(world: World, origin: str) -> None:
    world.set_up()
    name = world.hand("priya").says(world.rid("front-desk"), "please look")
    world.posts("priya.in.1", sender="priya", origin=origin.format(name))
    assert len(world.said()) == 1
    assert "reactions" not in world.said()[0]


def test_a_direct_message_that_came_in_is_left_as_it_is(world: World) -> None:
    world.chat.provision(world.people)
    rid = world.hand("maya").opens("elena")
    name = world.hand("maya").says(rid, "psst")
    world.posts("maya.in.1", where="dm:elena:maya", sender="maya", origin=f"chat:{name}")
    assert [m["msg"] for m in world.said_in(rid)] == ["psst"]


def test_what_was_not_taken_is_marked_and_its_author_told_why_once(world: World) -> None:
    world.set_up()
    name = world.hand("priya").says(world.rid("front-desk"), "delete everything")
    bounce = BounceOut("priya", f"chat:{name}", "you may not do that", AT)
    for _ in range(2):
        world.anew().refuse(bounce)
    said, note = world.said()
    assert said["reactions"] == {":no_entry:": {"usernames": ["office"]}}
    assert (note["tmid"], note["u"]["username"]) == (name, "office")
    assert note["msg"] == "@priya the office did not take this: you may not do that"
    assert world.chat.poll("").arrivals[0].key == f"chat:{name}"
    assert len(world.chat.poll("").arrivals) == 1


def test_what_was_not_taken_of_direct_messages_is_told_in_private(world: World) -> None:
    world.chat.provision(world.people)
    rid = world.hand("maya").opens("elena")
    name = world.hand("maya").says(rid, "psst")
    for _ in range(2):
        world.chat.refuse(BounceOut("maya", f"chat:{name}", "too late", AT))
    assert [m["msg"] for m in world.said_in(rid)] == ["psst"]
    (note,) = world.said_in(world.direct("maya", "office"))
    assert "too late" in note["msg"]


@pytest.mark.parametrize("key", ["mail:<a@b>", "chat:", "nonsense"])
def test_what_did_not_come_from_the_chat_is_not_refused_there(world: World, key: str) -> None:
    world.set_up()
    world.chat.refuse(BounceOut("maya", key, "no", AT))
    assert world.server.messages == {}


def test_somebody_thrown_out_by_hand_is_let_in_again_for_what_he_says(world: World) -> None:
    world.set_up(room("Riverbend", "matter"))
    body = {"roomId": world.rid("riverbend"), "userId": world.hand("elena").user_id}
    world.hand("office").post("groups.kick", body)
    world.posts("elena.1.1", where="riverbend")
    assert [m["u"]["username"] for m in world.said("riverbend")] == ["elena"]


def test_what_somebody_said_who_left_since_is_still_said(world: World) -> None:
    """Backfill: an office that ran for months is carried over with all that its people said."""
    world.set_up()
    world.anew(directory("daniel", "elena", "maya"))
    world.posts("priya.1.1", "my last words", sender="priya", files=(world.file("a.txt", b"a"),))
    assert [(m["u"]["username"], m["msg"]) for m in world.said()] == [
        ("office", "priya: my last words"),
        ("office", ""),
    ]


@pytest.mark.parametrize(
    ("setting", "value", "advice"),
    [
        ("Message_CustomFields_Enabled", False, "switch Message_CustomFields_Enabled on"),
        ("Message_CustomFields", "{}", "set Message_CustomFields to"),
        ("Message_MaxAllowedSize", 3, "raise Message_MaxAllowedSize to 5000"),
    ],
)
def test_a_setting_that_stands_in_the_way_is_named(world: World, setting: str, value: Any, advice: str) -> None:
    world.set_up()
    world.server.settings[setting] = value
    with pytest.raises(CarrierError, match=advice):
        world.posts("elena.1.1")


def test_a_restricted_workspace_says_what_to_do(world: World) -> None:
    world.set_up()
    world.server.restricted = True
    with pytest.raises(CarrierError, match="restricted.*outbound internet access"):
        world.posts("elena.1.1")
    world.server.restricted = False
    world.posts("elena.1.1", again=True)
    assert len(world.said()) == 1


def test_hostile_words_of_the_office_arrive_cleaned(world: World) -> None:
    world.set_up()
    world.posts("elena.1.1", "nul \0 and half \ud800")
    world.posts("elena.1.2", " ")
    assert [m["msg"] for m in world.said()] == ["nul \ufffd and half \ufffd", "\N{HORIZONTAL ELLIPSIS}"]


def test_the_zone_of_the_office_shows_and_an_unknown_one_is_utc() -> None:
    assert stamp(AT, "America/New_York") == "2026-01-05T03:00:00-05:00"
    assert stamp(AT, "Nowhere/Atlantis") == "2026-01-05T08:00:00+00:00"


def test_keys_name_messages() -> None:
    assert foreign_id("chat:aB3@2026") == foreign_id("chat:aB3!:x:!y") == foreign_id("chat:aB3") == "aB3"
    assert foreign_id("chat:../x") == foreign_id("entry:5") == ""
    assert set(CUSTOM_FIELDS["properties"]) == {"office", "event", "part", "sim_ts"}
