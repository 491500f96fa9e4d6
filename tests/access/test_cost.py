"""What a view costs is counted in questions asked, which no machine's load changes (RULE 29, DESIGN 14)."""

from __future__ import annotations

import pytest

import simulator.visible
from simulator.access import Decision, can
from simulator.view import view, view_reference
from tests.access.world import RIVERBEND, World, juniper


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The targets of every question about a file, as they are asked."""
    seen: list[object] = []

    def counting(*args: object) -> Decision:
        seen.append(args[2])
        return can(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(simulator.visible, "can", counting)
    return seen


def crowded(files: int) -> World:
    """An office where Daniel may read ten files, and others have many more."""
    world = juniper()
    for number in range(10):
        world.share(world.save("elena", "home:elena", f"shared {number}.txt"), f"matter:{RIVERBEND}")
    for number in range(files):
        world.save("nora", "home:nora", f"private {number}.txt")
    return world


@pytest.mark.parametrize("files", [10, 200])
def test_a_first_look_asks_about_candidates_alone(asked: list[object], files: int) -> None:
    world = crowded(files)
    assert len(view(world.office, "daniel").files()) == 10
    assert len(asked) == 10
    view_reference(world.office, "daniel").files()
    assert len(asked) == 10 + 10 + files, "the plain loop asks about everything"


def test_a_second_look_asks_nothing(asked: list[object]) -> None:
    world = crowded(5)
    first = view(world.office, "daniel").files()
    del asked[:]
    assert view(world.office, "daniel").files() is first
    world.post(world.room("general", ["elena", "nora"]), "nora", "talk changes no file")
    assert view(world.office, "daniel").files() is first
    assert asked == []


def test_what_others_save_and_share_elsewhere_asks_nothing(asked: list[object]) -> None:
    world = crowded(5)
    view(world.office, "daniel").files()
    del asked[:]
    mine = world.save("nora", "home:nora", "one more.txt")
    world.share(mine, "person:elena")
    view(world.office, "daniel").files()
    assert asked == []


def test_what_changed_alone_is_asked_about(asked: list[object]) -> None:
    world = crowded(5)
    seen = view(world.office, "daniel").files()
    del asked[:]
    newer = world.again(seen[0].ref, "two")
    assert len(view(world.office, "daniel").files()) == 10
    assert asked == [seen[0].ref], "the version shared before is asked about again, the new one is not a candidate"
    del asked[:]
    world.share(newer, f"matter:{RIVERBEND}")
    view(world.office, "daniel").files()
    assert asked == [seen[0].ref, newer]
