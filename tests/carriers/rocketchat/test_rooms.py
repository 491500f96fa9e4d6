"""Rooms: which is which stands on the server itself; members are the office's; nobody else's room is ever taken for one."""

from __future__ import annotations

import pytest

from services.carriers.rocketchat.rooms import mark, slug
from simulator.errors import CarrierError
from tests.carriers.rocketchat.world import World, directory, room
from tests.carriers.standins.faults import Fault


def test_each_kind_of_room_has_its_kind_there(world: World) -> None:
    world.set_up(
        room("Front desk"),
        room("Riverbend audit", "matter", ("elena", "maya")),
        room("Elena and Maya", "direct", ("elena", "maya"), "dm:elena:maya"),
    )
    rooms = {r.get("name", "direct"): r for r in world.server.rooms.values()}
    assert {name: r["t"] for name, r in rooms.items()} == {
        "general": "c", "front-desk": "c", "riverbend-audit": "p", "direct": "d",
    }  # fmt: skip
    members = {name: sorted(world.server.members[r["_id"]]) for name, r in rooms.items()}
    assert members["front-desk"] == ["daniel", "elena", "maya", "office", "priya"]
    assert members["riverbend-audit"] == ["elena", "maya", "office"]
    assert members["direct"] == ["elena", "maya"], "the office's account is no guest of direct messages"
    assert rooms["riverbend-audit"]["topic"].endswith("officetown:juniper:riverbend-audit")


def test_opening_again_makes_no_second_room_and_lets_in_who_is_missing(world: World) -> None:
    world.set_up(room(members=("elena",)))
    world.anew().open_room(room(members=("elena", "maya", "tom", "nobody")))
    assert [r["name"] for r in world.server.rooms.values()] == ["general", "front-desk"]
    assert sorted(world.server.members[world.rid("front-desk")]) == ["elena", "maya", "office"]


def test_a_room_whose_making_was_not_answered_is_found(world: World) -> None:
    world.chat.provision(world.people)
    world.server.faults.plan(Fault("drop_after", match="channels.create"))
    with pytest.raises(CarrierError):
        world.chat.open_room(room())
    world.anew().open_room(room())
    assert [r["name"] for r in world.server.rooms.values()] == ["general", "front-desk"]


def test_the_rooms_of_another_office_keep_their_names(world: World) -> None:
    world.set_up(room("Front desk"))
    other = world.anew(directory("noor", "omar", office="cedar"))
    other.provision(directory("noor", "omar", office="cedar"))
    other.open_room(room("Front desk", members=("noor",)))
    other.open_room(room("Front Desk!", members=("omar",), room_id="second"))
    names = {r["name"]: r.get("topic", "") for r in world.server.rooms.values()}
    assert set(names) == {"general", "front-desk", "front-desk-cedar", "front-desk-" + _digest(names)}
    assert names["front-desk-cedar"].endswith("officetown:cedar:front-desk")
    assert world.server.members[world.rid("front-desk")].count("noor") == 0


def _digest(names: dict[str, str]) -> str:
    return next(name.rsplit("-", 1)[1] for name, topic in names.items() if topic.endswith(":second"))


def test_a_room_made_by_somebody_else_is_never_the_offices_whatever_its_topic_says(world: World) -> None:
    """RULE 27: a matter's words go to its members, so a topic that anybody may write opens no door."""
    world.chat.provision(world.people)
    body = {"name": "trap", "extraData": {"topic": mark("juniper", "riverbend")}}
    world.hand("priya").post("channels.create", body)
    world.chat.open_room(room("Riverbend", "matter", ("elena",)))
    world.posts("elena.1.1", where="riverbend")
    assert world.said("trap") == []
    assert [m["msg"] for m in world.said("riverbend")] == ["text of elena.1.1"]
    assert [a for a in world.chat.poll("").arrivals] == []


def test_members_come_and_go(world: World) -> None:
    world.set_up(room(members=("elena",)))
    for _ in range(2):
        world.joins("maya")
    assert "maya" in world.server.members[world.rid("front-desk")]
    for _ in range(2):
        world.joins("maya", joined=False)
    assert "maya" not in world.server.members[world.rid("front-desk")]
    world.joins("tom")
    world.joins("nobody")
    assert sorted(world.server.members[world.rid("front-desk")]) == ["elena", "office"]


def test_a_direct_room_that_is_there_already_is_used(world: World) -> None:
    world.chat.provision(world.people)
    rid = world.hand("maya").opens("elena")
    world.chat.open_room(room("Elena and Maya", "direct", ("elena", "maya"), "dm:elena:maya"))
    world.posts("elena.1.1", where="dm:elena:maya")
    assert [m["rid"] for m in world.server.messages.values()] == [rid]


def test_a_direct_room_of_another_shape_is_a_private_group(world: World) -> None:
    world.set_up(room("Three", "direct", ("daniel", "elena", "maya"), "trio"))
    world.anew()
    world.posts("elena.1.1", where="trio")
    assert [(m["msg"], world.server.rooms[m["rid"]]["t"]) for m in world.server.messages.values()] == [
        ("text of elena.1.1", "p")
    ]


def test_a_room_that_is_gone_says_what_to_do_and_what_waits_there_waits(world: World) -> None:
    world.set_up()
    world.hand("office").post("rooms.delete", {"roomId": world.rid("front-desk")})
    with pytest.raises(CarrierError, match="Invalid room"):
        world.posts("elena.1.1")
    with pytest.raises(CarrierError, match="not there any more: it was deleted, or its topic"):
        world.posts("elena.1.1")
    world.chat.open_room(room())
    world.posts("elena.1.1")
    assert len(world.said()) == 1


@pytest.mark.parametrize(
    ("name", "expected"),
    [("Front desk", "front-desk"), ("Büro / Café №5", "buro-cafe-no5"), ("###", "room"), ("x" * 200, "x" * 60)],
)
def test_names_are_such_as_every_server_takes(name: str, expected: str) -> None:
    assert slug(name) == expected
