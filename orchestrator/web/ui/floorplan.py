"""The office as a place: rooms, desks, seats and where everybody is, as a drawing of a given width."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import ceil, cos, pi, sin, sqrt

import msgspec

from orchestrator.web.queries.state import AtWork, Desk, Floor
from orchestrator.web.ui.drawing import Node, Picture, fit, node, rect, words

CROWD = 60
"""People beyond whom desks are drawn small, without words."""
_GAP, _PAD, _HEAD = 14.0, 12.0, 30.0
_TABLE = 142.0
_NARROW = 500.0
MEETING, CLIENTS, NOBODY = "room:meeting", "room:clients", "room:other"
_DOING = {"working": "Working", "meeting": "In a meeting", "due": "About to start", "idle": "Idle", "played": "Played by a person",
          "gone": "Not here any more"}  # fmt: skip


class Flight(msgspec.Struct, frozen=True):
    """Something on its way from one person to another: `kind` is `message`, `mail`, `file`, `request`."""

    key: str
    kind: str
    source: str
    target: str
    words: str


class Room(msgspec.Struct, frozen=True):
    """A room and its place."""

    id: str
    name: str
    people: tuple[str, ...]
    x: float = 0
    y: float = 0
    w: float = 0
    h: float = 0
    columns: int = 1


class Plan(msgspec.Struct, frozen=True):
    """Where everything is: rooms, each person's desk, where each person is now, and the tables at which meetings are held."""

    width: float
    height: float
    cell: tuple[float, float]
    rooms: tuple[Room, ...]
    desks: Mapping[str, tuple[float, float]]
    people: Mapping[str, tuple[float, float]]
    tables: tuple[tuple[str, float, float], ...]


def doing(desk: Desk) -> str:
    """Say in a few words what somebody is doing."""
    said = _DOING.get(desk.doing, desk.doing)
    if desk.doing == "due" and desk.starts.local:
        said = f"Starts {desk.starts.local[11:16]}"
    if desk.doing in ("working", "meeting") and desk.about:
        return desk.about[:1].upper() + desk.about[1:]
    return said


def rooms_of(floor: Floor) -> tuple[Room, ...]:
    """Return the rooms with whose desks are in them: the meeting room, departments, and clients outside."""
    inside: dict[str, list[str]] = {name: [] for name, _ in floor.departments}
    others: list[str] = []
    clients: list[str] = []
    for p in floor.people:
        if p.doing == "gone":
            continue
        if p.kind == "client":
            clients.append(p.id)
        else:
            inside.get(p.department, others).append(p.id)
    found = [Room(MEETING, "Meeting room", ())]
    found += [Room(i, name, tuple(inside[i])) for i, name in floor.departments if inside[i]]
    if others:
        found.append(Room(NOBODY, "Others", tuple(others)))
    if clients:
        found.append(Room(CLIENTS, "Clients, outside", tuple(clients)))
    return tuple(found)


def plan(floor: Floor, width: float) -> Plan:
    """Return where everything is on a floor of a width."""
    crowd = sum(1 for p in floor.people if p.doing != "gone") > CROWD
    cell = (46.0, 50.0) if crowd else (158.0 if width > _NARROW else 150.0, 98.0)
    meetings = [r for r in floor.running if r.kind == "meeting"]
    placed: list[Room] = []
    row: list[Room] = []
    x = y = 0.0
    for room in rooms_of(floor):
        sized = _sized(room, cell, width, max(1, len(meetings)))
        if row and x + sized.w > width:
            y = _close(row, placed, y, width)
            row, x = [], 0.0
        row.append(msgspec.structs.replace(sized, x=x, y=y))
        x += sized.w + _GAP
    height = _close(row, placed, y, width) - _GAP if row else y
    desks = {person: place for room in placed for person, place in _desks(room, cell)}
    people, tables = _seated(placed, desks, meetings)
    return Plan(width, height, cell, tuple(placed), desks, people, tables)


def _sized(room: Room, cell: tuple[float, float], width: float, tables: int) -> Room:
    if room.id == MEETING:
        across = max(1, min(tables, int((width - 2 * _PAD) // _TABLE)))
        wide = min(width, max(2.0, across) * _TABLE + 2 * _PAD)
        return msgspec.structs.replace(room, w=wide, h=_HEAD + ceil(tables / across) * _TABLE + _PAD, columns=across)
    most = max(1, int((width - 2 * _PAD) // cell[0]))
    columns = min(most, len(room.people), max(1, ceil(sqrt(len(room.people) * 1.5))))
    rows = ceil(len(room.people) / columns)
    return msgspec.structs.replace(
        room, w=columns * cell[0] + 2 * _PAD, h=_HEAD + rows * cell[1] + _PAD, columns=columns
    )


def _close(row: list[Room], placed: list[Room], y: float, width: float) -> float:
    """Stretch a row of rooms to the width, and return where the next row begins."""
    spare = (width - sum(r.w for r in row) - _GAP * (len(row) - 1)) / len(row)
    tall = max(r.h for r in row)
    x = 0.0
    for room in row:
        w = room.w + max(0.0, spare)
        placed.append(msgspec.structs.replace(room, x=x, y=y, w=w, h=tall))
        x += w + _GAP
    return y + tall + _GAP


def _desks(room: Room, cell: tuple[float, float]) -> Iterable[tuple[str, tuple[float, float]]]:
    if not room.people:
        return
    across = max(1, min(len(room.people), int((room.w - 2 * _PAD) // cell[0])))
    step = (room.w - 2 * _PAD) / across
    for i, person in enumerate(room.people):
        yield person, (room.x + _PAD + step * (i % across + 0.5), room.y + _HEAD + cell[1] * (i // across) + 26.0)


def _seated(
    placed: list[Room], desks: Mapping[str, tuple[float, float]], meetings: list[AtWork]
) -> tuple[dict[str, tuple[float, float]], tuple[tuple[str, float, float], ...]]:
    people = dict(desks)
    hall = next(room for room in placed if room.id == MEETING)
    across = max(1, min(len(meetings), int((hall.w - 2 * _PAD) // _TABLE)))
    step = (hall.w - 2 * _PAD) / across
    tables = []
    for i, meeting in enumerate(meetings):
        cx = hall.x + _PAD + step * (i % across + 0.5)
        cy = hall.y + _HEAD + _TABLE * (i // across) + _TABLE / 2 - 8
        attending = meeting.people
        tables.append((meeting.ref, cx, cy))
        for n, person in enumerate(attending):
            angle = 2 * pi * n / len(attending) - pi / 2
            if person in people:
                people[person] = (cx + 50 * cos(angle), cy + 50 * sin(angle))
    return people, tuple(tables)


# -- drawn ----------------------------------------------------------------------------------------------------------------


def initials(name: str) -> str:
    """Return at most two letters for a name."""
    parts = name.split()
    return (parts[0][:1] + (parts[-1][:1] if len(parts) > 1 else "")).upper() if parts else "?"


def draw(
    floor: Floor, width: float, flights: Iterable[Flight], address: Callable[[str], str], titles: Mapping[str, str]
) -> Picture:
    """Return the drawing of a floor. `address` is where a person's page is; `titles` are meetings' by calendar entry."""
    laid = plan(floor, width)
    small = laid.cell[0] < 100
    nodes: list[Node] = [_room(room) for room in laid.rooms]
    nodes += [_table(ref, x, y, titles.get(ref, "Meeting")) for ref, x, y in laid.tables]
    if not laid.tables:
        hall = next(room for room in laid.rooms if room.id == MEETING)
        nodes.append(node("ellipse", "", "table:", cx=round(hall.x + hall.w / 2, 1), cy=round(hall.y + hall.h / 2 + 8, 1),
                          rx=44, ry=26, class_="table empty"))  # fmt: skip
    by_id = {p.id: p for p in floor.people}
    for person, (x, y) in laid.desks.items():
        nodes.append(_desk(by_id[person], floor, x, y, laid.cell, small))
    for person, place in laid.people.items():
        nodes.append(_person(by_id[person], place, small, address))
    nodes += _flights(flights, laid.people)
    return Picture(width, laid.height, tuple(nodes))


def _room(room: Room) -> Node:
    kind = {MEETING: "room meet", CLIENTS: "room out"}.get(room.id, "room")
    return node(
        "g", [rect(room.x + 0.5, room.y + 0.5, room.w - 1, room.h - 1, kind, 10),
              words(fit(room.name, room.w - 30, 13), room.x + _PAD, room.y + 21, "room-name")], f"room:{room.id}",
    )  # fmt: skip


def _table(ref: str, x: float, y: float, title: str) -> Node:
    lines = [node("ellipse", "", cx=round(x, 1), cy=round(y, 1), rx=34, ry=24, class_="table"),
             words(fit(title, _TABLE, 11), x, y + 76, "about", "middle"), node("title", title)]  # fmt: skip
    return node("g", lines, f"table:{ref}")


def _desk(p: Desk, floor: Floor, x: float, y: float, cell: tuple[float, float], small: bool) -> Node:
    if small:
        return rect(x - 15, y + 12, 30, 8, "desk", 2)
    w = cell[0]
    parts = [rect(x - 36, y + 13, 72, 12, "desk", 3)]
    own = [d for d in floor.delegations if d.principal == p.id][:6]
    for i, d in enumerate(own):
        parts.append(
            rect(x - 32 + 11 * i, y + 15, 9, 8, f"laptop work-{d.state}", 2, f"{d.work or 'Delegated work'}: {d.state}")
        )
    parts.append(words(fit(p.name, w - 8, 12.5), x, y + 41, "name", "middle"))
    parts.append(words(fit(doing(p), w - 8, 11), x, y + 56, f"about doing-{p.doing}", "middle"))
    return node("g", parts, f"desk:{p.id}")


def _person(p: Desk, place: tuple[float, float], small: bool, address: Callable[[str], str]) -> Node:
    r = 11 if small else 16
    said = f"{p.name}, {p.title}: {doing(p)}" + (f"; {p.waiting} waiting" if p.waiting else "")
    inside = [node("title", said), node("circle", "", r=r, class_=f"person doing-{p.doing}"),
              words(initials(p.name), 0, r * 0.28, "initials small" if small else "initials", "middle")]  # fmt: skip
    if p.waiting:
        inside.append(node("circle", "", cx=r * 0.8, cy=-r * 0.75, r=7.5, class_="badge"))
        inside.append(
            words(str(p.waiting) if p.waiting < 100 else "99", r * 0.8, -r * 0.75 + 3.2, "badge-words", "middle")
        )
    link = node("a", inside, href=address(p.id), aria_label=said, data_person=p.id, data_doing=p.doing)
    style = f"transform: translate({place[0]:.1f}px, {place[1]:.1f}px)"
    return node("g", [link], f"person:{p.id}", style=style, class_="who")


def _flights(flights: Iterable[Flight], people: Mapping[str, tuple[float, float]]) -> list[Node]:
    found = []
    for i, f in enumerate(flights):
        if f.source not in people or f.target not in people or f.source == f.target:
            continue
        (x1, y1), (x2, y2) = people[f.source], people[f.target]
        bend = min(60.0, 0.2 * abs(x2 - x1) + 20)
        path = f"M {x1:.0f} {y1:.0f} Q {(x1 + x2) / 2:.0f} {(y1 + y2) / 2 - bend:.0f} {x2:.0f} {y2:.0f}"
        style = f"offset-path: path('{path}'); animation-delay: {0.12 * (i % 12):.2f}s"
        shape = rect(-6, -4.5, 12, 9, "", 2) if f.kind in ("mail", "file") else node("circle", "", r=5)
        found.append(
            node("g", [node("title", f.words), shape], f"flight:{f.key}", class_=f"flight {f.kind}", style=style)
        )
    return found
