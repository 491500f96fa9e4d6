"""The stored shape: the migrations build what the tables say, and older databases come along (RELIABILITY 7)."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, MetaData, create_engine, insert, inspect
from sqlalchemy import text as sql

from services.storage.database import Database, configuration
from services.storage.journal import Offices
from services.storage.tables import metadata
from simulator.canonical import canonical, sha256
from simulator.errors import StorageError, UsageError
from tests.storage.support import PACKAGE, answer, event, events, item, request, text, tool


def _shape(connection: Connection) -> dict[str, object]:
    """Everything the database tells of its tables: columns, types, defaults, keys, indexes."""
    inspector = inspect(connection)
    return {
        name: (
            sorted(
                (c["name"], repr(c["type"]), c["nullable"], str(c.get("default"))) for c in inspector.get_columns(name)
            ),
            inspector.get_pk_constraint(name)["constrained_columns"],
            [(k["constrained_columns"], k["referred_table"], k["options"]) for k in inspector.get_foreign_keys(name)],
            sorted((str(i["name"]), i["column_names"]) for i in inspector.get_indexes(name)),
        )
        for name in inspector.get_table_names()
        if name != "alembic_version"
    }


def test_the_migrations_add_up_to_the_tables(database: Database) -> None:
    with database.reading() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})
        assert compare_metadata(context, metadata) == []
        built_by_migrations = _shape(connection)
    with database.writing() as connection:
        metadata.drop_all(connection)
        metadata.create_all(connection)
    with database.reading() as connection:
        assert built_by_migrations == _shape(connection)
        assert set(built_by_migrations) == set(metadata.tables)


def test_the_comparison_notices_a_difference(database: Database) -> None:
    with database.writing() as connection:
        connection.execute(sql("ALTER TABLE reviews ADD COLUMN more TEXT"))
        connection.execute(sql("DROP INDEX ix_outbox_office_state_sequence"))
    with database.reading() as connection:
        differences = compare_metadata(MigrationContext.configure(connection), metadata)
    assert {str(difference[0]) for difference in differences} == {"remove_column", "add_index"}


def _old_tables(connection: Connection) -> MetaData:
    old = MetaData()
    old.reflect(connection)
    return old


def test_a_populated_older_database_upgrades_and_runs_on(url: str, tmp_path: Path) -> None:
    old = Database(url, revision="0001")
    with old.reading() as connection:
        tables = _old_tables(connection).tables
        assert "reviews" not in tables and "lost_micros" not in tables["model_calls"].c
    call = {"activation": "elena.1", "ordinal": 0, "fingerprint": "f", "role": "principal", "session": "s"}
    with old.writing() as connection:
        made_of = {"package_sha256": PACKAGE, "engine_version": "0.9", "seed": 3, "epoch": 4, "head": 2, "status": b""}
        connection.execute(insert(tables["offices"]), {"id": "old", "name": "Old", "created": 5, **made_of})
        rows = [{"office": "old", "revision": r, "data": event(r)} for r in (1, 2)]
        connection.execute(insert(tables["events"]), rows)
        begun = {"office": "old", **call, "state": "begun", "worst_case_micros": 90}
        connection.execute(insert(tables["model_calls"]), begun)
        waiting = {"key": "m1", "lane": "l", "kind": "mail", "body": b"{}", "sequence": 1, "state": "waiting"}
        connection.execute(insert(tables["outbox"]), {"office": "old", **waiting})
    old.close()

    database = Database(url)
    offices = Offices(database, tmp_path / "locks")
    journal = offices.open("old")
    assert (journal.head, journal.epoch) == (2, 5)
    assert list(journal.events()) == list(enumerate(events(1, 2), 1))
    assert journal.charged_micros() == 90
    journal.begin_call(request("elena.1"), 10)
    journal.record([(request("elena.1"), answer(cost=7))], [tool()])
    journal.commit(3, [event(3)], text("words"), [item("m2")])
    assert journal.charged_micros() == 97
    with database.reading() as connection:
        sequences = connection.execute(sql("SELECT key, sequence FROM outbox ORDER BY sequence")).all()
        assert [tuple(row) for row in sequences] == [("m1", 1), ("m2", 2)]
        assert set(metadata.tables) <= set(inspect(connection).get_table_names())
    journal.close()
    database.close()


def test_a_database_of_a_newer_officetown_is_left_alone(url: str) -> None:
    made = Database(url)
    with made.writing() as connection:
        connection.execute(sql("UPDATE alembic_version SET version_num = '9999'"))
    made.close()
    with pytest.raises(StorageError, match="made by a newer OfficeTown.*'9999'"), Database(url).reading():
        pass


def test_several_threads_and_objects_may_be_the_first_to_use_a_database(url: str, tmp_path: Path) -> None:
    databases = [Database(url) for _ in range(8)]
    failures: list[BaseException] = []

    def use(database: Database, n: int) -> None:
        try:
            Offices(database, tmp_path).create(f"office {n}", PACKAGE, n, "1", n)
        except StorageError as error:
            failures.append(error)

    threads = [threading.Thread(target=use, args=(database, n)) for n, database in enumerate(databases)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(Offices(databases[0], tmp_path).list()) == 8
    for database in databases:
        database.close()


def test_an_interrupted_upgrade_leaves_the_old_shape_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On both databases a migration is one transaction."""
    url = f"sqlite:///{tmp_path}/offices.db"
    old = Database(url, revision="0001")
    with old.reading():
        pass
    old.close()
    with monkeypatch.context() as patched:
        script = ScriptDirectory.from_config(configuration()).get_revision("0002")
        assert script is not None

        def broken(*_: object, **__: object) -> None:
            raise OSError(28, os.strerror(28))

        patched.setattr("alembic.op.create_index", broken, raising=False)
        with pytest.raises(StorageError, match="No space left"), Database(url).reading():
            pass
    engine = create_engine(url)
    with engine.connect() as connection:
        columns = {column["name"] for column in inspect(connection).get_columns("model_calls")}
        assert "lost_micros" not in columns
    engine.dispose()
    again = Database(url)
    with again.reading() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
    again.close()


def test_there_is_one_line_of_migrations_without_branches() -> None:
    scripts = ScriptDirectory.from_config(configuration())
    assert len(scripts.get_heads()) == 1
    assert len(list(scripts.walk_revisions())) >= 2


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("mysql://localhost/x", "'mysql'"),
        ("not a url", "cannot be read"),
        ("sqlite://", "lives in a file"),
        ("sqlite:///:memory:", "lives in a file"),
    ],
)
def test_an_address_that_cannot_work_is_refused_in_plain_words(url: str, said: str) -> None:
    with pytest.raises(UsageError, match=said), Database(url).reading():
        pass


def test_a_server_that_is_down_is_named_without_its_password() -> None:
    database = Database("postgresql://someone:secret-word@127.0.0.1:1/offices?connect_timeout=2")
    with pytest.raises(StorageError, match="Check that the server is up") as caught, database.reading():
        pass
    assert "secret-word" not in str(caught.value)
    assert "secret-word" not in str(database)


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes into read-only folders")
def test_a_folder_without_rights_is_an_error_of_storage(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0o500)
    with pytest.raises(StorageError, match="folder's rights"), Database(f"sqlite:///{tmp_path}/closed/a.db").reading():
        pass


def test_a_file_that_is_no_database_is_an_error_of_storage(tmp_path: Path) -> None:
    (tmp_path / "a.db").write_bytes(b"this is not a database at all" * 100)
    with pytest.raises(StorageError, match="could not be opened"), Database(f"sqlite:///{tmp_path}/a.db").reading():
        pass


def test_synchronous_commits_are_asked_for_whatever_the_server_says(database: Database) -> None:
    """RULE 23: what is acknowledged is on the disk."""
    connection = database.writer()
    if database.is_sqlite:
        found = [connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in ("journal_mode", "synchronous")]
        assert found == ["wal", 2]
        assert connection.exec_driver_sql("PRAGMA foreign_keys").scalar() == 1
    else:
        assert connection.execute(sql("SHOW synchronous_commit")).scalar() == "on"
    connection.rollback()
    connection.close()


def test_bytes_stay_bytes_on_every_database(database: Database) -> None:
    """RULE 20."""
    data = bytes(range(256)) * 3 + canonical({"z": 1, "a": 2})
    with database.writing() as connection:
        connection.execute(insert(metadata.tables["reviews"]), {"id": sha256(data), "created": 2**40, "body": data})
    with database.reading() as connection:
        row = connection.execute(metadata.tables["reviews"].select()).one()
    assert (row.body, row.created) == (data, 2**40)
