"""Folding of talk: rooms, messages, mails, calendar, meetings, notices. Each says whom it wakes (RULE 11)."""

from __future__ import annotations

import msgspec

from simulator.access import can
from simulator.businesstime import calendar_for
from simulator.events import (
    EntryAnswered,
    EntryCancelled,
    EntryMoved,
    EntryScheduled,
    Event,
    MailSent,
    MeetingEnded,
    MessagePosted,
    NoticeGiven,
    OccurrenceBegan,
    RoomJoined,
    RoomLeft,
    RoomOpened,
)
from simulator.fold.base import append, clear_timer, may_wake, notify, put, set_timer, wake
from simulator.office import Office
from simulator.records import CalendarEntry, Room, Stimulus, Timer
from simulator.recurrence import next_occurrence


def room_opened(o: Office, event: Event, p: RoomOpened) -> None:
    put(o, rooms=o.rooms.insert(p.room.id, p.room))


def _room(o: Office, room: Room, members: tuple[str, ...]) -> None:
    put(o, rooms=o.rooms.insert(room.id, msgspec.structs.replace(room, members=members)))


def room_joined(o: Office, event: Event, p: RoomJoined) -> None:
    room = o.rooms[p.room]
    if p.person not in room.members:
        _room(o, room, (*room.members, p.person))


def room_left(o: Office, event: Event, p: RoomLeft) -> None:
    room = o.rooms[p.room]
    _room(o, room, tuple(m for m in room.members if m != p.person))


def message_posted(o: Office, event: Event, p: MessagePosted) -> None:
    m = p.message
    put(o, messages=o.messages.insert(m.id, m), by_room=append(o.by_room, m.room, m.id))
    room = o.rooms[m.room]
    thread = m.thread or m.id
    for person in sorted(room.members):
        # Someone still in the room but off the matter's team must not even learn that something was said.
        if person != m.sender and can(person, "read_message", m.id, o).allowed:
            wakes = m.asks and may_wake(o, m.sender, person, thread)
            stimulus = Stimulus(m.id, "message", m.id, event.sim_time, m.sender, f"room:{m.room}", wakes=wakes)
            wake(o, person, stimulus)


def mail_sent(o: Office, event: Event, p: MailSent) -> None:
    m = p.mail
    put(o, mails=o.mails.insert(m.id, m))
    for person in dict.fromkeys((m.sender, *m.to, *m.cc)):
        put(o, by_mailbox=append(o.by_mailbox, person, m.id))
        if person != m.sender:
            wakes = person in m.to and may_wake(o, m.sender, person, m.thread)
            wake(o, person, Stimulus(m.id, "mail", m.id, event.sim_time, m.sender, f"mail:{m.thread}", wakes=wakes))


def _arm(o: Office, entry: CalendarEntry, after: int) -> None:
    """Set the timer of the entry's next occurrence strictly after `after`, or clear it."""
    following = None if entry.cancelled else next_occurrence(entry, after, calendar_for(o.calendar))
    set_timer(o, Timer(f"occ:{entry.id}", following or 0, "occurrence", entry.id, entry.organizer))


def entry_scheduled(o: Office, event: Event, p: EntryScheduled) -> None:
    entry = p.entry
    put(o, entries=o.entries.insert(entry.id, entry))
    for person in dict.fromkeys((entry.organizer, *entry.attendees)):
        put(o, by_calendar=append(o.by_calendar, person, entry.id))
        if person != entry.organizer and event.activation != "genesis":
            notify(o, event, person, f"invited to {entry.title}", entry.id)
            stimulus = Stimulus(entry.id, "calendar", entry.id, event.sim_time, entry.organizer, f"entry:{entry.id}",
                                wakes=False, text="invitation")  # fmt: skip
            wake(o, person, stimulus)
    _arm(o, entry, event.sim_time - 1)


def entry_answered(o: Office, event: Event, p: EntryAnswered) -> None:
    entry = o.entries[p.entry]
    answers = (*((who, what) for who, what in entry.answers if who != p.person), (p.person, p.answer))
    put(o, entries=o.entries.insert(entry.id, msgspec.structs.replace(entry, answers=answers)))
    if p.answer == "declined" and p.person != entry.organizer:
        notify(o, event, entry.organizer, f"{p.person} declined {entry.title}", entry.id)


def entry_moved(o: Office, event: Event, p: EntryMoved) -> None:
    entry = msgspec.structs.replace(o.entries[p.entry], start=p.start, minutes=p.minutes, answers=())
    put(o, entries=o.entries.insert(entry.id, entry))
    clear_timer(o, f"meet:{entry.id}")  # an occurrence that was waiting for its people moves with it
    _arm(o, entry, event.sim_time - 1)
    for person in entry.attendees:
        notify(o, event, person, f"moved: {entry.title}", entry.id)


def entry_cancelled(o: Office, event: Event, p: EntryCancelled) -> None:
    entry = msgspec.structs.replace(o.entries[p.entry], cancelled=True)
    put(o, entries=o.entries.insert(entry.id, entry))
    clear_timer(o, f"occ:{entry.id}")
    clear_timer(o, f"meet:{entry.id}")
    for person in entry.attendees:
        notify(o, event, person, f"cancelled: {entry.title}", entry.id)


def occurrence_began(o: Office, event: Event, p: OccurrenceBegan) -> None:
    entry = o.entries[p.entry]
    _arm(o, entry, p.at)
    if entry.kind == "meeting":
        set_timer(o, Timer(f"meet:{entry.id}", p.at, "meeting", entry.id, entry.organizer, p.at))
        return
    if entry.kind == "focus":
        return
    for person in dict.fromkeys((entry.organizer, *entry.attendees)):
        stimulus = Stimulus(f"{entry.id}@{p.at}", "calendar", entry.id, event.sim_time, entry.organizer,
                            f"entry:{entry.id}", text="begins")  # fmt: skip
        wake(o, person, stimulus)


def meeting_ended(o: Office, event: Event, p: MeetingEnded) -> None:
    m = p.meeting
    put(o, meetings=o.meetings.insert(m.id, m))
    clear_timer(o, f"meet:{m.entry}")
    entry = o.entries[m.entry]
    for person in entry.attendees:
        if m.state == "missed":
            notify(o, event, person, f"missed: {m.title}", m.id)
        elif person not in m.attendees:
            notify(o, event, person, f"minutes of {m.title} are there to read", m.id)


def notice_given(o: Office, event: Event, p: NoticeGiven) -> None:
    notify(o, event, p.notice.to, p.notice.text, p.notice.ref)
