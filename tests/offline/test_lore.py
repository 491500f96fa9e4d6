"""What everybody knows: whose work it is, where papers lie, what a task says, what papers show."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.offline.awkward import awkward_case
from services.offline.slips import FIRST_ROUND, NONE, draw_slip
from services.offline.task import Earlier, Named, Task, fill, read_task, run_line
from services.offline.worklore import (
    Place,
    by_deliverable,
    candidates,
    mail_in,
    place,
    places,
    prior_of,
    recognise,
    result_of,
    signer,
    workday,
)
from services.professions.registry import PROFESSIONS
from simulator.randomness import Stream
from tests.offline.talks import FIRM, HOME, MATTER, TEAM, WHERE, listed

RECONCILIATION = PROFESSIONS["bank-reconciliation"]
RUN = (
    "python3 x.py --out {out} --period {period} --input bank={input:bank} [--input credits={input:credits}] [--from r={from:r}] "
    "[--prior {prior}]"
)


def test_a_path_says_what_a_file_is() -> None:
    assert place(f"{HOME}/2026-01/Reconciliation.xlsx@3") == Place(
        f"{HOME}/2026-01/Reconciliation.xlsx@3", "Riverbend Outdoor", "home", "2026-01", "Reconciliation.xlsx", 3
    )
    found = place(f"{WHERE}/Inputs/2026-01-05/records.csv@1")
    assert found is not None and (found.area, found.period) == ("Inputs", "2026-01-05")
    assert place("/mnt/company/Resources/Handbook.md@1") is None
    assert place(f"{WHERE}/Meetings/2026-01-05 0930 Stand-up.md@1") is None


@pytest.mark.parametrize("kind", PROFESSIONS)
def test_every_kind_of_work_is_recognised_by_words_or_by_papers(kind: str) -> None:
    each = PROFESSIONS[kind]
    papers = [f"{WHERE}/Inputs/2026-02/{spec.file}@1" for spec in each.inputs if not spec.optional]
    assert recognise(f"{each.title} for 2026-02", "as always", papers) == (kind, "2026-02")
    assert recognise("Here it is", "for you", papers) == (kind, "2026-02")
    assert recognise("Thank you", "received", []) is None
    assert recognise(f"About the {each.title}", "a question on 2026-02", []) is None, "a question brings no papers"


def test_the_same_person_does_the_same_work_and_who_signs_off_does_not_make_it() -> None:
    assert candidates(MATTER, "bank-reconciliation", "2026-01") == ["daniel"]
    assert candidates(MATTER, "records-digest", "2026-01")[-1] == "elena", "the lead comes last"
    assert candidates(MATTER, "records-digest", "2026-01", ("daniel",)) == ["elena"]
    assert candidates(MATTER, "trial-monitoring", "2026-01") == []
    assert signer(MATTER, "daniel") == "quinn" and signer(MATTER, "quinn") == "" and signer(FIRM, "daniel") == ""
    two = {**MATTER, "team": [*TEAM, {**TEAM[2], "id": "rhea"}]}
    assert "quinn" in candidates(two, "bank-reconciliation", "2026-01"), "another can sign what one of them makes"


def test_the_prior_is_the_latest_accepted_one_of_the_same_cadence() -> None:
    found = places(listed(
        (f"{HOME}/2025-11/Reconciliation.xlsx@1", "accept by daniel"),
        (f"{HOME}/2025-12/Reconciliation.xlsx@2", "accept by daniel"),
        (f"{HOME}/2026-01/Reconciliation.xlsx@1", ""),
        (f"{WHERE}/Results/2026-02-02/Reconciliation.xlsx@1", "accept by ben"),
        ("/mnt/company/Projects/Oakridge/Results/2026-01/Reconciliation.xlsx@1", "accept by sofia"),
    )({"folder": "Reconciliation"}))  # fmt: skip
    prior = prior_of(found, RECONCILIATION, "Riverbend Outdoor", "2026-02")
    assert prior is not None and (prior.period, prior.version) == ("2025-12", 2)
    assert prior_of(found, RECONCILIATION, "Riverbend Outdoor", "2025-11") is None
    assert result_of(found, RECONCILIATION, "Riverbend Outdoor", "2026-01") is None, "a draft is no result"
    other = result_of(found, RECONCILIATION, "Riverbend Outdoor", "2025-12")
    assert other is not None and other.area == "home"


def test_small_things() -> None:
    assert mail_in("the digest (mail maya.3.1) for 2026") == "maya.3.1" and mail_in("no mail") == ""
    assert workday(date(2026, 1, 9), 1) == date(2026, 1, 12), "Friday, then Monday"
    assert (
        by_deliverable([f"{HOME}/2026-01/Open items.md@4"]) is RECONCILIATION and by_deliverable(["Memo.docx"]) is None
    )


def test_a_run_line_takes_what_is_there_and_leaves_the_rest() -> None:
    known = {"out": "/o p", "period": "2026-01", "input:bank": "/b.csv", "prior": "/p.xlsx"}
    assert fill(RUN, known, ("--skip-last",)) == (
        "python3 x.py --out '/o p' --period 2026-01 --input bank=/b.csv --prior /p.xlsx --skip-last"
    )
    assert "{input:bank}" in fill(RUN, {"out": "/o", "period": "2026-01"}), "the script says what is missing, not we"
    assert run_line(f"# X\n\n## Run\n```sh\n{RUN}\n```\nmore") == RUN and run_line("# X") == ""


def test_the_task_block_is_found_in_the_text_a_person_reads() -> None:
    block = (
        '{"work":"records-digest","period":"2026-01","matter":"M","round":2,"inputs":[{"name":"records","path":"/r.csv"}],'
        '"prior":[{"path":"/p"}],"from":[{"name":"variance","path":"/v"}],"deliverables":["/out/x/D.xlsx"]}'
    )
    task = read_task(f"# Task\n```json\nnot this\n```\n\n```json\n{block}\n```")
    assert task is not None and task.round == 2 and task.results == (Named("variance", "/v"),) and task.out == "/out/x"
    assert task.values()["from:variance"] == "/v" and task.values()["input:records"] == "/r.csv"
    assert read_task("no block") is None


@given(st.integers(0, 10**9), st.sampled_from(sorted(PROFESSIONS)), st.integers(1, 4))
def test_slips_only_leave_out_what_is_there(seed: int, kind: str, number: int) -> None:
    each = PROFESSIONS[kind]
    task = Task(
        kind, "2026-02", "M", number, tuple(Named(s.name, f"/in/{s.file}") for s in each.inputs if not s.optional), (),
        tuple(Named(o.name, f"/r/{o.name}") for o in each.others), tuple(f"/o/{d.name}" for d in each.deliverables),
    )  # fmt: skip
    slip = draw_slip(Stream(seed, "slip"), task, each)
    assert slip == draw_slip(Stream(seed, "slip"), task, each)
    assert "prior" not in slip.without and "--no-carry" not in slip.options, "there is no earlier result to ignore"
    assert all(name.startswith("from:") for name in slip.without)
    if "--values-only" in slip.options:
        assert each.main.name.endswith(".xlsx")


def test_about_two_in_five_first_rounds_slip_and_few_later_ones() -> None:
    task = Task(
        "records-digest", "2026-02", "M", 1, (Named("records", "/r.csv"),), (Earlier("/p"),), (), ("/o/Digest.xlsx",)
    )
    each = PROFESSIONS["records-digest"]
    slips = [draw_slip(Stream(n, "slip"), task, each) for n in range(400)]
    expected = 400 * FIRST_ROUND[0] / FIRST_ROUND[1]
    assert abs(sum(slip != NONE for slip in slips) - expected) < 40
    assert len({slip.name for slip in slips}) > 5, "of many kinds"


@pytest.mark.parametrize(
    ("kind", "files", "words"),
    [
        (
            "bank-reconciliation",
            {"bank.csv": "ref,amount\nA,1.00\n", "ledger.csv": "ref,amount\nA,2.00\n"},
            "A is 1.00 at the bank and 2.00",
        ),
        ("bank-reconciliation", {"credits.csv": "ref,vendor,amount,evidence\nC,V,3.00,\n"}, "has no evidence"),
        (
            "variance-analysis",
            {"actuals.csv": "account,name,amount\n1,X,5.00\n", "budget.csv": "account,name,amount\n"},
            "no budget",
        ),
        ("records-digest", {"records.csv": "record_id,note\nR1,plain\n"}, ""),
        ("bill-of-materials", {"parts.csv": "part_id\nP\n"}, ""),
    ],
)
def test_awkward_cases_are_seen_in_the_papers(kind: str, files: dict[str, str], words: str) -> None:
    found = awkward_case(PROFESSIONS[kind], files)
    assert words in found and bool(found) == bool(words)
