"""`review`: experts comment on the tasks of some folders, in the browser; and their reviews as files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fastapi import FastAPI

from bench.expert_export import as_csv, as_json
from bench.snapshot import find_snapshots
from orchestrator.compose import House
from orchestrator.output import Out
from orchestrator.web.parts import Parts
from orchestrator.web.queries.experts import said_here
from orchestrator.web.serve import serve
from orchestrator.web.ui import experts
from orchestrator.web.ui.dress import dress
from orchestrator.web.ui.pages import ALL
from simulator.errors import UsageError

KINDS = {".json": as_json, ".csv": as_csv}


def review(
    house: House, out: Out, places: Sequence[Path], host: str = "127.0.0.1", port: int = 8321, token: str = ""
) -> dict[str, object]:  # fmt: skip
    """Serve the dashboard with the experts' pages over the snapshots in `places`, until Ctrl-C; return what `--json` prints.

    Reviews are kept in the home's database, bound to the version of each snapshot. Raises UsageError where a place holds
    no snapshot, and as `serve`.
    """
    folders = tuple(place.resolve() for place in places)
    found = find_snapshots(folders)
    out.say(f"{len(found)} tasks to review: open /experts at the address below.")

    def dressed(app: FastAPI, parts: Parts) -> None:
        own = experts.pages(lambda _: folders)
        replaced = {page.name: page for page in own}
        dress(app, parts, tuple(replaced.get(page.name, page) for page in ALL))

    return serve(house, out, host, port, token, dressed)


def export(house: House, out: Out, places: Sequence[Path], dest: Path) -> None:
    """Write the reviews of the snapshots in `places` into a file, as JSON or CSV by its ending. Raises UsageError."""
    make = KINDS.get(dest.suffix.lower())
    if make is None:
        raise UsageError(f"{dest}: name a file that ends with {' or '.join(KINDS)}.")
    reviews = said_here(house, tuple(place.resolve() for place in places))
    try:
        dest.write_bytes(make(reviews))
    except OSError as fault:
        raise UsageError(f"{dest} cannot be written: {fault.strerror}.") from fault
    out.say(f"{len(reviews)} reviews: {dest}")
    out.result({"reviews": len(reviews), "file": str(dest)})
