"""Every page, in a real browser, on a finished, a running and a hostile office: it shows, it fits, it has names."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from orchestrator.web.ui.pages import ALL
from tests.browser.conftest import Town
from tests.browser.looking import addresses, faults, nameless, overlaps, shared, sideways, tabbable, tabbed, visit

OFFICES = ("done", "live")
EITHER = pytest.mark.parametrize("page", [1280, 390], ids=["wide", "narrow"], indirect=True)


def judged(page: Page, town: Town, path: str) -> list[str]:
    """Open a page; return everything that is wrong with it."""
    visit(page, town, path)
    wrong = [f"it says: {fault}" for fault in faults(page)]
    wrong += [f"it scrolls sideways: {each}" for each in sideways(page)]
    wrong += [f"text lies upon text: {each}" for each in overlaps(page)]
    wrong += [f"no name: {each}" for each in nameless(page)]
    if page.locator("h1").count() + page.locator("h2").count() == 0:
        wrong.append("it has no heading")
    return [f"{path}: {each}" for each in wrong]


@EITHER
@pytest.mark.parametrize("office", OFFICES)
def test_every_page_of_an_office_shows_and_fits(page: Page, town: Town, office: str) -> None:
    listed = list(addresses(town, getattr(town, office)))
    wrong = [each for one in listed for each in judged(page, town, one.path)]
    assert wrong == []
    assert {one.page for one in listed} == {p.name for p in ALL if p.of_office}, "every page of an office was opened"


@EITHER
def test_every_page_of_no_office_shows_and_fits(page: Page, town: Town) -> None:
    assert [each for one in shared(town) for each in judged(page, town, one.path)] == []


def test_tab_reaches_every_control_of_every_page(page: Page, town: Town) -> None:
    """Issue 5: keyboard. Folded parts open from the keyboard too; what is inside them is reached once they are open."""
    missed = []
    for one in [*addresses(town, town.done), *shared(town)]:
        visit(page, town, one.path)
        wanted = tabbable(page)
        reached = tabbed(page, len(wanted) + 6)
        missed += [f"{one.path}: {wanted[n]}" for n in range(len(wanted)) if n not in reached]
    assert missed == []


def test_a_page_of_nothing_says_so_and_shows_the_way(page: Page, town: Town) -> None:
    """Unknown ids, revisions in the future, moments that are none."""
    for path in (
        "/office/no-such-office/floor", f"/office/{town.done}/floor?at=99999999", f"/office/{town.done}/floor?at=yesterday",
        f"/office/{town.done}/floor?at=1999-01-01", "/experts/0000", "/results/trial?trial=none", "/results/forks?first=x&second=y",
        "/nowhere", "/results?folder=none",
    ):  # fmt: skip
        answer = page.goto(f"{town.url}{path}")
        assert answer is not None and answer.status < 500, path
        expect(page.get_by_role("link").first, f"{path} leads somewhere").to_be_visible()
