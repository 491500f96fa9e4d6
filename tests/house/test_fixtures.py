"""What tests/conftest.py promises: a home of one's own, a database of one's own, a run that CI cannot skip."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import settings
from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url

ROOT = Path(__file__).parents[2]

NEEDS_A_DATABASE = """
def test_one(postgres_url):
    assert postgres_url
"""


def _pytest(folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a small test file under the real conftest, with the real settings."""
    (folder / "test_planted.py").write_text(NEEDS_A_DATABASE)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "OFFICETOWN_"))}
    kept.pop("CI", None)
    house = ("-c", str(ROOT / "pyproject.toml"), "--rootdir", str(folder), "-p", "tests.conftest")
    return subprocess.run(
        [sys.executable, "-m", "pytest", *house, "-p", "no:cacheprovider", str(folder / "test_planted.py")],
        cwd=ROOT,
        env={**kept, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_home_is_empty_and_named_in_the_environment(tmp_home: Path) -> None:
    assert os.environ["OFFICETOWN_HOME"] == str(tmp_home)
    assert list(tmp_home.iterdir()) == []


def test_without_a_server_database_tests_say_why_they_were_skipped(tmp_path: Path) -> None:
    done = _pytest(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 skipped" in done.stdout
    assert "OFFICETOWN_TEST_DATABASE_URL" in done.stdout


def test_under_ci_a_missing_server_is_an_error(tmp_path: Path) -> None:
    done = _pytest(tmp_path, CI="true")
    assert done.returncode == 1
    assert "1 error" in done.stdout
    assert "CI must name a PostgreSQL server" in done.stdout


@pytest.mark.postgres
def test_a_database_is_empty_and_ones_own(postgres_url: str) -> None:
    name = make_url(postgres_url).database
    assert name is not None and name.startswith("officetown_test_")
    engine = create_engine(postgres_url)
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE mine (a int)"))
        tables = connection.execute(text("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")).scalars().all()
    engine.dispose()
    assert tables == ["mine"]


def test_hypothesis_has_no_deadline_and_a_budget() -> None:
    current = settings.default
    assert current is not None
    assert current.deadline is None
    if os.environ.get("CI"):
        assert current.derandomize
        assert current.max_examples == 50


@pytest.mark.root
def test_what_is_for_root_alone_runs_as_root_alone() -> None:
    assert os.geteuid() == 0
