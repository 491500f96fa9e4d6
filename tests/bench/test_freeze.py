"""Freezing: the task folder, what is in it and what is not, equal bytes, refusals, tampering (DESIGN 11, RULES 15, 25, 26)."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bench import layout
from bench.freeze import freeze
from bench.kinds.inputs import NoRubric
from bench.moment import NoOracle, depth_of, split_reference
from bench.snapshot import MANIFEST, Manifest, Snapshot, Tampered, find_snapshots, open_snapshot, write_snapshot
from services import documents
from services.documents.formulas import CARRIED
from services.storage.memory import MemoryBlobs
from simulator.canonical import sha256
from simulator.engine.history import as_of
from simulator.errors import CorruptStore, UnknownReference, UsageError
from simulator.events import DelegationOpened, RoundOpened
from simulator.mounts import plan_mounts
from simulator.ports import Blob
from tests.bench.conftest import Grown
from tests.bench.office import LATER, MATTER_NAME, NOW, SECRET, Firm, firm, months_of, text_of, two_months
from tests.professions.office import Work

Frozen = dict[tuple[str, int], Snapshot]
LOCK = Path(__file__).resolve().parents[2] / "requirements" / "assistant.lock"


def files_of(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


# -- what is in the folder ------------------------------------------------------------------------------------------------


def test_the_folder_is_a_harbor_task(reconciliation: Snapshot) -> None:
    """FORMATS, schema 1.4."""
    paths = set(files_of(reconciliation.folder))
    assert {
        "task.toml", "instruction.md", "README.md", "environment/Dockerfile", "environment/docker-compose.yaml",
        "tests/test.sh", "tests/Dockerfile", "tests/rubric.json", "tests/grade.py", "tests/grader/formulas.py",
        "solution/solve.sh", "snapshot.json",
    } <= paths  # fmt: skip
    assert os.access(reconciliation.folder / "tests/test.sh", os.X_OK)
    task = tomllib.loads((reconciliation.folder / "task.toml").read_text())
    assert task["schema_version"] == "1.4"
    assert task["task"]["name"] == f"officetown/{reconciliation.id}"
    assert task["agent"] == {"user": "npc", "timeout_sec": 3600.0}
    assert task["verifier"]["environment_mode"] == "separate"
    assert task["environment"]["workdir"] == "/home/npc/computer"
    assert task["artifacts"] == [{"source": "/home/npc/computer", "exclude": [".cache"]}]
    assert task["metadata"]["moment"] == reconciliation.manifest.moment
    assert "network_mode: none" in (reconciliation.folder / "environment/docker-compose.yaml").read_text()


def test_the_image_bakes_the_mounts_in_for_nobody_to_write(reconciliation: Snapshot) -> None:
    lines = (reconciliation.folder / "environment/Dockerfile").read_text().split("\n")
    assert lines[0] == "ARG BASE_IMAGE=python:3.11-slim"
    assert [line for line in lines if line.startswith("COPY")] == [
        "COPY mounts/company /mnt/company", "COPY mounts/services /mnt/services", "COPY mounts/task /mnt/task",
        "COPY mounts/home /home/npc/computer",
    ]  # fmt: skip
    assert "COPY --chmod" not in "\n".join(lines), "that needs buildx"
    assert any("chmod -R a-w" in line for line in lines)
    assert [line for line in lines if line.startswith("USER")][-1] == "USER npc"


def test_pins_are_those_of_the_sandbox() -> None:
    locked = dict(re.findall(r"^([a-z0-9-]+)==([^ ]+) ", LOCK.read_text(), re.MULTILINE))
    for pin in layout.INSIDE:
        name, _, version = pin.partition("==")
        assert locked[name.lower()] == version, pin


def test_the_mounts_are_those_of_the_round(grown: Grown, reconciliation: Snapshot) -> None:
    m = reconciliation.manifest
    office = as_of(grown.log, m.revision)
    plan = plan_mounts(office, m.delegation, text_of)
    for name in ("home", "company", "services", "task"):
        planned = {f.path: sha256(f.data) if f.data is not None else (f.blob or Blob("", 0)).sha256 for f in getattr(plan, name)}
        assert {path: sha256(data) for path, (data, _) in reconciliation.tree(name).items()} == planned, name


def test_every_visible_file_says_why(reconciliation: Snapshot) -> None:
    """RULE 26: each freeze stores its reasons and the rule set's version."""
    m = reconciliation.manifest
    assert m.rules >= 1
    assert m.models == {"principal": "scripted"}
    why = {v.path: v.why for v in m.visible}
    assert all(why.values())
    assert why[f"/mnt/company/Projects/{MATTER_NAME}/Inputs/{NOW}/bank.csv"] == "granted to matter:river by elena"
    assert why["/home/npc/computer/Notes/Todo.md"] == "its owner"
    assert why["/mnt/company/Resources/Skills/bank-reconciliation/SKILL.md"] == "a skill of the principal's role"


def test_nobody_elses_secrets_and_nothing_of_the_solution_are_in_the_environment(frozen: Frozen) -> None:
    for snapshot in frozen.values():
        solution = {sha256(data) for data, _ in snapshot.tree("solution").values()}
        for path, data in snapshot.visible().items():
            assert SECRET.encode() not in data, path
            assert sha256(data) not in solution, path
            assert "rubric" not in path


def test_the_solution_is_the_accepted_version(grown: Grown, reconciliation: Snapshot) -> None:
    made = reconciliation.tree("solution")
    names = {path.rpartition("/")[2] for path in made}
    assert names == {"Reconciliation.xlsx", "Open items.md"}
    rounds = grown.world.office.delegations[reconciliation.manifest.delegation].rounds
    accepted = rounds[-1].submission
    assert accepted is not None
    blobs = {grown.world.office.files[r.file].versions[r.version - 1].blob.sha256 for r in accepted.files}
    assert {sha256(data) for data, _ in made.values()} == blobs


def test_a_later_round_holds_what_came_back_and_the_notes(grown: Grown, frozen: Frozen) -> None:
    """RULE 15: version 1 and the notes are in the revision task, version 2 is not."""
    first, second, third = (frozen[grown.rounds, n] for n in (1, 2, 3))
    path = f"Documents/Projects/{MATTER_NAME}/{LATER}/Reconciliation.xlsx"
    assert path not in first.tree("home")
    wrong, right = second.tree("home")[path][0], third.tree("home")[path][0]
    assert wrong != right
    assert second.tree("solution")[path][0] == right
    assert path not in third.tree("solution"), "the workbook was right already: the supplement is the list"
    text = second.visible()["/mnt/task/TASK.md"].decode()
    assert "The last row is missing" in text
    assert "still that of the first round" not in text
    assert "still that of the first round" in third.visible()["/mnt/task/TASK.md"].decode()
    assert second.rubric().already != ()
    assert first.rubric().already == ()


def test_required_checks_name_visible_sources(frozen: Frozen) -> None:
    for snapshot in frozen.values():
        checks = snapshot.rubric().required_checks()
        assert len(checks) >= 3
        visible = snapshot.visible()
        for criterion in checks:
            assert criterion.evidence
            assert all(source in visible for source in criterion.evidence), criterion.id


# -- the vendored grader ----------------------------------------------------------------------------------------------------


def test_the_grader_stands_alone(reconciliation: Snapshot) -> None:
    """Nothing in `tests/` imports this project, and the evaluator is carried whole."""
    for path, data in files_of(reconciliation.folder / "tests").items():
        if path.endswith(".py"):
            source = data.decode()
            found = re.findall(r"^\s*(?:from|import)\s+(bench|services|simulator|training|orchestrator)\b", source, re.MULTILINE)
            assert found == [], path
    for name in CARRIED:
        ours = Path(documents.__path__[0], name).read_bytes()
        assert (reconciliation.folder / "tests/grader" / name).read_bytes() == ours


def by_hand(snapshot: Snapshot, home: Path, logs: Path, python: str = sys.executable) -> tuple[int, dict[str, float]]:
    """Run `tests/test.sh` as a person would."""
    done = subprocess.run(
        ["bash", str(snapshot.folder / "tests/test.sh")], check=False, capture_output=True, cwd="/",
        env={"PATH": os.environ["PATH"], "GRADER_HOME": str(home), "GRADER_LOGS": str(logs), "GRADER_PYTHON": python},
    )  # fmt: skip
    reward = logs / "reward.json"
    return done.returncode, json.loads(reward.read_text()) if reward.exists() else {}


def test_solve_then_test_gives_one_and_nothing_gives_zero(reconciliation: Snapshot, tmp_path: Path) -> None:
    home, logs = tmp_path / "home", tmp_path / "logs"
    home.mkdir()
    for path, (data, _) in reconciliation.tree("home").items():
        (home / path).parent.mkdir(parents=True, exist_ok=True)
        (home / path).write_bytes(data)
    code, reward = by_hand(reconciliation, home, logs)
    assert (code, reward["reward"], reward["weighted"]) == (0, 0.0, 0.0)
    subprocess.run(["bash", str(reconciliation.folder / "solution/solve.sh")], check=True,
                   env={"PATH": os.environ["PATH"], "SOLUTION_HOME": str(home)})  # fmt: skip
    code, reward = by_hand(reconciliation, home, logs)
    assert (code, reward) == (0, {"reward": 1.0, "weighted": 1.0, "p0": 1.0, "p1": 1.0, "p2": 1.0, "p3": 1.0})
    rows = json.loads((logs / "rubric.json").read_text())
    assert rows["label"] == "checks only"
    assert all(row["why"] for row in rows["criteria"])


def test_a_module_planted_in_the_home_is_never_imported(reconciliation: Snapshot, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    for name in ("openpyxl", "grader", "json", "sitecustomize", "usercustomize"):
        (home / f"{name}.py").write_text("raise SystemExit('pwned')\n")
    done = subprocess.run(
        ["bash", str(reconciliation.folder / "tests/test.sh")], check=False, capture_output=True, text=True, cwd=home,
        env={"PATH": os.environ["PATH"], "GRADER_HOME": str(home), "GRADER_LOGS": str(tmp_path / "logs"),
             "GRADER_PYTHON": sys.executable, "PYTHONPATH": str(home)},
    )  # fmt: skip
    assert "pwned" not in done.stdout + done.stderr
    assert done.returncode == 0


# -- equal bytes, refusals ------------------------------------------------------------------------------------------------


def test_freezing_twice_gives_equal_bytes(grown: Grown, tmp_path: Path) -> None:
    one = grown.freeze(grown.rounds, 2, tmp_path / "one")
    two = grown.freeze(grown.rounds, 2, tmp_path / "two")
    assert files_of(one.folder) == files_of(two.folder)
    again = grown.freeze(grown.rounds, 2, tmp_path / "one")
    assert again.manifest == one.manifest


def test_what_happened_later_does_not_change_what_is_visible(tmp_path: Path) -> None:
    """A freeze of the past is a fold: the office may run on."""
    world = firm()
    done, _ = two_months(world, months_of("release-triage", tmp_path / "scripts"))
    early = freeze(world.log(), world.blobs, text_of, "firm", done, 1, tmp_path / "early")
    world.post(world.room("late", ("elena", "daniel")), "elena", "Something quite new has come up since.")
    world.keep("daniel", "home:daniel", "Documents/Later.md", b"later\n")
    late = freeze(world.log(), world.blobs, text_of, "firm", done, 1, tmp_path / "late")
    assert (early.id, early.hash) == (late.id, late.hash)


def test_what_was_never_accepted_has_no_solution(tmp_path: Path) -> None:
    world = firm()
    made, _ = months_of("release-triage", tmp_path / "scripts")
    open_ = world.hand_out(made, world.materials(made))
    with pytest.raises(NoOracle, match="never accepted"):
        freeze(world.log(), world.blobs, text_of, "firm", open_, 1, tmp_path)
    refs = world.hand_in(open_, made.files)
    with pytest.raises(NoOracle, match="it is submitted"):
        freeze(world.log(), world.blobs, text_of, "firm", open_, 1, tmp_path)
    world.review(open_, "accept", "Fine.", refs)
    assert freeze(world.log(), world.blobs, text_of, "firm", open_, 1, tmp_path).required >= 3


def test_work_already_done_is_no_task(tmp_path: Path) -> None:
    world = firm()
    made, _ = months_of("release-triage", tmp_path / "scripts")
    inputs = world.materials(made)
    first = world.hand_out(made, inputs)
    world.review(first, "accept", "Fine.", world.hand_in(first, made.files))
    twice = world.hand_out(made, inputs)
    files = {**made.files, "Release note.md": made.files["Release note.md"] + b"\nThanks.\n"}
    world.review(twice, "accept", "Fine again.", world.hand_in(twice, files))
    with pytest.raises(NoRubric, match="nothing to do"):
        freeze(world.log(), world.blobs, text_of, "firm", twice, 1, tmp_path)


def accepted(world: Firm, made: Work, **changes: Any) -> str:
    """A delegation that differs from the usual one in some field, accepted at once."""
    first = world.hand_out(made, world.materials(made))
    usual = world.office.delegations[first]
    other = msgspec.structs.replace(usual, id=world.id("daniel"), rounds=(), **changes)
    world.do(DelegationOpened(other), "daniel")
    world.do(RoundOpened(other.id, 1), "daniel")
    world.review(other.id, "accept", "Fine.", world.hand_in(other.id, made.files))
    return other.id


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"work": "wizardry"}, "of no kind that can be recomputed"),
        ({"work": "records-digest"}, "skill pack records-digest is not mounted"),
        ({"deliverables": ("Release note.md",)}, "does not ask for Triage.csv"),
        ({"inputs": ()}, "no input is the results"),
    ],
)
def test_no_rubric_is_made_up(changes: dict[str, object], word: str, tmp_path: Path) -> None:
    """Unknown kinds are refused with a reason."""
    world = firm()
    made, _ = months_of("release-triage", tmp_path / "scripts")
    other = accepted(world, made, **changes)
    with pytest.raises(NoRubric, match=word):
        freeze(world.log(), world.blobs, text_of, "firm", other, 1, tmp_path)


def test_references_name_a_delegation_and_a_round(grown: Grown) -> None:
    office = grown.world.office
    assert split_reference(office, grown.rounds) == (grown.rounds, 1)
    assert split_reference(office, f"{grown.rounds}.3") == (grown.rounds, 3)
    assert split_reference(office, grown.rounds, 2) == (grown.rounds, 2)
    for wrong in ("nobody.1.1", "nobody.1.1.2", f"{grown.rounds}.x", ""):
        with pytest.raises(UnknownReference, match="no delegation"):
            split_reference(office, wrong)
    with pytest.raises(UnknownReference, match="3 rounds, so there is no round 4"):
        split_reference(office, f"{grown.rounds}.4")


def test_depth_counts_work_on_work(grown: Grown) -> None:
    first, second = grown.done["bill-of-materials"]
    assert (depth_of(grown.world.office, first), depth_of(grown.world.office, second)) == (1, 2)


def test_bytes_that_do_not_match_their_hash_are_not_frozen(grown: Grown, tmp_path: Path) -> None:
    """RULE 25: what the store hands to a snapshot is verified."""

    class Rotten(MemoryBlobs):
        def get(self, sha256: str) -> bytes:
            return grown.world.blobs.get(sha256) + b" "

    with pytest.raises((CorruptStore, UsageError)):
        freeze(grown.log, Rotten(), text_of, "firm", grown.done["release-triage"][0], 1, tmp_path)
    assert list(tmp_path.iterdir()) == []


# -- tampering ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "word"),
    [
        ("tests/rubric.json", "tests/rubric.json was changed"),
        ("tests/grader/run.py", "tests/grader/run.py was changed"),
        ("environment/mounts/task/TASK.md", "TASK.md was changed"),
        ("environment/mounts/company/Answers.md", "Answers.md was added"),
    ],
)
def test_a_snapshot_that_was_tampered_with_is_refused(grown: Grown, tmp_path: Path, path: str, word: str) -> None:
    snapshot = grown.freeze(grown.rounds, 1, tmp_path)
    place = snapshot.folder / path
    place.write_bytes((place.read_bytes() if place.exists() else b"") + b" ")
    with pytest.raises(Tampered, match=word):
        open_snapshot(snapshot.folder)


def test_removing_linking_and_resealing_are_seen(grown: Grown, tmp_path: Path) -> None:
    snapshot = grown.freeze(grown.rounds, 1, tmp_path)
    task = snapshot.folder / "environment/mounts/task/TASK.md"
    data = task.read_bytes()
    task.unlink()
    with pytest.raises(Tampered, match="is gone"):
        open_snapshot(snapshot.folder)
    (tmp_path / "copy").write_bytes(data)
    task.symlink_to(tmp_path / "copy")
    with pytest.raises(Tampered, match="no plain file"):
        open_snapshot(snapshot.folder)
    task.unlink()
    task.write_bytes(data)
    place = snapshot.folder / MANIFEST
    manifest = msgspec.json.decode(place.read_bytes(), type=Manifest)
    place.write_bytes(msgspec.json.encode(msgspec.structs.replace(manifest, principal="elena")))
    with pytest.raises(Tampered, match="own hash"):
        open_snapshot(snapshot.folder)
    place.write_bytes(b"{}")
    with pytest.raises(Tampered, match="cannot be read"):
        open_snapshot(snapshot.folder)


def test_another_folder_is_never_overwritten(reconciliation: Snapshot, tmp_path: Path) -> None:
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "dear.txt").write_text("keep me")
    with pytest.raises(UsageError, match="is no snapshot"):
        write_snapshot(tmp_path / "letters", {}, reconciliation.manifest)
    assert (tmp_path / "letters" / "dear.txt").read_text() == "keep me"
    with pytest.raises(UsageError, match="it has no snapshot.json"):
        open_snapshot(tmp_path / "letters")
    with pytest.raises(UsageError, match="there is no snapshot here"):
        find_snapshots([tmp_path / "letters"])


def test_snapshots_are_found_at_and_below_a_place(reconciliation: Snapshot) -> None:
    folder = reconciliation.folder
    assert find_snapshots([folder]) == [folder]
    below = find_snapshots([folder.parent, folder])
    assert folder in below
    assert len(below) == len(set(below)) == 13
