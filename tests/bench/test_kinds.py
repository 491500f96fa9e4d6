"""Rubrics from what is visible: inputs found by name or by columns, priors and results taken in, ambiguity refused."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from typing import Any

import openpyxl
import pytest

from bench.kinds.criteria import author
from bench.kinds.inputs import NoRubric, material_of
from bench.rubric import Criterion, Rubric

SKILL = "/mnt/company/Resources/Skills/bank-reconciliation"
INPUTS = "/mnt/company/Projects/River/Inputs/2025-12"
OUT = "/home/npc/computer/Documents/Projects/River/2025-12"
BANK = b"date,ref,description,amount\n2025-12-02,A,rent,-100.00\n2025-12-03,B,deposit,850.00\n2025-12-04,C,card,95.00\n"
LEDGER = "date,ref,account,description,amount\n2025-12-02,A,1000,rent,-100.00\n2025-12-04,C,1000,card,137.50\n"
CREDITS = b"ref,vendor,amount,evidence\nCR1,V,10.00,\n"


def workbook(text: str) -> bytes:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    for line in text.strip().split("\n"):
        sheet.append([float(c) if c.replace(".", "").replace("-", "").isdigit() and "." in c else c for c in line.split(",")])
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def visible(files: Mapping[str, bytes], **block: Any) -> dict[str, bytes]:
    """The visible files of a task on these inputs."""
    task = {
        "work": "bank-reconciliation", "period": "2025-12", "matter": "River", "round": 1, "prior": [], "from": [],
        "inputs": [{"name": p.rpartition("/")[2], "path": p} for p in files],
        "deliverables": [f"{OUT}/Reconciliation.xlsx", f"{OUT}/Open items.md"], **block,
    }  # fmt: skip
    text = f"# Task\n\n```json\n{json.dumps(task)}\n```\n"
    return {
        **files, "/mnt/task/TASK.md": text.encode(), f"{SKILL}/SKILL.md": b"how", f"{SKILL}/scripts/reconcile.py": b"run",
        "/mnt/task/CONTRACT.md": b"contract",
    }  # fmt: skip


STORY = {
    f"{INPUTS}/bank_activity.csv": BANK,
    f"{INPUTS}/ledger.xlsx": workbook(LEDGER),
    f"{INPUTS}/vendor_credits.csv": CREDITS,
}


def rubric(files: Mapping[str, bytes], **block: Any) -> Rubric:
    return author("t", material_of(visible(files, **block)), {"Notes.md": "0" * 64}, (), "canary")


def named(made: Rubric, name: str) -> Criterion:
    (found,) = [c for c in made.criteria if c.id == name]
    return found


def test_inputs_are_known_by_their_columns_whatever_they_are_called() -> None:
    """STORY: `bank_activity.csv`, `ledger.xlsx`, `vendor_credits.csv`."""
    material = material_of(visible(STORY))
    assert material.sources == {
        "bank": f"{INPUTS}/bank_activity.csv", "ledger": f"{INPUTS}/ledger.xlsx", "credits": f"{INPUTS}/vendor_credits.csv",
    }  # fmt: skip
    assert material.outcome().figures["Unexplained difference"] == "-42.50"


def test_the_rubric_of_the_story() -> None:
    """P0 figures and nothing unsupported resolved, P1 citations and originals, P2 live formulas, P3 brevity."""
    made = rubric(STORY)
    figure = named(made, "figure-bank-only-total")
    assert figure.check is not None
    assert (figure.priority, figure.group, figure.check.params["value"]) == ("P0", "figures", "850.00")
    assert made.weight(figure) == 25 / 10
    assert (named(made, "open-open-items-md").priority, named(made, "open-open-items-md").guard) == ("P0", True)
    cites = named(made, "cites-open-items-md")
    assert cites.check is not None
    assert cites.priority == "P1"
    assert set(cites.check.params["keys"]) == {"B", "C", "CR1"}
    assert (named(made, "originals-unchanged").priority, named(made, "originals-unchanged").guard) == ("P1", True)
    assert (named(made, "formulas-live").priority, named(made, "formulas-live").required) == ("P2", False)
    assert named(made, "brief-open-items-md").priority == "P3"
    judged = [c for c in made.criteria if c.kind == "judge"]
    assert judged
    assert not any(c.required for c in judged)
    assert figure.evidence == (f"{SKILL}/SKILL.md", f"{SKILL}/scripts/reconcile.py", *STORY)


def test_a_prior_result_moves_the_figures() -> None:
    prior = workbook("Item,Value,Source\nPeriod,2025-11,x\nClosing balance,1000.25,x")
    book = openpyxl.load_workbook(io.BytesIO(prior))
    book.worksheets[0].title = "Summary"
    out = io.BytesIO()
    book.save(out)
    path = "/home/npc/computer/Documents/Projects/River/2025-11/Reconciliation.xlsx"
    made = rubric({**STORY, path: out.getvalue()}, inputs=[{"name": "x", "path": p} for p in STORY], prior=[{"path": path}])
    check = named(made, "figure-opening-balance").check
    assert check is not None
    assert check.params["value"] == "1000.25"
    assert path in named(made, "figure-opening-balance").evidence


def test_what_is_ambiguous_or_missing_is_refused() -> None:
    twice = {**STORY, f"{INPUTS}/bank copy.csv": BANK}
    with pytest.raises(NoRubric, match="several inputs may be the bank"):
        rubric(twice)
    with pytest.raises(NoRubric, match="no input is the ledger"):
        rubric({f"{INPUTS}/bank.csv": BANK})
    with pytest.raises(NoRubric, match="not mounted"):
        rubric(STORY, inputs=[{"name": "bank", "path": "/mnt/company/gone.csv"}])
    with pytest.raises(NoRubric, match="cannot be recomputed"):
        rubric({**STORY, f"{INPUTS}/bank_activity.csv": BANK.replace(b"850.00", b"plenty")})
    two = [{"path": f"{INPUTS}/a/Reconciliation.xlsx"}, {"path": f"{INPUTS}/b/Reconciliation.xlsx"}]
    held = {**STORY, **{row["path"]: b"x" for row in two}}
    with pytest.raises(NoRubric, match="several earlier results"):
        rubric(held, inputs=[{"name": "x", "path": p} for p in STORY], prior=two)


def test_a_task_without_a_block_is_refused() -> None:
    with pytest.raises(NoRubric, match="no block for programs"):
        material_of({"/mnt/task/TASK.md": b"# Task\n\nDo it.\n"})


def test_an_unknown_deliverable_must_be_there_and_open() -> None:
    made = rubric(STORY, deliverables=[f"{OUT}/Reconciliation.xlsx", f"{OUT}/Open items.md", f"{OUT}/Cover letter.docx"])
    (extra,) = [c for c in made.criteria if c.id.startswith("opens-")]
    assert extra.required
    assert made.deliverables[-1].form == "docx"
