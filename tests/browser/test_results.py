"""Results in a real browser: the grid and its filters, a trial with its trajectory, two trials and two forks compared."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from bench.trials import read_trials
from tests.browser.conftest import Town
from tests.browser.looking import visit


def test_the_grid_has_every_agent_and_task_with_the_bounds(page: Page, town: Town) -> None:
    trials = read_trials(town.home / "results")
    visit(page, town, "/results")
    grid = page.get_by_test_id("results-grid")
    heads = grid.get_by_role("columnheader").all_inner_texts()
    assert heads == ["Task", "builtin · offline", "nop", "oracle"]
    assert grid.get_by_role("row").count() == 2 + len({t.snapshot for t in trials})
    whole = grid.get_by_role("row").nth(1).get_by_role("cell").all_inner_texts()
    assert "Pass@1 0.0 %" in whole[1] and "Pass@1 100.0 %" in whole[2]


def test_filters_are_in_the_address_and_say_how_much_is_left(page: Page, town: Town) -> None:
    trials = read_trials(town.home / "results")
    visit(page, town, "/results")
    page.get_by_test_id("filter-outcome").select_option("failed")
    page.wait_for_url("**outcome=failed*")
    failed = sum(t.outcome == "failed" for t in trials)
    expect(page.get_by_test_id("results-shown")).to_contain_text(f"{failed} of {len(trials)}")
    page.get_by_test_id("filter-missed").select_option("p0")
    page.wait_for_url("**missed=p0*")
    page.reload()
    expect(page.get_by_test_id("filter-outcome")).to_have_value("failed")
    expect(page.get_by_test_id("filter-missed")).to_have_value("p0")
    page.get_by_test_id("filter-outcome").select_option("passed")
    expect(page.get_by_text("No trial passes these filters.")).to_be_visible()


def test_a_trial_shows_its_trajectory_beside_its_criteria(page: Page, town: Town) -> None:
    trial = next(t for t in read_trials(town.home / "results") if t.agent == "builtin")
    visit(page, town, "/results")
    page.locator(f"a[href*='{trial.key}']").click()
    expect(page.get_by_test_id("outcome")).to_have_text(trial.outcome)
    for row in trial.criteria:
        shown = page.get_by_test_id(f"judged-{row['id']}")
        expect(shown).to_contain_text(row["text"])
        expect(shown).to_contain_text({True: "met", False: "not met", None: "not judged"}[row["met"]])
    expect(page.get_by_test_id("criteria")).to_contain_text("Rests on")
    steps = page.get_by_test_id("trajectory").locator("details")
    expect(page.get_by_test_id("trajectory")).to_contain_text("submit")
    assert steps.count() > 3


def test_two_trials_stand_side_by_side(page: Page, town: Town) -> None:
    trials = read_trials(town.home / "results")
    best = next(t for t in trials if t.agent == "oracle")
    least = next(t for t in trials if t.agent == "nop" and t.snapshot == best.snapshot)
    visit(page, town, f"/results/trial?trial={best.key}")
    page.get_by_test_id("compare-with").select_option(least.key)
    page.wait_for_url("**/results/compare**")
    rows = page.get_by_test_id("compared-rows").get_by_role("row")
    expect(rows).to_have_count(1 + len(best.criteria))
    assert rows.nth(1).get_by_role("cell").all_inner_texts()[2:4] == ["met", "not met"]


def test_two_forks_of_an_office_are_compared(page: Page, town: Town) -> None:
    visit(page, town, "/results/forks")
    page.get_by_test_id("fork-first").select_option(town.done)
    page.wait_for_url(f"**first={town.done}*")
    page.get_by_test_id("fork-second").select_option(town.fork)
    expect(page.get_by_test_id("forks")).to_contain_text("They share everything up to revision")
    off = page.get_by_test_id("fork-counts").get_by_role("row").filter(has_text="switched off")
    assert off.get_by_role("cell").all_inner_texts()[1:] == ["nothing", "reviews"]
