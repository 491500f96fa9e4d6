"""An independent CalDAV client adds, moves, answers and deletes events, and reads ours back."""

from __future__ import annotations

import json
import os
import subprocess
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from services.carriers.caldav.reading import Parsed
from simulator.arriving import EntryArrived
from simulator.businesstime import calendar_for
from simulator.events import CalendarRules
from simulator.recurrence import occurrences_between
from tests.carriers.calendar.cast import Desk, at, entries, entry, ics, out, password_of

ROOT = Path(__file__).resolve().parents[3]
PYTHON = ROOT / ".clients" / "bin" / "python"
SCRIPT = Path(__file__).with_name("outside.py")


@pytest.fixture(autouse=True)
def _client() -> None:
    if not PYTHON.exists():
        message = "the independent clients are not installed: `make clients`"
        if os.environ.get("OFFICETOWN_TEST_CLIENTS"):
            pytest.fail(message, pytrace=False)
        pytest.skip(message)


def program(desk: Desk, user: str, *steps: dict[str, Any], calendar: str = "office-2026") -> list[Any]:
    """Let the program of `user` do something; return what it saw."""
    given = {"url": desk.url, "user": user, "password": password_of(user), "calendar": calendar, "steps": steps}
    done = subprocess.run(
        [str(PYTHON), str(SCRIPT)], input=json.dumps(given), capture_output=True, text=True, timeout=60, check=False,
        env={"PATH": os.environ["PATH"], "NO_PROXY": "*"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    answers: list[Any] = json.loads(done.stdout)["answers"]
    return answers


def test_it_finds_what_the_office_wrote(desk: Desk) -> None:
    desk.carrier.put(out(answers=(("maya", "tentative"),)))
    desk.carrier.put(out(11, name="elena.1.2", title="Close; Ünï, \\N", cancelled=True, start=at("2026-07-01")))
    ((first, second),) = program(desk, "tom", {"do": "list"})
    assert first["summary"] == "Plan the audit" and first["start"] == "2026-01-08T10:00:00+00:00"
    assert first["partstat"] == {
        "mailto:elena@juniper.example": "ACCEPTED", "mailto:maya@juniper.example": "TENTATIVE",
        "mailto:Tom@juniper.example": "NEEDS-ACTION",
    }  # fmt: skip
    assert second["summary"] == "Close; Ünï, \\N" and second["status"] == "CANCELLED"
    assert second["start"] == "2026-07-01T11:00:00+01:00"


def test_a_series_stands_at_its_hour_in_it_over_the_change_of_the_clocks(tmp_path: Path) -> None:
    business = calendar_for(CalendarRules(holidays=("2026-04-03",)))
    with Desk(tmp_path, business=business) as desk:
        item = entry(start=at("2026-03-20", "09:15"), rule="FREQ=WEEKLY;BYDAY=FR")
        desk.carrier.put(out(start=item.start, rule=item.rule))
        (shown,) = program(
            desk, "maya", {"do": "between", "start": "2026-03-15T00:00:00+00:00", "end": "2026-05-01T12:00:00+00:00"}
        )
        held = occurrences_between(item, at("2026-03-15"), at("2026-05-01", "12:00"), business)
        assert [int(datetime.fromisoformat(text).timestamp()) for text in shown] == held
        assert at("2026-04-03", "08:15") not in held and len(held) == 6


def test_what_it_adds_comes_in_for_the_right_person_at_the_right_time(desk: Desk) -> None:
    step = {"do": "new", "start": "2026-06-09T14:00:00+02:00", "end": "2026-06-09T14:45:00+02:00", "summary": "Call the bank",
            "uid": "call@home"}  # fmt: skip
    program(desk, "tom", step)
    found = desk.carrier.poll("")
    assert entries(found) == [
        EntryArrived(
            "cal:tom:call@home", "tom", "created", "", "Call the bank", at("2026-06-09", "12:00"), 45, "", "", ()
        )
    ]
    assert not found.remarks


def test_a_whole_life_of_an_event_that_it_made(desk: Desk) -> None:
    """Added with guests, taken over by the office, answered by a guest, moved, and deleted: one item throughout."""
    text = ics(
        "plan@home", "DTSTART;TZID=Europe/London:20260609T140000", "DTEND;TZID=Europe/London:20260609T150000",
        "SUMMARY:Plan", "ORGANIZER:mailto:elena@juniper.example", "ATTENDEE;PARTSTAT=NEEDS-ACTION:mailto:tom@juniper.example",
    )  # fmt: skip
    program(desk, "elena", {"do": "add", "ics": text})
    first = desk.carrier.poll("")
    (made,) = entries(first)
    assert made.attendees == ("tom",)
    state = out(
        20,
        made.key,
        "elena.in1.1",
        title="Plan",
        agenda="",
        attendees=made.attendees,
        start=made.start,
        minutes=made.minutes,
    )
    desk.carrier.put(state)

    ((copy,),) = program(desk, "tom", {"do": "list"})
    assert copy["uid"] == "plan@home"
    program(desk, "tom", {"do": "answer", "uid": "plan@home", "who": "tom@juniper.example", "partstat": "ACCEPTED"})
    second = desk.carrier.poll(first.cursor)
    (answer,) = entries(second)
    assert (answer.person, answer.change, answer.entry) == ("tom", "accepted", "elena.in1.1")
    desk.carrier.put(out(21, made.key, "elena.in1.1", title="Plan", agenda="", attendees=("tom",), start=made.start,
                         minutes=60, answers=(("tom", "accepted"),)))  # fmt: skip

    program(desk, "elena", {"do": "move", "uid": "plan@home", "start": "2026-06-10T09:00:00+00:00"})
    third = desk.carrier.poll(second.cursor)
    (moved,) = entries(third)
    assert (moved.person, moved.change, moved.entry) == ("elena", "moved", "elena.in1.1")
    assert (moved.start, moved.minutes) == (at("2026-06-10", "09:00"), 60)
    desk.carrier.put(
        out(22, made.key, "elena.in1.1", title="Plan", agenda="", attendees=("tom",), start=moved.start, minutes=60)
    )

    program(desk, "elena", {"do": "delete", "uid": "plan@home"})
    (gone,) = entries(desk.carrier.poll(third.cursor))
    assert (gone.person, gone.change, gone.entry) == ("elena", "deleted", "elena.in1.1")
    assert len({made.key, answer.key, moved.key, gone.key}) == 4


def test_it_moves_and_answers_the_offices_own_events(desk: Desk) -> None:
    desk.carrier.put(out())
    cursor = desk.carrier.poll("").cursor
    uid = "elena.1.1@juniper-1.officetown"
    program(desk, "elena", {"do": "move", "uid": uid, "start": "2026-01-09T10:00:00+00:00"})
    program(desk, "maya", {"do": "answer", "uid": uid, "who": "maya@juniper.example", "partstat": "DECLINED"})
    found = {a.person: a for a in entries(desk.carrier.poll(cursor))}
    assert found["elena"].change == "moved" and found["elena"].start == at("2026-01-09")
    assert found["maya"].change == "declined"
    assert {a.entry for a in found.values()} == {"elena.1.1"}
    desk.carrier.put(out(11, start=at("2026-01-09"), answers=(("maya", "declined"),)))
    copy = desk.carrier._reader(desk.text("elena"))
    assert isinstance(copy, Parsed) and copy.revision == 11
