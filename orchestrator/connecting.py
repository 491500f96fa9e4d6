"""From settings to models: one wire, gate and retry loop for each distinct endpoint, a model for each role."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack

import msgspec

from orchestrator.metering import Failures, Metered
from orchestrator.pacing import PacedGate
from orchestrator.settings import PRICES, ModelSettings
from services.models.by_role import ByRole
from services.models.classify import Fault
from services.models.connect import Surroundings, wire_of
from services.models.endpoint import Endpoint
from services.models.gate import Gate
from services.models.ledger import Budget, require_prices
from services.models.retry import Retrying, RetryPolicy
from services.models.wire import OpenAIWire
from services.offline import OfflineProfessional
from services.storage.writer import StoredJournal
from simulator.conversation import Message, ModelRequest, ModelResponse, Role
from simulator.engine.environment import free_of_charge
from simulator.errors import InfrastructureError, UsageError
from simulator.ports import Model

OFFICE: tuple[Role, ...] = ("principal", "client", "assistant", "world")
"""The roles that a running office asks."""
GENERATOR: tuple[Role, ...] = ("generator",)
LONGEST_CHECK_S = 60.0
_WRONG = frozenset(
    {"auth", "not_found", "misconfigured", "not_json", "bad_shape", "bad_request", "unsupported", "error_body"}
)
_DOWN = frozenset({"connection", "timeout", "quota"})


class Line(msgspec.Struct, frozen=True):
    """A distinct endpoint and the roles it answers for."""

    settings: ModelSettings
    roles: tuple[Role, ...]

    @property
    def label(self) -> str:
        """Say what it is, without its key."""
        return f"{self.settings.name} at {self.settings.url} ({', '.join(self.roles)})"

    def hidden(self, text: str) -> str:
        """Return provider text without the key, which some providers repeat."""
        key = self.settings.key
        return text.replace(key, "[key]") if key else text


class Discreet:
    """An `Attempt` whose faults never show the key of its endpoint."""

    def __init__(self, wire: OpenAIWire, line: Line) -> None:
        self._wire = wire
        self._line = line

    def attempt(self, request: ModelRequest) -> ModelResponse | Fault:
        """Ask once."""
        result = self._wire.attempt(request)
        if isinstance(result, Fault):
            return msgspec.structs.replace(result, detail=self._line.hidden(result.detail))
        return result


class Tried(msgspec.Struct, frozen=True):
    """A call made to see whether an endpoint answers: it is paid for like any other, so an office's record holds it.

    `response` is None where it got none and goes on nevertheless; `charged` is then what that may have cost.
    """

    request: ModelRequest
    response: ModelResponse | None
    charged: int

    @property
    def micros(self) -> int:
        """What it cost, in millionths."""
        return self.charged if self.response is None else self.response.cost_micros


class Connected:
    """A model with its price: `worst_case` of a call, and what its `failures` may have cost, in millionths.

    `parts` are the models of the roles with their names, where there are several.
    """

    def __init__(
        self,
        model: Model,
        worst_case: Callable[[ModelRequest], int] = free_of_charge,
        failures: Failures | None = None,
        parts: Mapping[Role, tuple[str, Model]] | None = None,
    ) -> None:
        self.model = model
        self.worst_case = worst_case
        self.failures = failures
        self._parts = dict(parts or {})

    def watched(self, wrap: Callable[[Model, str], Model]) -> Connected:
        """Return it with each role's model passed through `wrap`, which is told the model's name too."""
        by_role: dict[str, Model] = {role: wrap(model, name) for role, (name, model) in self._parts.items()}
        model = ByRole(by_role) if by_role else wrap(self.model, "")
        return Connected(model, self.worst_case, self.failures)

    def metered(self, journal: StoredJournal) -> Model:
        """Return the model as an office's run asks it: what got no answer is charged for what it was, no more."""
        return self.model if self.failures is None else Metered(self.model, journal, self.failures)


def lines(models: Mapping[Role, ModelSettings]) -> list[Line]:
    """Return the distinct endpoints of some roles, the offline professional aside, in the order of the roles."""
    by: dict[ModelSettings, list[Role]] = {}
    for role, settings in models.items():
        if not settings.offline:
            by.setdefault(settings, []).append(role)
    return [Line(settings, tuple(roles)) for settings, roles in by.items()]


def require_price(models: Mapping[Role, ModelSettings]) -> None:
    """Raise UsageError where a budget in money could promise nothing: the price of some role's model is not known."""
    endpoints: dict[str, Endpoint] = {
        role: settings.endpoint() for role, settings in models.items() if not settings.offline
    }
    try:
        require_prices(0, endpoints)
    except UsageError as fault:
        raise UsageError(f"{fault} (for all roles at once: {' and '.join(PRICES.values())})") from None


def connect(
    models: Mapping[Role, ModelSettings],
    around: Surroundings,
    made: ExitStack,
    budget: Budget | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> Connected:
    """Return the models of some roles as one. `say` is told of faults that are being waited out.

    All share one budget; each distinct endpoint has its own gate and retry loop. `made` closes the connections.
    """
    gates: dict[tuple[object, ...], Gate] = {}
    wires: dict[Role, OpenAIWire] = {}
    parts: dict[Role, tuple[str, Model]] = {}

    def worst_case(request: ModelRequest) -> int:
        wire = wires.get(request.role)
        return wire.worst_cost(request) if wire is not None else 0

    failures = Failures(worst_case)

    def on_fault(request: ModelRequest, fault: Fault, attempt: int) -> None:
        failures.on_fault(request, fault, attempt)
        say(f"The model does not answer ({fault.reason}), attempt {attempt} for {request.call[0]}.")

    for line in lines(models):
        s = line.settings
        wire = wire_of(s.endpoint(), around)
        made.callback(wire.close)
        gate = gates.setdefault((s.url, s.name, s.key, s.concurrency, s.rate), gate_of(s, around))
        model = Retrying(
            Discreet(wire, line), monotonic=around.monotonic, sleep=around.sleep, uniform=around.uniform,
            policy=RetryPolicy(deadline_s=s.outage_s), worst_cost=wire.worst_cost, budget=budget, gate=gate, on_fault=on_fault,
        )  # fmt: skip
        wires |= dict.fromkeys(line.roles, wire)
        parts |= dict.fromkeys(line.roles, (s.name, model))
    if not parts:
        return Connected(OfflineProfessional())
    offline = OfflineProfessional()
    parts |= {role: ("offline", offline) for role, settings in models.items() if settings.offline}
    return Connected(ByRole({role: model for role, (_, model) in parts.items()}), worst_case, failures, parts)


def gate_of(settings: ModelSettings, around: Surroundings) -> Gate:
    """Return the gate of an endpoint."""
    if settings.rate:
        return PacedGate(settings.concurrency, settings.rate, around.monotonic, around.sleep)
    return Gate(settings.concurrency)


# -- one tiny call before anything starts -----------------------------------------------------------------------------


def check(
    found: Iterable[Line],
    around: Surroundings,
    left: int | None = None,
    say: Callable[[str], None] = lambda text: None,
    journal: StoredJournal | None = None,
) -> tuple[Tried, ...]:
    """Ask each endpoint one tiny question; return the calls made.

    What only passes is said and let pass: the run waits it out. `left` is what a budget leaves, in millionths; an
    endpoint that it does not suffice for is not asked. In `journal` each call is begun at its worst case before it is
    made and noted after it, as any other: a process that dies in between has it on its books (RULE 2).

    Raises:
        UsageError: a wrong key, model or address. InfrastructureError: nobody answers there, or the credit is used up.
    """
    tried: list[Tried] = []
    for number, line in enumerate(found, 1):
        short = msgspec.structs.replace(
            line.settings.endpoint(), timeout_s=min(line.settings.timeout_s, LONGEST_CHECK_S)
        )
        wire = wire_of(short, around)
        # The time tells one run's calls from another's; it is no part of the log.
        request = _tiny(line.roles[0], f"check.{int(around.now() * 1000)}", number)
        try:
            worst = 2 * wire.worst_cost(request)
            if left is not None and worst > left:
                continue
            if journal is not None:
                journal.begin_call(request, worst)
            call, fault = _asked(wire, line, request)
        finally:
            wire.close()
        left = left - call.micros if left is not None else None
        tried.append(call)
        if journal is not None:
            _note(journal, call)
        if fault is not None:
            _judge(line, fault, say)
    return tuple(tried)


def _asked(wire: OpenAIWire, line: Line, request: ModelRequest) -> tuple[Tried, Fault | None]:
    """Ask once, and once more where the fault may pass; return the call and the fault that stands, if one does."""
    asker = Discreet(wire, line)
    result, charged = asker.attempt(request), 0
    if isinstance(result, Fault) and result.retryable:
        charged += wire.worst_cost(request) if result.billable else 0
        result = asker.attempt(request)
    if isinstance(result, ModelResponse):
        answered = msgspec.structs.replace(result, cost_micros=result.cost_micros + charged)
        return Tried(request, answered, 0), None
    charged += wire.worst_cost(request) if result.billable else 0
    return Tried(request, None, charged), result


def _note(journal: StoredJournal, call: Tried) -> None:
    if call.response is not None:
        journal.record([(call.request, call.response)])
    else:
        journal.release_call(call.request, call.charged)


def _judge(line: Line, fault: Fault, say: Callable[[str], None]) -> None:
    if fault.kind in _WRONG:
        raise UsageError(obstacle(line, fault))
    if fault.kind in _DOWN:
        raise InfrastructureError(obstacle(line, fault))
    say(f"{line.label}: {fault.reason} just now; it is waited for.")


def obstacle(line: Line, fault: Fault) -> str:
    """Say in one line what stands in the way of an endpoint, and what to look at."""
    key = line.settings.key_env or "the key's variable"
    advice = {
        "auth": f"Check {key}.",
        "quota": "Its account needs credit.",
        "not_found": "Check the model's name, and that the address ends as its documentation says, mostly in /v1.",
        "connection": "Check the address, and that a server listens there.",
        "timeout": f"It is asked for at most {LONGEST_CHECK_S:.0f} s; --no-check starts without asking.",
        "misconfigured": "Check the address and the key.",
    }.get(fault.kind, "Check that it is the address of an OpenAI-compatible endpoint, mostly ending in /v1.")
    detail = f" ({line.hidden(fault.detail)})" if fault.detail else ""
    return f"{line.label}: {fault.reason}{detail}. {advice}"


def _tiny(role: Role, activation: str, number: int) -> ModelRequest:
    messages = (Message("system", "You are being tried out. Be brief."), Message("user", "Answer with the word ready."))
    return ModelRequest(role, (activation, number), "check", messages, max_output=512)
