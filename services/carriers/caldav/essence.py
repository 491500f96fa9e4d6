"""What makes an event the event it is, and the marks by which a poll knows its own writing from a person's change.

A copy that we write carries a short hash of each part of its essence. Whoever reads it later computes the parts again: the
parts that differ are what a person changed since, whatever else a calendar program added. So no state has to be kept.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from simulator.canonical import canonical, clean_text, sha256
from simulator.carrying import Directory, EntryOut
from simulator.records import CalendarEntry, Record

PARTSTAT: Mapping[str, str] = {"accepted": "ACCEPTED", "declined": "DECLINED", "tentative": "TENTATIVE"}
PARTS = ("time", "rule", "text", "people", "state", "answer")
TITLE, AGENDA = 200, 10_000
"""Characters of a title and of an agenda that an event carries."""
_FAR = 20 * 365 * 86_400
_SAFE = re.compile(r"[A-Za-z0-9._@-]{1,150}")
_RULE = re.compile(r"[A-Z]+=[A-Z0-9,+-]+(;[A-Z]+=[A-Z0-9,+-]+)*")
_KEY_STATE = re.compile(r"@(deleted)?~[0-9a-f]{12}\Z")
_BREAKS = re.compile("[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")


class Essence(Record, frozen=True):
    """The essential fields of an event. `start` is in seconds since the epoch, `minutes` 0 where it has no end. People are
    mail addresses in lower case; without attendees there is no organizer. `answers` are (address, answer) of those who
    gave one. `left_out` and `added` are beginnings that the rule has or lacks; `single` says how many occurrences were
    changed on their own."""

    start: int
    minutes: int
    rule: str = ""
    title: str = ""
    agenda: str = ""
    organizer: str = ""
    attendees: tuple[str, ...] = ()
    answers: tuple[tuple[str, str], ...] = ()
    cancelled: bool = False
    left_out: tuple[int, ...] = ()
    added: tuple[int, ...] = ()
    single: int = 0


def essence_of(entry: CalendarEntry, people: Directory, zone: ZoneInfo) -> Essence:
    """Return the essence of an office's event as its copies have it: with the people who have a mail address."""
    address = {a.person: a.address.casefold() for a in people.accounts}
    attendees = tuple(sorted({address[p] for p in entry.attendees if p in address and p != entry.organizer}))
    answers = {address[who]: what for who, what in entry.answers if address.get(who) in attendees}
    rule, ever = _shown(canonical_rule(entry.rule, zone), entry.start)
    return Essence(
        entry.start, max(0, entry.minutes), rule, tidy_line(entry.title) or "(untitled)", tidy(entry.agenda),
        address.get(entry.organizer, "") if attendees else "", attendees, tuple(sorted(answers.items())),
        entry.cancelled or not ever,
    )  # fmt: skip


def _shown(rule: str, start: int) -> tuple[str, bool]:
    """Return the rule as servers take it, and whether the event ever takes place.

    Servers refuse a series that ends before it begins, which is what a move past its end leaves, and Radicale one of more
    than 10,000 occurrences: the first is shown as cancelled, the second without its far end.
    """
    if not writable(rule):
        return "", True
    parts = dict(piece.partition("=")[::2] for piece in rule.split(";"))
    try:
        until = (
            datetime.strptime(parts.get("UNTIL", "99991231T000000Z"), "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC).timestamp()
        )
    except ValueError:
        return "", True
    if until < start:
        return "", False
    if "UNTIL" in parts and until > start + _FAR:
        del parts["UNTIL"]
    if len(parts.get("COUNT", "")) > len("999"):
        del parts["COUNT"]
    return ";".join(f"{key}={value}" for key, value in parts.items()), True


def marks(essence: Essence, owner: str) -> str:
    """Return the marks of an essence in the calendar of `owner` (a mail address): one short hash for each of PARTS."""
    e = essence
    mine = "" if owner == e.organizer else dict(e.answers).get(owner, "")
    parts = ((e.start, e.minutes), e.rule, (e.title, e.agenda), (e.organizer, e.attendees),
             (e.cancelled, e.left_out, e.added, e.single), mine)  # fmt: skip
    return "-".join(sha256(canonical(part))[:8] for part in parts)


def differing(before: str, now: str) -> frozenset[str]:
    """Return which PARTS two marks differ in; all of them where the first are no marks."""
    old, new = before.split("-"), now.split("-")
    if len(old) != len(PARTS):
        return frozenset(PARTS)
    return frozenset(part for part, a, b in zip(PARTS, old, new, strict=True) if a != b)


def tidy(text: str) -> str:
    """Return a text as a calendar carries it: no controls, plain line breaks, nothing around it."""
    return "\n".join(line.rstrip() for line in _BREAKS.sub("\n", clean_text(text)).split("\n")).strip()[:AGENDA].strip()


def tidy_line(text: str) -> str:
    """Return a text as one line."""
    return " ".join(_BREAKS.sub(" ", clean_text(text)).split())[:TITLE].strip()


def canonical_rule(rule: str, zone: ZoneInfo) -> str:
    """Return a recurrence rule in one spelling: parts sorted, defaults left out, UNTIL in UTC.

    An UNTIL without `Z` is wall-clock time in `zone`, a date means the whole of that day. What is no rule stays as it is,
    without line breaks.
    """
    text = "".join(rule.split()).upper().removeprefix("RRULE:").strip(";")[:1_000]
    if not text or not _RULE.fullmatch(text):
        return text
    parts: dict[str, str] = {}
    for piece in text.split(";"):
        key, _, value = piece.partition("=")
        parts[key] = _until(value, zone) if key == "UNTIL" else ",".join(sorted(value.split(",")))
    for key, default in (("INTERVAL", "1"), ("WKST", "MO")):
        if parts.get(key) == default:
            del parts[key]
    return ";".join(f"{key}={parts[key]}" for key in sorted(parts, key=lambda k: (k != "FREQ", k)))


def writable(rule: str) -> bool:
    """Whether a canonical rule can be written into an event without breaking it."""
    return bool(_RULE.fullmatch(rule))


def _until(value: str, zone: ZoneInfo) -> str:
    try:
        if len(value) == 8:
            wall = datetime.strptime(value + "235959", "%Y%m%d%H%M%S").replace(tzinfo=zone)
        elif value.endswith("Z"):
            return value
        else:
            wall = datetime.strptime(value, "%Y%m%dT%H%M%S").replace(tzinfo=zone)
        return f"{wall.astimezone(UTC):%Y%m%dT%H%M%SZ}"
    except (ValueError, OverflowError):
        return value


# -- names ------------------------------------------------------------------------------------------------------------


def uid_of(out: EntryOut, office: str) -> str:
    """Return the UID under which an event is known: its maker's own, if it came in from a calendar program."""
    return uid_of_key(out.origin) or f"{out.entry.id}@{office}.officetown"


def uid_of_key(key: str) -> str:
    """Return the UID that an arrival's key (`cal:<username>:<uid>`, with or without a state) names; empty if none."""
    parts = key.split(":", 2)
    return _KEY_STATE.sub("", parts[2]) if len(parts) == 3 and parts[0] == "cal" else ""


def maker_of_key(key: str) -> str:
    """Return the username in whose calendar an arrival was seen; empty if the key is of another kind."""
    parts = key.split(":", 2)
    return parts[1] if len(parts) == 3 and parts[0] == "cal" else ""


def entry_of_uid(uid: str, office: str) -> str:
    """Return the id of the office's event that has this UID; empty if it is somebody else's UID."""
    ending = f"@{office}.officetown"
    return uid.removesuffix(ending) if uid.endswith(ending) else ""


def resource_of(uid: str) -> str:
    """Return the name of the file in which we keep the event with this UID."""
    if _SAFE.fullmatch(uid) and not uid.startswith("."):
        return f"{uid}.ics"
    return f"{hashlib.sha256(uid.encode('utf-8', 'replace')).hexdigest()[:40]}.ics"
