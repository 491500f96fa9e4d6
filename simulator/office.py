"""The office: everything it knows, as one value in persistent maps (RULE 19).

`Office` is only ever made by `simulator.fold.apply`. Holding one is holding a snapshot; readers need no lock and no
"as of" filter. Iteration over these maps has no defined order: sort by key wherever order shows (RULE 37).
"""

from __future__ import annotations

from typing import Any

import msgspec
from rpds import HashTrieMap

from simulator.events import CalendarRules, MemoryLimits, Pace, Switches
from simulator.ports import Blob
from simulator.records import (
    Acceptance,
    CalendarEntry,
    ChatMessage,
    Client,
    Conflict,
    Delegation,
    Demand,
    Department,
    File,
    FileRef,
    Grant,
    Mail,
    Matter,
    Meeting,
    Memory,
    Notice,
    Person,
    Request,
    Room,
    Running,
    Stimulus,
    SystemOfRecord,
    Timer,
)

EMPTY: HashTrieMap[str, Any] = HashTrieMap()


class Skill(msgspec.Struct, frozen=True):
    """A skill pack of the package."""

    name: str
    description: str
    files: tuple[tuple[str, Blob, int], ...]


class Office(msgspec.Struct, frozen=True):
    """The state of an office at `revision`, simulated instant `now`.

    Maps are keyed by id unless said otherwise. `by_*` are indexes: values are tuples of ids, in order of arrival.
    """

    revision: int = 0
    now: int = 0
    opened_at: int = 0
    name: str = ""
    package: str = ""
    seed: int = 0
    brief: str = ""
    domain: str = "general"
    currency: str = "USD"
    calendar: CalendarRules = CalendarRules()
    pace: Pace = Pace()
    memory_limits: MemoryLimits = MemoryLimits()
    switches: Switches = Switches()
    compaction_chars: int = 240_000
    turn_limit: int = 24

    departments: HashTrieMap[str, Department] = EMPTY
    people: HashTrieMap[str, Person] = EMPTY
    clients: HashTrieMap[str, Client] = EMPTY
    matters: HashTrieMap[str, Matter] = EMPTY
    demands: HashTrieMap[str, Demand] = EMPTY
    skills: HashTrieMap[str, Skill] = EMPTY
    systems: HashTrieMap[str, SystemOfRecord] = EMPTY

    files: HashTrieMap[str, File] = EMPTY
    by_path: HashTrieMap[str, str] = EMPTY
    """`<space>\\x1f<case-folded path>` -> file id: paths are unique within a space (RULE 28)."""
    acceptances: HashTrieMap[str, Acceptance] = EMPTY
    accepted: HashTrieMap[str, tuple[str, ...]] = EMPTY
    """file id -> ids of its current acceptances (at most one a capacity)."""
    grants: HashTrieMap[str, Grant] = EMPTY
    by_audience: HashTrieMap[str, tuple[str, ...]] = EMPTY
    """audience -> grant ids: the index behind `view` (RULE 29)."""
    by_file: HashTrieMap[str, tuple[str, ...]] = EMPTY
    """file id -> grant ids."""
    revoked: HashTrieMap[str, Grant] = EMPTY
    """Grants taken back, by id: sources of held copies (RULE 27)."""
    owned: HashTrieMap[str, tuple[str, ...]] = EMPTY
    """person -> file ids they own."""
    access_epoch: int = 0
    """Raised by every event of membership, grant, wall, clearance or class (RULE 29)."""

    rooms: HashTrieMap[str, Room] = EMPTY
    messages: HashTrieMap[str, ChatMessage] = EMPTY
    by_room: HashTrieMap[str, tuple[str, ...]] = EMPTY
    mails: HashTrieMap[str, Mail] = EMPTY
    by_mailbox: HashTrieMap[str, tuple[str, ...]] = EMPTY
    """person -> mail ids received or sent."""
    entries: HashTrieMap[str, CalendarEntry] = EMPTY
    by_calendar: HashTrieMap[str, tuple[str, ...]] = EMPTY
    """person -> calendar entry ids."""
    meetings: HashTrieMap[str, Meeting] = EMPTY
    notices: HashTrieMap[str, tuple[Notice, ...]] = EMPTY
    """person -> their latest notices (at most 200 kept in the state)."""

    requests: HashTrieMap[str, Request] = EMPTY
    delegations: HashTrieMap[str, Delegation] = EMPTY
    by_person: HashTrieMap[str, tuple[str, ...]] = EMPTY
    """person -> ids of requests and delegations they take part in."""
    memories: HashTrieMap[str, Memory] = EMPTY
    by_holder: HashTrieMap[str, tuple[str, ...]] = EMPTY
    """person -> ids of open memory records."""

    inboxes: HashTrieMap[str, tuple[Stimulus, ...]] = EMPTY
    held: HashTrieMap[str, bool] = EMPTY
    """People whose role a person outside plays (RULE 4): they have no activation."""
    running: HashTrieMap[str, Running] = EMPTY
    busy: HashTrieMap[str, str] = EMPTY
    """person -> id of the activation that occupies them."""
    free_since: HashTrieMap[str, int] = EMPTY
    sessions: HashTrieMap[str, str] = EMPTY
    """person -> `<ISO date>#<n>`: the day their session was last opened for, and that day's first activation."""
    counts: HashTrieMap[str, int] = EMPTY
    """Per-actor counters: `n:<actor>` activations started; `w:<day>:<a>:<b>:<thread>` wakes (RULE 11)."""
    timers: HashTrieMap[str, Timer] = EMPTY
    conflicts: HashTrieMap[str, Conflict] = EMPTY
    forked_from: tuple[str, int] | None = None

    news: tuple[Timer, ...] = ()
    """Timers set by the last event: what the engine adds to its queue. Derived, so equal folds have equal news."""
    woken: tuple[str, ...] = ()
    """People whose inbox or freedom the last event changed."""

    def ref(self, file: str, version: int) -> FileRef:
        """Return the reference after checking that it exists (KeyError or IndexError otherwise)."""
        return FileRef(file, self.files[file].versions[version - 1].number)
