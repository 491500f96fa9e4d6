"""*Work*: what people ask of each other and of their assistants, as a board from asked to done."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from orchestrator.web.queries import work
from orchestrator.web.queries.common import When
from orchestrator.web.queries.work import DelegationLine, RequestShown
from orchestrator.web.ui import kit, people, whose
from orchestrator.web.ui.asked import Ask
from orchestrator.web.ui.paths import PATHS
from orchestrator.web.ui.shell import Page, Shell

MOST = 40
"""Cards of one column that are shown."""


class Ticket(msgspec.Struct, frozen=True):
    """A card on the board: a request (`who` asks `whom`) or a delegation (`whom` is empty)."""

    id: str
    kind: str
    title: str
    who: str
    whom: str
    at: When
    due: When
    state: str
    round: int


class Column(msgspec.Struct, frozen=True):
    """A column of the board: the newest cards first, and how many there are in all."""

    name: str
    hint: str
    tickets: tuple[Ticket, ...]
    total: int


class Shown(msgspec.Struct, frozen=True):
    """The board."""

    columns: tuple[Column, ...]
    person: str
    text: str
    people: Mapping[str, str]
    now: int


_COLUMNS = (
    ("Asked", "Requests that wait for an answer", ("request:open",)),
    ("Taken on", "Requests that somebody has accepted", ("request:accepted",)),
    ("With an assistant", "Delegated, and being worked on", ("delegation:working", "delegation:asking", "delegation:stopped")),
    ("To review", "Handed in; a principal is to decide", ("delegation:submitted",)),
    ("Done", "Accepted work and fulfilled requests", ("delegation:accepted", "request:fulfilled")),
    ("Dropped", "Declined or withdrawn", ("request:declined", "request:withdrawn", "delegation:withdrawn")),
)  # fmt: skip


def load(ask: Ask) -> Shown:
    """Return the board at the moment, of everybody or of one person."""
    office, person, text = ask.office, ask.get("person"), ask.get("text")
    delegations = work.delegations(office, person)
    requests = work.requests(office, person)
    show_delegation = work.delegation_line(office, ask.book.texts)
    show_request = work.request_shown(office, ask.book.texts)
    by_state: dict[str, list[tuple[int, Ticket]]] = {}
    needle = text.casefold()
    # Texts are loaded for what is shown alone, unless they are to be searched.
    counted: dict[str, int] = {}
    for d in delegations:
        key = f"delegation:{d.state}"
        counted[key] = counted.get(key, 0) + 1
        if needle or counted[key] <= MOST:
            _put(by_state, key, d.at, of_delegation(show_delegation(d)), needle)
    for r in requests:
        key = f"request:{r.state}"
        counted[key] = counted.get(key, 0) + 1
        if needle or counted[key] <= MOST:
            _put(by_state, key, r.at, of_request(show_request(r)), needle)
    columns = []
    for name, hint, states in _COLUMNS:
        found = sorted((pair for s in states for pair in by_state.get(s, [])), key=lambda p: (p[0], p[1].id), reverse=True)
        total = len(found) if needle else sum(counted.get(s, 0) for s in states)
        columns.append(Column(name, hint, tuple(ticket for _, ticket in found[:MOST]), total))
    return Shown(tuple(columns), person, text, whose.everybody(office), office.now)


def _put(by_state: dict[str, list[tuple[int, Ticket]]], key: str, at: int, ticket: Ticket, needle: str) -> None:
    if needle in ticket.title.casefold():
        by_state.setdefault(key, []).append((at, ticket))


def of_delegation(d: DelegationLine) -> Ticket:
    """Return a delegation as a card."""
    title = " ".join(part for part in (d.work.replace("-", " ").capitalize(), d.period) if part) or d.goal
    return Ticket(d.id, "delegation", title, d.principal, "", d.at, d.due, d.state, d.round)


def of_request(r: RequestShown) -> Ticket:
    """Return a request as a card."""
    return Ticket(r.id, "request", r.outcome, r.asker, r.owner, r.at, r.due, r.state, 0)


def draw(shell: Shell, shown: Shown) -> None:
    """Draw the board."""
    with kit.box("row between"):
        kit.heading("Work", 1)
        with kit.box("row"):
            kit.search("Search", shown.text, lambda v: shell.turn(text=v), "work-search")
            options = {"": "Everybody's", **shown.people}
            kit.choice("Whose work", options, shown.person, lambda v: shell.turn(person=v), "work-person")
    with kit.box("board", test="board"):
        for column in shown.columns:
            with kit.Tag("section", "board-column", None, test=f"column-{column.name.lower().replace(' ', '-')}"):
                with kit.box("row between"):
                    kit.heading(column.name, 2, title=column.hint)
                    kit.text(f"{column.total:,}", "faint num")
                for ticket in column.tickets:
                    _ticket(shell, shown, ticket)
                if not column.tickets:
                    kit.text("–", "faint")
                elif column.total > len(column.tickets):
                    kit.text(f"and {column.total - len(column.tickets):,} earlier", "faint")


def _ticket(shell: Shell, shown: Shown, t: Ticket) -> None:
    late = t.due.at and t.due.at < shown.now and t.state in ("open", "accepted", "working", "asking", "submitted")
    with kit.Tag("article", f"ticket {t.kind}", None, test=f"ticket-{t.id}"):
        if t.kind == "delegation":
            kit.link(t.title, shell.url("delegation", delegation=t.id), "strong clamp")
            with kit.box("row tight-row"):
                kit.chip(t.state, f"work-{t.state}")
                if t.round > 1:
                    kit.chip(f"round {t.round}", "warn")
            kit.text(f"{shown.people.get(t.who, t.who)} and assistant", "faint")
        else:
            kit.text(t.title, "clamp")
            kit.text(f"{shown.people.get(t.who, t.who)} → {shown.people.get(t.whom, t.whom)}", "faint")
        said = f"since {people.short(t.at)}" + (f" · due {people.short(t.due)}" if t.due.local else "")
        kit.text(f"{said}{' · late' if late else ''}", "late" if late else "faint")


PAGE = Page("work", PATHS["work"], "Work", "view_kanban", load, draw)
