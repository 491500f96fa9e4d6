"""RULE 18: each act is decided when called and again at commit, against the office as it is then."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.events import (
    ConflictRaised,
    EntryScheduled,
    FileAccepted,
    FileShared,
    MailSent,
    MessagePosted,
    RequestAnswered,
    RequestMade,
)
from simulator.records import CalendarEntry
from tests.rules.desk import (
    FINISH,
    begins,
    call,
    calls,
    clock,
    events_of,
    meeting,
    of_kind,
    opening,
    rhythm,
    staff,
    wakes,
    world,
)

WORK = "Notes/Work.md"


def both(at: int = clock(10), *more: CalendarEntry) -> list[Any]:
    """Return the opening of an office in which Ada and Ben begin at the same instant, and land at the same instant."""
    return opening(staff("ada", "ben"), entries=[rhythm("a", "ada", at), rhythm("b", "ben", at), *more])


def conflicts(bench: Any) -> list[tuple[str, str]]:
    return [(p.conflict.person, p.conflict.reason) for _, p in of_kind(bench, ConflictRaised)]


def saves_and_shares(person: str, then: str, text: str = "one") -> dict[Any, Any]:
    """Return what makes a person's accepted note visible to another by 09:30 or so."""
    steps = [
        call("save", path=WORK, text=text),
        call("accept", file=WORK),
        calls(call("share", file=WORK, audience=[f"person:{then}"]), FINISH),
    ]
    return {(f"session-{person}", wakes("day_start", "2026-01-05")): steps}


def test_two_who_take_one_slot_at_once_do_not_both_have_it() -> None:
    """RULE 18: free when both were asked, taken when the second landed; the later one is told, by name of the act."""
    wants = {
        ("session-ada", begins("a")): [
            calls(call("schedule", title="mine", attendees=["ben"], start="2026-01-05 14:00"), FINISH)
        ],
        ("session-ben", begins("b")): [
            calls(call("schedule", title="his", attendees=["ada"], start="2026-01-05 14:00"), FINISH)
        ],
    }
    bench, _ = world(both(), wants)
    bench.run(clock(13))
    assert [p.entry.title for _, p in of_kind(bench, EntryScheduled) if p.entry.kind == "meeting"] == ["mine"]
    ((person, reason),) = conflicts(bench)
    assert person == "ben" and "schedule did not take effect" in reason and "busy" in reason


def test_conflicts_are_the_first_stimulus_of_the_persons_next_activation() -> None:
    """RULE 18: and they wake."""
    wants = {
        ("session-ada", begins("a")): [
            calls(call("schedule", title="mine", attendees=["ben"], start="2026-01-05 14:00"), FINISH)
        ],
        ("session-ben", begins("b")): [
            calls(call("schedule", title="his", attendees=["ada"], start="2026-01-05 14:00"), FINISH)
        ],
    }
    bench, model = world(both(), wants)
    bench.run(clock(13))
    (request,) = [r for r in model.asked if wakes("conflict")(r)]
    rows = request.messages[-1].content.partition("## What wakes you")[2].strip().split("\n")
    assert '"kind":"conflict"' in rows[0] and request.session == "session-ben"


def test_an_act_that_cites_a_failed_one_fails_with_it_and_independent_acts_stand() -> None:
    """RULE 18: Ben's message about his event goes down with it; his note stays."""
    wants = {
        ("session-ada", begins("a")): [calls(call("schedule", title="mine", attendees=["ben"], start="2026-01-05 14:00"), FINISH)],
        ("session-ben", begins("b")): [
            calls(
                call("schedule", title="his", attendees=["ada"], start="2026-01-05 14:00"), call("respond", event="ben.2.1", answer="accepted"),
                call("note", record="decision", text="about it", about="ben.2.1"), call("note", record="decision", text="about the weather"), FINISH,
            )
        ],
    }  # fmt: skip
    bench, _ = world(both(), wants)
    state = bench.run(clock(13))
    assert [(p, "rests on ben.2.1" in r) for p, r in conflicts(bench)] == [("ben", False), ("ben", True)]
    assert [m.text.text for m in state.memories.values() if m.holder == "ben"] == ["about the weather"]


def test_what_a_request_was_when_it_was_answered_must_still_be_so() -> None:
    """RULE 18: Ben accepts at the instant at which Ada withdraws; she lands first, and his acceptance is a conflict."""
    ask = {("session-ada", wakes("day_start")): [calls(call("make_request", to="ben", outcome="x"), FINISH)]}
    rules = {
        **ask,
        ("session-ada", begins("a")): [calls(call("withdraw", ref="ada.1.1", reason="done"), FINISH)],
        ("session-ben", begins("b")): [calls(call("accept_request", request="ada.1.1"), FINISH)],
    }
    bench, _ = world(both(), rules)
    state = bench.run(clock(13))
    assert state.requests["ada.1.1"].state == "withdrawn"
    assert [p.state for _, p in of_kind(bench, RequestAnswered)] == ["withdrawn"]
    ((person, reason),) = conflicts(bench)
    assert person == "ben" and "it was open, now it is withdrawn" in reason


def test_a_path_means_the_version_that_was_meant_when_the_act_was_called() -> None:
    """RULE 18: while Ben signs what he read, Ada shares another version; he does not sign what he has not seen."""
    second = [
        call("save", path=WORK, text="two"),
        call("accept", file=WORK),
        calls(call("share", file=WORK, audience=["person:ben"]), FINISH),
    ]
    shared = "/mnt/company/Shared/Ada/Notes/Work.md"
    rules = {
        **saves_and_shares("ada", "ben"),
        ("session-ada", begins("a")): second,
        ("session-ben", begins("b")): [call("open_file", file=shared), call("sign_off", file=shared), FINISH],
    }
    bench, model = world(both(), rules)
    state = bench.run(clock(13))
    assert any('"text":"one"' in m.content for r in model.asked for m in r.messages if m.role == "tool")
    signed = [a for a in state.acceptances.values() if a.capacity == "quality_signoff"]
    assert signed == []
    ((person, reason),) = conflicts(bench)
    assert person == "ben" and "has changed meanwhile" in reason


def test_an_exact_version_is_signed_whatever_came_after_it() -> None:
    """RULE 18: an act that names `@1` means that, also when there is a second one at commit."""
    second = [
        call("save", path=WORK, text="two"),
        call("accept", file=WORK),
        calls(call("share", file=WORK, audience=["person:ben"]), FINISH),
    ]
    shared = "/mnt/company/Shared/Ada/Notes/Work.md@1"
    rules = {
        **saves_and_shares("ada", "ben"),
        ("session-ada", begins("a")): second,
        ("session-ben", begins("b")): [call("open_file", file=shared), call("sign_off", file=shared), FINISH],
    }
    bench, _ = world(both(), rules)
    state = bench.run(clock(13))
    assert [a.version for a in state.acceptances.values() if a.capacity == "quality_signoff"] == [1]
    assert not conflicts(bench)


def test_a_second_acceptance_names_the_one_it_replaces_or_is_a_conflict() -> None:
    """RULE 18: Ada and Ben accept the same version at once; one acceptance stands, the other is told whose."""
    shared = "/mnt/company/Shared/Cleo/Notes/Work.md"
    sign = {
        ("session-cleo", wakes("day_start", "2026-01-05")): [
            call("save", path=WORK, text="x"),
            call("accept", file=WORK),
            calls(call("share", file=WORK, audience=["person:ada", "person:ben"]), FINISH),
        ],
        ("session-ada", begins("a")): [calls(call("sign_off", file=shared), FINISH)],
        ("session-ben", begins("b")): [calls(call("sign_off", file=shared), FINISH)],
        ("session-ben", begins("later")): [
            call("sign_off", file=shared),
            calls(call("sign_off", file=shared, replaces="ada.2.1"), FINISH),
        ],
    }
    entries = [rhythm("a", "ada", clock(10)), rhythm("b", "ben", clock(10)), rhythm("later", "ben", clock(14))]
    bench, model = world(opening(staff("ada", "ben", "cleo"), entries=entries), sign)
    bench.run(clock(13))
    made = [p for _, p in of_kind(bench, FileAccepted) if p.acceptance.capacity == "quality_signoff"]
    assert [(p.acceptance.by, p.replaces) for p in made] == [("ada", "")]
    assert [person for person, _ in conflicts(bench)] == ["ben"]
    state = bench.run(clock(16))
    refused = [
        m.content
        for r in model.asked
        for m in r.messages
        if m.role == "tool" and "name ada.2.1 in replaces" in m.content
    ]
    assert refused
    made = [p for _, p in of_kind(bench, FileAccepted) if p.acceptance.capacity == "quality_signoff"]
    assert [(p.acceptance.by, p.replaces) for p in made] == [("ada", ""), ("ben", "ada.2.1")]
    (file,) = {p.acceptance.file for p in made}
    current = [state.acceptances[i] for i in state.accepted[file] if state.acceptances[i].capacity == "quality_signoff"]
    assert [a.by for a in current] == ["ben"], "one current acceptance a file and capacity"


def test_publishing_is_checked_against_the_state_at_commit() -> None:
    """RULE 18: Cleo leaves the team in the same instant in which Ben mails her the plan, and Ada lands first: nothing goes out."""
    plan = "Documents/Projects/River/2026/Plan.md"
    rules = {
        ("session-ada", begins("a")): [calls(call("change_team", matter="river", person="cleo", member=False), FINISH)],
        ("session-ben", begins("b")): [
            calls(call("save", path=plan, text="plan"), call("accept", file=plan)),
            calls(call("send_mail", to=["cleo"], subject="s", text="t", attachments=[plan]), FINISH),
        ],
    }
    for leaves in (False, True):
        entries = [*([rhythm("a", "ada", clock(10))] if leaves else []), rhythm("b", "ben", clock(10))]
        bench, _ = world(opening(staff("ada", "ben", "cleo"), entries=entries), rules)
        bench.run(clock(13))
        assert bool(of_kind(bench, FileShared)) == bool(of_kind(bench, MailSent)) == (not leaves)
        assert [person for person, reason in conflicts(bench) if "the wall around River forbids Cleo" in reason] == [
            "ben"
        ] * leaves


def test_each_act_is_answered_at_once_and_sees_what_was_done_before_it() -> None:
    """RULE 18: within an activation, acts build on one another before anything has landed."""
    rules = saves_and_shares("ada", "ben")
    bench, _ = world(opening(staff("ada", "ben")), rules)
    bench.run(clock(12))
    kinds = [type(e.payload).__name__ for e in events_of(bench) if e.activation == "ada.1"]
    assert kinds == ["ActivationStarted", "FileSaved", "FileAccepted", "FileShared", "ActivationLanded"]
    assert not conflicts(bench)


@pytest.mark.parametrize("landed_first", ["ada", "ben"])
def test_messages_stand_when_another_act_of_the_same_activation_fails(landed_first: str) -> None:
    """RULE 18: independence, whichever of the two loses."""
    both_want = calls(
        call("schedule", title="t", attendees=["ben" if landed_first == "ada" else "ada"], start="2026-01-05 14:00"),
        call("post_message", to="general", text="good morning"), FINISH,
    )  # fmt: skip
    late, early = ("ben", "ada") if landed_first == "ada" else ("ada", "ben")
    entries = [rhythm("a", early, clock(10)), rhythm("b", late, clock(10, 5))]
    other = calls(
        call("schedule", title="u", attendees=[early], start="2026-01-05 14:00"),
        call("post_message", to="general", text="hello"),
        FINISH,
    )
    bench, _ = world(
        opening(staff("ada", "ben"), entries=entries),
        {(f"session-{early}", begins("a")): [both_want], (f"session-{late}", begins("b")): [other]},
    )
    bench.run(clock(13))
    assert [p for p, _ in conflicts(bench)] == [late]
    assert len(of_kind(bench, MessagePosted)) == 2


def test_a_refused_act_is_told_at_once_and_never_lands() -> None:
    """RULE 18: refused when called is no conflict."""
    steps = [call("make_request", to="ada", outcome="x"), call("move", event="none", start="2026-01-05 15:00"), FINISH]
    bench, model = world(opening(staff("ada", "ben")), {("session-ada", wakes("day_start")): steps})
    bench.run(clock(12))
    answers = [
        m.content for m in [r for r in model.asked if r.session == "session-ada"][2].messages if m.role == "tool"
    ]
    assert len(answers) == 2 and all('"ok":false' in a for a in answers)
    assert not of_kind(bench, RequestMade) and not conflicts(bench)


def test_a_meeting_that_was_moved_meanwhile_is_not_moved_twice() -> None:
    """RULE 18: the token of an event is its time; whoever relied on the old one is told."""
    entry = meeting("talk", "ada", ("ben",), clock(15))
    moves = [calls(call("move", event="talk", start=""), FINISH)]
    rules = {
        ("session-ada", begins("a")): moves,
        ("session-ben", begins("b")): [calls(call("respond", event="talk", answer="declined"), FINISH)],
    }
    bench, _ = world(both(clock(10), entry), rules)
    state = bench.run(clock(16))
    assert state.entries["talk"].cancelled and not state.meetings
