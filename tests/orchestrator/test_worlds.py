"""`officetown worlds`: run, resumed, reported; nobody's model answers for another's."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.orchestrator.support import ROOT, Desk

SHARED = Path(os.environ.get("OFFICETOWN_OCCUBENCH", str(ROOT.parent / "shared" / "occubench")))


def test_the_built_in_environments_run_by_code_and_a_report_is_written(desk: Desk, tmp_path: Path) -> None:
    results = str(tmp_path / "results")
    asked = ("worlds", "run", "-o", results, "--agent", "oracle", "--agent", "nop", "--faults", "E0,E1")
    trials = desk.json(*asked)["trials"]
    assert {t["mode"] for t in trials} == {"offline"} and {t["level"] for t in trials} == {"E0", "E1"}
    clean = [t for t in trials if t["level"] == "E0"]
    assert all(t["passed"] for t in clean if t["agent"] == "oracle")
    assert not any(t["passed"] for t in trials if t["agent"] == "nop")
    assert sum(t["faults"] for t in trials if t["agent"] == "oracle" and t["level"] == "E1") > 0
    before = {p: p.stat().st_mtime_ns for p in Path(results).rglob("*.json*") if "lock" not in p.name}
    assert desk.json(*asked)["trials"] == trials, "what is there is not run again"
    assert {p: p.stat().st_mtime_ns for p in Path(results).rglob("*.json*") if "lock" not in p.name} == before
    files = desk.json("worlds", "report", results, "-o", str(tmp_path / "report"))["files"]
    assert {Path(f).suffix for f in files} >= {".md", ".csv", ".svg", ".png"}
    assert all(Path(f).stat().st_size for f in files)


def test_two_runs_of_one_task_stand_side_by_side(desk: Desk, tmp_path: Path) -> None:
    results = tmp_path / "results"
    desk("worlds", "run", "-o", str(results), "--agent", "oracle", "--agent", "nop", "--task", "bank-release")
    first, second = sorted(p.stem for p in (results / "trajectories").iterdir())
    said = desk("worlds", "report", str(results), "--pair", first, second)
    assert said.code == 0 and "bank-release" in said.out and "oracle" in said.out and "nop" in said.out
    assert desk("worlds", "report", str(results), "--pair", first, "no-such-run").code == 2


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("run", "-o", "r", "--agent", "model"), "role assistant"),
        (("run", "-o", "r", "--agent", "oracle", "--mode", "stateful"), "role world"),
        (("run", "-o", "r", "--agent", "oracle", "--judge"), "role judge"),
        (("matrix", "-o", "r", "--agent", "oracle"), "role world"),
        (("qualify", "-o", "r"), "role world"),
        (("synthesize", "loading-depot", "-o", "r"), "role generator"),
    ],
)
def test_a_role_without_a_model_is_told_and_no_other_answers_for_it(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], why: str
) -> None:
    monkeypatch.chdir(tmp_path)
    said = desk("worlds", *words)
    assert said.code == 2 and why in said.err
    assert not (tmp_path / "r").exists(), "nothing is made before that is known"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("run", "-o", "r", "--agent", "nop", "--faults", "E9"), "--faults E9"),
        (("run", "-o", "r", "--agent", "nop", "--faults", ","), "--faults"),
        (("run", "-o", "r", "--agent", "nop", "--mode", "dreamt"), "--mode dreamt"),
        (("run", "-o", "r", "--agent", "clever"), "clever"),
        (("run", "-o", "r", "--agent", "nop", "--task", "no-such-task"), "no-such-task"),
        (("run", "no-such-folder", "-o", "r", "--agent", "nop"), "no-such-folder"),
        (("report", "no-such-folder", "-o", "r"), "no-such-folder"),
        (("report", "a", "b", "-o", "r", "--pair", "x", "y"), "name just that"),
        (("import", "no-such-folder", "-o", "r"), "no-such-folder"),
        (("import", ".", "-o", "r", "--rendering", "pretty"), "pretty"),
    ],
)
def test_what_cannot_be_is_one_clear_line(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], why: str
) -> None:
    monkeypatch.chdir(tmp_path)
    said = desk("worlds", *words)
    assert said.code == 2 and why in said.err and "Traceback" not in said.err


def test_the_catalogue_is_listed(desk: Desk) -> None:
    assert len(desk.json("worlds", "synthesize", "--list")["scenarios"]) == 100


@pytest.mark.skipif(not SHARED.is_dir(), reason="the public environments are not here")
@pytest.mark.parametrize("rendering", ["clean", "verbatim"])
def test_the_public_environments_are_imported_and_run_unscored(desk: Desk, tmp_path: Path, rendering: str) -> None:
    made = desk.json("worlds", "import", str(SHARED), "-o", str(tmp_path / "w"), "--rendering", rendering)
    assert made["environments"] >= 20 and made["tasks"] > 0 and made["refused"] == []
    asked = ("worlds", "run", str(tmp_path / "w"), "-o", str(tmp_path / "r"), "--agent", "nop", "--mode", "examples")
    trials = desk.json(*asked)["trials"]
    assert trials and not any(t["passed"] for t in trials)
