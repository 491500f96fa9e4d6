"""What a person is told: the role card and the wake-up message, all of it through `view` and `recall` (DESIGN 6,
RULE 12)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from simulator.businesstime import calendar_for
from simulator.memory import Recall, recall
from simulator.office import Office
from simulator.prompts import render
from simulator.records import Body, CalendarEntry, Delegation, FileRef, Memory, Request, Stimulus
from simulator.view import View, view

Texts = Callable[[Body], str]
SHOWN = 6_000
"""Characters of one text in a briefing."""


def system_prompt(office: Office, person: str) -> str:
    """Return a person's role card as the first message of their day."""
    me, seen = office.people[person], view(office, person)
    if me.kind == "client":
        return _client_prompt(office, person, seen)
    department = office.departments.get(me.department)
    card = [
        {"id": me.id, "email": me.email, "department": department.name if department else "", "reports_to": me.manager,
         "occupation": me.code, "authority": me.authority, "clearance": me.clearance, "style": me.style},
    ]  # fmt: skip
    colleagues = [
        {"id": c.id, "name": c.name, "title": c.title, "kind": c.kind, "department": c.department, "client": c.client,
         "authority": c.authority}
        for c in seen.people() if c.active and c.id != person
    ]  # fmt: skip
    matters = [
        {"id": m.id, "name": m.name, "client": m.client, "lead": m.lead,
         "team": [{"id": p, "skills": office.people[p].skills, "authority": office.people[p].authority}
                  for p in m.members if p in office.people]}
        for m in seen.matters() if person in m.members
    ]  # fmt: skip
    skills = [
        {"skill": name, "description": office.skills[name].description, "path": f"/mnt/company/Resources/Skills/{name}"}
        for name in me.skills if name in office.skills
    ]  # fmt: skip
    systems = [{"system": s.id, "title": s.title, "for": s.audience} for s in seen.systems()]
    return render(
        "principal_system", name=me.name, title=me.title, firm=office.name, card=card, colleagues=colleagues,
        matters=matters, skills=skills, systems=systems, turns=office.turn_limit,
    )  # fmt: skip


def _client_prompt(office: Office, person: str, seen: View) -> str:
    me = office.people[person]
    client = office.clients.get(me.client)
    card = [
        {
            "id": me.id,
            "email": me.email,
            "client": me.client,
            "sector": client.sector if client else "",
            "style": me.style,
        }
    ]
    matters = [m for m in sorted(office.matters.values(), key=lambda m: m.id) if m.client == me.client and me.client]
    leads = [office.people[m.lead] for m in matters if m.lead in office.people]
    colleagues = [
        {"id": p.id, "name": p.name, "title": p.title, "matter": m.id} for p, m in zip(leads, matters, strict=False)
    ]
    demands = [
        {"id": d.id, "work": d.kind, "matter": d.matter, "cadence": d.cadence, "contact_in_firm":
        office.matters[d.matter].lead}
        for d in sorted(office.demands.values(), key=lambda d: d.id) if d.contact == person
    ]  # fmt: skip
    return render(
        "client_system", name=me.name, title=me.title, firm=client.name if client else me.name, provider=office.name,
        card=card, colleagues=colleagues, demands=demands,
    )  # fmt: skip


class Briefing:
    """Builds the parts of a wake-up message for one person, from one office."""

    def __init__(self, office: Office, person: str, texts: Texts) -> None:
        self.office = office
        self.person = person
        self.texts = texts
        self.seen = view(office, person)
        self.calendar = calendar_for(office.calendar)

    # -- small things

    def when(self, at: int) -> str:
        """Return a local time as people write it, or nothing."""
        return f"{self.calendar.local(at):%Y-%m-%d %H:%M}" if at else ""

    def file(self, ref: FileRef) -> str:
        """Return a file as path and version; what may not be seen stays unnamed."""
        path = self.seen.path_of(ref)
        return f"{path}@{ref.version}" if path else "(a file you may not see)"

    def text(self, body: Body) -> str:
        """Return a body's text, cut to what a briefing shows."""
        text = self.texts(body)
        return text if len(text) <= SHOWN else text[:SHOWN] + " [cut]"

    # -- records

    def memory(self, m: Memory) -> dict[str, Any]:
        return {"id": m.id, "text": self.text(m.text), "about": m.about, "matter": m.matter, "due": self.when(m.due),
                "since": self.when(m.at)}  # fmt: skip

    def request(self, r: Request) -> dict[str, Any]:
        return {
            "request": r.id, "from": r.asker, "owner": r.owner, "outcome": self.text(r.outcome), "state": r.state,
            "due": self.when(r.due), "matter": r.matter, "work": r.work, "period": r.period,
            "materials": [self.file(f) for f in r.materials], "results": [self.file(f) for f in r.results],
            "note": self.text(r.note),
        }  # fmt: skip

    def delegation(self, d: Delegation, full: bool = False) -> dict[str, Any]:
        latest = d.rounds[-1]
        shown: dict[str, Any] = {
            "delegation": d.id, "state": d.state, "work": d.work, "period": d.period, "matter": d.matter,
            "request": d.request, "round": latest.number, "deliverables": d.deliverables,
            "inputs": [self.file(f) for f in d.inputs], "due": self.when(d.due),
        }  # fmt: skip
        if latest.submission is not None:
            shown["submitted"] = [self.file(f) for f in latest.submission.files]
            shown["report"] = self.text(latest.submission.report)
            if latest.submission.refused:
                shown["left_out"] = latest.submission.refused
        if full or d.state in ("asking", "submitted"):
            shown["goal"] = self.text(d.goal)
            shown["constraints"] = d.constraints
            shown["reviews"] = [
                {"round": r.number, "decision": r.review.decision, "notes": self.text(r.review.notes)}
                for r in d.rounds if r.review is not None
            ]  # fmt: skip
            shown["questions"] = [
                {"question": q.id, "text": self.text(q.body), "answer": self.text(q.answer) if q.answer else ""}
                for q in d.questions
            ]  # fmt: skip
        return shown

    def entry(self, e: CalendarEntry, at: int) -> dict[str, Any]:
        return {
            "event": e.id, "title": e.title, "start": self.when(at), "minutes": e.minutes, "kind": e.kind,
            "organizer": e.organizer, "attendees": e.attendees, "agenda": e.agenda, "matter": e.matter, "work": e.work,
        }  # fmt: skip

    def mail(self, mail_id: str) -> dict[str, Any]:
        m = self.seen.mail(mail_id)
        if m is None:
            return {"mail": mail_id, "text": "(not yours to read)"}
        return {
            "mail": m.id, "thread": m.thread, "from": m.sender, "to": m.to, "cc": m.cc, "subject": m.subject,
            "text": self.text(m.body), "attachments": [self.file(f) for f in m.attachments], "matter": m.matter,
        }  # fmt: skip

    def message(self, message_id: str) -> dict[str, Any]:
        m = self.seen.message(message_id)
        if m is None:
            return {"message": message_id, "text": "(not yours to read)"}
        room = self.office.rooms[m.room]
        return {
            "message": m.id, "room": m.room, "room_name": room.name, "from": m.sender, "text": self.text(m.body),
            "asks": m.asks, "thread": m.thread, "cites": [self.file(f) for f in self.seen.readable(m.cites)],
        }  # fmt: skip

    # -- stimuli

    def stimulus(self, s: Stimulus) -> dict[str, Any]:
        """Return what wakes the person, with the content they need to act on it."""
        shown: dict[str, Any] = {"kind": s.kind, "ref": s.ref, "from": s.source, "at": self.when(s.at)}
        if s.text:
            shown["note"] = s.text
        office = self.office
        if s.kind == "mail" and s.ref in office.mails:
            shown.update(self.mail(s.ref))
        elif s.kind == "message" and s.ref in office.messages:
            shown.update(self.message(s.ref))
        elif s.kind in ("request", "answer", "lost") and s.ref in office.requests:
            shown.update(self.request(office.requests[s.ref]))
        elif s.kind in ("question", "submission") and s.ref in office.delegations:
            shown.update(self.delegation(office.delegations[s.ref], full=True))
            if s.kind == "question":
                shown["question"] = s.id
        elif s.kind == "calendar" and s.ref in office.entries:
            entry = office.entries[s.ref]
            shown = {**self.entry(entry, s.at), **shown, "event_kind": entry.kind}
        elif s.kind == "due":
            shown.update(self._due(s.ref))
        elif s.kind == "demand" and s.ref in office.demands:
            d = office.demands[s.ref]
            lead = office.matters[d.matter].lead if d.matter in office.matters else ""
            shown.update({"demand": d.id, "work": d.kind, "matter": d.matter, "cadence": d.cadence, "write_to": lead})
        elif s.kind in ("share", "notice") and s.ref in office.files:
            shown["file"] = self._latest(s.ref)
        return shown

    def _due(self, ref: str) -> dict[str, Any]:
        office = self.office
        if ref in office.requests:
            return self.request(office.requests[ref])
        if ref in office.memories:
            return self.memory(office.memories[ref])
        return {}

    def _latest(self, file_id: str) -> str:
        versions = self.seen.versions(file_id)
        return self.file(versions[-1].ref) if versions else "(a file you may not see)"

    # -- the whole

    def work(self) -> list[dict[str, Any]]:
        """Return the requests and delegations that are open for this person."""
        requests = [self.request(r) for r in self.seen.requests(("open", "accepted"))]
        under_way = ("working", "asking", "submitted", "stopped")
        delegations = [self.delegation(d) for d in self.seen.delegations(under_way)]
        return [*requests[-20:], *delegations[-12:]]

    def wake(self, stimuli: tuple[Stimulus, ...], fresh: bool, now: int) -> str:
        """Return the wake-up message of a principal."""
        kept: Recall = recall(self.office, self.person, stimuli)
        today = [self.entry(e, at) for at, e in self.seen.entries(now, now + 8 * 3600)] if fresh else []
        return render(
            "wake",
            now=self.calendar.describe(now),
            fresh=fresh,
            stimuli=[*(self.stimulus(s) for s in stimuli), *({**e, "kind": "today", "event_kind": e["kind"]} for e in today)],
            commitments=[self.memory(m) for m in kept.commitments],
            decisions=[self.memory(m) for m in kept.decisions],
            discussions=[self.memory(m) for m in kept.discussions],
            questions=[self.memory(m) for m in kept.questions],
            colleagues=[self.memory(m) for m in kept.colleagues],
            work=self.work(),
        )

    def client_wake(self, stimuli: tuple[Stimulus, ...], now: int) -> str:
        """Return the wake-up message of a client."""
        sent = [
            {"mail": m.id, "subject": m.subject, "to": m.to, "at": self.when(m.at)}
            for m in self.seen.mails(40) if m.sender == self.person and m.thread == m.id
        ]  # fmt: skip
        return render(
            "client_wake", now=self.calendar.describe(now), stimuli=[self.stimulus(s) for s in stimuli], work=sent[-12:]
        )

    def meeting(self, entry: CalendarEntry, present: tuple[str, ...], now: int) -> str:
        """Return an attendee's view of a meeting."""
        kept = recall(self.office, self.person, (Stimulus(entry.id, "calendar", entry.id, now, entry.organizer),))
        names = ", ".join(self.office.people[p].name for p in present if p != self.person)
        return render(
            "meeting_view", now=self.calendar.describe(now), title=entry.title, present=names, agenda=entry.agenda or
            "(none)",
            commitments=[self.memory(m) for m in kept.commitments], decisions=[self.memory(m) for m in kept.decisions],
            questions=[self.memory(m) for m in kept.questions], work=self.work(),
        )  # fmt: skip
