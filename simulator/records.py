"""The things an office knows: people, matters, files, rooms, work. Frozen values; the fold makes new ones.

Times are whole seconds since 1970-01-01T00:00:00Z in simulated time. Ids are short strings; people, departments,
clients
and matters have slugs (`elena`, `assurance`), everything else the id of the act that made it (`elena.12.3`, RULE 8).

An *audience* is one of `person:<id>`, `department:<id>`, `matter:<id>`, `client:<id>`, `everyone` (all staff).
A *space* is one of `home:<person>` (private), `matter:<id>`, `department:<id>`, `company`.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from simulator.ports import Blob

Level = Literal["public", "internal", "confidential", "restricted"]
LEVELS: tuple[Level, ...] = ("public", "internal", "confidential", "restricted")
INLINE_BYTES = 256
"""A body longer than this is a reference, loaded on use (RULE 19)."""


class Record(msgspec.Struct, frozen=True, omit_defaults=True):
    """Base of all records."""


class Body(Record, frozen=True):
    """A text: `text` itself when short, else the `sha256` under which the journal keeps it. `size` is in UTF-8
    bytes."""

    text: str = ""
    sha256: str = ""
    size: int = 0


class FileRef(Record, frozen=True, order=True):
    """One version of one file. Rights belong to this pair, never to a hash (RULE 26)."""

    file: str
    version: int


# -- people and structure ---------------------------------------------------------------------------------------------

Authority = Literal["delegate", "request", "accept", "quality_signoff", "client_release", "classify", "lead"]
"""What a person may do: delegate to assistants; make requests; accept work; sign off quality; send work to a client;
lower or set a class; lead a matter (add and remove members)."""


class Person(Record, frozen=True):
    """A member of staff or a client's contact."""

    id: str
    name: str
    title: str
    kind: Literal["staff", "client"] = "staff"
    code: str = ""
    department: str = ""
    manager: str = ""
    authority: tuple[str, ...] = ()
    clearance: Level = "internal"
    skills: tuple[str, ...] = ()
    style: str = ""
    email: str = ""
    client: str = ""
    session: str = ""
    active: bool = True


class Department(Record, frozen=True):
    id: str
    name: str
    purpose: str = ""


class Client(Record, frozen=True):
    id: str
    name: str
    sector: str = ""
    domain: str = "general"


class Matter(Record, frozen=True):
    """A piece of work for a client, or an internal programme (`client` empty). Its id is also its wall when it has a
    client."""

    id: str
    name: str
    client: str = ""
    lead: str = ""
    members: tuple[str, ...] = ()


class Demand(Record, frozen=True):
    """A client's recurring need: what `contact` asks for, and how often. Drawn by the seeded demand process.

    `kind` is a work kind or free words; `cadence` is `monthly`, `fortnightly`, `weekly`; `day` the business day of the
    period on which it arrives; `jitter_days` how late it may be.
    """

    id: str
    contact: str
    matter: str
    kind: str
    cadence: Literal["monthly", "fortnightly", "weekly"] = "monthly"
    day: int = 2
    jitter_days: int = 2


class SystemOfRecord(Record, frozen=True):
    """A system that the firm keeps: a bank portal, a ticket desk. Assistants call it for those in `audience`.

    `definition` and `state` are JSON in the store; `state` is the head, the log has the earlier ones. An audience that
    names a client's matter names nothing else: that matter is then its wall.
    """

    id: str
    title: str
    audience: tuple[str, ...]
    definition: Blob
    state: Blob
    level: Level = "internal"


# -- files ------------------------------------------------------------------------------------------------------------


class FileVersion(Record, frozen=True):
    """One immutable version. `walls` are matter ids whose teams alone may see it; `release` are clients it may go
    to."""

    number: int
    blob: Blob
    media_type: str
    author: str
    activation: str
    at: int
    level: Level = "internal"
    walls: tuple[str, ...] = ()
    release: tuple[str, ...] = ()
    sources: tuple[FileRef, ...] = ()
    delegation: str = ""


class File(Record, frozen=True):
    """A file in a space. `path` is relative to the space. `versions` are in order; numbers start at 1."""

    id: str
    space: str
    path: str
    owner: str
    matter: str = ""
    versions: tuple[FileVersion, ...] = ()


class Acceptance(Record, frozen=True):
    """A professional confirms exactly this version. `capacity` is `accept` or `quality_signoff`."""

    id: str
    file: str
    version: int
    by: str
    at: int
    capacity: str = "accept"


class Grant(Record, frozen=True):
    """An explicit right to read one version, given to an audience. `reason` and `rules` say why it was allowed."""

    id: str
    file: str
    version: int
    audience: str
    by: str
    at: int
    reason: str = ""
    rules: int = 1


# -- talk -------------------------------------------------------------------------------------------------------------


class Room(Record, frozen=True):
    id: str
    name: str
    kind: Literal["channel", "direct", "matter"]
    members: tuple[str, ...]
    matter: str = ""


class ChatMessage(Record, frozen=True):
    """A message in a room. `asks` means that it wants an answer and wakes its readers (RULE 11). `cites` are files."""

    id: str
    room: str
    sender: str
    at: int
    body: Body
    thread: str = ""
    asks: bool = False
    cites: tuple[FileRef, ...] = ()


class Mail(Record, frozen=True):
    """A mail. `thread` is the id of its first mail. `external` when a recipient or the sender is outside the firm."""

    id: str
    thread: str
    sender: str
    to: tuple[str, ...]
    cc: tuple[str, ...]
    subject: str
    body: Body
    at: int
    attachments: tuple[FileRef, ...] = ()
    external: bool = False
    matter: str = ""


class CalendarEntry(Record, frozen=True):
    """A calendar event. `rule` is an RFC 5545 RRULE value (empty: once). `answers` are (person,
    accepted|declined|tentative).

    `kind`: `meeting` takes its free attendees together; `rhythm` wakes each attendee; `deadline` reminds; `focus`
    blocks.
    """

    id: str
    title: str
    organizer: str
    attendees: tuple[str, ...]
    start: int
    minutes: int
    kind: Literal["meeting", "rhythm", "deadline", "focus"] = "meeting"
    agenda: str = ""
    rule: str = ""
    matter: str = ""
    work: str = ""
    answers: tuple[tuple[str, str], ...] = ()
    cancelled: bool = False


class Meeting(Record, frozen=True):
    """A meeting that was held or missed. `minutes` is a file when it was held."""

    id: str
    entry: str
    at: int
    title: str
    organizer: str
    attendees: tuple[str, ...]
    state: Literal["held", "missed"]
    minutes: FileRef | None = None
    turns: int = 0
    matter: str = ""


class Notice(Record, frozen=True):
    """A line in one person's notices: what was reviewed, resolved, delegated, shared."""

    id: str
    to: str
    at: int
    text: str
    ref: str = ""


# -- work -------------------------------------------------------------------------------------------------------------


class Request(Record, frozen=True):
    """An explicit request between people: outcome, owner, materials, deadline."""

    id: str
    asker: str
    owner: str
    outcome: Body
    at: int
    due: int = 0
    matter: str = ""
    work: str = ""
    period: str = ""
    materials: tuple[FileRef, ...] = ()
    state: Literal["open", "accepted", "declined", "fulfilled", "withdrawn"] = "open"
    results: tuple[FileRef, ...] = ()
    note: Body = Body()


class Submission(Record, frozen=True):
    """What an assistant handed in: the drafts it became, and its report."""

    at: int
    files: tuple[FileRef, ...]
    report: Body
    refused: tuple[str, ...] = ()


class Review(Record, frozen=True):
    """A principal's decision on one submission."""

    at: int
    by: str
    decision: Literal["accept", "revise", "supplement"]
    notes: Body
    files: tuple[FileRef, ...] = ()


class Round(Record, frozen=True):
    """One round of a delegation. The mounts are as of `revision` and do not change within it (RULE 15).

    `home` is the blob of the manifest (a list of `TreeEntry`) the last landed segment left; `segments` counts landed
    ones.
    """

    number: int
    revision: int
    at: int
    segments: int = 0
    home: Blob | None = None
    submission: Submission | None = None
    review: Review | None = None
    stopped: str = ""


class Question(Record, frozen=True):
    """An assistant's question to its principal, or a colleague's open question."""

    id: str
    delegation: str
    at: int
    body: Body
    answer: Body | None = None
    answered_by: str = ""


class Delegation(Record, frozen=True):
    """A bounded task that a principal gave to an assistant. `state` is a table of its own in `simulator.fold.work`."""

    id: str
    principal: str
    goal: Body
    at: int
    work: str = ""
    period: str = ""
    matter: str = ""
    request: str = ""
    inputs: tuple[FileRef, ...] = ()
    constraints: tuple[str, ...] = ()
    deliverables: tuple[str, ...] = ()
    due: int = 0
    state: Literal["working", "asking", "submitted", "accepted", "withdrawn", "stopped"] = "working"
    rounds: tuple[Round, ...] = ()
    questions: tuple[Question, ...] = ()
    systems: tuple[str, ...] = ()
    """Systems of record that its assistant has called: what it makes inherits from them (RULE 27)."""


MemoryKind = Literal["commitment", "discussion", "decision", "colleague", "question"]


class Memory(Record, frozen=True):
    """One record of a person's memory. `about` is a person or a reference; `relied` are files it rests on (RULE 27)."""

    id: str
    holder: str
    kind: MemoryKind
    text: Body
    at: int
    about: str = ""
    matter: str = ""
    due: int = 0
    relied: tuple[FileRef, ...] = ()
    closed_at: int = 0


# -- what wakes people ------------------------------------------------------------------------------------------------

StimulusKind = Literal[
    "conflict",
    "question",
    "submission",
    "mail",
    "request",
    "calendar",
    "message",
    "share",
    "due",
    "day_start",
    "lost",
    "demand",
    "answer",
    "notice",
]
STIMULUS_CLASS: dict[str, int] = {
    "conflict": 0,
    "lost": 0,
    "question": 1,
    "submission": 2,
    "demand": 2,
    "request": 3,
    "mail": 3,
    "answer": 3,
    "calendar": 4,
    "due": 4,
    "message": 5,
    "share": 5,
    "day_start": 6,
    "notice": 7,
}
"""Class of each kind; the lowest is taken first, conflicts always (RULES 11 and 18)."""


class Stimulus(Record, frozen=True):
    """Something that concerns a person. `group` merges what remains of one room, thread or file; `wakes` is False for
    what waits for the next day start or other stimulus (RULE 11)."""

    id: str
    kind: StimulusKind
    ref: str
    at: int
    source: str = ""
    group: str = ""
    wakes: bool = True
    text: str = ""
    tries: int = 0
    """How often an unavailable model has left it undone; `at` is then when it is tried again (RULE 3)."""


class Timer(Record, frozen=True):
    """Something the clock will bring. `key` is unique in an office; setting it again moves it; `at` 0 clears it.

    Kinds: `occurrence` (calendar entry), `day` (a person's day start), `due` (request or commitment),
    `demand`,
    `answer` (unanswered question, RULE 14), `meeting` (a meeting tried again,
    RULE 17), `segment` (an assistant's next segment).
    """

    key: str
    at: int
    kind: str
    ref: str
    owner: str = ""
    number: int = 0


class Conflict(Record, frozen=True):
    """An act that failed at commit, or that cited one which did (RULE 18)."""

    id: str
    person: str
    at: int
    act: str
    reason: str


class Running(Record, frozen=True):
    """An activation that has started and not landed. `revision` is what it reads; `people` are busy meanwhile.
    `taken` are
    the ids of all stimuli it took, those merged into another one included (RULE 11)."""

    id: str
    kind: Literal["principal", "client", "meeting", "segment"]
    actor: str
    people: tuple[str, ...]
    at: int
    revision: int
    stimuli: tuple[Stimulus, ...] = ()
    taken: tuple[str, ...] = ()
    ref: str = ""
    number: int = 0
