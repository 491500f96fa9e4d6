"""Says in plain words whether a calendar server can be worked with, for `officetown doctor`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import httpx
import msgspec

from services.carriers.caldav.carrier import CalDav
from services.carriers.caldav.client import Dav, Server
from services.carriers.caldav.essence import resource_of, uid_of
from services.carriers.caldav.reading import Parsed, Reader
from simulator.arriving import EntryArrived
from simulator.businesstime import load_zone
from simulator.carrying import Account, Directory, EntryOut, staff_of
from simulator.errors import OfficeTownError
from simulator.records import CalendarEntry

Finding = tuple[str, bool, str]
"""What was looked at, whether it is well, and what was found."""


def ready_check(
    http: httpx.Client, server: Server, people: Directory, password_of: Callable[[str], str]
) -> Iterable[Finding]:
    """Look, without changing anything, whether the server answers, is a calendar server, and knows the office's people."""
    staff = staff_of(people)
    if not staff:
        yield "calendar server", True, "nobody of this office needs a calendar"
        return
    dav = Dav(http, server, password_of)
    try:
        abilities = dav.abilities(staff[0].username)
    except OfficeTownError as fault:
        yield "calendar server", False, str(fault)
        return
    fits = "calendar-access" in abilities
    yield "calendar server", fits, f"{dav.where} " + ("answers" if fits else "is no CalDAV server")
    if fits:
        yield _people(dav, staff)


def _people(dav: Dav, staff: tuple[Account, ...]) -> Finding:
    without: list[str] = []
    for account in staff:
        try:
            if not dav.calendars(account.username):
                without.append(account.username)
        except OfficeTownError as fault:
            return "calendars of people", False, str(fault)
    if without:
        return "calendars of people", False, f"{len(without)} of {len(staff)} have none yet, the first is {without[0]}"
    return "calendars of people", True, f"all {len(staff)} have one"


def live_check(
    http: httpx.Client, server: Server, people: Directory, password_of: Callable[[str], str], clock: Callable[[], int]
) -> Iterator[Finding]:
    """Write an event into one person's calendar, change it, read it back, and take it away again."""
    staff = staff_of(people)
    if not staff:
        yield "calendar", True, "nobody of this office needs a calendar"
        return
    account = staff[0]
    probe = msgspec.structs.replace(people, office=f"{people.office}-doctor", accounts=(account,))
    carrier = CalDav(http, server, probe, password_of, clock)
    entry = CalendarEntry("probe", "A check by the doctor", account.person, (), clock() + 86_400, 30, "deadline")
    path = ""
    try:
        carrier.provision(probe)
        yield "calendar: make", True, f"{account.username} has a calendar"
        carrier.put(EntryOut(entry, 1, "", clock()))
        yield "calendar: write", True, "an event was written"
        carrier.put(EntryOut(msgspec.structs.replace(entry, minutes=45), 2, "", clock()))
        carrier.put(EntryOut(entry, 1, "", clock()))
        path, minutes = _back(carrier, account, entry)
        yield "calendar: read back", minutes == 45, f"it lasts {minutes} minutes of 45, after an older one came again"
        arrivals = [a for a in carrier.poll("").arrivals if isinstance(a, EntryArrived) and a.entry == "probe"]
        yield (
            "calendar: poll",
            not arrivals,
            "our own event is known as ours" if not arrivals else "our own event is not known",
        )
    except OfficeTownError as fault:
        yield "calendar", False, str(fault)
    finally:
        if path:
            carrier.dav.delete(account.username, path)


def _back(carrier: CalDav, account: Account, entry: CalendarEntry) -> tuple[str, int]:
    """Return where the probe lies and how long it lasts; -1 where it is not found."""
    name = resource_of(uid_of(EntryOut(entry, 1), carrier.people.office))
    for calendar in sorted(carrier.dav.calendars(account.username)):
        found = carrier.dav.get(account.username, calendar + name)
        if found is not None:
            item = Reader(load_zone(carrier.people.zone))(found.text or "", name)
            return found.path, item.essence.minutes if isinstance(item, Parsed) else -1
    return "", -1
