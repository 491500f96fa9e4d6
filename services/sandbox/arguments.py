"""The command line of bubblewrap: what a sandbox sees, and what it may not do (RULES 30, 31, 34)."""

from __future__ import annotations

from pathlib import Path

from services.sandbox import prefix
from services.sandbox.layout import PROGRAM
from services.sandbox.limits import Limits
from services.sandbox.trees import Bound

START = "import sys; sys.path.insert(0, '/opt/office'); from services.sandbox.supervisor import main; main()"
_SYSTEM_FOLDERS = ("/bin", "/sbin", "/lib", "/lib64", "/lib32")
FENCE = (
    "--unshare-all", "--unshare-user", "--disable-userns", "--cap-drop", "ALL", "--new-session", "--die-with-parent",
    "--as-pid-1", "--uid", "1000", "--gid", "1000", "--hostname", "computer",
)  # fmt: skip


def system(root: Path = Path("/")) -> list[str]:
    """The host's programs, read-only. Where /bin and /lib are links into /usr they are the same links inside."""
    options = ["--ro-bind", "/usr", "/usr"]
    for name in _SYSTEM_FOLDERS:
        folder = root / name.lstrip("/")
        if folder.is_symlink():
            options += ["--symlink", str(folder.readlink()), name]
        elif folder.is_dir():
            options += ["--ro-bind", name, name]
    # What an administrator put there is this machine's own, and no two machines have the same.
    hidden = ("/usr/local", "/usr/src") if root == Path("/") else ()
    for name in hidden:
        if Path(name).is_dir():
            options += ["--size", "4096", "--tmpfs", name, "--remount-ro", name]
    return options


def arguments(
    *, toolchain: Path, program: Path, etc: Path, home: Path, bound: Bound, limits: Limits, channel: int, seccomp: int
) -> list[str]:
    """Everything after `bwrap`, in order: later mounts lie over earlier ones, and the root closes last.

    `toolchain`, `program` (the supervisor), `etc`, `home` (what lies above it) and the sources of `bound` are paths on the host; `channel` and
    `seccomp` are descriptors that bubblewrap inherits.
    """
    scratch = str(limits.scratch_bytes)
    writable = (
        (scratch, "/tmp"),  # noqa: S108  # inside the sandbox, where nobody else is
        (str(max(1 << 20, 4 * limits.state)), "/run"),
        (str(limits.home_bytes), "/home/npc/computer"),
    )
    options = [*FENCE, *system()]
    options += ["--dir", "/opt", "--dir", "/sys", "--ro-bind", str(etc), "/etc", "--ro-bind", str(home), "/home"]
    options += ["--ro-bind", str(toolchain), prefix.INSIDE, "--ro-bind", str(program), PROGRAM]
    options += ["--proc", "/proc", "--dev", "/dev"]
    options += ["--size", scratch, "--tmpfs", "/dev/shm", "--remount-ro", "/dev"]  # noqa: S108
    for size, place in writable:
        options += ["--size", size, "--tmpfs", place]
    for source, target in bound:
        options += ["--ro-bind", source, target]
    options += ["--remount-ro", "/", "--chdir", "/"]
    if seccomp >= 0:
        options += ["--seccomp", str(seccomp)]
    python = f"{prefix.INSIDE}/bin/python3"
    return [*options, "--", python, "-I", "-S", "-X", "utf8", "-c", START, str(channel)]
