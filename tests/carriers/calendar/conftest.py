"""A calendar server of a test's own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.carriers.calendar.cast import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """A provisioned Radicale, and the carrier that writes to it."""
    with Desk(tmp_path) as made:
        yield made
