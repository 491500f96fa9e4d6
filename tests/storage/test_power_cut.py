"""What a power cut may leave of the blob store: `kill -9` never tests fsync, this does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from services.storage.blobs import FileBlobs
from simulator.canonical import sha256
from tests.storage.recorder import Call, Disk, Recorder, disks_after

FILES = (b"first file", b"second file", b"first file", b"third")


def _run(root: Path, omit: Callable[[Call], bool] = lambda call: False) -> tuple[Recorder, list[tuple[int, bytes]]]:
    """Put the files; return the calls, and after how many of them each put was acknowledged."""
    recorder = Recorder(omit)
    blobs = FileBlobs(root, recorder)
    acknowledged = []
    for data in FILES:
        blobs.put(data)
        acknowledged.append((len(recorder.calls), data))
    return recorder, acknowledged


def _faults(root: Path, recorder: Recorder, acknowledged: list[tuple[int, bytes]]) -> set[str]:
    """Return what is wrong on any disk that a power cut after any prefix of the calls may leave."""
    found: set[str] = set()
    for end in range(len(recorder.calls) + 1):
        promised = {data for after, data in acknowledged if after <= end}
        for disk in disks_after(recorder.calls[:end]):
            found |= _wrong(root, disk, promised)
    return found


def _wrong(root: Path, disk: Disk, promised: set[bytes]) -> set[str]:
    named = {path.parent.name + path.name: data for path, data in disk.items() if path.parent.name != "tmp"}
    torn = {"torn" for name, data in named.items() if sha256(data) != name}
    lost = {"lost" for data in promised if named.get(sha256(data)) != data}
    return torn | lost


def test_after_a_power_cut_every_acknowledged_file_is_whole_and_no_name_holds_other_bytes(tmp_path: Path) -> None:
    root = tmp_path / "blobs"
    recorder, acknowledged = _run(root)
    assert sum(1 for end in range(len(recorder.calls) + 1) for _ in disks_after(recorder.calls[:end])) > 50
    assert _faults(root, recorder, acknowledged) == set()


@pytest.mark.parametrize(
    ("omitted", "fault"),
    [
        (lambda call: call.kind == "fsync", "torn"),
        (lambda call: call.kind == "fsync_folder" and len(call.path.name) == 2, "lost"),
        (lambda call: call.kind == "fsync_folder" and call.path.name == "blobs", "lost"),
        (lambda call: call.kind == "fsync_folder" and call.path.name == "home", "lost"),
    ],
    ids=["file", "folder", "root", "parent"],
)
def test_each_missing_fsync_is_found_out(tmp_path: Path, omitted: Callable[[Call], bool], fault: str) -> None:
    """The check above can fail: leave out any one kind of fsync and it does."""
    home = tmp_path / "home"
    home.mkdir()
    recorder, acknowledged = _run(home / "blobs", omitted)
    assert fault in _faults(home / "blobs", recorder, acknowledged)


def test_a_file_that_another_process_has_named_but_not_synced_is_synced_before_it_is_promised(tmp_path: Path) -> None:
    root = tmp_path / "blobs"
    FileBlobs(root).put(b"shared")
    recorder = Recorder()
    blob = FileBlobs(root, recorder).put(b"shared")
    assert recorder.calls == [Call("fsync_folder", root / blob.sha256[:2]), Call("fsync_folder", root)]
