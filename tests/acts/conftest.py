"""Each test of the acts begins with a firm of its own."""

from __future__ import annotations

import pytest

from tests.acts.desk import Desk


@pytest.fixture
def desk() -> Desk:
    return Desk()
