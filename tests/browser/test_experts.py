"""Experts in a real browser: they read a task and its files, say what they think, and it comes out as data."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from bench.expert_export import read_json
from bench.snapshot import open_snapshot
from orchestrator.web.queries.experts import shelved
from tests.browser.conftest import Town
from tests.browser.hostile import IMAGE, SCRIPT, TEMPLATE
from tests.browser.looking import visit


def tasks(town: Town) -> list[str]:
    """The versions of the tasks that were frozen, not of what was revised since."""
    return [s.manifest.hash for s in shelved([town.home / "snapshots"])[0] if "-x" not in s.manifest.id]


def open_task(page: Page, town: Town, version: str, expert: str) -> None:
    visit(page, town, f"/experts/{version}?expert={expert}")


def save(page: Page) -> None:
    page.get_by_test_id("expert-save").click()
    expect(page.get_by_text("Saved.").first).to_be_visible()


def download(page: Page, test: str) -> bytes:
    with page.expect_download() as got:
        page.get_by_test_id(test).click()
    return Path(got.value.path()).read_bytes()


def test_an_experts_comment_is_saved_and_exported(page: Page, town: Town) -> None:
    """Issue 5: with name and time, bound to the version, and out again as JSON and CSV."""
    version = tasks(town)[0]
    visit(page, town, "/experts")
    page.get_by_test_id("expert-name").fill("Ada Lovelace")
    page.get_by_test_id("expert-name").press("Tab")
    page.wait_for_url("**/experts?expert=Ada*")
    page.locator(f"a[href^='/experts/{version}']").click()
    page.wait_for_url(f"**/experts/{version}?expert=Ada*")
    criterion = open_snapshot(next(s.folder for s in shelved([town.home / "snapshots"])[0] if s.manifest.hash == version)).rubric().criteria[0]
    page.get_by_test_id(f"opinion-{criterion.id}").select_option("change")
    page.get_by_test_id(f"comment-{criterion.id}").fill("Say to the cent.")
    page.get_by_test_id("expert-verdict").select_option("accept")
    page.get_by_test_id("expert-comment").fill("A month's close, as it is done.")
    save(page)
    reviews = page.get_by_test_id("reviews")
    expect(reviews).to_contain_text("Ada Lovelace")
    expect(reviews).to_contain_text(re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"))
    visit(page, town, "/experts?expert=Ada%20Lovelace")
    expect(page.get_by_test_id("expert-queue")).to_contain_text("you accepted")
    found = [r for r in read_json(download(page, "export-json")).reviews if r.expert == "Ada Lovelace"]
    assert found[-1].version == version and found[-1].said.verdict == "accept"
    assert [(r.criterion, r.opinion, r.comment) for r in found[-1].said.remarks] == [(criterion.id, "change", "Say to the cent.")]
    rows = list(csv.DictReader(io.StringIO(download(page, "export-csv").decode("utf-8-sig"))))
    assert any(r["expert"] == "Ada Lovelace" and r["comment"] == "Say to the cent." and r["criterion"] == criterion.id for r in rows)


def test_what_was_said_is_there_again_when_the_expert_comes_back(page: Page, town: Town) -> None:
    version = tasks(town)[0]
    open_task(page, town, version, "Grace")
    page.get_by_test_id("expert-comment").fill("First thoughts.")
    save(page)
    open_task(page, town, version, "Grace")
    expect(page.get_by_test_id("expert-comment")).to_have_value("First thoughts.")
    expect(page.get_by_test_id("expert-verdict")).to_have_value("")
    open_task(page, town, version, "Someone Else")
    expect(page.get_by_test_id("expert-comment")).to_have_value("")


def test_agreement_between_experts_is_shown_with_its_n(page: Page, town: Town) -> None:
    first, second = tasks(town)
    for expert, verdicts in (("Bo", ("accept", "reject")), ("Cy", ("accept", "accept"))):
        for version, verdict in zip((first, second), verdicts, strict=True):
            open_task(page, town, version, expert)
            page.get_by_test_id("expert-verdict").select_option(verdict)
            page.get_by_test_id("expert-comment").fill("As I see it.")
            save(page)
    visit(page, town, "/experts?expert=Bo")
    expect(page.get_by_test_id("agreement")).to_contain_text("Fleiss' kappa")
    row = page.get_by_test_id("pairs").get_by_role("row").filter(has_text="Bo").filter(has_text="Cy")
    expect(row).to_contain_text("50 %")
    assert row.get_by_role("cell").all_inner_texts()[2] == "2", "n stands beside the percentage"


def test_a_review_without_a_name_or_a_rejection_without_a_reason_is_refused(page: Page, town: Town) -> None:
    open_task(page, town, tasks(town)[0], "")
    page.get_by_test_id("expert-save").click()
    expect(page.get_by_text("bears its expert's name").first).to_be_visible()
    open_task(page, town, tasks(town)[0], "Nia")
    page.get_by_test_id("expert-verdict").select_option("reject")
    page.get_by_test_id("expert-save").click()
    expect(page.get_by_text("A rejection says why").first).to_be_visible()


def test_files_rubric_and_reference_can_be_read(page: Page, town: Town) -> None:
    open_task(page, town, tasks(town)[0], "Ada")
    expect(page.get_by_test_id("task-text")).to_contain_text("Goal")
    for place in ("home", "task", "solution"):
        fold = page.get_by_test_id(f"files-{place}")
        fold.locator("summary").click()
        fold.get_by_test_id("read-file").first.click()
        expect(page.get_by_test_id("file-text")).not_to_have_text("")
        assert download(page, "file-download")
        page.get_by_test_id("file-close").click()
        expect(page.get_by_test_id("file-text")).to_have_count(0)


def test_a_revision_is_written_out_as_a_new_audited_snapshot(page: Page, town: Town) -> None:
    """The reviewed folder stays as it is; the new one is a task of its own, with a version of its own."""
    version = tasks(town)[0]
    shelf = {s.manifest.hash: s.folder for s in shelved([town.home / "snapshots"])[0]}
    before = {p: p.read_bytes() for p in shelf[version].rglob("*") if p.is_file()}
    open_task(page, town, version, "Rex")
    page.locator("details", has=page.get_by_test_id("task-revision")).locator("summary").click()
    area = page.get_by_test_id("task-revision")
    area.fill(area.input_value() + "\nWrite amounts with two decimals.\n")
    page.get_by_test_id("add-criterion").click()
    page.get_by_test_id("added-text-1").fill("The memo can be followed without the workbook.")
    save(page)
    page.get_by_role("button", name="Write Rex's proposals out").click()
    expect(page.get_by_text("Written and audited").first).to_be_visible(timeout=90_000)
    after = {s.manifest.hash: s for s in shelved([town.home / "snapshots"])[0]}
    (made,) = [after[h] for h in after.keys() - shelf.keys()]
    assert "two decimals" in open_snapshot(made.folder).read("instruction.md").decode()
    assert {p: p.read_bytes() for p in shelf[version].rglob("*") if p.is_file()} == before
    visit(page, town, f"/experts/{made.manifest.hash}")
    expect(page.get_by_text("Revised from").first).to_be_visible()


@pytest.mark.parametrize("text", [IMAGE, SCRIPT, TEMPLATE], ids=["image", "script", "template"])
def test_what_an_expert_writes_is_shown_and_never_run(page: Page, town: Town, text: str) -> None:
    visit(page, town, f"/experts/{tasks(town)[1]}")
    page.get_by_test_id("expert-name").fill(f"Eve {text}")
    page.get_by_test_id("expert-comment").fill(text)
    save(page)
    expect(page.get_by_test_id("reviews")).to_contain_text(text)
    page.goto(f"{town.url}/experts")
    expect(page.get_by_test_id("agreement")).to_contain_text(f"Eve {text}")
    assert page.evaluate("window.pwned") is None
    exported = json.loads(download(page, "export-json"))
    assert any(r["said"]["comment"] == text for r in exported["reviews"])
