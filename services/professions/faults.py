"""What a reviewer finds: faults in words that help a colleague mend them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from services.professions.amounts import same
from services.professions.base import Outcome, Profession

Severity = Literal["high", "medium", "low"]
Fix = Literal["revise", "supplement"]
RANK = {"high": 0, "medium": 1, "low": 2}


class Fault(msgspec.Struct, frozen=True):
    """One fault. `where` is a cell (`Summary!B4`), a line (`line 12`) or a sheet; empty for the file as a whole.

    `fix` is `supplement` where something is missing and the rest can stay, `revise` where something is wrong.
    """

    severity: Severity
    file: str
    where: str
    text: str
    fix: Fix = "revise"

    def __str__(self) -> str:
        place = f"{self.file}, {self.where}" if self.where else self.file
        return f"{place}: {self.text}"


class Case(msgspec.Struct, frozen=True):
    """What is reviewed: the work, what must come out of it, and what would come out if the prior were ignored."""

    profession: Profession
    period: str
    outcome: Outcome
    without_prior: Mapping[str, str]

    def slip(self, label: str, value: str) -> str:
        """Return words for why a figure is wrong, where leaving out the prior period explains it."""
        ignored = self.without_prior.get(label)
        return " (the prior period's result was left out)" if ignored is not None and same(value, ignored) else ""


def listed(names: list[str], most: int = 6) -> str:
    """Return names as a list in words, the first few of many."""
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
