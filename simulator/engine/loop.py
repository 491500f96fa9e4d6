"""The engine: a deterministic, parallel, discrete-event loop (DESIGN 5, RULES 5 to 10).

One thread owns the office, the queue and the log. Workers only call models and sandboxes. The next item is processed
while
no running activation could still land before it; so the log is a function of what was answered, never of what
answered first.
"""

from __future__ import annotations

import queue
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from typing import NamedTuple

from simulator.businesstime import calendar_for
from simulator.conversation import ModelRequest, ModelResponse, ToolCall
from simulator.demand import period_of, variety
from simulator.engine.agenda import MEETING_ACTOR, Agenda, Item, Key, Phase
from simulator.engine.environment import Bodies, Environment, Parked
from simulator.engine.inbound import Door
from simulator.engine.inbox import start_due
from simulator.engine.landing import Landing
from simulator.engine.launch import Launcher
from simulator.engine.meeting import MeetingRun
from simulator.engine.record import Recorder
from simulator.engine.run import Run
from simulator.engine.segment import SegmentRun
from simulator.errors import OfficeTownError, SandboxError, TapeMismatch
from simulator.events import (
    MeetingEnded,
    OccurrenceBegan,
    QuestionAnswered,
    StimulusArrived,
)
from simulator.office import Office
from simulator.ports import TapeTool
from simulator.records import Body, Meeting, Stimulus, Timer

MEETING_PATIENCE = 1_800
"""Seconds for which a meeting is tried again (RULE 17)."""
NO_ANSWER = "no answer: use your judgement or submit what you have"


class Done(NamedTuple):
    """What a worker hands back."""

    run: Run
    request: ModelRequest | None = None
    response: ModelResponse | None = None
    calls: tuple[ToolCall, ...] = ()
    tools: tuple[TapeTool, ...] = ()
    fault: BaseException | None = None
    taped: bool = False


class Engine:
    """Runs one office from its journal. `office` is the state as of the last processed event."""

    def __init__(self, env: Environment, office: Office, history: Callable[[int], Office]) -> None:
        self.env = env
        self.bodies = Bodies(env.journal)
        self.record = Recorder(env, office, self.bodies)
        self.launcher = Launcher(env, self.bodies, self.record, history)
        self.landing = Landing(env, self.bodies, self.record)
        self.door = Door(self.record, env.blobs)
        self.agenda = Agenda()
        self.runs: dict[str, Run] = {}
        self._withdrawn: list[SegmentRun] = []
        self._waiting: set[str] = set()
        """Meetings that were due and could not begin: tried again at each landing (RULE 17)."""
        self.now = office.now
        self._done: queue.SimpleQueue[Done | None] = queue.SimpleQueue()
        self._in_flight = 0
        self._pool: ThreadPoolExecutor | None = None
        self._fault: BaseException | None = None
        self._stop = False
        self._asked = False
        self._until = 0

    @property
    def office(self) -> Office:
        """The office as of the last processed event."""
        return self.record.office

    @property
    def stopped_early(self) -> bool:
        """Whether a call of `stop` ended the run before its time."""
        return self._asked

    def stop(self) -> None:
        """Ask the engine to stop at the next commit; answers in flight are still stored. Safe from a signal handler."""
        self._stop = self._asked = True

    # -- the loop

    def run(self, until: int) -> Office:
        """Process everything up to and including the instant `until`, commit, and return the office.

        Raises:
            ModelOutage, BudgetExhausted, SandboxError, StorageError: after a commit; a later run resumes.
        """
        self._until = until
        threads = self.env.settings.concurrency + self.env.settings.workers
        self._pool = ThreadPoolExecutor(threads, "officetown")
        try:
            self._resume()
            while self._step(until):
                pass
            self._drain()
            self.record.flush()
        finally:
            # At first, so that no command holds a worker up; and once no worker can have started another one meanwhile.
            self._end_sandboxes()
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._end_sandboxes()
        if self._fault is not None:
            raise self._fault
        return self.office

    def _end_sandboxes(self) -> None:
        for run in (*self.runs.values(), *self._withdrawn):
            if isinstance(run, SegmentRun):
                run.close()

    def _step(self, until: int) -> bool:
        """Process what may be processed now, then wait for a worker. False when there is nothing left to do."""
        self._collect(block=False)
        self._let_in()
        while not self._halted and self._ready(until):
            if not self._paced():
                self._let_in()
                continue
            self._process(self.agenda.pop())
            self._collect(block=False)
            if self.record.waiting >= self.env.settings.commit_items:
                self.record.flush()
            self._let_in()
        self.record.flush()
        if self._let_in():
            return True
        if self._halted or not self._in_flight:
            return False
        if self._beyond(until):
            return False
        self._collect(block=True)
        return True

    def _let_in(self) -> bool:
        """Let in what has come from outside: between two commits, at the last landed instant (RULE 4)."""
        if self.env.inbound is None or self._halted:
            return False
        came = False
        # A record may hold one item right after another: what entered after the first one's events is due at once too.
        while items := self.env.inbound.take(self.office.revision, self.record.waiting == 0):
            for item in items:
                self.door.enter(item)
            self._take_news()
            came = True
        return came

    def poke(self) -> None:
        """Wake the engine's thread while it waits for a worker: something came in. Safe from any thread."""
        self._done.put(None)

    @property
    def _halted(self) -> bool:
        return self._stop or self._fault is not None

    def _bound(self) -> Key | None:
        """Return the earliest key at which a running activation could still land (RULE 5)."""
        return min((run.floor() for run in self.runs.values() if run.outcome is None), default=None)

    def _beyond(self, until: int) -> bool:
        """Whether nothing more can happen up to `until`: neither the queue nor any running activation reaches it."""
        item, bound = self.agenda.peek(), self._bound()
        return (item is None or item.key.at > until) and (bound is None or bound.at > until)

    def _ready(self, until: int) -> bool:
        item = self.agenda.peek()
        if item is None or item.key.at > until:
            return False
        bound = self._bound()
        if bound is not None and item.key >= bound:
            return False
        if item.what in ("person", "meeting"):
            return self._slots(SegmentRun, other=True) < self.env.settings.concurrency
        if item.what == "segment":
            return self._slots(SegmentRun, other=False) < self.env.settings.workers
        return True

    def _slots(self, kind: type[Run], other: bool) -> int:
        """Count who is at work; those left for the next time (they cannot land up to `until`) hold no place."""
        at_work = (r for r in self.runs.values() if r.outcome is None and r.floor().at <= self._until)
        return sum(1 for r in at_work if isinstance(r, kind) is not other)

    # -- processing

    def _paced(self) -> bool:
        """Wait until the next item's time has come; False when something came in meanwhile, or the run is to stop."""
        item = self.agenda.peek()
        if item is None or item.key.at <= self.now:
            return True
        working = sum(1 for r in self.runs.values() if r.outcome is None)
        return self.env.pacer.before(item.key.at, working, self.record.flush) and not self._halted

    def _process(self, item: Item) -> None:
        self.now = max(self.now, item.key.at)
        self.record.now = self.now
        {
            "landing": self._land,
            "timer": self._timer,
            "person": self._start_person,
            "meeting": self._start_meeting,
            "missed": self._missed,
            "segment": self._start_segment,
        }[item.what](item)
        self._take_news()

    def _take_news(self) -> None:
        """Queue what the events just recorded have set and whom they have woken."""
        timers, woken = self.record.take_news()
        for timer in timers:
            self._queue_timer(timer)
        for person in woken:
            self._consider(person)
        for name in self.record.take_withdrawn():
            self._withdraw(name)

    def _queue_timer(self, timer: Timer) -> None:
        if timer.kind == "segment":
            key = Key(max(timer.at, self.now), Phase.START, f"assistant:{timer.ref}", timer.number, timer.ref)
            self.agenda.push(Item(key, "segment"))
        elif timer.kind == "meeting":
            actor = MEETING_ACTOR + timer.ref
            self.agenda.push(Item(Key(max(timer.at, self.now), Phase.START, actor, timer.number, timer.ref), "meeting"))
            last = Key(max(timer.at + MEETING_PATIENCE, self.now), Phase.STIMULUS, actor, timer.number, timer.ref)
            self.agenda.push(Item(last, "missed"))
        else:
            key = Key(max(timer.at, self.now), Phase.STIMULUS, timer.owner, timer.number, timer.key)
            self.agenda.push(Item(key, "timer"))

    def _consider(self, person: str) -> None:
        due = start_due(self.office, person, self.now)
        if due is not None:
            number = self.office.counts.get(f"n:{person}", 0) + 1
            self.agenda.push(Item(Key(due, Phase.START, person, number), "person"))

    def _start_person(self, item: Item) -> None:
        person = item.key.actor
        number = self.office.counts.get(f"n:{person}", 0) + 1
        if number == item.key.number and start_due(self.office, person, self.now) == self.now:
            self._go(self.launcher.person(person, self.now))

    def _start_meeting(self, item: Item) -> None:
        timer = self.office.timers.get(f"meet:{item.key.ref}")
        if timer is not None and timer.number == item.key.number:
            run = self.launcher.meeting(item.key.ref, self.now)
            if run is None:
                self._waiting.add(item.key.ref)
            else:
                self._waiting.discard(item.key.ref)
                self._go(run)

    def _start_segment(self, item: Item) -> None:
        timer = self.office.timers.get(f"segment:{item.key.ref}")
        if timer is not None and timer.number == item.key.number and timer.at <= self.now:
            self._go(self.launcher.segment(item.key.ref, self.now))

    def _missed(self, item: Item) -> None:
        timer = self.office.timers.get(f"meet:{item.key.ref}")
        if timer is None or timer.number != item.key.number:
            return
        entry = self.office.entries[timer.ref]
        name = f"{entry.id}.m{timer.number}"
        self.record.emit(
            "engine", name, MeetingEnded(Meeting(name, entry.id, self.now, entry.title, entry.organizer, (), "missed",
                                                 matter=entry.matter))
        )  # fmt: skip

    def _timer(self, item: Item) -> None:
        timer = self.office.timers.get(item.key.ref)
        if timer is None or timer.at > self.now:
            return  # it was cleared, or moved to a later instant, since this item was queued
        self.record.emit("engine", timer.key, *self._payloads(timer))

    def _payloads(self, timer: Timer) -> tuple[OccurrenceBegan | StimulusArrived | QuestionAnswered, ...]:
        office, at = self.office, self.now
        if timer.kind == "occurrence":
            return (OccurrenceBegan(timer.ref, timer.at),)
        if timer.kind == "answer":
            question = timer.key.partition(":")[2]
            return (QuestionAnswered(timer.ref, question, "engine", Body(NO_ANSWER, size=len(NO_ANSWER))),)
        if timer.kind == "day":
            day = calendar_for(office.calendar).day(at)
            stimulus = Stimulus(f"day:{timer.ref}:{day}", "day_start", day, at, "engine")
        elif timer.kind == "due":
            stimulus = Stimulus(f"due:{timer.ref}", "due", timer.ref, at, "engine", f"due:{timer.ref}")
        else:
            demand = office.demands[timer.ref]
            opened = date.fromisoformat(calendar_for(office.calendar).day(office.opened_at))
            _, period = period_of(demand, opened, timer.number)
            text = f"period {period}; variety {variety(office, demand, timer.number)}"
            stimulus = Stimulus(f"{timer.key}:{timer.number}", "demand", demand.id, at, "engine", timer.key, text=text)
        return (StimulusArrived(timer.owner, stimulus),)

    # -- runs

    def _go(self, run: Run) -> None:
        self.runs[run.running.id] = run
        self._call(run)

    def _land(self, item: Item) -> None:
        run = self.runs.pop(item.key.ref, None)
        if run is None:
            return
        self.landing.land(run, self.now)
        for entry in sorted(self._waiting):
            timer = self.office.timers.get(f"meet:{entry}")
            if timer is None:
                self._waiting.discard(entry)
            else:
                key = Key(self.now, Phase.START, MEETING_ACTOR + entry, timer.number, entry)
                self.agenda.push(Item(key, "meeting"))

    def _withdraw(self, delegation: str) -> None:
        """End a withdrawn delegation's running segment here: nothing of it enters the log (RULE 16)."""
        for run in list(self.runs.values()):
            if isinstance(run, SegmentRun) and run.delegation.id == delegation:
                del self.runs[run.running.id]
                run.outcome = "cut"
                self._withdrawn.append(run)
                self.landing.withdraw(run)
                self._take_news()

    def _call(self, run: Run) -> None:
        """Make a run's next call: from the tape when it is there, else by a worker (RULE 2).

        A run that cannot land up to `until` any more is left for the next time: its call would be paid for nothing yet.
        """
        if run.floor().at > self._until:
            return
        request = run.next_request()
        stored = self.env.journal.call(*request.call)
        if stored is not None:
            if stored.fingerprint != request.fingerprint:
                raise TapeMismatch(
                    f"Call {request.call[1]} of activation {request.call[0]} was recorded for another request "
                    f"(tape {stored.fingerprint[:12]}, now {request.fingerprint[:12]}). The office was recorded by another "
                    "version or its record was changed: replay it with the version that wrote it."
                )
            self._hand_in(Done(run, request, stored.response, taped=True))
            return
        if self._halted:
            return
        self._submit(lambda: self._ask(run, request))

    def _hand_in(self, done: Done) -> None:
        """Take an answer that is there already."""
        self._in_flight += 1
        self._done.put(done)

    def _submit(self, job: Callable[[], Done]) -> None:
        assert self._pool is not None
        self._in_flight += 1
        self._pool.submit(lambda: self._done.put(job()))

    def _ask(self, run: Run, request: ModelRequest) -> Done:
        try:
            worst = self.env.worst_case(request)
            if worst:
                self.env.journal.begin_call(request, worst)
            return Done(run, request, self.env.model.complete(request).cleaned())
        except BaseException as fault:  # noqa: BLE001 - whatever a worker met must stop the engine, not vanish in a thread
            return Done(run, request, fault=fault)

    def _use(self, run: SegmentRun, calls: tuple[ToolCall, ...], first: int) -> Done:
        try:
            return Done(run, calls=calls, tools=tuple(run.carry_out(calls, first)))
        except BaseException as fault:  # noqa: BLE001 - as above
            return Done(run, calls=calls, fault=fault)

    def _receive(self, block: bool) -> Done | None:
        """Return what a worker has finished, waiting for it if asked to."""
        try:
            return self._done.get(block=block)
        except queue.Empty:
            return None

    def _collect(self, block: bool) -> None:
        """Take what workers have finished: store it in one transaction, then go on with each run."""
        batch: list[Done] = []
        while (done := self._receive(block and not batch)) is not None:
            batch.append(done)
            self._in_flight -= 1
        if not batch:
            return
        self._store(batch)
        for done in batch:
            if isinstance(done.fault, Parked) or self._dismissed(done):
                continue
            if done.fault is not None:
                self._fault = self._fault or _explained(done.fault)
            elif done.run.outcome is None:
                self._continue(done)

    def _dismissed(self, done: Done) -> bool:
        """Let a withdrawn segment go, whose worker is back only now: its sandbox was in use until then (RULE 16)."""
        if done.run not in self._withdrawn:
            return False
        assert isinstance(done.run, SegmentRun)
        done.run.close()
        return done.fault is None or isinstance(done.fault, SandboxError)

    def _store(self, batch: list[Done]) -> None:
        fresh = [
            (d.request, d.response) for d in batch if d.request is not None and d.response is not None and not d.taped
        ]
        tools = [tool for d in batch for tool in d.tools]
        if fresh or tools:
            self.env.journal.record(fresh, tools)

    def _continue(self, done: Done) -> None:
        run = done.run
        if isinstance(run, SegmentRun):
            self._continue_segment(run, done)
        else:
            assert done.request is not None and done.response is not None
            run.feed(done.request, done.response)
        if run.outcome is not None:
            if isinstance(run, SegmentRun):
                run.close()
            self.agenda.push(Item(run.floor(), "landing"))
        elif not isinstance(run, SegmentRun):
            self._call(run)

    def _continue_segment(self, run: SegmentRun, done: Done) -> None:
        if done.response is not None:
            calls = run.from_tape(run.take(done.response))
            if calls:
                if not self._halted:
                    first = run.tools_done + 1
                    self._submit(lambda: self._use(run, calls, first))
                return
        else:
            for call, result in zip(done.calls, done.tools, strict=True):
                run.accept(call, result)
        if run.outcome is None:
            run.settle()
        if run.outcome is None:
            self._call(run)

    def _drain(self) -> None:
        """Wait for what is in flight and store it: an answer that was paid for is never thrown away."""
        self._stop = True
        while self._in_flight:
            self._collect(block=True)

    # -- resuming

    def _resume(self) -> None:
        """Queue what the office is waiting for, and go on with what was running (DESIGN 8)."""
        self.record.now = self.now = self.office.now
        for timer in sorted(self.office.timers.values(), key=lambda t: t.key):
            self._queue_timer(timer)
        for person in sorted(self.office.people):
            self._consider(person)
        for name in sorted(self.office.running):
            if name not in self.runs:
                self._go(self.launcher.resume(self.office.running[name]))


def _explained(fault: BaseException) -> BaseException:
    """Return errors raised on purpose as they are; anything else keeps its traceback for the person who reads it at
    night."""
    return fault if isinstance(fault, OfficeTownError) else fault


__all__ = ["Engine", "MeetingRun"]
