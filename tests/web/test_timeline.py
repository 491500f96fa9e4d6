"""An office as of any revision: the same as the plain fold, fast, within bounded memory, while the log grows."""

from __future__ import annotations

import threading
import time

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.web.timeline import RECENT, Timeline
from services.storage.memory import MemoryJournal
from simulator.businesstime import calendar_for
from simulator.engine.history import as_of, at_time
from simulator.engine.record import dump
from simulator.errors import UnknownReference, UsageError
from simulator.events import Event, MessagePosted
from simulator.fold import FOLD_VERSION
from simulator.office import Office
from tests.web.worlds import journal_of, told

NUMBERS = [(n % 12, n % 7, n % 5, n % 11) for n in range(160)]


@pytest.fixture(scope="module")
def journal() -> MemoryJournal:
    """The log of a small firm to which much has happened."""
    return journal_of(told(NUMBERS))


@settings(max_examples=25)
@given(wanted=st.lists(st.integers(1, 150), min_size=1, max_size=12), every=st.integers(1, 60), kept=st.integers(2, 9))
def test_every_revision_is_what_the_plain_fold_gives(wanted: list[int], every: int, kept: int) -> None:
    """DESIGN 3: a snapshot is a pointer, and changes nothing."""
    log = journal_of(told(NUMBERS[:80]))
    line = Timeline(log, every, kept)
    for number in wanted:
        revision = min(number, log.head)
        assert line.office(revision) == as_of(log, revision)
        assert line.snapshots <= kept
    line.read_on()
    for number in wanted:
        revision = min(number, log.head)
        assert line.office(revision) == as_of(log, revision)
    assert line.office() == as_of(log)


def test_snapshots_and_what_is_remembered_are_bounded(journal: MemoryJournal) -> None:
    line = Timeline(journal, every=1, kept=10)
    line.read_on()
    assert line.snapshots <= 10
    for revision in range(1, journal.head + 1):
        line.office(revision)
    assert len(line._recent) <= RECENT


def test_checkpoints_are_used_before_the_log_has_been_read_and_change_nothing(journal: MemoryJournal) -> None:
    """RULE 21."""
    log = journal_of(told(NUMBERS))
    log.save_checkpoint(100, FOLD_VERSION, dump(as_of(log, 100)))
    line = Timeline(log)
    with line._reading:
        assert line.office(110) == as_of(journal, 110)


def test_a_log_that_grows_is_read_on(journal: MemoryJournal) -> None:
    log = MemoryJournal()
    lines = [data for _, data in journal.events()]
    log.commit(1, lines[:60], {})
    line = Timeline(log, every=7)
    assert line.office().revision == 60
    assert line.read_on().times[-1] == line.office(60).now
    log.commit(61, lines[60:], {})
    assert line.office().revision == journal.head
    assert len(line.read_on().times) == journal.head
    assert line.office(100) == as_of(journal, 100)


def test_readers_in_many_threads_see_the_same(journal: MemoryJournal) -> None:
    line = Timeline(journal, every=5, kept=8)
    expected = {revision: as_of(journal, revision) for revision in range(1, journal.head + 1, 13)}
    wrong: list[int] = []

    def look() -> None:
        wrong.extend(r for r, office in expected.items() if line.office(r) != office)

    threads = [threading.Thread(target=look) for _ in range(6)]
    for thread in threads:
        thread.start()
    line.begin()
    for thread in threads:
        thread.join()
    assert not wrong


def test_moments_are_revisions_dates_and_times(journal: MemoryJournal) -> None:
    line = Timeline(journal)
    for prepared in (False, True):
        if prepared:
            line.read_on()
        assert line.revision_at("") == journal.head
        assert line.revision_at("17") == 17
        office = line.office()
        calendar = calendar_for(office.calendar)
        for moment in (office.now, as_of(journal, 40).now):
            text = f"{calendar.local(moment):%Y-%m-%d %H:%M}"
            exact = calendar.at(text[:10], calendar.local(moment).hour * 60 + calendar.local(moment).minute)
            assert line.office(line.revision_at(text)) == at_time(journal, exact)
        assert line.revision_at("2031-01-01") == journal.head


@pytest.mark.parametrize("text", ["0", "-1", "151515", "2025-12-31", "0001-01-01", "9" * 39])
def test_moments_that_never_were_are_unknown(journal: MemoryJournal, text: str) -> None:
    with pytest.raises((UnknownReference, UsageError)):
        Timeline(journal).revision_at(text)


@given(st.text(max_size=40))
def test_no_text_is_worse_than_no_moment(text: str) -> None:
    log = journal_of(told([])[:3])
    try:
        assert 1 <= Timeline(log).revision_at(text) <= log.head
    except UsageError as fault:
        assert str(fault)


def _long(count: int) -> list[bytes]:
    """A log in which a small firm's happenings come again and again: notices, which pile up nowhere."""
    start = told(NUMBERS)
    events = [event.encode() for event in start]
    pattern = [event.payload for event in start if isinstance(event.payload, MessagePosted)]
    office, now = _end(start), start[-1].sim_time
    for n in range(count):
        posted = _renamed(pattern[n % len(pattern)], n)
        events.append(Event(office.revision + n + 1, now + n, "elena", "genesis", posted).encode())
    return events


def _end(events: list[Event]) -> Office:
    return as_of(journal_of(events))


def _renamed(payload: MessagePosted, number: int) -> MessagePosted:
    return MessagePosted(msgspec.structs.replace(payload.message, id=f"m{number}"))


@pytest.mark.slow
def test_a_half_years_log_opens_at_once_and_a_slider_step_takes_no_time() -> None:
    """Issue 5: the first answer under 2 s, a step under 300 ms; in seconds of this process's own processor time."""
    log = MemoryJournal()
    log.commit(1, _long(20_000), {})
    log.save_checkpoint(20_000, FOLD_VERSION, dump(as_of(log, 20_000)))
    line = Timeline(log)
    began = time.thread_time()
    line.office()
    assert time.thread_time() - began < 2
    line.read_on()
    steps = []
    for revision in range(500, log.head, 997):
        began = time.thread_time()
        line.office(revision)
        steps.append(time.thread_time() - began)
    assert max(steps) < 0.3


def test_it_is_told_once_that_the_past_is_in_memory(journal: MemoryJournal) -> None:
    told_so = threading.Event()
    times: list[int] = []

    def settled() -> None:
        times.append(line.read_on().times[-1])
        told_so.set()

    line = Timeline(journal, settled=settled)
    for revision in (20, 30, 40):
        line.office(revision)
    assert told_so.wait(60)
    assert times == [line.office().now]
