"""The office's calendars on a real Radicale: what is written, once, and what people do there."""

from __future__ import annotations

import base64
import time
from pathlib import Path

import msgspec
import pytest

from services.carriers.caldav.attribution import Known
from services.carriers.caldav.essence import uid_of_key
from services.carriers.caldav.polling import MOST_KNOWN, _Calendar, _encoded
from services.carriers.caldav.reading import Parsed, Reader
from simulator.arriving import EntryArrived
from simulator.businesstime import calendar_for, load_zone
from simulator.carrying import Account, Directory
from simulator.errors import CarrierError
from simulator.events import CalendarRules
from tests.carriers.calendar.cast import DAY, MONDAY, PEOPLE, Desk, at, entries, ics, out, password_of

OURS = "elena.1.1@juniper-1.officetown.ics"
READ = Reader(load_zone("Europe/London"))


def parsed(text: str) -> Parsed:
    found = READ(text)
    assert isinstance(found, Parsed), found
    return found


# -- out --------------------------------------------------------------------------------------------------------------


def test_everybody_concerned_has_one_copy_and_nobody_else(desk: Desk) -> None:
    desk.carrier.put(out())
    assert {user: desk.names(user) for user in ("elena", "tom", "maya")} == dict.fromkeys(
        ("elena", "tom", "maya"), [OURS]
    )
    desk.carrier.put(out(11, name="elena.1.2", attendees=("tom",)))
    assert desk.names("maya") == [OURS]


def test_the_server_gives_back_what_the_office_has(desk: Desk) -> None:
    item = out(title="Ünï; \\N \\n, “x”", agenda="a\\\n\n;b,\t:c\n" + "ö" * 200, rule="FREQ=MONTHLY;BYDAY=-1FR;COUNT=5",
               answers=(("tom", "accepted"),))  # fmt: skip
    desk.carrier.put(item)
    for user in ("elena", "tom"):
        found = parsed(desk.text(user))
        assert found.essence == desk.carrier._writer.essence(item.entry)
        assert found.revision == 10
    assert not desk.carrier.poll("").arrivals


def test_delivering_again_writes_nothing(desk: Desk) -> None:
    desk.carrier.put(out())
    before = desk.text("tom")
    tokens = [desk.dav.changes(u, desk.dav.path(u, "office-2026"), "").token for u in ("elena", "tom", "maya")]
    for carrier in (desk.carrier, desk.through(desk.url)):
        carrier.put(out())
    assert desk.text("tom") == before
    assert [desk.dav.changes(u, desk.dav.path(u, "office-2026"), "").token for u in ("elena", "tom", "maya")] == tokens


def test_an_older_state_delivered_late_never_wins(desk: Desk) -> None:
    desk.carrier.put(out(20, start=at("2026-01-09")))
    desk.carrier.put(out(10))
    assert parsed(desk.text("tom")).essence.start == at("2026-01-09")
    desk.carrier.put(out(30, cancelled=True, start=at("2026-01-09")))
    assert "STATUS:CANCELLED" in desk.text("maya"), "a cancelled event is kept, and says so"


def test_a_sequence_never_falls_though_a_program_raised_it(desk: Desk) -> None:
    desk.carrier.put(out(10))
    desk.change("tom", ("SEQUENCE:10", "SEQUENCE:99"))
    desk.carrier.put(out(11, start=at("2026-01-09")))
    assert "SEQUENCE:99" in desk.text("tom")
    assert "SEQUENCE:11" in desk.text("maya")


def test_an_event_that_moves_into_another_year_is_not_doubled(desk: Desk) -> None:
    desk.carrier.put(out(10, start=at("2026-12-30")))
    desk.carrier.put(out(11, start=at("2027-01-04")))
    assert desk.names("tom") == [OURS]
    assert parsed(desk.text("tom")).essence.start == at("2027-01-04")


def test_a_year_gets_its_calendar_when_it_is_needed(desk: Desk) -> None:
    desk.carrier.put(out(10, start=at("2027-03-01")))
    assert desk.names("tom", "office-2027") == [OURS]
    assert desk.names("tom") == []
    new_year = int(at("2026-12-31", "23:59"))
    desk.carrier.put(out(11, name="elena.1.2", start=new_year))
    assert desk.names("tom") == ["elena.1.2@juniper-1.officetown.ics"], "the year is that of the office's own clock"


def test_a_calendar_that_somebody_threw_away_is_made_again(desk: Desk) -> None:
    desk.carrier.put(out())
    desk.dav.delete("tom", desk.dav.path("tom", "office-2026"))
    desk.carrier.put(out(11, title="Still on"))
    assert desk.names("tom") == [OURS]
    cursor = desk.carrier.poll("").cursor
    desk.dav.delete("tom", desk.dav.path("tom", "office-2026"))
    assert any("gone" in remark for remark in desk.carrier.poll(cursor).remarks)


def test_one_calendar_for_all_years_where_the_server_is_set_up_so(desk: Desk) -> None:
    carrier = desk.through(desk.url, per_year=False, calendar="default")
    carrier.provision(PEOPLE)
    carrier.put(out(10, start=at("2026-03-02")))
    carrier.put(out(11, name="elena.1.2", start=at("2031-03-03")))
    assert len(desk.names("tom", "default")) == 2


def test_what_a_person_added_to_a_copy_survives_our_next_writing(desk: Desk) -> None:
    desk.carrier.put(out())
    alarm = "BEGIN:VALARM\r\nACTION:DISPLAY\r\nDESCRIPTION:Go\r\nTRIGGER:-PT15M\r\nEND:VALARM\r\n"
    desk.change("tom", ("END:VEVENT", f"LOCATION:Room 3\r\n{alarm}END:VEVENT"))
    assert not desk.carrier.poll("").arrivals, "an alarm of one's own is nobody's business"
    desk.carrier.put(out(11, start=at("2026-01-09")))
    text = desk.text("tom")
    assert "LOCATION:Room 3" in text and "TRIGGER:-PT15M" in text and "20260109T100000" in text


@pytest.mark.parametrize(
    ("rule", "shown"),
    [
        ("FREQ=DAILY;UNTIL=20260101", "STATUS:CANCELLED"),
        ("FREQ=DAILY;UNTIL=20990101", "RRULE:FREQ=DAILY"),
        ("FREQ=DAILY;COUNT=100000", "RRULE:FREQ=DAILY"),
        ("FREQ=DAILY;COUNT=999", "RRULE:FREQ=DAILY;COUNT=999"),
        ("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=31", "RRULE:FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=31"),
        ("FREQ=WEEKLY;UNTIL=20261301", "STATUS:CONFIRMED"),
    ],
)
def test_series_that_servers_refuse_are_shown_as_near_as_they_take_them(desk: Desk, rule: str, shown: str) -> None:
    """Moved past its end, without end in sight, or on no day at all."""
    desk.carrier.put(out(rule=rule, attendees=("tom",)))
    assert shown in desk.text("tom").splitlines()
    found = desk.carrier.poll("")
    assert not found.arrivals and not found.remarks


# -- accounts ---------------------------------------------------------------------------------------------------------


def test_a_person_reads_and_writes_his_own_calendars_alone(desk: Desk) -> None:
    desk.carrier.put(out())
    path = desk.url + desk.dav.path("tom", "office-2026")
    for method, target in (("GET", path + OURS), ("PROPFIND", path), ("DELETE", path), ("PUT", path + "x.ics")):
        for auth in (("maya", password_of("maya")), ("tom", "wrong"), ("nobody", "x"), None):
            assert desk.http.request(method, target, auth=auth).status_code in (401, 403), (method, auth)
    assert desk.names("tom") == [OURS]


@pytest.mark.parametrize("count", [12, 100])
def test_provisioning_again_makes_nothing_twice(tmp_path: Path, count: int) -> None:
    """For 12 and for 100 people; after an interruption it goes on where it was."""
    people = Directory(
        "big", "Big", "UTC", tuple(Account(f"p{n}", f"P {n}", f"p{n}", f"p{n}@big.example") for n in range(count))
    )
    half = msgspec.structs.replace(people, accounts=people.accounts[: count // 2])
    with Desk(tmp_path, half) as desk:
        desk.radicale.admit(people, password_of)
        began = time.perf_counter()
        desk.carrier.provision(people)
        first = time.perf_counter() - began
        desk.through(desk.url).provision(people)
        print(f"\n{count} people: {first:.2f} s, and again {time.perf_counter() - began - first:.2f} s")
        assert all(list(desk.dav.calendars(a.username)) == [f"/{a.username}/office-2026/"] for a in people.accounts)


def test_a_person_the_server_does_not_know_is_named(desk: Desk) -> None:
    stranger = Account("zed", "Zed", "zed", "zed@juniper.example")
    with pytest.raises(CarrierError, match="password of zed"):
        desk.carrier.provision(msgspec.structs.replace(PEOPLE, accounts=(*PEOPLE.accounts, stranger)))


# -- seeding ----------------------------------------------------------------------------------------------------------


def test_an_empty_calendar_is_filled_at_once_and_what_comes_later_changes_nothing(desk: Desk) -> None:
    states = [out(100 + n, name=f"elena.{n}.1", start=at("2026-03-02") + n * DAY,
                  rule="FREQ=WEEKLY;COUNT=3" if n % 9 == 0 else "") for n in range(60)]  # fmt: skip
    assert desk.carrier.seed([out(50, name="elena.3.1", title="An older state"), *states]) == 180
    assert len(desk.names("tom")) == 60
    for item in states[:12]:
        desk.carrier.put(item)
    assert desk.carrier.seed(states) == 180
    assert len(desk.names("tom")) == 60
    assert "An older state" not in desk.text("tom", "elena.3.1@juniper-1.officetown.ics")
    polled = desk.carrier.poll("")
    assert not polled.arrivals and not polled.remarks


def test_a_calendar_in_which_something_lies_is_never_written_over(desk: Desk) -> None:
    desk.write("tom", "mine.ics", ics("dentist@home", "DTSTART:20260110T100000Z", "SUMMARY:Dentist"))
    desk.carrier.seed([out(10), out(11, name="elena.1.2", start=at("2027-05-03"))])
    assert len(desk.names("tom")) == 2 and "mine.ics" in desk.names("tom")
    assert len(desk.names("tom", "office-2027")) == 1


@pytest.mark.slow
def test_a_thousand_events_are_filled_in(tmp_path: Path) -> None:
    with Desk(tmp_path) as desk:
        states = [
            out(n + 1, name=f"elena.{n}.1", attendees=("tom",), start=at("2026-01-06") + n * 1800) for n in range(1000)
        ]
        began = time.perf_counter()
        assert desk.carrier.seed(states) == 2000
        print(f"\n1,000 events of two people: {time.perf_counter() - began:.1f} s")
        began = time.perf_counter()
        cursor = desk.carrier.poll("").cursor
        print(f"first poll {time.perf_counter() - began:.1f} s")
        began = time.perf_counter()
        assert desk.carrier.poll(cursor).cursor == cursor
        print(f"next poll {time.perf_counter() - began:.2f} s, cursor {len(cursor)} bytes")
        assert len(desk.names("tom")) == 1000


# -- in: an event of the office's own ---------------------------------------------------------------------------------


def polled(desk: Desk, cursor: str) -> tuple[list[EntryArrived], tuple[str, ...]]:
    found = desk.carrier.poll(cursor)
    again = desk.through(desk.url).poll(cursor)
    assert again.arrivals == found.arrivals, "the same thing seen twice has the same key"
    return entries(found), found.remarks


def test_an_organizer_moves_an_event_in_his_calendar(desk: Desk) -> None:
    desk.carrier.put(out())
    cursor = desk.carrier.poll("").cursor
    desk.change("elena", ("20260108T100000", "20260108T140000"), ("20260108T104500", "20260108T150000"))
    (arrival,), remarks = polled(desk, cursor)
    assert (arrival.person, arrival.change, arrival.entry) == ("elena", "moved", "elena.1.1")
    assert (arrival.start, arrival.minutes) == (at("2026-01-08", "14:00"), 60)
    assert not remarks


def test_a_series_that_is_moved_while_it_runs_goes_on_at_its_new_time(desk: Desk) -> None:
    """A program moves the first occurrence, which is long over; the office moves what is to come."""
    desk.carrier.put(out(rule="FREQ=WEEKLY;BYDAY=TH"))
    cursor = desk.carrier.poll("").cursor
    desk.now = at("2026-02-02")
    desk.change("elena", ("20260108T100000", "20260108T110000"), ("20260108T104500", "20260108T114500"))
    (moved,), remarks = polled(desk, cursor)
    assert (moved.change, moved.start, moved.minutes) == ("moved", at("2026-02-05", "11:00"), 45)
    assert not remarks


def test_moving_there_back_and_there_again_is_three_acts(desk: Desk) -> None:
    """A key names a state of an event at a revision: the office drops a key it has seen."""
    cursor, keys = desk.carrier.poll("").cursor, []
    there, back = at("2026-01-08", "14:00"), at("2026-01-08", "10:00")
    desk.carrier.put(out(10))
    for sequence, (old, new, start) in enumerate([("10", "14", there), ("14", "10", back), ("10", "14", there)], 11):
        desk.change("elena", (f"DTSTART;TZID=Europe/London:20260108T{old}", f"DTSTART;TZID=Europe/London:20260108T{new}"),
                    (f"DTEND;TZID=Europe/London:20260108T{old}", f"DTEND;TZID=Europe/London:20260108T{new}"))  # fmt: skip
        found = desk.carrier.poll(cursor)
        cursor = found.cursor
        (arrival,) = entries(found)
        assert arrival.start == start
        keys.append(arrival.key)
        desk.carrier.put(out(sequence, start=start))
    assert len(set(keys)) == 3
    assert not desk.carrier.poll(cursor).arrivals


@pytest.mark.parametrize("answer", ["ACCEPTED", "DECLINED", "TENTATIVE"])
def test_a_guest_answers_in_his_calendar(desk: Desk, answer: str) -> None:
    desk.carrier.put(out())
    cursor = desk.carrier.poll("").cursor
    text = desk.text("tom")
    line = next(line for line in text.splitlines() if line.endswith("mailto:Tom@juniper.example"))
    desk.change("tom", (line, line.replace("NEEDS-ACTION", answer)))
    (arrival,), remarks = polled(desk, cursor)
    assert (arrival.person, arrival.change, arrival.entry) == ("tom", answer.lower(), "elena.1.1")
    assert not remarks
    desk.carrier.put(out(11, answers=(("tom", answer.lower()),)))
    after = desk.carrier.poll(desk.carrier.poll(cursor).cursor)
    assert not after.arrivals and not after.remarks


def test_a_guest_cannot_move_what_another_organizes(desk: Desk) -> None:
    desk.carrier.put(out())
    cursor = desk.carrier.poll("").cursor
    desk.change("tom", ("20260108T100000", "20260108T090000"))
    arrivals, remarks = polled(desk, cursor)
    assert not arrivals and "only its organizer" in remarks[0]
    desk.carrier.put(out())
    assert "20260108T100000" in desk.text("tom"), "given the same event again, the copy is put right"


def test_what_the_office_has_no_act_for_is_said(desk: Desk) -> None:
    desk.carrier.put(out(rule="FREQ=WEEKLY;BYDAY=TH"))
    cursor = desk.carrier.poll("").cursor
    desk.change("elena", ("SUMMARY:Plan the audit", "SUMMARY:Something else"), ("BYDAY=TH", "BYDAY=TU"))
    arrivals, remarks = polled(desk, cursor)
    assert not arrivals and "title or agenda" in remarks[0] and "how it repeats" in remarks[0]
    desk.carrier.put(out(11, rule="FREQ=WEEKLY;BYDAY=TH"))
    desk.change("elena", ("END:VEVENT", "EXDATE;TZID=Europe/London:20260115T100000\r\nEND:VEVENT"))
    arrivals, remarks = polled(desk, cursor)
    assert not arrivals and "single occurrences" in remarks[0]


@pytest.mark.parametrize("user", ["elena", "tom"])
def test_a_copy_that_is_deleted_says_who_deleted_it(desk: Desk, user: str) -> None:
    desk.carrier.put(out())
    cursor = desk.carrier.poll("").cursor
    desk.remove(user)
    (arrival,), _ = polled(desk, cursor)
    assert (arrival.person, arrival.change, arrival.entry) == (user, "deleted", "elena.1.1")
    desk.carrier.put(out(11, answers=((user, "declined"),)))
    after = desk.carrier.poll(cursor)
    assert desk.names(user) == [OURS] and not after.arrivals
    desk.remove(user)
    (second,) = entries(desk.carrier.poll(after.cursor))
    assert second.change == "deleted" and second.key != arrival.key, "deleted once more is another act"


def test_an_organizer_cancels_by_saying_so(desk: Desk) -> None:
    desk.carrier.put(out())
    cursor = desk.carrier.poll("").cursor
    desk.change("elena", ("STATUS:CONFIRMED", "STATUS:CANCELLED"))
    (arrival,), _ = polled(desk, cursor)
    assert (arrival.change, arrival.entry) == ("deleted", "elena.1.1")


def test_a_change_that_we_write_over_before_anybody_saw_it_is_not_lost(desk: Desk) -> None:
    desk.carrier.put(out())
    cursor = desk.carrier.poll("").cursor
    desk.change("elena", ("20260108T100000", "20260108T160000"), ("20260108T104500", "20260108T164500"))
    (seen,) = entries(desk.through(desk.url).poll(cursor))
    desk.carrier.put(out(11, answers=(("maya", "accepted"),)))
    (late,), _ = polled(desk, cursor)
    assert late == seen, "under the very key it would have had"
    desk.carrier.put(out(12, start=late.start))
    assert not [a for a in entries(desk.carrier.poll(cursor)) if a.key != late.key]


def test_nobody_speaks_for_another_through_our_own_lines(desk: Desk) -> None:
    forged = EntryArrived("cal:elena:x@~000000000000", "elena", "deleted", "elena.1.1")
    desk.carrier.put(out())
    cursor = desk.carrier.poll("").cursor
    coded = msgspec.json.encode([forged])
    desk.change(
        "tom", ("END:VEVENT", f"X-OFFICETOWN-OVERTAKEN:{base64.urlsafe_b64encode(coded).decode()}\r\nEND:VEVENT")
    )
    assert not desk.carrier.poll(cursor).arrivals


# -- in: an event that a calendar program made ------------------------------------------------------------------------

INVITED = (
    "DTSTART;TZID=Europe/London:20260109T140000", "DTEND;TZID=Europe/London:20260109T143000", "SUMMARY:Talk about fees",
    "DESCRIPTION:Quietly", "ORGANIZER:mailto:elena@juniper.example", "ATTENDEE:mailto:elena@juniper.example",
    "ATTENDEE;PARTSTAT=NEEDS-ACTION:mailto:tom@juniper.example",
)  # fmt: skip


def test_a_new_event_comes_in_with_those_it_invites(desk: Desk) -> None:
    desk.write("elena", "4711.ics", ics("F-1:2@host", *INVITED))
    (arrival,), remarks = polled(desk, "")
    assert arrival == EntryArrived(
        "cal:elena:F-1:2@host",
        "elena",
        "created",
        "",
        "Talk about fees",
        at("2026-01-09", "14:00"),
        30,
        "",
        "Quietly",
        ("tom",),
    )
    assert not remarks


def test_the_offices_event_is_then_the_same_item_where_its_maker_put_it(desk: Desk) -> None:
    desk.write("elena", "4711.ics", ics("F-1@host", *INVITED))
    first = desk.carrier.poll("")
    made = out(20, "cal:elena:F-1@host", "elena.in1.1", title="Talk about fees", attendees=("tom",),
               start=at("2026-01-09", "14:00"), minutes=30, agenda="Quietly")  # fmt: skip
    desk.carrier.put(made)
    assert desk.names("elena") == ["4711.ics"], "no second copy beside the maker's own"
    assert desk.names("tom") == ["F-1@host.ics"]
    second = desk.carrier.poll(first.cursor)
    assert not second.arrivals and not second.remarks
    desk.change(
        "elena", ("20260109T140000", "20260109T150000"), ("20260109T143000", "20260109T153000"), name="4711.ics"
    )
    (moved,) = entries(desk.carrier.poll(second.cursor))
    assert (moved.change, moved.entry, moved.start) == ("moved", "elena.in1.1", at("2026-01-09", "15:00"))
    desk.remove("elena", "4711.ics")
    (gone,) = entries(desk.carrier.poll(second.cursor))
    assert (gone.change, gone.entry) == ("deleted", "elena.in1.1")


def test_an_event_moved_before_the_office_wrote_it_back_is_moved(desk: Desk) -> None:
    desk.write("elena", "4711.ics", ics("F-1@host", *INVITED))
    cursor = desk.carrier.poll("").cursor
    desk.change(
        "elena", ("20260109T140000", "20260109T150000"), ("20260109T143000", "20260109T153000"), name="4711.ics"
    )
    made = out(20, "cal:elena:F-1@host", "elena.in1.1", attendees=("tom",), start=at("2026-01-09", "14:00"), minutes=30)
    desk.carrier.put(made)
    (moved,) = [a for a in entries(desk.carrier.poll(cursor)) if a.change == "moved"]
    assert (moved.entry, moved.start) == ("elena.in1.1", at("2026-01-09", "15:00"))


def test_one_that_was_not_let_in_is_known_by_its_key(desk: Desk) -> None:
    desk.write("elena", "4711.ics", ics("F-1@host", *INVITED))
    cursor = desk.carrier.poll("").cursor
    desk.change("elena", ("SUMMARY:Talk", "X-MOZ-LASTACK:20260105T100000Z\r\nSUMMARY:Talk"), name="4711.ics")
    quiet = desk.carrier.poll(cursor)
    assert not quiet.arrivals, "an alarm that was dismissed changes nothing"
    desk.change(
        "elena", ("20260109T140000", "20260109T150000"), ("20260109T143000", "20260109T153000"), name="4711.ics"
    )
    (moved,) = entries(desk.carrier.poll(quiet.cursor))
    assert (moved.change, moved.entry) == ("moved", "cal:elena:F-1@host")
    assert moved.title == "Talk about fees" and uid_of_key(moved.key) == "F-1@host"
    desk.remove("elena", "4711.ics")
    (gone,) = entries(desk.carrier.poll(quiet.cursor))
    assert (gone.change, gone.entry) == ("deleted", "cal:elena:F-1@host")


def test_strangers_and_clients_are_named_and_the_others_come_in(desk: Desk) -> None:
    lines = (*INVITED, "ATTENDEE:mailto:who@elsewhere.example", "ATTENDEE:mailto:cora@client.example", "ATTENDEE:/x/")
    desk.write("elena", "a.ics", ics("F-1@host", *lines))
    (arrival,), remarks = polled(desk, "")
    assert arrival.attendees == ("tom",)
    assert (
        any("who@elsewhere.example" in r for r in remarks) and any("Cora" in r for r in remarks) and len(remarks) == 3
    )


def test_an_invitation_in_a_guests_calendar_is_its_organizers_to_tell(desk: Desk) -> None:
    desk.write("tom", "a.ics", ics("F-1@host", *INVITED))
    desk.write("maya", "b.ics", ics("F-2@host", *INVITED).replace("mailto:elena", "mailto:stranger"))
    arrivals, remarks = polled(desk, "")
    assert not arrivals and len(remarks) == 1 and "stranger@juniper.example" in remarks[0]


@pytest.mark.parametrize(
    ("rule", "kept", "remark"),
    [
        ("FREQ=WEEKLY;BYDAY=FR", "FREQ=WEEKLY;BYDAY=FR", ""),
        ("FREQ=DAILY;COUNT=10", "FREQ=DAILY;COUNT=10", ""),
        ("FREQ=HOURLY", "", "comes in once"),
        ("FREQ=WEEKLY;BYHOUR=3", "", "comes in once"),
        ("FREQ=MONTHLY;BYDAY=99XX", "", "comes in once"),
    ],
)
def test_what_repeats_comes_in_as_the_office_can_follow_it(desk: Desk, rule: str, kept: str, remark: str) -> None:
    text = ics("F-1@host", "DTSTART:20260109T140000Z", "SUMMARY:Sing", f"RRULE:{rule}")
    found = desk.carrier._reader(text)
    assert isinstance(found, Parsed)
    told = desk.carrier._tell.tell(found, PEOPLE.accounts[1], None)
    assert told.arrivals[0].rule == kept and told.arrivals[0].start == at("2026-01-09", "14:00")
    assert (remark in " ".join(told.remarks)) and bool(told.remarks) == bool(remark)


def test_exceptions_of_a_new_series_are_said(desk: Desk) -> None:
    desk.write(
        "elena", "a.ics", ics("F-1@host", "DTSTART:20260109T140000Z", "RRULE:FREQ=WEEKLY", "EXDATE:20260116T140000Z")
    )
    (arrival,), remarks = polled(desk, "")
    assert arrival.rule == "FREQ=WEEKLY" and "exceptions" in remarks[0]


@pytest.mark.parametrize(
    ("lines", "minutes"),
    [(("DTSTART:20260109T140000Z",), 30), (("DTSTART;VALUE=DATE:20260109",), 480), (("DTSTART:20260109T140000Z", "DURATION:P9D"), 480)],
)  # fmt: skip
def test_events_without_an_end_and_endless_ones_get_a_length(desk: Desk, lines: tuple[str, ...], minutes: int) -> None:
    desk.write("elena", "a.ics", ics("F-1@host", *lines))
    (arrival,), remarks = polled(desk, "")
    assert arrival.minutes == minutes and bool(remarks) == (minutes == 480)


def test_tasks_and_rubbish_are_said_once_and_stop_nothing(desk: Desk) -> None:
    desk.write("elena", "task.ics", ics("T-1", "SUMMARY:Do").replace("VEVENT", "VTODO"))
    desk.write("elena", "old.ics", ics("O-1", "DTSTART:16010101T000000Z"))
    desk.write("elena", "good.ics", ics("G-1", "DTSTART:20260109T140000Z", "SUMMARY:Good"))
    found = desk.carrier.poll("")
    assert [a.title for a in entries(found)] == ["Good"]
    assert any("a task" in r for r in found.remarks) and any("1601" in r for r in found.remarks)
    assert not desk.carrier.poll(found.cursor).remarks


def test_what_was_over_before_the_calendar_was_read_stays_out(desk: Desk) -> None:
    for n in range(3):
        desk.write("elena", f"old{n}.ics", ics(f"O-{n}", f"DTSTART:2025010{n + 1}T100000Z"))
    desk.write("elena", "series.ics", ics("S-1", "DTSTART:20250109T140000Z", "RRULE:FREQ=WEEKLY"))
    found = desk.carrier.poll("")
    (series,) = entries(found)
    assert uid_of_key(series.key) == "S-1" and series.start == at("2026-01-08", "14:00"), "its next time"
    assert "3 events of Elena" in found.remarks[0]
    desk.write("elena", "late.ics", ics("L-1", "DTSTART:20250109T140000Z"))
    assert [uid_of_key(a.key) for a in entries(desk.carrier.poll(found.cursor))] == ["L-1"], (
        "the office says what it says"
    )


def test_a_calendar_of_ones_own_counts_too(desk: Desk) -> None:
    desk.dav.make_calendar("tom", desk.dav.path("tom", "private"), "Private")
    desk.write("tom", "a.ics", ics("P-1", "DTSTART:20260109T140000Z", "SUMMARY:Run"), calendar="private")
    (arrival,), _ = polled(desk, "")
    assert (arrival.person, arrival.title) == ("tom", "Run")
    desk.carrier.put(
        out(20, "cal:tom:P-1", "tom.in1.1", organizer="tom", attendees=(), title="Run", start=arrival.start)
    )
    assert desk.names("tom", "private") == ["a.ics"] and desk.names("tom") == []


# -- cursors ----------------------------------------------------------------------------------------------------------


def test_a_token_the_server_forgot_means_reading_anew(desk: Desk) -> None:
    desk.write("elena", "a.ics", ics("F-1@host", *INVITED))
    desk.write("elena", "b.ics", ics("F-2@host", *INVITED))
    desk.carrier.put(out())
    cursor = desk.carrier.poll("").cursor
    for token in (desk.radicale.folder / "collections").rglob("sync-token/*"):
        token.unlink()
    desk.remove("elena", "b.ics")
    desk.change("elena", ("20260109T140000", "20260109T150000"), ("20260109T143000", "20260109T153000"), name="a.ics")
    found = desk.carrier.poll(cursor)
    assert [(a.change, a.entry) for a in entries(found)] == [
        ("deleted", "cal:elena:F-2@host"),
        ("moved", "cal:elena:F-1@host"),
    ]
    assert any("read anew" in r for r in found.remarks)
    assert not desk.carrier.poll(found.cursor).arrivals


@pytest.mark.parametrize(
    "cursor", ["nonsense", '{"version":"x"}', '{"calendars":{"/elena/office-2026/":{"token":"forged"}}}']
)
def test_a_cursor_that_is_none_is_the_beginning(desk: Desk, cursor: str) -> None:
    desk.write("elena", "a.ics", ics("F-1@host", *INVITED))
    assert [a.key for a in entries(desk.carrier.poll(cursor))] == ["cal:elena:F-1@host"]


def test_a_cursor_stays_small(desk: Desk) -> None:
    full = {
        f"/p{n}/office-2026/": _Calendar("t", {f"{k}.ics": Known("u" * 40, "m" * 53, "r" * 40) for k in range(900)})
        for n in range(9)
    }
    assert len(_encoded(full)) < MOST_KNOWN * 250


def test_somebody_elses_office_on_the_same_server_is_left_alone(desk: Desk) -> None:
    other = msgspec.structs.replace(PEOPLE, office="another")
    desk.carrier.put(out())
    cursor = desk.carrier.poll("").cursor
    desk.people = other
    theirs = desk.through(desk.url)
    assert not theirs.poll("").arrivals
    theirs.put(out(5, title="Theirs"))
    assert len(desk.names("tom")) == 2
    assert not desk.carrier.poll(cursor).arrivals


def test_one_person_whose_password_is_wrong_holds_nobody_up(desk: Desk) -> None:
    desk.write("elena", "a.ics", ics("F-1@host", *INVITED))
    cursor = desk.carrier.poll("").cursor
    stranger = Account("zed", "Zed", "zed", "zed@juniper.example")
    desk.people = msgspec.structs.replace(PEOPLE, accounts=(*PEOPLE.accounts, stranger))
    found = desk.through(desk.url).poll("")
    assert len(found.arrivals) == 1 and "zed" in found.remarks[0]
    assert desk.carrier.poll(found.cursor).cursor == cursor


def test_a_series_of_an_office_with_holidays_is_known_as_ours(tmp_path: Path) -> None:
    business = calendar_for(CalendarRules(holidays=("2026-01-14",)))
    with Desk(tmp_path, business=business) as desk:
        desk.carrier.put(out(kind="rhythm", rule="FREQ=DAILY", start=at("2026-01-06", "09:15")))
        assert "EXDATE" in desk.text("tom")
        found = desk.carrier.poll("")
        assert not found.arrivals and not found.remarks


def test_the_desk_reads_the_entry_it_wrote(desk: Desk) -> None:
    """What leaves by `put` and what the office holds are the same, person by person."""
    items = [out(n + 1, name=f"elena.{n}.1", start=MONDAY + n * DAY, cancelled=n == 2) for n in range(4)]
    for item in items:
        desk.carrier.put(item)
    for user in ("elena", "tom", "maya"):
        held = {p.entry: p.essence for p in (parsed(desk.text(user, name)) for name in desk.names(user))}
        assert held == {i.entry.id: desk.carrier._writer.essence(i.entry) for i in items}
