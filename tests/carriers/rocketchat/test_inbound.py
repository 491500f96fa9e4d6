"""What people do there comes in once, in the office's terms; what is the office's own does not."""

from __future__ import annotations

from typing import Any

import pytest

from services.carriers.rocketchat.wire import before
from simulator.arriving import MessageArrived
from simulator.errors import CarrierError
from tests.carriers.rocketchat.world import World, arrived, directory, room
from tests.carriers.standins.faults import Fault


def test_what_a_person_writes_comes_in_and_what_the_office_wrote_does_not(world: World) -> None:
    world.set_up()
    world.posts("elena.1.1", files=(world.file("a.txt", b"a"),))
    name = world.hand("priya").says(world.rid("front-desk"), "is it done?")
    polled = world.chat.poll("")
    assert polled.arrivals == (MessageArrived(f"chat:{name}", "priya", "front-desk", "is it done?"),)
    assert polled.remarks == ()
    assert world.chat.poll(polled.cursor).arrivals == ()


def test_what_was_written_before_the_first_poll_is_not_lost(world: World) -> None:
    world.set_up()
    hand, rid = world.hand("priya"), world.rid("front-desk")
    names = [hand.says(rid, f"early {n}") for n in range(3)]
    world.server.pass_time(86_400)
    world.posts("elena.1.1")
    assert [a.key for a in arrived(world.chat.poll(""))] == [f"chat:{name}" for name in names]


def test_polling_goes_on_after_a_restart_and_what_is_polled_twice_has_the_same_key(world: World) -> None:
    world.set_up()
    hand, rid = world.hand("priya"), world.rid("front-desk")
    hand.says(rid, "one")
    cursor = world.chat.poll("").cursor
    hand.says(rid, "two")
    first = arrived(world.anew().poll(cursor))
    second = arrived(world.anew().poll(cursor))
    assert [a.text for a in first] == ["two"]
    assert first == second


def test_direct_messages_opened_by_hand_go_to_the_other_person(world: World) -> None:
    world.set_up()
    rid = world.hand("maya").opens("daniel")
    world.hand("maya").says(rid, "lunch?")
    cursor = world.chat.poll("").cursor
    world.hand("daniel").says(rid, "yes")
    world.posts("elena.1.1", where="dm:daniel:elena")
    polled = arrived(world.chat.poll(cursor))
    assert [(a.person, a.to, a.text) for a in polled] == [("daniel", "maya", "yes")]


def test_a_thread_and_a_quote_name_what_they_answer(world: World) -> None:
    world.set_up()
    rid, hand = world.rid("front-desk"), world.hand("priya")
    world.posts("elena.1.1")
    ours = world.said()[0]["_id"]
    first = hand.says(rid, "a question")
    cursor = world.chat.poll("").cursor
    hand.says(rid, "to the office", ours)
    hand.says(rid, "to a person", first)
    hand.says(rid, f"[ ](https://chat.example/channel/front-desk?msg={ours}) so it is")
    assert [(a.text, a.in_reply_to) for a in arrived(world.anew().poll(cursor))] == [
        ("to the office", "elena.1.1"), ("to a person", f"chat:{first}"), ("so it is", "elena.1.1"),
    ]  # fmt: skip


def test_an_answer_in_direct_messages_names_what_it_answers(world: World) -> None:
    world.set_up(room("Elena and Maya", "direct", ("elena", "maya"), "dm:elena:maya"))
    world.posts("elena.1.1", where="dm:elena:maya")
    rid = world.direct("elena", "maya")
    world.hand("maya").says(rid, "thanks", world.said_in(rid)[0]["_id"])
    assert [(a.to, a.in_reply_to) for a in arrived(world.chat.poll(""))] == [("elena", "elena.1.1")]


def test_an_edit_has_a_key_of_its_own_and_comes_once(world: World) -> None:
    world.set_up()
    rid, hand = world.rid("front-desk"), world.hand("priya")
    name = hand.says(rid, "5,000")
    cursor = world.chat.poll("").cursor
    at = hand.edits(rid, name, "6,000")
    polled = world.chat.poll(cursor)
    key = f"chat:{name}"
    assert polled.arrivals == (MessageArrived(f"{key}@{at}", "priya", "front-desk", "6,000", key, (), "edited"),)
    hand.says(rid, "next")
    assert [a.text for a in arrived(world.chat.poll(polled.cursor))] == ["next"]


def test_an_edit_before_the_first_look_is_told_with_what_it_edits(world: World) -> None:
    """A cursor that was never kept: the first words may have come in already, so the edit must be told as one too."""
    world.set_up()
    rid, hand = world.rid("front-desk"), world.hand("priya")
    name = hand.says(rid, "5,000")
    at = hand.edits(rid, name, "6,000")
    keys = [(a.key, a.change, a.text) for a in arrived(world.chat.poll(""))]
    assert keys == [(f"chat:{name}", "", "6,000"), (f"chat:{name}@{at}", "edited", "6,000")]


def test_a_deletion_is_its_authors_and_comes_once(world: World) -> None:
    world.set_up()
    rid, hand = world.rid("front-desk"), world.hand("priya")
    name = hand.says(rid, "oops")
    cursor = world.chat.poll("").cursor
    hand.deletes(rid, name)
    polled = world.chat.poll(cursor)
    key = f"chat:{name}"
    assert polled.arrivals == (MessageArrived(f"{key}@deleted", "priya", "front-desk", "", key, (), "deleted"),)
    again = world.chat.poll(polled.cursor)
    assert (again.arrivals, again.remarks) == ((), ())


def test_a_deletion_that_leaves_a_mark_is_a_deletion_too(world: World) -> None:
    world.set_up()
    rid, hand = world.rid("front-desk"), world.hand("priya")
    name = hand.says(rid, "oops")
    cursor = world.chat.poll("").cursor
    world.server.messages[name].update(t="rm", msg="", _updatedAt=world.server.now)
    hand.says(rid, "well")
    assert [(a.key, a.change) for a in arrived(world.chat.poll(cursor))][0] == (f"chat:{name}@deleted", "deleted")


@pytest.mark.parametrize("what", ["edit", "delete"])
def test_what_is_done_to_the_offices_words_is_a_remark(world: World, what: str) -> None:
    world.set_up()
    world.posts("elena.1.1")
    rid, name = world.rid("front-desk"), world.said()[0]["_id"]
    cursor = world.chat.poll("").cursor
    if what == "edit":
        world.hand("elena").edits(rid, name, "never said")
    else:
        world.hand("elena").deletes(rid, name)
    polled = world.chat.poll(cursor)
    assert polled.arrivals == ()
    assert len(polled.remarks) == 1 and "the record keeps" in polled.remarks[0]
    assert world.chat.poll(polled.cursor).remarks == (), "said once"


def test_a_moderator_who_edits_a_persons_words_speaks_for_nobody(world: World) -> None:
    world.set_up()
    rid = world.rid("front-desk")
    name = world.hand("priya").says(rid, "hello")
    cursor = world.chat.poll("").cursor
    world.hand("office").edits(rid, name, "goodbye")
    polled = world.chat.poll(cursor)
    assert polled.arrivals == ()
    assert "'office' edited a message by 'priya'" in polled.remarks[0]


def test_reactions_of_people_come_in_and_the_offices_signs_do_not(world: World) -> None:
    world.set_up()
    world.posts("elena.1.1")
    ours = world.said()[0]["_id"]
    theirs = world.hand("priya").says(world.rid("front-desk"), "done")
    cursor = world.chat.poll("").cursor
    world.posts("in.1", sender="priya", origin=f"chat:{theirs}")
    world.hand("maya").reacts(ours, ":tada:")
    world.hand("maya").reacts(theirs, ":thumbsup:")
    polled = world.chat.poll(cursor)
    assert sorted(polled.arrivals, key=lambda a: a.key) == sorted(
        [
            MessageArrived(f"chat:{ours}!:tada:!maya", "maya", "front-desk", ":tada:", "elena.1.1", (), "reacted"),
            MessageArrived(f"chat:{theirs}!:thumbsup:!maya", "maya", "front-desk", ":thumbsup:", f"chat:{theirs}", (), "reacted"),
        ],
        key=lambda a: a.key,
    )  # fmt: skip
    assert polled.remarks == (), "the office's own tick is no news"
    world.hand("maya").reacts(ours, ":tada:", False)
    assert world.chat.poll(polled.cursor).arrivals == ()


def test_files_come_with_their_bytes(world: World) -> None:
    world.set_up(room("Elena and Maya", "direct", ("elena", "maya"), "dm:elena:maya"), room())
    world.hand("maya").sends(world.direct("elena", "maya"), "Ledger ü.xlsx", b"\0\1" * 100, "the ledger")
    world.hand("priya").sends(world.rid("front-desk"), "photo.txt", b"p")
    found = {a.person: a for a in arrived(world.chat.poll(""))}
    assert (found["maya"].text, found["maya"].to) == ("the ledger", "elena")
    assert [(f.name, f.data) for f in found["maya"].files] == [("Ledger ü.xlsx", b"\0\1" * 100)]
    assert (found["priya"].text, found["priya"].files[0].data) == ("Sent: photo.txt", b"p")


@pytest.mark.parametrize("admitted", [True, False])
def test_a_file_of_more_than_25_megabytes_is_named_and_left_out(world: World, admitted: bool) -> None:
    world.set_up()
    world.hand("priya").sends(world.rid("front-desk"), "film.txt", b"x" * 25_000_001, "look")
    if not admitted:
        world.said()[0]["files"][0]["size"] = 10
    polled = world.chat.poll("")
    (arrival,) = arrived(polled)
    assert arrival.files == ()
    assert arrival.text == "look\n(the file film.txt is larger than 25 MB and did not come in)"
    assert "film.txt" in polled.remarks[0]


def test_a_file_that_cannot_be_had_for_now_waits_and_the_rest_goes_on(world: World) -> None:
    world.set_up(room(), room("Second"))
    world.hand("priya").sends(world.rid("front-desk"), "a.txt", b"a")
    world.hand("priya").says(world.rid("second"), "elsewhere")
    world.server.faults.plan(Fault("status", 1, "/file-upload/", 500))
    polled = world.chat.poll("")
    assert [a.text for a in arrived(polled)] == ["elsewhere"]
    assert "waits" in polled.remarks[0]
    assert [a.files[0].data for a in arrived(world.chat.poll(polled.cursor))] == [b"a"]


def test_what_waits_for_its_file_is_not_passed_over_by_what_was_deleted_later(world: World) -> None:
    world.set_up()
    hand, rid = world.hand("priya"), world.rid("front-desk")
    gone = hand.says(rid, "oops")
    cursor = world.chat.poll("").cursor
    hand.sends(rid, "a.txt", b"a")
    world.server.pass_time(3_600)
    hand.deletes(rid, gone)
    world.server.faults.plan(Fault("status", 1, "/file-upload/", 500))
    polled = world.chat.poll(cursor)
    assert [a.change for a in arrived(polled)] == ["deleted"]
    assert [a.files[0].data for a in arrived(world.chat.poll(polled.cursor))] == [b"a"]


def test_reading_moves_on_past_what_was_deleted(world: World) -> None:
    world.set_up()
    hand, rid = world.hand("priya"), world.rid("front-desk")
    gone = hand.says(rid, "oops")
    cursor = world.chat.poll("").cursor
    world.server.pass_time(3_600)
    hand.deletes(rid, gone)
    at = world.server.trash[0]["_deletedAt"]
    world.chat.poll(world.chat.poll(cursor).cursor)
    asked = world.server.asked("syncMessages")[-1].request.query["lastUpdate"]
    assert before(at, 5) == asked


def test_a_file_that_can_never_be_had_is_given_up_in_words(world: World) -> None:
    world.set_up()
    world.hand("priya").sends(world.rid("front-desk"), "a.txt", b"a", "here")
    world.server.faults.plan(Fault("status", 9, "/file-upload/", 500))
    cursor, seen = "", list[MessageArrived]()
    for _ in range(6):
        polled = world.chat.poll(cursor)
        cursor, seen = polled.cursor, [*seen, *arrived(polled)]
    assert [a.text for a in seen] == ["here\n(the file a.txt could not be fetched in 5 attempts)"]


def test_what_has_no_place_in_the_office_is_a_remark_once(world: World) -> None:
    world.set_up()
    world.server._make_user("eve", "Eve", "eve@elsewhere.example", "eve's", ["user"])
    world.server.passwords["eve"] = "secret of eve"
    rid = world.rid("front-desk")
    world.hand("eve").says(rid, "let me in")
    world.hand("office").says(rid, "by hand")
    world.hand("eve").reacts(world.hand("priya").says(rid, "no"), "eyes")
    own = world.hand("priya").post("channels.create", {"name": "gossip"})["channel"]["_id"]
    world.hand("priya").says(own, "have you heard")
    world.hand("priya").says(world.hand("priya").opens("office"), "dear office")
    world.hand("priya").says(world.hand("priya").opens("elena", "maya"), "three of us")
    polled = world.chat.poll("")
    assert [a.text for a in arrived(polled)] == ["no"]
    remarks = "\n".join(polled.remarks)
    assert "'eve' in 'front-desk' has no place in the office: 'let me in'" in remarks
    assert "'by hand'" in remarks
    assert "a reaction :eyes: by 'eve'" in remarks
    assert "1 new message in 'gossip', which is no room of the office" in remarks
    assert "'dear office'" in remarks
    assert "elena, maya, priya" in remarks
    assert world.chat.poll(polled.cursor).remarks == ()
    world.hand("priya").says(own, "and more")
    assert "1 new message in 'gossip'" in world.chat.poll(polled.cursor).remarks[0]


def test_system_messages_are_nothing_and_discussions_and_secrets_are_remarks(world: World) -> None:
    world.set_up()
    rid, hand = world.rid("front-desk"), world.hand("priya")
    for kind in ("uj", "room_changed_topic", "e2e", "discussion-created"):
        world.server.messages[hand.says(rid, "x")].update(t=kind)
    polled = world.chat.poll("")
    assert polled.arrivals == ()
    assert ["encrypted" in r or "discussion" in r for r in polled.remarks] == [True, True]


def test_two_offices_on_one_server_hear_their_own(world: World) -> None:
    world.set_up()
    people = directory("noor", office="cedar")
    other = world.anew(people)
    other.provision(people)
    other.open_room(room("Cedar", members=("noor",)))
    world.hand("noor").says(world.rid("cedar"), "hello cedar")
    world.hand("priya").says(world.rid("front-desk"), "hello juniper")
    assert [a.text for a in arrived(other.poll(""))] == ["hello cedar"]
    assert [a.text for a in arrived(world.anew().poll(""))] == ["hello juniper"]


def test_a_room_that_lost_the_offices_account_is_said_once_and_the_others_are_read(world: World) -> None:
    world.set_up(room(), room("Secret", "matter"))
    world.server.members[world.rid("secret")].remove("office")
    world.hand("priya").says(world.rid("secret"), "unheard")
    world.hand("priya").says(world.rid("front-desk"), "heard")
    polled = world.chat.poll("")
    assert [a.text for a in arrived(polled)] == ["heard"]
    assert "room 'secret' could not be read" in polled.remarks[0]
    world.server._join(world.rid("secret"), "office")
    assert [a.text for a in arrived(world.chat.poll(polled.cursor))] == ["unheard"]


def test_a_person_who_changed_their_password_closes_no_direct_messages(world: World) -> None:
    world.set_up()
    rid = world.hand("maya").opens("daniel")
    world.hand("maya").says(rid, "lunch?")
    world.server.passwords["daniel"] = "his own now"
    polled = world.chat.poll("")
    assert [a.text for a in arrived(polled)] == ["lunch?"]
    assert "does not take the office's password" in polled.remarks[0]


def test_many_quiet_rooms_are_read_in_turn_and_a_loud_one_at_once(world: World) -> None:
    names = [f"Room {n:03d}" for n in range(70)]
    world.set_up(*(room(name, members=("elena",)) for name in names))
    cursor = world.chat.poll("").cursor
    world.hand("elena").says(world.rid("room-069"), "now")
    asked = len(world.server.asked("syncMessages"))
    polled = world.chat.poll(cursor)
    assert [a.text for a in arrived(polled)] == ["now"]
    assert len(world.server.asked("syncMessages")) - asked == 61
    world.chat.poll(polled.cursor)
    rooms = {e.request.query["roomId"] for e in world.server.asked("syncMessages")[asked:]}
    assert len(rooms) == 70, "after two polls every quiet room had its turn"


def test_a_great_deal_comes_in_several_polls_in_order(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("services.carriers.rocketchat.inbound._ARRIVALS", 7)
    world.set_up()
    hand, rid = world.hand("priya"), world.rid("front-desk")
    for n in range(30):
        hand.says(rid, str(n))
        if n % 10 == 0:
            world.server.pass_time(100)
    cursor, texts, polls = "", [], 0
    while polls < 10:
        polled = world.chat.poll(cursor)
        cursor, polls = polled.cursor, polls + 1
        assert len(polled.arrivals) <= 7
        texts += [a.text for a in arrived(polled)]
    assert texts == [str(n) for n in range(30)]


def test_an_answer_too_large_is_read_in_pages(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("services.carriers.rocketchat.inbound._PAGE", 10)
    monkeypatch.setattr("services.carriers.rocketchat.inbound._SYNC_LIMIT", 6_000)
    world.set_up()
    hand, rid = world.hand("priya"), world.rid("front-desk")
    for n in range(40):
        hand.says(rid, str(n))
        world.server.pass_time(10)
    cursor, texts = "", []
    for _ in range(8):
        polled = world.chat.poll(cursor)
        cursor = polled.cursor
        texts += [a.text for a in arrived(polled)]
    assert texts == [str(n) for n in range(40)]
    assert any("next" in e.request.query for e in world.server.asked("syncMessages"))


def test_a_server_that_cannot_be_asked_is_an_error_and_loses_nothing(world: World) -> None:
    world.set_up()
    world.hand("priya").says(world.rid("front-desk"), "still here")
    for fault in (
        Fault("status", 1, "adminRooms", 500),
        Fault("drop", 1, "syncMessages"),
        Fault("drop_after", 1, "syncMessages"),
    ):
        world.server.faults.plan(fault)
        with pytest.raises(CarrierError):
            world.chat.poll("")
    assert [a.text for a in arrived(world.chat.poll(""))] == ["still here"]


@pytest.mark.parametrize("cursor", ["nonsense", "[]", '{"since": 5}', "null"])
def test_a_cursor_that_is_none_reads_anew_and_says_so(world: World, cursor: str) -> None:
    world.set_up()
    world.hand("priya").says(world.rid("front-desk"), "hello")
    polled = world.chat.poll(cursor)
    assert [a.text for a in arrived(polled)] == ["hello"]
    assert "read anew" in polled.remarks[0]


def test_the_cursor_stays_small(world: World) -> None:
    world.set_up()
    hand, rid = world.hand("priya"), world.rid("front-desk")
    cursor = ""
    sizes: list[int] = []
    for _ in range(4):
        for n in range(250):
            world.server._put({"rid": rid, "msg": f"{n}"}, world.server._user("priya"))
        world.server.pass_time(60)
        cursor = world.chat.poll(cursor).cursor
        sizes.append(len(cursor))
    assert hand.username == "priya"
    assert sizes[-1] < 50_000
    assert sizes[-1] - sizes[-2] < 100


@pytest.mark.parametrize(
    "garbage",
    [
        "text", None, 7, {}, {"_id": 5}, {"_id": "x" * 5_000, "msg": "m" * 50_000, "u": {"username": "priya"}},
        {"_id": "a", "msg": {"$ne": 1}, "u": [], "ts": {"$date": 1e300}, "_updatedAt": "yesterday", "reactions": [1]},
        {"_id": "b", "u": {"username": 5}, "reactions": {"x": 1, "y": {"usernames": [None, "\udc00"]}}, "files": [[], {}]},
    ],
)  # fmt: skip
def test_garbage_between_messages_hides_none_of_them(world: World, garbage: Any) -> None:
    world.set_up()
    world.hand("priya").says(world.rid("front-desk"), "one")
    answer = world.server.sync

    def with_garbage(given: Any, who: Any) -> Any:
        found = answer(given, who)
        found["result"]["updated"] = [garbage, *found["result"]["updated"], garbage]
        found["result"]["deleted"] = [garbage]
        return found

    world.server.override("chat.syncMessages", with_garbage)
    world.server.unchecked = True
    polled = world.chat.poll("")
    assert "one" in [a.text for a in arrived(polled)]
    assert all(a.person == "priya" for a in arrived(polled))
    polled.cursor.encode()
