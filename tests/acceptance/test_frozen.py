"""Twelve frozen tasks of the half year (issue 2): diverse, without leaks, calibrated, scored alike by every path."""

from __future__ import annotations

import json
import shutil
from hashlib import sha256
from pathlib import Path, PurePosixPath

import pytest

from bench import api
from bench.freeze import SnapshotInfo
from bench.trials import Trial
from orchestrator import tasks
from orchestrator.output import Out
from services.sandbox.toolchain import find
from simulator.access import Subject, can, who_can
from simulator.engine.history import offices_at
from simulator.office import Office
from simulator.records import FileRef
from tests.acceptance import frozen
from tests.acceptance.halfyear import Lived
from tests.orchestrator.support import Desk

pytestmark = [pytest.mark.slow, pytest.mark.sandbox, pytest.mark.timeout(1500)]
COUNT = 12


@pytest.fixture(scope="module")
def chosen(half_year: Lived, tmp_path_factory: pytest.TempPathFactory) -> list[SnapshotInfo]:
    """`officetown freeze OFFICE --select 12 -o tasks`."""
    with half_year.house() as house:
        return tasks.freeze(house, Out(quiet=True), half_year.id, tmp_path_factory.mktemp("tasks"), "", COUNT)


@pytest.fixture(scope="module")
def place(chosen: list[SnapshotInfo]) -> Path:
    """The folder they are in."""
    return Path(chosen[0].folder).parent


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder of results: a trial that was made is not made again."""
    return tmp_path_factory.mktemp("results")


@pytest.fixture(scope="module")
def moments(half_year: Lived, chosen: list[SnapshotInfo]) -> dict[str, Office]:
    """The office as of each snapshot's revision, folded from the log."""
    revisions = {info.id: int(frozen.manifest(Path(info.folder))["revision"]) for info in chosen}
    with half_year.house() as house:
        offices = offices_at(house.offices.read(half_year.id), set(revisions.values()))
    return {name: offices[revision] for name, revision in revisions.items()}


def test_twelve_of_at_least_five_kinds_of_deliverable(chosen: list[SnapshotInfo]) -> None:
    assert len({info.id for info in chosen}) == COUNT
    asked = [path for info in chosen for path in _deliverables(Path(info.folder))]
    assert len({PurePosixPath(path).name for path in asked}) >= 5
    assert {PurePosixPath(path).suffix for path in asked} == {".xlsx", ".csv", ".md", ".docx", ".pdf"}
    assert len({info.work for info in chosen}) >= 5
    assert len({info.principal for info in chosen}) >= 4
    assert {info.round > 1 for info in chosen} == {True, False}, "first rounds and revisions"
    assert max(info.depth for info in chosen) >= 4
    assert all(info.required >= 3 for info in chosen), "three required checks or more each"


def _deliverables(folder: Path) -> list[str]:
    return [asked["path"] for asked in json.loads((folder / "tests" / "rubric.json").read_bytes())["deliverables"]]


def test_the_audit_finds_no_leak(desk: Desk, place: Path) -> None:
    said = desk("audit", place, "--json")
    assert said.code == 0 and said.result == {"findings": []}
    assert said.err.count("nothing found") == COUNT, "each was held against its own office"


def test_the_calibration_table_holds_for_all(chosen: list[SnapshotInfo]) -> None:
    """DESIGN 11: oracle 1, second right version 1, nothing and empty files 0 and 0, each near miss its own criterion alone."""
    for info in chosen:
        table = api.calibrate_snapshot(Path(info.folder))
        assert table.faults == (), (info.id, table.faults)
        shown = {row.name: row for row in table.shown}
        for name in ("oracle", "another right version"):
            assert (shown[name].passed, shown[name].weighted) == (True, 1.0), (info.id, name)
        for name in ("nothing", "empty files"):
            assert (shown[name].passed, shown[name].weighted) == (False, 0.0), (info.id, name)
        misses = [row for name, row in shown.items() if name.startswith("near miss: ")]
        assert len(misses) == info.required >= 3
        assert all(row.passed is False and row.weighted < 1 for row in misses), info.id
        # In a later round all but one thing may have been there already, and what was there earns nothing by itself.
        assert all(row.weighted > 0 for row in misses) or info.round > 1, info.id


# -- what is mounted ----------------------------------------------------------------------------------------------------


def test_each_mount_holds_exactly_what_the_principal_could_see(
    half_year: Lived, chosen: list[SnapshotInfo], moments: dict[str, Office]
) -> None:
    """By path and by bytes, nothing more and nothing less, at the commit that opened the round (RULES 15 and 29)."""
    with half_year.house() as house:
        for info in chosen:
            folder, office = Path(info.folder), moments[info.id]
            delegation = office.delegations[info.delegation]
            assert delegation.rounds[-1].number == info.round
            company = frozen.on_disk(folder, "company")
            index = (folder / "environment/mounts/company/INDEX.md").read_text("utf-8")
            assert company.pop("INDEX.md")
            assert company == frozen.company_of(office, delegation), info.id
            files = [path for path in company if not path.startswith("Resources/Skills/")]
            assert all(f"`{path}`" in index for path in files) and index.count("- `") == len(files) + index.count(
                "SKILL.md"
            )
            assert frozen.on_disk(folder, "home") == frozen.home_of(office, delegation, house.blobs), info.id
            assert frozen.services_on_disk(folder) == frozen.services_of(office, delegation), info.id
            task = frozen.on_disk(folder, "task")
            written = {path for path in task if not path.startswith("inputs/")}
            assert written == {"TASK.md", "CONTRACT.md", "README.md", "source_inventory.json"}, info.id


def test_who_can_says_the_same_of_every_version_there_is(
    half_year: Lived, chosen: list[SnapshotInfo], moments: dict[str, Office]
) -> None:
    """What is mounted was the principal's to see; what was not theirs is mounted nowhere, under no name."""
    secrets = 0
    for info in chosen:
        folder, office = Path(info.folder), moments[info.id]
        subject = Subject(info.principal, office.delegations[info.delegation].matter)
        mounted = {each["ref"]: each for each in frozen.manifest(folder)["visible"] if each["ref"]}
        everything = {
            hashed
            for tree in ("home", "company", "services", "task")
            for hashed in frozen.on_disk(folder, tree).values()
        }
        theirs, others = set(), set()
        for file in office.files.values():
            for version in file.versions:
                ref = FileRef(file.id, version.number)
                confined = can(subject, "read", ref, office).allowed
                if confined:
                    theirs.add(version.blob.sha256)
                else:
                    others.add(version.blob.sha256)
                if f"{file.id}@{version.number}" in mounted:
                    entitled = {each.person for each in who_can(office, ref) if each.copy is None}
                    assert confined and info.principal in entitled, (info.id, ref)
                    assert mounted[f"{file.id}@{version.number}"]["why"]
        left = {each for home in _left(half_year, office, info) for each in home}
        assert not (others - theirs - left) & everything, info.id
        secrets += len(others - theirs)
    assert secrets > 1000, "there was a lot to hide"


def _left(half_year: Lived, office: Office, info: SnapshotInfo) -> list[set[str]]:
    """The hashes of what this delegation's own earlier rounds left in its home."""
    with half_year.house() as house:
        delegation = office.delegations[info.delegation]
        return [set(frozen.home_of(office, delegation, house.blobs).values())] if len(delegation.rounds) > 1 else []


def test_the_command_who_can_agrees(
    desk: Desk, half_year: Lived, chosen: list[SnapshotInfo], moments: dict[str, Office]
) -> None:
    """For files of one moment, at the command line: who is listed is who had it mounted or could have."""
    info = chosen[0]
    office, manifest = moments[info.id], frozen.manifest(Path(chosen[0].folder))
    mounted = {each["ref"] for each in manifest["visible"] if each["ref"]}
    judged = set()
    for file in sorted(office.files.values(), key=lambda f: f.id)[::4]:
        said = desk.json("who-can", half_year.id, file.id, "--on", str(manifest["revision"]))
        listed = info.principal in {row["person"] for row in said["who"] if "copy" not in row["reason"]}
        if f"{file.id}@{said['version']}" in mounted:
            assert listed, file.path
        confined = can(Subject(info.principal), "read", FileRef(file.id, said["version"]), office).allowed
        assert listed == confined, file.path
        judged.add(listed)
    assert judged == {True, False}


# -- what is scored -----------------------------------------------------------------------------------------------------


def trials(desk: Desk, place: Path, agent: str, results: Path) -> list[dict[str, object]]:
    found: list[dict[str, object]] = desk.json("eval", place, "--agent", agent, "-o", results)["trials"]
    assert len(found) == COUNT
    return found


def test_the_oracle_scores_one_and_doing_nothing_zero(desk: Desk, place: Path, results: Path) -> None:
    for agent, passed, weighted in (("oracle", True, 1.0), ("nop", False, 0.0)):
        scores = {(t["outcome"], t["passed"], t["weighted"]) for t in trials(desk, place, agent, results)}
        assert scores == {("passed" if passed else "failed", passed, weighted)}


AGENT = """
from hashlib import sha256

GIVEN = SOLUTIONS


class Lacking:
    def run(self, instruction, sandbox):
        for path, data in GIVEN[sha256(instruction.encode()).hexdigest()].items():
            sandbox.write(f"/home/npc/computer/{path}", data)
"""


def test_the_tests_run_by_hand_give_the_same_reward(
    half_year: Lived, chosen: list[SnapshotInfo], place: Path, results: Path, tmp_path: Path
) -> None:
    """For work that is right, work that lacks a deliverable, and none: by `tests/test.sh` and by `eval`."""
    folders = {info.id: Path(info.folder) for info in chosen}
    lacking = {name: _all_but_the_last(folder) for name, folder in folders.items()}
    given = {
        sha256((folders[name] / "instruction.md").read_bytes()).hexdigest(): files for name, files in lacking.items()
    }
    (tmp_path / "lacking.py").write_text(AGENT.replace("SOLUTIONS", repr(given)))
    between = 0
    for agent in ("oracle", "nop", "lacking:Lacking"):
        by_eval = {t.snapshot: t.marks for t in _evaluated(half_year, place, agent, results, tmp_path)}
        for name, folder in folders.items():
            home, logs = tmp_path / agent[:4] / name / "home", tmp_path / agent[:4] / name / "logs"
            home.mkdir(parents=True)
            frozen.laid_out(folder, home)
            if agent == "oracle":
                frozen.solved(folder, home)
            elif agent != "nop":
                for path, data in lacking[name].items():
                    (home / path).parent.mkdir(parents=True, exist_ok=True)
                    (home / path).write_bytes(data)
            reward, marks = frozen.graded_by_hand(folder, home, logs), by_eval[name]
            assert marks is not None
            assert reward == {"reward": float(bool(marks.passed)), "weighted": marks.weighted, **marks.by_priority}
            between += 0 < marks.weighted < 1
    assert between >= COUNT // 2, "scores between nothing and all were compared too"


def _all_but_the_last(folder: Path) -> dict[str, bytes]:
    """Return the deliverables of the solution but for the last one, by their path in the home."""
    solution = folder / "solution" / "files"
    asked = [path for path in _deliverables(folder) if (solution / path).is_file()]
    return {path: (solution / path).read_bytes() for path in asked[:-1]}


def _evaluated(half_year: Lived, place: Path, agent: str, results: Path, search: Path) -> list[Trial]:
    with half_year.house() as house:
        return api.evaluate_snapshots(
            [place], agent, provider=house.sandboxes(), blobs=house.blobs,
            grader_python=find().path / "bin" / "python3", results=results, search=search,
        )  # fmt: skip


# -- what was tampered with ---------------------------------------------------------------------------------------------


def _damage(folder: Path, how: str) -> str:
    """Do one thing to a snapshot that nobody may do; return the word by which it must be told."""
    manifest = folder / "snapshot.json"
    if how == "a figure of an input":
        path = next((folder / "environment/mounts/company/Projects").rglob("*.csv"))
        path.write_bytes(path.read_bytes() + b"\n")
        return f"{path.relative_to(folder)} was changed"
    if how == "the rubric":
        rubric = folder / "tests/rubric.json"
        rubric.write_bytes(rubric.read_bytes().replace(b'"P0"', b'"P3"'))
        return "tests/rubric.json was changed"
    if how == "a file more":
        (folder / "environment/mounts/home/hint.md").write_text("It is 42.")
        return "hint.md was added"
    if how == "the manifest":
        manifest.write_bytes(manifest.read_bytes().replace(b'"revision": ', b'"revision": 1'))
        return "does not match its own hash"
    manifest.write_bytes(manifest.read_bytes()[:200])
    return "cannot be read"


@pytest.mark.parametrize(
    "how", ["a figure of an input", "the rubric", "a file more", "the manifest", "half a manifest"]
)
def test_what_was_tampered_with_is_told_and_not_used(
    desk: Desk, chosen: list[SnapshotInfo], tmp_path: Path, how: str
) -> None:
    folder = tmp_path / "tasks" / chosen[0].id
    shutil.copytree(chosen[0].folder, folder)
    word = _damage(folder, how)
    audited = desk("audit", folder, "--json")
    if how == "half a manifest":
        assert audited.code == 2 and word in audited.err
    else:
        assert audited.code == 1 and any(word in finding["text"] for finding in audited.result["findings"]), (
            audited.result
        )
    refused = desk("eval", tmp_path / "tasks", "--agent", "oracle", "-o", tmp_path / "results")
    assert refused.code == 2 and word in refused.err
    assert not list((tmp_path / "results").glob("*")), "nothing was scored"
