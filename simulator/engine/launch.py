"""Starts: from a stimulus, a meeting's time or a delegation to a running activation; and the resuming of one (RULES
6, 12, 15, 17)."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from simulator.briefing import Briefing, system_prompt
from simulator.businesstime import calendar_for
from simulator.conversation import Message, ModelResponse
from simulator.engine.agenda import MEETING_ACTOR
from simulator.engine.environment import Bodies, Environment
from simulator.engine.inbox import choose
from simulator.engine.meeting import MeetingRun
from simulator.engine.person import PersonRun, carried_over
from simulator.engine.record import Recorder
from simulator.engine.run import Run
from simulator.engine.segment import Mounts, SegmentRun, decode_tree
from simulator.events import ActivationStarted, SessionOpened
from simulator.fold.files import path_key
from simulator.mounts import PlannedFile, plan_mounts
from simulator.office import Office
from simulator.ports import ShellState, TreeEntry
from simulator.prompts import render
from simulator.records import Delegation, Running


class Launcher:
    """Makes running activations. `history` returns the office as of a revision: needed only after a restart."""

    def __init__(self, env: Environment, bodies: Bodies, record: Recorder, history: Callable[[int], Office]) -> None:
        self.env = env
        self.bodies = bodies
        self.record = record
        self.history = history
        self._mounts: dict[tuple[str, int], tuple[Mounts, str]] = {}
        self._closed: dict[str, tuple[tuple[Message, ...], ModelResponse]] = {}

    def _start(self, actor: str, running: Running) -> Running:
        """Record the start; the activation reads the office as of this very event (RULE 6)."""
        self.record.emit(actor, running.id, ActivationStarted(running))
        return running

    def _next_revision(self) -> int:
        return self.record.office.revision + 1

    # -- people

    def person(self, person: str, at: int) -> PersonRun:
        """Start a person's activation with up to 12 of their stimuli."""
        office = self.record.office
        stimuli, taken = choose(office, person, at)
        day = calendar_for(office.calendar).day(at)
        if office.sessions.get(person, "").partition("#")[0] != day:
            self.record.emit("engine", f"{person}.{day}", SessionOpened(person, office.people[person].session, day))
        number = office.counts.get(f"n:{person}", 0) + 1
        kind = "client" if office.people[person].kind == "client" else "principal"
        running = Running(f"{person}.{number}", kind, person, (person,), at, self._next_revision(), stimuli, taken,  # type: ignore[arg-type]
                          number=number)  # fmt: skip
        self._start(person, running)
        return self._person_run(running, self.record.office)

    def _person_run(self, running: Running, base: Office) -> PersonRun:
        person = running.actor
        first = int(base.sessions[person].partition("#")[2] or 1)
        carried = self._carried(person, base, first, running.number) if running.kind == "principal" else ()
        briefing = Briefing(base, person, self.bodies)
        if running.kind == "client":
            prompt = briefing.client_wake(running.stimuli, running.at)
        else:
            prompt = briefing.wake(running.stimuli, not carried, running.at)
        return PersonRun(
            self.env, self.bodies, running, base, carried=carried, system=system_prompt(base, person), prompt=prompt
        )

    def _carried(self, person: str, base: Office, first: int, number: int) -> tuple[Message, ...]:
        """Return today's conversation so far, from the tape: the last activation of today that got an answer."""
        if not base.switches.persistence:
            return ()
        session = base.people[person].session
        for earlier in range(number - 1, first - 1, -1):
            held = self.env.journal.conversation(f"{person}.{earlier}", session)
            if held is not None:
                return carried_over(*held)
        return ()

    # -- meetings

    def meeting(self, entry_id: str, at: int) -> MeetingRun | None:
        """Start a meeting with those who are free, all at once; None while the organizer or all others are busy."""
        office = self.record.office
        entry = office.entries[entry_id]
        declined = {who for who, answer in entry.answers if answer == "declined"}
        wanted = [p for p in dict.fromkeys((entry.organizer, *entry.attendees)) if p not in declined]
        taken = {p for p in wanted if p in office.busy or p in office.held}
        present = tuple(p for p in wanted if p not in taken and p in office.people and office.people[p].active)
        if entry.organizer not in present or len(present) < 2:
            return None
        actor = MEETING_ACTOR + entry_id
        number = office.counts.get(f"n:{actor}", 0) + 1
        running = Running(f"{entry_id}.m{number}", "meeting", actor, present, at, self._next_revision(), ref=entry_id,
                          number=number)  # fmt: skip
        self._start(entry.organizer, running)
        return self._meeting_run(running, self.record.office)

    def _meeting_run(self, running: Running, base: Office) -> MeetingRun:
        entry = base.entries[running.ref]
        prompts = {p: Briefing(base, p, self.bodies).meeting(entry, running.people, running.at) for p in running.people}
        systems = {p: system_prompt(base, p) for p in running.people}
        return MeetingRun(self.env, self.bodies, running, base, systems=systems, prompts=prompts)

    # -- segments

    def segment(self, delegation_id: str, at: int) -> SegmentRun:
        """Start the next segment of a delegation's present round."""
        office = self.record.office
        work = office.delegations[delegation_id]
        number = work.rounds[-1].segments + 1
        actor = f"assistant:{delegation_id}"
        tries = office.counts.get(f"u:{actor}", 0)
        name = f"{delegation_id}.r{len(work.rounds)}.s{number}" + (f".t{tries}" if tries else "")
        running = Running(name, "segment", actor, (), at, self._next_revision(), ref=delegation_id, number=number)
        self._start("engine", running)
        return self._segment_run(running, self.record.office)

    def _segment_run(self, running: Running, base: Office) -> SegmentRun:
        work = base.delegations[running.ref]
        mounts, task = self.mounts(work)
        start_home = self._home_of_round(work, mounts)
        latest = work.rounds[-1]
        home = start_home if latest.home is None else self._tree(latest.home.sha256)
        messages, state = self._messages(work, base, running, task)
        return SegmentRun(
            self.env, self.bodies, running, base, delegation=work, mounts=mounts, start_home=start_home, home=home,
            messages=messages, state=state,
        )  # fmt: skip

    def _tree(self, digest: str) -> tuple[TreeEntry, ...]:
        return decode_tree(self.env.blobs.get(digest))

    def _home_of_round(self, work: Delegation, mounts: Mounts) -> tuple[TreeEntry, ...]:
        """Return the home a round starts from: a copy of the principal's, or the submission's (RULE 15)."""
        for earlier in reversed(work.rounds[:-1]):
            if earlier.home is not None:
                return self._tree(earlier.home.sha256)
        return mounts.home

    def mounts(self, work: Delegation) -> tuple[Mounts, str]:
        """Return the present round's mounts and its task text, as of the event that opened the round."""
        latest = work.rounds[-1]
        key = (work.id, latest.number)
        if key not in self._mounts:
            office = self.record.opened_rounds.pop(key, None) or self.history(latest.revision)
            self._mounts[key] = self._store(office, work)
            self._mounts.pop((work.id, latest.number - 1), None)
        return self._mounts[key]

    def _store(self, office: Office, work: Delegation) -> tuple[Mounts, str]:
        plan = plan_mounts(office, work.id, self.bodies)
        task = next(f.data.decode() for f in plan.task if f.path == "TASK.md" and f.data is not None)
        refs = plan.refs()
        owned = (office.files[i] for i in office.owned.get(work.principal, ()))
        heads = {path_key(f.space, f.path): len(f.versions) for f in owned if f.space == f"home:{work.principal}"}
        home, company, services, desk = (self._entries(t) for t in (plan.home, plan.company, plan.services, plan.task))
        return Mounts(home, company, services, desk, refs, heads), task

    def _entries(self, files: Iterable[PlannedFile]) -> tuple[TreeEntry, ...]:
        entries = []
        for file in files:
            blob = file.blob if file.blob is not None else self.env.blobs.put(file.data or b"")
            entries.append(TreeEntry(file.path, blob, file.mode))
        return tuple(sorted(entries, key=lambda e: e.path))

    def _messages(
        self, work: Delegation, base: Office, running: Running, task: str
    ) -> tuple[list[Message], ShellState]:
        """Return the conversation a segment starts with (RULES 14 and 15)."""
        principal = base.people[work.principal]
        latest = work.rounds[-1]
        before = self._previous(work, running.number)
        if before is None:
            system = render("assistant_system", principal=principal.name, title=principal.title, firm=base.name,
                            now=calendar_for(base.calendar).describe(running.at))  # fmt: skip
            return [Message("system", system), Message("user", render("assistant_task", task=task))], ShellState()
        if running.number > 1:
            question = work.questions[-1]
            answer = self.bodies(question.answer) if question.answer is not None else ""
            note = render("assistant_answer", principal=principal.name, answer=answer)
        else:
            review = work.rounds[-2].review
            note = render("assistant_round", decision=review.decision if review else "revise", round=latest.number, task=task,
                          notes=self.bodies(review.notes) if review else "")  # fmt: skip
        return [*carried_over(*before), Message("user", note)], ShellState()

    def _previous(self, work: Delegation, number: int) -> tuple[tuple[Message, ...], ModelResponse] | None:
        """Return the conversation of the segment before this one, of this round or an earlier one."""
        session = f"assistant:{work.id}"
        places = [(len(work.rounds), n) for n in range(number - 1, 0, -1)]
        places += [(r.number, r.segments) for r in reversed(work.rounds[:-1])]
        for round_number, segment in places:
            for tries in ("", ".t1", ".t2", ".t3"):
                held = self.env.journal.conversation(f"{work.id}.r{round_number}.s{segment}{tries}", session)
                if held is not None and held[1].finish != "unavailable":
                    return held
        return None

    # -- resuming

    def resume(self, running: Running) -> Run:
        """Go on with an activation that was running when the process ended: from its base, its tape does the rest."""
        base = self.history(running.revision)
        if running.kind == "meeting":
            return self._meeting_run(running, base)
        if running.kind == "segment":
            return self._segment_run(running, base)
        return self._person_run(running, base)


__all__ = ["Launcher"]
