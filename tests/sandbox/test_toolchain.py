"""The toolchain: what its name depends on, and what it says when it is not there."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from services.sandbox import prefix, toolchain
from simulator.errors import SandboxUnavailable, UsageError


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    lock = tmp_path / "assistant.lock"
    lock.write_text("# nothing\n")
    return lock


def _finished(root: Path, key: str) -> Path:
    path = root / key
    path.mkdir(parents=True)
    (path / "toolchain.json").write_text(json.dumps({"python": "3.11", "files": 1, "bytes": 2}))
    return path


def test_the_name_follows_lock_and_interpreter(lock: Path, tmp_path: Path) -> None:
    """RULE 36: another lock or another interpreter is another prefix."""
    python = tmp_path / "python"
    python.write_bytes(b"one")
    first = toolchain.key_of(lock, python)
    assert first == toolchain.key_of(lock, python)
    python.write_bytes(b"two")
    second = toolchain.key_of(lock, python)
    lock.write_text("# something\n")
    assert len({first, second, toolchain.key_of(lock, python)}) == 3


def test_a_missing_or_half_built_one_says_how_to_build_it(lock: Path, tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / toolchain.key_of(lock, toolchain.interpreter())).mkdir(parents=True)
    with pytest.raises(SandboxUnavailable, match="not built.*python -m services.sandbox.toolchain build"):
        toolchain.find(root, lock)


def test_a_finished_one_is_found_and_not_built_again(lock: Path, tmp_path: Path) -> None:
    path = _finished(tmp_path, toolchain.key_of(lock, toolchain.interpreter()))
    said: list[str] = []
    assert toolchain.build(tmp_path, lock, said.append) == toolchain.find(tmp_path, lock)
    assert toolchain.find(tmp_path, lock).path == path and said == []
    assert (tmp_path / ".gitignore").read_text() == "*\n"


def test_a_build_that_fails_says_what_failed_and_leaves_nothing_finished(lock: Path, tmp_path: Path) -> None:
    """A library that cannot be had: nothing half-built is ever found."""
    lock.write_text(f"{tmp_path}/gone-1-py3-none-any.whl --hash=sha256:{'0' * 64}\n")
    with pytest.raises(SandboxUnavailable, match="(?s)installing the libraries of.*gone-1"):
        toolchain.build(tmp_path / "root", lock)
    with pytest.raises(SandboxUnavailable, match="not built"):
        toolchain.find(tmp_path / "root", lock)


def test_without_a_lock_there_is_nothing_to_build(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(toolchain, "default_lock", lambda: None)
    with pytest.raises(UsageError, match="assistant.lock"):
        toolchain.build(tmp_path)
    assert toolchain.default_root(tmp_path) == tmp_path / "toolchain"
    assert toolchain.find(_finished(tmp_path, "newest").parent).key == "newest"


def test_the_command_tells_by_its_exit_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert toolchain.main(["check", "--root", str(tmp_path)]) == 4
    assert "Build them once with" in capsys.readouterr().err


def test_the_built_one_names_no_path_of_this_machine() -> None:
    """RULE 31: nothing in it tells where it was made, or from whose interpreter."""
    found = toolchain.find()
    assert prefix.measure(found.path)[0] == found.files + 1
    here = (str(toolchain.default_root()).encode(), b"/.pyenv/", b"/home/", b"/ro" b"ot/")
    text = list(found.path.glob("lib*/python3*/_sysconfigdata*.py"))
    binaries = [found.path / "bin" / "python3", *found.path.glob("lib/*.so*")]
    for path in (*text, *binaries):
        data = path.read_bytes()
        assert not any(secret in data for secret in here), path
    assert not [path for path in found.path.rglob("*") if path.is_file() and path.stat().st_mode & 0o222][1:]


def test_removing_a_read_only_tree_follows_no_link(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    tree = tmp_path / "tree" / "inner"
    tree.mkdir(parents=True)
    (tree / "file").touch(0o444)
    (tree / "link").symlink_to(tmp_path / "kept")
    tree.chmod(0o555)
    prefix.remove(tmp_path / "tree")
    prefix.remove(tmp_path / "tree")
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_an_environment_of_another_user_is_refused_with_what_to_do(tmp_path: Path) -> None:
    """A virtual environment that root made stands on an interpreter that an ordinary user may not read."""
    with pytest.raises(SandboxUnavailable, match="make install"):
        toolchain.key_of(tmp_path / "no.lock", Path(sys.executable))
