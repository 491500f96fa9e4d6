"""Runs: the built-in worlds end to end, settings that never share a result, faults of the outside, kill and resume."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bench.worlds.agents import ModelAgent, agent_of
from bench.worlds.api import RoleModel, load_worlds, report_worlds, row, run_worlds
from bench.worlds.journal import Tape, Taped
from bench.worlds.model import FaultPlan, Settings, Side, Trial
from bench.worlds.runs import (
    TAPES,
    TRIALS,
    AgentUnderTest,
    Panel,
    Simulating,
    WorldResults,
    fitted,
    jobs_of,
    read_trajectory,
    read_trials,
    replay_job,
    run_jobs,
)
from services.models.scripted import Scripted, call, calls, raw_call, say
from simulator.conversation import Message, ModelRequest, ModelResponse
from simulator.errors import BudgetExhausted, CorruptStore, OfficeBusy, TapeMismatch, UsageError
from tests.worlds.core_world import always, task, verdicts, world

ROOT = Path(__file__).parents[2]
OFFLINE = Simulating(Side("offline"), "offline")
LEVELS: tuple[Any, ...] = ("E0", "E1", "E2", "E3")


def run(
    out: Path, agent: AgentUnderTest, *, simulator: Simulating = OFFLINE, panel: Panel | None = None, **more: Any
) -> list[Trial]:
    worlds = more.pop("worlds", [world()])
    return run_jobs(jobs_of(worlds, [agent], [simulator], panel or Panel(), **more), out)


def modelled(*answers: ModelResponse, name: str = "m") -> AgentUnderTest:
    return AgentUnderTest(Side("model", name), Scripted(list(answers)))


BOOKING = (call("get_room", room="RM-101"), call("book", room="RM-101", guest="Ada Lund"), say("RM-101 is booked."))


# -- the built-in worlds -----------------------------------------------------------------------------------------------


def test_the_solving_scripts_solve_and_doing_nothing_scores_nothing(tmp_path: Path) -> None:
    trials = run_worlds([], tmp_path, agents=("oracle", "nop"), levels=LEVELS)
    outcomes = {(trial.agent.name, trial.outcome) for trial in trials}
    assert outcomes == {("oracle", "passed"), ("nop", "failed")}
    assert all(trial.labels[0] == "no_calls" for trial in trials if trial.agent.name == "nop")
    assert any(trial.faults for trial in trials)


def test_giving_up_at_the_first_error_costs_robustness(tmp_path: Path) -> None:
    trials = run_worlds([], tmp_path, agents=("once",), levels=("E0", "E1"))
    assert {trial.outcome for trial in trials if trial.fault_level == "E0"} == {"passed"}
    failed = [trial for trial in trials if trial.fault_level == "E1"]
    assert {trial.outcome for trial in failed} == {"failed"}
    assert all("gave_up_at_first_error" in trial.labels for trial in failed)


def test_a_report_is_made_of_the_trials(tmp_path: Path) -> None:
    run_worlds([], tmp_path / "r", agents=("oracle", "nop"), levels=("E0",), tasks=("bank-cancel",))
    files = report_worlds([tmp_path / "r"], tmp_path / "report")
    assert any(file.name == "report.md" for file in files)
    with pytest.raises(UsageError, match="no trial"):
        (tmp_path / "empty").mkdir()
        report_worlds([tmp_path / "empty"], tmp_path / "report")


def test_examples_mode_runs_anything_and_is_never_scored(tmp_path: Path) -> None:
    simulator = Simulating(Side("examples"), "examples")
    trial = run(tmp_path, modelled(*BOOKING), simulator=simulator, worlds=[world(False)])[0]
    assert (trial.outcome, trial.passed, trial.steps) == ("invalid", None, 2)
    assert "never scored" in trial.note


# -- agents ------------------------------------------------------------------------------------------------------------


def test_a_model_works_with_the_tools_until_it_is_done(tmp_path: Path) -> None:
    agent = modelled(*BOOKING)
    trial = run(tmp_path, agent)[0]
    assert (trial.outcome, trial.turns, trial.steps, trial.final) == ("passed", 3, 2, "RM-101 is booked.")
    assert isinstance(agent.model, Scripted)
    first = agent.model.asked[0]
    assert [tool.name for tool in first.tools] == ["list_rooms", "get_room", "book"]
    assert "Today is 2025-03-01" in first.messages[0].content
    saw = read_trajectory(tmp_path, trial)
    assert saw.steps[1].patch[0]["path"] == "/rooms/RM-101/status" and saw.final_state["bookings"]["BK-002"]
    assert saw.settings.fingerprint == trial.settings


def test_two_calls_in_one_turn_are_two_steps(tmp_path: Path) -> None:
    both = calls(call("get_room", room="RM-101"), call("book", room="RM-101", guest="Ada Lund"))
    trial = run(tmp_path, modelled(both, say("Done.")))[0]
    assert (trial.outcome, trial.turns, trial.steps) == ("passed", 2, 2)


@pytest.mark.parametrize(
    ("answers", "label"),
    [
        ((call("fly"), say("I flew.")), "unknown_tool"),
        ((raw_call("book", "{"), say("Done.")), "bad_arguments"),
        ((say("RM-101 is booked."),), "no_calls"),
        ((call("list_rooms"), call("list_rooms"), call("list_rooms"), say("Done.")), "repeated_calls"),
    ],
)
def test_bad_agents_fail_with_their_label(tmp_path: Path, answers: tuple[ModelResponse, ...], label: str) -> None:
    trial = run(tmp_path, modelled(*answers))[0]
    assert trial.outcome == "failed" and label in trial.labels


def test_an_agent_that_loops_is_stopped_at_its_limit(tmp_path: Path) -> None:
    looping = AgentUnderTest(Side("model", "m"), Scripted({"*": call("list_rooms")}))
    trial = run(tmp_path, looping, worlds=[world(agent_turns=5)])[0]
    assert (trial.outcome, trial.turns, trial.steps) == ("failed", 5, 5)
    assert {"repeated_calls", "step_limit"} <= set(trial.labels)


def test_overflow_and_refusal_end_the_agents_work_and_it_is_judged_as_it_stands(tmp_path: Path) -> None:
    trial = run(tmp_path, modelled(call("list_rooms"), ModelResponse(finish="overflow")))[0]
    assert trial.outcome == "failed" and "step_limit" in trial.labels
    other = run(tmp_path, modelled(*BOOKING[:2], ModelResponse("I stop.", finish="refusal"), name="n"))[0]
    assert other.outcome == "passed" and "refusal" in other.note


def test_the_plan_is_shown_only_when_asked_for() -> None:
    for with_plan in (False, True):
        model = Scripted([say("Done.")])
        ModelAgent(model, "t").run(task(plan="First look, then book."), (), lambda *_: "", with_plan)
        assert ("First look" in model.asked[0].messages[1].content) is with_plan


def test_unknown_agents_and_missing_models_are_wrong_calls(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no agent 'x'"):
        agent_of("x", None, "t")
    with pytest.raises(UsageError, match="role assistant"):
        run_worlds([], tmp_path, agents=("model",))
    with pytest.raises(UsageError, match="no script"):
        run(tmp_path, AgentUnderTest(Side("oracle")), worlds=[world(script=())])


# -- the outside fails -------------------------------------------------------------------------------------------------


def test_an_outage_is_never_the_agents_failure_and_is_made_again(tmp_path: Path) -> None:
    down = modelled(call("get_room", room="RM-101"), ModelResponse(finish="unavailable", detail="the service is down"))
    trial = run(tmp_path, down)[0]
    assert (trial.outcome, trial.passed, trial.labels) == ("infra_error", None, ())
    assert "the service is down" in trial.note
    up = modelled(*BOOKING[1:])
    again = run(tmp_path, up)[0]
    assert again.outcome == "passed" and isinstance(up.model, Scripted)
    assert len(up.model.asked) == 2, "what was answered before is not asked again"
    assert [one.outcome for one in read_trials(tmp_path)] == ["passed"]


def test_a_simulator_that_cannot_be_used_makes_the_trial_invalid(tmp_path: Path) -> None:
    simulator = Simulating(Side("model", "s"), "stateful", always(lambda _request: "It is sunny."))
    trial = run(tmp_path, modelled(*BOOKING), simulator=simulator)[0]
    assert (trial.outcome, trial.passed, trial.labels) == ("invalid", None, ())


def test_the_budget_stops_the_run_and_what_was_done_is_kept(tmp_path: Path) -> None:
    class Poor:
        def __init__(self) -> None:
            self.left = 3

        def complete(self, request: ModelRequest) -> ModelResponse:
            if not self.left:
                raise BudgetExhausted("the budget is used up")
            self.left -= 1
            return BOOKING[request.call[1] - 1]

    agent = AgentUnderTest(Side("model", "m"), Poor())
    with pytest.raises(BudgetExhausted):
        run(tmp_path, agent, attempts=2)
    assert [trial.attempt for trial in read_trials(tmp_path)] == [1]


def test_a_judge_does_not_judge_what_it_simulated(tmp_path: Path) -> None:
    one = RoleModel(always(lambda _r: ""), "big-model", endpoint="here")
    with pytest.raises(UsageError, match="would judge the runs it simulates"):
        run_worlds([], tmp_path, agents=("nop",), simulator_models=(one,), judge=one)
    trials = run_worlds(
        [], tmp_path, agents=("nop",), simulator_models=(one,), judge=one, same_judge=True, tasks=("bank-cancel",)
    )
    assert trials[0].outcome == "failed"


# -- settings never share a result -------------------------------------------------------------------------------------


def settings(**more: Any) -> Settings:
    base: dict[str, Any] = {
        "harness": "1", "environment": "e", "task": "t", "agent": Side("model", "a"), "simulator": Side("model", "s"),
        "simulator_mode": "stateful", "verifier": Side("model", "v"), "votes": 3, "faults": FaultPlan(), "agent_turns": 200,
    }  # fmt: skip
    return Settings(**{**base, **more})


def test_every_setting_is_in_the_fingerprint() -> None:
    others = {
        "harness": "2", "environment": "f", "task": "u", "agent": Side("model", "a", "high"), "simulator": Side("model", "z"),
        "simulator_mode": "stateless", "verifier": Side("model", "w"), "votes": 5, "agent_turns": 100, "with_plan": True,
        "limits": {"history": 1},
    }  # fmt: skip
    prints = [settings(**{name: value}).fingerprint for name, value in others.items()]
    for change in ({"level": "E1"}, {"seed": 2}, {"count": 3}, {"duration": 1}, {"mode": "prompt"}, {"semantic": True}):
        prints.append(settings(faults=msgspec.structs.replace(FaultPlan(), **change)).fingerprint)
    assert len({settings().fingerprint, *prints}) == len(prints) + 1
    assert set(Settings.__struct_fields__) == {*others, "faults"}, "a new setting needs a line above"


def test_runs_of_other_settings_are_made_anew_and_those_of_the_same_are_not(tmp_path: Path) -> None:
    run(tmp_path, modelled(*BOOKING))
    nobody = modelled()
    assert run(tmp_path, nobody)[0].outcome == "passed", "found again without a call"
    other = modelled(say("Done."), name="other")
    assert run(tmp_path, other)[0].outcome == "failed"
    assert (
        run(tmp_path, modelled(say("Done.")), worlds=[world(instruction="Book RM-101 for Bo Ek.")])[0].outcome
        == "failed"
    )
    assert len(read_trials(tmp_path)) == 3


def test_jobs_are_every_combination_in_a_fixed_order_and_bad_ones_are_refused() -> None:
    agents = [AgentUnderTest(Side("nop")), AgentUnderTest(Side("oracle"))]
    jobs = jobs_of([world()], agents, [OFFLINE], Panel(), levels=LEVELS, attempts=3)
    assert len(jobs) == 2 * 4 * 3 and len({(job.settings.fingerprint, job.attempt) for job in jobs}) == len(jobs)
    with pytest.raises(UsageError, match="odd"):
        jobs_of([world()], agents, [OFFLINE], Panel(votes=2))
    with pytest.raises(UsageError, match="at least 1"):
        jobs_of([world()], agents, [OFFLINE], Panel(), attempts=0)
    with pytest.raises(UsageError, match="no task 'x'"):
        jobs_of([world()], agents, [OFFLINE], Panel(), tasks=("x",))
    with pytest.raises(UsageError, match="no fault level"):
        run_worlds([], Path("nowhere"), agents=("nop",), levels=("E9",))  # type: ignore[arg-type]


def test_short_tasks_meet_their_faults_within_their_length() -> None:
    assert fitted(FaultPlan("E1"), task()).horizon == 6
    assert fitted(FaultPlan("E1"), task(script=())).horizon == 16


def test_concurrent_trials_give_the_same_results(tmp_path: Path) -> None:
    def outcome(folder: str, concurrency: int) -> list[Any]:
        trials = run_worlds(
            [], tmp_path / folder, agents=("oracle", "once"), levels=("E0", "E3"), concurrency=concurrency
        )
        return [(trial.settings, trial.outcome, trial.state_hash, trial.labels) for trial in trials]

    assert outcome("one", 1) == outcome("four", 4)


def test_two_processes_do_not_share_a_folder(tmp_path: Path) -> None:
    with WorldResults(tmp_path).held(), pytest.raises(OfficeBusy, match="another process"):
        run(tmp_path, AgentUnderTest(Side("nop")))


def test_a_row_says_what_became_of_a_trial(tmp_path: Path) -> None:
    trial = run(tmp_path, AgentUnderTest(Side("oracle")))[0]
    assert row(trial)["outcome"] == "passed" and row(trial)["agent"] == "oracle"
    assert load_worlds([])[0].environment.name == "bank-portal"


# -- the tape ----------------------------------------------------------------------------------------------------------


def request(text: str = "hello", number: int = 1) -> ModelRequest:
    return ModelRequest("assistant", ("a", number), "s", (Message("user", text),))


def test_rule_2_an_answer_is_on_the_disk_before_it_is_used_and_never_asked_for_again(tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    with Tape(file, "t") as tape:
        assert Taped(Scripted([say("one"), say("two")]), tape).complete(request()).content == "one"
        assert b'"one"' in file.read_bytes(), "before the tape is closed"
    with Tape(file, "t") as tape:
        again = Taped(None, tape)
        assert again.complete(request()).content == "one"
        with pytest.raises(TapeMismatch, match="not the one that is stored"):
            again.complete(request("other"))
        with pytest.raises(TapeMismatch, match="not stored"):
            again.complete(request(number=2))


def test_a_line_cut_by_a_crash_is_dropped_and_a_foreign_tape_refused(tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    with Tape(file, "t") as tape:
        Taped(Scripted([say("one")]), tape).complete(request())
    whole = file.read_bytes()
    for cut in (whole + b'{"call":["a",2],"fing', whole[: whole.index(b"\n") - 3], b""):
        file.write_bytes(cut)
        with Tape(file, "t") as tape:
            Taped(Scripted([say("two")]), tape).complete(request(number=2))
        with Tape(file, "t") as tape:
            assert Taped(None, tape).complete(request(number=2)).content == "two"
    with pytest.raises(CorruptStore, match="another trial"):
        Tape(file, "u")
    file.write_bytes(b'{"trial":"t"}\nnonsense\n')
    with pytest.raises(CorruptStore, match="none of ours"):
        Tape(file, "t")


def test_an_unavailable_answer_is_not_stored(tmp_path: Path) -> None:
    with Tape(tmp_path / "t.jsonl", "t") as tape:
        assert Taped(Scripted([ModelResponse(finish="unavailable")]), tape).complete(request()).finish == "unavailable"
        assert tape.find(request()) is None


def test_a_trial_line_cut_by_a_crash_is_passed_over(tmp_path: Path) -> None:
    run(tmp_path, modelled(*BOOKING))
    with (tmp_path / TRIALS).open("ab") as file:
        file.write(b'{"task": "bo')
    assert len(read_trials(tmp_path)) == 1
    run(tmp_path, modelled(say("x"), name="other"))
    assert len(read_trials(tmp_path)) == 2
    with pytest.raises(UsageError, match="no folder of results"):
        read_trials(tmp_path / "gone")


# -- kill and resume ---------------------------------------------------------------------------------------------------


def child(folder: Path, last: int) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.worlds.core_child", str(folder), str(last)],
        cwd=ROOT, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def test_killed_in_mid_run_and_resumed_no_call_is_repeated_and_the_results_are_the_same(tmp_path: Path) -> None:
    calm = tmp_path / "calm"
    calm.mkdir()
    undisturbed = child(calm, 0)
    assert undisturbed.returncode == 0, undisturbed.stderr
    made = (calm / "calls.log").read_text().split("\n")
    assert json.loads(undisturbed.stdout)[0][:3] == ["E0", "passed", 3]
    # Before a call of the agent, of the simulator, of the second judge, and within the second trial.
    storm = tmp_path / "storm"
    storm.mkdir()
    for last in (2, 2, 3, 4, 3):
        killed = child(storm, last)
        assert killed.returncode == -9, killed.stderr
    resumed = child(storm, 0)
    assert resumed.returncode == 0, resumed.stderr
    assert resumed.stdout == undisturbed.stdout
    log = (storm / "calls.log").read_text().split("\n")
    assert sorted(log) == sorted(made) and len(log) == len(set(log)), "every call was made exactly once"
    lines = {folder: sorted(read_trials(folder / "results"), key=lambda t: t.settings) for folder in (calm, storm)}
    assert lines[calm] == lines[storm]
    names = [sorted(file.name for file in (folder / "results" / TAPES).iterdir()) for folder in (calm, storm)]
    assert names[0] == names[1]
    for name in names[0]:
        tapes = [(folder / "results" / TAPES / name).read_bytes() for folder in (calm, storm)]
        assert tapes[0] == tapes[1], "byte for byte"


def test_a_trial_replays_from_its_tape_alone(tmp_path: Path) -> None:
    one = world(criteria=(), rubric="It booked RM-101.")
    panel = Panel(Side("model", "j"), always(lambda _r: verdicts(True, "rubric")), 3)
    trial = run(tmp_path, modelled(*BOOKING), panel=panel, worlds=[one])[0]
    bare = jobs_of([one], [AgentUnderTest(Side("model", "m"))], [OFFLINE], Panel(Side("model", "j"), None, 3))[0]
    again = replay_job(bare, WorldResults(tmp_path))
    assert msgspec.structs.replace(again.trial, milliseconds=trial.milliseconds) == trial
    assert again.steps == read_trajectory(tmp_path, trial).steps
    with pytest.raises(UsageError, match="no tape of this trial"):
        replay_job(msgspec.structs.replace(bare, attempt=2), WorldResults(tmp_path))


def test_a_stateless_run_of_our_own_is_judged_by_its_declared_effects(tmp_path: Path) -> None:
    said = ('{"room": "RM-101", "beds": 2, "status": "free"}', '{"booking": "BK-002"}')
    simulator = Simulating(
        Side("model", "s"), "stateless", Scripted([say(f"<observation>{one}</observation>") for one in said])
    )
    trial = run(tmp_path, modelled(*BOOKING), simulator=simulator)[0]
    assert trial.outcome == "passed"


def test_a_state_that_nobody_records_is_never_judged(tmp_path: Path) -> None:
    simulator = Simulating(Side("model", "s"), "stateless", always(lambda _r: '<observation>{"ok": 1}</observation>'))
    trial = run(tmp_path, modelled(*BOOKING), simulator=simulator, worlds=[world(False)])[0]
    assert trial.outcome == "invalid" and "records no state" in trial.note


def test_votes_of_a_panel_are_recorded_in_the_trial(tmp_path: Path) -> None:
    one = world(criteria=(), rubric="It booked RM-101.")
    panel = Panel(Side("model", "j"), always(lambda _r: verdicts(True, "rubric")), 3)
    trial = run(tmp_path, modelled(*BOOKING), panel=panel, worlds=[one])[0]
    assert trial.outcome == "passed" and len(trial.verdicts[0].votes) == 3
    kept = read_trials(tmp_path)[0]
    assert kept == trial
