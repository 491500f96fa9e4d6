"""The same acts and tools in a running office: what a model writes wrongly stops nobody, and what is called off stays off."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from simulator.conversation import ModelResponse, ToolCall
from simulator.engine.history import as_of
from simulator.engine.record import dump, restore
from simulator.events import CalendarRules, EntryCancelled, EntryMoved, MeetingEnded, MemoryNoted, OccurrenceBegan
from tests.rules.desk import (
    FINISH,
    begins,
    call,
    calls,
    clock,
    heard,
    meeting,
    of_kind,
    opening,
    rhythm,
    staff,
    world,
)


def raw(*pairs: tuple[str, str]) -> ModelResponse:
    """An answer with calls as a model wrote them, JSON and all, that finishes."""
    written = tuple(ToolCall(f"c{n}", name, text) for n, (name, text) in enumerate(pairs))
    return ModelResponse(tool_calls=(*written, *FINISH.tool_calls), finish="tool_calls")


def told_of(model: Any, session: str = "session-ada") -> list[str]:
    """The tool results somebody was shown on their longest day."""
    days = [[m.content for m in r.messages if m.role == "tool"] for r in model.asked if r.session == session]
    return max(days, key=len)


@pytest.mark.parametrize("zone", ["Europe/London", "America/New_York", "Asia/Tokyo"])
def test_a_date_that_no_calendar_can_show_stops_no_office(zone: str) -> None:
    """RULE 37: whatever a model writes is answered; it is asked again the next day, and its prompt can be made."""
    steps = [
        calls(
            call("see_calendar", start="tomorrow"), call("see_calendar", start="9999-12-31", days=31),
            call("free_busy", people=["ben"], day="0001-01-01"), call("free_busy", people=["ben"], day="9999-12-31"),
            call("note", record="commitment", text="one day", due="9999-12-31 23:59"),
            call("note", record="commitment", text="long ago", due="0001-01-01 00:00"),
            call("make_request", to="ben", outcome="look", due="9999-12-31"),
            call("schedule", title="t", attendees=["ben"], start="9999-12-31 23:59"),
        ),
        call("note", record="commitment", text="soon", due="2026-01-07"),
        FINISH,
    ]  # fmt: skip
    rules = CalendarRules(zone=zone)
    bench, model = world(opening(staff("ada", "ben"), entries=[rhythm("r", "ada", clock(16))], rules=rules),
                         {("session-ada", begins("r")): steps})  # fmt: skip
    state = bench.run(clock(12, 0, 3))
    answers = told_of(model)
    assert sum("is no date: write it as YYYY-MM-DD" in a for a in answers) == 4
    assert sum("is no time: write it as YYYY-MM-DD HH:MM" in a for a in answers) == 4
    ((_, noted),) = of_kind(bench, MemoryNoted)
    assert noted.memory.due and state.requests.get("x") is None
    assert len([r for r in model.asked if r.session == "session-ada"]) > 4, "she was woken on the next days too"


@pytest.mark.parametrize("start", ["", "2026-01-05 15:00"])
def test_a_meeting_called_off_while_it_waits_is_not_held_after_all(start: str) -> None:
    """RULE 17: its organizer is busy at ten, and what she lands with moves or cancels it."""
    busy = [call("list_work"), call("list_work"), call("move", event="kick", start=start), FINISH]
    bench, _ = world(opening(staff("ada", "ben"), entries=[rhythm("r", "ada", clock(9, 50)), meeting("kick", "ada", ["ben"], clock(10))]),
                     {("session-ada", begins("r")): busy})  # fmt: skip
    state = bench.run(clock(14))
    ((began, _),) = of_kind(bench, OccurrenceBegan)[1:] or of_kind(bench, OccurrenceBegan)
    assert began.sim_time <= clock(10)
    assert len(of_kind(bench, EntryMoved if start else EntryCancelled)) == 1
    assert of_kind(bench, MeetingEnded) == [] and "meet:kick" not in state.timers
    after = bench.run(clock(17))
    held = [p.meeting.state for _, p in of_kind(bench, MeetingEnded)]
    assert held == (["held"] if start else []) and after.entries["kick"].cancelled is not bool(start)


def test_escapes_in_a_calls_json_bring_no_control_character_into_the_log() -> None:
    """RULE 20: NUL as `\\u0000` is plain ASCII on the wire; it must not be a NUL in the record."""
    nul = "a\\u0000b\\u001bc"
    response = raw(
        ("schedule", f'{{"title":"{nul}","attendees":["ben"],"start":"2026-01-06 10:00","agenda":"{nul}"}}'),
        ("delegate", f'{{"goal":"{nul}","deliverables":["a.md"],"work":"{nul}","period":"{nul}","constraints":["{nul}"]}}'),
        ("make_request", f'{{"to":"ben","outcome":"{nul}","work":"{nul}"}}'),
        ("note", f'{{"record":"decision","text":"{nul}","about":"{nul}"}}'),
        ("post_message", f'{{"to":"ben","text":"{nul}"}}'), ("send_mail", f'{{"to":["ben"],"subject":"{nul}","text":"{nul}"}}'),
    )  # fmt: skip
    bench, model = world(opening(staff("ada", "ben"), entries=[rhythm("r", "ada", clock(10))]), {("session-ada", begins("r")): [response]})
    bench.run(clock(10, 30))
    assert len(of_kind(bench, MemoryNoted)) == 1
    for data in bench.log():
        assert b"\\u0000" not in data and b"\\u001b" not in data
    for request in model.asked:
        assert not any("\x00" in m.content or "\x1b" in m.content for m in request.messages)


def test_two_attachments_of_one_name_leave_no_file_with_two_first_versions() -> None:
    """RULE 28: paths are unique within a space; a client who sends two of a name is told, and sends them again."""
    twice = {"to": ["ada"], "subject": "s", "text": "t", "period": "2026-01",
             "attachments": [{"name": "a.csv", "text": "1"}, {"name": "A.csv", "text": "2"}]}  # fmt: skip
    once = {**twice, "attachments": [{"name": "a.csv", "text": "1"}, {"name": "b.csv", "text": "2"}]}
    steps = [call("write_mail", **twice), calls(call("write_mail", **once), call("write_mail", **once)), FINISH]
    bench, model = world(opening(staff("ada", "ben"), entries=[rhythm("r", "maya", clock(10))]), {("session-maya", begins("r")): steps})
    state = bench.run(clock(12))
    assert any("two attachments are called 'A.csv'" in a for a in told_of(model, "session-maya"))
    assert sorted(state.by_path.values()) == sorted(state.files)
    for file in state.files.values():
        assert [v.number for v in file.versions] == [1, 2]


def test_an_activation_sees_and_lands_what_it_did_in_the_order_it_did_it() -> None:
    """RULES 8 and 18: ids count the acts that were done; a refused one takes none."""
    steps = [
        calls(
            call("save", path="../x", text="refused"), call("save", path="a.md", text="one"), call("accept", file="a.md"),
            call("save", path="a.md", text="two"), call("share", file="a.md", audience=["ben"]),
            call("share", file="a.md@1", audience=["ben"]),
        ),
        FINISH,
    ]  # fmt: skip
    bench, model = world(opening(staff("ada", "ben"), entries=[rhythm("r", "ada", clock(10))]), {("session-ada", begins("r")): steps})
    state = bench.run(clock(12))
    results = [msgspec.json.decode(a) for a in told_of(model)]
    assert [r["ok"] for r in results if r != {"ok": True}] == [False, True, True, True, False, True]
    (file,) = state.files.values()
    assert file.id.endswith(".1") and [v.number for v in file.versions] == [1, 2]
    (grant,) = state.grants.values()
    assert (grant.version, grant.audience, grant.id) == (1, "person:ben", f"{file.id[:-2]}.4.g0")
    assert heard(model, "session-ada")[0] and restore(dump(as_of(bench.journal))) == state
