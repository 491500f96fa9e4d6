"""Puts the pages onto the API's application: `dress(app, parts)`. One process serves one dashboard at a time (NiceGUI's way)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable

from fastapi import FastAPI
from fastapi.responses import HTMLResponse, RedirectResponse
from nicegui import app as nice
from nicegui import ui
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount

from orchestrator.web.book import Book
from orchestrator.web.caller import Caller, caller_of
from orchestrator.web.errors import NOT_THERE
from orchestrator.web.parts import Parts
from orchestrator.web.ui.door import PARTS, STATIC, Door
from orchestrator.web.ui.pages import ALL, FIRST, PERSONAL
from orchestrator.web.ui.shell import Page, Shell
from simulator.errors import OfficeTownError, UnknownReference

_BUILD_S = 30.0
_RECONNECT_S = 10.0
_HISTORY = 40
"""Messages kept for a browser that lost its connection: beyond them its page loads anew from its address."""
_YEAR_S = 31_536_000
_NOTICE = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    "<title>OfficeTown</title><style>body{{font:16px/1.6 system-ui,sans-serif;background:#f6f6f3;color:#1d2430;"
    "display:grid;place-items:center;min-height:90vh}}main{{background:#fff;border:1px solid #e3e2dc;border-radius:14px;"
    "padding:28px 32px;max-width:34rem}}a{{color:#0f6b63}}</style>"
    '<main data-testid="not-there"><h1>Nothing here</h1><p>{words}</p><p><a href="{href}">{way}</a></p></main></html>'
)


def dress(app: FastAPI, parts: Parts, pages: Iterable[Page] = ALL) -> None:
    """Put the pages onto an application that has the API already, and a sign-in in front of them."""
    shown = tuple(pages)
    menu = tuple(page for page in shown if page.menu)
    # What an earlier dashboard of this process left, which has ended: it could not be added to a second time.
    nice.middleware_stack = None
    nice.user_middleware.clear()
    head = f'<link rel="stylesheet" href="{_served("town.css")}"><script type="module" src="{_served("keep.js")}"></script>'
    for page in shown:
        ui.page(page.path, response_timeout=_BUILD_S)(_handler(page, menu, head))
    nice.add_exception_handler(404, _nothing)
    app.add_api_route("/", _home, include_in_schema=False)
    app.add_api_route("/office/{office}", _office, include_in_schema=False)
    ui.run_with(
        app, title="OfficeTown", favicon=STATIC / "town.svg", tailwind=False, show_welcome_message=False,
        reconnect_timeout=_RECONNECT_S, message_history_length=_HISTORY, binding_refresh_interval=None,
    )  # fmt: skip
    mount = app.routes[-1]
    assert isinstance(mount, Mount)
    mount.app = Door(mount.app, parts)


def _served(name: str) -> str:
    """Serve a file of ours under a name that changes with it, so that browsers may keep it; return its address."""
    file = STATIC / name
    stem, dot, ending = name.partition(".")
    address = f"/{stem}-{file.stat().st_mtime_ns:x}{dot}{ending}"
    nice.add_static_file(local_file=file, url_path=address, max_cache_age=_YEAR_S)
    return address


def _handler(page: Page, menu: tuple[Page, ...], head: str) -> Callable[[Request], Awaitable[Response | None]]:
    async def show(request: Request) -> Response | None:
        parts: Parts = request.scope[PARTS]
        caller = caller_of(request.scope)
        assert caller is not None, "the door lets nobody pass unknown"
        book = None
        if not caller.operator and not _own(page, request, caller):
            return notice(NOT_THERE, PERSONAL.address(office=caller.office, person=caller.person), "My own page")
        if page.of_office:
            try:
                book = await asyncio.to_thread(_open, parts, caller, request.path_params["office"])
            except OfficeTownError as fault:
                return notice(str(fault) if caller.operator else NOT_THERE, FIRST.path, "All offices")
        ui.add_head_html(head)
        await Shell(parts, page, menu, request, caller, book).build()
        return None

    return show


def _own(page: Page, request: Request, caller: Caller) -> bool:
    """Whether a page is for a person who comes with their own key: theirs, at the present."""
    where = request.path_params
    named = (where.get("office", ""), where.get("person", ""))
    return page.personal and named == (caller.office, caller.person) and not request.query_params.get("at")


def _open(parts: Parts, caller: Caller, office: str) -> Book:
    if caller.operator:
        return parts.shelf.open(office)
    book = parts.shelf.exactly(office)
    if caller.person not in book.at().people:
        raise UnknownReference(NOT_THERE)
    return book


def notice(words: str, href: str, way: str, status: int = 404) -> HTMLResponse:
    """Return a page that says one thing, and where to go from there."""
    from_text = words.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    target = href.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
    return HTMLResponse(_NOTICE.format(words=from_text, href=target, way=way), status)


async def _nothing(request: Request, fault: Exception) -> Response:
    return notice("There is no page at this address.", FIRST.path, "All offices")


async def _home() -> Response:
    return RedirectResponse(FIRST.path)


async def _office(request: Request, office: str) -> Response:
    at = request.query_params.get("at", "")
    floor = next(page for page in ALL if page.name == "floor")
    return RedirectResponse(floor.address(office=office, at=at))
