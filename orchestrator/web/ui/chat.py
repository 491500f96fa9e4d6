"""*Chat*, as people know it: rooms on the left, messages on the right, the newest below. For everybody, or as one person
sees it. A room is shown a hundred messages at a time, however many it has."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from orchestrator.web.queries import talk
from orchestrator.web.queries.talk import MessageShown, RoomLine
from orchestrator.web.ui import kit, mail, partaking, whose
from orchestrator.web.ui.asked import Ask
from orchestrator.web.ui.paths import PATHS
from orchestrator.web.ui.shell import Page, Shell

AT_ONCE = 100
MOST_ROOMS = 300


class Shown(msgspec.Struct, frozen=True):
    """The rooms, and a part of the one that is open, the newest last."""

    person: str
    people: Mapping[str, str]
    names: Mapping[str, str]
    rooms: tuple[RoomLine, ...]
    open: RoomLine | None
    messages: tuple[MessageShown, ...]
    skip: int


def load(ask: Ask) -> Shown:
    """Return the rooms of the page's address."""
    return load_for(ask, ask.get("person"))


def load_for(ask: Ask, person: str) -> Shown:
    """Return rooms as a person sees them, or all of them for nobody."""
    eyes = whose.eyes(ask, person)
    office, seen = eyes.office, eyes.seen
    found = talk.rooms(office) if seen is None else talk.seen_rooms(office, seen)
    rooms = sorted(found, key=lambda r: (-r.latest.at, r.name, r.id))[:MOST_ROOMS]
    wanted = ask.get("room")
    chosen = next((r for r in found if r.id == wanted), rooms[0] if rooms and not wanted else None)
    skip = ask.number("skip")
    messages: tuple[MessageShown, ...] = ()
    if chosen is not None and seen is None:
        some = talk.room_messages(office, chosen.id)[skip : skip + AT_ONCE]
        messages = tuple(map(talk.message_shown(office, ask.book.texts), reversed(some)))
    elif chosen is not None and seen is not None:
        some = talk.seen_messages(seen, chosen.id, skip + AT_ONCE)[skip : skip + AT_ONCE]
        messages = tuple(map(talk.seen_message_shown(office, seen, ask.book.texts), reversed(some)))
    return Shown(eyes.person, whose.everybody(office), eyes.names, tuple(rooms), chosen, messages, skip)


def draw(shell: Shell, shown: Shown) -> None:
    """Draw the page."""
    with kit.box("row between"):
        kit.heading("Chat", 1)
        with kit.box("row"):
            kit.text("Whose", "label")
            options = {"": "Everybody's", **shown.people}
            kit.choice("Whose rooms", options, shown.person, lambda v: shell.turn(person=v, room="", skip=""), "chat-person")
    body(shell, shown)


def body(shell: Shell, shown: Shown) -> None:
    """Draw the rooms and the open one."""
    if not shown.rooms:
        kit.empty("No room at this moment.")
        return
    with kit.box("side"):
        with kit.card("", "flush list", test="room-list"):
            for room in shown.rooms:
                made = kit.button("", lambda room=room: shell.turn(room=room.id, skip=""), "item", test=f"room-{room.id}")
                made.set(aria_current="true" if shown.open is not None and room.id == shown.open.id else None)
                with made, kit.Tag("span", "row between grow"):
                    kit.text(_name(room, shown), "strong ellipsis")
                    kit.text(f"{room.messages:,}", "faint num", label=f"{room.messages} messages")
        with kit.card("", "room-open", test="room"):
            if shown.open is None:
                kit.empty("There is no such room at this moment.")
            else:
                _room(shell, shown, shown.open)


def _name(room: RoomLine, shown: Shown) -> str:
    if room.kind == "direct":
        return ", ".join(shown.names.get(m, m) for m in room.members if m != shown.person)
    return f"# {room.name}"


def _room(shell: Shell, shown: Shown, room: RoomLine) -> None:
    kit.heading(_name(room, shown), 2, "card-title")
    kit.text(", ".join(shown.names.get(m, m) for m in room.members[:12]), "faint")
    mail.pager(shell, shown.skip, AT_ONCE, room.messages)
    if not shown.messages:
        kit.empty("Nobody has said anything here yet.")
    day, before = "", ("", 0)
    with kit.Tag("ol", "messages", None, label=f"Messages in {_name(room, shown)}"):
        for m in shown.messages:
            if m.at.local[:10] != day:
                day = m.at.local[:10]
                kit.Tag("li", "day", day)
            same = m.sender == before[0] and m.at.at - before[1] < 600
            before = (m.sender, m.at.at)
            with kit.Tag("li", "message again" if same else "message", id_=f"m-{m.id}"):
                if not same:
                    with kit.box("row tight-row"):
                        kit.text(shown.names.get(m.sender, m.sender), "strong")
                        kit.text(m.at.local[11:16], "time")
                        if m.asks:
                            kit.chip("asks for an answer", "warn")
                kit.text(m.text, "said", "p")
                mail.files(shell, m.cites, shown.person)
    writers = [shown.person] if shown.person else [m for m in room.members if m in shown.people]
    partaking.message(shell, room, _name(room, shown), {m: shown.names.get(m, m) for m in writers if m in room.members})


PAGE = Page("chat", PATHS["chat"], "Chat", "chat", load, draw)
