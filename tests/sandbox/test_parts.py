"""The parts of the sandbox that need none to be tried: frames, the settled home, trees, users, the filter, folders."""

from __future__ import annotations

import os
import stat
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.sandbox import arguments, frames, hometree, runtime, seccomp, session, slots
from services.sandbox.hometree import HomeTree
from services.sandbox.limits import Limits
from services.sandbox.supervisor import LIMITS, Collector, flat, pairs
from services.sandbox.toolchain import Toolchain
from services.sandbox.trees import Trees
from simulator.errors import SandboxError, SandboxUnavailable
from simulator.ports import TreeEntry
from tests.sandbox.conformance import NOW, MemoryBlobs

# -- frames ------------------------------------------------------------------------------------------------------------


@given(st.lists(st.binary()))
def test_whatever_is_framed_comes_back(fields: list[bytes]) -> None:
    """RULE 33: no content can be mistaken for a border."""
    frame = frames.encode(*fields)
    assert int.from_bytes(frame[:4], "big") == len(frame) - 4
    assert frames.decode(frame[4:]) == fields


@given(st.binary(min_size=1))
def test_a_hostile_frame_is_fields_or_refused(body: bytes) -> None:
    try:
        fields = frames.decode(body)
    except frames.BadFrame:
        return
    assert frames.encode(*fields)[4:] == body


@given(st.lists(st.binary(max_size=50)), st.integers(2, 60))
def test_a_collector_keeps_head_and_tail_within_its_bound(parts: list[bytes], bound: int) -> None:
    collector = Collector(bound)
    for part in parts:
        collector.add(part)
    whole, kept = b"".join(parts), collector.value()
    half = bound // 2
    if len(whole) <= 2 * half:
        assert kept == whole
    else:
        assert kept.startswith(whole[:half]) and kept.endswith(whole[-half:])
        assert b"[... %d bytes cut ...]" % (len(whole) - 2 * half) in kept


def test_the_limits_named_on_the_wire_exist() -> None:
    assert all(getattr(Limits(), name) > 0 for name in LIMITS)


_NAMES = st.binary(min_size=1, max_size=5).filter(lambda name: b"\0" not in name)


@given(st.dictionaries(_NAMES, _NAMES))
def test_variables_come_back(env: dict[bytes, bytes]) -> None:
    assert pairs(flat(env)) == env


# -- what the host shows and accepts -----------------------------------------------------------------------------------


@given(st.binary())
def test_hostile_bytes_become_text_that_can_be_stored_and_shown(data: bytes) -> None:
    assert "\0" not in session.shown(data)
    session.shown(data).encode()
    assert session.visible(data).isprintable()


@pytest.mark.parametrize(
    "path", ["", "/etc/passwd", "..", "a/../../b", "a//b", "./a", "a\nb", "a\0b", "x/" * 40 + "x", "\udcff"]
)
def test_a_manifest_cannot_lead_out_of_its_tree(path: str) -> None:
    if path == "\udcff":
        assert session.safe_path(path) == b"?"
        return
    with pytest.raises(SandboxError):
        session.safe_path(path)


# -- the settled home --------------------------------------------------------------------------------------------------


def _home(tmp_path: Path, files: int = 100, size: int = 1000) -> tuple[HomeTree, Path]:
    home = tmp_path / "home"
    home.mkdir()
    return HomeTree(NOW, size // 2, size, files, os.fsencode(home)), home


def test_settling_is_idempotent_and_leaves_only_what_a_manifest_holds(tmp_path: Path) -> None:
    tree, home = _home(tmp_path)
    (home / "a").mkdir()
    (home / "a" / "f").write_text("x")
    (home / "a" / "f").chmod(0o4700)
    (home / "a" / "h").hardlink_to(home / "a" / "f")
    (home / "l").symlink_to("/etc/passwd")
    (home / "d").symlink_to("a")
    os.mkfifo(home / "p")
    os.mkfifo(home / os.fsdecode(b"bad\xff"))
    (home / "e" / "f").mkdir(parents=True)
    refused, folders = tree.settle()
    assert [path for path, _ in refused] == [b"bad\xff", b"d", b"l", b"p"]
    assert folders == [b"e/f"]
    assert tree.settle() == ([], [b"e/f"])
    left = {str(path.relative_to(home)): path.lstat() for path in home.rglob("*")}
    assert {name: stat.S_IMODE(found.st_mode) for name, found in left.items()} == {
        "a": 0o755, "a/f": 0o755, "a/h": 0o755, "e": 0o755, "e/f": 0o755,
    }  # fmt: skip
    assert {found.st_mtime for found in left.values()} == {NOW}
    assert left["a/f"].st_ino != left["a/h"].st_ino and left["a/f"].st_nlink == 1
    assert Path("/etc/passwd").exists()


def test_an_overfull_home_keeps_what_was_there_before(tmp_path: Path) -> None:
    tree, home = _home(tmp_path, files=5)
    (home / "zz").write_text("old")
    tree.settle()
    for number in range(8):
        (home / f"n{number}").write_text("new")
    refused, _ = tree.settle()
    assert sorted(path.name for path in home.iterdir()) == ["n0", "n1", "n2", "zz"]
    assert len(refused) == 5 and b"more than 5 files" in refused[0][1]


def test_a_flood_of_refusals_is_counted(tmp_path: Path) -> None:
    tree, home = _home(tmp_path)
    for number in range(130):
        (home / f"l{number:03d}").symlink_to("x")
    refused, _ = tree.settle()
    assert len(refused) == 101 and refused[-1] == (b"30 more", b"for such reasons")
    assert not list(home.iterdir())


def test_a_home_of_too_many_bytes_loses_the_new_ones(tmp_path: Path) -> None:
    tree, home = _home(tmp_path)
    (home / "zz").write_bytes(bytes(400))
    tree.settle()
    for name in "abc":
        os.truncate(os.open(home / name, os.O_CREAT | os.O_WRONLY), 300)
    (home / "big").write_bytes(bytes(501))
    refused = dict(tree.settle()[0])
    assert set(refused) == {b"big", b"b", b"c"} or set(refused) == {b"big", b"c"}
    assert (home / "zz").stat().st_size == 400


def test_only_changes_are_sent(tmp_path: Path) -> None:
    tree, home = _home(tmp_path)
    tree.put(b"a/seen", 0o644, b"seen")
    (home / "new").write_text("new")
    sent: list[tuple[bytes, ...]] = []
    assert tree.export(lambda *fields: sent.append(fields)) == []
    assert sent == [(b"same", b"a/seen", b"420"), (b"file", b"new", b"420", b"new")]
    sent.clear()
    (home / "a" / "seen").write_text("SEEN")
    tree.export(lambda *fields: sent.append(fields))
    assert sent == [(b"file", b"a/seen", b"420", b"SEEN"), (b"same", b"new", b"420")]


@given(st.text(min_size=1, max_size=8))
def test_a_name_is_either_kept_as_text_or_has_a_fault(name: str) -> None:
    data = name.encode("utf-8", "surrogatepass")
    if not hometree.name_fault(data):
        assert data.decode() == name and "\n" not in name
        assert hometree.normal(hometree.normal(data)) == hometree.normal(data)


# -- trees -------------------------------------------------------------------------------------------------------------


def _files(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_trees_are_copies_that_nobody_may_write(tmp_path: Path) -> None:
    """RULE 32."""
    blobs = MemoryBlobs()
    trees = Trees(tmp_path, blobs)
    entry = TreeEntry("R/S/x", blobs.put(b"x"), 0o755)
    one = trees.hold({"company": (entry, TreeEntry("top", entry.blob)), "task": ()}, NOW)
    assert [inside for _, inside in one.bound] == ["/mnt", "/mnt/company/R"]
    skeleton, part = (Path(source) for source, _ in one.bound)
    assert _files(skeleton) == {"company/top": b"x"} and _files(part) == {"S/x": b"x"}
    assert (skeleton / "company" / "R").is_dir() and (skeleton / "task").is_dir()
    for path in (skeleton, part, *skeleton.rglob("*"), *part.rglob("*")):
        assert not path.stat().st_mode & 0o222 and path.stat().st_nlink <= 4
    assert stat.S_IMODE((part / "S" / "x").stat().st_mode) == 0o555
    assert (part / "S" / "x").stat().st_nlink == 1
    one.release()
    assert not skeleton.exists() and part.exists()


def test_unused_trees_go_when_there_are_too_many(tmp_path: Path) -> None:
    blobs = MemoryBlobs()
    trees = Trees(tmp_path, blobs, keep_bytes=25)
    leases = [trees.hold({"m": (TreeEntry("d/f", blobs.put(b"%010d" % n)),)}, NOW) for n in range(4)]
    assert len(list(tmp_path.iterdir())) == 8, "what is in use stays"
    for lease in leases:
        lease.release()
    assert sorted(_files(tmp_path).values()) == [b"%010d" % 2, b"%010d" % 3]


@pytest.mark.parametrize("paths", [("a", "a"), ("d/a", "d/a"), ("d/a", "d/a/b"), ("d", "d/a"), ("../x",), ("d/../x",)])
def test_a_tree_that_cannot_be_is_an_error_and_leaves_nothing(tmp_path: Path, paths: tuple[str, ...]) -> None:
    blobs = MemoryBlobs()
    trees = Trees(tmp_path, blobs, keep_bytes=0)
    with pytest.raises(SandboxError):
        trees.hold({"m": tuple(TreeEntry(path, blobs.put(b"x")) for path in paths)}, NOW)
    assert _files(tmp_path) == {} or set(_files(tmp_path).values()) == {b"x"}


# -- users, filter, arguments ------------------------------------------------------------------------------------------


def test_two_sandboxes_never_share_a_user() -> None:
    """RULE 30."""
    one, two = slots.take(first=1_900_000), slots.take(first=1_900_000)
    assert {one.uid, two.uid} == {1_900_000, 1_900_001}
    one.release()
    three = slots.take(first=1_900_000, count=2)
    assert three.uid == 1_900_000
    with pytest.raises(SandboxUnavailable, match="all in use"):
        slots.take(first=1_900_000, count=2)
    two.release()
    three.release()


def test_an_account_s_user_is_never_taken() -> None:
    taken = slots.take(first=1_910_000, exists=lambda uid: uid < 1_910_003)
    assert taken.uid == 1_910_003
    taken.release()


def _judge(program: bytes, machine: int, number: int, first: int = 0) -> int:
    """A classic BPF machine, as far as the filter needs one."""
    steps = [struct.unpack_from("=HBBI", program, at) for at in range(0, len(program), 8)]
    at, value = 0, 0
    while True:
        code, yes, no, constant = steps[at]
        at += 1
        if code == 0x06:
            return int(constant)
        if code == 0x20:
            value = {0: number, 4: machine, 16: first}[constant]
        else:
            at += yes if (value == constant if code == 0x15 else value >= constant) else no


@pytest.mark.parametrize(("name", "machine"), [("x86_64", 0xC000003E), ("aarch64", 0xC00000B7)])
def test_the_filter_refuses_exactly_what_is_listed(name: str, machine: int) -> None:
    program = seccomp.program(name)
    allowed = {number for number in range(600) if _judge(program, machine, number) == 0x7FFF0000}
    assert allowed == set(range(600)) - set(seccomp.refused(name))
    assert all(_judge(program, machine, number) == 0x00050001 for number in seccomp.refused(name))
    assert _judge(program, 0x40000003, 20) == _judge(program, machine, 0x40000001) == 0x00050026


@pytest.mark.parametrize(("name", "machine", "number"), [("x86_64", 0xC000003E, 302), ("aarch64", 0xC00000B7, 261)])
def test_a_process_may_bound_itself_and_no_other(name: str, machine: int, number: int) -> None:
    """With its processor time taken away the supervisor, which has the same user, would die."""
    program = seccomp.program(name)
    assert _judge(program, machine, number, 0) == 0x7FFF0000
    assert {_judge(program, machine, number, pid) for pid in (1, 2, 0xFFFFFFFF)} == {0x00050001}
    assert {_judge(program, machine, other, 1) for other in (number - 1, number + 1)} <= {0x7FFF0000, 0x00050001}


def test_a_machine_of_another_kind_has_no_filter() -> None:
    assert seccomp.program("riscv64") == b"" and seccomp.refused("riscv64") == ()


def test_the_arguments_fence_it_in_whatever_else_they_say() -> None:
    """RULE 30: every option the rule names is always there, and every tmpfs is sized."""
    options = arguments.arguments(
        toolchain=Path("/t"), program=Path("/p"), etc=Path("/e"), home=Path("/h"), bound=(("/x", "/mnt"),),
        limits=Limits(), channel=9, seccomp=-1,
    )  # fmt: skip
    for option in ("--unshare-all", "--unshare-user", "--disable-userns", "--new-session", "--die-with-parent"):
        assert option in options
    assert options[options.index("--cap-drop") + 1] == "ALL"
    assert all(options[at - 2] == "--size" for at, option in enumerate(options) if option == "--tmpfs")
    assert "--bind" not in options and "--seccomp" not in options and options[-1] == "9"


def test_old_systems_with_a_bin_of_their_own_are_bound_too(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "lib").symlink_to("usr/lib")
    assert arguments.system(tmp_path) == [
        "--ro-bind",
        "/usr",
        "/usr",
        "--ro-bind",
        "/bin",
        "/bin",
        "--symlink",
        "usr/lib",
        "/lib",
    ]


# -- folders -----------------------------------------------------------------------------------------------------------


def test_reaping_spares_the_living(tmp_path: Path) -> None:
    living, dead = runtime.Runtime(tmp_path), runtime.Runtime(tmp_path)
    (dead.live / "one").touch()
    os.close(dead._lock)  # as the kernel does for a killed process
    dead._lock = -1
    assert runtime.reap(tmp_path) == 1
    assert [path.name for path in tmp_path.iterdir()] == [living.path.name]
    living.close()
    assert not list(tmp_path.iterdir())


def _made(path: Path, files: int) -> Toolchain:
    path.mkdir()
    for number in range(files):
        (path / str(number)).write_text("x")
    (path / "toolchain.json").write_text("{}")
    return Toolchain(path, "key", "3.11", files, files)


def test_a_staged_toolchain_is_made_once_and_mended(tmp_path: Path) -> None:
    base = tmp_path / "base"
    base.mkdir()
    made = _made(tmp_path / "made", 3)
    staged = runtime.stage(made, base, tmp_path)
    first = staged.stat().st_ino
    assert runtime.stage(made, base, tmp_path).stat().st_ino == first
    (staged / "1").unlink()  # as a cleaner of temporary folders would
    mended = runtime.stage(made, base, tmp_path)
    assert len(list(mended.iterdir())) == 4
    mended.chmod(0o777)
    (mended / "1").write_text("planted")
    assert (runtime.stage(made, base, tmp_path) / "1").read_text() == "x", "others could have written to it"
