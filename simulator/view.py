"""The view: everything a person, assistant, prompt, mount, snapshot or page is shown (DESIGN 4, RULES 28 and 29).

A `View` is an office seen by one subject. Each of its lists takes candidates from an index, passes every one through
`can`, and takes out of what remains the references that the subject may not follow. Times are seconds since the epoch;
lists are in order of arrival, newest last, unless said otherwise. What may not be seen is absent, or None when asked
for by name.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import islice
from typing import TypeVar

import msgspec

from simulator.access import Subject, can
from simulator.access_base import as_subject
from simulator.businesstime import calendar_for
from simulator.office import Office
from simulator.records import (
    Body,
    CalendarEntry,
    ChatMessage,
    Client,
    Delegation,
    Mail,
    Matter,
    Meeting,
    Memory,
    MemoryKind,
    Notice,
    Request,
    Room,
    SystemOfRecord,
)
from simulator.recurrence import occurrences_between
from simulator.view_files import FilesView
from simulator.view_search import find
from simulator.view_types import Colleague, Hit, SeenFile
from simulator.visible import Memo

T = TypeVar("T")
BUSY_KINDS = ("meeting", "focus")
"""Calendar entries that make a person busy; a rhythm or a deadline only reminds."""


def view(office: Office, subject: Subject | str) -> View:
    """Return the office as `subject` (a person's id, or a Subject) sees it."""
    return View(office, as_subject(subject), _MEMO)


def view_reference(office: Office, subject: Subject | str) -> View:
    """Return the same view by plain loops over everything: for freezing, exports, audits, and tests."""
    return View(office, as_subject(subject), None)


class View(FilesView):
    """An office as one subject sees it: files, talk, calendar, work, memory, people."""

    # -- talk ---------------------------------------------------------------------------------------------------------

    def rooms(self) -> tuple[Room, ...]:
        """Rooms the subject is in, by name and id."""
        office = self._office

        def compute() -> tuple[Room, ...]:
            return tuple(
                sorted(
                    (r for r in office.rooms.values() if can(self.subject, "read_room", r.id, office).allowed),
                    key=lambda r: (r.name, r.id),
                )
            )

        return self._kept("rooms", (office.rooms, office.people, office.matters, office.switches), compute)

    def message(self, message_id: str) -> ChatMessage | None:
        """One message, if the subject may read it. What it cites is named only where that may be read too."""
        office = self._office
        if not can(self.subject, "read_message", message_id, office).allowed:
            return None
        message = office.messages[message_id]
        return msgspec.structs.replace(message, cites=self.readable(message.cites))

    def messages(self, room: str, limit: int = 0) -> tuple[ChatMessage, ...]:
        """Messages of one room, the last `limit` of them (0: all)."""
        return self._last(reversed(self._office.by_room.get(room, ())), self.message, limit)

    def mail(self, mail_id: str) -> Mail | None:
        """One mail, if the subject sent or received it. Attachments are named only where readable."""
        office = self._office
        if not can(self.subject, "read_mail", mail_id, office).allowed:
            return None
        mail = office.mails[mail_id]
        return msgspec.structs.replace(mail, attachments=self.readable(mail.attachments))

    def mails(self, limit: int = 0) -> tuple[Mail, ...]:
        """Mails received or sent, the last `limit` of them (0: all)."""
        return self._last(self._mail_ids(), self.mail, limit)

    def thread(self, thread: str) -> tuple[Mail, ...]:
        """The mails of one thread that the subject received or sent."""
        mails = self._office.mails
        return self._last((i for i in self._mail_ids() if mails[i].thread == thread), self.mail, 0)

    def _mail_ids(self) -> Iterable[str]:
        """Ids to judge, newest first."""
        mails = self._office.mails
        ids = self._candidates(self._office.by_mailbox.get(self.subject.person, ()), mails)
        return sorted(ids, key=lambda i: (mails[i].at, i), reverse=True)

    @staticmethod
    def _last(newest_first: Iterable[str], look: Callable[[str], T | None], limit: int) -> tuple[T, ...]:
        """The `limit` newest of what `look` shows (0: all), newest last."""
        shown = (item for item in map(look, newest_first) if item is not None)
        return tuple(reversed(tuple(islice(shown, limit or None))))

    def notices(self) -> tuple[Notice, ...]:
        office = self._office
        held = office.notices.get(self.subject.person, ())
        if self._memo is None:
            held = tuple(n for row in office.notices.values() for n in row)
        return tuple(n for n in held if can(self.subject, "read_notice", n, office).allowed)

    # -- calendar -----------------------------------------------------------------------------------------------------

    def entry(self, entry_id: str) -> CalendarEntry | None:
        """One entry, cancelled or not, if it is on the subject's calendar."""
        allowed = can(self.subject, "read_entry", entry_id, self._office).allowed
        return self._office.entries[entry_id] if allowed else None

    def calendar(self) -> tuple[CalendarEntry, ...]:
        """Entries on the subject's calendar that were not cancelled, by start and id."""
        return self._calendar(lambda entry: True)

    def entries(self, start: int, end: int) -> tuple[tuple[int, CalendarEntry], ...]:
        """Occurrences that begin in [start, end): (beginning, entry), in order."""
        days = calendar_for(self._office.calendar)
        some = self._calendar(lambda e: bool(e.rule) or start <= e.start < end)
        found = [(t, entry) for entry in some for t in occurrences_between(entry, start, end, days)]
        return tuple(sorted(found, key=lambda pair: (pair[0], pair[1].id)))

    def _calendar(self, wanted: Callable[[CalendarEntry], bool]) -> tuple[CalendarEntry, ...]:
        entries = self._office.entries
        ids = self._candidates(self._office.by_calendar.get(self.subject.person, ()), entries)
        some = (i for i in ids if not entries[i].cancelled and wanted(entries[i]))
        found = (e for e in map(self.entry, some) if e is not None)
        return tuple(sorted(found, key=lambda e: (e.start, e.id)))

    def free_busy(self, person: str, day: str) -> tuple[tuple[int, int], ...] | None:
        """When `person` is busy on `day` (ISO date): merged [start, end) spans, no more (RULE 28); None if not known.

        A declined entry leaves its invitee free.
        """
        office = self._office
        if not can(self.subject, "know", f"person:{person}", office).allowed:
            return None
        days = calendar_for(office.calendar)
        first, last = days.at(day, 0), days.at(day, 1440)
        spans = []
        for entry_id in office.by_calendar.get(person, ()):
            entry = office.entries[entry_id]
            if entry.cancelled or entry.kind not in BUSY_KINDS or (person, "declined") in entry.answers:
                continue
            length = entry.minutes * 60
            if not entry.rule and not first - length < entry.start < last:
                continue
            for begins in occurrences_between(entry, first - length + 1, last, days):
                spans.append((max(begins, first), min(begins + length, last)))
        return _merged(spans)

    def meeting(self, meeting_id: str) -> Meeting | None:
        """One meeting, if the subject was there or invited. Minutes are named only where they may be read."""
        office = self._office
        if not can(self.subject, "read_meeting", meeting_id, office).allowed:
            return None
        meeting = office.meetings[meeting_id]
        if meeting.minutes is None or self.may_read(meeting.minutes):
            return meeting
        return msgspec.structs.replace(meeting, minutes=None)

    def meetings(self) -> tuple[Meeting, ...]:
        """Meetings the subject was at or invited to."""
        found = (m for m in map(self.meeting, self._office.meetings) if m is not None)
        return tuple(sorted(found, key=lambda m: (m.at, m.id)))

    # -- work and memory ----------------------------------------------------------------------------------------------

    def request(self, request_id: str) -> Request | None:
        """One request, if the subject made it or was made it."""
        office = self._office
        if not can(self.subject, "read_request", request_id, office).allowed:
            return None
        r = office.requests[request_id]
        return msgspec.structs.replace(r, materials=self.readable(r.materials), results=self.readable(r.results))

    def requests(self, states: Collection[str] = ()) -> tuple[Request, ...]:
        """Requests the subject made or was made, in some states or all."""
        held = self._office.requests
        ids = self._candidates(self._office.by_person.get(self.subject.person, ()), held)
        some = (i for i in ids if i in held and (not states or held[i].state in states))
        found = (r for r in map(self.request, some) if r is not None)
        return tuple(sorted(found, key=lambda r: (r.at, r.id)))

    def delegation(self, delegation_id: str) -> Delegation | None:
        """One delegation, if the subject gave it. Revisions, which count others' acts, are blanked (RULE 8)."""
        office = self._office
        if not can(self.subject, "read_delegation", delegation_id, office).allowed:
            return None
        d = office.delegations[delegation_id]
        rounds = tuple(msgspec.structs.replace(r, revision=0) for r in d.rounds)
        return msgspec.structs.replace(d, inputs=self.readable(d.inputs), rounds=rounds)

    def delegations(self, states: Collection[str] = ()) -> tuple[Delegation, ...]:
        """Delegations that the subject gave, in some states or all."""
        held = self._office.delegations
        ids = self._candidates(self._office.by_person.get(self.subject.person, ()), held)
        some = (i for i in ids if i in held and (not states or held[i].state in states))
        found = (d for d in map(self.delegation, some) if d is not None)
        return tuple(sorted(found, key=lambda d: (d.at, d.id)))

    def memories(self, kind: MemoryKind | None = None) -> tuple[Memory, ...]:
        """The subject's open memory records, of one kind or all; assistants have none.

        What a record rests on is named only as far as it may still be read.
        """
        office = self._office
        ids = self._candidates(office.by_holder.get(self.subject.person, ()), office.memories)
        found = [office.memories[i] for i in ids if can(self.subject, "read_memory", i, office).allowed]
        kept = (m for m in found if not m.closed_at and kind in (None, m.kind))
        shown = (msgspec.structs.replace(m, relied=self.readable(m.relied)) for m in kept)
        return tuple(sorted(shown, key=lambda m: (m.at, m.id)))

    # -- who and what there is ----------------------------------------------------------------------------------------

    def people(self) -> tuple[Colleague, ...]:
        """The directory of those the subject may know about, by id."""
        office = self._office
        inside = self.person is not None and self.person.kind == "staff"

        def compute() -> tuple[Colleague, ...]:
            known = [p for p in office.people.values() if can(self.subject, "know", f"person:{p.id}", office).allowed]
            return tuple(
                Colleague(
                    p.id, p.name, p.title, p.kind, p.department, p.client, p.email, p.manager if inside else "",
                    p.authority if inside else (), p.active,
                )
                for p in sorted(known, key=lambda p: p.id)
            )  # fmt: skip

        return self._kept("people", (office.people, office.matters), compute)

    def matters(self) -> tuple[Matter, ...]:
        """Matters the subject may know of, by id."""
        office = self._office

        def compute() -> tuple[Matter, ...]:
            known = (m for m in office.matters.values() if can(self.subject, "know", f"matter:{m.id}", office).allowed)
            return tuple(sorted(known, key=lambda m: m.id))

        return self._kept("matters", (office.people, office.matters), compute)

    def clients(self) -> tuple[Client, ...]:
        """Clients the subject may know of, by id."""
        office = self._office

        def compute() -> tuple[Client, ...]:
            known = (c for c in office.clients.values() if can(self.subject, "know", f"client:{c.id}", office).allowed)
            return tuple(sorted(known, key=lambda c: c.id))

        return self._kept("clients", (office.people, office.matters, office.clients), compute)

    def systems(self) -> tuple[SystemOfRecord, ...]:
        """Systems of record that the subject may use, by id."""
        office = self._office
        used = (s for s in office.systems.values() if can(self.subject, "use_system", s.id, office).allowed)
        return tuple(sorted(used, key=lambda s: s.id))

    def search(
        self,
        query: str,
        bodies: Callable[[Body], str],
        texts: Callable[[SeenFile], str] | None = None,
        limit: int = 20,
    ) -> tuple[Hit, ...]:
        """Find every word of `query` in files' paths (and `texts`, if given), messages, mails, requests and meetings.

        Newest first, at most `limit`.
        """
        return find(self._texts(bodies, texts), query, limit)

    def _texts(
        self, bodies: Callable[[Body], str], texts: Callable[[SeenFile], str] | None
    ) -> Iterator[tuple[str, str, int, str, str]]:
        for file in self.files():
            yield "file", file.path, file.at, file.path, texts(file) if texts is not None else ""
        for room in self.rooms():
            for message in self.messages(room.id):
                yield "message", message.id, message.at, room.name, bodies(message.body)
        for mail in self.mails():
            yield "mail", mail.id, mail.at, mail.subject, bodies(mail.body)
        for request in self.requests():
            yield "request", request.id, request.at, request.work, bodies(request.outcome)
        for meeting in self.meetings():
            yield "meeting", meeting.id, meeting.at, meeting.title, ""

    def counts(self) -> dict[str, int]:
        """How much of everything the subject sees: the only counts that it is ever told (RULE 28)."""
        return {
            "files": len(self._visible),
            "rooms": len(self.rooms()),
            "mails": len(self.mails()),
            "calendar": len(self.calendar()),
            "meetings": len(self.meetings()),
            "notices": len(self.notices()),
            "requests": len(self.requests()),
            "delegations": len(self.delegations()),
            "memories": len(self.memories()),
            "people": len(self.people()),
        }


def _merged(spans: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return tuple(merged)


_MEMO = Memo()
