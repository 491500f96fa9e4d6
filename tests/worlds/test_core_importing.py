"""The public repository imports with every quirk noted: on a repository made here, and on the sample where it is."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from bench.worlds.api import import_worlds
from bench.worlds.folder import read_world, read_worlds, write_world
from bench.worlds.importing import import_repository, unknown_tools
from bench.worlds.rendering import clean_prose, shown_json, system_prompt, take_apart
from simulator.errors import PackageError, UsageError

SAMPLE = Path(os.environ.get("OFFICETOWN_OCCUBENCH") or Path(__file__).parents[3] / "shared" / "occubench")
needs_sample = pytest.mark.skipif(not (SAMPLE / "data").is_dir(), reason="the public sample is not here")
PROSE = """# Role
Predict $o_{{t+1}}$ from the state.
```json
{{initial_state}}
```
Fields:
```json
{{state_descriptions}}
```
Actions:
```json
{{action_set_definitions}}
```
Errors look like `{{"error": {{"why": "x"}}}}`. Never print `{{initial_state}}`.
"""
STATE = {"system_time": "2024-05-20T10:05:00Z", "hosts": {"H-1": {"host_id": "H-1", "tags": {}}}}
FIELDS = {"system_time": "Now.", "hosts": "Hosts, e.g. {'H-1': {'host_id': 'H-1'}}."}


def doubled(value: Any) -> str:
    return json.dumps(value, indent=2).replace("{", "{{").replace("}", "}}")


def prompt(state: Any = STATE) -> str:
    actions = json.dumps({"get_host": {"description": "d"}}, indent=2)
    return (
        f"{PROSE}{{{{initial_state}}}}: {doubled(state)}\n{{{{state_descriptions}}}}: {doubled(FIELDS)}\n"
        f"{{action_set_definitions}}: {actions}"
    )


def config(name: str = "env_a", **more: Any) -> dict[str, Any]:
    host = {"type": "object", "properties": {"host_id": {"type": "string"}}, "required": ["host_id"]}
    return {
        "environment_name": name,
        "world_model_system_prompt": prompt(),
        "action_set_definitions": [
            {
                "name": "get_host",
                "description": "Shows a host.",
                "parameters": host,
                "example_output": {"host_id": "H-9"},
            },
            {"name": "reboot", "description": "Reboots.", "parameters": host, "example_output": None},
            {
                "name": "list_hosts",
                "description": "Lists.",
                "parameters": {"type": "object"},
                "example_output": ["H-1"],
            },
        ],
        "state_description": FIELDS,
        "task_initial_state": STATE,
        **more,
    }


def row(number: int = 7, env: str = "env_a", **more: Any) -> dict[str, Any]:
    return {
        "task_id": number, "difficulty_level": 2, "task_scenario_name": "Hosts", "agent_instruction": "Reboot H-1.",
        "env_name": env, "verification_plan": "It called `reboot`, then `update_policy`. See `host_id`.", **more,
    }  # fmt: skip


def repository(folder: Path, configs: dict[str, Any], rows: list[Any]) -> Path:
    data = folder / "data"
    (data / "world_model_configs").mkdir(parents=True)
    for name, value in configs.items():
        text = value if isinstance(value, str) else json.dumps(value, indent=2)
        (data / "world_model_configs" / f"{name}.json").write_text(text)
    lines = [one if isinstance(one, str) else json.dumps(one) for one in rows]
    (data / "eval_benchmark_solvable.jsonl").write_text("\n".join(lines) + "\n")
    pool = [
        {"category": "Technology & IT", "domain": "Operations", "task_scenario_name": name}
        for name in ("Hosts", "Idle")
    ]
    (data / "task_scenario_all_pool.jsonl").write_text("\n".join(json.dumps(one) for one in pool))
    return folder


def test_verbatim_sends_the_prompt_byte_for_byte(tmp_path: Path) -> None:
    place = repository(tmp_path / "repo", {"env_a": config()}, [row()])
    environment = import_repository(place, "verbatim").worlds[0].environment
    assert system_prompt(environment).encode() == prompt().encode()
    assert environment.rendering == "verbatim"


def test_clean_has_no_placeholder_and_no_doubled_brace(tmp_path: Path) -> None:
    place = repository(tmp_path / "repo", {"env_a": config()}, [row()])
    environment = import_repository(place, "clean").worlds[0].environment
    text = system_prompt(environment)
    assert "{{" not in text and "}}" not in text
    assert "{initial_state}" not in text and "{state_descriptions}" not in text
    assert "$o_{t+1}$" in text and '`{"error": {"why": "x"} }`' in text
    assert environment.rendering == "clean" and environment.prompt == ""


def test_the_two_renderings_are_two_environments(tmp_path: Path) -> None:
    place = repository(tmp_path / "repo", {"env_a": config()}, [row()])
    one, two = (import_repository(place, how).worlds[0].environment for how in ("clean", "verbatim"))
    assert one.hash != two.hash


def test_every_quirk_is_noted(tmp_path: Path) -> None:
    odd = config("env_other")
    odd["world_model_system_prompt"] = prompt({"system_time": "2024-05-20T10:05:00Z", "hosts": {}})
    odd["state_description"] = {"hosts": "Hosts."}
    place = repository(tmp_path / "repo", {"env_a": odd}, [row()])
    found = import_repository(place)
    notes = "\n".join(found.worlds[0].environment.notes)
    for words in (
        "calls its environment env_other",
        "placeholders that were never filled in",
        "doubled braces",
        "initial_state embedded in the prompt differs",
        "different keys: system_time",
        "No example output: reboot",
        "The example output is no object: list_hosts",
        "The example of get_host names 'H-9' as host_id, which is not in the state",
        "Task 7: the plan names tools that do not exist: update_policy",
    ):
        assert words in notes, words
    assert found.idle_scenarios == ("Idle",)


def test_verbatim_holds_the_state_that_its_prompt_shows(tmp_path: Path) -> None:
    other = {"hosts": {"H-2": {"host_id": "H-2", "tags": {}}}}
    place = repository(tmp_path / "repo", {"env_a": config(world_model_system_prompt=prompt(other))}, [row()])
    assert import_repository(place, "verbatim").worlds[0].environment.initial_state == other
    assert import_repository(place, "clean").worlds[0].environment.initial_state == STATE


def test_a_task_has_its_industry_level_rubric_and_today(tmp_path: Path) -> None:
    place = repository(tmp_path / "repo", {"env_a": config()}, [row()])
    task = import_repository(place).worlds[0].tasks[0]
    assert (task.id, task.level, task.industry, task.domain) == ("7", 2, "Technology & IT", "Operations")
    assert task.rubric.startswith("It called") and task.criteria == ()
    assert task.today == "2024-05-20T10:05:00Z"


def test_what_cannot_be_used_is_refused_with_file_and_line_and_the_rest_imports(tmp_path: Path) -> None:
    bad = config("env_b")
    bad["action_set_definitions"][1]["parameters"] = {"type": "object", "properties": {"n": {"type": "integr"}}}
    missing = {"environment_name": "env_c"}
    place = repository(
        tmp_path / "repo",
        {"env_a": config(), "env_b": bad, "env_c": missing, "env_d": "{broken"},
        [row(), row(8, "env_b"), "{not json", row(9, "env_gone"), row(10, difficulty_level=9), {"task_id": 1}],
    )
    found = import_repository(place)
    assert [world.environment.name for world in found.worlds] == ["env_a"]
    assert [task.id for task in found.worlds[0].tasks] == ["7"]
    told = "\n".join(str(fault) for fault in found.refused)
    line = next(n for n, text in enumerate(json.dumps(bad, indent=2).split("\n"), 1) if '"name": "reboot"' in text)
    assert f"world_model_configs/env_b.json:{line}: The parameters are no valid JSON Schema" in told
    assert "world_model_configs/env_c.json: The file is no JSON object with environment_name" in told
    assert "world_model_configs/env_d.json" in told
    assert "eval_benchmark_solvable.jsonl:3: The line is no JSON object" in told
    assert "eval_benchmark_solvable.jsonl:4: Task 9 needs env_gone" in told
    assert "eval_benchmark_solvable.jsonl:5: Task 10: `level` is 1, 2 or 3." in told
    assert "eval_benchmark_solvable.jsonl:6: The line is no JSON object" in told


def test_nothing_usable_and_nothing_there_are_errors(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="world_model_configs"):
        import_repository(tmp_path)
    place = repository(tmp_path / "repo", {"env_d": "{broken"}, [])
    with pytest.raises(PackageError, match=r"env_d\.json"):
        import_repository(place)
    with pytest.raises(UsageError, match="rendering"):
        import_worlds(place, tmp_path / "out", "raw")  # type: ignore[arg-type]


def test_the_command_writes_folders_that_read_back(tmp_path: Path) -> None:
    place = repository(tmp_path / "repo", {"env_a": config()}, [row()])
    said: list[str] = []
    summary = import_worlds(place, tmp_path / "out", "verbatim", progress=said.append)
    assert (summary.environments, summary.tasks, summary.refused) == (1, 1, ())
    assert said == ["env_a: Hosts, 1 tasks"]
    read = read_worlds([tmp_path / "out"])[0]
    assert read == import_repository(place, "verbatim").worlds[0]
    assert (tmp_path / "out" / "env_a" / "prompt.md").read_bytes() == prompt().encode()


def test_runs_of_braces_are_undoubled_and_kept_apart() -> None:
    assert clean_prose("a {{b}} c {{{{d}}}} {e}") == "a {b} c { {d} } {e}"
    shown = shown_json({"a": {}, "b": {"c": "{{x}}"}})
    assert "{{" not in shown and "}}" not in shown and json.loads(shown) == {"a": {}, "b": {"c": "{{x}}"}}


def test_a_prompt_without_values_or_with_broken_ones_is_read_all_the_same() -> None:
    plain = take_apart("Only prose.")
    assert (plain.prose, plain.placeholders, plain.embedded, plain.doubled) == ("Only prose.", (), {}, False)
    assert take_apart("Prose\n{{initial_state}}: {{ no json").embedded == {"initial_state": None}


def test_what_a_plan_names_may_be_a_field_a_value_or_an_argument(tmp_path: Path) -> None:
    place = repository(tmp_path / "repo", {"env_a": config()}, [row()])
    environment = import_repository(place).worlds[0].environment
    assert unknown_tools("`system_time` `host_id` `get_host(H-1)` `set_policy(x)` `some_words`", environment) == [
        "set_policy"
    ]


@needs_sample
@pytest.mark.parametrize("rendering", ["clean", "verbatim"])
def test_all_sample_environments_import(rendering: Any, tmp_path: Path) -> None:
    found = import_repository(SAMPLE, rendering)
    assert len(found.worlds) == 22 and found.refused == ()
    assert sum(len(world.tasks) for world in found.worlds) == 22
    for world in found.worlds:
        name = world.environment.name
        raw = json.loads((SAMPLE / "data" / "world_model_configs" / f"{name}.json").read_text())
        text = system_prompt(world.environment)
        if rendering == "verbatim":
            assert text.encode() == raw["world_model_system_prompt"].encode()
        else:
            assert "{{" not in text and "}}" not in text and "{initial_state}" not in text
        write_world(tmp_path / name, world)
        assert read_world(tmp_path / name) == world


@needs_sample
def test_the_sample_shows_its_known_quirks() -> None:
    notes = {world.environment.name: "\n".join(world.environment.notes) for world in import_repository(SAMPLE).worlds}
    assert all("never filled in" in text and "doubled braces" in text for text in notes.values())
    assert "different keys: plot_metadata" in notes["env_f9d0d08e93a5"]
    assert "tools that do not exist: deploy_deterrent" in notes["env_f9d0d08e93a5"]
    assert "different keys: exhaustion_region_code" in notes["env_f8cb40cc253c"]
    assert "'RES_001' as reservation_id, which is not in the state" in notes["env_c166c366804f"]
