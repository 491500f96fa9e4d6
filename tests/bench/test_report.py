"""What a report says of results: the same numbers as words and as an object."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.report import PRIORITIES, lines, table
from bench.trials import Marks, Outcome, Results, Trial
from orchestrator.output import Out
from orchestrator.tasks import report
from simulator.conversation import Usage
from simulator.errors import UsageError

SHARES = st.sampled_from([0.0, 0.25, 0.5, 1.0])
MARKS = st.builds(
    Marks, st.sampled_from([None, True, False]), SHARES, st.dictionaries(st.sampled_from(PRIORITIES), SHARES)
)


@st.composite
def trials(draw: st.DrawFn) -> Trial:
    outcome: Outcome = draw(st.sampled_from(get_args(Outcome)))
    scored = outcome in ("passed", "failed")
    return Trial(
        draw(st.sampled_from(["s", "t", "u"])), draw(st.sampled_from(["nop", "builtin"])), draw(st.integers(1, 3)), outcome, "f",
        draw(st.sampled_from(["", "m"])), draw(st.sampled_from(["", "low"])), draw(MARKS) if scored else None,
        draw(st.dictionaries(st.sampled_from(["4", "16"]), MARKS, max_size=2)), draw(st.integers(0, 9)),
        Usage(draw(st.integers(0, 5000)), output=draw(st.integers(0, 50))),
    )  # fmt: skip


@given(st.lists(trials(), max_size=12))
def test_every_trial_is_counted_once_and_only_what_was_scored_as_scored(given_: list[Trial]) -> None:
    whole = [line for line in lines(given_) if line.budget is None]
    assert sum(line.trials + sum(line.no_score.values()) for line in whole) == len(given_)
    assert sum(line.trials for line in whole) == sum(t.marks is not None for t in given_)
    assert sum(line.tokens for line in whole) == sum(t.usage.input + t.usage.output for t in given_)
    assert [(line.agent, line.model) for line in whole] == sorted({(line.agent, line.model) for line in whole})
    for line in lines(given_):
        shares = [line.passed, line.weighted, *line.priorities.values()]
        assert all(share is None or 0 <= share <= 1 for share in shares)
        assert (line.weighted is None) == (line.trials == 0)
        assert line.tasks <= line.trials and line.p0_missed <= line.p0_trials <= line.trials
        assert line.budget is None or (line.turns, line.tokens, line.no_score) == (None, 0, {})


@given(st.lists(trials(), max_size=8), st.randoms(use_true_random=False))
def test_the_order_of_trials_says_nothing(given_: list[Trial], shuffled: object) -> None:
    other = list(given_)
    shuffled.shuffle(other)  # type: ignore[attr-defined]
    assert lines(other) == lines(given_)


@given(st.lists(trials(), min_size=1, max_size=8))
def test_the_table_has_a_row_for_each_line_with_its_numbers(given_: list[Trial]) -> None:
    rows = table(given_).split("\n\n")[0].splitlines()[1:]
    found = lines(given_)
    assert len(rows) == len(found)
    for row, line in zip(rows, found, strict=True):
        assert row.startswith(f"  at {line.budget} turns" if line.budget is not None else line.agent)
        for share in (line.passed, line.weighted):
            assert (f"{100 * share:.1f}" if share is not None else "-") in row.split()
        for outcome, count in line.no_score.items():
            assert f"{count} {outcome}" in row


def test_a_task_counts_once_however_often_it_was_tried() -> None:
    made = [
        Trial("s", "a", attempt, "passed" if passed else "failed", "f", marks=Marks(passed, float(passed), {"p0": 1.0}))
        for attempt, passed in enumerate([True, True, True, False], 1)
    ]
    made.append(Trial("t", "a", 1, "failed", "g", marks=Marks(False, 0.5, {"p0": 0.5, "p2": 1.0}), turns=6))
    (line,) = lines(made)
    assert (line.tasks, line.trials, line.passed, line.weighted) == (2, 5, 0.375, 0.625)
    assert (line.priorities, line.p0_missed, line.p0_trials) == ({"p0": 0.75, "p2": 1.0}, 1, 5)
    assert line.turns == 6.0


def test_budgets_of_what_was_no_score_do_not_count() -> None:
    marks = Marks(True, 1.0)
    made = [
        Trial("s", "a", 1, "passed", "f", marks=marks, budgets={"16": marks, "4": Marks(False, 0.0)}),
        Trial("s", "a", 2, "infra_error", "f", budgets={"4": marks}),
    ]
    assert [(line.budget, line.trials, line.weighted) for line in lines(made)] == [(None, 1, 1.0), (4, 1, 0.0), (16, 1, 1.0)]


def test_the_command_ends_with_one_object(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = Results(tmp_path)
    results.add(Trial("s", "a", 1, "passed", "f", "m", marks=Marks(True, 0.75, {"p0": 1.0})))
    results.add(Trial("s", "a", 2, "invalid", "f", "m"))
    report(Out(json=True), tmp_path)
    said = capsys.readouterr()
    assert said.out.count("\n") == 1 and "Pass@1" in said.err
    (line,) = json.loads(said.out)["results"]
    assert line == msgspec.to_builtins(lines([*results_of(tmp_path)])[0])
    assert (line["passed"], line["weighted"], line["budget"], line["no_score"]) == (1.0, 0.75, None, {"invalid": 1})
    report(Out(), tmp_path)
    assert "Pass@1" in capsys.readouterr().out
    with pytest.raises(UsageError, match="no folder of results"):
        report(Out(json=True), tmp_path / "none")


def results_of(folder: Path) -> list[Trial]:
    return [msgspec.json.decode(line, type=Trial) for line in (folder / "trials.jsonl").read_bytes().splitlines()]
