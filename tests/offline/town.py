"""Juniper in this process: memory for a disk, the real sandbox or none, the offline professional for a model."""

from __future__ import annotations

from pathlib import Path

from services.documents.renderer import DocumentRenderer
from services.offline import OfflineProfessional
from services.packages.folder import read_package
from services.storage.memory import MemoryBlobs, MemoryJournal, MemoryOffice
from simulator.engine.environment import Environment, Observer, Settings
from simulator.engine.history import as_of
from simulator.engine.loop import Engine
from simulator.events import Event
from simulator.fold import apply
from simulator.office import Office
from simulator.package import GENESIS, Package, genesis
from simulator.ports import Model, SandboxProvider

JUNIPER = Path(__file__).resolve().parents[2] / "fixtures" / "juniper"


class Town:
    """An office that lives as long as this object."""

    def __init__(self, seed: int = 1, model: Model | None = None, package: Path | Package = JUNIPER) -> None:
        self.blobs, self.disk = MemoryBlobs(), MemoryOffice("town")
        self.journal = MemoryJournal(self.disk)
        self.model = model or OfflineProfessional()
        read = read_package(package) if isinstance(package, Path) else package
        self.office, lines = Office(), []
        for number, (actor, payload) in enumerate(genesis(read, seed, self.blobs), 1):
            event = Event(number, read.opens_at, actor, GENESIS, payload)  # type: ignore[arg-type]
            self.office = apply(self.office, event)
            lines.append(event.encode())
        self.journal.commit(1, lines, {})
        self.opens = read.opens_at

    def run(
        self,
        days: int,
        sandboxes: SandboxProvider | None,
        observers: tuple[Observer, ...] = (),
        settings: Settings | None = None,
    ) -> Office:
        """Run to the end of the n-th calendar day from the opening."""
        env = Environment(
            self.journal,
            self.blobs,
            self.model,
            sandboxes,
            DocumentRenderer(),
            settings or Settings(),
            observers=observers,
        )
        engine = Engine(env, as_of(self.journal), lambda revision: as_of(self.journal, revision))
        self.office = engine.run(self.opens + days * 86_400)
        return self.office
