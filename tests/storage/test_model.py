"""The store against a dictionary, a crash being one of the rules (RELIABILITY 5)."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from services.storage.blobs import FileBlobs
from services.storage.database import Database
from services.storage.faults import Fault, InjectedFault, armed
from services.storage.journal import Offices
from services.storage.memory import MemoryJournal, MemoryOffice
from services.storage.writer import StoredJournal
from simulator.canonical import sha256
from simulator.errors import StorageError
from tests.storage.support import PACKAGE, answer, item, request

POINTS = ("journal.begin", "journal.before_commit", "journal.after_commit", "outbox.insert")
FAULTS = (Fault.RAISE, Fault.AFTER_COMMIT, Fault.NO_SPACE, Fault.IO_ERROR)


class StoreMachine(RuleBasedStateMachine):
    """Does the same to a stored office and to plain dictionaries. A write that failed is wholly in or wholly out."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="officetown-model-"))
        self.log: list[bytes] = []
        self.bodies: dict[str, str] = {}
        self.answers: dict[tuple[str, int], str] = {}
        self.charged: dict[tuple[str, int], tuple[int, int]] = {}
        self.files: dict[str, bytes] = {}
        self.sent: list[str] = []
        self.epoch = 0

    @initialize()
    def make(self) -> None:
        self.database = Database(f"sqlite:///{self.folder}/offices.db")
        self.offices = Offices(self.database, self.folder / "locks")
        self.office_id = self.offices.create("Juniper", PACKAGE, 7, "1", 0)
        self.blobs = FileBlobs(self.folder / "blobs")
        self.journal: StoredJournal = self.offices.open(self.office_id)
        self.epoch = 1

    def teardown(self) -> None:
        self.journal.close()
        self.database.close()
        shutil.rmtree(self.folder)

    def _do(self, write: Callable[[], None], landed: Callable[[], bool], point: str | None, fault: Fault) -> bool:
        """Write, perhaps with a fault; return whether it is in. After a crash, another process opens the office."""
        if point is None:
            write()
            return True
        try:
            with armed(point, fault):
                write()
        except StorageError:
            # The process lives on and knows, or finds out by its next write.
            self.journal.set_status(b"going on")
            return landed()
        except InjectedFault:
            self.reopen()
            return landed()
        return True

    faulty = st.one_of(st.none(), st.sampled_from(POINTS))

    @rule(events=st.lists(st.binary(min_size=1, max_size=40), min_size=1, max_size=4), text=st.text(max_size=20),
          point=faulty, fault=st.sampled_from(FAULTS))  # fmt: skip
    def commit(self, events: list[bytes], text: str, point: str | None, fault: Fault) -> None:
        text = text.encode("utf-8", "replace").decode()
        first = len(self.log) + 1
        bodies = {sha256(text.encode()): text}
        outbox = [item(f"m{first + n}") for n in range(len(events))]

        def landed() -> bool:
            head = self.offices.read(self.office_id).head
            assert head in (len(self.log), len(self.log) + len(events))
            return head > len(self.log)

        if self._do(lambda: self.journal.commit(first, events, bodies, outbox), landed, point, fault):
            self.log += events
            self.bodies |= bodies
            self.sent += [o.key for o in outbox]

    @rule(activation=st.sampled_from("abc"), words=st.text(alphabet="xyz", max_size=3), point=faulty,
          fault=st.sampled_from(FAULTS))  # fmt: skip
    def record(self, activation: str, words: str, point: str | None, fault: Fault) -> None:
        key = (activation, sum(1 for name, _ in self.answers if name == activation))
        asked = request(*key, words)

        def landed() -> bool:
            return self.journal.call(*key) is not None

        if self._do(lambda: self.journal.record([(asked, answer(words, cost=3))]), landed, point, fault):
            self.answers[key] = words
            # What an attempt before cost is kept; the begun one is replaced by what the answer cost.
            self.charged[key] = (self.charged.get(key, (0, 0))[0], 3)

    @rule(activation=st.sampled_from("abc"), worst=st.integers(1, 50))
    def begin(self, activation: str, worst: int) -> None:
        key = (activation, sum(1 for name, _ in self.answers if name == activation))
        self.journal.begin_call(request(*key), worst)
        lost, before = self.charged.get(key, (0, 0))
        self.charged[key] = (lost + before, worst)

    @rule(data=st.binary(max_size=30))
    def put(self, data: bytes) -> None:
        self.files[self.blobs.put(data).sha256] = data

    @rule()
    def reopen(self) -> None:
        """As after a crash: nothing is closed in good order but the lock, which the kernel would drop."""
        self.journal._drop_connection()
        self.journal._lease.release()
        self.database.close()
        self.blobs = FileBlobs(self.folder / "blobs")
        self.journal = self.offices.open(self.office_id)
        self.epoch += 1

    @precondition(lambda self: len(self.log) > 0)
    @rule(data=st.data())
    def fork(self, data: st.DataObject) -> None:
        revision = data.draw(st.integers(0, len(self.log)))
        child = self.offices.fork(self.office_id, revision, "fork", 1)
        assert [e for _, e in self.offices.read(child).events()] == self.log[:revision]
        self.offices.remove(child)

    @invariant()
    def the_store_equals_the_dictionaries(self) -> None:
        if self.epoch == 0:
            return
        reader = self.offices.read(self.office_id)
        assert [data for _, data in reader.events()] == self.log
        assert reader.head == self.journal.head == len(self.log)
        assert self.journal.epoch == self.epoch
        assert {key: reader.body(key) for key in self.bodies} == self.bodies
        assert {r.call: a.content for r, a in reader.requests()} == self.answers
        charged = {(line.activation, line.ordinal): line.charged_micros for line in reader.ledger()}
        assert charged == {key: lost + rest for key, (lost, rest) in self.charged.items()}
        assert {key: self.blobs.get(key) for key in self.files} == self.files
        with self.database.reading() as connection:
            rows = connection.exec_driver_sql("SELECT key FROM outbox ORDER BY sequence").scalars().all()
        assert list(rows) == self.sent


def test_the_store_is_a_dictionary_that_survives_crashes() -> None:
    run_state_machine_as_test(
        StoreMachine,
        settings=settings(
            max_examples=25, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_store_is_a_dictionary_over_many_more_histories() -> None:
    run_state_machine_as_test(
        StoreMachine,
        settings=settings(
            max_examples=80, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )


def test_opening_the_double_again_fences_the_journal_before() -> None:
    """The double follows RULE 24 too, so that an engine's test meets Fenced as it would in life."""
    office = MemoryOffice("twin")
    old, new = MemoryJournal(office), MemoryJournal(office)
    with pytest.raises(StorageError, match="taken over"):
        old.commit(1, [b"{}"], {})
    new.commit(1, [b"{}"], {})
    assert (old.office_id, new.head, old.head, new.office is office) == ("twin", 1, 1, True)
