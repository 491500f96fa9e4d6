"""Turns what people did at a carrier into inbound items: acts with their author's rights (RULE 4).

Whatever cannot be an act becomes a remark in plain words: nothing is lost silently, and nothing from outside is an error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from simulator.acts.talk import direct_room
from simulator.arriving import Arrival, ArrivedFile, EntryArrived, MailArrived, MessageArrived
from simulator.businesstime import calendar_for
from simulator.canonical import canonical, clean_name, clean_text
from simulator.office import Office
from simulator.ports import Blob, BlobStore, InboundItem

TEXT, SUBJECT, NAME = 60_000, 300, 200
"""Characters of a text, of a subject or title, and of a file's name that are let in."""
SHORTEST, LONGEST = 5, 480
"""Minutes an event may take."""


class Remark(msgspec.Struct, frozen=True):
    """Something that was not let in, and why, in plain words."""

    text: str


class Translator:
    """Translates arrivals against a committed office. `known` gives the id of what came in under a key, or nothing."""

    def __init__(self, office: Office, known: Callable[[str], str], blobs: BlobStore) -> None:
        self._office = office
        self._known = known
        self._blobs = blobs

    def __call__(self, arrival: Arrival) -> InboundItem | Remark:
        """Return the item to let in, or what to say instead."""
        person = self._office.people.get(arrival.person)
        if person is None or not person.active:
            return Remark(f"{_short(arrival.person)} does not work here: {_short(arrival.key)} was not let in.")
        if isinstance(arrival, MailArrived):
            return self._mail(arrival)
        if person.kind != "staff":
            return Remark(f"{person.id} is a client, who writes mails alone: {_short(arrival.key)} was not let in.")
        return self._message(arrival) if isinstance(arrival, MessageArrived) else self._entry(arrival)

    # -- chat ---------------------------------------------------------------------------------------------------------

    def _message(self, m: MessageArrived) -> InboundItem | Remark:
        room = self._office.rooms.get(m.to)
        if room is None:
            room = self._office.rooms.get(direct_room(m.person, m.to))
        first = self._id(m.in_reply_to)
        if first not in self._office.messages:
            if m.change:
                return Remark(f"{m.person} {m.change} a message that the office does not have.")
            first = ""
        text = _text(m.text)
        if m.change == "edited":
            text = f"(corrected) {text}"
        elif m.change == "deleted":
            text = "(I took this message back.)"
        elif m.change == "reacted":
            text = f"(reacted) {text}"
        elif not text.strip():
            if not m.files:
                return Remark(f"An empty message by {m.person} was not let in.")
            text = "(files)"
        direct = room is None or room.kind == "direct"
        asks = m.change in ("", "edited") and (direct or "?" in text or "@" in text)
        to = m.to if room is None or m.to in self._office.people else room.id
        arguments: dict[str, Any] = {"to": to, "text": text, "asks": asks, "in_reply_to": first}
        return self._item(m, "post_message", arguments, m.files)

    # -- mail ---------------------------------------------------------------------------------------------------------

    def _mail(self, m: MailArrived) -> InboundItem | Remark:
        if not m.to and not m.cc:
            return Remark(f"A mail by {m.person} goes to nobody of this office: {_short(m.subject)}.")
        first = self._office.mails.get(self._id(m.in_reply_to))
        mine = first is not None and m.person in (first.sender, *first.to, *first.cc)
        arguments: dict[str, Any] = {
            "to": list(m.to or m.cc), "subject": clean_name(m.subject)[:SUBJECT] or "(no subject)",
            "text": _text(m.text) if m.text.strip() else "(no text)", "in_reply_to": first.id if first and mine else "",
        }  # fmt: skip
        if self._office.people[m.person].kind == "client":
            arguments["to"] = list(dict.fromkeys((*m.to, *m.cc)))
            return self._item(m, "write_mail", arguments, m.files)
        arguments["cc"] = list(m.cc) if m.to else []
        return self._item(m, "send_mail", arguments, m.files)

    # -- calendar -----------------------------------------------------------------------------------------------------

    def _entry(self, e: EntryArrived) -> InboundItem | Remark:
        if e.change == "created":
            return self._created(e)
        entry = self._office.entries.get(self._id(e.entry))
        if entry is None and e.change == "moved":
            return self._created(e)  # its first time was refused: where it is now may do
        if entry is None:
            return Remark(f"{e.person} {e.change} a calendar event that the office does not have.")
        if e.change == "moved":
            minutes = max(SHORTEST, min(e.minutes, LONGEST))
            if entry.start == e.start and entry.minutes == minutes:
                return Remark(f"{entry.title}: nothing has changed that the office keeps.")
            return self._item(e, "move", {"event": entry.id, "start": self._local(e.start), "minutes": minutes})
        if e.change != "deleted":
            return self._item(e, "respond", {"event": entry.id, "answer": e.change})
        if entry.cancelled:
            return Remark(f"{entry.title} is cancelled already.")
        if entry.organizer == e.person:
            return self._item(e, "move", {"event": entry.id, "start": ""})
        return self._item(e, "respond", {"event": entry.id, "answer": "declined"})

    def _created(self, e: EntryArrived) -> InboundItem | Remark:
        others = [p for p in dict.fromkeys(e.attendees) if p != e.person]
        local = self._local(e.start)
        if not local:
            return Remark(f"An event of {e.person} lies outside of the years that the office knows: {_short(e.title)}.")
        # Alone with it, a person wants to be reminded: the office wakes people for meetings and deadlines.
        kind = "meeting" if others else "deadline"
        arguments: dict[str, Any] = {
            "title": clean_name(e.title)[:NAME] or "(untitled)", "attendees": others, "start": local,
            "minutes": max(SHORTEST, min(e.minutes, LONGEST)), "agenda": _text(e.agenda)[:2_000], "event_kind": kind,
            "repeat": e.rule[:2_000],
        }  # fmt: skip
        return self._item(e, "schedule", arguments)

    def _local(self, at: int) -> str:
        """Return an instant as local time, to the minute; empty where a calendar has no such year."""
        try:
            return calendar_for(self._office.calendar).local(at).strftime("%Y-%m-%d %H:%M")
        except (ValueError, OverflowError, OSError):
            return ""

    def _id(self, ref: str) -> str:
        """Return the office's id of a thing that an arrival names by id or by the key under which it came in."""
        return self._known(ref) or ref

    def _item(
        self, arrival: Arrival, tool: str, arguments: dict[str, Any], files: tuple[ArrivedFile, ...] = ()
    ) -> InboundItem:
        kept = tuple((_file_name(f.name), self._blobs.put(f.data)) for f in files)
        return InboundItem(clean_text(arrival.key), arrival.person, tool, canonical(arguments).decode(), _unlike(kept))


def _text(text: str) -> str:
    cleaned = clean_text(text)
    return cleaned if len(cleaned) <= TEXT else cleaned[: TEXT - 20] + "\n[cut here]"


def _short(text: str) -> str:
    return clean_name(text)[:80]


def _file_name(name: str) -> str:
    """Return the last part of a name from outside, cleaned and short, its ending kept."""
    last = clean_name(name.replace("\\", "/").rsplit("/", 1)[-1]).strip(" .")
    stem, dot, ending = last.rpartition(".")
    if dot and len(ending.encode()) <= 20:
        return f"{_cut(stem, 120)}.{ending}"
    return _cut(last, 140) or "attachment"


def _cut(text: str, size: int) -> str:
    return text.encode()[:size].decode("utf-8", "ignore")


def _unlike(files: tuple[tuple[str, Blob], ...]) -> tuple[tuple[str, Blob], ...]:
    """Give each file a name of its own."""
    seen: set[str] = set()
    named: list[tuple[str, Blob]] = []
    for name, blob in files:
        stem, dot, ending = name.rpartition(".")
        unlike, number = name, 2
        while unlike.casefold() in seen:
            unlike = f"{stem} ({number}).{ending}" if dot else f"{name} ({number})"
            number += 1
        seen.add(unlike.casefold())
        named.append((unlike, blob))
    return tuple(named)
