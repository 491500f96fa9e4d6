"""What the storage may cost, in CPU time, so that a busy machine does not decide (DESIGN 14)."""

from __future__ import annotations

import time

from services.storage.writer import StoredJournal
from simulator.conversation import Message, ModelRequest, ToolSpec
from tests.storage.support import answer, event

TOOLS = tuple(ToolSpec(f"tool{n}", "Does things. " * 10, {"type": "object"}) for n in range(20))


def test_a_hundred_thousand_events_are_read_within_two_seconds(journal: StoredJournal) -> None:
    for first in range(1, 100_000, 10_000):
        journal.commit(first, [event(n, text="x" * 250) for n in range(first, first + 10_000)], {})
    start = time.process_time()
    assert sum(1 for _ in journal.events()) == 100_000
    assert time.process_time() - start < 2


def test_a_recorded_call_costs_little_however_long_the_conversation_is(journal: StoredJournal) -> None:
    """The bar is 0.5 ms; the test allows twice that for slower machines."""
    turns = tuple(Message("user", f"turn {n} " + "words " * 200) for n in range(60))
    requests = [ModelRequest("principal", ("elena.1", n), "s", turns[: n + 1], TOOLS) for n in range(60)]
    for request in requests:
        assert request.fingerprint
    start = time.process_time()
    for request in requests:
        journal.record([(request, answer())])
    assert (time.process_time() - start) / len(requests) < 0.001
    with journal.database.reading() as connection:
        stored = connection.exec_driver_sql("SELECT count(*) FROM bodies").scalar_one()
    assert stored == len(turns) + 1
