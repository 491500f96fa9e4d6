"""A firm of any size for measuring the engine: teams with meetings and talk, and people who always have something to
do."""

from __future__ import annotations

from simulator.canonical import canonical
from simulator.conversation import ModelRequest, ModelResponse, ToolCall
from simulator.events import (
    CalendarRules,
    DepartmentAdded,
    EntryScheduled,
    Event,
    OfficeOpened,
    Payload,
    PersonAdded,
    RoomOpened,
)
from simulator.randomness import Stream
from simulator.records import CalendarEntry, Department, Person, Room

MONDAY = 1_767_571_200
TEAM = 6


def crowd(people: int) -> list[Event]:
    """Return the opening events of a firm of `people` in teams of six, each with a room, a stand-up and a weekly
    review."""
    payloads: list[Payload] = [OfficeOpened("Crowd", "p" * 64, 1, "1", CalendarRules())]
    names = [f"p{n:04d}" for n in range(people)]
    for start in range(0, people, TEAM):
        team, lead = names[start : start + TEAM], names[start]
        department = f"t{start // TEAM:03d}"
        payloads.append(DepartmentAdded(Department(department, department)))
        for name in team:
            payloads.append(
                PersonAdded(Person(name, name, "clerk", department=department, manager="" if name == lead else lead,
                                   authority=("request", "delegate", "accept"), clearance="confidential", session=f"s-{name}"))
            )  # fmt: skip
        payloads.append(RoomOpened(Room(department, department, "channel", tuple(team))))
        if len(team) > 1:
            others = tuple(team[1:])
            payloads.append(EntryScheduled(CalendarEntry(f"standup-{department}", "Stand-up", lead, others, MONDAY + 9 * 3600 + 900, 15,
                                                         rule="FREQ=DAILY")))  # fmt: skip
            payloads.append(EntryScheduled(CalendarEntry(f"review-{department}", "Review", lead, others, MONDAY + 14 * 3600, 30,
                                                         rule="FREQ=WEEKLY")))  # fmt: skip
    return [Event(n, MONDAY, "engine", "genesis", p) for n, p in enumerate(payloads, 1)]  # type: ignore[arg-type]


class Busy:
    """Instant people: they read, write, note, and ask a colleague now and then. Equal requests get equal answers."""

    def complete(self, request: ModelRequest) -> ModelResponse:
        """Answer from the number of turns already taken and the prompt's own text."""
        names = {tool.name for tool in request.tools}
        prompt = next((m for m in reversed(request.messages) if m.role == "user"), request.messages[-1])
        turn = sum(1 for m in request.messages if m.role == "assistant")
        draw = Stream(3, prompt.digest, turn)
        if "speak" in names:
            return _calls(
                ("speak", {"text": f"Point {draw.below(900)}: on track."}) if draw.chance(2, 3) else ("pass_turn", {})
            )
        if not request.tools:
            return ModelResponse(content="a summary")
        last = request.messages[-1].role == "user"
        if last:
            return _calls(("list_mail", {"limit": 5}), ("list_files", {"folder": "Notes"}), ("list_work", {}))
        if draw.chance(1, 2):
            return _calls(("finish", {"summary": "nothing more"}))
        return _calls(self._act(draw, prompt.content), ("finish", {"summary": "done"}))

    def _act(self, draw: Stream, text: str) -> tuple[str, dict[str, object]]:
        what = draw.below(4)
        line = f"Status {draw.below(10_000)}: " + "figures agreed and filed. " * draw.between(2, 14)
        if what == 0:
            return "save", {"path": f"Notes/day {draw.below(40)}.md", "text": line}
        if what == 1:
            return "note", {"record": "discussion", "text": line}
        if what == 2:
            return "post_message", {"to": _room(text), "text": line, "asks": draw.chance(1, 3)}
        return "search", {"words": "figures"}


def _room(text: str) -> str:
    place = text.find('"room":"')
    return text[place + 8 : text.find('"', place + 8)] if place >= 0 else "t000"


def _calls(*calls: tuple[str, dict[str, object]]) -> ModelResponse:
    made = tuple(ToolCall(f"c{n}", name, canonical(arguments).decode()) for n, (name, arguments) in enumerate(calls))
    return ModelResponse(tool_calls=made, finish="tool_calls")
