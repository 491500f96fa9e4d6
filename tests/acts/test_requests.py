"""Requests between people: made, accepted, declined, handed back, fulfilled, withdrawn; in each state by each side."""

from __future__ import annotations

import msgspec
import pytest

from simulator.access import NOT_YOURS
from simulator.events import PersonAdded, RequestAnswered, RequestMade
from simulator.fold.work import REQUEST_MOVES
from tests.access.world import OAKRIDGE, RIVERBEND
from tests.acts.desk import Desk

ACTS_TO = {"accepted": "accept_request", "declined": "decline_request", "fulfilled": "fulfil_request", "withdrawn": "withdraw"}


def ask(desk: Desk, who: str = "elena", to: str = "daniel", **more: object) -> str:
    request: str = desk.act(who, "make_request", to=to, outcome="the December close", **more)["request"]
    return request


def arguments(request: str, state: str) -> dict[str, str]:
    if state == "withdrawn":
        return {"ref": request, "reason": "changed"}
    return {"request": request, **({"reason": "no time"} if state == "declined" else {})}


def bring(desk: Desk, request: str, state: str) -> None:
    """Bring a request into a state, as its people would."""
    if state != "open":
        who = "elena" if state == "withdrawn" else "daniel"
        desk.act(who, ACTS_TO[state], **arguments(request, state))


def test_a_request_is_one_event_that_wakes_its_owner_and_binds_nobody(desk: Desk) -> None:
    ref = desk.world.save("elena", "home:elena", "a.txt")
    desk.world.share(ref, "person:daniel")
    answer = desk.act("elena", "make_request", to="Daniel", outcome="close", due="2026-01-09", materials=["a.txt", "a.txt"],
                      matter="riverbend close", work="w" * 120, period="p" * 30)  # fmt: skip
    (did,) = desk.did
    assert isinstance(did, RequestMade)
    r = did.request
    assert answer == {"request": r.id, "owner": "daniel"}
    assert (r.asker, r.owner, r.state, r.matter, r.materials) == ("elena", "daniel", "open", RIVERBEND, (ref,))
    assert (r.work, r.period) == ("w" * 100, "p" * 20)
    assert ("request", r.id) in desk.inbox("daniel") and desk.inbox("elena") == []
    assert desk.office.timers[f"due:{r.id}"].at == r.due and desk.office.timers[f"due:{r.id}"].owner == "daniel"
    assert desk.office.by_person["elena"] == desk.office.by_person["daniel"] == (r.id,)


def test_what_cannot_be_asked(desk: Desk) -> None:
    def no(**more: object) -> str:
        return desk.refused("elena", "make_request", **{"to": "daniel", "outcome": "x", **more})

    assert no(to="elena") == "one makes no request to oneself"
    assert no(to="maya") == "requests are made to colleagues; write to a client"
    assert no(outcome=" \n") == "say what outcome you ask for"
    assert no(due="2026-01-05 08:00") == "the due time is past"
    assert "is no time" in no(due="soon")
    assert no(materials=["nothing.txt"]) == "there is no file 'nothing.txt', or it is not yours to see"
    assert no(matter=OAKRIDGE) == no(matter="none").replace("none", OAKRIDGE)
    assert no(to="zed") == NOT_YOURS, "who has left is not asked"
    assert no(to="omar") == no(to="omer").replace("omer", "omar")


def test_materials_that_the_other_may_not_read_are_counted_and_not_named(desk: Desk) -> None:
    for name in ("a.txt", "b.txt"):
        desk.world.save("elena", "home:elena", name)
    said = desk.refused("elena", "make_request", to="daniel", outcome="x", materials=["a.txt", "b.txt"])
    assert said == "daniel may not read 2 of the materials: share them first, or leave them out"


@pytest.mark.parametrize("state", sorted(REQUEST_MOVES))
@pytest.mark.parametrize("goal", sorted(ACTS_TO))
def test_a_request_moves_as_its_table_says_and_no_other_way(desk: Desk, state: str, goal: str) -> None:
    request = ask(desk)
    bring(desk, request, state)
    who = "elena" if goal == "withdrawn" else "daniel"
    if goal in REQUEST_MOVES[state]:
        answer = desk.act(who, ACTS_TO[goal], **arguments(request, goal))
        assert answer == {"request": request, "state": goal}
        (did,) = desk.did
        assert isinstance(did, RequestAnswered) and (did.state, did.by) == (goal, who)
        assert desk.office.requests[request].state == goal
    else:
        said = desk.refused(who, ACTS_TO[goal], **arguments(request, goal))
        assert said == f"the request is {state}: it cannot become {goal}"


def test_each_side_has_its_own_part(desk: Desk) -> None:
    request = ask(desk)
    for goal in ("accepted", "declined", "fulfilled"):
        said = desk.refused("elena", ACTS_TO[goal], **arguments(request, goal))
        assert said == "only the owner of a request can do that"
    assert desk.refused("daniel", "withdraw", ref=request, reason="x") == "only the asker of a request can do that"


@pytest.mark.parametrize("goal", sorted(ACTS_TO))
def test_of_a_request_between_others_nothing_is_told_in_any_state(desk: Desk, goal: str) -> None:
    request = ask(desk)
    for state in ("open", "accepted", "fulfilled"):
        if state != "open":
            bring(desk, request, state)
        for name in (request, "none.1"):
            assert desk.refused("quinn", ACTS_TO[goal], **arguments(name, goal)) == NOT_YOURS


@pytest.mark.parametrize("goal", ["declined", "fulfilled", "withdrawn"])
def test_the_other_side_is_told_and_the_reminder_ends(desk: Desk, goal: str) -> None:
    request = ask(desk, due="2026-01-09")
    bring(desk, request, "accepted")
    assert f"due:{request}" in desk.office.timers, "accepting does not end the reminder"
    assert desk.inbox("elena") == [] and desk.notices("elena") == ["request accepted"]
    bring(desk, request, goal)
    told = "daniel" if goal == "withdrawn" else "elena"
    assert f"due:{request}" not in desk.office.timers
    assert ("answer", request) in desk.inbox(told) and desk.notices(told)[-1] == f"request {goal}"


def test_results_are_named_with_the_version_the_asker_may_read(desk: Desk) -> None:
    request = ask(desk)
    ref = desk.world.save("daniel", "home:daniel", "result.txt")
    said = desk.refused("daniel", "fulfil_request", request=request, results=["result.txt"])
    assert said == "elena cannot see 1 of the results: accept and share them first"
    desk.world.share(ref, "person:elena")
    desk.act("daniel", "fulfil_request", request=request, results=["result.txt@1"], note="n" * 300)
    done = desk.office.requests[request]
    assert done.results == (ref,) and desk.text(done.note) == "n" * 300


def test_a_later_version_that_was_not_shared_is_no_result(desk: Desk) -> None:
    request = ask(desk)
    ref = desk.world.save("daniel", "home:daniel", "result.txt")
    desk.world.share(ref, "person:elena")
    desk.world.again(ref, "more")
    assert "cannot see 1" in desk.refused("daniel", "fulfil_request", request=request, results=["result.txt"])
    assert desk.act("daniel", "fulfil_request", request=request, results=["result.txt@1"])


def test_an_accepted_request_can_be_handed_back_with_the_reason(desk: Desk) -> None:
    request = ask(desk)
    bring(desk, request, "accepted")
    desk.act("daniel", "decline_request", request=request, reason="too much of it")
    done = desk.office.requests[request]
    assert (done.state, desk.text(done.note)) == ("declined", "too much of it")


def test_an_owner_who_left_can_still_be_withdrawn_from(desk: Desk) -> None:
    request = ask(desk)
    desk.happen(PersonAdded(msgspec.structs.replace(desk.office.people["daniel"], active=False)))
    assert desk.refused("daniel", "accept_request", request=request) == NOT_YOURS
    assert desk.act("elena", "withdraw", ref=request, reason="he left")["state"] == "withdrawn"
    assert ("answer", request) not in desk.inbox("daniel"), "who has left is woken by nothing"


# -- teams ---------------------------------------------------------------------------------------------------------------


def test_the_lead_of_a_matter_changes_its_team(desk: Desk) -> None:
    assert desk.act("elena", "change_team", matter=RIVERBEND, person="Dev") == {
        "matter": RIVERBEND, "person": "dev", "member": True,
    }  # fmt: skip
    assert "dev" in desk.office.matters[RIVERBEND].members
    desk.act("elena", "change_team", matter=RIVERBEND, person="dev", member=False)
    assert "dev" not in desk.office.matters[RIVERBEND].members


def test_who_does_not_lead_a_matter_leaves_its_team_alone(desk: Desk) -> None:
    assert desk.refused("daniel", "change_team", matter=RIVERBEND, person="dev") == "only the lead of a matter changes its team"
    assert desk.refused("elena", "change_team", matter="", person="dev") == "only the lead of a matter changes its team"
    for hidden in (OAKRIDGE, "none"):
        said = desk.refused("elena", "change_team", matter=hidden, person="dev")
        assert said == f"there is no matter {hidden!r} that you work on"


def test_the_authority_to_lead_is_of_ones_own_matters(desk: Desk) -> None:
    """Dev leads Tooling without the authority; Elena holds it and is on the team of Tooling once Dev has taken her in."""
    assert "there is no matter" in desk.refused("elena", "change_team", matter="tooling", person="quinn")
    desk.act("dev", "change_team", matter="tooling", person="elena")
    assert desk.act("elena", "change_team", matter="Tooling", person="quinn")


@pytest.mark.parametrize("person", ["maya", "elena"])
def test_clients_are_on_no_team_and_the_lead_stays(desk: Desk, person: str) -> None:
    said = desk.refused("elena", "change_team", matter=RIVERBEND, person=person, member=False)
    assert said == "a team is made of colleagues, and its lead stays"
