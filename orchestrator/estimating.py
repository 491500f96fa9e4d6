"""`estimate`: what so many days of a package would take in calls, tokens and money, from what was recorded before.

The basis is told with the numbers: offices of the same package, else any offices here, else the small table below.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta

import msgspec

from orchestrator.compose import House
from orchestrator.connecting import OFFICE
from orchestrator.costs import Used
from orchestrator.output import Out
from orchestrator.provenance import provenance
from orchestrator.settings import ModelSettings
from services.models.ledger import money
from services.storage.journal import OfficeRow
from services.storage.reader import JournalReader
from simulator.businesstime import BusinessCalendar, calendar_for
from simulator.conversation import Role, Usage
from simulator.engine.history import as_of
from simulator.errors import OfficeTownError
from simulator.package import Organization


class Rate(msgspec.Struct):
    """What a role used in how many person-days: working days of its people, contacts being a client's people."""

    used: Used
    person_days: int


class Basis(msgspec.Struct, frozen=True):
    """What an estimate rests on, in words; the offices it was counted in; the rate of each role."""

    text: str
    offices: tuple[str, ...]
    rates: dict[str, Rate]


SHIPPED = Basis(
    "no office has worked here yet, so a small table measured once: the example firm Juniper, 12 people and 3 contacts "
    "for 10 working days, played by the offline professional, which is no model and answers briefly",
    (),
    {
        "principal": Rate(Used(calls=558, input=2_761_665, output=26_671), 120),
        "client": Rate(Used(calls=66, input=79_836, output=11_708), 30),
        "assistant": Rate(Used(calls=79, input=182_493, output=6_153), 120),
    },
)


class Line(msgspec.Struct, frozen=True):
    """What a role is expected to take. `micros` is None where the model has no price."""

    role: Role
    model: str
    used: Used
    micros: int | None


def estimate(house: House, out: Out, path: str, days: int) -> dict[str, object]:
    """Show what `days` calendar days of a package would take; return what `--json` prints."""
    package = house.package(path)
    organization = package.organization
    working = working_days(calendar_for(organization.calendar), organization.start, days)
    basis = _basis(house, package.digest)
    found = [
        _line(house, role, basis.rates[role], working * _count(role, len(package.people), organization))
        for role in OFFICE
        if role in basis.rates and basis.rates[role].used.calls
    ]
    out.say(
        f"{organization.name}: {days} days, {working} of them working days, {len(package.people)} people.\n"
        f"Basis: {basis.text}."
    )
    result = _told(out, found, organization.currency)
    result |= {"days": days, "working_days": working, "basis": {"text": basis.text, "offices": list(basis.offices)}}
    out.result(result)
    return result


def _told(out: Out, found: Sequence[Line], currency: str) -> dict[str, object]:
    """Show the lines and their sum; return both for programs."""
    fields = ("calls", "input", "cached", "output")
    total = {field: sum(getattr(line.used, field) for line in found) for field in fields}
    unknown = sorted({line.model for line in found if line.micros is None})
    micros = None if unknown else sum(line.micros or 0 for line in found)
    rows = [
        [line.role, line.model, *(str(getattr(line.used, field)) for field in fields), _money(line.micros)]
        for line in found
    ]
    out.table(
        "", ["role", "model", *fields, currency], [*rows, ["in all", "", *map(str, total.values()), _money(micros)]]
    )
    if unknown:
        out.say(f"Money is unknown: there is no price for {', '.join(unknown)}.")
    return {
        "roles": {
            line.role: {"model": line.model, **{field: getattr(line.used, field) for field in fields}, "micros": line.micros}
            for line in found
        },
        "calls": total["calls"],
        "tokens": {field: total[field] for field in fields[1:]},
        "cost": {"micros": micros, "currency": currency},
    }  # fmt: skip


def _money(micros: int | None) -> str:
    return "unknown" if micros is None else money(micros)


def _line(house: House, role: Role, rate: Rate, person_days: int) -> Line:
    def scaled(amount: int) -> int:
        return -(-amount * person_days // rate.person_days)

    used = Used(**{field: scaled(getattr(rate.used, field)) for field in ("calls", "input", "cached", "output")})
    return Line(role, house.model_name(role), used, _cost(house.settings.of(role), used))


def _cost(settings: ModelSettings, used: Used) -> int | None:
    if settings.offline:
        return 0
    if settings.prices is None:
        return None
    return settings.prices.cost(Usage(input=used.input, cached=used.cached, output=used.output))


def _count(role: Role, staff: int, organization: Organization) -> int:
    """Return how many people a role's calls grow with."""
    return sum(len(client.contacts) for client in organization.clients) if role == "client" else staff


def working_days(calendar: BusinessCalendar, first: date, days: int) -> int:
    """Return how many of `days` calendar days from `first` on are working days."""
    return sum(calendar.is_business_day((first + timedelta(days=n)).isoformat()) for n in range(days))


# -- what was recorded ------------------------------------------------------------------------------------------------


def _basis(house: House, digest: str) -> Basis:
    """Return the offices of the same package that have worked, else all that have, else the shipped table."""
    rows = house.offices.list()
    for same, chosen in ((True, [r for r in rows if r.package_sha256 == digest]), (False, rows)):
        rates: dict[str, Rate] = {}
        counted = [row.id for row in chosen if _counted(house, row, rates)]
        if counted:
            most = max(rate.person_days for rate in rates.values())
            whose = "this very package" if same else "other packages, none having been run of this one"
            many = "1 office" if len(counted) == 1 else f"{len(counted)} offices"
            text = f"the record of {many} of {whose}: {most} person-days, played by {_played(house, counted)}"
            return Basis(text, tuple(counted), rates)
    return SHIPPED


def _counted(house: House, row: OfficeRow, rates: dict[str, Rate]) -> bool:
    """Add what an office has used to the rates. False where it has not worked, or cannot be read any more."""
    reader = house.offices.read(row.id)
    own = _used(reader)
    if not own:
        return False
    try:
        office = as_of(reader)
    except OfficeTownError:
        # An office that this version cannot read is no reason to refuse a guess: others, or the table, serve as well.
        return False
    calendar = calendar_for(office.calendar)
    # A fork's first days are its parent's, and so are the calls that it kept of them: both are counted.
    first, last = (date.fromisoformat(calendar.day(t)) for t in (office.opened_at, office.now))
    days = working_days(calendar, first, (last - first).days + 1)
    people = {kind: sum(person.kind == kind for person in office.people.values()) for kind in ("staff", "client")}
    for role in OFFICE:
        person_days = days * people["client" if role == "client" else "staff"]
        if person_days:
            rate = rates.setdefault(role, Rate(Used(), 0))
            rate.person_days += person_days
            _add(rate.used, own.get(role, Used()))
    return bool(rates)


def _used(reader: JournalReader) -> dict[str, Used]:
    """Return what an office's answered calls have used, by role."""
    by: dict[str, Used] = {}
    for line in reader.ledger():
        if line.state == "answered":
            by.setdefault(line.role, Used()).add(line)
    return by


def _add(total: Used, more: Used) -> None:
    for field in Used.__struct_fields__:
        setattr(total, field, getattr(total, field) + getattr(more, field))


def _played(house: House, offices: Sequence[str]) -> str:
    """Say which models the offices were run with."""
    names: set[str] = set()
    for office in offices:
        for run in provenance(house.offices.read(office)):
            models = run["models"]
            names |= set(map(str, models.values())) if isinstance(models, dict) else set()
    told = {"offline": "the offline professional, which is no model and answers briefly"}
    return ", ".join(told.get(name, name) for name in sorted(names)) or "models that were not noted"
