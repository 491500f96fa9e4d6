"""Systems of record in a running office: offered, answered at once, decided again when the work lands (RULES 6 and 18)."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.storage.memory import MemoryJournal
from simulator.canonical import sha256
from simulator.engine.environment import Bodies, Parked
from simulator.engine.history import as_of
from simulator.engine.loop import Engine
from simulator.events import (
    ActivationStarted,
    EntryScheduled,
    Event,
    FileSaved,
    SegmentLanded,
    SystemCalled,
    WorkSubmitted,
    decode,
)
from simulator.ports import TapeTool
from tests.engine.worlds import Bench
from tests.rules.desk import FINISH, begins, call, calls, clock, of_kind, rhythm, wakes
from tests.story.script import ref
from tests.systems.bank import (
    HAND_IN,
    balance,
    called,
    conflicts,
    firm,
    offered,
    office,
    portal,
    prepare,
    state_of,
    told_of,
)

WRITE = call("write", path="Documents/ada.md", text="paid\n")
END = clock(17)


def with_rhythm(events: list[Event], title: str) -> list[Event]:
    """Wake Ada once more at 10:15, while assistants are at work."""
    entry = EntryScheduled(rhythm(title, "ada", clock(10, 15)))
    return [*events, Event(len(events) + 1, events[0].sim_time, "engine", "genesis", entry)]


def hash_of(bench: Bench) -> str:
    return sha256(b"\n".join(bench.log()))


# -- in a segment -------------------------------------------------------------------------------------------------------


def test_an_assistant_is_offered_its_principals_systems_and_is_answered_at_once() -> None:
    bench, model, paper = office(firm(portal()), {"ada": [balance(), calls(prepare(), balance()), HAND_IN]})
    bench.run(END)
    assert {"bank__get_account", "bank__prepare_payment", "read", "submit"} <= set(offered(model, "ada")[0])
    last = [r for r in model.asked if r.role == "assistant"][-1]
    first, made, after = [json.loads(text) for text in told_of(last)]
    assert first["used_today"] == 0 and first["as_of"] == "2026-01-05", "the office's own day, not the environment's"
    assert made["payment"] == "PM-002" and after["used_today"] == 240_000, "it sees its own calls"
    assert paper.started == [], "no sandbox is needed for it"


def test_the_calls_land_with_the_segment_in_call_order_and_move_the_head() -> None:
    bench, _, _ = office(firm(portal()), {"ada": [balance(), prepare(), prepare(), HAND_IN]})
    before = bench.run(clock(10, 30))
    assert before.systems["bank"].state == portal().system.state and called(bench) == [], "buffered until then"
    after = bench.run(END)
    assert called(bench) == [("ada", "get_account", "done"), ("ada", "prepare_payment", "done"), ("ada", "prepare_payment", "refused")]
    assert state_of(bench)["invoices"]["IN-301"]["payment"] == "PM-002" and conflicts(bench) == []
    (event, first), *_ = of_kind(bench, SystemCalled)
    assert event.actor.startswith("assistant:ada.") and first.call == f"{event.activation}.call1"
    bodies = Bodies(bench.journal)
    assert json.loads(bodies(first.arguments)) == {"account": "AC-10"} and json.loads(bodies(first.observation))["account"] == "AC-10"
    (work,) = after.delegations.values()
    assert work.systems == ("bank",) and work.state == "submitted"


def test_an_office_without_systems_and_an_engine_without_the_port_offer_none() -> None:
    for events in (firm(), firm(portal())):
        bench, model, _ = office(events, {"ada": [HAND_IN]})
        bench.env.systems = None if len(events) > len(firm()) else bench.env.systems
        bench.run(END)
        assert [name for names in offered(model, "ada") for name in names if "__" in name] == []


def test_calls_after_submit_in_the_same_turn_are_not_made() -> None:
    bench, _, _ = office(firm(portal()), {"ada": [calls(HAND_IN, prepare())]})
    bench.run(END)
    assert called(bench) == [] and len(of_kind(bench, WorkSubmitted)) == 1


def test_a_call_of_a_tool_that_is_not_offered_is_malformed() -> None:
    bench, model, _ = office(firm(portal()), {"ada": [call("bank__rob"), call("vault__open"), HAND_IN]})
    bench.run(END)
    last = [r for r in model.asked if r.role == "assistant"][-1]
    assert all("there is no tool" in text for text in told_of(last)) and called(bench) == []


def test_arguments_without_end_reach_no_system() -> None:
    bench, model, _ = office(firm(portal()), {"ada": [balance("x" * 30_000), HAND_IN]})
    bench.run(END)
    assert "nothing was done" in told_of([r for r in model.asked if r.role == "assistant"][-1])[0] and called(bench) == []


def test_a_segment_that_ends_in_a_question_lands_its_calls_and_the_next_one_sees_them() -> None:
    """RULE 14."""
    ask = call("ask_principal", question="Which account?")
    answer: Any = lambda r: calls(call("answer_question", question=ref(r, "question"), text="AC-10."), FINISH)  # noqa: E731
    bench, model, _ = office(
        firm(portal()), {"ada": [prepare(), ask, balance(), HAND_IN]}, {("session-ada", wakes("question")): [answer]}
    )
    bench.run(END)
    assert [p.outcome for _, p in of_kind(bench, SegmentLanded)] == ["asked", "submitted"]
    last = [r for r in model.asked if r.role == "assistant"][-1]
    assert json.loads(told_of(last)[-1])["used_today"] == 240_000
    assert [c[1:] for c in called(bench)] == [("prepare_payment", "done"), ("get_account", "done")]


def test_a_withdrawn_segment_leaves_nothing_in_the_system() -> None:
    """RULE 16."""

    def withdraws(request: Any) -> Any:
        (made,) = {name for m in request.messages for name in re.findall(r'"delegation":"(ada[^"]+)"', m.content)}
        return calls(call("withdraw", ref=made, reason="no need"), FINISH)

    events = with_rhythm(firm(portal(), people=("ada",)), "stop")
    steps = [prepare(), *[balance()] * 12, HAND_IN]
    bench, _, _ = office(events, {"ada": steps}, {("session-ada", begins("stop")): [withdraws]})
    bench.run(END)
    (work,) = bench.engine().office.delegations.values()
    assert work.state == "withdrawn" and called(bench) == [] and work.systems == ()


# -- at landing ---------------------------------------------------------------------------------------------------------


def test_where_the_answer_is_another_by_then_it_is_a_conflict_and_nothing_after_it_counts() -> None:
    """RULE 18: both prepare the same invoice from the state of 10:10; Ada's lands first, being first by name."""
    steps = [prepare("IN-301"), prepare("IN-302"), HAND_IN]
    bench, _, _ = office(firm(portal()), {"ada": steps, "ben": steps})
    bench.run(clock(10, 50))
    assert called(bench) == [
        ("ada", "prepare_payment", "done"), ("ada", "prepare_payment", "done"),
        ("ben", "prepare_payment", "conflict"), ("ben", "prepare_payment", "conflict"),
    ]  # fmt: skip
    (conflict,) = conflicts(bench)
    assert conflict.startswith("ben: Payments in a bank portal: it has changed meanwhile, and prepare_payment would be")
    assert "2 of your assistant's calls there had no effect" in conflict
    assert sorted(state_of(bench)["payments"]) == ["PM-001", "PM-002", "PM-003"]
    *_, (_, started) = [pair for pair in of_kind(bench, ActivationStarted) if pair[1].running.actor == "ben"]
    assert [s.kind for s in started.running.stimuli] == ["conflict", "submission"], "he is told before he reviews"
    seen = {p.delegation: p for _, p in of_kind(bench, SystemCalled) if p.outcome == "conflict"}
    assert len(seen) == 1 and all("PM-00" in Bodies(bench.journal)(p.observation) for p in seen.values()), "what it was told is kept"


def test_what_is_independent_of_the_change_stands() -> None:
    """A read of another account is answered alike; two systems fail apart."""
    events = firm(portal(), portal(name="other"))
    ben = [balance("AC-20"), prepare("IN-301", system="other"), prepare("IN-302"), HAND_IN]
    bench, _, _ = office(events, {"ada": [prepare("IN-301"), HAND_IN], "ben": ben})
    bench.run(clock(10, 50))
    assert called(bench)[1:] == [
        ("ben", "get_account", "done"), ("ben", "prepare_payment", "done"), ("ben", "prepare_payment", "conflict"),
    ]  # fmt: skip
    assert state_of(bench, "other")["invoices"]["IN-301"]["payment"] == "PM-002"


def test_rights_are_asked_again_when_the_work_lands() -> None:
    """Ben loses the matter while his assistant works: what it did there has no effect, and he is told."""
    leave = calls(call("change_team", matter="river", person="ben", member=False), FINISH)
    events = with_rhythm(firm(portal(["matter:river"])), "leave")
    bench, model, _ = office(events, {"ben": [prepare(), HAND_IN]}, {("session-ada", begins("leave")): [leave]})
    bench.run(clock(10, 55))
    assert offered(model, "ben") and called(bench) == [("ben", "prepare_payment", "conflict")]
    assert any("it may not be used any more" in c for c in conflicts(bench))
    assert state_of(bench)["invoices"]["IN-301"]["payment"] is None


# -- rights -------------------------------------------------------------------------------------------------------------


def test_a_matters_system_is_offered_in_work_on_that_matter_alone() -> None:
    for matter, there in (("river", True), ("", False)):
        bench, model, _ = office(firm(portal(["matter:river"])), {"ada": [HAND_IN]}, matter=matter)
        bench.run(END)
        assert any("bank__" in name for name in offered(model, "ada")[0]) is there


@pytest.mark.parametrize(("audience", "level", "expected"), [
    (["matter:river"], "internal", ("confidential", ("river",))), (["everyone"], "confidential", ("confidential", ())),
    (["everyone"], "internal", ("internal", ())),
])  # fmt: skip
def test_what_is_made_from_a_system_inherits_its_class_and_wall(audience: list[str], level: Any, expected: Any) -> None:
    """RULE 27: no laundering through a bank portal."""
    bench, _, _ = office(firm(portal(audience, level)), {"ada": [balance(), WRITE, HAND_IN]})
    bench.run(END)
    ((_, saved),) = of_kind(bench, FileSaved)
    assert (saved.version.level, saved.version.walls) == expected


def test_a_file_made_without_the_system_inherits_nothing_of_it() -> None:
    bench, _, _ = office(firm(portal(["everyone"], "confidential")), {"ada": [WRITE, HAND_IN]})
    bench.run(END)
    ((_, saved),) = of_kind(bench, FileSaved)
    assert saved.version.level == "internal"


def test_a_principal_is_told_of_the_systems_and_nobody_else_is() -> None:
    bench, model, _ = office(firm(portal(["person:ada"])), {"ada": [HAND_IN], "ben": [HAND_IN]})
    bench.run(END)
    systems = {r.session: "Systems of record" in r.messages[0].content for r in model.asked if r.role == "principal"}
    assert systems == {"session-ada": True, "session-ben": False}
    assert not any("bank__" in name for name in offered(model, "ben")[0])


# -- one log ------------------------------------------------------------------------------------------------------------

INVOICES = ("IN-301", "IN-302", "IN-303", "IN-304", "IN-999")
STEP = st.one_of(
    st.sampled_from(INVOICES).map(prepare), st.sampled_from(["AC-10", "AC-20"]).map(balance),
    st.just(call("bank__cancel_payment", payment="PM-001")), st.just(call("bank__release_payment", payment="PM-001")),
    st.just(call("bank__get_account", account=7)), st.just(WRITE),
)  # fmt: skip
TURN = st.lists(STEP, min_size=1, max_size=3).map(lambda steps: calls(*steps))
JOB = st.lists(TURN, max_size=4).map(lambda turns: [*turns, HAND_IN])


@settings(max_examples=15, deadline=None)
@given(JOB, JOB, JOB)
def test_the_log_is_the_same_whatever_the_concurrency(ada: Any, ben: Any, cyd: Any) -> None:
    """RULE 1, with three assistants at one system."""
    hashes = set()
    for concurrency, workers in ((1, 1), (6, 4)):
        events = firm(portal(), people=("ada", "ben", "cyd"))
        bench, _, _ = office(events, {"ada": ada, "ben": ben, "cyd": cyd}, concurrency=concurrency, workers=workers)
        bench.run(END)
        hashes.add(hash_of(bench))
        assert state_of(bench)["accounts"]["AC-10"]["balance"] >= 0
    assert len(hashes) == 1


class Nobody:
    """A model that is never asked: everything is on the tape."""

    def complete(self, request: Any) -> Any:
        raise Parked


class Tape(MemoryJournal):
    """A fresh log whose tape is that of another."""

    def __init__(self, source: MemoryJournal) -> None:
        super().__init__()
        self.source = source

    def call(self, activation: str, ordinal: int) -> Any:
        return self.source.call(activation, ordinal)

    def tool(self, activation: str, ordinal: int) -> TapeTool | None:
        return self.source.tool(activation, ordinal)

    def conversation(self, activation: str, session: str) -> Any:
        return self.source.conversation(activation, session)


def test_a_replay_computes_the_calls_anew_and_gives_the_same_log() -> None:
    """RULE 2: nothing of a system is on the tape."""
    steps = [calls(prepare("IN-301"), WRITE, balance()), prepare("IN-302"), HAND_IN]
    bench, _, _ = office(firm(portal()), {"ada": steps, "ben": steps})
    bench.run(END)
    assert isinstance(bench.journal, MemoryJournal)
    journal = Tape(bench.journal)
    journal.commit(1, [data for data in bench.log() if decode(data).activation == "genesis"], {})
    bench.env.journal, bench.env.model, bench.env.sandboxes = journal, Nobody(), None
    Engine(bench.env, as_of(journal), lambda revision: as_of(journal, revision)).run(END)
    assert [data for _, data in journal.events()] == bench.log()


def test_a_segment_that_was_stopped_between_two_calls_goes_on_as_if_it_never_was() -> None:
    whole, _, _ = office(firm(portal()), {"ada": [prepare(), balance(), prepare("IN-302"), HAND_IN]})
    whole.run(END)
    halves, model, _ = office(firm(portal()), {"ada": [prepare(), balance(), prepare("IN-302"), HAND_IN]})
    engine = halves.engine()

    class Stopping:
        def complete(self, request: Any) -> Any:
            if request.role == "assistant" and len(told_of(request)) == 1:
                engine.stop()
            return model.complete(request)

    halves.env.model = Stopping()
    engine.run(END)
    assert halves.log() != whole.log()
    halves.env.model = model
    halves.run(END)
    assert halves.log() == whole.log()
