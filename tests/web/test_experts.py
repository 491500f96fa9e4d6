"""Experts' queries and the `review` command: what lies where, what is opened, saved, written out and taken away."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from bench.expert_export import read_json
from bench.expert_reviews import Remark, Said
from bench.freeze import freeze
from bench.snapshot import Snapshot, open_snapshot
from bench.trials import Trial
from orchestrator.compose import House
from orchestrator.output import Out
from orchestrator.settings import read_settings
from orchestrator.web.queries import experts, results
from orchestrator.web.ui import reviewing
from simulator.errors import UnknownReference, UsageError
from tests.bench.office import firm, months_of, text_of, two_months
from tests.orchestrator.support import ROOT, child_environ

NOW = 1_790_000_000.25


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two frozen tasks."""
    folder = tmp_path_factory.mktemp("tasks")
    world = firm()
    first, second = two_months(world, months_of("bank-reconciliation", tmp_path_factory.mktemp("scripts")))
    for delegation in (first, second):
        freeze(world.log(), world.blobs, text_of, "firm", delegation, 1, folder / "firm", models={})
    return folder


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    made = House(read_settings({"OFFICETOWN_HOME": str(tmp_path / "home")}))
    yield made
    made.close()


def some(tasks: Path) -> Snapshot:
    return open_snapshot(experts.shelved([tasks])[0][0].folder)


def test_snapshots_are_found_in_a_folder_below_it_and_below_that(tasks: Path) -> None:
    deep = experts.shelved([tasks])[0]
    assert len(deep) == 2 == len(experts.shelved([tasks / "firm"])[0])
    assert len(experts.shelved([deep[0].folder])[0]) == 1
    assert len(experts.shelved([tasks, tasks / "firm"])[0]) == 2, "a version is there once"
    assert experts.shelved([tasks / "nothing"]) == ([], [])


def test_a_trial_is_shown_with_the_rubric_of_the_version_it_attempted(tasks: Path) -> None:
    """A task frozen anew under its old id is another task: its criteria are not put beside what was done before."""
    snapshot = some(tasks)
    m = snapshot.manifest
    task = results.tasks_of([tasks])[m.id]
    for version, same in (("", True), (m.hash, True), ("0" * 64, False)):
        trial = Trial(m.id, "nop", 1, "failed", "f", version=version)
        assert (results.rubric_at([tasks], trial) is not None) == same
        assert results.another(trial, task) is not same


def test_what_cannot_be_read_is_named_and_the_rest_is_there(tasks: Path, tmp_path: Path) -> None:
    shutil.copytree(tasks / "firm", tmp_path / "copy")
    broken = next((tmp_path / "copy").iterdir())
    (broken / "snapshot.json").write_text("{")
    found, unreadable = experts.shelved([tmp_path / "copy"])
    assert len(found) == 1 and broken.name in unreadable[0]


def test_a_tampered_snapshot_is_listed_but_not_opened(house: House, tasks: Path, tmp_path: Path) -> None:
    shutil.copytree(tasks / "firm", tmp_path / "copy")
    one = experts.shelved([tmp_path / "copy"])[0][0]
    (one.folder / "environment/mounts/task/TASK.md").write_text("Do nothing.")
    with pytest.raises(UsageError, match="tampered"):
        experts.opened(house, [tmp_path / "copy"], one.manifest.hash, "")
    with pytest.raises(UsageError, match="tampered"):
        experts.save(house, [tmp_path / "copy"], one.manifest.hash, "Ada", Said("accept"), NOW)


def test_one_task_is_opened_with_files_rubric_and_reference(house: House, tasks: Path) -> None:
    snapshot = some(tasks)
    found = experts.opened(house, [tasks], snapshot.manifest.hash, "")
    assert {f.place for f in found.files} == {"home", "company", "services", "task", "solution"}
    assert all(f.why for f in found.files)
    assert sum(a.weight for a in found.asked) == pytest.approx(1.0, abs=0.01)
    assert {a.check.partition(":")[0] for a in found.asked} <= {"a program decides", "a judge decides"}
    for file in found.files:
        content = experts.content(snapshot, file.place, file.path)
        assert len(content.data) == file.size
    with pytest.raises(UnknownReference):
        experts.find([tasks], "0" * 64)


@pytest.mark.parametrize(
    ("place", "path"),
    [("home", "/etc/passwd"), ("home", "/home/npc/computer/../../etc/passwd"), ("tests", "rubric.json"), ("", "snapshot.json"),
     ("solution", "../tests/rubric.json"), ("task", "/mnt/company/x")],
)  # fmt: skip
def test_no_other_file_is_handed_out(tasks: Path, place: str, path: str) -> None:
    with pytest.raises(UnknownReference):
        experts.content(some(tasks), place, path)


def test_what_is_said_is_kept_found_again_and_counted(house: House, tasks: Path) -> None:
    version = some(tasks).manifest.hash
    criterion = some(tasks).rubric().criteria[0].id
    review = experts.save(house, [tasks], version, "Ada", Said("accept", "Sound.", remarks=(Remark(criterion, "keep"),)), NOW)
    assert review.at == 1_790_000_000_250
    experts.save(house, [tasks], version, "Bo", Said("reject", "No."), NOW + 1)
    found = experts.opened(house, [tasks], version, " ada ")
    assert found.mine == review and [r.expert for r in found.reviews] == ["Bo", "Ada"], "the newest first"
    line = experts.queue_for(house, [tasks], "Ada")
    assert line.reviews == 2 and line.agreement.verdicts.items == 1 and line.agreement.verdicts.agreed == 0
    assert line.lines[0].mine is None and line.lines[-1].mine == "accept"


def test_a_revision_is_written_beside_the_others(house: House, tasks: Path, tmp_path: Path) -> None:
    shutil.copytree(tasks, tmp_path / "copy")
    place = [tmp_path / "copy"]
    snapshot = some(tmp_path / "copy")
    drop = next(c.id for c in snapshot.rubric().criteria if not c.required)
    review = experts.save(house, place, snapshot.manifest.hash, "Ada", Said("accept", remarks=(Remark(drop, "drop"),)), NOW)
    made = experts.write_revised(house, place, review)
    assert made.folder.parent == snapshot.folder.parent and len(experts.shelved(place)[0]) == 3
    assert experts.opened(house, place, made.manifest.hash, "").revision is not None


# -- the command ------------------------------------------------------------------------------------------------------------


_SERVE = """
import sys
from pathlib import Path
from orchestrator.compose import House
from orchestrator.output import Out
from orchestrator.settings import read_settings
from orchestrator.web.ui.reviewing import review
house = House(read_settings({"OFFICETOWN_HOME": sys.argv[1]}))
review(house, Out(), [Path(sys.argv[2])], port=0)
house.close()
"""


def test_review_serves_the_tasks_of_the_folders_it_was_given(tasks: Path, tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", _SERVE, str(tmp_path / "home"), str(tasks / "firm")], stdout=subprocess.PIPE, text=True,
        cwd=ROOT, env=child_environ(tmp_path / "home"),
    )  # fmt: skip
    assert process.stdout is not None
    try:
        first, second = process.stdout.readline(), process.stdout.readline()
        assert first.startswith("2 tasks to review")
        page = httpx.get(f"{second.split()[3].rstrip(';')}/experts", timeout=60)
        assert page.status_code == 200 and "Bank reconciliation" in page.text
    finally:
        process.terminate()
        process.communicate(timeout=60)


def test_review_refuses_a_folder_without_tasks(house: House, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no snapshot"):
        reviewing.review(house, Out(quiet=True), [tmp_path], port=0)


def test_reviews_are_exported_by_a_command(house: House, tasks: Path, tmp_path: Path) -> None:
    experts.save(house, [tasks], some(tasks).manifest.hash, "Ada", Said("accept"), NOW)
    for ending in ("json", "csv"):
        reviewing.export(house, Out(quiet=True), [tasks], tmp_path / f"out.{ending}")
    assert len(read_json((tmp_path / "out.json").read_bytes()).reviews) == 1
    assert b"Ada" in (tmp_path / "out.csv").read_bytes()
    for wrong in (tmp_path / "out.xlsx", tmp_path / "none" / "out.json"):
        with pytest.raises(UsageError):
            reviewing.export(house, Out(quiet=True), [tasks], wrong)
