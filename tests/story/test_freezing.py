"""Freezing Monday 11:40 and Monday 15:40, four weeks later: what is in the task, what is not, and what it is judged by."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import api
from bench.calibrate import calibrate
from bench.snapshot import Snapshot, open_snapshot
from simulator.canonical import canonical
from tests.story.firm import ELENA_SECRET, OAKRIDGE_SECRET, moment
from tests.story.script import AT_HOME, INPUTS, PROJECT, QUESTION, REPORT, REVISE
from tests.story.telling import Told


def frozen(told: Told, number: int, folder: Path) -> Snapshot:
    reference = f"{told.december().id}.{number}"
    info = api.freeze_one(told.reader, told.blobs, told.bodies, told.office_id, reference, folder)
    return open_snapshot(Path(info.folder))


@pytest.fixture(scope="module")
def first(told: Told, tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    """The task as it was given on Monday at 11:40."""
    return frozen(told, 1, tmp_path_factory.mktemp("first"))


@pytest.fixture(scope="module")
def second(told: Told, tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    """The task of revising, as given on Monday at 15:40."""
    return frozen(told, 2, tmp_path_factory.mktemp("second"))


def test_the_four_mounts_are_as_of_1140_and_nothing_of_1510_or_after(told: Told, first: Snapshot) -> None:
    assert first.manifest.at == moment("2026-01-05 11:40") and first.manifest.oracle_round == 3
    assert first.tree("home").keys() == {"Notes/Checklist.md"}
    shown = first.visible()
    assert {f"{PROJECT}/Inputs/2025-12/{name}" for name in INPUTS} < set(shown)
    later = [
        told.blobs.get(v.blob.sha256) for f in told.end.files.values() for v in f.versions if v.at > first.manifest.at
    ]
    assert later and not set(later) & set(shown.values())
    for words in (REPORT, QUESTION, REVISE.split("\n")[0], OAKRIDGE_SECRET, ELENA_SECRET):
        assert not any(words.encode() in data for data in shown.values())


def test_the_manifest_says_why_each_file_is_visible(first: Snapshot) -> None:
    said = {v.path: v.why for v in first.manifest.visible}
    assert set(said) == set(first.visible()) and all(said.values())
    assert said["/home/npc/computer/Notes/Checklist.md"] == "its owner"
    assert said[f"{PROJECT}/Inputs/2025-12/ledger.xlsx"].startswith("granted to matter:riverbend-close by maya")


def test_the_oracle_is_version_3(told: Told, first: Snapshot) -> None:
    files = first.tree("solution")
    for name in ("Reconciliation.xlsx", "Open items.md"):
        wanted = told.blobs.get(told.file(name).versions[2].blob.sha256)
        assert files[f"Documents/Projects/Riverbend Outdoor/2025-12/{name}"][0] == wanted


def test_the_rubric_asks_for_what_the_story_asks_for(first: Snapshot) -> None:
    """Deposits tie or are named as open, nothing unsupported is resolved, originals unchanged, formulas live; P0 to P3 and guards."""
    rubric = first.rubric()
    texts = "\n".join(f"{c.priority} {c.kind} {c.text}" for c in rubric.criteria)
    held = [c for c in rubric.criteria if c.priority == "P0" and c.check is not None and b"D12-2" in canonical(c.check)]
    assert held, "the unexplained deposit is checked for, and the criterion's words do not give it away"
    assert "850.00" not in texts
    assert {c.priority for c in rubric.criteria} >= {"P0", "P1", "P2"}
    assert any(c.guard for c in rubric.criteria)
    assert any(c.kind == "judge" for c in rubric.criteria) and len(rubric.required_checks()) >= 3
    assert "formula" in texts.lower()


def test_the_revision_task_has_version_1_and_the_notes_and_not_version_2(told: Told, second: Snapshot) -> None:
    assert second.manifest.at == moment("2026-01-05 15:40")
    shown = second.visible()
    versions = [told.blobs.get(v.blob.sha256) for v in told.file("Reconciliation.xlsx").versions]
    assert shown[f"{AT_HOME}/2025-12/Reconciliation.xlsx"] == versions[0]
    assert versions[1] not in shown.values() and versions[2] not in shown.values()
    assert REVISE.split("\n")[0].encode() in shown["/mnt/task/TASK.md"]


@pytest.mark.parametrize("which", ["first", "second"])
def test_no_leak_is_found(told: Told, which: str, request: pytest.FixtureRequest) -> None:
    snapshot: Snapshot = request.getfixturevalue(which)
    canaries = (OAKRIDGE_SECRET, ELENA_SECRET)
    assert api.audit_snapshot(snapshot.folder, told.reader, told.blobs, told.bodies, canaries=canaries) == []


def test_the_accepted_version_passes_and_doing_nothing_does_not(first: Snapshot) -> None:
    found = calibrate(first)
    assert found.faults == (), found.faults


def test_januarys_task_rests_on_decembers(told: Told, tmp_path: Path) -> None:
    january = next(d.id for d in told.end.delegations.values() if d.period == "2026-01")
    info = api.freeze_one(told.reader, told.blobs, told.bodies, told.office_id, january, tmp_path)
    assert info.depth == 2
