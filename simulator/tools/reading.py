"""The tools that read. All they show comes from `view`; opening a file is remembered, for what is made next inherits
its class."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any

from simulator.access import Subject
from simulator.acts.context import YEARS, find_file
from simulator.briefing import Briefing
from simulator.engine.run import Run
from simulator.records import FileRef
from simulator.tools import catalog as c
from simulator.view import view

PART_CHARS = 24_000
"""Characters of one part of an opened file."""
LISTED = 200


def read_tool(run: Run, person: str, name: str, arguments: Any) -> dict[str, Any]:
    """Carry out a reading tool for a person; the answer is JSON-ready."""
    return READERS[name](Reader(run, person), arguments)


class Reader:
    """One person's reading, on the office as they see it in this activation: its base plus their own acts."""

    def __init__(self, run: Run, person: str) -> None:
        self.run = run
        self.person = person
        self.office = run.working
        self.seen = view(self.office, Subject(person))
        self.briefing = Briefing(self.office, person, run.bodies)

    # -- files

    def list_files(self, a: c.ListFiles) -> dict[str, Any]:
        wanted = a.folder.strip().strip("/").casefold()
        found = [f for f in self.seen.files() if wanted in f.path.casefold()]
        rows = [
            {"file": f"{f.path}@{f.ref.version}", "level": f.level, "by": f.author, "versions": f.versions,
             "confirmed": [f"{x.capacity} by {x.by}" for x in self.seen.confirmations(f.ref)]}
            for f in found[:LISTED]
        ]  # fmt: skip
        return {"ok": True, "files": rows, "more": max(0, len(found) - LISTED)}

    def open_file(self, a: c.OpenFile) -> dict[str, Any]:
        ref = find_file(self.office, self.person, a.file)
        seen = self.seen.file(ref) if ref is not None else None
        if ref is None or seen is None:
            return {"ok": False, "error": f"there is no file {a.file!r}, or it is not yours to see"}
        self.run.note_opened(ref)
        name = seen.path.rsplit("/", 1)[-1]
        text = self.run.env.renderer.render(self.run.env.blobs.get(seen.blob.sha256), seen.media_type, name)
        parts = max(1, -(-len(text) // PART_CHARS))
        if a.part > parts:
            return {"ok": False, "error": f"the file has {parts} parts"}
        shown = text[(a.part - 1) * PART_CHARS : a.part * PART_CHARS]
        return {
            "ok": True, "file": f"{seen.path}@{ref.version}", "part": a.part, "parts": parts, "text": shown,
            "level": seen.level, "sha256": seen.blob.sha256,
            "confirmed": [f"{x.capacity} by {x.by}" for x in self.seen.confirmations(ref)],
            "sources": [self._path(s) for s in self.seen.sources(ref)],
        }  # fmt: skip

    def _path(self, ref: FileRef) -> str:
        return self.briefing.file(ref)

    def search(self, a: c.Search) -> dict[str, Any]:
        hits = self.seen.search(a.words, self.run.bodies)
        return {"ok": True, "hits": [{"kind": h.kind, "ref": h.ref, "at": self.briefing.when(h.at), "title": h.title,
                                      "snippet": h.snippet} for h in hits]}  # fmt: skip

    # -- talk

    def read_room(self, a: c.ReadRoom) -> dict[str, Any]:
        wanted = a.room.strip().lstrip("#").casefold()
        room = next((r for r in self.seen.rooms() if wanted in (r.id.casefold(), r.name.casefold())), None)
        if room is None:
            return {"ok": False, "error": f"you are in no room {a.room!r}"}
        messages = self.seen.messages(room.id, a.limit)
        return {"ok": True, "room": room.id, "messages": [self.briefing.message(m.id) for m in messages]}

    def read_mail(self, a: c.ReadMail) -> dict[str, Any]:
        mail = self.office.mails.get(a.mail)
        thread = self.seen.thread(mail.thread) if mail is not None else ()
        if not any(m.id == a.mail for m in thread):
            return {"ok": False, "error": f"there is no mail {a.mail!r} in your mailbox"}
        return {"ok": True, "thread": [self.briefing.mail(m.id) for m in thread[-10:]]}

    def list_mail(self, a: c.ListMail) -> dict[str, Any]:
        rows = [
            {"mail": m.id, "from": m.sender, "to": m.to, "subject": m.subject, "at": self.briefing.when(m.at),
             "attachments": len(m.attachments)}
            for m in self.seen.mails(a.limit)
        ]  # fmt: skip
        return {"ok": True, "mails": rows}

    # -- calendar

    def see_calendar(self, a: c.SeeCalendar) -> dict[str, Any]:
        day = _day(a.start)
        if day is None:
            return {"ok": False, "error": f"{a.start!r} is no date: write it as YYYY-MM-DD"}
        start = self.briefing.calendar.at(day, 0)
        found = self.seen.entries(start, start + a.days * 86_400)
        return {"ok": True, "events": [self.briefing.entry(e, at) for at, e in found[:LISTED]]}

    def free_busy(self, a: c.FreeBusy) -> dict[str, Any]:
        known = {p.id: p for p in self.seen.people()}
        shown: dict[str, Any] = {}
        day = _day(a.day)
        if day is None:
            return {"ok": False, "error": f"{a.day!r} is no date: write it as YYYY-MM-DD"}
        for person in a.people:
            if person not in known:
                shown[person] = "not known"
                continue
            spans = self.seen.free_busy(person, day)
            shown[person] = [f"{self._clock(start)}-{self._clock(end)}" for start, end in spans or ()]
        return {"ok": True, "busy": shown}

    def _clock(self, at: int) -> str:
        return f"{self.briefing.calendar.local(at):%H:%M}"

    # -- work, people, memory

    def list_work(self, a: c.ListWork) -> dict[str, Any]:
        requests = [r for r in self.seen.requests() if a.closed or r.state in ("open", "accepted")]
        under_way = ("working", "asking", "submitted", "stopped")
        delegations = [d for d in self.seen.delegations() if a.closed or d.state in under_way]
        return {
            "ok": True,
            "requests": [self.briefing.request(r) for r in requests[-40:]],
            "delegations": [self.briefing.delegation(d) for d in delegations[-40:]],
        }

    def read_work(self, a: c.ReadWork) -> dict[str, Any]:
        for request in self.seen.requests():
            if request.id == a.ref:
                return {"ok": True, **self.briefing.request(request)}
        for delegation in self.seen.delegations():
            if delegation.id == a.ref:
                return {"ok": True, **self.briefing.delegation(delegation, full=True)}
        return {"ok": False, "error": f"there is no request or delegation {a.ref!r} of yours"}

    def list_colleagues(self, a: c.ListColleagues) -> dict[str, Any]:
        return {"ok": True, "people": [p for p in self.seen.people() if p.active]}

    def read_memory(self, a: c.ReadMemory) -> dict[str, Any]:
        found = [m for m in self.seen.memories() if m.kind == a.record]
        return {"ok": True, "records": [self.briefing.memory(m) for m in found[-60:]]}


def _day(text: str) -> str | None:
    """Return a date as the calendar reads it, or None for what is none that it can show."""
    try:
        day = date.fromisoformat(text.strip())
    except ValueError:
        return None
    return day.isoformat() if day.year in YEARS else None


READERS: dict[str, Callable[[Reader, Any], dict[str, Any]]] = {
    "list_files": Reader.list_files, "open_file": Reader.open_file, "search": Reader.search, "read_room":
    Reader.read_room,
    "read_mail": Reader.read_mail, "list_mail": Reader.list_mail, "see_calendar": Reader.see_calendar,
    "free_busy": Reader.free_busy, "list_work": Reader.list_work, "read_work": Reader.read_work,
    "list_colleagues": Reader.list_colleagues, "read_memory": Reader.read_memory,
}  # fmt: skip
