"""An office that has much of everything: its pages stay small, say what they leave out, and lead to the rest."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest
from playwright.sync_api import Page, expect

from orchestrator.compose import House
from orchestrator.settings import read_settings
from tests.browser import large
from tests.browser.conftest import Town
from tests.browser.looking import faults, settle, sideways, visit
from tools.browsing import serving

MOST_ELEMENTS = 15_000
"""A dozen for each of the thousand people, and the page around them."""


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    """A served home with the large office alone."""
    home: Path = tmp_path_factory.mktemp("large-home")
    house = House(read_settings({"OFFICETOWN_HOME": str(home)}))
    office = large.seed(house)
    house.close()
    with serving(home) as server:
        yield Town(server.url, home, office, "", "", "")


def _elements(page: Page) -> int:
    return int(page.evaluate("() => document.querySelectorAll('*').length"))


def _room(big: Town) -> str:
    rooms = big.get(f"/offices/{big.done}/rooms")
    found = rooms[0]
    assert found["messages"] == large.MESSAGES
    return str(found["id"])


def test_a_room_with_ten_thousand_messages_is_read_a_part_at_a_time(page: Page, big: Town) -> None:
    visit(page, big, f"/office/{big.done}/chat?room={quote(_room(big))}")
    messages = page.get_by_test_id("room").locator("li.message")
    expect(messages.last).to_contain_text(large.said(large.MESSAGES - 1))
    shown = messages.count()
    assert 50 <= shown <= 200 and faults(page) == [] and _elements(page) < MOST_ELEMENTS
    page.get_by_role("button", name="Older").click()
    expect(messages.last).to_contain_text(large.said(large.MESSAGES - 1 - shown))
    visit(page, big, f"/office/{big.done}/chat?room={quote(_room(big))}&skip={large.MESSAGES - 10}")
    expect(messages.first).to_contain_text(large.said(0))


@pytest.mark.parametrize("page", [1280, 390], ids=["wide", "narrow"], indirect=True)
@pytest.mark.parametrize("name", ["floor", "people", "chat", "files", "work", "numbers", "health", "calendar"])
def test_a_page_of_an_office_of_a_thousand_stays_within_its_bounds(page: Page, big: Town, name: str) -> None:
    visit(page, big, f"/office/{big.done}/{name}")
    assert faults(page) == []
    assert _elements(page) < MOST_ELEMENTS
    assert sideways(page) == []


def test_everybody_of_a_thousand_can_be_found(page: Page, big: Town) -> None:
    visit(page, big, f"/office/{big.done}/person/p{large.PEOPLE - 1}")
    expect(page.get_by_role("heading", name=f"Person Number {large.PEOPLE - 1}").first).to_be_visible()


def test_a_workbook_of_40_mb_says_that_it_is_too_large_and_is_handed_over_whole(page: Page, big: Town) -> None:
    files = big.get(f"/offices/{big.done}/files")
    by_path = {file["path"]: file["id"] for file in files["items"]}
    visit(page, big, f"/office/{big.done}/file/{by_path[large.HUGE]}")
    expect(page.get_by_text("too much to show here")).to_be_visible()
    assert faults(page) == []
    address = f"{big.url}/api/v1/offices/{big.done}/files/{by_path[large.HUGE]}/versions/1/content"
    with httpx.stream("GET", address, timeout=60) as answer:
        assert answer.status_code == 200
        assert sum(map(len, answer.iter_bytes())) > large.HUGE_BYTES


def test_a_workbook_of_thirty_thousand_rows_is_shown_in_part(page: Page, big: Town) -> None:
    files = big.get(f"/offices/{big.done}/files")
    file = next(f["id"] for f in files["items"] if f["path"] == large.MIDDLING)
    visit(page, big, f"/office/{big.done}/file/{file}")
    settle(page)
    expect(page.get_by_text("T-", exact=False).first).to_be_visible()
    assert _elements(page) < MOST_ELEMENTS and faults(page) == []
