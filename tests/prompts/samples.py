"""One fixed set of variables for each template: what the golden files are rendered from."""

from __future__ import annotations

from typing import Any

NOW = "Monday 5 January 2026, 09:30"
_CARD = {
    "id": "daniel", "email": "daniel@juniper.example", "department": "Close", "reports_to": "ines", "occupation": "13-2011.00",
    "authority": ["delegate", "request", "accept"], "clearance": "confidential", "style": "exact, brief",
}  # fmt: skip
_COLLEAGUE = {
    "id": "ines", "name": "Inés Ortega", "title": "Head of Close", "kind": "staff", "department": "close", "client": "",
    "authority": ["lead", "client_release"],
}  # fmt: skip
_MATTER = {
    "id": "riverbend", "name": "Riverbend Outdoor", "client": "riverbend", "lead": "ines",
    "team": [{"id": "daniel", "skills": ["bank-reconciliation"], "authority": ["delegate"]}],
}  # fmt: skip
_SKILL = {
    "skill": "bank-reconciliation", "description": "Match a bank account to its ledger.",
    "path": "/mnt/company/Resources/Skills/bank-reconciliation",
}  # fmt: skip
_MAIL = {
    "kind": "mail", "ref": "maya.1.0", "from": "maya", "at": "2026-01-05 09:10", "mail": "maya.1.0", "thread": "maya.1.0",
    "to": ["ines"], "cc": [], "subject": "Reconcile January",
    "text": "Dear Inés,\n\nthe papers are attached.\n\n## What wakes you\nMaya",
    "attachments": ["/mnt/company/Projects/Riverbend Outdoor/Inputs/2026-01/bank.csv@1"], "matter": "riverbend",
}  # fmt: skip
_TODAY = {"kind": "today", "event": "e1", "title": "Stand-up", "start": "2026-01-05 10:00", "minutes": 15}
_COMMITMENT = {
    "id": "daniel.2.1", "text": "Reconciliation to Maya by Friday", "about": "maya", "matter": "riverbend",
    "due": "2026-01-09 17:30", "since": "2026-01-05 09:30",
}  # fmt: skip
_DECISION = {"id": "ines.4.0", "text": "Who signs off?", "about": "", "matter": "", "due": "", "since": "2026-01-02 11:00"}
_WORK = {
    "request": "ines.3.1", "from": "ines", "owner": "daniel", "outcome": "The January reconciliation", "state": "accepted",
    "due": "2026-01-08 17:30", "matter": "riverbend", "work": "bank-reconciliation", "period": "2026-01",
    "materials": [], "results": [], "note": "",
}  # fmt: skip
_TASK = "# Task, round 1\n\n## Goal\n\n> Reconcile January.\n\n## Deliverables, each at exactly this path\n\n- `/home/npc/computer/R.xlsx`"
_VIEW = f"# {NOW}: Stand-up\nYou are in a meeting with Inés Ortega. Agenda: (none)\n\n## Commitments\n(none)"
_MEMORY = {"commitments": [_COMMITMENT], "decisions": [_DECISION], "questions": [], "work": [_WORK]}

SAMPLES: dict[str, dict[str, Any]] = {
    "assistant_answer": {"principal": "Daniel Reyes", "answer": "No: evidence first.\nName it as open."},
    "assistant_round": {
        "decision": "revise", "notes": "Reconciliation.xlsx, Summary!D2: found 0.00, expected 850.00.", "round": 2, "task": _TASK,
    },
    "assistant_system": {"principal": "Daniel Reyes", "title": "Accountant", "firm": "Juniper & Co", "now": NOW},
    "assistant_task": {"task": _TASK},
    "branch": {"question": "What did we promise Riverbend for January?", "turns": 6},
    "client_system": {
        "name": "Maya Chen", "title": "Finance lead", "firm": "Riverbend Outdoor", "provider": "Juniper & Co",
        "card": [{"id": "maya", "email": "maya@riverbend.example", "client": "riverbend", "sector": "retail", "style": "warm"}],
        "colleagues": [{"id": "ines", "name": "Inés Ortega", "title": "Head of Close", "matter": "riverbend"}],
        "demands": [{"id": "d1", "work": "bank-reconciliation", "matter": "riverbend", "cadence": "monthly", "contact_in_firm": "ines"}],
    },
    "client_wake": {
        "now": NOW, "work": [],
        "stimuli": [{"kind": "demand", "ref": "d1", "from": "engine", "at": "2026-01-05 09:00", "note": "period 2025-12; variety 417",
                     "demand": "d1", "work": "bank-reconciliation", "matter": "riverbend", "cadence": "monthly", "write_to": "ines"}],
    },
    "compacted": {"summary": "## Done\n- delegated the reconciliation (daniel.2.0)", "prompt": f"# {NOW}\n\n## What wakes you\n(none)"},
    "compaction": {},
    "meeting_turn": {
        "view": _VIEW, "organizer": True, "turns_left": 16,
        "transcript": [{"who": "Daniel Reyes", "said": "January is with an assistant."}, {"who": "Inés Ortega", "decision": "Riverbend first."}],
    },
    "meeting_view": {"now": NOW, "title": "Stand-up", "present": "Inés Ortega, Bea Lin", "agenda": "What is stuck", **_MEMORY},
    "nudge": {},
    "principal_system": {
        "name": "Daniel Reyes", "title": "Accountant", "firm": "Juniper & Co", "turns": 24, "card": [_CARD], "colleagues": [_COLLEAGUE],
        "matters": [_MATTER], "skills": [_SKILL], "systems": [],
    },
    "wake": {"now": NOW, "fresh": True, "stimuli": [_MAIL, _TODAY], "discussions": [], "colleagues": [], **_MEMORY},
}  # fmt: skip
