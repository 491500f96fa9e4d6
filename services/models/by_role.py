"""A model for each role: principals may think with one, judges with another."""

from __future__ import annotations

from collections.abc import Mapping

from simulator.conversation import ModelRequest, ModelResponse
from simulator.errors import UsageError
from simulator.ports import Model


class ByRole:
    """Passes each request to the model of its role; `other`, if given, answers for roles without one."""

    def __init__(self, models: Mapping[str, Model], other: Model | None = None) -> None:
        self._models = dict(models)
        self._other = other

    def complete(self, request: ModelRequest) -> ModelResponse:
        """Answer by the role's model. Raises `UsageError` if there is none: no other is asked in its place."""
        model = self._models.get(request.role, self._other)
        if model is None:
            known = ", ".join(sorted(self._models)) or "no role"
            raise UsageError(f"no model is set for the role {request.role!r} (there is one for {known})")
        return model.complete(request)
