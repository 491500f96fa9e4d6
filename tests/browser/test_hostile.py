"""Nothing that an office's people, files or models say is ever run: every page of an office made of scripts."""

from __future__ import annotations

import pytest
from playwright.sync_api import Error, Page, expect

from tests.browser.conftest import Town
from tests.browser.hostile import IMAGE, NAME
from tests.browser.looking import addresses, faults, settle, visit

EITHER = pytest.mark.parametrize("page", [1280, 390], ids=["wide", "narrow"], indirect=True)
_MARKUP = """() => ['script:not([src]):not([type])', '[onerror]', '[onload]', 'a[href^="javascript:" i]', 'img[src="x"]']
  .flatMap((s) => [...document.querySelectorAll('body ' + s)].filter((e) => /pwned/.test(e.outerHTML)).map((e) => e.outerHTML.slice(0, 200)))"""


def run_by(page: Page) -> list[str]:
    """Return what of the office's texts became markup or ran."""
    try:
        found = list(page.evaluate(_MARKUP))
        return found + (["a script ran"] if page.evaluate("window.pwned") is not None else [])
    # What was pressed led elsewhere just then: the page that came is looked at.
    except Error as gone:
        if "navigation" not in str(gone):
            raise
    page.wait_for_selector("[data-testid^='page-']")
    return run_by(page)


@EITHER
def test_no_text_of_an_office_becomes_a_script_on_any_page(page: Page, town: Town) -> None:
    wrong, seen = [], 0
    for one in addresses(town, town.hostile):
        visit(page, town, one.path)
        page.evaluate("() => document.querySelectorAll('details').forEach((d) => { d.open = true; })")
        settle(page)
        page.wait_for_timeout(150)
        wrong += [f"{one.path}: {each}" for each in [*run_by(page), *faults(page)]]
        seen += page.locator("body").inner_text().count(IMAGE)
    assert wrong == []
    assert seen > 20, "the texts are shown as they are"


def _press(page: Page, place: int) -> bool:
    """Press the button at that place; tell whether it could be: a page may draw itself anew under the pointer."""
    button = page.locator("main button:visible").nth(place)
    try:
        if not button.count() or not button.is_enabled(timeout=3_000):
            return False
        # A script does not ask whether something lies above a button, so neither does this.
        button.click(timeout=3_000, no_wait_after=True, force=True)
        page.keyboard.press("Escape")
    # Whatever the driver says: it is about a button that went away between being found and being pressed.
    except Error:
        return False
    return True


def test_links_and_controls_of_the_hostile_office_do_nothing_hostile(page: Page, town: Town) -> None:
    """Whatever can be pressed on its pages is pressed."""
    pressed = passed_over = 0
    for one in addresses(town, town.hostile):
        visit(page, town, one.path)
        for place in range(min(30, page.locator("main button:visible").count())):
            if _press(page, place):
                pressed += 1
            else:
                passed_over += 1
            assert run_by(page) == [], one.path
            if one.path.partition("?")[0] not in page.url:
                visit(page, town, one.path)
    print(f"{pressed} buttons pressed, {passed_over} gone or off when their turn came")
    assert pressed > 40 and passed_over < pressed // 4


def test_an_office_with_markup_for_a_name_is_named_as_it_is(page: Page, town: Town) -> None:
    visit(page, town, "/offices")
    expect(page.get_by_text(NAME).first).to_be_visible()
    visit(page, town, f"/office/{town.hostile}/floor")
    assert NAME in page.title()


def test_downloaded_files_are_downloads_and_never_pages(page: Page, town: Town) -> None:
    """A stored HTML or SVG file opened by its address is handed over as a file."""
    files = town.get(f"/offices/{town.hostile}/files")
    assert isinstance(files, dict) and len(files["items"]) == 4
    for file in files["items"]:
        address = f"{town.url}/api/v1/offices/{town.hostile}/files/{file['id']}/versions/1/content"
        with page.expect_download() as got:
            page.evaluate("(a) => { const l = document.createElement('a'); l.href = a; document.body.append(l); l.click(); }", address)
        assert "/" not in got.value.suggested_filename and not got.value.url.startswith("javascript")
        assert page.evaluate("window.pwned") is None
