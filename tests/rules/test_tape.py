"""RULES 1 to 3: the tape, faults, outages."""

from __future__ import annotations

import threading
from collections.abc import Iterable

import pytest

from services.models.scripted import fault
from services.storage.memory import MemoryJournal, MemoryOffice
from simulator.conversation import ModelRequest, ModelResponse
from simulator.engine.environment import Parked
from simulator.errors import ModelOutage, TapeMismatch
from simulator.events import ActivationLanded, ActivationStarted, StimulusArrived
from simulator.records import Demand
from tests.engine.fuzz import Fuzz
from tests.engine.worlds import Bench
from tests.rules.desk import FINISH, begins, call, calls, clock, heard, of_kind, opening, rhythm, staff, wakes, world

TUESDAY = clock(18, 0, 1)


class Silent:
    """A model that must not be asked."""

    def complete(self, request: ModelRequest) -> ModelResponse:
        raise AssertionError(f"{request.call} was asked again")


def taped(bench: Bench, leave_out: Iterable[tuple[str, int]] = ()) -> MemoryOffice:
    """Return an empty office with the tape of another one."""
    assert isinstance(bench.journal, MemoryJournal)
    old, new = bench.journal.office, MemoryOffice()
    new.tools = dict(old.tools)
    for key, pair in old.calls.items():
        if key not in set(leave_out):
            new.calls[key] = pair
            new.activations.setdefault(key[0], []).append(pair)
    return new


def test_the_same_package_seed_and_tape_give_the_same_log_and_ask_nothing() -> None:
    """RULE 1."""
    events = opening(
        staff("ada", "ben"), demands=[Demand("d", "maya", "river", "records-digest", "weekly", 1, 1)], seed=3
    )
    first = Bench(events, Fuzz(["ada", "ben", "maya"], 3))
    first.run(TUESDAY)
    again = Bench(events, Silent(), journal=MemoryJournal(taped(first)), concurrency=1)
    again.run(TUESDAY)
    assert again.log() == first.log()


def test_another_seed_is_another_run() -> None:
    """RULE 1: the seed is one of the four."""

    def demanded(seed: int) -> list[int]:
        demand = Demand("d", "maya", "river", "records-digest", "weekly", 1, 3)
        bench, _ = world(opening(staff("ada"), demands=[demand], seed=seed), {})
        bench.run(clock(18, 0, 11))
        return [e.sim_time for e, p in of_kind(bench, StimulusArrived) if p.stimulus.kind == "demand"]

    assert demanded(1) == demanded(1)
    assert len({tuple(demanded(seed)) for seed in range(4)}) > 1


def test_a_stored_answer_of_another_request_stops_the_run_and_shows_the_difference() -> None:
    """RULE 2."""
    first, _ = world(opening(staff("ada")), {})
    first.run(clock(12))
    tape = taped(first)
    request, response = tape.calls["ada.1", 1]
    other = ModelRequest(request.role, request.call, request.session, request.messages[:1], request.tools)
    tape.calls["ada.1", 1] = (other, response)
    again = Bench(opening(staff("ada")), Silent(), journal=MemoryJournal(tape))
    with pytest.raises(TapeMismatch) as said:
        again.run(clock(12))
    assert other.fingerprint[:12] in str(said.value) and request.fingerprint[:12] in str(said.value)


def test_a_call_in_flight_at_a_crash_is_charged_at_its_worst_case() -> None:
    """RULE 2: the first attempt is lost and charged; the answer is charged besides."""

    class Dead:
        def complete(self, request: ModelRequest) -> ModelResponse:
            raise Parked

    bench = Bench(opening(staff("ada")), Dead())
    bench.env.worst_case = lambda request: 500
    bench.run(clock(12))
    assert isinstance(bench.journal, MemoryJournal)
    (line,) = bench.journal.ledger()
    assert (line.state, line.charged_micros) == ("begun", 500)
    bench.env.model = _costing(30)
    bench.run(clock(12))
    assert bench.journal.charged_micros() == 530


def _costing(micros: int) -> Fuzz:
    class Costs(Fuzz):
        def complete(self, request: ModelRequest) -> ModelResponse:
            return ModelResponse(tool_calls=FINISH.tool_calls, finish="tool_calls", cost_micros=micros)

    return Costs([])


def test_an_outage_stops_the_clock_at_a_commit_and_not_the_people() -> None:
    """RULE 3: nothing lands in an outage; the next run goes on as if it had not been."""
    events = opening(staff("ada", "ben"), entries=[rhythm("work", "ada", clock(10))])
    whole, _ = world(events, {})
    whole.run(TUESDAY)
    broken, model = world(events, {("session-ada", begins("work")): [fault("connection")]})
    with pytest.raises(ModelOutage):
        broken.run(TUESDAY)
    stopped = broken.engine().office
    assert stopped.now == clock(10) and "ada.2" in stopped.running
    assert whole.log()[: len(broken.log())] == broken.log()
    broken.run(TUESDAY)
    assert broken.log() == whole.log()


def test_a_terminal_fault_lands_at_start_plus_minimum_is_retried_after_1_4_and_8_hours_then_lost_to_who_waits() -> None:
    """RULE 3: hours of business, from each landing; the office is open 09:00 to 17:30."""
    events = opening(staff("ada", "ben"), entries=[rhythm("ask", "ben", clock(9, 30))])
    ask = calls(call("post_message", to="ada", text="Where is it?", asks=True), FINISH)
    dead = ModelResponse(finish="unavailable", detail="refused for good")
    bench, model = world(events, {("session-ben", begins("ask")): [ask], ("session-ada", wakes("message")): dead})
    bench.run(clock(18, 0, 2))
    running = [p.running for _, p in of_kind(bench, ActivationStarted) if p.running.actor == "ada"]
    tries = [(r.at, r.id) for r in running if any(s.kind == "message" for s in r.stimuli)]
    landed = {p.id: e.sim_time for e, p in of_kind(bench, ActivationLanded) if p.outcome == "unavailable"}
    assert [at for at, _ in tries] == [clock(9, 40), clock(10, 50), clock(15), clock(14, 40, 1)]
    assert any(r.at == clock(9, 0, 1) for r in running), "what she has failed at does not keep her from her day"
    assert [landed[name] - at for at, name in tries] == [600] * 4
    lost = [r for r in model.asked if r.session == "session-ben" and wakes("lost", "ada could not be reached")(r)]
    assert len(lost) == 1
    assert [
        p.running.at for _, p in of_kind(bench, ActivationStarted) if any(s.kind == "lost" for s in p.running.stimuli)
    ] == [clock(14, 50, 1)]


def test_the_unavailable_answer_is_on_the_tape_like_any_other() -> None:
    """RULE 3: replaying asks for nothing, and the same retries follow."""
    events = opening(staff("ada", "ben"))
    first = Bench(events, Fuzz(["ada", "ben"], 5, faults=30))
    first.run(TUESDAY)
    assert any(p.outcome == "unavailable" for _, p in of_kind(first, ActivationLanded))
    again = Bench(events, Silent(), journal=MemoryJournal(taped(first)))
    again.run(TUESDAY)
    assert again.log() == first.log()


def test_an_answer_is_stored_before_its_tools_run_and_kept_when_the_run_ends() -> None:
    """RULE 2: whatever was answered is on the tape, even where the run is asked to stop while it was in flight."""
    asked = threading.Event()

    class Stops(Fuzz):
        def complete(self, request: ModelRequest) -> ModelResponse:
            engine.stop()
            asked.set()
            return super().complete(request)

    model = Stops(["ada"])
    bench = Bench(opening(staff("ada")), model)
    engine = bench.engine()
    engine.run(TUESDAY)
    assert asked.is_set()
    assert all(bench.journal.call(*key) is not None for key in model.asked)


def test_what_they_hear_is_what_was_recorded() -> None:
    """RULE 2: the next request of a conversation holds the recorded answer."""
    bench, model = world(opening(staff("ada")), {"session-ada": [call("list_work"), FINISH]})
    bench.run(clock(12))
    first = bench.journal.call("ada.1", 1)
    assert first is not None and first.response.tool_calls[0].name == "list_work"
    assert any('"requests"' in text for text in heard(model, "session-ada", 1))
