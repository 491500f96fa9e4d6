"""The floor as a place: rooms and desks do not overlap, everybody is somewhere, and meetings gather people."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.web.queries.common import When
from orchestrator.web.queries.state import AtWork, Desk, Floor
from orchestrator.web.ui import floorplan
from orchestrator.web.ui.drawing import Node
from orchestrator.web.ui.floorplan import CLIENTS, CROWD, MEETING, Flight

NOWHERE = When(0, "")
EVIL = '<img src=x onerror="run()">'


def desk(person: str, department: str, kind: str = "staff", doing: str = "idle", **more: Any) -> Desk:
    fields = {"about": "", "waiting": 0, "starts": NOWHERE, **more}
    return Desk(person, f"Name {person}", "Title", kind, department, "", doing, "", **fields)


def floor(people: list[Desk], departments: list[str], running: tuple[AtWork, ...] = ()) -> Floor:
    named = tuple((d, f"Department {d}") for d in departments)
    return Floor(1, When(1_767_603_600, "2026-01-05T09:00+00:00"), "", True, named, tuple(people), running, (), (), {})


def meeting(ref: str, people: list[str]) -> AtWork:
    return AtWork(f"{ref}.m1", "meeting", f"!{ref}", tuple(people), ref, NOWHERE, ())


@st.composite
def floors(draw: st.DrawFn) -> Floor:
    """Floors of up to 90 people in up to 9 departments, some of them clients, some in meetings."""
    departments = [f"d{i}" for i in range(draw(st.integers(0, 9)))]
    people = []
    for i in range(draw(st.integers(1, 90))):
        where = draw(st.sampled_from([*departments, "none"]))
        kind = draw(st.sampled_from(["staff", "staff", "client"]))
        people.append(desk(f"p{i}", where, kind, draw(st.sampled_from(["idle", "working", "due", "gone", "played"]))))
    here = [p.id for p in people if p.doing != "gone"]
    cut = draw(st.integers(0, min(12, len(here))))
    running = (meeting("m", here[:cut]),) if cut else ()
    return floor(people, departments, running)


@given(floors(), st.sampled_from([364.0, 500.1, 1040.0]))
def test_rooms_lie_within_the_width_and_none_overlaps_another(seen: Floor, width: float) -> None:
    laid = floorplan.plan(seen, width)
    for room in laid.rooms:
        assert room.x >= 0
        assert room.y >= 0
        assert room.x + room.w <= width + 0.01
        assert room.y + room.h <= laid.height + 0.01
    for a, b in combinations(laid.rooms, 2):
        apart = a.x + a.w <= b.x + 0.01 or b.x + b.w <= a.x + 0.01 or a.y + a.h <= b.y + 0.01 or b.y + b.h <= a.y + 0.01
        assert apart, f"{a.name} lies upon {b.name}"


@given(floors(), st.sampled_from([364.0, 1040.0]))
def test_everybody_who_is_there_has_one_desk_inside_their_room(seen: Floor, width: float) -> None:
    laid = floorplan.plan(seen, width)
    assert set(laid.desks) == {p.id for p in seen.people if p.doing != "gone"} == set(laid.people)
    for room in laid.rooms:
        for person in room.people:
            x, y = laid.desks[person]
            assert room.x < x < room.x + room.w
            assert room.y < y < room.y + room.h
    places = list(laid.desks.values())
    assert len({(round(x), round(y)) for x, y in places}) == len(places), "no two people share a desk"


def test_those_in_a_meeting_sit_at_one_table_in_the_meeting_room_and_the_others_at_their_desks() -> None:
    people = [desk(f"p{i}", "d") for i in range(6)]
    laid = floorplan.plan(floor(people, ["d"], (meeting("a", ["p0", "p1"]), meeting("b", ["p2", "p3"]))), 1040)
    hall = next(room for room in laid.rooms if room.id == MEETING)
    for person in ("p0", "p1", "p2", "p3"):
        x, y = laid.people[person]
        assert hall.x < x < hall.x + hall.w
        assert hall.y < y < hall.y + hall.h
    assert {p for p in laid.people if laid.people[p] == laid.desks[p]} == {"p4", "p5"}
    (_, ax, ay), (_, bx, by) = laid.tables
    assert (ax, ay) != (bx, by)
    assert abs(laid.people["p0"][0] - ax) < abs(laid.people["p0"][0] - bx) or ay != by


def test_a_small_office_stays_in_place_when_a_meeting_begins_and_ends() -> None:
    people = [desk(f"p{i}", "d") for i in range(8)]
    before = floorplan.plan(floor(people, ["d"]), 1040)
    during = floorplan.plan(floor(people, ["d"], (meeting("a", ["p0", "p1"]),)), 1040)
    assert before.desks == during.desks
    assert before.rooms == during.rooms


def test_a_crowd_is_drawn_small_and_a_few_with_their_names() -> None:
    many = floor([desk(f"p{i}", "d") for i in range(CROWD + 1)], ["d"])
    few = floor([desk(f"p{i}", "d") for i in range(5)], ["d"])
    assert "Name p3" not in texts(floorplan.draw(many, 1040, (), lambda p: f"/{p}", {}).nodes)
    assert "Name p3" in texts(floorplan.draw(few, 1040, (), lambda p: f"/{p}", {}).nodes)


def test_clients_are_outside() -> None:
    seen = floor([desk("c", "", "client"), desk("s", "d")], ["d"])
    rooms = {room.id: room.people for room in floorplan.rooms_of(seen)}
    assert rooms == {"d": ("s",), MEETING: (), CLIENTS: ("c",)}


def test_what_is_on_its_way_flies_between_people_who_are_there_and_never_to_oneself() -> None:
    seen = floor([desk("a", "d"), desk("b", "d"), desk("gone", "d", doing="gone")], ["d"])
    flights = [
        Flight("1.0", "mail", "a", "b", "Mail: hello"), Flight("2.0", "mail", "a", "gone", ""), Flight("3.0", "file", "a", "a", ""),
        Flight("4.0", "message", "stranger", "b", ""),
    ]  # fmt: skip
    keys = [n[3] for n in floorplan.draw(seen, 1040, flights, lambda p: f"/{p}", {}).nodes if len(n) > 3]
    assert [k for k in keys if k.startswith("flight:")] == ["flight:1.0"]


def test_a_name_that_is_markup_stays_a_text_and_links_are_what_the_address_says() -> None:
    """Issue 5: HTML or scripts in any text are never executed."""
    evil = Desk("p", EVIL, EVIL, "staff", "d", "", "working", "", EVIL, 3, NOWHERE)
    drawn = floorplan.draw(floor([evil], ["d"]), 1040, (), lambda p: f"/office/o/person/{p}", {})
    everything = list(walk(drawn.nodes))
    assert {tag for tag, *_ in everything} <= {"g", "a", "rect", "circle", "ellipse", "text", "title"}
    assert not any(name.lower().startswith("on") for _, attributes, *_ in everything for name in attributes)
    assert [a["href"] for _, a, *_ in everything if "href" in a] == ["/office/o/person/p"]
    assert any(EVIL in inside for _, _, inside, *_ in everything if isinstance(inside, str))


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        (desk("p", "d", doing="working", about="a mail from Ann"), "A mail from Ann"),
        (desk("p", "d", doing="due", starts=When(1, "2026-01-05T13:00+00:00")), "Starts 13:00"),
        (desk("p", "d"), "Idle"),
        (desk("p", "d", doing="played"), "Played by a person"),
    ],
)
def test_what_somebody_does_is_said_in_a_few_words(seen: Desk, said: str) -> None:
    assert floorplan.doing(seen) == said


@pytest.mark.parametrize(("name", "letters"), [("Ann Bee", "AB"), ("Cher", "C"), ("", "?"), ("  ", "?"), ("A de la Z", "AZ")])
def test_initials(name: str, letters: str) -> None:
    assert floorplan.initials(name) == letters


def walk(nodes: Any) -> Any:
    """Yield every node of a drawing."""
    for one in nodes:
        yield one
        if isinstance(one[2], list):
            yield from walk(one[2])


def texts(nodes: tuple[Node, ...]) -> list[str]:
    """Return all texts of a drawing but for titles."""
    return [n[2] for n in walk(nodes) if n[0] == "text"]
