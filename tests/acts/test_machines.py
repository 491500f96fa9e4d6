"""Whatever people, assistants and the clock do in whatever order: the office keeps its tables and its indexes.

A Hypothesis machine plays a firm: every act by anybody, with right and wrong arguments, and what assistants and the
clock bring. After each step the indexes equal what plain loops over the records give, states have moved only along
their tables, and nothing ever points at what is not there.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from simulator.acts import Refused
from simulator.businesstime import calendar_for
from simulator.engine.record import dump, restore
from simulator.events import (
    ActivationLanded,
    ActivationStarted,
    Event,
    FileSaved,
    MeetingEnded,
    Payload,
    QuestionAnswered,
    StimulusArrived,
    decode,
)
from simulator.fold import apply, fold
from simulator.fold.engine import RETRY_HOURS
from simulator.fold.work import DELEGATION_MOVES, REQUEST_MOVES
from simulator.office import Office
from simulator.records import Body, FileRef, FileVersion, Meeting, Running, Stimulus
from tests.access.world import OAKRIDGE, RIVERBEND, TOOLING, blob, juniper
from tests.acts.desk import Desk

STAFF = ("elena", "daniel", "quinn", "dev", "nora", "zed")
PEOPLE = (*STAFF, "maya", "omar")
STATES = {"accept_request": "accepted", "decline_request": "declined", "fulfil_request": "fulfilled"}

who = st.sampled_from(PEOPLE)
other = st.sampled_from((*PEOPLE, "nobody"))
numbers = st.integers(0, 10_000)
likely = st.sampled_from((True, True, True, True, False))
"""Whether the right person acts: most refusals are of the wrong one, and most of what happens is done by the right."""
paths = st.sampled_from(("a.md", "A.md", "Notes/b.md", "Documents/Projects/Riverbend close/c.md", "../d.md"))
matters = st.sampled_from(("", RIVERBEND, OAKRIDGE, TOOLING, "none"))
starts = st.sampled_from(("", "2026-01-06 10:00", "2026-01-06 10:15", "2026-01-07", "2020-01-01 09:00", "soon"))


class Recording(Desk):
    """A desk that keeps every event, and how each state was reached."""

    def __init__(self) -> None:
        super().__init__(juniper())
        self.start = self.office
        self.log: list[bytes] = []

    def happen(self, payload: Payload, actor: str = "engine", activation: str = "engine.1") -> None:
        event = Event(self.office.revision + 1, self.world.now, actor, activation, payload)  # type: ignore[arg-type]
        before = self.office
        self.world.office = apply(before, event)
        self.log.append(event.encode())
        moved(before, self.office)


def moved(before: Office, after: Office) -> None:
    """Check that each request and delegation stayed as it was or moved along its table."""
    for table, old, new in (
        (REQUEST_MOVES, before.requests, after.requests), (DELEGATION_MOVES, before.delegations, after.delegations),
    ):  # fmt: skip
        for name in new:
            if name not in old:
                assert new[name].state in ("open", "working")
            elif new[name].state != old[name].state:
                assert new[name].state in table[old[name].state], f"{name}: {old[name].state} -> {new[name].state}"


class Firm(RuleBasedStateMachine):
    @initialize()
    def open(self) -> None:
        self.desk = Recording()
        self.desk.world.room("general", STAFF)
        self.desk.start = self.desk.office
        self.refusals = 0

    def do(self, person: str, tool: str, /, **args: Any) -> None:
        try:
            self.desk.act(person, tool, **args)
        except Refused as refusal:
            assert str(refusal).strip() and "Traceback" not in str(refusal)
            self.refusals += 1

    def pick(self, index: Any, number: int) -> str:
        keys = sorted(index)
        return keys[number % len(keys)] if keys else "none.1"

    def pick_file(self, number: int, person: str = "") -> str:
        own = self.desk.office.owned.get(person, ())
        name = self.pick(own or self.desk.office.files, number)
        versions = len(self.desk.office.files[name].versions) if name in self.desk.office.files else 1
        return name if number % 3 else f"{name}@{number % versions + 1}"

    # -- acts

    @rule(person=who, path=paths, text=st.sampled_from(("x", "y")))
    def save(self, person: str, path: str, text: str) -> None:
        self.do(person, "save", path=path, text=text)

    @rule(person=who, n=numbers, tool=st.sampled_from(("accept", "sign_off")), k=numbers)
    def accept(self, person: str, n: int, tool: str, k: int) -> None:
        replaces = self.pick(self.desk.office.acceptances, k) if k % 2 else ""
        self.do(person, tool, file=self.pick_file(n, person if n % 4 else ""), replaces=replaces)

    @rule(person=who, n=numbers, level=st.sampled_from(("public", "internal", "confidential", "restricted")),
          release=st.sampled_from(([], ["riverbend"])))  # fmt: skip
    def classify(self, person: str, n: int, level: str, release: list[str]) -> None:
        self.do(person, "classify", file=self.pick_file(n, person), level=level, release_to=release)

    @rule(person=who, n=numbers, to=st.sampled_from(("everyone", "elena", "person:daniel", f"matter:{RIVERBEND}", "client:riverbend")),
          back=st.booleans())  # fmt: skip
    def share(self, person: str, n: int, to: str, back: bool) -> None:
        if back:
            self.do(person, "unshare", file=self.pick_file(n, person), audience=to)
        else:
            self.do(person, "share", file=self.pick_file(n, person), audience=[to])

    @rule(person=who, to=st.sampled_from(("general", *STAFF)), asks=st.booleans(), n=numbers)
    def post(self, person: str, to: str, asks: bool, n: int) -> None:
        reply = self.pick(self.desk.office.messages, n) if n % 2 else ""
        self.do(person, "post_message", to=to, text="words", asks=asks, in_reply_to=reply)

    @rule(person=who, to=st.lists(other, max_size=3), n=numbers)
    def mail(self, person: str, to: list[str], n: int) -> None:
        attachments = [self.pick_file(n, person)] if n % 3 == 0 else []
        self.do(person, "send_mail", to=to, subject="s", text="t", attachments=attachments)

    @rule(person=st.sampled_from(("maya", "omar")), names=st.lists(st.sampled_from(("a.csv", "A.csv", "b.csv")), max_size=2))
    def client_mail(self, person: str, names: list[str]) -> None:
        to = "elena" if person == "maya" else "nora"
        items = [{"name": name, "text": name} for name in names]
        self.do(person, "write_mail", to=[to], subject="s", text="t", attachments=items, period="2026-01")

    @rule(person=who, to=st.lists(other, max_size=2), start=starts, kind=st.sampled_from(("meeting", "deadline", "focus")),
          repeat=st.sampled_from(("", "FREQ=DAILY", "FREQ=NEVER")))  # fmt: skip
    def schedule(self, person: str, to: list[str], start: str, kind: str, repeat: str) -> None:
        self.do(person, "schedule", title="t", attendees=to, start=start, event_kind=kind, repeat=repeat)

    @rule(person=who, n=numbers, start=starts, answer=st.sampled_from(("accepted", "declined", "tentative")), move=st.booleans(), own=likely)
    def event(self, person: str, n: int, start: str, answer: str, move: bool, own: bool) -> None:
        entry = self.pick(self.desk.office.entries, n)
        if own and entry in self.desk.office.entries:
            found = self.desk.office.entries[entry]
            person = found.organizer if move else (*found.attendees, person)[0]
        if move:
            self.do(person, "move", event=entry, start=start)
        else:
            self.do(person, "respond", event=entry, answer=answer)

    @rule(person=who, to=other, due=starts, matter=matters)
    def make_request(self, person: str, to: str, due: str, matter: str) -> None:
        self.do(person, "make_request", to=to, outcome="x", due=due, matter=matter)

    @rule(person=who, n=numbers, tool=st.sampled_from(sorted(STATES)), own=likely)
    def answer_request(self, person: str, n: int, tool: str, own: bool) -> None:
        more = {"reason": "x"} if tool == "decline_request" else {}
        request = self.pick(self.desk.office.requests, n)
        if own and request in self.desk.office.requests:
            person = self.desk.office.requests[request].owner
        self.do(person, tool, request=request, **more)

    @rule(person=who, matter=matters, path=paths, own=likely)
    def delegate(self, person: str, matter: str, path: str, own: bool) -> None:
        if own:
            person, path = "daniel", "Documents/w.md"
            matter = RIVERBEND if matter == "none" or matter == OAKRIDGE else matter
        self.do(person, "delegate", goal="x", deliverables=[path], matter=matter)

    @rule(person=who, n=numbers, own=likely, decision=st.sampled_from(("accept", "revise", "supplement")))
    def review(self, person: str, n: int, own: bool, decision: str) -> None:
        ready = [d.id for d in self.desk.office.delegations.values() if d.state in ("submitted", "stopped")]
        work = self.pick(ready if own and ready else self.desk.office.delegations, n)
        if own and work in self.desk.office.delegations:
            person = self.desk.office.delegations[work].principal
        self.do(person, "review", delegation=work, decision=decision, notes="again")

    @rule(person=who, n=numbers, of_request=st.booleans(), own=st.booleans())
    def withdraw(self, person: str, n: int, of_request: bool, own: bool) -> None:
        o = self.desk.office
        ref = self.pick(o.requests if of_request else o.delegations, n)
        if own and ref in o.requests:
            person = o.requests[ref].asker
        elif own and ref in o.delegations:
            person = o.delegations[ref].principal
        self.do(person, "withdraw", ref=ref, reason="x")

    @rule(n=numbers, person=who, own=likely)
    def answer_question(self, n: int, person: str, own: bool) -> None:
        asked = {q.id: d.principal for d in self.desk.office.delegations.values() for q in d.questions}
        name = self.pick(asked, n)
        self.do(asked.get(name, person) if own else person, "answer_question", question=name, text="yes")

    @rule(person=who, record=st.sampled_from(("commitment", "decision")), due=starts, n=numbers)
    def note(self, person: str, record: str, due: str, n: int) -> None:
        if n % 3 == 0:
            self.do(person, "close_note", record=self.pick(self.desk.office.memories, n))
        else:
            self.do(person, "note", record=record, text="x", due=due)

    @rule(person=who, matter=matters, whom=other, member=st.booleans())
    def team(self, person: str, matter: str, whom: str, member: bool) -> None:
        self.do(person, "change_team", matter=matter, person=whom, member=member)

    # -- assistants and the clock

    def working(self) -> list[str]:
        return sorted(d.id for d in self.desk.office.delegations.values() if d.state == "working")

    @precondition(lambda self: self.working())
    @rule(n=numbers, how=st.sampled_from(("ask", "submit", "stop", "nothing")), path=paths)
    def assistant(self, n: int, how: str, path: str) -> None:
        """A segment starts, and ends in one of its ways."""
        desk, names = self.desk, self.working()
        work = names[n % len(names)]
        actor = f"assistant:{work}"
        d = desk.office.delegations[work]
        number = desk.office.counts.get(f"n:{actor}", 0) + 1
        running = Running(f"{actor}.{number}", "segment", actor, (), desk.world.now, desk.office.revision + 1, ref=work, number=number)
        desk.happen(ActivationStarted(running))
        desk.world.now += 60
        if how == "ask":
            desk.ask(work)
        elif how == "stop":
            desk.stop(work)
        elif how == "submit":
            known = desk.office.by_path.get(f"home:{d.principal}\x1fdocuments/w.md", "")
            old = desk.office.files.get(known)
            number = len(old.versions) + 1 if old else 1
            version = FileVersion(number, blob(f"draft {number}"), "text/plain", actor, running.id, desk.world.now,
                                  walls=(d.matter,) if d.matter == RIVERBEND else (), delegation=work)  # fmt: skip
            saved = FileSaved(known or f"{running.id}.f0", f"home:{d.principal}", "Documents/w.md", d.principal, d.matter, version)
            desk.happen(saved, actor, running.id)
            desk.submit(work, FileRef(saved.file, number))
        elif desk.office.counts.get(f"u:{actor}", 0) < len(RETRY_HOURS):
            desk.happen(ActivationLanded(running.id, 1, "unavailable"))
            return
        else:  # the engine gives up after the last try, and says so (RULE 3)
            desk.stop(work, "the assistant's model could not be reached")
            desk.happen(ActivationLanded(running.id, 1, "cut"))
            return
        desk.happen(ActivationLanded(running.id, 1, "done"))

    @precondition(lambda self: self.desk.office.timers)
    @rule(n=numbers)
    def clock(self, n: int) -> None:
        """The clock reaches a timer, as the engine would take it."""
        desk = self.desk
        timer = desk.office.timers[self.pick(desk.office.timers, n)]
        if timer.kind == "segment":
            return
        desk.world.now = max(desk.world.now, timer.at)
        if timer.kind == "occurrence":
            desk.begin(timer.ref)
        elif timer.kind == "answer":
            question = timer.key.partition(":")[2]
            desk.happen(QuestionAnswered(timer.ref, question, "engine", Body("go on", size=5)))
        elif timer.kind == "meeting":
            entry = desk.office.entries[timer.ref]
            desk.happen(MeetingEnded(Meeting(f"{entry.id}.m{timer.at}", entry.id, timer.at, entry.title, entry.organizer, (), "missed")))
        else:
            kind: Any = {"day": "day_start", "due": "due"}[timer.kind]
            stimulus = Stimulus(f"{timer.key}:{desk.world.now}", kind, timer.ref, desk.world.now, "engine")
            desk.happen(StimulusArrived(timer.owner, stimulus))

    @rule(person=who)
    def wakes(self, person: str) -> None:
        """Somebody takes everything in their inbox, and is free again."""
        desk = self.desk
        number = desk.office.counts.get(f"n:{person}", 0) + 1
        taken = desk.office.inboxes.get(person, ())
        running = Running(f"{person}.w{number}", "principal", person, (person,), desk.world.now, desk.office.revision + 1,
                          taken, tuple(s.id for s in taken), number=number)  # fmt: skip
        desk.happen(ActivationStarted(running))
        assert desk.office.busy[person] == running.id and person not in desk.office.inboxes
        desk.happen(ActivationLanded(running.id, 1, "done"))
        assert person not in desk.office.busy and running.id not in desk.office.running

    # -- what holds at every moment

    @invariant()
    def indexes_are_what_plain_loops_give(self) -> None:
        o = self.desk.office
        assert grouped((f.owner, f.id) for f in o.files.values() if not f.space.startswith("matter:")) == lists(o.owned, "matter:")
        assert {f.id for f in o.files.values()} == set(o.by_path.values()) and len(o.by_path) == len(o.files)
        assert grouped((m.room, m.id) for m in o.messages.values()) == lists(o.by_room)
        assert grouped((p, m.id) for m in o.mails.values() for p in {m.sender, *m.to, *m.cc}) == lists(o.by_mailbox)
        assert grouped((p, e.id) for e in o.entries.values() for p in {e.organizer, *e.attendees}) == lists(o.by_calendar)
        assert grouped((m.holder, m.id) for m in o.memories.values() if not m.closed_at) == lists(o.by_holder)
        assert grouped((g.audience, g.id) for g in o.grants.values()) == lists(o.by_audience)
        assert grouped((g.file, g.id) for g in o.grants.values()) == lists(o.by_file)
        parts = [(p, r.id) for r in o.requests.values() for p in {r.asker, r.owner}]
        assert grouped([*parts, *((d.principal, d.id) for d in o.delegations.values())]) == lists(o.by_person)
        assert not set(o.grants) & set(o.revoked)

    @invariant()
    def one_current_acceptance_a_capacity_and_file(self) -> None:
        o = self.desk.office
        for name, ids in o.accepted.items():
            current = [o.acceptances[i] for i in ids]
            assert len({a.capacity for a in current}) == len(current)
            assert all(a.file == name for a in current)
        for a in o.acceptances.values():
            assert 1 <= a.version <= len(o.files[a.file].versions) and a.by in o.people
        for file in o.files.values():
            assert [v.number for v in file.versions] == list(range(1, len(file.versions) + 1))
        for grant in o.grants.values():
            assert 1 <= grant.version <= len(o.files[grant.file].versions)

    @invariant()
    def timers_are_of_live_things_alone(self) -> None:
        o = self.desk.office
        for key, t in o.timers.items():
            assert key == t.key and t.at > 0
            if t.kind == "segment":
                assert o.delegations[t.ref].state == "working"
            elif t.kind == "answer":
                assert o.delegations[t.ref].state == "asking"
                (question,) = (q for q in o.delegations[t.ref].questions if key == f"answer:{q.id}")
                assert question.answer is None
            elif t.kind in ("occurrence", "meeting"):
                assert not o.entries[t.ref].cancelled
            elif t.kind == "due":
                if t.ref in o.requests:
                    assert o.requests[t.ref].state in ("open", "accepted")
                else:
                    assert o.memories[t.ref].closed_at == 0
        for d in o.delegations.values():
            waits = f"segment:{d.id}" in o.timers or any(r.ref == d.id for r in o.running.values())
            assert waits == (d.state == "working")

    @invariant()
    def people_are_busy_with_what_runs_and_inboxes_are_theirs(self) -> None:
        o = self.desk.office
        assert dict(o.busy.items()) == {p: r.id for r in o.running.values() for p in r.people}
        for person, held in o.inboxes.items():
            assert held and o.people[person].active
            assert len({(s.kind, s.id) for s in held}) == len(held), "the same thing twice"
        assert "zed" not in o.inboxes

    @invariant()
    def rounds_and_questions_hang_together(self) -> None:
        for d in self.desk.office.delegations.values():
            assert [r.number for r in d.rounds] == list(range(1, len(d.rounds) + 1))
            assert all(r.review is not None for r in d.rounds[:-1])
            assert sum(q.answer is None for q in d.questions) <= 1
            if d.state == "asking":
                assert d.questions[-1].answer is None
            if d.state == "accepted":
                assert d.rounds[-1].review is not None and d.rounds[-1].review.decision == "accept"

    @invariant()
    def nobody_is_in_two_meetings(self) -> None:
        o = self.desk.office
        spans = defaultdict(list)
        for e in o.entries.values():
            if e.kind == "meeting" and not e.cancelled and not e.rule:
                for p in {e.organizer, *e.attendees}:
                    if (p, "declined") not in e.answers:
                        spans[p].append((e.start, e.start + e.minutes * 60))
        for held in spans.values():
            ordered = sorted(held)
            assert all(x[1] <= y[0] for x, y in zip(ordered, ordered[1:], strict=False))

    def teardown(self) -> None:
        """The log folds again to the same office, by its bytes, and the office survives its checkpoint."""
        again = fold((decode(data) for data in self.desk.log), self.desk.start)
        assert again == self.desk.office and restore(dump(again)) == again
        assert calendar_for(again.calendar).is_open(self.desk.world.now) in (True, False)


def grouped(pairs: Any) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for key, value in pairs:
        found[key].append(value)
    return {key: sorted(values) for key, values in found.items()}


def lists(index: Any, without: str = "\x00") -> dict[str, list[str]]:
    assert all(len(set(values)) == len(values) and values for values in index.values())
    return {key: sorted(values) for key, values in index.items() if not key.startswith(without)}


Firm.TestCase.settings = settings(max_examples=100, stateful_step_count=60, deadline=None)
TestFirm = Firm.TestCase
