"""A copy of the Juniper package with systems of record in it. The original is left as it is."""

from __future__ import annotations

import shutil
from pathlib import Path

from bench.worlds.api import built_in

JUNIPER = Path(__file__).resolve().parents[2] / "fixtures" / "juniper"


def copy_of_juniper(folder: Path, **systems: tuple[str, str]) -> Path:
    """Copy the package; each of `systems` is (built-in environment, text of access.yaml), by id."""
    target = folder / "juniper"
    shutil.copytree(JUNIPER, target, ignore=shutil.ignore_patterns("__pycache__"))
    for name, system in systems.items():
        copy_of_system(target, name, system)
    return target


def copy_of_system(package: Path, name: str, system: tuple[str, str]) -> Path:
    """Put a built-in environment with its access.yaml into a package's folder; return where."""
    place = package / "systems" / name
    shutil.copytree(built_in() / system[0], place)
    (place / "access.yaml").write_text(system[1])
    return place
