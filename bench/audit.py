"""The leak audit of a snapshot: an independent look, by other means than those that built it (DESIGN 11, RULES 25 and 26).

What was already there at the moment is never a finding.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, Literal

import msgspec

from bench.layout import instruction
from bench.moment import ROOTS, Bodies, Moment, moment_of
from bench.snapshot import RUBRIC, SOLUTION, Snapshot, faults_of
from bench.span_index import SpanIndex
from bench.spans import spans
from bench.worlds.carried import FOLDER
from services.documents.renderer import DocumentRenderer
from simulator.access import Subject, can
from simulator.canonical import sha256
from simulator.engine.history import Log, as_of
from simulator.office import Office
from simulator.ports import BlobStore
from simulator.records import File, FileRef

CANARY = re.compile(rb"officetown[-_]canary[-_]?\w*", re.IGNORECASE)
FindingKind = Literal["manifest", "mounts", "time", "later", "rubric", "solution", "canary", "evidence"]
REVISION = "revision.json"
"""Which review a revised snapshot was made from (`bench.expert_revising`); on the evaluator's side."""
TASK = f"{ROOTS['task']}/TASK.md"
_MOST = 50
_TELLTALE = (b"tests/rubric.json", b"officetown-rubric/", b"officetown-snapshot/", b"/logs/verifier/reward.json")
_LEAST_TEXT = 24


class Leak(msgspec.Struct, frozen=True):
    """One finding: of what kind, where, and in words what is wrong."""

    kind: FindingKind
    path: str
    text: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.path}: {self.text}" if self.path else f"{self.kind}: {self.text}"


def audit_alone(snapshot: Snapshot, canaries: Iterable[str] = ()) -> list[Leak]:
    """Return what can be found wrong with a snapshot without its office: hashes, rubric words, solution, canaries, times."""
    found = [Leak("manifest", "", fault) for fault in faults_of(snapshot)]
    if found:
        return found
    visible = snapshot.visible()
    visible_texts = {path: data for path, data in visible.items()} | {"instruction.md": snapshot.read("instruction.md")}
    found += _canaries(visible_texts, canaries)
    found += _rubric_words(snapshot, visible_texts)
    found += _solution(snapshot, visible)
    found += _times(snapshot, visible)
    found += _evidence(snapshot, visible)
    return found[:_MOST]


def audit(
    snapshot: Snapshot, log: Log, blobs: BlobStore, bodies: Bodies, canaries: Iterable[str] = (),
    *, head: Office | None = None, office: Office | None = None, index: SpanIndex | None = None,
) -> list[Leak]:  # fmt: skip
    """Return every finding; an empty list means that no leak was found.

    Beyond `audit_alone`: the mounts are what `can` says the principal could see at that moment, and no span of a later
    version is in them that was nowhere before. `head`, `office` (as of the round's revision) and `index` are made anew
    unless they are at hand.
    """
    found = audit_alone(snapshot, canaries)
    if any(leak.kind == "manifest" for leak in found):
        return found
    m = snapshot.manifest
    head = head or as_of(log)
    if m.delegation not in head.delegations or m.round > len(head.delegations[m.delegation].rounds):
        return [*found, Leak("mounts", "", f"the office {m.office} has no {m.delegation}.{m.round}: audit it with its own office")]
    moment = moment_of(log, blobs, bodies, head, m.delegation, m.round, office)
    if moment.round.revision != m.revision:
        found.append(Leak("mounts", "", f"the round began at revision {moment.round.revision}, not {m.revision}"))
    found += _rights(snapshot, moment)
    found += _equal(snapshot, moment)
    found += _later(snapshot, moment, index or SpanIndex(log, blobs, bodies))
    return found[:_MOST]


# -- without the office -------------------------------------------------------------------------------------------------


def _canaries(visible: dict[str, bytes], canaries: Iterable[str]) -> Iterator[Leak]:
    known = [canary.encode() for canary in canaries]
    render = DocumentRenderer().render
    for path, data in visible.items():
        text = data + b"\n" + render(data, "", path.rpartition("/")[2]).encode("utf-8", "replace")
        hit = CANARY.search(text) or next((c for c in known if c in text), None)
        if hit:
            yield Leak("canary", path, "it holds a canary")


def _rubric_words(snapshot: Snapshot, visible: dict[str, bytes]) -> Iterator[Leak]:
    rubric = snapshot.rubric()
    words = [text.encode() for text in (rubric.canary, *(c.text for c in rubric.criteria)) if len(text) >= _LEAST_TEXT]
    ids = [c.id.encode() for c in rubric.criteria if c.id.count("-") >= 2]
    for path, data in visible.items():
        low = data.lower()
        for word in (*words, *_TELLTALE):
            if word.lower() in low:
                yield Leak("rubric", path, f"it holds words of the rubric: {word[:60].decode('utf-8', 'replace')!r}")
        hits = [each for each in ids if each in low]
        if len(hits) >= 3:
            yield Leak("rubric", path, f"it holds ids of criteria, such as {hits[0].decode()}")


def _solution(snapshot: Snapshot, visible: dict[str, bytes]) -> Iterator[Leak]:
    evaluators = {
        listed.sha256: listed.path
        for listed in snapshot.manifest.files
        if listed.path.startswith((f"{SOLUTION}/", RUBRIC, "solution/solve.sh", "tests/")) and listed.size
    }
    for path, data in visible.items():
        if sha256(data) in evaluators:
            yield Leak("solution", path, f"it is the evaluator's {evaluators[sha256(data)]}")


def _times(snapshot: Snapshot, visible: dict[str, bytes]) -> Iterator[Leak]:
    """Yield records of talk, mail, meetings and notices that are dated after the moment."""
    for name in ("chat", "mail", "meetings", "notices"):
        path = f"{ROOTS['services']}/{name}.json"
        try:
            records: list[dict[str, Any]] = json.loads(visible.get(path, b'{"records": []}'))["records"]
            late = [r for r in records if datetime.fromisoformat(r["at"]).timestamp() > snapshot.manifest.at]
        except (ValueError, KeyError, TypeError):
            yield Leak("time", path, "its records cannot be read")
            continue
        for record in late:
            yield Leak("time", path, f"the record {record.get('id', '?')} is of {record['at']}, after the moment")


def _evidence(snapshot: Snapshot, visible: dict[str, bytes]) -> Iterator[Leak]:
    """Yield required criteria whose source is not among the visible files."""
    for criterion in snapshot.rubric().criteria:
        missing = [source for source in criterion.evidence if source not in visible]
        if criterion.required and (missing or not criterion.evidence):
            source = missing[0] if missing else "nothing"
            yield Leak("evidence", RUBRIC, f"{criterion.id} rests on {source}, which the agent cannot see")


# -- with the office ----------------------------------------------------------------------------------------------------


def _rights(snapshot: Snapshot, moment: Moment) -> Iterator[Leak]:
    """Hold the mounted versions against `can`, file by file: nothing more, nothing less, and none of later."""
    office, work = moment.office, moment.delegation
    subject = Subject(work.principal, work.matter)
    hashes = {v.path: v.sha256 for v in snapshot.manifest.visible}
    shown: dict[FileRef, str] = {}
    for each in snapshot.manifest.visible:
        file_id, _, number = each.ref.rpartition("@")
        if not each.ref:
            continue
        ref = FileRef(file_id, int(number))
        file = office.files.get(ref.file)
        if file is None or not 1 <= ref.version <= len(file.versions):
            yield Leak("mounts", each.path, f"{each.ref} was not there yet")
            continue
        version = file.versions[ref.version - 1]
        shown[ref] = each.path
        if not can(subject, "read", ref, office).allowed:
            yield Leak("mounts", each.path, f"{work.principal} could not see {each.ref} at that moment")
        if version.blob.sha256 != hashes[each.path]:
            yield Leak("mounts", each.path, f"its bytes are not those of {each.ref}")
        if version.at > snapshot.manifest.at:
            yield Leak("time", each.path, f"{each.ref} was saved after the moment")
    yield from _systems(snapshot, subject, office)
    present = {ref.file for ref in shown}
    for file in sorted(office.files.values(), key=lambda f: f.id):
        if file.id not in present and _owed(file, subject, office) and not _superseded(file, moment):
            yield Leak("mounts", file.path, f"{work.principal} could see {file.id} at that moment, and it is not mounted")


def _systems(snapshot: Snapshot, subject: Subject, office: Office) -> Iterator[Leak]:
    """Hold the systems of record that are there against `can`."""
    root = f"{ROOTS['services']}/{FOLDER}/"
    there = {path.removeprefix(root).partition("/")[0] for path in snapshot.visible() if path.endswith("/definition.json") and path.startswith(root)}
    theirs = {name for name in office.systems if can(subject, "use_system", name, office).allowed}
    for name in sorted(there ^ theirs):
        said = "could not use it at that moment" if name in there else "could use it at that moment, and it is missing"
        yield Leak("mounts", f"{root}{name}", f"{subject.person} {said}")


def _owed(file: File, subject: Subject, office: Office) -> bool:
    """Whether a version of the file must be mounted: of one's own home only the newest stands for the file."""
    numbers = [v.number for v in file.versions]
    if file.space == f"home:{subject.person}":
        numbers = numbers[-1:]
    return any(can(subject, "read", FileRef(file.id, number), office).allowed for number in numbers)


def _superseded(file: File, moment: Moment) -> bool:
    """Whether the home of a later round holds its own state of the file: it is restored, not copied anew (RULE 15)."""
    return moment.round.number > 1 and file.space == f"home:{moment.delegation.principal}"


def _equal(snapshot: Snapshot, moment: Moment) -> Iterator[Leak]:
    """Hold every visible file against what the office of that moment gives: a function of events up to then alone."""
    there = {f"{ROOTS[tree]}/{f.path}": (f.sha256, f.mode) for tree, files in moment.trees.items() for f in files}
    here = {
        f"{root}/{path}": (sha256(data), mode)
        for name, root in ROOTS.items()
        for path, (data, mode) in snapshot.tree(name).items()
    }
    for path in sorted(here.keys() - there.keys()):
        yield Leak("mounts", path, "it was not there at that moment")
    for path in sorted(there.keys() - here.keys()):
        yield Leak("mounts", path, "it was there at that moment and is missing")
    revised = revised_task(snapshot)
    for path in sorted(here.keys() & there.keys()):
        if here[path] != there[path] and (path, here[path][0]) != (TASK, revised):
            yield Leak("mounts", path, "it is not as it was at that moment")


def revised_task(snapshot: Snapshot) -> str:
    """Return the hash of the task's text where experts revised it, and say so in the folder; empty where they did not.

    Their words are none of that moment: they are held against what came later, as everything visible is.
    """
    if not any(listed.path == REVISION for listed in snapshot.manifest.files):
        return ""
    try:
        said = json.loads(snapshot.read(REVISION))["task_sha256"]
    except (ValueError, KeyError, TypeError):
        return ""
    return said if isinstance(said, str) else ""


def _later(snapshot: Snapshot, moment: Moment, index: SpanIndex) -> Iterator[Leak]:
    """Yield visible spans that first occurred after the moment: in a later version, the solution, or what was said later."""
    render = DocumentRenderer().render
    known = spans(instruction(""))
    for files in moment.trees.values():
        for placed in files:
            if placed.ref is None:
                known |= spans(render(placed.data, "", placed.path.rpartition("/")[2]))
    for path, data in {**snapshot.visible(), "instruction.md": snapshot.read("instruction.md")}.items():
        late = [
            span
            for span in spans(render(data, "", path.rpartition("/")[2])) - known
            if (index.first(span) or 0) > moment.round.revision
        ]
        for span in sorted(late)[:3]:
            yield Leak("later", path, f"{span[:80]!r} is of a later version and was nowhere before")
