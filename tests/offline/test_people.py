"""Clients and principals, one activation at a time, in conversations made by hand. They see messages and answers alone."""

from __future__ import annotations

import csv
import io
import json

import pytest

from services.offline import OfflineProfessional
from services.offline.heard import Heard
from services.professions.registry import PROFESSIONS
from simulator.conversation import Message, ModelRequest
from simulator.prompts import render
from tests.offline.talks import (
    CLIENT_TOOLS,
    HOME,
    MEETING_TOOLS,
    PERSON_TOOLS,
    READ_TOOLS,
    WHERE,
    Row,
    Talk,
    answers,
    client,
    fine,
    listed,
    principal,
    request,
)

DEMAND = {"kind": "demand", "ref": "d", "from": "engine", "at": "2026-01-05 09:04", "note": "period 2025-12; variety 4711", "demand": "d",
          "work": "bank-reconciliation", "matter": "river", "cadence": "monthly", "write_to": "elena"}  # fmt: skip
PAPERS = [f"{WHERE}/Inputs/2025-12/bank.csv@1", f"{WHERE}/Inputs/2025-12/ledger.csv@1"]
MAIL = {"kind": "mail", "ref": "maya.1.1", "mail": "maya.1.1", "thread": "maya.1.1", "from": "maya", "to": ["elena"],
        "subject": "Bank reconciliation for 2025-12 (our ref RIV-12345)", "text": "Here you are.",
        "attachments": PAPERS, "matter": "river"}  # fmt: skip
REQUEST = {"kind": "request", "request": "elena.1.1", "from": "elena", "owner": "daniel", "outcome": "Reconcile. (mail maya.1.1)",
           "state": "open", "due": "2026-01-08 17:00", "matter": "river", "work": "bank-reconciliation", "period": "2025-12",
           "materials": PAPERS, "results": [], "note": ""}  # fmt: skip
WORK = {"delegation": "daniel.1.1", "state": "submitted", "work": "records-digest", "period": "2026-01", "matter": "river",
        "request": "elena.1.1", "round": 1, "goal": "Digest. (mail maya.1.1)", "questions": [], "reviews": []}  # fmt: skip


def bring(variety: int = 4711, work: list[Row] | None = None) -> Row:
    stimulus = {**DEMAND, "note": f"period 2025-12; variety {variety}"}
    return Talk(client([stimulus], work or []), fine, CLIENT_TOOLS, "client").run().only("write_mail")


# -- the client -------------------------------------------------------------------------------------------------------


def test_a_client_brings_the_papers_of_the_period() -> None:
    mail = bring()
    assert mail["to"] == ["elena"] and mail["period"] == "2025-12" and mail["matter"] == "river"
    assert "bank reconciliation" in (mail["subject"] + mail["text"]).casefold() and "2025-12" in mail["subject"]
    kind = PROFESSIONS["bank-reconciliation"]
    inputs = kind.by_name({a["name"]: a["text"] for a in mail["attachments"]})
    assert {"bank", "ledger"} <= set(inputs) and kind.check("2025-12", inputs) == []


def test_a_clients_months_are_one_clients_books_and_no_two_offices_alike() -> None:
    first = bring()
    again = bring(99, [{"mail": "maya.1.1", "subject": first["subject"], "to": ["elena"], "at": ""}])
    other = bring(99)
    assert again["attachments"] == first["attachments"], "the reference of the earlier mail is what the books hang on"
    assert other["attachments"] != first["attachments"], "another office, other books"


def delivery(number: int) -> Talk:
    mail = {**MAIL, "mail": f"elena.{number}.1", "from": "elena", "subject": "Records digest for 2026-01", "text": "Here it is.",
            "attachments": [f"{WHERE}/Results/2026-01/Digest.xlsx@1"]}  # fmt: skip
    text = "## Sheet: Summary\n" + "A1=Item | B1=Value | C1=Source\nA2=Total | B2=1234.5 | C2=x\n"
    return Talk(client([mail]), answers(open_file=lambda a: {"text": text, "parts": 1}), CLIENT_TOOLS, "client").run()


def test_a_client_opens_what_they_are_sent_before_they_say_anything() -> None:
    for number in range(12):
        talk = delivery(number)
        assert [name for name, _ in talk.made][0] == "open_file"
        assert len(talk.calls("write_mail")) <= 1
    said = [mail["text"] for number in range(30) for mail in delivery(number).calls("write_mail")]
    assert len(set(said)) > 4, "not everybody says the same"


def test_a_client_who_cannot_open_a_file_says_so() -> None:
    mail = {**MAIL, "from": "elena", "attachments": [f"{WHERE}/Results/2026-01/Digest.xlsx@1"]}
    talk = Talk(
        client([mail]),
        lambda n, a: {"ok": False, "error": "no"} if n == "open_file" else fine(n, a),
        CLIENT_TOOLS,
        "client",
    ).run()
    assert "cannot open Digest.xlsx" in talk.only("write_mail")["text"]


# -- the lead ---------------------------------------------------------------------------------------------------------


def test_a_clients_mail_becomes_a_request_and_a_promise() -> None:
    talk = Talk(principal("elena", stimuli=[MAIL]), fine).run()
    asked = talk.only("make_request")
    assert (asked["to"], asked["work"], asked["period"], asked["materials"]) == (
        "daniel",
        "bank-reconciliation",
        "2025-12",
        PAPERS,
    )
    assert "(mail maya.1.1)" in asked["outcome"] and asked["due"] > "2026-01-05"
    promise = talk.calls("note")[0]
    assert promise["record"] == "commitment" and promise["about"] == "maya.1.1" and promise["due"]
    assert talk.only("schedule")["title"] == "Kick-off Riverbend Outdoor", "the matter is new"


def test_a_matter_that_is_under_way_has_no_second_kick_off() -> None:
    kept = [{"id": "n", "text": "x", "about": "", "matter": "river", "due": "", "since": ""}]
    assert Talk(principal("elena", stimuli=[MAIL], commitments=kept), fine).run().calls("schedule") == []
    held = answers(list_files=listed((f"{WHERE}/Meetings/2026-01-02 1000 Kick-off Riverbend Outdoor.md@1", "")))
    assert Talk(principal("elena", stimuli=[MAIL]), held).run().calls("schedule") == []


def test_a_kick_off_takes_a_free_half_hour() -> None:
    busy = answers(
        free_busy=lambda a: {"busy": {"elena": ["10:00-11:00"], "daniel": ["11:00-11:15"], "quinn": "not known"}}
    )
    start = Talk(principal("elena", stimuli=[MAIL]), busy).run().only("schedule")["start"]
    assert start == "2026-01-06 11:30"


def test_corrected_papers_replace_the_request_that_is_still_open() -> None:
    work = [{**REQUEST, "state": "accepted"}]
    talk = Talk(principal("elena", stimuli=[{**MAIL, "mail": "maya.2.1"}], work=work), fine).run()
    assert talk.only("withdraw")["ref"] == "elena.1.1" and "replace" in talk.only("make_request")["outcome"]


def fulfilled(**more: object) -> Row:
    files = [f"{WHERE}/Results/2025-12/Reconciliation.xlsx@2", f"{WHERE}/Results/2025-12/Open items.md@2"]
    note = "Accepted and signed off. Figures: Unexplained difference: 850.00; Open items: 3."
    return {**REQUEST, "kind": "answer", "state": "fulfilled", "results": files, "note": note, **more}


def test_what_is_signed_off_is_released_and_sent_and_the_promise_closed() -> None:
    promise = [{"id": "c1", "text": "x", "about": "maya.1.1", "matter": "river", "due": "", "since": ""}]
    talk = Talk(principal("elena", stimuli=[fulfilled()], commitments=promise), fine).run()
    sent = talk.only("send_mail")
    assert (
        sent["to"] == ["maya"] and sent["attachments"] == fulfilled()["results"] and sent["in_reply_to"] == "maya.1.1"
    )
    assert "850.00" in talk.only("note")["text"], "the difference stays an open question"
    assert talk.only("close_note")["record"] == "c1"


def test_a_refusal_is_answered_by_doing_what_it_says() -> None:
    def refuse(words: str) -> Talk:
        def reply(name: str, arguments: Row) -> Row:
            return {"ok": False, "error": words} if name == "send_mail" else fine(name, arguments)

        return Talk(principal("elena", stimuli=[fulfilled()]), reply).run()

    talk = refuse("the mail was not sent: quality sign-off is required for client release")
    assert talk.only("make_request")["to"] == "quinn" and talk.only("make_request")["work"] == "quality-review"
    assert refuse("the wall forbids it").calls("note"), "what nobody can mend is kept in mind"


def test_a_declined_request_goes_to_another_once_then_the_client_is_told() -> None:
    declined = {**REQUEST, "kind": "answer", "state": "declined", "note": "Six delegations of mine are running."}
    first = Talk(principal("elena", stimuli=[declined]), fine).run().only("make_request")
    assert first["to"] == "daniel" and "as soon as one of yours is settled" in first["outcome"], "nobody else can do it"
    again = {**declined, "outcome": first["outcome"]}
    talk = Talk(principal("elena", stimuli=[again]), fine).run()
    assert talk.calls("make_request") == [] and talk.only("send_mail")["to"] == ["maya"]


def test_a_question_is_answered_from_the_accepted_file() -> None:
    reply = answers(
        list_files=listed((f"{WHERE}/Results/2025-12/Reconciliation.xlsx@2", "accept by daniel")),
        open_file=lambda a: {"text": "", "parts": 1},
    )
    mails = []
    for number in range(8):
        ask = {**MAIL, "mail": f"maya.{number}.1", "attachments": [], "subject": "Re: Bank reconciliation for 2025-12",
               "text": "In the bank reconciliation 2025-12, what is behind Closing balance?"}  # fmt: skip
        mails += Talk(principal("elena", stimuli=[ask]), reply).run().calls("send_mail")
    assert len(mails) == 8 and all(m["to"] == ["maya"] for m in mails)
    assert any("It is 7." in m["text"] for m in mails) and any("Closing balance" in m["text"] for m in mails)


def test_thanks_need_no_answer() -> None:
    thanks = {**MAIL, "attachments": [], "subject": "Re: x", "text": "Thank you, that is clear."}
    assert Talk(principal("elena", stimuli=[thanks]), fine).run().calls("send_mail") == []


# -- the owner --------------------------------------------------------------------------------------------------------


def test_an_owner_accepts_and_delegates_with_the_earlier_result() -> None:
    prior = f"{WHERE}/Results/2025-11/Reconciliation.xlsx@1"
    reply = answers(list_files=listed((prior, "accept by ben"), *((p, "") for p in PAPERS)))
    talk = Talk(principal("daniel", stimuli=[REQUEST]), reply).run()
    given = talk.only("delegate")
    assert talk.only("accept_request")["request"] == "elena.1.1" and given["request"] == "elena.1.1"
    assert given["inputs"] == [*PAPERS, prior] and given["work"] == "bank-reconciliation"
    folder = "Documents/Projects/Riverbend Outdoor/2025-12"
    assert given["deliverables"] == [f"{folder}/Reconciliation.xlsx", f"{folder}/Open items.md"]
    assert len(given["constraints"]) >= 3 and "2025-11" in given["goal"]


def variance(state: str = "open") -> Row:
    papers = [f"{WHERE}/Inputs/2025-12/actuals.csv@1", f"{WHERE}/Inputs/2025-12/budget.csv@1"]
    return {**REQUEST, "work": "variance-analysis", "materials": papers, "state": state, "request": "elena.2.1"}


def test_what_another_result_is_needed_for_waits_and_asks_once() -> None:
    sent = listed(*((p, "") for p in PAPERS))
    talk = Talk(principal("daniel", stimuli=[variance()]), answers(list_files=sent)).run()
    assert (
        talk.calls("delegate") == [] and talk.only("post_message")["asks"] and talk.only("note")["about"] == "elena.2.1"
    )
    kept = answers(
        list_files=sent, read_memory=lambda a: {"records": [{"id": "q", "about": "elena.2.1", "text": "Waiting"}]}
    )
    later = {"kind": "day_start", "ref": "x", "from": "engine", "at": ""}
    talk = Talk(principal("daniel", stimuli=[later], work=[variance("accepted")]), kept).run()
    assert talk.calls("post_message") == [] and talk.calls("delegate") == [], "asked once is enough"


def test_it_starts_when_the_result_is_there_and_past_its_date_without_it() -> None:
    result = (f"{WHERE}/Results/2025-12/Reconciliation.xlsx@1", "accept by ben")
    sent = [(p, "") for p in PAPERS]
    share = {"kind": "share", "ref": "f", "from": "ben", "at": "", "file": result[0]}
    talk = Talk(
        principal("daniel", stimuli=[share], work=[variance("accepted")]), answers(list_files=listed(result, *sent))
    ).run()
    assert talk.only("delegate")["inputs"][-1] == result[0]
    late = principal("daniel", "Monday 12 January 2026, 09:04", stimuli=[share], work=[variance("accepted")])
    assert Talk(late, answers(list_files=listed(*sent))).run().only("delegate")["work"] == "variance-analysis", (
        "nobody waits for ever"
    )


def test_six_under_way_are_enough() -> None:
    running = [{"delegation": f"d{n}", "state": "working", "work": "records-digest", "period": "2026-01", "matter": "river", "request": f"r{n}",
                "round": 1} for n in range(6)]  # fmt: skip
    talk = Talk(principal("daniel", stimuli=[REQUEST], work=running), fine).run()
    assert talk.only("decline_request")["request"] == "elena.1.1" and talk.calls("delegate") == []


def test_a_request_taken_back_stops_what_was_begun() -> None:
    work = [{**WORK, "state": "working"}]
    talk = Talk(
        principal("daniel", stimuli=[{**REQUEST, "kind": "answer", "state": "withdrawn"}], work=work), fine
    ).run()
    assert talk.only("withdraw")["ref"] == "daniel.1.1"


def test_a_question_of_an_assistant_is_answered_evidence_first() -> None:
    asked = {**WORK, "kind": "question", "state": "asking", "question": "q1",
             "questions": [{"question": "q1", "text": "May the 42.50 they differ by be booked as fees?", "answer": ""}]}  # fmt: skip
    answer = Talk(principal("daniel", stimuli=[asked]), fine).run().only("answer_question")
    assert answer["question"] == "q1" and ("evidence" in answer["text"] or "Nothing is booked" in answer["text"])


def test_an_unknown_request_becomes_a_memo() -> None:
    odd = {**REQUEST, "work": "", "outcome": "Compare the two leases."}
    given = Talk(principal("daniel", stimuli=[odd]), fine).run().only("delegate")
    assert given["work"] == "memo-writing" and given["deliverables"][0].endswith(".docx") and given["inputs"] == PAPERS


# -- talk, meetings, look-ups -----------------------------------------------------------------------------------------


def test_a_message_that_asks_is_answered_briefly_in_its_thread() -> None:
    asked = {"kind": "message", "ref": "m", "message": "m", "room": "dm:daniel:elena", "room_name": "x", "from": "elena", "thread": "",
             "text": "Where does the records digest stand?", "asks": True, "cites": []}  # fmt: skip
    reply = (
        Talk(principal("daniel", stimuli=[asked], work=[{**WORK, "state": "working"}]), fine).run().only("post_message")
    )
    assert reply["in_reply_to"] == "m" and "records digest 2026-01" in reply["text"] and not reply.get("asks"), (
        "nobody is pinged back"
    )
    quiet = {**asked, "asks": False, "message": "m2"}
    assert Talk(principal("daniel", stimuli=[quiet]), fine).run().calls("post_message") == []


def test_the_firms_own_rhythm_saves_its_records_first_then_delegates() -> None:
    entry = {"kind": "calendar", "ref": "e", "from": "daniel", "note": "begins", "event": "e", "title": "Weekly digest of time records",
             "organizer": "daniel", "attendees": ["daniel"], "matter": "firm", "work": "records-digest", "start": ""}  # fmt: skip
    talk = Talk(
        principal("daniel", "Monday 12 January 2026, 10:30", stimuli=[{**entry, "kind": "calendar"}]), fine
    ).run()
    saved = talk.only("save")
    assert saved["path"] == "Inputs/Juniper Office/2026-01-05/records.csv"
    rows = list(csv.DictReader(io.StringIO(saved["text"])))
    assert rows and all("2026-01-05" <= row["date"] <= "2026-01-11" for row in rows), "the week before, and no other"
    assert talk.only("delegate")["inputs"] == [f"/home/npc/computer/{saved['path']}@1"]


def test_most_days_begin_quietly_and_what_was_left_is_taken_up() -> None:
    day = {"kind": "day_start", "ref": "x", "from": "engine", "at": ""}
    turns = [
        Talk(principal("daniel", f"Monday {d} January 2026, 09:00", stimuli=[day]), fine).run().turns
        for d in (5, 12, 19, 26)
    ]
    assert sum(turns) <= 8
    left = [{**WORK, "state": "stopped"}]
    assert Talk(principal("daniel", stimuli=[day], work=left), fine).run().only("review")["decision"] == "supplement"


def meeting(me: str, so_far: list[Row], leads: bool, title: str = "Kick-off Riverbend Outdoor") -> list[str]:
    system, _ = principal(me)
    view = render("meeting_view", now="Tuesday 6 January 2026, 10:00", title=title, present="Quinn Abara", agenda="x", commitments=[],
                  decisions=[], questions=[], work=[{**WORK, "state": "working"}])  # fmt: skip
    turn = render("meeting_turn", view=view, transcript=so_far, organizer=leads, turns_left=9)
    response = OfflineProfessional().complete(request([system, Message("user", turn)], MEETING_TOOLS))
    return [c.name for c in response.tool_calls]


def test_a_meeting_opens_goes_round_decides_and_closes() -> None:
    assert meeting("elena", [], leads=True) == ["speak"]
    said = meeting("daniel", [{"who": "Elena Marsh", "said": "What is stuck?"}], leads=False)
    assert "speak" in said and "close_meeting" not in said
    assert meeting(
        "daniel", [{"who": "Elena Marsh", "said": "a"}, {"who": "Daniel Okafor", "said": "b"}], leads=False
    ) == ["pass_turn"]
    end = meeting("elena", [{"who": "Elena Marsh", "said": "a"}, {"who": "Daniel Okafor", "said": "b"}], leads=True)
    assert "record_decision" in end and end[-1] == "close_meeting"


def test_a_look_up_ends_with_a_sentence() -> None:
    system, _ = principal("elena")
    ask = render("branch", question="Closing balance of Riverbend Outdoor for 2025-12: what is it?", turns=6)
    reply = answers(search=lambda a: {"hits": [{"title": "Reconciliation.xlsx", "at": "2026-01-05"}]})
    talk = Talk([system, Message("user", ask)], reply, READ_TOOLS).run()
    assert "Reconciliation.xlsx" in talk.only("finish")["summary"] and talk.turns <= 6


# -- what it is and what it never looks at ----------------------------------------------------------------------------


def test_it_decides_from_messages_and_tools_alone() -> None:
    messages = principal("elena", stimuli=[MAIL])
    model = OfflineProfessional()
    one = model.complete(ModelRequest("principal", ("elena.1", 1), "session-elena", messages, PERSON_TOOLS))
    other = OfflineProfessional().complete(ModelRequest("assistant", ("x", 9), "", messages, PERSON_TOOLS))
    assert one == other, "neither call, session nor role is looked at"
    assert one.model == "offline" and one.usage.input > 100 and one.usage.output > 0 and one.cost_micros == 0


def test_what_it_cannot_play_it_refuses() -> None:
    judge = ModelRequest("judge", ("j", 1), "", (Message("system", "You judge."), Message("user", "Is it good?")))
    assert OfflineProfessional().complete(judge).finish == "refusal"


def test_a_compacted_conversation_goes_on_and_does_nothing_twice_rule_13() -> None:
    messages = principal("elena", stimuli=[MAIL])
    talk = Talk(messages, fine)
    talk.turn()
    assert talk.calls("make_request"), "the first turn has acted"
    ask = Message("user", render("compaction"))
    summary = talk.model.complete(request([*talk.messages, ask], ())).content
    compacted = Message("user", render("compacted", summary=summary, prompt=messages[1].content))
    rest = Talk([messages[0], compacted], fine).run()
    assert rest.calls("make_request") == [] and rest.calls("note") == [], "what was done is known from the summary"
    again = Talk([messages[0], compacted], fine)
    again.turn()
    second = again.model.complete(request([*again.messages, ask], ())).content
    twice = Message("user", render("compacted", summary=second, prompt=messages[1].content))
    assert Talk([messages[0], twice], fine).run().calls("make_request") == [], "nor is it forgotten by the next summary"


def test_broken_answers_do_not_break_it() -> None:
    for text in ("", "not JSON", "[]", '{"ok":false,"error":"no"}'):
        talk = Talk(principal("daniel", stimuli=[REQUEST, MAIL, fulfilled()]), fine)
        talk.turn()
        talk.messages = [
            Message("tool", text, tool_call_id=m.tool_call_id) if m.role == "tool" else m for m in talk.messages
        ]
        assert talk.model.complete(request(talk.messages, PERSON_TOOLS)).tool_calls


@pytest.mark.parametrize(
    "text", ["", "# nothing", "## What wakes you\n{broken\n", '## What wakes you\n{"kind":"mail"}\n']
)
def test_broken_prompts_end_the_activation(text: str) -> None:
    system, _ = principal("daniel")
    response = OfflineProfessional().complete(request([system, Message("user", text)], PERSON_TOOLS))
    assert [c.name for c in response.tool_calls] == ["finish"]


def test_arguments_are_what_the_tools_take() -> None:
    for stimuli in ([MAIL], [fulfilled()], [REQUEST], [variance()], [{"kind": "day_start"}]):
        for name, arguments in (
            Talk(principal("daniel" if stimuli[0] is not MAIL else "elena", stimuli=stimuli), fine).run().made
        ):
            schema = next(t.parameters for t in PERSON_TOOLS if t.name == name)
            assert set(arguments) <= set(schema["properties"]) and set(schema.get("required", ())) <= set(arguments), (
                name
            )
    assert Heard(request(principal("elena"), PERSON_TOOLS)).part == "principal" and json.dumps(HOME)
