"""Rooms, mail and calendar: for the operator."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from orchestrator.web.api import Routes
from orchestrator.web.parts import BookOf, Limit, Moment, Name, Skip, Text
from orchestrator.web.queries import talk
from orchestrator.web.queries.common import Page, page
from orchestrator.web.span import Days, span

routes = Routes("talk")
Day = Annotated[str, Query(max_length=10, description="The first day, `YYYY-MM-DD`; the moment's own day if empty.")]


@routes.get("/offices/{office}/rooms", tuple[talk.RoomLine, ...])
def list_rooms(office: Moment) -> tuple[talk.RoomLine, ...]:
    """Every room, by name."""
    return talk.rooms(office)


@routes.get("/offices/{office}/rooms/{room}/messages", Page[talk.MessageShown])
def list_messages(
    book: BookOf, office: Moment, room: Name, skip: Skip = 0, limit: Limit = 100
) -> Page[talk.MessageShown]:
    """The messages of a room, the newest first."""
    return page(talk.room_messages(office, room), skip, limit, talk.message_shown(office, book.texts))


@routes.get("/offices/{office}/mail", Page[talk.MailLine])
def list_mail(
    office: Moment,
    person: Text = "",
    thread: Annotated[str, Query(max_length=300)] = "",
    skip: Skip = 0,
    limit: Limit = 100,
) -> Page[talk.MailLine]:
    """Mails, the newest first: all, those that a person sent or received, those of a thread."""
    return page(talk.mails(office, person, thread), skip, limit, talk.mail_line(office))


@routes.get("/offices/{office}/mail/{mail}", talk.MailShown)
def get_mail(book: BookOf, office: Moment, mail: Name) -> talk.MailShown:
    """One mail with its text."""
    return talk.mail(office, mail, book.texts)


@routes.get("/offices/{office}/calendar", tuple[talk.EntryShown, ...])
def list_calendar(office: Moment, person: Text = "", day: Day = "", days: Days = 7) -> tuple[talk.EntryShown, ...]:
    """What begins within some days, of everybody or one person, in order."""
    return talk.entries(office, *span(office, day, days), person)


@routes.get("/offices/{office}/meetings", Page[talk.MeetingShown])
def list_meetings(office: Moment, skip: Skip = 0, limit: Limit = 100) -> Page[talk.MeetingShown]:
    """Meetings that were held or missed, the newest first."""
    return page(talk.meetings(office), skip, limit, talk.meeting_shown(office))
