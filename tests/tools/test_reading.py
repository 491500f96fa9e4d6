"""The tools that read: what each shows to who may see it, and how it answers who may not."""

from __future__ import annotations

import io
from typing import Any

import msgspec
import openpyxl
import pytest

from simulator.acts import arguments as a
from simulator.conversation import ToolCall
from simulator.events import EntryCancelled, FileRevoked, MemberRemoved
from simulator.records import FileRef
from simulator.tools.catalog import CLIENT_TOOLS, MEETING_TOOLS, PERSON_TOOLS, READ_TOOLS, READING, known_tools
from simulator.tools.reading import LISTED, PART_CHARS, READERS
from tests.access.world import RIVERBEND
from tests.tools.reader import Reading, use

HOME = "/home/npc/computer/"


# -- files ---------------------------------------------------------------------------------------------------------------


def test_a_list_shows_paths_versions_classes_and_confirmations_of_what_may_be_seen(desk: Reading) -> None:
    ref = desk.put("daniel", "Notes/a.md", "one", level="confidential", walls=(RIVERBEND,))
    desk.world.again(ref, "two", level="confidential", walls=(RIVERBEND,))
    desk.act("daniel", "accept", file="Notes/a.md")
    desk.put("elena", "Notes/secret.md", "x")
    assert desk.read("daniel", "list_files") == {
        "ok": True, "more": 0,
        "files": [{"file": f"{HOME}Notes/a.md@2", "level": "confidential", "by": "daniel", "versions": [1, 2],
                   "confirmed": ["accept by daniel"]}],
    }  # fmt: skip
    assert desk.read("quinn", "list_files")["files"] == []


@pytest.mark.parametrize(("folder", "found"), [("Notes", 1), ("/notes/", 1), ("NOTES/A", 1), (" ", 2), ("", 2), ("nowhere", 0)])
def test_a_list_may_be_of_one_folder(desk: Reading, folder: str, found: int) -> None:
    desk.put("daniel", "Notes/a.md", "one")
    desk.put("daniel", "b.md", "two")
    assert len(desk.read("daniel", "list_files", folder=folder)["files"]) == found


def test_a_long_list_is_cut_and_says_how_much_more_there_is(desk: Reading) -> None:
    for n in range(LISTED + 7):
        desk.world.save("daniel", "home:daniel", f"{n:03d}.txt")
    shown = desk.read("daniel", "list_files")
    assert len(shown["files"]) == LISTED and shown["more"] == 7


def test_a_text_is_opened_as_it_is_with_all_that_is_known_of_it(desk: Reading) -> None:
    source = desk.put("daniel", "in.txt", "raw")
    ref = desk.put("daniel", "out.md", "# Close\n\nall done\n", sources=(source,))
    desk.world.accept(ref, "daniel")
    shown = desk.read("daniel", "open_file", file="out.md")
    assert shown == {
        "ok": True, "file": f"{HOME}out.md@1", "part": 1, "parts": 1, "text": "# Close\n\nall done\n", "level": "internal",
        "sha256": desk.office.files[ref.file].versions[0].blob.sha256, "confirmed": ["accept by daniel"],
        "sources": [f"{HOME}in.txt@1"],
    }  # fmt: skip


def test_an_exact_version_is_opened_by_its_number(desk: Reading) -> None:
    desk.act("daniel", "save", path="a.md", text="one")
    desk.act("daniel", "save", path="a.md", text="two")
    assert [desk.read("daniel", "open_file", file=f)["text"] for f in ("a.md@1", "a.md@2", f"{HOME}a.md")] == ["one", "two", "two"]


def test_a_workbook_is_shown_with_cells_and_formulas(desk: Reading) -> None:
    book = openpyxl.Workbook()
    assert book.active is not None
    book.active["A1"], book.active["B1"] = 850, "=A1*2"
    stream = io.BytesIO()
    book.save(stream)
    desk.put("daniel", "b.xlsx", stream.getvalue())
    text = desk.read("daniel", "open_file", file="b.xlsx")["text"]
    assert "850" in text and "=A1*2" in text


@pytest.mark.parametrize("size", [1, PART_CHARS - 1, PART_CHARS, PART_CHARS + 1, 3 * PART_CHARS + 5])
def test_a_big_file_is_read_in_parts_that_make_the_whole(desk: Reading, size: int) -> None:
    text = ("0123456789\n" * (size // 11 + 1))[:size]
    desk.put("daniel", "big.txt", text)
    first = desk.read("daniel", "open_file", file="big.txt")
    parts = [desk.read("daniel", "open_file", file="big.txt", part=n)["text"] for n in range(1, first["parts"] + 1)]
    assert first["parts"] == max(1, -(-size // PART_CHARS)) and "".join(parts) == text
    over = desk.read("daniel", "open_file", file="big.txt", part=first["parts"] + 1)
    assert over == {"ok": False, "error": f"the file has {first['parts']} parts"}


@pytest.mark.parametrize("part", [0, -1, "two", 1.5])
def test_a_part_is_a_whole_number_from_one(desk: Reading, part: Any) -> None:
    desk.put("daniel", "a.txt", "x")
    answer = desk.read("daniel", "open_file", file="a.txt", part=part)
    assert not answer["ok"] and answer["error"].startswith("the arguments of open_file are not valid")


def test_a_file_of_others_and_none_are_one_answer_and_leave_no_trace(desk: Reading) -> None:
    ref = desk.put("elena", "secret.md", "x")
    run = desk.run("daniel")
    for name in (ref.file, f"{ref.file}@1", f"{HOME}secret.md", "none.md"):
        answer = use(run, "daniel", "open_file", file=name)
        assert answer == {"ok": False, "error": f"there is no file {name!r}, or it is not yours to see"}
    assert run.opened == ()


def test_what_was_opened_is_remembered_once_and_inherited_by_what_is_made(desk: Reading) -> None:
    """RULE 27."""
    ref = desk.put("daniel", "in.txt", "x", level="confidential", walls=(RIVERBEND,))
    run = desk.run("daniel")
    use(run, "daniel", "open_file", file="in.txt")
    use(run, "daniel", "open_file", file="in.txt@1", part=1)
    assert run.opened == (ref,)
    assert run.try_act("daniel", "save", a.SaveFile("out.md", "derived"))["ok"]
    (version,) = run.working.files[run.acts[0].id].versions
    assert (version.level, version.walls, version.sources) == ("confidential", (RIVERBEND,), (ref,))
    assert use(run, "daniel", "open_file", file="out.md")["text"] == "derived", "one reads what one has just written"
    assert desk.office is run.base


def test_a_share_taken_back_closes_the_file_at_once(desk: Reading) -> None:
    ref = desk.put("daniel", "a.md", "x")
    grant = desk.world.share(ref, "person:elena")
    path = desk.read("elena", "list_files")["files"][0]["file"]
    assert desk.read("elena", "open_file", file=path)["ok"]
    desk.happen(FileRevoked(grant, "daniel"))
    assert not desk.read("elena", "open_file", file=path)["ok"] and desk.read("elena", "list_files")["files"] == []


def test_a_source_one_may_not_see_stays_unnamed(desk: Reading) -> None:
    source = desk.put("daniel", "in.txt", "raw")
    ref = desk.put("daniel", "out.md", "text", sources=(source,))
    desk.world.share(ref, "person:elena")
    path = desk.read("elena", "list_files")["files"][0]["file"]
    assert "in.txt" not in msgspec.json.encode(desk.read("elena", "open_file", file=path)).decode()


# -- search --------------------------------------------------------------------------------------------------------------


def test_search_finds_every_kind_that_is_ones_own_and_nothing_else(desk: Reading) -> None:
    desk.put("daniel", "budget plan.md", "x")
    desk.act("elena", "post_message", to="daniel", text="the BUDGET plan is late")
    desk.act("elena", "send_mail", to=["daniel"], subject="Budget", text="a plan: " + "long " * 100)
    desk.act("elena", "make_request", to="daniel", outcome="plan the budget")
    hits = desk.read("daniel", "search", words=" plan  budget ")["hits"]
    assert {h["kind"] for h in hits} == {"file", "message", "mail", "request"}
    assert all(set(h) == {"kind", "ref", "at", "title", "snippet"} for h in hits)
    assert [h["at"] for h in hits] == sorted((h["at"] for h in hits), reverse=True)
    assert desk.read("quinn", "search", words="budget")["hits"] == []
    assert desk.read("daniel", "search", words="  ")["hits"] == desk.read("daniel", "search", words="budget elephant")["hits"] == []


# -- talk ----------------------------------------------------------------------------------------------------------------


def test_a_room_shows_its_last_messages_to_its_members(desk: Reading) -> None:
    room = desk.world.room("General", ["daniel", "elena"])
    ids = [desk.world.post(room, "elena", f"message {n}") for n in range(25)]
    for name in (room, "general", "#GENERAL", " general "):
        shown = desk.read("daniel", "read_room", room=name)
        assert shown["room"] == room and [m["message"] for m in shown["messages"]] == ids[-20:]
    assert len(desk.read("daniel", "read_room", room=room, limit=3)["messages"]) == 3
    assert desk.read("quinn", "read_room", room=room) == {"ok": False, "error": f"you are in no room {room!r}"}
    assert desk.read("quinn", "read_room", room="none")["error"] == "you are in no room 'none'"


@pytest.mark.parametrize("limit", [0, 101, -5])
def test_limits_are_bounded(desk: Reading, limit: int) -> None:
    assert "not valid" in desk.read("daniel", "list_mail", limit=limit)["error"]
    assert "not valid" in desk.read("daniel", "read_room", room="x", limit=limit)["error"]


def test_a_mail_is_read_with_its_thread_as_far_as_one_has_it(desk: Reading) -> None:
    first = desk.act("elena", "send_mail", to=["daniel"], subject="s", text="one")["mail"]
    aside = desk.act("elena", "send_mail", to=["quinn"], subject="s", text="between us", in_reply_to=first)["mail"]
    last = desk.act("daniel", "send_mail", to=["elena"], subject="re", text="t" * 300, in_reply_to=first)["mail"]
    thread = desk.read("daniel", "read_mail", mail=last)["thread"]
    assert [(m["mail"], m["text"]) for m in thread] == [(first, "one"), (last, "t" * 300)]
    assert [m["mail"] for m in desk.read("elena", "read_mail", mail=first)["thread"]] == [first, aside, last]
    for name in (aside, "none.1"):
        assert desk.read("daniel", "read_mail", mail=name) == {"ok": False, "error": f"there is no mail {name!r} in your mailbox"}


def test_a_long_thread_shows_its_end_and_a_long_text_its_beginning(desk: Reading) -> None:
    mail = desk.act("elena", "send_mail", to=["daniel"], subject="s", text="x" * 7_000)["mail"]
    (only,) = desk.read("daniel", "read_mail", mail=mail)["thread"]
    assert only["text"] == "x" * 6_000 + " [cut]"
    last = mail
    for _ in range(12):
        last = desk.act("daniel", "send_mail", to=["elena"], subject="s", text="more", in_reply_to=mail)["mail"]
    assert len(desk.read("daniel", "read_mail", mail=last)["thread"]) == 10


def test_the_list_of_mail_has_lines_and_no_texts(desk: Reading) -> None:
    mail = desk.act("elena", "send_mail", to=["daniel"], subject="Close", text="secret words")["mail"]
    assert desk.read("daniel", "list_mail")["mails"] == [
        {"mail": mail, "from": "elena", "to": ["daniel"], "subject": "Close", "at": "2026-01-05 09:19", "attachments": 0}
    ]
    assert desk.read("quinn", "list_mail")["mails"] == []


# -- calendar ------------------------------------------------------------------------------------------------------------


def test_a_calendar_shows_the_occurrences_of_some_days(desk: Reading) -> None:
    weekly = desk.act("elena", "schedule", title="Stand-up", attendees=["daniel"], start="2026-01-06 09:15", repeat="FREQ=WEEKLY")
    once = desk.act("elena", "schedule", title="Once", attendees=["daniel"], start="2026-01-13 11:00", agenda="figures")
    events = desk.read("daniel", "see_calendar", start="2026-01-06", days=8)["events"]
    assert [(e["event"], e["start"]) for e in events] == [
        (weekly["event"], "2026-01-06 09:15"), (weekly["event"], "2026-01-13 09:15"), (once["event"], "2026-01-13 11:00"),
    ]  # fmt: skip
    assert events[2]["agenda"] == "figures" and events[2]["attendees"] == ["daniel"]
    assert desk.read("daniel", "see_calendar", start="2026-01-07", days=6)["events"] == []
    assert desk.read("quinn", "see_calendar", start="2026-01-06")["events"] == []
    desk.happen(EntryCancelled(once["event"], "elena"))
    assert len(desk.read("daniel", "see_calendar", start="2026-01-06", days=8)["events"]) == 2


NO_DAYS = ("tomorrow", "", "2026-02-30", "05.01.2026", "0001-01-01", "9999-12-31", "1900-01-01", "2026-01-05 10:00", "\x00")


@pytest.mark.parametrize("day", NO_DAYS)
def test_what_is_no_date_is_said_and_stops_nothing(desk: Reading, day: str) -> None:
    """A model writes `tomorrow`; the office goes on."""
    words = f"{day!r} is no date: write it as YYYY-MM-DD"
    assert desk.read("daniel", "see_calendar", start=day) == {"ok": False, "error": words}
    assert desk.read("daniel", "free_busy", people=["elena"], day=day) == {"ok": False, "error": words}


def test_the_last_and_first_days_there_are_can_be_looked_at(desk: Reading) -> None:
    for day in ("1971-01-01", "2199-12-31", " 2026-01-06 "):
        assert desk.read("daniel", "see_calendar", start=day, days=31)["ok"]
        assert desk.read("daniel", "free_busy", people=["elena"], day=day)["ok"]


def test_free_busy_says_when_and_never_what(desk: Reading) -> None:
    """RULE 28."""
    desk.act("elena", "schedule", title="Secret", attendees=["quinn"], start="2026-01-06 10:00", minutes=45)
    desk.act("elena", "schedule", title="Alone", attendees=[], start="2026-01-06 10:30", minutes=60, event_kind="focus")
    desk.act("elena", "schedule", title="Due", attendees=[], start="2026-01-06 15:00", event_kind="deadline")
    shown = desk.read("nora", "free_busy", people=["elena", "quinn", "nora", "maya", "nobody"], day="2026-01-06")
    assert shown == {"ok": True, "busy": {"elena": ["10:00-11:30"], "quinn": ["10:00-10:45"], "nora": [], "maya": "not known",
                                          "nobody": "not known"}}  # fmt: skip


# -- work, people, memory ------------------------------------------------------------------------------------------------


def test_work_lists_what_is_open_and_on_request_what_is_closed(desk: Reading) -> None:
    request = desk.act("elena", "make_request", to="daniel", outcome="x", due="2026-01-09 12:00")["request"]
    work = desk.delegate()
    shown = desk.read("daniel", "list_work")
    assert [r["request"] for r in shown["requests"]] == [request] and shown["requests"][0]["due"] == "2026-01-09 12:00"
    assert [(d["delegation"], d["state"]) for d in shown["delegations"]] == [(work, "working")]
    assert desk.read("elena", "list_work")["delegations"] == [] and len(desk.read("elena", "list_work")["requests"]) == 1
    desk.act("daniel", "decline_request", request=request, reason="no")
    desk.act("daniel", "withdraw", ref=work, reason="no")
    assert desk.read("daniel", "list_work") == {"ok": True, "requests": [], "delegations": []}
    closed = desk.read("daniel", "list_work", closed=True)
    assert closed["requests"][0]["note"] == "no" and closed["delegations"][0]["state"] == "withdrawn"
    assert desk.read("quinn", "list_work", closed=True) == {"ok": True, "requests": [], "delegations": []}


def test_one_piece_of_work_is_read_in_full(desk: Reading) -> None:
    work = desk.delegate(constraints=["no macros"])
    question = desk.ask(work, "fees?")
    desk.act("daniel", "answer_question", question=question, text="yes")
    desk.submit(work, desk.draft(work, "Documents/Close.md"), report="r" * 7_000)
    desk.act("daniel", "review", delegation=work, decision="revise", notes="B7")
    shown = desk.read("daniel", "read_work", ref=work)
    assert (shown["goal"], shown["constraints"], shown["round"]) == ("close December", ["no macros"], 2)
    assert shown["questions"] == [{"question": question, "text": "fees?", "answer": "yes"}]
    assert shown["reviews"] == [{"round": 1, "decision": "revise", "notes": "B7"}]
    assert "submitted" not in shown, "of the new round nothing has been handed in"
    assert "revision" not in msgspec.json.encode(shown).decode()
    request = desk.act("elena", "make_request", to="daniel", outcome="o" * 300)["request"]
    assert desk.read("daniel", "read_work", ref=request)["outcome"] == "o" * 300
    for who, name in (("elena", work), ("quinn", request), ("daniel", "none.1")):
        answer = desk.read(who, "read_work", ref=name)
        assert answer == {"ok": False, "error": f"there is no request or delegation {name!r} of yours"}


def test_a_submission_is_shown_with_what_was_left_out(desk: Reading) -> None:
    work = desk.delegate()
    ref = desk.draft(work, "Documents/Close.md")
    desk.submit(work, ref, report="all of it")
    shown = desk.read("daniel", "read_work", ref=work)
    assert shown["submitted"] == [f"{HOME}Documents/Close.md@1"] and shown["report"] == "all of it"
    assert "left_out" not in shown


def test_the_directory_names_those_who_are_here_and_ones_own_clients(desk: Reading) -> None:
    people = {p["id"]: p for p in desk.read("daniel", "list_colleagues")["people"]}
    assert set(people) == {"daniel", "dev", "elena", "nora", "quinn", "maya", "milo"}
    assert people["elena"]["authority"] and "clearance" not in people["elena"] and "session" not in people["elena"]
    desk.happen(MemberRemoved(RIVERBEND, "daniel"))
    assert "maya" not in {p["id"] for p in desk.read("daniel", "list_colleagues")["people"]}


def test_memory_is_read_by_kind_open_records_alone(desk: Reading) -> None:
    kept = desk.act("daniel", "note", record="decision", text="three streams", about="maya", due="2026-01-09")["record"]
    gone = desk.act("daniel", "note", record="decision", text="old")["record"]
    desk.act("daniel", "close_note", record=gone)
    (record,) = desk.read("daniel", "read_memory", record="decision")["records"]
    assert record == {"id": kept, "text": "three streams", "about": "maya", "matter": "", "due": "2026-01-09 17:30",
                      "since": record["since"]}  # fmt: skip
    for who, kind in (("daniel", "commitment"), ("elena", "decision"), ("daniel", "diary")):
        assert desk.read(who, "read_memory", record=kind)["records"] == []


# -- the catalogue -------------------------------------------------------------------------------------------------------


def test_every_reading_tool_is_carried_out_and_every_offered_tool_is_known() -> None:
    assert set(READERS) == set(READING)
    for specs in (PERSON_TOOLS, CLIENT_TOOLS, MEETING_TOOLS, READ_TOOLS):
        names = [s.name for s in specs]
        assert len(set(names)) == len(names) and set(known_tools(specs)) == set(names)


def test_a_look_up_cannot_act_and_a_client_cannot_look_around() -> None:
    assert {s.name for s in READ_TOOLS} == {*READING, "finish"}
    assert {s.name for s in CLIENT_TOOLS} == {"list_files", "open_file", "read_mail", "list_mail", "write_mail", "finish"}
    assert not {"save", "delegate", "search", "post_message"} & {s.name for s in MEETING_TOOLS}


def test_a_tool_that_was_not_offered_does_not_exist(desk: Reading) -> None:
    run = desk.run("maya")
    answer = run.parse(ToolCall("c", "search", '{"words": "x"}'), known_tools(CLIENT_TOOLS))
    assert isinstance(answer, dict) and answer["error"].startswith("there is no tool 'search'; there are: finish, list_files")


MALFORMED = (
    "{", "[]", "[1]", '"x"', '"{}"x', "null", "3", "NaN", '{"words": NaN}', '{"words": 3}', '{"words": "x", "more": 1}', '{"words": "\\ud800"}',
    "[" * 5_000, '{"a":' * 5_000, "9" * 5_000, '{"words": "x"', "'words'", "{words: x}", '{"words": "x"} extra', "\ud800", '"\\"\\""',
)  # fmt: skip


@pytest.mark.parametrize("text", MALFORMED)
def test_malformed_arguments_are_an_answer_and_count(desk: Reading, text: str) -> None:
    run = desk.run("daniel")
    answer = run.parse(ToolCall("c", "search", text), known_tools(PERSON_TOOLS))
    assert isinstance(answer, dict) and answer["ok"] is False
    assert answer["error"].startswith("the arguments of search are not valid: ") and len(answer["error"]) < 300
    seen = [run.hopeless]
    for _ in range(5):
        run.parse(ToolCall("c", "search", text), known_tools(PERSON_TOOLS))
    seen.append(run.hopeless)
    assert not isinstance(run.parse(ToolCall("c", "search", '{"words": "x"}'), known_tools(PERSON_TOOLS)), dict)
    assert [*seen, run.hopeless] == [False, True, False], "one good call makes up for it"


@pytest.mark.parametrize("text", ['"{\\"words\\": \\"x\\"}"', '{"words": "x"}', ' {"words":"x"} '])
def test_arguments_encoded_twice_are_read(desk: Reading, text: str) -> None:
    parsed = desk.run("daniel").parse(ToolCall("c", "search", text), known_tools(PERSON_TOOLS))
    assert not isinstance(parsed, dict) and parsed.words == "x"  # type: ignore[attr-defined]


def test_no_arguments_at_all_are_an_empty_object(desk: Reading) -> None:
    run = desk.run("daniel")
    assert not isinstance(run.parse(ToolCall("c", "list_files", ""), known_tools(PERSON_TOOLS)), dict)
    assert isinstance(run.parse(ToolCall("c", "search", ""), known_tools(PERSON_TOOLS)), dict)


def test_reading_sees_ones_own_acts_of_this_activation_and_of_nobody_else(desk: Reading) -> None:
    """RULE 6."""
    run = desk.run("daniel")
    desk.act("elena", "post_message", to="daniel", text="landed meanwhile")
    made = run.try_act("daniel", "make_request", a.MakeRequest("elena", "look"))
    assert [r["request"] for r in use(run, "daniel", "list_work")["requests"]] == [made["request"]]
    assert use(run, "daniel", "search", words="landed")["hits"] == []
    assert FileRef("x", 1) not in run.opened
