"""Systems of record: who may use them, through `can`, `view` and at the desk of an assistant."""

from __future__ import annotations

import pytest

from services.storage.memory import MemoryBlobs
from simulator.access import NOT_YOURS, Subject, can
from simulator.conversation import ToolCall, ToolSpec
from simulator.events import ClearanceSet, DelegationOpened, MemberRemoved, SystemAdded
from simulator.records import Body, Delegation, Level, SystemOfRecord
from simulator.systems import Desk, SystemAnswer
from simulator.view import view, view_reference
from tests.access.world import OAKRIDGE, RIVERBEND, TOOLING, World, juniper

BLOBS = MemoryBlobs()


def with_system(*audience: str, level: Level = "internal", name: str = "portal") -> World:
    world = juniper()
    add(world, *audience, level=level, name=name)
    return world


def add(world: World, *audience: str, level: Level = "internal", name: str = "portal") -> None:
    world.do(SystemAdded(SystemOfRecord(name, name.capitalize(), audience, BLOBS.put(b"d"), BLOBS.put(b"0"), level)))


def may(world: World, who: str | Subject, name: str = "portal") -> bool:
    decision = can(who, "use_system", name, world.office)
    assert decision.allowed or decision.reason == NOT_YOURS, "not there and not yours look the same"
    listed = {s.id for s in view(world.office, who).systems()}
    assert listed == {s.id for s in view_reference(world.office, who).systems()}
    assert (name in listed) is decision.allowed
    return decision.allowed


@pytest.mark.parametrize(("audience", "who"), [
    (("everyone",), {"elena", "daniel", "quinn", "dev", "nora"}), (("person:dev",), {"dev"}), (("department:assurance",), {"daniel", "nora"}),
    ((f"matter:{RIVERBEND}",), {"elena", "daniel", "quinn"}), (("person:dev", "person:nora"), {"dev", "nora"}), ((), set()),
])  # fmt: skip
def test_the_audience_uses_a_system_and_nobody_else(audience: tuple[str, ...], who: set[str]) -> None:
    """Neither a reporting line nor an authority lets anybody in; who left has no right; contacts are another firm's."""
    world = with_system(*audience)
    assert {p for p in world.office.people if may(world, p)} == who


def test_a_contact_uses_no_system_even_if_named() -> None:
    world = with_system("person:maya", "client:riverbend", f"matter:{RIVERBEND}")
    assert not may(world, "maya")


def test_what_is_not_there_is_not_yours() -> None:
    assert not may(with_system("everyone"), "elena", "vault")


def test_a_class_above_ones_clearance_shuts_one_out() -> None:
    world = with_system("everyone", level="confidential")
    assert may(world, "daniel") and not may(world, "dev")
    world.do(ClearanceSet("dev", "confidential"))
    assert may(world, "dev")


def test_an_assistant_has_its_principals_systems_confined_to_its_matter() -> None:
    world = with_system(f"matter:{RIVERBEND}")
    add(world, "department:assurance", name="desk")
    for matter, theirs in ((RIVERBEND, True), (TOOLING, False), ("", False)):
        assert may(world, Subject("daniel", matter)) is theirs
        assert may(world, Subject("daniel", matter), "desk"), "what is for no matter serves in all work"
    assert not may(world, Subject("nora", RIVERBEND)) and not may(world, Subject("nora", OAKRIDGE))


def test_a_second_audience_does_not_open_a_matters_system_in_other_work() -> None:
    world = with_system(f"matter:{TOOLING}", "person:dev")
    assert may(world, Subject("daniel", TOOLING)) and not may(world, Subject("daniel", RIVERBEND))
    assert may(world, Subject("dev", "")), "named in person"


class Counter:
    """A system that counts."""

    def tools(self, definition: bytes) -> tuple[ToolSpec, ...]:
        return (ToolSpec("count", "Count.", {"type": "object"}),)

    def call(self, definition: bytes, state: bytes, tool: str, arguments: str, day: str) -> SystemAnswer:
        after = str(int(state) + 1)
        return SystemAnswer(after, after.encode(), True)


def test_a_desk_offers_what_may_be_used_and_asks_again_when_the_work_lands() -> None:
    world = with_system(f"matter:{RIVERBEND}")
    add(world, f"matter:{OAKRIDGE}", name="vault")
    world.do(DelegationOpened(Delegation("d1", "daniel", Body("Count.", size=6), world.now, matter=RIVERBEND)))
    work = world.office.delegations["d1"]
    desk = Desk(Counter(), BLOBS, world.office, work, world.now)
    assert [t.name for t in desk.tools] == ["portal__count"]
    assert [desk.answer(ToolCall("c", "portal__count", "{}")) for _ in range(2)] == ["1", "2"]
    assert [(c.outcome, c.state) for c in desk.land(world.office)] == [("done", b"1"), ("done", b"2")]
    world.do(MemberRemoved(RIVERBEND, "daniel"))
    lost = desk.land(world.office)
    assert [(c.outcome, c.state, bool(c.why)) for c in lost] == [("conflict", b"0", True), ("conflict", b"0", False)]
