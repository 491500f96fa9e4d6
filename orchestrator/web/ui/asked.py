"""What a page is asked for."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from orchestrator.web.book import Book
from orchestrator.web.caller import Caller
from orchestrator.web.offices import Clock
from orchestrator.web.parts import Parts
from simulator.errors import UsageError
from simulator.office import Office


class Ask(msgspec.Struct, frozen=True):
    """What a page's `load` is given. `query` holds the address's parameters, those of its path included.

    `book` and `office` are there on a page of an office: the office as of the moment that is looked at.
    """

    parts: Parts
    caller: Caller
    query: Mapping[str, str]
    opened: Book | None = None
    state: Office | None = None
    live: bool = True
    clock: Clock = Clock("still")

    @property
    def book(self) -> Book:
        """The office's book. Raises UsageError on a page of no office."""
        if self.opened is None:
            raise UsageError("This page belongs to no office.")
        return self.opened

    @property
    def office(self) -> Office:
        """The office as of the moment looked at. Raises UsageError on a page of no office."""
        if self.state is None:
            raise UsageError("This page belongs to no office.")
        return self.state

    def get(self, name: str, otherwise: str = "") -> str:
        """Return a parameter of the address."""
        return self.query.get(name, otherwise)

    def number(self, name: str, otherwise: int = 0, most: int = 10_000_000) -> int:
        """Return a parameter that is a whole number from 0 to `most`; `otherwise` where it is none."""
        text = self.query.get(name, "")
        return min(int(text), most) if text.isascii() and text.isdigit() and len(text) < 12 else otherwise
