"""The shell around every page: the office's name, clock and controls, the slider over its time, and the menu.

How a page joins. Make a `Page` in a module of its own and name it in `pages.py`:

    def load(ask: Ask) -> Rows:                  # in a thread: query functions, no elements; raise OfficeTownError freely
        return rows(ask.office, ask.get("person"))

    def draw(shell: Shell, rows: Rows) -> None:  # on the event loop: elements from kit.py, no queries
        with kit.card("Rows"):
            for row in rows:
                kit.link(row.name, shell.url("person", person=row.id))

    PAGE = Page("rows", "/office/{office}/rows", "Rows", "list", load, draw)

A path with `{office}` makes it a page of one office: `ask.office` is that office as of the moment on the slider, and the
page is loaded and drawn again whenever that moment moves, or, at the present, as the office goes on (`every` seconds apart;
0 for never). A path without it, such as `/experts`, gets neither clock nor slider, and `ask.office` must not be used.
`ask.query` holds the address's parameters; `shell.turn(day="2026-03-02")` changes some of them and draws anew, so whatever a
page shows can be linked to. Where `draw` returns a function, later data goes to that instead of drawing anew, which keeps
what was opened, scrolled or typed; `shell.dock` keeps forms below a page that is drawn anew. Long work of a handler belongs
into `await asyncio.to_thread(...)`; errors of the project's kind are told to the reader by `shell.telling(...)`. Texts of an
office go through kit.py, never `ui.html` or `ui.markdown`; controls have an aria-label and a `test` (data-testid), which
docs/dashboard.md lists.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, cast

import msgspec
from nicegui import context, ui
from starlette.requests import Request

from orchestrator.web.book import Book
from orchestrator.web.caller import Caller
from orchestrator.web.errors import Forbidden
from orchestrator.web.guard import key_of
from orchestrator.web.offices import Clock
from orchestrator.web.parts import Parts
from orchestrator.web.queries import offices as queries_offices
from orchestrator.web.ui import kit
from orchestrator.web.ui.asked import Ask
from orchestrator.web.ui.clockface import described, passing, when_next
from orchestrator.web.ui.dock import Dock
from orchestrator.web.ui.paths import PATHS, address
from orchestrator.web.ui.steer import Controls
from orchestrator.web.ui.strip import Moment, bars, ticks
from simulator.businesstime import calendar_for
from simulator.errors import OfficeTownError, UsageError
from simulator.office import Office

Update = Callable[[Any], None]
"""Shows a page's next data in what it has drawn already."""
_TICK_S = 1.0
_LOOK_EVERY = 5
"""Ticks after which it is found out whether another process runs the office."""
_DENSITY_S = 5.0
_PLAY_S = 0.6
_TAKEN_BACK = "Your key was taken back. Load the page again to sign in with another."
PLAY = {"900": "15 min a second", "3600": "1 hour a second", "14400": "4 hours a second", "86400": "1 day a second"}


class Page(msgspec.Struct, frozen=True):
    """A page: where it is, what it shows; see the head of this module.

    `every` is how many seconds lie at least between two readings while the office goes on. `under` names the page of the
    menu that this one belongs to. `personal`: a person's own key opens it, for that person and the present alone.
    """

    name: str
    path: str
    title: str
    icon: str
    load: Callable[[Ask], Any]
    draw: Callable[[Shell, Any], Update | None]
    menu: bool = True
    every: float = 2.0
    under: str = ""
    personal: bool = False

    @property
    def of_office(self) -> bool:
        """Whether it shows one office at a moment."""
        return "{office}" in self.path

    def address(self, **given: object) -> str:
        """Return its address: what is no parameter of its path, and not empty, becomes its query."""
        return address(self.path, **given)


class Loaded(msgspec.Struct, frozen=True):
    """What one reading of a page brought: what was asked, the office's head and present, and the page's data or a fault."""

    ask: Ask
    head: int
    present: int
    data: Any
    fault: str = ""


def same(before: Loaded, now: Loaded) -> bool:
    """Whether a reading brought nothing new to draw: what a reader opened or scrolled then stays as it is."""
    return before.ask.query == now.ask.query and before.ask.live == now.ask.live and bool(before.data == now.data)


class Shell:
    """One browser's page. `menu` are all pages that have a place in the menu."""

    def __init__(
        self, parts: Parts, page: Page, menu: tuple[Page, ...], request: Request, caller: Caller, book: Book | None
    ) -> None:  # fmt: skip
        self.parts = parts
        self.page = page
        self.caller = caller
        self.book = book
        self.query: dict[str, str] = {**dict(request.query_params), **request.path_params}
        self.client = context.client
        self._acts = 0
        self._key = key_of(request.headers)
        self._menu = menu
        self._loaded: Loaded | None = None
        self._update: Update | None = None
        self._reading = asyncio.Lock()
        self._wanted = 0
        self._read_at = 0.0
        self._density_at = 0.0
        self._ticks = 0
        self._clock = Clock("still")
        self._head = 0
        self._links: list[tuple[Page, kit.Tag]] = []
        self._playing = False
        self._pace = "14400"

    # -- what pages use -------------------------------------------------------------------------------------------------

    @property
    def at(self) -> str:
        """The moment of the address: empty for the present."""
        return self.query.get("at", "")

    @property
    def office(self) -> Office:
        """The office as of the moment that is shown."""
        assert self._loaded is not None
        return self._loaded.ask.office

    def url(self, page: Page | str, **given: object) -> str:
        """Return a page's address, by the page or its name in `paths.py`, in this office at this moment."""
        path = PATHS[page] if isinstance(page, str) else page.path
        if "{office}" in path and self.book is not None:
            return address(path, **{"office": self.book.id, "at": self.at, **given})
        return address(path, **given)

    def address(self, path: str, **given: object) -> str:
        """Return an address of the API, such as a download, in this office at this moment."""
        office = self.book.id if self.book is not None else ""
        return address(path, **{"office": office, "at": self.at, **given})

    def turn(self, **changed: object) -> Coroutine[Any, Any, None]:
        """Change parameters of the address (empty takes one away), and draw anew. To be awaited, or returned by a handler."""
        for name, value in changed.items():
            if str(value):
                self.query[name] = str(value)
            else:
                self.query.pop(name, None)
        self._readdress()
        return self.refresh()

    async def telling(self, work: Callable[[], Any]) -> Any:
        """Do work in a thread and return its result; an error is told, and None returned."""
        try:
            return await asyncio.to_thread(work)
        except OfficeTownError as fault:
            ui.notify(str(fault), type="warning", multi_line=True)
            return None

    def opened(self) -> Book:
        """Return the office's book, for doing something in it. Raises UsageError, Forbidden."""
        if not self._known():
            raise Forbidden(_TAKEN_BACK)
        if self.book is None:
            raise UsageError("This page belongs to no office.")
        return self.book

    def once(self) -> str:
        """Return a key for something done from this page, another one each time."""
        self._acts += 1
        return f"{self.client.id}.{self._acts}"

    def _known(self) -> bool:
        """Whether the key with which the page was opened still opens it."""
        keys = self.parts.keys
        return self.caller in (keys.caller(self._key), keys.caller(None))

    # -- building -------------------------------------------------------------------------------------------------------

    async def build(self) -> None:
        """Build the page: frame, first data, and what keeps it up to date."""
        loaded = await asyncio.to_thread(self._load)
        name = self.book.row.name if self.book is not None else ""
        ui.page_title(f"{self.page.title} · {name}" if name else self.page.title)
        kit.link("Skip to the content", "#content", "skip")
        with kit.box("top", role="banner"):
            self._top(name)
        if self.book is not None and self.caller.operator:
            self._strip(loaded)
        with kit.box("body"):
            if self.caller.operator:
                self._navigation()
            with kit.Tag("main", "main", None, id_="content"):
                if self.book is not None and self.caller.operator:
                    self._trouble()
                self._content = kit.box("page", test=f"page-{self.page.name}")
                self.dock = Dock()
        self._show(loaded)
        if self.book is not None or self.page.every:
            timer = ui.timer(_TICK_S, self._tick, immediate=False)
            self.client.on_delete(lambda: timer.cancel())

    def _top(self, name: str) -> None:
        with kit.link("", "/offices", "brand", label="OfficeTown: all offices"):
            kit.text("OfficeTown")
        if self.book is None:
            return
        kit.text(name, "office-name", "span", test="office-name")
        with kit.box("clocks"):
            self._time = kit.text("", "clock", "span", test="clock")
            self._next = kit.text("", "faint num", "span", test="clock-next")
        if self.caller.operator:
            self._controls = Controls(self.parts, self.book, self._told)

    def _trouble(self) -> None:
        """Make the place where an error that stopped the office is told, on whatever page one is."""
        self._banner = kit.card("", "notice banner", role="alert", test="trouble")
        with self._banner:
            self._error = kit.text("", "said", "p")
            kit.link("What can be done about it", self.url("health", at=""), "btn small")
        self._banner.set_visibility(False)

    def _strip(self, loaded: Loaded) -> None:
        office = loaded.ask.state
        first = office.opened_at if office is not None and office.opened_at else loaded.present - 1
        zone = office.calendar.zone if office is not None else "UTC"
        with kit.box("strip", role="group", label="The office's time"):
            with kit.box("strip-buttons"):
                kit.button("", lambda: self._by(-1), "quiet", "chevron_left", "One event back", "time-back")
                self._play = kit.button("", self._toggle, "quiet", "play_circle", "Play the past", "time-play")
                kit.button("", lambda: self._by(1), "quiet", "chevron_right", "One event on", "time-forward")
                kit.choice("How fast to play", PLAY, self._pace, self._paced, "time-pace", "small")
            self._moment = Moment(first, loaded.present, loaded.present, zone, self._pick)
            with kit.box("strip-now"):
                self._where = kit.text("", "where", "span", role="status", test="moment")
                self._now = kit.button("Now", self._present, "small", "update", "Back to the present", "time-now")

    def _navigation(self) -> None:
        with kit.Tag("nav", "nav", None, label="Pages"):
            for page in self._menu:
                if page.of_office and self.book is None:
                    continue
                here = page.name in (self.page.name, self.page.under)
                made = kit.link("", self.url(page), "nav-link", test=f"nav-{page.name}")
                if here:
                    made.set(aria_current="page")
                with made:
                    kit.icon(page.icon)
                    kit.text(page.title)
                self._links.append((page, made))

    # -- reading --------------------------------------------------------------------------------------------------------

    def _load(self) -> Loaded:
        """Read the page's data at its moment; in a thread."""
        book = self.book
        ask = Ask(self.parts, self.caller, dict(self.query), book)
        head = present = 0
        if not self._known():
            return Loaded(ask, head, present, None, _TAKEN_BACK)
        try:
            if book is not None:
                head = book.timeline.head
                now = book.timeline.office(head)
                present = now.now
                at = self.at
                revision = book.timeline.revision_at(at) if at else head
                state = now if revision == head else book.timeline.office(revision)
                clock = self.parts.town.clock(book.id, look=self._loaded is None)
                ask = Ask(self.parts, self.caller, dict(self.query), book, state, not at, clock)
            return Loaded(ask, head, present, self.page.load(ask))
        except OfficeTownError as fault:
            return Loaded(ask, head, present, None, str(fault))

    async def refresh(self) -> None:
        """Read and draw anew. While one reading is under way, all that is asked for meanwhile becomes one more."""
        self._wanted += 1
        mine = self._wanted
        async with self._reading:
            if mine != self._wanted or self.client.is_deleted:
                return
            self._read_at = time.monotonic()
            loaded = await asyncio.to_thread(self._load)
            if not self.client.is_deleted:
                self._show(loaded)

    def _show(self, loaded: Loaded) -> None:
        before, self._loaded, self._head = self._loaded, loaded, loaded.head
        if self.book is not None and loaded.ask.state is not None:
            self._show_time(loaded, loaded.ask.state)
        self._let(loaded.ask.clock)
        if loaded.fault:
            self._update = None
            self.dock.clear()
            self._content.clear()
            with self._content:
                self._fault(loaded.fault)
        elif self._update is not None:
            with self._content:
                self._update(loaded.data)
        elif before is not None and not before.fault and same(before, loaded):
            return
        else:
            self._content.clear()
            with self._content, self.dock.filled():
                self._update = self.page.draw(self, loaded.data)

    def _fault(self, words: str) -> None:
        with kit.card("This cannot be shown", "notice", role="alert", test="fault"):
            kit.text(words, "", "p")
            if self.at and self.book is not None:
                kit.button("Go to the present", self._present, "main", "update", test="fault-now")
            kit.link("All offices", "/offices", "btn")

    def _show_time(self, loaded: Loaded, office: Office) -> None:
        if not (loaded.ask.live and self._clock.state == "running"):
            self._time.say(described(office, office.now))
            self._next.say("")
        if not self.caller.operator:
            return
        self._clocked(loaded.ask.clock)
        self._moment.show(office.now, loaded.present)
        live = loaded.ask.live
        self._where.say("Now" if live else f"Revision {office.revision:,} of {loaded.head:,}")
        self._now.set_visibility(not live)
        self._time.classes(replace="clock" if live else "clock past")
        for page, made in self._links:
            made.set(href=self.url(page))

    def _clocked(self, clock: Clock) -> None:
        self._clock = clock
        self._controls.show(clock)
        self._banner.set_visibility(clock.state == "failed")
        self._error.say(f"The office stopped because of an error: {clock.error}" if clock.error else "")

    # -- keeping up -----------------------------------------------------------------------------------------------------

    async def _tick(self) -> None:
        if self.client.is_deleted or not self.client.has_socket_connection:
            return
        self._ticks += 1
        if self.book is None:
            if time.monotonic() - self._read_at >= self.page.every:
                await self.refresh()
            return
        look = self._ticks % _LOOK_EVERY == 0
        try:
            head, clock = await asyncio.to_thread(self._pulse, look)
        except OfficeTownError:
            await self.refresh()
            return
        self._go_on()
        self._let(clock)
        if self.caller.operator:
            # Without a look nobody knows whether another process runs it: then what is shown stays.
            if look or clock.version != self._clock.version:
                self._clocked(clock)
            await self._density(head)
        due = self.page.every and time.monotonic() - self._read_at >= self.page.every
        if head != self._head and not self.at and due:
            await self.refresh()

    def _pulse(self, look: bool) -> tuple[int, Clock]:
        book = cast(Book, self.book)
        return book.timeline.head, self.parts.town.clock(book.id, look=look)

    def _go_on(self) -> None:
        """Have the clock go on between two things that happen, towards the next one: as the office's clock does itself."""
        loaded = self._loaded
        if loaded is None or loaded.ask.state is None or not loaded.ask.live:
            return
        run = self.parts.town.run(cast(Book, self.book).id)
        steered = run.clock if run is not None else None
        due = steered.due if steered is not None else None
        office = loaded.ask.state
        shown = office.now
        words = ""
        if steered is not None and due is not None:
            shown = passing(office.now, due[0], time.monotonic() - due[1], 0 if steered.paused else steered.speed)
            words = f"next {when_next(office, due[0])}"
        self._time.say(described(office, shown))
        self._next.say(words)

    async def _density(self, head: int) -> None:
        """Show on the slider how much happened each day; the log may have to be read for that, so the page goes before."""
        known = self._density_at
        if known and (head == self._head or time.monotonic() - known < _DENSITY_S):
            return
        self._density_at = time.monotonic()
        self._moment.fill(*await asyncio.to_thread(self._days))

    def _days(self) -> tuple[Any, Any]:
        from_queries = queries_offices.days(cast(Book, self.book))
        office = cast(Book, self.book).at()
        calendar = calendar_for(office.calendar)
        return bars(from_queries, calendar), ticks(office.opened_at or office.now, office.now, calendar)

    async def _told(self) -> None:
        """A command was given: show how the clock stands now."""
        clock = await asyncio.to_thread(self.parts.town.clock, cast(Book, self.book).id, True)
        self._clocked(clock)
        self._let(clock)

    def _let(self, clock: Clock) -> None:
        """Offer to take part, or not."""
        loaded = self._loaded
        live = loaded is not None and loaded.ask.live and not loaded.fault
        self.dock.let(live and self.book is not None and clock.state in ("running", "paused"))

    # -- time -----------------------------------------------------------------------------------------------------------

    async def _pick(self, instant: int, present: bool) -> None:
        if present:
            await self._present()
            return
        revision = await self.telling(lambda: self._revision(instant))
        if revision is not None:
            await self.turn(at=revision)

    def _revision(self, instant: int) -> int:
        timeline = cast(Book, self.book).timeline
        first = timeline.office(1).now
        return timeline.at_instant(max(first, instant))

    async def _present(self) -> None:
        self._stop_playing()
        await self.turn(at="")

    async def _by(self, step: int) -> None:
        """Go on or back by one event."""
        here = self.office.revision if self._loaded and self._loaded.ask.state else self._head
        there = max(1, here + step)
        await self.turn(at="" if there >= self._head and step > 0 else there)

    def _paced(self, pace: str) -> None:
        self._pace = pace if pace in PLAY else self._pace

    async def _toggle(self) -> None:
        if self._playing:
            self._stop_playing()
            return
        if not self.at:
            await self.turn(at=1)
        self._playing = True
        self._play.set(label="Stop playing", title="Stop playing", aria_pressed="true")
        while self._playing and not self.client.is_deleted:
            began = time.monotonic()
            await self._play_on()
            await asyncio.sleep(max(0.05, _PLAY_S - (time.monotonic() - began)))

    async def _play_on(self) -> None:
        if self._loaded is None or self._loaded.ask.state is None:
            self._stop_playing()
            return
        here = self._loaded.ask.state
        until = here.now + int(int(self._pace) * _PLAY_S)
        revision = await self.telling(lambda: max(self._revision(until), here.revision + 1))
        if revision is None or revision >= self._head:
            await self._present()
        else:
            await self.turn(at=revision)

    def _stop_playing(self) -> None:
        if self._playing:
            self._playing = False
            self._play.set(label="Play the past", title="Play the past", aria_pressed="false")

    def _readdress(self) -> None:
        """Have the browser's address say what is shown, so that it can be linked to and loaded again."""
        known: Mapping[str, str] = self.query
        target = self.page.address(**known)
        ui_json = msgspec.json.encode(target).decode()
        self.client.run_javascript(f"history.replaceState(history.state, '', {ui_json})")
