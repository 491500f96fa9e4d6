"""Results, as queries: the grid against hand-computed shares, filters, criteria with sources and votes, two trials, two forks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.rubric import Check, Criterion, Rubric
from bench.trials import Marks, Outcome, Results, Trial
from orchestrator.commands import fork
from orchestrator.compose import House
from orchestrator.output import Out
from orchestrator.running import RunOptions, run
from orchestrator.settings import read_settings
from orchestrator.web.book import Shelf
from orchestrator.web.queries import results, results_forks
from orchestrator.web.queries.results import Task, Wanted
from services.gateway import atif
from simulator.errors import UnknownReference, UsageError
from tests.orchestrator.support import JUNIPER

TASKS = {
    "a": Task("a", "Bookkeeper", "bank-reconciliation"), "b": Task("b", "Tax accountant", "variance-analysis"),
    "c": Task("c", "Bookkeeper", "variance-analysis"),
}  # fmt: skip


def trial(task: str, agent: str = "x", outcome: Outcome = "passed", weighted: float = 1.0, attempt: int = 1, **more: object) -> Trial:
    marks = Marks(outcome == "passed", weighted, {"p0": 1.0 if outcome == "passed" else 0.5}) if outcome in results.SCORED else None
    return Trial(task, agent, attempt, outcome, f"{agent}-{task}", marks=marks, **more)  # type: ignore[arg-type]


# -- the grid -------------------------------------------------------------------------------------------------------------


def test_pass_at_one_is_the_mean_over_tasks_of_the_mean_over_attempts() -> None:
    """Task a: one of two attempts passed, 0.5; task b: passed, 1.0; together 0.75, whatever the number of attempts."""
    some = [trial("a"), trial("a", outcome="failed", weighted=0.2, attempt=2), trial("b"), trial("c", outcome="infra_error")]
    found = results.grid(some, TASKS, Wanted())
    (column,) = found.agents
    assert (column.share, column.tasks, column.trials, column.no_score) == (0.75, 2, 4, 1)
    assert column.weighted == pytest.approx((0.6 + 1.0) / 2)
    cell = found.cells["x\na"]
    assert (cell.passed, cell.scored, cell.missed) == (1, 2, 1) and cell.weighted == pytest.approx(0.6)
    assert found.cells["x\nc"].weighted is None, "no score is no zero"


def test_an_agent_without_any_score_has_none() -> None:
    (column,) = results.grid([trial("a", outcome="invalid")], TASKS, Wanted()).agents
    assert (column.share, column.weighted, column.no_score) == (None, None, 1)


@pytest.mark.parametrize(
    ("wanted", "left"),
    [
        (Wanted(), "abc"), (Wanted(outcome="failed"), "b"), (Wanted(role="Bookkeeper"), "ac"), (Wanted(work="variance-analysis"), "bc"),
        (Wanted(missed=True), "b"), (Wanted(agent="y"), "c"), (Wanted(role="Bookkeeper", work="variance-analysis"), "c"),
        (Wanted(role="Nobody"), ""),
    ],
)  # fmt: skip
def test_filters_leave_what_they_ask_for(wanted: Wanted, left: str) -> None:
    some = [trial("a"), trial("b", outcome="failed", weighted=0.1), trial("c", agent="y")]
    assert "".join(t.snapshot for t in results.chosen(some, TASKS, wanted)) == left
    assert results.grid(some, TASKS, wanted).choices["role"] == ("Bookkeeper", "Tax accountant"), "choices stay whole"


def test_agents_with_other_models_or_efforts_are_columns_of_their_own() -> None:
    some = [trial("a", model="m"), trial("a", model="m", effort="high"), trial("a")]
    assert [c.agent for c in results.grid(some, {}, Wanted()).agents] == ["x", "x · m", "x · m · high"]


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from(("passed", "failed", "error", "invalid")), st.integers(1, 3)), max_size=25))
def test_every_trial_is_in_one_cell(rows: list[tuple[str, Outcome, int]]) -> None:
    some = [msgspec.structs.replace(trial(t, outcome=o, attempt=n), settings=f"s{i}") for i, (t, o, n) in enumerate(rows)]
    found = results.grid(some, TASKS, Wanted())
    assert sorted(key for cell in found.cells.values() for key in cell.trials) == sorted(t.key for t in some)
    assert sum(c.trials for c in found.agents) == len(some) == found.shown == found.total


# -- one trial ------------------------------------------------------------------------------------------------------------


def rubric() -> Rubric:
    ledger = Criterion("ties", "It ties.", "P0", True, ("/mnt/task/TASK.md",), check=Check("opens", {"path": "x"}))
    return Rubric("a", (ledger, Criterion("clear", "It is clear.", "P2", False, (), kind="judge")))


def row(name: str, text: str, met: bool | None, **more: object) -> dict[str, object]:
    return {"id": name, "text": text, "priority": "P0", "required": True, "kind": "check", "met": met, "holds": met, "why": "so", **more}


def test_criteria_are_shown_with_their_sources_and_votes() -> None:
    votes = [{"judge": "m", "met": True, "why": "as asked"}, {"judge": "n", "met": False}, {"judge": "o"}, "odd"]
    found = results.judged(trial("a", criteria=[row("ties", "It ties.", True), row("clear", "It is clear.", None, votes=votes)]), rubric())
    assert found[0].evidence == ("/mnt/task/TASK.md",) and found[0].votes == ()
    assert found[1].met is None and found[1].votes == ("m: met (as asked)", "n: not met", "o: undecided", "odd")


def test_sources_of_another_version_of_the_task_are_not_mixed_in() -> None:
    found = results.judged(trial("a", criteria=[row("ties", "It ties to the cent.", False)]), rubric())
    assert found[0].evidence == () and found[0].met is False


def trajectory(*answers: str) -> bytes:
    steps = [atif.Step(1, "user", "Do it.")]
    for n, answer in enumerate(answers, 2):
        call = atif.ToolCall(f"c{n}", "bash", {"command": "ls -l\ncat x"})
        seen = atif.Observation((atif.ObservationResult(f"c{n}", answer),))
        steps.append(atif.Step(n, "agent", "", tool_calls=(call,), observation=seen))
    return atif.encode(atif.Trajectory(schema_version=atif.SCHEMA_VERSION, session_id="s", agent=atif.Agent("x", "1"), steps=tuple(steps)))


def test_a_trajectory_reads_as_text() -> None:
    steps, said = results.steps_of(trajectory(json.dumps({"exit_code": 0, "stdout": "one\ntwo\n", "stderr": ""}), "{broken", "[1]"))
    assert said == "" and [s.source for s in steps] == ["user", "agent", "agent", "agent"]
    assert steps[1].calls == ("bash\ncommand:\nls -l\ncat x",)
    assert steps[1].answers == ("exit_code: 0\nstdout:\none\ntwo\nstderr: ",)
    assert [s.answers for s in steps[2:]] == [("{broken",), ("[1]",)]


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"schema_version": "ATIF-v1.8"}'])
def test_a_missing_or_broken_trajectory_is_said(data: bytes) -> None:
    steps, said = results.steps_of(data)
    assert steps == [] and said


def test_two_trials_are_held_against_each_other() -> None:
    one = results.TrialShown(
        trial("a", criteria=[]), TASKS["a"], results.judged(trial("a", criteria=[row("p", "P", True), row("q", "Q", True)]), None),
        tuple(results.steps_of(trajectory("x", "y"))[0]), 3,
    )  # fmt: skip
    other = results.TrialShown(
        trial("a", criteria=[]), TASKS["a"], results.judged(trial("a", criteria=[row("q", "Q", False), row("r", "R", None)]), None),
        tuple(results.steps_of(trajectory("x", "z"))[0]), 3,
    )  # fmt: skip
    found = results.compare(one, other)
    assert [(r.id, r.first, r.second, r.differs) for r in found.rows] == [
        ("p", True, None, True), ("q", True, False, True), ("r", None, None, False),
    ]  # fmt: skip
    assert found.parts == 3, "they part at the third step"
    assert results.compare(one, one).parts == 4 and results.compare(one, msgspec.structs.replace(other, steps=())).parts == 0


# -- folders --------------------------------------------------------------------------------------------------------------


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    made = House(read_settings({"OFFICETOWN_HOME": str(tmp_path / "home")}))
    yield made
    made.close()


def test_folders_of_results_are_found_and_named(house: House, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="officetown eval"):
        results.folder_of(house, "")
    home = house.settings.home / "results"
    Results(home).add(trial("a"))
    Results(home / "august").add(trial("b"))
    Results(tmp_path / "elsewhere").add(trial("c"))
    names = [f.name for f in results.folders(house, [tmp_path / "elsewhere", home])]
    assert names == ["results", "august", "elsewhere"]
    assert results.folder_of(house, "").name == "results"
    with pytest.raises(UsageError, match="no such"):
        results.folder_of(house, "../../etc")


def test_an_unknown_trial_is_said() -> None:
    with pytest.raises(UnknownReference):
        results.trial_of([trial("a")], "none")
    assert results.trial_of([trial("a")], "x-a-1").snapshot == "a"


# -- forks ----------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def forked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[House, Shelf, str, str, str]]:
    """Juniper for three days; a fork from its second day that goes on alike, and one whose assistants' work is not reviewed."""
    house = House(read_settings({"OFFICETOWN_HOME": str(tmp_path_factory.mktemp("forks"))}))
    quiet = Out(quiet=True)
    run(house, quiet, JUNIPER, RunOptions(days=2, seed=1, name="root"))
    root = house.row("root").id
    half = house.row("root").head // 2
    alike = fork(house, quiet, root, str(half), [], "alike")
    other = fork(house, quiet, root, str(half), ["reviews"], "other")
    for name in (alike, other):
        run(house, quiet, name, RunOptions(days=2))
    yield house, Shelf(house), root, alike, other
    house.close()


def test_forks_are_compared_from_where_they_parted(forked: tuple[House, Shelf, str, str, str]) -> None:
    _, shelf, root, alike, other = forked
    rows = shelf.rows()
    found = results_forks.forks(shelf.open(alike), shelf.open(other), rows)
    by_id = {row.id: row for row in rows}
    assert found.common == by_id[alike].parent_revision == by_id[other].parent_revision
    assert (found.first.off, found.second.off) == ((), ("reviews",))
    assert found.first.counts["events"] == found.first.head - found.common
    same = results_forks.forks(shelf.open(root), shelf.open(alike), rows)
    assert same.works_other == 0 and same.files_other == 0 and same.files_same > 20
    assert same.first.counts["messages"] == same.second.counts["messages"]


def test_relatives_are_all_that_share_a_past(forked: tuple[House, Shelf, str, str, str]) -> None:
    house, shelf, root, alike, other = forked
    assert {r.id for r in results_forks.relatives(shelf.rows(), alike)} == {root, other}
    assert results_forks.relatives(shelf.rows(), "none") == []
    stranger = house.found(house.package(JUNIPER), "stranger", 9)
    with pytest.raises(UsageError, match="no past"):
        results_forks.forks(shelf.open(root), shelf.open(stranger), shelf.rows())
