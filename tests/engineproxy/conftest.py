"""One proxy for the tests of this folder that only ask; what its engine saw is forgotten before each."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engineproxy.support import Front, fronted


@pytest.fixture(scope="session")
def _front() -> Iterator[Front]:
    # The name of a Unix socket has to be short, which pytest's own folders are not.
    with tempfile.TemporaryDirectory(prefix="ep") as folder, fronted(Path(folder)) as front:
        yield front


@pytest.fixture
def front(_front: Front) -> Front:
    """The proxy, its engine fresh."""
    _front.engine.seen.clear()
    _front.log.clear()
    return _front
