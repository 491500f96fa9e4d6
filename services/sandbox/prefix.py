"""How a toolchain prefix is made: copy the interpreter, install the locked libraries, compile, make read-only."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from simulator.errors import SandboxUnavailable

INSIDE = "/opt/py"  # where every sandbox sees its prefix
_STAMP = 315532800  # 1980-01-01, the oldest time a zip entry can hold: no file tells when the prefix was built
_LEFT_OUT = (
    "__pycache__", "test", "tests", "idlelib", "idle_test", "tkinter", "turtledemo", "turtle.py", "lib2to3",
    "ensurepip", "site-packages", "dist-packages", "config-*", "*.a", "_test*.so", "_ctypes_test*", "_tkinter*",
    "EXTERNALLY-MANAGED",
)  # fmt: skip
_SYSTEM = ("/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/", "/usr/lib32/", "/lib32/")
_PROOF = "import ctypes, hashlib, sqlite3, ssl, zlib, bz2, lzma"


def make(target: Path, python: Path, lock: Path) -> None:
    """Make the prefix in `target`, which must not exist. Raises SandboxUnavailable with what failed."""
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    library = target / sys.platlibdir / version
    (target / "bin").mkdir(parents=True)
    program = target / "bin" / version
    shutil.copyfile(python, program)
    program.chmod(0o755)
    for alias in ("python", "python3"):
        (target / "bin" / alias).symlink_to(version)
    shutil.copytree(sysconfig.get_path("stdlib"), library, ignore=shutil.ignore_patterns(*_LEFT_OUT), symlinks=False)
    _copy_shared(target, [python, *sorted(library.glob("lib-dynload/*.so"))])
    _retarget(target, library, program)
    _install(target, library, lock)
    _run([sys.executable, "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash", "-s", str(target),
          "-p", INSIDE, str(library)], "compiling")  # fmt: skip
    _run([str(program), "-I", "-c", _PROOF], "trying out", {"LD_LIBRARY_PATH": str(target / "lib")})
    _seal(target)


def measure(path: Path) -> tuple[int, int]:
    """Count a tree's files and their bytes, without following links."""
    files = size = 0
    for entry in walk(path):
        if not entry.is_dir(follow_symlinks=False):
            files += 1
            size += entry.stat(follow_symlinks=False).st_size
    return files, size


def walk(path: Path) -> Iterator[os.DirEntry[str]]:
    """Yield everything below `path`, folders before what is in them, without following links."""
    with os.scandir(path) as entries:
        for entry in entries:
            yield entry
            if entry.is_dir(follow_symlinks=False):
                yield from walk(Path(entry.path))


def remove(path: Path) -> None:
    """Remove a tree whose folders may be read-only; nothing happens if it is not there."""
    if path.is_symlink() or not path.exists():
        return
    path.chmod(0o700)
    for entry in walk(path):
        if entry.is_dir(follow_symlinks=False):
            Path(entry.path).chmod(0o700)
    shutil.rmtree(path)


def _copy_shared(target: Path, programs: list[Path]) -> None:
    """Copy the shared libraries that the system folders, which every sandbox sees, do not hold."""
    (target / "lib").mkdir(exist_ok=True)
    listing = _run(["ldd", *map(str, programs)], "listing the shared libraries of")
    for found in sorted(set(re.findall(r"=> (/\S+)", listing))):
        if not found.startswith(_SYSTEM):
            shutil.copyfile(found, target / "lib" / Path(found).name)


def _retarget(target: Path, library: Path, program: Path) -> None:
    """Replace the interpreter's own prefix by the one inside, so that it finds its libraries and names no host path.

    The replacement is no longer and is filled up with NUL, so that every offset in the file stays. `/usr` is the same
    on both sides.
    """
    old = sys.base_prefix.encode()
    if old == b"/usr":
        return
    if len(old) < len(INSIDE):
        raise SandboxUnavailable(f"Python's own prefix {sys.base_prefix} is too short to replace; use another Python.")
    pattern = re.compile(re.escape(old) + rb"(?=[/\0])([^\0]*)\0")

    def shorter(match: re.Match[bytes]) -> bytes:
        return (INSIDE.encode() + match[1]).ljust(len(match[0]) - 1, b"\0") + b"\0"

    for file in (program, *(target / "lib").glob("*.so*"), *library.glob("lib-dynload/*.so")):
        data = file.read_bytes()
        if old in data:
            file.write_bytes(pattern.sub(shorter, data))
    for file in library.glob("_sysconfigdata*.py"):
        file.write_bytes(file.read_bytes().replace(old, INSIDE.encode()))


def _install(target: Path, library: Path, lock: Path) -> None:
    packages = library / "site-packages"
    _run([sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile",
          "--require-hashes", "--target", str(packages), "-r", str(lock)], "installing the libraries of")  # fmt: skip
    shutil.rmtree(packages / "bin", ignore_errors=True)
    for name in ("numpy", "scipy"):
        for tests in sorted((packages / name).rglob("tests")):
            shutil.rmtree(tests, ignore_errors=True)
    # Debian's Python looks here instead of in site-packages.
    debian = target / "lib" / "python3"
    debian.mkdir(parents=True, exist_ok=True)
    (debian / "dist-packages").symlink_to(os.path.relpath(packages, debian))


def _seal(target: Path) -> None:
    for entry in walk(target):
        if entry.is_symlink():
            os.utime(entry.path, (_STAMP, _STAMP), follow_symlinks=False)
            continue
        mode = entry.stat(follow_symlinks=False).st_mode
        Path(entry.path).chmod(0o755 if entry.is_dir() else 0o555 if mode & 0o100 else 0o444)
        os.utime(entry.path, (_STAMP, _STAMP))
    target.chmod(0o755)


def _run(command: list[str], doing: str, extra: dict[str, str] | None = None) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **(extra or {})})
    if done.returncode:
        said = (done.stderr or done.stdout).strip()[-2000:]
        raise SandboxUnavailable(
            f"The sandbox's toolchain could not be built: {doing} {command[-1]} failed with exit code "
            f"{done.returncode}.\n{said}"
        )
    return done.stdout
