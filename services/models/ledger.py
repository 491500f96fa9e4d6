"""Money and tokens: a budget that is never overspent, and a ledger of who used what."""

from __future__ import annotations

import threading
from collections.abc import Callable

import msgspec

from services.models.endpoint import Endpoint
from simulator.conversation import ModelRequest, ModelResponse, Usage
from simulator.errors import BudgetExhausted, UsageError


class Budget:
    """A limit in millionths of a currency, or None for no limit. Thread-safe.

    At every moment spent + in flight at its worst case <= limit, as long as no settlement exceeds its reservation.
    """

    def __init__(self, limit_micros: int | None, spent_micros: int = 0) -> None:
        if limit_micros is not None and limit_micros < 0:
            raise UsageError(f"a budget of {limit_micros} millionths: it must be at least 0")
        self._limit = limit_micros
        self._spent = spent_micros
        self._flying = 0
        self._changed = threading.Condition()

    @property
    def spent(self) -> int:
        """Millionths settled so far."""
        return self._spent

    @property
    def in_flight(self) -> int:
        """Millionths reserved and not yet settled."""
        return self._flying

    def reserve(self, worst_micros: int, wait: bool = True) -> None:
        """Set `worst_micros` aside for one call.

        Raises `BudgetExhausted` if it does not fit. With `wait`, what is in flight is let land first: it usually costs
        far less than its worst case. Waiting ends, as every call in flight is bounded in time.
        """
        with self._changed:
            while self._limit is not None and self._spent + self._flying + worst_micros > self._limit:
                if not wait or self._flying == 0:
                    left = self._limit - self._spent - self._flying
                    raise BudgetExhausted(
                        f"the budget of {money(self._limit)} leaves {money(left)}, and the next model call may cost "
                        f"up to {money(worst_micros)}; run again with a larger --budget"
                    )
                self._changed.wait()
            self._flying += worst_micros

    def settle(self, worst_micros: int, actual_micros: int) -> None:
        """Replace a reservation of `worst_micros` by what the call really cost."""
        with self._changed:
            self._flying -= worst_micros
            self._spent += actual_micros
            self._changed.notify_all()


def money(micros: int) -> str:
    """Return millionths as a decimal number with four places, rounded half away from zero."""
    sign = "-" if micros < 0 else ""
    whole, part = divmod((abs(micros) + 50) // 100, 10_000)
    return f"{sign}{whole}.{part:04d}"


def require_prices(budget_micros: int | None, endpoints: dict[str, Endpoint]) -> None:
    """Refuse a budget in money while some role's endpoint has no price: nothing could be promised.

    `endpoints` maps role names to endpoints. Raises `UsageError` naming every role without a price.
    """
    missing = sorted(role for role, endpoint in endpoints.items() if endpoint.prices is None)
    if budget_micros is not None and missing:
        raise UsageError(
            f"a budget needs the price of every model, and there is none for: {', '.join(missing)}; "
            "set the prices in officetown.toml, or run without --budget"
        )


class Entry(msgspec.Struct, frozen=True):
    """One answered call. `attempts` counts every try, the last included; `faults` their kinds in order."""

    role: str
    session: str
    activation: str
    ordinal: int
    model: str
    finish: str
    usage: Usage
    cost_micros: int
    attempts: int = 1
    faults: tuple[str, ...] = ()


class Total(msgspec.Struct, frozen=True):
    """A sum of entries. Tokens as providers count them; money in millionths."""

    calls: int = 0
    attempts: int = 0
    input: int = 0
    cached: int = 0
    output: int = 0
    reasoning: int = 0
    cost_micros: int = 0

    def plus(self, entry: Entry) -> Total:
        """Return the total with `entry` in it."""
        used = entry.usage
        return Total(
            self.calls + 1,
            self.attempts + entry.attempts,
            self.input + used.input,
            self.cached + used.cached,
            self.output + used.output,
            self.reasoning + used.reasoning,
            self.cost_micros + entry.cost_micros,
        )


class Ledger:
    """What was used, call by call. Thread-safe; `by` groups entries, so the caller says what a person or task is."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._lock = threading.Lock()

    def add(
        self, request: ModelRequest, response: ModelResponse, attempts: int = 1, faults: tuple[str, ...] = ()
    ) -> None:
        """Record one answered call."""
        activation, ordinal = request.call
        entry = Entry(
            request.role, request.session, activation, ordinal, response.model, response.finish, response.usage,
            response.cost_micros, attempts, faults,
        )  # fmt: skip
        with self._lock:
            self._entries.append(entry)

    def entries(self) -> tuple[Entry, ...]:
        """Return all entries, ordered by activation and ordinal: threads do not show."""
        with self._lock:
            return tuple(sorted(self._entries, key=lambda e: (e.activation, e.ordinal, e.attempts, e.faults)))

    def totals(self, by: Callable[[Entry], str] = lambda entry: entry.role) -> dict[str, Total]:
        """Return the totals of groups, in order of their names."""
        out: dict[str, Total] = {}
        for entry in self.entries():
            name = by(entry)
            out[name] = out.get(name, Total()).plus(entry)
        return dict(sorted(out.items()))
