"""A site whose home holds Juniper after two days of work, and one whose home is empty."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.compose import House
from orchestrator.output import Out
from orchestrator.running import RunOptions, run
from orchestrator.settings import read_settings
from tests.orchestrator.support import JUNIPER
from tests.web.support import Site, site

DAYS = 2


@pytest.fixture(scope="session")
def worked_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with Juniper after two days. Not to be written to."""
    home = tmp_path_factory.mktemp("worked-web")
    house = House(read_settings({"OFFICETOWN_HOME": str(home)}))
    run(house, Out(quiet=True), JUNIPER, RunOptions(days=DAYS, seed=1))
    house.close()
    return home


@pytest.fixture(scope="session")
def watched(worked_home: Path) -> Iterator[Site]:
    """A site that is only looked at."""
    with site(worked_home) as one:
        yield one


@pytest.fixture
def copied(worked_home: Path, tmp_path: Path) -> Iterator[Site]:
    """A site whose offices may be run and changed."""
    shutil.copytree(worked_home, tmp_path / "home")
    with site(tmp_path / "home") as one:
        yield one


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Site]:
    """A site without any office."""
    with site(tmp_path / "home") as one:
        yield one
