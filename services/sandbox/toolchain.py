"""The sandbox's own interpreter and libraries: pinned, read-only, never the orchestrator's environment (RULE 36).

    python -m services.sandbox.toolchain build [--root DIR] [--lock FILE]

A prefix is a folder named after what it was made from: the lock of its libraries and the interpreter it copies. It
carries that interpreter, for a Python below a private home could not be reached by the unprivileged user a sandbox runs
as. Inside a sandbox it is always at `/opt/py`, whatever its place on the host.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import hashlib
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from services.sandbox import prefix
from simulator.errors import OfficeTownError, SandboxUnavailable, UsageError

_LAYOUT = "3"  # raised when the same inputs should give another prefix
_MARK = "toolchain.json"
_CHECKOUT = Path(__file__).resolve().parents[2]
BUILD_COMMAND = "python -m services.sandbox.toolchain build"


class Toolchain(msgspec.Struct, frozen=True):
    """A complete prefix: its folder on the host, its key, its Python (`3.11`), and how many files and bytes it has."""

    path: Path
    key: str
    python: str
    files: int
    bytes: int


def default_lock() -> Path | None:
    """The lock of the assistants' libraries, where this code runs from a checkout."""
    lock = _CHECKOUT / "requirements" / "assistant.lock"
    return lock if lock.is_file() else None


def default_root(home: Path | None = None) -> Path:
    """Where prefixes are kept: `.toolchain` of the checkout, else `toolchain` below `home` (OFFICETOWN_HOME)."""
    if default_lock() is not None or home is None:
        return _CHECKOUT / ".toolchain"
    return home / "toolchain"


def interpreter() -> Path:
    """The base interpreter that this process runs on, behind any virtual environment."""
    return Path(getattr(sys, "_base_executable", "") or sys.executable).resolve()


def key_of(lock: Path, python: Path) -> str:
    """Name the prefix that this lock and this interpreter make, in 16 hex digits.

    Raises SandboxUnavailable where this user may not read one of them: an environment that another user made.
    """
    digest = hashlib.sha256(_LAYOUT.encode())
    try:
        parts = (sys.version.encode(), python.read_bytes(), lock.read_bytes())
    except OSError as fault:
        raise SandboxUnavailable(
            f"{fault.filename} cannot be read by this user ({fault.strerror}). Make an environment of your own: run "
            "make install in a checkout that belongs to you."
        ) from fault
    for part in parts:
        digest.update(hashlib.sha256(part).digest())
    return digest.hexdigest()[:16]


def find(root: Path | None = None, lock: Path | None = None) -> Toolchain:
    """Return the complete prefix for the lock, or without any lock the newest one; cheap, nothing is built.

    Raises SandboxUnavailable, saying how to build it.
    """
    root = root or default_root()
    lock = lock or default_lock()
    keys = [key_of(lock, interpreter())] if lock else sorted(_names(root), key=lambda k: -(root / k).stat().st_mtime)
    for key in keys:
        with contextlib.suppress(OSError, msgspec.DecodeError):
            return at(root / key)
    raise SandboxUnavailable(
        f"The sandbox's interpreter and libraries are not built: nothing complete for this Python in {root}. "
        f"Build them once with: {BUILD_COMMAND} (make install does)."
    )


def build(
    root: Path | None = None, lock: Path | None = None, say: Callable[[str], None] = lambda _text: None
) -> Toolchain:
    """Build the prefix unless it is there already; return it. Safe to call from several processes at once."""
    root = root or default_root()
    lock = lock or default_lock()
    if lock is None:
        raise UsageError("No lock of the assistants' libraries was found: name it, as in requirements/assistant.lock")
    python = interpreter()
    key = key_of(lock, python)
    root.mkdir(parents=True, exist_ok=True)
    if not (root / ".gitignore").exists():
        (root / ".gitignore").write_text("*\n")
    with _only_builder(root):
        with contextlib.suppress(SandboxUnavailable):
            return find(root, lock)
        say(f"Building the sandbox's interpreter and libraries in {root / key}; this takes about a minute, once.")
        unfinished = root / f".unfinished-{key}"
        prefix.remove(unfinished)
        prefix.make(unfinished, python, lock)
        files, size = prefix.measure(unfinished)
        version = f"{sys.version_info[0]}.{sys.version_info[1]}"
        made = Toolchain(path=root / key, key=key, python=version, files=files, bytes=size)
        (unfinished / _MARK).write_bytes(msgspec.json.encode({"python": version, "files": files, "bytes": size}))
        prefix.remove(root / key)
        unfinished.rename(root / key)
        return made


def at(path: Path) -> Toolchain:
    """The complete prefix in this very folder. Raises OSError or msgspec.DecodeError where there is none."""
    mark = msgspec.json.decode((path / _MARK).read_bytes(), type=dict[str, str | int])
    return Toolchain(path, path.name, str(mark["python"]), int(mark["files"]), int(mark["bytes"]))


def _names(root: Path) -> list[str]:
    return [entry.name for entry in root.iterdir() if (entry / _MARK).is_file()] if root.is_dir() else []


@contextlib.contextmanager
def _only_builder(root: Path) -> Iterator[None]:
    handle = os.open(root / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return its exit code."""
    parser = argparse.ArgumentParser(prog="python -m services.sandbox.toolchain", description=__doc__.split("\n")[0])
    parser.add_argument("action", choices=["build", "check"])
    parser.add_argument("--root", type=Path, help="where prefixes are kept (default: .toolchain of the checkout)")
    parser.add_argument("--lock", type=Path, help="hash-pinned requirements (default: requirements/assistant.lock)")
    options = parser.parse_args(arguments)
    home = os.environ.get("OFFICETOWN_HOME")
    root = options.root or default_root(Path(home) if home else None)
    try:
        found = build(root, options.lock, print) if options.action == "build" else find(root, options.lock)
    except OfficeTownError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    print(f"Python {found.python} with its libraries: {found.path} ({found.files} files, {found.bytes >> 20} MiB)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
