"""Weights, guards, earlier work, Pass@1 (DESIGN 11)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.grader.run import InvalidRubric, reward_of, validate
from bench.grader.scoring import ALPHA, settle
from bench.rubric import Asked, Check, Criterion, Rubric, read_rubric, rubric_of
from simulator.errors import UsageError


def one(name: str, priority: str = "P1", required: bool | None = None, **more: Any) -> Criterion:
    """A criterion with some check."""
    needed = priority in ("P0", "P1") if required is None else required
    more.setdefault("check", Check("opens", {"path": "a.md"}))
    return Criterion(name, f"It is so: {name}.", priority, needed, ("/mnt/task/TASK.md",), **more)  # type: ignore[arg-type]


def judge(name: str, required: bool = False) -> Criterion:
    return one(name, "P1", required, kind="judge", check=None)


def rubric(*criteria: Criterion, **more: Any) -> Rubric:
    return msgspec.structs.replace(rubric_of("t", criteria, (Asked("a.md", "md"),)), **more)


def found(made: Rubric, holding: set[str]) -> dict[str, tuple[bool | None, str]]:
    return {c.id: (None if c.kind == "judge" else c.id in holding, "why") for c in made.criteria}


def met(made: Rubric, holding: set[str], lacking: Mapping[str, str] | None = None) -> dict[str, bool | None]:
    return {r.id: r.met for r in settle(made.as_json(), found(made, holding), lacking or {})}


def test_the_example_of_the_design() -> None:
    """A P0 group of two with one deleted, a P1, a P3, only the P1 met: 13 / (12.5 + 13 + 3) = 0.456 (DESIGN 11)."""
    whole = rubric(one("a", "P0", group="g"), one("b", "P0", group="g"), one("c", "P1"), one("d", "P3"))
    part = whole.without(["b"])
    assert [part.weight(c) for c in part.criteria] == [12.5, 13, 3]
    score = part.score({"a": False, "c": True, "d": False})
    assert round(score.weighted, 3) == 0.456
    assert score.passed is False
    assert score.by_priority == {"P0": 0.0, "P1": 1.0, "P3": 0.0}


def test_deleting_a_part_gives_its_weight_to_nobody() -> None:
    whole = rubric(*(one(f"g{n}", "P0", group="g") for n in range(5)), one("x", "P1"))
    before = whole.weight(whole.criteria[0])
    assert before == 5.0
    assert whole.without(["g1", "g2", "g3"]).weight(whole.criteria[0]) == before


def test_all_met_is_exactly_one_and_none_met_exactly_zero() -> None:
    whole = rubric(*(one(f"g{n}", "P0", group="g") for n in range(7)), one("x", "P1"), one("y", "P2"))
    assert whole.score({c.id: True for c in whole.criteria}).weighted == 1.0
    assert whole.score({c.id: False for c in whole.criteria}).weighted == 0.0


def test_what_is_unjudged_enters_no_score_and_is_said() -> None:
    whole = rubric(one("a"), one("b"), one("c"), judge("j"))
    score = whole.score({"a": True, "b": True, "c": True, "j": None})
    assert (score.passed, score.weighted, score.checks_only) == (True, 1.0, True)
    judged = whole.score({"a": True, "b": True, "c": True, "j": False})
    assert (judged.passed, judged.weighted, judged.checks_only) == (True, 0.75, False)


def test_an_unjudged_required_criterion_leaves_no_pass() -> None:
    whole = rubric(one("a"), one("b"), one("c"), judge("j", required=True))
    score = whole.score({"a": True, "b": True, "c": True, "j": None})
    assert score.passed is None
    assert reward_of(score) == {"weighted": 1.0, "p1": 1.0}, "no key `reward` at all: nobody takes it for a zero"


def test_what_is_not_required_does_not_fail_a_pass() -> None:
    whole = rubric(one("a"), one("b"), one("c"), one("late", "P2"))
    score = whole.score({"a": True, "b": True, "c": True, "late": False})
    assert score.passed is True
    assert 0 < score.weighted < 1


def test_a_guard_counts_only_if_every_deliverable_opens() -> None:
    whole = rubric(one("a"), one("b"), one("guard", guard=True, check=Check("unchanged", {"files": {}})))
    everything = {"a", "b", "guard"}
    assert met(whole, everything)["guard"] is True
    assert met(whole, everything, {"a.md": "the file is empty"})["guard"] is False


def test_a_guard_does_not_count_beside_work_that_is_mostly_wrong() -> None:
    whole = rubric(one("a"), one("b"), one("c"), one("guard", guard=True, check=Check("unchanged", {"files": {}})))
    assert met(whole, {"guard"})["guard"] is False, "doing nothing scores 0"
    assert met(whole, {"guard", "a"})["guard"] is False
    assert met(whole, {"guard", "a", "b"})["guard"] is True


def test_what_already_held_counts_once_something_new_holds() -> None:
    """In the task that revises a draft, leaving the draft alone earns nothing."""
    whole = rubric(one("old"), one("older"), one("new"), already=("old", "older"))
    assert met(whole, {"old", "older"}) == {"old": False, "older": False, "new": False}
    assert met(whole, {"old", "new"}) == {"old": True, "older": False, "new": True}


@pytest.mark.parametrize(
    ("spoil", "word"),
    [
        ({"criteria": []}, "no criteria"),
        ({"format": "other"}, "no criteria"),
        ({"groups": {}}, "no such priority or group"),
        ({"deliverables": [{"path": "a", "form": "exe"}]}, "no form exe"),
    ],
)
def test_a_rubric_that_checks_nothing_is_invalid(spoil: dict[str, Any], word: str) -> None:
    """No criteria means invalid, never full marks (RELIABILITY, frozen tasks)."""
    whole = rubric(one("a", group="g"), one("b"), one("c")).as_json()
    validate(whole)
    with pytest.raises(InvalidRubric, match=word):
        validate({**whole, **spoil})


def test_an_unknown_check_and_a_doubled_id_are_invalid() -> None:
    whole = rubric(one("a"), one("b"), one("c")).as_json()
    with pytest.raises(InvalidRubric, match="no such check"):
        validate({**whole, "criteria": [{**whole["criteria"][0], "check": {"name": "trust_me", "params": {}}}]})
    with pytest.raises(InvalidRubric, match="one id"):
        validate({**whole, "criteria": [whole["criteria"][0]] * 2})
    with pytest.raises(InvalidRubric, match="required"):
        validate({**whole, "criteria": [{**whole["criteria"][0], "required": False}]})


def test_a_task_with_fewer_than_three_required_checks_is_not_made() -> None:
    with pytest.raises(UsageError, match="fewer than 3"):
        rubric(one("a"), one("b"), one("c", "P2"), judge("j", required=True))


def test_a_required_criterion_names_the_source_that_entails_it() -> None:
    bare = msgspec.structs.replace(one("a"), evidence=())
    with pytest.raises(UsageError, match="names no visible source"):
        rubric(bare, one("b"), one("c"))


def test_a_rubric_reads_back_as_it_was_written() -> None:
    whole = rubric(one("a", "P0", group="g"), one("b"), one("c", guard=True), judge("j"), already=("b",))
    assert read_rubric(msgspec.json.encode(whole)) == whole
    with pytest.raises(UsageError, match="is no rubric"):
        read_rubric(b'{"task": 3}')


@given(
    st.lists(st.tuples(st.sampled_from(sorted(ALPHA)), st.sampled_from(["", "g", "h"])), min_size=3, max_size=12),
    st.data(),
)
def test_meeting_more_never_lowers_a_score(shapes: list[tuple[str, str]], data: st.DataObject) -> None:
    """The weighted score is monotone, lies within 0 and 1, and is 1 exactly when all is met."""
    made = [one(f"c{n}", priority, True, group=group) for n, (priority, group) in enumerate(shapes)]
    whole = rubric(*made)
    less = data.draw(st.sets(st.sampled_from([c.id for c in made])))
    more = less | data.draw(st.sets(st.sampled_from([c.id for c in made])))
    low = whole.score({c.id: c.id in less for c in made})
    high = whole.score({c.id: c.id in more for c in made})
    assert 0 <= low.weighted <= high.weighted <= 1
    assert (high.weighted == 1) == (len(more) == len(made)) == bool(high.passed)
