"""Told from an event and its marks alone: what a person did, and whether it was his to do."""

from __future__ import annotations

from datetime import datetime
from itertools import count
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from services.carriers.caldav.attribution import Attribution, Known
from services.carriers.caldav.essence import Essence, marks, uid_of_key
from services.carriers.caldav.events import Writer
from services.carriers.caldav.reading import Parsed, Reader
from simulator.businesstime import load_zone
from simulator.carrying import Account, EntryOut
from tests.carriers.calendar.cast import DAY, ELENA, MAYA, MONDAY, PEOPLE, TOM, Desk, at, ics, out
from tests.carriers.calendar.test_events import entries

TELL = Attribution(PEOPLE, lambda: MONDAY)
WRITER = Writer(PEOPLE)
READ = Reader(load_zone("Europe/London"))


def copy(owner: Account, item: EntryOut | None = None) -> Parsed:
    """What lies in somebody's calendar after we wrote it."""
    found = READ(WRITER.calendar([WRITER.event(item or out(), owner)]).decode())
    assert isinstance(found, Parsed)
    return found


def edited(item: Parsed, **changes: Any) -> Parsed:
    return msgspec.structs.replace(item, essence=msgspec.structs.replace(item.essence, **changes))


def foreign(*lines: str, uid: str = "F-1@host") -> Parsed:
    found = READ(ics(uid, *(lines or ("DTSTART:20260109T140000Z", "SUMMARY:Think"))))
    assert isinstance(found, Parsed)
    return found


# -- the office's own -------------------------------------------------------------------------------------------------


@given(entries(), st.sampled_from([ELENA, TOM, MAYA]), st.integers(0, 99))
def test_what_nobody_changed_tells_nothing(item: EntryOut, owner: Account, sequence: int) -> None:
    """Whatever a program adds around it."""
    untouched = msgspec.structs.replace(copy(owner, item), sequence=sequence, kept=("X-MOZ-GENERATION:9",))
    told = TELL.tell(untouched, owner, None)
    assert not told.arrivals and not told.remarks


CHANGES = st.fixed_dictionaries({}, optional={
    "start": st.integers(MONDAY, MONDAY + 300 * DAY), "minutes": st.integers(5, 480), "title": st.just("Other"),
    "agenda": st.just("Other"), "rule": st.just("FREQ=DAILY"), "attendees": st.just(("x@y.example",)),
    "left_out": st.just((MONDAY,)), "single": st.integers(1, 3),
    "answers": st.sampled_from([((TOM.address.casefold(), a),) for a in ("accepted", "declined", "tentative")]),
})  # fmt: skip


@given(CHANGES, st.sampled_from([ELENA, TOM, MAYA]))
def test_every_change_is_an_arrival_or_a_remark_and_only_its_owners_to_make(
    changes: dict[str, Any], owner: Account
) -> None:
    """Nothing is lost silently; nobody moves what another organizes; nobody answers for another."""
    item = copy(owner)
    told = TELL.tell(edited(item, **changes), owner, None)
    moved = [a for a in told.arrivals if a.change == "moved"]
    answered = [a for a in told.arrivals if a.change in ("accepted", "declined", "tentative")]
    assert all(a.person == owner.person and a.entry == "elena.1.1" for a in told.arrivals)
    e = item.essence
    time_changed = (changes.get("start", e.start), changes.get("minutes", e.minutes)) != (e.start, e.minutes)
    assert bool(moved) == (owner is ELENA and time_changed)
    assert bool(answered) == (owner is TOM and "answers" in changes)
    others = set(changes) - {"start", "minutes", "answers"} or (time_changed and owner is not ELENA)
    assert bool(told.remarks) == bool(others)


@given(CHANGES, CHANGES)
def test_a_state_has_one_key_and_another_state_another(one: dict[str, Any], other: dict[str, Any]) -> None:
    item = copy(ELENA)
    a, b = edited(item, **one), edited(item, **other)
    first, again, second = (TELL.tell(i, ELENA, None).arrivals for i in (a, a, b))
    assert first == again
    if (
        first
        and second
        and a.essence != b.essence
        and marks(a.essence, ELENA.address) != marks(b.essence, ELENA.address)
    ):
        assert first[0].key != second[0].key
    for arrival in first:
        assert uid_of_key(arrival.key) == "elena.1.1@juniper-1.officetown"


def test_a_program_that_drops_our_lines_hides_nothing() -> None:
    """Without marks it is not known what was changed: the event's state is told, and the office sees what is new."""
    bare = msgspec.structs.replace(copy(ELENA), entry="", office="", revision=0, marks="")
    (moved,) = TELL.tell(bare, ELENA, None).arrivals
    assert (moved.change, moved.entry, moved.start) == ("moved", "elena.1.1", at("2026-01-08"))
    answered = edited(msgspec.structs.replace(copy(TOM), entry="", office="", marks=""),
                      answers=((TOM.address.casefold(), "declined"),))  # fmt: skip
    (answer,) = TELL.tell(answered, TOM, None).arrivals
    assert (answer.change, answer.entry) == ("declined", "elena.1.1")
    silent = msgspec.structs.replace(copy(TOM), entry="", office="", marks="")
    assert not TELL.tell(silent, TOM, None).arrivals


def test_an_answer_that_was_taken_back_is_no_answer() -> None:
    item = copy(TOM, out(answers=(("tom", "accepted"),)))
    assert not TELL.tell(edited(item, answers=()), TOM, None).arrivals


# -- others' ----------------------------------------------------------------------------------------------------------


def test_what_came_in_is_remembered_until_it_goes() -> None:
    item = foreign()
    told = TELL.tell(item, TOM, None)
    known = told.known
    assert known == Known("F-1@host", marks(item.essence, TOM.address.casefold()), "cal:tom:F-1@host")
    assert not TELL.tell(item, TOM, known).arrivals
    (moved,) = TELL.tell(edited(item, start=item.essence.start + DAY), TOM, known).arrivals
    assert (moved.change, moved.entry) == ("moved", "cal:tom:F-1@host")
    (gone,) = TELL.removed("4711.ics", TOM, known, "token").arrivals
    assert (gone.change, gone.entry) == ("deleted", "cal:tom:F-1@host")
    (cancelled,) = TELL.tell(edited(item, cancelled=True), TOM, known).arrivals
    assert (cancelled.change, cancelled.entry) == ("deleted", "cal:tom:F-1@host")


def test_what_was_cancelled_before_anybody_saw_it_does_not_come_in() -> None:
    assert not TELL.tell(edited(foreign(), cancelled=True), TOM, None).arrivals


def test_a_guests_answer_to_a_program_made_event_finds_it_by_its_makers_key() -> None:
    """A server with scheduling of its own puts a copy into the guest's calendar before we do."""
    lines = (
        "DTSTART:20260109T140000Z",
        "ORGANIZER:mailto:elena@juniper.example",
        "ATTENDEE:mailto:tom@juniper.example",
    )
    first = TELL.tell(foreign(*lines), TOM, None)
    assert not first.arrivals and not first.remarks
    answered = edited(foreign(*lines), answers=((TOM.address.casefold(), "tentative"),))
    (answer,) = TELL.tell(answered, TOM, first.known).arrivals
    assert (answer.person, answer.change, answer.entry) == ("tom", "tentative", "cal:elena:F-1@host")


def test_what_nobody_knew_of_goes_unsaid() -> None:
    assert not TELL.removed("4711.ics", TOM, None, "token").arrivals
    (ours,) = TELL.removed("elena.1.1@juniper-1.officetown.ics", TOM, None, "token").arrivals
    assert ours.entry == "elena.1.1"


@pytest.mark.parametrize(
    ("lines", "start"),
    [
        (("DTSTART:20250109T140000Z", "RRULE:FREQ=WEEKLY"), at("2026-01-08", "14:00")),
        (("DTSTART:20250109T140000Z", "RRULE:FREQ=WEEKLY;COUNT=2"), at("2025-01-09", "14:00")),
        (("DTSTART:20250109T140000Z", "RRULE:FREQ=HOURLY"), at("2025-01-09", "14:00")),
        (("DTSTART:20260109T140059Z",), at("2026-01-09", "14:00")),
    ],
)
def test_a_series_that_began_already_comes_in_with_its_next_time(lines: tuple[str, ...], start: int) -> None:
    assert TELL.tell(foreign(*lines), TOM, None).arrivals[0].start == start


def test_an_empty_essence_has_marks() -> None:
    assert marks(Essence(0, 0), "").count("-") == 5


# -- through a real server --------------------------------------------------------------------------------------------


NUMBERS = count()


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(item=entries())
def test_whatever_the_server_makes_of_our_text_it_is_known_as_ours(desk: Desk, item: EntryOut) -> None:
    """Radicale writes what it is given anew, with rules of its own for texts: the marks still hold."""
    name = f"elena.{next(NUMBERS)}"
    state = msgspec.structs.replace(item, entry=msgspec.structs.replace(item.entry, id=name))
    desk.carrier.put(state)
    year = datetime.fromtimestamp(state.entry.start, WRITER.zone).year
    found = READ(desk.text("elena", f"{name}@juniper-1.officetown.ics", f"office-{year}"))
    assert isinstance(found, Parsed)
    assert found.essence == WRITER.essence(state.entry)
    assert not TELL.tell(found, ELENA, None).arrivals
