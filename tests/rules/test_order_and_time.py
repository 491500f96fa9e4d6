"""RULES 5 to 10: keys, revisions, floors, ids, durations, no speculation. The order itself is held by tests/engine."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.canonical import canonical
from simulator.conversation import ModelRequest, ModelResponse
from simulator.engine.agenda import Agenda, Item, Key, Phase
from simulator.engine.run import Run
from simulator.errors import UsageError
from simulator.events import ActivationLanded, ActivationStarted, CalendarRules, MessagePosted, OfficeOpened, Pace
from simulator.fold import fold
from simulator.office import Office
from simulator.records import Demand, Running
from tests.engine.fuzz import Fuzz
from tests.engine.worlds import MONDAY, Bench
from tests.rules.desk import (
    FINISH,
    begins,
    call,
    calls,
    clock,
    events_of,
    heard,
    of_kind,
    opening,
    rhythm,
    staff,
    wakes,
    world,
)

KEYS = st.builds(
    Key, st.integers(0, 12), st.sampled_from(Phase), st.sampled_from(["!m", "ada", "ben"]), st.integers(1, 12)
)


@given(st.lists(KEYS, max_size=20))
def test_the_queue_gives_whole_keys_in_order_and_each_once(keys: list[Key]) -> None:
    """RULE 5: tuples of numbers and ids; an item queued twice comes once."""
    agenda = Agenda()
    for key in (*keys, *keys):
        agenda.push(Item(key, "person"))
    popped = [agenda.pop().key for _ in range(len(agenda))]
    assert popped == sorted(set(keys), key=lambda k: (k.at, int(k.phase), k.actor, k.number, k.ref))


def test_at_one_instant_landings_come_first_then_stimuli_then_starts() -> None:
    """RULE 6: Ada's message lands at 09:40, the very instant at which Ben begins; he reads it, whoever sorts first."""
    for teller, listener in (("ada", "ben"), ("ben", "ada")):
        say = calls(call("post_message", to=listener, text="the vault code is 7"), FINISH)
        events = opening(
            staff("ada", "ben"), entries=[rhythm("tell", teller, clock(9, 30)), rhythm("look", listener, clock(9, 40))]
        )
        bench, model = world(events, {(f"session-{teller}", begins("tell")): [say]})
        bench.run(clock(11))
        (asked,) = [r for r in model.asked if begins("look")(r)]
        assert "the vault code is 7" in asked.messages[-1].content


def test_an_activation_reads_the_office_as_of_its_start_whatever_lands_meanwhile() -> None:
    """RULE 6: Ben, who began at 09:31, does not see what landed at 09:40; his next activation does."""
    say = calls(call("post_message", to="general", text="the lift is stuck"), FINISH)
    look = call("read_room", room="general")
    events = opening(
        staff("ada", "ben"),
        entries=[
            rhythm("tell", "ada", clock(9, 30)),
            rhythm("early", "ben", clock(9, 31)),
            rhythm("late", "ben", clock(11)),
        ],
    )
    rules = {
        ("session-ada", begins("tell")): [say],
        ("session-ben", begins("early")): [look, look, look, FINISH],
        ("session-ben", begins("late")): [look, FINISH],
    }
    bench, model = world(events, rules)
    bench.run(clock(12))
    said = {
        r.call: r.messages[-1].content
        for r in model.asked
        if r.session == "session-ben" and r.messages[-1].role == "tool"
    }
    assert not any("lift" in text for call_, text in said.items() if call_[0] == "ben.2")
    assert "lift" in said["ben.3", 2]


def test_a_start_names_the_revision_of_its_own_event() -> None:
    """RULE 6: what a resumed activation is built from again is exactly what it began with."""
    bench = Bench(opening(staff("ada", "ben", "cleo")), Fuzz(["ada", "ben", "cleo"], 1))
    bench.run(clock(12))
    started = of_kind(bench, ActivationStarted)
    assert started and all(p.running.revision == e.revision for e, p in started)


class Still(Run):
    """A run that goes nowhere: only its floor is looked at."""


def still(minimum: int, turn: int) -> Run:
    return Still(None, None, Running("ada.1", "principal", "ada", ("ada",), MONDAY, 1), Office(), minimum, turn)  # type: ignore[arg-type]


@given(st.integers(1, 60), st.integers(1, 60), st.integers(0, 30))
def test_a_floor_is_start_plus_the_larger_of_minimum_and_turns_and_rises_with_each_turn(
    minimum: int, turn: int, taken: int
) -> None:
    """RULE 7: while a call is outstanding it counts that turn too; landed, it is the instant of landing."""
    run = still(minimum, turn)
    run.turns = taken
    floor = run.floor()
    assert floor.at == MONDAY + 60 * max(minimum, turn * (taken + 1)) and floor.phase is Phase.LANDING
    run.turns = taken + 1
    assert run.floor() >= floor
    run.outcome = "done"
    assert run.floor().at == floor.at, "a run never lands before a floor that others were held against"


@pytest.mark.parametrize("field", Pace.__struct_fields__)
def test_a_pace_of_zero_opens_no_office(field: str) -> None:
    """RULE 7: integers of at least 1; zeros would reverse the order of keys."""
    for bad in (0, -1):
        events = opening(staff("ada"), pace=msgspec.structs.replace(Pace(), **{field: bad}))
        with pytest.raises(UsageError, match=field):
            fold(events)


@pytest.mark.parametrize(("turns", "minutes"), [(1, 12), (2, 14), (3, 21)])
def test_effects_land_at_start_plus_minimum_or_turns_times_minutes(turns: int, minutes: int) -> None:
    """RULE 7."""
    events = opening(
        staff("ada"), entries=[rhythm("work", "ada", clock(11))], pace=Pace(principal_minimum=12, principal_turn=7)
    )
    bench, _ = world(events, {("session-ada", begins("work")): [*[call("list_work")] * (turns - 1), FINISH]})
    bench.run(clock(13))
    landed = next(e.sim_time for e, p in of_kind(bench, ActivationLanded) if p.id == "ada.2")
    assert landed == clock(11, minutes)


# -- ids ----------------------------------------------------------------------------------------------------------------


def test_ids_are_actor_activation_ordinal_and_final_when_the_act_is_answered() -> None:
    """RULE 8: what is refused takes no number, and the id that was told is the id that lands."""
    post = call("post_message", to="ben", text="one")
    events = opening(staff("ada", "ben"), entries=[rhythm("work", "ada", clock(10))])
    steps = [calls(post, call("post_message", to="nobody", text="x"), post), FINISH]
    bench, model = world(events, {("session-ada", begins("work")): steps})
    bench.run(clock(11))
    told = [t for t in heard(model, "session-ada", 2) if '"message"' in t and '"ok":true' in t]
    assert [p.message.id for _, p in of_kind(bench, MessagePosted)] == ["ada.2.1", "ada.2.2"]
    assert ['"message":"ada.2.1"' in told[0], '"message":"ada.2.2"' in told[1]] == [True, True]


@pytest.mark.parametrize("notes", [1, 2, 3])
def test_nobody_can_tell_how_much_happened_out_of_their_sight(notes: int) -> None:
    """RULE 8: whatever Eva and Finn do among themselves, Ada and Ben hear the same, byte for byte: no counter, no revision."""
    hours = [rhythm(f"r{h}", "eva", clock(h, 15)) for h in range(9, 17)]
    events = opening(staff("ada", "ben", "eva", "finn"), entries=[rhythm("talk", "ada", clock(10)), *hours])
    looks = [
        call("search", words="a"),
        call("list_colleagues"),
        calls(call("note", record="decision", text="t"), FINISH),
    ]
    post = call("post_message", to="ben", text="see?", asks=True)
    noise = calls(
        call("save", path=f"n{notes}.md", text="a"), call("post_message", to="finn", text="a b c", asks=True),
        *[call("note", record="decision", text="x")] * notes,
    )  # fmt: skip

    def hears(noisy: bool) -> tuple[int, list[bytes]]:
        rules: dict[Any, Any] = {
            ("session-ada", begins("talk")): [*looks[:2], calls(post, *looks[2:])],
            ("session-ben", wakes("message")): [call("list_files"), call("read_room", room="dm:ada:ben"), FINISH],
        }
        if noisy:
            rules[("session-eva", lambda r: r.messages[-1].role == "user")] = noise
        bench, model = world(events, rules)
        revision = bench.run(clock(17)).revision
        said = [
            (r.call, [canonical(m) for m in r.messages])
            for r in model.asked
            if r.session in ("session-ada", "session-ben")
        ]
        return revision, [m for _, messages in sorted(said) for m in messages]

    (quiet, alone), (loud, beside) = hears(False), hears(True)
    assert loud > quiet + 30
    assert alone == beside


def test_no_prompt_holds_a_revision() -> None:
    """RULE 8: the office counts its events in its own field and nowhere that anyone reads."""
    asked: list[ModelRequest] = []

    class Listening(Fuzz):
        def complete(self, request: ModelRequest) -> ModelResponse:
            asked.append(request)
            return super().complete(request)

    people = ["ada", "ben", "cleo"]
    demand = Demand("d1", "maya", "river", "records-digest", "weekly", 1, 0)
    bench = Bench(opening(staff(*people), demands=[demand]), Listening([*people, "maya"], 4))
    assert bench.run(clock(17, 0, 2)).revision > 60
    assert asked and not any(
        "revision" in m.content for r in asked for m in r.messages if m.role in ("system", "user", "tool")
    )


# -- time ---------------------------------------------------------------------------------------------------------------


def test_what_was_begun_before_closing_lands_as_overtime_and_the_day_start_waits_for_it() -> None:
    """RULE 9: begun at 17:20, done the next morning at 10:00; only then does the new day start."""
    pace = Pace(principal_turn=500)
    events = opening(staff("ada"), entries=[rhythm("late", "ada", clock(17, 20))], pace=pace)
    bench, _ = world(
        events, {("session-ada", begins("late")): [call("list_work"), FINISH], "session-ada": FINISH}, concurrency=2
    )
    bench.run(clock(20, 0, 1))
    late = [p.running for _, p in of_kind(bench, ActivationStarted) if any(s.ref == "late" for s in p.running.stimuli)]
    landed = {p.id: e.sim_time for e, p in of_kind(bench, ActivationLanded)}
    assert [r.at for r in late] == [clock(17, 20)]
    assert landed[late[0].id] == clock(17, 20) + 2 * 500 * 60 == clock(10, 0, 1)
    following = [p.running for e, p in of_kind(bench, ActivationStarted) if e.sim_time > clock(17, 20)]
    assert following[0].at == clock(10, 0, 1) and [s.kind for s in following[0].stimuli] == ["day_start"]


def test_nobody_starts_outside_business_hours() -> None:
    """RULE 9: what comes at night is taken up at the next opening, after the weekend if need be."""
    friday = rhythm("night", "ada", clock(20, 0, 4))
    bench, _ = world(opening(staff("ada"), entries=[friday]), {})
    bench.run(clock(18, 0, 8))
    started = [p.running for _, p in of_kind(bench, ActivationStarted)]
    taken = next(r for r in started if any(s.ref == "night" for s in r.stimuli))
    assert taken.at == clock(9, 0, 7)
    assert all(9 * 3600 <= r.at % 86_400 < 17.5 * 3600 for r in started)


def test_durations_are_elapsed_minutes_when_the_clocks_change() -> None:
    """RULE 9: 90 minutes across the night of 29 March 2026 are 90 minutes, though the wall clock shows 150."""
    eve = 1_774_746_000  # 2026-03-29T01:00Z: London skips from 01:00 to 02:00
    begin = eve - 1800
    rules = CalendarRules(always_open=True)
    events = opening(
        staff("ada"), rules=rules, entries=[rhythm("vigil", "ada", begin)], pace=Pace(principal_minimum=90)
    )
    events = [msgspec.structs.replace(e, sim_time=begin - 7200) for e in events]
    bench, model = world(events, {})
    bench.run(eve + 4 * 3600)
    landed = {p.id: e.sim_time for e, p in of_kind(bench, ActivationLanded)}
    started = next(
        p.running for _, p in of_kind(bench, ActivationStarted) if any(s.ref == "vigil" for s in p.running.stimuli)
    )
    assert landed[started.id] - started.at == 90 * 60
    assert any("29 March 2026, 00:" in m.content for r in model.asked for m in r.messages)


# -- nothing paid for nothing -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("concurrency", [1, 6])
def test_every_call_that_was_made_is_a_turn_that_landed_or_still_runs(concurrency: int) -> None:
    """RULE 10: nothing is started speculatively, at any concurrency: no call was thrown away."""
    model = Fuzz(["ada", "ben", "cleo"], 9)
    bench = Bench(opening(staff("ada", "ben", "cleo")), model, concurrency=concurrency)
    bench.run(clock(18, 0, 1))
    started = {
        e.activation if not isinstance(e.payload, ActivationStarted) else e.payload.running.id for e in events_of(bench)
    }
    assert {activation for activation, _ in model.asked} <= started
    turns = {p.id: p.turns for _, p in of_kind(bench, ActivationLanded)}
    called = {name: sum(1 for activation, _ in model.asked if activation == name) for name in turns}
    assert called == turns


def test_no_call_is_made_for_what_cannot_land_within_the_run() -> None:
    """RULE 10: an activation that would land after the end is left for the next time; then it is asked, once."""
    bench, model = world(opening(staff("ada")), {})
    bench.run(clock(9, 5))
    assert "ada.1" in bench.engine().office.running and not model.asked
    bench.run(clock(9, 10))
    assert len(model.asked) == 1 and not bench.engine().office.running


def test_the_office_opens_with_the_engine_that_runs_it() -> None:
    """RULE 1: the engine's version is part of what the run is a function of."""
    first = opening(staff("ada"))[0].payload
    assert isinstance(first, OfficeOpened) and first.engine
