"""What one person sees: every answer has passed through their view. Open to them and to the operator."""

from __future__ import annotations

from typing import Annotated

from fastapi import Header, Query, Request, Response
from fastapi.responses import StreamingResponse

from orchestrator.web.api import Routes
from orchestrator.web.delivering import BYTES, download
from orchestrator.web.live import changes
from orchestrator.web.parts import Limit, Name, PartsOf, SeatOf, Skip, Text, parts_of
from orchestrator.web.queries import files, memory, people, reading, talk, work
from orchestrator.web.queries.common import Page, page
from orchestrator.web.routes.files import Number, Other, Part
from orchestrator.web.routes.talk import Day
from orchestrator.web.span import Days, span
from simulator.view_types import Colleague, Hit

routes = Routes("as a person")
AS = "/offices/{office}/as/{person}"


@routes.get(AS, people.Me)
def get_me(seat: SeatOf) -> people.Me:
    """Who the person is, and how much they see."""
    return people.me(seat.office, seat.seen)


@routes.get(f"{AS}/people", tuple[Colleague, ...])
def seen_people(seat: SeatOf) -> tuple[Colleague, ...]:
    """The directory of those whom the person may know about."""
    return people.directory(seat.seen)


@routes.get(f"{AS}/matters", tuple[people.Ref, ...])
def seen_matters(seat: SeatOf) -> tuple[people.Ref, ...]:
    """The matters that the person may know of."""
    return people.matters(seat.seen)


@routes.get(f"{AS}/clients", tuple[people.Ref, ...])
def seen_clients(seat: SeatOf) -> tuple[people.Ref, ...]:
    """The clients that the person may know of."""
    return people.clients(seat.seen)


@routes.get(f"{AS}/notices", Page[people.Notice])
def seen_notices(seat: SeatOf, skip: Skip = 0, limit: Limit = 100) -> Page[people.Notice]:
    """The person's notices, the newest first."""
    return page(people.notices(seat.office, seat.seen), skip, limit, lambda n: n)


@routes.get(f"{AS}/files", Page[files.FileLine])
def seen_files(seat: SeatOf, text: Text = "", skip: Skip = 0, limit: Limit = 100) -> Page[files.FileLine]:
    """The files that the person sees, by path as they see it."""
    found = files.seen_files(seat.seen, text)
    return page(found, skip, limit, lambda f: files.seen_line(seat.office, seat.seen, f))


@routes.get(f"{AS}/files/{{file}}", files.FileShown)
def seen_file(seat: SeatOf, file: Name) -> files.FileShown:
    """One file as the person sees it."""
    return files.seen_file(seat.office, seat.seen, file)


@routes.raw(f"{AS}/files/{{file}}/versions/{{number}}/content", BYTES)
def seen_content(seat: SeatOf, file: Name, number: Number) -> Response:
    """The bytes of one version that the person may read, as a download."""
    return download(seat.book.blobs, files.seen_content(seat.seen, file, number))


@routes.get(f"{AS}/files/{{file}}/versions/{{number}}/text", reading.TextShown)
def seen_text(
    parts: PartsOf, seat: SeatOf, file: Name, number: Number, skip: Skip = 0, chars: Part = 20_000
) -> reading.TextShown:
    """One version that the person may read, as text."""
    content = files.seen_content(seat.seen, file, number)
    return reading.text(content, parts.rendered.text(seat.book.blobs, seat.book.renderer, content), skip, chars)


@routes.get(f"{AS}/files/{{file}}/versions/{{number}}/difference", reading.Difference)
def seen_difference(parts: PartsOf, seat: SeatOf, file: Name, number: Number, before: Other) -> reading.Difference:
    """How two versions that the person may read differ as text."""
    old, new = files.seen_content(seat.seen, file, before), files.seen_content(seat.seen, file, number)
    first, second = (parts.rendered.text(seat.book.blobs, seat.book.renderer, c) for c in (old, new))
    return reading.difference(new, (before, first), (number, second))


@routes.raw(f"{AS}/live", {"text/event-stream": {"schema": {"type": "string"}}})
def follow_view(request: Request, seat: SeatOf, last_event_id: Annotated[str, Header(max_length=40)] = "") -> Response:
    """Tells when something has changed for the person, as server-sent events `changed`; whatever else happens is silent."""
    request.app.state.streams.room()
    body = changes(request, parts_of(request), seat.book, seat.person, last_event_id.strip())
    return StreamingResponse(body, media_type="text/event-stream", headers={"x-accel-buffering": "no"})


@routes.get(f"{AS}/rooms", tuple[talk.RoomLine, ...])
def seen_rooms(seat: SeatOf) -> tuple[talk.RoomLine, ...]:
    """The rooms that the person is in."""
    return talk.seen_rooms(seat.office, seat.seen)


@routes.get(f"{AS}/rooms/{{room}}/messages", Page[talk.MessageShown])
def seen_messages(seat: SeatOf, room: Name, skip: Skip = 0, limit: Limit = 100) -> Page[talk.MessageShown]:
    """The messages of a room that the person is in, the newest first."""
    found = talk.seen_messages(seat.seen, room, skip + limit + 1)
    return page(found, skip, limit, talk.seen_message_shown(seat.office, seat.seen, seat.book.texts))


@routes.get(f"{AS}/mail", Page[talk.MailLine])
def seen_mail_list(
    seat: SeatOf, thread: Annotated[str, Query(max_length=300)] = "", skip: Skip = 0, limit: Limit = 100
) -> Page[talk.MailLine]:
    """The mails that the person sent or received, the newest first; those of a thread."""
    found = talk.seen_mails(seat.seen, skip + limit + 1, thread)
    return page(found, skip, limit, talk.seen_mail_line(seat.office, seat.seen))


@routes.get(f"{AS}/mail/{{mail}}", talk.MailShown)
def seen_mail(seat: SeatOf, mail: Name) -> talk.MailShown:
    """One mail that the person sent or received."""
    return talk.seen_mail(seat.office, seat.seen, mail, seat.book.texts)


@routes.get(f"{AS}/calendar", tuple[talk.EntryShown, ...])
def seen_calendar(seat: SeatOf, day: Day = "", days: Days = 7) -> tuple[talk.EntryShown, ...]:
    """What begins within some days on the person's calendar."""
    return talk.seen_entries(seat.office, seat.seen, *span(seat.office, day, days))


@routes.get(f"{AS}/meetings", Page[talk.MeetingShown])
def seen_meetings(seat: SeatOf, skip: Skip = 0, limit: Limit = 100) -> Page[talk.MeetingShown]:
    """The meetings that the person was at or invited to, the newest first."""
    return page(talk.seen_meetings(seat.seen), skip, limit, talk.seen_meeting_shown(seat.office, seat.seen))


@routes.get(f"{AS}/requests", Page[work.RequestShown])
def seen_requests(seat: SeatOf, state: Text = "", skip: Skip = 0, limit: Limit = 100) -> Page[work.RequestShown]:
    """The requests that the person made or was made, the newest first."""
    show = work.seen_request_shown(seat.office, seat.seen, seat.book.texts)
    return page(work.seen_requests(seat.seen, state), skip, limit, show)


@routes.get(f"{AS}/delegations", Page[work.DelegationLine])
def seen_delegations(seat: SeatOf, state: Text = "", skip: Skip = 0, limit: Limit = 100) -> Page[work.DelegationLine]:
    """The delegations that the person gave, the newest first."""
    found = work.seen_delegations(seat.seen, state)
    return page(found, skip, limit, work.delegation_line(seat.office, seat.book.texts))


@routes.get(f"{AS}/delegations/{{delegation}}", work.DelegationShown)
def seen_delegation(seat: SeatOf, delegation: Name) -> work.DelegationShown:
    """A delegation that the person gave, with its rounds, questions and reviews."""
    return work.seen_delegation(seat.office, seat.seen, delegation, seat.book.texts)


@routes.get(f"{AS}/memory", memory.MemoryPage)
def seen_memory(seat: SeatOf) -> memory.MemoryPage:
    """The person's memory, and what of it they are reminded of now."""
    return memory.memory(seat.office, seat.seen, seat.book.texts)


@routes.get(f"{AS}/search", tuple[Hit, ...])
def search(
    seat: SeatOf, q: Annotated[str, Query(min_length=1, max_length=200, description="Words that must all occur.")]
) -> tuple[Hit, ...]:
    """What the person finds by these words in paths, messages, mails, requests and meetings, the newest first."""
    return seat.seen.search(q, seat.book.texts)
