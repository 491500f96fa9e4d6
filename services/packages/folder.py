"""Package folders: read as hostile, written whole, sealed.

Reading follows no link, opens nothing but regular files and bounds what it takes. A manifest says what the folder held
when it was sealed; anything else in it is a fault until `seal` accepts it.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path

from services.packages.occupations import OccupationIndex
from services.storage.wholefiles import write_whole
from simulator.canonical import sha256
from simulator.errors import PackageError, StorageError, UsageError
from simulator.package import FORMAT, MANIFEST, ORGANIZATION, Fault, Package
from simulator.package_checks import check_files
from simulator.package_findings import FILE_BYTES, PACKAGE_BYTES, PACKAGE_FILES
from simulator.package_systems import SystemReader

IGNORED_FOLDERS = frozenset({"__pycache__"})
IGNORED_FILES = frozenset({".DS_Store"})
"""What running a pack's script or looking at a folder leaves behind: never part of a package."""
_MAX_DEPTH = 12


def read_package(
    path: Path, codes: Collection[str] | None = None, systems: SystemReader | None = None
) -> Package:
    """Read, check and return the package in the folder `path`.

    `codes` are the O*NET-SOC codes that exist (None: those of the shipped index); `systems` reads the environments of
    its systems of record, as in all of this module.

    Raises:
        UsageError: there is no such folder, or it is no package.
        PackageError: it does not hold together; carries every fault with file and line.
    """
    package, faults = check_folder(path, codes, systems=systems)
    if package is None or faults:
        raise _refused(path, faults)
    return package


def check_folder(
    path: Path, codes: Collection[str] | None = None, sealed: bool = True, systems: SystemReader | None = None
) -> tuple[Package | None, list[Fault]]:
    """Return the package in a folder and every fault in it. `sealed` False leaves the manifest out of consideration."""
    files, faults = read_folder(path)
    manifest = files.pop(MANIFEST, None)
    package, found = check_files(files, OccupationIndex.load().codes if codes is None else codes, systems)
    faults.extend(found)
    if sealed:
        faults.extend(_manifest_faults(manifest, files))
    return package, sorted(set(faults))


def write_package(package: Package, path: Path) -> None:
    """Write a package to the folder `path`, manifest included. The folder appears whole or not at all.

    Raises:
        UsageError: something other than an empty folder is already there.
        StorageError: the disk refused.
    """
    target = path.resolve()
    if os.path.lexists(target) and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(f"{path} already exists and is not an empty folder. Choose another name, or remove it first.")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
        try:
            for name, data in sorted(package.files.items()):
                _write(scratch / name, data)
            _write(scratch / MANIFEST, manifest_bytes(package.manifest))
            scratch.chmod(0o755)
            if target.is_dir():
                target.rmdir()
            scratch.rename(target)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    except OSError as fault:
        raise StorageError(
            f"The package could not be written to {path}: {fault.strerror}. Free space there or choose another folder."
        ) from fault


def seal(path: Path, codes: Collection[str] | None = None, systems: SystemReader | None = None) -> Package:
    """Accept the folder as it stands: check everything but the manifest, then rewrite the manifest.

    Raises:
        UsageError, PackageError: as `read_package`; nothing is written then.
        StorageError: the disk refused.
    """
    package, faults = check_folder(path, codes, sealed=False, systems=systems)
    if package is None or faults:
        raise _refused(path, faults)
    try:
        write_whole(path / MANIFEST, manifest_bytes(package.manifest), mode=0o644)
    except OSError as fault:
        raise StorageError(f"The manifest could not be written in {path}: {fault.strerror}.") from fault
    return package


def manifest_bytes(manifest: Mapping[str, str]) -> bytes:
    """Return the text of manifest.json: one line a file, so that a change reads well in a diff."""
    return (json.dumps({"format": FORMAT, "files": dict(manifest)}, indent=2, ensure_ascii=False) + "\n").encode()


def _refused(path: Path, faults: list[Fault]) -> PackageError:
    count = "1 fault" if len(faults) == 1 else f"{len(faults)} faults"
    return PackageError(
        f"The package {path} does not hold together ({count}). Correct what is listed, then run "
        "`officetown check` on it; `--seal` accepts edits you made on purpose.",
        tuple(str(fault) for fault in faults),
    )


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    path.chmod(0o755 if data.startswith(b"#!") else 0o644)


# -- the manifest -----------------------------------------------------------------------------------------------------


def _manifest_faults(data: bytes | None, files: Mapping[str, bytes]) -> list[Fault]:
    if data is None:
        return [
            Fault(
                MANIFEST, 0, "The manifest is missing. Run `officetown check --seal` if the folder is as you want it."
            )
        ]
    try:
        manifest = json.loads(data)
        listed = manifest["files"]
        readable = manifest["format"] == FORMAT and all(isinstance(listed[name], str) for name in listed)
    except (ValueError, KeyError, TypeError, RecursionError):
        readable, listed = False, {}
    if not readable:
        return [Fault(MANIFEST, 1, f"The manifest is not one of format {FORMAT}. Run `officetown check --seal`.")]
    lines = {
        line.split('"')[1]: n
        for n, line in enumerate(data.decode("utf-8", "replace").splitlines(), 1)
        if line.count('"') == 4
    }
    faults = []
    for name in sorted(set(listed) | set(files)):
        if name not in files:
            faults.append(
                Fault(MANIFEST, lines.get(name, 0), f"The file `{name}` is in the manifest but not in the folder.")
            )
        elif name not in listed:
            faults.append(
                Fault(_shown(name), 0, "The file is not in the manifest. Remove it, or accept it with `--seal`.")
            )
        elif sha256(files[name]) != listed[name]:
            faults.append(Fault(name, 0, "The file was changed since the package was sealed: its hash differs."))
    return faults


# -- reading a folder as hostile --------------------------------------------------------------------------------------


def read_folder(root: Path, limit: int = PACKAGE_BYTES) -> tuple[dict[str, bytes], list[Fault]]:
    """Return the regular files below `root` by relative path, and a fault for everything that was not taken.

    Raises:
        UsageError: `root` is no folder that can be read.
    """
    if not root.is_dir():
        raise UsageError(f"{root} is not a folder. Name the folder that holds {ORGANIZATION}.")
    files: dict[str, bytes] = {}
    faults: list[Fault] = []
    total = 0
    unreadable: list[OSError] = []
    for folder, folders, names, descriptor in os.fwalk(root, onerror=unreadable.append, follow_symlinks=False):
        inside = Path(folder).relative_to(root)
        _prune(inside, folders, descriptor, faults)
        for name in sorted(names):
            shown = _shown((inside / name).as_posix())
            if name in IGNORED_FILES or name.endswith(".pyc"):
                continue
            if len(files) >= PACKAGE_FILES or total > limit:
                faults.append(Fault(shown, 0, f"The folder holds more than {PACKAGE_FILES} files or {limit} bytes."))
                return files, faults
            if "\N{REPLACEMENT CHARACTER}" in shown:
                faults.append(Fault(shown, 0, "The name holds bytes that are no text. Rename the file."))
                continue
            data = _read(name, descriptor, shown, faults)
            if data is not None:
                files[(inside / name).as_posix()] = data
                total += len(data)
    for fault in unreadable:
        faults.append(Fault(_shown(str(fault.filename)), 0, f"The folder cannot be read: {fault.strerror}."))
    return files, faults


def _prune(inside: Path, folders: list[str], descriptor: int, faults: list[Fault]) -> None:
    """Leave out of the walk what is ignored, a link, or too deep."""
    for name in sorted(folders):
        if name in IGNORED_FOLDERS:
            folders.remove(name)
        elif stat.S_ISLNK(os.stat(name, dir_fd=descriptor, follow_symlinks=False).st_mode):
            folders.remove(name)
            faults.append(
                Fault(_shown((inside / name).as_posix()), 0, "This is a link. A package holds files, not links.")
            )
        elif len(inside.parts) >= _MAX_DEPTH:
            folders.remove(name)
            faults.append(Fault(_shown((inside / name).as_posix()), 0, f"The folder is more than {_MAX_DEPTH} deep."))
    folders.sort()


def _read(name: str, descriptor: int, shown: str, faults: list[Fault]) -> bytes | None:
    """Read one regular file. The opened file is what is judged, so nothing can be swapped in between."""
    try:
        # O_NONBLOCK: opening a FIFO that nobody writes to must not hang.
        handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=descriptor)
    except OSError as fault:
        link = stat.S_ISLNK(os.stat(name, dir_fd=descriptor, follow_symlinks=False).st_mode)
        text = "This is a link. A package holds files, not links." if link else f"It cannot be read: {fault.strerror}."
        faults.append(Fault(shown, 0, text))
        return None
    with os.fdopen(handle, "rb") as stream:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            faults.append(Fault(shown, 0, "This is no regular file (a pipe, a socket or a device). Remove it."))
            return None
        if status.st_size > FILE_BYTES:
            faults.append(Fault(shown, 0, f"The file has {status.st_size} bytes; {FILE_BYTES} are allowed."))
            return None
        return stream.read(FILE_BYTES)


def _shown(path: str) -> str:
    """A path as it can be printed: bytes that are no text become the replacement character."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
