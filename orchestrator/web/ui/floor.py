"""*Floor*: the office as a place. Who is where and does what, what is on its way, what has just happened, what comes next."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date

import msgspec

from orchestrator.progress import describe
from orchestrator.web.book import Book
from orchestrator.web.queries import state, talk
from orchestrator.web.queries.common import When, actor_name, when
from orchestrator.web.queries.state import Floor
from orchestrator.web.queries.talk import EntryShown
from orchestrator.web.ui import dayplan, floorplan, forking, kit
from orchestrator.web.ui.asked import Ask
from orchestrator.web.ui.drawing import Drawing, Picture
from orchestrator.web.ui.floorplan import Flight
from orchestrator.web.ui.paths import PATHS
from orchestrator.web.ui.shell import Page, Shell, Update
from simulator import events as e
from simulator.businesstime import calendar_for
from simulator.events import Event, decode
from simulator.office import Office

WIDE, NARROW = 1040.0, 364.0
_LOOKED_BACK = 160
_RECENT_S = 1_800
_MOST_FLIGHTS = 24
_MOST_LINES = 14
_TARGETS = 5


class Line(msgspec.Struct, frozen=True):
    """Something that has just happened."""

    revision: int
    at: When
    text: str


class Shown(msgspec.Struct, frozen=True):
    """What the floor shows."""

    floor: Floor
    flights: tuple[Flight, ...]
    lines: tuple[Line, ...]
    today: tuple[EntryShown, ...]
    day: tuple[int, int]
    titles: dict[str, str]
    names: dict[str, str]


def load(ask: Ask) -> Shown:
    """Return the floor at the moment of the address."""
    office = ask.office
    floor = state.floor(office)
    flights, lines = recent(ask.book, office)
    calendar = calendar_for(office.calendar)
    day = calendar.day(office.now)
    start, end = calendar.at(day, 0), calendar.at(day, 1440)
    refs = [*(r.ref for r in floor.running), *(c.ref for c in floor.coming)]
    titles = {ref: entry.title for ref in refs if (entry := office.entries.get(ref)) is not None}
    names = {p.id: p.name for p in office.people.values()}
    return Shown(floor, flights, lines, talk.entries(office, start, end), (start, end), titles, names)


def recent(book: Book, office: Office) -> tuple[tuple[Flight, ...], tuple[Line, ...]]:
    """Return what is on its way at a moment, and what has just happened, the latest first."""
    flights: list[Flight] = []
    lines: list[Line] = []
    # Told with the office of the moment, in which all that they speak of still is: no other state has to be made.
    for _, data in book.reader.events(max(0, office.revision - _LOOKED_BACK), office.revision):
        event = decode(data)
        if event.activation == "genesis":
            continue
        if event.sim_time > office.now - _RECENT_S:
            flights.extend(flights_of(event, office))
        said = describe(event, office)
        if said:
            _told(lines, Line(event.revision, when(office, event.sim_time), said))
    return tuple(flights[-_MOST_FLIGHTS:]), tuple(reversed(lines[-_MOST_LINES:]))


def _told(lines: list[Line], line: Line) -> None:
    """Add a line; who gets the same thing in the same moment is named in one."""
    before, _, whom = line.text.rpartition(" with ")
    if before and lines and lines[-1].at == line.at and lines[-1].text.startswith(f"{before} with "):
        lines[-1] = Line(line.revision, line.at, f"{lines[-1].text}, {whom}")
    else:
        lines.append(line)


def flights_of(event: Event, office: Office) -> list[Flight]:
    """Return what an event sends from one person to others."""
    p = event.payload
    match p:
        case e.MessagePosted(message=m):
            room = office.rooms.get(m.room)
            return _to(
                event, "message", m.sender, room.members if room else (), f"{_name(office, m.sender)}: a message"
            )
        case e.MailSent(mail=mail):
            return _to(event, "mail", mail.sender, (*mail.to, *mail.cc), f"Mail: {mail.subject}")
        case e.FileShared(grant=g):
            file = office.files.get(g.file)
            return _to(event, "file", g.by, _audience(office, g.audience), f"File: {file.path if file else ''}")
        case e.RequestMade(request=r):
            return _to(event, "request", r.asker, (r.owner,), f"{_name(office, r.asker)} asks {_name(office, r.owner)}")
    return []


def _to(event: Event, kind: str, source: str, targets: Iterable[str], said: str) -> list[Flight]:
    others = [t for t in targets if t != source][:_TARGETS]
    return [Flight(f"{event.revision}.{i}", kind, source, target, said) for i, target in enumerate(others)]


def _name(office: Office, person: str) -> str:
    return actor_name(office, person)


def _audience(office: Office, audience: str) -> tuple[str, ...]:
    kind, _, ref = audience.partition(":")
    if kind == "person":
        return (ref,)
    if kind == "matter":
        matter = office.matters.get(ref)
        return matter.members if matter is not None else ()
    if kind == "department":
        return tuple(sorted(p.id for p in office.people.values() if p.department == ref))
    if kind == "client":
        return tuple(sorted(p.id for p in office.people.values() if p.client == ref))
    return ()


# -- drawn ----------------------------------------------------------------------------------------------------------------


def draw(shell: Shell, shown: Shown) -> Update:
    """Draw the floor; return what shows it at another moment, so that people walk instead of jumping."""

    def address(person: str) -> str:
        return shell.url("person", person=person)

    def picture(width: float, now: Shown) -> Picture:
        return floorplan.draw(now.floor, width, now.flights, address, now.titles)

    with kit.box("row between"):
        kit.heading("Floor", 1)
        with kit.box("row"):
            summary = kit.text("", "hint", "p", role="status", test="floor-summary")
            kit.button("Fork…", lambda: forking.ask(shell), "small", "call_split", test="fork")
    with kit.card("", "flush"):
        strip = Drawing(
            dayplan.draw(shown.today, shown.day, shown.floor.now.at), "Today's calendar", "dayplan", test="day-strip"
        )
    with kit.box("plan"):
        wide = Drawing(picture(WIDE, shown), "The floor: rooms, desks and people", "floor only-wide", test="floor")
        narrow = Drawing(
            picture(NARROW, shown), "The floor: rooms, desks and people", "floor only-narrow", test="floor-narrow"
        )
    _legend()
    with kit.box("two"):
        with kit.card("Just now", test="just-now"):
            lines = kit.box("feed")
        with kit.box("stack wide-gap"):
            with kit.card("Coming next", test="coming-next"):
                coming = kit.box("feed")
            with kit.card("Delegated work under way", test="under-way"):
                work = kit.box("feed")

    def update(now: Shown) -> None:
        wide.show(picture(WIDE, now))
        narrow.show(picture(NARROW, now))
        strip.show(dayplan.draw(now.today, now.day, now.floor.now.at))
        summary.say(summarised(now.floor))
        _lines(lines, shell, now)
        _coming(coming, now)
        _work(work, shell, now)

    update(shown)
    return update


def summarised(floor: Floor) -> str:
    """Say in one line how the floor is."""
    doing = [p.doing for p in floor.people]
    said = [f"{floor.described}, {'open' if floor.open else 'closed'}"]
    for what, words in (("working", "at work"), ("meeting", "in meetings"), ("due", "about to start")):
        if what in doing:
            said.append(f"{doing.count(what)} {words}")
    return " · ".join(said)


def _legend() -> None:
    with kit.box("legend", aria_hidden="true"):
        for kind, words in (("working", "at work"), ("meeting", "in a meeting"), ("due", "about to start"), ("idle", "idle"),
                            ("played", "played by a person")):  # fmt: skip
            with kit.text("", "key"):
                kit.Tag("i", f"dot doing-{kind}")
                kit.text(words)
        for kind, words in (("message", "message"), ("mail", "mail"), ("file", "file"), ("request", "request")):
            with kit.text("", "key"):
                kit.Tag("i", f"dot {kind}")
                kit.text(words)


def _lines(place: kit.Tag, shell: Shell, now: Shown) -> None:
    place.clear()
    with place:
        for line in now.lines:
            with kit.box("feed-line"):
                kit.link(moment(line.at.local, now.floor.now.local), shell.url("floor", at=line.revision), "time")
                kit.text(line.text)
        if not now.lines:
            kit.empty("Nothing has happened yet.")


def moment(local: str, now: str) -> str:
    """Return a moment in short: the time on the same day, the day and time else."""
    if local[:10] == now[:10]:
        return local[11:16]
    return f"{date.fromisoformat(local[:10]):%-d %b} {local[11:16]}" if local else ""


def _coming(place: kit.Tag, now: Shown) -> None:
    place.clear()
    with place:
        for c in now.floor.coming[:8]:
            who = now.names.get(c.who, "")
            what = now.titles.get(c.ref, f"{c.what[:1].upper()}{c.what[1:]}")
            with kit.box("feed-line"):
                kit.text(moment(c.at.local, now.floor.now.local), "time")
                kit.text(f"{who} {c.what}" if c.what.startswith("starts") else f"{what}{f', {who}' if who else ''}")
        if not now.floor.coming:
            kit.empty("Nothing is due.")


def _work(place: kit.Tag, shell: Shell, now: Shown) -> None:
    place.clear()
    with place:
        for d in now.floor.delegations[:10]:
            with kit.box("feed-line"):
                kit.chip(d.state, f"work-{d.state}")
                kit.link(f"{d.work or 'Work'} {d.period}".strip(), shell.url("delegation", delegation=d.id))
                kit.text(now.names.get(d.principal, ""), "faint")
        if not now.floor.delegations:
            kit.empty("No assistant is at work.")


PAGE = Page("floor", PATHS["floor"], "Floor", "meeting_room", load, draw, every=1.0)
