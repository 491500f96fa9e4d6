"""What is wrong with an environment or a task: (place, sentence), before anything runs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from bench.worlds.effects import EffectFault, Evaluator, operation_of
from bench.worlds.model import Criterion, Environment, Task, Tool, World
from bench.worlds.pointers import MISSING, PatchFault, find, matches, parse, pointer_of
from bench.worlds.schemas import argument_faults, schema_fault

Place = tuple[str | int, ...]
Found = Iterator[tuple[Place, str]]
TOOL_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
UNRENDERED = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)
_BRACED = re.compile(r"\{([A-Za-z_][\w.]*)\}")
MOST_TOOLS = 64
_LOOPS = ("$each", "$every", "$some")


def environment_faults(environment: Environment) -> list[tuple[Place, str]]:
    """Return everything that is wrong with an environment, by place."""
    return [*_head(environment), *_tools(environment), *_state(environment), *_stages(environment)]


def _head(environment: Environment) -> Found:
    if not environment.rules.strip():
        yield ("rules",), "The rules are empty: say what the simulator must hold to."
    if UNRENDERED.search(environment.rules):
        yield ("rules",), "The rules hold a template that was never filled in ({{...}} or {%...%})."
    if not is_moment(environment.today):
        yield ("today",), f"`{environment.today}` is no date. Write YYYY-MM-DD, with a time if it matters."
    if environment.source != "own":
        return
    for name in sorted(set(environment.initial_state) - set(environment.fields)):
        yield ("fields",), f"The state's field `{name}` is not described. Add it under `fields`."
    for name in sorted(set(environment.fields) - set(environment.initial_state)):
        yield ("fields", name), f"`{name}` is described but is not in the state."


def is_moment(text: str) -> bool:
    """Whether a text is an ISO date or date and time."""
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return len(text) >= 10


def _tools(environment: Environment) -> Found:
    tools = environment.tools
    if not tools:
        yield ("tools",), "There is no tool: an agent could do nothing."
    if len(tools) > MOST_TOOLS:
        yield ("tools",), f"There are {len(tools)} tools; {MOST_TOOLS} is the most that an agent is offered."
    seen: set[str] = set()
    for at, tool in enumerate(tools):
        place: Place = ("tools", at)
        if not TOOL_NAME.fullmatch(tool.name):
            yield (*place, "name"), f"`{tool.name}` is no name for a tool: letters, digits and _ only, 64 at most."
        if tool.name in seen:
            yield (*place, "name"), f"The tool `{tool.name}` is there twice."
        seen.add(tool.name)
        if fault := schema_fault(tool.parameters):
            yield (*place, "parameters"), fault
            continue
        yield from _named_tools(environment, tool, place)
        yield from _effect(tool, place)


def _named_tools(environment: Environment, tool: Tool, place: Place) -> Found:
    look = tool.look_first
    named = {"depends_on": tool.depends_on, "verify_with": tool.verify_with, "look_first": look.tools if look else ()}
    for field, names in named.items():
        yield from _unknown(environment, names, (*place, field))
    for name in look.same if look else ():
        if name not in tool.parameters.get("properties", {}):
            yield (*place, "look_first"), f"The tool has no argument `{name}`."
    for field, pointers in (("creates", tool.creates), ("removes", tool.removes)):
        for pointer in pointers:
            yield from _collection(environment, pointer, (*place, field))


def _unknown(environment: Environment, names: Iterable[str], place: Place) -> Found:
    for name in names:
        if environment.tool(name) is None:
            yield place, f"There is no tool `{name}`."


def _collection(environment: Environment, pointer: str, place: Place) -> Found:
    try:
        found = find(environment.initial_state, parse(pointer))
    except PatchFault as fault:
        yield place, str(fault)
        return
    if found is MISSING:
        yield place, f"The state has nothing at {pointer}."
    elif not isinstance(found, dict):
        yield place, f"What stands at {pointer} must be a map of entities by their id."


def _effect(tool: Tool, place: Place) -> Found:
    if tool.effect is None:
        return
    effect, known = tool.effect, {"args", "today", *tool.parameters.get("properties", {})}
    where = (*place, "effect")
    for name, expression in effect.let.items():
        yield from _expression(expression, known, (*where, "let", name))
        known = known | {name}
    for at, check in enumerate(effect.checks):
        yield from _expression(check.must, known, (*where, "checks", at, "must"))
        yield from _template(check.error, known, (*where, "checks", at, "error"))
    for at, rule in enumerate(effect.patch):
        for part in ("path", "value", "when"):
            inner = getattr(rule, part)
            found = _template(inner, known, ()) if part == "path" else _expression(inner, known, ())
            yield from (((*where, "patch", at, part), text) for _, text in found)
    yield from _expression(effect.returns, known, (*where, "returns"))


def _expression(expression: Any, known: set[str], place: Place) -> Found:
    """Walk an expression: every operation exists, every name is one that is known there."""
    if isinstance(expression, str):
        head = expression[1:].split(".")[0]
        if expression.startswith("$") and not expression.startswith("$$") and len(expression) > 1 and head not in known:
            yield place, f"`{expression}` names nothing that is known here."
    elif isinstance(expression, list):
        for item in expression:
            yield from _expression(item, known, place)
    elif isinstance(expression, Mapping):
        try:
            operation = operation_of(expression)
        except EffectFault as fault:
            yield place, str(fault)
            return
        if operation is None:
            for item in expression.values():
                yield from _expression(item, known, place)
        else:
            yield from _operand(operation, expression[operation], known, place)


def _operand(operation: str, operand: Any, known: set[str], place: Place) -> Found:
    if operation in ("$read", "$exists", "$text"):
        yield from _template(operand, known, place)
    elif operation == "$next_id":
        yield from _template(operand[0] if isinstance(operand, list) and operand else operand, known, place)
    elif operation in _LOOPS and isinstance(operand, Mapping):
        yield from _expression(operand.get("in"), known, place)
        inner = known | {str(operand.get("as", "item")), "key"}
        for part in ("where", "take", "sort", "must", "limit"):
            yield from _expression(operand.get(part), inner, place)
    else:
        yield from _expression(operand, known, place)


def _template(text: Any, known: set[str], place: Place) -> Found:
    if not isinstance(text, str):
        yield place, "A pointer or text is expected here."
        return
    for name in _BRACED.findall(text):
        if name.split(".")[0] not in known:
            yield place, f"`{{{name}}}` names nothing that is known here."


def _state(environment: Environment) -> Found:
    state = environment.initial_state
    for at, pointer in enumerate(environment.collections):
        yield from _collection(environment, pointer, ("collections", at))
    for at, reference in enumerate(environment.references):
        try:
            dangling = dangling_references(state, reference.path, reference.to)
        except PatchFault as fault:
            yield ("references", at), str(fault)
            continue
        if dangling:
            yield ("references", at), f"{dangling[0]}: the state contradicts itself."
    for at, invariant in enumerate(environment.invariants):
        place: Place = ("invariants", at)
        malformed = list(_expression(invariant.must, {"today"}, (*place, "must")))
        yield from malformed
        if not malformed and not holds(invariant.must, state, environment.today):
            yield place, f"The state at the start breaks the invariant `{invariant.id}`: {invariant.text}"


def dangling_references(state: Mapping[str, Any], path: str, to: str) -> list[str]:
    """Return a sentence for each value at the pattern `path` that is no key of the collection at `to`."""
    group = find(state, parse(to))
    keys = set(group) if isinstance(group, Mapping) else set()
    return [
        f"{pointer_of(where)} names {str(value)[:80]!r}, which is not in {to}"
        for where, value in matches(state, parse(path))
        if value is not None and (not isinstance(value, str) or value not in keys)
    ]


def holds(expression: Any, state: Mapping[str, Any], today: str, names: Mapping[str, Any] | None = None) -> bool:
    """Whether a condition holds of a state. A condition that cannot be evaluated does not hold."""
    try:
        return Evaluator(state, today).holds(expression, names or {})
    except (EffectFault, PatchFault):
        return False


def _stages(environment: Environment) -> Found:
    for at, stage in enumerate(environment.stages):
        yield from _unknown(environment, (*stage.enter_on, *stage.strike), ("stages", at))


# -- tasks -------------------------------------------------------------------------------------------------------------


def task_faults(world: World) -> list[tuple[Place, str]]:
    """Return everything that is wrong with the tasks of a world, by place."""
    found: list[tuple[Place, str]] = []
    seen: set[str] = set()
    for at, task in enumerate(world.tasks):
        place: Place = ("tasks", at)
        if task.id in seen:
            found.append(((*place, "id"), f"The task `{task.id}` is there twice."))
        seen.add(task.id)
        found += _task(task, world.environment, place)
    return found


def _task(task: Task, environment: Environment, place: Place) -> Found:
    if not task.instruction.strip():
        yield (*place, "instruction"), "The instruction is empty."
    if UNRENDERED.search(task.instruction):
        yield (*place, "instruction"), "The instruction holds a template that was never filled in."
    if not task.rubric.strip() and not task.criteria:
        yield place, "The task has neither criteria nor a rubric: nothing could be judged."
    if not 1 <= task.level <= 3:
        yield (*place, "level"), "`level` is 1, 2 or 3."
    if task.agent_turns < 1:
        yield (*place, "agent_turns"), "`agent_turns` must be at least 1."
    if task.today and not is_moment(task.today):
        yield (*place, "today"), f"`{task.today}` is no date."
    for group_at, group in enumerate(task.subgoals):
        yield from _unknown(environment, group, (*place, "subgoals", group_at))
    yield from _criteria(task.criteria, environment, place)
    yield from _script(task, environment, place)
    if task.criteria and _passes_idle(task, environment):
        yield (*place, "criteria"), "All required criteria hold before anything is done: doing nothing would pass."


def _criteria(criteria: tuple[Criterion, ...], environment: Environment, place: Place) -> Found:
    seen: set[str] = set()
    for at, criterion in enumerate(criteria):
        where: Place = (*place, "criteria", at)
        if criterion.id in seen:
            yield (*where, "id"), f"The criterion `{criterion.id}` is there twice."
        seen.add(criterion.id)
        yield from _unknown(environment, criterion.evidence, (*where, "evidence"))
        if criterion.kind == "state":
            if criterion.must is None:
                yield where, "A criterion of kind `state` needs `must`."
            yield from _expression(criterion.must, {"today"}, (*where, "must"))
        elif criterion.kind == "called" and not criterion.evidence:
            yield where, "A criterion of kind `called` needs `evidence`: the tools."


def _script(task: Task, environment: Environment, place: Place) -> Found:
    for at, call in enumerate(task.script):
        where: Place = (*place, "script", at)
        tool = environment.tool(str(call.get("tool")))
        if tool is None:
            yield where, f"There is no tool `{call.get('tool')}`."
        elif set(call) - {"tool", "arguments"}:
            yield where, "A call of the script has `tool` and `arguments`, nothing else."
        elif "$" not in str(call.get("arguments")):
            for fault in argument_faults(call.get("arguments") or {}, tool.parameters):
                yield where, fault


def _passes_idle(task: Task, environment: Environment) -> bool:
    required = [criterion for criterion in task.criteria if criterion.required]
    return all(
        criterion.kind == "state" and holds(criterion.must, environment.initial_state, task.today or environment.today)
        for criterion in required
    )
