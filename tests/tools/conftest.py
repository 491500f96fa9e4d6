"""Each test of the tools begins with a firm of its own."""

from __future__ import annotations

import pytest

from tests.tools.reader import Reading


@pytest.fixture
def desk() -> Reading:
    return Reading()
