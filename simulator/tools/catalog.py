"""The catalogue of tools: which the model of a principal, a client, a look-up or a meeting is offered."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import msgspec

from simulator.acts import ACTS, act_tools, schema_of
from simulator.conversation import ToolSpec

D = msgspec.Meta


class Arguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base of the reading tools' arguments."""


class ListFiles(Arguments, frozen=True):
    """List the files you can see below a folder, with versions, class and who accepted them."""

    folder: Annotated[str, D(description="such as Projects/<matter>; empty for all")] = ""


class OpenFile(Arguments, frozen=True):
    """Open a file: text as it is, office documents as text with cells, formulas and values. Parts are counted from
    1."""

    file: Annotated[str, D(description="path or id; `@<version>` for an exact version")]
    part: Annotated[int, D(ge=1)] = 1


class Search(Arguments, frozen=True):
    """Search the names of files, mails, messages and minutes you can see."""

    words: str


class ReadRoom(Arguments, frozen=True):
    """Read the latest messages of a room you are in."""

    room: str
    limit: Annotated[int, D(ge=1, le=100)] = 20


class ReadMail(Arguments, frozen=True):
    """Read a mail and the thread it belongs to."""

    mail: str


class ListMail(Arguments, frozen=True):
    """List your latest mails."""

    limit: Annotated[int, D(ge=1, le=100)] = 20


class SeeCalendar(Arguments, frozen=True):
    """See your calendar for some days from a date on."""

    start: Annotated[str, D(description="date YYYY-MM-DD")]
    days: Annotated[int, D(ge=1, le=31)] = 7


class FreeBusy(Arguments, frozen=True):
    """See when colleagues are busy on a day: busy or free only."""

    people: tuple[str, ...]
    day: Annotated[str, D(description="date YYYY-MM-DD")]


class ListWork(Arguments, frozen=True):
    """List the requests made by and to you and your delegations; closed ones too when asked."""

    closed: bool = False


class ReadWork(Arguments, frozen=True):
    """Read one request or one of your delegations: rounds, questions, submissions, reviews."""

    ref: str


class ListColleagues(Arguments, frozen=True):
    """List the people of the firm and the clients' contacts."""


class ReadMemory(Arguments, frozen=True):
    """Read your own open memory records of one kind."""

    record: Annotated[str, D(description="commitment, discussion, decision, colleague or question")]


class LookInto(Arguments, frozen=True):
    """Look something up in a branch: it may read much, and only its conclusion comes back to you."""

    question: str


class Finish(Arguments, frozen=True):
    """End this activation. Everything you did takes effect together when it lands."""

    summary: str = ""


class Speak(Arguments, frozen=True):
    """Say something to the meeting."""

    text: str


class Decide(Arguments, frozen=True):
    """Record a decision the meeting has taken; everybody present will remember it."""

    text: str


class RaiseQuestion(Arguments, frozen=True):
    """Record a question that stays open; everybody present will remember it."""

    text: str


class PassTurn(Arguments, frozen=True):
    """Say nothing this turn."""


class CloseMeeting(Arguments, frozen=True):
    """Close the meeting. Only the organizer can."""


READING: dict[str, type[Arguments]] = {
    "list_files": ListFiles, "open_file": OpenFile, "search": Search, "read_room": ReadRoom, "read_mail": ReadMail,
    "list_mail": ListMail, "see_calendar": SeeCalendar, "free_busy": FreeBusy, "list_work": ListWork,
    "read_work": ReadWork, "list_colleagues": ListColleagues, "read_memory": ReadMemory,
}  # fmt: skip
OTHER: dict[str, type[Arguments]] = {
    "look_into": LookInto, "finish": Finish, "speak": Speak, "record_decision": Decide, "raise_question": RaiseQuestion,
    "pass_turn": PassTurn, "close_meeting": CloseMeeting,
}  # fmt: skip
CLIENT_READING = ("list_files", "open_file", "read_mail", "list_mail")


def _specs(kinds: dict[str, type[Arguments]], names: Iterable[str]) -> tuple[ToolSpec, ...]:
    return tuple(ToolSpec(n, " ".join((kinds[n].__doc__ or n).split()), schema_of(kinds[n])) for n in names)


READ_TOOLS = _specs(READING, READING) + _specs(OTHER, ["finish"])
"""Of a look-up."""
PERSON_TOOLS = _specs(READING, READING) + act_tools("staff") + _specs(OTHER, ["look_into", "finish"])
CLIENT_TOOLS = _specs(READING, CLIENT_READING) + act_tools("client") + _specs(OTHER, ["finish"])
MEETING_TOOLS = _specs(OTHER, ["speak", "record_decision", "raise_question", "pass_turn", "close_meeting"]) + act_tools(
    "meeting"
)

_KINDS: dict[str, type[msgspec.Struct]] = {**READING, **OTHER, **{n: k.arguments for n, k in ACTS.items()}}


def known_tools(specs: tuple[ToolSpec, ...]) -> dict[str, type[msgspec.Struct]]:
    """Return name -> arguments of the offered tools: a tool that was not offered does not exist."""
    return {spec.name: _KINDS[spec.name] for spec in specs}
