"""What the commands say: plain words for people, and with `--json` one object on the last line for programs."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

from simulator.canonical import canonical, clean_text

_UNBOUNDED = 10_000


class Out:
    """Where a command speaks. Progress and words go to stderr when `json` is on, so that stdout's last line is the
    object."""

    def __init__(self, json: bool = False, quiet: bool = False) -> None:
        self.json = json
        self.quiet = quiet
        stream = sys.stderr if json else sys.stdout
        # A pipe has no width: a path cut at column 80 could be neither searched for nor copied.
        self.console = Console(
            stderr=json, highlight=False, soft_wrap=True, width=None if stream.isatty() else _UNBOUNDED
        )

    def say(self, text: str = "") -> None:
        """Say a line. What comes from an office is cleaned of control characters and never read as markup."""
        if not self.quiet:
            self.console.print(clean_text(text), markup=False)

    def table(self, title: str, columns: list[str], rows: list[list[str]]) -> None:
        """Show a table."""
        if self.quiet:
            return
        table = Table(title=title or None, title_justify="left", box=None, pad_edge=False, header_style="bold")
        for column in columns:
            table.add_column(column, overflow="fold")
        for row in rows:
            table.add_row(*(clean_text(str(cell)).replace("[", "\\[") for cell in row))
        self.console.print(table)

    def result(self, value: Mapping[str, Any]) -> None:
        """End with the machine-readable result."""
        if self.json:
            sys.stdout.write(canonical(value).decode() + "\n")
            sys.stdout.flush()
