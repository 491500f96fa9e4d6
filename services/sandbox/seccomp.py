"""A filter of system calls that no office work needs, as the kernel's own small programs (RULES 30, 34).

Anonymous memory files, System V segments and io_uring are refused because their memory belongs to no process, so no
watcher can count it; the rest because it serves to look into other processes or to change mounts, and is refused here
once more than it would be anyway. A process may change its own limits and no other's: the supervisor has the commands'
user, and with its processor time or its descriptors taken away it would die. Numbers: the kernel's tables for x86-64 and
for the generic 64-bit set.
"""

from __future__ import annotations

import errno
import struct

_SHARED = (
    425, 426, 427,  # io_uring_setup, _enter, _register
    428, 429, 430, 431, 432, 433, 442,  # open_tree, move_mount, fsopen, fsconfig, fsmount, fspick, mount_setattr
    438, 447,  # pidfd_getfd, memfd_secret
)  # fmt: skip
_MACHINES: dict[str, tuple[int, tuple[int, ...]]] = {
    "x86_64": (0xC000003E, (
        319, 29, 30, 31, 64, 68, 240,  # memfd_create, shmget, shmat, shmctl, semget, msgget, mq_open
        248, 249, 250, 321, 298, 323,  # add_key, request_key, keyctl, bpf, perf_event_open, userfaultfd
        101, 310, 311,  # ptrace, process_vm_readv, process_vm_writev
        165, 166, 155, 308, 272,  # mount, umount2, pivot_root, setns, unshare
        246, 320, 175, 313, 176,  # kexec_load, kexec_file_load, init_module, finit_module, delete_module
        163, 167, 168, 169, 103, 303, 304,  # acct, swapon, swapoff, reboot, syslog, name_to_, open_by_handle_at
    )),
    "aarch64": (0xC00000B7, (
        279, 194, 196, 195, 190, 186, 180, 217, 218, 219, 280, 241, 282, 117, 270, 271, 40, 39, 41, 268, 97,
        104, 294, 105, 273, 106, 89, 224, 225, 142, 116, 264, 265,
    )),
}  # fmt: skip
_LIMITS_OF = {"x86_64": 302, "aarch64": 261}  # prlimit64, whose first argument is a process, 0 for one's own
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000


def refused(machine: str) -> tuple[int, ...]:
    """The numbers refused on a machine of this kind (`os.uname().machine`); empty where none are known."""
    return (*_MACHINES[machine][1], *_SHARED) if machine in _MACHINES else ()


def program(machine: str) -> bytes:
    """The filter for bubblewrap's `--seccomp`, or nothing for a kind of machine whose numbers are not known.

    Refused calls fail with EPERM; calls of another kind of machine (32-bit ones) with ENOSYS.
    """
    numbers = refused(machine)
    if not numbers:
        return b""
    steps = [
        (_LOAD, 0, 0, 4),  # the kind of machine of this call
        (_EQUAL, 1, 0, _MACHINES[machine][0]),
        (_RETURN, 0, 0, _ERRNO | errno.ENOSYS),
        (_LOAD, 0, 0, 0),  # its number
        (_AT_LEAST, 0, 1, 0x40000000),
        (_RETURN, 0, 0, _ERRNO | errno.ENOSYS),
    ]
    for at, number in enumerate(numbers):
        steps.append((_EQUAL, len(numbers) - at + 3, 0, number))
    steps += [(_EQUAL, 0, 2, _LIMITS_OF[machine]), (_LOAD, 0, 0, 16), (_EQUAL, 0, 1, 0)]
    steps += [(_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _ERRNO | errno.EPERM)]
    return b"".join(struct.pack("=HBBI", *step) for step in steps)
