"""One scripted firm a session, and its frozen rounds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from bench.freeze import freeze
from bench.snapshot import Snapshot, open_snapshot
from services.storage.memory import MemoryJournal
from tests.bench.office import (
    KINDS,
    LATER,
    Firm,
    careless,
    firm,
    month_of,
    months_of,
    text_of,
    three_rounds,
    two_months,
)


@dataclass(frozen=True)
class Grown:
    """The firm after its work, its log, and which delegations there are: (first, second) a kind, and one of three rounds."""

    world: Firm
    log: MemoryJournal
    done: dict[str, tuple[str, str]]
    rounds: str

    def names(self) -> Iterator[tuple[str, int]]:
        """Every round there is to freeze."""
        for pair in self.done.values():
            yield from ((delegation, 1) for delegation in pair)
        yield from ((self.rounds, number) for number in (1, 2, 3))

    def freeze(self, delegation: str, number: int, dest: Path) -> Snapshot:
        info = freeze(self.log, self.world.blobs, text_of, "firm", delegation, number, dest, models={"principal": "scripted"})
        return open_snapshot(Path(info.folder))


@pytest.fixture(scope="session")
def grown(tmp_path_factory: pytest.TempPathFactory) -> Grown:
    folder = tmp_path_factory.mktemp("scripts")
    world = firm()
    done = {kind: two_months(world, months_of(kind, folder)) for kind in KINDS}
    made = month_of("bank-reconciliation", LATER, folder / "again", 12)
    rounds = three_rounds(world, made, careless(made, folder / "careless", "--skip-last"))
    return Grown(world, world.log(), done, rounds)


@pytest.fixture(scope="session")
def frozen(grown: Grown, tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, int], Snapshot]:
    """Every round, frozen."""
    dest = tmp_path_factory.mktemp("tasks")
    return {(delegation, number): grown.freeze(delegation, number, dest) for delegation, number in grown.names()}


@pytest.fixture(scope="session")
def reconciliation(grown: Grown, frozen: dict[tuple[str, int], Snapshot]) -> Snapshot:
    """January's bank reconciliation, built on December's."""
    return frozen[grown.done["bank-reconciliation"][1], 1]
