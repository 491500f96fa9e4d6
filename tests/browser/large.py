"""An office that has much of everything: a thousand people, a room with ten thousand messages, a workbook of 40 MB."""

from __future__ import annotations

import io
import random
import zipfile

from openpyxl import Workbook

from orchestrator.compose import House
from simulator.events import CalendarRules, DepartmentAdded, OfficeOpened, PersonAdded
from simulator.records import Department, Person
from tests.browser.hostile import Kept, store

NAME = "Large"
PEOPLE, DEPARTMENTS, TRADERS, MESSAGES = 1_000, 20, 12, 10_000
HUGE, MIDDLING = "Documents/all trades.xlsx", "Documents/this year's trades.xlsx"
HUGE_BYTES, MIDDLING_ROWS = 40_000_000, 30_000


def seed(house: House) -> str:
    """Put the office into a house; return its id."""
    world = Kept(house.blobs)
    world.do(OfficeOpened(NAME, "large", 1, "1", CalendarRules(), brief="A large firm.", domain="trade", currency="USD"))
    for n in range(DEPARTMENTS):
        world.do(DepartmentAdded(Department(f"d{n}", f"Department {n}")))
    for n in range(PEOPLE):
        world.do(
            PersonAdded(
                Person(f"p{n}", f"Person Number {n}", "Clerk", department=f"d{n % DEPARTMENTS}", email=f"p{n}@large.example")
            )
        )  # fmt: skip
    traders = tuple(f"p{n}" for n in range(TRADERS))
    room = world.room("Traders", traders)
    for n in range(MESSAGES):
        world.post(room, traders[n * 7 % TRADERS], said(n))
    small = workbook(MIDDLING_ROWS)
    world.keep("p0", MIDDLING, small)
    world.keep("p0", HUGE, padded(small, HUGE_BYTES))
    return store(house.offices, house, NAME, world.events)


def workbook(rows: int) -> bytes:
    """Return a workbook with so many rows."""
    book = Workbook(write_only=True)
    sheet = book.create_sheet("Trades")
    sheet.append(["Trade", "Amount", "Twice"])
    draw = random.Random(1)
    for row in range(2, rows + 2):
        sheet.append([f"T-{draw.getrandbits(64):016x}", draw.randrange(10**9) / 100, f"=B{row}*2"])
    data = io.BytesIO()
    book.save(data)
    return data.getvalue()


def padded(data: bytes, size: int) -> bytes:
    """Return the workbook with a picture in it that brings it to at least that size, as photographs do."""
    held = io.BytesIO(data)
    with zipfile.ZipFile(held, "a") as archive:
        archive.writestr("xl/media/image1.png", random.Random(2).randbytes(size), zipfile.ZIP_STORED)
    return held.getvalue()


def said(number: int) -> str:
    """Return the text of a message."""
    return f"Message number {number} of many"
