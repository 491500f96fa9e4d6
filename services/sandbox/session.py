"""The host's end of a running sandbox: requests to its supervisor, and a hostile reading of every answer.

It knows nothing of how the sandbox was started, so every provider whose sandbox runs `supervisor.py` can use it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import threading
import time
from collections.abc import Mapping
from typing import Protocol

from services.sandbox.frames import BadFrame, decode, encode
from services.sandbox.hometree import HOME, name_fault, normal
from services.sandbox.limits import Limits
from services.sandbox.supervisor import LIMITS, flat, pairs
from simulator.errors import SandboxError
from simulator.ports import Blob, BlobStore, CommandResult, SandboxSpec, ShellState, TreeEntry

MAX_COMMAND = 100_000
_PLAIN = {
    errno.ENOENT: "there is no such file",
    errno.EISDIR: "it is a folder",
    errno.EINVAL: "it is no ordinary file",
    errno.ENXIO: "it is no ordinary file",
    errno.EACCES: "not permitted",
    errno.EPERM: "not permitted",
    errno.EROFS: "it is read-only there",
    errno.ENOTDIR: "a part of the path is no folder",
    errno.ELOOP: "too many links",
    errno.ENOSPC: "no room is left",
    errno.EFBIG: "it is too large",
    errno.ENAMETOOLONG: "the name is too long",
}


class Process(Protocol):
    """What stands behind a sandbox: it can be ended for good, and then say what it complained of."""

    def end(self) -> str: ...


class Channel(Protocol):
    """The part of a stream socket that a session uses."""

    def settimeout(self, seconds: float | None, /) -> None: ...
    def sendall(self, data: bytes, /) -> None: ...
    def recv(self, count: int, /) -> bytes: ...
    def shutdown(self, how: int, /) -> None: ...
    def close(self) -> None: ...


class Session:
    """A running sandbox. One thread at a time; a second one waits."""

    def __init__(self, channel: Channel, process: Process, blobs: BlobStore, limits: Limits) -> None:
        self._channel = channel
        self._process = process
        self._blobs = blobs
        self._limits = limits
        self._lock = threading.Lock()
        self._seen: dict[str, Blob] = {}
        self._state = ShellState()
        self._dead = ""
        self._buffer = bytearray()

    def begin(self, spec: SandboxSpec, env: Mapping[str, str]) -> None:
        """Say what holds inside, and lay down the home. Raises SandboxError."""
        self._state = spec.state or ShellState()
        numbers = [b"%d" % getattr(self._limits, name) for name in LIMITS]
        variables = flat({key.encode(): value.encode() for key, value in env.items()})
        with self._lock:
            self._send(encode(b"init", b"%d" % spec.now, *numbers, variables))
            self._expect(b"ready", self._limits.start_s)
            for entry in spec.home:
                data = self._blobs.get(entry.blob.sha256)
                self._send(encode(b"put", safe_path(entry.path), b"%d" % entry.mode, data))
                self._seen[entry.path] = entry.blob
            for folder in self._state.folders:
                self._send(encode(b"folder", safe_path(folder)))
            self._send(encode(b"settle"))
            self._expect(b"ready", self._limits.start_s)

    def run(self, command: str, timeout_s: int = 120) -> CommandResult:
        """Run a command in a fresh shell. See the port."""
        data = command.encode("utf-8", "replace")
        if len(data) > MAX_COMMAND or b"\0" in data:
            why = "holds a NUL character" if b"\0" in data else f"is longer than {MAX_COMMAND} bytes"
            text = f"bash: the command {why}: write a script file and run that\n"
            return CommandResult(exit_code=126, stdout="", stderr=text, state=self._state)
        before = self._state
        env = flat({key.encode(): value.encode() for key, value in before.env})
        with self._lock:
            self._send(encode(b"run", data, b"%d" % (timeout_s * 1000), before.cwd.encode(), env))
            code, ended, note, out, err, cwd, after, folders = self._expect(
                b"result", timeout_s + self._limits.grace_s, fields=8
            )
            self._state = ShellState(
                cwd=shown(cwd),
                env=tuple((shown(key), shown(value)) for key, value in sorted(pairs(after).items())),
                folders=tuple(shown(folder) for folder in folders.split(b"\0") if folder),
            )
        return CommandResult(
            exit_code=int(code), stdout=shown(out), stderr=shown(err), ended=shown(ended), note=shown(note),
            state=self._state,
        )  # fmt: skip

    def read(self, path: str, limit: int = 2_000_000) -> bytes:
        """The bytes of a file inside. See the port."""
        with self._lock:
            self._send(encode(b"read", inner_path(path), b"%d" % limit))
            answer = self._answer(self._limits.grace_s)
        if answer[0] == b"error":
            raise _plain(answer, path, f" ({limit} bytes at most)")
        return answer[1]

    def write(self, path: str, data: bytes) -> None:
        """Write a file inside, with the folders it needs. See the port."""
        if len(data) > self._limits.file_size:
            raise OSError(errno.EFBIG, f"{path} cannot be written: more than {self._limits.file_size} bytes")
        with self._lock:
            self._send(encode(b"write", inner_path(path), data))
            answer = self._answer(self._limits.grace_s)
        if answer[0] == b"error":
            raise _plain(answer, path, "")

    def export_home(self) -> tuple[tuple[TreeEntry, ...], tuple[str, ...]]:
        """Store what is in the home and return (entries, refusals). See the port."""
        entries: dict[str, TreeEntry] = {}
        refusals: list[str] = []
        with self._lock:
            self._send(encode(b"export"))
            deadline = time.monotonic() + self._limits.start_s + self._limits.grace_s
            total = 0
            while True:
                kind, *fields = self._answer(max(0.0, deadline - time.monotonic()))
                if kind == b"done":
                    break
                if kind not in (b"file", b"same") or len(fields) != (3 if kind == b"file" else 2):
                    raise self._fail("it answered out of turn")
                entry, size = self._entry(fields)
                total += size
                if entry.path in entries or total > self._limits.home_bytes or len(entries) > self._limits.home_files:
                    raise self._fail("its home is not what its limits allow")
                entries[entry.path] = entry
            for path, reason in zip(fields[0::2], fields[1::2], strict=True):
                refusals.append(f"{visible(path)}: {shown(reason)}; it was removed")
            self._seen = {path: entry.blob for path, entry in entries.items()}
        return tuple(entries[path] for path in sorted(entries)), tuple(refusals)

    def close(self) -> None:
        """End the sandbox, also under a thread that waits for it; what was not exported is gone. Safe to call twice."""
        self._dead = self._dead or "it was closed"
        with contextlib.suppress(OSError):
            self._channel.shutdown(socket.SHUT_RDWR)
        with self._lock:
            self._channel.close()
            self._process.end()

    def _entry(self, fields: list[bytes]) -> tuple[TreeEntry, int]:
        """Judge one exported file anew: what the supervisor promises is checked here, on the safe side."""
        path = fields[0]
        if name_fault(path) or normal(path) != path or fields[1] not in (b"420", b"493"):
            raise self._fail("it exported a name or mode that cannot be")
        text, mode = path.decode(), int(fields[1])
        if len(fields) == 3:
            if len(fields[2]) > self._limits.file_size:
                raise self._fail("it exported a file larger than allowed")
            blob = self._blobs.put(fields[2])
        elif text in self._seen:
            blob = self._seen[text]
        else:
            raise self._fail("it called a file unchanged that was never seen")
        return TreeEntry(path=text, blob=blob, mode=mode), blob.size

    # -- the socket ----------------------------------------------------------------------------------------------------

    def _expect(self, kind: bytes, within_s: float, fields: int = 0) -> list[bytes]:
        answer = self._answer(within_s)
        if answer[0] != kind or len(answer) != fields + 1:
            raise self._fail("it answered out of turn")
        return answer[1:]

    def _answer(self, within_s: float) -> list[bytes]:
        deadline = time.monotonic() + within_s
        try:
            size = int.from_bytes(self._exactly(4, deadline), "big")
            if size > self._limits.file_size + 4 * self._limits.output + 8 * self._limits.home_files * 64:
                raise BadFrame("a frame is larger than any answer")
            answer = decode(self._exactly(size, deadline))
        except TimeoutError:
            raise self._fail("it did not answer in time") from None
        except (OSError, BadFrame) as error:
            raise self._fail(str(error)) from None
        if not answer or answer[0] == b"broken":
            raise self._fail("its supervisor failed: " + shown(b" ".join(answer[1:])))
        return answer

    def _exactly(self, count: int, deadline: float) -> bytes:
        while len(self._buffer) < count:
            self._channel.settimeout(max(0.001, deadline - time.monotonic()))
            part = self._channel.recv(max(65536, min(count - len(self._buffer), 1 << 20)))
            if not part:
                raise ConnectionError("it hung up")
            self._buffer += part
        data = bytes(self._buffer[:count])
        del self._buffer[:count]
        return data

    def _send(self, frame: bytes) -> None:
        if self._dead:
            raise SandboxError(f"The sandbox is gone: {self._dead}.")
        try:
            self._channel.settimeout(self._limits.start_s)
            self._channel.sendall(frame)
        except OSError as error:
            raise self._fail(f"it takes no requests ({error.strerror or error})") from None

    def _fail(self, why: str) -> SandboxError:
        """End the sandbox for good and give the error to raise."""
        if not self._dead:
            self._channel.close()
            said = self._process.end().strip()
            self._dead = f"{why}; {said}" if said else why
        return SandboxError(f"The sandbox died: {self._dead}. Its job starts again from the last stored home.")


def shown(data: bytes) -> str:
    """Decode what a sandbox said: UTF-8 with replacement, NUL replaced too, for no record holds it (RULE 20)."""
    return data.decode("utf-8", "replace").replace("\0", "\N{REPLACEMENT CHARACTER}")


def visible(path: bytes) -> str:
    """A hostile path as text that shows every odd byte: for refusals."""
    text = path.decode("utf-8", "backslashreplace")[:300]
    return "".join(ch if ch.isprintable() else ch.encode("unicode_escape").decode() for ch in text)


def safe_path(path: str) -> bytes:
    """The bytes of a relative path that came from a manifest. Raises SandboxError where it could leave its tree."""
    data = path.encode("utf-8", "replace")
    fault = name_fault(data)
    if fault:
        raise SandboxError(f"A sandbox cannot be given the file {path!r}: {fault.decode()}.")
    return data


def inner_path(path: str) -> bytes:
    """The bytes of a path that an assistant named. Raises OSError where it is none."""
    if not path or "\0" in path:
        raise OSError(errno.EINVAL, "a path may be neither empty nor hold a NUL character")
    data = path.encode("utf-8", "replace")
    return HOME + data[1:] if data == b"~" or data.startswith(b"~/") else data


def _plain(answer: list[bytes], path: str, detail: str) -> OSError:
    number = int(answer[1])
    words = _PLAIN.get(number) or os.strerror(number).lower()
    return OSError(number, f"{path} cannot be used: {words}{detail if number == errno.EFBIG else ''}")
