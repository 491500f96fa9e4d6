"""Delegations: given, asked about, handed in, reviewed, corrected, withdrawn; in each state by whom it may be."""

from __future__ import annotations

import msgspec
import pytest

from simulator.access import NOT_YOURS
from simulator.acts.work import OPEN_DELEGATIONS, ROUND_LIMIT
from simulator.events import (
    DelegationOpened,
    DelegationWithdrawn,
    FileAccepted,
    PersonAdded,
    RoundOpened,
    SkillShelved,
    WorkReviewed,
)
from simulator.fold.work import DELEGATION_MOVES
from simulator.records import FileRef
from tests.access.world import OAKRIDGE, RIVERBEND, TOOLING
from tests.acts.desk import Desk, names


def handed_in(desk: Desk, *paths: str) -> tuple[str, list[FileRef]]:
    """Return a delegation of Daniel's that waits for his review, and what was handed in."""
    work = desk.delegate()
    files = [desk.draft(work, path) for path in paths or ("Documents/Close.md",)]
    desk.submit(work, *files)
    return work, files


# -- giving ---------------------------------------------------------------------------------------------------------------


def test_delegating_opens_the_first_round_and_its_segment_is_due_at_once(desk: Desk) -> None:
    ref = desk.world.save("daniel", "home:daniel", "a.txt")
    answer = desk.act("daniel", "delegate", goal="g" * 300, inputs=["a.txt"], constraints=["keep the format"], work="", period="2025-12",
                      deliverables=["/home/npc/computer/Documents/Close.md"], matter=RIVERBEND, due="2026-01-07")  # fmt: skip
    opened, first = desk.did
    assert isinstance(opened, DelegationOpened) and first == RoundOpened(answer["delegation"], 1)
    d = desk.office.delegations[answer["delegation"]]
    assert (d.principal, d.state, d.inputs, d.deliverables) == ("daniel", "working", (ref,), ("Documents/Close.md",))
    assert d.constraints == ("keep the format",) and desk.text(d.goal) == "g" * 300
    timer = desk.office.timers[f"segment:{d.id}"]
    assert (timer.at, timer.number, timer.owner) == (desk.office.now, 1, "daniel")


@pytest.mark.parametrize("more", [{"goal": " "}, {"deliverables": []}])
def test_a_goal_and_something_to_make_are_needed(desk: Desk, more: dict[str, object]) -> None:
    args = {"goal": "x", "deliverables": ["a.md"], "matter": RIVERBEND, **more}
    assert desk.refused("daniel", "delegate", **args) == "a delegation needs a goal and at least one deliverable"


@pytest.mark.parametrize("path", ["../a.md", "a/../b.md", "/etc/passwd", "a//b.md", "./a.md", "", "x/" * 12 + "a.md", "é" * 101])
def test_a_deliverable_is_a_path_in_the_home(desk: Desk, path: str) -> None:
    said = desk.refused("daniel", "delegate", goal="x", deliverables=[path], matter=RIVERBEND)
    assert said.endswith("is no path in your home: write it as Folder/Name.ext, without .. or empty parts")


def test_a_skill_that_others_have_is_not_ones_own(desk: Desk) -> None:
    desk.happen(SkillShelved("month-close", "closes", ()))
    said = desk.refused("daniel", "delegate", goal="x", deliverables=["a.md"], work="month-close", matter=RIVERBEND)
    assert said == "month-close is not among your skills"
    desk.happen(PersonAdded(msgspec.structs.replace(desk.office.people["daniel"], skills=("month-close",))))
    assert desk.delegate(work="month-close")
    assert desk.delegate(work="something with no pack")


def test_a_matter_that_is_not_ones_own_cannot_be_told_from_none(desk: Desk) -> None:
    said = {
        desk.refused("daniel", "delegate", goal="x", deliverables=["a.md"], matter=m).replace(m, "M") for m in (OAKRIDGE, "none")
    }
    assert said == {"there is no matter 'M' that you work on"}


def test_internal_work_takes_no_walled_input(desk: Desk) -> None:
    desk.world.save("daniel", "home:daniel", "a.txt", walls=(RIVERBEND,))
    said = desk.refused("daniel", "delegate", goal="x", deliverables=["a.md"], inputs=["a.txt"])
    assert said == "an input belongs behind another matter's wall: this assistant may not see it"
    assert desk.delegate(inputs=["a.txt"])


def test_a_bounded_number_is_under_way_at_once_whatever_its_state(desk: Desk) -> None:
    work = [desk.delegate() for _ in range(OPEN_DELEGATIONS)]
    desk.ask(work[0])
    desk.stop(work[1])
    desk.submit(work[2])
    full = f"you have {OPEN_DELEGATIONS} delegations under way: settle one first"
    assert desk.refused("daniel", "delegate", goal="x", deliverables=["a.md"]) == full
    assert desk.delegate("elena"), "each principal has a number of their own"
    desk.act("daniel", "withdraw", ref=work[1], reason="x")
    assert desk.delegate()


def test_a_delegation_may_serve_a_request_of_ones_own(desk: Desk) -> None:
    request = desk.act("elena", "make_request", to="daniel", outcome="x")["request"]
    work = desk.delegate(request=request)
    assert desk.office.delegations[work].request == request


# -- questions ------------------------------------------------------------------------------------------------------------


def test_an_answer_starts_the_next_segment_and_ends_the_engines_clock(desk: Desk) -> None:
    """RULE 14."""
    work = desk.delegate()
    question = desk.ask(work, "fees or interest?")
    assert ("question", work) in desk.inbox("daniel") and f"answer:{question}" in desk.office.timers
    assert desk.act("daniel", "answer_question", question=question, text="fees") == {"delegation": work, "question": question}
    d = desk.office.delegations[work]
    assert (d.state, d.questions[0].answered_by) == ("working", "daniel")
    assert f"answer:{question}" not in desk.office.timers
    assert desk.office.timers[f"segment:{work}"].number == 2


def test_a_question_is_answered_once_with_words_by_its_principal(desk: Desk) -> None:
    question = desk.ask(desk.delegate())
    assert desk.refused("daniel", "answer_question", question=question, text=" ") == "the answer is empty"
    for name in (question, "none"):
        said = desk.refused("elena", "answer_question", question=name, text="x")
        assert said == f"no assistant of yours has asked {name!r}"
    desk.act("daniel", "answer_question", question=question, text="yes")
    assert desk.refused("daniel", "answer_question", question=question, text="no") == "that question has been answered"


def test_a_question_of_a_withdrawn_delegation_is_past_answering(desk: Desk) -> None:
    work = desk.delegate()
    question = desk.ask(work)
    desk.act("daniel", "withdraw", ref=work, reason="x")
    assert f"answer:{question}" not in desk.office.timers
    assert desk.refused("daniel", "answer_question", question=question, text="x") == "that question has been answered"


# -- reviews --------------------------------------------------------------------------------------------------------------


def test_accepting_accepts_each_file_at_exactly_the_version_handed_in(desk: Desk) -> None:
    work, files = handed_in(desk, "Documents/a.md", "Documents/b.md")
    answer = desk.act("daniel", "review", delegation=work, decision="accept")
    assert names(desk.did) == ["WorkReviewed", "FileAccepted", "FileAccepted"]
    assert answer["accepted"] == [f"{f.file}@{f.version}" for f in files]
    assert desk.office.delegations[work].state == "accepted"
    for ref in files:
        (current,) = (desk.office.acceptances[i] for i in desk.office.accepted[ref.file])
        assert (current.version, current.by, current.capacity) == (ref.version, "daniel", "accept")
    assert len({desk.office.acceptances[i].id for f in files for i in desk.office.accepted[f.file]}) == 2


def test_some_of_what_was_handed_in_may_be_accepted_and_nothing_else(desk: Desk) -> None:
    work, files = handed_in(desk, "Documents/a.md", "Documents/b.md")
    desk.world.save("daniel", "home:daniel", "own.md")
    said = desk.refused("daniel", "review", delegation=work, decision="accept", files=["own.md"])
    assert said.startswith("accept names exactly the versions that were submitted: ")
    desk.world.again(files[0], "changed by hand")
    assert "exactly the versions" in desk.refused("daniel", "review", delegation=work, decision="accept", files=["Documents/a.md"])
    desk.act("daniel", "review", delegation=work, decision="accept", files=["Documents/a.md@1"])
    assert names(desk.did) == ["WorkReviewed", "FileAccepted"]


def test_nothing_handed_in_is_nothing_to_accept(desk: Desk) -> None:
    work = desk.delegate()
    desk.submit(work)
    said = desk.refused("daniel", "review", delegation=work, decision="accept")
    assert said == "nothing was submitted: ask for a supplement or withdraw"
    assert desk.act("daniel", "review", delegation=work, decision="supplement", notes="the file")["round"] == 2


def test_accepting_work_needs_the_authority_to_accept(desk: Desk) -> None:
    work = desk.delegate("dev", TOOLING)
    desk.submit(work, desk.draft(work, "Documents/Close.md"))
    assert desk.refused("dev", "review", delegation=work, decision="accept") == "this needs the authority accept"
    assert desk.act("dev", "review", delegation=work, decision="revise", notes="again")


@pytest.mark.parametrize("decision", ["revise", "supplement"])
def test_a_correction_opens_the_next_round_with_its_notes(desk: Desk, decision: str) -> None:
    """RULE 15."""
    work, _ = handed_in(desk)
    assert desk.refused("daniel", "review", delegation=work, decision=decision, notes=" ") == (
        f"{decision} needs notes: each fault with file, place, found and expected"
    )
    answer = desk.act("daniel", "review", delegation=work, decision=decision, notes="B7 is 850, must be 580")
    assert answer == {"delegation": work, "decision": decision, "round": 2}
    assert names(desk.did) == ["WorkReviewed", "RoundOpened"]
    d = desk.office.delegations[work]
    assert d.state == "working" and len(d.rounds) == 2 and d.rounds[0].review is not None
    assert d.rounds[1].revision == desk.office.revision, "the round's moment is its own event"
    assert desk.office.timers[f"segment:{work}"].number == 1


def test_after_eight_rounds_a_principal_decides(desk: Desk) -> None:
    work = desk.delegate()
    for _ in range(ROUND_LIMIT - 1):
        desk.submit(work)
        desk.act("daniel", "review", delegation=work, decision="revise", notes="again")
    desk.submit(work)
    said = desk.refused("daniel", "review", delegation=work, decision="revise", notes="again")
    assert said == f"this was round {ROUND_LIMIT}: accept it or withdraw the delegation"
    assert desk.act("daniel", "withdraw", ref=work, reason="enough")


def test_a_file_that_a_correction_left_as_it_was_keeps_its_acceptance(desk: Desk) -> None:
    work, (ref,) = handed_in(desk)
    desk.act("daniel", "accept", file=f"{ref.file}@1")
    before = desk.office.accepted[ref.file]
    desk.act("daniel", "review", delegation=work, decision="accept")
    assert names(desk.did) == ["WorkReviewed"] and desk.office.accepted[ref.file] == before


def test_a_file_that_was_accepted_before_is_accepted_anew_in_its_place(desk: Desk) -> None:
    """RULE 18: one current acceptance a file."""
    work, (ref,) = handed_in(desk)
    desk.act("daniel", "accept", file=f"{ref.file}@1")
    (old,) = desk.office.accepted[ref.file]
    desk.act("daniel", "review", delegation=work, decision="supplement", notes="add the list")
    later = desk.world.save("daniel", "home:daniel", "Documents/Close.md", "better", file=ref.file)
    desk.submit(work, later)
    desk.act("daniel", "review", delegation=work, decision="accept")
    accepted = desk.did[1]
    assert isinstance(accepted, FileAccepted) and accepted.replaces == old
    (new,) = desk.office.accepted[ref.file]
    assert desk.office.acceptances[new].version == 2


def test_a_review_takes_the_place_of_a_colleagues_acceptance_of_the_same_version(desk: Desk) -> None:
    work, (ref,) = handed_in(desk)
    desk.world.share(ref, "person:elena")
    theirs = desk.act("elena", "accept", file=ref.file)["acceptance"]
    desk.act("daniel", "review", delegation=work, decision="accept")
    accepted = desk.did[1]
    assert isinstance(accepted, FileAccepted) and accepted.replaces == theirs
    assert [desk.office.acceptances[i].by for i in desk.office.accepted[ref.file]] == ["daniel"]


@pytest.mark.parametrize("state", ["working", "asking", "stopped", "accepted", "withdrawn"])
def test_there_is_nothing_to_accept_in_other_states(desk: Desk, state: str) -> None:
    work = in_state(desk, state)
    said = desk.refused("daniel", "review", delegation=work, decision="accept", notes="x")
    assert said == f"there is nothing to review: the delegation is {state}"
    if state != "stopped":
        assert desk.refused("daniel", "review", delegation=work, decision="revise", notes="x") == said


def in_state(desk: Desk, state: str) -> str:
    work = desk.delegate()
    if state == "asking":
        desk.ask(work)
    elif state == "stopped":
        desk.stop(work)
    elif state in ("submitted", "accepted"):
        desk.submit(work, desk.draft(work, "Documents/Close.md"))
    if state == "accepted":
        desk.act("daniel", "review", delegation=work, decision="accept")
    if state == "withdrawn":
        desk.act("daniel", "withdraw", ref=work, reason="x")
    assert desk.office.delegations[work].state == state
    return work


def test_stopped_work_may_go_on_with_notes(desk: Desk) -> None:
    work = in_state(desk, "stopped")
    assert ("submission", work) in desk.inbox("daniel"), "stopping is reported like a submission"
    desk.act("daniel", "review", delegation=work, decision="revise", notes="use the bank file")
    reviewed = desk.did[0]
    assert isinstance(reviewed, WorkReviewed) and desk.office.delegations[work].state == "working"


# -- withdrawing ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", sorted(DELEGATION_MOVES))
def test_withdrawing_in_each_state(desk: Desk, state: str) -> None:
    """RULE 16."""
    work = in_state(desk, state)
    if "withdrawn" in DELEGATION_MOVES[state]:
        answer = desk.act("daniel", "withdraw", ref=work, reason="r" * 600)
        assert answer == {"delegation": work, "state": "withdrawn"}
        assert desk.did == (DelegationWithdrawn(work, "daniel", "r" * 500),)
        assert not [t for t in desk.office.timers.values() if t.ref == work]
    else:
        said = desk.refused("daniel", "withdraw", ref=work, reason="x")
        assert said == f"the delegation is {state}: it cannot be withdrawn"


@pytest.mark.parametrize("state", sorted(DELEGATION_MOVES))
def test_of_a_delegation_of_others_nothing_is_told_in_any_state(desk: Desk, state: str) -> None:
    work = in_state(desk, state)
    for name in (work, "none.1"):
        assert desk.refused("elena", "withdraw", ref=name, reason="x") == NOT_YOURS
        for decision in ("accept", "revise"):
            assert desk.refused("elena", "review", delegation=name, decision=decision, notes="x") == NOT_YOURS
