"""What a person did to an event in a calendar: told from the event as it is now and the marks of what it was.

Nothing here knows the office's present state: what comes of an arrival, and whether its author may, is decided where it
comes in. What cannot be an act of the office is a remark in plain words.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import msgspec

from services.carriers.caldav.essence import differing, entry_of_uid, maker_of_key, marks, uid_of_key
from services.carriers.caldav.reading import Parsed
from simulator.arriving import EntryArrived
from simulator.businesstime import BusinessCalendar, calendar_for
from simulator.canonical import canonical, sha256
from simulator.carrying import Account, Directory
from simulator.errors import UsageError
from simulator.events import CalendarRules
from simulator.records import CalendarEntry, Record
from simulator.recurrence import check_rule, next_occurrence

DEFAULT_MINUTES, SHORTEST, LONGEST = 30, 5, 480
Answer = Literal["accepted", "declined", "tentative"]
_ANSWERS: dict[str, Answer] = {"accepted": "accepted", "declined": "declined", "tentative": "tentative"}


class Known(Record, frozen=True):
    """What was last seen of an event that a calendar program made: its UID, its marks, and what the office calls it (an id,
    or the key under which it came in)."""

    uid: str
    marks: str
    ref: str = ""


class Told(msgspec.Struct, frozen=True):
    """What a changed event tells. `known` is to be remembered of it, if anything."""

    arrivals: tuple[EntryArrived, ...] = ()
    remarks: tuple[str, ...] = ()
    known: Known | None = None


class Attribution:
    """Tells what the people of an office did. `now` is the simulated time, `business` the office's calendar, if known."""

    def __init__(self, people: Directory, now: Callable[[], int], business: BusinessCalendar | None = None) -> None:
        self.people = people
        self._now = now
        self._business = business or calendar_for(CalendarRules(zone=people.zone, always_open=True))

    def tell(self, item: Parsed, owner: Account, before: Known | None) -> Told:
        """Return what an event in the calendar of `owner` tells; `before` is what was known of it."""
        if item.office and item.office != self.people.office:
            return Told()
        mine = owner.address.casefold()
        now = marks(item.essence, mine)
        entry = item.entry or entry_of_uid(item.uid, self.people.office)
        late = self._overtaken(item, owner)
        if entry:
            base = item.marks or (before.marks if before else "")
            told = self._changed(item, owner, entry, base, now)
        else:
            told = self._foreign(item, owner, before, now)
        made_here = bool(entry_of_uid(item.uid, self.people.office))
        known = told.known
        if entry and not made_here:
            known = Known(item.uid, item.marks or now, entry)
        return Told((*late, *told.arrivals), told.remarks, known)

    def removed(self, resource: str, owner: Account, before: Known | None, token: str) -> Told:
        """Return what the removal of a resource tells; `token` is the state of the calendar in which it was last there."""
        uid = before.uid if before else resource.removesuffix(".ics")
        ref = (before.ref if before else "") or entry_of_uid(uid, self.people.office)
        if not ref:
            return Told()
        key = f"{_key(owner, uid)}@deleted~{sha256(token.encode())[:12]}"
        return Told((EntryArrived(key, owner.person, "deleted", ref),))

    def move(self, item: Parsed, owner: Account, ref: str) -> EntryArrived:
        """Return the arrival that says that an event is now where it is."""
        return self._arrival(item, owner, "moved", ref, marks(item.essence, owner.address.casefold()))

    # -- an event that is the office's --------------------------------------------------------------------------------

    def _changed(self, item: Parsed, owner: Account, ref: str, base: str, now: str) -> Told:
        if base == now:
            return Told()
        changed = differing(base, now)
        if not self._leads(item, owner):
            return self._of_guest(item, owner, ref, changed if base else frozenset({"answer"}), now)
        if not base:
            changed = frozenset({"time"})
        title = _named(item)
        if "state" in changed and item.essence.cancelled:
            return Told((self._arrival(item, owner, "deleted", ref, now),))
        arrivals = (self._arrival(item, owner, "moved", ref, now),) if "time" in changed else ()
        words = {
            "rule": "how it repeats",
            "text": "its title or agenda",
            "people": "who is invited",
            "state": "single occurrences of it",
        }
        kept = [what for part, what in words.items() if part in changed]
        remark = f"{owner.name} changed {' and '.join(kept)} of {title}: the office keeps these as they were."
        return Told(arrivals, (remark,) if kept else ())

    def _of_guest(self, item: Parsed, owner: Account, ref: str, changed: frozenset[str], now: str) -> Told:
        answer = _ANSWERS.get(dict(item.essence.answers).get(owner.address.casefold(), ""))
        arrivals = (self._arrival(item, owner, answer, ref, now),) if "answer" in changed and answer else ()
        if changed <= {"answer"}:
            return Told(arrivals)
        remark = (
            f"{owner.name} changed {_named(item)} in a calendar, which only its organizer may do: it stays as it was, "
            "and the copy is put right when the event next changes."
        )
        return Told(arrivals, (remark,))

    # -- an event that a calendar program made ------------------------------------------------------------------------

    def _foreign(self, item: Parsed, owner: Account, before: Known | None, now: str) -> Told:
        if not self._leads(item, owner):
            return self._invitation(item, owner, before, now)
        key = _key(owner, item.uid)
        known = Known(item.uid, now, key)
        if before is None:
            return Told(known=known) if item.essence.cancelled else self._created(item, owner, key, known)
        if before.marks == now:
            return Told(known=known)
        return msgspec.structs.replace(self._changed(item, owner, key, before.marks, now), known=known)

    def _created(self, item: Parsed, owner: Account, key: str, known: Known) -> Told:
        remarks = [f"{_named(item)} of {owner.name}: {note}." for note in item.notes]
        rule, why = _followed(item)
        if why:
            remarks.append(f"{_named(item)} of {owner.name} {why}: it comes in once, at its first time.")
        elif item.essence.left_out or item.essence.added or item.essence.single:
            remarks.append(f"{_named(item)} of {owner.name} has exceptions: the office follows the plain rule.")
        invited: list[str] = []
        for address in item.essence.attendees:
            account = self.people.by_address(address)
            if account is None:
                remarks.append(f"{_named(item)} of {owner.name} invites {address}, whom nobody here knows.")
            elif not account.staff:
                remarks.append(
                    f"{_named(item)} of {owner.name} invites the client {account.name}: write a mail instead."
                )
            elif account.person != owner.person:
                invited.append(account.person)
        if item.essence.minutes > LONGEST:
            remarks.append(
                f"{_named(item)} of {owner.name} takes longer than {LONGEST // 60} hours: it comes in that long."
            )
        arrival = self._arrival(item, owner, "created", "", "", key)
        arrival = msgspec.structs.replace(arrival, rule=rule, attendees=tuple(sorted(set(invited))))
        return Told((arrival,), tuple(remarks), known)

    def _invitation(self, item: Parsed, owner: Account, before: Known | None, now: str) -> Told:
        """A copy of somebody else's event that does not come from us: what its organizer did is told by his own."""
        organizer = self.people.by_address(item.essence.organizer)
        if organizer is None or not organizer.staff:
            remark = f"{owner.name} has an invitation of {item.essence.organizer[:80]}, whom nobody here knows: {_named(item)}."
            return Told(remarks=(remark,) if before is None else (), known=Known(item.uid, now))
        ref = (before.ref if before else "") or _key(organizer, item.uid)
        known = Known(item.uid, now, ref)
        if before is None or "answer" not in differing(before.marks, now):
            return Told(known=known)
        return msgspec.structs.replace(self._of_guest(item, owner, ref, frozenset({"answer"}), now), known=known)

    # -- parts --------------------------------------------------------------------------------------------------------

    def _leads(self, item: Parsed, owner: Account) -> bool:
        return item.essence.organizer in ("", owner.address.casefold())

    def _arrival(
        self,
        item: Parsed,
        owner: Account,
        change: Literal["created", "moved", "deleted", "accepted", "declined", "tentative"],
        ref: str,
        now: str,
        key: str = "",
    ) -> EntryArrived:
        # The revision it was done to is part of the key: who moves an event there, back, and there again does three things.
        state = sha256(canonical((item.revision, item.sequence, now, change)))[:12]
        essence = item.essence
        minutes = min(essence.minutes or DEFAULT_MINUTES, LONGEST)
        return EntryArrived(
            key or f"{_key(owner, item.uid)}@~{state}", owner.person, change, ref, essence.title,
            self._begins(item), minutes, "", essence.agenda,
        )  # fmt: skip

    def _begins(self, item: Parsed) -> int:
        """Return when an event begins, to the minute: of a series that began already, the next time it does."""
        essence = item.essence
        start = essence.start // 60 * 60
        rule, _ = _followed(item)
        if not rule or start >= self._now():
            return start
        series = CalendarEntry("", "", "", (), start, essence.minutes, rule=rule)
        return next_occurrence(series, self._now(), self._business) or start

    def _overtaken(self, item: Parsed, owner: Account) -> tuple[EntryArrived, ...]:
        """Return what the owner did in a state that we have written over since, if nobody else wrote that there."""
        return tuple(
            a for a in item.overtaken
            if a.person == owner.person and maker_of_key(a.key) == owner.username and uid_of_key(a.key) == item.uid
        )  # fmt: skip


def _followed(item: Parsed) -> tuple[str, str]:
    """Return the rule that the office can follow for an event, and else why it cannot."""
    rule = item.essence.rule
    if not rule:
        return "", ""
    try:
        check_rule(rule)
    except UsageError:
        return "", "repeats in a way that the office's calendar does not know"
    return rule, ""


def _key(owner: Account, uid: str) -> str:
    return f"cal:{owner.username}:{uid}"


def _named(item: Parsed) -> str:
    return f"“{item.essence.title[:80] or '(untitled)'}”"
