"""A class of one's own in a language environment: it is judged like any agent, its calls are on the tape, its faults are its own."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bench.own import OwnClass
from bench.worlds.api import run_worlds
from bench.worlds.model import Side, Trial, World
from bench.worlds.own import METHOD, OwnAgent
from bench.worlds.runs import (
    TAPES,
    AgentUnderTest,
    Job,
    Panel,
    Simulating,
    WorldResults,
    jobs_of,
    read_trajectory,
    replay_job,
    run_jobs,
)
from services.models.scripted import Scripted, say
from simulator.errors import ModelOutage, TapeMismatch, UsageError
from tests.worlds.core_world import seen, world

DOCS = Path(__file__).resolve().parents[2] / "docs" / "worlds.md"
OFFLINE = Simulating(Side("offline"), "offline")
Does = Callable[[str, list[dict[str, Any]], Callable[..., str]], Any]


class Doing:
    """An agent that does what a function says."""

    def __init__(self, does: Does) -> None:
        self.run = does


def own(does: Does, version: str = "1") -> AgentUnderTest:
    return AgentUnderTest(Side("own", "mine:Agent", version=version), own=OwnClass("mine:Agent", lambda: Doing(does), version))


def job(agent: AgentUnderTest, simulator: Simulating = OFFLINE, one: World | None = None) -> Job:
    return jobs_of([one or world()], [agent], [simulator], Panel(votes=1))[0]


def ran(folder: Path, agent: AgentUnderTest, simulator: Simulating = OFFLINE, one: World | None = None) -> Trial:
    return run_jobs([job(agent, simulator, one)], folder)[0]


def books(_: str, tools: list[dict[str, Any]], call: Callable[..., str]) -> str:
    """Solves the task, with arguments as objects and as text."""
    assert {t["function"]["name"] for t in tools} == {"list_rooms", "get_room", "book"}
    assert all(t["type"] == "function" and t["function"]["parameters"]["type"] == "object" for t in tools)
    assert json.loads(call("get_room", {"room": "RM-101"}))["status"] == "free"
    call("book", '{"room": "RM-101", "guest": "Ada Lund"}')
    call("list_rooms")
    return "RM-101 is booked."


def test_it_works_with_the_tools_and_is_judged_like_any_other(tmp_path: Path) -> None:
    trial = ran(tmp_path, own(books))
    assert (trial.outcome, trial.steps, trial.turns, trial.note) == ("passed", 3, 4, "")
    assert (trial.agent.name, trial.agent.model, trial.agent.version) == ("own", "mine:Agent", "1")
    assert read_trajectory(tmp_path, trial).steps[1].arguments == {"room": "RM-101", "guest": "Ada Lund"}


def test_another_text_of_the_class_never_shares_a_result(tmp_path: Path) -> None:
    first = ran(tmp_path, own(books))
    second = ran(tmp_path, own(lambda *_: "Nothing.", "2"))
    assert first.settings != second.settings and (first.outcome, second.outcome) == ("passed", "failed")
    assert ran(tmp_path, own(lambda *_: pytest.fail("it is there already"))) == first


def test_what_it_raises_ends_its_work_and_what_it_did_is_judged(tmp_path: Path) -> None:
    def gives_up(text: str, tools: list[dict[str, Any]], call: Callable[..., str]) -> str:
        books(text, tools, call)
        raise KeyError("lost")

    trial = ran(tmp_path, own(gives_up))
    assert trial.steps == 3 and "the agent raised KeyError" in trial.note


def test_it_is_stopped_at_its_limit_whatever_it_catches(tmp_path: Path) -> None:
    def stubborn(_: str, __: list[dict[str, Any]], call: Callable[..., str]) -> str:
        while True:
            try:
                call("list_rooms")
            # As careless as an agent may be.
            except Exception:  # noqa: BLE001
                pytest.fail("nothing that an agent would catch")

    trial = ran(tmp_path, own(stubborn), one=world(agent_turns=5))
    assert (trial.outcome, trial.turns, trial.steps) == ("failed", 5, 5) and "step_limit" in trial.labels


@pytest.mark.parametrize(
    ("name", "arguments", "label"),
    [("fly", {}, "unknown_tool"), ("book", "{", "bad_arguments"), ("book", {"room": object()}, "bad_arguments"), ("book", [1], "bad_arguments")],
)  # fmt: skip
def test_its_mistakes_are_told_to_it_and_labelled(tmp_path: Path, name: str, arguments: Any, label: str) -> None:
    heard: list[Any] = []

    def mistaken(_: str, __: list[dict[str, Any]], call: Callable[..., str]) -> str:
        heard.append(json.loads(call(name, arguments)))
        return "Done."

    trial = ran(tmp_path, own(mistaken))
    assert "error" in heard[0] and label in trial.labels


def test_a_failure_of_the_simulator_is_never_the_agents_even_if_it_would_swallow_it(tmp_path: Path) -> None:
    class Dead:
        def complete(self, _: Any) -> Any:
            raise ModelOutage("nobody answers")

    def swallows(_: str, __: list[dict[str, Any]], call: Callable[..., str]) -> str:
        try:
            call("list_rooms")
        # As careless as an agent may be.
        except BaseException:  # noqa: BLE001
            return "Never mind."
        return "Done."

    trial = ran(tmp_path, own(swallows), Simulating(Side("model", "s"), "stateful", Dead()), world(False))
    assert trial.outcome == "infra_error" and "nobody answers" in trial.note


def test_a_trial_is_made_again_from_its_tape_without_the_class(tmp_path: Path) -> None:
    trial = ran(tmp_path, own(books))
    again = replay_job(job(AgentUnderTest(Side("own", "mine:Agent", version="1"))), WorldResults(tmp_path))
    assert msgspec.structs.replace(again.trial, milliseconds=trial.milliseconds) == trial
    assert again.steps == read_trajectory(tmp_path, trial).steps
    (tape,) = (tmp_path / TAPES).iterdir()
    lines = tape.read_bytes().splitlines(keepends=True)
    tape.write_bytes(b"".join(lines[:-2]))
    with pytest.raises(TapeMismatch, match="ends before"):
        replay_job(job(AgentUnderTest(Side("own", "mine:Agent", version="1"))), WorldResults(tmp_path))


def _simulated(*answers: Any) -> Simulating:
    return Simulating(Side("model", "s"), "stateful", Scripted([say(json.dumps(one)) for one in answers]))


class Killed(BaseException):
    """What a SIGKILL leaves: nothing of the trial but its tape."""


def test_a_killed_trial_is_taken_up_where_it_stood(tmp_path: Path) -> None:
    """No call of the simulator is made twice while the class does again what it did."""
    counted: list[str] = []

    def looks(_: str, __: list[dict[str, Any]], call: Callable[..., str]) -> str:
        for room in ("RM-101", "RM-102"):
            counted.append(call("get_room", {"room": room}))
            if len(counted) == 1:
                raise Killed
        return "Looked."

    first, second = seen({"room": "RM-101", "status": "free"}), seen({"room": "RM-102", "status": "free"})
    with pytest.raises(Killed):
        ran(tmp_path, own(looks), _simulated(first), world(False))
    ran(tmp_path, own(looks), _simulated(second), world(False))
    assert [json.loads(one)["room"] for one in counted] == ["RM-101", "RM-101", "RM-102"]


def test_a_killed_trial_of_an_agent_that_does_otherwise_begins_anew(tmp_path: Path) -> None:
    rooms = iter(("RM-101", "RM-102", "RM-102"))
    heard: list[str] = []

    def fickle(_: str, __: list[dict[str, Any]], call: Callable[..., str]) -> str:
        heard.append(call("get_room", {"room": next(rooms)}))
        if len(heard) == 1:
            raise Killed
        return "Looked."

    first, second = seen({"room": "RM-101", "status": "free"}), seen({"room": "RM-102", "status": "free"})
    with pytest.raises(Killed):
        ran(tmp_path, own(fickle), _simulated(first), world(False))
    trial = ran(tmp_path, own(fickle), _simulated(second), world(False))
    assert [json.loads(one)["room"] for one in heard] == ["RM-101", "RM-102"]
    assert read_trajectory(tmp_path, trial).steps[0].arguments == {"room": "RM-102"}


def test_the_class_of_the_docs_runs_in_every_environment_of_ours(tmp_path: Path) -> None:
    found = re.search(r"<!-- example: world -->\n```python\n(.*?)\n```", DOCS.read_text(), re.DOTALL)
    assert found is not None
    (tmp_path / "tourist_of_docs.py").write_text(found[1])
    trials = run_worlds([], tmp_path / "r", agents=("tourist_of_docs:Tourist",), search=tmp_path)
    assert len({t.environment for t in trials}) >= 6
    assert {(t.outcome, t.note) for t in trials} == {("failed", "")}
    assert len({t.agent.version for t in trials}) == 1 and len(trials[0].agent.version) == 16
    assert any(t.steps for t in trials)


@pytest.mark.parametrize("spec", ["no_such_module_here:X", "json:Nothing", "json:dumps", "json:JSONDecoder"])
def test_what_is_no_agent_is_refused_before_anything_runs(spec: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--agent"):
        run_worlds([], tmp_path / "r", agents=(spec,), search=tmp_path)
    assert METHOD.startswith("run(") and not (tmp_path / "r").exists()


def test_without_its_class_it_is_not_run(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="class of the agent mine:Agent is missing"):
        ran(tmp_path, AgentUnderTest(Side(OwnAgent.name, "mine:Agent")))
