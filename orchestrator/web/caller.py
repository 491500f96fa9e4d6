"""Who calls: the operator, or a person of one office."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

import msgspec

_KEY = "officetown.caller"


class Caller(msgspec.Struct, frozen=True):
    """The operator where `person` is empty; else that person of that office, who may see and do what they may there."""

    office: str = ""
    person: str = ""

    @property
    def operator(self) -> bool:
        return not self.person


OPERATOR = Caller()


def caller_of(scope: MutableMapping[str, Any]) -> Caller | None:
    """Return who calls, once the guard has found out."""
    found = scope.get(_KEY)
    return found if isinstance(found, Caller) else None


def known(scope: MutableMapping[str, Any], caller: Caller) -> None:
    """Note who calls."""
    scope[_KEY] = caller
