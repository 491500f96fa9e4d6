"""*Health*: why something happens or nothing does, who waits for what, and how everything that the office needs is doing."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

import msgspec

from orchestrator.web.queries import health
from orchestrator.web.queries.health import Health
from orchestrator.web.ui import kit, people
from orchestrator.web.ui.asked import Ask
from orchestrator.web.ui.content import size
from orchestrator.web.ui.paths import PATHS
from orchestrator.web.ui.shell import Page, Shell

_MOST = 60


class Shown(msgspec.Struct, frozen=True):
    """How the office is doing now."""

    health: Health
    names: Mapping[str, str]
    past: bool


def load(ask: Ask) -> Shown:
    """Return how the office is doing now, whatever moment is looked at."""
    found = health.health(ask.parts.house, ask.parts.town, ask.book)
    return Shown(found, {p.id: p.name for p in ask.office.people.values()}, not ask.live)


def draw(shell: Shell, shown: Shown) -> None:
    """Draw it."""
    h = shown.health
    kit.heading("Health", 1)
    if shown.past:
        kit.text("Health is always of the present, whatever moment is on the slider.", "hint", "p")
    with kit.card("What is happening", "why", role="status", test="why"):
        kit.text(h.why, "why-text", "p")
    if h.last_error:
        with kit.card("Last error, word for word", "", test="last-error"):
            kit.Tag("pre", "pre fault-text", h.last_error, tabindex="0")
    with kit.box("halves"):
        _waiting(shown)
        with kit.card("Coming next", test="health-coming"):
            for c in h.coming:
                with kit.box("feed-line"):
                    kit.text(people.short(c.at), "time")
                    kit.text(f"{c.what}{f', {shown.names[c.who]}' if c.who in shown.names else ''}")
            if not h.coming:
                kit.empty("Nothing is due.")
    with kit.box("cards", test="parts"):
        _endpoints(h)
        _sandbox(h)
        _database(h)
        _carriers(h)
        _outbox(h)
    if h.calls:
        with kit.card("Model calls without an answer"):
            kit.table("Calls without an answer", ("Activation", "Call", "Role", "At worst"),
                      [(c.activation, str(c.ordinal), c.role, f"{c.worst_case_micros / 1_000_000:.4f}") for c in h.calls[:_MOST]])  # fmt: skip
    if h.remarks or h.not_let_in:
        with kit.card("Said while it ran"):
            for r in reversed(h.remarks):
                at = datetime.fromtimestamp(r.at, UTC)
                with kit.box("feed-line"):
                    kit.text(f"{at:%H:%M:%S} UTC", "time")
                    kit.text(r.text)
            for words in h.not_let_in:
                kit.text(f"Not let in: {words}", "hint", "p")


def _waiting(shown: Shown) -> None:
    with kit.card("Who waits for what", test="waiting"):
        rows = [
            (w.name, w.what + (f" of {shown.names[w.of]}" if w.of in shown.names and w.of != w.who else ""), people.short(w.since),
             people.short(w.until) or "–")
            for w in shown.health.waiting[:_MOST]
        ]  # fmt: skip
        if rows:
            kit.table("Who waits for what", ("Who", "For", "Since", "Until"), rows)
        else:
            kit.empty("Nobody waits for anything.")


def _part(title: str, well: bool, words: str) -> kit.Tag:
    made = kit.card("", "part")
    with made, kit.box("row between"):
        kit.heading(title, 2, "card-title")
        kit.chip(words, "good" if well else "bad")
    return made


def _endpoints(h: Health) -> None:
    with _part("Models", True, f"{len(h.endpoints)} in use"):
        for e in h.endpoints:
            with kit.box("stack tight memory"):
                kit.text(e.name, "strong")
                kit.text(e.url or "on this machine, without a network", "faint")
                kit.text(f"answers as {', '.join(e.roles)}" if e.roles else "answers for nobody", "faint")


def _sandbox(h: Health) -> None:
    with _part("Sandboxes", not h.sandbox.fault, "work" if not h.sandbox.fault else "do not work"):
        kit.text(f"{h.sandbox.provider or 'none'}; {h.sandbox.at_work} at work now", "", "p")
        if h.sandbox.fault:
            kit.text(h.sandbox.fault, "fault-text said", "p")


def _database(h: Health) -> None:
    d = h.database
    with _part("Database", not d.fault, "answers" if not d.fault else "fault"):
        kit.text(d.address, "mono said", "p")
        kit.text(f"{size(d.bytes) if d.bytes else 'size unknown'} · answers in {d.milliseconds:g} ms", "faint")
        if d.fault:
            kit.text(d.fault, "fault-text said", "p")


def _carriers(h: Health) -> None:
    ill = [c for c in h.carriers if c.fault]
    with _part("Carriers", not ill, "none" if not h.carriers else "reachable" if not ill else f"{len(ill)} not reachable"):
        for c in h.carriers:
            kit.text(f"{c.what}: {c.server}", "", "p")
            if c.fault:
                kit.text(c.fault, "fault-text said", "p")
        if not h.carriers:
            kit.text("No server outside shows this office: its own record is the truth.", "hint", "p")


def _outbox(h: Health) -> None:
    stuck = [lane for lane in h.outbox if lane.last_error]
    waiting = sum(lane.waiting for lane in h.outbox)
    with _part("Outbox", not stuck, f"{waiting} waiting" if waiting else "empty"):
        for lane in h.outbox[:20]:
            kit.text(f"{lane.lane}: {lane.waiting} waiting, {lane.attempts} tries", "", "p")
            if lane.last_error:
                kit.text(lane.last_error, "fault-text said", "p")
        if not h.outbox:
            kit.text("Nothing waits to be delivered.", "hint", "p")


PAGE = Page("health", PATHS["health"], "Health", "monitor_heart", load, draw, every=2.0)
