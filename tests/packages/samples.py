"""A small sound package as text, to be spoiled in one place at a time."""

from __future__ import annotations

ORGANIZATION = """\
name: Sample
domain: finance
start: 2026-01-05
currency: GBP
calendar:
  zone: Europe/London
  holidays:
    - 2026-04-03
departments:
  - id: books
    name: Books
  - id: quality
    name: Quality
clients:
  - id: acme
    name: Acme
    domain: finance
    contacts:
      - id: wim
        name: Wim
        email: wim@acme.example
  - id: birch
    name: Birch
    contacts:
      - id: bea
        name: Bea
matters:
  - id: acme-books
    name: Acme books
    client: acme
    lead: ana
    members: [ana, bo]
  - id: birch-books
    name: Birch books
    client: birch
    lead: ana
    members: [ana, cy]
"""
ANA = """\
id: ana
name: Ana
title: Head
code: 11-1011.00
department: books
authority: [delegate, request, accept, client_release, lead]
clearance: restricted
skills: [digest]
"""
BO = """\
id: bo
name: Bo
title: Accountant
code: 13-2011.00
department: books
manager: ana
authority: [delegate, accept]
clearance: confidential
skills: [digest]
email: bo@sample.example
"""
CY = """\
id: cy
name: Cy
title: Reviewer
code: 13-1041.00
department: quality
manager: ana
authority: [quality_signoff]
"""
RHYTHMS = """\
entries:
  - id: stand-up
    title: Stand-up
    organizer: ana
    attendees: [ana, bo]
    first: 2026-01-06 09:30
    minutes: 15
    rule: FREQ=WEEKLY;BYDAY=MO
    matter: acme-books
demands:
  - id: acme-digest
    contact: wim
    matter: acme-books
    kind: digest
    cadence: weekly
    day: 2
    jitter_days: 1
"""
MATERIALS = """\
files:
  - file: handbook.md
    path: Handbook.md
    space: company
    owner: ana
    provenance: synthetic
  - file: balance.csv
    path: Opening balance.csv
    space: matter:acme-books
    matter: acme-books
    owner: ana
    level: confidential
    provenance: synthetic
    records: trial-balance
  - file: invoices.csv
    path: Invoices.csv
    space: matter:acme-books
    matter: acme-books
    owner: bo
    provenance: adapted
    records: invoices
    period: 2026-01
  - file: statement.csv
    path: Statement.csv
    space: matter:acme-books
    matter: acme-books
    owner: bo
    provenance: retrieved
    records: statement
    ties: invoices.csv
  - file: journal.csv
    path: Journal.csv
    space: home:bo
    owner: bo
    provenance: synthetic
    records: journal
"""
FILES = {
    "organization.yaml": ORGANIZATION,
    "people/ana.yaml": ANA,
    "people/bo.yaml": BO,
    "people/cy.yaml": CY,
    "rhythms.yaml": RHYTHMS,
    "materials/materials.yaml": MATERIALS,
    "materials/handbook.md": "# Handbook\n",
    "materials/balance.csv": "account,name,debit,credit\n1000,Cash,120.50,0.00\n3000,Capital,0.00,120.50\n",
    "materials/invoices.csv": "invoice,date,party,amount\nA-1,2026-01-03,Oak,10.00\nA-2,2026-01-09,Elm,20.05\n",
    "materials/statement.csv": "invoice,date,amount\nA-1,2026-01-03,10.00\nA-2,2026-01-09,20.05\n",
    "materials/journal.csv": (
        "date,ref,account,description,debit,credit\n2026-01-02,J1,1000,a,5.00,0.00\n2026-01-02,J1,3000,a,0.00,5.00\n"
    ),
    "skills/digest/SKILL.md": "---\nname: digest\ndescription: Digests records.\n---\nRun the script.\n",
    "skills/digest/scripts/digest.py": "#!/usr/bin/env python3\nprint('{}')\n",
    "provenance.json": "{}\n",
}


def sample() -> dict[str, bytes]:
    """Return the files of the sound package."""
    return {path: text.encode() for path, text in FILES.items()}


def spoiled(file: str, old: str, new: str) -> dict[str, bytes]:
    """Return the sample with the one place `old` of a file replaced."""
    assert FILES[file].count(old) == 1, f"{old!r} is not once in {file}"
    return {**sample(), file: FILES[file].replace(old, new).encode()}
