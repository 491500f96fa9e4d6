"""The events: everything that ever happened in an office, and nothing else (DESIGN 3).

A payload's tag is `<noun>.<verb>/<version>`. `Event.encode` gives the canonical bytes that are stored and hashed
(RULE 20);
`decode` reads them back, through the upcasters when a stored version is older than the code's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import msgspec

from simulator.canonical import canonical
from simulator.errors import CorruptStore
from simulator.ports import Blob
from simulator.records import (
    Acceptance,
    Body,
    CalendarEntry,
    ChatMessage,
    Client,
    Conflict,
    Delegation,
    Demand,
    Department,
    FileRef,
    FileVersion,
    Grant,
    Level,
    Mail,
    Matter,
    Meeting,
    Memory,
    Notice,
    Person,
    Request,
    Review,
    Room,
    Running,
    Stimulus,
    Submission,
    SystemOfRecord,
    Timer,
)

ENGINE_VERSION = "1"
"""The first of the four things a run is a function of (RULE 1). Raised whenever the same tape could give another
log."""


class Payload(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="kind"):
    """Base of all payloads."""


# -- the office and its people ----------------------------------------------------------------------------------------


class Pace(msgspec.Struct, frozen=True, omit_defaults=True):
    """Integers of RULE 7: minimum minutes and minutes a turn of each activation kind, all at least 1."""

    principal_minimum: int = 10
    principal_turn: int = 5
    client_minimum: int = 5
    client_turn: int = 5
    meeting_turn: int = 2
    meeting_minimum: int = 15
    segment_minimum: int = 40
    segment_turn: int = 6


class MemoryLimits(msgspec.Struct, frozen=True, omit_defaults=True):
    """How many records of each kind an activation is given (RULE 12)."""

    commitments: int = 8
    discussions: int = 5
    decisions: int = 5
    colleagues: int = 10


class Switches(msgspec.Struct, frozen=True, omit_defaults=True):
    """Ablations: what a fork may turn off."""

    reviews: bool = True
    rights: bool = True
    persistence: bool = True


class CalendarRules(msgspec.Struct, frozen=True, omit_defaults=True):
    """Working time. `hours` are (first, last) minutes of the local day; `weekdays` 0 is Monday; `holidays` ISO
    dates."""

    zone: str = "Europe/London"
    opens: int = 540
    closes: int = 1050
    weekdays: tuple[int, ...] = (0, 1, 2, 3, 4)
    holidays: tuple[str, ...] = ()
    always_open: bool = False


class OfficeOpened(Payload, frozen=True, tag="office.opened/1"):
    name: str
    package: str
    seed: int
    engine: str
    calendar: CalendarRules
    brief: str = ""
    domain: str = "general"
    pace: Pace = Pace()
    memory: MemoryLimits = MemoryLimits()
    compaction_chars: int = 240_000
    turn_limit: int = 24
    currency: str = "USD"


class OfficeForked(Payload, frozen=True, tag="office.forked/1"):
    """A fork's first own event. `change` names a file version whose bytes it replaces: an experiment's altered
    figure."""

    parent: str
    revision: int
    switches: Switches
    change: FileRef | None = None
    blob: Blob | None = None


class DepartmentAdded(Payload, frozen=True, tag="department.added/1"):
    department: Department


class PersonAdded(Payload, frozen=True, tag="person.added/1"):
    person: Person


class ClientAdded(Payload, frozen=True, tag="client.added/1"):
    client: Client


class MatterOpened(Payload, frozen=True, tag="matter.opened/1"):
    matter: Matter


class MemberAdded(Payload, frozen=True, tag="member.added/1"):
    matter: str
    person: str


class MemberRemoved(Payload, frozen=True, tag="member.removed/1"):
    matter: str
    person: str


class ClearanceSet(Payload, frozen=True, tag="clearance.set/1"):
    person: str
    clearance: Level


class DemandSet(Payload, frozen=True, tag="demand.set/1"):
    demand: Demand


class SkillShelved(Payload, frozen=True, tag="skill.shelved/1"):
    """A skill pack of the package: its files, mounted for those whose role has it."""

    name: str
    description: str
    files: tuple[tuple[str, Blob, int], ...]
    """(path within the pack, bytes, mode)."""


class SystemAdded(Payload, frozen=True, tag="system.added/1"):
    system: SystemOfRecord


class SystemCalled(Payload, frozen=True, tag="system.called/1"):
    """An assistant called a system of record. `observation` is what it was told then, `state` what the system holds now.

    `refused`: the system said no. `conflict`: by the time the segment landed the answer no longer held, or the system
    might not be used any more, here or in an earlier call of the segment; so nothing was changed.
    """

    call: str
    system: str
    delegation: str
    tool: str
    arguments: Body
    observation: Body
    state: Blob
    outcome: Literal["done", "refused", "conflict"] = "done"


# -- files ------------------------------------------------------------------------------------------------------------


class FileSaved(Payload, frozen=True, tag="file.saved/1"):
    """A new version. `version.number` is 1 for a new file, else one more than the version it was based on."""

    file: str
    space: str
    path: str
    owner: str
    matter: str
    version: FileVersion


class FileAccepted(Payload, frozen=True, tag="file.accepted/1"):
    acceptance: Acceptance
    replaces: str = ""


class FileShared(Payload, frozen=True, tag="file.shared/1"):
    grant: Grant


class FileRevoked(Payload, frozen=True, tag="file.revoked/1"):
    grant: str
    by: str


class FileClassified(Payload, frozen=True, tag="file.classified/1"):
    file: str
    version: int
    level: Level
    walls: tuple[str, ...]
    release: tuple[str, ...]
    by: str


# -- talk -------------------------------------------------------------------------------------------------------------


class RoomOpened(Payload, frozen=True, tag="room.opened/1"):
    room: Room


class RoomJoined(Payload, frozen=True, tag="room.joined/1"):
    room: str
    person: str


class RoomLeft(Payload, frozen=True, tag="room.left/1"):
    room: str
    person: str


class MessagePosted(Payload, frozen=True, tag="message.posted/1"):
    message: ChatMessage


class MailSent(Payload, frozen=True, tag="mail.sent/1"):
    mail: Mail


class EntryScheduled(Payload, frozen=True, tag="entry.scheduled/1"):
    entry: CalendarEntry


class EntryAnswered(Payload, frozen=True, tag="entry.answered/1"):
    entry: str
    person: str
    answer: Literal["accepted", "declined", "tentative"]


class EntryMoved(Payload, frozen=True, tag="entry.moved/1"):
    entry: str
    start: int
    minutes: int


class EntryCancelled(Payload, frozen=True, tag="entry.cancelled/1"):
    entry: str
    by: str


class OccurrenceBegan(Payload, frozen=True, tag="occurrence.began/1"):
    """The clock reached an occurrence. `at` is its start; the next occurrence follows from the entry."""

    entry: str
    at: int


class MeetingEnded(Payload, frozen=True, tag="meeting.ended/1"):
    meeting: Meeting


class NoticeGiven(Payload, frozen=True, tag="notice.given/1"):
    notice: Notice


# -- work -------------------------------------------------------------------------------------------------------------


class RequestMade(Payload, frozen=True, tag="request.made/1"):
    request: Request


class RequestAnswered(Payload, frozen=True, tag="request.answered/1"):
    """`state` moves as in `simulator.fold.work.REQUEST_MOVES`."""

    request: str
    by: str
    state: Literal["accepted", "declined", "fulfilled", "withdrawn"]
    note: Body = Body()
    results: tuple[FileRef, ...] = ()


class DelegationOpened(Payload, frozen=True, tag="delegation.opened/1"):
    delegation: Delegation


class RoundOpened(Payload, frozen=True, tag="round.opened/1"):
    """`revision` of this event is the round's moment: the mounts are as of it (RULE 15)."""

    delegation: str
    number: int


class SegmentLanded(Payload, frozen=True, tag="segment.landed/1"):
    delegation: str
    round: int
    segment: int
    outcome: Literal["asked", "submitted", "stopped"]
    home: Blob
    turns: int
    reason: str = ""


class QuestionAsked(Payload, frozen=True, tag="question.asked/1"):
    delegation: str
    question: str
    body: Body


class QuestionAnswered(Payload, frozen=True, tag="question.answered/1"):
    delegation: str
    question: str
    by: str
    body: Body


class WorkSubmitted(Payload, frozen=True, tag="work.submitted/1"):
    delegation: str
    round: int
    submission: Submission


class WorkReviewed(Payload, frozen=True, tag="work.reviewed/1"):
    delegation: str
    round: int
    review: Review


class DelegationWithdrawn(Payload, frozen=True, tag="delegation.withdrawn/1"):
    delegation: str
    by: str
    reason: str


# -- memory -----------------------------------------------------------------------------------------------------------


class MemoryNoted(Payload, frozen=True, tag="memory.noted/1"):
    memory: Memory


class MemoryClosed(Payload, frozen=True, tag="memory.closed/1"):
    memory: str
    by: str
    note: str = ""


class LookedInto(Payload, frozen=True, tag="looked.into/1"):
    person: str
    question: str
    conclusion: Body
    relied: tuple[FileRef, ...] = ()


# -- the engine's own -------------------------------------------------------------------------------------------------


class ActivationStarted(Payload, frozen=True, tag="activation.started/1"):
    running: Running


class ActivationLanded(Payload, frozen=True, tag="activation.landed/1"):
    id: str
    turns: int
    outcome: Literal["done", "unavailable", "withdrawn", "cut"]
    opened: tuple[FileRef, ...] = ()
    summary: str = ""


class SessionOpened(Payload, frozen=True, tag="session.opened/1"):
    """A person's session is reopened under its id for a new day, with a fresh conversation (RULE 12)."""

    person: str
    session: str
    day: str


class StimulusArrived(Payload, frozen=True, tag="stimulus.arrived/1"):
    """A stimulus that no other event implies: a due date, a demand, a day start."""

    person: str
    stimulus: Stimulus


class TimerSet(Payload, frozen=True, tag="timer.set/1"):
    timer: Timer


class InboundArrived(Payload, frozen=True, tag="inbound.arrived/1"):
    """An act from outside came in, after the revision before this event's (RULE 4). `files` came with it."""

    key: str
    actor: str
    tool: str
    arguments: Body
    files: tuple[tuple[str, Blob], ...] = ()


class RoleTaken(Payload, frozen=True, tag="role.taken/1"):
    """A person plays this role from now on: it has no activation and no floor (RULE 4)."""

    person: str


class RoleReturned(Payload, frozen=True, tag="role.returned/1"):
    """The role is the model's again."""

    person: str


class ConflictRaised(Payload, frozen=True, tag="conflict.raised/1"):
    conflict: Conflict


PAYLOADS: tuple[type[Payload], ...] = tuple(Payload.__subclasses__())
AnyPayload = (
    OfficeOpened | OfficeForked | DepartmentAdded | PersonAdded | ClientAdded | MatterOpened | MemberAdded |
    MemberRemoved
    | ClearanceSet | DemandSet | SkillShelved | FileSaved | FileAccepted | FileShared | FileRevoked | FileClassified
    | RoomOpened | RoomJoined | RoomLeft | MessagePosted | MailSent | EntryScheduled | EntryAnswered | EntryMoved
    | EntryCancelled | OccurrenceBegan | MeetingEnded | NoticeGiven | RequestMade | RequestAnswered | DelegationOpened
    | RoundOpened | SegmentLanded | QuestionAsked | QuestionAnswered | WorkSubmitted | WorkReviewed |
    DelegationWithdrawn
    | MemoryNoted | MemoryClosed | LookedInto | ActivationStarted | ActivationLanded | SessionOpened | StimulusArrived
    | TimerSet | ConflictRaised | InboundArrived | RoleTaken | RoleReturned | SystemAdded | SystemCalled
)  # fmt: skip


class Event(msgspec.Struct, frozen=True):
    """One thing that happened. `actor` is a person, an assistant (`assistant:<delegation>`) or `engine`;
    `activation` its
    cause. `revision` counts from 1 and is never shown to anyone in the office (RULE 8)."""

    revision: int
    sim_time: int
    actor: str
    activation: str
    payload: AnyPayload

    def encode(self) -> bytes:
        """Return the canonical bytes: what is stored and hashed."""
        return canonical(self)


Upcaster = Callable[[dict[str, Any]], dict[str, Any]]
UPCASTERS: dict[str, Upcaster] = {}
"""Stored tag -> function from that version's payload to the next one's (with the next one's tag)."""

_DECODER = msgspec.json.Decoder(Event)


def decode(data: bytes, upcasters: dict[str, Upcaster] | None = None) -> Event:
    """Read an event's stored bytes, upcasting older versions.

    Raises:
        CorruptStore: the bytes are no event of this or any known earlier version.
    """
    try:
        return _DECODER.decode(data)
    except (msgspec.DecodeError, RecursionError) as first:
        return _upcast(data, UPCASTERS if upcasters is None else upcasters, first)


def _upcast(data: bytes, upcasters: dict[str, Upcaster], first: Exception) -> Event:
    try:
        raw = msgspec.json.decode(data)
        payload = raw["payload"]
        while payload["kind"] in upcasters:
            payload = upcasters[payload["kind"]](payload)
        return msgspec.convert({**raw, "payload": payload}, Event)
    except (msgspec.DecodeError, RecursionError, KeyError, TypeError) as fault:
        raise CorruptStore(
            f"An event of the log cannot be read ({first}). The office was written by a newer OfficeTown, or its "
            "database was changed by hand: use the version that wrote it."
        ) from fault
