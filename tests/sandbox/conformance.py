"""What every sandbox provider must hold, whoever starts it: RELIABILITY "Sandbox", RULES 30 to 36.

A provider's test file subclasses `Conformance` and gives it the fixtures `blobs` and `provider`; the provider stores
there and has the limits `SMALL`.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator

import pytest

from services.sandbox.limits import Limits
from simulator.canonical import sha256
from simulator.errors import SandboxError
from simulator.ports import Blob, CommandResult, Sandbox, SandboxProvider, SandboxSpec, ShellState, TreeEntry

NOW = 1_767_258_000  # 2026-01-01 09:00 UTC
MIB = 1 << 20
SMALL = Limits(
    processes=40, tasks=60, memory=200 * MIB, address_space=1024 * MIB, file_size=24 * MIB, home_bytes=32 * MIB,
    home_files=2_000, scratch_bytes=8 * MIB, open_files=128, output=20_000,
)  # fmt: skip
CANARY = "canary-4f1d0c-of-the-host"


class MemoryBlobs:
    """A blob store in memory, verified like the real one."""

    def __init__(self) -> None:
        self.held: dict[str, bytes] = {}
        self.puts = 0

    def put(self, data: bytes) -> Blob:
        self.puts += 1
        blob = Blob(sha256(data), len(data))
        self.held[blob.sha256] = data
        return blob

    def get(self, sha256: str) -> bytes:
        return self.held[sha256]

    def has(self, sha256: str) -> bool:
        return sha256 in self.held


Box = Callable[..., Sandbox]


class Conformance:
    """The suite. Each test is a short story of one sandbox."""

    pytestmark = pytest.mark.sandbox

    @pytest.fixture
    def start(self, provider: SandboxProvider, blobs: MemoryBlobs) -> Iterator[Box]:
        """Start sandboxes from plain dictionaries of files; all are closed at the end."""
        running: list[Sandbox] = []

        def tree(files: dict[str, bytes]) -> tuple[TreeEntry, ...]:
            return tuple(TreeEntry(path, blobs.put(data)) for path, data in files.items())

        def start(
            home: dict[str, bytes] | tuple[TreeEntry, ...] | None = None, state: ShellState | None = None,
            **mounts: dict[str, bytes],
        ) -> Sandbox:  # fmt: skip
            entries = home if isinstance(home, tuple) else tree(home or {})
            spec = SandboxSpec("test", entries, {name: tree(files) for name, files in mounts.items()}, NOW, state)
            running.append(provider.start(spec))
            return running[-1]

        yield start
        for box in running:
            box.close()

    @pytest.fixture
    def box(self, start: Box) -> Sandbox:
        return start(
            {"notes.txt": b"mine\n", "sub/run.sh": b"echo ran\n"},
            company={"Resources/Skills/close/SKILL.md": b"how to close\n", "README.md": b"the company\n"},
            services={"mail.json": b'{"records": []}\n'},
            task={"TASK.md": b"do it\n"},
        )

    # -- what it sees --------------------------------------------------------------------------------------------------

    def test_the_four_mounts_are_there_and_three_are_read_only(self, box: Sandbox) -> None:
        read = box.run(
            "cat notes.txt /mnt/company/README.md /mnt/company/Resources/Skills/close/SKILL.md /mnt/services/mail.json "
            "/mnt/task/TASK.md"
        )
        assert (read.exit_code, read.stderr) == (0, "")
        assert read.stdout == 'mine\nthe company\nhow to close\n{"records": []}\ndo it\n'
        for target in (
            "/mnt/task/TASK.md",
            "/mnt/company/new",
            "/mnt/new",
            "/usr/new",
            "/etc/passwd",
            "/new",
            "/dev/x",
        ):
            refused = box.run(f"echo no >{target}")
            assert refused.exit_code != 0, target
        assert box.run("rm -rf /mnt/company/* /mnt/task; ls /mnt/company /mnt/task").stdout.count("\n") >= 4

    def test_the_environment_is_the_sandbox_s_own_and_time_is_simulated(
        self, start: Box, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """RULE 31, RULE 36."""
        monkeypatch.setenv("OFFICETOWN_TEST_SECRET", CANARY)
        box = start({"old.txt": b"old"}, task={"TASK.md": b"do it"})
        seen = dict(line.split("=", 1) for line in box.run("env").stdout.splitlines())
        assert seen["HOME"] == seen["PWD"] == "/home/npc/computer"
        assert (seen["OFFICETOWN_NOW"], seen["SOURCE_DATE_EPOCH"]) == ("2026-01-01T09:00:00Z", str(NOW))
        assert CANARY not in str(seen) and "OFFICETOWN_TEST_SECRET" not in seen
        box.run("echo new >new.txt; mkdir folder")
        times = box.run("stat -c %Y old.txt new.txt folder . /mnt/task/TASK.md").stdout.split()
        assert times == [str(NOW)] * 5

    def test_no_process_shows_the_host_s_secrets(self, start: Box, monkeypatch: pytest.MonkeyPatch) -> None:
        """RULE 31: a canary in the environment and in the command line's place is nowhere in /proc."""
        monkeypatch.setenv("OFFICETOWN_TEST_SECRET", CANARY)
        box = start()
        found = box.run(
            "for f in /proc/[0-9]*/{environ,cmdline,mountinfo,mounts,maps,comm,cgroup} /proc/[0-9]*/task/*/environ; do "
            "tr '\\0' '\\n' <$f; done 2>/dev/null"
        ).stdout
        assert "/bin/bash" in found, "the search saw nothing at all"
        for secret in (CANARY, os.getcwd(), str(os.path.expanduser("~/")), "pytest"):  # noqa: PTH109, PTH111
            assert secret not in found.replace("/var/tmp/pytest-of", ""), secret
        assert box.run("cat /proc/1/environ; ls -l /proc/1/fd; cat /proc/1/mem").stdout == ""

    def test_other_homes_and_the_host_s_files_are_absent(self, box: Sandbox, start: Box) -> None:
        start({"secret-of-another.txt": b"hers"})
        assert box.run("ls /home /home/npc").stdout.split() == ["/home:", "npc", "/home/npc:", "computer"]
        assert box.run("find / -xdev -name 'secret-of-another*' 2>/dev/null; ls -A /root; ls -A /var; ls -A /srv; ls -A /sys").stdout == ""
        assert box.run("find / -type s 2>/dev/null").stdout == "", "a socket of the host (greywall#55)"

    def test_there_is_no_network(self, box: Sandbox) -> None:
        """Loopback at most, and no name is resolved (OpenShell#1169)."""
        links = box.run("grep -c : /proc/net/dev; grep : /proc/net/dev").stdout
        assert "eth" not in links and "en" not in links
        probe = (
            "import socket\n"
            "for call in (lambda: socket.create_connection(('192.0.2.1', 80), 2),\n"
            "             lambda: socket.getaddrinfo('a.b', 1),\n"
            "             lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 53))):\n"
            "    try: call(); print('reached')\n"
            "    except OSError: print('refused')\n"
        )
        box.write("probe.py", probe.encode())
        assert box.run("python3 probe.py", timeout_s=30).stdout.split() == ["refused"] * 3

    def test_the_interpreter_is_the_pinned_one(self, box: Sandbox) -> None:
        """RULE 36."""
        libraries = "openpyxl, xlsxwriter, docx, pptx, reportlab, pypdf, formulas"
        ran = box.run(f"python3 -c 'import sys, {libraries}; print(sys.prefix, *sys.path)'; command -v python", 60)
        assert ran.exit_code == 0, ran.stderr
        places = ran.stdout.split()
        assert places[0] == "/opt/py" and places[-1] == "/opt/py/bin/python"
        # Debian's interpreter calls its folder dist-packages; what counts is that all of it is the prefix's own.
        assert all(place.startswith("/opt/py/") for place in places[1:]), places

    # -- what it may not do --------------------------------------------------------------------------------------------

    def test_nothing_gives_it_more_rights(self, box: Sandbox) -> None:
        """RULE 30: remount, chmod, setuid, nested namespaces, tracing."""
        assert box.run("id -u; grep -c '^Cap.*0000000000000000$' /proc/self/status; grep NoNewPrivs /proc/self/status"
                       ).stdout.split() == ["1000", "5", "NoNewPrivs:", "1"]  # fmt: skip
        for attempt in (
            "mount -o remount,rw /mnt", "mount -o remount,rw,bind /usr", "umount /mnt", "mount -t tmpfs none /mnt",
            "chmod u+w /mnt/task/TASK.md", "chmod u+w /mnt/task", "chown 0 notes.txt", "mknod d c 1 3",
            "unshare -U true", "unshare -r true", "unshare -n true", "nsenter -t 1 -m true", "chroot . true",
            "setpriv --reuid 0 true", "su -c true", "python3 -c 'import os; os.setuid(0)'", "hostname other",
            "python3 -c 'import os; os.setgroups([0])'", "kill -9 1; kill -TERM 1; sleep 0.1; false",
            "python3 -c 'import os; os.memfd_create(\"hidden\")'", "echo 0 >/proc/sys/user/max_user_namespaces",
            "python3 -c 'import os; os.nice(-10)'", "ulimit -u 100000", "date -s 2020-01-01",
            "python3 -c 'import resource as r; r.prlimit(1, r.RLIMIT_CPU, (0, 0))'",
            "python3 -c 'import resource as r; r.prlimit(1, r.RLIMIT_NOFILE, (0, 0))'",
        ):  # fmt: skip
            assert box.run(attempt).exit_code != 0, attempt
        box.run("cp /bin/bash mine; chmod 6755 mine")
        assert box.run("./mine -p -c 'id -u; id -g'").stdout.split() == ["1000", "1000"]

    def test_its_files_do_not_touch_the_host_s(self, start: Box, blobs: MemoryBlobs) -> None:
        """RULE 32: what is written to a copy reaches neither the store nor another sandbox."""
        one = start({"a.txt": b"original"}, company={"a.txt": b"original"})
        two = start({"a.txt": b"original"}, company={"a.txt": b"original"})
        one.run("echo changed >a.txt; echo changed >/mnt/company/a.txt")
        assert two.run("cat a.txt /mnt/company/a.txt").stdout == "originaloriginal"
        assert two.run("stat -c %h a.txt /mnt/company/a.txt").stdout.split() == ["1", "1"], (
            "a link count tells of others"
        )
        assert blobs.get(sha256(b"original")) == b"original"

    # -- limits (RULE 34) ----------------------------------------------------------------------------------------------

    def _survives(self, box: Sandbox) -> None:
        after = box.run(
            "cat /proc/[0-9]*/comm | sort | tr '\\n' ' '; cat notes.txt; touch ok && rm ok && echo writable"
        )
        assert after.exit_code == 0 and after.stdout.endswith("mine\nwritable\n"), after
        assert set(after.stdout.split("mine")[0].split()) <= {"python3", "bash", "cat", "sort", "tr", "tini"}

    def test_a_fork_bomb_is_contained_and_gone(self, box: Sandbox) -> None:
        bomb = box.run("b() { b | b & b | b & wait; }; b; sleep 20", timeout_s=20)
        assert bomb.ended in ("limit", "timeout", "exit")
        assert bomb.ended != "limit" or bomb.note.startswith("processes: ")
        self._survives(box)

    def test_a_crowd_of_processes_is_a_named_limit(self, box: Sandbox) -> None:
        crowd = box.run("for i in $(seq 50); do sleep 30 & done; wait", timeout_s=20)
        assert (crowd.ended, crowd.exit_code) == ("limit", 137)
        assert crowd.note.startswith("processes: ") and crowd.note.endswith(" at once, 40 allowed")
        self._survives(box)

    def test_a_memory_bomb_is_killed_whether_one_process_or_many(self, box: Sandbox) -> None:
        grow = "import time; x = bytearray({} << 20); x[::4096] = b'1' * len(x[::4096]); time.sleep(20)"
        box.write("grow.py", grow.format(300).encode())
        alone = box.run("echo started; python3 grow.py", timeout_s=20)
        assert (alone.ended, alone.stdout) == ("limit", "started\n") and alone.note.startswith("memory: ")
        box.write("grow.py", grow.format(50).encode())
        together = box.run("for i in 1 2 3 4 5 6; do python3 grow.py & done; wait", timeout_s=30)
        assert together.ended == "limit" and together.note.startswith("memory: ")
        assert "MemoryError" in box.run("python3 -c 'bytearray(2 << 30)'").stderr
        self._survives(box)

    def test_the_disk_fills_only_inside(self, box: Sandbox) -> None:
        for place in (".", "/tmp", "/dev/shm"):
            full = box.run(f"for i in 1 2 3 4 5; do head -c 20000000 /dev/zero >{place}/f$i; done; rm -f f?")
            assert "No space left on device" in full.stderr, place
        assert box.run("head -c 30000000 /dev/zero >big; stat -c %s big; rm big").stdout.strip() == str(24 * MIB)
        self._survives(box)

    def test_a_million_files_hit_the_limit_early(self, box: Sandbox) -> None:
        many = box.run("mkdir d; for i in $(seq 1000000); do : >d/$i; done", timeout_s=60)
        assert many.ended == "limit" and many.note.startswith("files: ")
        entries, refusals = box.export_home()
        assert SMALL.home_files - 10 < len(entries) <= SMALL.home_files
        assert len(refusals) <= 101 and "more than 2000 files" in refusals[0]
        assert box.run("ls d | wc -l").exit_code == 0
        assert box.run("rm -rf d").exit_code == 0
        self._survives(box)

    def test_sparse_files_do_not_grow_on_the_way_out(self, box: Sandbox) -> None:
        assert box.run("truncate -s 10G huge").exit_code != 0
        made = box.run("rm -f huge; truncate -s 20M one two; ls")
        assert "the home would hold more than" in made.note
        entries, refusals = box.export_home()
        assert sum(entry.blob.size for entry in entries) <= SMALL.home_bytes
        assert [refusal.split(":")[0] for refusal in refusals] == ["huge", "two"] or refusals[-1].startswith("two: ")

    def test_a_time_limit_kills_the_tree_and_keeps_the_partial_output(self, box: Sandbox) -> None:
        late = box.run(
            "export LOST=1; echo partly; echo also >&2; trap '' TERM INT HUP; sleep 60 & sleep 60", timeout_s=1
        )
        assert (late.ended, late.exit_code, late.stdout, late.stderr) == ("timeout", 124, "partly\n", "also\n")
        assert late.state.env == ()
        self._survives(box)

    def test_children_that_ignore_signals_or_fork_twice_are_gone(self, box: Sandbox) -> None:
        """RULE 33: afterwards every other process is killed."""
        ran = box.run(
            "(trap '' TERM HUP INT; setsid bash -c 'while :; do sleep 1; echo alive >>beat; done' & ) ; "
            "nohup sleep 100 >/dev/null 2>&1 & python3 -c 'import os\nif not os.fork():\n os.setsid()\n"
            ' if not os.fork(): __import__("time").sleep(100)\'; echo done'
        )
        assert (ran.ended, ran.stdout) == ("exit", "done\n")
        self._survives(box)

    def test_hostile_output_is_cut_and_decoded(self, box: Sandbox) -> None:
        flood = box.run("echo first; head -c 5000000 /dev/zero; echo last", timeout_s=30)
        assert flood.stdout.startswith("first\n") and flood.stdout.endswith("last\n")
        assert "bytes cut" in flood.stdout and len(flood.stdout) < SMALL.output + 100 and "\0" not in flood.stdout
        odd = box.run(r"printf '\xff\xfe\x00\x1b[31mred'; printf '\xed\xa0\x80' >&2")
        odd.stdout.encode()
        odd.stderr.encode()
        assert odd.stdout == "\ufffd\ufffd\ufffd\x1b[31mred"
        endless = box.run("yes", timeout_s=1)
        assert endless.ended == "timeout" and endless.stdout.startswith("y\ny\n")

    # -- framing (RULE 33) ---------------------------------------------------------------------------------------------

    @pytest.mark.parametrize(
        ("command", "code", "out"),
        [
            ("exit 7", 7, ""),
            ("cat; echo after", 0, "after\n"),
            ("read line; echo \"[$line]\"", 0, "[]\n"),
            ("echo 'open", 2, ""),
            ("echo $((", 2, ""),
            ("cat <<END\nno end", 0, "no end\n"),
            ("if true; then", 2, ""),
            ("exec 1>&-; echo hidden", 1, ""),
            ("exec 1>&- 2>&-; exit 5", 5, ""),
            ("exec 3>&- 4>&- 9>&-; echo on", 0, "on\n"),
            ("set -e; false; echo never", 1, ""),
            ("set -eu; echo $UNSET; echo never", 1, ""),
            ("set -n; echo never", 0, ""),
            ("trap 'echo leaving' EXIT; echo in", 0, "in\nleaving\n"),
            ("trap 'exit 0' ERR; (exit 9)", 0, ""),
            ("set -C; set -f; set -x; echo x", 0, "x\n"),
            ("kill -9 $$", 137, ""),
            ("exec false", 1, ""),
            ("exec /bin/echo replaced", 0, "replaced\n"),
            ("for f in /proc/self/fd/*; do echo garbage >$f; done 2>/dev/null; for i in 3 4 5 6 7 8 9; do "
             "eval \"echo garbage >&$i\"; done 2>/dev/null; exit 4", 4, "garbage\n"),
            ("echo $#$1", 0, "0\n"),
            ("nonsense-program", 127, ""),
            ("builtin() { :; }; printf() { :; }; pwd() { echo /; }; echo $(command echo own)", 0, "own\n"),
        ],
    )  # fmt: skip
    def test_no_command_can_pass_for_another(self, start: Box, command: str, code: int, out: str) -> None:
        box = start()
        ran = box.run(command, timeout_s=60)
        assert (ran.ended, ran.exit_code, ran.stdout) == ("exit", code, out), ran
        assert box.run("echo next").stdout == "next\n"

    def test_a_syntax_error_is_told_in_bash_s_own_words_and_lines(self, box: Sandbox) -> None:
        assert box.run("echo one\nnonsense-program").stderr == "bash: line 2: nonsense-program: command not found\n"
        assert box.run("echo 'open").stderr.startswith("bash: eval: line 1: unexpected EOF")

    def test_folder_and_variables_carry_over_and_nothing_else(self, start: Box) -> None:
        box = start({"sub/a b'$(d)/f": b""})
        ran = box.run("cd \"sub/a b'\\$(d)\"; export A=$'two\\nlines =' B=; C=not; f() { :; }; alias g=ls; umask 077")
        assert ran.state.cwd == "/home/npc/computer/sub/a b'$(d)"
        assert ran.state.env == (("A", "two\nlines ="), ("B", ""))
        after = box.run('pwd; echo "$A|${B-unset}|${C-unset}"; type f g; umask; jobs')
        assert after.stdout == "/home/npc/computer/sub/a b'$(d)\ntwo\nlines =||unset\n0022\n"

    @pytest.mark.parametrize(
        "command",
        ["export X=1; set -e; cd sub; false", "export X=1; cd sub; exit 3", "export X=1; cd sub; echo 'open",
         "export X=1; cd sub; trap 'true' EXIT", "export X=1; cd sub; exec 1>&- 2>&-", "set -aC; X=1; cd sub; set -x"],
    )  # fmt: skip
    def test_state_survives_rough_endings(self, box: Sandbox, command: str) -> None:
        ran = box.run(command)
        carried = (ran.state.cwd, dict(ran.state.env).get("X"))
        # An open quote is found before anything of its line runs.
        expected = ("/home/npc/computer", None) if "open" in command else ("/home/npc/computer/sub", "1")
        assert carried == expected

    def test_destroyed_state_is_the_old_state_and_said(self, box: Sandbox) -> None:
        box.run("export KEEP=1; cd sub")
        for command in (
            "kill -9 $$",
            "exec true",
            "rm -f /run/shell-state; mkfifo /run/shell-state; trap '' EXIT; exit",
            "export BIG=$(head -c 100000 /dev/zero | tr '\\0' x)",
            "rm -rf /run/*; ln -s /dev/zero /run/shell-state; exec true",
        ):  # noqa: E501
            ran = box.run(command)
            assert ran.state == ShellState("/home/npc/computer/sub", (("KEEP", "1"),)), command
            assert "were not kept" in ran.note, command
        assert box.run("pwd; echo $KEEP").stdout == "/home/npc/computer/sub\n1\n"

    def test_a_working_folder_that_is_gone_is_the_home_again(self, box: Sandbox) -> None:
        box.run("mkdir -p gone/inner; cd gone/inner; rm -rf ../../gone")
        assert box.run("pwd").stdout == "/home/npc/computer\n"

    @pytest.mark.parametrize("command", ["echo \0", "echo " + "x" * 200_000])
    def test_a_command_that_cannot_be_one_is_refused_in_words(self, box: Sandbox, command: str) -> None:
        refused = box.run(command)
        assert refused.exit_code == 126 and "write a script file" in refused.stderr

    # -- files by the port ---------------------------------------------------------------------------------------------

    def test_read_and_write_stay_inside_and_say_what_is_wrong(self, box: Sandbox) -> None:
        box.write("new/deep/file.bin", b"\0\xffbytes")
        assert box.read("/home/npc/computer/new/deep/file.bin") == b"\0\xffbytes"
        assert box.read("/mnt/task/TASK.md") == b"do it\n" and box.read("~/notes.txt") == b"mine\n"
        box.write("notes.txt", b"short")
        assert box.read("notes.txt") == b"short"
        box.run("mkfifo /tmp/x; true")
        for path, words in (("none", "no such file"), ("sub", "a folder"), ("/dev/zero", "no ordinary file"),
                            ("/proc/self/environ", "not permitted|no ordinary"), ("/proc/version", "no ordinary"),
                            ("/proc/1/mem", "cannot be used"), ("", "empty"), ("a\0b", "empty")):  # fmt: skip
            with pytest.raises(OSError, match=words):
                box.read(path)
        with pytest.raises(OSError, match="too large .4 bytes"):
            box.read("notes.txt", limit=4)
        for path in ("/mnt/task/TASK.md", "/etc/passwd", "/usr/x", "/proc/self/mem", "/dev/null", "sub", "notes.txt/x"):
            with pytest.raises(OSError):
                box.write(path, b"no")
        with pytest.raises(OSError, match="more than"):
            box.write("big", bytes(SMALL.file_size + 1))
        with pytest.raises(OSError, match="no room"):
            for number in range(3):
                box.write(f"big{number}", bytes(SMALL.file_size))

    # -- reading the home back (RULE 35) -------------------------------------------------------------------------------

    def test_the_home_comes_back_as_it_is(self, start: Box, blobs: MemoryBlobs) -> None:
        box = start({"keep.txt": b"keep", "gone.txt": b"gone", "sub/change.txt": b"before"})
        box.run("rm gone.txt; echo after >sub/change.txt; printf '#!/bin/sh' >tool; chmod 700 tool; mkdir -p e/f empty")
        box.run("echo Report >Report.txt; echo report >report.txt; echo x >'Ünïcödé — 文書 .txt'")
        puts = blobs.puts
        entries, refusals = box.export_home()
        assert refusals == ()
        found = {entry.path: (blobs.get(entry.blob.sha256), entry.mode) for entry in entries}
        assert found == {
            "keep.txt": (b"keep", 0o644), "sub/change.txt": (b"after\n", 0o644), "tool": (b"#!/bin/sh", 0o755),
            "Report.txt": (b"Report\n", 0o644), "report.txt": (b"report\n", 0o644),
            "Ünïcödé — 文書 .txt": (b"x\n", 0o644),
        }  # fmt: skip
        assert blobs.puts - puts == 5, "what did not change is not sent again"
        assert [entry.path for entry in entries] == sorted(found)

    def test_a_change_of_the_same_size_in_the_same_instant_is_seen(self, start: Box, blobs: MemoryBlobs) -> None:
        box = start({"a": b"0000"})
        for number in range(5):
            box.run(f"printf {number:04d} >a; touch -d @{NOW} a")
            ((entry,), _) = box.export_home()
            assert blobs.get(entry.blob.sha256) == b"%04d" % number

    def test_a_restored_home_equals_one_that_lived_on(self, start: Box) -> None:
        """RULE 35: whatever a command leaves behind, the next sees the same in the old sandbox and in a fresh one."""
        look = (
            "find . /tmp /run /dev/shm -mindepth 1 ! -name shell-state -printf '%p %y %m %T@ %n %l\\n' | sort;"
            "pwd; export -p"
        )
        mess = (
            "mkdir -p a/b/c empty 'odd name'; echo x >a/f; ln a/f a/hard; ln -s f a/soft; ln -s /etc/passwd leak;"
            "mkfifo p;"
            "echo s >a/secret; chmod 000 a/secret; chmod 4777 a/f; chmod 500 a/b; echo t >/tmp/scratch;"
            "mkdir /dev/shm/d;"
            "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"sock\")';"
            "touch -d 1999-01-01 'odd name/old';"
            "printf x >$'e\\u0301.txt'; export V=1; cd a"
        )
        lived = start()
        state = lived.run(mess).state
        entries, refusals = lived.export_home()
        restored = start(entries, state)
        assert restored.run(look).stdout == lived.run(look).stdout
        assert {refusal.split(":")[0] for refusal in refusals} == {"a/soft", "leak", "p", "sock"}
        assert {entry.path for entry in entries} == {"a/f", "a/hard", "a/secret", "odd name/old", "é.txt"}

    def test_links_planted_for_the_next_start_lead_nowhere(self, start: Box) -> None:
        """headlong#72: an agent's link is neither followed on the way out nor there on the next start."""
        box = start({"data/x": b"1"})
        box.run("rm -r data; ln -s /etc data; ln -s /mnt/task/TASK.md t; ln -s / root; ln -s loop loop")
        entries, refusals = box.export_home()
        assert entries == () and len(refusals) == 4 and all("a link" in refusal for refusal in refusals)
        box.write("data/passwd", b"mine")
        assert box.run("cat /etc/passwd").stdout != "mine"
        assert start(entries).run("ls -A").stdout == ""

    def test_hostile_names_are_named_in_plain_words(self, start: Box) -> None:
        box = start()
        ran = box.run(
            "touch $'new\\nline' $'bad\\xff' $'tab\\t' $'esc\\e[31m' ./-- ./-rf ' ' '~' '*' 'a\\b' ..hidden;"
            "mkdir $'dir\\xfe'; echo x >$'dir\\xfe/in'; touch $'e\\u0301' $'\\u00e9';"
            "d=.; for i in $(seq 60); do mkdir -p $d/d; d=$d/d; done; echo deep >$d/f; ls | wc -l"
        )
        assert ran.exit_code == 0, ran.stderr
        entries, refusals = box.export_home()
        assert {entry.path for entry in entries} == {" ", "*", "--", "-rf", "..hidden", "a\\b", "~", "é"}
        said = "\n".join(sorted(refusals))
        for part in ("new\\nline: its name holds a control character", "bad\\xff: its name is not UTF-8", "tab\\t: ",
                     "esc\\x1b[31m: ", "dir\\xfe: ", "another Unicode form", "more than 32 folders deep"):  # fmt: skip
            assert part in said, said
        assert all(line.isprintable() for line in said.splitlines())
        assert box.run(f"find . -name 'dir*' -o -path '*{'/d' * 34}*'").stdout == ""

    def test_folders_deeper_than_any_path_are_removed(self, start: Box) -> None:
        box = start({"notes.txt": b"mine\n"})
        box.run("n=$(printf 'x%.0s' $(seq 200)); for i in $(seq 40); do mkdir $n && cd $n; done; chmod 000 .")
        box.run("cd /tmp; n=$(printf 'x%.0s' $(seq 200)); for i in $(seq 40); do mkdir $n && cd $n; done; chmod 000 .")
        entries, _ = box.export_home()
        assert [entry.path for entry in entries] == ["notes.txt"]
        self._survives(box)

    # -- life and death ------------------------------------------------------------------------------------------------

    def test_a_closed_sandbox_is_an_error_and_never_output(self, start: Box) -> None:
        """inspect_ai#4709: a dead container read as success."""
        box = start()
        box.close()
        box.close()
        for call in (lambda: box.run("true"), lambda: box.read("x"), lambda: box.write("x", b""), box.export_home):
            with pytest.raises(SandboxError, match="gone"):
                call()

    def test_closing_in_the_middle_of_a_command_ends_it(self, start: Box) -> None:
        box = start()
        failed: list[BaseException | CommandResult] = []

        def work() -> None:
            try:
                failed.append(box.run("echo partly; sleep 30", timeout_s=30))
            except SandboxError as error:
                failed.append(error)

        worker = threading.Thread(target=work)
        worker.start()
        box.close()
        worker.join(60)
        assert len(failed) == 1 and isinstance(failed[0], SandboxError)

    def test_many_at_once_do_not_meet(self, start: Box) -> None:
        boxes = [start({"who": b"%d" % number}) for number in range(5)]
        results: dict[int, str] = {}

        def work(number: int) -> None:
            results[number] = boxes[number].run("cat who; echo; ls /proc | grep -c '^[0-9]'").stdout

        threads = [threading.Thread(target=work, args=(number,)) for number in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert {number: text.split()[0] for number, text in results.items()} == {n: str(n) for n in range(5)}
        assert all(int(text.split()[1]) < 6 for text in results.values()), "one sees the processes of another"
