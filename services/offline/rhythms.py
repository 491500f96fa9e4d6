"""The offline generator's rhythms: when a firm meets, and what its clients ask for how often."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any, Literal

import msgspec

from services.offline.trades import BY_DOMAIN
from services.packages.stages import Clients, People, Rhythms, Structure
from simulator.package import DemandCard, MatterCard, RhythmCard
from simulator.randomness import Stream

Cadence = Literal["monthly", "fortnightly", "weekly"]
_DAYS = ("MO", "TU", "WE", "TH", "FR")
_TEAM_AT_A_STAND_UP = 7
_WORDS = {
    "bank-reconciliation": "reconciliation",
    "variance-analysis": "variance",
    "management-pack": "pack",
    "contract-review": "contracts",
    "trial-monitoring": "monitoring",
    "inspection-control": "inspection",
    "release-triage": "release",
    "bill-of-materials": "parts",
    "records-digest": "digest",
}
_CHAIN = {"bank-reconciliation": 2, "variance-analysis": 6, "management-pack": 10}
"""Work that follows from other work: the business day of the month on which it is first asked for."""


def write_rhythms(facts: Mapping[str, Any], draw: Stream) -> Rhythms:
    """Return the recurring entries and demands of the firm described by the earlier stages."""
    structure = msgspec.convert(facts["structure"], Structure)
    clients = msgspec.convert(facts["clients"], Clients)
    people = msgspec.convert(facts["people"], People)
    start = date.fromisoformat(facts["start"])
    matters = [matter for matter in clients.matters if matter.client]
    entries = []
    for matter in matters:
        entries.append(_stand_up(matter, start, draw))
        entries.append(_month_end(matter, start, draw))
    entries.append(_review(clients, people, start, draw))
    entries.append(_digest(clients, start, draw))
    contacts = {client.id: client.contacts[0].id for client in clients.clients}
    kinds = [kind for kind in BY_DOMAIN[structure.domain].kinds if kind in facts["kinds"]]
    demands = [demand for matter in matters for demand in _demands(matter, contacts[matter.client], kinds, draw)]
    return Rhythms(tuple(entries), tuple(demands))


def _time(draw: Stream, first: int, last: int) -> str:
    """A time of day between two hours, in quarters."""
    minutes = 15 * draw.between(4 * first, 4 * last)
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


def _stand_up(matter: MatterCard, start: date, draw: Stream) -> RhythmCard:
    """A short daily or thrice-weekly meeting; in a large team the lead asks in the room instead."""
    meets = len(matter.members) <= _TEAM_AT_A_STAND_UP
    days = ",".join(draw.choice((_DAYS, ("MO", "WE", "FR"), ("TU", "TH"))))
    return RhythmCard(
        id=f"stand-up-{matter.client}",
        title=f"{matter.name} {'stand-up' if meets else 'status round'}",
        organizer=matter.lead,
        attendees=matter.members if meets else (matter.lead,),
        first=f"{start + timedelta(days=1)} {_time(draw, 9, 10)}",
        minutes=15,
        kind="meeting" if meets else "rhythm",
        agenda="What is done, what is next, what is stuck.",
        rule=f"FREQ=WEEKLY;BYDAY={days}",
        matter=matter.id,
    )


def _month_end(matter: MatterCard, start: date, draw: Stream) -> RhythmCard:
    later = (start.replace(day=1) + timedelta(days=32)).replace(day=1)
    return RhythmCard(
        id=f"close-{matter.client}",
        title=f"{matter.name} month-end",
        organizer=matter.lead,
        attendees=tuple(dict.fromkeys((*matter.members[: _TEAM_AT_A_STAND_UP - 1], matter.members[-1]))),
        first=f"{later} {_time(draw, 13, 16)}",
        minutes=30,
        agenda="What the month still lacks, who does it by when, what the client must be asked.",
        rule=f"FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS={draw.between(1, 4)}",
        matter=matter.id,
    )


def _review(clients: Clients, people: People, start: date, draw: Stream) -> RhythmCard:
    head = next(person.id for person in people.people if person.seat == "head")
    reviewers = [person.id for person in people.people if "quality_signoff" in person.authority]
    day = draw.between(0, 4)
    around = tuple(dict.fromkeys((head, *(matter.lead for matter in clients.matters if matter.client), *reviewers)))
    return RhythmCard(
        id="weekly-review",
        title="Weekly review",
        organizer=head,
        attendees=around[:12],
        first=f"{start + timedelta(days=day)} {_time(draw, 14, 16)}",
        minutes=45,
        agenda="Promises due next week, work in review, open questions. No client's figures in this room.",
        rule=f"FREQ=WEEKLY;BYDAY={_DAYS[day]}",
    )


def _digest(clients: Clients, start: date, draw: Stream) -> RhythmCard:
    office = clients.matters[-1]
    doer = office.members[1] if len(office.members) > 1 else office.lead
    return RhythmCard(
        id="time-digest",
        title="Digest of time records",
        organizer=doer,
        attendees=(doer,),
        first=f"{start + timedelta(days=7)} {_time(draw, 10, 12)}",
        minutes=30,
        kind="rhythm",
        agenda=f"Digest the time records among the Inputs of {office.name}.",
        rule=f"FREQ={draw.choice(('WEEKLY', 'WEEKLY;INTERVAL=2'))};BYDAY=MO",
        matter=office.id,
        work="records-digest",
    )


def _demands(matter: MatterCard, contact: str, kinds: list[str], draw: Stream) -> list[DemandCard]:
    found = []
    cadence: Cadence
    for kind in kinds:
        if kind in _CHAIN:
            cadence, day = "monthly", _CHAIN[kind] + draw.between(0, 2)
        elif kind == "records-digest":
            cadence, day = draw.choice(("weekly", "weekly", "fortnightly")), draw.between(1, 4)
        else:
            cadence, day = draw.choice(("fortnightly", "monthly", "weekly")), draw.between(1, 4)
        found.append(
            DemandCard(
                id=f"{matter.client}-{_WORDS[kind]}",
                contact=contact,
                matter=matter.id,
                kind=kind,
                cadence=cadence,
                day=day,
                jitter_days=draw.between(0, 2),
            )
        )
    return found
