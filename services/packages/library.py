"""The shelf of skill packs that packages are given copies of: `fixtures/skills`."""

from __future__ import annotations

import importlib.resources
from functools import lru_cache
from importlib.resources.abc import Traversable

WORK_KINDS: dict[str, str] = {
    "bank-reconciliation": "finance",
    "variance-analysis": "finance",
    "management-pack": "finance",
    "contract-review": "legal",
    "trial-monitoring": "clinical",
    "inspection-control": "quality",
    "release-triage": "software",
    "bill-of-materials": "design",
    "records-digest": "general",
}
"""Work kind -> domain, as in docs/decisions/0002-work-kinds.md."""


@lru_cache(maxsize=1)
def shelf() -> dict[str, dict[str, bytes]]:
    """Return every finished pack: name -> {path in the pack: bytes}."""
    root = importlib.resources.files("fixtures").joinpath("skills")
    packs = {}
    for folder in sorted(root.iterdir(), key=lambda entry: entry.name):
        if folder.is_dir() and folder.joinpath("SKILL.md").is_file():
            packs[folder.name] = dict(_files(folder, ""))
    return packs


def general_packs() -> tuple[str, ...]:
    """Return the packs that are no kind of recurring work: everybody may have them."""
    return tuple(name for name in shelf() if name not in WORK_KINDS)


def _files(folder: Traversable, prefix: str) -> list[tuple[str, bytes]]:
    found = []
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.name.startswith(".") or entry.name == "__pycache__" or entry.name.endswith(".pyc"):
            continue
        path = f"{prefix}{entry.name}"
        if entry.is_dir():
            found.extend(_files(entry, f"{path}/"))
        else:
            found.append((path, entry.read_bytes()))
    return found
