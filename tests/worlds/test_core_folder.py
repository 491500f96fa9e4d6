"""Our own folders: what is written reads back, and what is wrong is named with file and line."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.worlds.api import built_in, load_worlds
from bench.worlds.folder import ENVIRONMENT, TASKS, load, read_typed, read_world, read_worlds, write_world
from simulator.errors import PackageError, UsageError
from simulator.package_text import dump
from tests.worlds.core_world import world

GOOD = """title: Desk
industry: Office
domain: Desk
today: "2025-01-02"
rules: |
  A desk holds one lamp.
fields:
  lamps: Lamps by id.
initial_state:
  lamps:
    L-1: {on: false}
tools:
  - name: switch
    description: Switches a lamp on.
    parameters: {type: object, properties: {lamp: {type: string}}, required: [lamp]}
    effect:
      checks:
        - {must: {$exists: "/lamps/{lamp}"}, error: "There is no {lamp}."}
      patch:
        - {op: replace, path: "/lamps/{lamp}/on", value: true}
      returns: {lamp: $lamp}
"""
GOOD_TASKS = """tasks:
  - id: light
    instruction: Switch on L-1.
    criteria:
      - {id: lit, kind: state, text: It is on., must: {$eq: [{$read: /lamps/L-1/on}, true]}}
"""


def faults(folder: Path, environment: str = GOOD, tasks: str = GOOD_TASKS) -> list[str]:
    folder.mkdir(exist_ok=True)
    (folder / ENVIRONMENT).write_text(environment)
    (folder / TASKS).write_text(tasks)
    return [str(fault) for fault in load(folder).faults]


def test_a_good_folder_reads(tmp_path: Path) -> None:
    assert faults(tmp_path / "desk") == []
    found = read_world(tmp_path / "desk")
    assert found.environment.name == "desk" and found.environment.executable
    assert found.tasks[0].today == "2025-01-02" and found.tasks[0].environment == "desk"


def test_what_is_written_reads_back(tmp_path: Path) -> None:
    write_world(tmp_path / "guest-house", world())
    read = read_world(tmp_path / "guest-house")
    assert read.environment == world().environment
    assert read.tasks[0].script == world().tasks[0].script and read.tasks[0].criteria == world().tasks[0].criteria


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("rules: |\n  A desk holds one lamp.\n", "", "environment.yaml:1: The field `rules` is missing."),
        ("initial_state:", "inital_state:", "environment.yaml:9: The field `inital_state` is not known here."),
        ("A desk holds", "{{name}} holds", "environment.yaml:5: The rules hold a template that was never filled in"),
        ('today: "2025-01-02"', "today: soon", "environment.yaml:4: `soon` is no date."),
        ("type: object, prop", "type: array, prop", "environment.yaml:15: The parameters must be a JSON Schema of type"),
        ("lamp: {type: string}", "lamp: {type: text}", "environment.yaml:15: The parameters are no valid JSON Schema"),
        ("$exists: ", "$exist: ", "environment.yaml:18: there is no operation $exist;"),
        ("returns: {lamp: $lamp}", "returns: {lamp: $lump}", "environment.yaml:21: `$lump` names nothing"),
        ("There is no {lamp}.", "There is no {lump}.", "environment.yaml:18: `{lump}` names nothing"),
        ("lamps: Lamps by id.", "lump: Lamps by id.", "environment.yaml:7: The state's field `lamps` is not described."),
        ("name: switch", "name: switch it", "environment.yaml:13: `switch it` is no name for a tool"),
        ("name: switch", "nmae: switch", "environment.yaml:13: The field `nmae` is not known here."),
        ("title: Desk", "title: Desk\ntitle: Lamp", "environment.yaml:2: The key `title` is given twice."),
        ("title: Desk", "title: Desk\nsource: bought", "environment.yaml:2: `source` is own, imported or synthesized."),
        ("title: Desk", "title: [", "This is not YAML that can be read."),
        ("title: Desk", "title: &a Desk\nnotes: [*a]", "Anchors and aliases are not used here."),
    ],
)  # fmt: skip
def test_each_fault_of_an_environment_is_told_with_its_line(tmp_path: Path, old: str, new: str, told: str) -> None:
    assert old in GOOD
    found = faults(tmp_path / "desk", GOOD.replace(old, new))
    assert any(told in fault for fault in found), found
    with pytest.raises(PackageError, match="does not hold together"):
        read_world(tmp_path / "desk")


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ("invariants:\n  - {id: lit, text: All are lit., must: {$every: {in: {$read: /lamps}, must: $item.on}}}\n",
         "environment.yaml:23: The state at the start breaks the invariant `lit`"),
        ("references:\n  - {path: /lamps/*/on, to: /lamps}\n", "environment.yaml:23: /lamps/L-1/on names"),
        ("collections: [/desks]\n", "environment.yaml:22: The state has nothing at /desks."),
        ("stages:\n  - {id: one, enter_on: [sit]}\n", "environment.yaml:23: There is no tool `sit`."),
    ],
)  # fmt: skip
def test_a_state_that_contradicts_itself_is_told(tmp_path: Path, more: str, told: str) -> None:
    found = faults(tmp_path / "desk", GOOD + more)
    assert any(told in fault for fault in found), found


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("instruction: Switch on L-1.", "instruction: ''", "tasks.yaml:3: The instruction is empty."),
        ("Switch on L-1.", "Switch on {{lamp}}.", "tasks.yaml:3: The instruction holds a template"),
        (", must: {$eq: [{$read: /lamps/L-1/on}, true]}", "", "tasks.yaml:5: A criterion of kind `state` needs `must`."),
        ("true]}}", "false]}}", "tasks.yaml:4: All required criteria hold before anything is done"),
        ("kind: state", "kind: called, evidence: [sit]", "tasks.yaml:5: There is no tool `sit`."),
        ("    criteria:", "    level: 7\n    criteria:", "tasks.yaml:4: `level` is 1, 2 or 3."),
        ("    criteria:", "    script: [{tool: switch, arguments: {lamp: 3}}]\n    criteria:", "lamp: must be of type string."),
        ("    criteria:", "    subgoals: [[sit]]\n    criteria:", "tasks.yaml:4: There is no tool `sit`."),
    ],
)  # fmt: skip
def test_each_fault_of_a_task_is_told_with_its_line(tmp_path: Path, old: str, new: str, told: str) -> None:
    assert old in GOOD_TASKS
    found = faults(tmp_path / "desk", tasks=GOOD_TASKS.replace(old, new))
    assert any(told in fault for fault in found), found


def test_a_task_without_criteria_and_the_same_task_twice_are_faults(tmp_path: Path) -> None:
    bare = "tasks:\n  - {id: light, instruction: Do it.}\n  - {id: light, instruction: Do it., rubric: It is done.}\n"
    found = faults(tmp_path / "desk", tasks=bare)
    assert any("neither criteria nor a rubric" in fault for fault in found)
    assert any("tasks.yaml:3: The task `light` is there twice." in fault for fault in found)


def test_a_place_without_environments_is_a_wrong_call(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no folder"):
        read_worlds([tmp_path / "gone"])
    with pytest.raises(UsageError, match=r"holds no environment\.yaml"):
        read_worlds([tmp_path])


def test_plain_scalars_are_json_or_text() -> None:
    text = b"a: 12\nb: no\nc: 2025-01-02\nd: 1.5\ne: 012\nf: 12:30\ng: '7'\nh: null\ni: true\nj: 1e3\nk:\n"
    assert read_typed("x", text).data == {
        "a": 12, "b": "no", "c": "2025-01-02", "d": 1.5, "e": "012", "f": "12:30", "g": "7", "h": None, "i": True,
        "j": "1e3", "k": None,
    }  # fmt: skip


SCALARS = st.none() | st.booleans() | st.integers(-(10**15), 10**15) | st.floats(allow_nan=False, allow_infinity=False)
TEXT = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Co", "Cn"), exclude_characters="\u2028\u2029\ufeff")
)
JSON = st.recursive(
    SCALARS | TEXT, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3)
)


@given(st.dictionaries(TEXT, JSON, max_size=4))
def test_every_state_survives_its_yaml(state: dict[str, object]) -> None:
    document = read_typed("x", dump({"state": state}))
    assert document.faults == [] and document.data["state"] == state


def test_the_built_in_environments_are_six_in_six_industries_and_declare_what_they_do() -> None:
    worlds = load_worlds([])
    assert len(worlds) >= 6
    assert len({one.environment.industry for one in worlds}) >= 6
    for one in worlds:
        assert one.environment.executable and len(one.tasks) >= 2, one.environment.name
        assert all(task.script and task.plan and task.criteria for task in one.tasks)
    assert built_in().is_dir()
