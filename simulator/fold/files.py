"""Folding of files: save, accept and share are three separate events (DESIGN 4)."""

from __future__ import annotations

import msgspec

from simulator.access import can
from simulator.canonical import clean_name
from simulator.events import Event, FileAccepted, FileClassified, FileRevoked, FileSaved, FileShared
from simulator.fold.base import append, drop, notify, put, wake
from simulator.office import Office
from simulator.records import File, FileRef, FileVersion, Stimulus


def path_key(space: str, path: str) -> str:
    """Key of a path in `Office.by_path`: unique within a space, whatever the case (RULE 28)."""
    return f"{space}\x1f{clean_name(path).casefold()}"


def saved(o: Office, event: Event, p: FileSaved) -> None:
    old = o.files.get(p.file)
    versions = (p.version,) if old is None else (*old.versions, p.version)
    file = File(p.file, p.space, p.path, p.owner, p.matter, versions)
    put(o, files=o.files.insert(p.file, file))
    if old is None:
        put(o, by_path=o.by_path.insert(path_key(p.space, p.path), p.file), owned=append(o.owned, p.owner, p.file))


def accepted(o: Office, event: Event, p: FileAccepted) -> None:
    a = p.acceptance
    held = tuple(i for i in o.accepted.get(a.file, ()) if o.acceptances[i].capacity != a.capacity)
    put(o, acceptances=o.acceptances.insert(a.id, a), accepted=o.accepted.insert(a.file, (*held, a.id)))
    file = o.files[a.file]
    if file.owner != a.by:
        notify(o, event, file.owner, f"{a.capacity} of {file.path}, version {a.version}", a.id)
        wake(o, file.owner, Stimulus(a.id, "notice", a.file, event.sim_time, a.by, f"file:{a.file}",
                                     text=f"{a.capacity} of version {a.version}"))  # fmt: skip


def shared(o: Office, event: Event, p: FileShared) -> None:
    g = p.grant
    put(
        o,
        grants=o.grants.insert(g.id, g),
        by_audience=append(o.by_audience, g.audience, g.id),
        by_file=append(o.by_file, g.file, g.id),
        access_epoch=o.access_epoch + 1,
    )
    file = o.files[g.file]
    if event.activation == "genesis" or g.by not in o.people or file.space.startswith("matter:"):
        return
    for person in audience_members(o, g.audience):
        may_read = can(person, "read", FileRef(g.file, g.version), o).allowed
        if person != g.by and o.people[person].kind == "staff" and may_read:
            wake(o, person, Stimulus(g.id, "share", g.file, event.sim_time, g.by, f"file:{g.file}", wakes=False))


def audience_members(o: Office, audience: str) -> tuple[str, ...]:
    """Return the people an audience names, in order of id. Whether they may receive is `can`'s to say."""
    kind, _, name = audience.partition(":")
    if kind == "person":
        return (name,) if name in o.people else ()
    if kind == "matter":
        matter = o.matters.get(name)
        return tuple(sorted(m for m in matter.members if m in o.people)) if matter else ()
    if kind == "department":
        return tuple(sorted(p.id for p in o.people.values() if p.department == name and p.active))
    if kind == "client":
        return tuple(sorted(p.id for p in o.people.values() if p.client == name and p.active))
    if audience == "everyone":
        return tuple(sorted(p.id for p in o.people.values() if p.kind == "staff" and p.active))
    return ()


def revoked(o: Office, event: Event, p: FileRevoked) -> None:
    g = o.grants[p.grant]
    put(
        o,
        grants=o.grants.remove(g.id),
        revoked=o.revoked.insert(g.id, g),
        by_audience=drop(o.by_audience, g.audience, g.id),
        by_file=drop(o.by_file, g.file, g.id),
        access_epoch=o.access_epoch + 1,
    )


def classified(o: Office, event: Event, p: FileClassified) -> None:
    file = o.files[p.file]

    def changed(v: FileVersion) -> FileVersion:
        if v.number != p.version:
            return v
        return msgspec.structs.replace(v, level=p.level, walls=p.walls, release=p.release)

    versions = tuple(changed(v) for v in file.versions)
    put(
        o,
        files=o.files.insert(file.id, msgspec.structs.replace(file, versions=versions)),
        access_epoch=o.access_epoch + 1,
    )
