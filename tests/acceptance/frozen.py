"""What a frozen task shows, read from its folder and from the office by other means than those that froze it."""

from __future__ import annotations

import json
import os
import subprocess
from hashlib import sha256
from pathlib import Path
from typing import Any

from services.sandbox.toolchain import find
from simulator.access import Subject
from simulator.engine.segment import decode_tree
from simulator.office import Office
from simulator.ports import BlobStore
from simulator.records import Delegation, File
from simulator.view import View, view_reference

HOME, COMPANY = "/home/npc/computer/", "/mnt/company/"
KEPT = 200
Tree = dict[str, str]
"""Relative path -> SHA-256 of the bytes there."""


def manifest(folder: Path) -> dict[str, Any]:
    """Read `snapshot.json` as anybody would."""
    value: dict[str, Any] = json.loads((folder / "snapshot.json").read_bytes())
    return value


def on_disk(folder: Path, mount: str) -> Tree:
    """Return what lies in one of a snapshot's mounts."""
    root = folder / "environment" / "mounts" / mount
    return {str(p.relative_to(root)): sha256(p.read_bytes()).hexdigest() for p in root.rglob("*") if p.is_file()}


def shown_to(office: Office, delegation: Delegation) -> View:
    """The principal's view, confined to the matter, by plain loops over everything."""
    return view_reference(office, Subject(delegation.principal, delegation.matter))


def company_of(office: Office, delegation: Delegation) -> Tree:
    """Return what the principal could see outside its home: the newest readable version, or exactly the one delegated."""
    pinned: dict[str, int] = {}
    for ref in delegation.inputs:
        pinned.setdefault(ref.file, ref.version)
    seen = shown_to(office, delegation)
    found = {}
    for file in seen.files():
        if file.path.startswith(COMPANY):
            number = pinned.get(file.ref.file, file.ref.version)
            number = number if number in file.versions else file.ref.version
            found[file.path.removeprefix(COMPANY)] = _bytes(office.files[file.ref.file], number)
    for name in office.people[delegation.principal].skills:
        for path, blob, _ in office.skills[name].files:
            found[f"Resources/Skills/{name}/{path}"] = blob.sha256
    return found


def home_of(office: Office, delegation: Delegation, blobs: BlobStore) -> Tree:
    """Return the home as the round found it: the principal's own files, or what the round before had left."""
    left = [done.home for done in delegation.rounds[:-1] if done.home is not None]
    if left:
        return {entry.path: entry.blob.sha256 for entry in decode_tree(blobs.get(left[-1].sha256))}
    return {
        file.path.removeprefix(HOME): file.blob.sha256
        for file in shown_to(office, delegation).files()
        if file.path.startswith(HOME) and file.ref.version == len(office.files[file.ref.file].versions)
    }


def services_of(office: Office, delegation: Delegation) -> dict[str, list[str]]:
    """Return the ids of talk, mail, meetings, notices and calendar that the principal could see, per file."""
    seen = shown_to(office, delegation)
    talk = sorted((m.at, m.id) for room in seen.rooms() for m in seen.messages(room.id))
    return {
        "chat.json": [each for _, each in talk[-KEPT:]],
        "mail.json": [m.id for m in seen.mails()][-KEPT:],
        "meetings.json": [m.id for m in seen.meetings()][-KEPT:],
        "notices.json": [n.id for n in seen.notices()][-KEPT:],
        "calendar.json": [e.id for e in seen.calendar()][-KEPT:],
        "git.json": [],
    }


def services_on_disk(folder: Path) -> dict[str, list[str]]:
    """Return the ids that the snapshot's services hold, per file."""
    root = folder / "environment" / "mounts" / "services"
    return {p.name: [row["id"] for row in json.loads(p.read_bytes())["records"]] for p in sorted(root.iterdir())}


def _bytes(file: File, number: int) -> str:
    return file.versions[number - 1].blob.sha256


def solved(folder: Path, home: Path) -> None:
    """Lay the snapshot's home out as an agent finds it, then run `solution/solve.sh` by hand."""
    laid_out(folder, home)
    environment = {"PATH": os.environ["PATH"], "SOLUTION_HOME": str(home)}
    subprocess.run(["bash", str(folder / "solution" / "solve.sh")], env=environment, check=True)


def laid_out(folder: Path, home: Path) -> None:
    """Copy the snapshot's home."""
    subprocess.run(["cp", "-R", f"{folder / 'environment' / 'mounts' / 'home'}/.", str(home)], check=True)


def graded_by_hand(folder: Path, home: Path, logs: Path) -> dict[str, Any]:
    """Run `tests/test.sh` as Harbor or a person would; return its `reward.json`."""
    environment = {
        "PATH": os.environ["PATH"], "GRADER_HOME": str(home), "GRADER_LOGS": str(logs),
        "GRADER_PYTHON": str(find().path / "bin" / "python3"),
    }  # fmt: skip
    done = subprocess.run(
        ["bash", str(folder / "tests" / "test.sh")], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    value: dict[str, Any] = json.loads((logs / "reward.json").read_bytes())
    return value
