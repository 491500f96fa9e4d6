"""What the storage tests share: made-up requests, and one handle on each kind of journal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from services.storage.database import Database
from services.storage.journal import Offices
from services.storage.memory import MemoryJournal, MemoryOffice
from services.storage.writer import StoredJournal
from simulator.canonical import canonical, sha256
from simulator.conversation import Message, ModelRequest, ModelResponse, ToolCall, ToolSpec, Usage
from simulator.ports import Blob, OutboxItem, ShellState, TapeTool, TreeEntry

PACKAGE = sha256(b"a package")
TOOLS = (ToolSpec("read", "Reads a file.", {"type": "object"}), ToolSpec("save", "Saves a file.", {"type": "object"}))
KINDS = ("memory", "sqlite", "postgres")
STORED = ("sqlite", "postgres")


def event(revision: int, **payload: object) -> bytes:
    """An event's canonical bytes, the same for the same arguments."""
    return canonical({"kind": "noted", "revision": revision, "payload": payload})


def events(first: int, count: int) -> list[bytes]:
    """Events of contiguous revisions."""
    return [event(revision) for revision in range(first, first + count)]


def text(words: str) -> dict[str, str]:
    """A text body under its hash."""
    return {sha256(words.encode()): words}


def request(activation: str = "elena.1", ordinal: int = 0, words: str = "What now?") -> ModelRequest:
    """A principal's request with tools."""
    messages = (Message("system", "You are Elena."), Message("user", words))
    return ModelRequest("principal", (activation, ordinal), "session-elena", messages, TOOLS)


def answer(words: str = "I will look.", cost: int = 30) -> ModelResponse:
    """A model's answer that calls a tool."""
    return ModelResponse(
        words, (ToolCall("t1", "read", '{"path": "a"}'),), "tool_calls", Usage(100, 20, 5), cost_micros=cost
    )


def tool(activation: str = "daniel.1", ordinal: int = 0, result: str = "ok") -> TapeTool:
    """A sandbox tool's result."""
    home = (TreeEntry("notes.md", Blob(sha256(b"notes"), 5)), TreeEntry("run.sh", Blob(sha256(b"#!"), 2), 0o755))
    return TapeTool(
        activation, ordinal, sha256(result.encode()), result, home, ShellState("/home", (("A", "1"),)), "note"
    )


def item(key: str, lane: str = "mail:elena", body: bytes = b"{}") -> OutboxItem:
    """An effect on an outside server."""
    return OutboxItem(key, lane, "mail", body)


class Record(Protocol):
    """One office whose journal can be opened again, as after a crash."""

    def open(self) -> MemoryJournal | StoredJournal: ...


class MemoryRecord:
    """A `Record` in memory."""

    def __init__(self) -> None:
        self._office = MemoryOffice()

    def open(self) -> MemoryJournal:
        """Open the office; journals opened before are fenced."""
        return MemoryJournal(self._office)


class StoredRecord:
    """A `Record` in a database."""

    def __init__(self, offices: Offices) -> None:
        self.offices = offices
        self.office_id = offices.create("Juniper", PACKAGE, 7, "1", 1_700_000_000)
        self._open: StoredJournal | None = None

    def open(self) -> StoredJournal:
        """Open the office after closing the journal opened before."""
        self.close()
        self._open = self.offices.open(self.office_id)
        return self._open

    def close(self) -> None:
        """Close what is open."""
        if self._open is not None:
            self._open.close()


def stored(url: str, folder: Path) -> Iterator[StoredRecord]:
    """An office in the database at `url`, closed afterwards."""
    database = Database(url, busy_timeout_s=5)
    record = StoredRecord(Offices(database, folder / "locks"))
    yield record
    record.close()
    database.close()
