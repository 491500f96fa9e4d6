"""The pictures of the README and the dashboard's measurements, from a home that is served anyway."""

from __future__ import annotations

import io
import re
from contextlib import closing
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Browser

from orchestrator.compose import House
from orchestrator.settings import read_settings
from tests.browser.conftest import Town
from tools import measure_web, screenshots
from tools.browsing import Serving


def test_every_picture_has_an_address_that_shows_something(town: Town, browser: Browser, tmp_path: Path) -> None:
    with closing(House(read_settings({"OFFICETOWN_HOME": str(town.home)}))) as house:
        wanted = screenshots.shots(house, town.home)
    assert len({shot.name for shot in wanted}) == len(wanted) > 10
    for shot in wanted:
        page = browser.new_page()
        page.goto(f"{town.url}{shot.path}")
        page.wait_for_selector("[data-testid^='page-']")
        assert page.get_by_test_id("fault").count() == 0, shot.path
        page.close()


def test_pictures_are_small_enough_for_a_readme(browser: Browser, town: Town) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto(f"{town.url}/office/{town.done}/floor")
    page.wait_for_selector("[data-testid='page-floor']")
    png = page.screenshot()
    page.close()
    small = screenshots.compressed(png)
    assert len(small) < min(len(png), screenshots.MOST_BYTES)
    with Image.open(io.BytesIO(small)) as image:
        assert image.size == (1280, 800) and image.format == "PNG"
    noise = Image.effect_noise((1280, 800), 100).convert("RGB")
    out = io.BytesIO()
    noise.save(out, "PNG")
    with pytest.raises(ValueError, match="more than"):
        screenshots.compressed(out.getvalue())


def test_the_moment_to_show_is_one_at_which_people_do_different_things(town: Town) -> None:
    with closing(House(read_settings({"OFFICETOWN_HOME": str(town.home)}))) as house:
        revision = screenshots.busiest(house.offices.read(town.done))
    people = town.get(f"/offices/{town.done}/state?at={revision}")
    assert isinstance(people, dict)
    assert len({p["doing"] for p in people["people"]}) > 1


def test_the_dashboard_is_measured(town: Town, browser: Browser, capsys: pytest.CaptureFixture[str]) -> None:
    process = next(
        int(p.name) for p in Path("/proc").iterdir()
        if p.name.isdigit() and str(town.home).encode() in (p / "cmdline").read_bytes() and b"tools.browsing" in (p / "cmdline").read_bytes()
    )  # fmt: skip
    measure_web.report(Serving(town.url, process), browser, town.done, 10, 0.05)
    said = capsys.readouterr().out
    assert re.search(r"first page in a browser, nothing cached: \d+\.\d+ s", said) and re.search(r"median \d+ ms", said)
    assert re.search(r"playing the past: server \d+ MiB at first", said) and re.search(r"watched, [\d,]+ events more: server \d+ MiB at first", said)
