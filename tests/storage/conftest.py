"""Offices in memory, SQLite and PostgreSQL for the storage tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from services.storage.database import Database
from services.storage.journal import Offices
from services.storage.writer import StoredJournal
from tests.storage.support import KINDS, STORED, MemoryRecord, Record, StoredRecord, stored


def _url(kind: str, folder: Path, request: pytest.FixtureRequest) -> str:
    if kind == "postgres":
        return str(request.getfixturevalue("postgres_url"))
    return f"sqlite:///{folder}/offices.db"


@pytest.fixture(params=[pytest.param(kind, marks=pytest.mark.postgres if kind == "postgres" else ()) for kind in KINDS])
def record(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Record]:
    """An office on each kind of journal."""
    if request.param == "memory":
        yield MemoryRecord()
    else:
        yield from stored(_url(request.param, tmp_path, request), tmp_path)


@pytest.fixture(
    params=[pytest.param(kind, marks=pytest.mark.postgres if kind == "postgres" else ()) for kind in STORED]
)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty database of each kind."""
    return _url(request.param, tmp_path, request)


@pytest.fixture
def stored_record(url: str, tmp_path: Path) -> Iterator[StoredRecord]:
    """An office in a database of each kind."""
    yield from stored(url, tmp_path)


@pytest.fixture
def database(url: str) -> Iterator[Database]:
    """An empty database of each kind."""
    database = Database(url, busy_timeout_s=5)
    yield database
    database.close()


@pytest.fixture
def offices(database: Database, tmp_path: Path) -> Offices:
    """No offices yet, in a database of each kind."""
    return Offices(database, tmp_path / "locks")


@pytest.fixture
def sqlite_record(tmp_path: Path) -> Iterator[StoredRecord]:
    """An office in SQLite alone, for what does not depend on the database."""
    yield from stored(f"sqlite:///{tmp_path}/offices.db", tmp_path)


@pytest.fixture
def journal(sqlite_record: StoredRecord) -> StoredJournal:
    """An open journal in SQLite."""
    return sqlite_record.open()
