"""One office as one file: the round trip, and everything that is refused."""

from __future__ import annotations

import json
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from services.storage import archive
from services.storage.archive import Limits, pack, unpack
from services.storage.blobs import FileBlobs
from services.storage.database import Database
from services.storage.faults import Fault, armed
from services.storage.journal import Offices
from services.storage.memory import MemoryBlobs
from simulator.canonical import canonical, sha256
from simulator.errors import CorruptStore, OfficeTownError, StorageError, UsageError
from simulator.ports import ShellState, TapeTool, TreeEntry
from tests.storage.support import StoredRecord, answer, event, item, request, text

Members = dict[str, bytes]


@pytest.fixture
def packed(sqlite_record: StoredRecord, tmp_path: Path) -> Path:
    """An archive of an office with everything in it."""
    _fill(sqlite_record, FileBlobs(tmp_path / "blobs"))
    pack(sqlite_record.offices, sqlite_record.office_id, FileBlobs(tmp_path / "blobs"), tmp_path / "office.zip")
    return tmp_path / "office.zip"


@pytest.fixture
def elsewhere(tmp_path: Path) -> Offices:
    """The offices of another machine."""
    return Offices(Database(f"sqlite:///{tmp_path}/elsewhere/offices.db"), tmp_path / "elsewhere" / "locks")


def _fill(record: StoredRecord, blobs: FileBlobs) -> None:
    ledger, notes = blobs.put(b"a ledger" * 1000), blobs.put(b"notes")
    blobs.put(b"of another office")
    journal = record.open()
    journal.commit(1, [event(n) for n in range(1, 400)], text("words \x00 \N{SNOWMAN}"), [item("m1")])
    journal.commit(400, [canonical({"file": ledger.sha256})], {})
    home = (TreeEntry("notes.md", notes),)
    journal.record(
        [(request(ordinal=n, words=f"question {n}"), replace(answer(cost=n), latency_ms=n)) for n in range(20)],
        [TapeTool("d.1", 0, "f", "ok", home, ShellState())],
    )
    journal.begin_call(request("elena.2"), 90)
    journal.save_checkpoint(100, "1", b"cache")
    journal.set_status(b'{"runs": "as its writer has it"}\x00')


def _same(first: Offices, first_id: str, second: Offices, second_id: str) -> None:
    a, b = first.read(first_id), second.read(second_id)
    assert list(a.events()) == list(b.events())
    assert list(a.requests()) == list(b.requests())
    assert list(a.ledger()) == list(b.ledger())
    assert a.tool("d.1", 0) == b.tool("d.1", 0) is not None
    assert b.body(next(iter(text("words \x00 \N{SNOWMAN}")))) == "words \x00 \N{SNOWMAN}"
    rows = [offices.find(office_id) for offices, office_id in ((first, first_id), (second, second_id))]
    kept = [(r.name, r.created, r.package_sha256, r.engine_version, r.seed, r.head, r.parent, r.status) for r in rows]
    assert rows[0].status
    assert kept[0] == kept[1]


def test_an_office_moves_to_another_machine_byte_for_byte(
    packed: Path, sqlite_record: StoredRecord, elsewhere: Offices
) -> None:
    blobs = MemoryBlobs()
    office_id = unpack(packed, elsewhere, blobs)
    assert office_id == sqlite_record.office_id
    _same(sqlite_record.offices, office_id, elsewhere, office_id)
    assert blobs.get(sha256(b"a ledger" * 1000)) == b"a ledger" * 1000
    assert blobs.get(sha256(b"notes")) == b"notes"
    assert not blobs.has(sha256(b"of another office"))
    journal = elsewhere.open(office_id)
    journal.commit(401, [event(401)], {})
    journal.close()


def test_from_one_kind_of_database_to_the_other(stored_record: StoredRecord, packed: Path, tmp_path: Path) -> None:
    office_id = unpack(packed, stored_record.offices, MemoryBlobs(), name="moved")
    _fill(stored_record, FileBlobs(tmp_path / "blobs"))
    pack(stored_record.offices, "moved", FileBlobs(tmp_path / "blobs"), tmp_path / "again.zip")
    with zipfile.ZipFile(packed) as a, zipfile.ZipFile(tmp_path / "again.zip") as b:
        for name in ("events", "calls", "tools", "bodies"):
            assert a.read(name) == b.read(name)
    assert stored_record.offices.find("moved").id == office_id


def test_the_same_office_packs_to_the_same_bytes(packed: Path, sqlite_record: StoredRecord, tmp_path: Path) -> None:
    manifest = pack(sqlite_record.offices, sqlite_record.office_id, FileBlobs(tmp_path / "blobs"), tmp_path / "b.zip")
    assert packed.read_bytes() == (tmp_path / "b.zip").read_bytes()
    assert (manifest.head, manifest.office) == (400, sqlite_record.office_id)
    assert stat.S_IMODE(packed.stat().st_mode) == 0o600


def test_where_the_id_is_taken_the_copy_gets_another(packed: Path, sqlite_record: StoredRecord) -> None:
    copy = unpack(packed, sqlite_record.offices, MemoryBlobs(), name="copy")
    assert copy != sqlite_record.office_id
    assert list(sqlite_record.offices.read(copy).events()) == list(
        sqlite_record.offices.read(sqlite_record.office_id).events()
    )


def test_the_outbox_stays_behind(packed: Path, elsewhere: Offices) -> None:
    """A copy must not send again what the original sends."""
    unpack(packed, elsewhere, MemoryBlobs())
    with elsewhere.database.reading() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM outbox").scalar() == 0


def test_a_damaged_blob_is_not_packed(sqlite_record: StoredRecord, tmp_path: Path) -> None:
    """RULE 25."""
    blobs = FileBlobs(tmp_path / "blobs")
    _fill(sqlite_record, blobs)
    name = sha256(b"notes")
    (tmp_path / "blobs" / name[:2] / name[2:]).write_bytes(b"other")
    with pytest.raises(CorruptStore, match="do not match their hash"):
        pack(sqlite_record.offices, sqlite_record.office_id, blobs, tmp_path / "office.zip")
    assert sorted(path.name for path in tmp_path.iterdir() if "zip" in path.name) == []


def test_a_failed_pack_leaves_an_older_archive_as_it_was(
    packed: Path, sqlite_record: StoredRecord, tmp_path: Path
) -> None:
    before = packed.read_bytes()
    with armed("archive.rename", Fault.NO_SPACE), pytest.raises(StorageError, match="free space"):
        pack(sqlite_record.offices, sqlite_record.office_id, FileBlobs(tmp_path / "blobs"), packed)
    assert packed.read_bytes() == before
    assert not list(tmp_path.glob("*.part")) and not list(tmp_path.glob(".*.part"))
    with pytest.raises(StorageError, match="could not be written"):
        pack(sqlite_record.offices, sqlite_record.office_id, FileBlobs(tmp_path / "blobs"), tmp_path / "no" / "a.zip")


# -- what is refused --------------------------------------------------------------------------------------------------


def _members(path: Path) -> Members:
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist()}


def _seal(members: Members) -> Members:
    """Make the manifest agree with the members again: the work of a careful attacker."""
    manifest = json.loads(members["manifest.json"])
    manifest["members"] = {
        name: {"sha256": sha256(data), "size": len(data)} for name, data in members.items() if name != "manifest.json"
    }
    return members | {"manifest.json": canonical(manifest)}


def _frames(*parts: bytes) -> bytes:
    return b"".join(len(part).to_bytes(4, "big") + part for part in parts)


def _refused(path: Path, members: Members, offices: Offices, limits: Limits | None = None) -> OfficeTownError:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in members.items():
            file.writestr(name, data)
    with pytest.raises((CorruptStore, UsageError)) as caught:
        unpack(path, offices, MemoryBlobs(), limits=limits)
    assert offices.list() == ()
    return caught.value


def _manifest(**changes: object) -> Callable[[Members], Members]:
    return lambda m: m | {"manifest.json": canonical(json.loads(m["manifest.json"]) | changes)}


_BLOB = "blobs/" + sha256(b"notes")
_ROW = {"activation": "a", "ordinal": 0, "fingerprint": "f", "home_sha256": "0" * 64, "data": "AAAA"}
TAMPERED: dict[str, Callable[[Members], Members]] = {
    "one event's byte": lambda m: m | {"events": m["events"].replace(b"noted", b"moted", 1)},
    "an event less": lambda m: m | {"events": m["events"][: m["events"].rindex(b'{"file"') - 4]},
    "an event less, sealed": lambda m: _seal(m | {"events": m["events"][: m["events"].rindex(b'{"file"') - 4]}),
    "a frame cut off": lambda m: _seal(m | {"events": m["events"][:-3]}),
    "a frame longer than the file": lambda m: _seal(m | {"events": m["events"] + b"\x00\x00\xff\xff{}"}),
    "a frame of gigabytes": lambda m: _seal(m | {"events": b"\xff\xff\xff\xff" + m["events"]}),
    "a blob of other bytes": lambda m: _seal(m | {_BLOB: b"other"}),
    "a blob taken out": lambda m: _seal({name: data for name, data in m.items() if name != _BLOB}),
    "a body of other bytes": lambda m: _seal(m | {"bodies": _frames(b"\x01" * 32 + b"x\x9c\x03\x00\x00\x00\x00\x01")}),
    "bodies taken out": lambda m: _seal(m | {"bodies": b""}),
    "a body that is no zlib": lambda m: _seal(m | {"bodies": _frames(b"\x01" * 40)}),
    "a tool row without sense": lambda m: _seal(m | {"tools": _frames(b"{}")}),
    "a tool row with damaged data": lambda m: _seal(m | {"tools": _frames(canonical(_ROW))}),
    "a number beyond the database": lambda m: _seal(m | {"tools": _frames(canonical(_ROW | {"ordinal": 2**63}))}),
    "a call that costs less than nothing": lambda m: _seal(
        m | {"calls": m["calls"].replace(b'"cost_micros":1,', b'"cost_micros":-,', 1)}
    ),
    "a call in no state": lambda m: _seal(m | {"calls": m["calls"].replace(b'"state":"begun"', b'"state":"bogus"')}),
    "no manifest": lambda m: {name: data for name, data in m.items() if name != "manifest.json"},
    "a manifest that is no JSON": lambda m: m | {"manifest.json": b"{"},
    "a manifest with more": _manifest(surprise=1),
    "a manifest of the future": _manifest(format=3),
    "a status that is no text": _manifest(status=7),
    "a status that is no base64": _manifest(status="!"),
    "a status of megabytes": _manifest(status="A" * 2_000_000),
    "another head": _manifest(head=399),
    "a head below nothing": _manifest(head=-1),
    "a seed too large": _manifest(seed=2**70),
    "an id that is a path": _manifest(office="../../etc"),
    "a path upwards": lambda m: _seal(m | {"../../etc/cron.d/x": b"evil"}),
    "an absolute path": lambda m: _seal(m | {"/etc/passwd": b"evil"}),
    "a blob under a path": lambda m: _seal(m | {"blobs/../../x": b"evil"}),
    "a folder": lambda m: _seal(m | {"blobs/": b""}),
    "a member that no manifest names": lambda m: m | {"blobs/" + sha256(b"evil"): b"evil"},
}


@pytest.mark.parametrize("what", TAMPERED)
def test_a_tampered_or_hostile_archive_is_refused_and_makes_no_office(
    packed: Path, elsewhere: Offices, what: str
) -> None:
    before = _members(packed)
    tampered = TAMPERED[what](dict(before))
    assert tampered != before
    error = _refused(packed, tampered, elsewhere)
    assert str(packed) in str(error) or "cannot be an office's id" in str(error) or "64 bits" in str(error)


@pytest.mark.parametrize("limits", [Limits(total=1000), Limits(members=3), Limits(frame=10), Limits(blob=10)])
def test_an_archive_beyond_the_limits_is_refused(packed: Path, elsewhere: Offices, limits: Limits) -> None:
    _refused(packed, _members(packed), elsewhere, limits)


def test_a_bomb_is_refused_by_its_declared_size_before_it_is_read(packed: Path, elsewhere: Offices) -> None:
    bomb = _seal(_members(packed) | {"blobs/" + sha256(b"bomb"): b"\x00" * 30_000_000})
    assert "larger than" in str(_refused(packed, bomb, elsewhere, Limits(total=20_000_000)))
    assert packed.stat().st_size < 1_000_000


def test_a_name_that_stands_twice_is_refused(packed: Path, elsewhere: Offices) -> None:
    with pytest.warns(UserWarning, match="Duplicate name"), zipfile.ZipFile(packed, "a") as file:
        file.writestr("events", b"")
    with pytest.raises(CorruptStore, match="list of members"):
        unpack(packed, elsewhere, MemoryBlobs())
    assert elsewhere.list() == ()


@pytest.mark.parametrize("data", [b"", b"not a zip", b"PK\x05\x06" + b"\x00" * 18, b"PK\x03\x04" * 50])
def test_what_is_no_archive_is_refused(tmp_path: Path, elsewhere: Offices, data: bytes) -> None:
    (tmp_path / "a.zip").write_bytes(data)
    with pytest.raises(CorruptStore, match="a.zip"):
        unpack(tmp_path / "a.zip", elsewhere, MemoryBlobs())
    with pytest.raises(UsageError, match="no such file"):
        unpack(tmp_path / "b.zip", elsewhere, MemoryBlobs())


def test_a_flipped_byte_anywhere_is_noticed_or_harmless(packed: Path, elsewhere: Offices, tmp_path: Path) -> None:
    """Every 97th byte of the file and all of the zip's own end: refused, or (in the zip's slack) the same office."""
    data = packed.read_bytes()
    target = tmp_path / "flipped.zip"
    refused = 0
    for position in (*range(0, len(data), max(97, len(data) // 150)), *range(len(data) - 120, len(data))):
        target.write_bytes(data[:position] + bytes([data[position] ^ 0x55]) + data[position + 1 :])
        try:
            office_id = unpack(target, elsewhere, MemoryBlobs())
        except (CorruptStore, UsageError):
            refused += 1
        else:
            assert list(elsewhere.read(office_id).events())[-1][0] == 400
            elsewhere.remove(office_id)
    assert refused > 50
    assert elsewhere.list() == ()


def test_an_archive_of_the_first_format_is_read_still(packed: Path, elsewhere: Offices, tmp_path: Path) -> None:
    """It did not say with what its office was run."""
    members = _members(packed)
    manifest = json.loads(members["manifest.json"]) | {"format": 1}
    del manifest["status"]
    older = tmp_path / "older.zip"
    with zipfile.ZipFile(older, "w") as file:
        for name, data in (members | {"manifest.json": canonical(manifest)}).items():
            file.writestr(name, data)
    office_id = unpack(older, elsewhere, MemoryBlobs())
    assert elsewhere.find(office_id).status == b""
    assert elsewhere.find(office_id).head == 400


def test_what_an_archive_consists_of_is_fixed() -> None:
    """A reader of another version must be able to rely on it."""
    assert archive.FORMAT == 2
    assert set(archive.Manifest.__struct_fields__) == {
        "format", "office", "name", "created", "package_sha256", "engine_version", "seed", "parent", "parent_revision",
        "head", "members", "status",
    }  # fmt: skip
