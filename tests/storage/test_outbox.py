"""Effects on outside servers: in order, never lost, never doubled, whatever dies when (RELIABILITY 8)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from services.storage.faults import Fault, InjectedFault, armed
from services.storage.journal import Offices
from services.storage.outbox import Backoff, Delivery, Lane, Outbox, Pumped
from services.storage.writer import StoredJournal
from simulator.errors import Fenced, StorageError, WorkFailed
from tests.storage.support import StoredRecord, event, item


class Server:
    """An outside server that knows keys: it shows a message once, however often it arrives."""

    def __init__(self) -> None:
        self.shown: list[str] = []
        self.deliveries: list[Delivery] = []
        self.faults: list[Exception] = []
        self.accepts_before_failing = False

    def __call__(self, delivery: Delivery) -> None:
        self.deliveries.append(delivery)
        fault = self.faults.pop(0) if self.faults else None
        if fault is None or self.accepts_before_failing:
            self._show(delivery)
        if fault is not None:
            raise fault

    def _show(self, delivery: Delivery) -> None:
        if delivery.again and delivery.item.key in self.shown:
            return
        self.shown.append(delivery.item.key)


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 1000

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def server() -> Server:
    """A server with nothing on it."""
    return Server()


@pytest.fixture
def clock() -> Clock:
    """A clock at 1000."""
    return Clock()


def _send(journal: StoredJournal, *keys: str, lane: str = "mail:elena") -> None:
    revision = journal.head + 1
    journal.commit(revision, [event(revision)], {}, [item(key, lane) for key in keys])


def test_what_was_committed_is_delivered_once_and_in_order(stored_record: StoredRecord, server: Server) -> None:
    journal = stored_record.open()
    _send(journal, "m1", "m2")
    _send(journal, "m3")
    outbox = Outbox(journal, server, Clock())
    assert outbox.pump() == Pumped(delivered=3)
    assert outbox.pump() == Pumped()
    assert server.shown == ["m1", "m2", "m3"]
    assert [d.attempt for d in server.deliveries] == [1, 1, 1]
    assert not any(d.again for d in server.deliveries)
    assert server.deliveries[0].item == item("m1")
    assert outbox.lanes() == ()


def test_order_holds_over_a_restart(stored_record: StoredRecord, server: Server, clock: Clock) -> None:
    _send(stored_record.open(), "m1", "m2")
    journal = stored_record.open()
    _send(journal, "m3")
    Outbox(journal, server, clock).pump()
    assert server.shown == ["m1", "m2", "m3"]


def test_a_failing_lane_waits_and_says_so_while_the_others_go_on(
    stored_record: StoredRecord, server: Server, clock: Clock
) -> None:
    journal = stored_record.open()
    _send(journal, "a1", "a2", lane="room:a")
    _send(journal, "b1", "b2", lane="room:b")
    server.faults = [ConnectionError("refused \x00\x1b[0m")]
    outbox = Outbox(journal, server, clock, Backoff(first=2, most=900))
    assert outbox.pump() == Pumped(delivered=2, failed=1, next_attempt=1002)
    assert server.shown == ["b1", "b2"]
    (lane,) = outbox.lanes()
    assert lane == Lane("room:a", 2, 1, 1002, lane.last_error)
    assert lane.last_error.startswith("ConnectionError: refused")
    assert "\x00" not in lane.last_error and "\x1b" not in lane.last_error
    clock.now = 1001
    assert outbox.pump() == Pumped(next_attempt=1002)
    clock.now = 1002
    assert outbox.pump() == Pumped(delivered=2)
    assert server.shown == ["b1", "b2", "a1", "a2"]
    assert server.deliveries[-2] == Delivery(item("a1", "room:a"), 2, again=True)


def test_waits_double_up_to_a_bound(stored_record: StoredRecord, server: Server, clock: Clock) -> None:
    journal = stored_record.open()
    _send(journal, "m1")
    outbox = Outbox(journal, server, clock, Backoff(first=2, most=20))
    waits = []
    for _ in range(6):
        server.faults = [TimeoutError()]
        due = outbox.pump().next_attempt
        assert due is not None
        waits.append(due - clock.now)
        clock.now = due
    assert waits == [2, 4, 8, 16, 20, 20]
    assert Backoff().after(10_000) == 900


def test_an_item_refused_for_good_is_put_aside_with_its_reason(
    stored_record: StoredRecord, server: Server, clock: Clock
) -> None:
    journal = stored_record.open()
    _send(journal, "m1", "m2")
    server.faults = [WorkFailed("no such mailbox")]
    outbox = Outbox(journal, server, clock)
    assert outbox.pump() == Pumped(delivered=1, refused=1)
    assert server.shown == ["m2"]
    assert outbox.pump() == Pumped()


def test_a_connection_dropped_after_accepting_doubles_nothing(
    stored_record: StoredRecord, server: Server, clock: Clock
) -> None:
    journal = stored_record.open()
    _send(journal, "m1", "m2")
    server.accepts_before_failing = True
    server.faults = [ConnectionResetError("dropped")]
    outbox = Outbox(journal, server, clock)
    outbox.pump()
    clock.now += 100
    outbox.pump()
    assert server.shown == ["m1", "m2"]
    assert [(d.item.key, d.again) for d in server.deliveries] == [("m1", False), ("m1", True), ("m2", False)]


@pytest.mark.parametrize("point", ["outbox.claim", "outbox.deliver", "outbox.delivered", "outbox.mark"])
@pytest.mark.parametrize("skip", [0, 1])
def test_a_process_killed_anywhere_loses_and_doubles_nothing(
    stored_record: StoredRecord, server: Server, clock: Clock, point: str, skip: int
) -> None:
    """Killed between commit and delivery, between delivery and mark, and in the transactions themselves."""
    journal = stored_record.open()
    _send(journal, "m1", "m2", "m3")
    with armed(point, Fault.RAISE, skip), pytest.raises(InjectedFault):
        Outbox(journal, server, clock).pump()
    journal = stored_record.open()
    Outbox(journal, server, clock).pump()
    assert server.shown == ["m1", "m2", "m3"]
    assert Outbox(journal, server, clock).pump() == Pumped()


@pytest.mark.parametrize("point", ["outbox.claim", "outbox.mark"])
@pytest.mark.parametrize("fault", [Fault.AFTER_COMMIT, Fault.NO_SPACE, Fault.IO_ERROR])
def test_a_database_in_trouble_stops_the_pump_and_nothing_else(
    stored_record: StoredRecord, server: Server, clock: Clock, point: str, fault: Fault
) -> None:
    journal = stored_record.open()
    _send(journal, "m1", "m2")
    outbox = Outbox(journal, server, clock)
    with armed(point, fault):
        if fault is Fault.AFTER_COMMIT:
            outbox.pump()
        else:
            with pytest.raises(StorageError):
                outbox.pump()
    outbox.pump()
    assert server.shown == ["m1", "m2"]


def test_a_fenced_process_claims_nothing(stored_record: StoredRecord, server: Server, tmp_path: Path) -> None:
    """RULE 24: outbox claims included."""
    database = stored_record.offices.database
    old = stored_record.open()
    _send(old, "m1")
    if not database.is_sqlite:
        old._lease.release()
    new = Offices(database, tmp_path / "other locks").open(stored_record.office_id)
    with pytest.raises(Fenced):
        Outbox(old, server, Clock()).pump()
    assert server.shown == []
    Outbox(new, server, Clock()).pump()
    assert server.shown == ["m1"]
    new.close()


def test_a_long_queue_is_delivered_in_bounded_rounds(journal: StoredJournal, server: Server, clock: Clock) -> None:
    for lane in range(5):
        _send(journal, *(f"{lane}.{n}" for n in range(8)), lane=f"room:{lane}")
    outbox = Outbox(journal, server, clock)
    assert outbox.pump(at_most=7).delivered == 7
    assert outbox.pump().delivered == 33
    for lane in range(5):
        assert [key for key in server.shown if key.startswith(f"{lane}.")] == [f"{lane}.{n}" for n in range(8)]


def test_nothing_is_delivered_of_a_commit_that_failed(journal: StoredJournal, server: Server, clock: Clock) -> None:
    with armed("journal.before_commit", Fault.NO_SPACE), pytest.raises(StorageError):
        _send(journal, "m1")
    Outbox(journal, server, clock).pump()
    assert server.shown == []
    _send(journal, "m1")
    Outbox(journal, server, clock).pump()
    assert server.shown == ["m1"]


def test_a_fault_of_the_program_passes_through_and_the_item_waits(
    journal: StoredJournal, server: Server, clock: Clock
) -> None:
    def interrupted(_: Delivery) -> None:
        raise KeyboardInterrupt

    _send(journal, "m1")
    carrier: Callable[[Delivery], None] = interrupted
    with pytest.raises(KeyboardInterrupt):
        Outbox(journal, carrier, clock).pump()
    Outbox(journal, server, clock).pump()
    assert server.shown == ["m1"]
    assert server.deliveries[0].again
