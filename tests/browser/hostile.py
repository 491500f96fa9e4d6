"""An office in which every text tries to become a script: names, titles, files, messages, mails, meetings, work, memory."""

from __future__ import annotations

import time

from orchestrator.compose import House
from services.storage.journal import Offices
from services.storage.statements import INSERT_EVENTS
from simulator.canonical import sha256
from simulator.events import (
    CalendarRules,
    ClientAdded,
    DepartmentAdded,
    Event,
    FileSaved,
    MatterOpened,
    OfficeOpened,
    Payload,
    PersonAdded,
)
from simulator.office import Office
from simulator.ports import BlobStore
from simulator.records import Client, Department, FileRef, FileVersion, Matter, Person
from tests.access.world import World

IMAGE = '<img src=x onerror="window.pwned=1">'
SCRIPT = "<script>window.pwned=1</script>"
TEMPLATE = "{{constructor.constructor('window.pwned=1')()}}"
BREAKOUT = '"></span><svg onload=window.pwned=1>'
MARKDOWN = "[click](javascript:window.pwned=1) ![](x\" onerror=\"window.pwned=1)"
EVERY = f"{IMAGE}{SCRIPT}{TEMPLATE}{BREAKOUT}{MARKDOWN}"
PAGE = f"<html><body onload='window.pwned=1'>{EVERY}</body></html>"
NAME = "Hostile & <b>Sons</b>"
PLOT = "<b>plot</b>"


class Kept(World):
    """A world that keeps its events, and its bytes in a store."""

    def __init__(self, blobs: BlobStore) -> None:
        super().__init__()
        self.blobs = blobs
        self.events: list[bytes] = []

    def do(self, payload: Payload, actor: str = "engine") -> Office:
        event = Event(self.office.revision + 1, self.now, actor, "genesis", payload)  # type: ignore[arg-type]
        self.events.append(event.encode())
        return super().do(payload, actor)

    def keep(self, owner: str, path: str, data: bytes) -> FileRef:
        file = self.id(owner)
        version = FileVersion(1, self.blobs.put(data), "text/html", owner, "genesis", self.now, "internal")
        self.do(FileSaved(file, f"home:{owner}", path, owner, "", version), owner)
        return FileRef(file, 1)


def seed(house: House) -> str:
    """Put the office into a house; return its id."""
    world = Kept(house.blobs)
    world.do(OfficeOpened(NAME, "hostile", 1, "1", CalendarRules(), brief=EVERY, domain=EVERY[:60], currency="USD"))
    world.do(DepartmentAdded(Department("d", f"Dept {EVERY}")))
    authority = ("delegate", "request", "accept", "lead", "classify", "client_release", "quality_signoff")
    for who in ("eve", "mallory"):
        world.do(
            PersonAdded(
                Person(who, f"{who} {EVERY}", f"Title {EVERY}", department="d", authority=authority, clearance="restricted",
                       email=f"{who}@hostile.example", style=EVERY)
            )
        )  # fmt: skip
    world.do(ClientAdded(Client("c", f"Client {EVERY}")))
    world.do(PersonAdded(Person("carl", f"Carl {EVERY}", "Owner", "client", client="c", email="carl@c.example")))
    world.do(MatterOpened(Matter("m", f"Matter {EVERY}", "c", "eve", ("eve", "mallory"))))
    refs = [
        world.keep("eve", f"Documents/{IMAGE}.md", f"# {EVERY}\n\n{MARKDOWN}\n".encode()),
        world.keep("eve", f"Documents/{TEMPLATE}.html", PAGE.encode()),
        world.keep("eve", f"Documents/{PLOT}.svg", f"<svg xmlns='http://www.w3.org/2000/svg' onload='window.pwned=1'>{SCRIPT}</svg>".encode()),
        world.keep("eve", "Documents/table.csv", f'a,b\n"{IMAGE}",=cmd()\n'.encode()),
    ]  # fmt: skip
    world.share(refs[0], "everyone")
    room = world.room(f"Room {EVERY}", ("eve", "mallory"), "m")
    for text in (IMAGE, SCRIPT, TEMPLATE, BREAKOUT, MARKDOWN):
        world.post(room, "eve", f"Message {text}", refs[:1])
        world.mail("carl", ["eve"], f"Subject {text}", matter="m", external=True, text=f"Body {text}")
        world.note("eve", "commitment", f"Memory {text}")
    entry = world.meet("eve", ("eve", "mallory"), f"Meeting {EVERY}", "m")
    world.held(entry, refs[0], ("eve", "mallory"))
    world.request("mallory", "eve", f"Request {EVERY}", "m", refs[:1])
    world.delegate("eve", f"Goal {EVERY}", "m", refs[:1], work=EVERY[:40], period=IMAGE, deliverables=(f"{IMAGE}.xlsx",))
    return store(house.offices, house, NAME, world.events)


def store(offices: Offices, house: House, name: str, events: list[bytes]) -> str:
    """Put an office with these events into a house; return its id."""
    with house.database.writing() as connection:
        office = offices.insert(connection, name, sha256(name.encode()), 1, "1", int(time.time()), head=len(events))
        rows = [{"office": office, "revision": n, "data": data} for n, data in enumerate(events, 1)]
        connection.execute(INSERT_EVENTS, rows)
    return office


def texts() -> tuple[str, ...]:
    """Return what must be readable as it is, wherever it is shown."""
    return (IMAGE, SCRIPT, TEMPLATE)
