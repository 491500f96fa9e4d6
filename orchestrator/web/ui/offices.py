"""*Offices*: all of them, several side by side, and a new one from a package or a brief."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime

import msgspec
from nicegui import ui

from orchestrator.web import founding
from orchestrator.web.founding import FoundAsked, PackageLine
from orchestrator.web.jobs import Job
from orchestrator.web.offices import Clock, RunAsked
from orchestrator.web.queries import state
from orchestrator.web.queries.offices import OfficeLine, offices
from orchestrator.web.queries.state import Floor
from orchestrator.web.ui import floorplan, kit
from orchestrator.web.ui.asked import Ask
from orchestrator.web.ui.drawing import Drawing
from orchestrator.web.ui.paths import PATHS, address
from orchestrator.web.ui.shell import Page, Shell, Update
from orchestrator.web.ui.steer import SPEEDS, STATES
from simulator.errors import OfficeTownError

MOST_BESIDE = 4
_MOST_LISTED = 200
_SIDE = 500.1
_DAYS = 5


class Beside(msgspec.Struct, frozen=True):
    """One of several offices side by side; `fault` where it could not be opened."""

    id: str
    name: str
    clock: Clock
    floor: Floor | None
    fault: str = ""


class Shown(msgspec.Struct, frozen=True):
    """What the page shows."""

    lines: tuple[OfficeLine, ...]
    clocks: Mapping[str, Clock]
    beside: tuple[Beside, ...]
    chosen: tuple[str, ...]
    packages: tuple[PackageLine, ...]
    jobs: tuple[Job, ...]


def load(ask: Ask) -> Shown:
    """Return the offices, and the floors of those that are to be side by side."""
    lines = tuple(reversed(offices(ask.parts.shelf, ask.parts.town.running())))
    known = {line.id: line for line in lines}
    chosen = tuple(dict.fromkeys(i for i in ask.get("beside").split(",") if i in known))[:MOST_BESIDE]
    beside = tuple(_beside(ask, known[i]) for i in chosen)
    clocks = {line.id: ask.parts.town.clock(line.id) for line in lines[:_MOST_LISTED]}
    return Shown(lines, clocks, beside, chosen, founding.packages(ask.parts.house), ask.parts.jobs.list()[:5])


def _beside(ask: Ask, line: OfficeLine) -> Beside:
    try:
        book = ask.parts.shelf.open(line.id)
        clock = ask.parts.town.clock(line.id, look=True)
        return Beside(line.id, line.name, clock, state.floor(book.at()))
    except OfficeTownError as fault:
        return Beside(line.id, line.name, Clock("still"), None, str(fault))


def draw(shell: Shell, shown: Shown) -> Update:
    """Draw the list and the form; what changes while one watches is shown by the function returned."""
    with kit.box("row between"):
        kit.heading("Offices", 1)
        kit.text("Each office is a firm of its own, with its own people, clock and past.", "hint", "p")
    beside = kit.box("cards wide-cards", test="side-by-side")
    with kit.box("two"):
        listed = kit.card("", test="office-list")
        with kit.box("stack wide-gap"):
            _founding(shell, shown)
            jobs = kit.card("Under way and done", test="jobs")

    def update(now: Shown) -> None:
        beside.set_visibility(bool(now.beside))
        _fill(beside, lambda: _floors(now.beside))
        _fill(listed, lambda: _list(shell, now))
        jobs.set_visibility(bool(now.jobs))
        _fill(jobs, lambda: _jobs(now.jobs))

    update(shown)
    return update


def _fill(place: kit.Tag, make: Callable[[], object]) -> None:
    place.clear()
    with place:
        make()


def _list(shell: Shell, now: Shown) -> None:
    kit.heading("All offices", 2, "card-title")
    if not now.lines:
        kit.empty("There is no office yet. Make the first one: choose a package, or write a brief.")
    for line in now.lines[:_MOST_LISTED]:
        with kit.box("office-row", test=f"office-{line.id}"):
            with kit.box("stack tight"):
                kit.link(
                    line.name or line.id, address(PATHS["floor"], office=line.id), "strong", test=f"open-{line.id}"
                )
                made = datetime.fromtimestamp(line.created, UTC)
                said = f"{line.head:,} events · made {made:%-d %b %Y}"
                kit.text(
                    f"{said} · fork of {line.parent} at {line.parent_revision:,}" if line.parent else said, "faint"
                )
            clock = now.clocks.get(line.id, Clock("still"))
            if clock.state != "still":
                kit.chip(STATES.get(clock.state, clock.state), f"state-{clock.state}")
            inside = line.id in now.chosen
            others = [i for i in now.chosen if i != line.id]
            wanted = ",".join(others if inside else [*others, line.id][-MOST_BESIDE:])
            kit.button(
                "Put away" if inside else "Side by side", lambda wanted=wanted: shell.turn(beside=wanted), "small",
                test=f"beside-{line.id}", aria_pressed="true" if inside else "false",
                label=f"{'Put away' if inside else 'Show side by side'}: {line.name or line.id}",
            )  # fmt: skip


def _floors(beside: tuple[Beside, ...]) -> None:
    for one in beside:
        _floor(one)


def _floor(one: Beside) -> None:
    with kit.card("", "beside", test=f"floor-{one.id}"):
        with kit.box("row between"):
            kit.link(one.name or one.id, address(PATHS["floor"], office=one.id), "strong")
            kit.chip(STATES.get(one.clock.state, one.clock.state), f"state-{one.clock.state}")
        if one.floor is None:
            kit.text(one.fault, "hint", "p")
            return
        kit.text(one.floor.described, "clock-small num")
        counts = one.floor.counts
        kit.text(f"{counts['people']} people · {counts['messages']:,} messages · {counts['delegations']:,} delegations · "
                 f"{counts['files']:,} files", "faint")  # fmt: skip
        picture = floorplan.draw(one.floor, _SIDE, (), lambda p: address(PATHS["person"], office=one.id, person=p), {})
        Drawing(picture, f"The floor of {one.name}", "floor")


def _jobs(jobs: tuple[Job, ...]) -> None:
    kit.heading("Under way and done", 2, "card-title")
    for job in jobs:
        with kit.box("stack job", role="status", test=f"job-{job.id}"):
            with kit.box("row between"):
                kit.text(f"{job.what[:1].upper()}{job.what[1:]}", "strong")
                kind = {"done": "good", "failed": "bad"}.get(job.state, "warn")
                kit.chip({"done": "Done", "failed": "Failed"}.get(job.state, "Working…"), kind)
            for line in job.lines[-3:]:
                kit.text(line, "hint", "p")
            if job.error:
                kit.text(job.error, "fault-text", "p")
            office = job.result.get("office")
            if isinstance(office, str):
                kit.link("Open it", address(PATHS["floor"], office=office), "btn small")


def _founding(shell: Shell, shown: Shown) -> None:
    packages = {p.name: p.name for p in shown.packages}
    first = next(iter(packages), "")
    wanted = {"package": first, "brief": "", "people": "", "name": "", "speed": "60", "days": str(_DAYS)}

    def field(label: str, name: str, test: str, kind: str = "text", tag: str = "input", **more: object) -> None:
        kit.text(label, "label")
        made = kit.Tag(tag, "field", None, label=label, test=test, value=wanted[name], **more)
        if tag == "input":
            made.set(type=kind)
        made.on("change", lambda e: wanted.update({name: str(e.args)}), js_handler=kit.CHOSEN)

    async def found(from_brief: bool) -> None:
        people = int(wanted["people"]) if wanted["people"].isdecimal() and len(wanted["people"]) < 5 else None
        days = int(wanted["days"]) if wanted["days"].isdecimal() and len(wanted["days"]) < 6 else 0
        run = RunAsked(days, wanted["speed"]) if days else None
        try:
            asked = msgspec.convert(
                {"package": "" if from_brief else wanted["package"], "brief": wanted["brief"] if from_brief else "",
                 "name": wanted["name"], "people": people if from_brief else None,
                 "run": msgspec.to_builtins(run) if run else None}, FoundAsked,
            )  # fmt: skip
        except msgspec.ValidationError as fault:
            ui.notify(f"This cannot be made: {fault}.", type="warning")
            return
        parts = shell.parts
        job = await shell.telling(lambda: founding.found(parts.house, parts.town, parts.jobs, asked))
        if job is not None and job.state == "done" and isinstance(job.result.get("office"), str):
            ui.navigate.to(address(PATHS["floor"], office=job.result["office"]))
        await shell.refresh()

    with kit.card("New office", test="new-office"):
        if packages:
            kit.text("From a package", "label")
            kit.choice("Package", packages, first, lambda v: wanted.update(package=v), "new-package")
        field("Name, if it is to have one of its own", "name", "new-name", maxlength=100)
        with kit.box("halves"):
            with kit.box("stack tight"):
                field("Run for days (0: only make it)", "days", "new-days", "number", min=0, max=36_525)
            with kit.box("stack tight"):
                kit.text("Pace", "label")
                kit.choice("Pace", SPEEDS, "60", lambda v: wanted.update(speed=v), "new-speed")
        if packages:
            kit.button("Make it from the package", lambda: found(False), "main", "add", test="new-from-package")
        with kit.fold("Or write a brief", test="new-brief-part"), kit.box("stack"):
            kit.text("One or two sentences: what kind of organization, how many people, which clients. A model writes the "
                     "package, which takes a while; progress is shown here.", "hint", "p")  # fmt: skip
            field("Brief", "brief", "new-brief", tag="textarea", maxlength=4_000, rows=4)
            field("People (empty: as the brief says)", "people", "new-people", "number", min=2, max=1_000)
            kit.button("Make it from the brief", lambda: found(True), "main", "add", test="new-from-brief")


PAGE = Page("offices", PATHS["offices"], "Offices", "apartment", load, draw, every=2.0)
