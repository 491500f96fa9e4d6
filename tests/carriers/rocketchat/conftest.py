"""Every test's exchanges with the stand-in are held to the published schemas, where those are at hand."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.carriers.rocketchat.schemas import faults_of, folder
from tests.carriers.rocketchat.world import World
from tests.carriers.standins.rocketchat import RocketChatStandIn


@pytest.fixture
def server() -> Iterator[RocketChatStandIn]:
    """A server on the loopback."""
    standin = RocketChatStandIn()
    standin.start()
    yield standin
    standin.stop()
    if folder() is not None and not standin.unchecked:
        faults = [fault for exchange in standin.exchanges for fault in faults_of(exchange)]
        assert not faults, faults[:5]


@pytest.fixture
def world(server: RocketChatStandIn) -> Iterator[World]:
    """An office on that server."""
    found = World(server)
    yield found
    found.close()
