"""Whatever lies in a calendar is read, or it is said why not. It is never an error."""

from __future__ import annotations

import base64
import time
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from services.carriers.caldav.events import Writer
from services.carriers.caldav.reading import LARGEST, Parsed, Reader, Unread
from simulator.businesstime import load_zone
from tests.carriers.calendar.cast import ELENA, PEOPLE, at, ics, out

READ = Reader(load_zone("Europe/London"), opens=540)


def read(*lines: str, uid: str = "u@x", before: str = "") -> Parsed:
    found = READ(ics(uid, *lines, before=before))
    assert isinstance(found, Parsed), found
    return found


def unread(text: str) -> str:
    found = READ(text, "thing.ics")
    assert isinstance(found, Unread), found
    return found.why


# -- times ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lines", "start", "minutes"),
    [
        (("DTSTART:20260701T100000Z", "DTEND:20260701T113000Z"), at("2026-07-01", "10:00"), 90),
        (("DTSTART;TZID=Europe/London:20260701T100000", "DURATION:PT45M"), at("2026-07-01", "09:00"), 45),
        (("DTSTART;TZID=America/New_York:20260701T100000", "DURATION:P1D"), at("2026-07-01", "14:00"), 1440),
        (("DTSTART;TZID=W. Europe Standard Time:20260701T100000",), at("2026-07-01", "08:00"), 0),
        (('DTSTART;TZID="Europe/Paris":20260701T100000',), at("2026-07-01", "08:00"), 0),
        (("DTSTART;TZID=UTC+02:00:20260701T100000",), at("2026-07-01", "08:00"), 0),
        (('DTSTART;TZID="UTC+05:30":20260701T100000',), at("2026-07-01", "04:30"), 0),
        (("DTSTART;TZID=GMT-0530:20260701T100000",), at("2026-07-01", "15:30"), 0),
        (("DTSTART:20260701T100000",), at("2026-07-01", "09:00"), 0),
        (("DTSTART;VALUE=DATE:20260701",), at("2026-07-01", "08:00"), 1440),
        (("DTSTART;VALUE=DATE:20260701", "DTEND;VALUE=DATE:20260704"), at("2026-07-01", "08:00"), 3 * 1440),
        (("DTSTART:20260701T100000Z", "DTEND:20260701T090000Z"), at("2026-07-01"), 0),
        (("DTSTART:20260701T100000Z", "DURATION:-PT1H"), at("2026-07-01"), 0),
        (("DTSTART:20260701T100000Z", "DTEND:20990101T100000Z"), at("2026-07-01"), 366 * 1440),
        (("dtstart;value=date-time:20260701T100000z", "dtend:20260701T103000z"), at("2026-07-01"), 30),
    ],
)  # fmt: skip
def test_times_are_read_as_programs_write_them(lines: tuple[str, ...], start: int, minutes: int) -> None:
    """Zoned, floating, all day, with an end, a length, or neither."""
    essence = read(*lines).essence
    assert (essence.start, essence.minutes) == (start, minutes)


def test_a_zone_nobody_knows_is_read_as_the_offices_and_said() -> None:
    assert "UTC+99" in read("DTSTART;TZID=UTC+99:20260701T100000").notes[0]
    found = read("DTSTART;TZID=Mars/Olympus:20260701T100000")
    assert found.essence.start == at("2026-07-01", "09:00")
    assert "Mars/Olympus" in found.notes[0]


def test_a_zone_with_a_definition_beside_it_is_read_by_that() -> None:
    zone = "\r\n".join((
        "BEGIN:VTIMEZONE", "TZID:Ours", "BEGIN:STANDARD", "DTSTART:19701025T030000", "TZOFFSETFROM:+0500",
        "TZOFFSETTO:+0400", "RRULE:FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU", "END:STANDARD", "BEGIN:DAYLIGHT",
        "DTSTART:19700329T020000", "TZOFFSETFROM:+0400", "TZOFFSETTO:+0500", "RRULE:FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU",
        "END:DAYLIGHT", "END:VTIMEZONE", "",
    ))  # fmt: skip
    assert read("DTSTART;TZID=Ours:20260701T100000", before=zone).essence.start == at("2026-07-01", "05:00")
    assert read("DTSTART;TZID=Ours:20260101T100000", before=zone).essence.start == at("2026-01-01", "06:00")


def test_a_definition_cannot_change_what_a_known_zone_is() -> None:
    """RULE 37: zones come from the pinned database."""
    lie = (
        "BEGIN:VTIMEZONE\r\nTZID:Europe/London\r\nBEGIN:STANDARD\r\nDTSTART:16010101T000000\r\nTZOFFSETFROM:+1200\r\n"
        "TZOFFSETTO:+1200\r\nEND:STANDARD\r\nEND:VTIMEZONE\r\n"
    )
    assert read("DTSTART;TZID=Europe/London:20260101T100000", before=lie).essence.start == at("2026-01-01")


@pytest.mark.parametrize("year", ["1601", "0001", "1989", "2100", "9999"])
def test_years_that_no_office_knows_are_said(year: str) -> None:
    why = unread(ics("u", f"DTSTART:{year}0101T100000Z"))
    assert str(int(year)) in why


# -- what is no event -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "no calendar object"),
        ("<html>no</html>", "no calendar object"),
        (ics("u", "DTSTART:20260101T100000Z").replace("VEVENT", "VTODO"), "a task"),
        (ics("u", "DTSTART:20260101T100000Z").replace("VEVENT", "VJOURNAL"), "a journal"),
        (ics("u", "SUMMARY:When?"), "when it begins"),
        (ics("u", "DTSTART:yesterday"), "cannot be read"),
        (ics("u", "DTSTART:20260101T100000Z", "DURATION:soon"), "cannot be read"),
        (ics("u", "DTSTART:20260101T100000Z", "RECURRENCE-ID:20260101T100000Z"), "single occurrences"),
        (ics("u" * 600, "DTSTART:20260101T100000Z"), "UID"),
        (ics("u", "DTSTART:20260101T100000Z", "DESCRIPTION:" + "x" * LARGEST), "larger"),
        (ics("u", "DTSTART:20260101T100000Z", "DESCRIPTION:" + "x" * 300_000), "larger"),
        ("BEGIN:VEVENT\r\n" * 10_000, "larger"),
        ("BEGIN:A\r\n" * 100, "nested"),
    ],
)  # fmt: skip
def test_what_is_no_event_is_said_in_words(text: str, word: str) -> None:
    assert word in unread(text)


def test_an_event_without_a_uid_is_known_by_its_file() -> None:
    text = ics("u", "DTSTART:20260101T100000Z").replace("UID:u\r\n", "")
    found = READ(text, "thing.ics")
    assert isinstance(found, Parsed) and found.uid == "file:thing.ics"


def test_of_several_events_in_one_file_the_first_is_read() -> None:
    second = ics("v", "DTSTART:20270101T100000Z").split("BEGIN:VEVENT")[1].split("END:VEVENT")[0]
    text = ics("u", "DTSTART:20260101T100000Z").replace(
        "END:VCALENDAR", f"BEGIN:VEVENT{second}END:VEVENT\r\nEND:VCALENDAR"
    )
    found = READ(text)
    assert isinstance(found, Parsed)
    assert found.uid == "u" and found.essence.start == at("2026-01-01") and "several" in found.notes[0]


def test_single_occurrences_that_were_changed_are_counted() -> None:
    one = ics("u@x", "DTSTART:20260108T110000Z", "RECURRENCE-ID:20260108T100000Z")
    inside = one.split("BEGIN:VEVENT")[1].split("END:VEVENT")[0]
    text = ics("u@x", "DTSTART:20260101T100000Z", "RRULE:FREQ=WEEKLY").replace(
        "END:VCALENDAR", f"BEGIN:VEVENT{inside}END:VEVENT\r\nEND:VCALENDAR"
    )
    found = READ(text)
    assert isinstance(found, Parsed) and found.essence.single == 1 and not found.notes


def test_days_left_out_are_instants_however_they_are_written() -> None:
    found = read(
        "DTSTART;TZID=Europe/London:20260701T100000", "RRULE:FREQ=DAILY",
        "EXDATE;TZID=Europe/London:20260702T100000,20260703T100000", "EXDATE:20260704T090000Z",
        "EXDATE;VALUE=DATE:20260705", "RDATE;VALUE=PERIOD:20260801T090000Z/PT1H",
    )  # fmt: skip
    assert found.essence.left_out == tuple(at(f"2026-07-0{d}", "09:00") for d in (2, 3, 4, 5))
    assert found.essence.added == (at("2026-08-01", "09:00"),)


def test_people_are_addresses_whatever_surrounds_them() -> None:
    found = read(
        "DTSTART:20260101T100000Z", "ORGANIZER;CN=E:MAILTO:Elena@Juniper.example",
        'ATTENDEE;CN="T;o:m";PARTSTAT=TENTATIVE:mailto:tom@juniper.example',
        "ATTENDEE;EMAIL=maya@juniper.example;PARTSTAT=NEEDS-ACTION:/principals/maya/",
        "ATTENDEE;CUTYPE=ROOM:mailto:room@juniper.example", "ATTENDEE:mailto:elena@juniper.example", "ATTENDEE:",
    )  # fmt: skip
    assert found.essence.organizer == "elena@juniper.example"
    assert found.essence.attendees == ("maya@juniper.example", "tom@juniper.example")
    assert found.essence.answers == (("tom@juniper.example", "tentative"),)


def test_texts_keep_what_they_say() -> None:
    found = read(
        "DTSTART:20260101T100000Z", "SUMMARY:a\\, b\\; c\\\\N d\\ne", "DESCRIPTION;LANGUAGE=en:1\\n2\\N3 \\\\n\\x  ",
    )  # fmt: skip
    assert found.essence.title == "a, b; c\\N d e"
    assert found.essence.agenda == "1\n2\n3 \\nx"


def test_broken_lines_are_passed_over_and_counted() -> None:
    found = read("DTSTART:20260101T100000Z", "SUMMARY", "; ;:;", "SUMMARY:\ud800\x00fine\x07", "ATTENDEE;;;===:x")
    assert found.essence.title.endswith("fine\ufffd")
    assert any("passed over" in note for note in found.notes)


def test_what_somebody_forged_into_our_own_lines_is_nothing() -> None:
    for value in ("!!!!", base64.urlsafe_b64encode(b"[1]").decode(), base64.urlsafe_b64encode(b"\xff").decode(), "é"):
        found = read("DTSTART:20260101T100000Z", f"X-OFFICETOWN-OVERTAKEN:{value}", "X-OFFICETOWN-REVISION:9e99999")
        assert found.overtaken == () and found.revision == 0


# -- anything at all --------------------------------------------------------------------------------------------------

PIECES = st.sampled_from([
    "BEGIN:VCALENDAR", "END:VCALENDAR", "BEGIN:VEVENT", "END:VEVENT", "BEGIN:VTIMEZONE", "END:VTIMEZONE", "BEGIN:VALARM",
    "END:VALARM", "TZID:X", "BEGIN:STANDARD", "END:STANDARD", "TZOFFSETTO:+9999", "UID:a", "UID:", "DTSTART:20260101T100000Z",
    "DTSTART;TZID=X:20260101T100000", "DTSTART;VALUE=DATE:20260230", "DTEND:00000000T000000", "DTEND:20260101T240000",
    "DURATION:P99999999999999D", "DURATION:PT", "RRULE:FREQ=SECONDLY;COUNT=1000000000", "RRULE:;;;=", "EXDATE:,,,",
    "RDATE;VALUE=PERIOD:/", "RECURRENCE-ID;RANGE=THISANDFUTURE:20260101T100000Z", "SUMMARY:\ud800", " folded", "\tfolded",
    "ATTENDEE;CN=\"a:mailto:x", "ORGANIZER:mailto:", "STATUS:CANCELLED", "SEQUENCE:-1", "SEQUENCE:²", "", "\x00", ":",
    "X-OFFICETOWN-ENTRY:e", "X-OFFICETOWN-OFFICE:juniper-1", "X-OFFICETOWN-HASH:--", "X-OFFICETOWN-OVERTAKEN:W10=",
])  # fmt: skip


@given(st.lists(st.one_of(PIECES, st.text(max_size=60)), max_size=30), st.sampled_from(["\r\n", "\n", "\r"]))
@example(["BEGIN:VEVENT", "UID:a", "DTSTART;TZID=X:20260101T100000"], "\r\n")
def test_any_lines_at_all_are_read_or_refused(lines: list[str], ending: str) -> None:
    assert isinstance(READ(ending.join(lines), "x.ics"), Parsed | Unread)


@settings(max_examples=30)
@given(st.data())
def test_a_copy_of_ours_cut_and_mixed_up_is_read_or_refused(data: st.DataObject) -> None:
    writer = Writer(PEOPLE)
    text = writer.calendar([writer.event(out(), ELENA)]).decode()
    for _ in range(data.draw(st.integers(1, 5))):
        place = data.draw(st.integers(0, len(text)))
        cut: Any = data.draw(st.integers(0, 40))
        text = text[:place] + data.draw(st.text(max_size=5)) + text[place + cut :]
    assert isinstance(READ(text), Parsed | Unread)


def test_hostile_sizes_take_no_time() -> None:
    """Ten thousand occurrences, a hundred thousand lines, a rule without end: answered at once."""
    before = time.process_time()
    many = ics("u", "DTSTART:20260101T100000Z", *(f"X-{n}:1" for n in range(19_000)))
    READ(many)
    READ("\r\n" * 900_000)
    READ("BEGIN:VEVENT\r\n" + "X;" * 90_000)
    READ(ics("u", "DTSTART:20260101T100000Z", "RRULE:FREQ=SECONDLY", "RRULE:FREQ=DAILY;" + "BYDAY=MO;" * 10_000))
    READ(ics("u", "DTSTART:20260101T100000Z", "EXDATE:" + ",".join(["20260101T100000Z"] * 10_000)))
    assert time.process_time() - before < 5
