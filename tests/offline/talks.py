"""Hand-made conversations: prompts rendered from the project's own templates, and a desk that answers tool calls."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from services.offline import OfflineProfessional
from simulator.assistant import tool_specs
from simulator.canonical import canonical
from simulator.conversation import Message, ModelRequest, ModelResponse, Role, ToolCall, ToolSpec
from simulator.prompts import render
from simulator.tools.catalog import CLIENT_TOOLS, MEETING_TOOLS, PERSON_TOOLS, READ_TOOLS

Row = dict[str, Any]
Answers = Callable[[str, Row], Row]

TEAM = [
    {"id": "elena", "skills": ["variance-analysis", "records-digest"], "authority": ["delegate", "request", "accept", "client_release",
                                                                                     "classify", "lead"]},
    {"id": "daniel", "skills": ["bank-reconciliation", "variance-analysis", "records-digest", "memo-writing"],
     "authority": ["delegate", "request", "accept"]},
    {"id": "quinn", "skills": ["bank-reconciliation", "variance-analysis"], "authority": ["delegate", "accept", "quality_signoff"]},
]  # fmt: skip
MATTER = {"id": "river", "name": "Riverbend Outdoor", "client": "riverbend", "lead": "elena", "team": TEAM}
FIRM = {"id": "firm", "name": "Juniper Office", "client": "", "lead": "daniel", "team": TEAM[1:2]}
PEOPLE = [
    {
        "id": "elena",
        "name": "Elena Marsh",
        "title": "Engagement manager",
        "kind": "staff",
        "department": "cs",
        "client": "",
    },
    {
        "id": "daniel",
        "name": "Daniel Okafor",
        "title": "Senior accountant",
        "kind": "staff",
        "department": "as",
        "client": "",
    },
    {
        "id": "quinn",
        "name": "Quinn Abara",
        "title": "Quality reviewer",
        "kind": "staff",
        "department": "ri",
        "client": "",
    },
    {
        "id": "maya",
        "name": "Maya Lindqvist",
        "title": "Finance Director",
        "kind": "client",
        "department": "",
        "client": "riverbend",
    },
]
WHERE = "/mnt/company/Projects/Riverbend Outdoor"
HOME = "/home/npc/computer/Documents/Projects/Riverbend Outdoor"


def principal(me: str, now: str = "Monday 5 January 2026, 09:04", **sections: list[Row]) -> tuple[Message, Message]:
    """Return a principal's role card and wake-up message. Sections: stimuli, commitments, questions, work, ..."""
    one = next(p for p in PEOPLE if p["id"] == me)
    own: list[str] = next((list(t["skills"]) for t in TEAM if t["id"] == me), [])
    system = render(
        "principal_system", name=one["name"], title=one["title"], firm="Juniper", turns=24, systems=[], card=[{"id": me}],
        colleagues=[p for p in PEOPLE if p["id"] != me], matters=[MATTER, FIRM],
        skills=[{"skill": s, "description": s, "path": f"/mnt/company/Resources/Skills/{s}"} for s in own],
    )  # fmt: skip
    names = ("stimuli", "commitments", "decisions", "discussions", "questions", "colleagues", "work")
    wake = render("wake", now=now, fresh=True, **{name: sections.get(name, []) for name in names})
    return Message("system", system), Message("user", wake)


def client(stimuli: list[Row], work: Sequence[Row] = ()) -> tuple[Message, Message]:
    """Return Maya's role card and wake-up message."""
    demands = [
        {"id": "d", "work": "bank-reconciliation", "matter": "river", "cadence": "monthly", "contact_in_firm": "elena"}
    ]
    system = render(
        "client_system", name="Maya Lindqvist", title="Finance Director", firm="Riverbend Outdoor", provider="Juniper",
        card=[{"id": "maya", "client": "riverbend"}], colleagues=[{"id": "elena", "name": "Elena Marsh", "matter": "river"}],
        demands=demands,
    )  # fmt: skip
    wake = render("client_wake", now="Monday 5 January 2026, 09:04", stimuli=stimuli, work=list(work))
    return Message("system", system), Message("user", wake)


def request(messages: Sequence[Message], tools: tuple[ToolSpec, ...], role: Role = "principal") -> ModelRequest:
    return ModelRequest(role, ("never looked at", 0), "session", tuple(messages), tools)


class Talk:
    """A conversation under way: asks the model, answers its calls, remembers them."""

    def __init__(
        self,
        messages: Sequence[Message],
        answer: Answers,
        tools: tuple[ToolSpec, ...] = PERSON_TOOLS,
        role: Role = "principal",
    ) -> None:
        self.messages = list(messages)
        self.answer, self.tools, self.role = answer, tools, role
        self.model = OfflineProfessional()
        self.made: list[tuple[str, Row]] = []
        self.turns = 0

    def turn(self) -> ModelResponse:
        """Take one turn: the model's calls are answered in order."""
        response = self.model.complete(request(self.messages, self.tools, self.role))
        self.turns += 1
        self.messages.append(response.as_message())
        for call in response.tool_calls:
            arguments: Row = json.loads(call.arguments)
            self.made.append((call.name, arguments))
            self.messages.append(
                Message("tool", canonical(self.answer(call.name, arguments)).decode(), tool_call_id=call.id)
            )
        return response

    def run(self, until: Sequence[str] = ("finish", "submit", "ask_principal"), most: int = 12) -> Talk:
        """Go on until one of these tools is called. More than `most` turns fail the test."""
        while self.turns < most:
            response = self.turn()
            if any(c.name in until for c in response.tool_calls):
                return self
        raise AssertionError(f"no end after {most} turns: {[name for name, _ in self.made]}")

    def calls(self, name: str) -> list[Row]:
        """Return the arguments of every call of a tool."""
        return [arguments for made, arguments in self.made if made == name]

    def only(self, name: str) -> Row:
        """Return the arguments of the one call of a tool."""
        (found,) = self.calls(name)
        return found


def fine(name: str, arguments: Row) -> Row:
    """Answer every call as if all were well and nothing else there."""
    empty: Mapping[str, Row] = {
        "list_files": {"files": [], "more": 0}, "read_memory": {"records": []}, "see_calendar": {"events": []},
        "free_busy": {"busy": {}}, "search": {"hits": []}, "open_file": {"parts": 1, "text": "", "file": arguments.get("file"), "sources": []},
        "look_into": {"conclusion": "It is 7."}, "save": {"path": arguments.get("path"), "version": 1, "file": "x"},
    }  # fmt: skip
    return {"ok": True, **empty.get(name, {})}


def answers(**by_tool: Callable[[Row], Row]) -> Answers:
    """Return answers that differ from `fine` for some tools."""

    def reply(name: str, arguments: Row) -> Row:
        return {"ok": True, **by_tool[name](arguments)} if name in by_tool else fine(name, arguments)

    return reply


def listed(*rows: tuple[str, str]) -> Callable[[Row], Row]:
    """Return a `list_files` answer: (path with version, confirmations), filtered by the folder asked for."""

    def reply(arguments: Row) -> Row:
        wanted = str(arguments.get("folder", "")).casefold()
        found = [
            {"file": p, "confirmed": [c] if c else [], "level": "confidential"}
            for p, c in rows
            if wanted in p.casefold()
        ]
        return {"files": found, "more": 0}

    return reply


__all__ = ["CLIENT_TOOLS", "MEETING_TOOLS", "PERSON_TOOLS", "READ_TOOLS", "ToolCall", "tool_specs"]
