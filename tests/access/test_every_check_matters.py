"""Remove each check of rights in turn: the suite must fail (RELIABILITY, "No leak").

A check that can be taken out unnoticed is either not needed or not tested. When this fails, it names the line: write a
test (plain, without fixtures) in one of the areas in `mutants.AREAS` that is told no there and expects it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ASKED_TWICE = ('ctx.allow("share", Share(ref, audience))',)
"""Checks that another one repeats: `grants_for` asks of every audience what these ask, and its own check is tested."""


def test_no_check_can_be_taken_out_unnoticed() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.access.mutants"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    assert found["broken"] == [], "these fail even with every check in place"
    assert len(found["sites"]) >= 90
    unnoticed = [line for line in (*found["survivors"], *found["unreached"]) if not line.endswith(ASKED_TWICE)]
    assert unnoticed == [], "\n".join(("No test misses these checks:", *unnoticed))
