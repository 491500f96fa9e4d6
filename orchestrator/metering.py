"""What a call that got no answer is charged (RULE 2): what its failed attempts may have cost, not its worst case.

The worst case noted before a call is for a crash, after which nobody knows what happened. Here it is known. While a
call is tried again, what its failed attempts may have cost is noted too, on top of the worst case of the next.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from services.models.classify import Fault
from services.storage.writer import StoredJournal
from simulator.conversation import ModelRequest, ModelResponse
from simulator.engine.environment import Parked
from simulator.errors import OfficeTownError
from simulator.ports import Model


class Failures:
    """Adds up what failed attempts may have been billed, by call. Thread-safe; `on_fault` fits `connect`.

    `noted` is told, before the next attempt, what a call may have cost by its end should the process die in it.
    """

    def __init__(
        self,
        worst_case: Callable[[ModelRequest], int],
        noted: Callable[[ModelRequest, int], None] = lambda _request, _micros: None,
    ) -> None:
        self._worst_case = worst_case
        self.noted = noted
        self._charged: dict[tuple[str, int], int] = {}
        self._lock = threading.Lock()

    def on_fault(self, request: ModelRequest, fault: Fault, _attempt: int) -> None:
        """Note one failed attempt."""
        worst = self._worst_case(request)
        if fault.billable and worst:
            with self._lock:
                charged = self._charged[request.call] = self._charged.get(request.call, 0) + worst
            self.noted(request, charged + worst)

    def take(self, request: ModelRequest) -> int:
        """Return, once, what a call's failed attempts may have cost, in millionths."""
        with self._lock:
            return self._charged.pop(request.call, 0)


class Metered:
    """Passes calls on to `model`; a call that ends without an answer is released in the journal."""

    def __init__(self, model: Model, journal: StoredJournal, failures: Failures) -> None:
        self._model = model
        self._journal = journal
        self._failures = failures
        failures.noted = journal.release_call

    def complete(self, request: ModelRequest) -> ModelResponse:
        """Answer, or note what the attempt cost and raise what the model raised."""
        try:
            response = self._model.complete(request)
        except (OfficeTownError, Parked):
            self._journal.release_call(request, self._failures.take(request))
            raise
        self._failures.take(request)
        return response
