"""How an agent failed, as its trajectory shows by code. What only a reader could tell is not labelled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bench.worlds.model import AGENT_STEPS, Claim, Environment, FailureLabel, Step, Task
from bench.worlds.pointers import same
from simulator.canonical import canonical

REPEATS = 3
_COUNTS = ("total", "count", "total_count", "total_results", "total_units")


def labels_of(
    environment: Environment, task: Task, steps: Sequence[Step], claims: Sequence[Claim], limited: bool = False
) -> tuple[FailureLabel, ...]:
    """Return the labels of a run, in the order of their declaration."""
    found: list[FailureLabel] = []
    tests: list[tuple[FailureLabel, bool]] = [
        ("no_calls", not steps),
        ("precondition_unchecked", any(_unchecked(environment, steps))),
        ("verification_skipped", any(_unverified(environment, steps))),
        ("subgoal_missing", bool(task.subgoals) and None in _firsts(task, steps)),
        ("out_of_order", _out_of_order(task, steps)),
        ("gave_up_at_first_error", _gave_up(steps)),
        ("extrapolated_from_truncated", any(_cut_short(steps))),
        ("repeated_calls", _repeats(steps)),
        ("unknown_tool", any(step.status == "unknown_tool" for step in steps)),
        ("bad_arguments", any(step.status == "bad_arguments" for step in steps)),
        ("claimed_without_calling", any(claim.status == "not_called" for claim in claims)),
        ("claimed_on_empty", any(claim.status == "called_but_empty" for claim in claims)),
        ("step_limit", limited or len(steps) >= AGENT_STEPS),
    ]
    found += [label for label, shown in tests if shown]
    return tuple(found)


def _seen(step: Step) -> bool:
    return step.status == "answered" and not step.error


def _unchecked(environment: Environment, steps: Sequence[Step]) -> Iterator[bool]:
    """Yield for each act whether what should be looked at first was not, for the same thing."""
    for at, step in enumerate(steps):
        tool = environment.tool(step.tool)
        if tool is None or tool.look_first is None or step.status not in ("answered", "faulted"):
            continue
        look = tool.look_first
        yield not any(
            earlier.tool in look.tools and _seen(earlier) and all(_arg(earlier, n) == _arg(step, n) for n in look.same)
            for earlier in steps[:at]
        )


def _arg(step: Step, name: str) -> Any:
    return (step.arguments or {}).get(name)


def _unverified(environment: Environment, steps: Sequence[Step]) -> Iterator[bool]:
    """Yield for each act that went through whether none of the tools that would show it was called afterwards."""
    for at, step in enumerate(steps):
        tool = environment.tool(step.tool)
        if tool is not None and tool.verify_with and _seen(step):
            yield not any(later.tool in tool.verify_with and _seen(later) for later in steps[at + 1 :])


def _firsts(task: Task, steps: Sequence[Step]) -> list[int | None]:
    """Return for each subgoal the number of the call that first reached it, or None."""
    return [
        next((step.number for step in steps if step.tool in group and _seen(step)), None) for group in task.subgoals
    ]


def _out_of_order(task: Task, steps: Sequence[Step]) -> bool:
    reached = [number for number in _firsts(task, steps) if number is not None]
    return reached != sorted(reached)


def _gave_up(steps: Sequence[Step]) -> bool:
    """Whether the run ends with the first error of an outage and nothing was tried again."""
    faulted = [step for step in steps if step.status == "faulted"]
    if not faulted or steps[-1].status != "faulted":
        return False
    last = steps[-1]
    return not any(
        step.tool == last.tool and step.arguments == last.arguments for step in steps[:-1] if step in faulted
    )


def _cut_short(steps: Sequence[Step]) -> Iterator[bool]:
    """Yield for each answer that was cut, or says that it is, whether the agent went on without ever asking in full."""
    for at, step in enumerate(steps):
        spoiled = step.fault is not None and step.fault.kind in ("truncated", "missing_entries") and not step.error
        if not (spoiled or (step.status == "answered" and _says_less(step.observation))):
            continue
        later = [one for one in steps[at + 1 :] if one.status == "answered"]
        asked_again = any(
            one.tool == step.tool and one.fault is None
            and (same(one.arguments, step.arguments) if spoiled else not _says_less(one.observation))
            for one in later
        )  # fmt: skip
        went_on = any(one.tool != step.tool for one in later)
        yield went_on and not asked_again and (spoiled or not _pages_complete(step, steps))


def _pages_complete(step: Step, steps: Sequence[Step]) -> bool:
    """Whether the pages that were read add up to the total that an answer names."""
    pages: dict[bytes, int] = {}
    for one in steps:
        if one.tool == step.tool and one.status == "answered" and isinstance(one.observation, Mapping):
            pages[canonical(one.arguments)] = max(
                (len(v) for v in one.observation.values() if isinstance(v, list)), default=0
            )
    total = next(step.observation[name] for name in _COUNTS if isinstance(step.observation.get(name), int))
    return sum(pages.values()) >= int(total)


def _says_less(observation: Any) -> bool:
    """Whether an answer names a total that is more than its one list holds."""
    if not isinstance(observation, Mapping):
        return False
    totals = [observation[name] for name in _COUNTS if isinstance(observation.get(name), int)]
    lists = [value for value in observation.values() if isinstance(value, list)]
    return len(totals) == 1 and len(lists) == 1 and totals[0] > len(lists[0])


def _repeats(steps: Sequence[Step]) -> bool:
    """Whether the same call was made several times in a row with the same answer, no fault between."""
    run = 1
    for before, step in zip(steps, steps[1:], strict=False):
        again = before.tool == step.tool and same(before.arguments, step.arguments)
        run = run + 1 if again and same(before.observation, step.observation) and step.fault is None else 1
        if run >= REPEATS:
            return True
    return False
