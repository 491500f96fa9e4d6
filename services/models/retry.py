"""The one retry loop: a deadline, full jitter, and RULE 3's choice between waiting, stopping and `unavailable`."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import msgspec

from services.models.classify import Fault
from services.models.gate import Gate
from services.models.ledger import Budget, Ledger
from services.models.wire import Attempt
from simulator.conversation import ModelRequest, ModelResponse
from simulator.errors import ModelOutage

ODD_ANSWERS = frozenset({"empty", "bad_shape"})
"""Faults that a single request can provoke in a healthy endpoint, again and again."""


class RetryPolicy(msgspec.Struct, frozen=True):
    """Seconds of waiting and counts.

    After `odd_answers` empty or shapeless answers a request is given up. After `losses_in_a_row` given-up requests
    without one answer between, the endpoint is taken for dead: otherwise an instant clock would burn months.
    """

    deadline_s: float = 1800.0
    base_s: float = 0.5
    cap_s: float = 60.0
    odd_answers: int = 4
    losses_in_a_row: int = 10


class Retrying:
    """A `Model` over an `Attempt`. Thread-safe.

    `monotonic` and `sleep` are in seconds; `uniform` draws from [0, 1). `worst_cost` bounds one attempt in millionths;
    it is reserved in `budget` before each. `on_fault` is told each fault with its attempt number, for the operator.
    """

    def __init__(
        self,
        inner: Attempt,
        *,
        monotonic: Callable[[], float],
        sleep: Callable[[float], None],
        uniform: Callable[[], float],
        policy: RetryPolicy | None = None,
        worst_cost: Callable[[ModelRequest], int] = lambda _request: 0,
        budget: Budget | None = None,
        ledger: Ledger | None = None,
        gate: Gate | None = None,
        on_fault: Callable[[ModelRequest, Fault, int], None] = lambda _request, _fault, _attempt: None,
    ) -> None:
        self._inner = inner
        self._monotonic = monotonic
        self._sleep = sleep
        self._uniform = uniform
        self._policy = policy or RetryPolicy()
        self.worst_cost = worst_cost
        self._budget = budget or Budget(None)
        self._ledger = ledger
        self._gate = gate
        self._on_fault = on_fault
        self._losses = 0
        self._lock = threading.Lock()

    def complete(self, request: ModelRequest) -> ModelResponse:
        """Answer `request`, waiting faults out.

        Raises `ModelOutage` past the deadline or when nobody's request can succeed, `BudgetExhausted` before it would
        overspend. The terminal fault of this one request is the answer `unavailable`, with a plain reason.
        """
        start = self._monotonic()
        faults: list[str] = []
        charged = 0
        while True:
            result, cost = self._try(request)
            if isinstance(result, ModelResponse):
                return self._answered(request, result, charged, faults)
            charged += cost
            faults.append(result.kind)
            self._on_fault(request, result, len(faults))
            if result.stops_everyone:
                raise ModelOutage(f"{result.reason} ({result.detail}); put it right and run again")
            odd = sum(kind in ODD_ANSWERS for kind in faults)
            if not result.retryable or odd >= self._policy.odd_answers:
                return self._lost(request, result, charged, faults)
            wait = self._wait(result, len(faults))
            waited = self._monotonic() - start
            if waited + wait > self._policy.deadline_s:
                raise ModelOutage(
                    f"{result.reason}: {len(faults)} attempts in {waited:.0f} s, the next not before {wait:.0f} s, "
                    f"with a deadline of {self._policy.deadline_s:.0f} s; last: {result.detail or result.kind}; "
                    "run again when it is back"
                )
            self._sleep(wait)

    def _try(self, request: ModelRequest) -> tuple[ModelResponse | Fault, int]:
        """Make one attempt under the gate and the budget; return it with what it cost."""
        place: AbstractContextManager[None] = self._gate.slot() if self._gate else nullcontext()
        with place:
            worst = self.worst_cost(request)
            self._budget.reserve(worst)
            # An attempt that dies on the way (interrupt, bug) may have been computed: it is charged at its worst.
            cost = worst
            began = self._monotonic()
            try:
                result = self._inner.attempt(request)
                if isinstance(result, ModelResponse):
                    cost = result.cost_micros
                    waited = round(1000 * (self._monotonic() - began))
                    result = msgspec.structs.replace(result, latency_ms=max(1, waited))
                elif not result.billable:
                    cost = 0
            finally:
                self._budget.settle(worst, cost)
        if self._gate and isinstance(result, ModelResponse):
            self._gate.went_well()
        elif self._gate and isinstance(result, Fault) and result.kind in ("rate_limit", "server", "timeout"):
            self._gate.was_limited()
        return result, cost

    def _wait(self, fault: Fault, attempt: int) -> float:
        """Return seconds to wait: full jitter under an exponential roof, on top of what the provider asked for."""
        roof = min(self._policy.cap_s, self._policy.base_s * 2.0 ** min(attempt - 1, 30))
        return (fault.retry_after_s or 0.0) + self._uniform() * roof

    def _answered(
        self, request: ModelRequest, response: ModelResponse, charged: int, faults: list[str]
    ) -> ModelResponse:
        with self._lock:
            self._losses = 0
        if charged:
            response = msgspec.structs.replace(response, cost_micros=response.cost_micros + charged)
        self._note(request, response, len(faults) + 1, faults)
        return response

    def _lost(self, request: ModelRequest, fault: Fault, charged: int, faults: list[str]) -> ModelResponse:
        with self._lock:
            self._losses += 1
            losses = self._losses
        if losses >= self._policy.losses_in_a_row:
            raise ModelOutage(
                f"{losses} requests in a row were lost without one answer between, the last because {fault.reason} "
                f"({fault.detail or fault.kind}); check that the endpoint and its settings fit, and run again"
            )
        response = ModelResponse(finish="unavailable", cost_micros=charged, detail=fault.reason)
        self._note(request, response, len(faults), faults)
        return response

    def _note(self, request: ModelRequest, response: ModelResponse, attempts: int, faults: list[str]) -> None:
        if self._ledger is not None:
            self._ledger.add(request, response, attempts, tuple(faults))
