"""`replay`: an office run again from its record, with no call and no sandbox, must give the same log (DESIGN 1)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import takewhile

from bench.worlds.systems import Desks
from orchestrator.compose import House
from orchestrator.log_hash import log_hash
from orchestrator.output import Out
from services.storage.memory import MemoryJournal
from services.storage.reader import JournalReader
from simulator.conversation import Message, ModelRequest, ModelResponse
from simulator.engine.environment import Bodies, Environment, Parked, Settings
from simulator.engine.history import Log, as_of
from simulator.engine.inbound import RecordedInbound
from simulator.engine.loop import Engine
from simulator.errors import CorruptStore, WorkFailed
from simulator.events import decode
from simulator.fold import fold
from simulator.office import Office
from simulator.ports import Sandbox, SandboxSpec, TapeCall, TapeTool


class NoMoreAnswers:
    """The model of a replay: what is not on the tape is never answered."""

    def complete(self, request: ModelRequest) -> ModelResponse:
        """Raise `Parked`: the engine answers from the tape, and asks only where the record ends."""
        raise Parked


class NoSandbox:
    """The sandbox of a replay: a command whose result is not on the tape is never carried out."""

    name = "none"

    def check(self) -> None:
        """A record needs no sandbox."""

    def start(self, spec: SandboxSpec) -> Sandbox:
        """Raise `Parked`: the office was stopped before this command's result was stored."""
        raise Parked

    def reap(self) -> int:
        """There is nothing to remove."""
        return 0


class TapeOnly(MemoryJournal):
    """A fresh log in memory whose tape and texts are an office's record."""

    def __init__(self, source: JournalReader) -> None:
        super().__init__()
        self._source = source

    def body(self, sha256: str) -> str:
        """Return a text of this run or of the record."""
        try:
            return super().body(sha256)
        except CorruptStore:
            return self._source.body(sha256)

    def call(self, activation: str, ordinal: int) -> TapeCall | None:
        """Return the recorded answer."""
        return self._source.call(activation, ordinal)

    def tool(self, activation: str, ordinal: int) -> TapeTool | None:
        """Return the recorded tool result."""
        return self._source.tool(activation, ordinal)

    def conversation(self, activation: str, session: str) -> tuple[tuple[Message, ...], ModelResponse] | None:
        """Return the recorded conversation."""
        return self._source.conversation(activation, session)

    def record(self, calls: Iterable[tuple[ModelRequest, ModelResponse]], tools: Iterable[TapeTool] = ()) -> None:
        """Nothing new can come from a record."""


class Beginning:
    """The first events of a log: a replay may go on to the end of its last instant, the record stopped within it."""

    def __init__(self, log: Log, head: int) -> None:
        self._log = log
        self.head = min(head, log.head)

    def events(self, after: int = 0, upto: int | None = None) -> Iterator[tuple[int, bytes]]:
        """Yield the events up to the cut."""
        return self._log.events(after, self.head if upto is None else min(upto, self.head))

    def load_checkpoint(self, fold_version: str, upto: int | None = None) -> tuple[int, bytes] | None:
        """A beginning has no checkpoints."""
        return None


def replay(house: House, out: Out, reference: str) -> str:
    """Run an office again from its record; print the hash; fail where it differs from the log's.

    A fork begins at its `forked` event: what lies before is its parent's run, and is kept byte for byte.
    """
    row = house.row(reference)
    reader = house.offices.read(row.id)
    head = reader.head
    office = as_of(reader, head)
    given = _given(reader, head, office)
    journal = TapeOnly(reader)
    journal.commit(1, given, {})
    start = fold(decode(data) for data in given)
    inbound = RecordedInbound((decode(data) for _, data in reader.events(len(given), head)), Bodies(reader))
    env = Environment(
        journal, house.blobs, NoMoreAnswers(), NoSandbox(), house.renderer, Settings(16, 16), inbound=inbound,
        systems=Desks(),
    )  # fmt: skip
    Engine(env, start, lambda revision: as_of(journal, revision)).run(office.now)
    old, new = log_hash(Beginning(reader, head)), log_hash(Beginning(journal, head))
    out.say(new)
    out.result({"hash": new})
    if old != new:
        where = _difference(Beginning(reader, head), Beginning(journal, head))
        raise WorkFailed(f"The replay of {row.name} gives another log: {new[:12]} instead of {old[:12]}, {where}.")
    return new


def _given(log: Log, head: int, office: Office) -> list[bytes]:
    """Return the events that no run makes: the opening, or all up to a fork's own first event."""
    if office.forked_from is not None:
        return [data for _, data in log.events(upto=min(head, office.forked_from[1] + 1))]
    opening = takewhile(lambda data: decode(data).activation == "genesis", (data for _, data in log.events(upto=head)))
    return list(opening)


def _difference(old: Log, new: Log) -> str:
    """Say where two logs part."""
    for (revision, was), (_, now) in zip(old.events(), new.events(), strict=False):
        if was != now:
            return f"from event {revision} on"
    return f"which ends at event {new.head} instead of {old.head}"
