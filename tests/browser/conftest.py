"""A real browser on a real server: one home with a finished office, a running one and a hostile one, tasks and results."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import msgspec
import pytest
from playwright.sync_api import Browser, BrowserContext, Dialog, Page, expect, sync_playwright

from orchestrator.compose import House
from orchestrator.settings import read_settings
from tests.browser import hostile
from tools.browsing import CHROMIUM, DONE, FORK, LIVE, grow, launch, serving

DAYS = 10
WANTED = "OFFICETOWN_TEST_BROWSER"


class Town(msgspec.Struct, frozen=True):
    """A served home. `done` is Juniper after ten days, `live` runs on, `fork` left `done` on its third day."""

    url: str
    home: Path
    done: str
    live: str
    hostile: str
    fork: str

    def get(self, path: str) -> Any:
        """Ask the API; return what its JSON says."""
        answer = httpx.get(f"{self.url}/api/v1{path}", timeout=60)
        assert answer.status_code == 200, answer.text
        return answer.json()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark everything here as slow, and skip it, said plainly, where there is no browser."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.slow)
            item.add_marker(pytest.mark.browser)
            if not CHROMIUM.exists() and os.environ.get(WANTED) != "1":
                item.add_marker(pytest.mark.skip(reason=f"needs Debian's chromium at {CHROMIUM}: bash .ci/browser.sh installs it"))


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with everything that there is to look at."""
    folder = tmp_path_factory.mktemp("browser-home")
    grow(folder, DAYS)
    house = House(read_settings({"OFFICETOWN_HOME": str(folder)}))
    hostile.seed(house)
    house.close()
    return folder


@pytest.fixture(scope="session")
def town(home: Path) -> Iterator[Town]:
    """The home, served by the real command's function; the second office runs."""
    with serving(home) as server:
        url = server.url
        offices = {o["name"]: o["id"] for o in httpx.get(f"{url}/api/v1/offices").json()}
        go(url, offices[LIVE])
        yield Town(
            url, home, offices[DONE], offices[LIVE], offices[hostile.NAME], offices[FORK]
        )  # fmt: skip


def go(url: str, office: str) -> None:
    """Let an office run at 120 simulated seconds a second."""
    started = httpx.post(f"{url}/api/v1/offices/{office}/run", json={"days": 40, "speed": "120"}, timeout=60)
    assert started.status_code == 200, started.text
    stir(url, office)


def stir(url: str, office: str) -> None:
    """Have the running office go on to the next thing that happens, which may be hours away, and run on from there."""
    run = f"{url}/api/v1/offices/{office}/run"
    httpx.put(run, json={"steps": 1}, timeout=60)
    while httpx.get(run, timeout=60).json()["steps"]:
        pass
    httpx.put(run, json={"paused": False}, timeout=60)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium, headless."""
    # Two such browsers and servers share two cores with whatever else runs there.
    expect.set_options(timeout=20_000)
    with sync_playwright() as playwright:
        started = launch(playwright)
        yield started
        started.close()


class Watch:
    """What a page did that nobody sees: requests that left this machine, scripts that failed or ran where they must not."""

    def __init__(self, context: BrowserContext) -> None:
        self.left: list[str] = []
        self.errors: list[str] = []
        self.dialogs: list[str] = []
        context.on("request", lambda request: self._request(request.url))
        context.on("weberror", lambda error: self.errors.append(str(error.error)))
        context.on("dialog", self._dialog)
        context.on("page", lambda page: page.on("websocket", lambda socket: self._request(socket.url)))

    def _dialog(self, dialog: Dialog) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    def _request(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("data", "blob", "about") and parts.hostname not in ("127.0.0.1", "localhost"):
            self.left.append(url)


@pytest.fixture
def watch() -> Iterator[list[Watch]]:
    """The watches of a test's contexts: at its end, nothing must have left this machine, and nothing failed."""
    watches: list[Watch] = []
    yield watches
    for one in watches:
        assert one.left == [], "a page asked for something beyond this machine"
        assert one.errors == [], "a script of a page failed"
        assert one.dialogs == [], "a page opened a dialog of the browser"


@pytest.fixture(params=[1280], ids=["wide"])
def page(request: pytest.FixtureRequest, browser: Browser, watch: list[Watch]) -> Iterator[Page]:
    """A page of a fresh browser context, 1280 pixels wide unless the test says otherwise."""
    width = int(request.param)
    context = browser.new_context(
        viewport={"width": width, "height": 844 if width < 600 else 800}, accept_downloads=True, reduced_motion="reduce",
        has_touch=width < 600,
    )  # fmt: skip
    context.set_default_timeout(30_000)
    watch.append(Watch(context))
    yield context.new_page()
    context.close()
