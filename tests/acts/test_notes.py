"""What all acts have in common: how texts, times, people and files are read; and the acts of memory."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.access import NOT_YOURS
from simulator.acts import ACTS, ActContext, Refused, act_tools, cleaned, decide, schema_of
from simulator.acts import arguments as a
from simulator.acts.context import YEARS, token
from simulator.businesstime import calendar_for
from simulator.canonical import REPLACEMENT
from simulator.events import CalendarRules, ClearanceSet, Event, MemoryClosed, MemoryNoted
from simulator.records import INLINE_BYTES
from tests.access.world import OAKRIDGE, RIVERBEND, juniper
from tests.acts.desk import Desk

ZONES = ("Europe/London", "America/New_York", "Asia/Tokyo", "Pacific/Kiritimati", "Pacific/Pago_Pago")


def when(text: str, zone: str = "Europe/London") -> int:
    world = juniper()
    office = msgspec.structs.replace(world.office, calendar=CalendarRules(zone=zone))
    return ActContext(office, "elena", "e.1", "e.1.1", world.now, None, {}).when(text)  # type: ignore[arg-type]


# -- times ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "clock"),
    [("2026-03-02 09:15", "2026-03-02 09:15"), ("2026-03-02T09:15", "2026-03-02 09:15"), (" 2026-03-02 9:15 ", "2026-03-02 09:15"),
     ("2026-03-02 09:15:59", "2026-03-02 09:15"), ("2026-03-02T09:15:00Z", "2026-03-02 09:15"), ("2026-3-2", "2026-03-02 17:30"),
     ("2026-03-02", "2026-03-02 17:30"), ("2026-03-29 01:30", "2026-03-29 02:30"), ("2026-03-02 00:00", "2026-03-02 00:00")],
)  # fmt: skip
def test_times_as_models_write_them(text: str, clock: str) -> None:
    """Local time; a bare date is the end of the working day; a time that the clocks skip is moved forward."""
    assert f"{calendar_for(CalendarRules()).local(when(text)):%Y-%m-%d %H:%M}" == clock


@pytest.mark.parametrize("text", ["", "  ", "\n"])
def test_no_time_is_none(text: str) -> None:
    assert when(text) == 0


@pytest.mark.parametrize(
    "text",
    ["tomorrow", "2026-02-30", "2026-13-01 10:00", "2026-01-05 25:00", "2026-01-05 10:60", "05/01/2026", "2026-01-05 noon",
     "2026-01-05 10h00", "20260105", "2026-W02-1", "0001-01-01", "9999-12-31 23:59", "1970-01-01 00:00", "2200-01-01", "-2026-01-05"],
)  # fmt: skip
def test_what_is_no_time_is_refused_and_never_taken_for_the_end_of_a_day(text: str) -> None:
    with pytest.raises(Refused) as caught:
        when(text)
    assert str(caught.value) == f"{text!r} is no time: write it as YYYY-MM-DD HH:MM, local time"


@given(st.text(alphabet="0123456789-: TZ", max_size=20), st.sampled_from(ZONES))
def test_any_text_is_a_time_that_can_be_shown_or_is_refused(text: str, zone: str) -> None:
    """A due date that no calendar can show would stop the office at the next wake-up that names it."""
    try:
        moment = when(text, zone)
    except Refused:
        return
    shown = calendar_for(CalendarRules(zone=zone)).local(moment)
    assert moment == 0 or shown.year in range(YEARS.start - 1, YEARS.stop + 1)


# -- texts ---------------------------------------------------------------------------------------------------------------

HOSTILE = "a\x00b\x07c\x7f"
CLEAN = f"a{REPLACEMENT}b{REPLACEMENT}c{REPLACEMENT}"


def test_control_characters_from_json_escapes_enter_no_event(desk: Desk) -> None:
    """RULE 20: an escape inside a call's JSON passes the port as plain ASCII; the act cleans what it becomes."""
    desk.act("elena", "schedule", title=HOSTILE, attendees=["daniel"], start="2026-01-06 10:00", agenda=HOSTILE)
    entry = desk.did[0].entry  # type: ignore[attr-defined]
    assert (entry.title, entry.agenda) == (CLEAN, CLEAN)
    desk.act("elena", "note", record="decision", text="x", about=HOSTILE)
    assert desk.did[0].memory.about == CLEAN  # type: ignore[attr-defined]
    work = desk.delegate(goal="x", work=HOSTILE, period=HOSTILE, constraints=[HOSTILE, "fine"])
    made = desk.office.delegations[work]
    assert (made.work, made.period, made.constraints) == (CLEAN, CLEAN, (CLEAN, "fine"))
    desk.act("daniel", "withdraw", ref=work, reason=HOSTILE)
    assert desk.did[0].reason == CLEAN  # type: ignore[attr-defined]
    request = desk.act("elena", "make_request", to="daniel", outcome="x", work=HOSTILE, period=HOSTILE)["request"]
    desk.act("elena", "withdraw", ref=request, reason=HOSTILE)
    for event in desk.did:
        assert b"\\u0000" not in Event(1, 1, "x", "y", event).encode()  # type: ignore[arg-type]
    assert desk.office.requests[request].note.text == CLEAN


def test_only_what_is_unclean_is_touched() -> None:
    args = a.Note("decision", "words\nin two lines\tand more", about="é 漢字 \U0001f600")
    assert cleaned(args) is args
    assert cleaned(a.SendMail(("el\x00ena",), "s", "t")).to == (f"el{REPLACEMENT}ena",)  # type: ignore[attr-defined]


@pytest.mark.parametrize("size", [250, 300, 2_000])
def test_a_long_reason_of_withdrawal_is_a_reference_like_any_long_text(desk: Desk, size: int) -> None:
    """RULE 19: nothing over 256 bytes stays in the event."""
    request = desk.act("elena", "make_request", to="daniel", outcome="x")["request"]
    desk.act("elena", "withdraw", ref=request, reason="é" * (size // 2))
    note = desk.office.requests[request].note
    assert len(note.text.encode()) <= INLINE_BYTES and desk.text(note) == "é" * (size // 2)


# -- arguments and schemas -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(ACTS))
def test_each_act_is_a_tool_whose_schema_needs_no_looking_up(name: str) -> None:
    schema = schema_of(ACTS[name].arguments)
    text = msgspec.json.encode(schema).decode()
    assert schema["type"] == "object" and "$ref" not in text and "$defs" not in text
    assert schema["additionalProperties"] is False
    assert set(schema["properties"]) == set(ACTS[name].arguments.__struct_fields__)


def test_whose_tools_are_whose() -> None:
    staff, client, meeting = ({t.name for t in act_tools(w)} for w in ("staff", "client", "meeting"))
    assert client == {"write_mail"} and not client & staff
    assert meeting == {"schedule", "make_request", "note"} < staff
    assert staff | client == set(ACTS) - {"receive"}, "keeping what came from outside is for a person at a desk, never a model"
    assert all(t.description and "\n" not in t.description for t in act_tools("staff"))


def _calls() -> dict[str, dict[str, Any]]:
    return {
        "post_message": {"to": "elena", "text": "x"}, "send_mail": {"to": ["elena"], "subject": "s", "text": "t"},
        "schedule": {"title": "t", "attendees": ["elena"], "start": "2026-01-06 10:00"},
        "save": {"path": "a", "text": "x"}, "note": {"record": "decision", "text": "x"},
        "write_mail": {"to": ["elena"], "subject": "s", "text": "t"},
        "make_request": {"to": "elena", "outcome": "x"}, "delegate": {"goal": "x"},
    }  # fmt: skip


@pytest.mark.parametrize("name", sorted(_calls()))
def test_an_unknown_argument_is_an_error_that_is_named(name: str) -> None:
    args = _calls()[name]
    assert msgspec.convert(args, ACTS[name].arguments) is not None
    with pytest.raises(msgspec.ValidationError, match="sudo"):
        msgspec.convert({**args, "sudo": True}, ACTS[name].arguments)


@pytest.mark.parametrize(
    ("name", "changed"),
    [("schedule", {"minutes": 4}), ("schedule", {"minutes": 481}), ("schedule", {"minutes": "30"}),
     ("schedule", {"event_kind": "rhythm"}), ("schedule", {"title": "t" * 2_001}), ("post_message", {"text": "x" * 60_001}),
     ("post_message", {"asks": 1}), ("save", {"text": "x" * 400_001}), ("note", {"record": "diary"}),
     ("send_mail", {"to": "elena"}), ("send_mail", {"to": ["x" * 501]}),
     ("write_mail", {"attachments": [{"name": "n" * 201}]}), ("write_mail", {"attachments": [{"name": "n", "text": "x" * 2_000_001}]}),
     ("write_mail", {"attachments": [{"name": "n", "base64": "x" * 4_000_001}]}), ("write_mail", {"attachments": [{"name": "n", "url": "x"}]}),
     ("write_mail", {"attachments": ["n"]}), ("make_request", {"outcome": None})],
)  # fmt: skip
def test_sizes_and_kinds_are_bounded_by_the_schema(name: str, changed: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({**_calls()[name], **changed}, ACTS[name].arguments)


def test_numbers_that_would_pass_as_text_or_truth_are_not_taken(desk: Desk) -> None:
    with pytest.raises(msgspec.ValidationError):
        desk.decide("elena", "schedule", {**_calls()["schedule"], "minutes": 30.5}, "elena.1.1")
    with pytest.raises(msgspec.ValidationError):
        desk.decide("elena", "schedule", {**_calls()["schedule"], "attendees": ["elena", 3]}, "elena.1.1")


def test_what_an_act_rests_on_is_written_down_with_its_token(desk: Desk) -> None:
    """RULE 18."""
    request = desk.act("elena", "make_request", to="daniel", outcome="x")["request"]
    ctx = ActContext(desk.office, "daniel", "d.1", "d.1.1", desk.world.now, desk.blobs, {})
    decide(ctx, "accept_request", a.AcceptRequest(request))
    assert ctx.relied == [("request", request, "open")]
    assert token(desk.office, "request", "none") == token(desk.office, "delegation", "none") == "absent"
    assert token(desk.office, "entry", "none") == token(desk.office, "file", "none") == "absent"
    with pytest.raises(ValueError, match="no token"):
        token(desk.office, "weather", "today")


# -- memory --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("record", ["commitment", "discussion", "decision", "colleague", "question"])
def test_each_kind_of_record_is_kept_for_its_holder(desk: Desk, record: str) -> None:
    answer = desk.act("daniel", "note", record=record, text="send Maya the list", about="maya", matter="Riverbend close",
                      due="2026-01-09")  # fmt: skip
    (did,) = desk.did
    assert isinstance(did, MemoryNoted)
    m = did.memory
    assert answer == {"record": m.id}
    assert (m.holder, m.kind, m.about, m.matter, m.relied) == ("daniel", record, "maya", RIVERBEND, ())
    assert desk.office.by_holder["daniel"] == (m.id,)
    assert (f"due:{m.id}" in desk.office.timers) == (record == "commitment")


def test_what_was_opened_is_what_a_record_rests_on(desk: Desk) -> None:
    """RULE 27."""
    desk.opened = (desk.world.save("daniel", "home:daniel", "a.txt"),)
    record = desk.act("daniel", "note", record="decision", text="three streams")["record"]
    assert desk.office.memories[record].relied == desk.opened


def test_nothing_is_no_record_and_a_matter_must_be_ones_own(desk: Desk) -> None:
    assert desk.refused("daniel", "note", record="decision", text=" ") == "there is nothing to note"
    said = {
        desk.refused("daniel", "note", record="decision", text="x", matter=m).replace(m, "M") for m in (OAKRIDGE, "none")
    }
    assert said == {"there is no matter 'M' that you work on"}


def test_closing_ends_the_reminder_and_happens_once(desk: Desk) -> None:
    record = desk.act("daniel", "note", record="commitment", text="x", due="2026-01-09")["record"]
    assert desk.act("daniel", "close_note", record=record, note="n" * 600) == {"closed": record}
    (did,) = desk.did
    assert did == MemoryClosed(record, "daniel", "n" * 500)
    assert f"due:{record}" not in desk.office.timers and "daniel" not in desk.office.by_holder
    assert desk.refused("daniel", "close_note", record=record) == "that record is closed"
    assert desk.refused("elena", "close_note", record=record) == NOT_YOURS == desk.refused("elena", "close_note", record="x")


def test_a_past_due_date_of_a_commitment_reminds_at_once(desk: Desk) -> None:
    record = desk.act("daniel", "note", record="commitment", text="x", due="2025-12-01")["record"]
    assert desk.office.timers[f"due:{record}"].at == desk.office.now


def test_a_commitment_is_kept_whatever_happens_to_ones_clearance(desk: Desk) -> None:
    record = desk.act("daniel", "note", record="commitment", text="x")["record"]
    desk.happen(ClearanceSet("daniel", "public"))
    assert desk.act("daniel", "close_note", record=record)
