"""The servers that show an office while it runs, and the people who play roles in it (DESIGN 9, RULE 4)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack

import msgspec

from orchestrator.output import Out
from services.carriers.desk import Carriers, Desk
from services.storage.outbox import Outbox
from services.storage.writer import StoredJournal
from simulator.carrying import Projection
from simulator.engine.history import as_of, walk
from simulator.engine.inbound import GIVE_BACK, TAKE_OVER, Doorstep
from simulator.engine.loop import Engine
from simulator.errors import UsageError
from simulator.office import Office
from simulator.ports import InboundItem, OutboxItem

Connector = Callable[[ExitStack, StoredJournal, Callable[[], Desk]], Carriers]
"""Makes the carriers of an office; what must be closed again goes onto the stack. The desk is there once they are used."""


class Shown(msgspec.Struct, frozen=True):
    """How an office is shown while it runs. `connect` None is without any server; `play` are people's ids or names."""

    connect: Connector | None = None
    play: tuple[str, ...] = ()
    poll_s: float = 5.0


class Running(msgspec.Struct, frozen=True):
    """An office that runs: its engine, its carriers' desk and its outbox."""

    engine: Engine
    desk: Desk
    outbox: Outbox


def carried_over(journal: StoredJournal, projection: Projection) -> Office:
    """Return the office as it is committed. What its servers have not been given yet is in the outbox afterwards: all of
    it, for a server that is new to an office which ran without it for months."""
    if not projection.targets:
        return as_of(journal)
    office = Office()
    items: list[OutboxItem] = []
    for event, office in walk(journal):  # noqa: B007 - the last one is returned
        items.extend(item for item in projection(event, office) if "/" in item.key.split(":", 1)[0])
    journal.enqueue(items)
    return office


def roles_played(office: Office, play: Sequence[str], door: Doorstep) -> tuple[str, ...]:
    """Lay on the doorstep that people take over the roles in `play`, and give back what nobody plays any more (RULE 4).

    Return the ids of those who are played. Raises UsageError for a name that is nobody's here.
    """
    played = tuple(dict.fromkeys(_person(office, name) for name in play))
    for person in played:
        if person not in office.held:
            door.put(InboundItem(f"play:{person}:{office.revision}", person, TAKE_OVER))
    for person, _ in sorted(office.held.items()):
        if person not in played:
            door.put(InboundItem(f"play:{person}:{office.revision}", person, GIVE_BACK))
    return played


def _person(office: Office, name: str) -> str:
    wanted = name.strip().casefold()
    people = sorted((p for p in office.people.values() if p.active), key=lambda p: p.id)
    found = [p.id for p in people if wanted in (p.id, p.name.casefold(), p.email.casefold())]
    if not found:
        raise UsageError(f"Nobody in {office.name} is called {name!r}. There are: {', '.join(p.id for p in people)}.")
    return found[0]


def tell(out: Out, running: Running) -> None:
    """Say what could not be delivered or read, and what to do; nothing where all is well."""
    lanes = running.outbox.lanes()
    waiting = sum(lane.waiting for lane in lanes)
    if waiting:
        latest = next((lane.last_error for lane in lanes if lane.last_error), "it is not yet its turn")
        out.say(f"{waiting} things wait to be delivered ({latest}). The next run of this office tries again.")
    for standing in running.desk.standing():
        if standing.fault:
            out.say(f"{standing.server}: {standing.fault}")
    for remark in running.desk.remarks:
        out.say(f"Not let in: {remark}")
