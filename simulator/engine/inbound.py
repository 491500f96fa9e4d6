"""What comes in from outside: acts of people at a desk of their own, and what carriers bring (RULE 4).

An inbound item enters between two commits, stamped with the last landed instant; activations that are running do not see
it. It is part of the tape: the log keeps the item itself, at the revision after which it entered, so a replay brings it in at
the same place. A key that has come in before is not taken twice.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

import msgspec

from simulator.acts import ACTS, ActContext, Outcome, Refused, decide
from simulator.acts.arguments import AcceptFile, PostMessage, Receive, SendMail, ShareFile
from simulator.acts.context import make_body
from simulator.canonical import clean_text
from simulator.engine.environment import Bodies
from simulator.engine.record import Recorder
from simulator.events import ConflictRaised, Event, InboundArrived, Payload, RoleReturned, RoleTaken
from simulator.ports import BlobStore, InboundItem
from simulator.records import Conflict

TAKE_OVER, GIVE_BACK = "take_over", "give_back"
"""Not acts of the role but of the person who plays it: from now on the role has no activation, or has again."""


class Doorstep:
    """Items as they come, from any thread; handed over only between two commits."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._items: list[InboundItem] = []

    def put(self, item: InboundItem) -> None:
        """Leave an item."""
        with self._lock:
            self._items.append(item)

    @property
    def waiting(self) -> bool:
        """Whether anything waits to be taken."""
        return bool(self._items)

    def take(self, revision: int, committed: bool) -> tuple[InboundItem, ...]:
        """Return what has come, in order of coming; nothing while a commit is outstanding."""
        if not committed:
            return ()
        with self._lock:
            taken, self._items = tuple(self._items), []
        return taken


class RecordedInbound:
    """The items of a log, each at the revision after which it entered: for a replay."""

    def __init__(self, events: Iterable[Event], text: Bodies) -> None:
        self._items: dict[int, list[InboundItem]] = {}
        for event in events:
            p = event.payload
            if isinstance(p, InboundArrived):
                item = InboundItem(p.key, p.actor, p.tool, text(p.arguments), p.files)
                self._items.setdefault(event.revision - 1, []).append(item)

    def take(self, revision: int, committed: bool) -> tuple[InboundItem, ...]:
        """Return what entered after `revision`, once."""
        return tuple(self._items.pop(revision, ()))


class Door:
    """Lets inbound items in: each becomes an event of its own, and then what its act does, with its author's rights."""

    def __init__(self, record: Recorder, blobs: BlobStore) -> None:
        self._record = record
        self._blobs = blobs

    def enter(self, item: InboundItem) -> None:
        """Let one item in. What it may not do is answered by a conflict for its author, never by an error here."""
        office = self._record.office
        who = office.people.get(item.actor)
        if f"in:{item.key}" in office.counts or who is None or not who.active:
            return
        texts: dict[str, str] = {}
        arguments = make_body(clean_text(item.arguments), texts, 6_000_000)
        number = office.counts.get(f"i:{item.actor}", 0) + 1
        name = f"{item.actor}.in{number}"
        self._record.keep(texts)
        arrived = InboundArrived(clean_text(item.key), item.actor, item.tool, arguments, item.files)
        self._record.emit(item.actor, name, arrived)
        if item.tool in (TAKE_OVER, GIVE_BACK):
            self._record.emit(item.actor, name, *self._role(item))
        else:
            _Visit(self._record, self._blobs, item, name).act()

    def _role(self, item: InboundItem) -> tuple[Payload, ...]:
        office = self._record.office
        if item.tool == TAKE_OVER:
            return () if item.actor in office.held else (RoleTaken(item.actor),)
        return (RoleReturned(item.actor),) if item.actor in office.held else ()


class _Visit:
    """The acts of one item, in order: what came with it is kept, accepted and shared by acts of their own (DESIGN 4)."""

    def __init__(self, record: Recorder, blobs: BlobStore, item: InboundItem, name: str) -> None:
        self._record = record
        self._blobs = blobs
        self._item = item
        self._name = name
        self._number = 0

    def act(self) -> None:
        """Do them. What is refused is a conflict for the author; a mail does not go without what was attached to it."""
        item = self._item
        kind = ACTS.get(item.tool)
        who = "client" if self._record.office.people[item.actor].kind == "client" else "staff"
        if kind is None or who not in kind.who:
            self._conflict(f"there is no act {item.tool!r}")
            return
        try:
            arguments: Any = msgspec.json.decode(clean_text(item.arguments), type=kind.arguments)
        except (msgspec.MsgspecError, RecursionError):
            self._conflict("its arguments are not valid")
            return
        if item.files and who == "staff":
            arguments = self._with_files(arguments)
        if arguments is not None:
            self._do(item.tool, arguments)

    def _with_files(self, arguments: Any) -> Any:
        """Keep the files and return the arguments that name them; None where the act must not be done without them."""
        saved = self._do("receive", Receive())
        if saved is None:
            return None
        names = tuple(saved.answer["files"])
        if isinstance(arguments, SendMail):
            for name in names:
                if self._do("accept", AcceptFile(name)) is None:
                    return None
            return msgspec.structs.replace(arguments, attachments=(*arguments.attachments, *names))
        if isinstance(arguments, PostMessage):
            self._hand_round(names, arguments.to)
            return msgspec.structs.replace(arguments, cites=(*arguments.cites, *names))
        return arguments

    def _hand_round(self, names: tuple[str, ...], to: str) -> None:
        """Let a room's members have the files; where that is refused, the message only tells of them."""
        room = self._record.office.rooms.get(to)
        members = room.members if room is not None else (to,)
        audience = tuple(f"person:{p}" for p in members if p != self._item.actor)
        for name in names:
            if self._do("accept", AcceptFile(name)) is not None and audience:
                self._do("share", ShareFile(name, audience))

    def _do(self, tool: str, arguments: Any) -> Outcome | None:
        """Decide one act against the office as it is now; None when it was refused."""
        self._number += 1
        texts: dict[str, str] = {}
        record = self._record
        ctx = ActContext(record.office, self._item.actor, self._name, f"{self._name}.{self._number}", record.now,
                         self._blobs, texts, received=self._item.files)  # fmt: skip
        try:
            outcome = decide(ctx, tool, arguments)
        except Refused as refusal:
            self._conflict(str(refusal), tool)
            return None
        record.keep(texts)
        record.emit(self._item.actor, self._name, *outcome.payloads)
        return outcome

    def _conflict(self, why: str, tool: str = "") -> None:
        reason = f"{tool or self._item.tool} did not take effect: {why}"
        suffix = f".{self._number}" if self._number > 1 else ""
        conflict = Conflict(
            f"{self._name}{suffix}.conflict", self._item.actor, self._record.now, self._name, reason[:1_000]
        )
        self._record.emit(self._item.actor, self._name, ConflictRaised(conflict))
