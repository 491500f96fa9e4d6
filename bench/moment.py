"""The moment a round of a delegation began: the four trees as they were, and the solution that was accepted later."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from bench.worlds.carried import carried
from simulator.access import Subject
from simulator.canonical import sha256
from simulator.engine.history import Log, as_of
from simulator.engine.segment import decode_tree
from simulator.errors import CorruptStore, UnknownReference, UsageError
from simulator.mounts import MountPlan, PlannedFile, plan_mounts
from simulator.office import Office
from simulator.ports import BlobStore, TreeEntry
from simulator.records import Body, Delegation, FileRef, Round
from simulator.view_paths import HOME

ROOTS = {"home": HOME.rstrip("/"), "company": "/mnt/company", "services": "/mnt/services", "task": "/mnt/task"}
Bodies = Callable[[Body], str]


class NoOracle(UsageError):
    """The work was never accepted, so there is no solution to hold a task against."""


class Placed(msgspec.Struct, frozen=True):
    """A file of a tree. `path` is relative to it; `ref` the version it shows, if it shows one; `why` it may be seen."""

    path: str
    data: bytes
    mode: int
    ref: FileRef | None
    why: str

    @property
    def sha256(self) -> str:
        return sha256(self.data)


class Moment(msgspec.Struct, frozen=True):
    """A round of a delegation as it began. `office` is as of the commit that opened it, `delegation` as known then."""

    office: Office
    delegation: Delegation
    round: Round
    trees: dict[str, tuple[Placed, ...]]
    plan: MountPlan

    def visible(self) -> dict[str, bytes]:
        """Return every visible file by its absolute path."""
        return {f"{ROOTS[tree]}/{file.path}": file.data for tree, files in self.trees.items() for file in files}


def split_reference(office: Office, reference: str, round_number: int | None = None) -> tuple[str, int]:
    """Read `ID` or `ID.ROUND`; without a round it is the first. Raises `UnknownReference`."""
    if reference in office.delegations:
        delegation, number = reference, round_number or 1
    else:
        delegation, _, last = reference.rpartition(".")
        if delegation not in office.delegations or not last.isdigit() or round_number not in (None, int(last)):
            raise UnknownReference(f"There is no delegation {reference!r} in this office. `officetown show` lists them.")
        number = int(last)
    rounds = len(office.delegations[delegation].rounds)
    if not 1 <= number <= rounds:
        raise UnknownReference(f"{delegation} has {rounds} round{'' if rounds == 1 else 's'}, so there is no round {number}.")
    return delegation, number


def moment_of(
    log: Log, blobs: BlobStore, bodies: Bodies, head: Office, delegation: str, number: int, office: Office | None = None
) -> Moment:
    """Return round `number` as it began. `office`, if it is at hand, is the one as of that round's revision."""
    opened = head.delegations[delegation].rounds[number - 1]
    office = office or as_of(log, opened.revision)
    known = office.delegations[delegation]
    if office.revision != opened.revision or known.rounds[-1].number != number:
        raise UnknownReference(f"{delegation}.{number}: revision {office.revision} is not the one at which it began.")
    plan = plan_mounts(office, delegation, bodies, reference=True)
    trees = {name: _placed(getattr(plan, name), blobs) for name in ROOTS}
    trees["services"] += _systems(office, known, opened, blobs)
    restored = next((r for r in reversed(known.rounds[:-1]) if r.home is not None), None)
    if restored is not None and restored.home is not None:
        trees["home"] = _restored(restored, decode_tree(fetch(blobs, restored.home.sha256)), plan, blobs)
    return Moment(office, known, opened, trees, plan)


def _systems(office: Office, work: Delegation, opened: Round, blobs: BlobStore) -> tuple[Placed, ...]:
    """Return the systems of record that the assistant of this round could use, with the command that runs them."""
    subject = Subject(work.principal, work.matter)
    found = carried(office, subject, opened.at, lambda blob: fetch(blobs, blob.sha256))
    return tuple(sorted((Placed(path, data, mode, None, why) for path, data, mode, why in found), key=lambda f: f.path))


def fetch(blobs: BlobStore, digest: str) -> bytes:
    """Return bytes of the store, verified by their hash (RULE 25)."""
    data = blobs.get(digest)
    if sha256(data) != digest:
        raise CorruptStore(f"The store gave other bytes than were filed under {digest}: run `officetown doctor`.")
    return data


def _placed(files: Iterable[PlannedFile], blobs: BlobStore) -> tuple[Placed, ...]:
    placed = []
    for file in files:
        data = file.data if file.data is not None else fetch(blobs, file.blob.sha256 if file.blob else "")
        placed.append(Placed(file.path, data, file.mode, file.ref, file.why))
    return tuple(placed)


def _restored(left: Round, entries: Iterable[TreeEntry], plan: MountPlan, blobs: BlobStore) -> tuple[Placed, ...]:
    """Return the home that an earlier round left (RULE 15), with the reason its files had, where they had one."""
    known = {(f.path, f.blob.sha256): (f.ref, f.why) for f in plan.home if f.blob is not None}
    placed = []
    for entry in sorted(entries, key=lambda e: e.path):
        ref, why = known.get((entry.path, entry.blob.sha256), (None, f"in the home as round {left.number} left it"))
        placed.append(Placed(entry.path, fetch(blobs, entry.blob.sha256), entry.mode, ref, why))
    return tuple(placed)


def accepted_round(delegation: Delegation) -> Round:
    """Return the round whose submission was accepted. Raises `NoOracle`."""
    for done in reversed(delegation.rounds):
        if done.review is not None and done.review.decision == "accept" and done.home is not None:
            return done
    raise NoOracle(
        f"{delegation.id} was never accepted (it is {delegation.state}), so there is no solution to hold a task against. "
        "Freeze a delegation that was accepted, or run the office on."
    )


def solution_of(delegation: Delegation, home: Iterable[Placed], blobs: BlobStore) -> tuple[Placed, ...]:
    """Return what the accepted submission changed against the home a round began with. Raises `NoOracle`."""
    done = accepted_round(delegation)
    assert done.home is not None
    before = {file.path: file.sha256 for file in home}
    changed = []
    for entry in decode_tree(fetch(blobs, done.home.sha256)):
        hidden = any(part.startswith(".") or part == "__pycache__" for part in entry.path.split("/"))
        if not hidden and before.get(entry.path) != entry.blob.sha256:
            why = f"accepted in round {done.number}"
            changed.append(Placed(entry.path, fetch(blobs, entry.blob.sha256), entry.mode, None, why))
    if not changed:
        raise NoOracle(f"{delegation.id}: what was accepted in round {done.number} is what lay in the home before.")
    return tuple(sorted(changed, key=lambda file: file.path))


def depth_of(office: Office, delegation: str) -> int:
    """Return how many delegations stand one on another's result, this one included."""
    depths: dict[str, int] = {}
    waiting = [delegation]
    while waiting:
        current = waiting[-1]
        below = _rests_on(office, current)
        missing = [d for d in below if d not in depths and d not in waiting]
        if missing:
            waiting += missing
            continue
        depths[current] = 1 + max((depths.get(d, 0) for d in below), default=0)
        waiting.pop()
    return depths[delegation]


def _rests_on(office: Office, delegation: str) -> list[str]:
    found = []
    for ref in office.delegations[delegation].inputs:
        made_by = office.files[ref.file].versions[ref.version - 1].delegation
        if made_by and made_by != delegation and made_by in office.delegations:
            found.append(made_by)
    return list(dict.fromkeys(found))
