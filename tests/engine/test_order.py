"""The engine's order: a run is a function of what was answered, never of what answered first (RULES 1, 5, 6, 10)."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.models.delayed import Delayed
from simulator.conversation import ModelRequest, ModelResponse
from simulator.engine.agenda import Item, Key, Phase
from simulator.engine.environment import Parked
from simulator.engine.loop import Engine
from simulator.engine.run import Run
from simulator.engine.segment import SegmentRun
from simulator.randomness import Stream
from simulator.records import CalendarEntry, Demand
from tests.engine.fuzz import Fuzz
from tests.engine.worlds import ALL, HOUR, MONDAY, OPENING, Bench, opening, person

PEOPLE = ["ada", "ben", "cleo", "dov", "eva"]
DAY = 86_400


def firm(seed: int = 0) -> list:  # type: ignore[type-arg]
    """Return five people with a daily meeting, a weekly rhythm, and a client who brings work."""
    standup = CalendarEntry(
        "standup", "Stand-up", "ada", ("ben", "cleo", "dov"), MONDAY + 9 * HOUR + 1800, 15, rule="FREQ=DAILY"
    )
    weekly = CalendarEntry("weekly", "Weekly look", "eva", (), MONDAY + 14 * HOUR, 30, "rhythm", rule="FREQ=WEEKLY")
    demand = Demand("d1", "maya", "river", "records-digest", "weekly", 1, 1)
    staff = [person(p, ALL if p in ("ada", "eva") else ("delegate", "request", "accept")) for p in PEOPLE]
    return opening(staff, entries=[standup, weekly], demands=[demand], seed=seed)


class OneAtATime(Engine):
    """The reference: an activation runs to its end the moment it starts, and nothing else runs beside it.

    No workers, no floors, no bounds: the queue alone orders everything. What the parallel engine does must equal this.
    """

    def run(self, until: int):  # type: ignore[no-untyped-def]  # noqa: ANN201
        self._until = until
        self._resume()
        while (item := self.agenda.peek()) is not None and item.key.at <= until:
            self._process(self.agenda.pop())
        self.record.flush()
        return self.office

    def _call(self, run: Run) -> None:
        while run.outcome is None:
            request = run.next_request()
            response = self.env.model.complete(request).cleaned()
            self.env.journal.record([(request, response)])
            if isinstance(run, SegmentRun):
                calls = run.take(response)
                assert not calls, "the reference runs assistants without sandbox tools"
                run.settle()
            else:
                run.feed(request, response)
        self.agenda.push(Item(run.floor(), "landing"))


@settings(max_examples=12)
@given(st.integers(0, 10_000))
def test_the_parallel_engine_equals_the_reference_that_runs_one_at_a_time(seed: int) -> None:
    """RULE 5 and RULE 6: whatever people do, the log equals the one-at-a-time reference's, byte for byte."""
    until = OPENING + 3 * DAY
    reference = Bench(firm(seed), Fuzz([*PEOPLE, "maya"], seed))
    reference.run(until, OneAtATime)
    for concurrency, workers in ((1, 1), (6, 4), (16, 16)):
        other = Bench(firm(seed), Fuzz([*PEOPLE, "maya"], seed), concurrency=concurrency, workers=workers)
        other.run(until)
        assert other.log() == reference.log()


@settings(max_examples=6)
@given(st.integers(0, 10_000))
def test_the_order_in_which_answers_arrive_changes_nothing(seed: int) -> None:
    """RULE 5: answers that arrive in any order, heavy-tailed or not, give one log."""
    until = OPENING + 2 * DAY
    plain = Bench(firm(seed), Fuzz([*PEOPLE, "maya"], seed))
    plain.run(until)
    for shuffle in (1, 2):
        model = Reordering(Fuzz([*PEOPLE, "maya"], seed), shuffle)
        other = Bench(firm(seed), model, concurrency=6)
        other.run(until)
        assert other.log() == plain.log()


class Reordering:
    """Holds some answers back until another call has come in, so that they overtake each other. No sleeping."""

    def __init__(self, model: Fuzz, seed: int) -> None:
        self._model = model
        self._seed = seed
        self._turn = threading.Condition()
        self._came = 0

    def complete(self, request: ModelRequest) -> ModelResponse:
        """Answer at once, or after the next call came in (or a moment, when none does)."""
        with self._turn:
            self._came += 1
            mine = self._came
            self._turn.notify_all()
            if Stream(self._seed, *request.call).chance(1, 2):
                self._turn.wait_for(lambda: self._came > mine, timeout=0.002)
        return self._model.complete(request)


@settings(max_examples=8)
@given(st.integers(0, 10_000), st.lists(st.integers(1, 60), min_size=1, max_size=12))
def test_a_run_stopped_and_resumed_anywhere_gives_the_same_log(seed: int, steps: list[int]) -> None:
    """RULE 2 and RELIABILITY determinism: pause and resume at any instant, from the journal alone; no call is made
    twice."""
    until = OPENING + 2 * DAY
    whole = Bench(firm(seed), Fuzz([*PEOPLE, "maya"], seed))
    whole.run(until)
    model = Fuzz([*PEOPLE, "maya"], seed)
    parts = Bench(firm(seed), model, commit_items=1)
    at = OPENING
    for step in steps:
        at = min(until, at + step * 997)
        parts.run(at)
    parts.run(until)
    assert parts.log() == whole.log()
    assert max(model.asked.values()) == 1


class Dying:
    """A model whose process dies after `left` answers: what is in flight then is lost, what was stored is not."""

    def __init__(self, model: Fuzz, left: int) -> None:
        self._model = model
        self._left = left
        self._lock = threading.Lock()

    def complete(self, request: ModelRequest) -> ModelResponse:
        """Answer, or park for ever once the process is dead."""
        with self._lock:
            self._left -= 1
            if self._left < 0:
                raise Parked
        return self._model.complete(request)


@settings(max_examples=8)
@given(st.integers(0, 10_000), st.integers(1, 150))
def test_a_run_that_dies_after_any_number_of_answers_goes_on_as_if_nothing_had_happened(seed: int, left: int) -> None:
    """RULE 2: a stored answer is never asked for again; the log is that of the undisturbed run."""
    until = OPENING + DAY
    whole = Bench(firm(seed), Fuzz([*PEOPLE, "maya"], seed))
    whole.run(until)
    fuzz = Fuzz([*PEOPLE, "maya"], seed)
    broken = Bench(firm(seed), Dying(fuzz, left))
    broken.run(until)
    broken.env.model = fuzz
    broken.run(until)
    assert broken.log() == whole.log()
    assert max(fuzz.asked.values()) == 1


def test_faults_of_single_requests_are_part_of_the_run() -> None:
    """RULE 3: with requests that fail for good, the log is still one and the same at every concurrency."""
    until = OPENING + 4 * DAY
    logs = []
    for concurrency in (1, 6):
        bench = Bench(firm(7), Fuzz([*PEOPLE, "maya"], 7, faults=10), concurrency=concurrency, workers=concurrency)
        bench.run(until)
        logs.append(bench.log())
    assert logs[0] == logs[1]
    assert any(b'"outcome":"unavailable"' in event for event in logs[0])


def test_keys_compare_as_numbers_and_ids_never_as_text() -> None:
    """RULE 5: 9 comes before 10, landings before stimuli before starts, meetings before people."""
    assert Key(9, Phase.START, "z", 2) < Key(10, Phase.LANDING, "a", 1)
    assert Key(9, Phase.LANDING, "z", 9) < Key(9, Phase.STIMULUS, "a", 1) < Key(9, Phase.START, "!m", 1)
    assert Key(9, Phase.START, "a", 9) < Key(9, Phase.START, "a", 10)
    assert Key(9, Phase.START, "!zoo", 1) < Key(9, Phase.START, "ada", 1)


@pytest.mark.slow
def test_heavy_tailed_latency_gives_the_same_log() -> None:
    """RULE 5: real waiting, some calls fifty times as slow as others."""
    until = OPENING + 2 * DAY
    plain = Bench(firm(3), Fuzz([*PEOPLE, "maya"], 3))
    plain.run(until)

    def latency(request: ModelRequest) -> float:
        draw = Stream(1, *request.call)
        return 0.05 if draw.chance(1, 20) else 0.001

    slow = Bench(firm(3), Delayed(Fuzz([*PEOPLE, "maya"], 3), latency, threading.Event().wait))  # type: ignore[arg-type]
    slow.run(until)
    assert slow.log() == plain.log()
