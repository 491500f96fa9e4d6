"""Floor."""
from __future__ import annotations

from orchestrator.web.queries import state
from orchestrator.web.queries.state import Floor
from orchestrator.web.ui import kit
from orchestrator.web.ui.asked import Ask
from orchestrator.web.ui.shell import Page, Shell


def load(ask: Ask) -> Floor:
    return state.floor(ask.office)


def draw(shell: Shell, seen: Floor) -> None:
    with kit.card("People"):
        for p in seen.people:
            kit.text(f"{p.name} {p.doing} {p.about}", tag="p")


PAGE = Page("floor", "/office/{office}/floor", "Floor", "meeting_room", load, draw, every=1.0)
