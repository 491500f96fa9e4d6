"""Recalculation of formulas. A snapshot carries `services/documents/formulas.py` itself in place of this file."""

from __future__ import annotations

from services.documents.formulas import Problem, Value, evaluate

__all__ = ["Problem", "Value", "evaluate"]
