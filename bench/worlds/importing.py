"""The public repository's environments and tasks, as ours: every quirk is noted, nothing is repaired in silence."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from bench.worlds.checks import environment_faults, task_faults
from bench.worlds.model import DEFAULT_TODAY, Environment, Rendering, Task, Tool, World
from bench.worlds.pointers import leaves, same
from bench.worlds.rendering import PublicPrompt, clean_prose, take_apart
from simulator.errors import PackageError, UsageError
from simulator.package import Fault

TASKS, POOL, CONFIGS = "eval_benchmark_solvable.jsonl", "task_scenario_all_pool.jsonl", "world_model_configs"
_NOW = re.compile(r"(?i)(^|_)(now|today|clock|current_(date|time)|(simulation|system)_(time|date|timestamp))(_|$)")
_TICKED = re.compile(r"`([A-Za-z]\w*_\w+)(?:\([^`]*\))?`")
_VERB = re.compile(
    "add|adjust|advance|apply|approve|assign|book|calculate|cancel|check|close|commit|configure|create|"
    "deploy|dispatch|escalate|execute|fetch|file|finalize|flag|generate|get|issue|link|list|lock|log|move|"
    "notify|perform|power|process|publish|query|read|reassign|record|reject|release|report|reserve|reset|"
    "run|scan|search|seat|send|set|start|stop|submit|transfer|trigger|update|validate|verify"
)  # fmt: skip


class _Row(msgspec.Struct, frozen=True):
    task_id: int | str
    difficulty_level: int
    task_scenario_name: str
    agent_instruction: str
    env_name: str
    verification_plan: str


class _Scenario(msgspec.Struct, frozen=True):
    category: str
    domain: str
    task_scenario_name: str


class _Action(msgspec.Struct, frozen=True):
    name: str
    description: str
    parameters: dict[str, Any]
    example_output: Any = None


class _Config(msgspec.Struct, frozen=True):
    environment_name: str
    world_model_system_prompt: str
    action_set_definitions: list[_Action]
    state_description: dict[str, Any]
    task_initial_state: dict[str, Any]


class Imported(msgspec.Struct, frozen=True):
    """What was read. `refused` are environments and tasks that cannot be used, each with file, line and reason.

    `idle_scenarios` are those of the pool that have no task.
    """

    worlds: tuple[World, ...]
    refused: tuple[Fault, ...]
    idle_scenarios: tuple[str, ...]


def import_repository(place: Path, rendering: Rendering = "clean") -> Imported:
    """Read a checkout of the public repository, or its `data` folder.

    Raises:
        UsageError: the files are not there.
        PackageError: not one environment could be used; why, with file and line.
    """
    data = next((folder for folder in (place, place / "data") if (folder / CONFIGS).is_dir()), None)
    if data is None:
        raise UsageError(f"{place} holds no {CONFIGS}, nor does its data folder: give a checkout of the repository.")
    refused: list[Fault] = []
    rows = list(_lines(data / TASKS, _Row, refused))
    pool = {row.task_scenario_name: row for _, row in _lines(data / POOL, _Scenario, refused)}
    worlds = []
    for file in sorted((data / CONFIGS).glob("*.json")):
        mine = [(line, row) for line, row in rows if row.env_name == file.stem]
        if (world := _world(file, mine, pool, rendering, refused)) is not None:
            worlds.append(world)
    known = {file.stem for file in (data / CONFIGS).glob("*.json")}
    refused += [
        Fault(TASKS, line, f"Task {row.task_id} needs {row.env_name}, and there is no file of that name in {CONFIGS}.")
        for line, row in rows
        if row.env_name not in known
    ]
    if not worlds:
        raise PackageError(f"No environment in {place} could be used.", tuple(str(fault) for fault in refused))
    used = {row.task_scenario_name for _, row in rows}
    return Imported(tuple(worlds), tuple(refused), tuple(sorted(set(pool) - used)))


def _lines(file: Path, type_: type[Any], refused: list[Fault]) -> Iterator[tuple[int, Any]]:
    if not file.is_file():
        refused.append(Fault(file.name, 0, "The file is missing."))
        return
    for number, line in enumerate(file.read_bytes().split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            yield number, msgspec.json.decode(line, type=type_)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            fields = ", ".join(type_.__struct_fields__)
            refused.append(Fault(file.name, number, f"The line is no JSON object with {fields}."))


def _world(
    file: Path, rows: list[tuple[int, _Row]], pool: Mapping[str, _Scenario], rendering: Rendering, refused: list[Fault]
) -> World | None:
    name = f"{CONFIGS}/{file.name}"
    data = file.read_bytes()
    try:
        config = msgspec.json.decode(data, type=_Config)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        fields = ", ".join(_Config.__struct_fields__)
        refused.append(Fault(name, 0, f"The file is no JSON object with {fields} of the published kinds."))
        return None
    environment = _environment(file.stem, config, rendering, rows, pool)
    faults = environment_faults(environment)
    if faults:
        refused += [Fault(name, _line_of(data, config, place), text) for place, text in faults]
        return None
    world = World(environment, tuple(_task(row, environment, pool) for _, row in rows))
    bad = set()
    for place, text in task_faults(world):
        line, row = rows[int(place[1])]
        bad.add(row.task_id)
        refused.append(Fault(TASKS, line, f"Task {row.task_id}: {text}"))
    good = tuple(task for task in world.tasks if task.id not in {str(one) for one in bad})
    return World(environment, good)


def _line_of(data: bytes, config: _Config, place: tuple[str | int, ...]) -> int:
    """Return the line on which the tool, or else the part, that `place` names begins."""
    word = {"rules": "world_model_system_prompt", "tools": "action_set_definitions"}.get(str(place[0]), "")
    wanted, nth = f'"{word or "task_initial_state"}"', 1
    if len(place) > 1 and place[0] == "tools" and isinstance(place[1], int):
        tool = config.action_set_definitions[place[1]].name
        wanted = f'"name": {json.dumps(tool)}'
        nth = 1 + sum(action.name == tool for action in config.action_set_definitions[: place[1]])
    at = -1
    for _ in range(nth):
        at = data.find(wanted.encode(), at + 1)
    return data[:at].count(b"\n") + 1 if at >= 0 else 0


def _environment(
    name: str, config: _Config, rendering: Rendering, rows: list[tuple[int, _Row]], pool: Mapping[str, _Scenario]
) -> Environment:
    prompt = take_apart(config.world_model_system_prompt)
    tools = tuple(Tool(a.name, a.description, a.parameters, a.example_output) for a in config.action_set_definitions)
    embedded = prompt.embedded.get("initial_state")
    state = config.task_initial_state
    if rendering == "verbatim" and isinstance(embedded, dict):
        state = embedded
    title = rows[0][1].task_scenario_name if rows else ""
    scenario = pool.get(title)
    environment = Environment(
        name=name,
        rules=clean_prose(prompt.prose),
        tools=tools,
        initial_state=state,
        fields={key: text if isinstance(text, str) else json.dumps(text) for key, text in config.state_description.items()},
        title=title,
        industry=scenario.category if scenario else "",
        domain=scenario.domain if scenario else "",
        source="imported",
        rendering=rendering,
        prompt=config.world_model_system_prompt if rendering == "verbatim" else "",
        today=_today(state),
    )  # fmt: skip
    return msgspec.structs.replace(environment, notes=tuple(_notes(environment, config, prompt, rows)))


def _task(row: _Row, environment: Environment, pool: Mapping[str, _Scenario]) -> Task:
    scenario = pool.get(row.task_scenario_name)
    return Task(
        id=str(row.task_id),
        environment=environment.name,
        instruction=row.agent_instruction,
        scenario=row.task_scenario_name,
        industry=scenario.category if scenario else "",
        domain=scenario.domain if scenario else "",
        level=row.difficulty_level,
        rubric=row.verification_plan,
        today=environment.today,
    )


def _today(state: Mapping[str, Any]) -> str:
    """Return the moment that the state itself calls now, or the default."""
    for key, value in state.items():
        if isinstance(value, str) and len(value) >= 10 and _NOW.search(key):
            try:
                datetime.fromisoformat(value)
            except ValueError:
                continue
            return value
    return DEFAULT_TODAY


# -- what an importer meets --------------------------------------------------------------------------------------------


def _notes(
    environment: Environment, config: _Config, prompt: PublicPrompt, rows: list[tuple[int, _Row]]
) -> Iterator[str]:
    if config.environment_name != environment.name:
        yield f"The file calls its environment {config.environment_name}; the file's own name is used."
    if prompt.placeholders:
        yield f"The prompt holds {len(prompt.placeholders)} placeholders that were never filled in."
    if prompt.doubled:
        yield "The values behind the prompt are written with doubled braces."
    yield from _state_notes(config, prompt)
    differing = sorted(set(config.state_description) ^ set(config.task_initial_state))
    if differing:
        yield f"State and state_description have different keys: {', '.join(differing)}."
    without = [action.name for action in config.action_set_definitions if action.example_output is None]
    if without:
        yield f"No example output: {', '.join(without)}."
    odd = [
        a.name
        for a in config.action_set_definitions
        if a.example_output is not None and not isinstance(a.example_output, dict)
    ]
    if odd:
        yield f"The example output is no object: {', '.join(odd)}."
    yield from _example_notes(config)
    for _, row in rows:
        if unknown := unknown_tools(row.verification_plan, environment):
            yield f"Task {row.task_id}: the plan names tools that do not exist: {', '.join(unknown)}."


def _state_notes(config: _Config, prompt: PublicPrompt) -> Iterator[str]:
    for section, value in (
        ("initial_state", config.task_initial_state), ("state_descriptions", config.state_description),
    ):  # fmt: skip
        if section not in prompt.embedded:
            yield f"The prompt embeds no {section}."
        elif prompt.embedded[section] is None:
            yield f"The {section} embedded in the prompt cannot be read as JSON."
        elif not same(prompt.embedded[section], value):
            yield f"The {section} embedded in the prompt differs from the structured one."


def _example_notes(config: _Config) -> Iterator[str]:
    """Note ids in examples of a kind that the state has too, but not that one."""
    have: dict[str, set[str]] = {}
    for path, value in leaves(config.task_initial_state):
        if isinstance(value, str):
            have.setdefault(path[-1], set()).add(value)
    everything = {value for values in have.values() for value in values}
    everything |= {part for path, _ in leaves(config.task_initial_state) for part in path}
    for action in config.action_set_definitions:
        for path, value in leaves(action.example_output):
            key = next((part for part in reversed(path) if not part.isdigit()), "")
            if isinstance(value, str) and key.endswith("id") and value not in everything and key in have:
                yield f"The example of {action.name} names {value!r} as {key}, which is not in the state."
                break


def unknown_tools(plan: str, environment: Environment) -> list[str]:
    """Return names in a plan that read like tools (a verb first) and are neither tools nor anything else known."""
    known = {tool.name for tool in environment.tools} | set(environment.fields)
    for tool in environment.tools:
        known |= set(tool.parameters.get("properties", {}))
        known |= {part for path, _ in leaves(tool.example_output) for part in path}
        known |= {str(value) for source in (tool.example_output, tool.parameters) for _, value in leaves(source)}
    for path, value in leaves(environment.initial_state):
        known |= {*path, str(value)}
    named = sorted({name for name in _TICKED.findall(plan)})
    return [name for name in named if name not in known and _VERB.fullmatch(name.split("_")[0])]
