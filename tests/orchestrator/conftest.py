"""A desk in an empty home, and one whose home holds an office that has worked for three days."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from orchestrator.compose import House
from orchestrator.output import Out
from orchestrator.running import RunOptions, run
from orchestrator.settings import read_settings
from tests.orchestrator.support import JUNIPER, Desk

DAYS = 3


@pytest.fixture
def desk(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Desk:
    """Commands in an empty home."""
    return Desk(tmp_path / "home", capsys)


@pytest.fixture(scope="session")
def worked_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with Juniper, named `Juniper`, after three days. Not to be written to."""
    home = tmp_path_factory.mktemp("worked")
    house = House(read_settings({"OFFICETOWN_HOME": str(home)}))
    run(house, Out(quiet=True), JUNIPER, RunOptions(days=DAYS, seed=1))
    house.close()
    return home


@pytest.fixture
def worked(worked_home: Path, capsys: pytest.CaptureFixture[str]) -> Desk:
    """Commands that only look, in the home that has worked."""
    return Desk(worked_home, capsys)


@pytest.fixture
def copied(worked_home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Desk:
    """Commands of any kind, in a copy of the home that has worked."""
    shutil.copytree(worked_home, tmp_path / "home")
    return Desk(tmp_path / "home", capsys)
