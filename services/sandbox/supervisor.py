"""The first process inside a sandbox: takes framed requests, runs each command in a fresh shell (RULE 33).

Started with its socket's number by the sandbox's own interpreter. It and `frames.py`, `hometree.py` beside it import
nothing but the standard library, and little of that, for its start is part of every job's. No command inherits its
socket, and because it is not dumpable no command can look into its memory or descriptors either. After every command
each other process is killed, so whatever it does to the home then, it does alone.

Requests and answers, a frame each, fields in order:

    init now limits... (names in LIMITS) env=K\0V\0...     -> ready
    put path mode data | folder path                       (no answer)
    run command timeout_ms cwd env                         -> result code ended note stdout stderr cwd env folders
    read path limit                                        -> ok data | error errno
    write path data                                        -> ok | error errno
    settle                                                 -> ready
    export                                                 -> (file path mode data | same path mode)... done refusals...

Anything unexpected is answered by `broken` and the end of the sandbox: never by something that looks like a result.
"""

# Paths are bytes here, for a hostile name need not be text, and pathlib would be half of the start.
# ruff: noqa: PTH103, PTH116, PTH118, PTH120, PTH123, PTH208

from __future__ import annotations

import ctypes
import os
import resource
import select
import signal
import stat
import sys
import time

from services.sandbox.frames import BadFrame, decode, encode
from services.sandbox.hometree import HOME, HomeTree, empty

LIMITS = (
    "processes", "tasks", "memory", "address_space", "file_size", "home_bytes", "home_files", "open_files", "output",
    "state",
)  # fmt: skip
STATE_FILE = b"/run/shell-state"
SCRATCH = (b"/tmp", b"/dev/shm", b"/run")
_TICK_S = 0.03
# Joined to one line: bash then counts the command's lines from 1, and a syntax error in it ends this line and no more,
# so that the trap still records the state. A command that sets its own EXIT trap is recorded if it does not `exit`.
_SHELL = b" ".join((
    b"echo 1000 2>/dev/null >/proc/self/oom_score_adj;",
    b"__officetown_save() { { set +x +v +e; } 2>/dev/null;",
    b'[ -z "$__officetown_saved" ] || return 0; __officetown_saved=1;',
    b"{ builtin pwd -P; builtin printf '\\0'; /usr/bin/env -0; } 2>/dev/null >|/run/shell-state; };",
    b"trap __officetown_save EXIT; __officetown_command=$1; set --;",
    b'eval "$__officetown_command"; { __officetown_status=$?; set +x +v +e; } 2>/dev/null;',
    b'__officetown_save; builtin exit "$__officetown_status"',
))  # fmt: skip
_NOT_CARRIED = frozenset({b"_", b"SHLVL", b"PWD", b"OLDPWD"})


class Collector:
    """Keeps the head and the tail of an endless stream within a bound, and counts what was cut between them."""

    def __init__(self, bound: int) -> None:
        self._half = bound // 2
        self._head = bytearray()
        self._tail = bytearray()
        self._cut = 0

    def add(self, data: bytes) -> None:
        room = self._half - len(self._head)
        self._head += data[:room]
        self._tail += data[room:] if room > 0 else data
        surplus = len(self._tail) - self._half
        if surplus > 0:
            self._cut += surplus
            del self._tail[:surplus]

    def value(self) -> bytes:
        gap = b"\n[... %d bytes cut ...]\n" % self._cut if self._cut else b""
        return bytes(self._head) + gap + bytes(self._tail)


def kill_all(within_s: float = 10.0) -> None:
    """Kill every other process of the sandbox and wait until none is left.

    Signals that a process ignores, sessions of its own and doubled forks make no difference: all of them are this
    process's descendants, and SIGKILL to -1 reaches all at once, also faster than they fork.
    """
    deadline = time.monotonic() + within_s
    while True:
        try:  # noqa: SIM105  # contextlib would double this program's start
            os.kill(-1, signal.SIGKILL)
        except ProcessLookupError:
            pass
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        if time.monotonic() > deadline:
            raise RuntimeError("processes survived being killed")
        select.select([], [], [], 0.0005)


class Supervisor:
    """Serves one host over one socket, or over a pair of pipes, until it hangs up."""

    def __init__(self, channel: int, answers: int) -> None:
        self._channel = channel
        self._answers = answers
        self._limit: dict[str, int] = {}
        self._base_env: dict[bytes, bytes] = {}
        self._home = HomeTree(0, 0, 0, 0)
        self._proc = os.stat("/proc").st_dev
        self._woken, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def serve(self) -> None:
        """Answer requests until the host hangs up."""
        while True:
            request = self._receive()
            kind = request[0]
            if kind == b"put":
                self._home.put(request[1], int(request[2]), request[3])
            elif kind == b"folder":
                self._home.folder(request[1])
            elif kind == b"run":
                self._send(*self._run(request[1], int(request[2]) / 1000, request[3], pairs(request[4])))
            elif kind == b"read":
                self._send(*self._read(request[1], int(request[2])))
            elif kind == b"write":
                self._send(*self._write(request[1], request[2]))
            elif kind == b"settle":
                self._home.settle()
                self._send(b"ready")
            elif kind == b"export":
                self._export()
            elif kind == b"init":
                self._init(request[1:])
            else:
                raise BadFrame("unknown request")

    def _init(self, fields: list[bytes]) -> None:
        now, values, env = int(fields[0]), fields[1:-1], fields[-1]
        self._limit = dict(zip(LIMITS, map(int, values), strict=True))
        self._base_env = pairs(env)
        self._home = HomeTree(now, self._limit["file_size"], self._limit["home_bytes"], self._limit["home_files"])
        self._send(b"ready")

    # -- commands ------------------------------------------------------------------------------------------------------

    def _run(self, command: bytes, timeout_s: float, cwd: bytes, env: dict[bytes, bytes]) -> tuple[bytes, ...]:
        out, err = Collector(self._limit["output"]), Collector(self._limit["output"])
        pipes = {}
        self._fresh_state()
        out_read, out_write = os.pipe()
        err_read, err_write = os.pipe()
        main = self._spawn(command, cwd, {**self._base_env, **env}, out_write, err_write)
        os.close(out_write)
        os.close(err_write)
        for handle, collector in ((out_read, out), (err_read, err)):
            os.set_blocking(handle, False)
            pipes[handle] = collector
        status, ended, note = self._attend(main, pipes, time.monotonic() + timeout_s)
        kill_all()
        for handle, collector in pipes.items():
            drain(handle, collector)
            os.close(handle)
        state, lost = self._state() if ended == b"exit" else (None, b"")
        kept_cwd, kept_env = state or (cwd, env)
        scratch = [empty(place) for place in SCRATCH if place != b"/run"]
        empty(b"/run")
        notes = [note, lost, b"files outside the home are removed after each command" if any(scratch) else b""]
        refused, folders = self._home.settle()
        notes += [b"removed from the home: %s (%s)" % pair for pair in refused[:10]]
        return (
            b"result", b"%d" % status, ended, b"; ".join(filter(None, notes)), out.value(), err.value(), kept_cwd,
            flat(kept_env), b"\0".join(folders),
        )  # fmt: skip

    def _attend(self, main: int, pipes: dict[int, Collector], deadline: float) -> tuple[int, bytes, bytes]:
        """Collect output until the shell ends, time is up or a limit is passed: (exit code, how it ended, note)."""
        poll = select.poll()
        for handle in pipes:
            poll.register(handle, select.POLLIN)
        poll.register(self._woken, select.POLLIN)
        poll.register(self._channel, select.POLLIN)
        look = time.monotonic() + _TICK_S
        while True:
            now = time.monotonic()
            for handle, _ in poll.poll(max(0.0, min(look, deadline) - now) * 1000):
                if handle == self._channel:
                    # The host hung up, or speaks out of turn: either way there is nobody left to work for.
                    os._exit(3)
                elif handle == self._woken:
                    drain(self._woken, None)
                elif not drain(handle, pipes[handle]):
                    poll.unregister(handle)
            status = reap(main)
            if status is not None:
                return status, b"exit", b""
            now = time.monotonic()
            if now >= deadline:
                return 124, b"timeout", b""
            if now >= look:
                passed = self._passed_limit()
                if passed:
                    return 137, b"limit", passed
                look = time.monotonic() + max(_TICK_S, 5 * (time.monotonic() - now))

    def _spawn(self, command: bytes, cwd: bytes, env: dict[bytes, bytes], out: int, err: int) -> int:
        """Start the shell; raise if it could not be started, for that is no result."""
        failed_read, failed = os.pipe()
        pid = os.fork()
        if pid:
            os.close(failed)
            trouble = os.read(failed_read, 200)
            os.close(failed_read)
            if trouble:
                raise RuntimeError("the shell could not be started: " + trouble.decode("ascii", "replace"))
            return pid
        try:
            os.setsid()
            null = os.open("/dev/null", os.O_RDONLY)
            for source, target in ((null, 0), (out, 1), (err, 2)):
                os.dup2(source, target)
            os.dup2(failed, 3, inheritable=False)
            os.closerange(4, 4096)
            failed = 3
            for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT, signal.SIGCHLD):
                signal.signal(number, signal.SIG_DFL)
            self._restrict()
            try:
                os.chdir(cwd)
            except OSError:
                os.chdir(HOME)
            os.execve(b"/bin/bash", [b"bash", b"-c", _SHELL, b"bash", command], env)  # noqa: S606  # it is the shell
        except BaseException as error:  # noqa: BLE001  # nothing may run on in this copy of the supervisor
            os.write(failed, repr(error).encode("ascii", "replace")[:200])
        finally:
            os._exit(127)

    def _restrict(self) -> None:
        limit = self._limit
        for kind, value in (
            (resource.RLIMIT_NPROC, limit["tasks"]),
            (resource.RLIMIT_AS, limit["address_space"]),
            (resource.RLIMIT_FSIZE, limit["file_size"]),
            (resource.RLIMIT_NOFILE, limit["open_files"]),
            (resource.RLIMIT_CPU, 3600),
            (resource.RLIMIT_CORE, 0),
            (resource.RLIMIT_MEMLOCK, 65536),
        ):
            if value > 0:
                hard = resource.getrlimit(kind)[1]
                value = value if hard == resource.RLIM_INFINITY else min(value, hard)
                resource.setrlimit(kind, (value, value))
        os.nice(5)

    def _passed_limit(self) -> bytes:
        """Name the limit that the sandbox as a whole has passed, or nothing."""
        page = resource.getpagesize()
        memory, processes = 0, []
        for name in os.listdir("/proc"):
            if name.isdigit() and name != "1":
                processes.append(name)
                memory += int((_peek(f"/proc/{name}/statm").split() or [b"0", b"0"])[1]) * page
        if len(processes) > self._limit["processes"]:
            return b"processes: %d at once, %d allowed" % (len(processes), self._limit["processes"])
        if memory > self._limit["memory"]:
            # Resident sizes count a shared page once a process; only the exact sum may kill.
            memory = sum(_proportional(name) for name in processes)
            if memory > self._limit["memory"]:
                return b"memory: %d MiB in use, %d allowed" % (memory >> 20, self._limit["memory"] >> 20)
        for place in (HOME, *SCRATCH):
            usage = os.statvfs(place)
            files = usage.f_files - usage.f_ffree
            if files > self._limit["home_files"]:
                return b"files: %d in %s, %d allowed" % (files, place, self._limit["home_files"])
        return b""

    # -- what the next shell inherits ----------------------------------------------------------------------------------

    def _fresh_state(self) -> None:
        os.close(os.open(STATE_FILE, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))

    def _state(self) -> tuple[tuple[bytes, dict[bytes, bytes]] | None, bytes]:
        """Read what the shell recorded on leaving; a command may have destroyed it, then the old state stays."""
        try:
            handle = os.open(STATE_FILE, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return None, b"working folder and variables were not kept"
        try:
            regular = stat.S_ISREG(os.fstat(handle).st_mode)
            data = os.read(handle, self._limit["state"] + 1) if regular else b""
        finally:
            os.close(handle)
        if len(data) > self._limit["state"]:
            return None, b"working folder and variables were not kept: too many bytes of variables"
        cwd, ended, rest = data.partition(b"\n\0")
        if not ended or not cwd.startswith(b"/") or not rest.endswith(b"\0") or not decodable(cwd):
            return None, b"working folder and variables were not kept"
        env = {}
        for item in rest[:-1].split(b"\0"):
            name, _, value = item.partition(b"=")
            plain = name.replace(b"_", b"a").isalnum() and not name[:1].isdigit() and decodable(item)
            if plain and name not in _NOT_CARRIED and self._base_env.get(name) != value:
                env[name] = value
        return (cwd, env), b""

    # -- single files --------------------------------------------------------------------------------------------------

    def _read(self, path: bytes, limit: int) -> tuple[bytes, ...]:
        try:
            handle = self._open(path, os.O_RDONLY)
        except OSError as error:
            return b"error", b"%d" % (error.errno or 5)
        with open(handle, "rb", buffering=0) as file:
            if os.fstat(handle).st_size > limit:
                return b"error", b"%d" % 27  # EFBIG
            return b"ok", file.read(limit) or b""

    def _write(self, path: bytes, data: bytes) -> tuple[bytes, ...]:
        path = os.path.join(HOME, path)
        try:
            os.makedirs(os.path.dirname(path), 0o755, exist_ok=True)
            handle = self._open(path, os.O_WRONLY | os.O_CREAT)
            with open(handle, "wb", buffering=0) as file:
                os.ftruncate(handle, 0)
                left = memoryview(data)
                while left:
                    left = left[file.write(left) or 0 :]
            self._home.settle()
        except OSError as error:
            return b"error", b"%d" % (error.errno or 5)
        return (b"ok",)

    def _open(self, path: bytes, flags: int) -> int:
        """Open a regular file that is none of the kernel's own: /proc would show or change this very process."""
        handle = os.open(os.path.join(HOME, path), flags | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC, 0o644)
        found = os.fstat(handle)
        if stat.S_ISREG(found.st_mode) and found.st_dev != self._proc:
            return handle
        os.close(handle)
        raise OSError(21 if stat.S_ISDIR(found.st_mode) else 22, "not a regular file")

    def _export(self) -> None:
        refused: list[bytes] = []
        for path, reason in self._home.export(self._send):
            refused += [path, reason]
        self._send(b"done", *refused)

    # -- the socket ----------------------------------------------------------------------------------------------------

    def _receive(self) -> list[bytes]:
        return decode(self._exactly(int.from_bytes(self._exactly(4), "big")))

    def _exactly(self, count: int) -> bytes:
        parts = []
        while count:
            part = os.read(self._channel, min(count, 1 << 20))
            if not part:
                os._exit(0)
            parts.append(part)
            count -= len(part)
        return b"".join(parts)

    def _send(self, *fields: bytes) -> None:
        left = memoryview(encode(*fields))
        while left:
            left = left[os.write(self._answers, left) :]


def reap(main: int) -> int | None:
    """Collect every ended child; return the exit code of `main` as a shell would give it, if it is among them."""
    code = None
    try:
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return code
            if pid == main:
                code = os.waitstatus_to_exitcode(status)
                code = code if code >= 0 else 128 - code
    except ChildProcessError:
        return code


def drain(handle: int, into: Collector | None) -> bool:
    """Read what is there now, at most a few MiB, so that no writer holds up the rest; False at the end."""
    for _ in range(64):
        try:
            data = os.read(handle, 65536)
        except BlockingIOError:
            return True
        if not data:
            return False
        if into is not None:
            into.add(data)
    return True


def pairs(data: bytes) -> dict[bytes, bytes]:
    """Undo `flat`."""
    parts = data.split(b"\0")
    return dict(zip(parts[0:-1:2], parts[1::2], strict=True))


def flat(env: dict[bytes, bytes]) -> bytes:
    """Variables as `name NUL value NUL ...`, in order."""
    return b"".join(b"%s\0%s\0" % pair for pair in sorted(env.items()))


def decodable(data: bytes) -> bool:
    """Whether the bytes are UTF-8, so that they can be kept on a tape of text."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _peek(path: str) -> bytes:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(handle, 4096)
    except OSError:
        return b""
    finally:
        os.close(handle)


def _proportional(pid: str) -> int:
    for line in _peek(f"/proc/{pid}/smaps_rollup").splitlines():
        if line.startswith(b"Pss:"):
            return int(line.split()[1]) * 1024
    return int((_peek(f"/proc/{pid}/statm").split() or [b"0", b"0"])[1]) * resource.getpagesize()


def serve(channel: int, answers: int) -> None:
    """Close off this process, then serve: requests come by `channel`, answers go by `answers`, which may be the same."""
    for stream in (channel, answers):
        os.set_inheritable(stream, False)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    libc = ctypes.CDLL(None)
    if libc.prctl(4, 0, 0, 0, 0) != 0:  # PR_SET_DUMPABLE
        raise RuntimeError("prctl(PR_SET_DUMPABLE) failed")
    if os.getpid() != 1:
        libc.prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER: where a container's own init is the first process
    os.umask(0o022)
    supervisor = Supervisor(channel, answers)
    try:
        supervisor.serve()
    except Exception as error:  # noqa: BLE001  # the host must learn that the sandbox broke, whatever broke it
        os.write(answers, encode(b"broken", f"{type(error).__name__}: {error}".encode("utf-8", "replace")))
        os._exit(4)


def main() -> None:
    """Serve over the socket whose number is the first argument."""
    serve(int(sys.argv[1]), int(sys.argv[1]))


if __name__ == "__main__":
    main()
