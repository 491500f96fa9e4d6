"""What every sandbox has besides its toolchain, whichever provider starts it: its /etc and its supervisor.

    python -m services.sandbox.layout LOCK FOLDER

is how the image of the container provider is made, inside its build: the toolchain goes to /opt/py, the supervisor to
/opt/office, and /etc and /home into the folder named. Only the standard library is there then.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from services.sandbox import prefix, supervisor

PROGRAM = "/opt/office"  # where the supervisor lies inside
_MODULES = ("supervisor.py", "hometree.py", "frames.py", "contained.py", "seccomp.py")
_STAMP = 315532800
_USERS = (
    "root:x:0:0::/nonexistent:/bin/false\n"
    "npc:x:1000:1000::/home/npc/computer:/bin/bash\n"
    "nobody:x:65534:65534::/nonexistent:/bin/false\n"
)
_GROUPS = "root:x:0:\nnpc:x:1000:\nnogroup:x:65534:\n"
_NSSWITCH = "passwd: files\ngroup: files\nhosts: files\n"


def etc(folder: Path) -> Path:
    """Make the /etc of every sandbox: who lives there, and where this system keeps its libraries."""
    folder.mkdir(mode=0o755)
    for name, text in (("passwd", _USERS), ("group", _GROUPS), ("nsswitch.conf", _NSSWITCH)):
        (folder / name).write_text(text)
    with contextlib.suppress(FileNotFoundError):  # musl has none
        shutil.copyfile("/etc/ld.so.cache", folder / "ld.so.cache")
    with contextlib.suppress(FileNotFoundError):  # Debian's awk and others are links through it
        shutil.copytree("/etc/alternatives", folder / "alternatives", symlinks=True)
    settle(folder)
    return folder


def home(folder: Path) -> Path:
    """Make what lies above the assistant's home, which `ls -la` shows: of no particular date either."""
    (folder / "npc" / "computer").mkdir(parents=True)
    settle(folder)
    return folder


def program(folder: Path, tools: Path) -> Path:
    """Lay down the supervisor and what it imports, as packages of the same names, compiled by the toolchain `tools`."""
    package = folder / "services" / "sandbox"
    package.mkdir(parents=True)
    for name in ("services", "services/sandbox"):
        (folder / name / "__init__.py").write_text("")
    from_here = Path(supervisor.__file__).parent
    for name in _MODULES:
        shutil.copyfile(from_here / name, package / name)
    compile_all = [str(tools / "bin" / "python3"), "-I", "-S", "-m", "compileall", "-q", "--invalidation-mode",
                   "unchecked-hash", "-s", str(folder), str(folder)]  # fmt: skip
    # A failure costs a few milliseconds at each start, and whatever causes it the first start will tell.
    subprocess.run(compile_all, env={"LD_LIBRARY_PATH": str(tools / "lib")}, capture_output=True, check=False)
    settle(folder)
    return folder


def settle(folder: Path) -> None:
    """Make a small tree readable by all, writable by none, and of no particular date."""
    for entry in [folder, *(Path(found.path) for found in prefix.walk(folder))]:
        if not entry.is_symlink():
            entry.chmod(0o755 if entry.is_dir() else 0o444)
        os.utime(entry, (_STAMP, _STAMP), follow_symlinks=False)


def main() -> None:
    """Make the parts of an image: see above."""
    lock, folder = map(Path, sys.argv[1:3])
    tools = Path(prefix.INSIDE)
    python = Path(getattr(sys, "_base_executable", "") or sys.executable).resolve()
    prefix.make(tools, python, lock)
    program(Path(PROGRAM), tools)
    folder.mkdir()
    etc(folder / "etc")
    home(folder / "home")


if __name__ == "__main__":
    main()
