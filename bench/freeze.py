"""Freezing: from a round of a delegation, past or present, to a Harbor task folder (DESIGN 11, FORMATS.md)."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from bench import layout
from bench.grader.run import grade
from bench.kinds.criteria import author
from bench.kinds.inputs import NoRubric, material_of
from bench.moment import (
    ROOTS,
    Bodies,
    Moment,
    Placed,
    accepted_round,
    depth_of,
    moment_of,
    solution_of,
    split_reference,
)
from bench.rubric import Rubric
from bench.snapshot import MOUNTS, RUBRIC, SOLUTION, Manifest, Visible, write_snapshot
from bench.worlds.carried import COMMAND
from simulator.access import RULES_VERSION
from simulator.businesstime import calendar_for
from simulator.canonical import canonical, sha256
from simulator.engine.history import Log, as_of
from simulator.events import ENGINE_VERSION
from simulator.office import Office
from simulator.ports import BlobStore
from simulator.records import Delegation, FileRef
from simulator.view_paths import HOME

NOTES = "Notes/"
"""Where a person writes as the day goes on: what changes there is no original."""


class SnapshotInfo(msgspec.Struct, frozen=True):
    """A snapshot that was made: where it is, and what it is of."""

    id: str
    folder: str
    office: str
    delegation: str
    round: int
    principal: str
    work: str
    period: str
    depth: int
    files: int
    criteria: int
    required: int
    hash: str


class Frozen(msgspec.Struct, frozen=True):
    """A task that is ready to be written: every file but the manifest, which lists them."""

    manifest: Manifest
    rubric: Rubric
    files: dict[str, tuple[bytes, int]]


def freeze(
    log: Log,
    blobs: BlobStore,
    bodies: Bodies,
    office_id: str,
    delegation: str,
    round_number: int | None = None,
    dest: Path = Path(),
    *,
    models: Mapping[str, str] | None = None,
    head: Office | None = None,
    office: Office | None = None,
) -> SnapshotInfo:
    """Freeze a round (`delegation` is an id or `ID.ROUND`; the first round if none is said) into a new folder of `dest`.

    `bodies` gives a text body; `models` names the model of each role, where known. `head` and `office` are the office at
    its head and as of the round's revision, where they are at hand already.

    Raises:
        UnknownReference: no such delegation or round.
        NoOracle: the delegation was never accepted.
        NoRubric: no honest rubric can be made.
    """
    head = head or as_of(log)
    found, number = split_reference(head, delegation, round_number)
    moment = moment_of(log, blobs, bodies, head, found, number, office)
    frozen = prepare(moment, head.delegations[found], blobs, office_id, models or {}, depth_of(head, found))
    dest.mkdir(parents=True, exist_ok=True)
    folder = dest / frozen.manifest.id
    sealed = write_snapshot(folder, frozen.files, frozen.manifest)
    rubric = frozen.rubric
    return SnapshotInfo(
        sealed.id, str(folder), office_id, found, number, sealed.principal, sealed.work, sealed.period, sealed.depth,
        len(sealed.files), len(rubric.criteria), len(rubric.required_checks()), sealed.hash,
    )  # fmt: skip


def prepare(
    moment: Moment, finished: Delegation, blobs: BlobStore, office_id: str, models: Mapping[str, str], depth: int
) -> Frozen:
    """Build a snapshot's files by allow-list; equal arguments give equal bytes."""
    solution = solution_of(finished, moment.trees["home"], blobs)
    name = _slug(f"{office_id}-{finished.id}-r{moment.round.number}")
    rubric = _rubric(name, moment)
    files = _environment(moment)
    visible = moment.visible()
    task = visible["/mnt/task/TASK.md"].decode()
    manifest = _manifest(name, moment, office_id, models, depth, accepted_round(finished).number)
    files["task.toml"] = (layout.task_toml(name, _metadata(manifest)).encode(), 0o644)
    files["instruction.md"] = (layout.instruction(task, COMMAND in visible).encode(), 0o644)
    files["README.md"] = (layout.readme(name, _facts(manifest)).encode(), 0o644)
    files["tests/test.sh"] = (layout.TEST_SH.encode(), 0o755)
    files["tests/grade.py"] = (layout.GRADE_PY.encode(), 0o644)
    files["tests/Dockerfile"] = (layout.verifier_dockerfile().encode(), 0o644)
    text = msgspec.json.format(msgspec.json.encode(rubric, order="sorted"), indent=1)
    files[RUBRIC] = (text + b"\n", 0o644)
    files |= {f"tests/{path}": (data, 0o644) for path, data in layout.grader_files().items()}
    files["solution/solve.sh"] = (layout.SOLVE_SH.encode(), 0o755)
    files |= {f"{SOLUTION}/{file.path}": (file.data, file.mode) for file in solution}
    return Frozen(manifest, rubric, files)


def _environment(moment: Moment) -> dict[str, tuple[bytes, int]]:
    now = datetime.fromtimestamp(moment.round.at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    files = {
        "environment/Dockerfile": (layout.dockerfile(now, moment.round.at).encode(), 0o644),
        "environment/docker-compose.yaml": (layout.COMPOSE.encode(), 0o644),
    }
    for tree, placed in moment.trees.items():
        files |= {f"{MOUNTS}/{tree}/{file.path}": (file.data, file.mode) for file in placed}
    return files


def _rubric(name: str, moment: Moment) -> Rubric:
    material = material_of(moment.visible())
    asked = {path.removeprefix(HOME) for path in material.deliverables}
    seen = {
        file.sha256
        for tree, placed in moment.trees.items()
        for file in placed
        if not (tree == "home" and file.path in asked)
    }
    canary = f"officetown-evaluator-only-{sha256(canonical((name, moment.office.package)))[:32]}"
    rubric = author(name, material, _originals(moment, asked), seen, canary, moment.round.number)
    return msgspec.structs.replace(rubric, already=_already(moment.trees["home"], rubric, name))


def _originals(moment: Moment, asked: set[str]) -> dict[str, str]:
    """Return the files of the home that this work may not change: inputs, what the person saved, what others delivered.

    Not among them: this work's own earlier drafts, running notes, and by-products that an assistant left beside its
    deliverables (a work log, scratch files).
    """
    kept = {f.path for f in moment.plan.home if f.ref is not None and _is_original(moment, f.ref, f.path)} - asked
    return {
        file.path: file.sha256
        for file in moment.trees["home"]
        if file.path in kept and not file.path.startswith((NOTES, ".")) and "/." not in file.path
    }


def _is_original(moment: Moment, ref: FileRef, path: str) -> bool:
    if ref in moment.delegation.inputs:
        return True
    made_by = moment.office.files[ref.file].versions[ref.version - 1].delegation
    maker = moment.office.delegations.get(made_by)
    if maker is None:
        return True
    names = {name.rpartition("/")[2].casefold() for name in maker.deliverables}
    return made_by != moment.delegation.id and path.rpartition("/")[2].casefold() in names


def _already(home: Iterable[Placed], rubric: Rubric, name: str) -> tuple[str, ...]:
    """Return the criteria that what lies in the home meets before anything is done. Raises `NoRubric` if that is all."""
    with tempfile.TemporaryDirectory() as folder:
        lay_out(Path(folder), {file.path: (file.data, file.mode) for file in home})
        results, _ = grade(Path(folder), rubric.as_json())
    holding = {result.id for result in results if result.holds}
    own = [c for c in rubric.criteria if c.kind == "check" and not c.guard]
    met = tuple(c.id for c in own if c.id in holding)
    if len(met) == len(own):
        raise NoRubric(f"{name}: what lies in the home already meets every check, so there is nothing to do")
    return met


def lay_out(folder: Path, tree: Mapping[str, tuple[bytes, int]]) -> None:
    """Write a tree {relative path: (bytes, mode)} into a folder."""
    for path, (data, mode) in tree.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
        place.chmod(mode)


def _manifest(
    name: str, moment: Moment, office_id: str, models: Mapping[str, str], depth: int, oracle: int
) -> Manifest:
    office, work = moment.office, moment.delegation
    principal = office.people[work.principal]
    days = calendar_for(office.calendar)
    visible = tuple(
        Visible(f"{ROOTS[tree]}/{file.path}", file.sha256, f"{file.ref.file}@{file.ref.version}" if file.ref else "", file.why)
        for tree, placed in moment.trees.items()
        for file in placed
    )  # fmt: skip
    return Manifest(
        id=name, office=office_id, delegation=work.id, round=moment.round.number, revision=moment.round.revision,
        at=moment.round.at, now=days.describe(moment.round.at), moment=days.local(moment.round.at).isoformat(),
        firm=office.name, domain=office.domain, package=office.package, principal=principal.id,
        principal_name=principal.name, title=principal.title, matter=work.matter, work=work.work, period=work.period,
        depth=depth, engine=ENGINE_VERSION, rules=RULES_VERSION, oracle_round=oracle, models=dict(sorted(models.items())),
        withheld=tuple(f"{ref.file}@{ref.version}" for ref in moment.plan.withheld), visible=visible, files=(),
    )  # fmt: skip


def _metadata(m: Manifest) -> dict[str, str | int]:
    return {
        "domain": m.domain, "role": m.title, "office": m.firm, "moment": m.moment, "work": m.work, "period": m.period,
        "round": m.round, "depth": m.depth, "tier": "revision" if m.round > 1 else "first",
    }  # fmt: skip


def _facts(m: Manifest) -> dict[str, str]:
    return {
        "Office": f"{m.firm} (simulated)", "Moment": m.now, "Principal": f"{m.principal_name}, {m.title}", "Work": m.work,
        "Period": m.period, "Round": str(m.round), "Solution": f"accepted in round {m.oracle_round}",
    }  # fmt: skip


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
