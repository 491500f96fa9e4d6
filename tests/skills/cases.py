"""One small hand-made month of every kind, with the figures worked out by hand."""

from __future__ import annotations

from pathlib import Path

import msgspec

from tests.skills.packs import csv


class Case(msgspec.Struct, frozen=True):
    """Inputs as lines, what the figures must be, the file names, and ids that the prose must cite."""

    inputs: dict[str, tuple[str, ...]]
    figures: dict[str, str]
    files: tuple[str, str]
    cited: tuple[str, ...]
    last_dropped: dict[str, str]


CASES = {
    "bank-reconciliation": Case(
        {
            "bank": (
                "date,ref,description,amount",
                "2026-01-05,D1,Deposit,1000.00",
                "2026-01-06,C2,Card,-42.50",
                "2026-01-09,F3,Fee,-5.00",
                "2026-01-10,X4,Transfer,850.00",
            ),
            "ledger": (
                "date,ref,account,description,amount",
                "2026-01-05,D1,1000,Deposit,1000.00",
                "2026-01-06,C2,1000,Card,-40.00",
                "2026-01-30,L9,1000,Cheque,-300.00",
            ),
            "credits": ("ref,vendor,amount,evidence", "V1,Acme,20.00,", "V2,Acme,30.00,letter 7"),
        },
        {
            "Opening balance": "0.00",
            "Bank total": "1802.50",
            "Ledger total": "660.00",
            "Matched total": "1000.00",
            "Bank only total": "845.00",
            "Ledger only total": "-300.00",
            "Carried open total": "0.00",
            "Unexplained difference": "-2.50",
            "Closing balance": "1802.50",
            "Open items": "5",
        },
        ("Reconciliation.xlsx", "Open items.md"),
        ("F3", "X4", "L9", "C2", "V1"),
        {"Bank total": "952.50", "Bank only total": "-5.00"},
    ),
    "variance-analysis": Case(
        {
            "actuals": (
                "account,name,amount",
                "1000,Cash,900.00",
                "4000,Sales,12000.00",
                "6000,Travel,499.99",
                "6100,Rent,2600.00",
            ),
            "budget": (
                "account,name,amount",
                "1000,Cash,900.00",
                "4000,Sales,13000.00",
                "6100,Rent,2000.00",
                "6200,IT,500.00",
            ),
        },
        {
            "Total actual": "15999.99",
            "Total budget": "16400.00",
            "Total variance": "-400.01",
            "Flagged accounts": "2",
            "Cash per reconciliation": "0.00",
            "Year to date actual": "15999.99",
        },
        ("Variance.xlsx", "Variance memo.docx"),
        ("6100", "6200"),
        {"Total actual": "13399.99"},
    ),
    "management-pack": Case(
        {"commentary": ("topic,note", "Sales,Slow start", "Hiring,Two open posts")},
        {
            "Cash": "0.00",
            "Open items": "0",
            "Total variance": "0.00",
            "Flagged accounts": "0",
            "Year to date actual": "0.00",
            "Change in cash": "0.00",
            "Headline": "steady",
        },
        ("Pack figures.csv", "Management pack.pdf"),
        ("Sales",),
        {},
    ),
    "contract-review": Case(
        {
            "clauses": (
                "clause_id,contract,counterparty,kind,due,amount,text",
                "K1,Lease,Acme,payment,2025-12-31,100.00,Rent",
                "K2,Lease,Acme,payment,2026-01-31,250.50,Rent",
                "K3,Supply,Bolt,notice,2026-01-01,,Notice to renew",
                "K4,Supply,Bolt,renewal,2026-02-01,10.00,Renewal",
                "K5,Supply,Bolt,definition,,,Words",
                "K6,Supply,Bolt,audit,2025-11-01,5.00,Done 2025-12-02",
                "K7,Supply,Bolt,delivery,2026-01-15,40.00,Goods",
            )
        },
        {
            "Obligations": "5",
            "Overdue": "1",
            "Due this period": "3",
            "Amount due this period": "290.50",
            "Amount overdue": "100.00",
            "Carried obligations": "0",
        },
        ("Obligations register.xlsx", "Advice memo.docx"),
        ("K1", "K2", "K3", "K7"),
        {"Obligations": "4", "Amount due this period": "250.50"},
    ),
    "trial-monitoring": Case(
        {
            "visits": (
                "visit_id,subject,site,visit,planned,actual,status",
                "V1,S01,North,Week 1,2026-01-05,2026-01-08,done",
                "V2,S02,North,Week 1,2026-01-05,2026-01-09,done",
                "V3,S03,South,Week 4,2026-01-12,2026-01-04,done",
                "V4,S04,South,Week 4,2026-01-20,,missed",
                "V5,S05,South,Week 4,2026-01-30,,scheduled",
                "V6,S06,South,Week 1,2026-01-30,,missed",
            ),
            "protocol": ("visit,window_days", "Week 1,3", "Week 4,7"),
        },
        {
            "Visits reviewed": "6",
            "New deviations": "4",
            "Missed visits": "2",
            "Out of window": "2",
            "Carried deviations": "0",
            "Total deviations": "4",
            "Deviation rate": "66.7",
        },
        ("Deviation log.csv", "Monitoring report.docx"),
        ("V2", "V3", "V4", "V6"),
        {"Visits reviewed": "5", "Deviation rate": "60.0"},
    ),
    "inspection-control": Case(
        {
            "measurements": (
                "record_id,lot,part,feature,value",
                "M1,L1,P,bore,10.00",
                "M2,L1,P,bore,10.05",
                "M3,L2,P,bore,10.051",
                "M4,L2,P,depth,4.9",
                "M5,L3,P,depth,5.2",
                "M6,L3,P,depth,5.31",
            ),
            "limits": ("feature,lower,upper", "bore,9.95,10.05", "depth,4.7,5.3"),
        },
        {
            "Measurements": "6",
            "Nonconforming": "2",
            "Lots inspected": "3",
            "Lots rejected": "2",
            "Carried lots": "0",
            "Yield": "66.7",
        },
        ("Control workbook.xlsx", "Nonconformance report.md"),
        ("M3", "M6"),
        {"Measurements": "5", "Nonconforming": "1", "Yield": "80.0"},
    ),
    "release-triage": Case(
        {
            "results": (
                "test_id,component,build,result,ms",
                "T1,core,b7,pass,12",
                "T2,core,b7,fail,30",
                "T3,ui,b7,fail,41",
                "T4,ui,b7,pass,9",
                "T5,ui,b7,fail,9",
                "T5,ui,b8,pass,9",
                "T6,net,b8,pass,9",
                "T7,net,b8,fail,9",
            ),
            "defects": (
                "defect_id,component,severity,opened,status",
                "D1,core,critical,2026-01-02,open",
                "D2,ui,critical,2026-01-03,closed",
                "D3,ui,minor,2026-01-04,open",
            ),
        },
        {
            "Tests run": "7",
            "Tests failed": "3",
            "Pass rate": "57.1",
            "Open defects": "2",
            "P1 items": "2",
            "Carried items": "0",
            "Decision": "hold",
        },
        ("Triage.csv", "Release note.md"),
        ("D1", "T2"),
        {"Tests run": "6", "Tests failed": "2"},
    ),
    "bill-of-materials": Case(
        {
            "parts": (
                "part_id,assembly,quantity,unit_cost,supplier",
                "P1,Frame,4,2.50,Acme",
                "P2,Frame,1,30.00,Bolt",
                "P3,Drive,2,20.00,Cog",
                "P4,Case,1,1.99,Cog",
            ),
            "changes": (
                "change_id,part_id,field,value",
                "E1,P1,quantity,6",
                "E2,P9,unit_cost,1.00",
                "E3,P3,unit_cost,22.50",
            ),
        },
        {
            "Parts": "4",
            "Total cost": "91.99",
            "Largest assembly": "Drive",
            "Largest assembly cost": "45.00",
            "Changes applied": "2",
            "Change from prior": "0.00",
        },
        ("BOM.xlsx", "Cost summary.pdf"),
        ("E1", "P1", "E3", "P3"),
        {"Parts": "3", "Total cost": "90.00"},
    ),
    "records-digest": Case(
        {
            "records": (
                "record_id,date,category,amount,note",
                "R1,2026-01-02,Travel,999.99,Rail",
                "R2,2026-01-03,Travel,0.01,Tram",
                "R3,2026-01-04,Goods,-1000.00,Returned",
                "R4,2026-01-05,Goods,2000.00,Stock",
            )
        },
        {
            "Records": "4",
            "Total": "2000.00",
            "Largest category": "Goods",
            "Largest category total": "1000.00",
            "Year to date total": "2000.00",
            "Flagged records": "2",
        },
        ("Digest.xlsx", "Digest note.md"),
        ("R3", "R4"),
        {"Records": "3", "Total": "0.00", "Largest category": "Travel"},
    ),
    "meeting-minutes": Case(
        {
            "notes": (
                "item_id,kind,speaker,text,owner,due",
                "N1,decision,Elena,Three workstreams,,",
                "N2,action,Elena,Find the deposit slip,Daniel,2026-01-20",
                "N3,question,Dev,Is the import complete?,,",
                "N4,action,Dev,Close the period,Dev,2025-12-31",
            )
        },
        {"Decisions": "1", "Actions": "2", "Open questions": "1", "Carried actions": "0", "Overdue actions": "1"},
        ("Minutes.md", "Actions.csv"),
        ("N1", "N2", "N3"),
        {"Actions": "1", "Overdue actions": "0"},
    ),
    "memo-writing": Case(
        {
            "points": (
                "section,text,source",
                "to,Maya Lindqvist,",
                "subject,Deposits of December,",
                "Finding,Deposits do not tie by 850.00,X4",
                "Next,Ask the bank,",
            )
        },
        {"Sections": "2", "Points": "2", "Points without source": "1"},
        ("Memo.docx", "Memo.docx"),
        ("X4",),
        {"Points": "1", "Points without source": "0"},
    ),
    "evidence-log": Case(
        {"sources": ("source_id,file,supports", "E1,a.txt,the deposit", "E2,gone.txt,the fee")},
        {"Sources": "2", "Missing sources": "1", "New sources": "1", "Changed sources": "0", "Unchanged sources": "0"},
        ("Evidence log.csv", "Evidence note.md"),
        ("E1", "E2"),
        {"Sources": "1", "Missing sources": "0"},
    ),
}


def write(kind: str, folder: Path) -> dict[str, Path]:
    """The inputs of a case as files."""
    (folder / "in").mkdir(parents=True, exist_ok=True)
    (folder / "in" / "a.txt").write_text("seen", encoding="utf-8")
    return {name: csv(folder / "in" / f"{name}.csv", *lines) for name, lines in CASES[kind].inputs.items()}
