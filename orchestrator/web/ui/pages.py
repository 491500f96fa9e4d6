"""All pages, in the order of the menu. A page joins by being named here."""

from __future__ import annotations

from orchestrator.web.ui import calendar, chat, experts, floor, mail, meetings, offices, results
from orchestrator.web.ui.shell import Page

FIRST: Page = offices.PAGE
PERSONAL: Page = floor.PAGE
ALL: tuple[Page, ...] = (offices.PAGE, floor.PAGE, mail.PAGE, chat.PAGE, meetings.PAGE, calendar.PAGE, *experts.PAGES, *results.PAGES)
