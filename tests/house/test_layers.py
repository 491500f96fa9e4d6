"""Imports point one way (DESIGN section 2): the contracts in pyproject.toml do fail when someone breaks them."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("simulator", "services", "bench", "training", "orchestrator")
LINT_IMPORTS = Path(sys.executable).with_name("lint-imports")


def _house(folder: Path, files: dict[str, str]) -> Path:
    """A miniature of the project under the real contracts, with the given files planted in it."""
    (folder / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text())
    for package in PACKAGES:
        (folder / package).mkdir()
        (folder / package / "__init__.py").touch()
        (folder / package / "part.py").write_text("x = 1\n")
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def _lint(folder: Path) -> tuple[int, str]:
    done = subprocess.run(
        [LINT_IMPORTS, "--no-cache"], cwd=folder, capture_output=True, text=True, timeout=60, check=False
    )
    return done.returncode, done.stdout + done.stderr


def test_a_house_in_order_keeps_every_contract(tmp_path: Path) -> None:
    lines = {f"{upper}/uses.py": f"import {lower}.part\n" for lower, upper in zip(PACKAGES, PACKAGES[1:], strict=False)}
    code, said = _lint(_house(tmp_path, lines))
    assert (code, "3 kept, 0 broken" in said) == (0, True), said


@pytest.mark.parametrize(
    ("lower", "upper"),
    [("simulator", "services"), ("services", "bench"), ("bench", "training"), ("simulator", "orchestrator")],
)
def test_an_import_upwards_breaks_the_layers(tmp_path: Path, lower: str, upper: str) -> None:
    code, said = _lint(_house(tmp_path, {f"{lower}/planted.py": f"import {upper}.part\n"}))
    assert code == 1, said
    assert "Imports point one way BROKEN" in said
    assert f"{lower}.planted -> {upper}.part" in said


def test_a_lazy_import_hides_nothing(tmp_path: Path) -> None:
    planted = "def f() -> None:\n    import services.part\n"
    code, said = _lint(_house(tmp_path, {"simulator/planted.py": planted}))
    assert code == 1, said
    assert "simulator.planted -> services.part" in said


@pytest.mark.parametrize(
    "library", ["sqlalchemy", "fastapi", "docker", "openai", "httpx", "psycopg", "alembic", "uvicorn"]
)
def test_the_simulator_stays_pure(tmp_path: Path, library: str) -> None:
    code, said = _lint(_house(tmp_path, {"simulator/planted.py": f"import {library}\n"}))
    assert code == 1, said
    assert "The simulator touches no network, database or container BROKEN" in said


def test_a_cycle_within_a_layer_is_found(tmp_path: Path) -> None:
    files = {"simulator/a.py": "from simulator import b\n", "simulator/b.py": "from simulator import a\n"}
    code, said = _lint(_house(tmp_path, files))
    assert code == 1, said
    assert "No import cycles BROKEN" in said


def test_every_package_is_held_to_the_contracts() -> None:
    linter = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    layers = next(contract["layers"] for contract in linter["contracts"] if contract["type"] == "layers")
    assert tuple(reversed(layers)) == PACKAGES
    assert set(linter["root_packages"]) == set(PACKAGES)
    assert all((ROOT / package / "__init__.py").is_file() for package in PACKAGES)
