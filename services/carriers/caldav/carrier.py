"""The office's calendars on a CalDAV server (DESIGN 9, RULE 4).

Every attendee's and the organizer's copy is written by us: servers are storage alone. A copy carries the office's revision
and the marks of what it holds, so a delivery that comes twice, late, or after a crash changes nothing, and what a person did
in between is seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime

import httpx

from services.carriers.caldav.attribution import SHORTEST, Attribution
from services.carriers.caldav.client import Dav, Found, Server
from services.carriers.caldav.essence import maker_of_key, marks, resource_of, uid_of, uid_of_key
from services.carriers.caldav.events import Writer
from services.carriers.caldav.polling import Poll
from services.carriers.caldav.reading import Parsed, Reader
from simulator.arriving import EntryArrived, Polled
from simulator.businesstime import BusinessCalendar
from simulator.carrying import Account, Directory, EntryOut, staff_of
from simulator.errors import CarrierError, WorkFailed
from simulator.records import CalendarEntry

_TRIES = 4
_OVERTAKEN = 5


class CalDav:
    """Fulfils `CalendarCarrier`.

    `password_of` gives the password of a username; `clock` the simulated time in seconds. `business` is the office's
    calendar: with it a series leaves out the days on which the office is closed, and what lasts all day begins when the
    office opens. `admit` makes the accounts themselves, where that is ours to do (`RadicaleServer.admit`). `http` stays
    the caller's: `close` does not close it.
    """

    name = "calendar"

    def __init__(
        self,
        http: httpx.Client,
        server: Server,
        people: Directory,
        password_of: Callable[[str], str],
        clock: Callable[[], int],
        business: BusinessCalendar | None = None,
        admit: Callable[[Directory], object] | None = None,
    ) -> None:
        self.server = server
        self.people = people
        self.dav = Dav(http, server, password_of)
        self._clock = clock
        self._business = business
        self._admit = admit
        self._use(people)

    def _use(self, people: Directory) -> None:
        self.people = people
        self._writer = Writer(people, self._business)
        self._reader = Reader(self._writer.zone, self._business.rules.opens if self._business else 540)
        self._tell = Attribution(people, self._clock, self._business)
        self._calendars: dict[str, tuple[str, ...]] = {}

    # -- accounts -----------------------------------------------------------------------------------------------------

    def provision(self, people: Directory) -> None:
        """Make the calendar of everybody who has none yet: of this simulated year, where each year has one."""
        self._use(people)
        if self._admit is not None:
            self._admit(people)
        for account in staff_of(people):
            path = self._path(account, self._clock())
            if path not in self._list(account):
                self._make(account, path)

    def close(self) -> None:
        """Nothing is held open here."""

    def _path(self, account: Account, at: int) -> str:
        name = self.server.calendar
        if self.server.per_year:
            name = f"{name}-{datetime.fromtimestamp(at, self._writer.zone).year}"
        return self.dav.path(account.username, name)

    def _list(self, account: Account) -> tuple[str, ...]:
        """Return the calendars of a person, as they were when they were last looked at."""
        if account.username not in self._calendars:
            self._calendars[account.username] = tuple(sorted(self.dav.calendars(account.username)))
        return self._calendars[account.username]

    def _make(self, account: Account, path: str) -> None:
        name = f"{self.people.name} {path.rstrip('/').rpartition('-')[2]}" if self.server.per_year else self.people.name
        self.dav.make_calendar(account.username, path, name)
        self._calendars.pop(account.username, None)

    # -- out ----------------------------------------------------------------------------------------------------------

    def put(self, entry: EntryOut) -> None:
        """Write every copy of an event that is older than this. Given the same event again, a copy that a person changed
        meanwhile is put right.

        Raises CarrierError where a copy could not be written yet, WorkFailed where the server refuses one for good; all
        other copies are written first.
        """
        refused: list[WorkFailed] = []
        for account in self._writer.owners(entry.entry):
            try:
                self._write(account, entry)
            except WorkFailed as fault:
                refused.append(fault)
        if refused:
            raise refused[0]

    def _write(self, account: Account, out: EntryOut) -> None:
        """Write one person's copy, if it is older: read, compare, write on the condition that nobody was quicker."""
        thorough = False
        for _ in range(_TRIES):
            found = self._find(account, out, thorough)
            if found is None:
                path = self._path(account, out.entry.start)
                resource = path + resource_of(uid_of(out, self.people.office))
                body = self._writer.calendar([self._writer.event(out, account)])
                done = self.dav.put(account.username, resource, body, None)
                if done != "done":
                    self._calendars.pop(account.username, None)
                    if path not in self._list(account):
                        self._make(account, path)
            else:
                new = self._replacing(account, out, found)
                if new is None:
                    return
                done = self.dav.put(account.username, found.path, new, found.etag)
            if done == "done":
                return
            thorough = True
        raise CarrierError(f"{self.dav.where}: {out.entry.id} keeps changing in the calendar of {account.username}")

    def _replacing(self, account: Account, out: EntryOut, found: Found) -> bytes | None:
        """Return what to write instead of a copy, or nothing where it is as new already."""
        old = self._reader(found.text or "", found.path.rpartition("/")[2])
        if not isinstance(old, Parsed):
            return self._writer.calendar([self._writer.event(out, account)])
        wanted = marks(self._writer.essence(out.entry), account.address.casefold())
        ours = old.office == self.people.office
        if ours and old.revision > out.sequence:
            return None
        if (
            ours
            and old.revision == out.sequence
            and old.marks == wanted == marks(old.essence, account.address.casefold())
        ):
            return None
        overtaken = self._unseen(old, account, out) if ours else self._moved_before(old, account, out)
        event = self._writer.event(out, account, sequence=old.sequence, kept=old.kept, overtaken=overtaken)
        return self._writer.calendar([event])

    def _unseen(self, old: Parsed, account: Account, out: EntryOut) -> tuple[EntryArrived, ...]:
        """Return what the owner of a copy did in it that a poll may not have seen: written over, it would be lost.

        What the office's event says by now needs no telling again.
        """
        told = {a.key: a for a in self._tell.tell(old, account, None).arrivals if not _came_true(a, out.entry)}
        return tuple(told.values())[-_OVERTAKEN:]

    def _moved_before(self, old: Parsed, account: Account, out: EntryOut) -> tuple[EntryArrived, ...]:
        """Return the move of an event by its maker between its coming in and our first writing of it, if there was one."""
        if maker_of_key(out.origin) != account.username or uid_of_key(out.origin) != old.uid:
            return ()
        move = self._tell.move(old, account, out.entry.id)
        return () if _came_true(move, out.entry) else (move,)

    def _find(self, account: Account, out: EntryOut, thorough: bool) -> Found | None:
        """Return a person's copy of an event, wherever it lies: where we put it, or where a calendar program did."""
        uid = uid_of(out, self.people.office)
        first = self._path(account, out.entry.start)
        known = self._list(account)
        paths = [path for path in dict.fromkeys((first, *known)) if path in known]
        for path in paths:
            found = self.dav.get(account.username, path + resource_of(uid))
            if found is not None:
                return found
        if thorough or uid_of_key(out.origin):
            for path in paths:
                found = self.dav.find(account.username, path, uid)
                if found is not None:
                    return found
        return None

    def seed(self, entries: Iterable[EntryOut]) -> int:
        """Write many events at once, for an office that ran without a calendar server for a while; return how many copies.

        A calendar that is still empty is written by one request, where the server can; the rest one by one. What is there
        already stays as it is: seeding again after a crash, or delivering the same events later, leaves one copy of each.
        """
        latest: dict[str, EntryOut] = {}
        for entry in entries:
            if entry.entry.id not in latest or latest[entry.entry.id].sequence <= entry.sequence:
                latest[entry.entry.id] = entry
        written = 0
        by_owner: dict[str, tuple[Account, list[EntryOut]]] = {}
        for out in latest.values():
            for account in self._writer.owners(out.entry):
                by_owner.setdefault(account.person, (account, []))[1].append(out)
        for _, (account, outs) in sorted(by_owner.items()):
            written += self._seed(account, outs)
        return written

    def _seed(self, account: Account, outs: list[EntryOut]) -> int:
        by_path: dict[str, list[EntryOut]] = {}
        for out in outs:
            # What came in from a calendar program lies where that put it.
            by_path.setdefault("" if uid_of_key(out.origin) else self._path(account, out.entry.start), []).append(out)
        for path, group in sorted(by_path.items()):
            if not (path and self.server.bulk and self._seed_whole(account, path, group)):
                for out in group:
                    self._write(account, out)
        return len(outs)

    def _seed_whole(self, account: Account, path: str, outs: list[EntryOut]) -> bool:
        if path not in self._list(account):
            self._make(account, path)
        if self.dav.changes(account.username, path, "").changed:
            return False
        body = self._writer.calendar([self._writer.event(out, account, in_utc=True) for out in outs])
        return self.dav.put_all(account.username, path, body)

    # -- in -----------------------------------------------------------------------------------------------------------

    def poll(self, cursor: str) -> Polled:
        """Return what people did in their calendars since `cursor`; without one, from the beginning."""
        return Poll(self.dav, self._reader, self._tell, self._clock)(cursor)


def _came_true(arrival: EntryArrived, entry: CalendarEntry) -> bool:
    """Whether an event is as somebody made his copy of it."""
    if arrival.change == "moved":
        return arrival.start == entry.start // 60 * 60 and max(SHORTEST, arrival.minutes) == entry.minutes
    if arrival.change == "deleted" and arrival.person == entry.organizer:
        return entry.cancelled
    return (arrival.person, arrival.change) in entry.answers
