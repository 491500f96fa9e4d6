"""Reads what lies in a person's calendar. Anybody's program wrote it, so anything may: it is read, or said why not, never
an error.

The content lines are taken apart by `icalendar`, and its times by our own zones: its whole-calendar parser would build zones
and rules from whatever the text says, for as long as that takes.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import msgspec
from icalendar import vDuration
from icalendar.parser import Contentline, Contentlines

from services.carriers.caldav.essence import PARTSTAT, Essence, canonical_rule, tidy, tidy_line
from services.carriers.caldav.events import ENTRY, HASH, OFFICE, OVERTAKEN, REVISION
from services.carriers.caldav.zones import zone_called
from simulator.arriving import EntryArrived
from simulator.canonical import clean_text

LARGEST = 1_000_000
"""Characters of a resource that is read at all."""
_EVENTS, _LINES, _LINE, _PEOPLE, _UID = 1_000, 20_000, 200_000, 500, 500
_KEPT, _OVERTAKEN = 20_000, 5
_YEARS = (1990, 2100)
_LONGEST = 366 * 1440
_OWN_LINES = re.compile(r"(LOCATION|URL|COLOR|GEO|CLASS|PRIORITY|X-MOZ-[A-Z-]+|X-APPLE-[A-Z-]+)[;:]", re.IGNORECASE)
_ESCAPED = re.compile(r"\\(.)")
_ANSWERS = {partstat: answer for answer, partstat in PARTSTAT.items()}


class Parsed(msgspec.Struct, frozen=True):
    """An event as somebody's calendar holds it. `entry`, `office`, `revision` and `marks` are what we wrote into it, if it is
    ours; `kept` are content lines that are its owner's own; `notes` say what of it was read in another way than written."""

    uid: str
    essence: Essence
    entry: str = ""
    office: str = ""
    revision: int = 0
    marks: str = ""
    sequence: int = 0
    overtaken: tuple[EntryArrived, ...] = ()
    kept: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class Unread(msgspec.Struct, frozen=True):
    """Why a resource cannot be taken as an event, in plain words."""

    why: str


class _Component(msgspec.Struct):
    name: str
    lines: list[tuple[str, Mapping[str, str], str]]
    text: list[str]
    inside: list[_Component]


class Reader:
    """Reads resources for an office in `zone`. `opens` is the minute of the day at which what lasts all day begins."""

    def __init__(self, zone: ZoneInfo, opens: int = 540) -> None:
        self.zone = zone
        self._opens = opens

    def __call__(self, text: str, resource: str = "") -> Parsed | Unread:
        """Return what a resource holds; `resource` is its name, by which an event without a UID is known."""
        if len(text) > LARGEST or text.upper().count("BEGIN:VEVENT") > _EVENTS:
            return Unread("it is larger than the office reads")
        try:
            return self._read(clean_text(text), resource)
        except _Unreadable as fault:
            return Unread(str(fault))
        except Exception as fault:  # noqa: BLE001 - hostile text in parsers of others: whatever they raise, it is a remark
            return Unread(f"it cannot be read ({type(fault).__name__})")

    def _read(self, text: str, resource: str) -> Parsed:
        found, passed_over = _components(text)
        events = [c for c in found if c.name == "VEVENT"]
        if not events:
            others = {"VTODO": "a task", "VJOURNAL": "a journal entry", "VFREEBUSY": "a list of busy times"}
            what = next((others[c.name] for c in found if c.name in others), "no calendar object")
            raise _Unreadable(f"it is {what}: the office's calendar holds events alone")
        masters = [c for c in events if not _value(c, "RECURRENCE-ID")]
        if not masters:
            raise _Unreadable("it holds single occurrences of a series and not the series")
        notes = []
        if len({_value(c, "UID") for c in events}) > 1 or len(masters) > 1:
            notes.append("several events lie in one file: the first is read")
        if passed_over:
            notes.append(f"{passed_over} lines that are no calendar lines were passed over")
        event = masters[0]
        uid = clean_text(_value(event, "UID")).strip().replace("\n", " ") or f"file:{resource}"
        if len(uid) > _UID:
            raise _Unreadable("its UID is longer than any program writes")
        zones = {_value(c, "TZID"): "\n".join(c.text) for c in found if c.name == "VTIMEZONE"}
        single = sum(1 for c in events if c is not event and _value(c, "UID") == _value(event, "UID"))
        essence = self._essence(event, zones, single, notes)
        return Parsed(
            uid, essence, _text(event, ENTRY)[:200], _text(event, OFFICE)[:200], _number(_value(event, REVISION)),
            _value(event, HASH)[:100], _number(_value(event, "SEQUENCE")), _overtaken(_value(event, OVERTAKEN)),
            tuple(_owners_lines(event)), tuple(notes),
        )  # fmt: skip

    # -- times --------------------------------------------------------------------------------------------------------

    def _essence(self, event: _Component, zones: Mapping[str, str], single: int, notes: list[str]) -> Essence:
        start, all_day = self._moment(event, "DTSTART", zones, notes)
        if start is None:
            raise _Unreadable("it does not say when it begins")
        minutes = self._minutes(event, start, all_day, zones, notes)
        rules = [value for name, _, value in event.lines if name == "RRULE"]
        rule = canonical_rule(rules[0], self.zone) if rules else ""
        if len(rules) > 1 or any(name == "EXRULE" for name, _, _ in event.lines):
            notes.append("of several rules by which it repeats the first is read")
        attendees, answers = _people(event)
        organizer = _address(*next(((p, v) for name, p, v in event.lines if name == "ORGANIZER"), ({}, "")))
        return Essence(
            int(start.timestamp()), minutes, rule, tidy_line(_text(event, "SUMMARY")), tidy(_text(event, "DESCRIPTION")),
            organizer if attendees - {organizer} else "", tuple(sorted(attendees - {organizer})),
            tuple(sorted((who, what) for who, what in answers.items() if who != organizer)),
            _value(event, "STATUS").upper() == "CANCELLED", self._days(event, "EXDATE", zones, start, all_day),
            self._days(event, "RDATE", zones, start, all_day), single,
        )  # fmt: skip

    def _moment(
        self, event: _Component, name: str, zones: Mapping[str, str], notes: list[str]
    ) -> tuple[datetime | None, bool]:
        """Return when a property says, in UTC, and whether it names a day alone."""
        found = next(((p, v) for n, p, v in event.lines if n == name), None)
        return (None, False) if found is None else self._time(found[1], found[0].get("TZID", ""), zones, notes)

    def _time(self, value: str, tzid: str, zones: Mapping[str, str], notes: list[str]) -> tuple[datetime | None, bool]:
        # A zone's name that holds a colon should stand in quotes; where it does not, its end stands before the time.
        rest, colon, value = value.rpartition(":")
        tzid = f"{tzid}:{rest}" if colon else tzid
        text = value.strip().upper()
        if len(text) == 8 and text.isdigit():
            day = datetime.strptime(text, "%Y%m%d")  # noqa: DTZ007 - a day on the office's own wall
            return self._utc(day + timedelta(minutes=self._opens), self.zone), True
        wall = datetime.strptime(text.removesuffix("Z"), "%Y%m%dT%H%M%S")  # noqa: DTZ007 - its zone stands beside it
        if text.endswith("Z"):
            return self._utc(wall, UTC), False
        zone = zone_called(tzid, zones) if tzid else self.zone
        if zone is None:
            notes.append(f"nobody knows the time zone {tidy_line(tzid)[:60]!r}: its times are read as the office's own")
        return self._utc(wall, zone or self.zone), False

    def _utc(self, wall: datetime, zone: object) -> datetime:
        if not _YEARS[0] <= wall.year < _YEARS[1]:
            raise _Unreadable(f"the year {wall.year} lies outside of the office's calendar")
        return wall.replace(tzinfo=zone).astimezone(UTC)  # type: ignore[arg-type]  # a tzinfo of whichever library

    def _minutes(
        self, event: _Component, start: datetime, all_day: bool, zones: Mapping[str, str], notes: list[str]
    ) -> int:
        """Return how long it takes; 0 where it does not say."""
        end, _ = self._moment(event, "DTEND", zones, notes)
        duration = _value(event, "DURATION")
        if end is None and duration:
            length: timedelta = vDuration.from_ical(duration)  # type: ignore[no-untyped-call]
            seconds = int(length.total_seconds())
        else:
            seconds = int((end - start).total_seconds()) if end else (86_400 if all_day else 0)
        if seconds < 0:
            notes.append("it ends before it begins: its end is left out")
        elif seconds > _LONGEST * 60:
            notes.append("it lasts longer than a year: it is cut there")
        return max(0, min(seconds // 60, _LONGEST))

    def _days(
        self, event: _Component, name: str, zones: Mapping[str, str], start: datetime, all_day: bool
    ) -> tuple[int, ...]:
        """Return the instants that EXDATE or RDATE lists; a day means the occurrence of that day."""
        found: set[int] = set()
        for line, params, value in event.lines:
            for item in value.split(",")[:_EVENTS] if line == name else ():
                moment, is_day = self._time(item.partition("/")[0], params.get("TZID", ""), zones, [])
                if moment is not None and is_day and not all_day:
                    local = start.astimezone(self.zone).time()
                    moment = datetime.combine(moment.astimezone(self.zone).date(), local, self.zone)
                if moment is not None:
                    found.add(int(moment.timestamp()))
        return tuple(sorted(found))


class _Unreadable(Exception):
    """Why a resource is no event for the office."""


# -- lines ------------------------------------------------------------------------------------------------------------


def _components(text: str) -> tuple[list[_Component], int]:
    """Return the components of all calendars in a text, and how many lines were none."""
    lines: list[Contentline] = Contentlines.from_ical(text)[:-1]  # type: ignore[no-untyped-call]
    if len(lines) > _LINES or any(len(line) > _LINE for line in lines):
        raise _Unreadable("it is larger than the office reads")
    found: list[_Component] = []
    stack: list[_Component] = []
    passed_over = 0
    for line in lines:
        parts = _parts(line)
        if parts is None:
            passed_over += bool(line.strip())
            continue
        name, _, value = parts
        word = value.strip().upper()
        if name == "BEGIN" and word != "VCALENDAR":
            component = _Component(word, [], [], [])
            (stack[-1].inside if stack else found).append(component)
            stack.append(component)
        if stack:
            _note(stack, name, line, parts)
        if name == "END" and stack and word == stack[-1].name:
            stack.pop()
        if len(stack) > 8:
            raise _Unreadable("it is nested deeper than any program writes")
    return found, passed_over


def _note(stack: list[_Component], name: str, line: str, parts: tuple[str, Mapping[str, str], str]) -> None:
    for component in stack:
        component.text.append(line)
    if name not in ("BEGIN", "END"):
        stack[-1].lines.append(parts)


def _parts(line: Contentline) -> tuple[str, Mapping[str, str], str] | None:
    try:
        name, params, value = line.raw_parts()
    except ValueError:
        return None
    flat = {str(k).upper(): v if isinstance(v, str) else ",".join(map(str, v)) for k, v in params.items()}
    return name.upper(), flat, value


def _value(component: _Component, name: str) -> str:
    return next((value for line, _, value in component.lines if line == name), "")


def _text(component: _Component, name: str) -> str:
    return _ESCAPED.sub(lambda m: "\n" if m[1] in "nN" else m[1], _value(component, name))


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else 0


def _people(event: _Component) -> tuple[set[str], dict[str, str]]:
    """Return the addresses of the attendees, and the answers of those who gave one."""
    attendees: set[str] = set()
    answers: dict[str, str] = {}
    for name, params, value in event.lines:
        if name != "ATTENDEE" or params.get("CUTYPE", "").upper() in ("ROOM", "RESOURCE") or len(attendees) >= _PEOPLE:
            continue
        address = _address(params, value)
        if address:
            attendees.add(address)
            answer = _ANSWERS.get(params.get("PARTSTAT", "").upper())
            if answer:
                answers[address] = answer
    return attendees, answers


def _address(params: Mapping[str, str], value: str) -> str:
    """Return a calendar user's mail address in lower case, or the whole of what stands there instead."""
    text = params.get("EMAIL", "") or re.sub(r"\A\s*mailto:", "", value, flags=re.IGNORECASE)
    return tidy_line(text).casefold()[:320]


def _owners_lines(event: _Component) -> Iterator[str]:
    """Yield the folded content lines that are the owner's own: alarms, a place, what his program notes for itself."""
    room = _KEPT
    lines: Iterable[str] = (line for line in event.text if _OWN_LINES.match(line))
    alarms = [inner.text for inner in event.inside if inner.name == "VALARM"]
    top = set(id(line) for alarm in alarms for line in alarm)
    for block in (*([line] for line in lines if id(line) not in top), *alarms):
        text = "\r\n".join(folded(line) for line in block)
        room -= len(text)
        if room < 0:
            return
        yield text


def _overtaken(value: str) -> tuple[EntryArrived, ...]:
    """Read what was written over before anybody saw it; anybody may have written something else there."""
    try:
        data = base64.urlsafe_b64decode(value)
        return tuple(msgspec.json.decode(data, type=list[EntryArrived])[-_OVERTAKEN:]) if value else ()
    except (binascii.Error, ValueError, msgspec.MsgspecError):
        return ()


def folded(line: str) -> str:
    """Return a content line as it is written, folded at 75 octets."""
    data: bytes = Contentline(line).to_ical()  # type: ignore[no-untyped-call]
    return data.decode()
