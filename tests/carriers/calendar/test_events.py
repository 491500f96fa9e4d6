"""An office's event becomes an iCalendar object, and is recognized in it again."""

from __future__ import annotations

import io
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from dateutil import tz
from dateutil.rrule import rrulestr
from hypothesis import given
from hypothesis import strategies as st
from icalendar import Calendar

from services.carriers.caldav.essence import (
    PARTS,
    canonical_rule,
    differing,
    entry_of_uid,
    essence_of,
    marks,
    resource_of,
    tidy,
    tidy_line,
    uid_of,
    uid_of_key,
)
from services.carriers.caldav.events import Writer
from services.carriers.caldav.reading import Parsed, Reader
from services.carriers.caldav.zones import definition_of, known_zone, zone_called
from simulator.businesstime import calendar_for, load_zone
from simulator.carrying import EntryOut
from simulator.events import CalendarRules
from simulator.recurrence import occurrences_between
from tests.carriers.calendar.cast import CLIENT, DAY, ELENA, MAYA, MONDAY, PEOPLE, TOM, at, entry, ics, out

LONDON = load_zone("Europe/London")
WRITER = Writer(PEOPLE)
READ = Reader(LONDON)


def written(item: EntryOut, owner: Any = ELENA, writer: Writer = WRITER, **more: Any) -> str:
    return writer.calendar([writer.event(item, owner, **more)]).decode()


def read(text: str) -> Parsed:
    found = READ(text)
    assert isinstance(found, Parsed), found
    return found


def unfolded(text: str) -> list[str]:
    return text.replace("\r\n ", "").splitlines()


# -- what is written --------------------------------------------------------------------------------------------------


def test_an_event_says_who_meets_when_about_what() -> None:
    lines = unfolded(written(out(answers=(("tom", "declined"),))))
    assert "UID:elena.1.1@juniper-1.officetown" in lines
    assert "DTSTART;TZID=Europe/London:20260108T100000" in lines
    assert "DTEND;TZID=Europe/London:20260108T104500" in lines
    assert "SUMMARY:Plan the audit" in lines
    assert "DESCRIPTION:1. Scope\\n2. People" in lines
    assert "STATUS:CONFIRMED" in lines
    assert "TRANSP:OPAQUE" in lines
    assert "SEQUENCE:10" in lines
    assert "X-OFFICETOWN-ENTRY:elena.1.1" in lines
    assert "X-OFFICETOWN-OFFICE:juniper-1" in lines
    people = [line for line in lines if line.startswith(("ATTENDEE", "ORGANIZER"))]
    assert all("SCHEDULE-AGENT=CLIENT" in line for line in people), "the server must not write copies of its own"
    assert any("PARTSTAT=DECLINED" in line and line.endswith(":mailto:Tom@juniper.example") for line in people)
    assert any("PARTSTAT=NEEDS-ACTION" in line and line.endswith(":mailto:maya@juniper.example") for line in people)
    assert any(line.startswith("ORGANIZER") and 'CN="Elena Weiß"' in line for line in people)


def test_the_same_event_gives_the_same_bytes_with_simulated_time_alone() -> None:
    once = written(out())
    assert once == written(out())
    assert f"DTSTAMP:{datetime.fromtimestamp(MONDAY + 10, UTC):%Y%m%dT%H%M%SZ}" in once


def test_an_older_store_that_did_not_say_when_still_gives_the_same_bytes() -> None:
    old = msgspec.structs.replace(out(), at=0)
    assert "DTSTAMP:20260108T100000Z" in written(old)


@pytest.mark.parametrize(
    ("kind", "transparent"), [("meeting", False), ("focus", False), ("rhythm", True), ("deadline", True)]
)
def test_what_only_reminds_leaves_its_time_free(kind: str, transparent: bool) -> None:
    lines = unfolded(written(out(kind=kind)))
    assert ("TRANSP:TRANSPARENT" in lines) is transparent
    assert f"CATEGORIES:{kind.upper()}" in lines


def test_a_cancelled_event_stays_and_says_so() -> None:
    lines = unfolded(written(out(cancelled=True)))
    assert "STATUS:CANCELLED" in lines
    assert "TRANSP:TRANSPARENT" in lines


def test_who_is_alone_with_an_event_is_not_invited_to_it() -> None:
    text = written(out(attendees=(), kind="deadline"))
    assert "ATTENDEE" not in text and "ORGANIZER" not in text


def test_copies_are_for_staff_and_name_clients_too() -> None:
    item = entry(attendees=("tom", "cora", "elena", "nobody"))
    assert WRITER.owners(item) == (ELENA, TOM)
    assert f"mailto:{CLIENT.address}" in "".join(unfolded(written(EntryOut(item, 1))))


def test_other_programs_parse_it() -> None:
    event = Calendar.from_ical(written(out(rule="FREQ=WEEKLY;BYDAY=TH;UNTIL=20261231"))).events[0]
    assert event["SUMMARY"] == "Plan the audit"
    assert event.start == datetime(2026, 1, 8, 10, tzinfo=LONDON)
    assert event["RRULE"].to_ical() == b"FREQ=WEEKLY;UNTIL=20261231T235959Z;BYDAY=TH"


def test_a_sequence_never_falls_below_that_of_the_copy_it_replaces() -> None:
    assert "SEQUENCE:12" in written(out(10), sequence=12)
    assert "SEQUENCE:10" in written(out(10), sequence=3)
    assert "X-OFFICETOWN-REVISION:10" in written(out(10), sequence=12)


# -- zones ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["Europe/London", "America/New_York", "Australia/Sydney", "Asia/Kolkata", "Asia/Jerusalem", "Africa/Casablanca",
     "America/Santiago", "Europe/Dublin", "Australia/Lord_Howe"],
)  # fmt: skip
def test_the_definition_of_a_zone_says_what_the_zone_does(name: str) -> None:
    """RULE 37: programs that know no zones read ours, and see the same wall clock."""
    zone = load_zone(name)
    theirs = tz.tzical(io.StringIO(definition_of(name))).get(name)
    moment = datetime(2024, 1, 1, 0, 30, tzinfo=UTC)
    while moment.year < 2032:
        wall = moment.astimezone(zone).replace(tzinfo=None)
        ambiguous = wall.replace(tzinfo=zone).utcoffset() != wall.replace(tzinfo=zone, fold=1).utcoffset()
        if not ambiguous:
            assert wall.replace(tzinfo=theirs).timestamp() == moment.timestamp(), wall
        moment += timedelta(hours=11)


def shown_by(text: str, until: datetime) -> set[datetime]:
    """The beginnings, on the wall clock, that a program shows which knows RRULE, EXDATE and RDATE."""
    event = Calendar.from_ical(text).events[0]
    first = event.start
    assert isinstance(first, datetime)
    wall = first.replace(tzinfo=None)
    rule = str(event["RRULE"].to_ical(), "utf-8")  # type: ignore[arg-type]  # bytes, whatever its annotation says
    shown = {wall, *rrulestr(rule, dtstart=wall).between(wall, until, inc=True)}
    for line in unfolded(text):
        if line.startswith(("EXDATE", "RDATE")):
            days = {datetime.strptime(d, "%Y%m%dT%H%M%S") for d in line.partition(":")[2].split(",")}  # noqa: DTZ007
            shown = shown - days if line.startswith("EX") else shown | days
    return {day for day in shown if day <= until}


def test_what_repeats_stays_at_its_hour_when_the_clocks_change() -> None:
    item = entry(start=at("2026-03-20", "09:15"), rule="FREQ=WEEKLY;BYDAY=FR")
    office = occurrences_between(item, item.start, item.start + 60 * DAY, calendar_for(CalendarRules()))
    walls = sorted(shown_by(written(EntryOut(item, 1)), datetime(2026, 5, 19)))  # noqa: DTZ001
    assert [int(w.replace(tzinfo=LONDON).timestamp()) for w in walls] == office
    assert {w.strftime("%H:%M") for w in walls} == {"09:15"}
    assert len({w.replace(tzinfo=LONDON).utcoffset() for w in walls}) == 2


def test_an_hour_that_the_clocks_show_twice_is_the_right_one_of_the_two() -> None:
    second = at("2026-10-25", "01:30")
    assert "DTSTART:20261025T013000Z" in written(out(start=second))
    first = second - 3_600
    assert "DTSTART;TZID=Europe/London:20261025T013000" in written(out(start=first, minutes=20))
    for start in (first, second):
        assert read(written(out(start=start, minutes=20))).essence.start == start


def test_an_office_in_utc_needs_no_zone() -> None:
    people = msgspec.structs.replace(PEOPLE, zone="Etc/UTC")
    text = written(out(), writer=Writer(people))
    assert "VTIMEZONE" not in text and "DTSTART:20260108T100000Z" in text


def test_zones_are_known_under_the_names_that_programs_give_them() -> None:
    for name, key in {
        "Europe/Berlin": "Europe/Berlin", "W. Europe Standard Time": "Europe/Berlin",
        "/mozilla.org/20050126_1/America/New_York": "America/New_York",
        "/freeassociation.sourceforge.net/America/Argentina/Buenos_Aires": "America/Argentina/Buenos_Aires",
    }.items():  # fmt: skip
        zone = known_zone(name)
        assert zone is not None and zone.key == key
    for name in ("", "Nowhere/Land", "../../etc/passwd", "zone.tab", "Europe", "\x00", "A" * 10_000):
        assert known_zone(name) is None


def test_a_zone_of_its_own_is_read_from_its_definition_unless_that_never_ends() -> None:
    simple = (
        "BEGIN:VTIMEZONE\nTZID:Mine\nBEGIN:STANDARD\nDTSTART:16010101T000000\nTZOFFSETFROM:+0330\nTZOFFSETTO:+0330\n"
        "END:STANDARD\nEND:VTIMEZONE\n"
    )
    zone = zone_called("Mine", {"Mine": simple})
    assert zone is not None and zone.utcoffset(datetime(2026, 1, 5)) == timedelta(hours=3, minutes=30)  # noqa: DTZ001
    for endless in ("RRULE:FREQ=SECONDLY", "RRULE:FREQ=YEARLY;BYSECOND=1,2,3", "RRULE;X=1:FREQ=DAILY"):
        hostile = simple.replace("END:STANDARD", f"{endless}\nEND:STANDARD")
        assert zone_called("Mine", {"Mine": hostile}) is None
    assert zone_called("Mine", {"Mine": "BEGIN:VTIMEZONE\nrubbish"}) is None


# -- days on which the office is closed -------------------------------------------------------------------------------


def test_a_series_leaves_out_the_days_on_which_the_office_is_closed() -> None:
    business = calendar_for(CalendarRules(holidays=("2026-04-03",)))
    writer = Writer(PEOPLE, business)
    item = entry(start=at("2026-03-20"), rule="FREQ=WEEKLY;BYDAY=FR")
    assert "EXDATE;TZID=Europe/London:20260403T100000" in unfolded(written(EntryOut(item, 1), writer=writer))


@pytest.mark.parametrize("rule", ["FREQ=DAILY;COUNT=40", "FREQ=MONTHLY;BYMONTHDAY=-1", "FREQ=WEEKLY;BYDAY=MO,FR"])
def test_a_program_shows_a_series_on_the_days_on_which_the_office_holds_it(rule: str) -> None:
    business = calendar_for(CalendarRules(holidays=("2026-04-03", "2026-04-06", "2026-05-04")))
    item = entry(start=at("2026-01-30"), rule=rule)
    text = written(EntryOut(item, 1), writer=Writer(PEOPLE, business))
    shown = shown_by(text, datetime(2026, 12, 31))  # noqa: DTZ001
    stamps = sorted(int(wall.replace(tzinfo=LONDON).timestamp()) for wall in shown)
    assert stamps == occurrences_between(item, at("2026-01-01"), at("2026-12-31"), business)
    assert read(text).essence == Writer(PEOPLE, business).essence(item)


# -- what is read again -----------------------------------------------------------------------------------------------

TEXTS = st.text(max_size=120)
RULES = st.sampled_from([
    "", "FREQ=DAILY", "FREQ=WEEKLY;BYDAY=MO,WE", "FREQ=WEEKLY;INTERVAL=2;BYDAY=FR;WKST=SU", "FREQ=MONTHLY;BYDAY=-1FR",
    "FREQ=MONTHLY;BYMONTHDAY=1,15;COUNT=7", "FREQ=YEARLY;BYMONTH=4;BYMONTHDAY=6", "RRULE:FREQ=WEEKLY;UNTIL=20261231",
    "FREQ=DAILY;UNTIL=20260401T090000;INTERVAL=1",
])  # fmt: skip
ANSWERS = st.sampled_from(["accepted", "declined", "tentative"])


@st.composite
def entries(draw: st.DrawFn) -> EntryOut:
    attendees = tuple(draw(st.permutations(("tom", "maya", "cora")))[: draw(st.integers(0, 3))])
    answers = tuple((who, draw(ANSWERS)) for who in attendees if draw(st.booleans()))
    item = entry(
        title=draw(TEXTS), agenda=draw(TEXTS), attendees=attendees, answers=answers, rule=draw(RULES),
        start=draw(st.integers(at("2024-01-01"), at("2039-01-01"))) // 60 * 60, minutes=draw(st.integers(0, 900)),
        kind=draw(st.sampled_from(["meeting", "rhythm", "deadline", "focus"])), cancelled=draw(st.booleans()),
    )  # fmt: skip
    return EntryOut(item, draw(st.integers(1, 10**6)), "", MONDAY)


@given(entries(), st.sampled_from([ELENA, TOM, MAYA]), st.booleans())
def test_what_is_written_is_read_again_and_known_as_ours(item: EntryOut, owner: Any, in_utc: bool) -> None:
    """Entry to text to essence and back, over every text, zone change and answer."""
    found = read(written(item, owner, in_utc=in_utc))
    essence = WRITER.essence(item.entry)
    assert found.essence == essence
    assert (found.entry, found.office, found.revision) == (item.entry.id, PEOPLE.office, item.sequence)
    assert found.marks == marks(essence, owner.address.casefold()) == marks(found.essence, owner.address.casefold())


@given(entries(), entries())
def test_marks_differ_just_where_two_events_do(a: EntryOut, b: EntryOut) -> None:
    one, other = WRITER.essence(a.entry), WRITER.essence(b.entry)
    mine = TOM.address.casefold()
    changed = differing(marks(one, mine), marks(other, mine))
    assert ("time" in changed) == ((one.start, one.minutes) != (other.start, other.minutes))
    assert ("rule" in changed) == (one.rule != other.rule)
    assert ("text" in changed) == ((one.title, one.agenda) != (other.title, other.agenda))
    assert ("people" in changed) == ((one.organizer, one.attendees) != (other.organizer, other.attendees))
    assert ("answer" in changed) == (dict(one.answers).get(mine) != dict(other.answers).get(mine))


def test_marks_of_another_make_differ_in_everything() -> None:
    assert differing("", marks(essence_of(entry(), PEOPLE, LONDON), "")) == frozenset(PARTS)


@given(st.text(max_size=300))
def test_tidied_texts_are_tidy(text: str) -> None:
    assert tidy(tidy(text)) == tidy(text)
    assert tidy_line(tidy_line(text)) == tidy_line(text)
    assert "\n" not in tidy_line(text)


@given(RULES)
def test_a_rule_has_one_spelling(rule: str) -> None:
    once = canonical_rule(rule, LONDON)
    assert canonical_rule(once, LONDON) == once
    assert canonical_rule(once.lower(), LONDON) == once


def test_an_until_is_the_same_instant_in_utc() -> None:
    """RULE 20's neighbour: the office means the whole of a day, on its own clock."""
    assert canonical_rule("FREQ=DAILY;UNTIL=20260701", LONDON).endswith("UNTIL=20260701T225959Z")
    assert canonical_rule("FREQ=DAILY;UNTIL=20260701T090000", LONDON).endswith("UNTIL=20260701T080000Z")
    assert canonical_rule("FREQ=DAILY;UNTIL=20260701T090000Z", LONDON).endswith("UNTIL=20260701T090000Z")


def test_a_rule_that_is_none_breaks_no_line() -> None:
    item = out(rule="FREQ=DAILY\r\nX-EVIL:1")
    text = WRITER.event(item, ELENA)
    assert "X-EVIL" not in text and "RRULE" not in text
    assert read(written(item)).essence == WRITER.essence(item.entry)


# -- names ------------------------------------------------------------------------------------------------------------


def test_an_event_keeps_the_name_that_its_maker_gave_it() -> None:
    assert uid_of(out(), "juniper-1") == "elena.1.1@juniper-1.officetown"
    assert entry_of_uid("elena.1.1@juniper-1.officetown", "juniper-1") == "elena.1.1"
    assert entry_of_uid("elena.1.1@another.officetown", "juniper-1") == ""
    for uid in ("6F-1@host", "a:b:c@d~e", "ü ñ"):
        assert uid_of(out(origin=f"cal:elena:{uid}"), "juniper-1") == uid
        assert uid_of_key(f"cal:elena:{uid}@~0123456789ab") == uid
        assert uid_of_key(f"cal:elena:{uid}@deleted~0123456789ab") == uid
    assert uid_of(out(origin="mail:x"), "juniper-1") == "elena.1.1@juniper-1.officetown"


@given(st.text(min_size=1, max_size=400))
def test_a_resource_has_a_name_that_every_server_takes(uid: str) -> None:
    name = resource_of(uid)
    assert (
        name.endswith(".ics") and "/" not in name and not name.startswith(".") and len(name) <= 160 and name.isascii()
    )


def test_what_a_person_added_to_a_copy_is_kept() -> None:
    alarm = ("BEGIN:VALARM", "ACTION:DISPLAY", "TRIGGER:-PT15M", "DESCRIPTION:Go", "END:VALARM")
    found = read(ics("u", "DTSTART:20260108T100000Z", "LOCATION:Room\\, 3", "X-MOZ-GENERATION:2", *alarm, "SUMMARY:x"))
    text = written(out(), kept=found.kept)
    lines = unfolded(text)
    assert "LOCATION:Room\\, 3" in lines and "X-MOZ-GENERATION:2" in lines
    assert lines[lines.index("BEGIN:VALARM") : lines.index("END:VALARM") + 1] == list(alarm)
    assert read(text).kept == found.kept
