"""The parts of the container provider that need no engine: its stream, its trees, its owners, its image's recipe."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import socket
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.sandbox import image, layout, packed, trees
from services.sandbox.docker import COMMAND, bounds
from services.sandbox.engine import Stream
from services.sandbox.limits import Limits
from services.sandbox.owners import Owner
from simulator.errors import SandboxError, SandboxUnavailable
from simulator.ports import TreeEntry
from tests.sandbox.conformance import NOW, MemoryBlobs

_CHECKOUT = Path(__file__).resolve().parents[2]

# -- the engine's stream -----------------------------------------------------------------------------------------------


def _packet(kind: int, data: bytes) -> bytes:
    return bytes([kind, 0, 0, 0]) + len(data).to_bytes(4, "big") + data


_PACKETS = st.lists(st.tuples(st.sampled_from([0, 1, 2]), st.binary(max_size=40)), max_size=12)


@given(_PACKETS, st.lists(st.integers(1, 30), max_size=30), st.integers(1, 25))
def test_no_byte_is_lost_or_changed_however_it_is_cut(
    packets: list[tuple[int, bytes]], cuts: list[int], count: int
) -> None:
    """Answers come in their order, complaints apart from them, also when time runs out in the middle of a packet."""
    wire = b"".join(_packet(kind, data) for kind, data in packets)
    ours, engines = socket.socketpair()
    stream = Stream(ours)
    stream.settimeout(0)
    got = b""
    with contextlib.closing(stream), engines:
        for cut in (*cuts, len(wire)):
            part, wire = wire[:cut], wire[cut:]
            engines.sendall(part)
            with contextlib.suppress(BlockingIOError):
                while data := stream.recv(count):
                    assert len(data) <= count
                    got += data
        engines.shutdown(socket.SHUT_WR)
        while data := stream.recv(count):
            got += data
        assert stream.recv(1) == b"", "the end stays the end"
    assert got == b"".join(data for kind, data in packets if kind != 2)
    assert stream.complaints == b"".join(data for kind, data in packets if kind == 2)


@pytest.mark.parametrize("wire", [b"HTTP/1.1 500 Internal", b"\x03\0\0\0\0\0\0\x01x", b"\x01\0\0\x01\0\0\0\x01x"])
def test_what_is_no_packet_is_no_answer(wire: bytes) -> None:
    ours, engines = socket.socketpair()
    with contextlib.closing(Stream(ours)) as stream, engines:
        engines.sendall(wire)
        with pytest.raises(ConnectionError, match="no packet"):
            stream.recv(100)


def test_endless_complaints_are_bounded() -> None:
    ours, engines = socket.socketpair()
    with contextlib.closing(Stream(ours)) as stream, engines:
        for number in range(100):
            engines.sendall(_packet(2, b"%03d" % number * 1000))
            stream.settimeout(0)
            with contextlib.suppress(BlockingIOError):
                stream.recv(10)
        assert stream.complaints.endswith(b"099") and len(stream.complaints) <= 4000


# -- the trees as a stream ---------------------------------------------------------------------------------------------

_ENTRIES = {
    "company": {"README.md": 0o644, "Resources/Skills/close/SKILL.md": 0o644, "Resources/Skills/close/run.sh": 0o755,
                "Clients/Müller/a b.txt": 0o644, "n" * 120 + "/" + "m" * 120: 0o644},
    "services": {"mail.json": 0o644},
    "task": {},
}  # fmt: skip


def _mounts(blobs: MemoryBlobs) -> dict[str, tuple[TreeEntry, ...]]:
    return {
        mount: tuple(TreeEntry(path, blobs.put(path.encode()), mode) for path, mode in files.items())
        for mount, files in _ENTRIES.items()
    }


def _look(root: Path) -> dict[str, tuple[int, int, bytes]]:
    found = {}
    for path in (root, *sorted(root.rglob("*"))):
        state = path.stat()
        found[str(path.relative_to(root))] = (
            state.st_mode, int(state.st_mtime), path.read_bytes() if path.is_file() else b"",
        )  # fmt: skip
    return found


def _open(root: Path) -> None:
    for path in (root, *root.rglob("*")):
        if path.is_dir():
            path.chmod(0o700)


def test_unpacked_they_are_what_bubblewrap_binds(tmp_path: Path) -> None:
    """One log for both providers: names, bytes, modes and times are the same."""
    blobs = MemoryBlobs()
    stream = packed.pack(_mounts(blobs), NOW, blobs)
    unpacked = tmp_path / "unpacked"
    unpacked.mkdir()
    command = [part.replace("/mnt", str(unpacked)) for part in packed.UNPACK]
    subprocess.run(command, input=stream.data, check=True, env={})
    (tmp_path / "laid").mkdir()
    lease = trees.Trees(tmp_path / "laid", blobs).hold(_mounts(blobs), NOW)
    bound: dict[str, tuple[int, int, bytes]] = {}
    for source, target in lease.bound:
        prefix = "" if target == "/mnt" else target.removeprefix("/mnt/")
        bound |= {os.path.normpath(os.path.join(prefix, name)): what for name, what in _look(Path(source)).items()}  # noqa: PTH118
    assert _look(unpacked) == bound
    assert len(bound) == stream.inodes
    assert stream.room == sum(-(-len(one[2]) // 4096) * 4096 for one in bound.values())
    lease.release()
    _open(unpacked)


def test_trees_that_cannot_be_are_refused_like_bubblewrap_s(tmp_path: Path) -> None:
    blobs = MemoryBlobs()
    blob = blobs.put(b"")
    for names, words in ((("a", "a/b"), "as a file and as a folder"), (("a/b", "a/b/c"), "as a file and as a folder"),
                         (("a", "a"), "twice"), (("d/a", "d/a"), "twice"), (("../x",), r"\.\."), (("/x",), "empty")):  # fmt: skip
        mounts = {"task": tuple(TreeEntry(name, blob) for name in names)}
        with pytest.raises(SandboxError, match=words):
            packed.pack(mounts, NOW, blobs)
        with pytest.raises(SandboxError):
            trees.Trees(tmp_path, blobs).hold(mounts, NOW)


@given(st.dictionaries(st.from_regex(r"[a-z]{1,3}(/[a-z]{1,3}){0,3}", fullmatch=True), st.binary(max_size=99), max_size=9))
def test_whatever_is_packed_lies_below_and_comes_after_its_folder(files: dict[str, bytes]) -> None:
    blobs = MemoryBlobs()
    mounts = {"task": tuple(TreeEntry(name, blobs.put(data)) for name, data in files.items())}
    try:
        stream = packed.pack(mounts, NOW, blobs)
    except SandboxError:
        assert any(f"{one}/" in f"{other}/" for one in files for other in files if one != other)
        return
    with tarfile.open(fileobj=io.BytesIO(stream.data)) as tar:
        members = tar.getmembers()
        seen = {"."}
        for member in members[1:]:
            assert member.name.rpartition("/")[0] in seen and member.name not in seen
            seen.add(member.name)
            assert member.isdir() or tar.extractfile(member).read() == files[member.name.removeprefix("./task/")]  # type: ignore[union-attr]
        assert {member.mode for member in members} <= {0o555, 0o444} and not any(m.issym() or m.islnk() for m in members)
    assert stream.inodes == len(members)


def test_a_container_has_room_for_all_that_it_is_given() -> None:
    limits = Limits()
    memory, places = bounds(limits, packed.Packed(b"", 5 << 20, 70))
    sizes = [int(re.search(r"size=(\d+)", options)[1]) for options in places.values()]  # type: ignore[index]
    assert memory >= limits.memory + sum(sizes) - 2 * 4096
    assert int(re.search(r"size=(\d+)", places["/mnt"])[1]) > 5 << 20  # type: ignore[index]
    assert int(re.search(r"nr_inodes=(\d+)", places["/mnt"])[1]) > 70  # type: ignore[index]
    assert all("exec" in options.split(",") for place, options in places.items() if place.startswith(("/home", "/mnt", "/tmp")))
    assert all("ro" in places[place].split(",") for place in ("/sys", "/dev/mqueue"))


# -- whose is whose ----------------------------------------------------------------------------------------------------


def test_a_token_outlives_its_process_and_its_lock_does_not(tmp_path: Path) -> None:
    folder = tmp_path / "owners"
    mine = Owner(folder)
    story = (
        "import sys, time; from pathlib import Path; from services.sandbox.owners import Owner\n"
        "one = Owner(Path(sys.argv[1])); print(one.place, one.token, flush=True); time.sleep(60)"
    )
    child = subprocess.Popen([sys.executable, "-c", story, str(folder)], stdout=subprocess.PIPE, text=True, cwd=_CHECKOUT)
    assert child.stdout is not None
    place, token = child.stdout.readline().split()
    assert place == mine.place and mine.tokens() == [token]
    assert not mine.is_gone(token) and not mine.is_gone(mine.token)
    mine.forget(token)
    child.kill()
    child.wait()
    child.stdout.close()
    assert mine.is_gone(token) and mine.tokens() == [token], "it was not forgotten while it lived"
    mine.forget(token)
    assert mine.tokens() == [] and mine.is_gone(token)
    for odd in ("", "../../etc/passwd", "place", "x" * 32, token.upper()):
        assert not mine.is_gone(odd), "what is no token judges nobody"
    mine.release()
    mine.release()
    assert [path.name for path in folder.iterdir()] == ["place"]


def test_two_in_one_process_do_not_take_each_other_for_dead(tmp_path: Path) -> None:
    one, two = Owner(tmp_path / "o"), Owner(tmp_path / "o")
    assert one.place == two.place and one.token != two.token
    assert not one.is_gone(two.token) and not two.is_gone(one.token)
    one.release()
    assert two.is_gone(one.token)
    two.release()


def test_a_copied_home_is_another_place(tmp_path: Path) -> None:
    """A copy knows no lock of the original's, and would take all of its sandboxes for orphans."""
    original = Owner(tmp_path / "home")
    shutil.copytree(tmp_path / "home", tmp_path / "copy")
    copy = Owner(tmp_path / "copy")
    assert copy.place != original.place
    original.release()
    copy.release()


def test_a_folder_of_somebody_else_s_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    with pytest.raises(SandboxUnavailable, match="belongs to somebody else"):
        Owner(tmp_path / "link")


# -- the image's recipe ------------------------------------------------------------------------------------------------


def test_every_change_of_an_input_gives_the_image_another_name(tmp_path: Path) -> None:
    for path in image.INPUTS:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(_CHECKOUT / path, tmp_path / path)
    names = {image.name(tmp_path)}
    assert names == {image.name(_CHECKOUT)}
    for path in image.INPUTS:
        before = (tmp_path / path).read_bytes()
        (tmp_path / path).write_bytes(before + b"\n")
        names.add(image.name(tmp_path))
        (tmp_path / path).write_bytes(before)
    assert len(names) == 1 + len(image.INPUTS)
    (tmp_path / image.INPUTS[1]).unlink()
    with pytest.raises(SandboxUnavailable, match="made from a checkout, and .* is not there"):
        image.name(tmp_path)


def test_the_dockerfile_copies_what_the_name_covers_and_starts_what_the_provider_does() -> None:
    text = (_CHECKOUT / image.DOCKERFILE).read_text().replace("\\\n", " ")
    copied = {part for line in re.findall(r"(?m)^COPY (?!--from)(.*)$", text) for part in line.split()[:-1]}
    assert copied == set(image.INPUTS) - {image.DOCKERFILE}
    needed = {f"services/sandbox/{name}" for name in layout._MODULES}
    assert needed < copied
    command = re.search(r"(?m)^CMD \[(.*)\]$", text)
    assert command is not None
    assert re.findall(r'"((?:[^"\\]|\\.)*)"', command[1]) == COMMAND
    assert re.search(r"(?m)^FROM scratch$", text) and re.search(r"(?m)^USER 1000:1000$", text)


def test_the_ignore_files_keep_out_what_may_hold_a_key() -> None:
    ignored = (_CHECKOUT / ".dockerignore").read_text().split("\n")
    assert {".git", ".venv", "**/.env", "**/*.key", "**/*.pem", "**/*.sqlite"} <= set(ignored)
    own = (_CHECKOUT / f"{image.DOCKERFILE}.dockerignore").read_text().split("\n")
    assert "*" in own and "!requirements/assistant.lock" in own


def test_the_base_s_recipe_names_no_host() -> None:
    text = (_CHECKOUT / "services/images/base.sh").read_text()
    assert re.findall(r"https?://([^/\s}]+)", text) == []
    assert subprocess.run(["sh", "-n"], input=text, text=True).returncode == 0
