"""Files, versions and bytes: for the operator."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Query, Response

from orchestrator.naming import find_file
from orchestrator.web.api import Routes
from orchestrator.web.delivering import BYTES, download
from orchestrator.web.parts import BookOf, Limit, Moment, Name, PartsOf, Skip, Text
from orchestrator.web.queries import files, reading
from orchestrator.web.queries.common import Page, page

routes = Routes("files")
Number = Annotated[int, Path(ge=1, le=1_000_000, description="The version's number.")]
Part = Annotated[int, Query(ge=1, le=200_000, description="Characters at most.")]
Other = Annotated[int, Query(ge=1, le=1_000_000, description="The version to compare with.")]


@routes.get("/offices/{office}/files", Page[files.FileLine])
def list_files(
    office: Moment, space: Text = "", owner: Text = "", text: Text = "", skip: Skip = 0, limit: Limit = 100
) -> Page[files.FileLine]:
    """All files, by space and path; those of a space, of an owner, or whose path holds a text."""
    return page(files.files(office, space, owner, text), skip, limit, lambda f: files.file_line(office, f))


@routes.get("/offices/{office}/files/{file}", files.FileShown)
def get_file(office: Moment, file: Name) -> files.FileShown:
    """One file: its versions, what they came from, what was made from them, who accepted and shared them."""
    return files.file(office, file)


@routes.raw("/offices/{office}/files/{file}/versions/{number}/content", BYTES)
def get_content(book: BookOf, office: Moment, file: Name, number: Number) -> Response:
    """The bytes of one version, as a download."""
    return download(book.blobs, files.content(office, file, number))


@routes.get("/offices/{office}/files/{file}/versions/{number}/text", reading.TextShown)
def get_text(
    parts: PartsOf, book: BookOf, office: Moment, file: Name, number: Number, skip: Skip = 0, chars: Part = 20_000
) -> reading.TextShown:
    """One version as text: cells with formulas and values, paragraphs, pages."""
    content = files.content(office, file, number)
    return reading.text(content, parts.rendered.text(book.blobs, book.renderer, content), skip, chars)


@routes.get("/offices/{office}/files/{file}/versions/{number}/difference", reading.Difference)
def get_difference(
    parts: PartsOf, book: BookOf, office: Moment, file: Name, number: Number, before: Other
) -> reading.Difference:
    """How one version's text differs from another's."""
    old, new = files.content(office, file, before), files.content(office, file, number)
    first, second = (parts.rendered.text(book.blobs, book.renderer, c) for c in (old, new))
    return reading.difference(new, (before, first), (number, second))


@routes.get("/offices/{office}/who-can", files.WhoCan)
def who_can(
    office: Moment, path: Annotated[str, Query(max_length=600, description="A file as PATH, PATH@VERSION or its id.")]
) -> files.WhoCan:
    """Who could see a file version at that moment, and why."""
    return files.who(office, find_file(office, path))
