"""Synthesis: candidate tasks for any scenario of the catalogue, each one run, judged, repaired or dropped, and recorded.

    ground        16 sub-topics that do not overlap, and a reference document
    candidate     for a sub-topic: environment, tools, tasks at rising levels with plan and criteria; checked by code
    measure       runs with the plan (can it be done?) and without (how hard is it?)
    repair        a diagnosis from the runs, a changed candidate, at most so many times
    filter        what always passes, always fails, fails with its plan or has invalid schemas goes; the rest is kept

Every answer is on a tape and every run in a results folder, so a synthesis that was killed goes on where it stood.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import msgspec

from bench.worlds.catalogue import Scenario
from bench.worlds.folder import write_world
from bench.worlds.journal import Tape, Taped, write_json
from bench.worlds.model import Side, World
from bench.worlds.runs import jobs_of
from bench.worlds.synthesis_answers import (
    SUBTOPICS,
    Draft,
    candidate_messages,
    diagnosis_messages,
    faults_message,
    ground_faults,
    ground_messages,
    read,
    repair_message,
    schema_faults,
    world_faults,
    world_of,
)
from bench.worlds.synthesis_measure import Effort, Sides, choose, digests, measure, reason_of, sentences
from bench.worlds.synthesis_record import (
    WORDS,
    Candidate,
    Diagnosis,
    Ground,
    Reason,
    Round,
    Subtopic,
    Synthesis,
    describe,
)
from simulator.canonical import canonical, sha256
from simulator.conversation import Message, ModelRequest
from simulator.errors import ModelOutage, UsageError, WorkFailed
from simulator.ports import Model

HARNESS = "1"
RECORD, REPORT, TAPE, RUNS, KEPT, VERSIONS = "synthesis.json", "report.md", "tape.jsonl", "runs", "kept", "versions"
MAX_OUTPUT = 24_000
GROUND_REPAIRS = 3
_DIAGNOSIS_TRIES = 2
Progress = Callable[[str, str], None]
"""Told (candidate or stage, sentence)."""
A = TypeVar("A", bound=msgspec.Struct)


def synthesize(
    scenario: Scenario,
    generator: Model,
    side: Side,
    sides: Sides,
    out: Path,
    effort: Effort | None = None,
    seed: int = 0,
    concurrency: int = 1,
    progress: Progress = lambda _who, _sentence: None,
) -> Synthesis:
    """Make candidates for `scenario` and keep what measures something; return the record.

    `side` names the generator. Everything is under `out`, in a folder named after the scenario and all settings:
    `synthesis.json` and `report.md` (why each candidate went), `kept/` (worlds that `worlds run` takes), `versions/` (every
    version that ran), `runs/` (results) and the tape.

    Raises:
        UsageError: the effort asked for makes no sense, an even panel, a simulator that would judge itself.
        WorkFailed: no sub-topics could be made.
        ModelOutage, BudgetExhausted: what was done is kept; the same call goes on.
    """
    wanted = effort or Effort()
    _check(wanted)
    # Whether these sides may run at all is found out before anything is paid for.
    jobs_of([], [sides.agent], [sides.simulator], sides.panel)
    settings = fingerprint(scenario, side, sides, wanted, seed)
    folder = out / f"{scenario.id}-{settings[:12]}"
    tape = Tape(folder / TAPE, f"synthesis:{settings}")
    try:
        return _Work(
            scenario, Taped(generator, tape), sides, folder, wanted, seed, settings, concurrency, progress
        ).run()
    finally:
        tape.close()


def fingerprint(scenario: Scenario, side: Side, sides: Sides, effort: Effort, seed: int) -> str:
    """Return 32 hex digits of all that a synthesis depends on."""
    parts = (
        HARNESS, scenario, side, sides.agent.side, sides.simulator.side, sides.simulator.mode, sides.panel.side,
        sides.panel.votes, effort, seed,
    )  # fmt: skip
    return sha256(canonical(parts))[:32]


def _check(effort: Effort) -> None:
    if not 1 <= effort.topics <= SUBTOPICS or not 1 <= effort.levels <= 3:
        raise UsageError(f"There are 1 to {SUBTOPICS} sub-topics and 1 to 3 levels.")
    if effort.with_plan < 1 or effort.without < 2 or effort.repairs < 0:
        raise UsageError(
            "A candidate is run at least once with its plan and twice without, and repaired 0 or more times."
        )


class _Work:
    def __init__(
        self, scenario: Scenario, model: Taped, sides: Sides, folder: Path, effort: Effort, seed: int, settings: str,
        concurrency: int, progress: Progress,
    ) -> None:  # fmt: skip
        self.scenario, self.model, self.sides, self.folder = scenario, model, sides, folder
        self.effort, self.seed, self.settings = effort, seed, settings
        self.concurrency, self.say = concurrency, progress
        self.calls = 0

    def run(self) -> Synthesis:
        ground = self.ground()
        candidates = []
        for topic in ground.subtopics[: self.effort.topics]:
            made = _Candidate(self, ground, topic).run()
            self.say(topic.id, WORDS[made.reason])
            candidates.append(made)
        found = Synthesis(
            self.scenario.id, self.settings, ground, tuple(candidates), self.calls, self.model.cost_micros
        )
        write_json(self.folder / RECORD, found)
        (self.folder / REPORT).write_text(describe(found), "utf-8")
        return found

    def ground(self) -> Ground:
        talk = ground_messages(self.scenario, self.seed)
        faults: list[str] = []
        for attempt in range(GROUND_REPAIRS + 1):
            answer, faults, said = self.ask("ground", attempt, talk, Ground)
            faults = faults or (ground_faults(answer) if answer else [])
            if answer is not None and not faults:
                self.say(
                    "ground", f"{len(answer.subtopics)} sub-topics, a reference of {len(answer.reference)} characters"
                )
                return answer
            if said is None:
                break
            talk = (*talk, said, faults_message(faults))
        raise WorkFailed(
            f"No sub-topics for {self.scenario.id} after {GROUND_REPAIRS} repairs: {faults[0] if faults else 'no answer'} "
            "Use a stronger model for the role generator."
        )

    def ask(
        self, stage: str, attempt: int, talk: tuple[Message, ...], type_: type[A]
    ) -> tuple[A | None, list[str], Message | None]:
        """Return (answer, faults, what was said); nothing was said where the model refused. Raises `ModelOutage`."""
        name = f"synthesize:{self.scenario.id}:{stage}"
        request = ModelRequest(
            "generator", (name, attempt), name, talk, schema=msgspec.json.schema(type_),
            schema_name=f"world_{type_.__name__.lower()}", max_output=MAX_OUTPUT,
        )  # fmt: skip
        response = self.model.complete(request)
        self.calls += 1
        if response.finish == "unavailable":
            raise ModelOutage(f"the generator did not answer: {response.detail or 'no reason given'}")
        if response.finish in ("refusal", "overflow"):
            return None, [f"The generator ended with {response.finish}. {response.detail}".strip()], None
        answer, faults = read(response, type_)
        return answer, faults, response.as_message()


class _Candidate:
    """One sub-topic's candidate, from the first version to the last."""

    def __init__(self, work: _Work, ground: Ground, topic: Subtopic) -> None:
        self.work, self.topic = work, topic
        self.name = f"{work.scenario.id}-{topic.id}"
        self.talk = candidate_messages(work.scenario, ground, topic, work.effort.levels, work.seed)
        self.rounds: list[Round] = []

    def run(self) -> Candidate:
        reason: Reason = "invalid"
        for number in range(1, self.work.effort.repairs + 2):
            last = number == self.work.effort.repairs + 1
            draft, faults, said = self.work.ask(self.topic.id, number, self.talk, Draft)
            if said is None:
                self.rounds.append(Round(number, tuple(faults)))
                return self._ended("no_answer")
            world = self._world(draft)
            reason, faults = self._faults(draft, world, faults)
            if draft is None or world is None or faults:
                self.rounds.append(Round(number, tuple(faults)))
                self.talk = (*self.talk, said, faults_message(faults))
                self.work.say(self.topic.id, f"version {number} has faults: {faults[0]}")
                continue
            reason, level, after = self._measure(number, draft, world, last)
            if reason in ("kept", "infrastructure"):
                return self._ended(reason, level)
            self.talk = (*self.talk, said, *after)
        return self._ended(reason)

    def _world(self, draft: Draft | None) -> World | None:
        return None if draft is None else world_of(draft, self.name, self.work.scenario, self.topic)

    def _faults(self, draft: Draft | None, world: World | None, faults: list[str]) -> tuple[Reason, list[str]]:
        if draft is None or world is None:
            return "invalid", faults
        broken = schema_faults(draft)
        if broken:
            return "invalid_tool_schema", broken
        found = world_faults(draft, world, self.work.effort.levels)
        if self.work.sides.simulator.mode == "offline" and not world.environment.executable:
            found.append("Each tool needs its `effect`: without it no code can play the environment.")
        return "invalid", found

    def _measure(self, number: int, draft: Draft, world: World, last: bool) -> tuple[Reason, int, tuple[Message, ...]]:
        """Run a version; return its reason, the level kept, and what the generator is told next."""
        work = self.work
        write_world(work.folder / VERSIONS / f"{self.name}.{number}", world)
        measured, trials = measure(world, work.sides, work.effort, work.folder / RUNS, work.concurrency)
        best = choose(measured)
        reason: Reason = "kept" if best else reason_of(measured)
        work.say(self.topic.id, f"version {number}: " + " ".join(sentences(measured)))
        diagnosis = None
        if best:
            kept = World(world.environment, tuple(task for task in world.tasks if task.level == best.level))
            write_world(work.folder / KEPT / self.name, kept)
        elif not last and reason != "infrastructure":
            diagnosis = self._diagnose(number, draft, sentences(measured), digests(work.folder / RUNS, trials))
        self.rounds.append(Round(number, (), tuple(measured), diagnosis))
        after = repair_message(diagnosis) if diagnosis else faults_message(sentences(measured))
        return reason, best.level if best else 0, (after,)

    def _diagnose(self, number: int, draft: Draft, found: list[str], runs: list[dict[str, object]]) -> Diagnosis | None:
        """Ask why; None where no answer can be read, and the bare figures have to do."""
        talk = diagnosis_messages(draft, found, runs)
        for attempt in range(_DIAGNOSIS_TRIES):
            answer, faults, said = self.work.ask(f"{self.topic.id}:why:{number}", attempt, talk, Diagnosis)
            if answer is not None or said is None:
                return answer
            talk = (*talk, said, faults_message(faults))
        return None

    def _ended(self, reason: Reason, level: int = 0) -> Candidate:
        return Candidate(self.topic.id, self.topic.title, self.name, reason, tuple(self.rounds), level)
