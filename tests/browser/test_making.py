"""From an empty home to a task, by hand: a brief is written, the firm made and run, and some of its work frozen."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Error, Page, expect

from bench.snapshot import open_snapshot
from tests.browser.conftest import Town
from tests.browser.looking import visit
from tools.browsing import serving

BRIEF = "Boutique law firm of six people with two clients in London"
LONG_MS = 180_000
"""A firm is made and some days of it are run while other tests may have the machine."""


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    """A served home in which there is nothing yet."""
    home: Path = tmp_path_factory.mktemp("empty-home")
    with serving(home) as server:
        yield Town(server.url, home, "", "", "", "")


def _made(page: Page, before: int = 0) -> None:
    """Follow the new office to its floor: at once where it was made at once, or from the list of what was done, in which
    `before` others were already."""
    done = page.get_by_test_id("jobs").get_by_role("link", name="Open it")
    floor = page.get_by_test_id("page-floor")
    expect(done.nth(before).or_(floor).first).to_be_visible(timeout=LONG_MS)
    if not floor.is_visible():
        try:
            done.first.click(timeout=5_000)
        # The page had gone there by itself meanwhile, and the link with it.
        except Error:
            expect(floor).to_be_visible()
    expect(floor).to_be_visible()


def test_a_firm_is_made_from_a_brief_and_runs(page: Page, empty: Town) -> None:
    visit(page, empty, "/offices")
    expect(page.get_by_test_id("office-list")).to_contain_text("There is no office yet")
    page.get_by_test_id("new-days").fill("2")
    page.get_by_test_id("new-speed").select_option("max")
    page.get_by_test_id("new-brief-part").locator("summary").click()
    page.get_by_test_id("new-brief").fill(BRIEF)
    page.get_by_test_id("new-from-brief").click()
    _made(page)
    expect(page.get_by_text("Days are over")).to_be_visible(timeout=LONG_MS)
    (office,) = empty.get("/offices")
    people = empty.get(f"/offices/{office['id']}/people")
    assert sum(p["kind"] != "client" for p in people) == 6
    assert office["head"] > 100


def test_a_brief_that_says_nothing_is_refused_in_words(page: Page, empty: Town) -> None:
    visit(page, empty, "/offices")
    page.get_by_test_id("new-brief-part").locator("summary").click()
    page.get_by_test_id("new-from-brief").click()
    expect(page.get_by_text("Say what to make it from")).to_be_visible()


def test_work_that_was_reviewed_is_frozen_and_waits_for_experts(page: Page, empty: Town) -> None:
    visit(page, empty, "/offices")
    page.get_by_test_id("new-package").select_option("juniper")
    page.get_by_test_id("new-name").fill("To freeze")
    page.get_by_test_id("new-days").fill("6")
    page.get_by_test_id("new-speed").select_option("max")
    before = page.get_by_test_id("jobs").get_by_role("link", name="Open it").count()
    page.get_by_test_id("new-from-package").click()
    _made(page, before)
    expect(page.get_by_test_id("office-name")).to_have_text("To freeze")
    expect(page.get_by_text("Days are over")).to_be_visible(timeout=LONG_MS)
    office = next(o["id"] for o in empty.get("/offices") if o["name"] == "To freeze")
    done = empty.get(f"/offices/{office}/delegations")
    accepted = next(d["id"] for d in done["items"] if d["state"] == "accepted")
    visit(page, empty, f"/office/{office}/work/{accepted}")
    page.get_by_test_id("freeze").click()
    expect(page.get_by_text(re.compile("^Frozen: "))).to_be_visible(timeout=LONG_MS)
    (folder,) = (empty.home / "snapshots" / office).iterdir()
    version = open_snapshot(folder).manifest.hash
    visit(page, empty, "/experts?expert=Ada")
    expect(page.locator(f"a[href^='/experts/{version}']")).to_be_visible()
