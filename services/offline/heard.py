"""What a request says: whose turn it is, their role card, what woke them, and what they have called since.

The offline professional decides from this alone. Sections of a prompt are Markdown headings over one JSON object a line.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from datetime import date, datetime
from functools import cached_property, lru_cache
from typing import Any, Literal

import msgspec

from services.offline.script import Call, Told
from simulator.conversation import Message, ModelRequest
from simulator.quoting import unquoted
from simulator.randomness import Stream

Part = Literal["principal", "client", "assistant", "meeting", "branch", "compaction"]
Row = dict[str, Any]

_PRINCIPAL = re.compile(r"You are (?P<name>.+?), (?P<title>.+) at (?P<firm>.+)\. You are a professional at work")
_CLIENT = re.compile(
    r"You are (?P<name>.+?), (?P<title>.+?) at (?P<firm>.+), a client of (?P<provider>.+)\. You bring work"
)
_ASSISTANT = re.compile(r"You are an assistant of ")
_SECTION = re.compile(r"^## (.+)$", re.MULTILINE)
_WHEN = re.compile(r"^# \w+ (\d{1,2} \w+ \d{4}), (\d\d:\d\d)", re.MULTILINE)
_COMPACTED = "What woke you last:\n\n"
_RECORD = re.compile(r"^```json record\n(.*?)\n```$", re.MULTILINE | re.DOTALL)
COMPACTION = "The conversation of this day has grown too long."
BRANCH = "This is a look-up, beside your working conversation."


class Card(msgspec.Struct, frozen=True):
    """Who the person is, from the system message."""

    name: str
    title: str
    firm: str
    provider: str
    id: str
    card: Row
    colleagues: dict[str, Row]
    matters: dict[str, Row]
    skills: dict[str, Row]
    rows: dict[str, tuple[Row, ...]]

    def called(self, person: str) -> str:
        """Return the first name of a person, or the id of somebody unknown."""
        known = self.colleagues.get(person)
        return str(known["name"]).split(" ")[0] if known else person


@lru_cache(maxsize=256)
def sections(text: str) -> dict[str, tuple[Row, ...]]:
    """Return a prompt's sections: title -> its rows."""
    parts = _SECTION.split(text)
    return {title.strip(): _rows(body) for title, body in zip(parts[1::2], parts[2::2], strict=False)}


def _rows(body: str) -> tuple[Row, ...]:
    found = []
    for line in body.split("\n"):
        if line.startswith("{"):
            try:
                found.append(msgspec.json.decode(line))
            except msgspec.DecodeError:
                continue
    return tuple(row for row in found if isinstance(row, dict))


@lru_cache(maxsize=256)
def card_of(system: str) -> Card:
    """Read a system message."""
    said = _PRINCIPAL.match(system) or _CLIENT.match(system)
    rows = sections(system)
    card = next(iter(rows.get("Role card", ())), {})
    people = rows.get("Colleagues and contacts", ()) or rows.get("Whom you write to", ())
    return Card(
        name=said["name"] if said else "",
        title=said["title"] if said else "",
        firm=said["firm"] if said else "",
        provider=said.groupdict().get("provider", "") if said else "",
        id=str(card.get("id", "")),
        card=card,
        colleagues={str(row["id"]): row for row in people if "id" in row},
        matters={str(row["id"]): row for row in rows.get("Matters you work on", ()) if "id" in row},
        skills={str(row["skill"]): row for row in rows.get("Your skills", ()) if "skill" in row},
        rows=rows,
    )


class Heard:
    """One request, read: the parts of it that decide."""

    def __init__(self, request: ModelRequest) -> None:
        self.messages = request.messages
        self.tools = frozenset(tool.name for tool in request.tools)
        self.system = next((m.content for m in request.messages if m.role == "system"), "")
        self.started: set[str] = set()
        """Requests whose work a script of this activation has begun: several may look for waiting work."""
        self._at = _last_user(request.messages)
        said = request.messages[self._at].content if self._at >= 0 else ""
        self.said = said
        self.prompt = (
            said.rpartition(_COMPACTED)[2] if _COMPACTED in said and said.startswith("Earlier today") else said
        )

    @cached_property
    def part(self) -> Part:
        """Which part is played: told by the system message and the last thing said."""
        if _ASSISTANT.match(self.system):
            return "assistant"
        if self.said.startswith(COMPACTION):
            return "compaction"
        if self.said.startswith(BRANCH):
            return "branch"
        if "speak" in self.tools:
            return "meeting"
        if _CLIENT.match(self.system):
            return "client"
        if _PRINCIPAL.match(self.system):
            return "principal"
        return "assistant"

    @cached_property
    def card(self) -> Card:
        return card_of(self.system)

    def rows(self, title: str) -> tuple[Row, ...]:
        """Return the rows of a section of the last prompt."""
        return sections(self.prompt).get(title, ())

    @cached_property
    def now(self) -> datetime:
        """The local time the prompt names, or the first of 2000 where it names none."""
        found = _WHEN.search(self.prompt)
        return datetime.strptime(f"{found[1]} {found[2]}", "%d %B %Y %H:%M") if found else datetime(2000, 1, 1)

    @property
    def today(self) -> date:
        return self.now.date()

    def draw(self, *purpose: str | int) -> Stream:
        """Return a stream of draws that belongs to this conversation and purpose."""
        return Stream(int(self._seed[:12], 16), *purpose)

    @cached_property
    def _seed(self) -> str:
        return hashlib.sha256(f"{self.card.id}\n{self.prompt}".encode()).hexdigest()

    def told(self) -> Told:
        """Return what has been called and answered since the prompt, in order; a summary's record of it included."""
        told = Told()
        for call, answer in recorded(self.said):
            told.add(call, answer)
        for call, answer in calls_since(self.messages, self._at):
            told.add(call, answer)
        return told


def recorded(said: str) -> list[tuple[Call, Row]]:
    """Return the calls that a compacted conversation carries on from its own summary, with their answers."""
    if not said.startswith("Earlier today") or _COMPACTED not in said:
        return []
    blocks = _RECORD.findall(unquoted(said.rpartition(_COMPACTED)[0]))
    rows = [row for block in blocks for row in msgspec.json.decode(block, type=list[tuple[str, Row, Row]])]
    return [(Call(name, arguments), answer) for name, arguments, answer in rows]


def calls_since(messages: Sequence[Message], start: int) -> list[tuple[Call, Row]]:
    """Return (call, answer) of every tool call that was answered after message `start`."""
    answers = {m.tool_call_id: m.content for m in messages[start + 1 :] if m.role == "tool"}
    found = []
    for message in messages[start + 1 :]:
        for call in message.tool_calls:
            if call.id in answers:
                found.append((Call(call.name, _json(call.arguments)), _json(answers[call.id])))
    return found


def _json(text: str) -> Row:
    """Return a JSON object; anything else is what a refusal would be."""
    try:
        found = msgspec.json.decode(text)
    except msgspec.DecodeError:
        found = None
    return found if isinstance(found, dict) else {"ok": False, "error": text}


def _last_user(messages: Sequence[Message]) -> int:
    return next((i for i in range(len(messages) - 1, -1, -1) if messages[i].role == "user"), -1)
