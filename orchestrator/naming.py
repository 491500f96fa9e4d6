"""Naming files: from what the operator writes to a file version. On the operator's side: it knows every file there is."""

from __future__ import annotations

from collections.abc import Callable

from simulator.errors import UnknownReference, UsageError
from simulator.office import Office
from simulator.records import File, FileRef
from simulator.view_paths import display_path

_LISTED = 6


def find_file(office: Office, text: str) -> FileRef:
    """Return the version that `PATH` (its latest) or `PATH@VERSION` names.

    A path is an id, `space/path`, a path within its space, one as people see it (`/mnt/company/...`), or the end of one.

    Raises:
        UnknownReference: no file or version is called so.
        UsageError: several files are.
    """
    found, number = _matching(office, text), 0
    name, at, version = text.rpartition("@")
    if not found and at and version.isascii() and version.isdigit():
        found, number = _matching(office, name), int(version)
    if not found:
        raise UnknownReference(
            f"There is no file {text!r} at that moment. `officetown files OFFICE --as PERSON` lists them."
        )
    if len(found) > 1:
        places = ", ".join(sorted(f"{f.space}/{f.path}" for f in found)[:_LISTED])
        more = f" and {len(found) - _LISTED} more" if len(found) > _LISTED else ""
        raise UsageError(f"{text!r} may be any of: {places}{more}. Write space and path, or the id.")
    file = found[0]
    if number > len(file.versions):
        raise UnknownReference(f"{file.path} had {len(file.versions)} versions at that moment.")
    return FileRef(file.id, number or len(file.versions))


def _matching(office: Office, name: str) -> list[File]:
    """Return the files of that name, by the strictest reading that any fits."""
    if not name:
        return []
    readings: tuple[Callable[[File], bool], ...] = (
        lambda f: f.id == name,
        lambda f: f"{f.space}/{f.path}" == name,
        lambda f: display_path(office, "", f) == name,
        lambda f: f.path == name,
        lambda f: f.path.endswith(f"/{name}"),
        lambda f: name.startswith("/") and name.endswith(f"/{f.path}"),
    )
    for fits in readings:
        found = [f for f in office.files.values() if fits(f)]
        if found:
            return found
    return []
