"""Acts on the calendar: schedule, respond, move, cancel; who is busy when, and what the clock does with it."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.access import NOT_YOURS
from simulator.acts import ActContext
from simulator.acts.talk import clash
from simulator.businesstime import calendar_for
from simulator.events import EntryAnswered, EntryCancelled, EntryMoved, EntryScheduled
from simulator.records import CalendarEntry
from tests.access.world import OAKRIDGE, RIVERBEND, World
from tests.acts.desk import Desk

TUESDAY = "2026-01-06"


def at(desk: Desk, text: str) -> int:
    day, _, clock = text.partition(" ")
    hour, minute = clock.split(":")
    return calendar_for(desk.office.calendar).at(day, int(hour) * 60 + int(minute))


def plan(desk: Desk, who: str = "elena", start: str = f"{TUESDAY} 10:00", minutes: int = 30, **more: Any) -> str:
    """Schedule a meeting with Daniel unless said otherwise; return its id."""
    args = {"title": "Talk", "attendees": ["daniel"], "start": start, "minutes": minutes, **more}
    event: str = desk.act(who, "schedule", **args)["event"]
    return event


def no(desk: Desk, who: str = "elena", start: str = f"{TUESDAY} 10:00", minutes: int = 30, **more: Any) -> str:
    args = {"title": "Talk", "attendees": ["daniel"], "start": start, "minutes": minutes, **more}
    return desk.refused(who, "schedule", **args)


# -- schedule ------------------------------------------------------------------------------------------------------------


def test_a_meeting_is_put_into_the_calendar_of_all_and_those_invited_are_told(desk: Desk) -> None:
    answer = desk.act("elena", "schedule", title=" Month\nend ", attendees=["Daniel", "daniel", "elena", "quinn"],
                      start=f"{TUESDAY} 10:00", minutes=45, agenda="figures", matter=RIVERBEND)  # fmt: skip
    (event,) = desk.did
    assert isinstance(event, EntryScheduled)
    entry = event.entry
    assert answer == {"event": entry.id, "attendees": ["daniel", "quinn"]}
    assert (entry.title, entry.organizer, entry.attendees) == ("Month end", "elena", ("daniel", "quinn"))
    assert (entry.start, entry.minutes, entry.kind, entry.matter) == (at(desk, f"{TUESDAY} 10:00"), 45, "meeting", RIVERBEND)
    for person in ("elena", "daniel", "quinn"):
        assert desk.office.by_calendar[person] == (entry.id,)
    assert desk.notices("daniel") == ["invited to Month end"] and desk.notices("elena") == []
    assert [s.wakes for s in desk.office.inboxes["daniel"]] == [False]
    assert desk.office.timers[f"occ:{entry.id}"].at == entry.start


def test_what_cannot_be_scheduled(desk: Desk) -> None:
    assert no(desk, start="2026-01-05 08:59") == "that time is past"
    assert no(desk, start="") == "that time is past"
    assert no(desk, attendees=["daniel", "maya"]) == "clients are invited by mail: only colleagues can be put into a calendar event"
    assert no(desk, attendees=[]) == no(desk, attendees=["elena"]) == "a meeting needs somebody to meet"
    assert "nobody here is called" in no(desk, attendees=["nobody"])
    assert "there is no matter" in no(desk, matter=OAKRIDGE)
    assert "no recurrence rule" in no(desk, repeat="every week")


def test_a_client_of_others_is_nobody_here(desk: Desk) -> None:
    assert no(desk, attendees=["omar"]) == no(desk, attendees=["omer"]).replace("omer", "omar")


@pytest.mark.parametrize("kind", ["deadline", "focus"])
def test_what_is_no_meeting_needs_nobody_else_and_asks_for_no_free_slot(desk: Desk, kind: str) -> None:
    plan(desk)
    event = plan(desk, attendees=[], event_kind=kind)
    entry = desk.office.entries[event]
    assert entry.kind == kind and entry.attendees == ()


def test_a_repeated_meeting_keeps_its_rule_without_the_prefix(desk: Desk) -> None:
    event = plan(desk, repeat="RRULE:FREQ=WEEKLY;BYDAY=TU")
    assert desk.office.entries[event].rule == "FREQ=WEEKLY;BYDAY=TU"


# -- who is busy ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "minutes", "free"),
    [("09:30", 30, True), ("09:30", 31, False), ("09:45", 60, False), ("10:00", 30, False), ("10:29", 5, False),
     ("10:30", 30, True), ("10:10", 5, False)],
)  # fmt: skip
def test_two_meetings_may_touch_and_not_overlap(desk: Desk, start: str, minutes: int, free: bool) -> None:
    plan(desk)
    if free:
        assert plan(desk, "quinn", f"{TUESDAY} {start}", minutes)
    else:
        assert no(desk, "quinn", f"{TUESDAY} {start}", minutes) == (
            "busy at that time: daniel; ask for free_busy and take another slot"
        )


def test_the_organizer_is_busy_too_and_all_who_are_busy_are_named_without_their_reasons(desk: Desk) -> None:
    plan(desk, attendees=["daniel"], title="Secret")
    said = no(desk, "elena", attendees=["quinn", "daniel"])
    assert said.startswith("busy at that time: elena, daniel;") and "Secret" not in said


@pytest.mark.parametrize("kind", ["deadline"])
def test_a_deadline_takes_nobody_and_focus_does(desk: Desk, kind: str) -> None:
    plan(desk, "daniel", attendees=[], event_kind=kind)
    assert plan(desk)
    plan(desk, "daniel", f"{TUESDAY} 12:00", attendees=[], event_kind="focus")
    assert "busy" in no(desk, start=f"{TUESDAY} 12:00")


def test_who_declined_is_free_and_who_is_undecided_is_not(desk: Desk) -> None:
    event = plan(desk)
    desk.act("daniel", "respond", event=event, answer="tentative")
    assert "daniel" in no(desk, "quinn")
    desk.act("daniel", "respond", event=event, answer="declined")
    assert plan(desk, "quinn")


def test_a_cancelled_meeting_leaves_its_people_free(desk: Desk) -> None:
    event = plan(desk)
    desk.act("elena", "move", event=event, start=" ")
    assert plan(desk)


@pytest.mark.parametrize(
    ("start", "minutes", "free"),
    [("2026-01-13 10:00", 30, False), ("2026-01-13 09:50", 15, False), ("2026-01-13 09:45", 15, True),
     ("2026-01-13 10:59", 5, False), ("2026-01-13 11:00", 5, True), ("2026-01-14 10:00", 60, True),
     ("2026-03-31 10:30", 30, False), ("2026-06-30 10:00", 30, False), ("2026-01-13 08:00", 480, False)],
)  # fmt: skip
def test_a_recurring_meeting_takes_each_of_its_turns_in_summer_time_too(
    desk: Desk, start: str, minutes: int, free: bool
) -> None:
    plan(desk, minutes=60, repeat="FREQ=WEEKLY")
    assert (plan(desk, "quinn", start, minutes) != "") if free else ("busy" in no(desk, "quinn", start, minutes))


def test_a_recurring_meeting_takes_nobody_after_its_end_nor_before_its_beginning(desk: Desk) -> None:
    plan(desk, start="2026-01-13 10:00", repeat="FREQ=WEEKLY;COUNT=2")
    assert plan(desk, "quinn", f"{TUESDAY} 10:00")
    assert "busy" in no(desk, "quinn", "2026-01-20 10:00")
    assert plan(desk, "quinn", "2026-01-27 10:00")


def test_of_two_meetings_that_clash_the_first_by_arrival_is_named_and_one_may_be_left_out(desk: Desk) -> None:
    first = plan(desk)
    second = "made.by.hand"
    start = at(desk, f"{TUESDAY} 10:15")
    desk.happen(EntryScheduled(CalendarEntry(second, "Over it", "quinn", ("daniel",), start, 30)))
    ctx = _ctx(desk)
    assert clash(desk.office, ctx, "daniel", start, 5) == first
    assert clash(desk.office, ctx, "daniel", start, 5, but=first) == second
    assert clash(desk.office, ctx, "nora", start, 5) == ""


def _ctx(desk: Desk) -> ActContext:
    return ActContext(desk.office, "elena", "elena.9", "elena.9.1", desk.world.now, desk.blobs, {})


# -- respond -------------------------------------------------------------------------------------------------------------


def test_an_invitation_is_answered_and_answered_anew(desk: Desk) -> None:
    event = plan(desk)
    for answer in ("accepted", "declined", "tentative"):
        assert desk.act("daniel", "respond", event=event, answer=answer) == {"event": event, "answer": answer}
        (did,) = desk.did
        assert did == EntryAnswered(event, "daniel", answer)
    assert desk.office.entries[event].answers == (("daniel", "tentative"),)
    assert desk.notices("elena") == ["daniel declined Talk"]


def test_who_declined_comes_back_only_while_the_time_is_still_free(desk: Desk) -> None:
    """RULE 18: a slot that was given away is not taken twice."""
    event = plan(desk)
    desk.act("daniel", "respond", event=event, answer="declined")
    other = plan(desk, "quinn", f"{TUESDAY} 10:15")
    for answer in ("accepted", "tentative"):
        said = desk.refused("daniel", "respond", event=event, answer=answer)
        assert said == "you have taken something else for that time since you declined"
    desk.act("daniel", "respond", event=other, answer="declined")
    assert desk.act("daniel", "respond", event=event, answer="accepted")
    assert "something else" in desk.refused("daniel", "respond", event=other, answer="accepted")
    assert desk.act("daniel", "respond", event=other, answer="declined"), "one may always stay away"


def test_the_organizer_has_no_invitation_to_answer(desk: Desk) -> None:
    event = plan(desk)
    assert desk.refused("elena", "respond", event=event, answer="accepted") == "you are not invited to that event"


def test_an_event_of_others_cannot_be_told_from_none(desk: Desk) -> None:
    event = plan(desk)
    for name in (event, "nothing.1"):
        assert desk.refused("dev", "respond", event=name, answer="accepted") == NOT_YOURS
        assert desk.refused("dev", "move", event=name, start=f"{TUESDAY} 12:00") == NOT_YOURS


# -- move and cancel -----------------------------------------------------------------------------------------------------


def test_moving_keeps_the_length_unless_another_is_said_and_asks_everybody_again(desk: Desk) -> None:
    event = plan(desk, minutes=90)
    desk.act("daniel", "respond", event=event, answer="accepted")
    desk.act("elena", "move", event=event, start=f"{TUESDAY} 13:00")
    assert desk.did == (EntryMoved(event, at(desk, f"{TUESDAY} 13:00"), 90),)
    entry = desk.office.entries[event]
    assert (entry.minutes, entry.answers) == (90, ())
    assert desk.office.timers[f"occ:{event}"].at == entry.start
    assert desk.notices("daniel")[-1] == "moved: Talk"
    desk.act("elena", "move", event=event, start=f"{TUESDAY} 13:00", minutes=15)
    assert desk.office.entries[event].minutes == 15
    assert desk.refused("elena", "move", event=event, start=f"{TUESDAY} 13:00", minutes=3) == "an event takes at least 5 minutes"


def test_an_event_is_not_in_its_own_way_but_others_are(desk: Desk) -> None:
    event = plan(desk, minutes=60)
    plan(desk, "quinn", f"{TUESDAY} 12:00", attendees=["daniel"])
    assert desk.act("elena", "move", event=event, start=f"{TUESDAY} 10:15")
    said = desk.refused("elena", "move", event=event, start=f"{TUESDAY} 11:30")
    assert said == "busy at that time: daniel"


def test_only_the_organizer_moves_and_not_into_the_past(desk: Desk) -> None:
    event = plan(desk)
    assert desk.refused("daniel", "move", event=event) == "only the organizer can move or cancel an event"
    assert desk.refused("elena", "move", event=event, start="2026-01-05 08:00") == "that time is past"


def test_a_cancelled_event_is_over(desk: Desk) -> None:
    """What was cancelled is not moved, cancelled again, or accepted: its people were told that it is off."""
    event = plan(desk)
    assert desk.act("elena", "move", event=event) == {"event": event, "cancelled": True}
    assert desk.did == (EntryCancelled(event, "elena"),)
    assert f"occ:{event}" not in desk.office.timers and desk.notices("daniel")[-1] == "cancelled: Talk"
    over = "that event was cancelled: schedule a new one"
    assert desk.refused("elena", "move", event=event) == over
    assert desk.refused("elena", "move", event=event, start=f"{TUESDAY} 12:00") == over
    assert desk.refused("daniel", "respond", event=event, answer="accepted") == over


@pytest.mark.parametrize("start", ["", f"{TUESDAY} 15:00"])
def test_a_meeting_that_waits_for_its_people_is_no_longer_tried_once_moved_or_cancelled(desk: Desk, start: str) -> None:
    """RULE 17: it is tried for 30 minutes, unless its organizer calls it off meanwhile."""
    event = plan(desk)
    desk.begin(event)
    assert f"meet:{event}" in desk.office.timers
    desk.act("elena", "move", event=event, start=start)
    assert f"meet:{event}" not in desk.office.timers
    assert (f"occ:{event}" in desk.office.timers) == bool(start)


def test_a_repeated_event_goes_on_from_where_it_was_moved_to(desk: Desk) -> None:
    event = plan(desk, repeat="FREQ=WEEKLY")
    desk.begin(event)
    assert desk.office.timers[f"occ:{event}"].at == at(desk, "2026-01-13 10:00")
    desk.act("elena", "move", event=event, start="2026-01-14 11:00")
    assert desk.office.timers[f"occ:{event}"].at == at(desk, "2026-01-14 11:00")
    desk.begin(event)
    assert desk.office.timers[f"occ:{event}"].at == at(desk, "2026-01-21 11:00")


def test_each_kind_of_event_begins_in_its_own_way(desk: Desk) -> None:
    focus = plan(desk, attendees=[], event_kind="focus")
    deadline = plan(desk, event_kind="deadline", start=f"{TUESDAY} 11:00")
    for event in (focus, deadline):
        desk.begin(event)
        assert f"meet:{event}" not in desk.office.timers and f"occ:{event}" not in desk.office.timers
    assert [s.text for s in desk.office.inboxes["elena"]] == ["begins"]
    assert [s.text for s in desk.office.inboxes["daniel"]] == ["invitation", "begins"]


def test_the_fold_of_a_whole_calendar_is_the_same_told_twice() -> None:
    """RULE 19."""

    def told() -> World:
        desk = Desk()
        event = plan(desk, repeat="FREQ=DAILY")
        desk.act("daniel", "respond", event=event, answer="declined")
        desk.begin(event)
        desk.act("elena", "move", event=event, start="2026-01-07 09:30", minutes=20)
        return desk.world

    assert told().office == told().office
