"""What an act is decided with. Each act is checked when it is called, answered at once, and decided again at commit
(RULE 18).

A handler takes an `ActContext` and its arguments, and either returns payloads with an answer or raises `Refused`. It
is the
same function both times: against the person's working copy when called, against the office as it is at commit.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from simulator.access import Action, Decision, Subject, can
from simulator.businesstime import BusinessCalendar, calendar_for
from simulator.canonical import clean_text, sha256
from simulator.events import Payload
from simulator.office import Office
from simulator.ports import Blob, BlobStore
from simulator.records import INLINE_BYTES, Body, FileRef, Person
from simulator.view import view

YEARS = range(1971, 2200)
"""Years in which an act may name a time: what lies outside cannot be shown in every time zone."""


class Refused(Exception):
    """An act cannot be done. The text is shown to the person who tried: it says why and, where it helps, what to do."""


class Outcome(msgspec.Struct, frozen=True):
    """What an act does: payloads to append in order, and the answer its caller reads (JSON-ready)."""

    payloads: tuple[Payload, ...]
    answer: dict[str, Any]


class ActContext:
    """The circumstances of one act.

    `act_id` is final from the first call on (RULE 8). `opened` are the files the activation has opened so far. `texts`
    collects long bodies by hash until the commit writes them. `received` are names and bytes that came in with the act.
    """

    def __init__(
        self,
        office: Office,
        actor: str,
        activation: str,
        act_id: str,
        at: int,
        blobs: BlobStore,
        texts: dict[str, str],
        opened: tuple[FileRef, ...] = (),
        received: tuple[tuple[str, Blob], ...] = (),
    ) -> None:
        self.office = office
        self.actor = actor
        self.activation = activation
        self.act_id = act_id
        self.at = at
        self.blobs = blobs
        self.texts = texts
        self.opened = opened
        self.received = received
        self.relied: list[tuple[str, str, str]] = []

    @property
    def calendar(self) -> BusinessCalendar:
        return calendar_for(self.office.calendar)

    @property
    def me(self) -> Person:
        return self.office.people[self.actor]

    def allow(self, action: Action, target: Any) -> None:
        """Refuse unless the actor may do `action` to `target`."""
        decision: Decision = can(Subject(self.actor), action, target, self.office)
        if not decision.allowed:
            raise Refused(decision.reason)

    def rely(self, kind: str, name: str) -> None:
        """Note that this act rests on a record as it is now; at commit it must be so still (RULE 18)."""
        self.relied.append((kind, name, token(self.office, kind, name)))

    def body(self, text: str, limit: int = 40_000) -> Body:
        """Return a text as a body, cleaned and bounded; long ones become references (RULE 19)."""
        return make_body(text, self.texts, limit)

    def person(self, name: str) -> Person:
        """Find a person by id, full name, first name or mail address."""
        known = (p for p in self.office.people.values() if self.knows(f"person:{p.id}"))
        people = {p.id: p for p in known}
        wanted = name.strip().casefold()
        if wanted in people:
            return people[wanted]
        found = [p for p in people.values() if wanted in (p.name.casefold(), p.email.casefold(), p.id.casefold())]
        found = found or [p for p in people.values() if p.name.casefold().split(" ")[0] == wanted and wanted]
        if len(found) == 1:
            return found[0]
        if found:
            names = ", ".join(sorted(p.id for p in found))
            raise Refused(f"{name!r} could be any of {names}: use the id")
        raise Refused(f"nobody here is called {name!r}: use an id from the list of colleagues")

    def knows(self, target: str) -> bool:
        """Whether the actor may know of a person, client or matter: what they may not, does not exist for them."""
        return can(Subject(self.actor), "know", target, self.office).allowed

    def people(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Find several people; the order is kept, doubles go."""
        return tuple(dict.fromkeys(self.person(name).id for name in names))

    def matter(self, name: str) -> str:
        """Find a matter of the actor's by id or name; empty stays empty."""
        if not name:
            return ""
        wanted = name.strip().casefold()
        for matter in sorted(self.office.matters.values(), key=lambda m: m.id):
            mine = self.actor in matter.members or self.me.client == matter.client != ""
            if mine and wanted in (matter.id.casefold(), matter.name.casefold()):
                return matter.id
        raise Refused(f"there is no matter {name!r} that you work on")

    def file(self, text: str) -> FileRef:
        """Find a file that the actor may read, by path or id, with `@<version>` for another than the latest."""
        ref = find_file(self.office, self.actor, text)
        if ref is None:
            raise Refused(f"there is no file {text!r}, or it is not yours to see")
        # A path means the latest version: at commit it must be the one that was meant when the act was called.
        self.rely("version", f"{self.actor}\x1f{text}")
        return ref

    def files(self, texts: tuple[str, ...]) -> tuple[FileRef, ...]:
        """Find several files; the order is kept, doubles go."""
        return tuple(dict.fromkeys(self.file(text) for text in texts))

    def when(self, text: str) -> int:
        """Read a local time, `YYYY-MM-DD HH:MM`; a bare date means the end of that working day. Empty is 0."""
        cleaned = text.strip().replace("T", " ")
        if not cleaned:
            return 0
        for written, form in ((cleaned[:16], "%Y-%m-%d %H:%M"), (cleaned, "%Y-%m-%d")):
            try:
                moment = datetime.strptime(written, form)
            except ValueError:
                continue
            minute = moment.hour * 60 + moment.minute if "%H" in form else self.office.calendar.closes
            if moment.year in YEARS:
                return self.calendar.at(moment.date().isoformat(), minute)
        raise Refused(f"{text!r} is no time: write it as YYYY-MM-DD HH:MM, local time")


def find_file(office: Office, person: str, text: str) -> FileRef | None:
    """Find a file the person may read by display path or id, with `@<version>` for another than the latest."""
    seen = view(office, Subject(person))
    found = seen.file(text.strip())
    if found is not None:
        return found.ref
    name, _, number = text.strip().rpartition("@") if "@" in text else (text.strip(), "", "")
    readable = seen.versions(name) if name in office.files else ()
    if number:
        readable = tuple(f for f in readable if str(f.ref.version) == number)
    return readable[-1].ref if readable else None


def make_body(text: str, texts: dict[str, str], limit: int = 40_000) -> Body:
    """Return `text` as a body; a long one is put into `texts` under its hash."""
    cleaned = clean_text(text)
    if len(cleaned) > limit:
        cleaned = cleaned[:limit] + "\n[cut here]"
    data = cleaned.encode()
    if len(data) <= INLINE_BYTES:
        return Body(text=cleaned, size=len(data))
    digest = sha256(data)
    texts[digest] = cleaned
    return Body(sha256=digest, size=len(data))


def token(office: Office, kind: str, name: str) -> str:
    """Return what a record looks like now, for a checked update: equal tokens mean that nothing relied on has moved."""
    if kind == "file":
        file = office.files.get(name)
        return f"v{len(file.versions)}" if file else "absent"
    if kind == "request":
        request = office.requests.get(name)
        return request.state if request else "absent"
    if kind == "delegation":
        work = office.delegations.get(name)
        return f"{work.state}/{len(work.rounds)}/{len(work.questions)}" if work else "absent"
    if kind == "entry":
        entry = office.entries.get(name)
        return f"{entry.start}/{entry.minutes}/{entry.cancelled}" if entry else "absent"
    if kind == "version":
        person, _, text = name.partition("\x1f")
        ref = find_file(office, person, text)
        return f"{ref.file}@{ref.version}:{_blob(office, ref)[:12]}" if ref else "absent"
    if kind == "accepted":
        return ",".join(office.accepted.get(name, ()))
    if kind in ("accept", "quality_signoff"):
        standing = (office.acceptances[i] for i in office.accepted.get(name, ()))
        return next((a.id for a in standing if a.capacity == kind), "none")
    raise ValueError(f"no token for records of kind {kind!r}")


def _blob(office: Office, ref: FileRef) -> str:
    return office.files[ref.file].versions[ref.version - 1].blob.sha256
