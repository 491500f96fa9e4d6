"""What every test can count on: no network, a home and a database of its own, Hypothesis held to a budget."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from hypothesis import HealthCheck, settings
from psycopg import sql
from sqlalchemy.engine import make_url

from tests.guard import NetworkGuard, install

# A suite in a module of its own, which other folders' tests import from too: its asserts explain themselves all the same.
pytest.register_assert_rewrite("tests.sandbox.conformance")

_GUARD = pytest.StashKey[NetworkGuard]()
_POSTGRES = "OFFICETOWN_TEST_DATABASE_URL"


def pytest_configure(config: pytest.Config) -> None:
    """Close the network, and choose how hard Hypothesis tries: HYPOTHESIS_PROFILE, or `ci` under CI, or `quick`."""
    config.stash[_GUARD] = install()
    # Deadlines measure the machine and not the code, above all where several test processes share two cores.
    calm = [HealthCheck.too_slow]
    settings.register_profile("quick", deadline=None, max_examples=50, suppress_health_check=calm)
    settings.register_profile("ci", deadline=None, max_examples=50, derandomize=True, suppress_health_check=calm)
    settings.register_profile("deep", deadline=None, max_examples=2000, suppress_health_check=calm)
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "quick"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what only root can tell, so that an ordinary user sees why it did not run."""
    if os.geteuid() == 0:
        return
    for item in items:
        if item.get_closest_marker("root"):
            item.add_marker(pytest.mark.skip(reason="has something to say only when run as root"))


@pytest.fixture(scope="session")
def network_guard(pytestconfig: pytest.Config) -> NetworkGuard:
    """The guard over this process."""
    return pytestconfig.stash[_GUARD]


@pytest.fixture(autouse=True)
def _no_network(network_guard: NetworkGuard) -> Iterator[None]:
    """Fail a test that tried to leave the machine, even where the code under test swallowed the error."""
    network_guard.attempts.clear()
    yield
    attempts = tuple(network_guard.attempts)
    network_guard.attempts.clear()
    if attempts:
        pytest.fail("the test tried to leave this machine: " + "; ".join(attempts), pytrace=False)


@pytest.fixture
def tmp_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that is OFFICETOWN_HOME, in this process and in those it starts."""
    home = tmp_path / "officetown-home"
    home.mkdir()
    monkeypatch.setenv("OFFICETOWN_HOME", str(home))
    return home


@pytest.fixture
def postgres_url() -> Iterator[str]:
    """The address of an empty PostgreSQL database of the test's own, dropped afterwards.

    Skips where no server is named; under CI that is an error, so that the database tests never go missing unseen.
    """
    server = os.environ.get(_POSTGRES)
    if not server:
        if os.environ.get("CI"):
            pytest.fail(f"{_POSTGRES} is not set; CI must name a PostgreSQL server (see .ci/run)", pytrace=False)
        pytest.skip(f"needs PostgreSQL: set {_POSTGRES} to postgresql+psycopg://USER@HOST/DATABASE")
    name = f"officetown_test_{uuid.uuid4().hex}"
    url = make_url(server)
    with psycopg.connect(url.set(drivername="postgresql").render_as_string(False), autocommit=True) as admin:
        admin.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        try:
            yield url.set(database=name).render_as_string(hide_password=False)
        finally:
            admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))
