"""RULES 14 to 16: clarification, rounds, withdrawal. Assistants work on paper: no program runs."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from services.models.scripted import Scripted, say
from simulator.conversation import ModelRequest
from simulator.engine.loop import NO_ANSWER
from simulator.engine.segment import decode_tree
from simulator.errors import SandboxError
from simulator.events import (
    ActivationLanded,
    ActivationStarted,
    DelegationWithdrawn,
    Pace,
    QuestionAnswered,
    RoundOpened,
    SegmentLanded,
    WorkSubmitted,
)
from simulator.office import Office
from simulator.records import CalendarEntry, Delegation
from tests.engine.worlds import Bench
from tests.rules.desk import (
    FINISH,
    Desks,
    Opens,
    begins,
    call,
    calls,
    clock,
    events_of,
    of_kind,
    opening,
    rhythm,
    staff,
    wakes,
    with_desks,
)
from tests.story.script import ref

GIVE = call("delegate", goal="Write the list", deliverables=["Documents/List.md"], matter="river")
WRITE = call("write", path="Documents/List.md", text="one\n")
ASK = call("ask_principal", question="Which list?")
HAND_IN = call("submit", report="Done.")
PACE = Pace(principal_minimum=10, principal_turn=5, segment_minimum=40, segment_turn=6)


def assistant(request: ModelRequest) -> bool:
    return request.role == "assistant"


def office(
    steps: list[Any], rules: dict[Any, Any] | None = None, *, entries: tuple[CalendarEntry, ...] = (), gate: threading.Event | None = None,
    **more: Any,
) -> tuple[Bench, Scripted, Desks]:  # fmt: skip
    """Return an office in which Ada delegates at 10:00 (landing at 10:10) and her assistant takes these steps."""
    events = opening(staff("ada", "ben"), entries=[rhythm("give", "ada", clock(10)), *entries], pace=PACE)
    told = {("session-ada", begins("give")): [calls(GIVE, FINISH)], ("*", assistant): steps, **(rules or {})}
    return with_desks(events, told, gate, **more)


def answers(text: str, *before: Any) -> Any:
    """Return the answer of a principal to the question that woke them, after other calls."""
    return lambda r: calls(*before, call("answer_question", question=ref(r, "question"), text=text), FINISH)


def reviews(decision: str, notes: str) -> Any:
    return lambda r: calls(call("review", delegation=ref(r, "delegation"), decision=decision, notes=notes), FINISH)


def withdraws(request: ModelRequest) -> Any:
    return calls(call("withdraw", ref=ref(request, "delegation"), reason="not needed"), FINISH)


def work(state: Office) -> Delegation:
    (found,) = state.delegations.values()
    return found


# -- clarification ------------------------------------------------------------------------------------------------------


def test_asking_ends_a_segment_and_the_answer_starts_the_next_in_the_same_home() -> None:
    """RULE 14: the minimum applies to the first segment alone; nothing waits inside an activation."""
    answer = ("session-ada", wakes("question"))
    rules = {answer: [answers("The short one.")]}
    bench, model, desks = office([WRITE, ASK, call("bash", command="look"), HAND_IN], rules)
    bench.run(clock(13))
    landed = [(e.sim_time, p.segment, p.outcome) for e, p in of_kind(bench, SegmentLanded)]
    # 10:10 + 40 minutes; Ada answers from 10:50 to 11:00; then 2 turns of 6 minutes and no minimum.
    assert landed == [(clock(10, 50), 1, "asked"), (clock(11, 12), 2, "submitted")]
    first, second = desks.started
    assert first.closed and second.closed, "a parked job holds no process"
    assert [e.path for e in second.spec.home] == ["Documents/List.md"]
    assert second.spec.mounts == first.spec.mounts
    last = [r for r in model.asked if assistant(r)][-1]
    assert any("The short one." in m.content for m in last.messages) and any(
        "Write the list" in m.content for m in last.messages
    )
    assert "asked" not in {p.outcome for _, p in of_kind(bench, ActivationLanded)}


def test_a_question_unanswered_for_16_business_hours_is_answered_by_the_engine() -> None:
    """RULE 14: asked Monday 10:50, with 8.5 hours a day: 6 h 40 on Monday, 8 h 30 on Tuesday, the rest on Wednesday."""
    bench, model, _ = office([ASK, HAND_IN])
    bench.run(clock(12, 0, 2))
    ((event, answered),) = of_kind(bench, QuestionAnswered)
    assert event.sim_time == clock(9, 50, 2)
    assert (answered.by, answered.body.text) == ("engine", NO_ANSWER)
    assert NO_ANSWER == "no answer: use your judgement or submit what you have"
    assert any(NO_ANSWER in m.content for r in model.asked if assistant(r) for m in r.messages)
    assert work(bench.engine().office).state == "submitted"


def test_an_answer_in_time_clears_the_engines() -> None:
    """RULE 14: no second answer comes after sixteen hours, and the question is answered but once."""
    rules = {
        ("session-ada", wakes("question")): [answers("A")],
        ("session-ada", begins("again")): [answers("B")],
    }
    bench, _, _ = office([ASK, HAND_IN], rules, entries=(rhythm("again", "ada", clock(15)),))
    bench.run(clock(17, 0, 3))
    assert [p.by for _, p in of_kind(bench, QuestionAnswered)] == ["ada"]


def test_stopping_lands_like_any_segment_and_wakes_the_principal() -> None:
    """RULE 14: two answers without a tool call end a segment; Ada learns why and may open another round."""
    again = ("session-ada", wakes("submission", "stopped"))
    rules = {again: [reviews("revise", "Use the tools.")]}
    words = say("I think that is all.")
    bench, _, _ = office([words, words, WRITE, HAND_IN], rules)
    bench.run(clock(13))
    landed = [p for _, p in of_kind(bench, SegmentLanded)]
    assert [p.outcome for p in landed] == ["stopped", "submitted"] and "without submitting" in landed[0].reason
    assert [r.number for r in work(bench.engine().office).rounds] == [1, 2]


# -- rounds -------------------------------------------------------------------------------------------------------------


def test_mounts_do_not_change_within_a_round_and_are_fresh_in_the_next() -> None:
    """RULE 15: what Ada saves at 10:20 is not in segment 2, nor in the task as then told; it is in round 2."""
    rules = {
        ("session-ada", wakes("question")): [
            answers("Go on.", call("save", path="Notes/New.md", text="found meanwhile"))
        ],
        ("session-ada", wakes("submission", '"round":1')): [
            reviews("revise", "Line 1 of List.md: found one, expected two.")
        ],
    }  # fmt: skip
    steps = [
        WRITE,
        ASK,
        call("bash", command="a"),
        HAND_IN,
        call("write", path="Documents/List.md", text="two\n"),
        HAND_IN,
    ]
    bench, model, desks = office(steps, rules)
    bench.run(clock(16))
    one, two, three = (d.spec for d in desks.started)
    assert one.mounts == two.mounts
    assert two.mounts["task"] != three.mounts["task"]
    task = next(bench.blobs.get(e.blob.sha256) for e in three.mounts["task"] if e.path == "TASK.md")
    assert b"found one, expected two" in task
    opened = [e.revision for e, p in of_kind(bench, RoundOpened)]
    assert [r.revision for r in work(bench.engine().office).rounds] == opened, "the moment of a round is its opening"
    # The home of round 2 is the submission's, not a new copy of the principal's.
    assert [e.path for e in three.home] == ["Documents/List.md"]
    conversation = [r for r in model.asked if assistant(r)][-1].messages
    notes = [m.content for m in conversation if m.role == "user"][-1]
    assert notes.index("found one, expected two") < notes.index("Write the list"), "the review notes come first"
    assert any("Which list?" in c.arguments for m in conversation for c in m.tool_calls), (
        "the conversation is continued"
    )


def test_a_resumed_round_mounts_what_it_mounted_before() -> None:
    """RULE 15: after a restart the trees are made again from the round's own revision, byte for byte."""
    rules = {
        ("session-ada", wakes("question")): [
            answers("Go on.", call("save", path="Notes/New.md", text="meanwhile"))
        ]
    }  # fmt: skip
    bench, _, desks = office([WRITE, ASK, call("bash", command="a"), HAND_IN], rules)
    for until in (clock(10, 30), clock(10, 55), clock(11, 1), clock(13)):
        bench.run(until)
    mounted = [d.spec.mounts for d in desks.started]
    assert len(mounted) >= 2 and all(m == mounted[0] for m in mounted)
    whole, _, _ = office([WRITE, ASK, call("bash", command="a"), HAND_IN], rules)
    whole.run(clock(13))
    assert bench.log() == whole.log()


def test_drafts_are_made_by_checked_update() -> None:
    """RULE 18 for an assistant: Ada changed the same file meanwhile; both texts stay, and she is told."""
    save = calls(call("save", path="Documents/List.md", text="my own"), FINISH)
    bench, model, _ = office(
        [WRITE, HAND_IN], {("session-ada", begins("own")): [save]}, entries=(rhythm("own", "ada", clock(10, 20)),)
    )
    state = bench.run(clock(12))
    names = {
        f.path: [bench.blobs.get(v.blob.sha256) for v in f.versions]
        for f in state.files.values()
        if f.space == "home:ada"
    }
    assert names["Documents/List.md"] == [b"my own"]
    assert [v for path, v in names.items() if path != "Documents/List.md"] == [[b"one\n"]]
    (woken,) = [r for r in model.asked if wakes("conflict", "was changed while")(r)]
    first = woken.messages[-1].content.partition("## What wakes you")[2].strip().split("\n")[0]
    assert '"kind":"conflict"' in first


# -- withdrawal ---------------------------------------------------------------------------------------------------------


def withdrawn(gate: threading.Event | None, **more: Any) -> tuple[Bench, Scripted, Desks]:
    """Return an office in which Ada withdraws at 10:20 (landing at 10:30) what her assistant is in the middle of."""
    take = ("session-ada", begins("stop"))
    rules = {take: [withdraws]}
    steps = [call("write", path="secret-draft.md", text="half"), call("bash", command="sleep"), HAND_IN]
    return office(steps, rules, entries=(rhythm("stop", "ada", clock(10, 20)),), gate=gate, **more)


def test_withdrawal_ends_the_running_segment_and_nothing_of_it_enters_the_log() -> None:
    """RULE 16: its calls and tool results stay on the tape."""
    bench, model, _ = withdrawn(None)
    state = bench.run(clock(13))
    (name,) = [p.running.id for _, p in of_kind(bench, ActivationStarted) if p.running.kind == "segment"]
    of_it = [e for e in events_of(bench) if e.activation == name]
    assert [type(e.payload).__name__ for e in of_it] == ["ActivationStarted", "ActivationLanded"]
    assert of_it[1].payload.outcome == "withdrawn" and of_it[1].sim_time == clock(10, 30)  # type: ignore[union-attr]
    assert work(state).state == "withdrawn" and work(state).rounds[0].home is None
    assert not of_kind(bench, SegmentLanded) and not of_kind(bench, WorkSubmitted)
    assert not any(b"secret-draft" in data for data in bench.log())
    assert bench.journal.call(name, 1) is not None
    said = [m.content for r in model.asked if r.role != "assistant" for m in r.messages]
    assert not any("secret-draft" in text for text in said)


def test_withdrawal_while_a_command_runs_waits_for_no_one_and_breaks_nothing() -> None:
    """RULE 16: the sandbox is in use when the withdrawal lands; it is closed when its command is over, and the day goes on."""
    gate = threading.Event()
    bench, _, desks = withdrawn(gate, observers=(Opens(gate, DelegationWithdrawn),))
    state = bench.run(clock(18, 0, 1))
    assert gate.is_set() and work(state).state == "withdrawn"
    assert desks.started and all(d.closed for d in desks.started)
    quick, _, _ = withdrawn(None)
    quick.run(clock(18, 0, 1))
    assert bench.log() == quick.log(), "how long the command took in the world outside shows nowhere"


def test_a_sandbox_that_dies_after_its_delegation_was_withdrawn_stops_nobody() -> None:
    """RULE 16: nothing of a withdrawn segment matters any more, its faults included."""
    gate = threading.Event()
    bench, _, desks = withdrawn(gate, observers=(Opens(gate, DelegationWithdrawn),))
    desks.dies = True
    assert work(bench.run(clock(13))).state == "withdrawn"


def test_a_sandbox_that_dies_otherwise_stops_the_run_at_a_commit() -> None:
    """RULE 35: it is never a tool's result; the next run begins the unfinished command again."""
    bench, model, desks = office([WRITE, call("bash", command="x"), HAND_IN])
    desks.dies = True
    with pytest.raises(SandboxError):
        bench.run(clock(13))
    desks.dies = False
    state = bench.run(clock(13))
    assert work(state).state == "submitted"
    assert [r.call[1] for r in model.asked if assistant(r)] == [1, 2, 3], "no answer was asked for twice"


def test_the_last_landed_manifest_is_kept() -> None:
    """RULE 16: withdrawn in the second segment, the delegation still has the home of the first."""
    rules = {
        ("session-ada", wakes("question")): [answers("A")],
        ("session-ada", begins("stop")): [withdraws],
    }
    steps = [WRITE, ASK, call("write", path="later.md", text="x"), *[call("bash", command="y")] * 10, HAND_IN]
    bench, _, _ = office(steps, rules, entries=(rhythm("stop", "ada", clock(11, 5)),))
    state = bench.run(clock(14))
    home = work(state).rounds[0].home
    assert work(state).state == "withdrawn" and home is not None
    assert [e.path for e in decode_tree(bench.blobs.get(home.sha256))] == ["Documents/List.md"]
    assert not of_kind(bench, RoundOpened)[1:]


def test_a_withdrawn_question_is_answered_by_nobody() -> None:
    """RULE 16 and RULE 14: the sixteen hours end with the delegation."""
    rules = {("session-ada", begins("stop")): [withdraws]}
    bench, _, _ = office([ASK, HAND_IN], rules, entries=(rhythm("stop", "ada", clock(12)),))
    bench.run(clock(17, 0, 4))
    assert not of_kind(bench, QuestionAnswered)
    assert len([p for _, p in of_kind(bench, ActivationStarted) if p.running.kind == "segment"]) == 1
