"""`make bench`, its part of the dashboard: what a person waits for, in a real browser, and whether watching takes memory.

    python -m tools.measure_web [--home HOME] [--days 181] [--minutes 1]

Bars (issue 5): the first page of an office of 181 days in under 2 s, a step of the slider under 300 ms, no growth over a
watch of ten minutes (`--minutes 10`): its past is played, over and over. Then the office runs on, as long unwatched as
watched: that adds to it what happens meanwhile, and watching should add nothing. Nothing is asserted: machines differ.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import httpx
import msgspec
from playwright.sync_api import Browser, CDPSession, Page, sync_playwright

from bench.measure import say
from orchestrator.compose import House
from orchestrator.output import Out
from orchestrator.running import RunOptions, run
from orchestrator.settings import read_settings
from orchestrator.web.measuring import measure
from tools.browsing import CHROMIUM, DONE, JUNIPER, Serving, launch, serving

DAYS = 181
STEPS = 40
_STIR_S = 5.0
_BREATH_MS = 500
_SETTLED_MS = 5_000
_LOOK_MS = 150
_PAGES = ("floor", "work", "files", "mail", "numbers", "health")
_SLIDE = """(t) => new Promise((done) => {
  const input = document.querySelector('[data-testid=time-slider]');
  const shown = document.querySelector('[data-testid=moment]');
  const before = shown.innerText, began = performance.now();
  const look = new MutationObserver(() => {
    if (shown.innerText !== before) { look.disconnect(); requestAnimationFrame(() => done(performance.now() - began)); }
  });
  look.observe(shown, {childList: true, characterData: true, subtree: true});
  setTimeout(() => { look.disconnect(); done(-1); }, 20000);
  Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(input, t);
  input.dispatchEvent(new Event('input', {bubbles: true}));
})"""


class Memory(msgspec.Struct, frozen=True):
    """MiB: resident in the server, and in use by the page's scripts after a collection."""

    server: float
    page: float


def opened(browser: Browser, url: str, path: str) -> tuple[Page, float]:
    """Open a page in a context without any cache; return it and the seconds until its content is there."""
    page = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
    began = time.perf_counter()
    page.goto(f"{url}{path}", wait_until="commit")
    page.wait_for_selector("[data-testid^='page-'] h1")
    return page, time.perf_counter() - began


def slid(page: Page, steps: int = STEPS) -> list[float]:
    """Move the slider over the whole past, with a breath in between; return the milliseconds until each moment was shown, what
    the slider itself waits for included."""
    slider = page.get_by_test_id("time-slider")
    first, last = (int(slider.get_attribute(name) or 0) for name in ("min", "max"))
    taken = []
    for n in range(steps):
        taken.append(float(page.evaluate(_SLIDE, first + (last - first) * (n * 61 % 97 + 1) // 99)))
        page.wait_for_timeout(_BREATH_MS)
    return [ms for ms in taken if ms >= 0]


def memory(server: Serving, page: Page, session: CDPSession) -> Memory:
    """Return what server and page hold now: of the page the least of three looks, for one may come amid a redrawing."""
    used = []
    for _ in range(3):
        session.send("HeapProfiler.collectGarbage")
        metrics = {m["name"]: m["value"] for m in session.send("Performance.getMetrics")["metrics"]}
        used.append(metrics["JSHeapUsedSize"] / 2**20)
        page.wait_for_timeout(_LOOK_MS)
    status = Path(f"/proc/{server.pid}/status").read_text()
    resident = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))
    return Memory(resident / 1024, min(used))


def watched(server: Serving, page: Page, minutes: float, stir: Callable[[], object]) -> list[Memory]:
    """Watch the page while `stir` keeps it busy; return the memory at the start and after each tenth of the time."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    stir()
    page.wait_for_timeout(_SETTLED_MS)
    found = [memory(server, page, session)]
    began = time.monotonic()
    for tenth in range(1, 11):
        while time.monotonic() - began < 6 * minutes * tenth:
            stir()
            page.wait_for_timeout(min(_STIR_S, 6 * minutes) * 1000)
        found.append(memory(server, page, session))
    session.detach()
    return found


def played(server: Serving, page: Page, minutes: float) -> list[Memory]:
    """Play the office's past, a day a second, from its beginning again whenever it has reached the present; then leave."""
    play = page.get_by_test_id("time-play")
    page.get_by_test_id("time-pace").select_option("86400")

    def stir() -> None:
        if play.get_attribute("aria-pressed") != "true":
            play.click()

    found = watched(server, page, minutes, stir)
    page.goto("about:blank")
    return found


def run_on(server: Serving, page: Page, office: str, days: int, minutes: float) -> tuple[list[Memory], int]:
    """Have the office run on towards its so-manieth day, nights and weekends passed over, while `page` shows it or something else; return the memory,
    and how many events were added."""
    api = f"{server.url}/api/v1/offices/{office}"
    before = httpx.get(api, timeout=120).json()["head"]
    httpx.post(f"{api}/run", json={"days": days, "speed": "120"}, timeout=120).raise_for_status()
    found = watched(server, page, minutes, lambda: httpx.put(f"{api}/run", json={"steps": 3}, timeout=120))
    httpx.delete(f"{api}/run", timeout=120)
    return found, httpx.get(api, timeout=120).json()["head"] - before


def report(server: Serving, browser: Browser, office: str, days: int, minutes: float) -> None:
    """Measure and print."""
    page, first = opened(browser, server.url, f"/office/{office}/floor")
    again = []
    for _ in range(3):
        other, seconds = opened(browser, server.url, f"/office/{office}/floor")
        again.append(seconds)
        other.context.close()
    say(
        f"  first page in a browser, nothing cached: {first:.2f} s right after the server's start, then "
        f"{statistics.median(again):.2f} s, the median of three (bar 2 s)"
    )
    page.wait_for_function("() => document.querySelectorAll('.moment-bars rect').length > 5", timeout=120_000)
    taken = sorted(slid(page))
    say(
        f"  slider step on the floor: median {statistics.median(taken):.0f} ms, 95 % within {taken[int(0.95 * len(taken))]:.0f} ms, "
        f"worst {taken[-1]:.0f} ms, {len(taken)} steps (bar 300 ms)"
    )
    for name in _PAGES[1:]:
        other, seconds = opened(browser, server.url, f"/office/{office}/{name}")
        say(f"  {name}: {seconds:.2f} s")
        other.context.close()
    page.get_by_test_id("time-now").click()
    _tell(f"{minutes:g} minutes of playing the past", played(server, page, minutes))
    for where, until in (("with no page open", days + 60), ("watched", days + 120)):
        seen, added = run_on(server, page, office, until, minutes)
        _tell(f"{minutes:g} minutes of running on {where}, {added:,} events more", seen, added)
        page.goto(f"{server.url}/office/{office}/floor")


def _tell(what: str, seen: list[Memory], added: int = 0) -> None:
    start, half, end = seen[0], seen[len(seen) // 2], seen[-1]
    each = f", {1024 * (end.server - start.server) / added:.1f} KiB an event" if added else ""
    say(
        f"  {what}: server {start.server:.0f} MiB at first, {half.server:.0f} at half time, {end.server:.0f} at the end{each}; "
        f"page {start.page:.1f}, {half.page:.1f}, {end.page:.1f} MiB"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return its exit code."""
    parser = argparse.ArgumentParser(description="Measure the dashboard.")
    parser.add_argument("--home", type=Path, help="a home with an office that is named Juniper")
    parser.add_argument("--days", type=int, default=DAYS)
    parser.add_argument("--minutes", type=float, default=1.0)
    asked = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="officetown-web-") as scratch:
        home = asked.home or Path(scratch)
        with closing(House(read_settings({"OFFICETOWN_HOME": str(home)}))) as house:
            if asked.home is None:
                run(house, Out(quiet=True), str(JUNIPER), RunOptions(days=asked.days, seed=1, name=DONE))
            row = house.row(DONE)
            found = measure(house, row.id, steps=200)
        say(f"Dashboard, on an office of {asked.days} days and {found.events:,} events:")
        say(
            f"  without a browser: first answer {found.first_answer_s:.2f} s, slider step median {1000 * found.step_median_s:.0f} ms, "
            f"worst {1000 * found.step_worst_s:.0f} ms; 200 more steps took {found.grew_mib:.1f} MiB"
        )
        if not CHROMIUM.exists():
            say(f"  in a browser: not measured, there is no {CHROMIUM} (bash .ci/browser.sh installs it)")
            return 0
        with serving(home) as server, sync_playwright() as playwright, closing(launch(playwright)) as browser:
            report(server, browser, row.id, asked.days, asked.minutes)
    return 0


if __name__ == "__main__":
    sys.exit(main())
