"""Files: the operator's whole shelf with lineage, and what one person sees of it."""

from __future__ import annotations

import msgspec

from orchestrator.web.queries.common import FileName, Naming, When, names_in, names_of, when
from simulator.access import who_can
from simulator.errors import UnknownReference
from simulator.office import Office
from simulator.ports import Blob
from simulator.records import Acceptance, File, FileRef, FileVersion
from simulator.view import View
from simulator.view_types import SeenFile

NO_FILE = "There is no such file or version."


class FileLine(msgspec.Struct, frozen=True):
    """A file in a list: where it is, and its latest version. `path` is as whoever asked sees it."""

    id: str
    space: str
    path: str
    owner: str
    matter: str
    versions: int
    latest: int
    at: When
    author: str
    level: str
    media_type: str
    size: int
    accepted: bool
    reason: str


class Confirmed(msgspec.Struct, frozen=True):
    """An acceptance or sign-off of exactly one version."""

    id: str
    by: str
    at: When
    capacity: str


class Given(msgspec.Struct, frozen=True):
    """A share: to whom, by whom, and why it was allowed. `revoked` where it was taken back."""

    id: str
    audience: str
    by: str
    at: When
    reason: str
    revoked: bool


class VersionShown(msgspec.Struct, frozen=True):
    """One version with where it came from and what was made from it, as far as whoever asked may know."""

    number: int
    sha256: str
    size: int
    media_type: str
    author: str
    activation: str
    at: When
    level: str
    walls: tuple[str, ...]
    release: tuple[str, ...]
    delegation: str
    sources: tuple[FileName, ...]
    made_into: tuple[FileName, ...]
    confirmations: tuple[Confirmed, ...]
    shares: tuple[Given, ...]
    reason: str


class FileShown(msgspec.Struct, frozen=True):
    """A file with its versions, in order."""

    id: str
    space: str
    path: str
    owner: str
    matter: str
    versions: tuple[VersionShown, ...]


class WhoCan(msgspec.Struct, frozen=True):
    """Who could see a version at a moment, and why; who holds a copy that revocation did not reach."""

    file: FileName
    at: When
    who: tuple[Entry, ...]


class Entry(msgspec.Struct, frozen=True):
    """A person, why, and the copy they hold where that is all they have."""

    person: str
    name: str
    reason: str
    copy: FileName | None


class Content(msgspec.Struct, frozen=True):
    """Where a version's bytes are, and what to call them."""

    blob: Blob
    media_type: str
    name: str


# -- the operator's -----------------------------------------------------------------------------------------------------


def files(office: Office, space: str = "", owner: str = "", text: str = "") -> list[File]:
    """Return the files of a space and owner whose path holds `text`; by space and path."""
    wanted = text.casefold()
    found = (
        f for f in office.files.values()
        if (not space or f.space == space) and (not owner or f.owner == owner) and wanted in f"{f.space}/{f.path}".casefold()
    )  # fmt: skip
    return sorted(found, key=lambda f: (f.space, f.path, f.id))


def file_line(office: Office, file: File) -> FileLine:
    """Return a file as the operator's list shows it."""
    v = file.versions[-1]
    accepted = any(office.acceptances[i].version == v.number for i in office.accepted.get(file.id, ()))
    return FileLine(
        file.id, file.space, file.path, file.owner, file.matter, len(file.versions), v.number, when(office, v.at), v.author,
        v.level, v.media_type, v.blob.size, accepted, "",
    )  # fmt: skip


def file(office: Office, file_id: str) -> FileShown:
    """Return a file with all its versions. Raises UnknownReference."""
    found = office.files.get(file_id)
    if found is None:
        raise UnknownReference(NO_FILE)
    name = names_of(office)
    children = _children(office, file_id)
    grants = [office.grants[i] for i in office.by_file.get(file_id, ())]
    taken = [g for g in office.revoked.values() if g.file == file_id]
    held = [office.acceptances[i] for i in office.accepted.get(file_id, ())]
    versions = tuple(
        _version(
            office, v, name, v.sources, children.get(v.number, []), [a for a in held if a.version == v.number],
            tuple(Given(g.id, g.audience, g.by, when(office, g.at), g.reason, g.id in office.revoked)
                  for g in sorted((*grants, *taken), key=lambda g: (g.at, g.id)) if g.version == v.number),
        )
        for v in found.versions
    )  # fmt: skip
    return FileShown(found.id, found.space, found.path, found.owner, found.matter, versions)


def _children(office: Office, file_id: str) -> dict[int, list[FileRef]]:
    """Return, by version of a file, what was made from it."""
    made: dict[int, list[FileRef]] = {}
    for other in office.files.values():
        for v in other.versions:
            for source in v.sources:
                if source.file == file_id:
                    made.setdefault(source.version, []).append(FileRef(other.id, v.number))
    return made


def _version(
    office: Office, v: FileVersion, name: Naming, sources: tuple[FileRef, ...], children: list[FileRef],
    confirmed: list[Acceptance], shares: tuple[Given, ...], reason: str = "",
) -> VersionShown:  # fmt: skip
    return VersionShown(
        v.number, v.blob.sha256, v.blob.size, v.media_type, v.author, v.activation, when(office, v.at), v.level, v.walls,
        v.release, v.delegation, tuple(name(r) for r in sources), tuple(name(r) for r in sorted(children)),
        tuple(Confirmed(a.id, a.by, when(office, a.at), a.capacity) for a in confirmed), shares, reason,
    )  # fmt: skip


def content(office: Office, file_id: str, number: int) -> Content:
    """Return where a version's bytes are. Raises UnknownReference."""
    found = office.files.get(file_id)
    if found is None or not 1 <= number <= len(found.versions):
        raise UnknownReference(NO_FILE)
    version = found.versions[number - 1]
    return Content(version.blob, version.media_type, found.path.rsplit("/", 1)[-1])


def who(office: Office, ref: FileRef) -> WhoCan:
    """Return who could see a version in `office`, and why."""
    name = names_of(office)
    entries = tuple(
        Entry(e.person, office.people[e.person].name, e.reason, name(e.copy) if e.copy is not None else None)
        for e in who_can(office, ref)
    )
    return WhoCan(name(ref), when(office, office.now), entries)


# -- a person's -----------------------------------------------------------------------------------------------------------


def seen_files(seen: View, text: str = "") -> list[SeenFile]:
    """Return what the subject sees whose path holds `text`, by path."""
    wanted = text.casefold()
    return [f for f in seen.files() if wanted in f.path.casefold()]


def seen_line(office: Office, seen: View, f: SeenFile) -> FileLine:
    """Return a file as its viewer's list shows it."""
    accepted = bool(seen.confirmations(f.ref))
    return FileLine(
        f.ref.file, f.space, f.path, f.owner, f.matter, len(f.versions), f.ref.version, when(office, f.at), f.author,
        f.level, f.media_type, f.blob.size, accepted, f.reason,
    )  # fmt: skip


def seen_file(office: Office, seen: View, file_id: str) -> FileShown:
    """Return a file as the subject sees it: the versions they may read, and of its lineage what they may read too."""
    versions = seen.versions(file_id)
    if not versions:
        raise UnknownReference(NO_FILE)
    name = names_in(seen)
    shown = []
    for f in versions:
        v = FileVersion(f.ref.version, f.blob, f.media_type, f.author, "", f.at, f.level, f.walls, f.release,
                        delegation=f.delegation)  # fmt: skip
        confirmed = list(seen.confirmations(f.ref))
        shown.append(_version(office, v, name, seen.sources(f.ref), [], confirmed, (), f.reason))
    last = versions[-1]
    return FileShown(file_id, last.space, last.path, last.owner, last.matter, tuple(shown))


def seen_content(seen: View, file_id: str, number: int) -> Content:
    """Return where the bytes of a version are that the subject may read. Raises UnknownReference."""
    found = seen.file(FileRef(file_id, number))
    if found is None:
        raise UnknownReference(NO_FILE)
    return Content(found.blob, found.media_type, found.path.rsplit("/", 1)[-1])
