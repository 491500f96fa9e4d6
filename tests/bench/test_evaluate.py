"""Evaluation: agents in real sandboxes, judged by the snapshot's own tests; outcomes, budgets, resuming, the table."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from bench import api
from bench.agents import Agent, Checkpoint, Ran, Task, agent_of
from bench.evaluate import Settings, evaluate, grade_tree
from bench.report import table
from bench.snapshot import Snapshot
from bench.trials import TRAJECTORIES, TRIALS, Marks, Results, Trial, read_trajectory, read_trials
from services.gateway import atif
from services.models.scripted import Scripted, call, calls, fault, say
from services.offline import OfflineProfessional
from services.sandbox.bubblewrap import Bubblewrap
from services.sandbox.toolchain import find
from services.storage.memory import MemoryBlobs
from simulator.conversation import ModelResponse
from simulator.errors import SandboxError, UsageError
from simulator.ports import Sandbox, SandboxSpec
from tests.bench.conftest import Grown
from tests.bench.office import SECRET

pytestmark = pytest.mark.sandbox
DOCS = Path(__file__).resolve().parents[2] / "docs" / "agents.md"
TOOLS = find()
PYTHON = TOOLS.path / "bin" / "python3"


class Machine:
    """A provider with its store."""

    def __init__(self) -> None:
        self.blobs = MemoryBlobs()
        self.provider = Bubblewrap(self.blobs, tools=TOOLS)


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    made = Machine()
    made.provider.check()
    yield made
    made.provider.close()


def run(machine: Machine, snapshots: list[Snapshot], agent: str, results: Path, **more: object) -> list[Trial]:
    return api.evaluate_snapshots(
        [s.folder for s in snapshots], agent, provider=machine.provider, blobs=machine.blobs, grader_python=PYTHON,
        results=results, **more,  # type: ignore[arg-type]
    )  # fmt: skip


def example(name: str) -> str:
    found = re.search(rf"<!-- example: {name} -->\n```\w+\n(.*?)\n```", DOCS.read_text(), re.DOTALL)
    assert found is not None
    return found[1]


# -- the bounds and one's own agents ------------------------------------------------------------------------------------------


def test_oracle_is_one_and_nop_is_zero(machine: Machine, frozen: dict[tuple[str, int], Snapshot], tmp_path: Path) -> None:
    some = list(frozen.values())[1::4]
    best = run(machine, some, "oracle", tmp_path)
    assert [(t.outcome, t.marks.weighted if t.marks else None) for t in best] == [("passed", 1.0)] * len(some)
    assert [t.version for t in best] == [s.manifest.hash for s in some]
    least = run(machine, some, "nop", tmp_path)
    assert [(t.outcome, t.marks.weighted if t.marks else None) for t in least] == [("failed", 0.0)] * len(some)
    assert least[0].row() == {
        "snapshot": some[0].id, "agent": "nop", "attempt": 1, "outcome": "failed", "passed": False, "weighted": 0.0,
    }  # fmt: skip


def test_the_command_of_the_docs_does_the_work(
    machine: Machine, grown: Grown, frozen: dict[tuple[str, int], Snapshot], tmp_path: Path
) -> None:
    """docs/agents.md, word for word: it runs inside the sandbox and passes where a skill pack does the whole work."""
    kinds = [frozen[grown.done[kind][1], 1] for kind in ("bank-reconciliation", "trial-monitoring")]
    trials = run(machine, kinds, f"cmd:{example('cmd')}", tmp_path)
    assert [t.outcome for t in trials] == ["passed", "passed"], [t.note for t in trials]


def test_the_class_of_the_docs_runs(machine: Machine, reconciliation: Snapshot, tmp_path: Path) -> None:
    (tmp_path / "clerk_of_docs.py").write_text(example("module"))
    (trial,) = run(machine, [reconciliation], "clerk_of_docs:Clerk", tmp_path / "r", search=tmp_path)
    assert (trial.outcome, trial.note) == ("failed", "returned")


def test_a_class_that_raises_is_judged_by_what_it_left(machine: Machine, reconciliation: Snapshot, tmp_path: Path) -> None:
    (tmp_path / "clumsy.py").write_text("class Clumsy:\n    def run(self, instruction, sandbox):\n        raise KeyError('x')\n")
    (trial,) = run(machine, [reconciliation], "clumsy:Clumsy", tmp_path / "r", search=tmp_path)
    assert trial.outcome == "failed"
    assert "raised KeyError" in trial.note


def test_a_command_sees_the_mounts_and_no_evaluators_file(machine: Machine, reconciliation: Snapshot, tmp_path: Path) -> None:
    names = "-name rubric.json -o -name solve.sh -o -name snapshot.json"
    look = f"grep -rl {SECRET} /home /mnt /etc /tmp 2>&1; find /home /mnt /etc /tmp /opt {names} 2>&1; touch /mnt/x 2>&1"
    (trial,) = run(machine, [reconciliation], f"cmd:out=$({look}); echo found: $out", tmp_path)
    assert trial.note == "exit 0 found: touch: cannot touch '/mnt/x': Read-only file system"


@pytest.mark.parametrize("spec", ["magic", "cmd:", "cmd:   ", "no_such_module_here:X", "json:Nothing", "json:dumps", "builtin"])
def test_agents_that_are_none_are_refused(spec: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--agent"):
        agent_of(spec, search=tmp_path)


# -- the builtin agent --------------------------------------------------------------------------------------------------------


def test_the_offline_professional_works_on_a_frozen_task(
    machine: Machine, grown: Grown, frozen: dict[tuple[str, int], Snapshot], tmp_path: Path
) -> None:
    snapshot = frozen[grown.done["contract-review"][1], 1]
    (trial,) = run(machine, [snapshot], "builtin", tmp_path, model=OfflineProfessional(), model_name="offline", turns=(1, 24))
    assert trial.turns > 1
    assert trial.usage.output > 0
    assert trial.marks is not None
    assert trial.marks.weighted > 0.3
    assert trial.budgets["24"] == trial.marks
    assert trial.budgets["1"].weighted <= trial.marks.weighted


def test_turn_budgets_come_from_one_run(machine: Machine, reconciliation: Snapshot, tmp_path: Path) -> None:
    """Copying the right files takes turn 2; at turn 1 nothing was done; at turn 3 it has been spoilt."""
    model = Scripted([
        call("bash", command="true"),
        calls(*(call("bash", command=line) for line in _solving(reconciliation))),
        call("bash", command="rm -r Documents/Projects"),
        call("submit", report="done"),
    ])  # fmt: skip
    (trial,) = run(machine, [reconciliation], "builtin", tmp_path, model=model, turns=(1, 2, 3, 9))
    assert {turns: marks.passed for turns, marks in trial.budgets.items()} == {"1": False, "2": True, "3": False, "9": False}
    assert (trial.turns, trial.outcome) == (4, "failed")


def _solving(snapshot: Snapshot) -> list[str]:
    """The command of the docs, as the builtin agent would call it."""
    return [example("cmd")]


def test_the_builtin_agent_has_nobody_to_ask(machine: Machine, reconciliation: Snapshot, tmp_path: Path) -> None:
    model = Scripted([call("ask_principal", question="may I?"), say("Well."), call("submit", report="done")])
    (trial,) = run(machine, [reconciliation], "builtin", tmp_path, model=model, turns=(8,))
    assert trial.note.startswith("submitted")
    assert all("ask_principal" not in [t.name for t in request.tools] for request in model.asked)


def test_an_outage_is_no_score_and_is_tried_again(machine: Machine, reconciliation: Snapshot, tmp_path: Path) -> None:
    gone = ModelResponse(finish="unavailable", detail="the provider is down")
    (trial,) = run(machine, [reconciliation], "builtin", tmp_path, model=Scripted([gone]), turns=(4,))
    assert (trial.outcome, trial.marks) == ("infra_error", None)
    assert "provider is down" in trial.note
    (again,) = run(machine, [reconciliation], "builtin", tmp_path, model=Scripted([call("submit", report="x")]), turns=(4,))
    assert again.outcome == "failed"
    assert [t.outcome for t in read_trials(tmp_path)] == ["failed"], "the later trial stands for the settings"
    assert fault("connection") is not None


# -- outcomes -----------------------------------------------------------------------------------------------------------------


class Dying:
    """An agent under which the sandbox dies."""

    name = "dying"

    def run(self, task: Task, sandbox: Sandbox, checkpoint: Checkpoint) -> Ran:
        sandbox.close()
        sandbox.run("true")
        raise AssertionError("a dead sandbox must not answer")


def test_a_dead_sandbox_is_infra_error(machine: Machine, reconciliation: Snapshot, tmp_path: Path) -> None:
    def make() -> Agent:
        return Dying()

    (trial,) = evaluate([reconciliation], make, Settings("dying"), machine.provider, machine.blobs, PYTHON, Results(tmp_path))
    assert (trial.outcome, trial.marks) == ("infra_error", None)


def test_a_provider_that_cannot_start_is_infra_error(machine: Machine, reconciliation: Snapshot, tmp_path: Path) -> None:
    class Broken:
        name = "broken"

        def check(self) -> None:
            return

        def start(self, spec: SandboxSpec) -> Sandbox:
            raise SandboxError("it did not start")

        def reap(self) -> int:
            return 0

    (trial,) = evaluate([reconciliation], lambda: agent_of("nop"), Settings("nop"), Broken(), machine.blobs, PYTHON, Results(tmp_path))
    assert (trial.outcome, trial.note) == ("infra_error", "it did not start")


def test_a_crash_of_the_grader_is_error_and_no_criteria_invalid(grown: Grown, tmp_path: Path) -> None:
    snapshot = grown.freeze(grown.rounds, 1, tmp_path)
    tree = {**snapshot.tree("home"), **snapshot.tree("solution")}
    assert grade_tree(snapshot, tree, PYTHON).outcome == "passed"
    rubric = json.loads((snapshot.folder / "tests/rubric.json").read_text())
    (snapshot.folder / "tests/rubric.json").write_text(json.dumps({**rubric, "criteria": []}))
    invalid = grade_tree(snapshot, tree, PYTHON)
    assert (invalid.outcome, invalid.marks) == ("invalid", None)
    (snapshot.folder / "tests/grader/scoring.py").write_text("raise RuntimeError('boom')\n")
    crashed = grade_tree(snapshot, tree, PYTHON)
    assert (crashed.outcome, crashed.marks) == ("error", None)
    assert "boom" in crashed.note
    assert grade_tree(snapshot, tree, tmp_path / "no-python").outcome == "error"


def test_both_paths_give_the_same_reward(machine: Machine, grown: Grown, reconciliation: Snapshot, tmp_path: Path) -> None:
    """`tests/test.sh` run by hand gives the reward that `eval` gives."""
    from tests.bench.test_freeze import by_hand

    half = dict(list(reconciliation.tree("solution").items())[:1])
    home = tmp_path / "home"
    for path, (data, _) in {**reconciliation.tree("home"), **half}.items():
        (home / path).parent.mkdir(parents=True, exist_ok=True)
        (home / path).write_bytes(data)
    _, reward = by_hand(reconciliation, home, tmp_path / "logs", str(PYTHON))
    graded = grade_tree(reconciliation, {**reconciliation.tree("home"), **half}, PYTHON)
    assert graded.marks is not None
    assert reward == {"reward": float(bool(graded.marks.passed)), "weighted": graded.marks.weighted, **graded.marks.by_priority}
    assert 0 < reward["weighted"] < 1


# -- results ------------------------------------------------------------------------------------------------------------------


def test_a_trial_is_not_made_twice(machine: Machine, reconciliation: Snapshot, tmp_path: Path) -> None:
    (tmp_path / "counting_agent.py").write_text(
        "class Once:\n    def run(self, instruction, sandbox):\n"
        f"        with open({str(tmp_path / 'ran')!r}, 'a') as file:\n            file.write('x')\n"
    )
    for attempts in (1, 2, 2):
        trials = run(machine, [reconciliation], "counting_agent:Once", tmp_path / "r", attempts=attempts, search=tmp_path)
        assert [t.attempt for t in trials] == list(range(1, attempts + 1))
    assert (tmp_path / "ran").read_text() == "xx"
    assert len((tmp_path / "r" / TRIALS).read_text().splitlines()) == 2


def trial(
    agent: str = "a", snapshot: str = "s", attempt: int = 1, passed: bool = True, weighted: float = 1.0, **more: object
) -> Trial:
    marks = Marks(passed, weighted, {"p0": weighted})
    made = Trial(snapshot, agent, attempt, "passed" if passed else "failed", f"{agent}{snapshot}", marks=marks)
    return msgspec.structs.replace(made, **more)


def test_a_line_cut_by_a_crash_is_passed_over(tmp_path: Path) -> None:
    Results(tmp_path).add(trial())
    with (tmp_path / TRIALS).open("ab") as file:
        file.write(b'{"snapshot": "cut')
    results = Results(tmp_path)
    assert results.find("as", 1) == trial()
    results.add(trial(attempt=2))
    assert [t.attempt for t in read_trials(tmp_path)] == [1, 2]
    with pytest.raises(UsageError, match="no folder of results"):
        read_trials(tmp_path / "none")


def test_the_table_counts_what_is_no_score_apart() -> None:
    text = table([
        trial(), trial(snapshot="t", passed=False, weighted=0.5), trial(snapshot="t", attempt=2, passed=True),
        trial(snapshot="u", outcome="infra_error", marks=None), trial(agent="b", passed=False, weighted=0.0, turns=4),
    ])  # fmt: skip
    rows = {line.split()[0]: line.split() for line in text.splitlines() if line}
    assert rows["a"][1:5] == ["2", "3", "75.0", "87.5"], "the mean over tasks of the mean over attempts"
    assert "1 infra_error" in text
    assert rows["b"][1:5] == ["1", "1", "0.0", "0.0"]


def test_the_commands_of_the_house(machine: Machine, grown: Grown, tmp_path: Path) -> None:
    """What `freeze`, `audit`, `eval` and `report` call."""
    said: list[str] = []
    w = grown.world
    info = api.freeze_one(grown.log, w.blobs, text_of_body, "firm", f"{grown.rounds}.2", tmp_path / "tasks", progress=said.append)
    folder = Path(info.folder)
    assert info.round == 2
    assert api.snapshot_folders([tmp_path / "tasks"]) == [folder]
    assert api.manifest_of(folder).office == "firm"
    assert api.audit_snapshot(folder) == []
    assert api.audit_snapshot(folder, grown.log, w.blobs, text_of_body, progress=said.append) == []
    assert api.calibrate_snapshot(folder, progress=said.append).holds
    assert api.report_table(_folder(tmp_path / "empty")).endswith("no trials yet.\n")
    done: list[Trial] = []
    run(machine, api_open(folder), "nop", tmp_path / "r", progress=done.append)
    assert [t.outcome for t in done] == ["failed"]
    assert "nop" in api.report_table(tmp_path / "r")
    assert len(said) > 5
    with pytest.raises(UsageError, match="at least 1"):
        run(machine, api_open(folder), "nop", tmp_path / "r", attempts=0)


def text_of_body(item: object) -> str:
    return str(getattr(item, "text", ""))


def api_open(folder: Path) -> list[Snapshot]:
    from bench.snapshot import open_snapshot

    return [open_snapshot(folder)]


def _folder(path: Path) -> Path:
    path.mkdir()
    return path


# -- trajectories -------------------------------------------------------------------------------------------------------------


def test_what_the_builtin_agent_said_and_did_is_kept_beside_its_trial(
    machine: Machine, reconciliation: Snapshot, tmp_path: Path
) -> None:
    turns = [calls(call("bash", command="echo seen > note.txt; cat note.txt")), calls(call("submit", report="Done."))]
    (trial,) = run(machine, [reconciliation], "builtin", tmp_path, model=Scripted(turns), model_name="scripted")
    trajectory = atif.decode(read_trajectory(tmp_path, trial))
    agents = [step for step in trajectory.steps if step.source == "agent"]
    assert [c.function_name for step in agents for c in step.tool_calls or ()] == ["bash", "submit"]
    assert agents[0].observation is not None and "seen" in str(agents[0].observation.results[0].content)
    again = run(machine, [reconciliation], "builtin", tmp_path, model=Scripted([]), model_name="scripted")
    assert again == [trial] and len(list((tmp_path / TRAJECTORIES).iterdir())) == 1


def test_what_came_of_the_last_call_before_the_turns_were_used_up_is_kept(
    machine: Machine, reconciliation: Snapshot, tmp_path: Path
) -> None:
    model = Scripted([call("bash", command="echo last words")])
    (trial,) = run(machine, [reconciliation], "builtin", tmp_path, model=model, turns=(1,))
    last = atif.decode(read_trajectory(tmp_path, trial)).steps[-1]
    assert last.observation is not None and "last words" in str(last.observation.results[0].content)


def test_an_agent_whose_turns_are_not_seen_leaves_no_trajectory(
    machine: Machine, reconciliation: Snapshot, tmp_path: Path
) -> None:
    (trial,) = run(machine, [reconciliation], "nop", tmp_path)
    assert read_trajectory(tmp_path, trial) == b""
