"""What experts look at: snapshots in their folders, one of them opened, its files; and what was said of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from bench.expert_agreement import Agreement, agreement
from bench.expert_reviews import ExpertReview, QueueLine, Reviews, Said, make_review, queue, standing, task_of
from bench.expert_revising import Office, Revision, revise, revision_of
from bench.moment import ROOTS
from bench.rubric import Criterion
from bench.snapshot import MANIFEST, Manifest, Snapshot, open_snapshot
from orchestrator.compose import House
from services.documents.renderer import DocumentRenderer
from services.storage.documents import Documents
from simulator.engine.environment import Bodies
from simulator.errors import UnknownReference, UsageError

SNAPSHOTS = "snapshots"
"""Where the dashboard's freezing puts snapshots, below the home, in a folder an office."""
MOST_SHOWN = 200_000
_DEPTHS = (f"{MANIFEST}", f"*/{MANIFEST}", f"*/*/{MANIFEST}")


class Shelved(msgspec.Struct, frozen=True):
    """A snapshot that was found, not verified yet."""

    folder: Path
    manifest: Manifest


class Queue(msgspec.Struct, frozen=True):
    """The page of all snapshots: the queue for one expert, how far experts agree, how many reviews there are."""

    expert: str
    lines: tuple[QueueLine, ...]
    agreement: Agreement
    reviews: int
    unreadable: tuple[str, ...]


class FileLine(msgspec.Struct, frozen=True):
    """A file to be read. `place` is `home`, `company`, `services`, `task` or `solution`; `path` is absolute in the sandbox, and
    relative in the solution; `why` says why the agent may see it."""

    place: str
    path: str
    size: int
    why: str


class Asked(msgspec.Struct, frozen=True):
    """A criterion as experts see it. `weight` is its part of the whole score, 0 to 1; `check` says in words what decides it."""

    criterion: Criterion
    weight: float
    check: str


class Opened(msgspec.Struct, frozen=True):
    """One snapshot opened and verified, with all reviews of this version and the standing one of the asking expert."""

    manifest: Manifest
    task: str
    files: tuple[FileLine, ...]
    asked: tuple[Asked, ...]
    reviews: tuple[ExpertReview, ...]
    standing: tuple[ExpertReview, ...]
    mine: ExpertReview | None
    older: int
    revision: Revision | None


class Content(msgspec.Struct, frozen=True):
    """A file's content: as text where it can be rendered, cut if it is long."""

    path: str
    name: str
    text: str
    cut: bool
    data: bytes


def reviews_of(house: House) -> Reviews:
    """Return where reviews are kept."""
    return Reviews(Documents(house.database, "reviews"))


def default_places(house: House) -> tuple[Path, ...]:
    """Return where snapshots lie unless the command names other folders."""
    return (house.settings.home / SNAPSHOTS,)


def shelved(places: Sequence[Path]) -> tuple[list[Shelved], list[str]]:
    """Return the snapshots at or up to two folders below the places, each version once, and what could not be read."""
    found: dict[str, Shelved] = {}
    unreadable: list[str] = []
    folders = {m.parent for place in places for depth in _DEPTHS for m in place.glob(depth)}
    for folder in sorted(folders):
        if any(part.startswith(".") for part in folder.parts[-2:]):
            continue
        try:
            manifest = open_snapshot(folder, verify=False).manifest
        except UsageError as fault:
            unreadable.append(str(fault))
            continue
        found.setdefault(manifest.hash, Shelved(folder, manifest))
    return list(found.values()), unreadable


def queue_for(house: House, places: Sequence[Path], expert: str) -> Queue:
    """Return the queue of an expert; an empty name has said nothing yet."""
    some, unreadable = shelved(places)
    here = {each.manifest.hash for each in some}
    reviews = reviews_of(house).all()
    of_these = [r for r in reviews if r.version in here]
    lines = queue([each.manifest for each in some], reviews, expert)
    return Queue(expert, tuple(lines), agreement(of_these), len(of_these), tuple(unreadable))


def find(places: Sequence[Path], version: str) -> Snapshot:
    """Open and verify the snapshot of a version. Raises UnknownReference, and UsageError where it was tampered with."""
    for each in shelved(places)[0]:
        if each.manifest.hash == version:
            return open_snapshot(each.folder)
    raise UnknownReference("There is no snapshot of this version here.")


def opened(house: House, places: Sequence[Path], version: str, expert: str) -> Opened:
    """Return everything about one snapshot. Raises as `find`."""
    snapshot = find(places, version)
    rubric = snapshot.rubric()
    whole = sum(rubric.weight(c) for c in rubric.criteria) or 1.0
    asked = tuple(Asked(c, round(rubric.weight(c) / whole, 4), _in_words(c)) for c in rubric.criteria)
    reviews = reviews_of(house).all()
    own = [r for r in reviews if r.version == version]
    stand = standing(own)
    name = expert.strip().casefold()
    mine = next((r for r in stand if name and r.expert.casefold() == name), None)
    older = sum(1 for r in reviews if r.snapshot == snapshot.id and r.version != version)
    return Opened(
        snapshot.manifest, task_of(snapshot), _files(snapshot), asked, tuple(reversed(own)), tuple(stand), mine, older,
        revision_of(snapshot),
    )  # fmt: skip


def _in_words(criterion: Criterion) -> str:
    if criterion.check is None:
        return "a judge decides"
    path = criterion.check.params.get("path", "")
    kept = "the originals" if criterion.check.name == "unchanged" else str(path)
    return f"a program decides: {criterion.check.name.replace('_', ' ')}" + (f" in {kept}" if kept else "")


def _files(snapshot: Snapshot) -> tuple[FileLine, ...]:
    why = {v.path: v.why for v in snapshot.manifest.visible}
    found = []
    for name, root in ROOTS.items():
        tree = snapshot.tree(name)
        found += [
            FileLine(name, f"{root}/{p}", len(data), why.get(f"{root}/{p}", ""))
            for p, (data, _) in sorted(tree.items())
        ]
    solution = sorted(snapshot.tree("solution").items())
    return tuple(found) + tuple(
        FileLine("solution", p, len(data), "the version that was accepted") for p, (data, _) in solution
    )


def content(snapshot: Snapshot, place: str, path: str) -> Content:
    """Return a file of a snapshot. Raises UnknownReference for one that is not in it."""
    tree = snapshot.tree(place) if place in (*ROOTS, "solution") else {}
    relative = path if place == "solution" else path.removeprefix(f"{ROOTS.get(place, '')}/")
    if relative not in tree:
        raise UnknownReference("This snapshot has no such file.")
    data = tree[relative][0]
    name = relative.rpartition("/")[2]
    text = DocumentRenderer().render(data, "", name)
    return Content(path, name, text[:MOST_SHOWN], len(text) > MOST_SHOWN, data)


def save(house: House, places: Sequence[Path], version: str, expert: str, said: Said, at: float) -> ExpertReview:
    """Keep what an expert says of a snapshot; `at` is in seconds. Raises UsageError for what cannot stand."""
    review = make_review(find(places, version), expert, said, round(at * 1000))
    reviews_of(house).save(review)
    return review


def write_revised(house: House, places: Sequence[Path], review: ExpertReview, dest: Path | None = None) -> Snapshot:
    """Write a review's proposals out as a new snapshot beside the others, audited with its office where that is here.

    Raises UsageError kinds, among them `bench.expert_revising.Unfit`.
    """
    snapshot = find(places, review.version)
    office = None
    try:
        row = house.row(snapshot.manifest.office)
    except UnknownReference:
        row = None
    if row is not None:
        reader = house.offices.read(row.id)
        office = Office(reader, house.blobs, Bodies(reader))
    return revise(snapshot, review, dest or snapshot.folder.parent, office)


def said_here(house: House, places: Sequence[Path]) -> list[ExpertReview]:
    """Return all reviews of the snapshots that lie in these places, the oldest first."""
    here = {each.manifest.hash for each in shelved(places)[0]}
    return [r for r in reviews_of(house).all() if r.version in here]
