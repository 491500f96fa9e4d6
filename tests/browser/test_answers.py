"""Why and who-can in a real browser, held against the rules themselves and the record."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from orchestrator.compose import House
from orchestrator.settings import read_settings
from orchestrator.tracing import trace
from services.storage.reader import JournalReader
from simulator.access import Subject, can
from simulator.engine.history import as_of, walk
from simulator.office import Office
from simulator.records import FileRef
from tests.browser.conftest import Town
from tests.browser.looking import visit


@pytest.fixture(scope="module")
def log(town: Town) -> Iterator[JournalReader]:
    house = House(read_settings({"OFFICETOWN_HOME": str(town.home)}))
    yield house.offices.read(town.done)
    house.close()


def made(office: Office) -> FileRef:
    """The newest version that an assistant made: it has a story to tell."""
    found = [
        (v.at, f.id, v.number) for f in office.files.values() for v in f.versions if v.author.startswith("assistant:")
    ]
    return FileRef(*max(found)[1:])


def readers(office: Office, ref: FileRef) -> set[str]:
    return {p.name for p in office.people.values() if can(Subject(p.id), "read", ref, office).allowed}


def test_who_could_see_a_file_on_a_day_is_what_the_rules_say(page: Page, town: Town, log: JournalReader) -> None:
    head = as_of(log)
    ref = made(head)
    visit(page, town, f"/office/{town.done}/file/{ref.file}?version={ref.version}&tab=who")
    names = page.get_by_test_id("who-can").locator("tbody tr").evaluate_all("(rows) => rows.map((r) => r.cells[0].innerText)")
    assert set(names) == readers(head, ref)
    reasons = page.get_by_test_id("who-can").locator("tbody tr").evaluate_all("(rows) => rows.map((r) => r.cells[1].innerText)")
    assert all(reasons), "each says why"


def test_who_can_follows_the_slider(page: Page, town: Town, log: JournalReader) -> None:
    """On the day it was saved nobody but its owner saw what was shared later."""
    head = as_of(log)
    share = next(g for g in sorted(head.grants.values(), key=lambda g: (g.at, g.id)) if g.version and g.audience == "everyone")
    ref = FileRef(share.file, share.version)
    before = head
    for _, office in walk(log):
        if share.id in office.grants:
            break
        before = office
    assert share.file in before.files
    seen = []
    for office in (before, head):
        address = f"/office/{town.done}/file/{ref.file}?version={ref.version}&tab=who"
        visit(page, town, address + (f"&at={office.revision}" if office is before else ""))
        rows = page.get_by_test_id("who-can").locator("tbody tr")
        names = set(rows.evaluate_all("(rows) => rows.map((r) => r.cells[0].innerText)"))
        assert names == readers(office, ref)
        seen.append(names)
    assert seen[0] < seen[1]


def test_why_a_file_exists_is_told_from_its_first_cause(page: Page, town: Town, log: JournalReader) -> None:
    ref = made(as_of(log))
    steps = trace(log, f"{ref.file}@{ref.version}")
    visit(page, town, f"/office/{town.done}/file/{ref.file}?version={ref.version}&tab=why")
    told = page.get_by_test_id("file-why")
    for step in steps:
        expect(told).to_contain_text(step.text)
    page.get_by_test_id("file-why").get_by_role("link").first.click()
    page.wait_for_url("**/floor?**at=*")


def test_why_is_nothing_happening_always_has_an_answer(page: Page, town: Town) -> None:
    for office in (town.done, town.live, town.hostile, town.fork):
        visit(page, town, f"/office/{office}/health")
        assert page.get_by_test_id("why").inner_text().strip().partition("\n")[2].strip(), "it says something"
