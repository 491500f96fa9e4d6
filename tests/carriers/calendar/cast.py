"""The people, events and servers of these tests."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx

from services.carriers.caldav import CalDav, Server
from services.carriers.caldav.client import Dav
from services.carriers.radicale import RadicaleServer
from simulator.arriving import EntryArrived, Polled
from simulator.businesstime import BusinessCalendar
from simulator.carrying import Account, Directory, EntryOut
from simulator.records import CalendarEntry

ELENA = Account("elena", "Elena Weiß", "elena", "elena@juniper.example", title="Partner")
TOM = Account("tom", 'Tom "T", Jr; QA', "tom", "Tom@juniper.example")
MAYA = Account("maya", "Maya", "maya", "maya@juniper.example")
CLIENT = Account("cora", "Cora", "cora", "cora@client.example", staff=False)
PEOPLE = Directory("juniper-1", "Juniper", "Europe/London", (CLIENT, ELENA, MAYA, TOM))
MONDAY = int(datetime(2026, 1, 5, 9, tzinfo=UTC).timestamp())
"""The office's first morning."""
DAY, HOUR = 86_400, 3_600


def at(day: str, clock: str = "10:00") -> int:
    """An instant in UTC."""
    return int(datetime.fromisoformat(f"{day}T{clock}:00+00:00").timestamp())


def entry(name: str = "elena.1.1", **changes: Any) -> CalendarEntry:
    """A meeting of Elena's with Tom and Maya."""
    values: dict[str, Any] = {
        "id": name, "title": "Plan the audit", "organizer": "elena", "attendees": ("tom", "maya"),
        "start": at("2026-01-08"), "minutes": 45, "agenda": "1. Scope\n2. People",
    }  # fmt: skip
    return CalendarEntry(**{**values, **changes})


def out(sequence: int = 10, origin: str = "", name: str = "elena.1.1", **changes: Any) -> EntryOut:
    """That meeting as it leaves the office."""
    return EntryOut(entry(name, **changes), sequence, origin, MONDAY + sequence)


def password_of(username: str) -> str:
    return f"secret of {username}"


def entries(polled: Polled) -> list[EntryArrived]:
    """The arrivals of a poll, which are of calendars alone."""
    return [a for a in polled.arrivals if isinstance(a, EntryArrived)]


class Desk:
    """A Radicale with the office's carrier, and a hand to write into anybody's calendar."""

    def __init__(self, folder: Path, people: Directory = PEOPLE, business: BusinessCalendar | None = None) -> None:
        self.people = people
        self.business = business
        self.now = MONDAY
        self.radicale = RadicaleServer(folder / "radicale", durable=False)
        self.radicale.admit(people, password_of)
        self.http = httpx.Client(trust_env=False)
        self.url = ""

    def __enter__(self) -> Desk:
        self.url = self.radicale.start().url
        self.carrier = self.through(self.url)
        self.carrier.provision(self.people)
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()
        self.radicale.close()

    def through(self, url: str, timeout: float = 30.0, **settings: Any) -> CalDav:
        """A carrier, made anew, that reaches the server by another way."""
        server = Server(url, timeout=timeout, **settings)
        return CalDav(self.http, server, self.people, password_of, lambda: self.now, self.business)

    @property
    def dav(self) -> Dav:
        return self.carrier.dav

    def names(self, user: str, calendar: str = "office-2026") -> list[str]:
        """The resources in a person's calendar."""
        return list(self.dav.changes(user, self.dav.path(user, calendar), "").changed)

    def text(self, user: str, name: str = "elena.1.1@juniper-1.officetown.ics", calendar: str = "office-2026") -> str:
        """What lies in a person's calendar under a name, unfolded."""
        found = self.dav.get(user, self.dav.path(user, calendar) + name)
        assert found is not None and found.text is not None, f"{name} is not in the calendar of {user}"
        return found.text.replace("\r\n ", "")

    def write(self, user: str, name: str, text: str, calendar: str = "office-2026") -> None:
        """Write into a person's calendar what a calendar program would."""
        path = self.dav.path(user, calendar) + name
        response = self.http.put(
            self.url + path, content=text.encode(), auth=(user, password_of(user)),
            headers={"Content-Type": "text/calendar"},
        )  # fmt: skip
        assert response.status_code in (201, 204), response.text

    def change(self, user: str, *swaps: tuple[str, str], name: str = "elena.1.1@juniper-1.officetown.ics") -> None:
        """Change a copy as a calendar program would: these words become those."""
        text = self.text(user, name)
        for old, new in swaps:
            assert old in text, text
            text = text.replace(old, new)
        self.write(user, name, text)

    def remove(self, user: str, name: str = "elena.1.1@juniper-1.officetown.ics") -> None:
        self.dav.delete(user, self.dav.path(user, "office-2026") + name)


def ics(uid: str, *lines: str, before: str = "") -> str:
    """What a calendar program writes."""
    inside = "".join(f"{line}\r\n" for line in (f"UID:{uid}", "DTSTAMP:20260105T090000Z", *lines))
    return (
        f"BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//Some//Program//EN\r\n{before}BEGIN:VEVENT\r\n{inside}"
        "END:VEVENT\r\nEND:VCALENDAR\r\n"
    )
