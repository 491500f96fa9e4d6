"""Where a file appears to whoever may read it: display paths (DESIGN 7).

A person's own home is `/home/npc/computer`; everything else is below `/mnt/company`: a matter's space is
`Projects/<matter>`, the company's `Resources`, a department's `Departments/<name>`. What a colleague shared from
`Documents/Projects/<matter>/` appears in `Projects/<matter>/Results/`, anything else of theirs in `Shared/<name>/`.

Paths are unique for each viewer, whatever the case, and none lies below another. Where two clash, the one of a space
keeps the path and those from homes carry ` (owner's name)`. Names depend only on what the viewer may read (RULE 28).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

from simulator.canonical import clean_name
from simulator.office import Office
from simulator.records import File

HOME = "/home/npc/computer/"
COMPANY = "/mnt/company/"
PROJECTS_AT_HOME = ("Documents", "Projects")
_RESERVED = "skills"
"""Folder of `Resources` that holds the mounted skill packs; a file of the company may not stand in for one."""


def safe_segment(name: str) -> str:
    """Return `name` as one folder or file name: no separators, never empty, `.` or `..`."""
    cleaned = clean_name(name.replace("/", "-")).strip()
    return cleaned if cleaned.strip(".") else f"_{cleaned}"


def safe_path(path: str) -> str:
    """Return a relative path of safe segments, whatever was stored."""
    return "/".join(safe_segment(part) for part in path.split("/") if part) or "_"


def display_path(office: Office, viewer: str, file: File) -> str:
    """Return the absolute path of a file for a viewer, before clashes are settled."""
    kind, _, name = file.space.partition(":")
    path = safe_path(file.path)
    if kind == "home" and name == viewer:
        return HOME + path
    if kind == "matter":
        matter = office.matters.get(name)
        return f"{COMPANY}Projects/{safe_segment(matter.name if matter else name)}/{path}"
    if kind == "department":
        department = office.departments.get(name)
        return f"{COMPANY}Departments/{safe_segment(department.name if department else name)}/{path}"
    if kind == "home":
        return COMPANY + _from_home(owner_name(office, name), path)
    top, _, rest = path.partition("/")
    return f"{COMPANY}Resources/{f'{top} of the company/{rest}' if rest and top.casefold() == _RESERVED else path}"


def owner_name(office: Office, owner: str) -> str:
    """Return the name under which an owner's files are told apart."""
    person = office.people.get(owner)
    return safe_segment(person.name if person else owner)


def _from_home(owner: str, path: str) -> str:
    parts = path.split("/")
    if tuple(parts[:2]) == PROJECTS_AT_HOME and len(parts) > 3:
        return "/".join(("Projects", parts[2], "Results", *parts[3:]))
    return f"Shared/{owner}/{path}"


Wanted = dict[str, tuple[File, str]]
"""File id -> the file, and the path it has where nothing clashes."""


def wanted(office: Office, viewer: str, files: Iterable[File], before: Wanted) -> Wanted:
    """Return the paths before clashes are settled; `before` holds those found under the same names of people, matters and
    departments, of files that may have changed since."""
    found: Wanted = {}
    for file in files:
        known = before.get(file.id)
        found[file.id] = known if known is not None and known[0] is file else (file, display_path(office, viewer, file))
    return found


def settle(office: Office, paths: Wanted) -> dict[str, str]:
    """Return file id -> absolute display path, all different and none below another."""
    by_id = {file_id: file for file_id, (file, _) in paths.items()}
    wanted = {file_id: path for file_id, (_, path) in paths.items()}
    clashing = _clashing(wanted)
    if not clashing:
        return wanted
    for file_id in sorted(clashing):
        if by_id[file_id].space.startswith("home:") or _several_spaces(clashing, by_id, wanted, file_id):
            wanted[file_id] = _marked(wanted[file_id], owner_name(office, by_id[file_id].owner))
    # Two owners of one name, or a name that someone had already written: the id is different for certain.
    while clashing := _clashing(wanted):
        for file_id in sorted(clashing):
            wanted[file_id] = _marked(wanted[file_id], file_id)
    return wanted


def _several_spaces(clashing: set[str], by_id: Mapping[str, File], wanted: Mapping[str, str], file_id: str) -> bool:
    """Whether another file that is not from a home wants this path, or one below or above it, too."""
    mine = wanted[file_id].casefold()
    for other in clashing:
        if other == file_id or by_id[other].space.startswith("home:"):
            continue
        theirs = wanted[other].casefold()
        if theirs == mine or theirs.startswith(f"{mine}/"):
            return True
    return False


def _clashing(paths: Mapping[str, str]) -> set[str]:
    """Return the ids whose path is another's, or is a folder of another's."""
    folders: set[str] = set()
    holders: dict[str, list[str]] = {}
    for file_id, path in paths.items():
        folded = path.casefold()
        holders.setdefault(folded, []).append(file_id)
        end = folded.rfind("/")
        while end > 0 and folded[:end] not in folders:
            folders.add(folded[:end])
            end = folded.rfind("/", 0, end)
    return {i for folded, ids in holders.items() if len(ids) > 1 or folded in folders for i in ids}


def _marked(path: str, mark: str) -> str:
    pure = PurePosixPath(path)
    return str(pure.with_name(f"{pure.stem} ({mark}){pure.suffix}"))
