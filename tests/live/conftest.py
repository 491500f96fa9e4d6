"""The firm of four people, generated once."""

from __future__ import annotations

import pytest

from tests.live.house import four_people


@pytest.fixture(scope="session")
def firm(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The path of the firm's package."""
    return four_people(tmp_path_factory.mktemp("firm"))
