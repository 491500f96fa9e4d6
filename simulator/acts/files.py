"""Acts on files: save, accept, sign off, classify, share, take back. Saving, accepting and sharing are three acts
(DESIGN 4)."""

from __future__ import annotations

import mimetypes
import posixpath
from typing import Literal

from simulator.access import RULES_VERSION, Reclass, Share, inherited, publish_refusals
from simulator.acts import arguments as a
from simulator.acts.context import ActContext, Outcome, Refused
from simulator.canonical import clean_name
from simulator.events import FileAccepted, FileClassified, FileRevoked, FileSaved, FileShared, Payload
from simulator.fold.files import audience_members, path_key
from simulator.office import Office
from simulator.ports import Blob
from simulator.records import LEVELS, Acceptance, File, FileRef, FileVersion, Grant, Level

NAME_BYTES = 200
"""Bytes of an attachment's name: what every file system takes."""
MEDIA_TYPES = {
    ".md": "text/markdown",
    ".csv": "text/csv",
    ".txt": "text/plain",
    ".json": "application/json",
    ".pdf": "application/pdf",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ".pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    ".eml": "message/rfc822",
}
"""Own table: the machine's mime database must not decide what enters the log (RULE 37)."""


def media_type(path: str) -> str:
    """Return the media type that a file name stands for."""
    suffix = posixpath.splitext(path)[1].lower()
    return MEDIA_TYPES.get(suffix) or mimetypes.types_map.get(suffix, "application/octet-stream")


def safe_path(path: str) -> str:
    """Return a clean relative path. Refuses `..`, empty parts and absurd lengths."""
    home = "/home/npc/computer/"
    cleaned = clean_name(path.removeprefix(home))
    parts = cleaned.split("/")
    if not cleaned or any(p in ("", ".", "..") or len(p.encode()) > 200 for p in parts) or len(parts) > 12:
        raise Refused(f"{path!r} is no path in your home: write it as Folder/Name.ext, without .. or empty parts")
    return cleaned


def ref_text(office: Office, ref: FileRef) -> str:
    """Return a reference as people write it in answers: id and version."""
    return f"{ref.file}@{ref.version}"


def new_version(
    ctx: ActContext,
    space: str,
    path: str,
    owner: str,
    blob: Blob,
    sources: tuple[FileRef, ...],
    *,
    file_id: str,
    matter: str = "",
    level: Level | None = None,
    author: str = "",
    delegation: str = "",
) -> FileSaved:
    """Return the event that saves bytes as a file's next version, with the class and walls of its sources (RULE 27)."""
    known = ctx.office.by_path.get(path_key(space, path))
    file = ctx.office.files[known] if known else None
    low, walls = inherited(ctx.office, sources)
    number, name, kept = 1, file_id, path
    if file is not None:
        last = file.versions[-1]
        number, name, kept, matter = len(file.versions) + 1, file.id, file.path, file.matter or matter
        low, walls = _highest(low, last.level), tuple(sorted({*walls, *last.walls}))
    wall = ctx.office.matters[matter].client if matter in ctx.office.matters else ""
    walls = tuple(sorted({*walls, matter})) if wall else walls
    version = FileVersion(
        number, blob, media_type(path), author or ctx.actor, ctx.activation, ctx.at, _highest(low, level or low), walls,
        sources=sources, delegation=delegation,
    )  # fmt: skip
    return FileSaved(name, space, kept, owner, matter, version)


def _highest(first: Level, second: Level) -> Level:
    return max(first, second, key=LEVELS.index)


def save(ctx: ActContext, args: a.SaveFile) -> Outcome:
    path = safe_path(args.path)
    ctx.allow("create", f"home:{ctx.actor}")
    data = args.text.encode("utf-8", "replace")
    known = ctx.office.by_path.get(path_key(f"home:{ctx.actor}", path))
    if known:
        ctx.rely("file", known)
    matter = _matter_of(ctx, path)
    saved = new_version(ctx, f"home:{ctx.actor}", path, ctx.actor, ctx.blobs.put(data), ctx.opened,
                        file_id=ctx.act_id, matter=matter)  # fmt: skip
    return Outcome((saved,), {"file": saved.file, "version": saved.version.number, "path": saved.path})


def receive(ctx: ActContext, args: a.Receive) -> Outcome:
    """Keep what came with a message or mail as versions in its author's home: saved, and neither accepted nor shared."""
    ctx.allow("create", f"home:{ctx.actor}")
    events: list[FileSaved] = []
    names: set[str] = set()
    for number, (given, blob) in enumerate(ctx.received):
        name = received_name(given, names)
        path = f"Received/{ctx.calendar.day(ctx.at)}/{name}"
        events.append(
            new_version(ctx, f"home:{ctx.actor}", path, ctx.actor, blob, (), file_id=f"{ctx.act_id}.f{number}")
        )
    return Outcome(tuple(events), {"files": [f"{e.file}@{e.version.number}" for e in events]})


def received_name(given: str, names: set[str]) -> str:
    """Return a file name from outside as one that every file system takes, unlike those in `names`, and add it there.

    Refuses what is no file name.
    """
    name = clean_name(posixpath.basename(given.replace("\\", "/")))
    if name in ("", ".", "..") or len(name.encode()) > NAME_BYTES:
        raise Refused(f"{given[:100]!r} is no file name")
    if name.casefold() in names:
        raise Refused(f"two attachments are called {name!r}: give each a name of its own")
    names.add(name.casefold())
    return name


def _matter_of(ctx: ActContext, path: str) -> str:
    """Return the actor's matter whose project folder a home path lies in, if any."""
    parts = path.split("/")
    if len(parts) > 3 and parts[:2] == ["Documents", "Projects"]:
        for matter in sorted(ctx.office.matters.values(), key=lambda m: m.id):
            if matter.name == parts[2] and ctx.actor in matter.members:
                return matter.id
    return ""


def acceptance(
    ctx: ActContext, ref: FileRef, capacity: Literal["accept", "quality_signoff"], replaces: str, suffix: str = ""
) -> FileAccepted:
    """Return the event that accepts exactly one version; refuses a second acceptance that replaces nothing (RULE
    18)."""
    ctx.allow(capacity, ref)
    ctx.rely(capacity, ref.file)
    standing = [ctx.office.acceptances[i] for i in ctx.office.accepted.get(ref.file, ())]
    current = next((s for s in standing if s.capacity == capacity), None)
    if current is not None and current.version == ref.version and current.by == ctx.actor:
        raise Refused(f"you have already given {capacity} to this version ({current.id})")
    if current is not None and current.version >= ref.version and current.id != replaces:
        raise Refused(
            f"version {current.version} already has {capacity} by {current.by}: name {current.id} in replaces to replace it"
        )
    return FileAccepted(
        Acceptance(f"{ctx.act_id}{suffix}", ref.file, ref.version, ctx.actor, ctx.at, capacity),
        current.id if current else "",
    )


def accept(ctx: ActContext, args: a.AcceptFile) -> Outcome:
    ref = ctx.file(args.file)
    event = acceptance(ctx, ref, "accept", args.replaces)
    return Outcome((event,), {"acceptance": event.acceptance.id, "file": ref.file, "version": ref.version})


def sign_off(ctx: ActContext, args: a.SignOff) -> Outcome:
    ref = ctx.file(args.file)
    event = acceptance(ctx, ref, "quality_signoff", args.replaces)
    return Outcome((event,), {"acceptance": event.acceptance.id, "file": ref.file, "version": ref.version})


def classify(ctx: ActContext, args: a.Classify) -> Outcome:
    ref = ctx.file(args.file)
    for client in args.release_to:
        if client not in ctx.office.clients or not ctx.knows(f"client:{client}"):
            raise Refused(f"there is no client {client!r}: use the id of a client")
    version = ctx.office.files[ref.file].versions[ref.version - 1]
    ctx.allow("classify", Reclass(ref, args.level, version.walls, args.release_to))
    event = FileClassified(ref.file, ref.version, args.level, version.walls, args.release_to, ctx.actor)
    return Outcome((event,), {"file": ref.file, "version": ref.version, "level": args.level})


def audience_of(ctx: ActContext, text: str) -> str:
    """Read an audience; a bare person's name is accepted for `person:<id>`."""
    name = text.strip()
    kind, _, rest = name.partition(":")
    office = ctx.office
    known = {"department": office.departments, "matter": office.matters, "client": office.clients}
    hidden = kind in ("client", "matter") and not ctx.knows(name)
    if name == "everyone" or (kind in known and rest in known[kind] and not hidden):
        return name
    if kind == "person" or not rest:
        return f"person:{ctx.person(rest or name).id}"
    raise Refused(f"{text!r} is no audience: write person:<id>, department:<id>, matter:<id>, client:<id> or everyone")


def grants_for(ctx: ActContext, ref: FileRef, audiences: tuple[str, ...], first: int = 0) -> tuple[Payload, ...]:
    """Return the grants that share a version, after every publishing check (DESIGN 4). Refuses with all the reasons.

    A team or department that shares a wall with a person who may not receive is refused as a whole: sharing with part
    of
    a team would tell the others nothing and the giver a falsehood.
    """
    refusals: list[str] = []
    events: list[Payload] = []
    ctx.rely("accepted", ref.file)
    for number, audience in enumerate(audiences, first):
        found = publish_refusals(ctx.office, ctx.actor, ref, audience)
        refusals.extend(text for text in found if text not in refusals)
        if not audience_members(ctx.office, audience):
            refusals.append(f"nobody belongs to {audience}")
        ctx_decision = f"accepted, class and recipients checked for {audience}"
        grant = Grant(f"{ctx.act_id}.g{number}", ref.file, ref.version, audience, ctx.actor, ctx.at, ctx_decision,
                      RULES_VERSION)  # fmt: skip
        if not _granted(ctx.office, ref, audience):
            events.append(FileShared(grant))
    if refusals:
        raise Refused("; ".join(refusals))
    return tuple(events)


def _granted(office: Office, ref: FileRef, audience: str) -> bool:
    grants = (office.grants[g] for g in office.by_file.get(ref.file, ()))
    return any(g.version == ref.version and g.audience == audience for g in grants)


def share(ctx: ActContext, args: a.ShareFile) -> Outcome:
    ref = ctx.file(args.file)
    audiences = tuple(dict.fromkeys(audience_of(ctx, text) for text in args.audience))
    if not audiences:
        raise Refused("say with whom: audience is empty")
    for audience in audiences:
        ctx.allow("share", Share(ref, audience))
    events = grants_for(ctx, ref, audiences)
    return Outcome(events, {"file": ref.file, "version": ref.version, "shared_with": list(audiences)})


def unshare(ctx: ActContext, args: a.Unshare) -> Outcome:
    ref = ctx.file(args.file)
    audience = audience_of(ctx, args.audience)
    for name in ctx.office.by_file.get(ref.file, ()):
        grant = ctx.office.grants[name]
        mine = grant.by == ctx.actor or ctx.office.files[ref.file].owner == ctx.actor
        if mine and grant.audience == audience and grant.version == ref.version:
            return Outcome((FileRevoked(grant.id, ctx.actor),), {"revoked": grant.id})
    raise Refused("you have given no such share")


def deliverable_ref(file: File) -> FileRef:
    """Return the latest version of a file."""
    return FileRef(file.id, len(file.versions))
