"""The engine's pen: makes events, folds them into the office, and commits them with their texts (DESIGN 8)."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, get_type_hints

import msgspec
from rpds import HashTrieMap

from simulator.engine.environment import Bodies, Environment
from simulator.events import DelegationWithdrawn, Event, Payload, RoundOpened
from simulator.fold import FOLD_VERSION, apply
from simulator.office import Office
from simulator.ports import OutboxItem
from simulator.records import Timer


class Recorder:
    """Owns the office's state. What is emitted is applied at once and committed together."""

    def __init__(self, env: Environment, office: Office, bodies: Bodies) -> None:
        self.env = env
        self.office = office
        self.bodies = bodies
        self.now = office.now
        self.opened_rounds: dict[tuple[str, int], Office] = {}
        """Offices as of rounds just opened: what their mounts are made from, without folding again."""
        self._events: list[tuple[Event, Office]] = []
        self._encoded: list[bytes] = []
        self._outbox: list[OutboxItem] = []
        self._timers: list[Timer] = []
        self._woken: dict[str, None] = {}
        self._withdrawn: list[str] = []
        self._first = office.revision + 1
        self._checkpointed = office.revision

    @property
    def waiting(self) -> int:
        """How many events wait for a commit."""
        return len(self._encoded)

    def emit(self, actor: str, activation: str, *payloads: Payload) -> None:
        """Append events at the present instant."""
        for payload in payloads:
            event = Event(self.office.revision + 1, self.now, actor, activation, payload)  # type: ignore[arg-type]
            self.office = apply(self.office, event)
            self._events.append((event, self.office))
            self._encoded.append(event.encode())
            self._timers.extend(self.office.news)
            self._woken.update(dict.fromkeys(self.office.woken))
            if isinstance(payload, DelegationWithdrawn):
                self._withdrawn.append(payload.delegation)
            elif isinstance(payload, RoundOpened):
                self.opened_rounds[payload.delegation, payload.number] = self.office
            self._outbox.extend(self.env.outgoing(event, self.office))

    def take_news(self) -> tuple[tuple[Timer, ...], tuple[str, ...]]:
        """Return, once, the timers set and the people woken since last asked."""
        timers, woken = tuple(self._timers), tuple(self._woken)
        self._timers.clear()
        self._woken.clear()
        return timers, woken

    def take_withdrawn(self) -> tuple[str, ...]:
        """Return, once, the delegations withdrawn since last asked."""
        names = tuple(self._withdrawn)
        self._withdrawn.clear()
        return names

    def keep(self, texts: dict[str, str]) -> None:
        """Keep a landed activation's long texts until the commit that names them."""
        self.bodies.pending.update(texts)

    def flush(self) -> None:
        """Commit what waits, in one transaction; then tell the observers. The only commit point (DESIGN 8)."""
        if not self._encoded:
            return
        joined = b"\n".join(self._encoded).decode()
        used = {digest for digest in self.bodies.pending if digest in joined}
        texts = self.bodies.take(used)
        self.env.journal.commit(self._first, self._encoded, texts, self._outbox)
        self.bodies.pending.clear()
        told, self._events = self._events, []
        self._encoded, self._outbox = [], []
        self._first = self.office.revision + 1
        if self.office.revision - self._checkpointed >= self.env.settings.checkpoint_events:
            self._checkpointed = self.office.revision
            self.env.journal.save_checkpoint(self.office.revision, FOLD_VERSION, dump(self.office))
        for event, office in told:
            for observer in self.env.observers:
                observer.event(event, office)


# -- checkpoints: a cache keyed by the fold's version (RULE 21) --------------------------------------------------------


def dump(office: Office) -> bytes:
    """Return an office as bytes that `restore` reads back to an equal one."""
    fields = {}
    for name in office.__struct_fields__:
        value = getattr(office, name)
        fields[name] = dict(value.items()) if isinstance(value, HashTrieMap) else value
    return msgspec.msgpack.encode(fields)


def restore(data: bytes) -> Office:
    """Read a checkpoint back."""
    raw: dict[str, Any] = msgspec.msgpack.decode(data)
    fields: dict[str, Any] = {}
    for name, value in raw.items():
        typed = msgspec.convert(value, _types()[name])
        fields[name] = HashTrieMap(typed) if isinstance(typed, dict) else typed
    return Office(**fields)


@lru_cache(maxsize=1)
def _types() -> dict[str, Any]:
    """Return the type of each field of an office, persistent maps as dicts: they cannot be subscripted at run time."""
    return get_type_hints(Office, localns={"HashTrieMap": dict})
