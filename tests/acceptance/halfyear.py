"""An office that has worked for half a year, and what its record says: shared by the acceptance tests of issue 2."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from orchestrator.compose import House
from orchestrator.output import Out
from orchestrator.running import RunOptions, run
from orchestrator.settings import read_settings
from services.professions.registry import PROFESSIONS
from simulator.engine.history import as_of
from simulator.events import AnyPayload, Event, Payload, decode
from simulator.office import Office
from simulator.records import Body, Delegation, FileRef
from tests.orchestrator.support import JUNIPER
from tests.professions.office import view_from_bytes

DAYS = 181
SEED = 1
Key = tuple[str, str, str]
"""A piece of work, whoever did it: its kind, matter and period."""


class Made(msgspec.Struct, frozen=True):
    """An accepted piece of work: its figures by label, the main file's version, and what it was made from."""

    delegation: Delegation
    main: FileRef
    figures: dict[str, str]
    sources: tuple[FileRef, ...]


class Lived:
    """An office in a home of its own, after it has worked. Its log is read once and kept."""

    def __init__(self, home: Path, office_id: str, result: dict[str, Any], seconds: float) -> None:
        self.home, self.id, self.result, self.seconds = home, office_id, result, seconds

    @contextmanager
    def house(self) -> Iterator[House]:
        """Open the home it lives in."""
        house = House(read_settings({"OFFICETOWN_HOME": str(self.home)}))
        try:
            yield house
        finally:
            house.close()

    @cached_property
    def events(self) -> list[Event]:
        """Everything that happened, in order."""
        with self.house() as house:
            return [decode(data) for _, data in house.offices.read(self.id).events()]

    @cached_property
    def office(self) -> Office:
        """The office as it is at the end."""
        return self.at(None)

    def at(self, revision: int | None) -> Office:
        """The office as of a revision, folded anew."""
        with self.house() as house:
            return as_of(house.offices.read(self.id), revision)

    def of(self, *kinds: type[Payload]) -> list[tuple[Event, AnyPayload]]:
        """Return (event, payload) of some kinds, in order."""
        return [(event, event.payload) for event in self.events if isinstance(event.payload, kinds)]

    def bytes(self, ref: FileRef, office: Office | None = None) -> bytes:
        """Return the bytes of a file's version."""
        blob = (office or self.office).files[ref.file].versions[ref.version - 1].blob
        with self.house() as house:
            return house.blobs.get(blob.sha256)

    def text(self, body: Body) -> str:
        """Return a body's text."""
        with self.house() as house:
            return house.offices.read(self.id).body(body.sha256) if body.sha256 else body.text

    def accepted_work(self) -> dict[Key, Made]:
        """Return the last accepted result of every piece of work of a known kind."""
        office, found = self.office, {}
        with self.house() as house:
            for delegation in sorted(office.delegations.values(), key=lambda d: (d.at, d.id)):
                profession = PROFESSIONS.get(delegation.work)
                reviews = [
                    r.review for r in delegation.rounds if r.review is not None and r.review.decision == "accept"
                ]
                if profession is None or not reviews:
                    continue
                name = profession.main.name
                mains = [f for f in reviews[-1].files if office.files[f.file].path.rpartition("/")[2] == name]
                for main in mains[:1]:
                    version = office.files[main.file].versions[main.version - 1]
                    view = view_from_bytes(profession, house.blobs.get(version.blob.sha256))
                    figures = {label: view.figure(label) or "" for label in profession.labels}
                    key = (delegation.work, delegation.matter, delegation.period)
                    found[key] = Made(delegation, main, figures, version.sources)
        return found


def live(home: Path, reference: str = JUNIPER, days: int = DAYS, seed: int | None = SEED) -> Lived:
    """Run a new office (or go on with one, by its id) as `officetown run` does: SQLite, sandbox, offline professional."""
    house = House(read_settings({"OFFICETOWN_HOME": str(home)}))
    started = time.monotonic()
    try:
        result = run(house, Out(quiet=True), reference, RunOptions(days=days, seed=seed))
    finally:
        house.close()
    return Lived(home, str(result["office"]), result, time.monotonic() - started)
