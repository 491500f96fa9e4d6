"""An office opened from a package, in memory."""

from __future__ import annotations

from simulator import events as e
from simulator.canonical import sha256
from simulator.fold import apply
from simulator.office import Office
from simulator.package import Package, genesis
from simulator.ports import Blob


class Blobs:
    """A blob store in memory."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}

    def put(self, data: bytes) -> Blob:
        self.kept[sha256(data)] = data
        return Blob(sha256(data), len(data))

    def get(self, sha256: str) -> bytes:
        return self.kept[sha256]

    def has(self, sha256: str) -> bool:
        return sha256 in self.kept


def opened(package: Package, seed: int = 1) -> Office:
    """Fold the opening events of a package."""
    office = Office()
    for revision, (actor, payload) in enumerate(genesis(package, seed, Blobs()), 1):
        assert isinstance(payload, e.AnyPayload)
        office = apply(office, e.Event(revision, package.opens_at, actor, "genesis", payload))
    return office
