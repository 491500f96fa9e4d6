"""Juniper with chat, mail and calendars over real HTTP and SMTP: stand-ins for two, a real Radicale behind a proxy."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.carriers.town.town import Town


@pytest.fixture
def town(tmp_path: Path) -> Iterator[Town]:
    with Town(tmp_path) as town:
        yield town


@pytest.fixture(scope="session")
def plain(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The hash of the run without any server."""
    with Town(tmp_path_factory.mktemp("plain")) as town:
        return town.run(2, carriers="none")
