"""RULE 17: who is taken, when it is tried again, how turns go, whose rights count."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from services.models.scripted import say
from simulator.conversation import ModelRequest
from simulator.events import (
    ActivationStarted,
    ConflictRaised,
    FileShared,
    MeetingEnded,
    MemoryNoted,
    RequestMade,
)
from simulator.records import CalendarEntry, Matter
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
    world,
)
from tests.story.script import meets

TALK = meeting("talk", "ada", ("ben", "cleo"), clock(10))
CLOSE = call("close_meeting")


def hold(
    rules: dict[Any, Any],
    *entries: CalendarEntry,
    people: tuple[str, ...] = ("ada", "ben", "cleo"),
    until: int = clock(16),
    **authority: Any,
) -> Any:
    bench, model = world(opening(staff(*people, **authority), entries=entries or (TALK,)), rules)
    bench.run(until)
    return bench, model


def keeps_busy(who: str, since: int, turns: int) -> tuple[CalendarEntry, dict[Any, Any]]:
    """Return an entry and a rule that keep a person at work for so many turns of five minutes."""
    return rhythm(f"busy-{who}", who, since), {
        (f"session-{who}", begins(f"busy-{who}")): [*[call("list_work")] * (turns - 1), FINISH]
    }


def the_meetings(bench: Any) -> list[Any]:
    return [p.meeting for _, p in of_kind(bench, MeetingEnded)]


def test_it_takes_all_at_once_those_who_are_free() -> None:
    """RULE 17: Cleo is at work from 09:55 to 10:15: the meeting begins without her, and she reads the minutes."""
    entry, rule = keeps_busy("cleo", clock(9, 55), 4)
    bench, _ = hold({**rule, ("session-ada", meets): [CLOSE]}, TALK, entry)
    (held,) = the_meetings(bench)
    assert (held.state, held.at, held.attendees) == ("held", clock(10), ("ada", "ben"))
    state = bench.engine().office
    assert any("minutes of talk" in n.text for n in state.notices["cleo"])
    assert not any("minutes of talk" in n.text for n in state.notices.get("ben", ()))
    assert held.minutes is not None
    shared = {p.grant.audience for _, p in of_kind(bench, FileShared) if p.grant.file == held.minutes.file}
    assert "person:cleo" in shared


def test_while_it_runs_its_people_are_busy_with_it() -> None:
    """RULE 17: What comes for Ben at 10:05 waits for the end of the meeting."""
    bench, _ = hold({("session-ada", meets): [CLOSE]}, TALK, rhythm("later", "ben", clock(10, 5)))
    (taken,) = [
        p.running for _, p in of_kind(bench, ActivationStarted) if any(s.ref == "later" for s in p.running.stimuli)
    ]
    assert taken.at == clock(10, 15), "the minimum of a meeting is fifteen minutes"


@pytest.mark.parametrize(("turns", "begun"), [(3, clock(10, 10)), (7, clock(10, 30))])
def test_a_busy_organizer_delays_it_up_to_thirty_minutes(turns: int, begun: int) -> None:
    """RULE 17: It is tried again at each landing: at 10:10; and at 10:30 it is too late, for a missed meeting is missed first."""
    entry, rule = keeps_busy("ada", clock(9, 55), turns)
    bench, _ = hold({**rule, ("session-ada", meets): [CLOSE]}, TALK, entry)
    (only,) = the_meetings(bench)
    if turns == 3:
        assert (only.state, only.at) == ("held", begun)
    else:
        assert (only.state, only.at, only.attendees, only.turns) == ("missed", begun, (), 0)
        assert any("missed: talk" in n.text for n in bench.engine().office.notices["ben"])


def test_it_waits_when_all_others_are_busy_though_the_organizer_is_free() -> None:
    """RULE 17."""
    ben, rule_b = keeps_busy("ben", clock(9, 55), 4)
    cleo, rule_c = keeps_busy("cleo", clock(9, 55), 5)
    bench, _ = hold({**rule_b, **rule_c, ("session-ada", meets): [CLOSE]}, TALK, ben, cleo)
    (held,) = the_meetings(bench)
    assert (held.at, held.attendees) == (clock(10, 15), ("ada", "ben")), "at the first landing that frees one of them"


def test_two_meetings_that_want_each_others_people_do_not_wait_for_each_other_for_ever() -> None:
    """RULE 17: Nothing deadlocks: one of the two is held, then the other, or it is missed."""
    one, two = meeting("one", "ada", ("ben",), clock(10)), meeting("two", "ben", ("ada",), clock(10))
    bench, _ = hold({("session-ada", meets): CLOSE, ("session-ben", meets): CLOSE}, one, two)
    assert sorted((m.title, m.state) for m in the_meetings(bench)) == [("one", "held"), ("two", "held")]
    assert [m.at for m in the_meetings(bench)] == [clock(10), clock(10, 15)]


def test_who_has_declined_is_not_taken() -> None:
    """RULE 17."""
    declines = calls(call("respond", event="talk", answer="declined"), FINISH)
    bench, model = hold(
        {("session-cleo", begins("say-no")): [declines], ("session-ada", meets): [CLOSE]},
        TALK,
        rhythm("say-no", "cleo", clock(9, 30)),
    )
    assert the_meetings(bench)[0].attendees == ("ada", "ben")
    assert not [r for r in model.asked if r.session == "session-cleo" and meets(r)]


def turns_of(model: Any) -> list[ModelRequest]:
    return [r for r in model.asked if meets(r)]


def test_the_organizer_speaks_first_then_rounds_in_attendee_order_at_most_eighteen_turns() -> None:
    """RULE 17."""
    bench, model = hold({(f"session-{p}", meets): say(f"{p} goes on") for p in ("ada", "ben", "cleo")})
    assert [r.session.removeprefix("session-") for r in turns_of(model)] == ["ada", "ben", "cleo"] * 6
    (held,) = the_meetings(bench)
    assert held.turns == 18


def test_each_turn_sees_its_speakers_view_and_the_transcript_so_far() -> None:
    """RULE 17: Ben's open question is in Ben's view alone; what was said before him, he hears."""
    notes = {("session-ben", begins("mind")): [calls(call("note", record="question", text="BEN-WONDERS"), FINISH)]}
    rules = {
        **notes,
        ("session-ada", meets): [say("ADA-SAYS"), CLOSE],
        ("session-ben", meets): [say("BEN-SAYS")],
        ("session-cleo", meets): [call("pass_turn")],
    }
    _, model = hold(rules, TALK, rhythm("mind", "ben", clock(9, 30)))
    ada, ben, cleo, again = turns_of(model)
    assert all("BEN-WONDERS" not in m.content for r in (ada, cleo, again) for m in r.messages)
    assert any("BEN-WONDERS" in m.content for m in ben.messages)
    heard = ["ADA-SAYS" in r.messages[-1].content for r in (ada, ben, cleo, again)]
    assert heard == [False, True, True, True]
    assert ["BEN-SAYS" in r.messages[-1].content for r in (ada, ben, cleo, again)] == [False, False, True, True]


def test_only_the_organizer_closes_it_and_a_round_of_silence_ends_it() -> None:
    """RULE 17."""
    quiet = {(f"session-{p}", meets): call("pass_turn") for p in ("ada", "ben", "cleo")}
    bench, model = hold({**quiet, ("session-ben", meets): CLOSE})
    assert the_meetings(bench)[0].turns == 3 and len(turns_of(model)) == 3


def test_all_acts_land_together_in_turn_order() -> None:
    """RULE 17."""
    ask = [call("make_request", to=to, outcome=f"for {to}") for to in ("ben", "ada")]
    rules = {
        ("session-ada", meets): [ask[0], CLOSE],
        ("session-ben", meets): [ask[1]],
        ("session-cleo", meets): [call("record_decision", text="we go")],
    }
    bench, _ = hold(rules)
    made = of_kind(bench, RequestMade)
    assert [(p.request.asker, p.request.owner) for _, p in made] == [("ada", "ben"), ("ben", "ada")]
    name = made[0][0].activation
    landed = [e for e in events_of(bench) if e.activation == name and not isinstance(e.payload, ActivationStarted)]
    assert {e.sim_time for e in landed} == {clock(10, 15)}
    assert [p.memory.holder for _, p in of_kind(bench, MemoryNoted, name)] == ["ada", "ben", "cleo"]


def test_each_act_is_checked_with_its_speakers_rights() -> None:
    """RULE 17: Ben may not make requests, in a meeting led by Ada as little as alone."""
    ask = call("make_request", to="cleo", outcome="do my work")
    rules = {("session-ada", meets): [say("well?"), CLOSE], ("session-ben", meets): [ask]}
    bench, _ = hold(rules, ben=("accept",))
    assert not of_kind(bench, RequestMade) and not of_kind(bench, ConflictRaised)
    bench, _ = hold(rules)
    assert [(e.actor, p.request.asker) for e, p in of_kind(bench, RequestMade)] == [("ben", "ben")]


def test_a_meeting_of_a_matter_leaves_its_minutes_in_the_matters_space_behind_its_wall() -> None:
    """RULE 17."""
    entry = CalendarEntry("talk", "talk", "ada", ("ben",), clock(10), 30, matter="river")
    events = opening(staff("ada", "ben", "cleo"), entries=[entry])
    team = Matter("river", "River", "river", "ada", ("ada", "ben"))
    events = [e if type(e.payload).__name__ != "MatterOpened" else _with_team(e, team) for e in events]
    bench, _ = world(events, {("session-ada", meets): [say("plainly"), CLOSE]})
    state = bench.run(clock(12))
    (held,) = the_meetings(bench)
    assert held.minutes is not None
    file = state.files[held.minutes.file]
    assert (file.space, file.versions[0].walls, file.versions[0].level) == ("matter:river", ("river",), "confidential")


def _with_team(event: Any, matter: Matter) -> Any:
    return msgspec.structs.replace(event, payload=msgspec.structs.replace(event.payload, matter=matter))
