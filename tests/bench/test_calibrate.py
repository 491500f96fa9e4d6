"""Calibration: the table of DESIGN 11 holds, and a rubric that is bad does not pass it; the changes it makes are what they say."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec
import pytest

from bench import tables, writing
from bench.calibrate import Calibration, calibrate, table_of
from bench.grader.reading import load
from bench.rubric import Criterion, Rubric
from bench.select import candidates, select
from bench.snapshot import RUBRIC, Snapshot, open_snapshot, write_snapshot
from simulator.engine.history import as_of
from simulator.errors import UsageError
from tests.bench.conftest import Grown
from tests.bench.office import KINDS, LATER, careless, firm, month_of, months_of, text_of, three_rounds, two_months
from tests.professions.office import Work


def with_rubric(snapshot: Snapshot, dest: Path, change: Rubric) -> Snapshot:
    files = {listed.path: (snapshot.read(listed.path), listed.mode) for listed in snapshot.manifest.files}
    files[RUBRIC] = (msgspec.json.encode(change), 0o644)
    write_snapshot(dest / "t", files, snapshot.manifest)
    return open_snapshot(dest / "t")


def named(calibration: Calibration, name: str) -> tuple[bool | None, float, bool]:
    (found,) = [each for each in calibration.shown if each.name == name]
    return found.passed, found.weighted, found.right


def held(snapshots: Iterable[Snapshot]) -> set[str]:
    """Hold the table of DESIGN 11 for each snapshot; return the forms of their deliverables."""
    forms = set()
    for snapshot in snapshots:
        found = calibrate(snapshot)
        assert found.holds, table_of(found)
        assert named(found, "oracle")[:2] == (True, 1.0)
        assert named(found, "another right version")[:2] == (True, 1.0)
        assert named(found, "nothing")[:2] == named(found, "empty files")[:2] == (False, 0.0)
        for null in ("'done'", "the task echoed", "everything dumped"):
            assert named(found, null)[1] <= 0.1
        misses = [each for each in found.shown if each.name.startswith("near miss")]
        assert len(misses) == len(snapshot.rubric().required_checks())
        forms |= {asked.form for asked in snapshot.rubric().deliverables}
    return forms


def test_every_kind_calibrates(grown: Grown, frozen: dict[tuple[str, int], Snapshot]) -> None:
    """Oracle 1, another right version 1, nothing and empty files 0 with weighted 0, each near miss its own criterion alone."""
    forms = held(frozen[second, 1] for _, second in grown.done.values())
    assert forms == {"xlsx", "csv", "md", "docx", "pdf"}, "five kinds of deliverable"


def test_a_revision_and_a_supplement_calibrate(grown: Grown, frozen: dict[tuple[str, int], Snapshot]) -> None:
    held(frozen[grown.rounds, number] for number in (2, 3))


@pytest.mark.slow
def test_every_other_round_calibrates(grown: Grown, frozen: dict[tuple[str, int], Snapshot]) -> None:
    held([frozen[grown.rounds, 1], *(frozen[first, 1] for first, _ in grown.done.values())])


def changed(rubric: Rubric, name: str, **fields: object) -> Rubric:
    def new(c: Criterion) -> Criterion:
        return msgspec.structs.replace(c, **fields) if c.id == name else c

    return msgspec.structs.replace(rubric, criteria=tuple(new(c) for c in rubric.criteria))


def test_a_wrong_expected_value_is_found(reconciliation: Snapshot, tmp_path: Path) -> None:
    rubric = reconciliation.rubric()
    (old,) = [c for c in rubric.criteria if c.id == "figure-bank-total"]
    assert old.check is not None
    wrong = msgspec.structs.replace(old.check, params={**old.check.params, "value": "1.00"})
    found = calibrate(with_rubric(reconciliation, tmp_path, changed(rubric, "figure-bank-total", check=wrong)))
    assert not found.holds
    assert any("oracle" in fault and "Bank total" in fault for fault in found.faults)
    assert "NOT fit for use" in table_of(found)


def test_a_criterion_asked_twice_is_found(reconciliation: Snapshot, tmp_path: Path) -> None:
    """Two required criteria that fall together: no near miss fails one of them alone."""
    rubric = reconciliation.rubric()
    (old,) = [c for c in rubric.criteria if c.id == "figure-bank-total"]
    twin = msgspec.structs.replace(old, id="figure-bank-total-again", group="")
    found = calibrate(with_rubric(reconciliation, tmp_path, msgspec.structs.replace(rubric, criteria=(*rubric.criteria, twin))))
    assert any("it fails figure-bank-total, figure-bank-total-again" in fault for fault in found.faults)


def test_a_rubric_that_gives_points_for_nothing_is_found(reconciliation: Snapshot, tmp_path: Path) -> None:
    rubric = changed(reconciliation.rubric(), "originals-unchanged", guard=False)
    found = calibrate(with_rubric(reconciliation, tmp_path, rubric))
    assert named(found, "nothing")[1] > 0
    assert any(fault.startswith("nothing:") for fault in found.faults)


# -- other right versions ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def works(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Work]:
    folder = tmp_path_factory.mktemp("w")
    return {kind: months_of(kind, folder)[1] for kind in KINDS}


def test_another_workbook_says_the_same_otherwise(works: dict[str, Work]) -> None:
    data = works["bill-of-materials"].files["BOM.xlsx"]
    other = tables.other_book(data)
    before, after = load("xlsx", data), load("xlsx", other)
    assert [g.name for g in before.grids] == ["Summary", "Parts", "Changes"]
    assert [g.name for g in after.grids] == ["Changes list", "Summary", "Parts list"]
    parts, moved = before.grids[1], after.grids[2]
    assert [list(r) for r in moved.rows[1:]] == [list(r) for r in reversed(parts.rows[1:])]
    assert len(moved.formulas) == len(parts.formulas) > 0, "formulas went along and stayed formulas"
    assert [r[:2] for r in before.grids[0].rows] == [r[:2] for r in after.grids[1].rows]


def test_one_wrong_figure_leaves_the_others(works: dict[str, Work]) -> None:
    data = works["bank-reconciliation"].files["Reconciliation.xlsx"]
    spoilt = tables.book_with_wrong_figure(data, "Bank total")
    before = {r[0]: r[1] for r in load("xlsx", data).grids[0].rows}
    after = {r[0]: r[1] for r in load("xlsx", spoilt).grids[0].rows}
    assert {label for label in before if before[label] != after[label]} == {"Bank total"}
    with pytest.raises(tables.NotPossible):
        tables.book_with_wrong_figure(data, "Weight of the moon")


def test_another_csv_says_the_same_otherwise(works: dict[str, Work]) -> None:
    data = works["release-triage"].files["Triage.csv"]
    other = tables.other_csv(data)
    assert other != data
    assert sorted(map(tuple, load("csv", other).grids[0].rows)) == sorted(map(tuple, load("csv", data).grids[0].rows))


@pytest.mark.parametrize("form", ["md", "docx", "pdf"])
def test_prose_is_written_and_read_back(form: str) -> None:
    lines = ["# Memo", "Total: 1,234.50 (net)", "- A-1: open \\ waits", "- B-2: open"]
    read = [line for line in writing.lines_of(form, writing.write(form, lines)) if line]
    assert read == lines
    other = [x for x in writing.lines_of(form, writing.in_other_words(form, writing.write(form, lines), {"Total": "1234.50"})) if x]
    assert "For the period, the total comes to 1234.50 all told." in other
    assert other.index("- B-2: open") < other.index("- A-1: open \\ waits")


def test_a_long_pdf_has_several_pages() -> None:
    lines = [f"line {n}" for n in range(200)]
    document = load("pdf", writing.write("pdf", lines))
    assert document.pages == 5
    assert [line for line in document.lines if line] == lines


# -- selection ----------------------------------------------------------------------------------------------------------------


def test_selection_is_diverse_deterministic_and_says_why(tmp_path: Path) -> None:
    world = firm()
    two_months(world, months_of("release-triage", tmp_path / "scripts"))
    made = month_of("bank-reconciliation", LATER, tmp_path / "scripts", 12)
    three_rounds(world, made, careless(made, tmp_path / "careless", "--skip-last"))
    said: list[str] = []
    chosen = select(world.log(), world.blobs, text_of, "firm", 3, tmp_path / "a", progress=said.append)
    again = select(world.log(), world.blobs, text_of, "firm", 3, tmp_path / "b")
    assert [(s.id, s.hash) for s in chosen.snapshots] == [(s.id, s.hash) for s in again.snapshots]
    assert {s.work for s in chosen.snapshots} == {"release-triage", "bank-reconciliation"}
    assert len({(s.round, s.depth) for s in chosen.snapshots}) > 1
    assert len(chosen.snapshots) + len(chosen.passed_over) == 5
    assert all("were enough" in p.why for p in chosen.passed_over)
    assert said[-1].startswith("3 of 3")
    assert sorted(p.name for p in (tmp_path / "a").iterdir()) == sorted(s.id for s in chosen.snapshots)


def test_selection_skips_what_does_not_calibrate_and_leaves_nothing_behind(tmp_path: Path) -> None:
    world = firm()
    made, second = months_of("release-triage", tmp_path / "scripts")
    two_months(world, (made, second))
    wrong = world.hand_out(second, world.materials(second))
    spoilt = {"Triage.csv": second.files["Triage.csv"], "Release note.md": b"# Release note 2026-01\n\nAll is well.\n"}
    world.review(wrong, "accept", "Looks fine.", world.hand_in(wrong, spoilt))
    open_ = world.hand_out(made, world.materials(made))
    found = select(world.log(), world.blobs, text_of, "firm", 9, tmp_path / "out")
    why = {p.name: p.why for p in found.passed_over}
    assert why[f"{wrong}.1"].startswith("calibration: oracle")
    assert "never accepted" in why[open_]
    assert len(found.snapshots) == 2
    assert len(list((tmp_path / "out").iterdir())) == 2
    with pytest.raises(UsageError, match="at least one"):
        select(world.log(), world.blobs, text_of, "firm", 0, tmp_path / "out")


def test_rounds_after_the_accepted_one_are_no_candidates(grown: Grown) -> None:
    found, passed = candidates(as_of(grown.log))
    assert [c.name for c in found if c.delegation == grown.rounds] == [f"{grown.rounds}.{n}" for n in (1, 2, 3)]
    assert passed == []
