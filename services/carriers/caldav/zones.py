"""Time zones as calendar programs name them, and the office's own as they need it written (RFC 5545, RULE 37).

Zones come from the pinned `tzdata` alone. A name is looked up there, as Windows calls it, and by its last parts (Mozilla
and Evolution put a path of their own before `Europe/London`). Only what no database knows is read from the definition that
came with the event, and only where that is a simple one: a definition that repeats every second would never end.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo

from dateutil import rrule, tz
from icalendar.timezone.windows_to_olson import WINDOWS_TO_OLSON

from simulator.businesstime import load_zone
from simulator.errors import UsageError

_FIRST, _LAST = 2016, 2038
"""The years whose changes of the clocks are looked at to say how a zone changes them."""
_RULES_FROM = 2000
"""The year in which the written rules begin. Radicale counts all changes of the clocks from there for each event it is
given, so an earlier one costs."""
_STEP = timedelta(hours=12)
_DAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_SIMPLE = re.compile(r"FREQ=YEARLY;([A-Z]+=[0-9A-Z,+-]+;?)*")
_SIMPLE_KEYS = frozenset({"FREQ", "INTERVAL", "BYMONTH", "BYDAY", "BYMONTHDAY", "UNTIL", "COUNT", "WKST"})
_FIXED = re.compile(r"(?:UTC|GMT)([+-])([0-9]{1,2})(?::?([0-5][0-9]))?", re.IGNORECASE)
_DEFINITION = 8_192


def known_zone(tzid: str) -> ZoneInfo | None:
    """Return the zone that a calendar program calls `tzid`, or None."""
    name = tzid.strip().strip('"')[:200]
    parts = name.split("/")
    for candidate in (name, WINDOWS_TO_OLSON.get(name, ""), "/".join(parts[-2:]), "/".join(parts[-3:])):
        if candidate:
            try:
                return load_zone(candidate)
            except UsageError:
                continue
    return None


def zone_called(tzid: str, definitions: Mapping[str, str]) -> tzinfo | None:
    """Return the zone called `tzid`, by its own definition (a VTIMEZONE's text) where no database has it, or None."""
    known = known_zone(tzid) or _offset_called(tzid)
    return known or (_defined(tzid, definitions[tzid]) if tzid in definitions else None)


def _offset_called(tzid: str) -> tzinfo | None:
    """Return the fixed offset that a name says: some programs call a zone `UTC+02:00`."""
    found = _FIXED.fullmatch(tzid.strip())
    if found is None:
        return None
    sign, hours, minutes = found.groups()
    offset = timedelta(hours=int(hours), minutes=int(minutes or 0))
    return timezone(-offset if sign == "-" else offset) if offset < timedelta(days=1) else None


def _defined(tzid: str, definition: str) -> tzinfo | None:
    """Read a zone's definition, if it is as simple as those of calendar programs are."""
    if len(definition) > _DEFINITION or not all(_simple(line) for line in definition.splitlines()):
        return None
    try:
        return tz.tzical(io.StringIO(definition)).get(tzid)
    except Exception:  # noqa: BLE001 - hostile text in a parser of others: whatever it raises, the zone is unknown
        return None


def _simple(line: str) -> bool:
    name, _, value = line.partition(":")
    if not name.upper().startswith(("RRULE", "EXRULE")):
        return True
    keys = {part.partition("=")[0] for part in value.split(";") if part}
    return bool(_SIMPLE.fullmatch(value)) and keys <= _SIMPLE_KEYS and "BYMONTH" in keys


def is_utc(zone: ZoneInfo) -> bool:
    """Whether a zone is UTC under any of its names: then times are written with a `Z`."""
    return zone.key in {"UTC", "Etc/UTC", "Etc/UCT", "Etc/Universal", "Etc/Zulu", "UCT", "Universal", "Zulu"}


@lru_cache(maxsize=32)
def definition_of(name: str) -> str:
    """Return the VTIMEZONE of an office's zone: unfolded lines ended by CRLF, the same bytes always.

    Rules hold for ever where the zone has any; a zone that changes its clocks by no rule has its changes listed.
    """
    zone = load_zone(name)
    groups: dict[tuple[timedelta, timedelta, str, bool], list[datetime]] = {}
    moment = datetime(_FIRST, 1, 1, tzinfo=UTC)
    before = moment.astimezone(zone)
    while moment.year < _LAST:
        moment += _STEP
        after = moment.astimezone(zone)
        if after.utcoffset() != before.utcoffset():
            change = _change(zone, moment - _STEP, moment)
            old, new = _offset(before), _offset(after)
            groups.setdefault((old, new, after.tzname() or "", new > old), []).append(
                (change + old).replace(tzinfo=None)
            )
        before = after
    lines = ["BEGIN:VTIMEZONE", f"TZID:{name}"]
    if not groups:
        lines += _observance(
            _offset(before), _offset(before), before.tzname() or "", False, [f"DTSTART:{_RULES_FROM}0101T000000"]
        )
    for (old, new, label, summer), walls in groups.items():
        lines += _observance(old, new, label, summer, _when(walls))
    return "\r\n".join((*lines, "END:VTIMEZONE", ""))


def _change(zone: ZoneInfo, low: datetime, high: datetime) -> datetime:
    """Return the instant, to the minute, at which the offset changes between two instants."""
    old = low.astimezone(zone).utcoffset()
    while high - low > timedelta(minutes=1):
        middle = low + timedelta(minutes=int((high - low).total_seconds()) // 120)
        if middle.astimezone(zone).utcoffset() == old:
            low = middle
        else:
            high = middle
    return high


def _offset(moment: datetime) -> timedelta:
    return moment.utcoffset() or timedelta()


def _when(walls: list[datetime]) -> list[str]:
    """Return DTSTART with the rule that these wall-clock times follow, or with the list of them."""
    first = walls[0]
    same = len({(w.month, w.weekday(), w.time()) for w in walls}) == 1 and len(walls) == _LAST - _FIRST
    for place in (*range(1, 5), -1):
        if same and all(_place(w, place) for w in walls):
            rule = rrule.rrule(
                rrule.YEARLY, bymonth=first.month, byweekday=rrule.weekday(first.weekday(), place), count=1,
                dtstart=datetime.combine(datetime(_RULES_FROM, 1, 1), first.time()),  # noqa: DTZ001 - wall-clock time
            )  # fmt: skip
            start = f"DTSTART:{rule[0]:%Y%m%dT%H%M%S}"
            return [start, f"RRULE:FREQ=YEARLY;BYMONTH={first.month};BYDAY={place}{_DAYS[first.weekday()]}"]
    return [f"DTSTART:{first:%Y%m%dT%H%M%S}", *(f"RDATE:{w:%Y%m%dT%H%M%S}" for w in walls[1:])]


def _place(wall: datetime, place: int) -> bool:
    if place == -1:
        return (wall + timedelta(days=7)).month != wall.month
    return (wall.day - 1) // 7 + 1 == place


def _observance(old: timedelta, new: timedelta, label: str, summer: bool, when: list[str]) -> list[str]:
    kind = "DAYLIGHT" if summer else "STANDARD"
    return [
        f"BEGIN:{kind}", *when, f"TZNAME:{label}", f"TZOFFSETFROM:{_written(old)}", f"TZOFFSETTO:{_written(new)}",
        f"END:{kind}",
    ]  # fmt: skip


def _written(offset: timedelta) -> str:
    minutes = int(offset.total_seconds()) // 60
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02d}{abs(minutes) % 60:02d}"
