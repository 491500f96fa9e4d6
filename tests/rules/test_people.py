"""RULES 11 to 13: inboxes, memory, compaction."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.models.scripted import say
from simulator.conversation import ModelResponse
from simulator.engine.inbox import choose, start_due
from simulator.events import (
    ActivationLanded,
    ActivationStarted,
    Event,
    MemoryLimits,
    MemoryNoted,
    MessagePosted,
    OfficeOpened,
    Pace,
    SessionOpened,
    StimulusArrived,
)
from simulator.fold import apply, fold
from simulator.office import Office
from simulator.records import STIMULUS_CLASS, Body, ChatMessage, Memory, Stimulus
from tests.rules.desk import FINISH, begins, call, calls, clock, heard, of_kind, opening, rhythm, staff, wakes, world

KINDS = sorted(STIMULUS_CLASS)


def with_inbox(*stimuli: Stimulus) -> Office:
    """Return an office, open since nine, in which Ada has these stimuli."""
    office = fold(opening(staff("ada", "ben")))
    for s in sorted(stimuli, key=lambda s: s.at):
        office = apply(
            office, Event(office.revision + 1, max(office.now, s.at), "engine", "t", StimulusArrived("ada", s))
        )
    return office


def stimulus(name: str, kind: str = "notice", at: int = clock(9), group: str = "", wakes: bool = True) -> Stimulus:
    return Stimulus(name, kind, name, at, "ben", group, wakes)  # type: ignore[arg-type]


# -- the inbox ----------------------------------------------------------------------------------------------------------


@given(
    st.lists(
        st.tuples(
            st.sampled_from([k for k in KINDS if k not in ("demand", "day_start", "due")]),
            st.integers(0, 59),
            st.integers(0, 5),
        ),
        max_size=40,
    )
)
def test_at_most_12_are_taken_by_class_then_age_and_what_is_taken_is_gone(drawn: list[tuple[str, int, int]]) -> None:
    """RULE 11."""
    stimuli = [
        stimulus(f"s{n:02d}", kind, clock(9, minute), f"g{group}" if group else "")
        for n, (kind, minute, group) in enumerate(drawn)
    ]
    shown, taken = choose(with_inbox(*stimuli), "ada", clock(9, 59))
    assert len(shown) <= 12 and len(set(taken)) == len(taken)
    classes = [(STIMULUS_CLASS[s.kind] if s.kind != "conflict" else -99, s.at) for s in shown]
    assert classes == sorted(classes)
    groups = {(s.kind, s.group or s.id) for s in stimuli}
    assert len(shown) == min(12, len(groups))
    for s in stimuli:
        assert (s.id in taken) == any((x.kind, x.group or x.id) == (s.kind, s.group or s.id) for x in shown)


def test_of_twenty_things_twelve_are_taken_now_and_eight_by_the_next_activation() -> None:
    """RULE 11: what is not taken stays, and wakes again."""
    asks = [calls(*[call("make_request", to="ada", outcome=f"thing {n}") for n in range(20)], FINISH)]
    events = opening(staff("ada", "ben"), entries=[rhythm("ask", "ben", clock(10))])
    bench, _ = world(events, {("session-ben", begins("ask")): asks})
    bench.run(clock(12))
    started = [
        p.running
        for _, p in of_kind(bench, ActivationStarted)
        if p.running.actor == "ada" and p.running.at >= clock(10)
    ]
    assert [(r.at, len(r.stimuli)) for r in started] == [(clock(10, 10), 12), (clock(10, 20), 8)]
    assert [s.ref for r in started for s in r.stimuli] == sorted((f"ben.2.{n}" for n in range(1, 21)), key=lambda i: i)


def test_what_remains_of_one_thread_is_merged_and_counted() -> None:
    """RULE 11."""
    many = [stimulus(f"m{n}", "message", clock(9, n), "room:all") for n in range(5)]
    (one,), taken = choose(with_inbox(*many), "ada", clock(10))
    assert one.id == "m0" and "4 more" in one.text and taken == ("m0", "m1", "m2", "m3", "m4")


@pytest.mark.parametrize(("waited", "first"), [(0, "new"), (1, "new"), (2, "old"), (3, "old")])
def test_what_waits_rises_a_class_each_business_hour(waited: int, first: str) -> None:
    """RULE 11: a share (class 5) is overtaken by a mail (3) until it has waited two hours; then they are equals and age decides."""
    late = clock(9) + waited * 3600 + 60
    shown, _ = choose(with_inbox(stimulus("old", "share", clock(9)), stimulus("new", "mail", late)), "ada", late)
    assert shown[0].id == first


def test_ageing_counts_hours_of_business_alone() -> None:
    """RULE 11: over the night a notice of 17:00 has waited half an hour."""
    old, new = stimulus("old", "notice", clock(17)), stimulus("new", "day_start", clock(9, 0, 1))
    shown, _ = choose(with_inbox(old, msgspec.structs.replace(new, kind="share")), "ada", clock(9, 0, 1))
    assert [s.id for s in shown] == ["new", "old"]


def test_conflicts_are_always_the_first_stimulus() -> None:
    """RULE 18, and RULE 11's order: however long a question has waited."""
    office = with_inbox(stimulus("q", "question", clock(9)), stimulus("c", "conflict", clock(16)))
    shown, _ = choose(office, "ada", clock(17))
    assert [s.id for s in shown] == ["c", "q"]


def test_a_message_that_asks_nothing_wakes_no_one_before_the_next_other_stimulus() -> None:
    """RULE 11."""
    talk = calls(call("post_message", to="ada", text="for your information"), FINISH)
    ask = calls(call("post_message", to="ada", text="what do you say?", asks=True), FINISH)
    events = opening(staff("ada", "ben"), entries=[rhythm("tell", "ben", clock(10)), rhythm("ask", "ben", clock(12))])
    bench, _ = world(events, {("session-ben", begins("tell")): [talk], ("session-ben", begins("ask")): [ask]})
    bench.run(clock(16))
    started = [p.running for _, p in of_kind(bench, ActivationStarted) if p.running.actor == "ada"]
    assert [(r.at, len(r.taken)) for r in started] == [(clock(9), 1), (clock(12, 10), 2)]


def test_two_people_wake_each_other_at_most_8_times_a_day_over_one_thread() -> None:
    """RULE 11: the ninth waits for another stimulus, and a new day or another thread begins anew."""
    office = fold(opening(staff("ada", "ben")))

    def post(office: Office, number: int, at: int, thread: str = "t") -> Office:
        sender = ("ada", "ben")[number % 2]
        message = ChatMessage(f"m{office.revision}", "all", sender, at, Body("?"), thread, True)
        return apply(office, Event(office.revision + 1, at, sender, "x", MessagePosted(message)))

    for number in range(12):
        office = post(office, number, clock(10, number))
    waking = [s.wakes for p in ("ada", "ben") for s in office.inboxes[p]]
    assert sum(waking) == 8 and len(waking) == 12
    office = post(post(office, 0, clock(11), "other"), 0, clock(10, 0, 1))
    assert [s.wakes for s in office.inboxes["ben"]][-2:] == [True, True]


def test_two_who_ask_each_other_without_end_are_stopped_for_the_day() -> None:
    """RULE 11: the limit holds in a running office."""
    answer = calls(call("post_message", to="general", text="and you?", asks=True, in_reply_to="ada.2.1"), FINISH)
    events = opening(
        staff("ada", "ben"),
        entries=[rhythm("start", "ada", clock(9, 30))],
        pace=Pace(principal_minimum=1, principal_turn=1),
    )
    rules = {
        ("session-ada", begins("start")): [calls(call("post_message", to="general", text="you?", asks=True), FINISH)],
        ("session-ada", wakes("message")): answer,
        ("session-ben", wakes("message")): answer,
    }
    bench, _ = world(events, rules)
    bench.run(clock(17))
    assert len(of_kind(bench, MessagePosted)) == 9, "eight of them woke someone; the ninth woke nobody"


def test_nothing_starts_while_someone_is_busy_or_nothing_wakes_them() -> None:
    """RULE 11."""
    assert start_due(with_inbox(stimulus("n", wakes=False)), "ada", clock(10)) is None
    assert start_due(with_inbox(stimulus("n", at=clock(10))), "ada", clock(10)) == clock(10)
    assert start_due(with_inbox(stimulus("n", at=clock(18))), "ada", clock(18)) == clock(9, 0, 1)


# -- memory -------------------------------------------------------------------------------------------------------------


def opening_with(**changes: Any) -> list[Event]:
    """Return the opening of an office of Ada and Ben with other settings and ten records of each kind for Ada."""
    events = opening(staff("ada", "ben"), entries=[rhythm("one", "ada", clock(10)), rhythm("two", "ada", clock(11))])
    first = events[0].payload
    assert isinstance(first, OfficeOpened)
    events[0] = msgspec.structs.replace(events[0], payload=msgspec.structs.replace(first, **changes))
    kinds = ("commitment", "discussion", "decision", "colleague")
    notes = [Memory(f"{kind}.{n}", "ada", kind, Body(f"{kind} {n}"), clock(0) + n) for kind in kinds for n in range(12)]  # type: ignore[arg-type]
    return [
        *events,
        *(Event(len(events) + 1 + n, clock(8), "ada", "genesis", MemoryNoted(m)) for n, m in enumerate(notes)),
    ]


@pytest.mark.parametrize("limits", [MemoryLimits(), MemoryLimits(2, 1, 3, 4)])
def test_each_activation_and_not_each_day_is_given_so_many_records(limits: MemoryLimits) -> None:
    """RULE 12: in every wake-up message of the day, by the package's numbers."""
    bench, model = world(opening_with(memory=limits), {})
    bench.run(clock(12))
    wake_ups = [r.messages[-1].content for r in model.asked if r.session == "session-ada"]
    assert len(wake_ups) == 3
    for text in wake_ups:
        given_ = {
            title: text.partition(f"## {title}\n")[2].partition("\n## ")[0].count('"id":')
            for title in ("Commitments", "Discussions", "Open decisions", "Colleague records")
        }
        assert tuple(given_.values()) == (limits.commitments, limits.discussions, limits.decisions, limits.colleagues)


def test_each_day_reopens_the_session_under_its_id_with_a_fresh_conversation() -> None:
    """RULE 12: within the day the conversation goes on; the next day it begins anew."""
    bench, model = world(opening_with(), {("session-ada", begins("one")): [say("the word of the day is heron")]})
    bench.run(clock(10, 0, 1))
    assert [(p.session, p.day) for _, p in of_kind(bench, SessionOpened) if p.person == "ada"] == [
        ("session-ada", "2026-01-05"), ("session-ada", "2026-01-06"),
    ]  # fmt: skip
    assert {r.session for r in model.asked if r.role == "principal" and r.call[0].startswith("ada")} == {"session-ada"}
    monday, tuesday = heard(model, "session-ada", 2), heard(model, "session-ada", 3)
    assert any("heron" in text for text in monday) and len(monday) > 4
    assert not any("heron" in text for text in tuesday) and len(tuesday) == 2


# -- compaction ---------------------------------------------------------------------------------------------------------

LONG = "x" * 3_000


def compacting(rules: dict[Any, Any], limit: int = 10_000) -> tuple[Any, Any]:
    events = opening(staff("ada"), entries=[rhythm("work", "ada", clock(10))], compaction=limit, turn_limit=12)
    return world(events, {"session-ada/compaction": say("SUMMARY: birds"), **rules})


def test_compaction_is_decided_by_the_characters_of_the_transcript() -> None:
    """RULE 13: a call of its own kind, without tools, on the tape; its summary replaces the turns in later requests."""
    steps = [*[call("note", record="decision", text=LONG[:1_900])] * 6, FINISH]
    bench, model = compacting(
        {("session-ada", begins("work")): steps, ("session-ada", lambda r: "SUMMARY" in r.messages[-1].content): FINISH}
    )
    bench.run(clock(13))
    asked = [r for r in model.asked if r.session.startswith("session-ada")]
    (compaction,) = [r for r in asked if r.session == "session-ada/compaction"]
    assert compaction.tools == () and "grown too long" in compaction.messages[-1].content
    position = asked.index(compaction)
    before, after = asked[position - 1].messages, asked[position + 1].messages
    size = sum(len(m.content) + sum(len(c.arguments) for c in m.tool_calls) for m in compaction.messages[:-1])
    assert size > 10_000 >= sum(len(m.content) + sum(len(c.arguments) for c in m.tool_calls) for m in before)
    assert [m.role for m in after] == ["system", "user"] and "SUMMARY: birds" in after[1].content
    assert bench.journal.call(*compaction.call) is not None


def test_compaction_takes_no_turn_and_no_minutes() -> None:
    """RULE 13: the activation lands when its turns say, as if there had been no compaction."""
    steps = [*[call("note", record="decision", text=LONG[:1_900])] * 6, FINISH]
    rule = (
        "session-ada",
        lambda r: (
            begins("work")(r) or "SUMMARY" in r.messages[-1].content or any("SUMMARY" in m.content for m in r.messages)
        ),
    )
    landed = []
    for limit in (10_000, 10_000_000):
        bench, model = compacting({rule: steps}, limit)
        bench.run(clock(13))
        (pair,) = [(e.sim_time, p.turns) for e, p in of_kind(bench, ActivationLanded) if p.id == "ada.2"]
        landed.append(pair)
        assert any(r.session.endswith("/compaction") for r in model.asked) == (limit == 10_000)
    assert landed == [(clock(10, 35), 7)] * 2


def overflow(_: Any) -> ModelResponse:
    return ModelResponse(finish="overflow")


def test_an_overflow_answered_by_the_provider_triggers_compaction_once() -> None:
    """RULE 13: the second overflow ends the activation clearly; it does not go round for ever."""
    bench, model = compacting({("session-ada", lambda r: r.call[0] == "ada.2"): overflow}, 1_000_000)
    bench.run(clock(13))
    mine = [r.session for r in model.asked if r.call[0] == "ada.2"]
    assert mine == ["session-ada", "session-ada/compaction", "session-ada"]
    (landed,) = [p for _, p in of_kind(bench, ActivationLanded) if p.id == "ada.2"]
    assert (landed.outcome, landed.turns) == ("cut", 0) and "too long" in landed.summary


def test_after_an_overflow_the_work_goes_on_from_the_summary() -> None:
    """RULE 13."""
    steps = [call("list_work"), overflow, FINISH]
    bench, model = compacting({("session-ada", lambda r: r.call[0] == "ada.2" and bool(r.tools)): steps}, 1_000_000)
    bench.run(clock(13))
    assert "SUMMARY: birds" in [r for r in model.asked if r.call[0] == "ada.2"][-1].messages[1].content
    (landed,) = [p for _, p in of_kind(bench, ActivationLanded) if p.id == "ada.2"]
    assert (landed.outcome, landed.turns) == ("done", 2)
