"""The acceptance tests of issue 2, "The office lives", and the half year of Juniper that they share.

Run by `make test-slow`; some minutes on two cores. What the issue says is shown by, and where:

- half a year's files, work, reviews, questions, meetings, conflicts: `test_half_year`
- sixty deliverables that depend on an earlier accepted result, chains four deep: `test_dependencies`
- twelve frozen tasks without leaks, calibrated, scored alike by every path: `test_frozen`
- offices from briefs: `test_briefs`; the demo: `test_demo`
- a matter like STORY.md's, lived by the offline professional: `test_matter`; told by a script: `tests/story`
- the offline reviewer's twelve damages and sound works, in conversation: `tests/offline/test_work.py`; by the reviewer's
  eye alone: `tests/professions/test_review.py`
- one hash whatever the concurrency, latency, database, or number of kills: `tests/orchestrator/test_same_hash.py` and
  `test_stopping.py`
"""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.compose import House
from orchestrator.settings import read_settings
from simulator.errors import SandboxUnavailable
from tests.acceptance import halfyear
from tests.acceptance.halfyear import Lived
from tests.orchestrator.support import Desk


def needs_sandbox(home: Path) -> None:
    """Skip where no sandbox works, and say why."""
    house = House(read_settings({"OFFICETOWN_HOME": str(home)}))
    try:
        house.sandboxes()
    except SandboxUnavailable as reason:
        pytest.skip(str(reason))
    finally:
        house.close()


@pytest.fixture(scope="session")
def half_year(tmp_path_factory: pytest.TempPathFactory) -> Lived:
    """Juniper after 181 days with seed 1. Forks may be made in its home; nothing else may be written there."""
    home = tmp_path_factory.mktemp("half-year")
    needs_sandbox(home)
    return halfyear.live(home)


@pytest.fixture
def desk(half_year: Lived, capsys: pytest.CaptureFixture[str]) -> Desk:
    """Commands in the home of the half year."""
    return Desk(half_year.home, capsys)


@pytest.fixture
def empty_desk(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Desk:
    """Commands in a home where nothing is yet."""
    needs_sandbox(tmp_path / "home")
    return Desk(tmp_path / "home", capsys)
