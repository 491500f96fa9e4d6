"""The commands that look: offices, show, log, why, who-can, files. They read; they take no lease."""

from __future__ import annotations

import sys
from pathlib import Path

from orchestrator.accounts import table
from orchestrator.compose import House
from orchestrator.log_hash import log_hash
from orchestrator.moments import office_on
from orchestrator.naming import find_file
from orchestrator.output import Out
from orchestrator.progress import Counts, describe
from orchestrator.provenance import provenance
from orchestrator.tracing import trace
from simulator.access import Subject
from simulator.access import who_can as entitled
from simulator.businesstime import calendar_for
from simulator.carrying import directory
from simulator.engine.history import walk
from simulator.errors import UnknownReference, UsageError
from simulator.office import Office
from simulator.view import view_reference


def offices(house: House, out: Out, action: str, reference: str) -> None:
    """List the offices, or remove one."""
    if action == "rm":
        row = house.row(reference)
        house.offices.remove(row.id)
        out.say(f"{row.name} ({row.id}) is removed. Its files go with the next `officetown doctor --gc`.")
        out.result({"removed": row.id})
        return
    if action != "list":
        raise UsageError(f"There is no `offices {action}`: write `offices` or `offices rm OFFICE`.")
    rows = house.offices.list()
    table = [[r.id, r.name, str(r.head), f"{r.parent}@{r.parent_revision}" if r.parent else ""] for r in rows]
    if rows:
        out.table("", ["id", "name", "events", "forked from"], table)
    else:
        out.say("There is no office yet. Make one: officetown run fixtures/juniper --days 10")
    out.result({"offices": [{"id": r.id, "name": r.name, "revision": r.head} for r in rows]})


def accounts(house: House, out: Out, reference: str) -> None:
    """List people's names, addresses and passwords at the servers that show the office."""
    row = house.row(reference)
    people = directory(house.office(row), row.id)
    rows = table(people, house.password())
    out.table("", ["name", "username", "address", "password"], [list(line) for line in rows])
    out.say("Who plays a role writes as that person: officetown run OFFICE --play PERSON")
    names = ("name", "username", "address", "password")
    out.result({"accounts": [dict(zip(names, line, strict=True)) for line in rows]})


def show(house: House, out: Out, reference: str) -> None:
    """Show an office at a glance."""
    row = house.row(reference)
    counts, office = Counts(), Office()
    reader = house.offices.read(row.id)
    for event, state in walk(reader):
        counts.event(event, state)
        office = state
    calendar = calendar_for(office.calendar)
    out.say(f"{office.name} ({row.id}), {calendar.describe(office.now)}; {office.brief}")
    people = sorted((p for p in office.people.values() if p.kind == "staff"), key=lambda p: (p.department, p.id))
    doing = {p: office.busy.get(p, "") for p in office.people}
    out.table("People", ["id", "name", "title", "department", "reports to", "now"],
              [[p.id, p.name, p.title, p.department, p.manager, doing[p.id]] for p in people])  # fmt: skip
    open_work = [d for d in office.delegations.values() if d.state in ("working", "asking", "submitted", "stopped")]
    rows = [
        [d.id, d.principal, d.work, d.period, d.state, str(len(d.rounds))]
        for d in sorted(open_work, key=lambda d: d.at)
    ]
    if rows:
        out.table("Delegations under way", ["id", "principal", "work", "period", "state", "round"], rows)
    shown = counts.as_json(office)
    out.say("\n" + ", ".join(_counted(key, value) for key, value in shown.items()))
    runs = provenance(reader)
    out.say(f"Run with {_models(runs)}.")
    out.result({"office": row.id, "revision": office.revision, "counts": shown, "runs": runs})


def _models(runs: list[dict[str, object]]) -> str:
    """Say which models an office was run with, those of its last run."""
    models = runs[-1]["models"] if runs else {}
    if not isinstance(models, dict) or not models:
        return "no model yet"
    by: dict[str, list[str]] = {}
    for role, name in models.items():
        by.setdefault(str(name), []).append(str(role))
    return ", ".join(f"{name} ({', '.join(roles)})" for name, roles in by.items())


def _counted(name: str, value: object) -> str:
    if isinstance(value, dict):
        return f"{name}: " + " ".join(f"{number} {kind}" for kind, number in value.items())
    return f"{value} {name}"


def log(house: House, out: Out, reference: str, hash_only: bool, raw: bool) -> None:
    """Print the log: its hash, its stored bytes, or readable lines."""
    row = house.row(reference)
    reader = house.offices.read(row.id)
    if hash_only:
        digest = log_hash(reader)
        out.say(digest)
        out.result({"hash": digest, "revision": row.head})
        return
    if raw:
        for _, data in reader.events():
            sys.stdout.buffer.write(data + b"\n")
        return
    day = ""
    for event, office in walk(reader):
        line = describe(event, office)
        if line:
            calendar = calendar_for(office.calendar)
            if calendar.day(event.sim_time) != day:
                day = calendar.day(event.sim_time)
                out.say(f"\n{calendar.describe(event.sim_time).rsplit(',', 1)[0]}")
            out.say(f"  {calendar.local(event.sim_time):%H:%M}  {line}  [{event.revision}]")


def who_can(house: House, out: Out, reference: str, path: str, on: str) -> None:
    """Say who could see a file version at a moment, and why; who holds a copy of it."""
    row = house.row(reference)
    office = office_on(house.offices.read(row.id), on)
    ref = find_file(office, path)
    file = office.files[ref.file]
    rows = entitled(office, ref)
    out.say(f"{file.space}/{file.path} version {ref.version}, {calendar_for(office.calendar).describe(office.now)}:")
    out.table("", ["who", "why"], [[e.person, e.reason] for e in rows])
    out.result(
        {"file": ref.file, "version": ref.version, "who": [{"person": e.person, "reason": e.reason} for e in rows]}
    )


def files(house: House, out: Out, reference: str, person: str, on: str, output: Path | None) -> None:
    """List what a person can see, by the plain reference loop (RULE 29); with `output`, copy it out."""
    row = house.row(reference)
    office = office_on(house.offices.read(row.id), on)
    if person not in office.people:
        known = ", ".join(sorted(office.people))
        raise UnknownReference(f"Nobody is called {person!r} there. There are: {known}.")
    seen = view_reference(office, Subject(person)).files()
    out.table("", ["path", "version", "class", "why"], [[f.path, str(f.ref.version), f.level, f.reason] for f in seen])
    if output is not None:
        for f in seen:
            target = output / f.path.lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(house.blobs.get(f.blob.sha256))
        out.say(f"{len(seen)} files copied into {output}.")
    out.result(
        {
            "files": [
                {"path": f.path, "version": f.ref.version, "sha256": f.blob.sha256, "reason": f.reason} for f in seen
            ]
        }
    )


def why(house: House, out: Out, reference: str, ref: str) -> None:
    """Say how something came to be: the chain of events back to what started it."""
    row = house.row(reference)
    steps = trace(house.offices.read(row.id), ref)
    for step in steps:
        out.say(f"{step.when}  {step.text}  [{step.revision}]")
    out.result({"chain": [{"revision": s.revision, "text": s.text} for s in steps]})
