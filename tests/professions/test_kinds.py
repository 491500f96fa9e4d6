"""The nine kinds on papers small enough to work out by hand (docs/decisions/0002-work-kinds.md)."""

from __future__ import annotations

import pytest

from services.professions.base import Outcome
from services.professions.registry import profession
from services.professions.views import PriorView, view_from_csv, view_from_workbook
from simulator.errors import UsageError


def compute(
    kind: str, inputs: dict[str, str], prior: PriorView | None = None, period: str = "2026-01", **others: PriorView
) -> Outcome:
    return profession(kind).compute(period, inputs, prior, others)


def book(period: str = "2025-12", **figures: object) -> dict[str, list[list[object]]]:
    rows: list[list[object]] = [["Item", "Value", "Source"], ["Period", period, ""]]
    return {"Summary": rows + [[label.replace("_", " "), value, "x"] for label, value in figures.items()]}


def rows_of(outcome: Outcome, sheet: str) -> list[dict[str, str]]:
    return [dict(row) for table in outcome.tables if table.sheet == sheet for row in table.rows]


# -- finance ----------------------------------------------------------------------------------------------------------

BANK = "date,ref,description,amount\n"
LEDGER = "date,ref,account,description,amount\n"


def test_reconciliation_pairs_clears_and_explains() -> None:
    bank = BANK + (
        "2026-01-02,A,rent,-100.00\n2026-01-03,B,deposit,500.00\n2026-01-04,C,card,95.00\n"
        "2026-01-05,OLD,late deposit,70.00\n2026-01-06,FEE,charges,-2.50\n"
    )
    ledger = LEDGER + (
        "2026-01-02,A,1000,rent,-100.00\n2026-01-03,B,1000,deposit,500.00\n2026-01-04,C,1000,card,100.00\n"
        "2026-01-30,D,1000,cheque,-40.00\n"
    )
    prior = view_from_workbook(
        book(Closing_balance=1000)
        | {
            "Bank only": [
                ["date", "ref", "description", "amount", "treatment"],
                ["2025-12-31", "FEE0", "fee", -1.5, ""],
            ],
            "Ledger only": [["date", "ref", "description", "amount"], ["2025-12-30", "OLD", "late", 70]],
            "Carried": [
                ["ref", "amount", "first period", "cleared"],
                ["X", -9, "2025-10", "no"],
                ["Y", 3, "2025-10", "yes"],
            ],
        }
    )
    credits_ = "ref,vendor,amount,evidence\nCR1,V,10.00,note 1\nCR2,V,20.00,\n"
    outcome = compute("bank-reconciliation", {"bank": bank, "ledger": ledger, "credits": credits_}, prior)
    assert outcome.figures == {
        "Opening balance": "1000.00",
        "Bank total": "562.50",
        "Ledger total": "460.00",
        "Matched total": "400.00",
        "Bank only total": "-2.50",
        "Ledger only total": "-40.00",
        "Carried open total": "-10.50",
        "Unexplained difference": "-5.00",
        "Closing balance": "1562.50",
        "Open items": "6",
    }
    assert [finding.key for finding in outcome.findings] == ["FEE", "D", "FEE0", "X", "C", "CR2"]
    assert {finding.must_cite_in for finding in outcome.findings} == {("Open items.md",)}
    assert rows_of(outcome, "Carried") == [
        {"ref": "OLD", "amount": "70.00", "first period": "2025-12", "cleared": "yes"},
        {"ref": "FEE0", "amount": "-1.50", "first period": "2025-12", "cleared": "no"},
        {"ref": "X", "amount": "-9.00", "first period": "2025-10", "cleared": "no"},
    ]


def test_reconciliation_pairs_a_doubled_charge_only_once() -> None:
    bank = BANK + "2026-01-02,A,debit,-10.00\n2026-01-03,A,debit,-10.00\n"
    outcome = compute("bank-reconciliation", {"bank": bank, "ledger": LEDGER + "2026-01-02,A,1000,debit,-10.00\n"})
    assert (outcome.figures["Matched total"], outcome.figures["Bank only total"]) == ("-10.00", "-10.00")
    assert outcome.figures["Unexplained difference"] == "0.00"
    assert outcome.figures["Open items"] == "1"


def test_a_ledger_row_clears_what_only_the_bank_knew_before() -> None:
    prior = view_from_workbook(
        book(Closing_balance=0) | {"Bank only": [["date", "ref", "description", "amount"], ["2025-12-31", "F", "", -5]]}
    )
    outcome = compute("bank-reconciliation", {"bank": BANK, "ledger": LEDGER + "2026-01-02,F,1000,fee,-5.00\n"}, prior)
    assert outcome.figures["Ledger only total"] == "0.00"
    assert outcome.figures["Unexplained difference"] == "0.00"
    assert outcome.figures["Open items"] == "0"


ACCOUNTS = "account,name,amount\n"


def test_variance_flags_by_share_and_floor_and_takes_cash_from_the_reconciliation() -> None:
    actuals = (
        ACCOUNTS + "1000,Cash,1.00\n4000,Sales,-9400.00\n5000,Cost,5499.99\n6000,Legal,500.00\n6100,Wages,300.00\n"
    )
    budget = (
        ACCOUNTS + "1000,Cash,1000.00\n4000,Sales,-10000.00\n5000,Cost,5000.00\n6000,Legal,0.00\n6200,Rent,500.00\n"
    )
    prior = view_from_workbook(
        book("2025-12", Year_to_date_actual=70) | {"Year to date": [["account", "year to date"], ["7000", 70]]}
    )
    reconciliation = view_from_workbook(book(Closing_balance=1562.5))
    inputs = {"actuals": actuals, "budget": budget}
    outcome = compute("variance-analysis", inputs, prior, reconciliation=reconciliation)
    assert outcome.figures == {
        "Total actual": "-1537.51",
        "Total budget": "-3500.00",
        "Total variance": "1962.49",
        "Flagged accounts": "3",
        "Cash per reconciliation": "1562.50",
        "Year to date actual": "-1537.51",
    }
    assert [finding.key for finding in outcome.findings] == ["1000", "6000", "6200"]
    rows = {row["account"]: row for row in rows_of(outcome, "Accounts")}
    assert (rows["4000"]["percent"], rows["5000"]["percent"], rows["6000"]["percent"]) == ("-6.0", "10.0", "n/a")
    assert rows["5000"]["flag"] == "", "499.99 is below the floor"


def test_a_year_to_date_goes_on_within_a_year_and_starts_anew_in_the_next() -> None:
    inputs = {"actuals": ACCOUNTS + "4000,Sales,5.00\n", "budget": ACCOUNTS}
    sheet: dict[str, list[list[object]]] = {"Year to date": [["account", "year to date"], ["7000", 70]]}
    november = view_from_workbook(book("2025-11", Year_to_date_actual=70) | sheet)
    same_year = compute("variance-analysis", inputs, november, "2025-12")
    assert same_year.figures["Year to date actual"] == "75.00"
    assert [row["account"] for row in rows_of(same_year, "Year to date")] == ["4000", "7000"]
    assert compute("variance-analysis", inputs, november, "2026-01").figures["Year to date actual"] == "5.00"


def test_the_pack_draws_on_both_and_watches() -> None:
    inputs = {"commentary": "topic,note\nSales,good\nCash,thin\n"}
    reconciliation = view_from_workbook(book(Closing_balance=200, Open_items=5))
    variance = view_from_workbook(book(Total_variance=-3.5, Flagged_accounts=2, Year_to_date_actual=12))
    prior = view_from_csv("figure,value,source\nCash,50.00,x\n")
    outcome = compute("management-pack", inputs, prior, reconciliation=reconciliation, variance=variance)
    assert outcome.figures == {
        "Cash": "200.00",
        "Open items": "5",
        "Total variance": "-3.50",
        "Flagged accounts": "2",
        "Year to date actual": "12.00",
        "Change in cash": "150.00",
        "Headline": "watch",
    }
    assert [finding.key for finding in outcome.findings] == ["Sales", "Cash"]
    alone = compute("management-pack", inputs)
    assert (alone.figures["Change in cash"], alone.figures["Headline"]) == ("0.00", "steady")


# -- the other domains ------------------------------------------------------------------------------------------------


def test_contracts_carry_replace_and_drop() -> None:
    head = "clause_id,contract,counterparty,kind,due,amount,text\n"
    clauses = head + (
        "N1,Lease,P,payment,2026-01-31,100.00,pays\nN2,Lease,P,notice,2026-02-01,0.00,gives\n"
        "N3,Lease,P,definition,2026-01-01,0.00,means\nP2,Lease,P,payment,2026-01-05,7.00,DONE: paid\n"
        "P3,Lease,P,delivery,2026-03-01,30.00,as amended\nN1,Lease,P,payment,2026-01-31,110.00,as amended\n"
    )
    columns = ["clause_id", "contract", "counterparty", "kind", "due", "amount", "status"]
    prior = view_from_workbook(
        book()
        | {
            "Obligations": [
                columns,
                ["P1", "Lease", "P", "audit", "2025-12-31", 5, "due"],
                ["P2", "Lease", "P", "payment", "2026-01-05", 7, "later"],
                ["P3", "Lease", "P", "delivery", "2026-01-05", 20, "later"],
            ]
        }
    )
    outcome = compute("contract-review", {"clauses": clauses}, prior)
    assert outcome.figures == {
        "Obligations": "4",
        "Overdue": "1",
        "Due this period": "1",
        "Amount due this period": "110.00",
        "Amount overdue": "5.00",
        "Carried obligations": "1",
    }
    assert [finding.key for finding in outcome.findings] == ["P1", "N1"]
    assert rows_of(outcome, "Carried") == [
        {"clause_id": "P1", "due": "2025-12-31", "amount": "5.00", "status": "overdue"}
    ]


def test_trial_visits_deviate_beyond_their_window_only() -> None:
    visits = "visit_id,subject,site,visit,planned,actual,status\n" + (
        "V1,S1,B,Week 4,2026-01-10,2026-01-12,done\nV2,S1,B,Week 4,2026-01-10,2026-01-13,done\n"
        "V3,S2,B,Week 4,2026-01-10,2026-01-07,done\nV4,S3,B,Week 4,2026-01-11,,missed\n"
        "V5,S4,B,Week 4,2026-01-30,,scheduled\nV0,S5,B,Week 4,2026-01-02,2026-01-20,done\n"
    )
    prior = view_from_csv("visit_id,subject,site,visit,days,kind,first_period\nV0,S5,B,Week 4,,missed,2025-12\n")
    outcome = compute("trial-monitoring", {"visits": visits, "protocol": "visit,window_days\nWeek 4,2\n"}, prior)
    assert outcome.figures == {
        "Visits reviewed": "6",
        "New deviations": "3",
        "Missed visits": "1",
        "Out of window": "2",
        "Carried deviations": "1",
        "Total deviations": "4",
        "Deviation rate": "50.0",
    }
    assert [(row["visit_id"], row["days"], row["kind"], row["first_period"]) for row in outcome.tables[0].rows] == [
        ("V0", "", "missed", "2025-12"),
        ("V2", "3", "late", "2026-01"),
        ("V3", "-3", "early", "2026-01"),
        ("V4", "", "missed", "2026-01"),
    ]


def test_lots_are_carried_until_measured_well() -> None:
    measurements = "record_id,lot,part,feature,value\n" + (
        "M1,L1,p,bore,1.000\nM2,L1,p,bore,2.001\nM3,L2,p,bore,2.000\nM4,L0,p,bore,1.500\nM5,L3,p,bore,0.999\n"
    )
    prior = view_from_workbook(
        book("2025-12")
        | {
            "Measurements": [
                ["record_id", "lot", "status"], ["A", "L0", "nonconforming"], ["B", "L9", "nonconforming"],
                ["C", "L3", "nonconforming"], ["D", "L8", "conforming"],
            ],
            "Carried lots": [["lot", "first period"], ["L7", "2025-10"], ["L3", "2025-09"]],
        }
    )  # fmt: skip
    outcome = compute(
        "inspection-control", {"measurements": measurements, "limits": "feature,lower,upper\nbore,1,2\n"}, prior
    )
    assert outcome.figures == {
        "Measurements": "5",
        "Nonconforming": "2",
        "Lots inspected": "4",
        "Lots rejected": "2",
        "Carried lots": "3",
        "Yield": "60.0",
    }
    assert [finding.key for finding in outcome.findings] == ["M2", "M5"]
    assert rows_of(outcome, "Features") == [
        {"feature": "bore", "n": "5", "minimum": "0.999", "maximum": "2.001", "mean": "1.500", "out": "2"}
    ]
    assert {row["lot"]: row["first period"] for row in rows_of(outcome, "Carried lots")} == {
        "L7": "2025-10",
        "L3": "2025-09",
        "L9": "2025-12",
    }


def test_triage_ranks_carries_and_decides() -> None:
    results = "test_id,component,build,result,ms\n" + (
        "T1,mail,1,fail,5\nT2,sync,1,fail,5\nT3,mail,1,fail,5\nT3,mail,1-r1,pass,5\nT4,mail,1,pass,5\n"
    )
    defects = "defect_id,component,severity,opened,status\n" + (
        "D1,mail,critical,2025-12-01,open\nD2,sync,critical,2025-12-01,closed\nD3,sync,minor,2026-01-01,open\n"
    )
    prior = view_from_csv("item,kind,first_period\nD1,defect,2025-11\nT4,test,2025-11\nD2,defect,2025-12\n")
    outcome = compute("release-triage", {"results": results, "defects": defects}, prior)
    assert outcome.figures == {
        "Tests run": "4",
        "Tests failed": "2",
        "Pass rate": "50.0",
        "Open defects": "2",
        "P1 items": "2",
        "Carried items": "1",
        "Decision": "hold",
    }
    assert [(row["item"], row["priority"], row["first_period"]) for row in outcome.tables[0].rows] == [
        ("T1", "P1", "2026-01"),
        ("T2", "P2", "2026-01"),
        ("D1", "P1", "2025-11"),
        ("D3", "P3", "2026-01"),
    ]


def test_parts_follow_changes_in_order() -> None:
    parts = "part_id,assembly,quantity,unit_cost,supplier\nA,base,2,10.00,S\nB,cover,1,20.00,S\nA,base,3,10.00,S\n"
    changes = "change_id,part_id,field,value\n" + (
        "C1,A,unit_cost,5.00\nC2,A,unit_cost,6.00\nC3,Z,quantity,4\nC4,O,supplier,New & Co\n"
    )
    columns = ["part_id", "assembly", "quantity", "unit_cost", "supplier", "extended"]
    prior = view_from_workbook(
        book(Total_cost=99.5) | {"Parts": [columns, ["O", "cover", 1, 0.5, "S", 0.5], ["B", "cover", 9, 9, "S", 81]]}
    )
    outcome = compute("bill-of-materials", {"parts": parts, "changes": changes}, prior)
    assert outcome.figures == {
        "Parts": "3",
        "Total cost": "38.50",
        "Largest assembly": "cover",
        "Largest assembly cost": "20.50",
        "Changes applied": "3",
        "Change from prior": "-61.00",
    }
    assert [(row["change_id"], row["old"], row["new"]) for row in rows_of(outcome, "Changes")] == [
        ("C1", "10.00", "5.00"),
        ("C2", "5.00", "6.00"),
        ("C3", "unknown", "4"),
        ("C4", "S", "New & Co"),
    ]


def test_ties_go_by_name() -> None:
    records = "record_id,date,category,amount,note\n" + (
        "R1,2026-01-01,Wages,1000.00,x\nR2,2026-01-02,Energy,999.99,x\nR3,2026-01-03,Energy,0.01,x\nR4,2026-01-03,Refunds,-1000.00,x\n"
    )
    prior = view_from_workbook(book("2026-01", Year_to_date_total=10) | {})
    outcome = compute("records-digest", {"records": records}, prior, "2026-02")
    assert outcome.figures == {
        "Records": "4",
        "Total": "1000.00",
        "Largest category": "Energy",
        "Largest category total": "1000.00",
        "Year to date total": "1010.00",
        "Flagged records": "2",
    }
    assert [finding.key for finding in outcome.findings] == ["R1", "R4"]


# -- what is malformed ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "inputs", "words"),
    [
        ("bank-reconciliation", {"bank": BANK}, r"the input 'ledger' \(ledger.csv\) is missing"),
        ("bank-reconciliation", {"bank": "date,ref,amount\n", "ledger": LEDGER}, "bank.csv line 1: .*'description'"),
        ("bank-reconciliation", {"bank": BANK + "2026-01-01,A,x\n", "ledger": LEDGER}, "bank.csv line 2: 3 cells"),
        ("bank-reconciliation", {"bank": BANK + "x" * 140_000, "ledger": LEDGER}, "bank.csv line 2: no CSV reader"),
        ("bank-reconciliation", {"bank": BANK + "2026-01-01,A,x,ten\n", "ledger": LEDGER}, "bank.csv: column 'amount'"),
        (
            "trial-monitoring",
            {
                "visits": "visit_id,subject,site,visit,planned,actual,status\nV,S,B,W,2026-01-01,soon,done\n",
                "protocol": "visit,window_days\nW,1\n",
            },
            "column 'actual' holds no date",
        ),
        (
            "release-triage",
            {
                "results": "test_id,component,build,result,ms\n",
                "defects": "defect_id,component,severity,opened,status\nD,c,awful,2026-01-01,open\n",
            },
            "severity 'awful' is none of",
        ),
        (
            "bill-of-materials",
            {
                "parts": "part_id,assembly,quantity,unit_cost,supplier\nA,b,1.5,2.00,S\n",
                "changes": "change_id,part_id,field,value\n",
            },
            "quantity '1.5'",
        ),
    ],
)
def test_malformed_inputs_are_named(kind: str, inputs: dict[str, str], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        compute(kind, inputs)


def test_a_slip_in_an_accepted_prior_does_not_stop_the_work() -> None:
    """The prior is what somebody accepted, not what the page asks for: what cannot be read counts as nothing."""
    prior = view_from_workbook(
        book(Closing_balance="n/a") | {"Bank only": [["ref", "sum"], ["A", 3]], "Carried": [["ref"], ["B"]]}
    )
    outcome = compute("bank-reconciliation", {"bank": BANK, "ledger": LEDGER}, prior)
    assert set(outcome.figures.values()) == {"0.00", "0"}
    for kind in ("contract-review", "inspection-control", "bill-of-materials", "records-digest", "variance-analysis"):
        work = profession(kind)
        inputs = {spec.name: ",".join(spec.columns) + "\n" for spec in work.inputs}
        nonsense = view_from_workbook(
            {"Summary": [["a"]], **{table.sheet: [["x"], [1]] for table in compute(kind, inputs).tables}}
        )
        assert compute(kind, inputs, nonsense).figures == compute(kind, inputs).figures
