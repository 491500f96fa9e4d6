"""What one person sees: every answer has passed through their view. Open to them and to the operator."""

from __future__ import annotations

from fastapi import Response

from orchestrator.web.api import Routes
from orchestrator.web.delivering import download
from orchestrator.web.parts import Limit, Name, SeatOf, Skip, Text
from orchestrator.web.queries import files, people
from orchestrator.web.queries.common import Page, page
from orchestrator.web.routes.files import BYTES, Number
from simulator.view_types import Colleague

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
