"""The same office under either provider: what commands say and what scripts write is the same, byte for byte.

A run's log holds what the tools said and which files they left, so it must not depend on where they ran (RULE 36). Left
out is what differs: sizes of folders below /mnt, which lie on disk in one and in memory in the other, and the words in
which a write there is refused (a read-only file system in one, no permission in the other).
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from services.sandbox.bubblewrap import Bubblewrap
from services.sandbox.docker import Docker
from services.sandbox.toolchain import find
from simulator.errors import SandboxUnavailable
from simulator.ports import CommandResult, Sandbox, SandboxProvider, SandboxSpec, TreeEntry
from tests.sandbox.conformance import NOW, MemoryBlobs
from tests.sandbox.engines import REAL, need_engine
from tests.skills.cases import CASES, write
from tests.skills.packs import PACKS, SCRIPTS

pytestmark = pytest.mark.sandbox
_SKILLS = "/mnt/company/Resources/Skills"


@pytest.fixture(scope="module")
def blobs() -> MemoryBlobs:
    return MemoryBlobs()


@pytest.fixture(scope="module")
def both(blobs: MemoryBlobs, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[SandboxProvider, SandboxProvider]]:
    need_engine()
    bubblewrap = Bubblewrap(blobs, tools=find())
    containers = Docker(blobs, REAL, tmp_path_factory.mktemp("home") / "sandboxes")
    try:
        bubblewrap.check()
    except SandboxUnavailable as reason:
        pytest.skip(str(reason))
    yield bubblewrap, containers
    bubblewrap.close()
    containers.close()


@pytest.fixture
def pair(both: tuple[SandboxProvider, SandboxProvider], blobs: MemoryBlobs) -> Iterator[list[Sandbox]]:
    """The same sandbox from each provider: the skill packs, a client's folder, a home with a few files."""
    company = tuple(
        TreeEntry(f"Resources/Skills/{path.relative_to(PACKS)}", blobs.put(path.read_bytes()), 0o755 if path.suffix == ".py" else 0o644)
        for path in sorted(PACKS.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    )
    company += (TreeEntry("README.md", blobs.put(b"the company\n")),)
    home = (
        TreeEntry("notes.txt", blobs.put(b"one\ntwo\nthree\n")),
        TreeEntry("data/b.csv", blobs.put(b"id,amount\nB1,10.50\nA1,-3.25\n")),
        TreeEntry("tool.sh", blobs.put(b"#!/bin/bash\necho ran as $USER\n"), 0o755),
    )
    mounts = {"company": company, "services": (TreeEntry("mail.json", blobs.put(b'{"records": []}\n')),),
              "task": (TreeEntry("TASK.md", blobs.put(b"# Task\n")),)}  # fmt: skip
    boxes: list[Sandbox] = []
    for provider in both:
        boxes.append(provider.start(SandboxSpec("same", home, mounts, NOW)))
    yield boxes
    for box in boxes:
        box.close()


def _told(result: CommandResult) -> tuple[object, ...]:
    return (result.exit_code, result.stdout, result.stderr, result.ended, result.note, result.state)


_TYPICAL = (
    "ls -l", "ls -la data", "ls -R /mnt/services /mnt/task", "ls -l /mnt/company/README.md /mnt/task/TASK.md",
    "find . /mnt -type f -printf '%p %m %s %T@ %n\\n' | sort", "find . /mnt -type d -printf '%p %m %T@\\n' | sort",
    "stat -c '%n %a %s %Y %F %U:%G' * data/*", "pwd; umask; id; whoami; echo ~; hostname 2>&1 || uname -n", "env | sort",
    "locale; date -d '2026-03-29 02:30' +%s; echo $OFFICETOWN_NOW", "cat /etc/passwd /etc/group /etc/nsswitch.conf",
    "python3 -c 'import sys, os, locale; print(sys.version_info[:2], sys.prefix, sys.flags.hash_randomization, hash(\"x\"), "
    "sys.getfilesystemencoding(), locale.getlocale(), os.getcwd(), os.cpu_count() > 0)'",
    "python3 -c 'import time, os; print(time.tzname, os.stat(\"notes.txt\").st_mtime, oct(os.stat(\"/tmp\").st_mode))'",
    "python3 -m pip list 2>&1 | tail -1; python3 -c 'import numpy, openpyxl; print(numpy.__version__, openpyxl.__version__)'",
    "python3 -c 'import numpy as n; print(repr(n.linalg.inv(n.arange(9).reshape(3,3)+n.eye(3)).tolist()))'",
    "sort data/b.csv; sort -t, -k2 -n data/b.csv; awk -F, '{s+=$2} END {printf \"%.2f\\n\", s}' data/b.csv",
    "sed -n 2p notes.txt; grep -n t notes.txt; diff notes.txt data/b.csv; wc notes.txt; head -c 4 notes.txt | od -c",
    "./tool.sh; bash tool.sh; type ls; command -v python python3 bash awk sed", "no-such-program; echo $?", "cat missing",
    "touch /etc/no; mkdir /opt/no; { echo x >/mnt/task/no; } 2>/dev/null || echo refused; rm /mnt/task/TASK.md 2>/dev/null; ls /mnt/task",
    "python3 -c 'raise SystemExit(3)'", "python3 -c '1/0'", "exit 9", "kill -9 $$", "echo 'open", "cd data; export A=1; false",
    "pwd; echo $A; ls -l", "cd /nowhere", "yes | head -c 300000; echo; echo 'é — 文書'; printf '\\xff'", "sleep 9 & echo left",
    "mkfifo p; ln -s /etc/passwd link; mkdir -p e/f; touch $'bad\\nname'; touch /tmp/scratch; ls -A",
    "tar cf all.tar notes.txt data && sha256sum all.tar && tar tvf all.tar && gzip -n all.tar && sha256sum all.tar.gz",
    "ls -la", "python3 -c 'import zlib; print(len(zlib.compress(bytes(range(256)) * 99)))'",
    "ulimit -n -f -v -t -c", "cat /proc/self/status | grep -E '^(Cap|NoNewPrivs|Seccomp:)'", "ls /; ls /home /opt /mnt",
)  # fmt: skip


def test_typical_commands_say_the_same(pair: list[Sandbox]) -> None:
    for command in _TYPICAL:
        told = [_told(box.run(command, timeout_s=60)) for box in pair]
        assert told[0] == told[1], command


def test_the_homes_they_leave_are_the_same(pair: list[Sandbox]) -> None:
    for command in ("mkdir -p new/deep; echo x >new/deep/f; chmod 700 tool.sh; rm notes.txt; ln -s a b; mkfifo $'odd\\tp'",
                    "python3 -c 'import json; json.dump({\"é\": 1.1}, open(\"x.json\", \"w\"))'; cp -r /mnt/company/Resources r"):  # fmt: skip
        for box in pair:
            assert box.run(command).exit_code == 0
    left = [box.export_home() for box in pair]
    assert left[0] == left[1] and len(left[0][0]) > 30


@pytest.mark.parametrize("kind", sorted(CASES))
def test_skill_scripts_write_the_same_bytes(kind: str, pair: list[Sandbox], tmp_path: Path) -> None:
    """RULE 36: workbooks, documents and PDFs included."""
    inputs = write(kind, tmp_path)
    script = f"{_SKILLS}/{SCRIPTS[kind].relative_to(PACKS)}"
    command = ["python3", script, "--out", "out", "--period", "2026-01"]
    for name, path in inputs.items():
        command += ["--input", f"{name}=in/{path.name}"]
    told = []
    for box in pair:
        for path in inputs.values():
            box.write(f"in/{path.name}", path.read_bytes())
        told.append((_told(box.run(shlex.join(command), 60)), box.export_home()))
    assert told[0][0][0] == 0, told[0]
    assert told[0] == told[1]
    assert any(entry.path.startswith("out/") for entry in told[0][1][0])
