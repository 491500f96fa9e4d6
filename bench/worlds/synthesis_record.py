"""What synthesis keeps: each candidate, each round, what was measured, and why a candidate was kept or went."""

from __future__ import annotations

from collections import Counter
from typing import Literal

import msgspec

from bench.worlds.report_tables import Share, escape, share_of_rate, shown
from bench.worlds.statistics import Rate

Reason = Literal[
    "kept", "invalid_tool_schema", "invalid", "no_answer", "cannot_be_played", "unsolvable_with_plan", "always_fails",
    "always_passes", "infrastructure",
]  # fmt: skip
WORDS: dict[str, str] = {
    "kept": "kept",
    "invalid_tool_schema": "a tool's parameters are no valid JSON Schema",
    "invalid": "the environment or the task does not hold together",
    "no_answer": "the generator gave no answer",
    "cannot_be_played": "the simulator could not play it",
    "unsolvable_with_plan": "unsolvable: it fails even with its own plan",
    "always_fails": "always fails without its plan",
    "always_passes": "always passes",
    "infrastructure": "undecided: the infrastructure failed; run again",
}


class Subtopic(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A part of a scenario that no other sub-topic touches."""

    id: str
    title: str
    focus: str


class Ground(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What all candidates of a scenario stand on: sub-topics and a professional reference document."""

    subtopics: tuple[Subtopic, ...]
    reference: str


class Diagnosis(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Why a candidate does not measure what it should, and what to change."""

    cause: str
    explanation: str
    change: str


class Measured(msgspec.Struct, frozen=True, omit_defaults=True):
    """One level of a candidate: how often it was passed, shown its plan and not. `without` is None where the runs with the
    plan had settled it. `consistency` is the share of runs without the plan that ended as most of them did."""

    level: int
    reason: Reason
    with_plan: Rate
    without: Rate | None = None
    consistency: float | None = None


class Round(msgspec.Struct, frozen=True, omit_defaults=True):
    """One version of a candidate: what was wrong with it, or what was measured, and the diagnosis that followed."""

    number: int
    faults: tuple[str, ...] = ()
    measured: tuple[Measured, ...] = ()
    diagnosis: Diagnosis | None = None


class Candidate(msgspec.Struct, frozen=True, omit_defaults=True):
    """A candidate and its end. `level` is the one kept, 0 if none was."""

    topic: str
    title: str
    environment: str
    reason: Reason
    rounds: tuple[Round, ...]
    level: int = 0

    @property
    def kept(self) -> bool:
        return self.reason == "kept"


class Synthesis(msgspec.Struct, frozen=True):
    """A scenario's synthesis: all of it, so that nothing has to be believed."""

    scenario: str
    settings: str
    ground: Ground
    candidates: tuple[Candidate, ...]
    calls: int
    cost_micros: int

    @property
    def complete(self) -> bool:
        """Whether no candidate waits for the infrastructure."""
        return all(one.reason != "infrastructure" for one in self.candidates)


def describe(found: Synthesis) -> str:
    """Return a synthesis for people, as Markdown: what was kept, and why each other candidate went."""
    counts = Counter(one.reason for one in found.candidates)
    told = ", ".join(f"{count} {WORDS[reason]}" for reason, count in sorted(counts.items()))
    lines = [
        f"# Synthesis of {escape(found.scenario)}", "", f"{len(found.candidates)} candidates: {told}.", "",
        "| candidate | outcome | level | with plan | without plan | consistency | versions |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]  # fmt: skip
    lines += [_row(one) for one in found.candidates]
    for one in found.candidates:
        lines += ["", f"## {escape(one.topic)}: {escape(one.title)}", "", f"{WORDS[one.reason].capitalize()}.", ""]
        for each in one.rounds:
            lines += _round(each)
    return "\n".join(lines) + "\n"


def _row(one: Candidate) -> str:
    last = one.rounds[-1].measured if one.rounds else ()
    best = next((m for m in last if m.level == one.level), last[-1] if last else None)
    cells = ["-", "-", "-"]
    if best:
        cells = [shown(share_of_rate(best.with_plan)), _share(best.without), _percent(best.consistency)]
    name, level = f"{one.topic}: {one.title}", str(one.level or "-")
    return "| " + " | ".join([escape(name), WORDS[one.reason], level, *cells, str(len(one.rounds))]) + " |"


def _share(found: Rate | None) -> str:
    cell: Share | None = share_of_rate(found) if found else None
    return shown(cell) if cell else "not run"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.0f} %"


def _round(each: Round) -> list[str]:
    lines = [f"Version {each.number}:", ""]
    lines += [f"- {escape(fault)}" for fault in each.faults]
    for one in each.measured:
        told = f"with plan {shown(share_of_rate(one.with_plan))}, without {_share(one.without)}"
        lines.append(f"- level {one.level}: {told}: {WORDS[one.reason]}")
    if each.diagnosis:
        found = each.diagnosis
        lines.append(
            f"- diagnosis ({escape(found.cause)}): {escape(found.explanation)} To change: {escape(found.change)}"
        )
    return [*lines, ""]
