"""The view: everything a person, assistant, prompt, mount, snapshot or page is shown (DESIGN 4, RULES 28 and 29).

A `View` is an office seen by one subject. Each of its lists takes candidates from an index, passes every one through
`can`, and takes out of what remains the references that the subject may not follow. Times are seconds since the epoch;
lists are in order of arrival, newest last, unless said otherwise. What may not be seen is absent, or None when asked
for by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Any, TypeVar

import msgspec

from simulator.access import Subject, can
from simulator.access_base import active_person, as_subject, version_of
from simulator.businesstime import calendar_for
from simulator.office import Office
from simulator.records import (
    Acceptance,
    Body,
    CalendarEntry,
    ChatMessage,
    Client,
    Delegation,
    File,
    FileRef,
    FileVersion,
    Mail,
    Matter,
    Meeting,
    Memory,
    MemoryKind,
    Notice,
    Person,
    Request,
    Room,
)
from simulator.recurrence import occurrences_between
from simulator.view_paths import COMPANY, HOME, settle
from simulator.view_search import find
from simulator.view_types import Colleague, Hit, SeenFile
from simulator.visible import Memo, Seen, Sight, Visible, visible, visible_reference

T = TypeVar("T")
BUSY_KINDS = ("meeting", "focus")
"""Calendar entries that make a person busy; a rhythm or a deadline only reminds."""


def view(office: Office, subject: Subject | str) -> View:
    """Return the office as `subject` (a person's id, or a Subject) sees it."""
    return View(office, as_subject(subject), _MEMO)


def view_reference(office: Office, subject: Subject | str) -> View:
    """Return the same view by plain loops over everything: for freezing, exports, audits, and tests."""
    return View(office, as_subject(subject), None)


class View:
    """An office seen by one subject. Unknown and inactive people see nothing.

    `memo` None means plain loops over whole maps, no index, and nothing remembered.
    """

    def __init__(self, office: Office, subject: Subject, memo: Memo | None) -> None:
        self._office = office
        self._memo = memo
        self.subject = subject

    # -- oneself ------------------------------------------------------------------------------------------------------

    @property
    def now(self) -> int:
        return self._office.now

    @cached_property
    def person(self) -> Person | None:
        """The subject's own record."""
        return active_person(self._office, self.subject.person)

    # -- files --------------------------------------------------------------------------------------------------------

    @cached_property
    def _visible(self) -> Visible:
        if self._memo is None:
            return visible_reference(self._office, self.subject)
        return visible(self._office, self.subject, self._memo)

    @cached_property
    def _paths(self) -> dict[str, str]:
        office, seen = self._office, self._visible

        def compute() -> dict[str, str]:
            return settle(office, self.subject.person, (s.file for s in seen.values()))

        return self._kept("paths", (seen, office.people, office.matters, office.departments), compute)

    @cached_property
    def _by_path(self) -> dict[str, str]:
        paths = self._paths
        return self._kept("by path", (paths,), lambda: {path: file_id for file_id, path in paths.items()})

    def _kept(self, kind: str, rests_on: tuple[Any, ...], compute: Callable[[], T]) -> T:
        """What `compute` gives, remembered as long as it rests on the same objects; never for the reference."""
        if self._memo is None:
            return compute()
        found: T = self._memo.get(kind, self.subject, rests_on, compute)
        return found

    def files(self) -> tuple[SeenFile, ...]:
        """The latest readable version of every file of which one is readable, by display path."""
        seen, by_path = self._visible, self._by_path

        def compute() -> tuple[SeenFile, ...]:
            return tuple(self._seen_file(seen[i], seen[i].sights[-1]) for _, i in sorted(by_path.items()))

        return self._kept("shelf", (seen, by_path), compute)

    def versions(self, file_id: str) -> tuple[SeenFile, ...]:
        """Every readable version of one file, in order."""
        seen = self._visible.get(file_id)
        return tuple(self._seen_file(seen, sight) for sight in seen.sights) if seen is not None else ()

    def file(self, wanted: FileRef | str) -> SeenFile | None:
        """Return one readable version: by reference, or by display path (latest; `PATH@2` is version 2).

        A path may leave out `/home/npc/computer/` or `/mnt/company/`.
        """
        if isinstance(wanted, FileRef):
            return next((f for f in self.versions(wanted.file) if f.ref == wanted), None)
        found = self._at_path(wanted)
        if found is not None:
            return found[-1]
        path, mark, number = wanted.rpartition("@")
        found = self._at_path(path) if mark and number.isdecimal() and number.isascii() else None
        return next((f for f in found or () if f.ref.version == int(number)), None)

    def _at_path(self, path: str) -> tuple[SeenFile, ...] | None:
        for candidate in (path, HOME + path, COMPANY + path):
            file_id = self._by_path.get(candidate)
            if file_id is not None:
                return self.versions(file_id)
        return None

    def path_of(self, ref: FileRef) -> str | None:
        """Return the display path of a readable version's file."""
        return self._paths[ref.file] if self.may_read(ref) else None

    def may_read(self, ref: FileRef) -> bool:
        return can(self.subject, "read", ref, self._office).allowed

    def readable(self, refs: Iterable[FileRef]) -> tuple[FileRef, ...]:
        """Those of `refs` that may be read, in their order."""
        return tuple(ref for ref in refs if self.may_read(ref))

    def confirmations(self, ref: FileRef) -> tuple[Acceptance, ...]:
        """Current acceptances and sign-offs of exactly this version, if it may be read."""
        if not self.may_read(ref):
            return ()
        held = (self._office.acceptances[i] for i in self._office.accepted.get(ref.file, ()))
        return tuple(a for a in held if a.version == ref.version)

    def sources(self, ref: FileRef) -> tuple[FileRef, ...]:
        """What a readable version was made from, as far as that may be read too."""
        found = version_of(self._office, ref)
        return self.readable(found[1].sources) if found is not None and self.may_read(ref) else ()

    def _seen_file(self, seen: Seen, sight: Sight) -> SeenFile:
        file: File = seen.file
        v: FileVersion = file.versions[sight.version - 1]
        return SeenFile(
            FileRef(file.id, v.number), self._paths[file.id], file.owner, file.space, file.matter, v.blob, v.media_type,
            v.author, v.at, v.level, v.walls, v.release, v.delegation, tuple(s.version for s in seen.sights),
            sight.reason,
        )  # fmt: skip

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

    def messages(self, room: str, limit: int = 0) -> tuple[ChatMessage, ...]:
        """Messages of one room, the last `limit` of them (0: all). What they cite is named only where readable."""
        office = self._office
        found: list[ChatMessage] = []
        for message_id in reversed(office.by_room.get(room, ())):
            if limit and len(found) == limit:
                break
            if can(self.subject, "read_message", message_id, office).allowed:
                message = office.messages[message_id]
                found.append(msgspec.structs.replace(message, cites=self.readable(message.cites)))
        return tuple(reversed(found))

    def mails(self, limit: int = 0) -> tuple[Mail, ...]:
        """Mails received or sent, the last `limit` of them (0: all). Attachments are named only where readable."""
        office = self._office
        found: list[Mail] = []
        for mail_id in reversed(self._candidates(office.by_mailbox.get(self.subject.person, ()), office.mails)):
            if limit and len(found) == limit:
                break
            if can(self.subject, "read_mail", mail_id, office).allowed:
                mail = office.mails[mail_id]
                found.append(msgspec.structs.replace(mail, attachments=self.readable(mail.attachments)))
        return tuple(sorted(found, key=lambda m: (m.at, m.id)))

    def thread(self, thread: str) -> tuple[Mail, ...]:
        """The mails of one thread that the subject received or sent."""
        return tuple(m for m in self.mails() if m.thread == thread)

    def notices(self) -> tuple[Notice, ...]:
        office = self._office
        held = office.notices.get(self.subject.person, ())
        if self._memo is None:
            held = tuple(n for row in office.notices.values() for n in row)
        return tuple(n for n in held if can(self.subject, "read_notice", n, office).allowed)

    # -- calendar -----------------------------------------------------------------------------------------------------

    def calendar(self) -> tuple[CalendarEntry, ...]:
        """Entries on the subject's calendar that were not cancelled, by start and id."""
        office = self._office
        ids = self._candidates(office.by_calendar.get(self.subject.person, ()), office.entries)
        found = [office.entries[i] for i in ids if can(self.subject, "read_entry", i, office).allowed]
        return tuple(sorted((e for e in found if not e.cancelled), key=lambda e: (e.start, e.id)))

    def entries(self, start: int, end: int) -> tuple[tuple[int, CalendarEntry], ...]:
        """Occurrences that begin in [start, end): (beginning, entry), in order."""
        days = calendar_for(self._office.calendar)
        found = [(t, entry) for entry in self.calendar() for t in occurrences_between(entry, start, end, days)]
        return tuple(sorted(found, key=lambda pair: (pair[0], pair[1].id)))

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
            for begins in occurrences_between(entry, first - length + 1, last, days):
                spans.append((max(begins, first), min(begins + length, last)))
        return _merged(spans)

    def meetings(self) -> tuple[Meeting, ...]:
        """Meetings the subject was at or invited to. Minutes are named only where they may be read."""
        office = self._office
        found = [m for m in office.meetings.values() if can(self.subject, "read_meeting", m.id, office).allowed]
        shown = (
            msgspec.structs.replace(
                m, minutes=m.minutes if m.minutes is not None and self.may_read(m.minutes) else None
            )
            for m in sorted(found, key=lambda m: (m.at, m.id))
        )
        return tuple(shown)

    # -- work and memory ----------------------------------------------------------------------------------------------

    def requests(self) -> tuple[Request, ...]:
        """Requests the subject made or was made."""
        office = self._office
        ids = self._candidates(office.by_person.get(self.subject.person, ()), office.requests)
        found = [
            msgspec.structs.replace(r, materials=self.readable(r.materials), results=self.readable(r.results))
            for r in (office.requests[i] for i in ids if i in office.requests)
            if can(self.subject, "read_request", r.id, office).allowed
        ]
        return tuple(sorted(found, key=lambda r: (r.at, r.id)))

    def delegations(self) -> tuple[Delegation, ...]:
        """Delegations that the subject gave. Revisions, which count others' acts, are blanked (RULE 8)."""
        office = self._office
        ids = self._candidates(office.by_person.get(self.subject.person, ()), office.delegations)
        found = [
            self._shown_delegation(office.delegations[i])
            for i in ids
            if i in office.delegations and can(self.subject, "read_delegation", i, office).allowed
        ]
        return tuple(sorted(found, key=lambda d: (d.at, d.id)))

    def _shown_delegation(self, d: Delegation) -> Delegation:
        rounds = tuple(msgspec.structs.replace(r, revision=0) for r in d.rounds)
        return msgspec.structs.replace(d, inputs=self.readable(d.inputs), rounds=rounds)

    def memories(self, kind: MemoryKind | None = None) -> tuple[Memory, ...]:
        """The subject's open memory records, of one kind or all; assistants have none."""
        office = self._office
        ids = self._candidates(office.by_holder.get(self.subject.person, ()), office.memories)
        found = [office.memories[i] for i in ids if can(self.subject, "read_memory", i, office).allowed]
        shown = (m for m in found if not m.closed_at and kind in (None, m.kind))
        return tuple(sorted(shown, key=lambda m: (m.at, m.id)))

    # -- who and what there is ----------------------------------------------------------------------------------------

    def people(self) -> tuple[Colleague, ...]:
        """The directory of those the subject may know about, by id."""
        office = self._office
        known = [p for p in office.people.values() if can(self.subject, "know", f"person:{p.id}", office).allowed]
        inside = self.person is not None and self.person.kind == "staff"
        return tuple(
            Colleague(
                p.id, p.name, p.title, p.kind, p.department, p.client, p.email, p.manager if inside else "",
                p.authority if inside else (), p.active,
            )
            for p in sorted(known, key=lambda p: p.id)
        )  # fmt: skip

    def matters(self) -> tuple[Matter, ...]:
        """Matters the subject may know of, by id."""
        office = self._office
        known = [m for m in office.matters.values() if can(self.subject, "know", f"matter:{m.id}", office).allowed]
        return tuple(sorted(known, key=lambda m: m.id))

    def clients(self) -> tuple[Client, ...]:
        """Clients the subject may know of, by id."""
        office = self._office
        known = [c for c in office.clients.values() if can(self.subject, "know", f"client:{c.id}", office).allowed]
        return tuple(sorted(known, key=lambda c: c.id))

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

    def _candidates(self, row: tuple[str, ...], everything: Iterable[str]) -> tuple[str, ...]:
        """Ids to judge: the index row, or, for the reference, all there are."""
        return row if self._memo is not None else tuple(sorted(everything))


def _merged(spans: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return tuple(merged)


_MEMO = Memo()
