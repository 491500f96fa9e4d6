"""The commands that people and CI are told to run exist, and each step of CI is a make target."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from tools import python_fits

ROOT = Path(__file__).parents[2]
MAKEFILE = (ROOT / "Makefile").read_text()
TARGETS = set(re.findall(r"^([a-z][a-z-]*):(?!=)", MAKEFILE, re.M))
PROMISED = {"help", "install", "demo", "test", "test-slow", "lint", "types", "layers", "bench"}


def _make(*arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    make = shutil.which("make")
    if make is None:
        pytest.skip("no make on this machine")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    kept["LC_ALL"] = "C"
    return subprocess.run(
        [make, *arguments], cwd=cwd, env=kept, capture_output=True, text=True, timeout=60, check=False
    )


def _copy(folder: Path) -> None:
    """The files that `make install` decides by."""
    for name in ("Makefile", "pyproject.toml", "requirements", "services/sandbox"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name)
        else:
            shutil.copy(ROOT / name, folder / name)


def _shown(text: str) -> set[str]:
    """The make targets that a text tells its reader to run: in code spans and code blocks."""
    code = re.findall(r"```.*?```|`[^`\n]+`", text, re.S)
    return {target for span in code for target in re.findall(r"\bmake ([a-z][a-z-]*)", span)}


def test_the_promised_targets_exist_and_none_is_mistaken_for_a_file() -> None:
    assert TARGETS >= PROMISED
    phony = re.search(r"^\.PHONY: (.*)$", MAKEFILE, re.M)
    assert phony is not None
    assert set(phony[1].split()) == TARGETS


def test_make_alone_explains_every_target() -> None:
    done = _make()
    assert done.returncode == 0, done.stderr
    explained = set(re.findall(r"^  make ([a-z-]+) +\S", done.stdout, re.M))
    assert explained == TARGETS


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "AGENTS.md"])
def test_a_document_shows_only_targets_that_exist(name: str) -> None:
    assert _shown((ROOT / name).read_text()) - TARGETS == set()


def test_newcomers_are_shown_the_way() -> None:
    assert {"demo"} <= _shown((ROOT / "README.md").read_text())
    assert {"install", "test", "lint", "types", "layers"} <= _shown((ROOT / "CONTRIBUTING.md").read_text())


def test_agents_md_gives_a_line_to_each_folder() -> None:
    listed = set(re.findall(r"^- `([a-z_.]+)/`", (ROOT / "AGENTS.md").read_text(), re.M))
    expected = {
        "simulator",
        "services",
        "bench",
        "training",
        "orchestrator",
        "migrations",
        "fixtures",
        "tests",
        "tools",
    }
    assert listed >= expected
    assert [name for name in listed if not (ROOT / name).is_dir()] == []


def test_ci_runs_every_check_by_its_target() -> None:
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    text = script.read_text()
    assert text.splitlines()[0] == "#!/usr/bin/env bash"
    assert "set -euo pipefail" in text
    run = set(re.findall(r"\bmake ([a-z][a-z-]*)", text))
    assert run >= {"install", "lint", "types", "layers", "test", "test-slow"}
    assert run - TARGETS == set()


def test_ci_is_a_script_that_bash_can_read() -> None:
    done = subprocess.run(["bash", "-n", ".ci/run"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_an_installed_environment_is_not_installed_again(tmp_path: Path) -> None:
    """With the stamps of these very locks in place `make install` has nothing to do; with another lock it has."""
    _copy(tmp_path)
    wanted = re.findall(r"touch (\.\S+)", _make("-n", "install", cwd=tmp_path).stdout)
    assert [stamp.partition("/")[0] for stamp in wanted] == [".venv", ".toolchain"]
    for stamp in wanted:
        (tmp_path / stamp).parent.mkdir()
        (tmp_path / stamp).touch()
    assert "Nothing to be done" in _make("-n", "install", cwd=tmp_path).stdout
    with (tmp_path / "requirements" / "dev.lock").open("a") as lock:
        lock.write("# another\n")
    assert "pip install" in _make("-n", "install", cwd=tmp_path).stdout


def test_the_environment_is_installed_by_hash_alone() -> None:
    lines = [line for line in MAKEFILE.splitlines() if "pip install" in line]
    assert len(lines) == 4
    assert all("--require-hashes" in line for line in (lines[0], *lines[2:]))
    assert "--no-deps" in lines[1] and "--no-index" in lines[1]


@pytest.mark.parametrize(
    ("version", "has_ensurepip", "words"),
    [((3, 10), True, "3.11 or newer"), ((2, 7), False, "3.11 or newer"), ((3, 11), False, "python3-venv")],
)
def test_a_python_that_does_not_fit_is_told_what_to_do(
    version: tuple[int, int], has_ensurepip: bool, words: str
) -> None:
    assert words in python_fits.fault(version, has_ensurepip)


@pytest.mark.parametrize("version", [(3, 11), (3, 13), (4, 0)])
def test_a_python_that_fits_hears_nothing(version: tuple[int, int]) -> None:
    assert python_fits.fault(version, True) == ""


def test_make_does_not_go_on_with_a_python_that_does_not_fit(tmp_path: Path) -> None:
    """`make install` asks first, so that nobody gets pip's words for it."""
    _copy(tmp_path)
    refusing = tmp_path / "python-that-is-too-old"
    refusing.write_text("#!/bin/sh\necho too old >&2\nexit 2\n")
    refusing.chmod(0o755)
    done = _make("install", f"PYTHON={refusing}", cwd=tmp_path)
    assert done.returncode != 0
    assert "too old" in done.stderr
    assert not (tmp_path / ".venv").exists()


def test_the_command_is_officetown_and_the_packages_are_the_designs() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["project"]["name"] == "officetown"
    assert project["project"]["scripts"] == {"officetown": "orchestrator.cli:main"}
    found = set(project["tool"]["setuptools"]["packages"]["find"]["include"])
    assert found >= {"simulator*", "services*", "bench*", "training*", "orchestrator*"}
