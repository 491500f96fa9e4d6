"""A snapshot on disk: a Harbor task folder whose every file is named, with its hash, in `snapshot.json`."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from bench.moment import ROOTS
from bench.rubric import Rubric, read_rubric
from simulator.canonical import canonical, sha256
from simulator.errors import UsageError

FORMAT = "officetown-snapshot/1"
MANIFEST = "snapshot.json"
RUBRIC = "tests/rubric.json"
MOUNTS = "environment/mounts"
SOLUTION = "solution/files"


class Tampered(UsageError):
    """A snapshot is not what its manifest says."""


class Listed(msgspec.Struct, frozen=True):
    """A file of the folder: its path, hash, size and mode."""

    path: str
    sha256: str
    size: int
    mode: int


class Visible(msgspec.Struct, frozen=True):
    """A file as the agent sees it, and why it may: `ref` is `file@version`, empty for what was written for the round."""

    path: str
    sha256: str
    ref: str
    why: str


class Manifest(msgspec.Struct, frozen=True):
    """The evaluator's side of a snapshot. `at` is the simulated second the round began; `now` the same in words."""

    id: str
    office: str
    delegation: str
    round: int
    revision: int
    at: int
    now: str
    moment: str
    firm: str
    domain: str
    package: str
    principal: str
    principal_name: str
    title: str
    matter: str
    work: str
    period: str
    depth: int
    engine: str
    rules: int
    oracle_round: int
    models: dict[str, str]
    withheld: tuple[str, ...]
    visible: tuple[Visible, ...]
    files: tuple[Listed, ...]
    hash: str = ""
    format: str = FORMAT

    def sealed(self) -> Manifest:
        """Return the manifest with the hash of everything in it."""
        bare = msgspec.structs.replace(self, hash="")
        return msgspec.structs.replace(bare, hash=sha256(canonical(bare)))


class Snapshot(msgspec.Struct, frozen=True):
    """A snapshot that was opened: its folder and its manifest, both verified."""

    folder: Path
    manifest: Manifest

    @property
    def id(self) -> str:
        return self.manifest.id

    def read(self, path: str) -> bytes:
        """Return a file's bytes; a path that is not listed raises `Tampered`."""
        if not any(listed.path == path for listed in self.manifest.files):
            raise Tampered(f"{self.folder}: {path} is no file of this snapshot.")
        return (self.folder / path).read_bytes()

    def rubric(self) -> Rubric:
        """Return its rubric."""
        return read_rubric(self.read(RUBRIC))

    def tree(self, name: str) -> dict[str, tuple[bytes, int]]:
        """Return {relative path: (bytes, mode)} of a mount (`home company services task`) or of `solution`."""
        prefix = f"{SOLUTION}/" if name == "solution" else f"{MOUNTS}/{name}/"
        return {
            listed.path.removeprefix(prefix): ((self.folder / listed.path).read_bytes(), listed.mode)
            for listed in self.manifest.files
            if listed.path.startswith(prefix)
        }

    def visible(self) -> dict[str, bytes]:
        """Return every file the agent sees, by absolute path."""
        return {f"{root}/{path}": data for name, root in ROOTS.items() for path, (data, _) in self.tree(name).items()}


def write_snapshot(folder: Path, files: Mapping[str, tuple[bytes, int]], manifest: Manifest) -> Manifest:
    """Write a snapshot at once: under another name first, so that no half of one is ever found. Returns its manifest.

    `files` are all files but `snapshot.json`. An older snapshot there is replaced; anything else is left alone.

    Raises:
        UsageError: the folder holds something that is no snapshot.
    """
    if folder.exists() and not (folder / MANIFEST).is_file():
        raise UsageError(f"{folder} is there already and is no snapshot: name another folder with -o.")
    listed = tuple(Listed(path, sha256(data), len(data), mode) for path, (data, mode) in sorted(files.items()))
    sealed = msgspec.structs.replace(manifest, files=listed).sealed()
    unfinished = folder.with_name(f".{folder.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    for name in ROOTS:
        (unfinished / MOUNTS / name).mkdir(parents=True)
    for path, (data, mode) in files.items():
        place = unfinished / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
        place.chmod(mode)
    text = msgspec.json.format(msgspec.json.encode(sealed, order="sorted"), indent=1)
    (unfinished / MANIFEST).write_bytes(text + b"\n")
    if folder.exists():
        shutil.rmtree(folder)
    unfinished.rename(folder)
    return sealed


def open_snapshot(folder: Path, *, verify: bool = True) -> Snapshot:
    """Open a snapshot. With `verify`, everything in the folder must be as its manifest says.

    Raises:
        UsageError: it is no snapshot.
        Tampered: a file was changed, added or removed; says which.
    """
    try:
        manifest = msgspec.json.decode((folder / MANIFEST).read_bytes(), type=Manifest)
    except FileNotFoundError:
        raise UsageError(f"{folder} is no snapshot: it has no {MANIFEST}.") from None
    except (OSError, msgspec.MsgspecError) as fault:
        raise Tampered(f"{folder}/{MANIFEST} cannot be read: {fault}. Freeze it again.") from None
    if manifest.format != FORMAT:
        raise UsageError(f"{folder} is a snapshot of the form {manifest.format}, not {FORMAT}: freeze it again.")
    snapshot = Snapshot(folder, manifest)
    faults = list(faults_of(snapshot)) if verify else []
    if faults:
        more = f" and {len(faults) - 1} more" if len(faults) > 1 else ""
        raise Tampered(f"{folder} was tampered with: {faults[0]}{more}. Freeze it again; its scores would mean nothing.")
    return snapshot


def faults_of(snapshot: Snapshot) -> Iterator[str]:
    """Yield everything in which a snapshot's folder differs from its manifest."""
    manifest = snapshot.manifest
    if manifest.sealed().hash != manifest.hash:
        yield f"{MANIFEST} does not match its own hash"
    expected = {listed.path: listed for listed in manifest.files}
    found = set(_walk(snapshot.folder)) - {MANIFEST}
    for path in sorted(found - set(expected)):
        yield f"{path} was added"
    for path, listed in expected.items():
        place = snapshot.folder / path
        if path not in found:
            yield f"{path} is gone"
        elif place.is_symlink() or not stat.S_ISREG(place.lstat().st_mode):
            yield f"{path} is no plain file any more"
        elif sha256(place.read_bytes()) != listed.sha256:
            yield f"{path} was changed"
    shown = {v.path: v.sha256 for v in manifest.visible}
    mounted = {
        f"{root}/{path.removeprefix(f'{MOUNTS}/{name}/')}": listed.sha256
        for name, root in ROOTS.items()
        for path, listed in expected.items()
        if path.startswith(f"{MOUNTS}/{name}/")
    }
    if shown != mounted:
        yield "its mounts are not the files that it gives reasons for"


def _walk(folder: Path) -> Iterator[str]:
    for where, _, names in os.walk(folder, followlinks=False):
        for name in names:
            yield (Path(where) / name).relative_to(folder).as_posix()
        for name in [d for d in _ if (Path(where) / d).is_symlink()]:
            yield (Path(where) / name).relative_to(folder).as_posix()


def find_snapshots(places: Iterable[Path]) -> list[Path]:
    """Return the snapshot folders at or directly below each place, in order. Raises `UsageError` where there is none."""
    found: list[Path] = []
    for place in places:
        if (place / MANIFEST).is_file():
            found.append(place)
            continue
        below = sorted(p.parent for p in place.glob(f"*/{MANIFEST}") if not p.parent.name.startswith("."))
        if not below:
            raise UsageError(f"{place}: there is no snapshot here. Make some with: officetown freeze OFFICE -o {place}")
        found += below
    return list(dict.fromkeys(found))
