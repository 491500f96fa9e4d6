"""Who holds an office is found out without touching its lock (RULE 24)."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from services.storage.database import Database
from services.storage.journal import Offices
from services.storage.leases import holder, take_lease
from simulator.errors import OfficeBusy


def _held(database: Database, folder: Path) -> None:
    offices = Offices(database, folder)
    mine = offices.create("mine", "0" * 64, 1, "1", 0)
    other = offices.create("other", "0" * 64, 1, "1", 0)
    assert holder(database, folder, mine) == "" == holder(database, folder, "none")
    with closing(offices.open(mine)):
        for _ in range(3):
            assert holder(database, folder, mine) != ""
            assert holder(database, folder, other) == ""
        with pytest.raises(OfficeBusy):
            take_lease(database, folder, mine)
    assert holder(database, folder, mine) == ""
    with closing(offices.open(other)):
        assert holder(database, folder, mine) == "" != holder(database, folder, other)


def test_with_sqlite_the_kernel_tells(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'offices.sqlite'}")
    with closing(database):
        _held(database, tmp_path / "locks")
        with closing(Offices(database, tmp_path / "locks").open(Offices(database, tmp_path / "locks").find("mine").id)):
            assert "process" in holder(database, tmp_path / "locks", Offices(database, tmp_path / "locks").find("mine").id)


@pytest.mark.postgres
def test_with_postgresql_the_server_tells(postgres_url: str, tmp_path: Path) -> None:
    database = Database(postgres_url)
    with closing(database):
        _held(database, tmp_path / "locks")
