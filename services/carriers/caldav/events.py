"""An office's event as an iCalendar object for one person's calendar (RFC 5545).

Times are written in the office's zone with that zone's rules beside them, so that what repeats stays at its hour when the
clocks change and every program shows it right. The same event gives the same bytes, whenever and for whomever it is written,
but for the mark of the answer of the calendar's owner.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import msgspec
from icalendar import Calendar, Event, vCalAddress, vDatetime
from icalendar.prop import vInline

from services.carriers.caldav.essence import PARTSTAT, Essence, essence_of, marks, tidy_line, uid_of, writable
from services.carriers.caldav.zones import definition_of, is_utc
from simulator.arriving import EntryArrived
from simulator.businesstime import BusinessCalendar, calendar_for, load_zone
from simulator.carrying import Account, Directory, EntryOut
from simulator.records import CalendarEntry
from simulator.recurrence import occurrences_between

PRODUCT = "-//OfficeTown//Calendar carrier//EN"
ENTRY, OFFICE, REVISION, HASH, OVERTAKEN = (
    "X-OFFICETOWN-ENTRY", "X-OFFICETOWN-OFFICE", "X-OFFICETOWN-REVISION", "X-OFFICETOWN-HASH", "X-OFFICETOWN-OVERTAKEN",
)  # fmt: skip
EXCEPTIONS_AHEAD = timedelta(days=731)
"""How far after its first occurrence a series says which of the rule's days the office is closed."""


class Writer:
    """Writes an office's events. `business` is its calendar, if known: what repeats then skips the days on which the office
    is closed, as it does there."""

    def __init__(self, people: Directory, business: BusinessCalendar | None = None) -> None:
        self.people = people
        self.zone = business.zone if business else load_zone(people.zone)
        self._business = business

    def essence(self, entry: CalendarEntry) -> Essence:
        """Return what the copies of an event hold."""
        essence = essence_of(entry, self.people, self.zone)
        if self._business is None or not writable(essence.rule):
            return essence
        left_out, added = _exceptions(entry, self._business)
        return msgspec.structs.replace(essence, left_out=left_out, added=added)

    def owners(self, entry: CalendarEntry) -> tuple[Account, ...]:
        """Return whose calendars hold an event: organizer and attendees, staff alone."""
        found = (self.people.of(p) for p in dict.fromkeys((entry.organizer, *entry.attendees)))
        return tuple(a for a in found if a is not None and a.staff)

    def event(
        self,
        out: EntryOut,
        owner: Account,
        *,
        sequence: int = 0,
        in_utc: bool = False,
        kept: Sequence[str] = (),
        overtaken: Sequence[EntryArrived] = (),
    ) -> str:
        """Return the VEVENT for the calendar of `owner`, in folded lines.

        `sequence` is that of the copy it replaces: it never falls. `in_utc` writes the times of what happens once in
        UTC: the same instant, and far less work for a server that is given a thousand at once. `kept` are content lines of that copy that are the
        owner's own (alarms, a place); `overtaken` is what he did in it that nobody has seen yet.
        """
        entry, essence = out.entry, self.essence(out.entry)
        event = Event()
        event["UID"] = _text(uid_of(out, self.people.office))
        event["DTSTAMP"] = vDatetime(datetime.fromtimestamp(out.at or entry.start, UTC))
        event["SEQUENCE"] = vInline(str(min(max(out.sequence, sequence), 2_147_483_647)))
        self._times(event, essence, in_utc and not essence.rule)
        event["SUMMARY"] = _text(essence.title or "(untitled)")
        if essence.agenda:
            event["DESCRIPTION"] = _text(essence.agenda)
        event["STATUS"] = vInline("CANCELLED" if essence.cancelled else "CONFIRMED")
        takes_time = entry.kind in ("meeting", "focus") and not essence.cancelled
        event["TRANSP"] = vInline("OPAQUE" if takes_time else "TRANSPARENT")
        event["CATEGORIES"] = vInline(entry.kind.upper())
        self._people(event, entry, essence)
        event[ENTRY], event[OFFICE] = _text(entry.id), _text(self.people.office)
        event[REVISION] = vInline(str(out.sequence))
        event[HASH] = vInline(marks(essence, owner.address.casefold()))
        if overtaken:
            event[OVERTAKEN] = vInline(base64.urlsafe_b64encode(msgspec.json.encode(overtaken)).decode())
        written: str = event.to_ical().decode()
        lines = written.replace("\r\nEND:VEVENT\r\n", "\r\n")
        return lines + "".join(f"{line}\r\n" for line in kept) + "END:VEVENT\r\n"

    def calendar(self, events: Sequence[str]) -> bytes:
        """Return events as one iCalendar object, with the definition of the office's zone."""
        calendar = Calendar()
        calendar["VERSION"], calendar["PRODID"] = vInline("2.0"), vInline(PRODUCT)
        head = calendar.to_ical().decode().removesuffix("END:VCALENDAR\r\n")
        zone = "" if is_utc(self.zone) else definition_of(self.zone.key)
        return "".join((head, zone, *events, "END:VCALENDAR\r\n")).encode()

    def _times(self, event: Event, essence: Essence, in_utc: bool) -> None:
        start = datetime.fromtimestamp(essence.start, self.zone)
        end = datetime.fromtimestamp(essence.start + essence.minutes * 60, self.zone)
        # An hour that the clocks show twice has no name of its own in a zone: its second turn is written in UTC.
        plain = bool(in_utc or is_utc(self.zone) or start.fold or end.fold)
        event["DTSTART"] = self._time(start, plain)
        if essence.minutes:
            event["DTEND"] = self._time(end, plain)
        if writable(essence.rule):
            event["RRULE"] = vInline(essence.rule)
        for name, moments in (("EXDATE", essence.left_out), ("RDATE", essence.added)):
            if moments:
                times = [self._time(datetime.fromtimestamp(t, self.zone), plain) for t in moments]
                event[name] = vInline(",".join(_written(t) for t in times))
                event[name].params.update(times[0].params)

    def _time(self, moment: datetime, plain: bool) -> vDatetime:
        if plain:
            return vDatetime(moment.astimezone(UTC))
        value = vDatetime(moment.replace(tzinfo=None))
        value.params["TZID"] = self.zone.key
        return value

    def _people(self, event: Event, entry: CalendarEntry, essence: Essence) -> None:
        if not essence.attendees:
            return
        answers = dict(essence.answers)
        organizer = self.people.of(entry.organizer)
        if organizer is not None:
            event["ORGANIZER"] = _address(organizer)
            chair = _address(organizer)
            chair.params.update({"PARTSTAT": "ACCEPTED", "ROLE": "CHAIR"})
            event.add("ATTENDEE", chair, encode=False)
        by_address = {a.address.casefold(): a for a in self.people.accounts}
        for address in essence.attendees:
            guest = _address(by_address[address])
            partstat = PARTSTAT.get(answers.get(address, ""), "NEEDS-ACTION")
            guest.params.update({"PARTSTAT": partstat, "ROLE": "REQ-PARTICIPANT", "RSVP": "TRUE"})
            event.add("ATTENDEE", guest, encode=False)


def _written(time: vDatetime) -> str:
    data: bytes = time.to_ical()  # type: ignore[no-untyped-call]
    return data.decode()


def _text(text: str) -> vInline:
    # The library's own TEXT would make a line break of the two characters `\\N`.
    escaped = text.replace("\\", "\\\\").replace(";", "\\;").replace(",", "\\,").replace("\n", "\\n")
    return vInline(escaped)


def _address(account: Account) -> vCalAddress:
    value = vCalAddress(f"mailto:{account.address}")
    # Without this the server would write or send an invitation of its own beside our copies (RFC 6638).
    value.params.update({"CN": tidy_line(account.name).replace('"', "'"), "SCHEDULE-AGENT": "CLIENT"})
    return value


def _exceptions(entry: CalendarEntry, business: BusinessCalendar) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the occurrences a plain reading of the rule has too many, and those it lacks, as the office goes by its days."""
    until = entry.start + int(EXCEPTIONS_AHEAD.total_seconds())
    whole = msgspec.structs.replace(entry, cancelled=False)
    never_closed = calendar_for(msgspec.structs.replace(business.rules, always_open=True))
    # A program shows the first occurrence whether its rule has it or not.
    plain = {entry.start, *occurrences_between(whole, entry.start, until, never_closed)}
    held = set(occurrences_between(whole, entry.start, until, business))
    return tuple(sorted(plain - held)), tuple(sorted(held - plain))
