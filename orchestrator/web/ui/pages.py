"""All pages, in the order of the menu. A page joins by being named here."""

from __future__ import annotations

from orchestrator.web.ui import (
    calendar,
    chat,
    delegation,
    experts,
    file,
    files,
    floor,
    health,
    mail,
    meetings,
    numbers,
    offices,
    people,
    results,
    session,
    work,
)
from orchestrator.web.ui.shell import Page

FIRST: Page = offices.PAGE
PERSONAL: Page = people.PERSON
ALL: tuple[Page, ...] = (
    offices.PAGE, floor.PAGE, people.PAGE, people.PERSON, session.PAGE, work.PAGE, delegation.PAGE, files.PAGE, file.PAGE,
    mail.PAGE, chat.PAGE, meetings.PAGE, calendar.PAGE, numbers.PAGE, health.PAGE, *experts.PAGES, *results.PAGES,
)  # fmt: skip
