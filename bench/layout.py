"""The files of a Harbor task folder that are the same for every task, and those that only name it (FORMATS.md)."""

from __future__ import annotations

from importlib.resources import files
from pathlib import PurePosixPath
from typing import Any

import bench.grader
from bench.worlds.carried import NOTE
from services import documents
from services.documents.formulas import CARRIED

LIBRARIES = ("openpyxl==3.1.5", "pypdf==7.1.1", "python-docx==1.2.0")
"""What the grader needs, as in requirements/assistant.lock."""
INSIDE = (*LIBRARIES, "reportlab==5.1.0", "XlsxWriter==3.3.1")
"""What an assistant's skill scripts need inside the image, unless it has them."""

TEST_SH = """#!/bin/bash
# Grades what the agent left. Runs by Harbor in the verifier's own container, and by hand; every path can be given.
set -eu
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
logs="${GRADER_LOGS:-/logs/verifier}"
home="${GRADER_HOME:-/home/npc/computer}"
mkdir -p "$logs"
rm -f "$logs/reward.json" "$logs/rubric.json"
cd /
exec timeout "${GRADER_SECONDS:-300}" "${GRADER_PYTHON:-python3}" -I -B "$here/grade.py" \\
  --home "$home" --rubric "$here/rubric.json" --logs "$logs"
"""

GRADE_PY = '''"""Runs the grader that lies beside this file, and nothing else: no path of the agent's is ever imported from."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from grader.run import main  # noqa: E402

sys.exit(main())
'''

SOLVE_SH = """#!/bin/bash
# Puts the accepted version in place.
set -eu
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
cp -R "$here/files/." "${SOLUTION_HOME:-/home/npc/computer}/"
"""

COMPOSE = """# No network: an office's assistant has none either. This works without images from a registry.
services:
  main:
    network_mode: none
"""

_NEED = "RUN python3 -c 'import {modules}' 2>/dev/null || pip install --no-cache-dir {libraries}\n"


def dockerfile(now: str, epoch: int) -> str:
    """Return the agent's image: the read-only mounts are baked in, owned by root, writable by nobody."""
    modules = "openpyxl, pypdf, docx, reportlab, xlsxwriter"
    return (
        "ARG BASE_IMAGE=python:3.11-slim\nFROM ${BASE_IMAGE}\nUSER root\n"
        + _NEED.format(modules=modules, libraries=" ".join(INSIDE))
        + "RUN id npc >/dev/null 2>&1 || useradd --create-home --shell /bin/bash npc\n"
        "COPY mounts/company /mnt/company\nCOPY mounts/services /mnt/services\nCOPY mounts/task /mnt/task\n"
        "COPY mounts/home /home/npc/computer\n"
        "RUN chown -R root:root /mnt/company /mnt/services /mnt/task \\\n"
        " && chmod -R a-w,a+rX /mnt/company /mnt/services /mnt/task && chown -R npc:npc /home/npc\n"
        f'ENV HOME="/home/npc/computer" OFFICETOWN_NOW="{now}" SOURCE_DATE_EPOCH="{epoch}" TZ="UTC"\n'
        "WORKDIR /home/npc/computer\nUSER npc\n"
    )


def verifier_dockerfile() -> str:
    """Return the verifier's image: the tests and the three libraries that the grader needs."""
    return (
        "ARG BASE_IMAGE=python:3.11-slim\nFROM ${BASE_IMAGE}\nUSER root\n"
        + _NEED.format(modules="openpyxl, pypdf, docx", libraries=" ".join(LIBRARIES))
        + "COPY . /tests\nRUN mkdir -p /logs/verifier /home/npc/computer && chmod 755 /tests/test.sh\nWORKDIR /\n"
    )


def grader_files() -> dict[str, bytes]:
    """Return the vendored grader by its path below `tests/`: `bench/grader` with the evaluator itself put in."""
    found = {}
    for file in files(bench.grader).iterdir():
        if PurePosixPath(file.name).suffix == ".py":
            found[f"grader/{file.name}"] = file.read_bytes()
    for name in CARRIED:
        found[f"grader/{name}"] = files(documents).joinpath(name).read_bytes()
    return dict(sorted(found.items()))


def task_toml(name: str, metadata: dict[str, str | int], minutes: int = 60) -> str:
    """Return `task.toml`, schema 1.4."""
    lines = [
        'schema_version = "1.4"',
        'artifacts = [{ source = "/home/npc/computer", exclude = [".cache"] }]',
        "", "[task]", f"name = {_toml(f'officetown/{name}')}",
        "", "[metadata]", *(f"{key} = {_toml(value)}" for key, value in sorted(metadata.items())),
        "", "[agent]", 'user = "npc"', f"timeout_sec = {60.0 * minutes}",
        "", "[verifier]", 'environment_mode = "separate"', "timeout_sec = 360.0",
        "", "[environment]", 'workdir = "/home/npc/computer"', 'skills_dir = "/mnt/company/Resources/Skills"',
        "build_timeout_sec = 900.0", "cpus = 1", "memory_mb = 2048", "storage_mb = 4096", "",
    ]  # fmt: skip
    return "\n".join(lines)


def _toml(value: Any) -> str:
    if isinstance(value, int):
        return str(value)
    escaped = str(value).replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(ch if ch >= " " and ch != "\x7f" else f"\\u{ord(ch):04X}" for ch in escaped) + '"'


def instruction(task: str, systems: bool = False) -> str:
    """Return what the agent is told: where it is, and the task's own text, word for word.

    `systems` says that it has systems of record.
    """
    return (
        "You are an assistant in an office and carry out one bounded task.\n\n"
        "- `/home/npc/computer` is your writable home. Deliverables go there, at exactly the paths asked for.\n"
        "- `/mnt/company`, `/mnt/services` and `/mnt/task` are read-only. `/mnt/task/CONTRACT.md` says what may not be done;\n"
        "  skills are in `/mnt/company/Resources/Skills`.\n"
        f"{NOTE if systems else ''}"
        "- Nobody answers questions here. Never change an original; resolve nothing without evidence; say what is open.\n\n"
        f"{task}"
    )


def readme(name: str, facts: dict[str, str]) -> str:
    """Return the folder's README, for the evaluator."""
    rows = [f"- {key}: {value}" for key, value in facts.items() if value]
    return "\n".join(
        [
            f"# {name}", "", "One round of a delegation, frozen from a simulated office at the moment it began.", "", *rows, "",
            "`environment/` is what the agent sees. `tests/`, `solution/` and `snapshot.json` stay on the evaluator's side:",
            "never mount them. The score of `solution/` is 1, that of doing nothing is 0.", "",
            "    harbor run -p . -a oracle", "    GRADER_HOME=DIR GRADER_LOGS=OUT bash tests/test.sh", "",
        ]
    )  # fmt: skip
