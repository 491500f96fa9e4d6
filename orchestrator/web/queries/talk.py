"""Rooms, messages, mail, calendar and meetings: all of them for the operator, and those that one person knows."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from orchestrator.web.queries.common import FileName, Naming, When, names_in, names_of, newest, when
from simulator.businesstime import calendar_for
from simulator.errors import UnknownReference
from simulator.office import Office
from simulator.records import Body, CalendarEntry, ChatMessage, Mail, Meeting, Room
from simulator.recurrence import occurrences_between
from simulator.view import View

Read = Callable[[Body], str]
NOT_FOUND = "There is nothing of that id."


class RoomLine(msgspec.Struct, frozen=True):
    """A room. `latest` is when its last message came."""

    id: str
    name: str
    kind: str
    matter: str
    members: tuple[str, ...]
    messages: int
    latest: When


class MessageShown(msgspec.Struct, frozen=True):
    """A message of a room."""

    id: str
    room: str
    sender: str
    at: When
    text: str
    thread: str
    asks: bool
    cites: tuple[FileName, ...]


class MailLine(msgspec.Struct, frozen=True):
    """A mail in a list."""

    id: str
    thread: str
    sender: str
    to: tuple[str, ...]
    cc: tuple[str, ...]
    subject: str
    at: When
    external: bool
    matter: str
    attachments: tuple[FileName, ...]


class MailShown(msgspec.Struct, frozen=True):
    """A mail with its text."""

    mail: MailLine
    text: str


class EntryShown(msgspec.Struct, frozen=True):
    """One occurrence of a calendar event. `rule` is an RFC 5545 rule; `answers` are by person."""

    id: str
    title: str
    begins: When
    minutes: int
    kind: str
    organizer: str
    attendees: tuple[str, ...]
    agenda: str
    rule: str
    matter: str
    work: str
    answers: dict[str, str]


class MeetingShown(msgspec.Struct, frozen=True):
    """A meeting that was held or missed."""

    id: str
    entry: str
    at: When
    title: str
    organizer: str
    attendees: tuple[str, ...]
    state: str
    turns: int
    matter: str
    minutes: FileName | None


# -- shown --------------------------------------------------------------------------------------------------------------


def _room(office: Office, room: Room, ids: tuple[str, ...]) -> RoomLine:
    last = office.messages[ids[-1]].at if ids else 0
    return RoomLine(room.id, room.name, room.kind, room.matter, room.members, len(ids), when(office, last))


def _message(office: Office, m: ChatMessage, read: Read, name: Naming) -> MessageShown:
    cites = tuple(name(ref) for ref in m.cites)
    return MessageShown(m.id, m.room, m.sender, when(office, m.at), read(m.body), m.thread, m.asks, cites)


def _mail(office: Office, m: Mail, name: Naming) -> MailLine:
    attached = tuple(name(ref) for ref in m.attachments)
    return MailLine(
        m.id, m.thread, m.sender, m.to, m.cc, m.subject, when(office, m.at), m.external, m.matter, attached
    )  # fmt: skip


def _entry(office: Office, begins: int, e: CalendarEntry) -> EntryShown:
    return EntryShown(
        e.id, e.title, when(office, begins), e.minutes, e.kind, e.organizer, e.attendees, e.agenda, e.rule, e.matter, e.work,
        dict(e.answers),
    )  # fmt: skip


def _meeting(office: Office, m: Meeting, name: Naming) -> MeetingShown:
    minutes = name(m.minutes) if m.minutes is not None else None
    return MeetingShown(
        m.id, m.entry, when(office, m.at), m.title, m.organizer, m.attendees, m.state, m.turns, m.matter, minutes
    )  # fmt: skip


# -- the operator's -----------------------------------------------------------------------------------------------------


def rooms(office: Office) -> tuple[RoomLine, ...]:
    """Return every room, by name."""
    found = sorted(office.rooms.values(), key=lambda r: (r.name, r.id))
    return tuple(_room(office, r, office.by_room.get(r.id, ())) for r in found)


def room_messages(office: Office, room: str) -> list[ChatMessage]:
    """Return a room's messages, the newest first. Raises UnknownReference."""
    if room not in office.rooms:
        raise UnknownReference(NOT_FOUND)
    return [office.messages[i] for i in reversed(office.by_room.get(room, ()))]


def message_shown(office: Office, read: Read) -> Callable[[ChatMessage], MessageShown]:
    """Return how the operator is shown a message."""
    name = names_of(office)
    return lambda m: _message(office, m, read, name)


def mails(office: Office, person: str = "", thread: str = "") -> list[Mail]:
    """Return mails, the newest first: all, those a person sent or received, those of a thread."""
    found = (
        m for m in office.mails.values()
        if (not person or person in (m.sender, *m.to, *m.cc)) and (not thread or m.thread == thread)
    )  # fmt: skip
    return newest(found, lambda m: (m.at, m.id))


def mail_line(office: Office) -> Callable[[Mail], MailLine]:
    """Return how the operator is shown a mail in a list."""
    name = names_of(office)
    return lambda m: _mail(office, m, name)


def mail(office: Office, mail_id: str, read: Read) -> MailShown:
    """Return one mail. Raises UnknownReference."""
    found = office.mails.get(mail_id)
    if found is None:
        raise UnknownReference(NOT_FOUND)
    return MailShown(_mail(office, found, names_of(office)), read(found.body))


def entries(office: Office, start: int, end: int, person: str = "") -> tuple[EntryShown, ...]:
    """Return what begins in [start, end), of everybody or of one person, in order."""
    days = calendar_for(office.calendar)
    some = (
        e for e in office.entries.values()
        if not e.cancelled and (not person or person in (e.organizer, *e.attendees)) and (e.rule or start <= e.start < end)
    )  # fmt: skip
    found = sorted((t, e.id) for e in some for t in occurrences_between(e, start, end, days))
    return tuple(_entry(office, t, office.entries[i]) for t, i in found)


def meetings(office: Office) -> list[Meeting]:
    """Return every meeting, the newest first."""
    return newest(office.meetings.values(), lambda m: (m.at, m.id))


def meeting_shown(office: Office) -> Callable[[Meeting], MeetingShown]:
    """Return how the operator is shown a meeting."""
    name = names_of(office)
    return lambda m: _meeting(office, m, name)


# -- a person's -----------------------------------------------------------------------------------------------------------


def seen_rooms(office: Office, seen: View) -> tuple[RoomLine, ...]:
    """Return the rooms that the subject is in, by name."""
    return tuple(_room(office, r, tuple(m.id for m in seen.messages(r.id))) for r in seen.rooms())


def seen_messages(seen: View, room: str, most: int) -> list[ChatMessage]:
    """Return the newest messages of a room that the subject may read. Raises UnknownReference."""
    if room not in {r.id for r in seen.rooms()}:
        raise UnknownReference(NOT_FOUND)
    return list(reversed(seen.messages(room, most)))


def seen_message_shown(office: Office, seen: View, read: Read) -> Callable[[ChatMessage], MessageShown]:
    """Return how the subject is shown a message."""
    name = names_in(seen)
    return lambda m: _message(office, m, read, name)


def seen_mails(seen: View, most: int, thread: str = "") -> list[Mail]:
    """Return the newest mails that the subject sent or received, all or of a thread."""
    return list(reversed(seen.thread(thread) if thread else seen.mails(most)))


def seen_mail_line(office: Office, seen: View) -> Callable[[Mail], MailLine]:
    """Return how the subject is shown a mail in a list."""
    name = names_in(seen)
    return lambda m: _mail(office, m, name)


def seen_mail(office: Office, seen: View, mail_id: str, read: Read) -> MailShown:
    """Return one mail that the subject sent or received. Raises UnknownReference."""
    found = seen.mail(mail_id)
    if found is None:
        raise UnknownReference(NOT_FOUND)
    return MailShown(_mail(office, found, names_in(seen)), read(found.body))


def seen_entries(office: Office, seen: View, start: int, end: int) -> tuple[EntryShown, ...]:
    """Return what begins in [start, end) on the subject's calendar, in order."""
    return tuple(_entry(office, t, e) for t, e in seen.entries(start, end))


def seen_meetings(seen: View) -> list[Meeting]:
    """Return the meetings that the subject was at or invited to, the newest first."""
    return list(reversed(seen.meetings()))


def seen_meeting_shown(office: Office, seen: View) -> Callable[[Meeting], MeetingShown]:
    """Return how the subject is shown a meeting."""
    name = names_in(seen)
    return lambda m: _meeting(office, m, name)
