"""What happens, as it happens: server-sent events from the committed log, whoever runs the office."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import msgspec
from fastapi import Request
from fastapi.concurrency import run_in_threadpool

from orchestrator.web.book import Book
from orchestrator.web.caller import OPERATOR, caller_of
from orchestrator.web.errors import Conflicting
from orchestrator.web.guard import key_of
from orchestrator.web.parts import Parts
from orchestrator.web.queries import events
from orchestrator.web.queries.watchers import Changed, mark
from simulator.access import Subject
from simulator.errors import OfficeTownError
from simulator.view import view

LOOK_S = 0.3
"""How often the log is looked at; another process may be the one that writes it."""
QUIET_S = 15.0
FAR = 3_000
"""Events behind which a page had better load the state anew."""
MOST_STREAMS = 200


class Streams:
    """How many streams are open: each costs a look at the log every so often."""

    def __init__(self) -> None:
        self.open = 0

    def room(self) -> None:
        """Raise Conflicting where there are too many."""
        if self.open >= MOST_STREAMS:
            raise Conflicting(f"{MOST_STREAMS} pages follow live already. Close one.")


def sse(kind: str, data: bytes, number: int | str | None = None) -> bytes:
    """Return one server-sent event."""
    head = f"id: {number}\n" if number is not None else ""
    return f"{head}event: {kind}\n".encode() + b"data: " + data + b"\n\n"


async def stream(
    request: Request, parts: Parts, book: Book, after: int, wanted: events.Wanted
) -> AsyncIterator[bytes]:  # fmt: skip
    """Yield an office's events after a revision, for as long as somebody reads them."""
    streams: Streams = request.app.state.streams
    streams.open += 1
    try:
        async for chunk in _following(parts, book, after, wanted):
            yield chunk
    except OfficeTownError:
        yield sse("end", b'{"reason":"The office cannot be read any more."}')
    finally:
        streams.open -= 1


async def changes(request: Request, parts: Parts, book: Book, person: str, last: str) -> AsyncIterator[bytes]:
    """Yield an event whenever a person's view has changed since the mark `last`.

    Events are as far apart as looks at the log, and what a person may not see makes none: their times tell nothing.
    """
    streams: Streams = request.app.state.streams
    caller = caller_of(request.scope)
    key = key_of(request.headers)
    streams.open += 1
    try:
        async for chunk in _changing(parts, book, person, last):
            if parts.keys.caller(key) != caller and caller != OPERATOR:
                return
            yield chunk
    except OfficeTownError:
        yield sse("end", b'{"reason":"This cannot be followed any more."}')
    finally:
        streams.open -= 1


async def _changing(parts: Parts, book: Book, person: str, last: str) -> AsyncIterator[bytes]:
    yield b"retry: 2000\n\n"
    quiet, head = 0.0, -1
    while not parts.closing():
        now = await run_in_threadpool(lambda: book.timeline.head)
        if now != head:
            head = now
            changed = await run_in_threadpool(_mark, book, person, now)
            if changed.mark != last:
                last = changed.mark
                yield sse("changed", msgspec.json.encode(changed), last)
        await asyncio.sleep(LOOK_S)
        quiet += LOOK_S
        if quiet >= QUIET_S:
            quiet = 0.0
            yield b": still here\n\n"


def _mark(book: Book, person: str, revision: int) -> Changed:
    return mark(view(book.timeline.office(revision), Subject(person)))


async def _following(
    parts: Parts, book: Book, after: int, wanted: events.Wanted
) -> AsyncIterator[bytes]:  # fmt: skip
    yield b"retry: 2000\n\n"
    quiet, version = 0.0, -1
    while not parts.closing():
        clock = parts.town.clock(book.id)
        if clock.version != version:
            version = clock.version
            yield sse("clock", msgspec.json.encode(clock))
        head = await run_in_threadpool(lambda: book.timeline.head)
        if head - after > FAR:
            after = head
            yield sse("reset", msgspec.json.encode({"revision": head}), head)
        elif head > after:
            page = await run_in_threadpool(events.after, book, after, 200, wanted)
            for line in page.events:
                yield sse("event", msgspec.json.encode(line), line.revision)
            if not page.events:
                yield sse("passed", msgspec.json.encode({"revision": page.last}), page.last)
            after = page.last
            quiet = 0.0
            continue
        await asyncio.sleep(LOOK_S)
        quiet += LOOK_S
        if quiet >= QUIET_S:
            quiet = 0.0
            yield b": still here\n\n"
