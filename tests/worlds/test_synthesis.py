"""Synthesis from end to end: what is kept, why the rest goes, what is repaired, and what a crash costs (nothing)."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bench.worlds.folder import read_world
from bench.worlds.model import Side
from bench.worlds.runs import AgentUnderTest, Panel, Simulating, jobs_of, run_jobs
from bench.worlds.statistics import Rate
from bench.worlds.synthesis import RECORD, fingerprint, synthesize
from bench.worlds.synthesis_measure import Effort, Sides, choose, consistency, reason_of, verdict
from bench.worlds.synthesis_record import Candidate, Measured, Reason, Synthesis
from services.models.scripted import Scripted, fault, say
from simulator.conversation import ModelRequest, ModelResponse
from simulator.errors import BudgetExhausted, ModelOutage, UsageError, WorkFailed
from simulator.ports import Model
from tests.worlds.synthesis_parts import (
    GENERATOR,
    SCENARIO,
    SMALL,
    Solver,
    draft,
    four,
    generator,
    ground,
    only,
    sides,
    text,
)

ROOT = Path(__file__).parents[2]


def make(out: Path, model: Model, solver: Solver | None = None, effort: Effort = SMALL, **more: Any) -> Synthesis:
    return synthesize(SCENARIO, model, GENERATOR, sides((solver or Solver()).model), out, effort, **more)


def by_topic(found: Synthesis) -> dict[str, Candidate]:
    return {one.topic: one for one in found.candidates}


# -- the story ------------------------------------------------------------------------------------------------------------


def test_one_good_one_unsolvable_one_trivial_one_invalid(tmp_path: Path) -> None:
    """The good one is kept; each of the others says why it went."""
    found = make(tmp_path, four())
    assert {one.topic: one.reason for one in found.candidates} == {
        "good": "kept", "unsolvable": "unsolvable_with_plan", "trivial": "always_passes", "invalid": "invalid_tool_schema",
    }  # fmt: skip
    kept = only(tmp_path) / "kept"
    assert [one.name for one in kept.iterdir()] == ["tank-farm-good"]
    report = (only(tmp_path) / "report.md").read_text()
    assert "Unsolvable: it fails even with its own plan." in report
    assert "Always passes." in report
    assert "A tool's parameters are no valid json schema." in report.replace("JSON Schema", "json schema")
    assert "- The tool \\`close_valve\\`: The parameters are no valid JSON Schema" in report


def test_the_figures_by_hand(tmp_path: Path) -> None:
    """Good: 2 of 2 with the plan, 2 of 4 without, consistency 2/4. Trivial: 4 of 4. Unsolvable: 0 of 2, not run without."""
    found = by_topic(make(tmp_path, four()))
    (good,) = found["good"].rounds[-1].measured
    assert (good.with_plan.passed, good.with_plan.runs) == (2, 2)
    assert good.without is not None and (good.without.passed, good.without.runs, good.consistency) == (2, 4, 0.5)
    (trivial,) = found["trivial"].rounds[-1].measured
    assert trivial.without is not None and (trivial.without.passed, trivial.consistency) == (4, 1.0)
    (unsolvable,) = found["unsolvable"].rounds[-1].measured
    assert (unsolvable.with_plan.passed, unsolvable.without) == (0, None)


def test_repairs_are_bounded_and_recorded(tmp_path: Path) -> None:
    """One repair: two versions of each that goes, a diagnosis after the first measured one and none after the last."""
    found = by_topic(make(tmp_path, four()))
    assert {topic: len(one.rounds) for topic, one in found.items()} == {
        "good": 1,
        "unsolvable": 2,
        "trivial": 2,
        "invalid": 2,
    }
    assert [each.diagnosis is not None for each in found["trivial"].rounds] == [True, False]
    assert all(each.faults and "nonsense" not in each.faults[0] for each in found["invalid"].rounds)


def test_what_is_kept_can_be_read_and_run(tmp_path: Path) -> None:
    make(tmp_path / "made", four())
    world = read_world(only(tmp_path / "made") / "kept" / "tank-farm-good")
    assert (world.environment.source, world.environment.industry) == ("synthesized", "Resources")
    assert [task.level for task in world.tasks] == [1]
    jobs = jobs_of([world], [AgentUnderTest(Side("nop"))], [Simulating(Side("offline"), "offline")], Panel(votes=1))
    (trial,) = run_jobs(jobs, tmp_path / "runs")
    assert trial.outcome == "failed"


def test_the_record_is_whole(tmp_path: Path) -> None:
    found = make(tmp_path, four())
    kept = msgspec.json.decode((only(tmp_path) / RECORD).read_bytes(), type=Synthesis)
    assert kept == found
    assert len(kept.ground.subtopics) == 16 and kept.complete
    assert len(list((only(tmp_path) / "versions").iterdir())) == 5


def test_the_plan_is_shown_only_to_runs_that_are_to_see_it(tmp_path: Path) -> None:
    solver = Solver()
    make(tmp_path, four(), solver)
    first = [request.messages[1].content for request in solver.model.asked]
    assert any("A way that works:" in said for said in first)
    assert any("A way that works:" not in said and "Read both tanks" not in said for said in first)


# -- levels -----------------------------------------------------------------------------------------------------------------


def test_the_level_with_the_lowest_rate_is_kept(tmp_path: Path) -> None:
    """Levels 1 to 3 pass 4, 3 and 1 of 4 times: the first always passes, the third is the hardest that still passes."""
    effort = Effort(topics=1, levels=3, with_plan=1, without=4, repairs=0)
    solver = Solver({("good", 1): 4, ("good", 2): 3, ("good", 3): 1})
    (one,) = make(tmp_path, generator(good=[draft("good", levels=3)]), solver, effort).candidates
    assert (one.reason, one.level) == ("kept", 3)
    assert [each.reason for each in one.rounds[0].measured] == ["always_passes", "kept", "kept"]
    (task,) = read_world(only(tmp_path) / "kept" / "tank-farm-good").tasks
    assert task.id == "tank-farm-good-3"


def measured(level: int, passed: int, runs: int = 4, reason: Reason = "kept") -> Measured:
    return Measured(level, reason, Rate(2, 2, 1), Rate(passed, runs, 1))


def test_choosing_a_level() -> None:
    best = choose([measured(1, 3), measured(2, 1), measured(3, 2)])
    assert best is not None and best.level == 2
    equal = choose([measured(1, 2), measured(2, 2)])
    assert equal is not None and equal.level == 2
    assert choose([measured(1, 4, reason="always_passes")]) is None
    assert choose([measured(1, 2), measured(2, 0, reason="infrastructure")]) is None


@pytest.mark.parametrize(
    ("with_plan", "without", "said"),
    [
        (Rate(2, 2, 1), Rate(2, 4, 1), "kept"),
        (Rate(2, 2, 1), None, "kept"),
        (Rate(2, 2, 1), Rate(4, 4, 1), "always_passes"),
        (Rate(2, 2, 1), Rate(0, 4, 1), "always_fails"),
        (Rate(1, 2, 1), Rate(2, 4, 1), "unsolvable_with_plan"),
        (Rate(2, 3, 1), Rate(2, 4, 1), "kept"),
        (Rate(0, 0, 0, invalid=2), None, "cannot_be_played"),
        (Rate(2, 2, 1), Rate(0, 0, 0, invalid=4), "cannot_be_played"),
        (Rate(1, 1, 1, infra=1), None, "infrastructure"),
        (Rate(2, 2, 1), Rate(3, 3, 1, infra=1), "infrastructure"),
    ],
)
def test_why_a_level_stays_or_goes(with_plan: Rate, without: Rate | None, said: Reason) -> None:
    assert verdict(with_plan, without) == said


def test_consistency_is_the_share_of_the_majority() -> None:
    assert [consistency(Rate(passed, 4, 1)) for passed in (0, 1, 2, 4)] == [1.0, 0.75, 0.5, 1.0]
    assert consistency(Rate(0, 0, 0)) is None and consistency(None) is None


def test_the_reason_of_a_candidate_is_the_one_nearest_to_use() -> None:
    def one(reason: Reason) -> Measured:
        return measured(1, 0, reason=reason)

    assert reason_of([one("unsolvable_with_plan"), one("always_passes")]) == "always_passes"
    assert reason_of([one("cannot_be_played"), one("unsolvable_with_plan")]) == "unsolvable_with_plan"
    assert reason_of([one("always_passes"), one("infrastructure")]) == "infrastructure"


# -- repair -----------------------------------------------------------------------------------------------------------------

ONE = Effort(topics=1, levels=1, with_plan=1, without=4, repairs=2)


def test_a_faulty_answer_is_shown_its_faults_and_corrected(tmp_path: Path) -> None:
    model = generator(good=[say("I am thinking."), draft("good", parameters={"type": "array"}), draft("good")])
    (one,) = make(tmp_path, model, effort=ONE).candidates
    assert one.reason == "kept" and len(one.rounds) == 3
    assert one.rounds[0].faults == ("The answer is not one JSON object of the schema.",)
    assert "must be a JSON Schema of type object" in one.rounds[1].faults[0]
    told = [request.messages[-1].content for request in model.asked if request.session.endswith(":good")]
    assert "must be a JSON Schema of type object" in told[2]


def test_an_unsolvable_candidate_is_diagnosed_from_its_runs_and_repaired(tmp_path: Path) -> None:
    model = generator(good=[draft("good", refuse=True), draft("good")])
    (one,) = make(tmp_path, model, effort=ONE).candidates
    assert [each.measured[0].reason for each in one.rounds] == ["unsolvable_with_plan", "kept"]
    (asked,) = [request for request in model.asked if ":why:" in request.session]
    page = asked.messages[-1].content
    assert "STUCK" in page and '"shown_the_plan":true' in page and "0 of 1 runs with the plan passed" in page
    (again,) = [request for request in model.asked if request.session.endswith(":good") and request.call[1] == 2]
    assert "Make it different." in again.messages[-1].content


def test_a_diagnosis_that_cannot_be_read_does_not_stop_the_repair(tmp_path: Path) -> None:
    rules = {
        "synthesize:tank-farm:ground": [text(ground())],
        "synthesize:tank-farm:good": [text(draft("good", refuse=True)), text(draft("good"))],
        "*": say("Who knows."),
    }
    (one,) = make(tmp_path, Scripted(rules), effort=ONE).candidates
    assert one.reason == "kept" and one.rounds[0].diagnosis is None


def test_without_repairs_the_first_version_decides(tmp_path: Path) -> None:
    effort = msgspec.structs.replace(SMALL, repairs=0)
    assert [len(one.rounds) for one in make(tmp_path, four(), effort=effort).candidates] == [1, 1, 1, 1]


def test_an_environment_that_code_cannot_play_is_sent_back_where_code_is_to_play_it(tmp_path: Path) -> None:
    silent = draft("good")
    del silent["tools"][0]["effect"]
    (one,) = make(tmp_path, generator(good=[silent, draft("good")]), effort=ONE).candidates
    assert one.kept and one.rounds[0].faults == (
        "Each tool needs its `effect`: without it no code can play the environment.",
    )


def test_a_refusal_ends_a_candidate_and_not_the_synthesis(tmp_path: Path) -> None:
    model = generator(
        good=[ModelResponse(finish="refusal", detail="policy")], unsolvable=[draft("good")],
        trivial=[ModelResponse(content="{", finish="length")] * 2, invalid=[draft("trivial")] * 2,
    )  # fmt: skip
    found = by_topic(make(tmp_path, model))
    assert {topic: one.reason for topic, one in found.items()} == {
        "good": "no_answer", "unsolvable": "kept", "trivial": "invalid", "invalid": "always_passes",
    }  # fmt: skip
    assert found["good"].rounds[0].faults == ("The generator ended with refusal. policy",)
    assert "cut off" in found["trivial"].rounds[0].faults[0]


# -- the ground -------------------------------------------------------------------------------------------------------------


def test_overlapping_or_missing_subtopics_are_sent_back(tmp_path: Path) -> None:
    twin = ground()
    twin["subtopics"][5]["focus"] = twin["subtopics"][4]["focus"]
    model = generator(ground=[ground(count=15), twin, ground(reference="short"), ground()], good=[draft("good")])
    found = make(tmp_path, model, effort=msgspec.structs.replace(ONE, repairs=0))
    assert len(found.ground.subtopics) == 16
    told = [request.messages[-1].content for request in model.asked if request.session.endswith(":ground")]
    assert "There are 15 sub-topics" in told[1] and "overlap" in told[2] and "The reference has 5 characters" in told[3]


def test_no_ground_no_synthesis(tmp_path: Path) -> None:
    with pytest.raises(WorkFailed, match="after 3 repairs: There are 15 sub-topics"):
        make(tmp_path, generator(ground=[ground(count=15)] * 4))
    with pytest.raises(WorkFailed, match="ended with refusal"):
        make(tmp_path / "other", generator(ground=[ModelResponse(finish="refusal")]))


# -- crashes, outages, budgets ------------------------------------------------------------------------------------------------


class Dying:
    """A model that gives out at its n-th call, as a process does that is killed."""

    def __init__(self, inner: Model, after: int, error: Callable[[], Exception]) -> None:
        self.inner, self.left, self.error = inner, after, error

    def complete(self, request: ModelRequest) -> ModelResponse:
        if self.left == 0:
            raise self.error()
        self.left -= 1
        return self.inner.complete(request)


def counted(model: Scripted) -> list[tuple[str, int]]:
    return [request.call for request in model.asked]


@pytest.mark.parametrize("after", [0, 1, 2, 4, 6])
def test_a_generator_that_gives_out_is_asked_nothing_twice(tmp_path: Path, after: int) -> None:
    """The same record as undisturbed, and no call answered twice (RULE 2)."""
    undisturbed = make(tmp_path / "whole", four())
    model = four()
    with pytest.raises(BudgetExhausted):
        make(tmp_path / "cut", Dying(model, after, lambda: BudgetExhausted("used up")))
    found = make(tmp_path / "cut", model)
    assert found == undisturbed
    assert len(counted(model)) == len(set(counted(model)))
    assert (only(tmp_path / "cut") / RECORD).read_bytes() == (only(tmp_path / "whole") / RECORD).read_bytes()


@pytest.mark.parametrize("after", [1, 3, 7, 12])
def test_a_solver_that_gives_out_runs_nothing_twice(tmp_path: Path, after: int) -> None:
    solver, model = Solver(), four()
    with pytest.raises(BudgetExhausted):
        synthesize(
            SCENARIO,
            model,
            GENERATOR,
            sides(Dying(solver.model, after, lambda: BudgetExhausted("used up"))),
            tmp_path,
            SMALL,
        )
    found = make(tmp_path, model, solver)
    assert {one.topic: one.reason for one in found.candidates}["good"] == "kept"
    assert len(counted(solver.model)) == len(set(counted(solver.model)))
    assert len(counted(model)) == len(set(counted(model)))


def test_a_finished_synthesis_asks_nobody_again(tmp_path: Path) -> None:
    first = make(tmp_path, four())
    again = make(tmp_path, Scripted([]), Solver())
    assert again == first


def test_an_outage_of_the_solver_leaves_a_candidate_undecided_until_the_next_time(tmp_path: Path) -> None:
    """An infrastructure fault is nobody's failure: not always fails, and nothing is repaired for it."""
    model = generator(good=[draft("good")])
    solver = Solver()
    down = Dying(solver.model, 5, lambda: ModelOutage("the endpoint kept failing"))
    found = synthesize(SCENARIO, model, GENERATOR, sides(down), tmp_path, ONE)
    (one,) = found.candidates
    assert one.reason == "infrastructure" and not found.complete
    assert "run again" in (only(tmp_path) / "report.md").read_text()
    assert not (only(tmp_path) / "kept").exists()
    (one,) = make(tmp_path, model, solver, ONE).candidates
    assert one.reason == "kept" and len(one.rounds) == 1
    assert (only(tmp_path) / "kept" / "tank-farm-good").is_dir()


def test_an_outage_of_the_generator_stops_and_is_not_stored(tmp_path: Path) -> None:
    model = Scripted({
        "synthesize:tank-farm:ground": [fault("server", retryable=False), text(ground())],
        "synthesize:tank-farm:good": [text(draft("good"))], "*": say("-"),
    })  # fmt: skip
    with pytest.raises(ModelOutage, match="the generator did not answer"):
        make(tmp_path, model, effort=ONE)
    assert make(tmp_path, model, effort=ONE).candidates[0].kept


# -- settings -----------------------------------------------------------------------------------------------------------------


def test_other_settings_are_another_synthesis(tmp_path: Path) -> None:
    """RULE: runs with different settings never share results."""
    solver = Solver()
    base = sides(solver.model)
    other: list[tuple[Sides, Effort, int, Side]] = [
        (base, SMALL, 1, GENERATOR), (base, msgspec.structs.replace(SMALL, without=5), 0, GENERATOR),
        (sides(solver.model, "other"), SMALL, 0, GENERATOR), (base, SMALL, 0, Side("model", "other")),
        (msgspec.structs.replace(base, panel=Panel(votes=3)), SMALL, 0, GENERATOR),
    ]  # fmt: skip
    prints = {fingerprint(SCENARIO, side, who, effort, seed) for who, effort, seed, side in other}
    assert len(prints | {fingerprint(SCENARIO, GENERATOR, base, SMALL, 0)}) == 6
    make(tmp_path, four())
    make(tmp_path, four(), seed=1)
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize(
    "wrong", [{"topics": 0}, {"topics": 17}, {"levels": 4}, {"with_plan": 0}, {"without": 1}, {"repairs": -1}]
)
def test_efforts_that_make_no_sense_are_refused(tmp_path: Path, wrong: dict[str, int]) -> None:
    with pytest.raises(UsageError):
        make(tmp_path, Scripted([]), effort=msgspec.structs.replace(SMALL, **wrong))
    assert list(tmp_path.iterdir()) == []


# -- killed -------------------------------------------------------------------------------------------------------------------

CHILD = """
import os, sys
from pathlib import Path
from bench.worlds.synthesis import synthesize
from tests.worlds.synthesis_parts import GENERATOR, SCENARIO, SMALL, Solver, four, sides

class Logged:
    def __init__(self, inner, log, most):
        self.inner, self.log, self.left = inner, log, most

    def complete(self, request):
        if self.left == 0:
            os._exit(9)
        self.left -= 1
        response = self.inner.complete(request)
        with self.log.open("a") as out:
            out.write(f"{request.call[0]} {request.call[1]}\\n")
        return response

out, most = Path(sys.argv[1]), int(sys.argv[2])
solver = Solver()
who = sides(Logged(solver.model, out / "calls", most))
synthesize(SCENARIO, Logged(four(), out / "calls", most), GENERATOR, who, out / "made", SMALL)
"""


def test_a_process_that_dies_again_and_again_pays_for_nothing_twice(tmp_path: Path) -> None:
    """Dead after nine calls of either model, started anew until it is done: each call was made once, and the record is
    whole (RULE 2)."""
    codes: list[int] = []
    while not codes or codes[-1] == 9:
        done = subprocess.run(
            [sys.executable, "-c", CHILD, str(tmp_path), "9"], cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert done.returncode in (0, 9), done.stderr
        codes.append(done.returncode)
        assert len(codes) < 20
    calls = (tmp_path / "calls").read_text().splitlines()
    assert len(calls) == len(set(calls))
    assert len(codes) > 2
    found = msgspec.json.decode((only(tmp_path / "made") / RECORD).read_bytes(), type=Synthesis)
    assert found.complete and len(found.candidates) == 4
