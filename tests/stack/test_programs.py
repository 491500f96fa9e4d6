"""Programs that are really started: how they end, and what a missing or endless one is."""

from __future__ import annotations

import sys
from pathlib import Path

from orchestrator.stack.programs import MISSING, TOO_LONG, Programs, Ran


def test_output_and_errors_are_kept_apart(tmp_path: Path) -> None:
    run = Programs(tmp_path, {"A": "1"})
    code = "import os, sys; print(os.getcwd(), sorted(os.environ)[:1]); print('oops', file=sys.stderr); sys.exit(3)"
    ran = run([sys.executable, "-c", code])
    assert ran == Ran(3, f"{tmp_path} ['A']\n", "oops\n") and ran.words == "oops"


def test_told_as_it_goes_every_line_is_heard(tmp_path: Path) -> None:
    heard: list[str] = []
    code = "import sys; print('one', flush=True); print('two', file=sys.stderr, flush=True); sys.exit(4)"
    ran = Programs(tmp_path, {})([sys.executable, "-c", code], said=heard.append)
    assert ran.code == 4 and heard == ["one", "two"] and ran.out == "one\ntwo\n"


def test_a_program_that_is_not_there_is_no_crash(tmp_path: Path) -> None:
    for said in (None, lambda _line: None):
        ran = Programs(tmp_path, {})(["no-such-program-here"], said=said)
        assert ran.code == MISSING and "no such program" in ran.words


def test_a_program_without_an_end_is_ended(tmp_path: Path) -> None:
    endless = [sys.executable, "-c", "import time; print('x', flush=True); time.sleep(600)"]
    run = Programs(tmp_path, {})
    assert run(endless, timeout_s=0.5).code == TOO_LONG
    ran = run(endless, timeout_s=0.5, said=lambda _line: None)
    assert ran.code == TOO_LONG and "was not done within" in ran.words
