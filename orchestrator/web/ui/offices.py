"""Offices."""
from __future__ import annotations

from orchestrator.web.queries import offices
from orchestrator.web.ui import kit
from orchestrator.web.ui.asked import Ask
from orchestrator.web.ui.shell import Page, Shell


def load(ask: Ask) -> tuple[offices.OfficeLine, ...]:
    return offices.offices(ask.parts.shelf, ask.parts.town.running())


def draw(shell: Shell, lines: tuple[offices.OfficeLine, ...]) -> None:
    with kit.card("Offices"):
        for line in lines:
            kit.link(line.name, f"/office/{line.id}/floor")


PAGE = Page("offices", "/offices", "Offices", "apartment", load, draw)
