"""Two runs of one task side by side: the calls that they share, where they part, and what was made of each."""

from __future__ import annotations

import json
from collections.abc import Sequence
from difflib import SequenceMatcher

import msgspec

from bench.worlds.model import Step, Trial, Verdict
from bench.worlds.report_tables import escape, label
from simulator.canonical import canonical
from simulator.errors import UsageError

MOST_CELL = 160


class Run(msgspec.Struct, frozen=True):
    """A trial with its steps."""

    trial: Trial
    steps: tuple[Step, ...]


class Row(msgspec.Struct, frozen=True):
    """One line of the comparison: `same` where both made the same call and saw the same."""

    left: Step | None
    right: Step | None
    same: bool


def align(left: Sequence[Step], right: Sequence[Step]) -> list[Row]:
    """Pair the calls of two runs in order: equal tool and arguments stand beside each other, others alone."""
    keys = [[_key(step) for step in steps] for steps in (left, right)]
    rows: list[Row] = []
    for kind, a1, a2, b1, b2 in SequenceMatcher(None, keys[0], keys[1], autojunk=False).get_opcodes():
        if kind == "equal":
            pairs = zip(left[a1:a2], right[b1:b2], strict=True)
            rows += [Row(one, two, canonical(one.observation) == canonical(two.observation)) for one, two in pairs]
        else:
            rows += [Row(one, None, False) for one in left[a1:a2]]
            rows += [Row(None, two, False) for two in right[b1:b2]]
    return rows


def _key(step: Step) -> tuple[str, bytes]:
    return step.tool, canonical(step.arguments if step.arguments is not None else step.raw)


def side_by_side(left: Run, right: Run) -> str:
    """Return both runs as one Markdown page.

    Raises:
        UsageError: they are not of one task.
    """
    one, two = left.trial, right.trial
    if (one.task, one.environment) != (two.task, two.environment):
        raise UsageError(
            f"{one.environment}/{one.task} and {two.environment}/{two.task} are two tasks; name two runs of one."
        )
    lines = [
        f"# Two runs of {escape(one.task)} in {escape(one.environment)}", "",
        "| | left | right |", "| --- | --- | --- |",
        *_facts(one, two), "", "## Calls", "",
        "| left | right | |", "| --- | --- | --- |",
    ]  # fmt: skip
    rows = align(left.steps, right.steps)
    lines += [f"| {_call(row.left)} | {_call(row.right)} | {_parted(row)} |" for row in rows]
    lines += ["", "## Criteria", "", "| criterion | left | right |", "| --- | --- | --- |", *_criteria(one, two)]
    lines += [
        "",
        "## Last words",
        "",
        f"Left: {escape(one.final) or '(none)'}",
        "",
        f"Right: {escape(two.final) or '(none)'}",
        "",
    ]
    return "\n".join(lines)


def _facts(one: Trial, two: Trial) -> list[str]:
    def facts(trial: Trial) -> list[str]:
        found = ", ".join(f"{kind} {count}" for kind, count in sorted(trial.detections.items()))
        return [
            label(trial.agent), label(trial.simulator, trial.simulator_mode), trial.fault_level, str(trial.attempt),
            trial.outcome, ", ".join(trial.labels) or "-", str(trial.steps), str(trial.faults), found or "-", trial.note or "-",
        ]  # fmt: skip

    names = ("agent", "simulator", "faults", "attempt", "outcome", "kinds of failure", "calls", "calls struck",
             "simulator caught at", "note")  # fmt: skip
    return [f"| {name} | {escape(a)} | {escape(b)} |" for name, a, b in zip(names, facts(one), facts(two), strict=True)]


def _call(step: Step | None) -> str:
    if step is None:
        return ""
    said = step.raw if step.arguments is None else _brief(step.arguments)
    marks: list[str] = [] if step.status == "answered" else [step.status]
    if step.fault:
        marks.append(f"fault: {step.fault.kind}")
    marks += [f"simulator: {one.kind}{' (repaired)' if one.repaired else ''}" for one in step.detections]
    tail = f" **{escape('; '.join(marks))}**" if marks else ""
    return f"{step.number}. {escape(f'{step.tool}({said[:MOST_CELL]})')} -> {escape(_brief(step.observation))}{tail}"


def _brief(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    return text if len(text) <= MOST_CELL else f"{text[:MOST_CELL]} ..."


def _parted(row: Row) -> str:
    if row.left is None or row.right is None:
        return "only one"
    return "" if row.same else "saw other things"


def _criteria(one: Trial, two: Trial) -> list[str]:
    verdicts = [{verdict.criterion: verdict for verdict in trial.verdicts} for trial in (one, two)]
    names = list(dict.fromkeys([*verdicts[0], *verdicts[1]]))
    return [f"| {escape(name)} | {_said(verdicts[0].get(name))} | {_said(verdicts[1].get(name))} |" for name in names]


def _said(verdict: Verdict | None) -> str:
    if verdict is None:
        return "-"
    said = {True: "met", False: "not met", None: "undecided"}[verdict.met]
    yes = sum(vote.met is True for vote in verdict.votes)
    panel = f" ({yes} of {len(verdict.votes)} votes)" if verdict.votes else ""
    return escape(f"{said}{panel}{f'; overruled: {verdict.overruled}' if verdict.overruled else ''}")
