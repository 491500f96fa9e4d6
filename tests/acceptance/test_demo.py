"""`officetown demo` (issue 2): no key, no Docker; it ends with what to open, what to do next, and scores that hold."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import openpyxl
import pytest

from bench.snapshot import open_snapshot
from orchestrator.cli import app
from tests.acceptance.conftest import needs_sandbox
from tests.orchestrator.support import Said, start

pytestmark = [pytest.mark.slow, pytest.mark.sandbox, pytest.mark.timeout(600)]


class Shown(NamedTuple):
    """What the demo said, and the home it used."""

    said: Said
    home: Path


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    """`officetown demo --json`, as a program of its own, in an empty home, within five minutes."""
    home = tmp_path_factory.mktemp("demo") / "home"
    needs_sandbox(home)
    process = start(home, "demo", "--json")
    out, err = process.communicate(timeout=300)
    return Shown(Said(process.returncode, out, err), home)


def test_its_solutions_score_one_and_doing_nothing_zero(shown: Shown) -> None:
    assert shown.said.code == 0, shown.said.err
    result = shown.said.result
    assert set(result["oracle"]) == {1.0} and set(result["nop"]) == {0.0}
    assert len(result["snapshots"]) == len(result["oracle"]) == len(result["nop"]) == 3
    for folder in result["snapshots"]:
        assert open_snapshot(Path(folder)).manifest.office == result["office"]


def test_its_summary_has_every_number(shown: Shown) -> None:
    """Office, days, people, messages, mails, meetings, delegations, reviews by outcome, files, cost."""
    counts = shown.said.result["counts"]
    assert counts["people"] == 12
    assert all(counts[name] > 0 for name in ("activations", "mails", "meetings", "delegations", "files")), counts
    assert set(counts["reviews"]) == {"accept", "revise", "supplement"} and counts["reviews"]["revise"] > 0
    words = shown.said.err
    for number, what in (
        ("mails", "mails"),
        ("meetings", "meetings"),
        ("delegations", "delegations"),
        ("files", "files"),
    ):
        assert f"{counts[number]} {what}" in words, what
    for number, what in (("accept", "accepted"), ("revise", "sent back"), ("supplement", "supplemented")):
        assert f"{counts['reviews'][number]} {what}" in words, what
    assert f"Office {shown.said.result['office']}, 12 days" in words and "cost: none" in words
    assert re.search(r"^ +\d+ %  \w+ \d+ January 2026", words, re.M), "progress is shown"


def test_it_names_one_deliverable_that_opens(shown: Shown) -> None:
    found = re.search(r"A deliverable to open: +(\S+)$", shown.said.err, re.M)
    assert found is not None
    book = openpyxl.load_workbook(found[1])
    assert book.sheetnames[0] == "Summary"


def test_it_prints_one_note_with_the_fault_that_was_found(shown: Shown) -> None:
    found = re.search(r"Work that was sent back: (\S+)\n((?: {6}.+\n)+)", shown.said.err)
    assert found is not None
    assert re.search(r"\.(xlsx|md|docx|csv|pdf)\b", found[2]), "a note names the file that is at fault"


def test_it_names_one_frozen_task_and_three_next_commands(shown: Shown) -> None:
    words = shown.said.err
    found = re.search(r"A frozen task: +(\S+)$", words, re.M)
    assert found is not None and found[1] in shown.said.result["snapshots"]
    commands = re.findall(r"^  \S*officetown (\w+) ", words[words.index("\nNext:") :], re.M)
    assert len(commands) == 3
    assert set(commands) <= {
        command.name or command.callback.__name__ for command in app.registered_commands if command.callback
    }
