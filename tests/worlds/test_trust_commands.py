"""What `worlds matrix`, `qualify`, `synthesize` and `report --pair` call, with scripted models in each role."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bench.worlds.api import RoleModel, run_worlds
from bench.worlds.commands_trust import (
    list_scenarios,
    matrix_of,
    matrix_worlds,
    pair_worlds,
    qualify_worlds,
    synthesize_worlds,
)
from bench.worlds.folder import write_world
from bench.worlds.model import Environment, Side, Tool, World
from bench.worlds.qualify import THRESHOLD, known_answers, load_diagnostics
from bench.worlds.report import read_cards
from bench.worlds.report_tables import run_name
from bench.worlds.runs import read_trials
from bench.worlds.step import Offline
from bench.worlds.synthesis_answers import SUBTOPICS, Draft, world_of
from bench.worlds.synthesis_measure import Effort
from bench.worlds.synthesis_record import Subtopic
from services.models.scripted import Scripted, call, say
from simulator.conversation import ModelRequest, ModelResponse
from simulator.errors import BudgetExhausted, UnknownReference, UsageError
from simulator.ports import Model
from tests.worlds.synthesis_parts import SCENARIO, draft, ground, text

ROOT = Path(__file__).parents[2]


def tanks() -> World:
    """A world of two tanks whose tools declare what they do."""
    return world_of(msgspec.convert(draft("desk"), Draft), "tank-desk", SCENARIO, Subtopic("a", "A", "a"))


def playing(environments: dict[str, Environment], spoil: str = "") -> Scripted:
    """A model that plays environments as their declared effects say, read from its prompt; `spoil` is a tool it gets wrong."""

    def answer(request: ModelRequest) -> ModelResponse:
        lines = request.messages[1].content.split("\n")
        state = msgspec.json.decode(
            lines[lines.index(next(one for one in lines if one.startswith("The state now"))) + 1]
        )
        asked = msgspec.json.decode(next(one for one in lines if one.startswith('{"') and '"arguments"' in one))
        for environment in environments.values():
            tool = environment.tool(asked["name"])
            if tool is not None and set(state) == set(environment.initial_state):
                return _as_answer(environment, tool, asked["arguments"], state, spoil)
        raise AssertionError(asked)

    return Scripted({"*": answer})


def _as_answer(
    environment: Environment, tool: Tool, arguments: dict[str, object], state: dict[str, object], spoil: str
) -> ModelResponse:
    done = Offline(environment).answer(tool, arguments, state, (), environment.today)
    rule = "there are no others" if "error" in done.observation else None
    patch = [] if tool.name == spoil else list(done.patch)
    return say(json.dumps({"observation": done.observation, "state_patch": patch, "rule": rule}))


def agent(tank: str) -> Scripted:
    """An agent that closes one valve and is done."""
    return Scripted(
        {"*": lambda request: say("Done.") if request.messages[-1].role == "tool" else call("close_valve", tank=tank)}
    )


def role(name: str, model: Model) -> RoleModel:
    return RoleModel(model, name)


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """A folder with the tanks, without declared effects: a model must play them, and the truth is in `playing`."""
    world = tanks()
    bare = tuple(msgspec.structs.replace(tool, effect=None) for tool in world.environment.tools)
    place = tmp_path / "worlds"
    write_world(place / "tank-desk", World(msgspec.structs.replace(world.environment, tools=bare), world.tasks))
    return place


# -- matrix -----------------------------------------------------------------------------------------------------------------


def test_a_matrix_of_two_agents_and_two_simulators(tmp_path: Path, desk: Path) -> None:
    """Under the true simulator b passes and a fails. Under the one that forgets to close, both fail: a pair tied under one
    alone, which is half an agreement."""
    true, forgetful = playing({"t": tanks().environment}), playing({"t": tanks().environment}, spoil="close_valve")
    found = matrix_worlds(
        [desk], tmp_path / "results", simulator_models=[role("true", true), role("forgetful", forgetful)],
        agent_models=[role("a", agent("A")), role("b", agent("B"))], out=tmp_path / "report",
    )  # fmt: skip
    assert {(t.agent.model, t.simulator.model): t.outcome for t in found.trials} == {
        ("a", "true"): "failed", ("b", "true"): "passed", ("a", "forgetful"): "failed", ("b", "forgetful"): "failed",
    }  # fmt: skip
    assert "| forgetful | true | 50.0 % [50.0, 50.0] n = 1 | 0 | 1 | 0 | 1 |" in found.text
    assert (tmp_path / "report" / "plots" / "matrix.png").is_file()
    assert matrix_of(read_trials(tmp_path / "results")).text == found.text


def test_a_matrix_needs_two_simulators(tmp_path: Path, desk: Path) -> None:
    with pytest.raises(UsageError, match="two simulators at least"):
        matrix_worlds([desk], tmp_path / "r", simulator_models=[role("one", Scripted([]))] * 2)


def test_a_matrix_asks_for_certificates(tmp_path: Path, desk: Path) -> None:
    full = {one.environment.name: one.environment for one in load_diagnostics()}
    good, bad = role("good", playing(full)), role("bad", playing(full, spoil="extend"))
    with pytest.raises(UsageError, match="good has no certificate"):
        matrix_worlds([desk], tmp_path / "r", simulator_models=[good, bad], certificates=tmp_path / "c")
    qualify_worlds([good, bad], tmp_path / "c", issued="2025-03-10")
    with pytest.raises(UsageError, match="bad does not qualify as a simulator at 90 %"):
        matrix_worlds([desk], tmp_path / "r", simulator_models=[good, bad], certificates=tmp_path / "c")
    assert not (tmp_path / "r").exists()


# -- qualify ----------------------------------------------------------------------------------------------------------------


def test_good_and_bad_simulators_get_their_certificates(tmp_path: Path) -> None:
    full = {one.environment.name: one.environment for one in load_diagnostics()}
    said: list[str] = []
    found = qualify_worlds(
        [role("good", playing(full)), role("bad", playing(full, spoil="load_pallets"))], tmp_path, issued="2025-03-10",
        progress=said.append,
    )  # fmt: skip
    assert [(one.simulator, one.qualified) for one in found] == [
        (Side("model", "good"), True),
        (Side("model", "bad"), False),
    ]
    assert "good: qualified" in said and "bad: not qualified" in said and "bad: sums-are-kept: 3 wrong" in said
    assert len(list(tmp_path.glob("certificate-*.md"))) == 2


def test_a_qualification_that_ran_out_of_budget_goes_on_where_it_stood(tmp_path: Path) -> None:
    """No call is paid for twice on one day; the next day asks anew (RULE 2)."""
    full = {one.environment.name: one.environment for one in load_diagnostics()}
    inner = playing(full)

    class Broke:
        left = 20

        def complete(self, request: ModelRequest) -> ModelResponse:
            self.left -= 1
            if self.left < 0:
                raise BudgetExhausted("used up")
            return inner.complete(request)

    with pytest.raises(BudgetExhausted):
        qualify_worlds([role("good", Broke())], tmp_path, issued="2025-03-10")
    assert len(inner.asked) == 20 and not list(tmp_path.glob("certificate-*"))
    qualify_worlds([role("good", inner)], tmp_path, issued="2025-03-10")
    calls = [request.call for request in inner.asked]
    assert len(calls) == len(set(calls))
    (again,) = qualify_worlds([role("good", Scripted([]))], tmp_path, issued="2025-03-10")
    assert again.qualified
    qualify_worlds([role("good", inner)], tmp_path, issued="2025-03-11")
    assert len(inner.asked) == 2 * len(calls)


def test_code_is_not_qualified(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="code needs no certificate"):
        qualify_worlds([role("x", Scripted([]))], tmp_path, issued="2025-03-10", mode="offline")
    with pytest.raises(UsageError, match="Name a model"):
        qualify_worlds([], tmp_path, issued="2025-03-10")


# -- synthesize -------------------------------------------------------------------------------------------------------------


def bare_draft() -> dict[str, object]:
    made = draft("good")
    for tool in made["tools"]:
        del tool["effect"]
    return made


def test_one_command_makes_a_task_for_any_scenario(tmp_path: Path) -> None:
    """Generator, simulator, agent and judge are four models. The agent needs the plan: one of two runs without it passes."""
    names: list[str] = []

    def solve(request: ModelRequest) -> ModelResponse:
        if request.messages[-1].role == "tool":
            return say("Done.")
        if "A way that works:" in request.messages[1].content:
            return call("close_valve", tank="B")
        names.append(request.session)
        return call("close_valve", tank="B" if len(set(names)) == 1 else "A")

    wanted = ground()
    maker = Scripted({
        "synthesize:bed-allocation:ground": [text(wanted)], "synthesize:bed-allocation:good": [text(bare_draft())],
    })  # fmt: skip
    said: list[str] = []
    (found,) = synthesize_worlds(
        ["bed-allocation"], tmp_path, generator=role("maker", maker), agent=role("solver", Scripted({"*": solve})),
        simulator=role("world", playing({"t": tanks().environment})), judge=role("judge", Scripted([])),
        effort=Effort(topics=1, levels=1, with_plan=1, without=2, repairs=0), progress=said.append,
    )  # fmt: skip
    assert [one.reason for one in found.candidates] == ["kept"]
    assert "bed-allocation/good: kept" in said
    assert run_worlds([next(tmp_path.glob("*/kept"))], tmp_path / "r", agents=["nop"], simulator_models=[
        role("world", playing({"t": tanks().environment}))
    ])[0].outcome == "failed"  # fmt: skip


def test_a_judge_that_would_judge_what_it_simulates_costs_nothing(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="would judge the runs it simulates"):
        synthesize_worlds(
            ["bed-allocation"], tmp_path, generator=role("maker", Scripted([])), agent=role("solver", Scripted([])),
            simulator=role("same", Scripted([])), judge=role("same", Scripted([])),
        )  # fmt: skip
    assert list(tmp_path.iterdir()) == []


def test_scenarios_are_listed_and_unknown_ones_refused(tmp_path: Path) -> None:
    assert len(list_scenarios()) == 100
    roles: dict[str, Any] = {name: role(name, Scripted([])) for name in ("generator", "agent", "simulator", "judge")}
    with pytest.raises(UnknownReference, match="bed-allocation"):
        synthesize_worlds(["bed-alocation"], tmp_path, **roles)
    with pytest.raises(UsageError, match="at least one scenario"):
        synthesize_worlds([], tmp_path, **roles)
    with pytest.raises(UsageError, match="stateful or stateless"):
        synthesize_worlds(["bed-allocation"], tmp_path, mode="offline", **roles)
    with pytest.raises(UsageError, match="has no certificate"):
        synthesize_worlds(["bed-allocation"], tmp_path, certificates=tmp_path, **roles)
    own = tmp_path / "own.yaml"
    own.write_text(
        "industries: [{id: i, title: I, domains: [{id: d, title: D, scenarios: [{id: s, title: S, brief: B}]}]}]"
    )
    assert [one.id for one in list_scenarios(own)] == ["s"]
    with pytest.raises(UsageError, match="cannot be read as a catalogue"):
        list_scenarios(tmp_path / "none.yaml")


# -- pairs ------------------------------------------------------------------------------------------------------------------


def test_two_runs_of_a_folder_side_by_side(tmp_path: Path) -> None:
    write_world(tmp_path / "w" / "tank-desk", tanks())
    trials = run_worlds(
        [tmp_path / "w"], tmp_path / "r", agents=["model"], agent_models=[role("a", agent("A")), role("b", agent("B"))]
    )
    names = [run_name(one) for one in trials]
    page = pair_worlds(tmp_path / "r", names[0], names[1][:10])
    assert "| agent | a | b |" in page and "| outcome | failed | passed |" in page
    assert 'close_valve({"tank": "A"})' in page and "only one" in page
    with pytest.raises(UsageError, match="no run is called 'zzz'"):
        pair_worlds(tmp_path / "r", names[0], "zzz")
    with pytest.raises(UsageError, match="several runs are called ''"):
        pair_worlds(tmp_path / "r", names[0], "")


# -- documentation ------------------------------------------------------------------------------------------------------------


def test_what_the_page_shows_works(tmp_path: Path) -> None:
    """Its probes and its list of models are read as they stand there, and the figures in it are the code's."""
    page = (ROOT / "docs" / "worlds-trust.md").read_text()
    cards, probes = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    (tmp_path / "models.yaml").write_text(cards)
    assert read_cards(tmp_path / "models.yaml")["some-model-2"].generation == "2"
    place = tmp_path / "own" / "depot"
    place.mkdir(parents=True)
    (place / "environment.yaml").write_bytes(
        (ROOT / "fixtures/worlds/diagnostics/loading-depot/environment.yaml").read_bytes()
    )
    (place / "probes.yaml").write_text(probes)
    (own,) = load_diagnostics(tmp_path / "own")
    assert known_answers(own.environment, own.probes[0].calls)[1]["pallets"] == 25
    assert f"{100 * THRESHOLD:.0f} %" in page and f"{SUBTOPICS} sub-topics" in page
    assert f"{len(list_scenarios())} in 10 industries and 65 domains" in page
