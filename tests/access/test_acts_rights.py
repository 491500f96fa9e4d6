"""Every act asks for its right, and is refused without it (DESIGN 4 and 6, RULES 18 and 27).

Each test here is told no where exactly one check stands; `test_every_check_matters` takes the checks out and expects
them to be missed here.
"""

from __future__ import annotations

import pytest

from simulator.access import NOT_YOURS
from simulator.acts import ActContext, Outcome, Refused, decide
from simulator.acts import arguments as a
from simulator.canonical import sha256
from simulator.events import Event, FileShared, QuestionAsked, SegmentLanded
from simulator.fold import apply
from simulator.ports import Blob
from simulator.records import Grant
from tests.access.world import OAKRIDGE, RIVERBEND, TOOLING, World, blob, body, juniper


class Shelf:
    """A blob store in memory."""

    def __init__(self) -> None:
        self.held: dict[str, bytes] = {}

    def put(self, data: bytes) -> Blob:
        self.held[sha256(data)] = data
        return Blob(sha256(data), len(data))

    def get(self, sha256: str) -> bytes:
        return self.held[sha256]

    def has(self, sha256: str) -> bool:
        return sha256 in self.held


def act(world: World, who: str, tool: str, args: a.Arguments) -> Outcome:
    act_id = world.id(who)
    return decide(ActContext(world.office, who, act_id, act_id, world.now, Shelf(), {}), tool, args)


def refused(world: World, who: str, tool: str, args: a.Arguments) -> str:
    """The words with which an act is refused; fails when it is not."""
    with pytest.raises(Refused) as caught:
        act(world, who, tool, args)
    return str(caught.value)


def test_who_has_left_saves_nothing() -> None:
    world = juniper()
    assert act(world, "daniel", "save", a.SaveFile("a.txt", "words")).payloads
    assert refused(world, "zed", "save", a.SaveFile("a.txt", "words")) == NOT_YOURS


def test_accepting_and_signing_off_need_their_authority() -> None:
    world = juniper()
    ref = world.save("dev", "home:dev", "a.txt")
    assert refused(world, "dev", "accept", a.AcceptFile("a.txt")) == "this needs the authority accept"
    world.share(ref, "person:elena")
    wanted = a.SignOff("Shared/Dev/a.txt")
    assert refused(world, "elena", "sign_off", wanted) == "this needs the authority quality_signoff"
    assert act(world, "elena", "accept", a.AcceptFile("Shared/Dev/a.txt")).payloads


def test_lowering_a_class_needs_the_authority() -> None:
    world = juniper()
    world.save("daniel", "home:daniel", "a.txt", level="confidential")
    assert "authority classify" in refused(world, "daniel", "classify", a.Classify("a.txt", "public"))
    assert act(world, "daniel", "classify", a.Classify("a.txt", "restricted")).payloads


def test_nothing_is_shared_or_mailed_before_it_is_accepted() -> None:
    world = juniper()
    ref = world.save("daniel", "home:daniel", "a.txt")
    assert "not been accepted" in refused(world, "daniel", "share", a.ShareFile("a.txt", ("everyone",)))
    mail = a.SendMail(("elena",), "result", "here it is", attachments=("a.txt",))
    assert "not been accepted" in refused(world, "daniel", "send_mail", mail)
    world.accept(ref, "daniel")
    assert act(world, "daniel", "share", a.ShareFile("a.txt", ("everyone",))).payloads
    assert act(world, "daniel", "send_mail", mail).payloads


def test_one_closes_ones_own_records_alone() -> None:
    world = juniper()
    record = world.note("daniel", "decision", "three workstreams")
    assert refused(world, "elena", "close_note", a.CloseNote(record)) == NOT_YOURS
    assert refused(world, "elena", "close_note", a.CloseNote("no.such.record")) == NOT_YOURS
    assert act(world, "daniel", "close_note", a.CloseNote(record)).payloads


def test_one_posts_where_the_wall_lets_one_be() -> None:
    world = juniper()
    room = world.room("riverbend", ["elena", "dev"], RIVERBEND)
    assert refused(world, "dev", "post_message", a.PostMessage(room, "hello")) == NOT_YOURS
    assert act(world, "elena", "post_message", a.PostMessage(room, "hello")).payloads


def test_one_answers_and_moves_events_on_ones_own_calendar() -> None:
    world = juniper()
    entry = world.meet("elena", ["daniel"], "Kick-off")
    for missing in (entry, "no.such.event"):
        assert refused(world, "dev", "respond", a.Respond(missing, "accepted")) == NOT_YOURS
        assert refused(world, "dev", "move", a.Move(missing)) == NOT_YOURS
    assert act(world, "daniel", "respond", a.Respond(entry, "accepted")).payloads
    assert act(world, "elena", "move", a.Move(entry)).payloads


def test_asking_needs_the_authority_and_materials_that_the_other_may_read() -> None:
    world = juniper()
    assert refused(world, "quinn", "make_request", a.MakeRequest("elena", "x")) == "this needs the authority request"
    ref = world.save("elena", "home:elena", "a.txt")
    wanted = a.MakeRequest("daniel", "look", materials=("a.txt",))
    assert "may not read 1 of the materials" in refused(world, "elena", "make_request", wanted)
    world.share(ref, "person:daniel")
    assert act(world, "elena", "make_request", wanted).payloads


def test_a_request_is_answered_by_those_between_whom_it_is() -> None:
    world = juniper()
    request = world.request("elena", "daniel", "look")
    for missing in (request, "no.such.request"):
        assert refused(world, "dev", "accept_request", a.AcceptRequest(missing)) == NOT_YOURS
    ref = world.save("daniel", "home:daniel", "a.txt")
    wanted = a.FulfilRequest(request, ("a.txt",))
    assert "cannot see 1 of the results" in refused(world, "daniel", "fulfil_request", wanted)
    world.share(ref, "person:elena")
    assert act(world, "daniel", "fulfil_request", wanted).payloads


def test_delegating_needs_the_authority_and_inputs_within_the_wall() -> None:
    world = juniper()
    wanted = a.Delegate("do it", deliverables=("b.txt",), matter=RIVERBEND)
    assert refused(world, "quinn", "delegate", wanted) == "this needs the authority delegate"
    assert act(world, "daniel", "delegate", wanted).payloads
    world.save("daniel", "home:daniel", "a.txt", walls=(OAKRIDGE,))
    walled = a.Delegate("do it", ("a.txt",), deliverables=("b.txt",), matter=RIVERBEND)
    assert "another matter's wall" in refused(world, "daniel", "delegate", walled)
    hidden = world.request("elena", "nora", "something")
    for request in (hidden, "no.such.request"):
        served = a.Delegate("do it", deliverables=("b.txt",), matter=RIVERBEND, request=request)
        assert refused(world, "daniel", "delegate", served) == NOT_YOURS


def test_a_question_is_answered_by_its_principal_while_there() -> None:
    world = juniper()
    for principal in ("daniel", "zed"):
        delegation = world.delegate(principal, "x", TOOLING)
        world.do(SegmentLanded(delegation, 1, 1, "asked", blob("home"), 3))
        world.do(QuestionAsked(delegation, f"q.{principal}", body("may it be booked as fees?")))
    assert act(world, "daniel", "answer_question", a.AnswerQuestion("q.daniel", "no")).payloads
    assert refused(world, "zed", "answer_question", a.AnswerQuestion("q.zed", "no")) == NOT_YOURS
    assert "no assistant of yours" in refused(world, "elena", "answer_question", a.AnswerQuestion("q.daniel", "no"))


def test_a_delegation_is_reviewed_and_withdrawn_by_its_principal() -> None:
    world = juniper()
    delegation = world.delegate("daniel", "x", TOOLING)
    world.do(SegmentLanded(delegation, 1, 1, "stopped", blob("home"), 3, "gave up"))
    again = a.ReviewWork(delegation, "revise", "try again")
    assert refused(world, "elena", "review", again) == NOT_YOURS
    assert refused(world, "elena", "withdraw", a.Withdraw(delegation, "no need")) == NOT_YOURS
    assert refused(world, "elena", "withdraw", a.Withdraw("no.such.thing", "no need")) == NOT_YOURS
    assert act(world, "daniel", "review", again).payloads
    assert act(world, "daniel", "withdraw", a.Withdraw(delegation, "no need")).payloads


def test_whom_one_may_not_know_one_cannot_write_to() -> None:
    """A client's contact is known to those who serve the client: for anyone else they do not exist."""
    world = juniper()
    elsewhere = next(p.id for p in world.office.people.values() if p.kind == "client" and p.client != "riverbend")
    unknown = refused(world, "daniel", "send_mail", a.SendMail(("nobody-here",), "s", "text"))
    hidden = refused(world, "daniel", "send_mail", a.SendMail((elsewhere,), "s", "text"))
    assert hidden == unknown.replace("nobody-here", elsewhere)


def test_what_is_said_in_a_room_may_rest_only_on_what_its_members_may_hear() -> None:
    """RULE 27: a room's members must pass the walls of what a message cites."""
    world = juniper()
    ref = world.save("daniel", "home:daniel", "walled.txt", walls=(RIVERBEND,), level="confidential")
    said = refused(world, "daniel", "post_message", a.PostMessage("nora", "look at this", cites=("walled.txt",)))
    assert "not posted" in said
    assert ref.version == 1
    assert act(world, "daniel", "post_message", a.PostMessage("elena", "look at this", cites=("walled.txt",))).payloads


def test_a_contact_hands_material_into_their_own_clients_matter_alone() -> None:
    world = juniper()
    mail = a.ClientMail(("elena",), "documents", "here they are", (a.Attachment("a.csv", "x,y\n"),), "2026-01")
    assert act(world, "maya", "write_mail", mail).payloads
    other = a.ClientMail(("elena",), "documents", "here", (a.Attachment("a.csv", "x,y\n"),), "2026-01", matter=OAKRIDGE)
    assert refused(world, "maya", "write_mail", other)


def test_who_cannot_read_a_message_or_a_share_is_not_woken_by_it() -> None:
    """DESIGN 4: a notice of what one may not see would tell that it is there."""
    world = juniper()
    room = world.room("river talk", ("elena", "daniel", "nora"), RIVERBEND)
    world.post(room, "elena", "about the close")
    assert any(s.kind == "message" for s in world.office.inboxes.get("daniel", ()))
    assert not any(s.kind == "message" for s in world.office.inboxes.get("nora", ()))
    ref = world.save("elena", "home:elena", "walled.txt", walls=(RIVERBEND,), level="confidential")
    grant = Grant(world.id("elena"), ref.file, ref.version, "everyone", "elena", world.now)
    event = Event(world.office.revision + 1, world.now, "elena", "elena.9", FileShared(grant))
    world.office = apply(world.office, event)
    assert any(s.kind == "share" for s in world.office.inboxes.get("daniel", ()))
    assert not any(s.kind == "share" for s in world.office.inboxes.get("nora", ()))
