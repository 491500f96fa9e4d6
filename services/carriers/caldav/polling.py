"""Reads everybody's calendars: what changed since the last time, and whose doing it was.

The cursor is JSON: for each calendar the server's token, and what is known of the events in it that calendar programs made
(at most `MOST_KNOWN` in all). Everything else is told from the events themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from services.carriers.caldav.attribution import Attribution, Known, Told
from services.carriers.caldav.client import Dav, TokenLost
from services.carriers.caldav.reading import Reader, Unread
from simulator.arriving import EntryArrived, Polled
from simulator.carrying import Account, staff_of
from simulator.errors import CarrierError
from simulator.records import Record

MOST_KNOWN = 2_000
_SHOWN = 20
"""Remarks of one kind that one poll makes about one calendar."""


class _Calendar(Record, frozen=True):
    token: str = ""
    known: dict[str, Known] = {}


class _Cursor(Record, frozen=True):
    version: int = 1
    calendars: dict[str, _Calendar] = {}


class _Collected:
    def __init__(self) -> None:
        self.arrivals: list[EntryArrived] = []
        self.remarks: list[str] = []

    def add(self, told: Told) -> None:
        self.arrivals += told.arrivals
        self.remarks += told.remarks


class Poll:
    """One look into all calendars. `now` is the simulated time: what was over before a calendar was first read stays out."""

    def __init__(self, dav: Dav, reader: Reader, tell: Attribution, now: Callable[[], int]) -> None:
        self._dav = dav
        self._reader = reader
        self._people = tell.people
        self._tell = tell
        self._now = now

    def __call__(self, cursor: str) -> Polled:
        """Return what people did since `cursor`.

        A person whose calendars cannot be read is passed over with a remark, and read from where they were the next time.

        Raises:
            CarrierError: nobody's calendars can be read.
        """
        before = _decoded(cursor)
        found = _Collected()
        after: dict[str, _Calendar] = {}
        people = staff_of(self._people)
        failed: list[CarrierError] = []
        for owner in people:
            try:
                after.update(self._person(owner, before, found))
            except CarrierError as fault:
                failed.append(fault)
                home = self._dav.home(owner.username)
                after.update({path: state for path, state in before.calendars.items() if path.startswith(home)})
                if len(failed) == 3 and len(failed) == people.index(owner) + 1:
                    raise  # the server is down: asking for everybody else would take their timeouts too
        if failed and len(failed) == len(people):
            raise failed[0]
        found.remarks += [f"{fault}: its calendars are read the next time." for fault in failed]
        return Polled(tuple(found.arrivals), _encoded(after), tuple(found.remarks))

    def _person(self, owner: Account, before: _Cursor, found: _Collected) -> dict[str, _Calendar]:
        """Read a person's calendars. What was found counts only if all of them could be read."""
        mine = _Collected()
        after: dict[str, _Calendar] = {}
        paths = self._dav.calendars(owner.username)
        for path in sorted(paths):
            after[path] = self._calendar(owner, path, before.calendars.get(path, _Calendar()), mine)
        home = self._dav.home(owner.username)
        for path in sorted(before.calendars):
            if path.startswith(home) and path not in paths:
                mine.remarks.append(f"The calendar {path} of {owner.name} is gone.")
        found.arrivals += mine.arrivals
        found.remarks += mine.remarks
        return after

    def _calendar(self, owner: Account, path: str, before: _Calendar, found: _Collected) -> _Calendar:
        first = not before.token
        try:
            changes = self._dav.changes(owner.username, path, before.token)
            removed = changes.removed
        except TokenLost:
            changes = self._dav.changes(owner.username, path, "")
            removed = tuple(sorted(before.known.keys() - set(changes.changed)))
            found.remarks.append(
                f"A calendar of {owner.name} was read anew: which of the office's events were deleted in it is not known."
            )
        known = dict(before.known)
        for name in removed:
            found.add(self._tell.removed(name, owner, known.pop(name, None), before.token))
        over, unread = 0, 0
        for resource in self._dav.fetch(owner.username, path, changes.changed):
            name = resource.path.rpartition("/")[2]
            item = (
                Unread("it is larger than the office reads")
                if resource.text is None
                else self._reader(resource.text, name)
            )
            if isinstance(item, Unread):
                unread += 1
                if unread <= _SHOWN:
                    found.remarks.append(f"Something in the calendar of {owner.name} was not let in: {item.why}.")
                continue
            told = self._tell.tell(item, owner, known.get(name))
            if told.known is not None:
                known[name] = told.known
            past = not item.essence.rule and item.essence.start + item.essence.minutes * 60 < self._now()
            if first and past and any(a.change == "created" for a in told.arrivals):
                over += 1
                continue
            found.add(told)
        if over:
            found.remarks.append(
                f"{over} events of {owner.name} were over before this calendar was first read: left out."
            )
        if unread > _SHOWN:
            found.remarks.append(f"{unread - _SHOWN} more things in the calendar of {owner.name} were not let in.")
        return _Calendar(changes.token, known)


def _decoded(cursor: str) -> _Cursor:
    """Read a cursor; one of another version, or none at all, is the beginning."""
    if not cursor:
        return _Cursor()
    try:
        return msgspec.json.decode(cursor, type=_Cursor)
    except msgspec.MsgspecError:
        return _Cursor()


def _encoded(calendars: dict[str, _Calendar]) -> str:
    """Write a cursor. Where more is known than it may hold, what was learned first is forgotten first."""
    room = MOST_KNOWN
    kept: dict[str, Any] = {}
    for path, state in calendars.items():
        share = (
            max(20, MOST_KNOWN // max(1, len(calendars)))
            if sum(len(c.known) for c in calendars.values()) > room
            else room
        )
        kept[path] = _Calendar(state.token, dict(list(state.known.items())[-share:]))
    return msgspec.json.encode(_Cursor(1, kept)).decode()
