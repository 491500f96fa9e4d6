"""Experts' reviews: made against a version, kept, queued, exported; and revised snapshots written out of them."""

from __future__ import annotations

import csv
import io
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from bench.audit import TASK, audit, audit_alone, revised_task
from bench.expert_export import COLUMNS, as_csv, as_json, read_json
from bench.expert_reviews import (
    Added,
    ExpertReview,
    Remark,
    Reviews,
    Said,
    make_review,
    moment,
    proposals,
    queue,
    standing,
    task_of,
)
from bench.expert_revising import Office, Unfit, revise, revise_rubric, revision_of
from bench.freeze import lay_out
from bench.grader.run import grade
from bench.snapshot import MANIFEST, Snapshot, find_snapshots, open_snapshot
from services.storage.database import Database
from services.storage.documents import Document, Documents
from simulator.errors import StorageError, UsageError
from tests.bench.conftest import Grown
from tests.bench.office import text_of

NOW = 1_790_000_000_000


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Documents]:
    database = Database(f"sqlite:///{tmp_path / 'reviews.db'}")
    yield Documents(database, "reviews")
    database.close()


def first(snapshot: Snapshot, place: int = 0) -> str:
    return snapshot.rubric().criteria[place].id


# -- making ---------------------------------------------------------------------------------------------------------------


def test_a_review_is_bound_to_the_version_it_was_made_of(reconciliation: Snapshot) -> None:
    review = make_review(reconciliation, "  Ada\nLovelace ", Said("accept", "Sound."), NOW)
    assert (review.snapshot, review.version) == (reconciliation.id, reconciliation.manifest.hash)
    assert review.expert == "Ada Lovelace" and moment(review.at) == "2026-09-21T14:13:20Z"


def test_what_is_as_it_was_is_no_proposal(reconciliation: Snapshot) -> None:
    c = reconciliation.rubric().criteria[0]
    same = Remark(c.id, text=f" {c.text} ", priority=c.priority, required=c.required)
    review = make_review(reconciliation, "Ada", Said("accept", task=task_of(reconciliation), remarks=(same,)), NOW)
    assert review.said == Said("accept") and not review.said.proposes


@pytest.mark.parametrize(
    ("said", "name", "words"),
    [
        (Said("accept"), " \n", "name"),
        (Said("accept"), "x" * 81, "80"),
        (Said("reject"), "Ada", "says why"),
        (Said("accept", remarks=(Remark("no-such", "keep"),)), "Ada", "no criterion"),
        (Said("accept", added=(Added("Cites the ledger.", evidence=("/etc/passwd",)),)), "Ada", "cannot see"),
        (Said("accept", added=(Added("x"),) * 51), "Ada", "50"),
    ],
)
def test_what_cannot_stand_is_refused_with_a_reason(
    reconciliation: Snapshot, said: Said, name: str, words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        make_review(reconciliation, name, said, NOW)


def test_hostile_text_is_kept_as_text(reconciliation: Snapshot) -> None:
    nasty = "<script>alert(1)</script>\x00\ud800 =HYPERLINK(1)"
    review = make_review(reconciliation, "<b>Eve</b>", Said("", nasty), NOW)
    assert "<script>" in review.said.comment and "\x00" not in review.said.comment
    assert msgspec.json.decode(msgspec.json.encode(review), type=ExpertReview) == review


# -- keeping --------------------------------------------------------------------------------------------------------------


def test_reviews_are_added_to_and_the_latest_of_each_expert_stands(kept: Documents, reconciliation: Snapshot) -> None:
    shelf = Reviews(kept)
    for at, name, said in (
        (NOW, "Ada", Said("reject", "No.")), (NOW + 5, "Bo", Said("accept")), (NOW + 9, "ada", Said("accept", "Yes, after all.")),
    ):  # fmt: skip
        shelf.save(make_review(reconciliation, name, said, at))
    found = shelf.all()
    assert [r.said.verdict for r in found] == ["reject", "accept", "accept"]
    assert [(r.expert, r.said.verdict) for r in standing(found)] == [("ada", "accept"), ("Bo", "accept")]
    assert shelf.of(reconciliation.manifest.hash) == found and shelf.of("0" * 64) == []


def test_saving_the_same_twice_keeps_it_once(kept: Documents, reconciliation: Snapshot) -> None:
    shelf = Reviews(kept)
    review = make_review(reconciliation, "Ada", Said("accept"), NOW)
    assert shelf.save(review) == shelf.save(review)
    assert len(shelf.all()) == 1


@pytest.mark.parametrize("body", [b"{", b'{"snapshot": 1}'])
def test_a_review_that_cannot_be_read_is_said_and_not_passed_over(kept: Documents, body: bytes) -> None:
    kept.put(Document("v.1.x", 1, body))
    with pytest.raises(StorageError, match="v.1.x"):
        Reviews(kept).all()


# -- the queue ------------------------------------------------------------------------------------------------------------


def test_the_queue_begins_with_what_the_expert_has_not_seen(frozen: dict[tuple[str, int], Snapshot]) -> None:
    some = list(frozen.values())[:4]
    manifests = [s.manifest for s in some]
    reviews = [
        make_review(some[0], "Ada", Said("accept"), NOW), make_review(some[1], "Bo", Said("accept"), NOW),
        make_review(some[2], "Ada", Said("", "A first thought."), NOW),
    ]  # fmt: skip
    lines = queue(manifests, reviews, "ADA", ["", "", "", ""])
    assert [q.place for q in lines] == [3, 1, 2, 0]
    assert [q.mine for q in lines] == [None, None, "", "accept"]
    assert {q.mine for q in queue(manifests, reviews)} == {None}, "who gave no name has said nothing"
    faulty = queue(manifests, reviews, "Ada", ["", "", "", "tampered"])
    assert faulty[-1].fault == "tampered"


def test_reviews_of_another_version_are_counted_beside(reconciliation: Snapshot) -> None:
    review = make_review(reconciliation, "Ada", Said("accept"), NOW)
    now = msgspec.structs.replace(reconciliation.manifest, hash="f" * 64)
    (line,) = queue([now], [review], "Ada")
    assert (line.experts, line.accepted, line.mine, line.older) == (0, 0, None, 1)


# -- export ---------------------------------------------------------------------------------------------------------------


def test_reviews_come_out_as_data(reconciliation: Snapshot) -> None:
    c = first(reconciliation)
    said = Said("reject", '=cmd|"x"\nsecond line, "quoted"', "Do it all.", (Remark(c, "change", "Vague.", "Be exact.", "P3", False),),
                (Added("Names the preparer.", "P2", (TASK,)),))  # fmt: skip
    old, new = make_review(reconciliation, "Ada", Said("accept"), NOW), make_review(reconciliation, "Ada", said, NOW + 1)
    exported = read_json(as_json([old, new]))
    assert exported.reviews == (old, new) and exported.standing == (new.id,)
    text = as_csv([old, new]).decode("utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert tuple(rows[0]) == COLUMNS and [r["stands"] for r in rows] == ["no", "yes", "yes", "yes"]
    assert [r["about"] for r in rows] == ["task", "task", "criterion", "added"]
    assert rows[1]["comment"].startswith("'=cmd") and rows[1]["proposed_text"] == "Do it all."
    assert (rows[2]["criterion"], rows[2]["proposed_priority"], rows[2]["proposed_required"]) == (c, "P3", "no")
    assert rows[3]["evidence"] == TASK


# -- revising -------------------------------------------------------------------------------------------------------------


def test_a_revision_is_a_new_folder_and_the_old_one_stays(grown: Grown, reconciliation: Snapshot, tmp_path: Path) -> None:
    before = {p: p.read_bytes() for p in reconciliation.folder.rglob("*") if p.is_file()}
    c = next(c for c in reconciliation.rubric().criteria if c.required)
    task = task_of(reconciliation) + "\nWrite amounts with two decimals.\n"
    said = Said("accept", "", task, (Remark(c.id, "change", "", "The total ties to the bank, to the cent."),),
                (Added("The memo is understood without the workbook.", "P2", (TASK,)),))  # fmt: skip
    review = make_review(reconciliation, "Ada", said, NOW)
    office = Office(grown.log, grown.world.blobs, text_of)
    made = revise(reconciliation, review, tmp_path, office)
    assert {p: p.read_bytes() for p in reconciliation.folder.rglob("*") if p.is_file()} == before
    assert made.id != reconciliation.id and made.manifest.hash != reconciliation.manifest.hash
    assert task_of(made) == task and task in made.read("instruction.md").decode()
    assert audit(made, grown.log, grown.world.blobs, text_of) == []
    kept = revision_of(made)
    assert kept is not None and kept.review == review and len(kept.changes) == 3
    assert kept.changes == tuple(proposals(reconciliation.rubric(), said))
    rubric = made.rubric()
    assert rubric.task == made.id and rubric.criteria[-1].kind == "judge"
    assert next(x for x in rubric.criteria if x.id == c.id).text == "The total ties to the bank, to the cent."
    assert f'"officetown/{made.id}"' in made.read("task.toml").decode()
    assert not any("revision.json" in path for path in made.visible()), "the review stays on the evaluator's side"
    again = revise(reconciliation, review, tmp_path, office)
    assert again.manifest == made.manifest and find_snapshots([tmp_path]) == [made.folder]


def test_a_revised_snapshot_still_scores_its_solution_full(reconciliation: Snapshot, tmp_path: Path) -> None:
    drop = next(c.id for c in reconciliation.rubric().criteria if not c.required and c.kind == "check")
    made = revise(reconciliation, make_review(reconciliation, "Ada", Said(remarks=(Remark(drop, "drop"),)), NOW), tmp_path / "out")
    home = tmp_path / "home"
    lay_out(home, {**made.tree("home"), **made.tree("solution")})
    _, scored = grade(home, made.rubric().as_json())
    assert scored.passed is True and scored.weighted == 1.0
    assert drop not in {c.id for c in made.rubric().criteria}
    assert made.rubric().groups == reconciliation.rubric().groups, "groups keep the size they were authored with"


def test_words_that_came_later_are_found_in_an_experts_revision(
    grown: Grown, reconciliation: Snapshot, tmp_path: Path
) -> None:
    """An expert who copies the answer into the task is found out by the audit, and nothing is written."""
    answer = "The last row is missing: Bank total does not tie."
    said = Said("accept", task=f"{task_of(reconciliation)}\nMind: {answer}\n")
    review = make_review(reconciliation, "Ada", said, NOW)
    with pytest.raises(Unfit, match="later"):
        revise(reconciliation, review, tmp_path / "out", Office(grown.log, grown.world.blobs, text_of))
    assert list((tmp_path / "out").iterdir()) == []


def test_rubric_words_in_a_revised_task_are_found_without_the_office(reconciliation: Snapshot, tmp_path: Path) -> None:
    c = next(c for c in reconciliation.rubric().criteria if len(c.text) > 24)
    said = Said("accept", task=f"{task_of(reconciliation)}\n{c.text}\n")
    with pytest.raises(Unfit, match="rubric"):
        revise(reconciliation, make_review(reconciliation, "Ada", said, NOW), tmp_path / "out")


def test_only_the_revised_text_itself_is_let_pass(grown: Grown, reconciliation: Snapshot, tmp_path: Path) -> None:
    """The note of a revision opens no door: any other changed file, or another text, is a finding as before."""
    said = Said("accept", task=task_of(reconciliation) + "\nTwo decimals.\n")
    made = revise(reconciliation, make_review(reconciliation, "Ada", said, NOW), tmp_path / "out")
    assert revised_task(made) and revised_task(reconciliation) == ""
    (made.folder / "environment/mounts/task/TASK.md").write_text("Do nothing.")
    assert [leak.kind for leak in audit_alone(open_snapshot(made.folder, verify=False))] == ["manifest"]


def test_a_review_of_another_version_or_of_nothing_is_not_written_out(
    frozen: dict[tuple[str, int], Snapshot], reconciliation: Snapshot, tmp_path: Path
) -> None:
    other = next(s for s in frozen.values() if s.id != reconciliation.id)
    with pytest.raises(UsageError, match="another version"):
        revise(reconciliation, make_review(other, "Ada", Said("accept"), NOW), tmp_path)
    with pytest.raises(UsageError, match="no change"):
        revise(reconciliation, make_review(reconciliation, "Ada", Said("accept", "Good."), NOW), tmp_path)


def test_a_rubric_is_not_dropped_below_what_makes_one(reconciliation: Snapshot) -> None:
    drop = tuple(Remark(c.id, "drop") for c in reconciliation.rubric().required_checks()[2:])
    review = make_review(reconciliation, "Ada", Said("accept", remarks=drop), NOW)
    with pytest.raises(UsageError, match="fewer than 3"):
        revise_rubric(reconciliation.rubric(), review, "x")


def test_a_tampered_snapshot_is_not_opened_for_review(reconciliation: Snapshot, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(reconciliation.folder, copy)
    manifest = json.loads((copy / MANIFEST).read_text())
    manifest["title"] = "Impostor"
    (copy / MANIFEST).write_text(json.dumps(manifest))
    with pytest.raises(UsageError, match="tampered"):
        open_snapshot(copy)
