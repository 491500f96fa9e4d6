"""The database goes down and comes back; the answer to a COMMIT is lost (RULE 24)."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, Engine
from sqlalchemy import event as sqlalchemy_event
from sqlalchemy import text as sql
from sqlalchemy.exc import OperationalError

from services.storage.database import Database
from services.storage.faults import Fault, InjectedFault, armed
from services.storage.journal import Offices
from simulator.errors import StorageError, UsageError
from tests.storage.support import StoredRecord, answer, event, events, item, request, text, tool


def test_a_commit_whose_answer_was_lost_is_found_to_be_in(stored_record: StoredRecord) -> None:
    journal = stored_record.open()
    with armed("journal.before_commit", Fault.AFTER_COMMIT):
        journal.commit(1, events(1, 3), text("words"), [item("m1")])
    assert journal.head == 3
    journal.commit(4, [event(4)], {}, [item("m2")])
    assert list(journal.events()) == list(enumerate(events(1, 4), 1))


def test_tape_entries_whose_commit_answer_was_lost_are_written_once(stored_record: StoredRecord) -> None:
    journal = stored_record.open()
    writes: tuple[Callable[[], None], ...] = (
        lambda: journal.begin_call(request(), 500),
        lambda: journal.record([(request("q.1"), answer(cost=7))], [tool()]),
        lambda: journal.save_checkpoint(1, "1", b"x"),
        lambda: journal.set_status(b"s"),
    )
    for write in writes:
        with armed("journal.before_commit", Fault.AFTER_COMMIT):
            write()
    assert journal.charged_micros() == 507
    assert journal.tool("daniel.1", 0) == tool()
    assert (journal.load_checkpoint("1"), journal.status) == ((1, b"x"), b"s")


@pytest.mark.parametrize("fault", [Fault.NO_SPACE, Fault.IO_ERROR])
@pytest.mark.parametrize("point", ["journal.begin", "journal.before_commit"])
def test_a_failed_commit_is_absent_and_may_be_said_again(stored_record: StoredRecord, point: str, fault: Fault) -> None:
    journal = stored_record.open()
    journal.commit(1, [event(1)], {})
    with armed(point, fault), pytest.raises(StorageError, match="could not be written"):
        journal.commit(2, [event(2)], text("words"), [item("m1")])
    assert journal.head == 1
    assert list(stored_record.offices.read(stored_record.office_id).events()) == [(1, event(1))]
    journal.commit(2, [event(2)], text("words"), [item("m1")])
    assert list(journal.events(1)) == [(2, event(2))]
    assert journal.body(next(iter(text("words")))) == "words"


def test_an_interruption_after_the_commit_is_settled_by_the_next_write(stored_record: StoredRecord) -> None:
    journal = stored_record.open()
    with armed("journal.after_commit", Fault.RAISE), pytest.raises(InjectedFault):
        journal.commit(1, events(1, 2), {})
    journal.commit(1, events(1, 2), {})
    with armed("journal.after_commit", Fault.RAISE), pytest.raises(InjectedFault):
        journal.commit(3, [event(3)], {})
    journal.commit(4, [event(4)], {})
    with pytest.raises(UsageError, match="cannot follow"):
        journal.commit(4, [event(4)], {})
    assert list(journal.events()) == list(enumerate(events(1, 4), 1))


def test_other_events_under_revisions_that_are_in_are_refused(stored_record: StoredRecord) -> None:
    journal = stored_record.open()
    with armed("journal.after_commit", Fault.RAISE), pytest.raises(InjectedFault):
        journal.commit(1, [event(1)], {})
    with pytest.raises(UsageError, match="cannot follow event 1"):
        journal.commit(1, [event(1, other=True)], {})
    assert list(journal.events()) == [(1, event(1))]


def _cut_connections(database: Database) -> None:
    """End every session of the test's database but this one, as a server restart would."""
    with database.reading() as connection:
        connection.execute(
            sql(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        )


@pytest.mark.postgres
def test_a_restarted_server_is_survived_and_the_lease_taken_again(postgres_url: str, tmp_path: Path) -> None:
    database = Database(postgres_url)
    from_outside = Database(postgres_url)
    record = StoredRecord(_offices(database, tmp_path))
    journal = record.open()
    journal.commit(1, [event(1)], {})
    for revision in (2, 3):
        _cut_connections(from_outside)
        journal.commit(revision, [event(revision)], {})
        _cut_connections(from_outside)
        journal.begin_call(request(ordinal=revision), 10)
    with pytest.raises(StorageError, match="in use"):
        _offices(from_outside, tmp_path).open(record.office_id)
    assert (journal.head, journal.charged_micros()) == (3, 20)
    record.close()
    database.close()
    from_outside.close()


@pytest.mark.postgres
@pytest.mark.parametrize("committed", [True, False])
def test_a_server_that_dies_over_a_commit_leaves_no_doubt(postgres_url: str, tmp_path: Path, committed: bool) -> None:
    """The session ends right before or right after the server has made the COMMIT; head tells which."""
    database, from_outside = Database(postgres_url), Database(postgres_url)
    record = StoredRecord(_offices(database, tmp_path))
    journal = record.open()
    journal.commit(1, [event(1)], {})
    calls = 0

    def die(connection: Connection) -> None:
        nonlocal calls
        calls += 1
        if calls == 1:
            if committed:
                raw: Any = connection.connection.dbapi_connection
                raw.commit()
            _cut_connections(from_outside)

    sqlalchemy_event.listen(_writer(database), "commit", die)
    journal.commit(2, events(2, 2), text("words"), [item("m1")])
    assert calls == (1 if committed else 2)
    assert journal.head == 3
    assert list(journal.events(1)) == [(2, event(2)), (3, event(3))]
    record.close()
    database.close()
    from_outside.close()


def test_while_the_database_is_away_a_lost_answer_stays_open_and_is_settled_when_it_is_back(
    sqlite_record: StoredRecord,
) -> None:
    journal = sqlite_record.open()
    database = sqlite_record.offices.database

    def unplug(connection: Connection) -> None:
        raw: Any = connection.connection.dbapi_connection
        raw.commit()
        raise OperationalError("COMMIT", None, OSError("the cable was pulled"))

    writer = _writer(database)
    sqlalchemy_event.listen(writer, "commit", unplug)
    with _broken_reads(database), pytest.raises(StorageError, match="pulled"):
        journal.commit(1, events(1, 2), {})
    sqlalchemy_event.remove(writer, "commit", unplug)
    assert journal.head == 0
    journal.commit(1, events(1, 2), {})
    assert journal.head == 2
    assert list(journal.events()) == list(enumerate(events(1, 2), 1))


class _broken_reads:  # noqa: N801 - reads as a function
    """Within it, no reader reaches the database."""

    def __init__(self, database: Database) -> None:
        self._reader = _engines(database)[1]

    @staticmethod
    def _refuse(*_: object) -> None:
        raise OperationalError("SELECT", None, OSError("the cable was pulled"))

    def __enter__(self) -> None:
        sqlalchemy_event.listen(self._reader, "before_cursor_execute", self._refuse)

    def __exit__(self, *_: object) -> None:
        sqlalchemy_event.remove(self._reader, "before_cursor_execute", self._refuse)


def test_a_writer_that_waits_too_long_for_another_is_told_so_and_loses_nothing(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path}/offices.db", busy_timeout_s=0.01)
    record = StoredRecord(_offices(database, tmp_path))
    journal = record.open()
    with database.writing() as other:
        other.execute(sql("UPDATE offices SET status = x'00'"))
        with pytest.raises(StorageError, match="locked"):
            journal.commit(1, [event(1)], {})
    journal.commit(1, [event(1)], {})
    assert journal.head == 1
    record.close()
    database.close()


def test_a_database_that_may_not_be_written_for_a_while_loses_nothing(sqlite_record: StoredRecord) -> None:
    """As on a folder remounted read-only."""
    journal = sqlite_record.open()
    journal.commit(1, [event(1)], {})
    writer = _writer(sqlite_record.offices.database)

    def remount(raw: Any, *_: object) -> None:
        raw.execute("PRAGMA query_only = ON").close()

    sqlalchemy_event.listen(writer, "checkout", remount)
    journal._drop_connection()
    for _ in range(2):
        with pytest.raises(StorageError, match="readonly database.*folder's rights"):
            journal.commit(2, [event(2)], {})
    sqlalchemy_event.remove(writer, "checkout", remount)
    journal.commit(2, [event(2)], {})
    journal.record([(request(), answer())])
    assert list(journal.events()) == list(enumerate(events(1, 2), 1))


def test_a_full_disk_is_said_plainly_and_everything_before_it_stays(tmp_path: Path) -> None:
    """A real refusal of SQLite: the database may grow no further."""
    database = Database(f"sqlite:///{tmp_path}/offices.db")
    record = StoredRecord(_offices(database, tmp_path))
    journal = record.open()
    writer = _writer(database)

    def limit(connection: Connection) -> None:
        connection.exec_driver_sql("PRAGMA max_page_count = 60")

    sqlalchemy_event.listen(writer, "begin", limit)
    with pytest.raises(StorageError, match="full.*free space"):
        for revision in range(1, 1000):
            journal.commit(revision, [os.urandom(5000)], {})
    sqlalchemy_event.remove(writer, "begin", limit)
    head = journal.head
    assert head > 5
    assert sum(1 for _ in journal.events()) == head
    journal._drop_connection()
    journal.commit(head + 1, [b"{}"], {})
    record.close()
    database.close()


def _offices(database: Database, folder: Path) -> Offices:
    return Offices(database, folder / "locks")


def _engines(database: Database) -> tuple[Engine, Engine]:
    with database.reading():
        engines = database._engines
    assert engines is not None
    return engines


def _writer(database: Database) -> Engine:
    return _engines(database)[0]
