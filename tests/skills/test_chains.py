"""Months that continue each other: what is carried, cleared, added up, handed on; and workbooks that people edited."""

from __future__ import annotations

import csv as csv_module
from pathlib import Path

import openpyxl
import pytest

from tests.skills.cases import CASES, write
from tests.skills.packs import Ran, csv, run, sheets, text

BANK = "date,ref,description,amount"
LEDGER = "date,ref,account,description,amount"


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as source:
        return list(csv_module.DictReader(source))


def bank_month(folder: Path, bank: list[str], ledger: list[str]) -> dict[str, Path]:
    return {
        "bank": csv(folder / "bank.csv", BANK, *bank),
        "ledger": csv(folder / "ledger.csv", LEDGER, *ledger),
    }


def test_reconciliations_of_three_months(tmp_path: Path) -> None:
    """An item opened in January is carried through February and cleared in March; an unequal pair is not carried."""
    kind, book = "bank-reconciliation", "Reconciliation.xlsx"
    january = run(kind, tmp_path / "1", "2026-01", write(kind, tmp_path / "i1"))
    assert january.figures["Open items"] == "5"
    inputs = bank_month(tmp_path / "i2", ["2026-02-05,L9,Cheque,-300.00"], ["2026-02-06,F3,1000,Fee,-5.00"])
    february = run(kind, tmp_path / "2", "2026-02", inputs, prior=tmp_path / "1" / book)
    assert february.figures == {
        "Opening balance": "1802.50",
        "Bank total": "-300.00",
        "Ledger total": "-5.00",
        "Matched total": "0.00",
        "Bank only total": "0.00",
        "Ledger only total": "0.00",
        "Carried open total": "850.00",
        "Unexplained difference": "0.00",
        "Closing balance": "1502.50",
        "Open items": "1",
    }
    carried = sheets(tmp_path / "2" / book)["Carried"].records("ref", "first period", "cleared")
    assert [(row["ref"], row["first period"], row["cleared"]) for row in carried] == [
        ("F3", "2026-01", "yes"),
        ("X4", "2026-01", "no"),
        ("L9", "2026-01", "yes"),
    ]
    assert "- X4: 850.00, open since 2026-01" in text(tmp_path / "2" / "Open items.md")
    inputs = bank_month(tmp_path / "i3", ["2026-03-02,N1,New,10.00"], ["2026-03-03,X4,1000,Transfer,850.00"])
    march = run(kind, tmp_path / "3", "2026-03", inputs, prior=tmp_path / "2" / book)
    assert (march.figures["Carried open total"], march.figures["Open items"]) == ("0.00", "1")
    assert (march.figures["Opening balance"], march.figures["Closing balance"]) == ("1502.50", "1512.50")
    careless = run(kind, tmp_path / "c", "2026-03", inputs, "--no-carry", prior=tmp_path / "2" / book)
    assert (careless.figures["Opening balance"], careless.figures["Open items"]) == ("0.00", "2")


def test_equal_refs_pair_one_to_one(tmp_path: Path) -> None:
    """Two bank rows against one of the ledger: one pair, one open; a cleared item clears once."""
    kind = "bank-reconciliation"
    inputs = bank_month(
        tmp_path / "in",
        ["2026-01-05,A,x,5.00", "2026-01-06,A,x,5.00", "2026-01-07,B,y,1.00"],
        ["2026-01-05,A,1000,x,5.00", "2026-01-09,B,1000,y,2.00", "2026-01-09,B,1000,y,1.00"],
    )
    first = run(kind, tmp_path / "1", "2026-01", inputs)
    assert (first.figures["Matched total"], first.figures["Bank only total"]) == ("6.00", "5.00")
    assert (first.figures["Ledger only total"], first.figures["Unexplained difference"]) == ("2.00", "0.00")
    inputs = bank_month(tmp_path / "in2", ["2026-02-01,A,x,5.00", "2026-02-02,A,x,5.00"], [])
    second = run(kind, tmp_path / "2", "2026-02", inputs, prior=tmp_path / "1" / "Reconciliation.xlsx")
    assert (second.figures["Bank only total"], second.figures["Carried open total"]) == ("5.00", "2.00")
    assert second.figures["Open items"] == "2"


def test_the_finance_chain(tmp_path: Path) -> None:
    """Reconciliation into variance into pack, two months: cash, year to date and the change in cash add up."""
    before: dict[str, Path] = {}
    variance = pack = Ran(1, "", "", {}, {})
    for period in ("2026-01", "2026-02"):
        out, prior = tmp_path / period, before
        bank = write("bank-reconciliation", tmp_path / f"b{period}")
        run("bank-reconciliation", out, period, bank, prior=prior.get("rec"))
        variance_in = write("variance-analysis", tmp_path / f"v{period}")
        others = {"reconciliation": out / "Reconciliation.xlsx"}
        variance = run("variance-analysis", out, period, variance_in, prior=prior.get("var"), others=others)
        others["variance"] = out / "Variance.xlsx"
        pack_in = write("management-pack", tmp_path / f"p{period}")
        pack = run("management-pack", out, period, pack_in, prior=prior.get("pack"), others=others)
        before = {"rec": others["reconciliation"], "var": others["variance"], "pack": out / "Pack figures.csv"}
        cash = {"2026-01": "1802.50", "2026-02": "3605.00"}[period]
        assert variance.figures["Cash per reconciliation"] == pack.figures["Cash"] == cash
        assert pack.figures["Change in cash"] == "1802.50"
        assert pack.figures["Headline"] == "watch"
        # February repeats January's rows: they clear what was carried; the unequal pair and the credit stay open.
        assert pack.figures["Open items"] == {"2026-01": "5", "2026-02": "2"}[period]
    # January 15,999.99 - 900.00 + 1,802.50 = 16,902.49; February with cash 3,605.00 is 18,704.99.
    assert variance.figures["Total actual"] == "18704.99"
    assert variance.figures["Year to date actual"] == pack.figures["Year to date actual"] == "35607.48"
    assert variance.figures["Flagged accounts"] == "3"
    flagged = sheets(tmp_path / "2026-02" / "Variance.xlsx")["Accounts"].records("account", "flag", "percent")
    assert [(row["account"], str(row["percent"])) for row in flagged if row["flag"] == "review"] == [
        ("1000", "300.6"),
        ("6100", "30"),
        ("6200", "-100"),
    ]
    year = sheets(tmp_path / "2026-02" / "Variance.xlsx")["Year to date"].records("account", "prior", "year to date")
    assert [(str(row["prior"]), str(row["year to date"])) for row in year if row["account"] == "4000"] == [
        ("12000", "24000")
    ]
    page = text(tmp_path / "2026-02" / "Management pack.pdf")
    assert "Change in cash: 1,802.50" in page
    assert "Hiring: Two open posts" in page


def test_obligations_are_carried_replaced_and_ended(tmp_path: Path) -> None:
    kind, book = "contract-review", "Obligations register.xlsx"
    run(kind, tmp_path / "1", "2026-01", write(kind, tmp_path))
    header = CASES[kind].inputs["clauses"][0]
    inputs = {
        "clauses": csv(
            tmp_path / "feb.csv",
            header,
            "K1,Lease,Acme,payment,2025-12-31,100.00,DONE: paid",
            "K2,Lease,Acme,payment,2026-02-28,260.00,Rent",
            "K8,Supply,Bolt,boilerplate,,,",
        )
    }
    second = run(kind, tmp_path / "2", "2026-02", inputs, prior=tmp_path / "1" / book)
    assert second.figures == {
        "Obligations": "4",
        "Overdue": "2",
        "Due this period": "2",
        "Amount due this period": "270.00",
        "Amount overdue": "40.00",
        "Carried obligations": "3",
    }
    carried = sheets(tmp_path / "2" / book)["Carried"].records("clause_id", "status")
    assert [(row["clause_id"], row["status"]) for row in carried] == [
        ("K3", "overdue"),
        ("K4", "due"),
        ("K7", "overdue"),
    ]
    third = run(
        kind, tmp_path / "3", "2026-03", {"clauses": csv(tmp_path / "mar.csv", header)}, prior=tmp_path / "2" / book
    )
    assert (third.figures["Overdue"], third.figures["Amount overdue"]) == ("4", "310.00")


def test_a_deviation_stays_as_logged(tmp_path: Path) -> None:
    kind, log = "trial-monitoring", "Deviation log.csv"
    inputs = write(kind, tmp_path)
    run(kind, tmp_path / "1", "2026-01", inputs)
    inputs["visits"] = csv(
        tmp_path / "feb.csv",
        CASES[kind].inputs["visits"][0],
        "V4,S04,South,Week 4,2026-01-20,2026-02-01,done",
        "V9,S04,South,Week 1,2026-02-01,2026-02-09,done",
    )
    second = run(kind, tmp_path / "2", "2026-02", inputs, prior=tmp_path / "1" / log)
    assert second.figures == {
        "Visits reviewed": "2",
        "New deviations": "1",
        "Missed visits": "0",
        "Out of window": "1",
        "Carried deviations": "4",
        "Total deviations": "5",
        "Deviation rate": "50.0",
    }
    kept = {row["visit_id"]: (row["days"], row["kind"], row["first_period"]) for row in rows(tmp_path / "2" / log)}
    assert kept["V4"] == ("", "missed", "2026-01")
    assert kept["V9"] == ("8", "late", "2026-02")
    assert kept["V3"] == ("-8", "early", "2026-01")


def test_a_rejected_lot_is_held_until_it_measures_well(tmp_path: Path) -> None:
    kind, book = "inspection-control", "Control workbook.xlsx"
    inputs = write(kind, tmp_path)
    run(kind, tmp_path / "1", "2026-01", inputs)
    header = CASES[kind].inputs["measurements"][0]
    inputs["measurements"] = csv(
        tmp_path / "feb.csv", header, "M7,L2,P,bore,10.0", "M8,L3,P,bore,11", "M9,L4,P,bore,10"
    )
    second = run(kind, tmp_path / "2", "2026-02", inputs, prior=tmp_path / "1" / book)
    assert (second.figures["Carried lots"], second.figures["Lots rejected"], second.figures["Yield"]) == (
        "1",
        "1",
        "66.7",
    )
    inputs["measurements"] = csv(tmp_path / "mar.csv", header, "M10,L4,P,bore,10.0")
    third = run(kind, tmp_path / "3", "2026-03", inputs, prior=tmp_path / "2" / book)
    held = sheets(tmp_path / "3" / book)["Carried lots"].records("lot", "first period")
    assert [(row["lot"], row["first period"]) for row in held] == [("L3", "2026-01")]
    assert third.figures["Carried lots"] == "1"
    features = sheets(tmp_path / "1" / book)["Features"].records("feature", "n", "mean")
    assert [(row["feature"], str(row["n"]), str(row["mean"]), str(row["out"])) for row in features] == [
        ("bore", "3", "10.034", "1"),
        ("depth", "3", "5.137", "1"),
    ]


def test_triage_keeps_the_first_period_of_what_stays_open(tmp_path: Path) -> None:
    kind, name = "release-triage", "Triage.csv"
    inputs = write(kind, tmp_path)
    run(kind, tmp_path / "1", "2026-01", inputs)
    listed = [(row["item"], row["priority"]) for row in rows(tmp_path / "1" / name)]
    assert listed == [("D1", "P1"), ("T2", "P1"), ("T3", "P2"), ("T7", "P2"), ("D3", "P3")]
    inputs["results"] = csv(
        tmp_path / "feb.csv",
        CASES[kind].inputs["results"][0],
        "T2,core,b9,pass,1",
        "T3,ui,b9,fail,1",
        "T9,ui,b9,fail,1",
    )
    inputs["defects"] = csv(
        tmp_path / "defects.csv",
        CASES[kind].inputs["defects"][0],
        "D1,core,critical,2026-01-02,closed",
        "D3,ui,minor,2026-01-04,open",
    )
    second = run(kind, tmp_path / "2", "2026-02", inputs, prior=tmp_path / "1" / name)
    assert second.figures == {
        "Tests run": "3",
        "Tests failed": "2",
        "Pass rate": "33.3",
        "Open defects": "1",
        "P1 items": "0",
        "Carried items": "2",
        "Decision": "ship",
    }
    assert {row["item"]: row["first_period"] for row in rows(tmp_path / "2" / name)} == {
        "T3": "2026-01",
        "T9": "2026-02",
        "D3": "2026-01",
    }


def test_a_bill_of_materials_builds_on_the_prior_one(tmp_path: Path) -> None:
    kind, book = "bill-of-materials", "BOM.xlsx"
    inputs = write(kind, tmp_path)
    run(kind, tmp_path / "1", "2026-01", inputs)
    changed = sheets(tmp_path / "1" / book)["Changes"].records("change_id", "old", "new")
    assert [(str(row["old"]), str(row["new"])) for row in changed] == [("4", "6"), ("unknown", "1.00"), ("20", "22.5")]
    header = CASES[kind].inputs["parts"][0]
    inputs["parts"] = csv(tmp_path / "feb.csv", header, "P5,Drive,1,5.01,Cog", "P1,Frame,4,2.50,Dent")
    inputs["changes"] = csv(
        tmp_path / "changes.csv",
        CASES[kind].inputs["changes"][0],
        "E4,P5,quantity,2",
        "E5,P5,quantity,3",
        "E6,P2,supplier,Eno",
    )
    second = run(kind, tmp_path / "2", "2026-02", inputs, prior=tmp_path / "1" / book)
    # P1 4 x 2.50, P2 30.00, P3 2 x 22.50, P4 1.99, P5 3 x 5.01
    assert second.figures == {
        "Parts": "5",
        "Total cost": "102.02",
        "Largest assembly": "Drive",
        "Largest assembly cost": "60.03",
        "Changes applied": "3",
        "Change from prior": "10.03",
    }
    changed = sheets(tmp_path / "2" / book)["Changes"].records("change_id", "old", "new")
    assert [(str(row["old"]), str(row["new"])) for row in changed] == [("1", "2"), ("2", "3"), ("Bolt", "Eno")]


def test_digests_add_up_over_three_months(tmp_path: Path) -> None:
    kind, book = "records-digest", "Digest.xlsx"
    inputs = write(kind, tmp_path)
    prior = None
    for month, expected in ((1, "2000.00"), (2, "4000.00"), (3, "6000.00")):
        ran = run(kind, tmp_path / str(month), f"2026-0{month}", inputs, prior=prior)
        prior = tmp_path / str(month) / book
        assert ran.figures["Year to date total"] == expected
    year = sheets(tmp_path / "3" / book)["Year to date"].records("category", "year to date")
    assert [(row["category"], str(row["year to date"])) for row in year] == [("Goods", "3000"), ("Travel", "3000")]


def test_minutes_and_evidence_continue(tmp_path: Path) -> None:
    notes = write("meeting-minutes", tmp_path / "m")
    run("meeting-minutes", tmp_path / "m1", "2026-01", notes)
    actions = tmp_path / "m1" / "Actions.csv"
    actions.write_text(
        actions.read_text(encoding="utf-8").replace("Close the period,open", "Close the period,done"), "utf-8"
    )
    notes["notes"] = csv(tmp_path / "feb.csv", CASES["meeting-minutes"].inputs["notes"][0], "N9,note,Dev,Nothing,,")
    second = run("meeting-minutes", tmp_path / "m2", "2026-02", notes, prior=actions)
    assert (second.figures["Carried actions"], second.figures["Overdue actions"]) == ("1", "1")
    sources = write("evidence-log", tmp_path / "e")
    run("evidence-log", tmp_path / "e1", "2026-01", sources)
    log = tmp_path / "e1" / "Evidence log.csv"
    same = run("evidence-log", tmp_path / "e2", "2026-02", sources, prior=log)
    (tmp_path / "e" / "in" / "a.txt").write_text("changed", encoding="utf-8")
    other = run("evidence-log", tmp_path / "e3", "2026-02", sources, prior=log)
    assert (same.figures["Unchanged sources"], other.figures["Changed sources"]) == ("1", "1")


@pytest.mark.parametrize(
    ("period", "overdue"), [("2026-01", "1"), ("2026-01-05", "2"), ("2026-01-12", "3"), ("2025-12-29", "0")]
)
def test_an_action_is_overdue_when_due_before_the_first_day(period: str, overdue: str, tmp_path: Path) -> None:
    header = CASES["meeting-minutes"].inputs["notes"][0]
    dates = ("2025-12-31", "2026-01-04", "2026-01-05")
    actions = [f"A{number},action,Dev,Do it,Dev,{due}" for number, due in enumerate(dates)]
    notes = {"notes": csv(tmp_path / "notes.csv", header, *actions)}
    ran = run("meeting-minutes", tmp_path / "out", period, notes)
    assert (ran.figures["Actions"], ran.figures["Overdue actions"]) == ("3", overdue)
    assert {row["first_period"] for row in rows(tmp_path / "out" / "Actions.csv")} == {period}


def digest(tmp_path: Path) -> Path:
    run("records-digest", tmp_path / "1", "2026-01", write("records-digest", tmp_path))
    return tmp_path / "1" / "Digest.xlsx"


def again(tmp_path: Path, prior: Path) -> tuple[int, str, str]:
    inputs = {"records": tmp_path / "in" / "records.csv"}
    ran = run("records-digest", tmp_path / "2", "2026-02", inputs, prior=prior)
    return ran.code, ran.err, ran.figures.get("Year to date total", "")


def test_a_prior_saved_by_another_program_is_recalculated(tmp_path: Path) -> None:
    """openpyxl drops cached values: SUM, + and references are worked out; rows that people added do not matter."""
    path = digest(tmp_path)
    book = openpyxl.load_workbook(path)
    page = book["Summary"]
    page.insert_rows(1, 2)
    page["A1"] = "Prepared by Daniel"
    page["B8"], page["B9"] = "=SUM(Records!D2:D5)", "=(0.00+B8)*2/2-0"
    page.append(["Checked", "=VLOOKUP(1,A1:B2,2)"])
    book["Year to date"].insert_rows(1)
    for row in (3, 4):
        book["Year to date"][f"D{row}"] = f"=B{row}+C{row}"
    book["Year to date"].append(["Total", "=SUM(D3:D4)"])
    book.move_sheet("Records", -1)
    edited = tmp_path / "edited.xlsx"
    book.save(edited)
    assert again(tmp_path, edited) == (0, "", "4000.00")


@pytest.mark.parametrize(
    ("cell", "value", "words"),
    [
        ("A7", "Something else", "edited.xlsx sheet Summary: no row Year to date total"),
        ("B7", "about 2000", "(Year to date total) column value: 'about 2000' is not an amount"),
        ("B7", "=VLOOKUP(1,A1:B2,2)", "(Year to date total) column value: '=VLOOKUP(1,A1:B2,2)' is not an amount"),
        ("B7", "=B7+1", "(Year to date total) column value: '=B7+1' is not an amount"),
    ],
)
def test_a_prior_without_its_figure_is_refused(tmp_path: Path, cell: str, value: str, words: str) -> None:
    path = digest(tmp_path)
    book = openpyxl.load_workbook(path)
    book["Summary"][cell] = value
    edited = tmp_path / "edited.xlsx"
    book.save(edited)
    code, err, _ = again(tmp_path, edited)
    assert code == 2
    assert words in err


def test_a_damaged_prior_is_refused(tmp_path: Path) -> None:
    path = digest(tmp_path)
    path.write_bytes(path.read_bytes()[:500])
    assert again(tmp_path, path)[:2] == (2, "Digest.xlsx: cannot be opened as a workbook\n")


def test_inputs_may_be_workbooks_too(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    assert book.active is not None
    book.active.append(["Record_ID", "Date", "Category", "Amount", "Note"])
    book.active.append(["R1", "2026-01-02", "Travel", 12.3, None])
    book.save(tmp_path / "records.xlsx")
    ran = run("records-digest", tmp_path / "out", "2026-01", {"records": tmp_path / "records.xlsx"})
    assert ran.figures["Total"] == "12.30"
