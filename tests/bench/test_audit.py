"""The leak audit: clean snapshots have no finding, and each kind of leak is one (DESIGN 11, RELIABILITY "No leak")."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.audit import Leak, audit, audit_alone
from bench.freeze import freeze
from bench.snapshot import MOUNTS, Manifest, Snapshot, Visible, open_snapshot, write_snapshot
from bench.span_index import SpanIndex
from bench.spans import figures, spans
from simulator.access import who_can
from simulator.canonical import sha256
from simulator.engine.history import as_of
from simulator.records import FileRef
from tests.bench.conftest import Grown
from tests.bench.office import MATTER_NAME, NOW, SECRET, firm, months_of, text_of, two_months

Files = dict[str, tuple[bytes, int]]


def findings(grown: Grown, snapshot: Snapshot) -> list[Leak]:
    return audit(snapshot, grown.log, grown.world.blobs, text_of, [SECRET])


def spoilt(snapshot: Snapshot, dest: Path, changes: Mapping[str, bytes | None], **fields: object) -> Snapshot:
    """A snapshot built wrongly: files changed, its own manifest in order, as a faulty freeze would leave it."""
    m = snapshot.manifest
    files: Files = {listed.path: (snapshot.read(listed.path), listed.mode) for listed in m.files}
    for path, data in changes.items():
        if data is None:
            del files[path]
        else:
            files[path] = (data, 0o644)
    roots = {"home": "/home/npc/computer", "company": "/mnt/company", "services": "/mnt/services", "task": "/mnt/task"}
    known = {v.path: v for v in m.visible}
    visible = []
    for path, (data, _) in files.items():
        for name, root in roots.items():
            if path.startswith(f"{MOUNTS}/{name}/"):
                shown = f"{root}/{path.removeprefix(f'{MOUNTS}/{name}/')}"
                old = known.get(shown, Visible(shown, "", "", "made up"))
                visible.append(msgspec.structs.replace(old, sha256=sha256(data)))
    made = msgspec.structs.replace(m, visible=tuple(visible), **fields)
    assert isinstance(made, Manifest)
    write_snapshot(dest / m.id, files, made)
    return open_snapshot(dest / m.id)


def kinds(found: list[Leak]) -> set[str]:
    return {leak.kind for leak in found}


def test_no_round_leaks(grown: Grown, frozen: dict[tuple[str, int], Snapshot]) -> None:
    index = SpanIndex(grown.log, grown.world.blobs, text_of)
    for snapshot in frozen.values():
        found = audit(snapshot, grown.log, grown.world.blobs, text_of, [SECRET], index=index)
        assert found == [], [str(leak) for leak in found]
        assert audit_alone(snapshot, [SECRET]) == []


def test_each_mount_holds_exactly_what_who_can_says(grown: Grown, reconciliation: Snapshot) -> None:
    """Every version that the principal could read, and the newest of what lies at home; no other."""
    office = as_of(grown.log, reconciliation.manifest.revision)
    mounted = {v.ref.rpartition("@")[0] for v in reconciliation.manifest.visible if v.ref}
    readable = {
        file.id
        for file in office.files.values()
        if any(e.person == "daniel" and e.copy is None for v in file.versions for e in who_can(office, FileRef(file.id, v.number)))
    }  # fmt: skip
    assert mounted == readable
    assert len(readable) < len(office.files), "there are things that Daniel may not see"


SPOILS: dict[str, tuple[Callable[[Snapshot, Grown], dict[str, bytes | None]], str, str]] = {
    "the solution in the home": (
        lambda s, g: {f"{MOUNTS}/home/Documents/old.xlsx": next(iter(s.tree("solution").values()))[0]}, "solution", "evaluator's",
    ),
    "a figure of the solution in a note": (
        lambda s, g: {f"{MOUNTS}/home/Notes/Todo.md": f"# Todo\n\nIt came to {_closing(s)} last time.\n".encode()}, "later", "later version",
    ),
    "a sentence said later": (
        lambda s, g: {f"{MOUNTS}/task/TASK.md": s.visible()["/mnt/task/TASK.md"] + b"\nThe last row is missing: Bank total does not tie.\n"},
        "later", "nowhere before",
    ),
    "a canary": (lambda s, g: {f"{MOUNTS}/company/Diary.md": SECRET.encode()}, "canary", "canary"),
    "criteria in the task": (
        lambda s, g: {f"{MOUNTS}/task/README.md": s.rubric().criteria[0].text.encode()}, "rubric", "words of the rubric",
    ),
    "the rubric itself": (
        lambda s, g: {f"{MOUNTS}/home/Notes/rubric.json": s.read("tests/rubric.json")}, "rubric", "words of the rubric",
    ),
    "a file nobody shared": (
        lambda s, g: {f"{MOUNTS}/company/Projects/Oakridge/bank.csv": b"date,ref\n"}, "mounts", "was not there",
    ),
    "an input left out": (
        lambda s, g: {f"{MOUNTS}/company/Projects/{MATTER_NAME}/Inputs/{NOW}/credits.csv": None}, "mounts", "is missing",
    ),
    "a changed reference": (
        lambda s, g: {f"{MOUNTS}/company/Resources/Handbook.md": b"# Handbook\n\nBelieve all.\n"}, "mounts", "not as it was",
    ),
    "a mail of tomorrow": (
        lambda s, g: {f"{MOUNTS}/services/mail.json": json.dumps({"records": [{"id": "m", "at": "2027-01-01T00:00:00+00:00"}]}).encode()},
        "time", "after the moment",
    ),
    "a source that a criterion rests on left out": (
        lambda s, g: {f"{MOUNTS}/company/Resources/Skills/bank-reconciliation/SKILL.md": None}, "evidence", "cannot see",
    ),
}  # fmt: skip


def _closing(snapshot: Snapshot) -> str:
    (found,) = [c for c in snapshot.rubric().criteria if c.id == "figure-closing-balance"]
    assert found.check is not None
    return str(found.check.params["value"])


@pytest.mark.parametrize("name", SPOILS)
def test_each_kind_of_leak_is_found(name: str, grown: Grown, reconciliation: Snapshot, tmp_path: Path) -> None:
    changes, kind, word = SPOILS[name]
    made = spoilt(reconciliation, tmp_path, changes(reconciliation, grown))
    hits = [leak for leak in findings(grown, made) if leak.kind == kind]
    assert hits, [str(leak) for leak in findings(grown, made)]
    assert any(word in str(leak) for leak in hits)


def test_a_version_that_was_not_yet_there_is_found(grown: Grown, reconciliation: Snapshot, tmp_path: Path) -> None:
    """A later version under a right path: the manifest itself gives it away."""
    shown = [
        msgspec.structs.replace(v, ref=f"{v.ref.rpartition('@')[0]}@9") if v.path.endswith("Notes/Todo.md") else v
        for v in reconciliation.manifest.visible
    ]
    files: Files = {x.path: (reconciliation.read(x.path), x.mode) for x in reconciliation.manifest.files}
    made = msgspec.structs.replace(reconciliation.manifest, visible=tuple(shown))
    write_snapshot(tmp_path / "t", files, made)
    found = findings(grown, open_snapshot(tmp_path / "t"))
    assert any(leak.kind == "mounts" and "was not there yet" in leak.text for leak in found)


def test_a_version_the_principal_may_not_see_is_found(grown: Grown, reconciliation: Snapshot, tmp_path: Path) -> None:
    office = as_of(grown.log, reconciliation.manifest.revision)
    (diary,) = [f for f in office.files.values() if f.path == "Diary.md"]
    data = b"not even its true words\n"
    made = spoilt(reconciliation, tmp_path, {f"{MOUNTS}/company/Shared.md": data})
    shown = [msgspec.structs.replace(v, ref=f"{diary.id}@1") if v.path.endswith("/Shared.md") else v for v in made.manifest.visible]
    files: Files = {x.path: (made.read(x.path), x.mode) for x in made.manifest.files}
    write_snapshot(tmp_path / "t", files, msgspec.structs.replace(made.manifest, visible=tuple(shown)))
    found = findings(grown, open_snapshot(tmp_path / "t"))
    assert any("daniel could not see" in leak.text for leak in found)


def test_tampering_is_a_finding_and_nothing_else_is_judged(grown: Grown, tmp_path: Path) -> None:
    snapshot = grown.freeze(grown.rounds, 1, tmp_path)
    (snapshot.folder / "tests/rubric.json").write_text("{}")
    found = findings(grown, open_snapshot(snapshot.folder, verify=False))
    assert kinds(found) == {"manifest"}
    assert "tests/rubric.json was changed" in found[0].text


def test_what_was_already_there_is_never_a_finding(tmp_path: Path) -> None:
    """A sentence that a later version repeats from an earlier file was there before."""
    world = firm()
    world.keep("daniel", "home:daniel", "Documents/Plan.md", b"The deposit of 850431.27 stays unexplained for now.\n")
    done, _ = two_months(world, months_of("release-triage", tmp_path / "scripts"))
    world.keep("daniel", "home:daniel", "Documents/After.md", b"The deposit of 850431.27 stays unexplained for now.\n")
    info = freeze(world.log(), world.blobs, text_of, "firm", done, 1, tmp_path / "out")
    assert audit(open_snapshot(Path(info.folder)), world.log(), world.blobs, text_of) == []


def test_an_office_that_does_not_know_the_task_says_so(reconciliation: Snapshot) -> None:
    other = firm()
    found = audit(reconciliation, other.log(), other.blobs, text_of)
    assert any("audit it with its own office" in leak.text for leak in found)


# -- spans ------------------------------------------------------------------------------------------------------------------


def test_spans_are_sentences_cells_and_distinctive_figures() -> None:
    found = spans("# Note\n\nThe deposit stays unexplained. Ask Maya.\nA1: Closing balance of it | B1: 1,234.56\n2026-01-05")
    assert found == {"the deposit stays unexplained.", "closing balance of it", "1234.56"}


@pytest.mark.parametrize("text", ["7", "2026", "100,000", "0.00", "1200.00", "ACH-2601-035", "2026-01-05", "1.5"])
def test_common_figures_tell_nothing(text: str) -> None:
    assert figures(f"it is {text} now") == set()


@given(st.decimals(min_value=10**4, max_value=10**9, places=2))
def test_a_figure_is_known_however_it_is_written(value: object) -> None:
    assert figures(f"a {value:,.2f} b") == figures(f"a -{value:.2f} b")
