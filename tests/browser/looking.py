"""What every page is held against: no fault, nothing sideways, no text upon text, a name for each control."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import msgspec
from playwright.sync_api import Page

from bench.trials import read_trials
from orchestrator.web.queries.experts import shelved
from orchestrator.web.ui.pages import ALL
from orchestrator.web.ui.shell import Page as TownPage
from tests.browser.conftest import Town

CONTROLS = {
    "button", "link", "textbox", "searchbox", "combobox", "listbox", "slider", "checkbox", "radio", "spinbutton", "switch", "tab",
    "menuitem", "DisclosureTriangle", "ComboBoxSelect",
}  # fmt: skip

_OVERLAPS = r"""() => {
  const clip = (node, box) => {
    let r = {l: box.left, t: box.top, r: box.right, b: box.bottom};
    for (let e = node.parentElement; e && e !== document.body; e = e.parentElement) {
      const s = getComputedStyle(e);
      if (s.visibility === 'hidden' || s.opacity === '0' || s.position === 'fixed' || s.position === 'sticky') return null;
      if (e.tagName.toLowerCase() === 'svg' || s.overflowX !== 'visible' || s.overflowY !== 'visible' || s.clipPath !== 'none') {
        const c = e.getBoundingClientRect();
        r = {l: Math.max(r.l, c.left), t: Math.max(r.t, c.top), r: Math.min(r.r, c.right), b: Math.min(r.b, c.bottom)};
      }
    }
    return r.r - r.l > 2 && r.b - r.t > 4 ? r : null;
  };
  const main = document.querySelector('main') || document.body;
  const walk = document.createTreeWalker(main, NodeFilter.SHOW_TEXT);
  const boxes = [];
  for (let n = walk.nextNode(); n; n = walk.nextNode()) {
    if (!n.data.trim() || n.parentElement.closest('option, title, desc, [aria-hidden=true], .material-icons')) continue;
    if (!n.parentElement.checkVisibility({visibilityProperty: true, opacityProperty: true})) continue;
    const range = document.createRange(); range.selectNodeContents(n);
    for (const box of range.getClientRects()) { const r = clip(n, box); if (r) boxes.push({n, r}); }
  }
  boxes.sort((a, b) => a.r.t - b.r.t);
  const found = [];
  for (let i = 0; i < boxes.length && found.length < 10; i++)
    for (let j = i + 1; j < boxes.length && boxes[j].r.t < boxes[i].r.b - 4; j++) {
      if (boxes[i].n === boxes[j].n) continue;
      const a = boxes[i].r, b = boxes[j].r;
      if (Math.min(a.r, b.r) - Math.max(a.l, b.l) > 3 && Math.min(a.b, b.b) - Math.max(a.t, b.t) > 4)
        found.push(boxes[i].n.data.trim().slice(0, 60) + ' | ' + boxes[j].n.data.trim().slice(0, 60));
    }
  return found;
}"""

_SIDEWAYS = r"""() => {
  const wide = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= wide) return [];
  const reason = (e) => `${e.tagName}.${e.className}`.slice(0, 80) + ' ' + (e.textContent || '').trim().slice(0, 40);
  const guilty = [...document.querySelectorAll('body *')].filter((e) => e.getBoundingClientRect().right > wide + 1);
  return [`${document.documentElement.scrollWidth} > ${wide}`, ...guilty.slice(0, 5).map(reason)];
}"""

_TABBABLE = r"""() => [...document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex]')]
  .filter((e) => e.tabIndex >= 0 && !e.disabled && e.checkVisibility({visibilityProperty: true}) && e.getClientRects().length
    && !(e.closest('details:not([open])') && !e.matches('details:not([open]) > summary')))
  .map((e, i) => { e.dataset.stop = i; return (e.getAttribute('aria-label') || e.textContent || e.tagName).trim().slice(0, 60); })"""


class Address(msgspec.Struct, frozen=True):
    """A page and an address at which it has something to show."""

    page: str
    path: str


def _first(found: Any, *ways: str) -> str:
    """Return the first item of an answer's page or list, and of it the value that a way leads to."""
    items = found["items"] if isinstance(found, dict) else found
    value = items[0] if items else {}
    for way in ways:
        value = value.get(way, "") if isinstance(value, dict) else ""
    return str(value)


def samples(town: Town, office: str) -> dict[str, str]:
    """Return something to put for each parameter of an address."""
    given = {"office": office}
    given["person"] = _first(town.get(f"/offices/{office}/people"), "id") or _first(
        town.get(f"/offices/{office}/people"), "person", "id"
    )
    given["file"] = _first(town.get(f"/offices/{office}/files"), "id")
    given["delegation"] = _first(town.get(f"/offices/{office}/delegations"), "id")
    given["activation"] = _first(town.get(f"/offices/{office}/activations"), "id")
    given["version"] = shelved([town.home / "snapshots"])[0][0].manifest.hash
    return given


def addresses(town: Town, office: str, pages: tuple[TownPage, ...] = ALL) -> Iterator[Address]:
    """Yield an address of every page of an office; a page whose parameters there is nothing for is passed over."""
    given = samples(town, office)
    for page in pages:
        if page.of_office:
            needed = [name for name in given if f"{{{name}}}" in page.path]
            if all(given[name] for name in needed):
                yield Address(page.name, _filled(page.path, given))


def shared(town: Town) -> Iterator[Address]:
    """Yield an address of every page that belongs to no office."""
    given = samples(town, town.done)
    trials = read_trials(town.home / "results")
    first = trials[0]
    second = next(t for t in trials if t.snapshot == first.snapshot and t.key != first.key)
    more = {
        "trial": f"?trial={first.key}", "compare": f"?first={first.key}&second={second.key}",
        "forks": f"?first={town.done}&second={town.fork}",
    }  # fmt: skip
    for page in ALL:
        if not page.of_office:
            yield Address(page.name, _filled(page.path, given) + more.get(page.name, ""))


def _filled(path: str, given: dict[str, str]) -> str:
    for name, value in given.items():
        path = path.replace(f"{{{name}}}", quote(value, safe=""))
    assert "{" not in path, f"{path}: tell tests/browser/looking.py what to put there"
    return path


# -- opening and judging ----------------------------------------------------------------------------------------------------


def visit(page: Page, town: Town, path: str) -> None:
    """Open an address and wait until its content is there."""
    page.goto(f"{town.url}{path}")
    page.wait_for_selector("[data-testid^='page-']")
    page.wait_for_function("() => window.did_handshake === undefined || window.did_handshake === true")
    settle(page)


def settle(page: Page) -> None:
    """Wait until the page has drawn what it was sent."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def faults(page: Page) -> list[str]:
    """Return what a page says that it could not show."""
    return page.get_by_test_id("fault").all_inner_texts()


def sideways(page: Page) -> list[str]:
    """Return what makes a page wider than its window."""
    return list(page.evaluate(_SIDEWAYS))


def overlaps(page: Page) -> list[str]:
    """Return texts that lie upon each other."""
    return list(page.evaluate(_OVERLAPS))


def nameless(page: Page) -> list[str]:
    """Return the controls that a screen reader could not name, from the browser's own accessibility tree."""
    session = page.context.new_cdp_session(page)
    nodes = session.send("Accessibility.getFullAXTree")["nodes"]
    session.detach()
    found = []
    for node in nodes:
        role = node.get("role", {}).get("value", "")
        if role in CONTROLS and not node.get("ignored") and not node.get("name", {}).get("value", "").strip():
            found.append(f"{role} {node.get('backendDOMNodeId')} {node.get('properties', [])[:3]}")
    return found


def tabbable(page: Page) -> list[str]:
    """Return the controls that the Tab key must reach, and number them on the page."""
    return list(page.evaluate(_TABBABLE))


def tabbed(page: Page, most: int) -> set[int]:
    """Press Tab so often; return the numbers of the controls that got the focus."""
    reached: set[int] = set()
    page.evaluate("() => { document.activeElement && document.activeElement.blur(); }")
    for _ in range(most):
        page.keyboard.press("Tab")
        stop = page.evaluate("() => document.activeElement?.dataset?.stop ?? ''")
        if stop != "":
            reached.add(int(stop))
    return reached
