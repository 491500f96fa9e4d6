"""Faults by code: when they strike is a function of plan and task, so every agent meets the same ones; each is logged.

E1 faults are errors, and the environment never sees the call. E2 faults spoil an answer and do not say so. An event
lasts `duration` consecutive calls of any tool; afterwards a retry recovers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec

from bench.worlds.model import EXPLICIT, IMPLICIT, SEMANTIC, Environment, Fault, FaultKind, FaultPlan, Tool
from bench.worlds.pointers import apply, leaves, pointer_of, same
from simulator.errors import UsageError
from simulator.randomness import Stream

_ERRORS: Mapping[str, dict[str, Any]] = {
    "http_500": {"error": "HTTP 500: Internal Server Error"},
    "timeout": {"error": "TimeoutError: the request did not complete within 30 seconds"},
    "connection_refused": {"error": "ConnectionRefused: the service could not be reached"},
    "service_unavailable": {"error": "ServiceUnavailable: HTTP 503, try again later"},
}
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d)?(\.\d+)?(Z|[+-]\d\d:\d\d)?)?")
_DIGITS = re.compile(r"\d+(?=\D*$)")
_LONG = 24
Observed = tuple[str, dict[str, Any] | None, Any]
"""(tool, arguments, what it would have said without a fault) of an earlier call."""


def check_plan(plan: FaultPlan) -> None:
    """Raise `UsageError` for a plan that cannot be carried out."""
    if plan.count < 0 or plan.duration < 1:
        raise UsageError("a fault plan has a count of at least 0 and a duration of at least 1.")
    if plan.count and plan.horizon // plan.count < plan.duration + 1:
        needed = plan.count * (plan.duration + 1)
        raise UsageError(f"{plan.count} faults of {plan.duration} calls need a horizon of {needed} calls at least.")
    if not 0 <= plan.cascade_percent <= 100:
        raise UsageError("the chance of a cascade is between 0 and 100 percent.")


def schedule(plan: FaultPlan, task: str) -> dict[int, Fault]:
    """Return the scheduled faults by the number of the call they strike, from 1: one event in each part of the horizon.

    After each event at least one call is clean, so that a retry recovers.
    """
    if plan.level == "E0" or plan.mode == "prompt" or plan.count == 0:
        return {}
    check_plan(plan)
    stream = Stream(plan.seed, "world-fault-starts", task, plan.level)
    part = plan.horizon // plan.count
    kinds = _kinds(plan, Stream(plan.seed, "world-fault-kinds", task, plan.level))
    struck = {}
    for event in range(1, plan.count + 1):
        start = (event - 1) * part + 1 + stream.below(part - plan.duration)
        for number in range(start, start + plan.duration):
            struck[number] = Fault(kinds[event - 1], "scheduled", event)
    return struck


def _kinds(plan: FaultPlan, stream: Stream) -> list[FaultKind]:
    """Return the kind of each event; under E3 half of them explicit, which half is drawn."""
    quiet = (*IMPLICIT, *SEMANTIC) if plan.semantic else IMPLICIT
    explicit = plan.count if plan.level == "E1" else 0
    if plan.level == "E3":
        explicit = plan.count // 2 + (stream.below(2) if plan.count % 2 else 0)
    loud = stream.shuffled([True] * explicit + [False] * (plan.count - explicit))
    # Without repetition as long as there are kinds left, so that two events differ.
    decks = {True: stream.shuffled(EXPLICIT), False: stream.shuffled(quiet)}
    return [decks[one][loud[:at].count(one) % len(decks[one])] for at, one in enumerate(loud)]


class Faults:
    """Says, call by call, which fault strikes. Deterministic in plan, task and the calls so far."""

    def __init__(self, plan: FaultPlan, environment: Environment, task: str) -> None:
        self._plan = plan
        self._environment = environment
        self._task = task
        self._scheduled = schedule(plan, task)
        self._struck: list[tuple[int, str]] = []
        self._stage = -1
        self._left: dict[int, int] = {}

    def strike(self, number: int, tool: Tool) -> Fault | None:
        """Return the fault that strikes call `number` of `tool`, if any: its own, a stage's, or a cascade's."""
        fault = self._scheduled.get(number) or self._of_stage(tool) or self._cascade(number, tool)
        if fault is not None:
            self._struck.append((number, tool.name))
        return fault

    def called(self, tool: str) -> None:
        """Tell the state machine that a tool answered: a stage is entered from the one before it."""
        stages = self._environment.stages
        following = self._stage + 1
        if following < len(stages) and tool in stages[following].enter_on:
            self._stage = following
            self._left[following] = self._plan.duration

    def _of_stage(self, tool: Tool) -> Fault | None:
        plan, at = self._plan, self._stage
        if not plan.stages or plan.level == "E0" or plan.mode == "prompt" or at < 0 or not self._left.get(at):
            return None
        stage = self._environment.stages[at]
        fits = {"E1": stage.fault in EXPLICIT, "E2": stage.fault not in EXPLICIT}.get(plan.level, True)
        if not fits or (stage.strike and tool.name not in stage.strike):
            return None
        self._left[at] -= 1
        return Fault(stage.fault, "stage", note=stage.id)

    def _cascade(self, number: int, tool: Tool) -> Fault | None:
        plan = self._plan
        if not plan.cascade_percent or plan.level == "E0" or plan.mode == "prompt":
            return None
        recent = [name for at, name in self._struck if number - plan.duration <= at < number]
        source = next((name for name in reversed(recent) if name in tool.depends_on), None)
        stream = Stream(plan.seed, "world-cascade", self._task, plan.level, number)
        if source is None or not stream.chance(plan.cascade_percent, 100):
            return None
        kind: FaultKind = "service_unavailable" if plan.level == "E1" else "stale_cache"
        if plan.level == "E3":
            kind = stream.choice(("service_unavailable", "stale_cache"))
        return Fault(kind, "cascade", note=source)


# -- what the agent sees -----------------------------------------------------------------------------------------------


def spoil(
    fault: Fault, observation: Any, past: Sequence[Observed], tool: str, arguments: dict[str, Any] | None,
    state: Mapping[str, Any], stream: Stream,
) -> tuple[Any, Fault]:  # fmt: skip
    """Return what the agent sees instead of `observation`, and the fault as it came about.

    An E2 kind that cannot be made of this answer gives way to the next that can; `note` then says which was planned.
    `past` are the calls before this one, for what is stale.
    """
    if fault.explicit:
        return dict(_ERRORS[fault.kind]), fault
    order = [fault.kind, *(kind for kind in (*IMPLICIT, *SEMANTIC) if kind != fault.kind)]
    for kind in order:
        made = _made(kind, observation, [p for p in past if p[0] == tool and p[1] == arguments], state, stream)
        if made is not None and not same(made, observation):
            planned = "" if kind == fault.kind else f"planned as {fault.kind}"
            return made, msgspec.structs.replace(fault, kind=kind, note=fault.note or planned)
    return observation, msgspec.structs.replace(fault, note="nothing in this answer could be spoiled")


def _made(kind: str, seen: Any, past: Sequence[Observed], state: Mapping[str, Any], stream: Stream) -> Any:
    if kind == "truncated":
        return _truncated(seen)
    if kind == "missing_entries":
        return _missing(seen, stream)
    if kind == "null":
        paths = [path for path, value in leaves(seen) if path and value is not None]
        return apply(seen, [_set(stream.choice(paths), None)]) if paths else None
    if kind == "stale_cache":
        return past[-1][2] if past else None
    if kind == "stale_snapshot":
        return _yesterday(past[0][2] if past else seen)
    if kind == "contradicts_schema":
        return _contradicted(seen, stream)
    return _unknown_entity(seen, state, stream)


def _set(path: Sequence[str], value: Any) -> dict[str, Any]:
    return {"op": "replace", "path": pointer_of(path), "value": value}


def _lists(value: Any, path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], list[Any]]]:
    """Return all lists of two and more, outermost first."""
    found: list[tuple[tuple[str, ...], list[Any]]] = []
    if isinstance(value, list):
        found += [(path, value)] if len(value) > 1 else []
        for at, item in enumerate(value):
            found += _lists(item, (*path, str(at)))
    elif isinstance(value, Mapping):
        for key, item in value.items():
            found += _lists(item, (*path, str(key)))
    return sorted(found, key=lambda one: len(one[0]))


def _truncated(seen: Any) -> Any:
    """Keep the first part of the outermost list, at most half of it and two entries; else the half of a long text."""
    if lists := _lists(seen):
        path, items = lists[0]
        kept = items[: max(1, min(2, len(items) // 2))]
        return kept if not path else apply(seen, [_set(path, kept)])
    long = [(path, value) for path, value in leaves(seen) if path and isinstance(value, str) and len(value) > _LONG]
    return apply(seen, [_set(long[0][0], long[0][1][: len(long[0][1]) // 2])]) if long else None


def _missing(seen: Any, stream: Stream) -> Any:
    """Leave one entry out: of a list, else of an object."""
    if lists := _lists(seen):
        path, items = lists[0]
        gone = stream.below(len(items))
        kept = items[:gone] + items[gone + 1 :]
        return kept if not path else apply(seen, [_set(path, kept)])
    if isinstance(seen, dict) and len(seen) > 1:
        gone_key = stream.choice(list(seen))
        return {key: value for key, value in seen.items() if key != gone_key}
    return None


def _yesterday(seen: Any) -> Any:
    """Return the answer with every moment in it 24 hours earlier; None where there is none."""
    changes = [_set(path, _earlier(value)) for path, value in leaves(seen) if path and _is_moment(value)]
    return apply(seen, changes) if changes else None


def _is_moment(value: Any) -> bool:
    return isinstance(value, str) and _MOMENT.fullmatch(value) is not None and _earlier(value) != value


def _earlier(value: str) -> str:
    try:
        moment = datetime.fromisoformat(value) - timedelta(days=1)
    except (ValueError, OverflowError):
        return value
    return moment.date().isoformat() + value[10:]


def _contradicted(seen: Any, stream: Stream) -> Any:
    """Make one value another kind than it was, so that it still parses: a number in words, a text as a number."""
    paths = [(path, value) for path, value in leaves(seen) if path and value is not None]
    numbers = [one for one in paths if isinstance(one[1], int | float) and not isinstance(one[1], bool)]
    if not paths:
        return None
    path, value = stream.choice(numbers or paths)
    if isinstance(value, bool):
        new: Any = "unknown" if value else -1
    else:
        new = len(value) if isinstance(value, str) else f"~{json.dumps(value)} (est.)"
    return apply(seen, [_set(path, new)])


def _unknown_entity(seen: Any, state: Mapping[str, Any], stream: Stream) -> Any:
    """Put an id into the answer that is of the state's kind and nowhere in it."""
    ids = known_words(state)
    paths = [
        (path, value) for path, value in leaves(seen)
        if path and isinstance(value, str) and value in ids and _DIGITS.search(value)
    ]  # fmt: skip
    if not paths:
        return None
    path, value = stream.choice(paths)
    new, last = value, _DIGITS.search(value)
    assert last is not None
    for step in range(1, 10_000):
        number = str(int(last[0]) + 7 * step).zfill(len(last[0]))
        new = value[: last.start()] + number + value[last.end() :]
        if new not in ids:
            break
    return apply(seen, [_set(path, new)])


def known_words(state: Any) -> set[str]:
    """Return every key and every text value of a state."""
    found: set[str] = set()
    rest = [state]
    while rest:
        value = rest.pop()
        if isinstance(value, dict):
            found.update(map(str, value))
            rest.extend(value.values())
        elif isinstance(value, list):
            rest.extend(value)
        elif isinstance(value, str):
            found.add(value)
    return found


def prompt_paragraph(plan: FaultPlan) -> str:
    """Return the words that ask a simulator to make faults up itself, as the original harness does; empty under E0."""
    if plan.mode != "prompt" or plan.level == "E0":
        return ""
    what = {
        "E1": "explicit errors (HTTP 500, TimeoutError, ConnectionRefused, ServiceUnavailable) in place of the answer",
        "E2": "degraded answers without any error: truncated fields, missing entries, null values, stale data",
        "E3": "a mix of both kinds: explicit errors, and silently degraded answers, about half and half",
    }[plan.level]
    return (
        f"\n\n# Faults to simulate\nDuring this run let {plan.count} separate faults happen, spaced over the run, each "
        f"lasting {plan.duration} consecutive tool calls of whatever tool. The faults are {what}. They pass: when the "
        "agent tries again after that, the call works. Never say that a fault was simulated."
    )
