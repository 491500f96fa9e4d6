"""A model that takes its time, on purpose: for tests that results do not depend on latency, and for benchmarks."""

from __future__ import annotations

from collections.abc import Callable

from simulator.conversation import ModelRequest, ModelResponse
from simulator.ports import Model
from simulator.randomness import Stream


class Delayed:
    """Passes requests on to `model` after `sleep(latency(request))`, in seconds."""

    def __init__(self, model: Model, latency: Callable[[ModelRequest], float], sleep: Callable[[float], None]) -> None:
        self._model = model
        self._latency = latency
        self._sleep = sleep

    def complete(self, request: ModelRequest) -> ModelResponse:
        """Wait, then answer."""
        self._sleep(self._latency(request))
        return self._model.complete(request)


def heavy_tail(seed: int, median_s: float, shape: float = 1.5, cap_s: float = 60.0) -> Callable[[ModelRequest], float]:
    """Return a Pareto latency with the given median: most calls are quick, a few take many times as long.

    Drawn from (seed, call), so a call takes equally long in whichever thread and order it is made.
    """
    scale = median_s / 2.0 ** (1.0 / shape)

    def latency(request: ModelRequest) -> float:
        draw = (Stream(seed, "latency", *request.call).bits() + 1) / 2.0**64
        return float(min(scale * draw ** (-1.0 / shape), cap_s))

    return latency
