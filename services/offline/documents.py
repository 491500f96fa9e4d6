"""The offline generator's seed documents: a handbook, standards, templates, client papers, and records that add up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from typing import Any

import msgspec

from services.offline import ledgers
from services.offline.trades import BY_DOMAIN, Trade
from services.packages.stages import Clients, MaterialDraft, Materials, People, Rhythms, Structure
from simulator.package import ClientCard, MatterCard, Records
from simulator.randomness import Stream

_Row = tuple[str, str, str, Records, str, str]
"""(file, path, text, records, period, ties) of a client's document."""

_STANDARDS = {
    "bank-reconciliation": (
        "Reconciliation",
        "Start from the last accepted reconciliation; its closing balance opens this one.",
        "Match a bank row and a ledger row only when reference and amount agree.",
        "List every row without a partner, with the period it first appeared in, until it clears.",
        "State the difference that remains unexplained, also when it is nil.",
    ),
    "variance-analysis": (
        "Variances",
        "Compare each account with its budget; explain what is large both in share and in amount.",
        "Take cash from the accepted reconciliation, never from the ledger alone.",
        "Carry the year to date forward from the last accepted analysis.",
    ),
    "management-pack": (
        "Management pack",
        "Every figure in the pack is one that an accepted result holds.",
        "The headline follows from the figures; it is not a mood.",
        "Say what changed since the last pack, and by how much.",
    ),
    "contract-review": (
        "Contract review",
        "Keep one register of obligations; carry what is open, close what is shown to be done.",
        "Judge due and overdue against the first day of the period.",
        "Cite the clause for every statement. Definitions are not obligations.",
    ),
    "trial-monitoring": (
        "Monitoring",
        "A visit outside its window is a deviation, early or late; a missed one always is.",
        "Each deviation stays in the log under the period in which it was first seen.",
        "The rate counts new deviations over the visits reviewed, to one decimal.",
    ),
    "inspection-control": (
        "Inspection",
        "A value on the limit conforms; a value beyond it does not, by however little.",
        "One nonconforming value rejects the lot until it is measured again without one.",
        "Name the record, the feature, the value and both limits.",
    ),
    "release-triage": (
        "Release triage",
        "A failing test in a component with an open critical defect comes first.",
        "What is still open keeps the period in which it was first seen.",
        "With an item of the first priority open, the decision is hold.",
    ),
    "bill-of-materials": (
        "Bill of materials",
        "Start from the last accepted bill; apply changes in the order in which they were agreed.",
        "Record the old value and the new. A change to an unknown part is listed, not counted.",
        "Extended cost is a live formula over quantity and unit cost.",
    ),
    "records-digest": (
        "Digests",
        "Every row counts once. Nothing is left out because it is odd.",
        "Large records are named by their id.",
        "The year to date carries forward from the last accepted digest.",
    ),
}
_HANDBOOK = """\
# How {name} works

{placement_free} {people} people, {clients}.

1. A client asks. Whoever leads the matter answers the same day, even if only with a date.
2. The lead makes one request to one owner: the outcome, the materials, the day it is due.
3. The owner delegates bounded parts with inputs, constraints and deliverables written down.
4. The owner opens what comes back; a report about a file is not the file. Accept, ask for a revision, or for what is
missing. 5. Accepted work is shared with the team. Quality signs off what leaves. The lead releases it and tells the
client.

Client papers lie in the client's project under `Inputs`, by period; results under `Results`. What one client told us
is not mentioned to another. Every accepted version stays; an open question stays open until somebody has evidence.
"""
_RELEASE = """\
# Standard: review and release

Reviewing means opening the work itself, recomputing a total, following a figure to its source, and comparing the
inputs with what was received. A decision is *accept*, *revise* (naming the cell or sentence) or *supplement* (naming
what is missing).

Release to a client needs, for exactly the version that is sent: the owner's acceptance, the sign-off of quality, a
class that allows the address, and a person with the authority to release. If one is missing, nothing leaves.
"""
_TEMPLATE = """\
# Working paper: <client>, <period>

Purpose, inputs (file and version of each), who prepared it, and which accepted result it builds on.

## Figures
One line each, `Label: value`, with its source.

## Findings
One line each, with the reference of the record it rests on.

## Open
What is not settled, whom we asked, and when.
"""
_PROFILE = """\
# Client profile: {client}

{client} works in {sector}. {contact} ({title}) is whom we speak to. {style}

What they ask for:
{demands}

{habit} {lead} leads for us; {reviewer} signs off.
"""
_LETTER = """\
# Engagement letter: {client}

Between {firm} and {client}, from {day}, ended by either side with {months} months' notice.

1. **Work.** {work}
2. **Papers.** {client} sends them by the {nth} working day and answers questions within {days} days.
3. **Quality.** Nothing is delivered that a second person has not signed off.
4. **Confidence.** The papers are seen by the team that works on them alone.
5. **Fee.** {fee} {currency} a month, invoiced at its end; extra work by agreement beforehand.
"""
_HABITS = (
    "Papers tend to come late and in two parts.",
    "Records are complete, but references are sometimes typed by hand.",
    "They change their mind by telephone: ask for it in writing.",
    "Figures are sent early and corrected once.",
    "They like short answers and long notice.",
)


def write_materials(facts: Mapping[str, Any], draw: Stream) -> Materials:
    """Return the seed documents of the firm described by the earlier stages."""
    structure = msgspec.convert(facts["structure"], Structure)
    people = msgspec.convert(facts["people"], People)
    clients = msgspec.convert(facts["clients"], Clients)
    rhythms = msgspec.convert(facts["rhythms"], Rhythms)
    period = (date.fromisoformat(facts["start"]).replace(day=1) - timedelta(days=1)).isoformat()[:7]
    files = [*_company(structure, people, clients, rhythms), *_office(structure, people, clients, period, draw)]
    by_id = {client.id: client for client in clients.clients}
    for matter in clients.matters:
        if matter.client:
            files += _client(structure, people, rhythms, matter, by_id[matter.client], period, draw)
    return Materials(tuple(files))


def _company(structure: Structure, people: People, clients: Clients, rhythms: Rhythms) -> Iterator[MaterialDraft]:
    head = next(person.id for person in people.people if person.seat == "head")
    quality = next(person.id for person in people.people if "quality_signoff" in person.authority)
    count = len(clients.clients)
    handbook = _HANDBOOK.format(
        name=structure.name,
        placement_free=f"We are {BY_DOMAIN[structure.domain].firm}.",
        people=len(people.people),
        clients="one client" if count == 1 else f"{count} clients",
    )
    yield MaterialDraft("company/handbook.md", "company", "Handbook.md", head, handbook)
    yield MaterialDraft(
        "company/review-and-release.md", "company", "Standards/Review and release.md", quality, _RELEASE
    )
    yield MaterialDraft("company/working-paper.md", "company", "Templates/Working paper.md", quality, _TEMPLATE)
    for kind in sorted({demand.kind for demand in rhythms.demands} & set(_STANDARDS)):
        title, *rules = _STANDARDS[kind]
        text = f"# Standard: {title.lower()}\n\n" + "".join(f"- {rule}\n" for rule in rules)
        yield MaterialDraft(f"company/{kind}.md", "company", f"Standards/{title}.md", quality, text)


def _office(
    structure: Structure, people: People, clients: Clients, period: str, draw: Stream
) -> Iterator[MaterialDraft]:
    matter = clients.matters[-1]
    space, size = f"matter:{matter.id}", len(people.people)
    balance = ledgers.trial_balance(draw, size)
    yield MaterialDraft(
        "office/trial-balance.csv",
        space,
        "Opening trial balance.csv",
        matter.lead,
        balance,
        matter=matter.id,
        records="trial-balance",
    )
    journal = ledgers.journal(draw, period, 10 + draw.below(8), "J")
    yield MaterialDraft(
        "office/journal.csv",
        space,
        f"Journal {period}.csv",
        matter.lead,
        journal,
        matter=matter.id,
        records="journal",
        period=period,
    )
    names = [person.name for person in people.people][:40]
    hours = ledgers.timesheets(draw, period, names, 30 + draw.below(30))
    yield MaterialDraft(
        "office/timesheets.csv",
        space,
        f"Inputs/{period}/records.csv",
        matter.lead,
        hours,
        matter=matter.id,
        records="timesheets",
        period=period,
    )


def _client(
    structure: Structure,
    people: People,
    rhythms: Rhythms,
    matter: MatterCard,
    client: ClientCard,
    period: str,
    draw: Stream,
) -> list[MaterialDraft]:
    trade, names = BY_DOMAIN[structure.domain], {person.id: person.name for person in people.people}
    asked = [demand for demand in rhythms.demands if demand.matter == matter.id]
    contact = client.contacts[0]
    profile = _PROFILE.format(
        client=client.name,
        sector=client.sector,
        contact=contact.name,
        title=contact.title,
        style=contact.style,
        demands="".join(f"- {_STANDARDS[d.kind][0].lower()}, {d.cadence}\n" for d in asked).rstrip(),
        habit=draw.choice(_HABITS),
        lead=names[matter.lead],
        reviewer=names[matter.members[-1]],
    )
    letter = _letter(structure, client, [f"{_STANDARDS[d.kind][0].lower()} ({d.cadence})" for d in asked], period, draw)
    tables = _tables(structure, trade, client, period, draw)
    drafts: list[_Row] = [
        ("profile.md", "Client profile.md", profile, "", "", ""),
        ("letter.md", "Engagement letter.md", letter, "", "", ""),
    ]
    return [
        MaterialDraft(
            f"{client.id}/{file}",
            f"matter:{matter.id}",
            path,
            matter.lead,
            text,
            "synthetic",
            matter.id,
            "confidential",
            records,
            month,
            ties,
        )
        for file, path, text, records, month, ties in (*drafts, *tables)
    ]


def _letter(structure: Structure, client: ClientCard, work: list[str], period: str, draw: Stream) -> str:
    return _LETTER.format(
        firm=structure.name,
        client=client.name,
        day=f"{period}-{draw.between(1, 28):02d}",
        months=draw.choice(("two", "three", "six")),
        work=f"{', '.join(work)}.".capitalize(),
        nth=draw.choice(("second", "third", "fourth")),
        days=draw.choice(("two", "three", "five")),
        fee=f"{draw.between(12, 90) * 100:,}",
        currency=structure.currency,
    )


def _tables(structure: Structure, trade: Trade, client: ClientCard, period: str, draw: Stream) -> list[_Row]:
    register = ledgers.invoices(draw, period, (client.name,), 3 + draw.below(5), "F")
    tables: list[_Row] = [
        ("fees.csv", f"Fees/Invoices {period}.csv", register, "invoices", period, ""),
        (
            "statement.csv",
            f"Fees/Statement {period}.csv",
            ledgers.statement(register),
            "statement",
            period,
            f"{client.id}/fees.csv",
        ),
    ]
    if structure.domain == "finance":
        balance = ledgers.trial_balance(draw, 20 + draw.below(80))
        tables.append(("trial-balance.csv", "Opening trial balance.csv", balance, "trial-balance", "", ""))
    return tables
