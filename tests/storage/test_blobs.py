"""File bytes: what both blob stores do, and what the folder must do on top."""

from __future__ import annotations

import errno
import os
import stat
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.storage.blobs import FileBlobs, PosixFiles
from services.storage.faults import Fault, armed
from services.storage.memory import MemoryBlobs
from simulator.canonical import sha256
from simulator.errors import CorruptStore, StorageError, UsageError
from simulator.ports import Blob, BlobStore


@pytest.fixture(params=["memory", "files"])
def blobs(request: pytest.FixtureRequest, tmp_path: Path) -> BlobStore:
    """Each blob store, empty."""
    return MemoryBlobs() if request.param == "memory" else FileBlobs(tmp_path / "store" / "blobs")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The folder of a file store."""
    return tmp_path / "blobs"


def _path(root: Path, blob: Blob) -> Path:
    return root / blob.sha256[:2] / blob.sha256[2:]


def _content(root: Path) -> list[Path]:
    return sorted(path for path in root.rglob("*") if path.is_file())


@given(data=st.binary(max_size=2000))
def test_what_was_put_comes_back_under_its_hash(data: bytes) -> None:
    blobs: BlobStore = MemoryBlobs()
    assert blobs.put(data) == Blob(sha256(data), len(data))
    assert blobs.get(sha256(data)) == data


@pytest.mark.parametrize("data", [b"", b"x", b"\x00" * 100_000, bytes(range(256)) * 300])
def test_bytes_of_any_size_come_back(blobs: BlobStore, data: bytes) -> None:
    blob = blobs.put(data)
    assert blob == Blob(sha256(data), len(data))
    assert blobs.put(data) == blob
    assert blobs.has(blob.sha256)
    assert blobs.get(blob.sha256) == data


def test_what_was_never_put_is_missing(blobs: BlobStore) -> None:
    assert not blobs.has(sha256(b"never"))
    with pytest.raises(CorruptStore, match="missing"):
        blobs.get(sha256(b"never"))


@pytest.mark.parametrize("name", ["", "abc", "../../etc/passwd", "A" * 64, "g" * 64, "0" * 63 + "/", "0" * 65])
def test_a_name_that_is_no_hash_is_refused(blobs: BlobStore, name: str) -> None:
    with pytest.raises(UsageError, match="64 lower-case hex digits"):
        blobs.get(name)
    with pytest.raises(UsageError, match="64 lower-case hex digits"):
        blobs.has(name)


def test_a_second_process_finds_what_the_first_has_put(root: Path) -> None:
    blob = FileBlobs(root).put(b"shared")
    assert FileBlobs(root).get(blob.sha256) == b"shared"
    assert list(FileBlobs(root).hashes()) == [blob.sha256]


def test_no_other_user_can_read_the_store(root: Path) -> None:
    """RULE 30: the store belongs to another uid than what runs in a sandbox."""
    before = os.umask(0)
    try:
        blob = FileBlobs(root).put(b"secret")
    finally:
        os.umask(before)
    assert stat.S_IMODE(_path(root, blob).stat().st_mode) == 0o600
    assert {stat.S_IMODE(p.stat().st_mode) for p in (root, _path(root, blob).parent, root / "tmp")} == {0o700}


def test_existing_content_is_not_written_again(root: Path) -> None:
    blob = FileBlobs(root).put(b"once")
    inode = _path(root, blob).stat().st_ino
    again = FileBlobs(root)
    again.put(b"once")
    again.put(b"once")
    assert _path(root, blob).stat().st_ino == inode
    assert len(_content(root)) == 1


def test_a_cut_off_file_is_put_right_by_whoever_has_the_bytes(root: Path) -> None:
    blob = FileBlobs(root).put(b"whole content")
    _path(root, blob).write_bytes(b"whole")
    assert FileBlobs(root).put(b"whole content") == blob
    assert FileBlobs(root).get(blob.sha256) == b"whole content"


@pytest.mark.parametrize("damage", [b"", b"whole conten!", b"whole content\n"])
def test_damaged_bytes_are_never_handed_out(root: Path, damage: bytes) -> None:
    """RULE 25: verified by sha256."""
    blob = FileBlobs(root).put(b"whole content")
    _path(root, blob).write_bytes(damage)
    with pytest.raises(CorruptStore, match="do not match their hash"):
        FileBlobs(root).get(blob.sha256)


@pytest.mark.parametrize("point", ["blobs.write", "blobs.fsync", "blobs.rename"])
@pytest.mark.parametrize("fault", [Fault.NO_SPACE, Fault.IO_ERROR])
def test_a_full_or_broken_disk_leaves_nothing_partial(root: Path, point: str, fault: Fault) -> None:
    blobs = FileBlobs(root)
    with armed(point, fault), pytest.raises(StorageError, match="could not store a file of 4 bytes"):
        blobs.put(b"data")
    assert _content(root) == []
    assert not blobs.has(sha256(b"data"))
    assert blobs.get(blobs.put(b"data").sha256) == b"data"


class _FullDisk(PosixFiles):
    """A disk that takes half of a file."""

    def write(self, path: Path, data: bytes) -> None:
        super().write(path, data[: len(data) // 2])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_half_a_file_on_a_full_disk_is_taken_away(root: Path) -> None:
    with pytest.raises(StorageError, match="No space left"):
        FileBlobs(root, _FullDisk()).put(b"data" * 100)
    assert _content(root) == []


def test_a_put_whose_folder_was_not_synced_is_not_acknowledged_but_may_be_repeated(root: Path) -> None:
    blobs = FileBlobs(root)
    with armed("blobs.fsync_folder", Fault.IO_ERROR), pytest.raises(StorageError):
        blobs.put(b"data")
    assert blobs.get(blobs.put(b"data").sha256) == b"data"


def test_threads_putting_the_same_bytes_get_one_file(root: Path) -> None:
    blobs = FileBlobs(root)
    failures: list[Exception] = []

    def put() -> None:
        try:
            for n in range(20):
                assert blobs.get(blobs.put(f"file {n}".encode()).sha256) == f"file {n}".encode()
        except (StorageError, CorruptStore, AssertionError) as error:
            failures.append(error)

    threads = [threading.Thread(target=put) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(_content(root)) == 20


def test_collection_takes_what_is_old_and_unreferenced_and_nothing_else(root: Path) -> None:
    """RULE 25: unreferenced and older than a day."""
    blobs = FileBlobs(root)
    kept, old, young = (blobs.put(data) for data in (b"referenced", b"old", b"young"))
    for blob in (kept, old):
        os.utime(_path(root, blob), (1000, 1000))
    abandoned = root / "tmp" / "abandoned"
    abandoned.write_bytes(b"12")
    os.utime(abandoned, (1000, 1000))
    assert blobs.gc({kept.sha256}, older_than=2000) == (2, 3 + 2)
    assert [blobs.has(b.sha256) for b in (kept, old, young)] == [True, False, True]
    assert not abandoned.exists()
    assert blobs.get(blobs.put(b"old").sha256) == b"old"


def test_putting_again_makes_a_file_young_so_that_no_collection_takes_it(root: Path) -> None:
    first = FileBlobs(root)
    blob = first.put(b"old but wanted")
    for blobs in (first, FileBlobs(root)):
        os.utime(_path(root, blob), (1000, 1000))
        blobs.put(b"old but wanted")
        assert blobs.gc(set(), older_than=2000) == (0, 0)
