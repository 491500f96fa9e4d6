"""*People*: everybody by department, and one person: role, memory, inbox, the day's conversation, sessions, and their files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from orchestrator.web.queries import files, memory, people, sessions
from orchestrator.web.queries.common import When
from orchestrator.web.queries.files import FileLine
from orchestrator.web.queries.memory import Injected, MemoryPage, MemoryShown
from orchestrator.web.queries.people import Notice, PersonShown
from orchestrator.web.queries.sessions import ActivationLine, ActivationShown, ConversationShown
from orchestrator.web.queries.state import Desk
from orchestrator.web.ui import calendar, chat, conversation, floorplan, kit, mail, partaking, whose
from orchestrator.web.ui.asked import Ask
from orchestrator.web.ui.content import size
from orchestrator.web.ui.paths import PATHS
from orchestrator.web.ui.shell import Page, Shell
from orchestrator.web.ui.tables import Table, cell
from simulator.access import Subject
from simulator.businesstime import calendar_for
from simulator.errors import UnknownReference
from simulator.view import View, view

AT_ONCE = 100
TABS = {"now": "Now", "memory": "Memory", "day": "The day", "sessions": "Sessions", "files": "Files", "mail": "Mail",
        "chat": "Chat", "calendar": "Calendar"}  # fmt: skip
OWN_TABS = ("now", "memory", "files", "mail", "chat", "calendar")
"""What a person who comes with their own key is shown: all of it has passed through their view."""
_KINDS = {"principal": "At work", "client": "At work", "meeting": "Meeting", "segment": "Assistant"}


# -- everybody --------------------------------------------------------------------------------------------------------------


class Everybody(msgspec.Struct, frozen=True):
    """Everybody, by department or client."""

    groups: tuple[tuple[str, tuple[Desk, ...]], ...]


def load_all(ask: Ask) -> Everybody:
    """Return everybody as they are at the moment."""
    office = ask.office
    desks = people.people(office)
    names = {d.id: d.name for d in office.departments.values()} | {c.id: c.name for c in office.clients.values()}
    groups: dict[tuple[bool, str], list[Desk]] = {}
    for d in desks:
        where = d.client if d.kind == "client" else d.department
        groups.setdefault((d.kind == "client", names.get(where, where or "Others")), []).append(d)
    return Everybody(tuple((name, tuple(group)) for (_, name), group in sorted(groups.items())))


def draw_all(shell: Shell, shown: Everybody) -> None:
    """Draw everybody."""
    kit.heading("People", 1)
    with kit.box("cards", test="people"):
        for name, desks in shown.groups:
            with kit.card(name):
                for d in desks:
                    with kit.box("person-row"):
                        kit.Tag("span", f"avatar doing-{d.doing}", floorplan.initials(d.name), aria_hidden="true")
                        with kit.box("stack tight"):
                            kit.link(d.name, shell.url("person", person=d.id), "strong", test=f"person-{d.id}")
                            kit.text(d.title, "faint")
                            kit.text(floorplan.doing(d), f"about-text doing-text-{d.doing}")


# -- one person -------------------------------------------------------------------------------------------------------------


class Person(msgspec.Struct, frozen=True):
    """One person, and what the chosen tab shows of them."""

    own: bool
    me: people.Me
    full: PersonShown | None
    department: str
    names: Mapping[str, str]
    tab: str
    data: Any


class DayShown(msgspec.Struct, frozen=True):
    """A day's activations, and the conversation of the one that is open."""

    day: str
    lines: tuple[ActivationLine, ...]
    open: str
    shown: ActivationShown | None
    talk: ConversationShown | None


class Activations(msgspec.Struct, frozen=True):
    """A part of the list of all activations."""

    lines: tuple[ActivationLine, ...]
    skip: int
    total: int


class Seen(msgspec.Struct, frozen=True):
    """A part of the files that the person sees."""

    lines: tuple[FileLine, ...]
    text: str
    skip: int
    total: int


def load(ask: Ask) -> Person:
    """Return one person. All that is not for the operator alone has passed through the person's view."""
    office, person = ask.office, ask.get("person")
    if person not in office.people:
        raise UnknownReference(f"Nobody here has the id {person!r} at this moment.")
    seen = view(office, Subject(person))
    own = not ask.caller.operator
    tab = ask.get("tab", "now")
    allowed = OWN_TABS if own else tuple(TABS)
    tab = tab if tab in allowed else "now"
    full = None if own else people.person(office, seen, person)
    record = office.people[person]
    where = office.clients.get(record.client) if record.kind == "client" else office.departments.get(record.department)
    names = whose.eyes(ask, person if own else "").names
    return Person(own, people.me(office, seen), full, where.name if where else "", names, tab, _LOADS[tab](ask, person, seen))


def _load_now(ask: Ask, person: str, seen: View) -> tuple[Notice, ...]:
    return tuple(people.notices(ask.office, seen)[:20])


def _load_memory(ask: Ask, person: str, seen: View) -> MemoryPage:
    return memory.memory(ask.office, seen, ask.book.texts)


def _load_day(ask: Ask, person: str, seen: View) -> DayShown:
    office, book = ask.office, ask.book
    calendar_ = calendar_for(office.calendar)
    day = calendar_.day(office.now)
    found = [a for a in sessions.activations(book, person, upto=office.revision) if a.kind != "segment"]
    lines = tuple(sessions.line(office, a) for a in found if calendar_.day(a.at) == day)
    chosen = ask.get("activation") or (lines[0].id if lines else "")
    if not any(line.id == chosen for line in lines):
        return DayShown(day, lines, "", None, None)
    return DayShown(day, lines, chosen, sessions.activation(book, chosen), talk_of(ask, chosen))


def talk_of(ask: Ask, activation: str, session: str = "", skip: int | None = None) -> ConversationShown | None:
    """Return the latest part of an activation's conversation, or that after `skip`; None where nothing was said yet."""
    try:
        start = sessions.conversation(ask.book, activation, session, 0, 1, 1)
    except UnknownReference:
        return None
    after = max(0, start.total - conversation.AT_ONCE) if skip is None else skip
    own = start.own if skip is None and start.total - start.own <= conversation.AT_ONCE else after
    return sessions.conversation(ask.book, activation, session, own, conversation.AT_ONCE, conversation.CHARS)


def _load_sessions(ask: Ask, person: str, seen: View) -> Activations:
    found = sessions.activations(ask.book, person, upto=ask.office.revision)
    skip = ask.number("skip")
    lines = tuple(sessions.line(ask.office, a) for a in found[skip : skip + AT_ONCE])
    return Activations(lines, skip, len(found))


def _load_files(ask: Ask, person: str, seen: View) -> Seen:
    text = ask.get("text")
    found = files.seen_files(seen, text)
    skip = ask.number("skip")
    lines = tuple(files.seen_line(ask.office, seen, f) for f in found[skip : skip + AT_ONCE])
    return Seen(lines, text, skip, len(found))


_LOADS: dict[str, Callable[[Ask, str, View], Any]] = {
    "now": _load_now, "memory": _load_memory, "day": _load_day, "sessions": _load_sessions, "files": _load_files,
    "mail": lambda ask, person, seen: mail.load_for(ask, person),
    "chat": lambda ask, person, seen: chat.load_for(ask, person),
    "calendar": lambda ask, person, seen: calendar.load_for(ask, person),
}  # fmt: skip


# -- drawn ------------------------------------------------------------------------------------------------------------------


def draw(shell: Shell, shown: Person) -> None:
    """Draw one person."""
    me = shown.me
    with kit.box("row between"):
        with kit.box("row"):
            doing = shown.full.desk.doing if shown.full else "played" if me.played else "idle"
            kit.Tag("span", f"avatar large doing-{doing}", floorplan.initials(me.name), aria_hidden="true")
            with kit.box("stack tight"):
                kit.heading(me.name, 1, test="person-name")
                kit.text(f"{me.title}{f', {shown.department}' if shown.department else ''}", "hint")
        if shown.full is not None:
            kit.chip(floorplan.doing(shown.full.desk), f"doing-{shown.full.desk.doing}", test="person-doing")
    options = {name: words for name, words in TABS.items() if not shown.own or name in OWN_TABS}
    kit.tabs("What to look at", options, shown.tab, lambda v: shell.turn(
        tab="" if v == "now" else v, skip="", activation="", text="", mail="", room="", day=""), "tab")  # fmt: skip
    partaking.role(shell, me.id, me.name, me.played)
    with kit.box("stack wide-gap", test=f"person-{shown.tab}"):
        _DRAWS[shown.tab](shell, shown)


def _draw_now(shell: Shell, shown: Person) -> None:
    me, full = shown.me, shown.full
    with kit.box("halves"):
        with kit.card("Role"):
            pairs = [
                ("Id", me.id), ("Mail", me.email), ("Reports to", shown.names.get(full.manager, full.manager) if full else ""),
                ("May", ", ".join(a.replace("_", " ") for a in me.authority)), ("Clearance", me.clearance),
                ("Skills", ", ".join(full.skills) if full else ""), ("Works", full.style if full else ""),
                ("Matters", ", ".join(me.matters)), ("Session", full.session if full else ""),
                ("Sees", ", ".join(f"{count:,} {name}" for name, count in me.sees.items())),
            ]  # fmt: skip
            kit.facts(pairs)
            if full is not None:
                with kit.box("row"):
                    kit.link("Mail", shell.url("mail", person=me.id), "btn small")
                    kit.link("Delegated work", shell.url("work", person=me.id), "btn small")
        with kit.box("stack wide-gap"):
            if full is not None:
                with kit.card("Inbox", test="inbox"):
                    for c in full.inbox:
                        with kit.box("feed-line"):
                            kit.text(short(c.since), "time")
                            kit.text(c.text)
                            if not c.wakes:
                                kit.chip("can wait")
                    if not full.inbox:
                        kit.empty("Nothing waits for them.")
            with kit.card("Notices"):
                for n in shown.data:
                    with kit.box("feed-line"):
                        kit.text(short(n.at), "time")
                        kit.text(n.text)
                if not shown.data:
                    kit.empty("No notice yet.")


def short(at: When) -> str:
    """Return a moment as month-day and time."""
    return at.local[5:16].replace("T", " ")


def _draw_memory(shell: Shell, shown: Person) -> None:
    page: MemoryPage = shown.data
    kit.text("What they are reminded of when they begin to work, chosen for what wakes them; below, all that they keep.",
             "hint", "p")  # fmt: skip
    injected(page.injected)
    with kit.fold(f"All {len(page.records)} open records"), kit.box("stack"):
        for record in page.records[:300]:
            _memory(record)


def injected(given: Injected) -> None:
    """Draw the records that an activation is given."""
    with kit.box("cards", test="injected"):
        for name, records in msgspec.structs.asdict(given).items():
            with kit.card({"colleagues": "Colleagues", "questions": "Open questions", "decisions": "Open decisions"}.get(
                    name, name.capitalize())):  # fmt: skip
                for record in records:
                    _memory(record)
                if not records:
                    kit.empty("None.")


def _memory(record: MemoryShown) -> None:
    with kit.box("stack tight memory"):
        kit.text(record.text, "said")
        due = f" · due {short(record.due)}" if record.due.local else ""
        kit.text(f"{short(record.at)}{due}{f' · {record.about}' if record.about else ''}", "faint")


def _draw_day(shell: Shell, shown: Person) -> None:
    day: DayShown = shown.data
    if not day.lines:
        kit.empty(f"They have not been at work on {day.day} by this moment.")
        return
    with kit.box("side"):
        with kit.card("", "flush list", test="day-list"):
            for line in day.lines:
                made = kit.button("", lambda line=line: shell.turn(activation=line.id), "item", test=f"activation-{line.id}")
                made.set(aria_current="true" if line.id == day.open else None)
                with made, kit.Tag("span", "stack tight"):
                    with kit.Tag("span", "row between"):
                        kit.text(_KINDS.get(line.kind, line.kind), "strong")
                        kit.text(f"{line.began.local[11:16]}–{line.ended.local[11:16] or 'now'}", "time")
                    kit.text(f"{line.turns} turns" if line.ended.at else "under way", "faint")
        with kit.card("", test="day-conversation"):
            if day.shown is not None:
                kit.text("Woken by: " + ("; ".join(c.text for c in day.shown.woken_by[:6]) or "the clock"), "hint", "p")
                kit.link("Everything about this piece of work", shell.url("session", activation=day.open))
            if day.talk is not None:
                conversation.draw(day.talk, shown.me.name)
            else:
                kit.empty("Nothing has been said yet.")


def _draw_sessions(shell: Shell, shown: Person) -> None:
    found: Activations = shown.data
    with kit.card("", test="sessions"):
        mail.pager(shell, found.skip, AT_ONCE, found.total)
        rows(shell, found.lines)


def rows(shell: Shell, lines: tuple[ActivationLine, ...]) -> None:
    """Draw activations as a table."""
    Table("Activations", ("Began", "Ended", "What", "Turns", "Outcome"), [
        (cell(line.began.local.replace("T", " ")[:16], shell.url("session", activation=line.id), "num"),
         cell(line.ended.local[11:16] or "–", "", "num"), f"{_KINDS.get(line.kind, line.kind)}: {line.actor_name}",
         cell(str(line.turns or ""), "", "num"), line.outcome or "under way")
        for line in lines
    ])  # fmt: skip


def _draw_files(shell: Shell, shown: Person) -> None:
    seen: Seen = shown.data
    with kit.card("", test="seen-files"):
        with kit.box("row between"):
            kit.text(f"{seen.total:,} files, where {shown.me.name} sees them, and why.", "hint", "p")
            kit.search("Search in paths", seen.text, lambda v: shell.turn(text=v, skip=""), "files-search")
        mail.pager(shell, seen.skip, AT_ONCE, seen.total, "Before", "After")
        file_table(shell, seen.lines, shown.names)


def file_table(shell: Shell, lines: tuple[FileLine, ...], names: Mapping[str, str], reasons: bool = True) -> None:
    """Draw files as a table, linked to the file's page; to the bytes for a person who comes with their own key."""
    own = not shell.caller.operator
    Table("Files", ("Path", "Version", "By", "Changed", "Class", "Size", *(("Why",) if reasons else ())), [
        (cell(f.path, _own_content(shell, f) if own else shell.url("file", file=f.id, version=f.latest), "path"),
         cell(f"{f.latest}{' ✓' if f.accepted else ''}", "", "num", "accepted" if f.accepted else ""),
         author(names, f.author), cell(short(f.at), "", "num"), cell(f.level, "", f"level {f.level}"),
         cell(size(f.size), "", "num"), *((cell(f.reason, "", "faint"),) if reasons else ()))
        for f in lines
    ])  # fmt: skip


def _own_content(shell: Shell, f: FileLine) -> str:
    path = "/api/v1/offices/{office}/as/{person}/files/{file}/versions/{version}/content"
    return shell.address(path, person=shell.caller.person, file=f.id, version=f.latest)


def author(names: Mapping[str, str], who: str) -> str:
    """Return who made something."""
    kind, _, ref = who.partition(":")
    owner = ref.partition(".")[0]
    return f"{names.get(owner, owner)}'s assistant" if kind == "assistant" else names.get(who, who)


def level(name: str) -> str:
    """Return how a classification is coloured."""
    return {"public": "good", "internal": "", "confidential": "warn", "restricted": "bad"}.get(name, "")


_DRAWS: dict[str, Callable[[Shell, Person], None]] = {
    "now": _draw_now, "memory": _draw_memory, "day": _draw_day, "sessions": _draw_sessions, "files": _draw_files,
    "mail": lambda shell, shown: mail.body(shell, shown.data), "chat": lambda shell, shown: chat.body(shell, shown.data),
    "calendar": lambda shell, shown: calendar.body(shell, shown.data),
}  # fmt: skip

PAGE = Page("people", PATHS["people"], "People", "badge", load_all, draw_all)
PERSON = Page("person", PATHS["person"], "Person", "badge", load, draw, menu=False, under="people", personal=True)
