"""The types of language environments: what is simulated, what is asked, what went wrong by design, what was recorded.

An *environment* is rules, tools, an initial state and words for its fields. A *task* asks something of an agent in it.
A *trial* is one attempt of one agent at one task under one simulator and one fault plan; its *steps* are the calls the
agent made with all that code found out about them. Everything here is a frozen value that reads and writes as JSON.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from simulator.canonical import canonical, sha256
from simulator.conversation import Usage

Rendering = Literal["verbatim", "clean"]
"""How the simulator is told its environment: the source's own prompt byte for byte, or rendered from the fields."""
SimulatorMode = Literal["stateful", "stateless", "offline", "examples"]
"""`stateful`: a model answers with observation and state patch, both checked. `stateless`: a model answers with an
observation alone, as the original harness does. `offline`: declared effects, by code. `examples`: the tools' example
outputs; never scored."""
FaultLevel = Literal["E0", "E1", "E2", "E3"]
FaultMode = Literal["code", "prompt"]
FaultKind = Literal[
    "http_500", "timeout", "connection_refused", "service_unavailable",
    "truncated", "missing_entries", "null", "stale_cache",
    "contradicts_schema", "stale_snapshot", "unknown_entity",
]  # fmt: skip
EXPLICIT: tuple[FaultKind, ...] = ("http_500", "timeout", "connection_refused", "service_unavailable")
"""E1: the agent sees an error."""
IMPLICIT: tuple[FaultKind, ...] = ("truncated", "missing_entries", "null", "stale_cache")
"""E2: the answer is worse than it should be and does not say so."""
SEMANTIC: tuple[FaultKind, ...] = ("contradicts_schema", "stale_snapshot", "unknown_entity")
"""Deeper E2: a value that parses but breaks the schema, the state of 24 hours ago, an entity that is nowhere."""
FaultCause = Literal["scheduled", "cascade", "stage"]
Outcome = Literal["passed", "failed", "invalid", "infra_error"]
"""`invalid`: nothing could be judged (no criteria, a simulator that could not be brought to answer, an unscored mode).
`infra_error`: a provider or the machine failed. Neither is ever a score."""
CallStatus = Literal["answered", "unknown_tool", "bad_arguments", "faulted"]
DetectionKind = Literal[
    "prose", "bad_json", "bad_patch", "bad_observation", "undeclared_field", "state_leaked", "state_dropped",
    "state_growth", "dangling_reference", "broken_invariant", "fabricated_entity", "omitted_entity", "invented_rule",
    "ignored_rule", "forgotten_change",
]  # fmt: skip
"""What a simulator did wrong. The three published failure modes are fabricated_entity, omitted_entity, invented_rule."""
FailureLabel = Literal[
    "no_calls", "precondition_unchecked", "verification_skipped", "subgoal_missing", "out_of_order",
    "gave_up_at_first_error", "extrapolated_from_truncated", "repeated_calls", "unknown_tool", "bad_arguments",
    "claimed_without_calling", "claimed_on_empty", "step_limit",
]  # fmt: skip
"""How an agent failed, where its trajectory shows it by code."""
ClaimStatus = Literal["not_called", "called_but_empty", "called_and_seen"]
CriterionKind = Literal["judge", "state", "called"]
DEFAULT_TODAY = "2025-01-15"
"""The date of tasks that state none."""
AGENT_STEPS = 200
"""Most tool calls of an agent, as in the paper's harness."""


# -- environments ------------------------------------------------------------------------------------------------------


class Check(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A precondition: where `must` does not hold, the call is refused with `error` (a text with `{names}`)."""

    must: Any
    error: str
    code: str = ""


class PatchRule(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One change of the state: an RFC 6902 operation whose `path` has `{names}` and whose `value` is an expression.

    `when` makes it conditional.
    """

    op: Literal["add", "replace", "remove"]
    path: str
    value: Any = None
    when: Any = True


class Effect(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What a tool does, in the language of `docs/worlds.md`: names, preconditions, changes, and what it returns."""

    let: dict[str, Any] = {}
    checks: tuple[Check, ...] = ()
    patch: tuple[PatchRule, ...] = ()
    returns: Any = None


class LookFirst(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Before its tool acts, one of `tools` should have been called, with the same value of the arguments `same`."""

    tools: tuple[str, ...]
    same: tuple[str, ...] = ()


class Tool(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A tool an agent may call. `parameters` is a JSON Schema of type object; `example_output` shows the answer's shape.

    `depends_on` are the tools whose faults make faults here likelier (cascades). `look_first` and `verify_with` say
    what care looks like, for failure labels. `creates` and `removes` are pointers of collections in the state that
    the tool may extend or shorten. All of these and `effect` are None or empty where nobody declared them.
    """

    name: str
    description: str
    parameters: dict[str, Any]
    example_output: Any = None
    effect: Effect | None = None
    depends_on: tuple[str, ...] = ()
    look_first: LookFirst | None = None
    verify_with: tuple[str, ...] = ()
    creates: tuple[str, ...] = ()
    removes: tuple[str, ...] = ()

    @property
    def acts(self) -> bool | None:
        """Whether it changes the state; None where no effect is declared."""
        return None if self.effect is None else bool(self.effect.patch)


class Invariant(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What holds of every state: `must` is an expression. `text` says it to people and simulators."""

    id: str
    text: str
    must: Any


class Reference(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Values at `path` (a pointer with `*` for any key) name keys of the collection at the pointer `to`, or are null."""

    path: str
    to: str


class Stage(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A stage of the work, for faults that wait for it: entered when one of `enter_on` has been called.

    `fault` strikes the first call in this stage of one of `strike` (any tool if empty).
    """

    id: str
    enter_on: tuple[str, ...]
    strike: tuple[str, ...] = ()
    fault: FaultKind = "service_unavailable"


class Environment(msgspec.Struct, frozen=True, omit_defaults=True):
    """A language environment. `name` is its folder or the source's `env_...`; `source` says whose it is.

    `rules` is what a simulator must follow. `prompt` is the source's own system prompt, kept for the verbatim
    rendering. `rendering` is the one in use. `collections` are the pointers of maps of entities by id.
    `notes` are the importer's findings (quirks), in plain sentences.
    """

    name: str
    rules: str
    tools: tuple[Tool, ...]
    initial_state: dict[str, Any]
    fields: dict[str, str] = {}
    title: str = ""
    industry: str = ""
    domain: str = ""
    invariants: tuple[Invariant, ...] = ()
    references: tuple[Reference, ...] = ()
    collections: tuple[str, ...] = ()
    stages: tuple[Stage, ...] = ()
    source: Literal["own", "imported", "synthesized"] = "own"
    rendering: Rendering = "clean"
    prompt: str = ""
    today: str = DEFAULT_TODAY
    notes: tuple[str, ...] = ()

    @property
    def hash(self) -> str:
        """SHA-256 of all that it is: part of every run's fingerprint."""
        return sha256(canonical(self))

    @property
    def executable(self) -> bool:
        """Whether every tool declares its effect, so that code alone can run it."""
        return bool(self.tools) and all(tool.effect is not None for tool in self.tools)

    def tool(self, name: str) -> Tool | None:
        """Return the tool of that name, or None."""
        return next((tool for tool in self.tools if tool.name == name), None)


class Criterion(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One thing a passing run has done.

    `judge`: a panel reads the trajectory, the claims and the final state. `state`: the expression `must` holds of the
    final state. `called`: each tool of `evidence` answered the agent at least once without a fault. A judge's yes also
    needs every tool of `evidence` called and seen: nobody is believed about what he never looked at.
    """

    id: str
    text: str
    kind: CriterionKind = "judge"
    must: Any = None
    evidence: tuple[str, ...] = ()
    required: bool = True


class Task(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is asked of an agent in an environment.

    `plan` is a solution in words, shown to nobody under test. `rubric` is the imported free text, judged whole as the
    single criterion `rubric`. `subgoals` are groups of tool names in the order in which they should first succeed.
    `script` is a list of calls that solves it, where somebody wrote one: `[{"tool": ..., "arguments": {...}}, ...]`.
    """

    id: str
    environment: str
    instruction: str
    scenario: str = ""
    industry: str = ""
    domain: str = ""
    level: int = 1
    plan: str = ""
    rubric: str = ""
    criteria: tuple[Criterion, ...] = ()
    subgoals: tuple[tuple[str, ...], ...] = ()
    script: tuple[dict[str, Any], ...] = ()
    report: str = ""
    """What the solving script says at the end."""
    agent_turns: int = AGENT_STEPS
    today: str = ""

    @property
    def hash(self) -> str:
        """SHA-256 of all that it is."""
        return sha256(canonical(self))


class World(msgspec.Struct, frozen=True):
    """An environment with its tasks: what a folder holds."""

    environment: Environment
    tasks: tuple[Task, ...]


# -- faults ------------------------------------------------------------------------------------------------------------


class FaultPlan(msgspec.Struct, frozen=True, omit_defaults=True):
    """Which faults a run meets: the same for every agent.

    `count` events of `duration` consecutive tool calls each, spaced over the first `horizon` calls. `cascade_percent`
    is the chance of a fault in a tool that depends on one struck within the last `duration` calls. `semantic` adds the
    semantic kinds to E2 and E3. `stages` lets an environment's stages strike. `mode` `prompt` asks the simulator to
    make the faults up, as the original does: unseeded and unlogged.
    """

    level: FaultLevel = "E0"
    seed: int = 1
    count: int = 2
    duration: int = 2
    horizon: int = 16
    cascade_percent: int = 0
    semantic: bool = False
    stages: bool = False
    mode: FaultMode = "code"


class Fault(msgspec.Struct, frozen=True, omit_defaults=True):
    """A fault that struck one call. `event` counts events from 1 (0 for cascades and stages); `cause` says why."""

    kind: FaultKind
    cause: FaultCause = "scheduled"
    event: int = 0
    note: str = ""

    @property
    def explicit(self) -> bool:
        """Whether the agent was told."""
        return self.kind in EXPLICIT


# -- what is recorded --------------------------------------------------------------------------------------------------


class Detection(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something the simulator did wrong at a step. `repaired`: its second answer did not have it."""

    kind: DetectionKind
    text: str
    repaired: bool = False


class Step(msgspec.Struct, frozen=True, omit_defaults=True):
    """One tool call of the agent. `number` counts calls from 1; `turn` the agent's model calls.

    `arguments` is the decoded object, or None where it was none; `raw` is then what was sent. `observation` is what
    the agent saw; `before_fault` what it would have seen. `patch` is RFC 6902; `state_hash` is of the state after.
    `schema_faults` say why arguments were refused. `empty`: the observation holds no finding.
    """

    number: int
    turn: int
    tool: str
    arguments: dict[str, Any] | None
    status: CallStatus
    observation: Any
    state_hash: str
    schema_faults: tuple[str, ...] = ()
    fault: Fault | None = None
    before_fault: Any = None
    patch: tuple[dict[str, Any], ...] = ()
    detections: tuple[Detection, ...] = ()
    retried: bool = False
    error: bool = False
    """The observation is an error, of the environment's own or of a fault."""
    empty: bool = False
    raw: str = ""


class Claim(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the agent's final words say of a tool's subject, and whether it was called and seen."""

    tool: str
    status: ClaimStatus
    text: str = ""
    """The sentence, or the words of it that name the subject; empty where only the criterion asks for it."""


class Vote(msgspec.Struct, frozen=True, omit_defaults=True):
    """One judge's verdict on one criterion. `met` is None where it could not be read."""

    criterion: str
    judge: int
    met: bool | None
    reason: str = ""


class Verdict(msgspec.Struct, frozen=True, omit_defaults=True):
    """What was decided of one criterion, by the majority of `votes` or by code, and why it was overruled if it was."""

    criterion: str
    met: bool | None
    by: Literal["panel", "state", "called"]
    votes: tuple[Vote, ...] = ()
    overruled: str = ""
    required: bool = True


class Side(msgspec.Struct, frozen=True, omit_defaults=True):
    """Who plays a role: a name of ours (`model`, `offline`, `scripted`, `nop`...), and the model behind it if any."""

    name: str
    model: str = ""
    effort: str = ""
    endpoint: str = ""
    """The endpoint's name or host: never a key."""
    version: str = ""
    """Of an agent of one's own: what its file holds, as a hash."""


class Settings(msgspec.Struct, frozen=True):
    """All that a trial's result depends on but the attempt's number. Two different settings never share a result."""

    harness: str
    environment: str
    """Its hash, rendering included."""
    task: str
    agent: Side
    simulator: Side
    simulator_mode: SimulatorMode
    verifier: Side
    votes: int
    faults: FaultPlan
    agent_turns: int
    limits: dict[str, int] = {}
    with_plan: bool = False
    """Whether the agent was shown the solution plan: for synthesis, never in a benchmark."""

    @property
    def fingerprint(self) -> str:
        """32 hex digits of the hash of all settings."""
        return sha256(canonical(self))[:32]


class Trial(msgspec.Struct, frozen=True, omit_defaults=True):
    """One attempt, done. Its steps are in the trial's journal, named by `settings` and `attempt`.

    `passed` is None unless it was scored. `steps` counts tool calls, `turns` the agent's model calls, `faults` the
    calls struck. `final` is what the agent said last. Money is in millionths.
    """

    task: str
    environment: str
    agent: Side
    simulator: Side
    verifier: Side
    fault_level: FaultLevel
    attempt: int
    outcome: Outcome
    settings: str
    simulator_mode: SimulatorMode = "stateful"
    scenario: str = ""
    industry: str = ""
    domain: str = ""
    level: int = 1
    verdicts: tuple[Verdict, ...] = ()
    claims: tuple[Claim, ...] = ()
    labels: tuple[FailureLabel, ...] = ()
    detections: dict[str, int] = {}
    steps: int = 0
    turns: int = 0
    faults: int = 0
    usage: dict[str, Usage] = {}
    """Tokens by role: agent, simulator, verifier."""
    cost_micros: int = 0
    milliseconds: int = 0
    final: str = ""
    note: str = ""
    state_hash: str = ""

    @property
    def passed(self) -> bool | None:
        """True or False where it was scored, None where it was not."""
        return {"passed": True, "failed": False}.get(self.outcome)
