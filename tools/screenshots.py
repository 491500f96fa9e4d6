"""`make screenshots`: pictures of the main pages, from an office that really ran, into docs/images.

    python -m tools.screenshots [--home HOME] [--to DIR] [--days N]

Without a home one is grown, on embedded parts and with the offline professional: no key, no network.
"""

from __future__ import annotations

import argparse
import io
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import msgspec
from PIL import Image
from playwright.sync_api import Page, sync_playwright

from bench.trials import read_trials
from orchestrator.compose import House
from orchestrator.settings import read_settings
from orchestrator.web.queries.experts import shelved
from orchestrator.web.queries.state import floor
from simulator.engine.history import Log, walk
from simulator.office import Office
from tools.browsing import CHROMIUM, DONE, ROOT, grow, launch, serving

DAYS = 12
WIDE, HIGH, NARROW = 1280, 800, 390
MOST_BYTES = 250_000
_EVERY = 5
_COLOURS = 256


class Shot(msgspec.Struct, frozen=True):
    """A picture: its name, the address, how wide the window is, and what to do once the page is there."""

    name: str
    path: str
    width: int = WIDE
    do: Callable[[Page], object] = lambda page: None


def busiest(log: Log) -> int:
    """Return the revision at which people were doing the most different things: the one to show."""
    best, found = -1, 1
    for event, office in walk(log):
        if event.revision % _EVERY == 0 and office.opened_at:
            people = floor(office).people
            doing = [p.doing for p in people]
            score = 5 * len(set(doing)) + min(doing.count("working"), 5) + 3 * doing.count("meeting")
            if score > best:
                best, found = score, event.revision
    return found


def longest(office: Office) -> tuple[str, str, str]:
    """Return a delegation that took several rounds, one of its files, and its principal."""
    done = [d for d in office.delegations.values() if d.state == "accepted"]
    work = max(done, key=lambda d: (len(d.rounds), d.at))
    made = [(v.at, f.id) for f in office.files.values() for v in f.versions if v.delegation == work.id and f.path.endswith(".xlsx")]
    return work.id, max(made)[1], work.principal


def shots(house: House, home: Path) -> list[Shot]:
    """Return the pictures to take of a grown home."""
    office_id = house.row(DONE).id
    log = house.offices.read(office_id)
    delegation, file, person = longest(house.office(house.row(DONE)))
    task = shelved([home / "snapshots"])[0][0].manifest.hash
    trial = next(t for t in read_trials(home / "results") if t.agent == "builtin")
    o, at = f"/office/{office_id}", busiest(log)
    return [
        Shot("floor", f"{o}/floor?at={at}"),
        Shot("floor-narrow", f"{o}/floor?at={at}", NARROW),
        Shot("work", f"{o}/work?at={at}"),
        Shot("delegation", f"{o}/work/{delegation}"),
        Shot("person", f"{o}/person/{person}"),
        Shot("file", f"{o}/file/{file}?tab=lineage"),
        Shot("who-can", f"{o}/file/{file}?tab=who"),
        Shot("chat", f"{o}/chat"),
        Shot("calendar", f"{o}/calendar"),
        Shot("numbers", f"{o}/numbers"),
        Shot("health", f"{o}/health"),
        Shot("expert", f"/experts/{task}?expert=Ada"),
        Shot("results", "/results"),
        Shot("trial", f"/results/trial?trial={trial.key}"),
    ]


def compressed(png: bytes) -> bytes:
    """Return a picture with at most 256 colours, which is all that these pages have but for shades. Raises ValueError above
    `MOST_BYTES`."""
    out = io.BytesIO()
    with Image.open(io.BytesIO(png)) as image:
        image.convert("RGB").quantize(_COLOURS, dither=Image.Dither.NONE).save(out, "PNG", optimize=True)
    if len(out.getvalue()) > MOST_BYTES:
        raise ValueError(f"{len(out.getvalue())} bytes is more than {MOST_BYTES}")
    return out.getvalue()


def take(url: str, wanted: Sequence[Shot], dest: Path) -> None:
    """Take the pictures."""
    dest.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright, closing(launch(playwright)) as browser:
        for shot in wanted:
            page = browser.new_page(
                viewport={"width": shot.width, "height": HIGH if shot.width == WIDE else 844}, reduced_motion="reduce"
            )
            page.goto(f"{url}{shot.path}")
            page.wait_for_selector("[data-testid^='page-']")
            page.wait_for_load_state("networkidle")
            shot.do(page)
            # The slider is filled a moment after the page: the whole log is read for it.
            page.wait_for_timeout(2_500)
            picture = compressed(page.screenshot())
            (dest / f"{shot.name}.png").write_bytes(picture)
            print(f"{dest / shot.name}.png: {len(picture):,} bytes")
            page.close()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return its exit code."""
    parser = argparse.ArgumentParser(description="Take pictures of the dashboard.")
    parser.add_argument("--home", type=Path, help="a home that was grown before")
    parser.add_argument("--to", type=Path, default=ROOT / "docs" / "images")
    parser.add_argument("--days", type=int, default=DAYS)
    asked = parser.parse_args(arguments)
    if not CHROMIUM.exists():
        print(f"There is no {CHROMIUM}. Install it: bash .ci/browser.sh", file=sys.stderr)
        return 4
    with tempfile.TemporaryDirectory(prefix="officetown-screenshots-") as scratch:
        home = asked.home or Path(scratch)
        if asked.home is None:
            print(f"Growing an office of {asked.days} days; this takes about a minute.")
            grow(home, asked.days)
        with closing(House(read_settings({"OFFICETOWN_HOME": str(home)}))) as house:
            wanted = shots(house, home)
        with serving(home) as server:
            take(server.url, wanted, asked.to)
    return 0


if __name__ == "__main__":
    sys.exit(main())
