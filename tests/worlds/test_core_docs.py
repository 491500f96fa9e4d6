"""The documentation is held against the code: operations, fields, kinds and labels are those that exist."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest

from bench.worlds.effects import OPERATION_NAMES
from bench.worlds.folder import _LISTS, _PLAIN, read_typed
from bench.worlds.model import Criterion, Effect, FailureLabel, PatchRule, SimulatorMode, Stage, Task, Tool
from bench.worlds.runs_measure import parallel_share, step_ms

TEXT = (Path(__file__).parents[2] / "docs" / "worlds.md").read_text()


def test_every_operation_is_in_the_table_and_no_other() -> None:
    rows = TEXT.split("| operations | |")[1].split("\n\n")[0]
    named = {
        word
        for row in rows.split("\n")
        if row.startswith("| `$")
        for word in re.findall(r"`(\$\w+)`", row.split("|")[1])
    }
    assert named == set(OPERATION_NAMES)


@pytest.mark.parametrize("struct", [Criterion, Effect, PatchRule, Stage, Tool, Task])
def test_every_field_that_a_folder_may_hold_is_named(struct: type) -> None:
    inner = {"environment", "scenario", "industry", "domain"} if struct is Task else set()
    for name in set(struct.__struct_fields__) - inner:  # type: ignore[attr-defined]
        assert re.search(rf"\b{name}\b", TEXT), name


def test_every_field_mode_and_label_is_named() -> None:
    for name in (*_PLAIN, *_LISTS, *get_args(SimulatorMode), *get_args(FailureLabel)):
        assert f"`{name}`" in TEXT, name


def test_the_example_is_one() -> None:
    example = TEXT.split("```yaml\n")[1].split("```")[0]
    document = read_typed("x", example.encode())
    assert document.faults == [] and list(document.data["effect"]) == ["let", "checks", "patch", "returns"]


@pytest.mark.slow
def test_what_a_step_costs_and_how_trials_run_side_by_side() -> None:
    early, late = step_ms(60)
    assert late < 3 * early, "a step does not grow with the run"
    assert 0.5 < parallel_share(8, 4, 0.1) <= 1.0
