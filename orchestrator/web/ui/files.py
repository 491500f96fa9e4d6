"""*Files*: the tree of the company, of each matter, and of each person's home. With `person`, as that person sees it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from orchestrator.web.queries import files
from orchestrator.web.queries.files import FileLine
from orchestrator.web.ui import kit, mail, people, whose
from orchestrator.web.ui.asked import Ask
from orchestrator.web.ui.paths import PATHS
from orchestrator.web.ui.shell import Page, Shell
from simulator.office import Office

AT_ONCE = 100


class Folder(msgspec.Struct, frozen=True):
    """A folder that has something in it: its path, its name, how deep it lies, and how many files are below it."""

    path: str
    name: str
    depth: int
    files: int


class Shown(msgspec.Struct, frozen=True):
    """The tree, and a part of the files of the folder that is open."""

    person: str
    people: Mapping[str, str]
    names: Mapping[str, str]
    folders: tuple[Folder, ...]
    open: str
    text: str
    lines: tuple[FileLine, ...]
    skip: int
    total: int


def tree(paths: Iterable[str], opened: str, titles: Mapping[str, str]) -> tuple[Folder, ...]:
    """Return the folders of paths, each below its parent: the uppermost, and those on the way to the one that is open."""
    counts: dict[str, int] = {}
    for path in paths:
        parts = path.strip("/").split("/")[:-1]
        for depth in range(1, len(parts) + 1):
            folder = "/".join(parts[:depth])
            counts[folder] = counts.get(folder, 0) + 1
    shown = []
    for folder in sorted(counts, key=lambda f: f.split("/")):
        parent, _, name = folder.rpartition("/")
        if not parent or f"{opened}/".startswith(f"{parent}/"):
            shown.append(Folder(folder, titles.get(folder, name), folder.count("/"), counts[folder]))
    return tuple(shown)


def titles(office: Office) -> dict[str, str]:
    """Return how spaces are called."""
    found = {f"home:{p.id}": f"{p.name}'s home" for p in office.people.values()}
    found |= {f"matter:{m.id}": m.name for m in office.matters.values()}
    found |= {f"department:{d.id}": d.name for d in office.departments.values()}
    return found | {"company": "The company"}


def load(ask: Ask) -> Shown:
    """Return the files of the address."""
    eyes = whose.eyes(ask, ask.get("person"))
    office, opened, text, skip = eyes.office, ask.get("folder").strip("/"), ask.get("text"), ask.number("skip")
    inside = f"{opened}/" if opened else ""
    if eyes.seen is None:
        every = files.files(office)
        folders = tree((f"{f.space}/{f.path}" for f in every), opened, titles(office))
        needle = text.casefold()
        mine = [f for f in every if f"{f.space}/{f.path}".startswith(inside) and needle in f.path.casefold()]
        lines = tuple(files.file_line(office, f) for f in mine[skip : skip + AT_ONCE])
        total = len(mine)
    else:
        all_seen = files.seen_files(eyes.seen)
        folders = tree((f.path for f in all_seen), opened, {})
        theirs = [f for f in files.seen_files(eyes.seen, text) if f.path.strip("/").startswith(inside)]
        lines = tuple(files.seen_line(office, eyes.seen, f) for f in theirs[skip : skip + AT_ONCE])
        total = len(theirs)
    return Shown(eyes.person, whose.everybody(office), eyes.names, folders, opened, text, lines, skip, total)


def draw(shell: Shell, shown: Shown) -> None:
    """Draw the tree and the open folder."""
    with kit.box("row between"):
        kit.heading("Files", 1)
        with kit.box("row"):
            kit.search("Search in paths", shown.text, lambda v: shell.turn(text=v, skip=""), "files-search")
            options = {"": "All there are", **{i: f"As {name} sees them" for i, name in shown.people.items()}}
            kit.choice("Whose eyes", options, shown.person, lambda v: shell.turn(person=v, folder="", skip=""), "files-person")
    with kit.box("side"):
        with kit.card("", "flush list", test="folder-tree"), kit.Tag("nav", "", None, label="Folders"):
            _folder(shell, "", "All files", -1, None, shown.open)
            for f in shown.folders:
                _folder(shell, f.path, f.name, f.depth, f.files, shown.open)
        with kit.card("", test="file-list"):
            if not shown.lines:
                kit.empty("No file here at this moment.")
                return
            mail.pager(shell, shown.skip, AT_ONCE, shown.total, "Before", "After")
            lines = tuple(_short(line, shown.open) for line in shown.lines)
            people.file_table(shell, lines, shown.names, bool(shown.person))


def _folder(shell: Shell, path: str, name: str, depth: int, count: int | None, opened: str) -> None:
    made = kit.button("", lambda: shell.turn(folder=path, skip=""), "item folder", test=f"folder-{path}")
    made.set(aria_current="true" if path == opened else None, style=f"padding-left: {22 + 14 * depth}px")
    with made, kit.Tag("span", "row between grow"):
        kit.text(name, "ellipsis")
        if count is not None:
            kit.text(f"{count:,}", "faint num")


def _short(line: FileLine, opened: str) -> FileLine:
    """Return a line whose path is told from the open folder on."""
    whole = line.path if line.path.startswith("/") else f"{line.space}/{line.path}"
    inside = whole.strip("/").removeprefix(opened).lstrip("/")
    return msgspec.structs.replace(line, path=inside or whole)


PAGE = Page("files", PATHS["files"], "Files", "folder", load, draw)
