"""The first process of a container: the supervisor behind the engine's streams (RULES 30, 31, 33).

It is process 1 itself, not the child of an init: so no signal from inside can end it, whoever sends it, nobody may look
into it, and every orphan comes to it. The engine gives it a pipe for requests and one for answers; they are moved out
of the way of what commands take for their own. The engine's filter of system calls is there already; this project's own
is laid over it.
"""

# Beside the supervisor, and like it kept to what starts fast.

from __future__ import annotations

import ctypes
import fcntl
import os

from services.sandbox import seccomp, supervisor

_OUT_OF_THE_WAY = 40


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.c_char_p))


def restrict(machine: str) -> None:
    """Refuse the system calls that `seccomp` names, for this process and all it starts. Raises RuntimeError."""
    steps = seccomp.program(machine)
    if not steps:
        return
    libc = ctypes.CDLL(None, use_errno=True)
    program = _Program(len(steps) // 8, steps)
    if libc.prctl(22, 2, ctypes.byref(program), 0, 0) != 0:  # PR_SET_SECCOMP, SECCOMP_MODE_FILTER
        raise RuntimeError(f"the filter of system calls was refused ({os.strerror(ctypes.get_errno())})")


def main() -> None:
    """Move the streams away, close off, serve."""
    requests, answers = (fcntl.fcntl(stream, fcntl.F_DUPFD_CLOEXEC, _OUT_OF_THE_WAY) for stream in (0, 1))
    null = os.open("/dev/null", os.O_RDWR | os.O_CLOEXEC)
    os.dup2(null, 0)
    os.dup2(null, 1)
    os.close(null)
    restrict(os.uname().machine)
    supervisor.serve(requests, answers)
