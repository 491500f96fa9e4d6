"""The story is told once for all its tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from services.sandbox.bubblewrap import Bubblewrap
from services.storage.memory import MemoryBlobs
from simulator.errors import SandboxUnavailable
from simulator.ports import BlobStore
from tests.story.telling import Sandboxes, Told, tell


@pytest.fixture(scope="session")
def sandboxes() -> Iterator[Sandboxes]:
    """A way to real sandboxes over any store; skips where this machine has none."""
    made: list[Bubblewrap] = []

    def make(blobs: BlobStore) -> Bubblewrap:
        provider = Bubblewrap(blobs)
        made.append(provider)
        return provider

    try:
        make(MemoryBlobs()).check()
    except SandboxUnavailable as fault:
        pytest.skip(f"no sandbox here: {fault}")
    yield make
    for provider in made:
        provider.close()


@pytest.fixture(scope="session")
def told(sandboxes: Sandboxes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Told]:
    """The story as it happened."""
    yield from tell(tmp_path_factory.mktemp("story"), sandboxes)
