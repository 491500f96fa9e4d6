"""`costs`: what an office's calls have used, by role, person, task and day (DESIGN 10)."""

from __future__ import annotations

import msgspec

from orchestrator.compose import House
from orchestrator.output import Out
from services.models.ledger import money
from services.storage.reader import JournalReader
from services.storage.tape import LedgerLine
from simulator.businesstime import calendar_for
from simulator.events import ActivationStarted, decode
from simulator.office import Office
from simulator.records import Running


class Used(msgspec.Struct):
    """A sum of calls. Tokens as providers count them; money in millionths, what has no answer at its worst case."""

    calls: int = 0
    input: int = 0
    cached: int = 0
    output: int = 0
    reasoning: int = 0
    micros: int = 0

    def add(self, line: LedgerLine) -> None:
        """Add one call."""
        self.calls += 1
        self.input += line.input_tokens
        self.cached += line.cached_tokens
        self.output += line.output_tokens
        self.reasoning += line.reasoning_tokens
        self.micros += line.charged_micros


def costs(house: House, out: Out, reference: str) -> dict[str, object]:
    """Show what an office has used; return what `--json` prints."""
    row = house.row(reference)
    reader = house.offices.read(row.id)
    office = house.office(row)
    total, by = _sums(reader, office)
    out.say(f"{office.name} ({row.id}): {total.calls} model calls, {money(total.micros)} {office.currency}")
    for what, groups in by.items():
        rows = [
            [name, str(u.calls), str(u.input), str(u.cached), str(u.output), money(u.micros)]
            for name, u in sorted(groups.items(), key=lambda g: (-g[1].micros, -g[1].input, g[0]))
        ]
        out.table(f"\nBy {what}", [what, "calls", "input", "cached", "output", office.currency], rows)
    result: dict[str, object] = {
        "office": row.id,
        "cost": {"micros": total.micros, "currency": office.currency},
        "calls": total.calls,
        "tokens": {"input": total.input, "cached": total.cached, "output": total.output, "reasoning": total.reasoning},
        **{
            f"by_{what}": {name: msgspec.structs.asdict(u) for name, u in groups.items()} for what, groups in by.items()
        },
    }
    out.result(result)
    return result


def _sums(reader: JournalReader, office: Office) -> tuple[Used, dict[str, dict[str, Used]]]:
    started: dict[str, Running] = {}
    for _, data in reader.events():
        payload = decode(data).payload
        if isinstance(payload, ActivationStarted):
            started[payload.running.id] = payload.running
    calendar = calendar_for(office.calendar)
    total = Used()
    by: dict[str, dict[str, Used]] = {"role": {}, "person": {}, "task": {}, "day": {}}
    for line in reader.ledger():
        running = started.get(line.activation)
        places = {"role": line.role, "person": _person(line, running, office)}
        if running is not None:
            places["day"] = calendar.day(running.at)
            if running.kind == "segment":
                places["task"] = running.ref
        total.add(line)
        for what, name in places.items():
            by[what].setdefault(name, Used()).add(line)
    return total, by


def _person(line: LedgerLine, running: Running | None, office: Office) -> str:
    """Return whose call it was: an assistant's is its principal's."""
    if running is not None and running.kind == "segment":
        return office.delegations[running.ref].principal
    session = line.session.partition("/")[0]
    for person in office.people.values():
        if person.session == session:
            return person.id
    return session
