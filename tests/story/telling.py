"""Tells the story once: a real database, a real sandbox, a scripted model; and gives the tests the record to look at."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from orchestrator.compose import House
from orchestrator.settings import ModelSettings, Settings
from services.carriers.eml import EmlFolder
from services.documents.renderer import DocumentRenderer
from services.models.scripted import Scripted
from services.storage.faults import Fault, InjectedFault, armed
from services.storage.memory import MemoryBlobs, MemoryJournal
from services.storage.outbox import Delivery, Outbox
from services.storage.writer import StoredJournal
from simulator.carrying import MailOut, decode_item, directory
from simulator.conversation import ModelRequest
from simulator.engine.environment import Bodies, Environment
from simulator.engine.environment import Settings as EngineSettings
from simulator.engine.history import as_of, at_time, walk
from simulator.engine.loop import Engine
from simulator.events import Event, Payload, decode
from simulator.office import Office
from simulator.ports import BlobStore, Journal, Model, SandboxProvider
from simulator.records import Delegation, File, FileRef
from tests.story.firm import moment, opening
from tests.story.script import script

P = TypeVar("P", bound=Payload)
SENT = moment("2026-01-07 14:20")
END = moment("2026-02-03 18:00")
Sandboxes = Callable[[BlobStore], SandboxProvider]


def engine(
    journal: Journal,
    blobs: BlobStore,
    model: Model,
    sandboxes: SandboxProvider | None,
    settings: EngineSettings | None = None,
) -> Engine:
    """Return an engine as a fresh process makes it: from the journal alone."""
    env = Environment(journal, blobs, model, sandboxes, DocumentRenderer(), settings or EngineSettings())
    return Engine(env, as_of(journal), lambda revision: as_of(journal, revision))


class Told:
    """The story, told. `letters` are the attempts to deliver mail, with whether each said that it may be a second one."""

    def __init__(
        self, house: House, office_id: str, model: Scripted, letters: list[tuple[str, bool]], sent: Path
    ) -> None:
        self.house = house
        self.office_id = office_id
        self.reader = reader = house.offices.read(office_id)
        self.blobs = house.blobs
        self.model = model
        self.letters = letters
        self.sent = sent
        self.log = [data for _, data in reader.events()]
        self.events: list[Event] = [decode(data) for data in self.log]
        self.bodies = Bodies(reader)
        self.end = as_of(reader)

    def at(self, when: str) -> Office:
        """Return the office as of the last event at or before a local time."""
        return at_time(self.reader, moment(when))

    def before(self, when: str) -> Office:
        """Return the office a moment before a local time."""
        return at_time(self.reader, moment(when) - 1)

    def revision(self, number: int) -> Office:
        return as_of(self.reader, number)

    def payloads(self, kind: type[P]) -> list[tuple[Event, P]]:
        return [(e, e.payload) for e in self.events if isinstance(e.payload, kind)]

    def walk(self) -> Iterator[tuple[Event, Office]]:
        return walk(self.reader)

    def december(self, office: Office | None = None) -> Delegation:
        """Return the delegation of December's reconciliation."""
        return next(d for d in (office or self.end).delegations.values() if d.period == "2025-12")

    def file(self, name: str, office: Office | None = None, period: str = "2025-12") -> File:
        """Return Daniel's deliverable of a period by name."""
        found = [
            f
            for f in (office or self.end).files.values()
            if f.path.endswith(f"{period}/{name}") and f.space == "home:daniel"
        ]
        return found[0]

    def book(self, version: int) -> FileRef:
        return FileRef(self.file("Reconciliation.xlsx").id, version)

    def prompts(self, session: str, words: str = "") -> list[ModelRequest]:
        """Return the requests of a session whose last message from the office has these words."""
        users = ((r, [m for m in r.messages if m.role == "user"]) for r in self.model.asked if r.session == session)
        return [r for r, said in users if said and words in said[-1].content]


def tell(folder: Path, sandboxes: Sandboxes) -> Iterator[Told]:
    """Tell the story in SQLite. The process ends between the commit of Elena's mail and its delivery, and once more after it."""
    house, model = House(Settings(folder, f"sqlite:///{folder}/offices.db", ModelSettings())), script()
    offices, blobs = house.offices, house.blobs
    provider = sandboxes(blobs)
    office_id = offices.create("Juniper", "5" * 64, 7, "1", 1_700_000_000)
    letters: list[tuple[str, bool]] = []
    sent = folder / "sent"

    def carrier(journal: StoredJournal) -> Callable[[Delivery], None]:
        drop = EmlFolder(sent, lambda: directory(as_of(journal), office_id), blobs)

        def deliver(delivery: Delivery) -> None:
            letters.append((delivery.item.key, delivery.again))
            item = decode_item(delivery.item)
            assert isinstance(item, MailOut)
            text = item.mail.body
            drop.send(delivery.item.key, item, journal.body(text.sha256) if text.sha256 else text.text, delivery.again)

        return deliver

    journal = offices.open(office_id)
    journal.commit(1, [e.encode() for e in opening(blobs)], {})
    engine(journal, blobs, model, provider).run(SENT)
    journal.close()  # The mail is committed; the process is gone before anything left.

    journal = offices.open(office_id)
    with contextlib.suppress(InjectedFault), armed("outbox.delivered", Fault.RAISE):
        Outbox(journal, carrier(journal), lambda: 1_000).pump()
    journal.close()  # Elena's mail has left; the process is gone before it could note that.
    journal = offices.open(office_id)
    outbox = Outbox(journal, carrier(journal), lambda: 2_000)
    outbox.pump()
    engine(journal, blobs, model, provider).run(END)
    outbox.pump()
    journal.close()
    yield Told(house, office_id, model, letters, sent)
    house.close()


def tell_in_memory(provider: Sandboxes, stops: list[int], settings: EngineSettings) -> list[bytes]:
    """Tell the story in memory, the process ending at each of `stops`; return the log."""
    blobs, model, journal = MemoryBlobs(), script(), MemoryJournal()
    journal.commit(1, [e.encode() for e in opening(blobs)], {})
    sandboxes = provider(blobs)
    for until in (*stops, END):
        engine(journal, blobs, model, sandboxes, settings).run(until)
    return [data for _, data in journal.events()]
