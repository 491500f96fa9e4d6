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

from simulator.acts import ACTS, ActContext, Refused, decide
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
                item = InboundItem(p.key, p.actor, p.tool, text(p.arguments))
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
        self._record.emit(item.actor, name, InboundArrived(clean_text(item.key), item.actor, item.tool, arguments))
        texts = {}
        try:
            payloads = self._decide(item, name, texts)
        except Refused as refusal:
            reason = f"{item.tool} did not take effect: {refusal}"
            payloads = (ConflictRaised(Conflict(f"{name}.conflict", item.actor, self._record.now, name, reason[:1_000])),)
        self._record.keep(texts)
        self._record.emit(item.actor, name, *payloads)

    def _decide(self, item: InboundItem, name: str, texts: dict[str, str]) -> tuple[Payload, ...]:
        office = self._record.office
        if item.tool == TAKE_OVER:
            return () if item.actor in office.held else (RoleTaken(item.actor),)
        if item.tool == GIVE_BACK:
            return (RoleReturned(item.actor),) if item.actor in office.held else ()
        kind = ACTS.get(item.tool)
        wanted = "client" if office.people[item.actor].kind == "client" else "staff"
        if kind is None or wanted not in kind.who:
            raise Refused(f"there is no act {item.tool!r}")
        try:
            arguments: Any = msgspec.json.decode(clean_text(item.arguments), type=kind.arguments)
        except (msgspec.MsgspecError, RecursionError):
            raise Refused("its arguments are not valid") from None
        ctx = ActContext(office, item.actor, name, f"{name}.1", self._record.now, self._blobs, texts)
        return decide(ctx, item.tool, arguments).payloads


