"""What a sandbox may use (RULE 34)."""

from __future__ import annotations

import msgspec

_MIB = 1 << 20


class Limits(msgspec.Struct, frozen=True):
    """Bounds of one sandbox, in bytes unless named otherwise.

    `processes` and `memory` bound all of its processes together, `address_space` and `open_files` (descriptors) each of
    them; `tasks` is the kernel's own bound on processes and threads, 0 where it would count the user's other work too.
    `home_bytes` and `home_files` bound the home, `scratch_bytes` /tmp and /dev/shm each. `output` bounds what is kept
    of stdout and of stderr each, `state` the exported variables that carry over. `start_s` and `grace_s` are how many
    seconds a sandbox has to start, and to answer beyond a command's own time, before it is taken for dead. `cores` is how
    many processors' time all of it may use, where the provider can bound that.
    """

    processes: int = 128
    tasks: int = 256
    memory: int = 1024 * _MIB
    address_space: int = 3072 * _MIB
    file_size: int = 128 * _MIB
    home_bytes: int = 512 * _MIB
    home_files: int = 20_000
    scratch_bytes: int = 128 * _MIB
    open_files: int = 512
    output: int = 100_000
    state: int = 65_536
    start_s: int = 30
    grace_s: int = 20
    cores: int = 2
