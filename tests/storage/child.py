"""What the crash tests run in processes that die: made-up work on an office, every step of it acknowledged.

Everything in the log is a function of the revision, so that whoever survives can tell what must be there.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from services.storage.archive import pack, unpack
from services.storage.blobs import FileBlobs
from services.storage.database import Database
from services.storage.faults import Fault, armed
from services.storage.journal import Offices
from services.storage.outbox import Delivery, Outbox
from services.storage.writer import StoredJournal
from simulator.canonical import canonical, sha256
from simulator.conversation import Message, ModelRequest, ModelResponse
from simulator.ports import OutboxItem

OFFICE = "juniper"


class Place:
    """An office in a folder, and an outside server that is a file of keys."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.database = Database(f"sqlite:///{folder}/offices.db")
        self.offices = Offices(self.database, folder / "locks")
        self.blobs = FileBlobs(folder / "blobs")
        self.server = folder / "server"

    def make(self) -> None:
        """Make the office."""
        self.offices.create("Juniper", sha256(b"p"), 7, "1", 0, office_id=OFFICE)

    def carrier(self, delivery: Delivery) -> None:
        """Show a message on the server, once, whatever happens to the one who sends it."""
        shown = self.server.read_text().split() if self.server.exists() else []
        if not (delivery.again and delivery.item.key in shown):
            with self.server.open("a") as file:
                file.write(delivery.item.key + "\n")

    def outbox(self, journal: StoredJournal) -> Outbox:
        """The office's outbox, to that server."""
        return Outbox(journal, self.carrier, lambda: 0)


def file_of(revision: int) -> bytes:
    """The file that an event names."""
    return f"file {revision // 3}".encode() * 50


def event_of(revision: int) -> bytes:
    """The event of a revision."""
    digest = sha256(file_of(revision))
    return canonical(
        {"kind": "saved", "revision": revision, "file": digest, "text": sha256(text_of(revision).encode())}
    )


def text_of(revision: int) -> str:
    """The text that an event refers to."""
    return f"words of {revision} " * 20


def call_of(revision: int) -> tuple[ModelRequest, ModelResponse]:
    """The model call before an event."""
    messages = (Message("system", "You are Elena."), Message("user", f"What of {revision}?"))
    return ModelRequest("principal", (f"elena.{revision}", 0), "s", messages), ModelResponse(f"this of {revision}")


def step(place: Place, journal: StoredJournal, count: int, acknowledge: Callable[[str], None]) -> None:
    """Do one activation: call, answer, files, commit of `count` events, delivery; say what is promised."""
    first = journal.head + 1
    request, response = call_of(first)
    if journal.call(*request.call) is None:
        journal.begin_call(request, 10)
        journal.record([(request, response)])
    acknowledge(f"call {first}")
    revisions = range(first, first + count)
    for revision in revisions:
        place.blobs.put(file_of(revision))
    texts = {sha256(text_of(revision).encode()): text_of(revision) for revision in revisions}
    outbox = [OutboxItem(f"m{revision}", "lane", "mail", b"{}") for revision in revisions]
    journal.commit(first, [event_of(revision) for revision in revisions], texts, outbox)
    acknowledge(f"event {first + count - 1}")
    if first % 5 == 0:
        journal.save_checkpoint(first, "1", b"state")
    place.outbox(journal).pump()
    acknowledge(f"sent {first + count - 1}")


def work(folder: str, acknowledgements: int, upto: int) -> None:
    """Recover, then work until killed or at `upto`; what is promised goes to a file descriptor."""
    place = Place(Path(folder))
    journal = place.offices.open(OFFICE)
    place.outbox(journal).pump()
    while journal.head < upto:
        count = min(1 + journal.head % 4, upto - journal.head)
        step(place, journal, count, lambda line: void(os.write(acknowledgements, line.encode() + b"\n")))
    journal.close()


def void(_: object) -> None:
    """Nothing."""


def life(place: Place) -> None:
    """Pass every fault point: recover, work, fork, pack, unpack, remove, collect. May be repeated after any failure."""
    if not place.offices.list():
        place.make()
    journal = place.offices.open(OFFICE)
    try:
        place.outbox(journal).pump()
        while journal.head < 6:
            step(place, journal, 2, void)
        for child in [row.id for row in place.offices.list() if row.id != OFFICE]:
            place.offices.remove(child)
        child = place.offices.fork(OFFICE, 4, "fork", 1)
        pack(place.offices, OFFICE, place.blobs, place.folder / "office.zip")
        unpack(place.folder / "office.zip", place.offices, place.blobs, "copy")
        place.offices.remove(child)
        os.utime(_unwanted(place), (0, 0))
        place.blobs.gc({sha256(file_of(revision)) for revision in range(20)}, older_than=10)
        with armed("journal.before_commit", Fault.AFTER_COMMIT):
            journal.set_status(b"done")
    finally:
        journal.close()


def die_at(folder: str, point: str) -> None:
    """End this process, without a word, at a fault point."""
    with armed(point, Fault.HARD_EXIT):
        life(Place(Path(folder)))


def check(place: Place) -> int:
    """Assert that everything in every office is whole, and return the head of the one that works."""
    for row in place.offices.list():
        reader = place.offices.read(row.id)
        log = list(reader.events())
        assert log == [(revision, event_of(revision)) for revision in range(1, row.head + 1)]
        for revision, _ in log:
            assert reader.body(sha256(text_of(revision).encode())) == text_of(revision)
            assert place.blobs.get(sha256(file_of(revision))) == file_of(revision)
        for request, response in reader.requests():
            assert (request, response) == call_of(int(request.call[0].removeprefix("elena.")))
        checkpoint = reader.load_checkpoint("1")
        assert checkpoint is None or checkpoint[0] <= row.head
    return place.offices.read(OFFICE).head if place.offices.list() else 0


def shown(place: Place) -> list[str]:
    """What the outside server shows."""
    return place.server.read_text().split() if place.server.exists() else []


def _unwanted(place: Place) -> Path:
    blob = place.blobs.put(b"unwanted")
    return place.folder / "blobs" / blob.sha256[:2] / blob.sha256[2:]
