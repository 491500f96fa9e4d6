"""Landings: what an activation did takes effect, all together, each act checked again (RULES 14, 16, 17, 18)."""

from __future__ import annotations

from simulator.access import inherited
from simulator.acts.context import make_body
from simulator.acts.files import media_type
from simulator.businesstime import calendar_for
from simulator.canonical import clean_name
from simulator.engine.environment import Bodies, Environment
from simulator.engine.meeting import MeetingRun
from simulator.engine.person import PersonRun
from simulator.engine.record import Recorder
from simulator.engine.run import Run, land_act
from simulator.engine.segment import SegmentRun
from simulator.events import (
    ActivationLanded,
    ConflictRaised,
    FileSaved,
    FileShared,
    LookedInto,
    MeetingEnded,
    MemoryNoted,
    QuestionAsked,
    SegmentLanded,
    SystemCalled,
    WorkSubmitted,
)
from simulator.fold.engine import RETRY_HOURS
from simulator.fold.files import path_key
from simulator.mount_task import deliverable_path
from simulator.ports import TreeEntry
from simulator.records import Conflict, FileRef, FileVersion, Grant, Meeting, Memory, Submission
from simulator.systems import inherited_from
from simulator.view_paths import HOME


class Landing:
    """Turns a finished run into events, at its landing key."""

    def __init__(self, env: Environment, bodies: Bodies, record: Recorder) -> None:
        self.env = env
        self.bodies = bodies
        self.record = record

    def land(self, run: Run, at: int) -> None:
        """Land a run. An unavailable one leaves nothing but the fact (RULE 3)."""
        name = run.running.id
        if run.outcome != "unavailable":
            self._acts(run, at)
            if isinstance(run, PersonRun):
                self._looked(run)
            elif isinstance(run, MeetingRun):
                self._meeting(run, at)
            elif isinstance(run, SegmentRun):
                self._segment(run, at)
        elif isinstance(run, SegmentRun) and self._given_up(run):
            self._stop(run, "the assistant's model could not be reached")
            self.record.keep(run.texts)
            self.record.emit(run.running.actor, name, ActivationLanded(name, run.turns, "cut"))
            return
        self.record.keep(run.texts)
        landed = ActivationLanded(name, run.turns, run.outcome or "cut", run.opened, run.summary)
        self.record.emit(_actor(run), name, landed)

    def withdraw(self, run: SegmentRun) -> None:
        """End a withdrawn segment: nothing of it enters the log but that it ended (RULE 16).

        Not even how many turns it had taken: that depends on how fast its answers came.
        """
        self.record.emit("engine", run.running.id, ActivationLanded(run.running.id, 0, "withdrawn"))

    def _acts(self, run: Run, at: int) -> None:
        failed: set[str] = set()
        self.record.keep(run.texts)
        for act in run.acts:
            landed = land_act(self.env, self.record.office, run, act, failed, at)
            self.record.keep(run.texts)
            if landed.conflict:
                failed.add(act.id)
                reason = f"{act.tool} did not take effect: {landed.conflict}"
                conflict = Conflict(f"{act.id}.conflict", act.actor, at, act.id, reason[:1_000])
                self.record.emit(act.actor, run.running.id, ConflictRaised(conflict))
            else:
                self.record.emit(act.actor, run.running.id, *landed.payloads)

    def _looked(self, run: PersonRun) -> None:
        for question, conclusion in run.looked:
            self.record.emit(run.actor, run.running.id, LookedInto(run.actor, question, conclusion, run.opened))

    # -- meetings

    def _meeting(self, run: MeetingRun, at: int) -> None:
        entry, name = run.entry, run.running.id
        organizer = entry.organizer
        calendar = calendar_for(run.base.calendar)
        day = calendar.day(run.running.at)
        office = self.record.office
        title = clean_name(entry.title).replace("/", "-")[:80]
        matter = office.matters.get(entry.matter)
        space = f"matter:{matter.id}" if matter else f"home:{organizer}"
        owner = f"matter:{matter.id}" if matter else organizer
        path = f"Meetings/{day} {calendar.local(run.running.at):%H%M} {title}.md"
        blob = self.env.blobs.put(run.minutes().encode())
        walls = (matter.id,) if matter and matter.client else ()
        cited = tuple(dict.fromkeys(ref for act in run.acts for ref in act.opened))
        level, inherited_walls = inherited(office, cited)
        walls = tuple(sorted({*walls, *inherited_walls}))
        level = max(level, "confidential" if walls else "internal", key=_LEVEL.index)
        file_id = f"{name}.minutes"
        version = FileVersion(1, blob, media_type(path), organizer, name, at, level, walls, sources=cited)
        known = office.by_path.get(path_key(space, path))
        saved = FileSaved(
            file_id, space, path if known is None else f"Meetings/{name}.md", owner, entry.matter, version
        )
        audiences = (
            (f"matter:{matter.id}",) if matter else tuple(f"person:{p}" for p in entry.attendees if p != organizer)
        )
        grants = [
            FileShared(Grant(f"{name}.minutes.g{k}", file_id, 1, audience, organizer, at, "minutes, for those invited"))
            for k, audience in enumerate(audiences)
        ]
        self.record.emit(organizer, name, saved, *grants)
        for number, text in enumerate(run.decisions):
            for person in run.attendees:
                memory = Memory(f"{name}.d{number}.{person}", person, "decision", text, at, entry.id, entry.matter)
                self.record.emit(person, name, MemoryNoted(memory))
        for number, (_, text) in enumerate(run.questions):
            for person in run.attendees:
                memory = Memory(f"{name}.q{number}.{person}", person, "question", text, at, entry.id, entry.matter)
                self.record.emit(person, name, MemoryNoted(memory))
        meeting = Meeting(name, entry.id, run.running.at, entry.title, organizer, run.attendees, "held",
                          FileRef(file_id, 1), run.turns, entry.matter)  # fmt: skip
        self.record.emit(organizer, name, MeetingEnded(meeting))

    # -- segments

    def _given_up(self, run: SegmentRun) -> bool:
        return self.record.office.counts.get(f"u:{run.running.actor}", 0) >= len(RETRY_HOURS)

    def _stop(self, run: SegmentRun, reason: str) -> None:
        self._segment_landed(run, "stopped", reason)

    def _segment_landed(self, run: SegmentRun, outcome: str, reason: str = "") -> None:
        d = run.delegation
        number = len(d.rounds)
        event = SegmentLanded(d.id, number, run.running.number, outcome, run.manifest(), run.turns, reason[:400])  # type: ignore[arg-type]
        self.record.emit(run.running.actor, run.running.id, event)

    def _segment(self, run: SegmentRun, at: int) -> None:
        d, name, actor = run.delegation, run.running.id, run.running.actor
        ended = run.loop.ended
        assert ended is not None
        self._systems(run, at)
        text = make_body(ended.text, run.texts, 12_000)
        if ended.outcome == "asked":
            self._segment_landed(run, "asked")
            self.record.emit(actor, name, QuestionAsked(d.id, f"{name}.question", text))
        elif ended.outcome == "submitted":
            self._segment_landed(run, "submitted")
            files = self._drafts(run, at)
            submission = Submission(at, files, text, run.refused)
            self.record.emit(actor, name, WorkSubmitted(d.id, len(d.rounds), submission))
        else:
            self._stop(run, ended.text)

    def _systems(self, run: SegmentRun, at: int) -> None:
        """Let the calls of systems of record take effect, in call order; one conflict a system where one no longer holds."""
        d, name = run.delegation, run.running.id
        office = self.record.office
        landed = run.desk.land(office)
        for number, each in enumerate(landed, 1):
            call = each.call
            arguments, observation = (make_body(t, run.texts, 12_000) for t in (call.arguments, call.observation))
            state = self.env.blobs.put(each.state)
            called = SystemCalled(
                f"{name}.call{number}", call.system, d.id, call.tool, arguments, observation, state, each.outcome
            )
            self.record.keep(run.texts)
            self.record.emit(run.running.actor, name, called)
            if each.why:
                lost = sum(1 for other in landed if other.call.system == call.system and other.outcome == "conflict")
                reason = (
                    f"{office.systems[call.system].title}: {each.why}. {lost} of your assistant's calls there had no effect, "
                    f"from {call.tool} on; what it made may rest on what it saw then"
                )
                conflict = Conflict(f"{called.call}.conflict", d.principal, at, called.call, reason[:1_000])
                self.record.emit("engine", name, ConflictRaised(conflict))

    def _drafts(self, run: SegmentRun, at: int) -> tuple[FileRef, ...]:
        """Make the changed files the principal's drafts, by checked update; nothing is shared by that (DESIGN 6)."""
        d = run.delegation
        office = self.record.office
        level, walls = inherited_from(office, run.mounts.refs, office.delegations[d.id].systems)
        level = max(level, "confidential" if d.matter and walls else "internal", key=_LEVEL.index)
        refs = []
        for number, entry in enumerate(run.changed()):
            saved = self._draft(run, entry, number, at, level, walls)
            self.record.emit(run.running.actor, run.running.id, saved)
            refs.append(FileRef(saved.file, saved.version.number))
        return (*refs, *self._unchanged(run, refs))

    def _unchanged(self, run: SegmentRun, new: list[FileRef]) -> tuple[FileRef, ...]:
        """Return the deliverables that this round left as an earlier one handed them in: they are submitted again as they are."""
        office, d = self.record.office, run.delegation
        home = {entry.path: entry.blob.sha256 for entry in run.home}
        found = []
        for name in d.deliverables:
            path = deliverable_path(office, d, name).removeprefix(HOME)
            known = office.by_path.get(path_key(f"home:{d.principal}", clean_name(path)))
            if known is None or path not in home or any(ref.file == known for ref in new):
                continue
            versions = office.files[known].versions
            same = [v.number for v in versions if v.blob.sha256 == home[path]]
            found += [FileRef(known, number) for number in same[-1:]]
        return tuple(found)

    def _draft(
        self, run: SegmentRun, entry: TreeEntry, number: int, at: int, level: str, walls: tuple[str, ...]
    ) -> FileSaved:
        d = run.delegation
        space, path = f"home:{d.principal}", clean_name(entry.path)
        key = path_key(space, path)
        office = self.record.office
        known = office.by_path.get(key)
        if known is not None and len(office.files[known].versions) != run.mounts.heads.get(key, -1):
            reason = f"{path} was changed while the assistant worked on it: its copy was kept beside yours"
            conflict = Conflict(f"{run.running.id}.conflict{number}", d.principal, at, run.running.id, reason)
            self.record.emit("engine", run.running.id, ConflictRaised(conflict))
            stem, dot, suffix = path.rpartition(".")
            path = f"{stem or suffix} (assistant {run.running.number}-{len(d.rounds)}){dot}{suffix if stem else ''}"
            known = office.by_path.get(path_key(space, path))
        file_id = known or f"{run.running.id}.f{number}"
        matter = d.matter
        versions = office.files[known].versions if known else ()
        if versions:
            level = max(level, versions[-1].level, key=_LEVEL.index)
            walls = tuple(sorted({*walls, *versions[-1].walls}))
        version = FileVersion(
            len(versions) + 1, entry.blob, media_type(path), run.running.actor, run.running.id, at, level, walls,  # type: ignore[arg-type]
            sources=d.inputs, delegation=d.id,
        )  # fmt: skip
        return FileSaved(file_id, space, path, d.principal, matter, version)


_LEVEL = ("public", "internal", "confidential", "restricted")


def _actor(run: Run) -> str:
    return run.entry.organizer if isinstance(run, MeetingRun) else run.running.actor
