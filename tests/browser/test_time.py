"""Time in a real browser: the floor changes while the office runs, the slider shows a past day's truth, two people steer one clock."""

from __future__ import annotations

import re
from collections.abc import Iterator

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from orchestrator.compose import House
from orchestrator.settings import read_settings
from services.storage.reader import JournalReader
from simulator.businesstime import calendar_for
from simulator.engine.history import as_of, walk
from simulator.office import Office
from tests.browser.conftest import Town, stir
from tests.browser.looking import visit

_SLIDE = """(input, t) => {
  Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(input, t);
  input.dispatchEvent(new Event('input', {bubbles: true}));
}"""


@pytest.fixture(scope="module")
def log(home: object, town: Town) -> Iterator[JournalReader]:
    """The finished office's own record, read beside the server."""
    house = House(read_settings({"OFFICETOWN_HOME": str(town.home)}))
    yield house.offices.read(town.done)
    house.close()


def at(log: JournalReader, moment: str) -> Office:
    """The office as of a moment, folded from its first event: nothing of the web is asked."""
    calendar = calendar_for(as_of(log, 1).calendar)
    day, _, time = moment.partition(" ")
    hours, _, minutes = time.partition(":")
    until = calendar.at(day, 60 * int(hours) + int(minutes))
    found = as_of(log, 1)
    for event, office in walk(log):
        if event.sim_time > until:
            break
        found = office
    return found


def slide(page: Page, office: Office, moment: str) -> None:
    day, _, time = moment.partition(" ")
    hours, _, minutes = time.partition(":")
    instant = calendar_for(office.calendar).at(day, 60 * int(hours) + int(minutes))
    page.get_by_test_id("time-slider").evaluate(_SLIDE, instant)


# -- a running office -------------------------------------------------------------------------------------------------------


def test_the_floor_changes_while_the_office_runs(page: Page, town: Town) -> None:
    visit(page, town, f"/office/{town.live}/floor")
    expect(page.get_by_test_id("clock-state")).to_have_text("Running")
    before = page.get_by_test_id("page-floor").inner_text()
    clock = page.get_by_test_id("clock").inner_text()
    stir(town.url, town.live)
    page.wait_for_function(
        "(before) => document.querySelector('[data-testid=page-floor]').innerText !== before", arg=before, timeout=60_000
    )
    expect(page.get_by_test_id("clock")).not_to_have_text(clock, timeout=60_000)
    expect(page.get_by_test_id("moment")).to_have_text("Now")


def test_two_browsers_steer_one_clock_and_both_see_it(page: Page, browser: Browser, town: Town) -> None:
    """Issue 5: the last command wins, and the other's page says so without being loaded anew."""
    other = browser.new_context().new_page()
    try:
        visit(page, town, f"/office/{town.live}/floor")
        visit(other, town, f"/office/{town.live}/floor")
        page.get_by_test_id("clock-pause").click()
        expect(page.get_by_test_id("clock-state")).to_have_text("Paused")
        expect(other.get_by_test_id("clock-state")).to_have_text("Paused", timeout=15_000)
        other.get_by_test_id("clock-resume").click()
        expect(other.get_by_test_id("clock-state")).to_have_text("Running")
        expect(page.get_by_test_id("clock-state")).to_have_text("Running", timeout=15_000)
    finally:
        other.context.close()
        httpx.put(f"{town.url}/api/v1/offices/{town.live}/run", json={"paused": False})


def test_looking_at_the_past_of_a_running_office_stands_still(page: Page, town: Town) -> None:
    visit(page, town, f"/office/{town.live}/floor?at=20")
    before = page.get_by_test_id("page-floor").inner_text()
    page.wait_for_timeout(4_000)
    assert page.get_by_test_id("page-floor").inner_text() == before
    page.get_by_test_id("time-now").click()
    expect(page.get_by_test_id("moment")).to_have_text("Now")
    expect(page).not_to_have_url(re.compile("at="))


def test_a_page_that_lost_its_connection_catches_up(page: Page, town: Town) -> None:
    """A closed laptop: what happened meanwhile is there once it is open again."""
    visit(page, town, f"/office/{town.live}/floor")
    clock = page.get_by_test_id("clock").inner_text()
    page.context.set_offline(True)
    stir(town.url, town.live)
    page.context.set_offline(False)
    expect(page.get_by_test_id("clock")).not_to_have_text(clock, timeout=60_000)


# -- the slider -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("moment", ["2026-01-06 11:00", "2026-01-08 15:30", "2026-01-10 12:00"])
def test_the_slider_shows_a_past_days_truth(page: Page, town: Town, log: JournalReader, moment: str) -> None:
    """What the page shows is what folding the log up to that moment gives, and nothing of later."""
    truth = at(log, moment)
    visit(page, town, f"/office/{town.done}/work")
    slide(page, truth, moment)
    expect(page.get_by_test_id("moment")).to_have_text(f"Revision {truth.revision:,} of {log.head:,}", timeout=10_000)
    page.wait_for_url(f"**at={truth.revision}*")
    shown = page.locator("[data-testid^='ticket-']").evaluate_all("(all) => all.map((e) => e.dataset.testid.slice(7))")
    assert set(shown) == {*truth.delegations, *truth.requests}
    for name, work in truth.delegations.items():
        expect(page.get_by_test_id(f"ticket-{name}")).to_contain_text(work.state)


def test_the_moment_goes_with_the_reader_from_page_to_page_and_into_the_address(
    page: Page, town: Town, log: JournalReader
) -> None:
    truth = at(log, "2026-01-07 10:00")
    visit(page, town, f"/office/{town.done}/floor")
    slide(page, truth, "2026-01-07 10:00")
    page.wait_for_url(f"**at={truth.revision}*")
    expect(page.get_by_test_id("moment")).to_contain_text(f"Revision {truth.revision:,} ")
    for name in ("mail", "work", "files"):
        page.get_by_test_id(f"nav-{name}").click()
        page.wait_for_url(f"**/{name}?at={truth.revision}")
        expect(page.get_by_test_id("moment")).to_contain_text(f"Revision {truth.revision:,} ")
    page.reload()
    expect(page.get_by_test_id("moment")).to_contain_text(f"Revision {truth.revision:,} ")
    calendar = calendar_for(truth.calendar)
    expect(page.get_by_test_id("clock")).to_have_text(f"{calendar.local(truth.now):%a %-d %b %Y, %H:%M}")


def test_the_slider_is_moved_by_the_keyboard(page: Page, town: Town, log: JournalReader) -> None:
    visit(page, town, f"/office/{town.done}/floor")
    slider = page.get_by_role("slider", name="Moment of the office")
    slider.focus()
    page.keyboard.press("PageDown")
    expect(page.get_by_test_id("moment")).to_contain_text(f"of {log.head:,}")
    expect(slider, "a screen reader says the moment in words").to_have_attribute("aria-valuetext", re.compile("."))
    slider.press("End")
    expect(page.get_by_test_id("moment")).to_have_text("Now")


def test_the_past_is_played(page: Page, town: Town) -> None:
    visit(page, town, f"/office/{town.done}/floor?at=150")
    page.get_by_test_id("time-pace").select_option("86400")
    page.get_by_test_id("time-play").click()
    page.wait_for_function("() => !/at=150(&|$)/.test(location.href)")
    expect(page.get_by_test_id("moment")).to_have_text("Now", timeout=30_000)


def test_a_page_lets_go_of_what_it_has_drawn_before(page: Page, town: Town, log: JournalReader) -> None:
    """The framework keeps a name for every element that it ever drew; keep.js takes the dead ones away."""
    refs = "document.getElementById('app')._vnode.component.refs"
    visit(page, town, f"/office/{town.done}/floor")
    alive = int(page.evaluate(f"() => Object.keys({refs}).length"))
    assert alive > 50, "the framework's references are where keep.js looks for them"
    for moment in ("2026-01-06 11:00", "2026-01-07 11:00", "2026-01-08 11:00"):
        slide(page, at(log, moment), moment)
        expect(page.get_by_test_id("moment")).to_contain_text(f"of {log.head:,}")
    page.wait_for_function(f"() => Object.values({refs}).every((one) => one !== null)", timeout=30_000)
    assert int(page.evaluate(f"() => Object.keys({refs}).length")) < 2 * alive
