"""`/mnt/services`: the principal's talk, mail, calendar, meetings and notices of one matter, as JSON (DESIGN 7).

Each file is `{"records": [...]}`, newest last, at most `KEPT` records. Times are ISO 8601 on the office's wall clock.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from simulator.businesstime import calendar_for
from simulator.office import Office
from simulator.records import Body, CalendarEntry, FileRef
from simulator.view import View

KEPT = 200


def service_files(office: Office, view: View, bodies: Callable[[Body], str]) -> tuple[tuple[str, bytes], ...]:
    """Return (name, bytes) of the six files, from what the view shows and nothing else."""
    days = calendar_for(office.calendar)

    def when(t: int) -> str:
        return days.local(t).isoformat()

    def name(person: str) -> str:
        known = office.people.get(person)
        return known.name if known is not None else person

    def paths(refs: Iterable[FileRef]) -> list[str]:
        return [path for path in (view.path_of(ref) for ref in refs) if path is not None]

    def entry(e: CalendarEntry) -> dict[str, Any]:
        return {
            "id": e.id, "title": e.title, "organizer": name(e.organizer), "attendees": [name(a) for a in e.attendees],
            "start": when(e.start), "end": when(e.start + 60 * e.minutes), "kind": e.kind, "agenda": e.agenda,
            "rule": e.rule, "answers": {name(who): answer for who, answer in e.answers},
        }  # fmt: skip

    chat = [
        (m.at, m.id, {
            "id": m.id, "room": room.name, "sender": name(m.sender), "at": when(m.at), "body": bodies(m.body),
            "thread": m.thread, "cites": paths(m.cites),
        })
        for room in view.rooms()
        for m in view.messages(room.id, KEPT)
    ]  # fmt: skip
    mail = [
        {
            "id": m.id, "thread": m.thread, "from": name(m.sender), "to": [name(p) for p in m.to],
            "cc": [name(p) for p in m.cc], "subject": m.subject, "body": bodies(m.body), "at": when(m.at),
            "attachments": paths(m.attachments),
        }
        for m in view.mails(KEPT)
    ]  # fmt: skip
    meetings = [
        {
            "id": m.id, "title": m.title, "at": when(m.at), "organizer": name(m.organizer),
            "attendees": [name(p) for p in m.attendees], "state": m.state,
            "minutes": next(iter(paths((m.minutes,) if m.minutes is not None else ())), None),
        }
        for m in view.meetings()
    ]  # fmt: skip
    notices = [{"id": n.id, "at": when(n.at), "text": n.text, "ref": n.ref} for n in view.notices()]
    chat.sort(key=lambda row: row[:2])
    return (
        ("calendar.json", _records([entry(e) for e in view.calendar()])),
        ("chat.json", _records([row[2] for row in chat])),
        ("git.json", _records([])),
        ("mail.json", _records(mail)),
        ("meetings.json", _records(meetings)),
        ("notices.json", _records(notices)),
    )


def _records(rows: list[dict[str, Any]]) -> bytes:
    return as_json({"records": rows[-KEPT:]})


def as_json(value: Any) -> bytes:
    """Return `value` as JSON that people can read: sorted keys, UTF-8, a newline at the end."""
    return (json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True) + "\n").encode()
