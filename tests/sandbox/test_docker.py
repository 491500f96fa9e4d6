"""The container provider under the conformance suite, and what only it has."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from services.sandbox.docker import Docker
from tests.sandbox.conformance import SMALL, Conformance, MemoryBlobs


@pytest.fixture(scope="module")
def blobs() -> MemoryBlobs:
    return MemoryBlobs()


@pytest.fixture(scope="module")
def provider(blobs: MemoryBlobs, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Docker]:
    provider = Docker(blobs, {}, tmp_path_factory.mktemp("owners") / "o", limits=SMALL)
    yield provider
    provider.close()


class TestDocker(Conformance):
    """The whole suite."""
