"""Rights in talk, calendar, work and memory; who may be known about (RULES 11, 17, 27 and 28)."""

from __future__ import annotations

import pytest

from simulator.access import NOT_YOURS, Subject, can
from simulator.access_base import Action
from simulator.events import MemberRemoved
from simulator.records import Notice
from tests.access.world import OAKRIDGE, RIVERBEND, TOOLING, World, juniper

HELPER = Subject("daniel", RIVERBEND)
INTERNAL = Subject("daniel", "")


def who(world: World, action: Action, target: object) -> list[str]:
    return [p for p in sorted(world.office.people) if can(p, action, target, world.office).allowed]


@pytest.mark.parametrize(
    "action",
    [
        "read_room", "post_room", "read_message", "read_mail", "read_entry", "read_meeting", "read_request",
        "read_delegation", "read_memory", "know", "request", "answer", "review", "save", "list", "create",
    ],
)  # fmt: skip
def test_what_is_not_there_is_not_yours(action: Action) -> None:
    decision = can("daniel", action, "no.such.thing", juniper().office)
    assert decision.reason == NOT_YOURS
    assert not decision.allowed


def test_a_room_is_its_members_and_its_walls() -> None:
    world = juniper()
    room = world.room("riverbend", ["elena", "daniel", "dev"], RIVERBEND)
    assert who(world, "read_room", room) == ["daniel", "elena"], "Dev is in the room, not on the team"
    assert who(world, "post_room", room) == ["daniel", "elena"]
    world.do(MemberRemoved(RIVERBEND, "daniel"))
    assert who(world, "read_room", room) == ["elena"]
    internal = world.room("tools", ["elena", "dev"], TOOLING)
    assert who(world, "read_room", internal) == ["dev", "elena"], "internal work has no wall"
    assert who(world, "read_room", world.room("lost", ["elena"], "nowhere")) == []


def test_a_contact_is_in_a_room_of_their_own_clients_matter() -> None:
    world = juniper()
    room = world.room("riverbend", ["elena", "maya", "omar"], RIVERBEND)
    assert who(world, "read_room", room) == ["elena", "maya"]


def test_an_assistant_hears_its_matter_and_posts_nothing() -> None:
    world = juniper()
    ours = world.room("riverbend", ["elena", "daniel"], RIVERBEND)
    general = world.room("general", ["elena", "daniel"])
    direct = world.room("direct", ["elena", "daniel"], direct=True)
    office = world.office
    assert [can(HELPER, "read_room", r, office).allowed for r in (ours, general, direct)] == [True, False, False]
    assert [can(INTERNAL, "read_room", r, office).allowed for r in (ours, general, direct)] == [False, True, False]
    assert not can(HELPER, "post_room", ours, office).allowed


def test_an_assistant_hears_nothing_that_rests_on_files_outside_its_confinement() -> None:
    world = juniper()
    walled = world.save("daniel", "home:daniel", "x.txt", walls=(OAKRIDGE,))
    room = world.room("riverbend", ["elena", "daniel"], RIVERBEND)
    plain, resting = world.post(room, "daniel", "good morning"), world.post(room, "daniel", "as in", [walled])
    mail = world.mail("daniel", ["elena"], "as in", [walled], matter=RIVERBEND)
    assert can("daniel", "read_message", resting, world.office).allowed
    assert can(HELPER, "read_message", plain, world.office).allowed
    assert not can(HELPER, "read_message", resting, world.office).allowed
    assert not can(HELPER, "read_mail", mail, world.office).allowed


def test_a_mail_is_its_senders_and_recipients() -> None:
    world = juniper()
    mail = world.mail("maya", ["elena"], "December", matter=RIVERBEND, external=True)
    assert who(world, "read_mail", mail) == ["elena", "maya"]
    assert can("maya", "read_mail", mail, world.office).reason == "its sender"


def test_a_mail_from_outside_without_a_matter_is_for_the_person_alone() -> None:
    world = juniper()
    outside = world.mail("omar", ["daniel"], "hello", external=True)
    inside = world.mail("elena", ["daniel"], "hello")
    assert can("daniel", "read_mail", outside, world.office).allowed
    assert not can(INTERNAL, "read_mail", outside, world.office).allowed
    assert can(INTERNAL, "read_mail", inside, world.office).allowed
    assert not can(HELPER, "read_mail", inside, world.office).allowed


def test_calendar_and_meetings_are_for_those_invited() -> None:
    """RULE 17: latecomers read the minutes."""
    world = juniper()
    entry = world.meet("elena", ["elena", "daniel", "dev"], "Kick-off", RIVERBEND)
    meeting = world.held(entry, present=["elena", "daniel"])
    assert who(world, "read_entry", entry) == ["daniel", "dev", "elena"]
    assert who(world, "read_meeting", meeting) == ["daniel", "dev", "elena"]
    assert can("dev", "read_meeting", meeting, world.office).reason == "was invited"
    for action, target in (("read_entry", entry), ("read_meeting", meeting)):
        assert can(HELPER, action, target, world.office).allowed  # type: ignore[arg-type]
        assert not can(INTERNAL, action, target, world.office).allowed  # type: ignore[arg-type]


def test_a_request_is_between_two() -> None:
    world = juniper()
    request = world.request("elena", "daniel", "reconcile December", RIVERBEND)
    assert who(world, "read_request", request) == ["daniel", "elena"]
    assert can(HELPER, "read_request", request, world.office).allowed
    assert not can(INTERNAL, "read_request", request, world.office).allowed


def test_a_delegation_is_its_principals_alone() -> None:
    world = juniper()
    delegation = world.delegate("daniel", "reconcile", RIVERBEND)
    for action in ("read_delegation", "answer", "review"):
        assert who(world, action, delegation) == ["daniel"]
    assert can(HELPER, "read_delegation", delegation, world.office).allowed
    assert not can(HELPER, "answer", delegation, world.office).allowed
    assert not can(HELPER, "review", delegation, world.office).allowed
    assert not can(INTERNAL, "read_delegation", delegation, world.office).allowed


def test_memory_is_its_holders_and_no_assistants() -> None:
    world = juniper()
    memory = world.note("daniel", "decision", "three workstreams", matter=RIVERBEND)
    assert who(world, "read_memory", memory) == ["daniel"]
    assert not can(HELPER, "read_memory", memory, world.office).allowed


def test_notices_are_for_whom_they_are_addressed_to() -> None:
    world = juniper()
    delegation = world.delegate("daniel", "reconcile", RIVERBEND)
    other = world.delegate("daniel", "tools", TOOLING)
    about = {ref: Notice(f"{ref}.n", "daniel", 0, "reviewed", ref) for ref in (delegation, other, "", "unknown")}
    assert all(who(world, "read_notice", n) == ["daniel"] for n in about.values())
    assert [can(HELPER, "read_notice", n, world.office).allowed for n in about.values()] == [True, False, False, False]


def test_an_assistants_notices_are_placed_by_what_they_name() -> None:
    world = juniper()
    request = world.request("elena", "daniel", "reconcile", RIVERBEND)
    entry = world.meet("elena", ["daniel"], "Kick-off", RIVERBEND)
    meeting = world.held(entry)
    ref = world.save("daniel", "home:daniel", "a.txt", walls=(OAKRIDGE,))
    world.accept(ref, "daniel")
    acceptance = world.office.accepted[ref.file][0]
    found = [
        can(HELPER, "read_notice", Notice("n", "daniel", 0, "", about), world.office).allowed
        for about in (request, entry, meeting, acceptance)
    ]
    assert found == [True, True, True, False]


def test_who_is_known_to_whom() -> None:
    """DESIGN 4: walls stand between clients, also in the directory."""
    world = juniper()
    assert who(world, "know", "person:dev") == ["daniel", "dev", "elena", "nora", "quinn"]
    assert who(world, "know", "person:elena") == ["daniel", "dev", "elena", "maya", "milo", "nora", "quinn"]
    assert who(world, "know", "person:maya") == ["daniel", "elena", "maya", "milo", "quinn"]
    assert who(world, "know", "client:oakridge") == ["nora", "omar"]
    assert who(world, "know", f"matter:{RIVERBEND}") == ["daniel", "elena", "maya", "milo", "quinn"]
    assert who(world, "know", f"matter:{TOOLING}") == ["daniel", "dev", "elena", "nora", "quinn"]
    for unknown in ("matter:nowhere", "client:nowhere", "person:nowhere", "planet:mars"):
        assert who(world, "know", unknown) == []
    office = world.office
    assert can(HELPER, "know", "person:maya", office).allowed
    assert can(HELPER, "know", f"matter:{RIVERBEND}", office).allowed
    assert not can(INTERNAL, "know", "person:maya", office).allowed
    assert not can(INTERNAL, "know", f"matter:{RIVERBEND}", office).allowed


def test_who_may_ask_whom() -> None:
    office = juniper().office
    assert can("elena", "request", "daniel", office).allowed
    assert can("quinn", "request", "daniel", office).reason == "this needs the authority request"
    assert can("elena", "request", "elena", office).reason == "one makes no request to oneself"
    assert can("elena", "request", "maya", office).reason == "requests are made to colleagues; write to a client"
    assert can("elena", "request", "omar", office).reason == NOT_YOURS
    assert can("elena", "request", "zed", office).reason == NOT_YOURS


def test_who_may_delegate() -> None:
    office = juniper().office
    assert can("daniel", "delegate", RIVERBEND, office).allowed
    assert can("daniel", "delegate", "", office).allowed
    assert can("quinn", "delegate", RIVERBEND, office).reason == "this needs the authority delegate"
    hidden = can("daniel", "delegate", OAKRIDGE, office)
    assert hidden == can("daniel", "delegate", "nowhere", office)
    assert not hidden.allowed
