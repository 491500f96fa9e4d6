"""`replay`: an office run again from its record, with no call and no sandbox, must give the same log (DESIGN 1)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from orchestrator.compose import House
from orchestrator.log_hash import log_hash
from orchestrator.output import Out
from services.storage.memory import MemoryJournal
from services.storage.reader import JournalReader
from simulator.conversation import Message, ModelRequest, ModelResponse
from simulator.engine.environment import Environment, Parked, Settings
from simulator.engine.loop import Engine
from simulator.errors import UsageError, WorkFailed
from simulator.events import decode
from simulator.fold import fold
from simulator.ports import TapeCall, TapeTool


class NoMoreAnswers:
    """The model of a replay: what is not on the tape is never answered."""

    def complete(self, request: ModelRequest) -> ModelResponse:
        """Raise `Parked`: the engine answers from the tape, and asks only where the record ends."""
        raise Parked


class TapeOnly(MemoryJournal):
    """A fresh log in memory whose tape and texts are an office's record."""

    def __init__(self, source: JournalReader) -> None:
        super().__init__()
        self._source = source

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

    def __init__(self, log: MemoryJournal, head: int) -> None:
        self._log = log
        self.head = min(head, log.head)

    def events(self, after: int = 0, upto: int | None = None) -> Iterator[tuple[int, bytes]]:
        """Yield the events up to the cut."""
        return self._log.events(after, self.head if upto is None else min(upto, self.head))

    def load_checkpoint(self, fold_version: str, upto: int | None = None) -> tuple[int, bytes] | None:
        """A beginning has no checkpoints."""
        return None


def replay(house: House, out: Out, reference: str) -> str:
    """Run an office again from its record; print the hash; fail where it differs from the log's."""
    row = house.row(reference)
    reader = house.offices.read(row.id)
    office = house.office(row)
    if office.forked_from is not None:
        raise UsageError("A fork's past belongs to its parent: replay the parent.")
    first = [event for event in (decode(data) for _, data in reader.events()) if event.activation == "genesis"]
    journal = TapeOnly(reader)
    journal.commit(1, [event.encode() for event in first], {})
    start = fold(first)
    env = Environment(journal, house.blobs, NoMoreAnswers(), None, house.renderer, Settings(16, 16))
    Engine(env, start, lambda revision: start).run(office.now)
    old, new = log_hash(reader), log_hash(Beginning(journal, row.head))
    out.say(new)
    out.result({"hash": new})
    if old != new:
        raise WorkFailed(f"The replay of {row.name} gives another log: {new[:12]} instead of {old[:12]}.")
    return new
