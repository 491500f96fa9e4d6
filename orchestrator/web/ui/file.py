"""One file: what is in a version, its history and differences, its lineage, and who could see it on that day, and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from orchestrator.tracing import trace
from orchestrator.web.queries import files
from orchestrator.web.queries.files import FileShown, VersionShown, WhoCan
from orchestrator.web.ui import content, delegation, difference, kit, ledto, lineage, mail, people
from orchestrator.web.ui.asked import Ask
from orchestrator.web.ui.content import size
from orchestrator.web.ui.drawing import Drawing
from orchestrator.web.ui.paths import PATHS
from orchestrator.web.ui.shell import Page, Shell
from orchestrator.web.ui.tables import Table, cell
from simulator.errors import UnknownReference
from simulator.office import Office
from simulator.records import FileRef

TABS = {"inside": "Contents", "versions": "Versions", "changes": "What changed", "lineage": "Came from", "who": "Who could see it",
        "why": "Why it exists"}  # fmt: skip


class Cause(msgspec.Struct, frozen=True):
    """One step of how it came to be."""

    revision: int
    when: str
    text: str


class Shown(msgspec.Struct, frozen=True):
    """A file, the version that is open, and what the chosen tab shows."""

    file: FileShown
    version: VersionShown
    names: Mapping[str, str]
    audiences: Mapping[str, str]
    tab: str
    data: Any


def load(ask: Ask) -> Shown:
    """Return the file of the address, as of the moment."""
    office, name = ask.office, ask.get("file")
    found = files.file(office, name)
    number = ask.number("version", len(found.versions))
    if not 1 <= number <= len(found.versions):
        raise UnknownReference(f"At this moment the file has versions 1 to {len(found.versions)}; there is no version {number}.")
    version = found.versions[number - 1]
    tab = ask.get("tab", "inside")
    tab = tab if tab in TABS else "inside"
    names = {p.id: p.name for p in office.people.values()}
    given = {g.audience for v in found.versions for g in v.shares}
    audiences = {a: ledto.audience(office, a) for a in given}
    return Shown(found, version, names, audiences, tab, _data(ask, office, FileRef(name, number), tab))


def _data(ask: Ask, office: Office, ref: FileRef, tab: str) -> Any:
    file = office.files[ref.file]
    if tab == "inside":
        v = file.versions[ref.version - 1]
        return content.inside(ask.book, v.blob, v.media_type, file.path)
    if tab == "changes" and ref.version > 1:
        before = min(ask.number("from", ref.version - 1), len(file.versions))
        return max(1, before), delegation.compare(ask, FileRef(ref.file, max(1, before)), ref)
    if tab == "lineage":
        return lineage.graph(office, ref)
    if tab == "who":
        return files.who(office, ref)
    if tab == "why":
        steps = trace(ask.book.reader, f"{ref.file}@{ref.version}")
        return tuple(Cause(s.revision, s.when, s.text) for s in steps)
    return None


# -- drawn ------------------------------------------------------------------------------------------------------------------


def draw(shell: Shell, shown: Shown) -> None:
    """Draw the file."""
    f, v = shown.file, shown.version
    folder, _, name = f.path.rpartition("/")
    with kit.box("row between"):
        with kit.box("stack tight"):
            kit.heading(name, 1, test="file-name")
            kit.link(f"{f.space}/{folder}".rstrip("/"), shell.url("files", folder=f"{f.space}/{folder}".rstrip("/")), "hint")
        with kit.box("row"):
            kit.chip(v.level, people.level(v.level))
            for wall in v.walls:
                kit.chip(f"wall: {wall}")
            options = {str(one.number): f"Version {one.number}, {people.short(one.at)}" for one in f.versions}
            kit.choice("Version", options, str(v.number), lambda n: shell.turn(version=n), "file-version")
            kit.Tag("a", "btn", "Download", href=_content(shell, f.id, v.number), download="", test="file-download")
    kit.text(f"By {people.author(shown.names, v.author)}, {v.at.local.replace('T', ' ')[:16]} · {size(v.size)} · owner "
             f"{shown.names.get(f.owner, f.owner)}", "hint", "p")  # fmt: skip
    kit.tabs("What to look at", TABS, shown.tab, lambda t: shell.turn(tab="" if t == "inside" else t, **{"from": ""}), "tab")
    with kit.card("", test=f"file-{shown.tab}"):
        _DRAWS[shown.tab](shell, shown)


def _content(shell: Shell, file: str, version: int) -> str:
    path = "/api/v1/offices/{office}/files/{file}/versions/{version}/content"
    return shell.address(path, file=file, version=version)


def _inside(shell: Shell, shown: Shown) -> None:
    content.draw(shown.data, shown.file.path)


def _versions(shell: Shell, shown: Shown) -> None:
    for v in reversed(shown.file.versions):
        with kit.Tag("article", "memory stack", None, test=f"version-{v.number}"):
            with kit.box("row"):
                kit.link(f"Version {v.number}", shell.url("file", file=shown.file.id, version=v.number), "strong")
                kit.chip(v.level, people.level(v.level))
                for c in v.confirmations:
                    what = "accepted" if c.capacity == "accept" else "signed off"
                    kit.chip(f"{what} by {shown.names.get(c.by, c.by)}, {people.short(c.at)}", "good")
            made = f"{people.author(shown.names, v.author)}, {v.at.local.replace('T', ' ')[:16]}, {size(v.size)}"
            kit.text(made, "faint")
            if v.delegation:
                kit.link("From delegated work", shell.url("delegation", delegation=v.delegation))
            if v.sources:
                kit.text("Made from", "label")
                mail.files(shell, v.sources)
            if v.made_into:
                kit.text("Made into", "label")
                mail.files(shell, v.made_into)
            for g in v.shares[:30]:
                whom = shown.audiences.get(g.audience, g.audience)
                taken = " (taken back)" if g.revoked else ""
                kit.text(f"{people.short(g.at)} shared with {whom} by {shown.names.get(g.by, g.by)}: {g.reason}{taken}", "hint", "p")


def _changes(shell: Shell, shown: Shown) -> None:
    if shown.data is None:
        kit.empty("This is the first version: there is nothing to compare it with.")
        return
    before, found = shown.data
    options = {str(v.number): f"Version {v.number}" for v in shown.file.versions if v.number != shown.version.number}
    with kit.box("row"):
        kit.text("Since", "label")
        kit.choice("Compare with", options, str(before), lambda n: shell.turn(**{"from": n}), "file-from")
    difference.draw(found, f"What changed in {shown.file.path}")


def _lineage(shell: Shell, shown: Shown) -> None:
    kit.text("From left to right: what it was made from, this version, and what was made from it.", "hint", "p")
    picture = lineage.draw(shown.data, lambda ref: shell.url("file", file=ref.file, version=ref.version, tab="lineage"))
    with kit.box("scroll", tabindex="0", role="region", label="Lineage"):
        Drawing(picture, "What came from what", "lineage", fixed=True, test="lineage")


def _who(shell: Shell, shown: Shown) -> None:
    found: WhoCan = shown.data
    said = f"Who could see version {shown.version.number} at {found.at.local.replace('T', ' ')[:16]}, and why"
    kit.heading(said, 2, "card-title")
    Table(said, ("Person", "Why", "Only as a copy"), [
        (cell(e.name, shell.url("person", person=e.person, tab="files")), e.reason, e.copy.path if e.copy is not None else "")
        for e in found.who
    ], "who-can")  # fmt: skip
    kit.text("Everybody else could not. Move the slider to ask for another day.", "hint", "p")


def _why(shell: Shell, shown: Shown) -> None:
    for step in shown.data:
        with kit.box("feed-line"):
            kit.link(step.when, shell.url("floor", at=step.revision), "time")
            kit.text(step.text)
    if not shown.data:
        kit.empty("It was there from the start.")


_DRAWS = {"inside": _inside, "versions": _versions, "changes": _changes, "lineage": _lineage, "who": _who, "why": _why}

PAGE = Page("file", PATHS["file"], "File", "folder", load, draw, menu=False, under="files")
