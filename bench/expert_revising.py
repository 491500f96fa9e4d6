"""From a review to a revised snapshot: a new folder, audited and calibrated before it is there; the reviewed one stays."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import msgspec

from bench import layout
from bench.audit import REVISION, TASK, Leak, audit, audit_alone
from bench.calibrate import calibrate
from bench.expert_reviews import TASK as TASK_FILE
from bench.expert_reviews import ExpertReview, proposals
from bench.grader.run import InvalidRubric, validate
from bench.moment import Bodies
from bench.rubric import LEAST_REQUIRED_CHECKS, Criterion, Rubric
from bench.snapshot import RUBRIC, Manifest, Snapshot, open_snapshot, write_snapshot
from bench.worlds.carried import COMMAND
from simulator.canonical import canonical, sha256
from simulator.engine.history import Log
from simulator.errors import UsageError
from simulator.ports import BlobStore

Files = dict[str, tuple[bytes, int]]


class Unfit(UsageError):
    """A revision that must not be used: it leaks, or its rubric does not judge rightly."""


class Revision(msgspec.Struct, frozen=True):
    """What `revision.json` says: the snapshot that was revised, the review, in words what changed, and the hash of the task's
    text where that is new."""

    base: str
    base_version: str
    review: ExpertReview
    changes: tuple[str, ...]
    task_sha256: str = ""


class Office(msgspec.Struct, frozen=True):
    """The office that a snapshot is of, to audit it with."""

    log: Log
    blobs: BlobStore
    bodies: Bodies


def revise_rubric(rubric: Rubric, review: ExpertReview, name: str) -> Rubric:
    """Return the rubric as a review would have it; groups keep the size they were authored with (DESIGN 11).

    Raises:
        UsageError: what would be left is no rubric.
    """
    remarks = {remark.criterion: remark for remark in review.said.remarks}
    dropped = {key for key, remark in remarks.items() if remark.opinion == "drop"}
    changed = []
    for criterion in rubric.without(dropped).criteria:
        remark = remarks.get(criterion.id)
        if remark is not None:
            proposed = {"text": remark.text, "priority": remark.priority, "required": remark.required}
            criterion = msgspec.structs.replace(criterion, **{k: v for k, v in proposed.items() if v is not None})
        changed.append(criterion)
    taken = {c.id for c in changed}
    names = (name for name in (f"expert-{number}" for number in range(1, 10_000)) if name not in taken)
    for added, new_id in zip(review.said.added, names, strict=False):
        changed.append(Criterion(new_id, added.text, added.priority, False, added.evidence, kind="judge"))
    already = tuple(each for each in rubric.already if each not in dropped)
    revised = msgspec.structs.replace(rubric, task=name, criteria=tuple(changed), already=already)
    _check(revised)
    return revised


def _check(rubric: Rubric) -> None:
    if len(rubric.required_checks()) < LEAST_REQUIRED_CHECKS:
        raise UsageError(
            f"{rubric.task}: fewer than {LEAST_REQUIRED_CHECKS} required criteria that a program decides would be left."
        )
    for criterion in rubric.criteria:
        if criterion.required and criterion.kind == "judge":
            raise UsageError(f"{criterion.id} is for a judge and cannot be required: without one there is no Pass@1.")
        if criterion.required and not criterion.evidence:
            raise UsageError(f"{criterion.id} cannot be required: it names no visible source that entails it.")
    try:
        validate(rubric.as_json())
    except InvalidRubric as reason:
        raise UsageError(f"{rubric.task}: {reason}.") from None


def revise(
    snapshot: Snapshot, review: ExpertReview, dest: Path, office: Office | None = None,
    progress: Callable[[str], None] = lambda _text: None,
) -> Snapshot:  # fmt: skip
    """Write a review's proposals out as a new snapshot folder in `dest`. Equal arguments give equal bytes.

    It is audited, with its `office` where that is at hand, and calibrated first; if either finds anything, nothing is left.

    Raises:
        UsageError: the review is of another version, proposes nothing, or would leave no rubric.
        Unfit: the audit or the calibration found something; says all of it.
    """
    if review.version != snapshot.manifest.hash:
        raise UsageError(f"The review is of another version of {snapshot.id}: review this one.")
    changes = tuple(proposals(snapshot.rubric(), review.said))
    if not changes:
        raise UsageError(f"{review.expert}'s review of {snapshot.id} proposes no change.")
    name = f"{snapshot.id}-x{sha256(canonical(review.said))[:8]}"
    manifest, files = _revised(snapshot, review, name, changes)
    dest.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".revising-", dir=dest) as scratch:
        write_snapshot(Path(scratch) / name, files, manifest)
        made = open_snapshot(Path(scratch) / name)
        _prove(made, office, progress)
        if (dest / name).exists():
            # The same review of the same version: what is there is what was just made, or was tampered with since.
            shutil.rmtree(dest / name)
        made.folder.rename(dest / name)
    return open_snapshot(dest / name)


def _revised(
    snapshot: Snapshot, review: ExpertReview, name: str, changes: tuple[str, ...]
) -> tuple[Manifest, Files]:
    files: Files = {each.path: (snapshot.read(each.path), each.mode) for each in snapshot.manifest.files}
    rubric = revise_rubric(snapshot.rubric(), review, name)
    _put(files, RUBRIC, msgspec.json.format(msgspec.json.encode(rubric, order="sorted"), indent=1) + b"\n")
    for path in ("task.toml", "README.md"):
        _put(files, path, files[path][0].replace(snapshot.id.encode(), name.encode(), 1))
    visible, digest = snapshot.manifest.visible, ""
    if review.said.task is not None:
        text = review.said.task.encode()
        digest = sha256(text)
        _put(files, TASK_FILE, text)
        systems = any(v.path == COMMAND for v in visible)
        _put(files, "instruction.md", layout.instruction(review.said.task, systems).encode())
        visible = tuple(msgspec.structs.replace(v, sha256=digest) if v.path == TASK else v for v in visible)
    record = Revision(snapshot.id, snapshot.manifest.hash, review, changes, digest)
    files[REVISION] = (msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n", 0o644)
    return msgspec.structs.replace(snapshot.manifest, id=name, visible=visible), files


def _put(files: Files, path: str, data: bytes) -> None:
    files[path] = (data, files[path][1])


def _prove(made: Snapshot, office: Office | None, progress: Callable[[str], None]) -> None:
    progress("auditing")
    found: list[Leak] = audit(made, office.log, office.blobs, office.bodies) if office is not None else audit_alone(made)
    if found:
        raise Unfit(f"The revised task must not be used: {'; '.join(str(leak) for leak in found[:5])}.")
    progress("calibrating")
    calibration = calibrate(made, progress)
    if not calibration.holds:
        raise Unfit(f"The revised rubric does not judge rightly: {'; '.join(calibration.faults[:5])}.")


def revision_of(snapshot: Snapshot) -> Revision | None:
    """Return what a snapshot was revised from; None for one that was frozen as it is."""
    if not any(listed.path == REVISION for listed in snapshot.manifest.files):
        return None
    return msgspec.json.decode(snapshot.read(REVISION), type=Revision)
