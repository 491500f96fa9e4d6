"""Run a pack's script as an assistant does: as a program of its own, on files."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from services.documents.cells import Sheet
from services.documents.reading import parse_workbook_text
from services.documents.renderer import DocumentRenderer

PACKS = Path(__file__).resolve().parents[2] / "fixtures" / "skills"
SCRIPTS = {
    pack.name: next(path for path in sorted((pack / "scripts").glob("*.py")) if not path.name.startswith("office"))
    for pack in sorted(PACKS.iterdir())
    if (pack / "SKILL.md").is_file()
}


class Ran(msgspec.Struct, frozen=True):
    """What a script left: exit code, the two streams, its figures."""

    code: int
    out: str
    err: str
    figures: dict[str, str]
    answer: dict[str, Any]


def run(
    kind: str,
    out: Path,
    period: str,
    inputs: Mapping[str, Path],
    *options: str,
    prior: Path | None = None,
    others: Mapping[str, Path] | None = None,
    env: Mapping[str, str] | None = None,
) -> Ran:
    """Call a pack's script; the environment is empty but for `env`."""
    command = [sys.executable, "-B", str(SCRIPTS[kind]), "--out", str(out), "--period", period]
    for name, path in inputs.items():
        command += ["--input", f"{name}={path}"]
    command += ["--prior", str(prior)] if prior else []
    for name, path in (others or {}).items():
        command += ["--from", f"{name}={path}"]
    done = subprocess.run([*command, *options], capture_output=True, text=True, env=dict(env or {}), timeout=60)
    answer = json.loads(done.stdout) if done.returncode == 0 else {}
    return Ran(done.returncode, done.stdout, done.stderr, answer.get("figures", {}), answer)


def csv(path: Path, *lines: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def hashes(folder: Path) -> dict[str, str]:
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir()) if path.is_file()
    }


def text(path: Path) -> str:
    """The file as a reviewer reads it."""
    return DocumentRenderer().render(path.read_bytes(), "", path.name)


def sheets(path: Path) -> dict[str, Sheet]:
    return {sheet.name: sheet for sheet in parse_workbook_text(text(path))}
