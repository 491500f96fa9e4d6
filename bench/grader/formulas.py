"""Recalculation of formulas. A snapshot carries the modules of `services/documents` themselves in place of this file."""

from __future__ import annotations

from services.documents.formulas import Problem, Value, evaluate

__all__ = ["Problem", "Value", "evaluate"]
