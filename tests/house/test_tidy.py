"""What is committed speaks of the project alone, and of no machine it was made on."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# Written in pieces so that this file does not mention what it looks for. Every sandbox's home is `/home/npc`, and an
# example's `/home/me`.
_HOSTS = "|".join(("py" + r"pi\.org", "python" + r"hosted\.org", "npm" + r"js\.org", r"deb\." + r"debian\.org"))
_MACHINE = re.compile(
    rf"/ro{'ot'}/|/wo{'rk'}/(?:main|shared)\b|/Us{'ers'}/\w|/home/(?!(?:npc|me|user)\b)[a-z]\w*/|{_HOSTS}"
)
_BINARY = frozenset(
    {".xlsx", ".docx", ".pptx", ".pdf", ".png", ".jpg", ".gif", ".zip", ".gz", ".sqlite", ".ico", ".woff2"}
)


def tracked() -> list[Path]:
    """The files that git knows."""
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout: nothing says which files are committed")
    listed = subprocess.run([git, "-C", str(ROOT), "ls-files", "-z"], capture_output=True, text=True, check=True).stdout
    return [ROOT / name for name in listed.split("\0") if name and (ROOT / name).is_file()]


def mentions(name: str, text: str) -> list[str]:
    """Where a text names a path of some machine or a package registry."""
    return [
        f"{name}:{number}: {match.group()}"
        for number, line in enumerate(text.splitlines(), 1)
        if (match := _MACHINE.search(line))
    ]


def test_no_file_mentions_a_machine_or_a_registry() -> None:
    found = [
        mention
        for path in tracked()
        if path.suffix not in _BINARY
        for mention in mentions(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8", errors="replace"))
    ]
    assert found == []


@pytest.mark.parametrize(
    "line",
    [
        "see /wo" + "rk/main/x",
        "at /ro" + "ot/x",
        "in /home/" + "alice/x",
        "https://py" + "pi.org/simple",
        "/Us" + "ers/bob",
    ],
)
def test_such_a_mention_is_found(line: str) -> None:
    assert len(mentions("docs/a.md", f"first\n{line}\n")) == 1


@pytest.mark.parametrize(
    "line",
    [
        "/home/npc/computer",
        "/mnt/company",
        "the PyPI package",
        "/home/me/office",
        "/work",
        "framework/main",
        "/root",
    ],
)
def test_the_projects_own_words_are_not(line: str) -> None:
    assert mentions("docs/a.md", line) == []


def test_nothing_large_or_made_by_machine_is_committed() -> None:
    made = re.compile(r"(^|/)(__pycache__|\.venv|\.mypy_cache|\.hypothesis|[^/]+\.egg-info)(/|$)|\.pyc$")
    names = {path.relative_to(ROOT).as_posix(): path.stat().st_size for path in tracked()}
    assert [name for name in names if made.search(name)] == []
    assert {name: size for name, size in names.items() if size > 5_000_000} == {}
