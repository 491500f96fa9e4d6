"""Offices read back: as of a revision, as of an instant, several at once, with and without checkpoints; and the pen."""

from __future__ import annotations

from typing import Any, cast

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rpds import HashTrieMap

from services.storage.memory import MemoryBlobs, MemoryJournal
from simulator.canonical import sha256
from simulator.carrying import Projection
from simulator.engine.environment import Bodies, Environment, Settings
from simulator.engine.history import as_of, at_time, offices_at, walk
from simulator.engine.record import Recorder, dump, restore
from simulator.errors import CorruptStore, UnknownReference
from simulator.events import (
    DelegationOpened,
    DelegationWithdrawn,
    Event,
    MailSent,
    MessagePosted,
    NoticeGiven,
    Payload,
    RoundOpened,
    StimulusArrived,
    TimerSet,
)
from simulator.fold import FOLD_VERSION, apply, fold
from simulator.fold.base import NOTICES_KEPT, append, drop
from simulator.office import Office
from simulator.ports import Model, Renderer
from simulator.records import Body, ChatMessage, Delegation, FileRef, Mail, Notice, Stimulus, Timer
from tests.access.growth import Op, grown, ops
from tests.access.world import juniper
from tests.engine.worlds import MONDAY, opening, person


def journal_of(times: list[int]) -> MemoryJournal:
    """A journal of an opening and one timer an event, at these distances."""
    journal = MemoryJournal()
    log = opening([person("ada"), person("ben")])
    now = MONDAY
    for number, step in enumerate(times, len(log) + 1):
        now += step
        log.append(Event(number, now, "engine", "x", TimerSet(Timer(f"t{number % 3}", now + 60, "due", "x"))))
    journal.commit(1, [e.encode() for e in log], {})
    return journal


STEPS = st.lists(st.integers(0, 3), min_size=1, max_size=12)


# -- reading back --------------------------------------------------------------------------------------------------------


@settings(max_examples=30)
@given(STEPS, st.sets(st.integers(1, 40), max_size=4), st.sets(st.integers(0, 40), max_size=5))
def test_any_revision_reads_the_same_with_checkpoints_or_without(times: list[int], kept: set[int], wanted: set[int]) -> None:
    """RULE 21."""
    journal = journal_of(times)
    states = {0: Office(), **{event.revision: office for event, office in walk(journal)}}
    for revision in kept:
        if revision in states:
            journal.save_checkpoint(revision, FOLD_VERSION, dump(states[revision]))
    for revision, office in states.items():
        assert as_of(journal, revision) == as_of(journal, revision, checkpoints=False) == office
    assert as_of(journal) == states[journal.head]
    asked = wanted & set(states)
    assert offices_at(journal, asked) == {r: states[r] for r in asked}


@given(STEPS, st.integers(-2, 50))
@settings(max_examples=30)
def test_as_of_an_instant_is_after_its_last_event_and_before_the_next(times: list[int], later: int) -> None:
    journal = journal_of(times)
    office = at_time(journal, MONDAY + later)
    reached = [event.revision for event, _ in walk(journal) if event.sim_time <= MONDAY + later]
    assert office == as_of(journal, max(reached, default=0))


@pytest.mark.parametrize("revision", [-1, 10_000])
def test_a_revision_that_is_not_there_is_said_with_where_the_log_ends(revision: int) -> None:
    journal = journal_of([1])
    with pytest.raises(UnknownReference, match=f"no revision {revision}: its log ends at {journal.head}"):
        as_of(journal, revision)


def test_nothing_wanted_reads_nothing() -> None:
    class Closed:
        head = 5

        def events(self, after: int = 0, upto: int | None = None) -> Any:
            raise AssertionError("nothing was asked for")

        load_checkpoint = events

    assert offices_at(cast(Any, Closed()), set()) == {}


def test_a_log_that_was_tampered_with_does_not_fold() -> None:
    journal = journal_of([1, 1, 1])
    del journal.office.log[-2]
    with pytest.raises(CorruptStore, match="gap"):
        as_of(journal)
    with pytest.raises(CorruptStore):
        list(walk(journal))


def test_what_happens_at_one_instant_keeps_its_order_and_time_never_runs_back() -> None:
    office = fold(opening([person("ada")]))
    same = Event(office.revision + 1, office.now, "engine", "x", TimerSet(Timer("a", 5, "due", "x")))
    assert apply(office, same).now == office.now
    with pytest.raises(CorruptStore, match="does not follow"):
        apply(office, msgspec.structs.replace(same, sim_time=office.now - 1))
    with pytest.raises(CorruptStore):
        apply(office, msgspec.structs.replace(same, revision=office.revision))


# -- checkpoints ---------------------------------------------------------------------------------------------------------


@settings(max_examples=40)
@given(ops)
def test_any_office_survives_its_checkpoint(numbers: list[Op]) -> None:
    """RULE 21: equal, and equal bytes from the same maps however they were built."""
    office = grown(numbers).office
    again = restore(dump(office))
    assert again == office
    for name in Office.__struct_fields__:
        assert type(getattr(again, name)) is type(getattr(office, name)), name
    after = apply_one(again)
    assert after == apply_one(office)


def apply_one(office: Office) -> Office:
    who = sorted(office.people)[0]
    notice = NoticeGiven(Notice("n", who, office.now, "words", "ref"))
    return apply(office, Event(office.revision + 1, office.now, "engine", "x", notice))


def test_a_checkpoint_holds_every_field_of_an_office() -> None:
    raw = msgspec.msgpack.decode(dump(juniper().office))
    assert set(raw) == set(Office.__struct_fields__)


def test_an_empty_office_survives_its_checkpoint() -> None:
    assert restore(dump(Office())) == Office()
    assert isinstance(restore(dump(Office())).people, HashTrieMap)


@pytest.mark.parametrize("data", [b"", b"\xc1", b"[]", msgspec.msgpack.encode({"revision": "one"})])
def test_a_checkpoint_that_is_none_does_not_become_an_office(data: bytes) -> None:
    with pytest.raises((msgspec.MsgspecError, AttributeError)):
        restore(data)


# -- the fold's small tools ----------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.booleans(), st.sampled_from("ab"), st.sampled_from("xyz")), max_size=20))
def test_an_index_holds_each_value_once_in_order_of_arrival_and_no_empty_rows(steps: list[tuple[bool, str, str]]) -> None:
    index: HashTrieMap[str, tuple[str, ...]] = HashTrieMap()
    plain: dict[str, list[str]] = {}
    for adds, key, value in steps:
        row = plain.setdefault(key, [])
        if adds:
            index = append(index, key, value)
            row += [value] if value not in row else []
        else:
            index = drop(index, key, value)
            plain[key] = [v for v in row if v != value]
    assert dict(index.items()) == {k: tuple(v) for k, v in plain.items() if v}


def test_only_the_last_two_hundred_notices_are_kept_and_nobody_unknown_has_any() -> None:
    office = fold(opening([person("ada")]))
    for n in range(NOTICES_KEPT + 5):
        office = happen(office, NoticeGiven(Notice("", "ada", 0, f"notice {n}", "x")))
    office = happen(office, NoticeGiven(Notice("", "nobody", 0, "lost", "x")))
    texts = [n.text for n in office.notices["ada"]]
    assert len(texts) == NOTICES_KEPT and texts[-1] == f"notice {NOTICES_KEPT + 4}" and texts[0] == "notice 5"
    assert "nobody" not in office.notices


def test_a_timer_is_set_moved_and_cleared_by_its_key() -> None:
    office = fold(opening([person("ada")]))
    office = happen(office, TimerSet(Timer("k", 100, "due", "x")))
    assert office.news == (Timer("k", 100, "due", "x"),)
    office = happen(office, TimerSet(Timer("k", 200, "due", "x")))
    assert office.timers["k"].at == 200
    office = happen(office, TimerSet(Timer("k", 0, "due", "x")))
    assert "k" not in office.timers and office.news == ()
    assert happen(office, TimerSet(Timer("k", 0, "due", "x"))).timers == office.timers


def test_news_and_who_was_woken_are_of_the_last_event_alone() -> None:
    office = fold(opening([person("ada")]))
    office = happen(office, StimulusArrived("ada", Stimulus("s", "notice", "x", office.now)))
    assert office.woken == ("ada",)
    assert happen(office, TimerSet(Timer("k", 0, "due", "x"))).woken == ()


def test_a_day_start_sets_the_next_one() -> None:
    office = fold(opening([person("ada")]))
    first = office.timers["day:ada"]
    assert first.at == MONDAY + 9 * 3600
    office = happen(office, StimulusArrived("ada", Stimulus("d", "day_start", "2026-01-05", first.at)), first.at)
    assert office.timers["day:ada"].at == first.at + 86_400


def happen(office: Office, payload: Payload, at: int = 0) -> Office:
    event = Event(office.revision + 1, at or office.now, "engine", "x", payload)  # type: ignore[arg-type]
    return apply(office, event)


# -- the pen -------------------------------------------------------------------------------------------------------------


class Watch:
    def __init__(self) -> None:
        self.seen: list[tuple[int, int]] = []

    def event(self, event: Event, office: Office) -> None:
        self.seen.append((event.revision, office.revision))


def pen(watch: Watch | None = None, **settings: Any) -> Recorder:
    journal = journal_of([1])
    env = Environment(journal, MemoryBlobs(), cast(Model, None), None, cast(Renderer, None), Settings(**settings),
                      observers=(watch,) if watch else ())  # fmt: skip
    return Recorder(env, as_of(journal), Bodies(journal))


def message(name: str, text: str) -> tuple[MessagePosted, dict[str, str]]:
    digest = sha256(text.encode())
    body = Body(sha256=digest, size=len(text.encode()))
    return MessagePosted(ChatMessage(name, "all", "ada", MONDAY, body)), {digest: text}


def test_what_is_written_is_seen_at_once_and_stored_at_the_commit() -> None:
    watch = Watch()
    recorder = pen(watch)
    journal, head = recorder.env.journal, recorder.env.journal.head
    posted, texts = message("m1", "words " * 60)
    recorder.keep(texts)
    recorder.emit("ada", "ada.1", posted)
    assert "m1" in recorder.office.messages and journal.head == head and recorder.waiting == 1 and watch.seen == []
    recorder.flush()
    assert journal.head == head + 1 and recorder.waiting == 0
    assert watch.seen == [(head + 1, head + 1)]
    assert journal.body(*texts) == "words " * 60 and as_of(journal) == recorder.office
    recorder.flush()
    assert journal.head == head + 1 and len(watch.seen) == 1


def test_a_text_that_no_committed_event_names_is_not_stored() -> None:
    recorder = pen()
    posted, texts = message("m1", "used " * 60)
    _, other = message("m2", "never said " * 60)
    recorder.keep({**texts, **other})
    recorder.emit("ada", "ada.1", posted)
    recorder.flush()
    assert recorder.env.journal.body(*texts)
    with pytest.raises(CorruptStore):
        recorder.env.journal.body(*other)
    assert recorder.bodies.pending == {}


def test_mails_to_the_outside_leave_through_the_outbox_and_chat_only_with_a_carrier() -> None:
    inside = Mail("m1", "m1", "ada", ("ben",), (), "s", Body("t", size=1), MONDAY)
    outside = Mail("m2", "m2", "ada", ("maya",), (), "s", Body("t", size=1), MONDAY, external=True)
    posted, _ = message("c1", "hello")
    servers = {"chat": "rc", "mail": "smtp"}
    for targets, keys in (({}, {"mail:m2"}), (servers, {"smtp/mail:m1", "smtp/mail:m2", "rc/message:c1"})):
        recorder = pen()
        recorder.env.outgoing = Projection(targets)
        recorder.emit("ada", "ada.1", MailSent(inside), MailSent(outside), posted)
        recorder.flush()
        journal = recorder.env.journal
        assert isinstance(journal, MemoryJournal)
        assert set(journal.office.outbox) == keys
        assert {i.lane for i in journal.office.outbox.values() if i.kind == "mail"} == {
            f"{'smtp/' if targets else ''}mail:ada"
        }


def test_news_and_withdrawals_are_told_once() -> None:
    recorder = pen()
    d = Delegation("d1", "ada", Body("g", size=1), MONDAY, deliverables=("a.md",))
    recorder.emit("ada", "ada.1", DelegationOpened(d), RoundOpened("d1", 1))
    assert [t.key for t in recorder.take_news()[0]] == ["segment:d1"] and recorder.take_news() == ((), ())
    assert recorder.opened_rounds["d1", 1].revision == recorder.office.delegations["d1"].rounds[0].revision
    recorder.emit("ada", "ada.1", DelegationWithdrawn("d1", "ada", "x"))
    assert recorder.take_withdrawn() == ("d1",) and recorder.take_withdrawn() == ()


@pytest.mark.parametrize("every", [1, 3])
def test_checkpoints_are_made_at_commits_after_so_many_events(every: int) -> None:
    recorder = pen(checkpoint_events=every)
    journal = recorder.env.journal
    assert isinstance(journal, MemoryJournal)
    first = recorder.office.revision
    for n in range(6):
        recorder.emit("engine", "x", TimerSet(Timer(f"k{n}", 5, "due", "x")))
        recorder.flush()
    assert [r - first for _, r in sorted(journal.office.checkpoints)] == list(range(every, 7, every))
    assert {v for v, _ in journal.office.checkpoints} == {FOLD_VERSION}
    revision, data = next(iter(journal.load_checkpoint(FOLD_VERSION, n) for n in [journal.head])) or (0, b"")
    assert restore(data) == as_of(journal, revision, checkpoints=False)


def test_bodies_are_found_pending_cached_or_stored_and_forgotten_in_bounds() -> None:
    journal = journal_of([1])
    texts = {sha256(f"text {n}".encode()): f"text {n}" for n in range(20)}
    journal.commit(journal.head + 1, [], texts)
    bodies = Bodies(journal, keep=4)
    for digest, text in texts.items():
        assert bodies(Body(sha256=digest)) == text
        assert len(bodies._cache) <= 4
    assert bodies(Body("short", size=5)) == "short"
    bodies.pending["f" * 64] = "not yet"
    assert bodies(Body(sha256="f" * 64)) == "not yet"
    assert bodies.take({"f" * 64, "0" * 64}) == {"f" * 64: "not yet"} and bodies.pending == {}
    assert FileRef("a", 1) < FileRef("a", 2) < FileRef("b", 1)
