"""What a person is told when something wakes them: each kind of stimulus with what they need, and nothing more."""

from __future__ import annotations

from typing import Any, get_args

import msgspec
import pytest

from simulator.briefing import SHOWN, Briefing, system_prompt
from simulator.events import DemandSet, FileRevoked, MemberRemoved, PersonAdded, SkillShelved
from simulator.records import Demand, Stimulus, StimulusKind
from tests.access.world import RIVERBEND
from tests.tools.reader import Reading


def brief(desk: Reading, who: str) -> Briefing:
    return Briefing(desk.office, who, desk.body_text)


def last(desk: Reading, who: str, kind: str) -> Stimulus:
    return [s for s in desk.office.inboxes[who] if s.kind == kind][-1]


def shown(desk: Reading, who: str, kind: str) -> dict[str, Any]:
    """What somebody is told of the last stimulus of a kind; it must be JSON, and must fit any wake-up."""
    told = brief(desk, who).stimulus(last(desk, who, kind))
    assert told["kind"] == kind
    again: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(told))
    return again


def test_a_mail_comes_with_its_words_and_attachments(desk: Reading) -> None:
    ref = desk.put("daniel", "a.txt", "x")
    desk.world.accept(ref, "daniel")
    mail = desk.act("daniel", "send_mail", to=["elena"], subject="Close", text="see the file", attachments=["a.txt"])["mail"]
    told = shown(desk, "elena", "mail")
    assert (told["mail"], told["from"], told["text"]) == (mail, "daniel", "see the file")
    assert told["attachments"] == ["/mnt/company/Shared/Daniel/a.txt@1"] and told["at"].startswith("2026-01-05 09:")


def test_an_attachment_taken_back_meanwhile_is_named_no_more(desk: Reading) -> None:
    ref = desk.put("daniel", "a.txt", "x")
    desk.world.accept(ref, "daniel")
    desk.act("daniel", "send_mail", to=["elena"], subject="Close", text="t", attachments=["a.txt"])
    (grant,) = desk.office.by_file[ref.file]
    desk.happen(FileRevoked(grant, "daniel"))
    assert shown(desk, "elena", "mail")["attachments"] == []


def test_a_message_comes_with_its_room(desk: Reading) -> None:
    desk.world.room("general", ["daniel", "elena"])
    message = desk.act("elena", "post_message", to="general", text="ready?", asks=True)["message"]
    told = shown(desk, "daniel", "message")
    assert (told["message"], told["room_name"], told["text"], told["asks"]) == (message, "general", "ready?", True)


def test_a_message_of_a_team_one_has_left_is_not_read_out(desk: Reading) -> None:
    desk.world.room("riverbend", ["daniel", "elena"], RIVERBEND)
    desk.act("elena", "post_message", to="riverbend", text="walled words")
    desk.happen(MemberRemoved(RIVERBEND, "daniel"))
    told = shown(desk, "daniel", "message")
    assert told["text"] == "(not yours to read)" and "walled" not in str(told)


def test_a_request_its_answer_and_its_due_date(desk: Reading) -> None:
    request = desk.act("elena", "make_request", to="daniel", outcome="o" * 300, due="2026-01-09 12:00")["request"]
    told = shown(desk, "daniel", "request")
    assert (told["request"], told["outcome"], told["due"], told["state"]) == (request, "o" * 300, "2026-01-09 12:00", "open")
    due = Stimulus(f"due:{request}", "due", request, desk.world.now, "engine")
    assert brief(desk, "daniel").stimulus(due)["request"] == request
    desk.act("daniel", "decline_request", request=request, reason="no time")
    told = shown(desk, "elena", "answer")
    assert (told["note"], told["state"]) == ("no time", "declined")
    lost = Stimulus("x", "lost", request, desk.world.now, "daniel", text="daniel could not be reached")
    assert brief(desk, "elena").stimulus(lost)["request"] == request


def test_a_commitment_that_is_due_is_read_out(desk: Reading) -> None:
    record = desk.act("daniel", "note", record="commitment", text="send the list", due="2026-01-09")["record"]
    told = brief(desk, "daniel").stimulus(Stimulus("x", "due", record, desk.world.now, "engine"))
    assert (told["id"], told["text"]) == (record, "send the list")
    unknown = brief(desk, "daniel").stimulus(Stimulus("x", "due", "none.1", desk.world.now, "engine"))
    assert set(unknown) == {"kind", "ref", "from", "at"}


def test_a_question_and_a_submission_come_with_the_whole_task(desk: Reading) -> None:
    work = desk.delegate(constraints=["no macros"])
    question = desk.ask(work, "fees or interest?")
    told = shown(desk, "daniel", "question")
    assert (told["question"], told["delegation"], told["goal"]) == (question, work, "close December")
    assert told["questions"] == [{"question": question, "text": "fees or interest?", "answer": ""}]
    desk.act("daniel", "answer_question", question=question, text="fees")
    desk.submit(work, desk.draft(work, "Documents/Close.md"), report="all of it")
    told = shown(desk, "daniel", "submission")
    assert told["report"] == "all of it" and told["submitted"] == ["/home/npc/computer/Documents/Close.md@1"]
    assert told["constraints"] == ["no macros"]


def test_an_assistant_that_stopped_says_why(desk: Reading) -> None:
    work = desk.delegate()
    desk.stop(work, "the file is missing")
    assert shown(desk, "daniel", "submission")["note"] == "the assistant stopped without submitting: the file is missing"


def test_an_invitation_and_a_beginning_come_with_the_event(desk: Reading) -> None:
    event = desk.act("elena", "schedule", title="Talk", attendees=["daniel"], start="2026-01-06 10:00", agenda="figures",
                     event_kind="deadline")["event"]  # fmt: skip
    told = shown(desk, "daniel", "calendar")
    assert (told["event"], told["title"], told["agenda"], told["note"]) == (event, "Talk", "figures", "invitation")
    assert told["event_kind"] == "deadline" and told["kind"] == "calendar"
    desk.begin(event)
    told = shown(desk, "daniel", "calendar")
    assert (told["note"], told["start"]) == ("begins", "2026-01-06 10:00")


def test_a_share_and_a_notice_name_the_file_as_one_sees_it(desk: Reading) -> None:
    ref = desk.put("daniel", "a.txt", "x")
    desk.world.accept(ref, "daniel")
    desk.act("daniel", "share", file="a.txt", audience=["elena"])
    assert shown(desk, "elena", "share")["file"] == "/mnt/company/Shared/Daniel/a.txt@1"
    desk.act("elena", "accept", file="/mnt/company/Shared/Daniel/a.txt", replaces=desk.office.accepted[ref.file][0])
    assert shown(desk, "daniel", "notice")["file"] == "/home/npc/computer/a.txt@1"
    (grant,) = desk.office.by_file[ref.file]
    desk.happen(FileRevoked(grant, "daniel"))
    assert shown(desk, "elena", "share")["file"] == "(a file you may not see)"


def test_a_demand_names_the_work_and_whom_to_write_to(desk: Reading) -> None:
    desk.happen(DemandSet(Demand("close", "maya", RIVERBEND, "month-close", "monthly")))
    stimulus = Stimulus("demand:close:0", "demand", "close", desk.world.now, "engine", text="period 2025-12; variety 7")
    told = brief(desk, "maya").stimulus(stimulus)
    assert (told["demand"], told["work"], told["write_to"], told["note"]) == ("close", "month-close", "elena", "period 2025-12; variety 7")


@pytest.mark.parametrize("kind", get_args(StimulusKind))
def test_any_stimulus_whose_thing_is_not_there_is_still_told(desk: Reading, kind: Any) -> None:
    stimulus = Stimulus("x.1", kind, "none.1", desk.world.now, "elena", text="note")
    told = brief(desk, "daniel").stimulus(stimulus)
    assert told == {"kind": kind, "ref": "none.1", "from": "elena", "at": "2026-01-05 09:19", "note": "note"}


def test_a_long_text_is_cut_and_says_so(desk: Reading) -> None:
    desk.act("elena", "send_mail", to=["daniel"], subject="s", text="x" * (SHOWN + 1))
    assert shown(desk, "daniel", "mail")["text"] == "x" * SHOWN + " [cut]"
    desk.act("elena", "send_mail", to=["daniel"], subject="s", text="y" * SHOWN)
    assert shown(desk, "daniel", "mail")["text"] == "y" * SHOWN


# -- the whole -----------------------------------------------------------------------------------------------------------


def test_a_wake_up_holds_what_wakes_the_work_and_on_a_fresh_day_the_day(desk: Reading) -> None:
    desk.act("elena", "schedule", title="Stand-up", attendees=["daniel"], start="2026-01-05 15:00")
    desk.act("elena", "make_request", to="daniel", outcome="the December close")
    work = desk.delegate()
    stimuli = desk.office.inboxes["daniel"]
    text = brief(desk, "daniel").wake(stimuli, True, desk.world.now)
    assert "the December close" in text and work in text and '"kind":"today"' in text and "Monday 5 January 2026" in text
    assert '"kind":"today"' not in brief(desk, "daniel").wake(stimuli, False, desk.world.now)
    other = brief(desk, "quinn").wake((), True, desk.world.now)
    assert "December close" not in other and work not in other


def test_open_work_alone_is_listed_and_no_more_than_fits(desk: Reading) -> None:
    made = [desk.act("elena", "make_request", to="daniel", outcome=f"request {n}")["request"] for n in range(23)]
    desk.act("daniel", "fulfil_request", request=made[-1])
    listed = [w["request"] for w in brief(desk, "daniel").work()]
    assert listed == made[2:22]


def test_a_meetings_view_names_the_others_who_are_there(desk: Reading) -> None:
    event = desk.act("elena", "schedule", title="Talk", attendees=["daniel", "quinn"], start="2026-01-06 10:00")["event"]
    desk.act("daniel", "note", record="decision", text="three streams", about=event)
    text = brief(desk, "daniel").meeting(desk.office.entries[event], ("elena", "daniel"), desk.world.now)
    assert "Elena" in text and "Quinn" not in text and "three streams" in text and "(none)" in text
    assert "three streams" not in brief(desk, "elena").meeting(desk.office.entries[event], ("elena", "daniel"), desk.world.now)


def test_a_client_is_shown_the_threads_they_began(desk: Reading) -> None:
    first = desk.act("maya", "write_mail", to=["elena"], subject="Bank papers", text="t")["mail"]
    reply = desk.act("elena", "send_mail", to=["maya"], subject="re", text="thanks", in_reply_to=first)["mail"]
    desk.act("maya", "write_mail", to=["elena"], subject="Thanks again", text="t", in_reply_to=reply)
    text = brief(desk, "maya").client_wake(desk.office.inboxes["maya"], desk.world.now)
    assert "Bank papers" in text and "thanks" in text and "Thanks again" not in text


# -- role cards ----------------------------------------------------------------------------------------------------------


def test_a_role_card_names_ones_rights_skills_and_own_matters(desk: Reading) -> None:
    desk.happen(SkillShelved("month-close", "closes a month", ()))
    desk.happen(SkillShelved("audit", "audits", ()))
    daniel = msgspec.structs.replace(desk.office.people["daniel"], skills=("month-close", "lost-pack"))
    desk.happen(PersonAdded(daniel))
    text = system_prompt(desk.office, "daniel")
    assert '"clearance":"confidential"' in text and "/mnt/company/Resources/Skills/month-close" in text
    assert "Riverbend close" in text and "Oakridge" not in text and "omar" not in text and "maya" in text
    assert "Skills/lost-pack" not in text and "audits" not in text
    assert "zed" not in text, "who has left is no colleague"


def test_a_clients_card_knows_their_own_side_alone(desk: Reading) -> None:
    desk.happen(DemandSet(Demand("close", "maya", RIVERBEND, "month-close")))
    desk.happen(DemandSet(Demand("audit", "omar", "oakridge-audit", "secret-audit")))
    text = system_prompt(desk.office, "maya")
    assert "month-close" in text and "elena" in text and "Riverbend" in text
    for hidden in ("secret-audit", "nora", "Oakridge", "clearance", "authority"):
        assert hidden not in text
