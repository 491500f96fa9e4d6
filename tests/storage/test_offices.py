"""Making, finding, forking and removing offices."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from services.storage.blobs import FileBlobs
from services.storage.collect import A_DAY, collect
from services.storage.database import Database
from services.storage.journal import Offices
from simulator.canonical import canonical
from simulator.errors import OfficeBusy, StorageError, UnknownReference, UsageError
from simulator.ports import ShellState, TapeTool, TreeEntry
from tests.storage.support import PACKAGE, StoredRecord, answer, event, events, item, request, text, tool


def _create(offices: Offices, name: str = "Juniper", office_id: str | None = None, created: int = 1000) -> str:
    return offices.create(name, PACKAGE, 7, "1.0", created, office_id=office_id)


def test_an_office_is_listed_with_what_it_is_made_of(offices: Offices) -> None:
    office_id = offices.create("Juniper", PACKAGE, -(2**63), "1.0", 1000, parent=("older", 12))
    (row,) = offices.list()
    assert (row.id, row.name, row.created, row.seed) == (office_id, "Juniper", 1000, -(2**63))
    assert (row.package_sha256, row.engine_version, row.parent, row.parent_revision) == (PACKAGE, "1.0", "older", 12)
    assert (row.epoch, row.head, row.status) == (0, 0, b"")


def test_ids_are_handed_in_or_drawn_or_derived(database: Database, tmp_path: Path) -> None:
    drawn = Offices(database, tmp_path, new_id=iter(["first", "second"]).__next__)
    assert [_create(drawn), _create(drawn), _create(drawn, office_id="third")] == ["first", "second", "third"]
    derived = Offices(database, tmp_path)
    ids = {_create(derived), _create(derived), _create(derived, name="Other")}
    assert len(ids) == 3
    assert len(derived.list()) == 6


@pytest.mark.parametrize("bad", ["../up", "A", "a b", "-x", "a/b", "\x00"])
def test_an_id_that_would_not_make_a_file_name_is_refused(offices: Offices, bad: str) -> None:
    with pytest.raises(UsageError, match="cannot be an office's id"):
        _create(offices, office_id=bad)


def test_what_cannot_be_stored_is_refused_with_plain_words(offices: Offices) -> None:
    _create(offices, office_id="one")
    with pytest.raises(UsageError, match="an office one already"):
        _create(offices, office_id="one")
    with pytest.raises(UsageError, match="needs a name"):
        _create(offices, name=" \n")
    with pytest.raises(UsageError, match="64 bits"):
        offices.create("Juniper", PACKAGE, 2**63, "1.0", 1000)
    assert [row.id for row in offices.list()] == ["one"]


def test_an_office_is_found_by_id_name_or_the_beginning_of_its_id(offices: Offices) -> None:
    _create(offices, "Juniper", "abc1")
    _create(offices, "Oakridge", "abd2")
    _create(offices, "abd", "zzz9")
    assert offices.find("abc1").id == "abc1"
    assert offices.find("Oakridge").id == "abd2"
    assert offices.find("abc").id == "abc1"
    assert offices.find("abd").id == "zzz9"
    assert offices.find("abd2").id == "abd2"


def test_a_reference_to_nothing_or_to_several_says_what_there_is(offices: Offices) -> None:
    with pytest.raises(UnknownReference, match="There is none yet"):
        offices.find("abc")
    for n in range(8):
        _create(offices, "Juniper", f"abc{n}", created=n)
    with pytest.raises(UnknownReference, match=r"'nope'.*abc0 \(Juniper\).*and 2 more"):
        offices.find("nope")
    with pytest.raises(UsageError, match="may be any of"):
        offices.find("ab")
    with pytest.raises(UsageError, match="may be any of"):
        offices.find("Juniper")
    with pytest.raises(UsageError, match="Name an office"):
        offices.find("")
    for call in (offices.open, offices.read, offices.remove):
        with pytest.raises(UnknownReference, match="'abc'"):
            call("abc")


def test_removing_an_office_takes_its_rows_and_no_others(stored_record: StoredRecord) -> None:
    offices = stored_record.offices
    other = offices.create("Other", PACKAGE, 1, "1", 1)
    for office_id in (stored_record.office_id, other):
        journal = offices.open(office_id)
        journal.commit(1, [event(1)], text("words"), [item("m1")])
        journal.record([(request(), answer())], [tool()])
        journal.save_checkpoint(1, "1", b"x")
        journal.close()
    offices.remove(stored_record.office_id)
    assert [row.id for row in offices.list()] == [other]
    rest = offices.read(other)
    assert (list(rest.events()), rest.tool("daniel.1", 0)) == ([(1, event(1))], tool())
    again = offices.create("Juniper", PACKAGE, 1, "1", 1, office_id=stored_record.office_id)
    assert list(offices.read(again).events()) == []
    assert offices.read(again).call("elena.1", 0) is None


def test_a_running_office_can_be_read_but_not_removed(stored_record: StoredRecord) -> None:
    journal = stored_record.open()
    reader = stored_record.offices.read(stored_record.office_id)
    journal.commit(1, [event(1)], text("words"))
    journal.record([(request(), answer())])
    assert reader.head == 1
    assert list(reader.events()) == [(1, event(1))]
    found = reader.call("elena.1", 0)
    assert found is not None and found.response == answer()
    with pytest.raises(OfficeBusy, match="in use by another process"):
        stored_record.offices.remove(stored_record.office_id)
    assert stored_record.offices.list()[0].head == 1


def test_a_reader_of_a_removed_office_is_told_so(offices: Offices) -> None:
    reader = offices.read(_create(offices))
    offices.remove(reader.office_id)
    with pytest.raises(UnknownReference, match="not there any more"):
        reader.head  # noqa: B018 - reading it is the test


def test_a_fork_has_the_same_past_byte_for_byte_and_a_future_of_its_own(stored_record: StoredRecord) -> None:
    journal = stored_record.open()
    journal.commit(1, events(1, 10), text("words"), [item("m1")])
    journal.record([(request("elena.1"), answer()), (request("quinn.7"), answer())], [tool()])
    journal.begin_call(request("quinn.8"), 500)
    offices = stored_record.offices
    child = offices.fork(stored_record.office_id, 6, "what if", created=2000)
    journal.commit(11, [event(11)], {})
    row = offices.find("what if")
    assert (row.parent, row.parent_revision, row.head, row.epoch) == (stored_record.office_id, 6, 6, 0)
    assert (row.package_sha256, row.seed) == (PACKAGE, 7)
    forked = offices.open(child)
    assert list(forked.events()) == list(journal.events(upto=6))
    assert forked.status == b"", "what a status says of revisions is its writer's to know"
    forked.commit(7, [event(7, kind="forked")], {})
    assert forked.body(next(iter(text("words")))) == "words"
    found = forked.call("quinn.7", 0)
    assert found is not None and found.fingerprint == request("quinn.7").fingerprint
    assert forked.tool("daniel.1", 0) == tool()
    assert forked.charged_micros() == 60
    assert journal.head == 11
    forked.close()


def test_a_fork_can_leave_answers_behind(stored_record: StoredRecord) -> None:
    journal = stored_record.open()
    journal.commit(1, events(1, 3), {})
    journal.record([(request(f"elena.{n}"), answer()) for n in range(5)], [tool("daniel.1"), tool("daniel.2")])
    kept = {"elena.1", "elena.3", "daniel.2"}
    child = stored_record.offices.fork(stored_record.office_id, 3, "fork", 2000, keep_tape=kept.__contains__)
    reader = stored_record.offices.read(child)
    assert {r.call[0] for r, _ in reader.requests()} == {"elena.1", "elena.3"}
    assert [reader.tool(f"daniel.{n}", 0) is not None for n in (1, 2)] == [False, True]
    assert sum(1 for _ in journal.requests()) == 5


def test_a_fork_of_a_fork_survives_its_parents(offices: Offices) -> None:
    first = _create(offices, "first")
    journal = offices.open(first)
    journal.commit(1, events(1, 5), {})
    journal.close()
    second = offices.fork(first, 4, "second", 2)
    third = offices.fork(second, 2, "third", 3)
    offices.remove(second)
    offices.remove(first)
    assert list(offices.read(third).events()) == list(enumerate(events(1, 2), 1))


@pytest.mark.parametrize("revision", [-1, 4])
def test_an_office_cannot_be_forked_outside_its_log(stored_record: StoredRecord, revision: int) -> None:
    stored_record.open().commit(1, events(1, 3), {})
    with pytest.raises(UsageError, match="revisions 0 to 3"):
        stored_record.offices.fork(stored_record.office_id, revision, "fork", 2000)
    assert len(stored_record.offices.list()) == 1


def test_a_log_that_does_not_end_where_its_head_says_is_not_opened(sqlite_record: StoredRecord) -> None:
    journal = sqlite_record.open()
    journal.commit(1, events(1, 3), {})
    journal.close()
    with sqlite_record.offices.database.writing() as connection:
        connection.exec_driver_sql("DELETE FROM events WHERE revision = 3")
    with pytest.raises(StorageError, match="ends at 2, its head says 3"):
        sqlite_record.open()


def test_the_database_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    """RULE 30: the store belongs to another uid than what runs in a sandbox."""
    before = os.umask(0)
    try:
        database = Database(f"sqlite:///{tmp_path}/home/offices.db")
        journal = Offices(database, tmp_path / "home" / "locks").open(
            _create(Offices(database, tmp_path / "home" / "locks"))
        )
    finally:
        os.umask(before)
    files = [path for path in (tmp_path / "home").rglob("*") if path.is_file()]
    assert {path.name.partition(".")[2] for path in files} >= {"db", "db-wal", "db-shm", "lock"}
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    journal.close()
    database.close()


def test_collection_keeps_what_logs_tapes_packages_and_forks_name(offices: Offices, tmp_path: Path) -> None:
    """RULE 25."""
    blobs = FileBlobs(tmp_path / "blobs")
    in_log, in_home, in_fork, package, nowhere, young = (
        blobs.put(name) for name in (b"log", b"home", b"fork", b"package", b"nowhere", b"young")
    )
    for blob in (in_log, in_home, in_fork, package, nowhere):
        os.utime(tmp_path / "blobs" / blob.sha256[:2] / blob.sha256[2:], (1000, 1000))
    office_id = offices.create("Juniper", package.sha256, 1, "1", 1)
    journal = offices.open(office_id)
    journal.commit(1, [canonical({"file": in_fork.sha256})], {})
    fork = offices.fork(office_id, 1, "fork", 2)
    journal.commit(2, [canonical({"file": {"sha256": in_log.sha256}})], {})
    journal.record([], [TapeTool("d.1", 0, "f", "ok", (TreeEntry("a", in_home),), ShellState())])
    now = young_at = (tmp_path / "blobs" / young.sha256[:2] / young.sha256[2:]).stat().st_mtime
    with pytest.raises(OfficeBusy):
        collect(offices, blobs, now)
    journal.close()
    assert young_at - 1000 > A_DAY
    assert collect(offices, blobs, now) == (1, len(b"nowhere"))
    assert all(blobs.has(b.sha256) for b in (in_log, in_home, in_fork, package, young))
    offices.remove(office_id)
    assert collect(offices, blobs, now, keep=[package.sha256])[0] == 2
    assert [blobs.has(b.sha256) for b in (in_log, in_home, in_fork, package)] == [False, False, True, True]
    assert fork
