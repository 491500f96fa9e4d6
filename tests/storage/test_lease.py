"""One office, one process: leases and fencing (RULE 24)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import text as sql

from services.storage.journal import Offices
from services.storage.writer import StoredJournal
from simulator.errors import Fenced, OfficeBusy, StorageError
from tests.storage.support import StoredRecord, answer, event, request

ROOT = Path(__file__).parents[2]
_HOLD = """
import sys
from pathlib import Path
from services.storage.database import Database
from services.storage.journal import Offices
journal = Offices(Database(sys.argv[1]), Path(sys.argv[2])).open(sys.argv[3])
print("held", journal.epoch, flush=True)
sys.stdin.read()
journal.commit(journal.head + 1, [b"{}"], {})
print("committed", flush=True)
"""


@contextmanager
def _holder(url: str, locks: Path, office_id: str) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the office until its input ends."""
    arguments = [sys.executable, "-c", _HOLD, url, str(locks), office_id]
    process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert process.stdin is not None and process.stdout is not None
    with process:
        assert process.stdout.readline().startswith("held")
        yield process
        process.kill()


def test_a_second_process_is_refused_until_the_first_ends(
    url: str, stored_record: StoredRecord, tmp_path: Path
) -> None:
    """RELIABILITY 6."""
    offices = stored_record.offices
    with _holder(url, tmp_path / "locks", stored_record.office_id) as process:
        with pytest.raises(OfficeBusy, match="in use by another process.*reading it works meanwhile"):
            stored_record.open()
        assert offices.read(stored_record.office_id).head == 0
        out, _ = process.communicate("")
        assert "committed" in out
    journal = stored_record.open()
    assert (journal.head, journal.epoch) == (1, 2)


def test_a_killed_process_leaves_no_lock_behind(url: str, stored_record: StoredRecord, tmp_path: Path) -> None:
    with _holder(url, tmp_path / "locks", stored_record.office_id) as process:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    stored_record.open().commit(1, [event(1)], {})
    assert stored_record.offices.read(stored_record.office_id).head == 1


def test_the_refusal_names_the_process_that_holds_the_office(sqlite_record: StoredRecord) -> None:
    sqlite_record.open()
    with pytest.raises(OfficeBusy, match=f"process {os.getpid()}"):
        sqlite_record.offices.open(sqlite_record.office_id)


def test_a_closed_office_can_be_opened_again_at_once(stored_record: StoredRecord) -> None:
    epochs = [stored_record.open().epoch for _ in range(5)]
    assert epochs == [1, 2, 3, 4, 5]


def _take_over(record: StoredRecord, tmp_path: Path) -> StoredJournal:
    """Open the office although it is held: as after a lock lost on a broken file system, or a broken session."""
    database = record.offices.database
    if not database.is_sqlite:
        with database.reading() as connection:
            connection.execute(
                sql(
                    # Of this database alone: other tests have theirs on the same server.
                    "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted "
                    "AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
                )
            )
    return Offices(database, tmp_path / "other locks").open(record.office_id)


def test_a_journal_that_was_taken_over_writes_nothing_more(stored_record: StoredRecord, tmp_path: Path) -> None:
    """RULE 24: no row from the fenced update means roll back and leave."""
    old = stored_record.open()
    old.commit(1, [event(1)], {})
    new = _take_over(stored_record, tmp_path)
    new.commit(2, [event(2, by="new")], {})
    writes: tuple[Callable[[], None], ...] = (
        lambda: old.commit(2, [event(2, by="old")], {}),
        lambda: old.record([(request(), answer())]),
        lambda: old.begin_call(request(), 100),
        lambda: old.release_call(request()),
        lambda: old.save_checkpoint(1, "1", b"x"),
        lambda: old.set_status(b"x"),
    )
    for write in writes:
        with pytest.raises(Fenced, match="taken over by another process"):
            write()
    assert list(new.events()) == [(1, event(1)), (2, event(2, by="new"))]
    assert (new.call("elena.1", 0), new.charged_micros(), new.status) == (None, 0, b"")
    old.close()
    new.commit(3, [event(3)], {})
    new.close()


def test_taking_over_fences_even_when_nothing_was_written_since(stored_record: StoredRecord, tmp_path: Path) -> None:
    old = stored_record.open()
    new = _take_over(stored_record, tmp_path)
    with pytest.raises(Fenced):
        old.begin_call(request(), 100)
    new.close()


def test_a_head_moved_by_a_foreign_hand_fences(stored_record: StoredRecord) -> None:
    journal = stored_record.open()
    with stored_record.offices.database.writing() as connection:
        connection.execute(sql("UPDATE offices SET head = head + 1"))
    with pytest.raises(Fenced):
        journal.commit(1, [event(1)], {})


def test_a_lock_folder_that_cannot_be_used_is_an_error_of_the_disk(sqlite_record: StoredRecord, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    offices = Offices(sqlite_record.offices.database, tmp_path / "file")
    with pytest.raises(StorageError, match="lock file cannot be opened"):
        offices.open(sqlite_record.office_id)
